"""Callbacks, and jobs that tell of ends, while workers and the api die at each of their fail points and at random.

However they die: a job that was accepted ends once, its endpoint hears of each end under one id, and of a group's end
under one id, once all its members have ended. The oracle is the endpoint, which is outside the stack.
"""
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ApiClient, QueueClient, TableClient, ended, job_if_known, patiently  # noqa: E402
from receiver import SECRET, Receiver, signature  # noqa: E402
from stack import OwnStackTest, program, wait_until  # noqa: E402

SECONDS = sizes.scaled(8.0)
HOSTS = ("--callback-hosts", "localhost:*", "--callback-private-hosts", "localhost:*", "--callback-http-hosts",
         "localhost:*")
WORKER = ("--lease-s", "2", "--poll-s", "2", "--retry-base-ms", "50", "--retry-cap-ms", "500", *HOSTS,
          "--callback-secrets", SECRET)
LIMIT_S = 90.0


class CallbackCrashTest(OwnStackTest):
    maxDiff = 2000

    def setUp(self):
        self.endpoint = Receiver()
        self.addCleanup(self.endpoint.close)
        self.stack.start("table_store")
        self.stack.start("queue_service")
        self.stack.start("api", *HOSTS)
        self.tables = TableClient(self.stack.ports["table_store"])
        self.queues = QueueClient(self.stack.ports["queue_service"])
        self.api = ApiClient(self.stack.ports["api"])
        self.tables.create_table("Source")
        self.numbers = itertools.count(1)

    def worker(self, name, fail_point=None):
        return self.stack.start_worker("w-" + name, *WORKER, fail_point=fail_point)

    def await_end(self, job_id):
        def look():
            job = patiently(job_if_known, self.api, job_id)
            return job if job and ended(job) else None
        return wait_until(look, f"the end of job {job_id}", LIMIT_S)

    def group_of(self, name):
        """Submits members that succeed, become poison and are callbacks themselves; each tells of its end."""
        path = f"/{name}"

        def on_end(n):
            return {"url": self.endpoint.url(f"{path}/end/{n}")}
        return {"group": name, "onEnd": {"url": self.endpoint.url(path)}, "jobs": [
            {"kind": "delete", "source": "Source", "filter": "", "maxAttempts": 100, "onEnd": on_end(0)},
            {"kind": "delete", "source": "NoSuchTable", "filter": "", "maxAttempts": 100, "onEnd": on_end(1)},
            {"kind": "callback", "url": self.endpoint.url(f"{path}/self"), "maxAttempts": 100, "onEnd": on_end(2)},
            {"kind": "delete", "source": "Source", "filter": "", "notBefore": "2100-01-01T00:00:00Z", "onEnd": on_end(3)}]}

    def submit(self, name):
        results = patiently(self.api.call, "POST", "/v1/jobs/batch", self.group_of(name))["results"]
        while any(r["status"] >= 400 for r in results):
            results = patiently(self.api.call, "POST", "/v1/jobs/batch", self.group_of(name))["results"]
        return [r["job"]["id"] for r in results]

    def check(self, name, members):
        """Checks, once everything is quiet, that every end was told under one id, and by one job."""
        wanted = ["succeeded", "poisoned", "succeeded", "cancelled"]
        jobs = [self.await_end(member) for member in members]
        self.assertEqual([job["state"] for job in jobs], wanted, jobs)
        group = wait_until(lambda: (g := patiently(self.api.call, "GET", f"/v1/groups/{name}")).get("callbackJob") and g,
                           f"the end of group {name}", LIMIT_S)
        tellers = [job["callbackJob"] for job in jobs] + [group["callbackJob"]]

        paths = {f"/{name}", f"/{name}/self", *(f"/{name}/end/{n}" for n in range(4))}

        def heard():
            return {r["path"] for r in list(self.endpoint.got)} & paths
        wait_until(lambda: heard() == paths, f"all callbacks of {name}", LIMIT_S)
        for teller in tellers:
            self.assertEqual(self.await_end(teller)["state"], "succeeded")
        got = [r for r in list(self.endpoint.got) if r["path"] in paths]
        ids = {path: {r["webhook-id"] for r in got if r["path"] == path} for path in paths}
        self.assertEqual(ids, {f"/{name}": {tellers[4]}, f"/{name}/self": {members[2]},
                               **{f"/{name}/end/{n}": {tellers[n]} for n in range(4)}})
        for request in got:
            self.assertEqual(request["webhook-signature"], signature(SECRET, request))
            if request["path"] == f"/{name}":
                data = json.loads(request["body"])["data"]
                self.assertEqual([data[s] for s in ("members", "succeeded", "poisoned", "cancelled")], [4, 2, 1, 1])
            elif "/end/" in request["path"]:
                n = int(request["path"].rsplit("/", 1)[1])
                told = json.loads(request["body"])
                self.assertEqual((told["type"], told["data"]["id"]), ("job." + wanted[n], members[n]))

    def check_jobs(self, groups):
        """Checks that there is no job beside the members and those that tell of ends."""
        wait_until(lambda: patiently(self.queues.length, "tidemark-jobs") == 0, "all messages gone, that of the cancelled job too")
        self.assertEqual(len(patiently(self.api.jobs)), groups * 9)

    def points(self, name, families):
        listed = subprocess.run([program(name), "--list-fail-points"], capture_output=True, check=True, text=True)
        return [p for p in listed.stdout.split() if p.split(".")[0] in families]

    def test_a_worker_dies_at_every_point(self):
        points = self.points("worker", ("callback", "claim", "ending", "finish", "poison"))
        self.assertGreater(len(points), 12)
        points = sizes.some_of(points)
        for n, point in enumerate(points):
            with self.subTest(fail_point=point):
                members = self.submit(f"g{n}")
                patiently(self.api.call, "POST", f"/v1/jobs/{members[3]}/cancel")
                # Started last, so that the group's end is its work; it may die before it can say that it is ready.
                dying = self.stack.launch(f"w-dying{n}", "worker", "--name", f"w-dying{n}", *WORKER,
                                          environment={"TIDEMARK_FAIL_POINT": point})
                self.assertEqual(dying.wait(), -signal.SIGKILL, f"the fail point was not reached; {dying.log()}")
                clean = self.worker(f"clean{n}")
                self.check(f"g{n}", members)
                self.assertEqual(clean.terminate(), 0, clean.log())
        self.check_jobs(len(points))

    def test_the_api_dies_while_it_cancels(self):
        points = self.points("api", ("ending",))
        self.assertGreater(len(points), 5)
        worker = self.worker("one")
        for n, point in enumerate(points):
            with self.subTest(fail_point=point):
                members = self.submit(f"g{n}")
                for member in members[:3]:
                    self.await_end(member)
                dying = self.stack.restart_to_die("api", point)
                dying.await_ready()
                self.api.close()
                try:
                    self.api.call("POST", f"/v1/jobs/{members[3]}/cancel")
                except Exception:  # noqa: BLE001  however a dying server breaks off
                    pass
                self.assertEqual(dying.wait(), -signal.SIGKILL, f"the fail point was not reached; {dying.log()}")
                self.stack.start("api")
                # The client had no answer, so it asks again.
                patiently(self.api.call, "POST", f"/v1/jobs/{members[3]}/cancel")
                self.check(f"g{n}", members)
        self.check_jobs(len(points))
        self.assertEqual(worker.terminate(), 0, worker.log())

    def test_random_kills(self):
        seed = sizes.seed()
        print(f"repeat with TIDEMARK_SEED={seed}", flush=True)
        choice = random.Random(seed)
        for name in ("a", "b"):
            self.worker(name)
        groups, kills = {}, 0
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline or len(groups) < 3:
            name = f"g{len(groups)}"
            groups[name] = self.submit(name)
            patiently(self.api.call, "POST", f"/v1/jobs/{groups[name][3]}/cancel")
            for _ in range(choice.randrange(3)):
                victim = choice.choice(["table_store", "queue_service", "api", "w-a", "w-b"])
                if victim.startswith("w-"):
                    self.stack.children[victim].kill()
                    self.worker(victim[2:])
                else:
                    self.stack.restart(victim)
                kills += 1
        print(f"{kills} kills, {len(groups)} groups", flush=True)
        for name, members in groups.items():
            self.check(name, members)
        self.check_jobs(len(groups))


if __name__ == "__main__":
    unittest.main(verbosity=2)
