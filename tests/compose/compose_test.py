"""The stack as containers, used only from outside: hardening, health, jobs and poison messages across kills, scaling,
the command inside, the profiles, TLS and accounts.

Usage: compose_test.py [--from-source] [unittest's arguments...]
    --from-source   test the image that compose/Dockerfile compiles, not one of the programs under TIDEMARK_BIN

Needs a container engine; without one the test says why it is skipped (exit code 77).
"""
import base64
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support")]
from clients import KEY, HttpClient, HttpFailure, QueueClient, TableClient, ended, patiently  # noqa: E402
from engine import (SERVICES, NoEngine, Project, ProjectTest, TokenApi, answers, build_image, build_image_from_source, find_engine,  # noqa: E402
                    free_ports, run)
from stack import SOURCE, wait_until  # noqa: E402

SKIPPED = 77
FROM_SOURCE = "--from-source"
JOB_QUEUE = "tidemark-jobs"
UNPRIVILEGED = "10001"
engine = {}


def entities_of(partitions, rows):
    """Makes entities of which every tenth is not to be archived."""
    return [{"PartitionKey": f"p{p:05}", "RowKey": f"r{r}", "Number": p * rows + r, "Color": f"c{r}",
             "Keep": (p * rows + r) % 10 == 9} for p in range(partitions) for r in range(rows)]


def by_key(entities):
    return {(e["PartitionKey"], e["RowKey"]): e for e in entities}


def index_content(pieces):
    content = {}
    for piece in pieces.values():
        keys = [tuple(k) for name in sorted(piece) if name.startswith("Keys") for k in json.loads(piece[name])]
        content.setdefault(piece["Value"], []).extend(keys)
    return {value: sorted(keys) for value, keys in content.items()}


class ComposeTest(ProjectTest):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        # Short leases, since the test checks the outcome and not the wait for it.
        cls.project = Project(engine["compose"], TIDEMARK_LEASE_S="2")
        engine["project"] = cls.project
        try:
            engine["build"](cls.project.image)
            cls.project.up()
        except Exception:
            cls.project.show_logs()
            raise
        cls.tables = TableClient(cls.project.ports["TABLE"])
        cls.queues = QueueClient(cls.project.ports["QUEUE"])
        cls.api = TokenApi(cls.project.ports["API"], cls.project.token)
        for client in (cls.tables, cls.queues, cls.api):
            cls.addClassCleanup(client.close)

    def await_end(self, job_id, limit_s=120):
        def look():
            job = patiently(self.api.job, job_id)
            return job if ended(job) else None
        return wait_until(look, f"the end of job {job_id}", limit_s, interval_s=0.1)

    # Looking a container up takes as long as a good part of a job, so a killer is prepared in advance and strikes at
    # once. It returns a function that brings the service back.

    def process_killer(self, service, number=0):
        """The process dies as if the kernel had killed it: the restart policy must bring it back."""
        state = self.project.inspect(service, number)
        pid, restarts = state["State"]["Pid"], state["RestartCount"]
        if not self.is_visible(pid, state["Path"]):
            return self.container_killer(service, number)  # the engine is on another machine

        def kill():
            os.kill(pid, signal.SIGKILL)
            return lambda: wait_until(lambda: self.project.inspect(service, number)["RestartCount"] > restarts,
                                      f"{service} being restarted", 30, interval_s=0.1)
        return kill

    @staticmethod
    def is_visible(pid, program):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                return os.geteuid() == 0 and file.read().strip() == program[:15]
        except OSError:
            return False

    def container_killer(self, service, number=0):
        """The engine takes `docker kill` for a user's decision, which its restart policy respects, so the test starts
        it again."""
        container = self.project.container(service, number)

        def kill():
            run("docker", "kill", container)
            return lambda: run("docker", "start", container)
        return kill

    def test_1_hardening(self):
        for service in SERVICES:
            with self.subTest(service=service):
                found = self.project.inspect(service)
                self.assertEqual(self.project.execute(service, "id", "-u").strip(), UNPRIVILEGED)
                self.assertTrue(found["HostConfig"]["ReadonlyRootfs"])
                container = self.project.container(service)
                for place in ("/usr/local/bin/x", "/tmp/x", "/x"):
                    self.assertFalse(answers("docker", "exec", "-u", "0", container, "touch", place), place)
                status = self.project.execute(service, "cat", "/proc/1/status")
                for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"):
                    self.assertIn(line, status)
                for published in (found["NetworkSettings"]["Ports"] or {}).values():
                    for binding in published or []:
                        self.assertEqual(binding["HostIp"], "127.0.0.1")

    def test_2_token(self):
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            plain = HttpClient(self.project.ports["API"])
            self.addCleanup(plain.close)
            for method, target in (("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("GET", "/v1/poison")):
                self.assertEqual(plain.send(method, target, headers)[0], 401, (method, target, headers))

    def test_3_health_tells_the_truth(self):
        check = self.project.inspect("api")["Config"]["Healthcheck"]["Test"]
        self.assertEqual(check[0], "CMD")
        api = self.project.container("api")
        self.assertTrue(answers("docker", "exec", api, *check[1:]))
        store = self.project.container("table_store")
        run("docker", "stop", "-t", "30", store)
        try:
            self.assertEqual(self.project.inspect("table_store")["State"]["ExitCode"], 0, "an orderly stop")
            self.assertFalse(answers("docker", "exec", api, "timeout", "5", *check[1:]))
        finally:
            run("docker", "start", store)
        self.project.await_healthy("table_store")
        wait_until(lambda: answers("docker", "exec", api, *check[1:]), "the api being ready again", 30)

    def test_4_jobs_across_kills(self):
        entities = entities_of(1500, 4)
        moved = by_key(e for e in entities if not e["Keep"])
        kept = by_key(e for e in entities if e["Keep"])
        self.tables.create_table("Orders")
        self.tables.put_many("Orders", entities)
        archive = {"kind": "archive", "source": "Orders", "destination": "OrdersArchive", "filter": "Keep eq false",
                   "maxAttempts": 100, "idempotencyKey": "archive"}
        killers = [self.process_killer("table_store"), self.process_killer("worker", 0),
                   self.container_killer("worker", 1)]
        job_id = self.api.submit(archive)
        early = sorted(moved)[len(moved) // 20]
        wait_until(lambda: self.tables.get("OrdersArchive", *early), "progress of the job", interval_s=0.0)
        revivals = [kill() for kill in killers]
        for revive in revivals:
            revive()
        here = patiently(self.tables.scan, "Orders")
        there = patiently(self.tables.scan, "OrdersArchive")
        self.assertEqual({**there, **here}, by_key(entities), "an entity is in neither table, or changed")
        for killer in (self.container_killer("queue_service"), self.process_killer("api")):
            revive = killer()
            revive()

        job = self.await_end(job_id)
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(job["progress"]["done"], len(moved), job)
        self.assertGreater(job["attempts"], 1, "the job was over before anything was killed")
        print(f"\nthe job took {job['attempts']} attempts", flush=True)
        self.assertEqual(patiently(self.tables.scan, "Orders"), kept)
        self.assertEqual(self.tables.scan("OrdersArchive"), moved)
        self.assertEqual(patiently(self.api.submit, archive), job_id, "the same submission is the same job")

        index = {"kind": "index", "source": "OrdersArchive", "property": "Color", "destination": "OrdersByColor"}
        job = self.await_end(self.api.submit(index))
        self.assertEqual(job["state"], "succeeded", job)
        wanted = {}
        for key, entity in sorted(moved.items()):
            wanted.setdefault(entity["Color"], []).append(key)
        self.assertEqual(index_content(self.tables.scan("OrdersByColor")), wanted)
        wait_until(lambda: patiently(self.queues.length, JOB_QUEUE) == 0, "an empty job queue")
        self.project.await_healthy(*SERVICES)

    def test_5_poison(self):
        job_id = self.api.submit({"kind": "archive", "source": "Late", "destination": "LateArchive", "filter": ""})
        self.assertEqual(self.await_end(job_id)["state"], "poisoned")
        # The record says that the job is poisoned before its message is in the poison queue.
        def of_job():
            return [p for p in self.api.poison() if p["jobId"] == job_id]
        wait_until(of_job, "the message of the poisoned job")
        mine = of_job()
        self.assertEqual(len(mine), 1, mine)
        shown = self.api.call("GET", f"/v1/poison/{mine[0]['id']}")
        self.assertIn("Late", shown["reason"])
        self.assertEqual(shown["attempts"][-1]["errorClass"], "permanent", shown)
        self.assertIn(shown["attempts"][-1]["worker"], self.worker_names())

        self.tables.create_table("Late")
        entity = {"PartitionKey": "p", "RowKey": "r", "Total": 12}
        self.tables.put("Late", entity)
        self.api.call("POST", f"/v1/poison/{shown['id']}/redrive")
        wait_until(lambda: self.api.job(job_id)["state"] == "succeeded", "the redriven job's success")
        self.assertEqual(self.tables.scan("Late"), {})
        self.assertEqual(self.tables.scan("LateArchive"), by_key([entity]))
        self.assertEqual(of_job(), [])
        with self.assertRaises(HttpFailure) as gone:
            self.api.call("GET", f"/v1/poison/{shown['id']}")
        self.assertEqual(gone.exception.status, 404)

    def test_6_new_containers_old_data(self):
        self.tables.create_table("Lasting")
        entity = {"PartitionKey": "p", "RowKey": "r", "Text": "still here"}
        self.tables.put("Lasting", entity)
        jobs = self.api.jobs()
        token = self.project.token
        self.project.compose("down", "-t", "30", TIDEMARK_LEASE_S="")
        self.project.up()
        self.assertEqual(self.project.token, token, "the secrets are kept with the data")
        self.assertEqual(patiently(self.tables.scan, "Lasting"), by_key([entity]))
        self.assertEqual(patiently(self.api.jobs), jobs)

    def worker_names(self):
        """Returns the workers' names: each is named after its container, whose short id is its host name."""
        return {f"worker-{container[:12]}-1" for container in self.project.containers("worker")}

    def test_7_scale(self):
        self.project.up(workers=4)
        listed = wait_until(lambda: self.worker_names() <= {w["name"] for w in json.loads(
            self.project.tidemark("worker", "list", "--json"))["workers"]}, "four workers in the list")
        self.assertTrue(listed)
        for number in range(4):
            self.assertEqual(self.project.inspect("worker", number)["RestartCount"], 0)
        self.project.up(workers=2)

    def test_8_the_command_inside(self):
        self.tables.create_table("Inside")
        self.assertIn("Inside", self.project.tidemark("table", "list"))
        self.assertIn("succeeded", self.project.tidemark(
            "job", "submit", "archive", "--source", "Inside", "--directory", "archive", "--filter", "", "--wait"))

    def test_9_demo_and_chaos(self):
        self.assertIn("All of it worked.", self.project.compose("run", "--rm", "-T", "demo"))
        told = self.project.compose("run", "--rm", "-T", "-e", "TIDEMARK_CHAOS_SECONDS=15", "chaos")
        print("\n" + told[told.rindex(" kills ") - 10:], flush=True)
        self.assertNotIn("BROKEN", told)
        self.assertEqual(told.count(" holds\n"), 6, told)
        self.project.await_healthy(*SERVICES)

    def test_backup_and_restore(self):
        """Follows compose/README.md."""
        self.tables.create_table("Kept")
        self.assertIn("/backups/tidemark-", self.project.tidemark("backup", "/backups", "--keep", "2"))
        name = json.loads(self.project.tidemark("--json", "backup", "list", "/backups"))["backups"][-1]["name"]
        self.tables.create_table("Later")
        with open(os.path.join(SOURCE, "compose", "README.md"), encoding="utf-8") as manual:
            commands = re.search(r"run --rm --no-deps api sh -ec '\n(.*?)'", manual.read(), re.DOTALL)[1]
        self.project.compose("stop")
        self.project.compose("run", "--rm", "--no-deps", "-T", "api", "sh", "-ec", commands.replace("NAME", name))
        self.project.up()
        tables = self.project.tidemark("table", "list")
        self.assertIn("Kept", tables)
        self.assertNotIn("Later", tables)

    def test_monitoring(self):
        """The profile's Prometheus finds every process and all workers, and has the rules."""
        image = self.project.image + "-prometheus"
        with tempfile.TemporaryDirectory(prefix="tmimage") as context:
            run("docker", "build", "-f", os.path.join(SOURCE, "compose", "prometheus.Dockerfile"), "-t", image, context)
        self.addCleanup(run, "docker", "image", "rm", "-f", image, check=False)
        settings = {"COMPOSE_PROFILES": "monitoring", "TIDEMARK_PROMETHEUS_IMAGE": image,
                    "TIDEMARK_PROMETHEUS_PORT": str(free_ports(1)[0])}
        self.project.compose("up", "-d", "--no-build", "--no-deps", "prometheus", **settings)
        container = self.project.compose("ps", "-q", "prometheus", **settings).strip()
        self.addCleanup(run, "docker", "rm", "-f", "-v", container, check=False)

        def ask(path):
            return json.loads(run("docker", "exec", container, "curl", "-fsS", "http://127.0.0.1:9090" + path) or "{}")

        def programs_up():
            targets = ask("/api/v1/targets?state=active")["data"]["activeTargets"]
            return sorted(target["labels"]["program"] for target in targets if target["health"] == "up")
        wait_until(lambda: answers("docker", "exec", container, "curl", "-fsS", "http://127.0.0.1:9090/-/ready"), "Prometheus")
        workers = len(self.project.containers("worker"))
        wanted = sorted(["table_store", "queue_service", "blob_store", "api", *["worker"] * workers])
        wait_until(lambda: programs_up() == wanted, "all targets are up", 90, interval_s=1)
        rules = [rule["name"] for group in ask("/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
        self.assertIn("TidemarkDown", rules)

    def test_beyond_loopback_with_tls(self):
        """The stack has an account with a key of its own, HTTPS, and health checks that tell the truth about it."""
        with tempfile.TemporaryDirectory(prefix="tmtls") as folder:
            make_certificate(folder)
            settings = {"TIDEMARK_BIND": "0.0.0.0", "TIDEMARK_TLS_DIRECTORY": folder}
            self.addCleanup(self.project.up)
            self.project.up(**settings)
            self.assertNotEqual(patiently(self.tables.send, "GET", "/Tables")[0], 200, "plain HTTP")
            check = self.project.inspect("api")["Config"]["Healthcheck"]["Test"]
            self.assertTrue(answers("docker", "exec", self.project.container("api"), *check[1:]))
            key = self.project.execute("api", "cat", "/secrets/tidemark.json")
            self.assertIn('"account": "tidemark"', key)
            self.assertIn('"allow_development_key": false', key)
            self.project.execute("api", "bash", "-c",
                                 """tidemark table import Own <<<'{"PartitionKey":"p","RowKey":"r"}'""")
            self.assertIn("Own", self.project.tidemark("table", "list"))
            well_known = ("--account", "devstoreaccount1", "--key", base64.b64encode(KEY).decode())
            refused = self.project.tidemark(*well_known, "table", "list", check=False)
            self.assertNotIn("Own", refused)


def make_certificate(folder):
    """Makes a certificate for the names by which the processes reach each other, and its own authority."""
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=api",
        "-addext", "subjectAltName=DNS:api,DNS:table_store,DNS:localhost", "-keyout", f"{folder}/key.pem",
        "-out", f"{folder}/certificate.pem")
    shutil.copy(f"{folder}/certificate.pem", f"{folder}/ca.pem")
    os.chmod(folder, 0o755)
    os.chmod(f"{folder}/key.pem", 0o644)


def main():
    try:
        engine["compose"] = find_engine()
    except NoEngine as reason:
        print(f"SKIPPED: the stack in containers is not tested, for want of a container engine: {reason}")
        return SKIPPED
    engine["build"] = build_image_from_source if FROM_SOURCE in sys.argv else build_image
    arguments = [a for a in sys.argv if a != FROM_SOURCE]
    # However the test ends, even if it is interrupted, its containers and their data are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return 0 if unittest.main(argv=arguments, verbosity=2, exit=False).result.wasSuccessful() else 1
    finally:
        if "project" in engine:
            engine["project"].down()


if __name__ == "__main__":
    sys.exit(main())
