"""Jobs of users' own kinds, claimed and ended over HTTP: the page docs/workers.md, one live attempt at a time,
fairness, and refusals."""
import collections
import concurrent.futures
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import api_case  # noqa: E402
from clients import TOKEN, ApiClient, HttpFailure, QueueClient, TableClient, ended  # noqa: E402
from command_line import tidemark  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from own_worker import Worker, outcome  # noqa: E402
from stack import SOURCE, StackTest, clean_environment, wait_until  # noqa: E402

#: A worker as a process of its own, which claims one job, says so, and ends it when it is told to.
HOLDER = """
import json, sys, urllib.request
port, token, worker, kind = sys.argv[1:]
def call(path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(),
                                     {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))
job = call("/v1/work/claim", {"worker": worker, "kinds": [kind], "wait": 20})["jobs"][0]
print(json.dumps(job), flush=True)
sys.stdin.readline()
ended = call("/v1/work/end", {"worker": worker, "jobs": [{"id": job["id"], "epoch": job["epoch"], "result": worker}]})
print(json.dumps(ended["jobs"][0]), flush=True)
"""


class OwnKinds(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up()
        cls.port = cls.stack.ports["api"]
        cls.api = CheckedApiClient(cls.port)

    @classmethod
    def tearDownClass(cls):
        api_case.check_operations(cls.api, "own kinds")
        super().tearDownClass()

    def setUp(self):
        # Each test has a kind of its own.
        self.kind = "k" + re.sub("[^a-z]", "", self._testMethodName)[4:34]
        self.api.call("PUT", f"/v1/kinds/{self.kind}", {"leaseSeconds": 5, "retryBaseMs": 1, "retryCapMs": 10})
        self.worker = Worker(self.port, "w1", [self.kind], CheckedApiClient)
        self.worker.api.seen = self.api.seen

    def submit(self, **members):
        return self.api.submit({"kind": self.kind, **members})

    def refused(self, status, code, method, path, body=None):
        with self.assertRaises(HttpFailure) as caught:
            self.api.call(method, path, body)
        self.assertEqual((caught.exception.status, caught.exception.code), (status, code), caught.exception)
        return json.loads(caught.exception.body)

    def test_a_job_from_submission_to_result(self):
        job_id = self.submit(version=1, key="acme/c7", input={"width": 200, "of": ["a", None]})
        waiting = self.api.job(job_id)
        self.assertEqual((waiting["state"], waiting["queue"], waiting["waiting"]["reason"]),
                         ("queued", self.kind + "@1", "noWorker"))
        job = self.worker.claim_one()
        self.assertEqual((job["id"], job["epoch"], job["attempt"], job["version"], job["key"], job["input"]),
                         (job_id, 1, 1, 1, "acme/c7", {"width": 200, "of": ["a", None]}))
        self.assertEqual(job["fence"], {"x-ms-tidemark-operation-id": job_id, "x-ms-tidemark-epoch": "1"})
        self.assertEqual(self.worker.beat(job, done=3, total=9, phase="shrinking", checkpoint={"at": [1, 2]}), ["held"])
        running = self.api.job(job_id)
        self.assertEqual((running["state"], running["worker"], running["checkpoint"]), ("running", "w1", {"at": [1, 2]}))
        self.assertEqual((running["progress"]["done"], running["progress"]["total"]), (3, 9))
        self.assertEqual(outcome(self.worker.end_one(job, result={"url": "x"})), (200, "succeeded"))
        done = self.api.job(job_id)
        self.assertEqual((done["state"], done["result"], done["attempts"]), ("succeeded", {"url": "x"}, 1))
        self.assertEqual([each["outcome"] for each in done["history"]], ["succeeded"])
        # Repeated, it answers as before, whatever it says.
        self.assertEqual(outcome(self.worker.end_one(job, result=2)), (200, "succeeded"))
        self.assertEqual(outcome(self.worker.end_one(job, error={"class": "permanent", "message": "no"})), (200, "succeeded"))
        self.assertEqual(self.api.job(job_id)["result"], {"url": "x"})
        self.assertEqual(self.worker.beat(job), ["lost"])
        self.assertEqual(self.worker.claim(), [])

    def test_bad_requests_name_every_problem(self):
        told = self.refused(400, "InvalidInput", "POST", "/v1/work/claim",
                            {"worker": "", "kinds": ["resize@0", 7, "archive"], "count": 0, "wait": 61, "x": 1})
        self.assertGreaterEqual(len(told["problems"]), 7, told)
        told = self.refused(400, "InvalidInput", "POST", "/v1/work/end", {"worker": "w", "jobs": [
            {"id": "x", "epoch": 0}, {"id": "0" * 16 + "-" + "0" * 8, "epoch": 1, "result": 1, "release": True},
            {"id": "0" * 16 + "-" + "0" * 8, "epoch": 1, "result": 1, "steps": []}]})
        self.assertTrue(any("jobs[2]: steps must be a list" in each for each in told["problems"]), told)
        self.assertTrue(any("jobs[2] names a job again" in each for each in told["problems"]), told)
        job_id = self.submit()
        job = self.worker.claim_one()
        told = self.refused(400, "InvalidInput", "POST", "/v1/work/beat", {
            "worker": "w", "jobs": [{"id": job_id, "epoch": 1, "checkpoint": "x" * 16_400}]})
        self.assertIn("blob", told["detail"])
        ended_job = self.worker.end_one(job, result="x" * 30_000)
        self.assertEqual(ended_job["status"], 413)
        self.assertIn("blob", ended_job["problem"]["detail"])
        self.assertEqual(outcome(self.worker.end_one(job, result=None)), (200, "succeeded"))
        for name in ("archive", "Resize", "a--b", "x" * 33, "7up"):
            self.refused(400, "InvalidInput", "PUT", f"/v1/kinds/{name}", {})
        told = self.refused(400, "InvalidInput", "PUT", "/v1/kinds/fine", {"leaseSeconds": 0, "perKey": {"running": -1}, "y": 1})
        self.assertEqual(len(told["problems"]), 3, told)

    def test_what_is_not_declared_is_refused(self):
        told = self.refused(400, "JobInvalid", "POST", "/v1/jobs", {"kind": "unheard-of", "input": 1})
        self.assertIn("PUT /v1/kinds/unheard-of", told["detail"])
        self.refused(400, "JobInvalid", "POST", "/v1/jobs", {"kind": "archve", "source": "Aaa"})
        told = self.refused(400, "InvalidInput", "POST", "/v1/work/claim", {"worker": "w", "kinds": ["unheard-of"]})
        self.assertIn("PUT /v1/kinds/unheard-of", told["detail"])
        self.refused(400, "JobInvalid", "POST", "/v1/jobs", {"kind": self.kind, "queue": "gpu"})
        told = self.refused(400, "JobInvalid", "POST", "/v1/jobs", {"kind": self.kind, "input": "x" * 30_100})
        self.assertIn("blob", told["detail"])
        self.refused(404, "NotFound", "DELETE", "/v1/kinds/unheard-of")
        self.refused(404, "NotFound", "GET", "/v1/kinds/unheard-of")
        self.api.call("PUT", "/v1/kinds/passing", {})
        self.api.call("DELETE", "/v1/kinds/passing")
        self.refused(400, "JobInvalid", "POST", "/v1/jobs", {"kind": "passing"})

    def test_versions_have_workers_of_their_own(self):
        two = self.submit(version=2)
        self.assertEqual(self.worker.claim(), [])
        kind = self.api.call("GET", f"/v1/kinds/{self.kind}")["own"]
        self.assertEqual(kind["leaseSeconds"], 5)
        self.assertEqual([(each["version"], each["queued"], each.get("waiting")) for each in kind["versions"]],
                         [(2, 1, "noWorker")])
        newer = Worker(self.port, "w2", [self.kind + "@2", self.kind])
        self.assertEqual(newer.claim_one()["id"], two)
        listed = {each["name"]: each for each in self.api.call("GET", "/v1/workers")["workers"]}
        self.assertTrue(listed["w2"]["own"] and listed["w2"]["alive"])
        one = self.submit()
        self.assertEqual(newer.claim_one()["id"], one)

    def test_an_error_is_tried_again_and_becomes_poison(self):
        job_id = self.submit(maxAttempts=3)
        for attempt in (1, 2, 3):
            job = self.worker.claim_one()
            self.assertEqual((job["id"], job["attempt"], job["epoch"]), (job_id, attempt, attempt))
            if attempt == 1:
                self.worker.beat(job, checkpoint={"half": True})
            else:
                self.assertEqual(job["checkpoint"], {"half": True})
            state = "queued" if attempt < 3 else "poisoned"
            how = {"error": {"class": "transient", "message": f"no luck {attempt}"}}
            self.assertEqual(outcome(self.worker.end_one(job, **how)), (200, state))
            self.assertEqual(outcome(self.worker.end_one(job, **how)), (200, state), "repeated")
        poison = self.api.call("GET", f"/v1/poison/{job_id}")
        self.assertEqual((poison["kind"], poison["reason"], len(poison["attempts"])), (self.kind, "no luck 3", 3))
        self.api.call("POST", f"/v1/poison/{job_id}/redrive", {"kind": self.kind, "input": "changed"})
        job = self.worker.claim_one()
        self.assertEqual((job["id"], job["attempt"], job["input"]), (job_id, 1, "changed"))
        self.assertNotIn("checkpoint", job)
        self.assertEqual(outcome(self.worker.end_one(job, result=1)), (200, "succeeded"))
        history = self.api.job(job_id)["history"]
        self.assertEqual([each["outcome"] for each in history],
                         ["failed", "failed", "failed", "edited", "sentBack", "succeeded"])

    def test_classes_of_errors(self):
        job_id = self.submit(maxAttempts=1)
        job = self.worker.claim_one()
        self.worker.end_one(job, error={"class": "throttled", "message": "later", "retryAfter": 0})
        job = self.worker.claim_one()
        self.assertEqual((job["attempt"], job["epoch"]), (1, 2), "throttled is not counted")
        begun = time.monotonic()
        self.worker.end_one(job, error={"class": "throttled", "message": "later", "retryAfter": 1})
        job = self.worker.claim_one()
        self.assertGreaterEqual(time.monotonic() - begun, 0.99)
        self.assertEqual(outcome(self.worker.end_one(job, error={"class": "permanent", "message": "never"})), (200, "poisoned"))
        self.assertEqual(self.api.job(job_id)["state"], "poisoned")

    def test_w4_a_release_uses_no_attempt(self):
        job_id = self.submit(maxAttempts=1)
        for epoch in range(1, 6):
            job = self.worker.claim_one()
            self.assertEqual((job["id"], job["attempt"], job["epoch"]), (job_id, 1, epoch))
            self.assertEqual(outcome(self.worker.end_one(job, release=True)), (200, "queued"))
        self.assertEqual(outcome(self.worker.end_one(self.worker.claim_one(), result=1)), (200, "succeeded"))

    def test_w1_an_earlier_attempt_changes_nothing_any_more(self):
        tables = TableClient(self.stack.ports["table_store"])
        tables.create_table("Fenced")
        self.api.call("PUT", f"/v1/kinds/{self.kind}", {"leaseSeconds": 1})
        job_id = self.submit()
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(self.port), TOKEN, "paused", self.kind], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment())
        self.addCleanup(holder.kill)
        first = json.loads(holder.stdout.readline())
        holder.send_signal(signal.SIGSTOP)
        second = self.worker.claim_one()  # once the lease is over
        self.assertEqual((second["id"], second["epoch"], second["attempt"]), (job_id, 2, 2))

        def write(fence, value):
            tables._ask("PUT", "/Fenced(PartitionKey='p',RowKey='r')", body=json.dumps({"Value": value}), headers=fence)
        with self.assertRaises(HttpFailure) as caught:
            write(first["fence"], "first")
        self.assertEqual(caught.exception.status, 412)
        write(second["fence"], "second")
        self.assertEqual(self.worker.beat(first), ["lost"])
        self.assertEqual(self.worker.end_one(first, result="late")["status"], 412)
        self.assertEqual(self.worker.end_one(first, release=True)["status"], 412)
        holder.send_signal(signal.SIGCONT)
        holder.stdin.write("\n")
        holder.stdin.flush()
        late = json.loads(holder.stdout.readline())
        self.assertEqual((late["status"], late["problem"]["code"]), (412, "Fenced"))
        self.assertEqual(outcome(self.worker.end_one(second, result="mine")), (200, "succeeded"))
        job = self.api.job(job_id)
        self.assertEqual((job["result"], [each["outcome"] for each in job["history"]]), ("mine", ["lost", "succeeded"]))
        self.assertEqual(tables.get("Fenced", "p", "r")["Value"], "second")

    def test_a_job_whose_workers_die_becomes_poison(self):
        self.api.call("PUT", f"/v1/kinds/{self.kind}", {"leaseSeconds": 1})
        job_id = self.submit(maxAttempts=2)
        for _ in range(2):
            self.worker.claim_one()
        job = wait_until(lambda: self.worker.claim() == [] and (job := self.api.job(job_id))["state"] == "poisoned" and job,
                         "the job is poison")
        self.assertIn("attempt limit of 2", job["error"])

    def test_w3_a_cancel_reaches_a_worker(self):
        events = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        events.request("GET", "/v1/work/events?worker=w1", headers={"Authorization": f"Bearer {TOKEN}"})
        stream = events.getresponse()
        self.assertEqual((stream.status, stream.readline()[:1]), (200, b":"))
        job_id = self.submit()
        job = self.worker.claim_one()
        time.sleep(0.5)
        begun = time.monotonic()
        self.assertEqual(self.api.cancel(job_id)["state"], "cancelled")
        line = b""
        while not (line.startswith(b"data:") and json.loads(line[5:])["id"] == job_id):  # it may tell of earlier ones, too
            line = stream.readline()
        self.assertLess(time.monotonic() - begun, 2)
        self.assertEqual(json.loads(line[5:]), {"id": job_id, "epoch": 1})
        self.assertEqual(self.worker.beat(job, done=5), ["cancel"])
        self.assertEqual(outcome(self.worker.end_one(job, result=1)), (200, "cancelled"))
        self.assertNotIn("result", self.api.job(job_id))
        events.close()

    def test_w3_a_silent_worker_has_no_effect_after_a_cancel(self):
        tables = TableClient(self.stack.ports["table_store"])
        tables.create_table("Silent")
        job_id = self.submit()
        job = self.worker.claim_one()
        self.api.cancel(job_id)
        with self.assertRaises(HttpFailure) as caught:
            tables._ask("PUT", "/Silent(PartitionKey='p',RowKey='r')", body="{}", headers=job["fence"])
        self.assertEqual(caught.exception.status, 412)
        # Its message goes when the lease is over, and somebody asks for jobs.
        queue = f"tidemark-work-{self.kind}-v1"
        wait_until(lambda: self.worker.claim() == [] and
                   self.api.call("GET", f"/v1/queues/{queue}")["messages"] == 0, "the message is gone")
        self.assertEqual([each["outcome"] for each in self.api.job(job_id)["history"]], ["cancelled"])

    def test_a_waiting_job_is_cancelled(self):
        ids = [self.submit(key="a") for _ in range(3)]
        self.api.cancel(ids[1])
        self.api.cancel(ids[0])
        self.assertEqual(self.worker.claim_one()["id"], ids[2])
        self.assertEqual(self.worker.claim(), [])

    def test_a_lost_reply_strands_nothing(self):
        ids = {self.submit() for _ in range(3)}
        request = {"worker": "w1", "kinds": [self.kind], "count": 3, "requestId": "r1"}
        text = json.dumps(request)
        with socket.create_connection(("127.0.0.1", self.port)) as raw:
            raw.sendall((f"POST /v1/work/claim HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
                         f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}").encode())
            wait_until(lambda: all(self.api.job(job_id)["state"] == "running" for job_id in ids), "the jobs are claimed")
        again = self.worker.claim(3, requestId="r1")
        self.assertEqual({job["id"] for job in again}, ids)
        self.assertEqual({job["epoch"] for job in again}, {1})
        self.worker.end_one(again[0], result=1)
        left = self.worker.claim(3, requestId="r1")
        self.assertEqual({job["id"] for job in left}, ids - {again[0]["id"]})
        self.assertEqual(self.worker.claim(3, requestId="r2"), [])

    def test_a_caller_who_hangs_up_takes_nothing(self):
        text = json.dumps({"worker": "gone", "kinds": [self.kind], "wait": 30})
        with socket.create_connection(("127.0.0.1", self.port)) as raw:
            raw.sendall((f"POST /v1/work/claim HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
                         f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}").encode())
            time.sleep(0.3)
        job_id = self.submit(maxAttempts=1)
        job = self.worker.claim_one()
        self.assertEqual((job["id"], job["attempt"]), (job_id, 1))

    def test_a_waiting_claim_is_woken(self):
        self.api.call("PUT", f"/v1/kinds/{self.kind}", {"leaseSeconds": 60})
        with concurrent.futures.ThreadPoolExecutor() as pool:
            claims = [pool.submit(Worker(self.port, f"w{n}", [self.kind]).claim, 5, 8) for n in range(3)]
            time.sleep(0.5)
            ids = {self.submit() for _ in range(3)}
            got = [job["id"] for claim in concurrent.futures.as_completed(claims) for job in claim.result()]
        self.assertLessEqual(set(got), ids)
        self.assertEqual(len(got), len(set(got)))

    def test_priorities_and_earliest_start(self):
        later = self.submit(notBefore=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3)))
        low, high, normal = self.submit(priority="low"), self.submit(priority="high"), self.submit()
        got = []
        wait_until(lambda: got.extend(job["id"] for job in self.worker.claim(3)) or len(got) >= 3, "three jobs")
        self.assertEqual(set(got), {low, high, normal})
        self.assertEqual(self.worker.claim_one()["id"], later)

    def test_then_groups_and_idempotency_keys(self):
        first = self.submit(idempotencyKey="one" + self.kind, then={"kind": self.kind, "version": 3, "input": "second"})
        self.assertEqual(self.submit(idempotencyKey="one" + self.kind,
                                     then={"kind": self.kind, "version": 3, "input": "second"}), first)
        self.worker.end_one(self.worker.claim_one(), result=1)
        following = Worker(self.port, "w3", [self.kind + "@3"]).claim_one()
        self.assertEqual((following["input"], following["id"]), ("second", self.api.job(first)["thenJob"]))
        results = self.api.call("POST", "/v1/jobs/batch", {
            "group": self.kind, "jobs": [{"kind": self.kind, "input": number} for number in range(3)]})["results"]
        self.assertEqual([each["status"] for each in results], [202] * 3)
        self.worker.end(*self.worker.claim(3), result=1)
        wait_until(lambda: self.api.call("GET", f"/v1/groups/{self.kind}").get("finishedAt"), "the group has ended")

    def test_each_job_is_given_to_one_of_many_that_ask_at_once(self):
        ids = [self.submit(input=number, maxAttempts=1) for number in range(200)]
        given = []

        def work(number):
            worker = Worker(self.port, f"w{number}", [self.kind])
            while jobs := worker.claim(wait=1):
                assert len(jobs) == 1, jobs
                given.append(jobs[0]["id"])
                assert outcome(worker.end_one(jobs[0], result=number)) == (200, "succeeded")

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(work, range(16)))
        self.assertEqual(sorted(given), sorted(ids))

    def test_pause_and_quiet(self):
        self.api.call("PATCH", f"/v1/kinds/{self.kind}", {"paused": True})
        self.refused(400, "InvalidInput", "PATCH", f"/v1/kinds/{self.kind}", {"maxRunning": 1})
        job_id = self.submit()
        self.assertEqual(self.worker.claim(), [])
        wait_until(lambda: self.api.job(job_id)["waiting"]["reason"] == "kindPaused", "the reason why it waits")
        self.api.call("PATCH", f"/v1/kinds/{self.kind}", {"paused": False})
        self.refused(404, "NotFound", "POST", "/v1/workers/nobody/quiet")
        self.api.call("POST", "/v1/workers/w1/quiet")
        answer = self.worker.answer()
        self.assertEqual((answer["worker"], answer["jobs"]), ("quiet", []))
        self.api.call("POST", "/v1/workers/w1/resume")
        self.assertEqual(self.worker.claim_one()["id"], job_id)

    def test_foreign_messages_break_nothing(self):
        queues = QueueClient(self.stack.ports["queue_service"])
        self.submit(input="first")
        queue = f"tidemark-work-{self.kind}-v1"
        queues.put(queue, "no job at all")
        queues.put(queue, json.dumps({"kind": self.kind, "version": 1, "input": "by an SDK"}))
        queues.put(queue, json.dumps({"kind": self.kind, "version": 7, "input": "of another version"}))
        inputs = set()
        wait_until(lambda: inputs.update(job["input"] for job in self.worker.claim(10)) or len(inputs) == 2, "two jobs")
        self.assertEqual(inputs, {"first", "by an SDK"})
        other = Worker(self.port, "w7", [self.kind + "@7"])
        self.assertEqual(other.claim_one()["input"], "of another version")
        wait_until(lambda: any(each["body"] == "no job at all" for each in self.api.poison()), "it is poison")

    def test_limits_of_a_key(self):
        self.api.call("PUT", f"/v1/kinds/{self.kind}", {"perKey": {"running": 2}})
        for _ in range(4):
            self.submit(key="acme/c7")
        self.submit(key="acme/c8")
        jobs = self.worker.claim(10)
        self.assertEqual(collections.Counter(job["key"] for job in jobs), {"acme/c7": 2, "acme/c8": 1})
        self.assertEqual(self.worker.claim(10), [])
        self.worker.end_one(next(job for job in jobs if job["key"] == "acme/c7"), result=1)
        self.assertEqual(len(self.worker.claim(10, wait=5)), 1)

    def test_w5_a_tenant_that_floods_does_not_delay_the_others(self):
        def longest_wait(flood_keys):
            """Returns how many jobs were claimed before those of 100 tenants, 99 of 100 of them."""
            flood = [{"kind": self.kind, "key": f"flood/{number % flood_keys}"} for number in range(1000 if flood_keys else 0)]
            calm = [{"kind": self.kind, "key": f"tenant{number}/x"} for number in range(100)]
            for begin in range(0, len(flood), 500):
                self.api.call("POST", "/v1/jobs/batch", {"jobs": flood[begin:begin + 500]})
            self.api.call("POST", "/v1/jobs/batch", {"jobs": calm})
            waits, claimed = [], 0
            while len(waits) < 100:
                jobs = self.worker.claim(10)
                for job in jobs:
                    claimed += 1
                    if not job["key"].startswith("flood"):
                        waits.append(claimed)
                self.worker.end(*jobs, result=1)
            while jobs := self.worker.claim(100):
                self.worker.end(*jobs, result=1)
            return sorted(waits)[98]
        calm = longest_wait(0)
        for flood_keys in (1, 50):
            self.assertLessEqual(longest_wait(flood_keys), 2 * calm, f"{flood_keys} keys")

    def test_a_token_of_a_worker_may_do_this_and_nothing_else(self):
        tokens = os.path.join(self.stack.directory, "tokens.json")
        with open(os.open(tokens, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({"tokens": [{"name": "resizer", "role": "worker", "token": "the-token-of-the-worker"}]}, file)
        child = self.stack.launch("api-2", "api", "--name", "api-2", "--port", "0", "--tokens-file", tokens).await_ready()
        job_id = self.submit()

        class Allowed(ApiClient):
            def send(self, method, target, headers=None, body=None):
                return super().send(method, target, {**(headers or {}), "Authorization": "Bearer the-token-of-the-worker"}, body)
        worker = Worker(int(child.ready["port"]), "w1", [self.kind], Allowed)
        job = worker.claim_one()
        self.assertEqual(worker.beat(job), ["held"])
        self.assertEqual(outcome(worker.end_one(job, result=1)), (200, "succeeded"))
        for method, path, body in (("GET", f"/v1/jobs/{job_id}", None), ("POST", "/v1/jobs", {"kind": self.kind}),
                                   ("PUT", "/v1/kinds/mine", {}), ("GET", "/v1/kinds", None), ("GET", "/v1/session", None)):
            with self.assertRaises(HttpFailure) as caught:
                worker.api.call(method, path, body)
            self.assertEqual(caught.exception.status, 403, path)

    def test_a_schedule_submits_jobs_of_the_kind(self):
        job = {"kind": self.kind, "version": 4, "input": "by a schedule"}
        self.api.call("PUT", f"/v1/schedules/{self.kind}", {"cron": "0 3 1 1 *", "job": job})
        self.refused(400, "JobInvalid", "PUT", "/v1/schedules/other", {"cron": "0 3 1 1 *",
                                                                      "job": {"kind": "unheard-of", "version": 1}})
        self.api.call("POST", f"/v1/schedules/{self.kind}/run", {})
        self.assertEqual(Worker(self.port, "w4", [self.kind + "@4"]).claim_one()["input"], "by a schedule")

    def test_the_command_line(self):
        def run(*arguments):
            return tidemark(*arguments, environment={"TIDEMARK_API": f"http://127.0.0.1:{self.port}", "TIDEMARK_TOKEN": TOKEN})
        done = run("kind", "put", "by-hand", "--lease-seconds", "7", "--per-key-running", "2")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.api.call("GET", "/v1/kinds/by-hand")["own"]["perKey"], {"running": 2, "perSecond": 0})
        done = run("job", "submit", "by-hand", "--input", '{"a":1}', "--key", "acme/1", "--kind-version", "2")
        self.assertEqual(done.returncode, 0, done)
        job = Worker(self.port, "w1", ["by-hand@2"]).claim_one()
        self.assertEqual((job["input"], job["key"], job["version"]), ({"a": 1}, "acme/1", 2))
        self.assertIn("by-hand", run("kind", "list").stdout)
        self.assertIn("1 running", run("kind", "show", "by-hand").stdout)
        self.assertEqual(run("worker", "quiet", "w1").returncode, 0)
        self.assertEqual(run("worker", "resume", "w1").returncode, 0)
        self.assertEqual(run("kind", "drop", "by-hand").returncode, 0)
        self.assertNotEqual(run("job", "submit", "by-hand").returncode, 0)

    def test_the_page_with_curl(self):
        """The commands of docs/workers.md, one after another, as they are there."""
        with open(os.path.join(SOURCE, "docs", "workers.md"), encoding="utf-8") as page:
            blocks = re.findall(r"```sh\n(.*?)```", page.read(), re.S)
        script = "set -e\n" + "\n".join(blocks)
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60,
                              env={**clean_environment(), "API": f"http://127.0.0.1:{self.port}", "TOKEN": TOKEN})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('"state":"succeeded"', done.stdout.replace(" ", ""))

    def test_metrics(self):
        self.submit()
        self.worker.end_one(self.worker.claim_one(), result=1)
        _, text = self.api.ask("GET", "/metrics")
        self.assertIn(f'tidemark_work_claimed_total{{kind="{self.kind}"}} 1', text.decode())
        self.assertIn(f'tidemark_work_ended_total{{kind="{self.kind}",state="succeeded"}} 1', text.decode())


if __name__ == "__main__":
    unittest.main()
