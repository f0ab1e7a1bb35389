"""The clients for Python, JavaScript and C#, each of which does the same with the real programs:

    clients_test.py Python|TypeScript|CSharp [CASE ...]

A client is reached through a small program in its language (runners/), which does what its arguments say and prints lines of
JSON. Without .NET 10, nothing is run for C#, and the exit code is 77.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "dotnet")]
import run_dotnet_tests  # noqa: E402
from clients import ApiClient, QueueClient, TableClient, ended  # noqa: E402
from stack import BIN, TOKEN, StackTest, clean_environment, wait_until  # noqa: E402

HOW_LONG_S = 120


class Running:
    """A runner that works until it is told to stop. Its lines are read one by one."""

    def __init__(self, command, environment):
        self.popen = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        self.told("ready")

    def told(self, member):
        """Returns the next line that has this member."""
        for line in self.popen.stdout:
            said = json.loads(line)
            if said and member in said:
                return said
        raise AssertionError(f"the worker ended with {self.popen.wait()} and did not tell {member!r}")

    def stop(self):
        self.popen.send_signal(signal.SIGTERM)
        self.told("over")
        assert self.popen.wait(HOW_LONG_S) == 0

    def kill(self):
        self.popen.kill()
        self.popen.wait()
        self.popen.stdout.close()


class Cases:
    """The cases that every client must pass."""
    computes = True  # the signs of life have a thread of their own
    runner = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=1, worker_arguments=("--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "50"))
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        for table in ("Orders", "Accounts"):
            cls.tables.create_table(table)
        cls.queues.create("mail")
        data = tempfile.TemporaryDirectory()
        cls.addClassCleanup(data.cleanup)
        (pathlib.Path(data.name) / "run").mkdir()
        (pathlib.Path(data.name) / "run" / "token").write_text(TOKEN + "\n", encoding="ascii")
        cls.environment = clean_environment({"TIDEMARK_API": f"http://127.0.0.1:{cls.stack.ports['api']}", "TIDEMARK_DATA": data.name, "TIDEMARK_TOKEN": ""})

    def setUp(self):
        self.kind = "k" + re.sub("[^a-z]", "", self._testMethodName)[4:34]
        self.declare()

    def declare(self, **members):
        self.ask("putKind", name=self.kind, members={"leaseSeconds": 60, "retryBaseMs": 1, "retryCapMs": 10, **members})

    def ask(self, command, **arguments):
        """Runs the runner once and returns its last line."""
        ran = subprocess.run([*self.runner, command, json.dumps(arguments)], env=self.environment, stdout=subprocess.PIPE,
                             text=True, timeout=HOW_LONG_S, check=True)
        return json.loads(ran.stdout.splitlines()[-1])

    def start(self, **options):
        worker = Running([*self.runner, "work", json.dumps({"kind": self.kind, **options})], self.environment)
        self.addCleanup(worker.kill)
        return worker

    def submit(self, do, maxAttempts=1, **wish):
        """Submits a job as any other client would."""
        return self.api.submit({"kind": self.kind, "maxAttempts": maxAttempts, "input": {"do": do, **wish}})

    def end_of(self, job_id):
        return wait_until(lambda: (job := self.api.job(job_id)) and ended(job) and job, f"job {job_id} has ended")

    def order(self, row, state="open"):
        self.tables.put("Orders", {"PartitionKey": "shop", "RowKey": row, "State": state, "Cents@odata.type": "Edm.Int64", "Cents": "500"})

    def test_jobs_are_submitted_listed_waited_for_and_cancelled(self):
        self.order("one")
        job = self.ask("submit", kind="delete", members={"source": "Orders", "filter": "Cents eq 1L"}, wait=30)
        self.assertEqual(job["state"], "succeeded")
        later = self.ask("submit", kind=self.kind, members={"input": 1, "notBefore": "2099-01-01T00:00:00Z"})
        self.assertEqual(self.ask("wait", job_id=later["id"], timeout=0.1)["state"], "queued")
        self.assertEqual(self.ask("listed", kind=self.kind), [later["id"]])
        self.assertEqual(self.ask("cancel", job_id=later["id"])["state"], "cancelled")

    def test_errors_list_every_problem(self):
        told = self.ask("refused", members={"steps": [{"merge": {"table": "T", "partitionKey": "p", "rowKey": "r", "add": {"A": "x"}}},
                                                      {"message": {"queue": "mail", "text": "{"}}, {"nothing": {}}]})
        self.assertEqual((told["status"], told["code"]), (400, "JobInvalid"))
        self.assertGreaterEqual(len(told["problems"]), 3, told)

    def test_a_transaction_with_its_types(self):
        self.order("types")
        plan = self.ask("plan", row="types")
        self.assertEqual((len(plan["samples"]), plan["problems"]), (4, []), plan)
        self.assertEqual(self.tables.get("Orders", "shop", "types")["State"], "open", "a plan changes nothing")
        job = self.ask("pay", row="types", members={"idempotencyKey": "pay types"})
        self.assertEqual(job["state"], "succeeded", job)
        self.assert_paid("types")
        again = self.ask("pay", row="types", members={"idempotencyKey": "pay types"})
        self.assertEqual(again["id"], job["id"], "the idempotency key names the job")

    def assert_paid(self, row):
        account = self.tables.get("Accounts", "c7", row)
        self.assertEqual((account["Cents"], account["Small"], self.tables.get("Accounts", "c8", row)["Cents"]), ("500", "1", "-500"))
        order = self.tables.get("Orders", "shop", row)
        self.assertEqual((order["State"], order["Big"], order["By"], order["Raw"], order["Share"], order["Yes"]),
                         ("paid", str(2**40), "00000000-0000-0000-0000-000000000001", "eA==", 0.5, True))
        self.assertEqual(order["At"][:19], "2026-01-02T00:00:00")
        self.assertEqual([each["MessageText"] for each in self.queues.take("mail")],
                         ['{"cents":500,"plain":"{o.Cents}","row":"' + row + '"}'])
        self.queues.clear("mail")

    def test_a_guard_that_does_not_hold(self):
        self.order("sold", "sold")
        job = self.ask("pay", row="sold")
        self.assertEqual((job["state"], job["result"]["found"]["State"]), ("cancelled", "sold"), job)

    def test_a_rule_is_declared_read_and_dropped(self):
        self.api.call("PUT", "/v1/tables/Orders/feed", {"values": "both"})
        self.ask("rule", method="PUT", members={"queue": "told"})
        self.assertEqual(self.ask("rule", method="GET")["name"], "tell")
        self.ask("rule", method="POST", action="resume")
        self.ask("rule", method="DELETE")
        self.assertEqual(self.api.call("GET", "/v1/tables/Orders/onChange")["onChange"], [])

    def test_a_worker_does_20_jobs(self):
        ids = [self.submit("echo", value={"number": number}) for number in range(20)]
        worker = self.start(concurrency=8)
        for number, job_id in enumerate(ids):
            job = self.end_of(job_id)
            self.assertEqual((job["state"], job.get("result"), job["attempts"]), ("succeeded", {"number": number}, 1), job)
        worker.stop()

    def test_signs_of_life_keep_a_job_longer_than_its_lease(self):
        self.declare(leaseSeconds=4)
        slept = self.submit("sleep", seconds=9)
        computed = self.submit("compute", seconds=5) if self.computes else None
        self.start(concurrency=2)
        self.assertEqual(self.end_of(slept)["result"], {"slept": 1})
        if computed:
            self.assertEqual(self.end_of(computed)["result"], {"computed": 1})

    def test_a_cancel_reaches_a_handler_at_once(self):
        self.declare(leaseSeconds=3600)  # by a sign of life alone, it would take 5 s
        worker = self.start()
        job_id = self.submit("wait")
        worker.told("began")
        self.api.cancel(job_id)
        self.assertEqual(worker.told("stopped"), {"stopped": "cancelled", "id": job_id})
        self.assertEqual(self.end_of(self.submit("echo", value=1))["result"], 1, "the worker goes on")

    def test_sigterm_drains(self):
        worker = self.start(concurrency=2)
        job_id = self.submit("sleep", seconds=2)
        worker.told("began")
        worker.stop()
        self.assertEqual(self.api.job(job_id)["result"], {"slept": 1})

    def test_sigterm_gives_jobs_back_without_an_attempt(self):
        self.declare(leaseSeconds=60)
        worker = self.start(concurrency=3, drain=1)
        job_id, silent = self.submit("wait"), self.submit("sleep", seconds=600)
        for _ in range(2):
            worker.told("began")
        worker.popen.send_signal(signal.SIGTERM)
        self.assertEqual(worker.told("stopped"), {"stopped": "released", "id": job_id})
        worker.told("over")
        for each in (job_id, silent):
            job = self.api.job(each)
            self.assertEqual((job["state"], job["attempts"], job["history"]), ("queued", 0, []), job)

    def test_failures_have_classes(self):
        self.start()
        job = self.end_of(self.submit("permanent", maxAttempts=5))
        self.assertEqual((job["state"], job["error"], job["attempts"]), ("poisoned", "no picture", 1), job)
        self.ask("redrive", job_id=job["id"], spec={"kind": self.kind, "input": {"do": "echo", "value": 7}})
        self.assertEqual(self.end_of(job["id"])["result"], 7)
        job = self.end_of(self.submit("fail", maxAttempts=2))
        self.assertEqual((job["state"], job["attempts"]), ("poisoned", 2), job)
        self.assertIn("broken", job["error"])
        later = self.submit("later")
        job = wait_until(lambda: (job := self.api.job(later))["state"] == "queued" and job.get("error") and job, "it was put off")
        self.assertIn("busy", job["error"])
        self.api.cancel(later)

    def test_a_checkpoint_survives_a_killed_worker(self):
        self.declare(leaseSeconds=4)
        worker = self.start()
        job_id = self.submit("save", maxAttempts=3)
        worker.told("saved")
        self.assertEqual(self.api.job(job_id)["checkpoint"], {"row": 17})
        worker.kill()
        self.start()
        self.assertEqual(self.end_of(job_id)["result"], {"from": {"row": 17}, "attempt": 2})

    def test_an_end_with_steps(self):
        self.declare(steps=True)
        self.order("steps")
        self.order("gone", "gone")
        self.start()
        job = self.end_of(self.submit("pay", row="steps"))
        self.assertEqual((job["state"], job["result"]), ("succeeded", {"paid": "steps"}), job)
        self.assert_paid("steps")
        job = self.end_of(self.submit("pay", row="gone"))
        self.assertEqual((job["state"], job["result"]["found"]["State"]), ("cancelled", "gone"), job)
        job = self.end_of(self.submit("spoil", maxAttempts=5))
        self.assertEqual(job["state"], "poisoned", job)
        self.assertIn("The end was refused", job["error"])

    def test_a_handler_runs_without_a_server(self):
        told = {"progress": [1], "checkpoints": [{"done": 1}]}
        nothing = {"result": None, "error": None, "steps": 0, "cancelled": False}
        self.assertEqual(self.ask("harness", input={"do": "echo", "value": 5}), {**nothing, **told, "result": 5})
        self.assertEqual(self.ask("harness", input={"do": "echo", "value": 5}, checks=1),
                         {**nothing, "progress": [1], "checkpoints": [{"done": 1}], "cancelled": True})
        self.assertEqual(self.ask("harness", input={"do": "pay", "row": "r"})["steps"], 4)
        self.assertEqual(self.ask("harness", input={"do": "permanent"})["error"], {"class": "permanent", "message": "no picture"})
        self.assertEqual(self.ask("harness", input={"do": "later"})["error"], {"class": "throttled", "message": "busy", "retryAfter": 1})
        self.assertEqual(self.ask("harness", input={"do": "fail"})["error"]["class"], "transient")


class Python(Cases, StackTest):
    runner = (sys.executable, str(HERE / "runners" / "runner.py"))


class TypeScript(Cases, StackTest):
    runner = ("node", str(HERE / "runners" / "runner.mjs"))
    computes = False


class CSharp(Cases, StackTest):
    @classmethod
    def setUpClass(cls):
        artifacts = pathlib.Path(os.environ.get("TIDEMARK_ARTIFACTS") or pathlib.Path(BIN).resolve().parent / "tests" / "clients")
        made = run_dotnet_tests.build(HERE / "runners" / "csharp", artifacts)
        if made.returncode:
            raise AssertionError(made.stdout)
        cls.runner = ("dotnet", str(artifacts / "bin" / "Runner" / "debug" / "Runner.dll"))
        super().setUpClass()


if __name__ == "__main__":
    language = sys.argv.pop(1)
    if language == "CSharp":
        run_dotnet_tests.check_sdk()
    cases = [f"{language}.{case}" for case in sys.argv[1:]] or [language]
    unittest.main(argv=[sys.argv[0], *cases])
