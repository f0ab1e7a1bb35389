"""Jobs of users' own kinds that end with guards and steps: everything happens once, or nothing does."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import HttpFailure, QueueClient, TableClient, ended  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from own_worker import Worker, outcome  # noqa: E402
from stack import StackTest, wait_until  # noqa: E402

PAY = {"guards": [{"as": "o", "table": "Orders", "partitionKey": "shop", "rowKey": "17", "where": "State eq 'open'"}],
       "steps": [{"merge": {"table": "Accounts", "partitionKey": "c7", "rowKey": "sum", "add": {"Cents": "{o.Cents}"}, "orInsert": True}},
                 {"message": {"queue": "mail", "text": "{job.id}"}}]}


class EndsWithSteps(StackTest):
    """Ends that are transactions: the result, writes and messages of a job happen together."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=1, worker_arguments=("--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "50"))
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        for table in ("Orders", "Accounts"):
            cls.tables.create_table(table)
        cls.queues.create("mail")
        cls.api.call("PUT", "/v1/kinds/pay", {"leaseSeconds": 30, "steps": True})
        cls.worker = Worker(cls.stack.ports["api"], "w1", ["pay"], CheckedApiClient)

    def setUp(self):
        self.order("open")
        self.tables.put("Accounts", {"PartitionKey": "c7", "RowKey": "sum", "Cents@odata.type": "Edm.Int64", "Cents": "0"})

    def order(self, state):
        self.tables.put("Orders", {"PartitionKey": "shop", "RowKey": "17", "State": state, "Cents@odata.type": "Edm.Int64", "Cents": "500"})

    def cents(self):
        return int(self.tables.get("Accounts", "c7", "sum")["Cents"])

    def claimed(self, **members):
        job_id = self.api.submit({"kind": "pay", **members})
        job = self.worker.claim_one()
        self.assertEqual((job["id"], job["leaseSeconds"]), (job_id, 30))
        return job

    def end_of(self, job):
        return wait_until(lambda: (found := self.api.job(job["id"])) and ended(found) and found, "the job has ended")

    def test_everything_happens_once(self):
        job = self.claimed()
        how = {**PAY, "result": {"paid": 500}}
        self.assertEqual(outcome(self.worker.end_one(job, **how)), (200, "running"))
        found = self.end_of(job)
        self.assertEqual((found["state"], found["kind"], found["result"]), ("succeeded", "pay", {"paid": 500}))
        self.assertEqual([each["outcome"] for each in found["history"]], ["ended", "succeeded"])
        self.assertEqual([list(step) for step in found["end"]["steps"]], [["merge"], ["message"]])
        self.assertEqual(self.cents(), 500)
        self.assertEqual([each["MessageText"] for each in self.queues.take("mail")], [job["id"]])
        self.assertEqual(outcome(self.worker.end_one(job, **how)), (200, "succeeded"), "repeated")
        self.assertEqual(outcome(self.worker.end_one(job, release=True)), (200, "succeeded"))
        self.assertEqual(self.worker.beat(job), ["lost"])
        self.assertEqual(self.worker.end_one({**job, "epoch": 99}, **how)["status"], 412)
        self.assertEqual(self.cents(), 500)

    def test_a_stale_end_takes_no_steps(self):
        job = self.claimed(maxAttempts=1)
        self.worker.end_one(job, release=True)
        again = self.worker.claim_one()
        self.assertEqual(again["epoch"], 2)
        self.assertEqual(self.worker.end_one(job, result=1, **PAY)["status"], 412)
        self.assertEqual(outcome(self.worker.end_one(again, result=2, **PAY)), (200, "running"))
        self.assertEqual(self.end_of(job)["result"], 2)
        self.assertEqual(self.cents(), 500)
        self.queues.take("mail")

    def test_a_guard_that_does_not_hold(self):
        self.order("sold")
        job = self.claimed()
        self.worker.end_one(job, result=1, **PAY)
        found = self.end_of(job)
        self.assertEqual((found["state"], found["result"]["found"]["State"]), ("cancelled", "sold"), found)
        self.assertEqual((self.cents(), self.queues.take("mail")), (0, []))

    def test_poison_names_the_step(self):
        job = self.claimed(maxAttempts=1)
        steps = PAY["steps"] + [{"insert": {"table": "Orders", "partitionKey": "shop", "rowKey": "17", "entity": {"A": 1}}}]
        self.worker.end_one(job, result=7, guards=PAY["guards"], steps=steps)
        found = self.end_of(job)
        self.assertEqual(found["state"], "poisoned")
        self.assertTrue(found["error"].startswith("steps[2]: insert"), found["error"])
        with self.assertRaises(HttpFailure) as caught:
            self.api.call("POST", f"/v1/poison/{job['id']}/redrive", {"kind": "pay", "input": "changed"})
        self.assertIn("ended with steps", str(caught.exception.body))
        self.tables.delete("Orders", "shop", "17")
        self.api.call("POST", f"/v1/poison/{job['id']}/redrive")
        found = self.end_of(job)
        self.assertEqual((found["state"], found["result"], self.cents()), ("succeeded", 7, 500), found)
        self.assertEqual(len(self.queues.take("mail")), 1)

    def test_every_problem_has_its_place(self):
        job = self.claimed()
        for how, problems in (({"result": 1, "steps": [{"merge": {"of": "x"}}, {"nothing": {}}]}, ("jobs[0]: steps[0]", "jobs[0]: steps[1]")),
                              ({"steps": PAY["steps"]}, ("steps and guards go with a result",)),
                              ({"release": True, "steps": PAY["steps"]}, ("steps and guards go with a result",))):
            with self.assertRaises(HttpFailure) as caught:
                self.worker.end_one(job, **how)
            self.assertEqual(caught.exception.status, 400)
            for problem in problems:
                self.assertIn(problem, str(caught.exception.body))
        steps = [{"callback": {"url": "https://not-allowed.example/x"}}]
        self.assertEqual(self.worker.end_one(job, result=1, steps=steps)["status"], 400)
        steps = [{"put": {"table": "Orders", "partitionKey": "p", "rowKey": "r", "entity": {"A": "x" * 20_000}}}]
        self.assertEqual(self.worker.end_one(job, result="x" * 20_000, steps=steps)["status"], 413)
        self.assertEqual(outcome(self.worker.end_one(job, result=1)), (200, "succeeded"))
        self.api.call("PUT", "/v1/kinds/plain", {})
        self.api.submit({"kind": "plain"})
        plain = Worker(self.stack.ports["api"], "w1", ["plain"], CheckedApiClient)
        job = plain.claim_one()
        refused = plain.end_one(job, result=1, **PAY)
        self.assertEqual((refused["status"], '"steps": true' in refused["problem"]["detail"]), (400, True), refused)
        self.assertEqual(outcome(plain.end_one(job, result=1)), (200, "succeeded"))


if __name__ == "__main__":
    unittest.main()
