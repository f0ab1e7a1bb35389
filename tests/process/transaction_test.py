"""Transactions with the real programs: through the api and the command line, and a bank whose processes are killed."""
import json
import os
import random
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ApiClient, QueueClient, TableClient, patiently  # noqa: E402
from command_line import StackCase  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from stack import StackTest, wait_until  # noqa: E402

WORKER = ("--lease-s", "2", "--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "200")


def money(cents):
    return {"Cents@odata.type": "Edm.Int64", "Cents": str(cents)}


class TransactionTest(StackCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        for table in ("Orders", "Paid"):
            cls.tables.create_table(table)
        cls.queues.create("mail")

    def order(self, row):
        self.tables.put("Orders", {"PartitionKey": "shop", "RowKey": row, "State": "open", **money(500)})
        return {"kind": "transaction",
                "guards": [{"as": "o", "table": "Orders", "partitionKey": "shop", "rowKey": row, "where": "State eq 'open'"}],
                "steps": [{"merge": {"of": "o", "set": {"State": "paid"}}},
                          {"insert": {"table": "Paid", "partitionKey": "{o.PartitionKey}", "rowKey": row,
                                      "entity": {"Cents": "{o.Cents}", "Job": "{job.id}"}}},
                          {"message": {"queue": "mail", "json": {"row": "{o.RowKey}", "cents": "{o.Cents}"}}}]}

    def submit(self, spec, query=""):
        return json.loads(self.api.ask("POST", "/v1/jobs" + query, {"Content-Type": "application/json"}, json.dumps(spec))[1])

    def test_the_answer_waits_for_the_end(self):
        spec = self.order("wait")
        job = self.submit(spec, "?wait=30")
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 3), job)
        paid = self.tables.get("Paid", "shop", "wait")
        self.assertEqual((paid["Cents"], paid["Job"]), ("500", job["id"]))
        again = self.submit(spec, "?wait=30")
        self.assertEqual(again["state"], "cancelled", again)
        self.assertEqual((again["result"]["guard"], again["result"]["found"]["State"]), (0, "paid"), again)
        self.assertIn("Guard 0 does not hold", again["error"])

    def test_a_dry_run_says_what_would_change(self):
        spec = self.order("dry")
        plan = self.submit(spec, "?dryRun=true")
        self.assertEqual(plan["samples"][0]["steps"], ['Orders: set State from "open" to "paid"'], plan)
        self.assertEqual(len(plan["samples"]), 3, plan)
        self.assertEqual(self.tables.get("Orders", "shop", "dry")["State"], "open")

    def test_the_command_line_submits_a_file(self):
        spec = self.order("file")
        del spec["kind"]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(spec, file)
            file.flush()
            planned = self.command("transaction", "submit", file.name, "--dry-run")
            self.assertIn('set State from "open" to "paid"', planned.stdout)
            self.command("transaction", "submit", file.name, "--wait")
        self.assertEqual(self.tables.get("Orders", "shop", "file")["State"], "paid")

    def test_bad_steps_are_refused_at_once(self):
        status, _, body = self.api.send("POST", "/v1/jobs", {"Content-Type": "application/json"}, json.dumps(
            {"kind": "transaction", "steps": [{"merge": {"of": "x", "add": {"A": "b"}}}, {"put": {}}]}))
        problem = json.loads(body)
        self.assertEqual((status, problem["code"]), (400, "JobInvalid"), problem)
        self.assertGreater(len(problem["problems"]), 3, problem)
        self.assertTrue(all(each.startswith("steps[") for each in problem["problems"]), problem)


class BankTest(StackTest):
    """1,000 accounts in 200 partitions of two tables, 8 submitters, and processes that die: no money is made or lost."""
    ACCOUNTS = 1000
    SUBMITTERS = 8

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up()
        for name in ("one", "two"):
            cls.stack.start_worker(name, *WORKER)

    def account(self, number):
        return {"table": "BankA" if number % 2 else "BankB", "partitionKey": f"p{number // 10}", "rowKey": f"r{number % 10}"}

    def transfer(self, choice):
        payer, receiver = choice.sample(range(self.ACCOUNTS), 2)
        cents = choice.randint(1, 150)
        return {"kind": "transaction", "maxAttempts": 100, "idempotencyKey": f"{choice.getrandbits(64):016x}",
                "guards": [{"as": "p", **self.account(payer), "where": f"Cents ge {cents}L"}],
                "steps": [{"merge": {"of": "p", "add": {"Cents": -cents}}},
                          {"merge": {**self.account(receiver), "add": {"Cents": cents}}},
                          {"message": {"queue": "bank-mail", "text": "{job.id}"}},
                          {"insert": {"table": "BankAudit", "partitionKey": "{p.RowKey}", "rowKey": "{job.id}",
                                      "entity": {"Cents": cents}}}]}

    def submit_until(self, stop, choice, jobs):
        api = ApiClient(self.stack.ports["api"])
        while not stop.is_set():
            jobs.append(patiently(api.submit, self.transfer(choice), limit_s=120))

    def kill_until(self, end, choice):
        names = ["one", "two", "table_store", "queue_service", "api"]
        killed = 0
        while time.monotonic() < end:
            name = choice.choice(names)
            self.stack.children[name].kill()
            if name in ("one", "two"):
                self.stack.start_worker(name, *WORKER)
            else:
                self.stack.restart(name)
            killed += 1
        return killed

    def test_no_money_is_made_or_lost(self):
        choice = random.Random(sizes.seed())
        tables, queues = TableClient(self.stack.ports["table_store"]), QueueClient(self.stack.ports["queue_service"])
        for table in ("BankA", "BankB", "BankAudit"):
            tables.create_table(table)
        queues.create("bank-mail")
        for table in ("BankA", "BankB"):
            tables.put_many(table, [{"PartitionKey": a["partitionKey"], "RowKey": a["rowKey"], **money(100)}
                                    for a in map(self.account, range(self.ACCOUNTS)) if a["table"] == table])
        stop, jobs = threading.Event(), []
        submitters = [threading.Thread(target=self.submit_until, args=(stop, random.Random(choice.getrandbits(64)), jobs))
                      for _ in range(self.SUBMITTERS)]
        for submitter in submitters:
            submitter.start()
        killed = self.kill_until(time.monotonic() + sizes.scaled(12.0), choice)
        stop.set()
        for submitter in submitters:
            submitter.join()
        api = ApiClient(self.stack.ports["api"])
        open_jobs = lambda: [j for j in patiently(api.jobs) if j["state"] in ("queued", "running")]  # noqa: E731
        wait_until(lambda: not open_jobs(), "the end of all transfers", limit_s=300, interval_s=0.5)
        ended = {job["id"]: job for job in api.jobs()}
        self.assertEqual(set(jobs) - set(ended), set(), "acknowledged and gone")
        succeeded = {i for i, job in ended.items() if job["state"] == "succeeded"}
        for job in ended.values():
            self.assertIn(job["state"], ("succeeded", "cancelled"), job)
            if job["state"] == "cancelled":
                self.assertEqual(job["result"]["guard"], 0, job)
        balances = [int(e["Cents"]) for table in ("BankA", "BankB") for e in tables.scan(table).values()]
        self.assertEqual((len(balances), sum(balances)), (self.ACCOUNTS, 100 * self.ACCOUNTS))
        self.assertGreaterEqual(min(balances), 0)
        self.assertEqual({row for _, row in tables.scan("BankAudit")}, succeeded)
        told = []
        while messages := queues.take("bank-mail", 32):
            for message in messages:
                told.append(message["MessageText"])
                queues.delete("bank-mail", message)
        self.assertEqual(sorted(told), sorted(succeeded))
        self.assertGreater(len(succeeded), 20)
        self.assertGreater(killed, 2)
        print(f"{len(succeeded)} transfers, {len(ended) - len(succeeded)} without cover, {killed} processes killed")


if __name__ == "__main__":
    unittest.main()
