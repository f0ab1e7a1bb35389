"""The client for Python: against the real api, and its harness without one."""
import datetime
import os
import sys
import unittest
import uuid

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(TOP, "tests", "support"), os.path.join(TOP, "clients", "python")]
from clients import QueueClient, TableClient  # noqa: E402
from stack import TOKEN, StackTest  # noqa: E402
from tidemark import Client, Int64, Permanent, Retry, TidemarkError, Transaction  # noqa: E402
from tidemark import testing  # noqa: E402
from tidemark.transactions import text  # noqa: E402


class ClientTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=1, worker_arguments=("--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "50"))
        cls.client = Client(f"http://127.0.0.1:{cls.stack.ports['api']}", TOKEN)
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        for table in ("Orders", "Accounts"):
            cls.tables.create_table(table)
        cls.queues.create("mail")

    def order(self, row, state="open"):
        self.tables.put("Orders", {"PartitionKey": "shop", "RowKey": row, "State": state, "Cents@odata.type": "Edm.Int64",
                                   "Cents": "500"})

    def payment(self, row):
        t = Transaction(self.client, idempotencyKey=f"pay {row}")
        order = t.guard("Orders", "shop", row, where="State eq 'open'")
        order.merge(set={"State": "paid", "At": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)})
        t.merge("Accounts", "c7", row, add={"Cents": order["Cents"]}, or_insert=True)
        t.merge("Accounts", "c8", row, add={"Cents": -order["Cents"], "Small": Int64(1)}, or_insert=True)
        t.message("mail", {"row": order["RowKey"], "cents": order["Cents"], "plain": text("{o.Cents}")})
        return t

    def test_a_transaction_with_its_types(self):
        self.order("types")
        plan = self.payment("types").plan()
        self.assertEqual((len(plan["samples"]), plan["problems"]), (4, []), plan)
        job = self.payment("types").submit(wait=30)
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.tables.get("Accounts", "c7", "types")["Cents"], "500")
        other = self.tables.get("Accounts", "c8", "types")
        self.assertEqual((other["Cents"], other["Small"]), ("-500", "1"))
        self.assertEqual(self.tables.get("Orders", "shop", "types")["At"], "2026-01-02T00:00:00Z")
        message = self.queues.take("mail")[0]["MessageText"]
        self.assertEqual(message, '{"cents":500,"plain":"{o.Cents}","row":"types"}')
        again = self.payment("types").submit(wait=30)
        self.assertEqual(again["id"], job["id"], "the idempotency key names the job")

    def test_a_guard_that_does_not_hold(self):
        self.order("sold", "sold")
        job = self.payment("sold").submit(wait=30)
        self.assertEqual((job["state"], job["result"]["found"]["State"]), ("cancelled", "sold"), job)

    def test_errors_list_every_problem(self):
        t = Transaction(self.client)
        t.merge("T", "p", "r", add={"A": "x"}).message("mail", "{")
        with self.assertRaises(TidemarkError) as raised:
            t.submit()
        self.assertEqual((raised.exception.status, raised.exception.code), (400, "JobInvalid"))
        self.assertGreaterEqual(len(raised.exception.problems), 3, raised.exception.problems)

    def test_jobs_are_listed_waited_for_and_cancelled(self):
        self.order("listed")
        job = self.payment("listed").submit(wait=30)
        self.assertIn(job["id"], [each["id"] for each in self.client.jobs(kind="transaction", state="succeeded")])
        later = self.client.submit("delete", source="Orders", filter="", notBefore="2099-01-01T00:00:00Z")
        self.assertEqual(self.client.wait(later["id"], timeout=0)["state"], "queued")
        self.assertEqual(self.client.cancel(later["id"])["state"], "cancelled")

    def test_a_connection_that_the_api_closed_is_opened_again(self):
        self.client.job(self.client.submit("delete", source="Orders", filter="Cents eq 1L", wait=20)["id"])
        self.stack.restart("api")
        self.assertIsInstance(list(self.client.jobs()), list)


class HarnessTest(unittest.TestCase):
    @staticmethod
    def resize(job):
        for done, page in enumerate(job.input, 1):
            job.check()
            if page == "bad":
                raise Permanent("no picture")
            if page == "busy":
                raise Retry(30, "busy")
            if page == "broken":
                raise ValueError("broken")
            job.progress(done, len(job.input))
            job.save({"done": done})
        return {"pages": len(job.input)}

    def test_a_handler_runs_without_a_server(self):
        outcome = testing.run(self.resize, ["a", "b"])
        self.assertEqual((outcome.result, outcome.error), ({"pages": 2}, None))
        self.assertEqual(outcome.checkpoints, [{"done": 1}, {"done": 2}])
        self.assertEqual(outcome.progress[-1]["done"], 2)

    def test_what_a_handler_raises_decides(self):
        self.assertEqual(testing.run(self.resize, ["bad"]).error, {"class": "permanent", "message": "no picture"})
        self.assertEqual(testing.run(self.resize, ["busy"]).error, {"class": "throttled", "message": "busy", "retryAfter": 30})
        with self.assertLogs("tidemark", "ERROR"):
            self.assertEqual(testing.run(self.resize, ["broken"]).error["class"], "transient")
        self.assertTrue(testing.run(self.resize, ["a", "b"], cancel_at_check=1).cancelled)

    def test_values_have_the_types_of_the_api(self):
        t = Transaction(None).put("T", "p", "r", {"A": 2**40, "B": b"x", "C": uuid.UUID(int=1), "D": True, "E": 1.5})
        self.assertEqual(t.spec["steps"][0]["put"]["entity"], {
            "A": {"type": "Int64", "value": str(2**40)}, "B": {"type": "Binary", "value": "eA=="},
            "C": {"type": "Guid", "value": str(uuid.UUID(int=1))}, "D": True, "E": 1.5})


if __name__ == "__main__":
    unittest.main()
