"""How jobs treat entities that they did not write, and the contents of their records: with the real programs."""
import base64
import calendar
import json
import os
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ACCOUNT, KEY, ApiClient, HttpFailure, QueueClient, TableClient, ended, job_if_known  # noqa: E402
from command_line import tidemark  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from stack import Stack, StackTest, wait_until  # noqa: E402


class OtherTables(TableClient):
    account, key = "other", b"k" * 64


def row(row_key, **properties):
    return {"PartitionKey": "p", "RowKey": row_key, **properties}


class JobsTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up()
        cls.stack.start_worker("worker", "--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "50")
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])

    def table(self, suffix="", entities=()):
        """Makes a table for this test alone."""
        name = "T" + self._testMethodName.replace("_", "")[4:40] + suffix
        self.tables.create_table(name)
        self.tables.put_many(name, entities)
        return name

    def ended(self, job_id):
        return wait_until(lambda: (job := job_if_known(self.api, job_id)) and ended(job) and job, "the job's end")

    def run_job(self, kind, source, destination, **members):
        """Runs the job; returns its record after its success."""
        job = self.ended(self.api.submit({"kind": kind, "source": source, "destination": destination, **members}))
        self.assertEqual(job["state"], "succeeded", job)
        return job

    def there_and_back(self, *entities):
        """Makes a table whose entities were archived and restored."""
        source, archive = self.table("", entities), self.table("Archive")
        self.run_job("archive", source, archive, filter="")
        self.run_job("unarchive", archive, source, filter="")
        self.assertEqual(len(self.tables.scan(source)), len(entities))
        return source

    def test_restored_entities_are_copied(self):
        source = self.there_and_back(row("a", N=1), row("b", N=2))
        job = self.run_job("copy", source, source, filter="", partitionKeyTemplate="copies", rowKeyTemplate="{RowKey}")
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (2, 0), job)
        self.assertEqual(self.tables.get(source, "copies", "a")["N"], 1)

    def test_no_copy_replaces_a_restored_entity(self):
        source = self.there_and_back(row("target", N=1))
        self.tables.put(source, row("other", N=2, Key="target"))
        job = self.run_job("copy", source, source, filter="N eq 2", partitionKeyTemplate="p", rowKeyTemplate="{Key}")
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (0, 1), job)
        self.assertEqual(self.tables.get(source, "p", "target")["N"], 1)

    def test_an_index_leaves_what_somebody_wrote(self):
        source, index = self.table("", [row("a", City="Rome"), row("b", City="Bonn")]), self.table("Index")
        own = {"PartitionKey": "Rome", "RowKey": "000000", "Note": "mine"}
        self.tables.put(index, own)
        self.run_job("index", source, index, property="City")
        self.assertEqual(self.tables.get(index, "Rome", "000000"), own)
        self.assertIsNotNone(self.tables.get(index, "Bonn", "000000"))

    def test_an_archive_leaves_what_somebody_wrote(self):
        archive = self.table("Archive", [row("a", Note="mine")])
        source = self.table("", [row("a", N=1), row("b", N=2)])  # a is younger than the archived entity of the same key
        job = self.run_job("archive", source, archive, filter="")
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (1, 1), job)
        self.assertEqual(self.tables.get(archive, "p", "a"), row("a", Note="mine"))
        self.assertEqual(self.tables.get(source, "p", "a"), row("a", N=1))

    def test_employees_change_department(self):
        eng = [{"PartitionKey": "eng", "RowKey": f"{n:03}", "Department": "eng", "N": n} for n in range(150)]
        waiting = {"PartitionKey": "sales", "RowKey": "007", "Department": "sales", "N": 7000}
        table = self.table("", [*eng, waiting])
        job = self.ended(self.api.submit({
            "kind": "rekey", "source": table, "filter": "PartitionKey eq 'eng' and N lt 100",
            "partitionKey": "{Department}", "set": {"Department": "sales", "Since": {"type": "Int64", "value": "2026"}}}))
        self.assertEqual((job["state"], job["progress"]["done"], job["progress"]["skipped"]), ("succeeded", 99, 1), job)
        self.assertEqual(job["skips"][0]["reason"], "another entity is in the way")
        found = self.tables.scan(table)
        self.assertEqual(len(found), 151)
        self.assertEqual(found["sales", "007"], waiting)
        self.assertEqual((found["eng", "007"]["N"], found["sales", "008"]["N"]), (7, 8))
        self.assertEqual({key[1] for key in found if key[0] == "eng"}, {"007", *(f"{n:03}" for n in range(100, 150))})
        with self.assertRaises(HttpFailure) as refused:
            self.api.submit({"kind": "undo", "job": job["id"]})
        self.assertIn("cannot be undone", str(refused.exception))

    def test_properties_are_merged(self):
        table = self.table("", [row(f"{n:03}", N=n, Active=True) for n in range(130)])
        job = self.ended(self.api.submit({"kind": "merge", "source": table, "filter": "N lt 120",
                                          "set": {"Active": False, "Reason": "left"}}))
        self.assertEqual((job["state"], job["progress"]["done"], job["progress"]["skipped"]), ("succeeded", 120, 0), job)
        self.assertEqual(self.tables.scan(table), {
            ("p", f"{n:03}"): row(f"{n:03}", N=n, Active=False, Reason="left") if n < 120
            else row(f"{n:03}", N=n, Active=True) for n in range(130)})

    def test_keys_that_no_xml_can_carry(self):
        odd = [{"PartitionKey": "p\ufffe", "RowKey": key, "N": 1} for key in ("r\uffff", "r\ufffd")]
        source = self.table("", odd)
        following = {"kind": "merge", "source": source, "filter": "PartitionKey eq 'p\ufffe'", "set": {"N": 2}}
        job = self.ended(self.api.submit({
            "kind": "delete", "source": source, "partitionKey": "p\ufffe", "rowKey": "r\uffff", "then": following}))
        self.assertEqual((job["state"], job["progress"]["done"], job["spec"]["rowKey"]), ("succeeded", 1, "r\uffff"), job)
        self.assertEqual(self.ended(job["thenJob"])["progress"]["done"], 1)
        self.assertEqual(self.tables.scan(source), {("p\ufffe", "r\ufffd"): {**odd[1], "N": 2}})
        # A user who may look at the messages may read them, too.
        failed = self.api.submit({"kind": "delete", "source": "Nowhere", "filter": "PartitionKey eq '\uffff'"})
        self.assertEqual(self.ended(failed)["state"], "poisoned")
        queues = QueueClient(self.stack.ports["queue_service"])
        wait_until(lambda: "PartitionKey eq '\uffff'" in [json.loads(message["MessageText"])["filter"]
                                                         for message in queues.peek("tidemark-jobs-poison")],
                   "the message is where it goes, a little after the record tells of it")

    def test_a_job_follows_a_success(self):
        source, archive = self.table("", [row("a", N=1)]), self.table("Archive")
        never = {"kind": "delete", "source": archive, "wholeTable": True}
        fails = {"kind": "delete", "source": "TNeverMade", "filter": "", "then": never}
        job = self.run_job("archive", source, archive, filter="", then={
            "kind": "delete", "source": source, "wholeTable": True, "then": fails})
        following = self.follower(job)
        self.assertEqual((following["state"], following["spec"]["after"]), ("succeeded", job["id"]), following)
        self.assertFalse(self.exists(source))
        last = self.follower(following)
        self.assertEqual((last["state"], "thenJob" in last), ("poisoned", False), last)
        self.assertEqual(self.tables.scan(archive), {("p", "a"): row("a", N=1)})

    def follower(self, job):
        """Returns the job that this one's success began, once it has ended."""
        return wait_until(lambda: (found := job_if_known(self.api, job["thenJob"])) and ended(found) and found,
                          "the job that follows")

    def exists(self, table):
        try:
            return self.tables.query_page(table, "") is not None
        except HttpFailure as failure:
            self.assertEqual(failure.status, 404)
            return False

    def test_yesterdays_table_is_dropped(self):
        today = time.gmtime()
        due = time.strftime("%Y-%m-%dT12:00:00Z", today)
        yesterday = time.strftime("TDaily%Y%m%d", time.gmtime(calendar.timegm(today) - 86400))
        current = time.strftime("TDaily%Y%m%d", today)
        for name in (yesterday, current):
            self.tables.create_table(name)
        self.api.call("PUT", "/v1/schedules/drop", {"cron": "0 0 1 1 *", "job": {
            "kind": "delete", "source": "TDaily{today-1d:yyyyMMdd}", "wholeTable": True}})
        job = self.ended(self.api.call("POST", "/v1/schedules/drop/run", {"dueTime": due})["id"])
        self.assertEqual((job["state"], job["spec"]["source"]), ("succeeded", yesterday), job)
        self.assertEqual([self.exists(name) for name in (yesterday, current)], [False, True])

    def test_a_cancelled_job_tells_what_it_did(self):
        source, archive = self.table("", [row(f"r{n:05}", N=n) for n in range(2_000)]), self.table("Archive")
        job_id = self.api.submit({"kind": "archive", "source": source, "destination": archive, "filter": "",
                                  "maxPerSecond": 300})
        wait_until(lambda: len(self.tables.scan(archive)) > 300, "the job is in the midst of its work")
        self.api.cancel(job_id)
        moved = wait_until(lambda: (n := len(self.tables.scan(archive))) + len(self.tables.scan(source)) == 2_000 and n,
                           "the job has stopped")
        job = wait_until(lambda: (job := self.api.job(job_id))["progress"]["done"] == moved and job, "the exact count")
        self.assertEqual((job["state"], [a["outcome"] for a in job["history"]]), ("cancelled", ["cancelled"]), job)
        undone = self.ended(self.api.submit({"kind": "undo", "job": job_id}))
        self.assertEqual((undone["state"], undone["progress"]["done"]), ("succeeded", moved), undone)
        self.assertEqual(len(self.tables.scan(source)), 2_000)

    def test_the_history_has_every_round(self):
        job_id = self.api.submit({"kind": "delete", "source": "TRoundsAbsent", "filter": ""})
        for rounds in range(1, 4):
            self.assertEqual(self.ended(job_id)["state"], "poisoned")
            poison = wait_until(lambda: [p for p in self.api.poison() if p["jobId"] == job_id], "its message")[0]
            history = self.api.job(job_id)["history"]
            self.assertEqual([a["round"] for a in history if a["outcome"] == "failed"], list(range(1, rounds + 1)))
            self.assertEqual(sum(a["outcome"] == "sentBack" for a in history), rounds - 1, history)
            shown = self.api.call("GET", f"/v1/poison/{poison['id']}")["attempts"]
            self.assertEqual([a["round"] for a in shown if a["outcome"] == "failed"], list(range(1, rounds + 1)))
            if rounds < 3:
                self.api.call("POST", f"/v1/poison/{poison['id']}/redrive")
                wait_until(lambda: len(self.api.job(job_id)["history"]) > len(history) + 1, "the next attempt")


class PrioritiesTest(unittest.TestCase):
    def test_a_worker_leaves_other_priorities_alone(self):
        with Stack() as stack:
            stack.up()
            api, tables = ApiClient(stack.ports["api"]), TableClient(stack.ports["table_store"])
            tables.create_table("Source")
            tables.put_many("Source", [row("low"), row("high")])
            stack.start_worker("light", "--priorities", "high,normal")
            jobs = {priority: api.submit({"kind": "archive", "source": "Source", "destination": "Archive",
                                          "partitionKey": "p", "rowKey": priority, "priority": priority})
                    for priority in ("low", "high")}
            wait_until(lambda: ended(api.job(jobs["high"])), "the light job's end")
            self.assertEqual((api.job(jobs["low"])["state"], api.job(jobs["low"])["attempts"]), ("queued", 0))
            stack.start_worker("heavy", "--priorities", "low")
            done = wait_until(lambda: (job := api.job(jobs["low"])) and ended(job) and job, "the heavy job's end")
            self.assertEqual((done["state"], done["worker"], done["attempts"]), ("succeeded", "heavy", 1), done)

    def test_a_key_that_floods_does_not_delay_the_others(self):
        with Stack() as stack:
            stack.up()
            api, tables = ApiClient(stack.ports["api"]), TableClient(stack.ports["table_store"])
            tables.create_table("Source")
            keys = [f"flood/{number % 2}" for number in range(60)] + ["calm/1", "calm/2", "still"]
            tables.put_many("Source", [row(str(number)) for number in range(len(keys))])
            # Jobs with a filter are taken one at a time, so they begin in the order in which they are given out.
            jobs = [api.submit({"kind": "delete", "source": "Source", "filter": f"RowKey eq '{number}'", "key": key})
                    for number, key in enumerate(keys)]
            stack.start_worker("worker", "--concurrency", "1")
            wait_until(lambda: all(ended(api.job(job)) for job in jobs), "their end")
            begun = sorted(range(len(keys)), key=lambda number: api.job(jobs[number])["startedAt"])
            places = {key: [begun.index(number) for number in range(len(keys)) if keys[number] == key] for key in keys}
            self.assertLess(max(places["calm/1"] + places["calm/2"] + places["still"]), 12, places)
            self.assertEqual([sorted(places[key]) for key in ("flood/0", "flood/1")], [places["flood/0"], places["flood/1"]])


class AccountsTest(StackTest):
    """Jobs between the accounts that the operator allows."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        accounts = ",".join(f"{name}:{base64.b64encode(key).decode()}"
                            for name, key in ((ACCOUNT, KEY), ("other", OtherTables.key)))
        for name in Stack.STORES:
            cls.stack.start(name, "--accounts", accounts)
        cls.stack.start("api", "--job-accounts", "other")
        cls.stack.start_worker("worker", "--job-accounts", "other", "--retry-base-ms", "20")
        cls.api, cls.tables = CheckedApiClient(cls.stack.ports["api"]), TableClient(cls.stack.ports["table_store"])
        cls.others, cls.queues = OtherTables(cls.tables.port), QueueClient(cls.stack.ports["queue_service"])

    def ended(self, job_id):
        return wait_until(lambda: (job := job_if_known(self.api, job_id)) and ended(job) and job, "the job's end")

    def test_there_and_back(self):
        self.tables.create_table("Staff")
        staff = [row(str(i), Number=i) for i in range(5)]
        self.tables.put_many("Staff", staff)
        spec = {"kind": "archive", "source": "Staff", "destination": "Staff", "destinationAccount": "other",
                "filter": "Number ge 2"}
        plan = self.api.call("POST", "/v1/jobs?dryRun=true", spec)
        self.assertEqual((plan["keys"], plan["problems"]), (3, []), plan)
        self.assertEqual(plan["samples"][0]["steps"][0], "copy to other/Staff: nothing is there")
        job = self.ended(self.api.submit(spec))
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 3), job)
        self.assertEqual(self.others.scan("Staff"), {("p", e["RowKey"]): e for e in staff[2:]})
        where = self.api.call("GET", "/v1/explain?table=Staff&partitionKey=p&rowKey=3")["places"]
        self.assertEqual([(p.get("account"), p["present"]) for p in where], [(None, False), ("other", True)], where)
        done = tidemark("--api", f"http://127.0.0.1:{self.stack.ports['api']}", "explain", "Staff", "p", "3", environment={})
        self.assertIn("table Staff of account other", done.stdout, done.stderr)
        undone = self.ended(self.api.submit({"kind": "undo", "job": job["id"]}))
        self.assertEqual((undone["state"], undone["progress"]["done"]), ("succeeded", 3), undone)
        self.assertEqual(self.tables.scan("Staff"), {("p", e["RowKey"]): e for e in staff})
        self.assertEqual(self.others.scan("Staff"), {})
        trail = self.api.call("GET", "/v1/audit")["entries"]
        self.assertTrue(any("to account other" in entry.get("detail", "") for entry in trail), trail)

    def test_what_is_refused(self):
        spec = {"kind": "archive", "source": "Staff", "destination": "Former", "filter": ""}
        for more, why in (({"destinationAccount": "third"}, "jobs may not reach account 'third'"),
                          ({"destinationAccount": "other", "then": {**spec, "sourceAccount": "third"}}, "then: jobs may not"),
                          ({"destinationAccount": "No"}, "must be the name of an account"),
                          ({"destination": "Staff", "destinationAccount": ACCOUNT}, "two tables"),
                          ({"kind": "delete", "destination": None, "sourceAccount": "other"}, "archive, unarchive and copy alone")):
            with self.subTest(more=more), self.assertRaises(HttpFailure) as refused:
                ApiClient(self.api.port).submit({k: v for k, v in {**spec, **more}.items() if v is not None})
            self.assertEqual(refused.exception.status, 400)
            self.assertIn(why, refused.exception.body.decode())

    def test_a_message_of_an_sdk_reaches_no_further(self):
        self.queues.put("tidemark-jobs", json.dumps({"kind": "copy", "source": "Secret", "destination": "Mine", "filter": "",
                                                     "sourceAccount": "third"}))
        poison = wait_until(lambda: next((p for p in self.api.poison() if p["source"] == "Secret"), None), "poison")
        self.assertIn("job_accounts", poison["reason"])


class QueuesTest(StackTest):
    """Jobs on queues that the test names, and the workers that take from them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up()
        cls.api, cls.tables = CheckedApiClient(cls.stack.ports["api"]), TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        cls.tables.create_table("Source")

    def delete(self, key, **more):
        self.tables.put("Source", row(key))
        return self.api.submit({"kind": "delete", "source": "Source", "partitionKey": "p", "rowKey": key, **more})

    def tidemark(self, *arguments):
        done = tidemark("--api", f"http://127.0.0.1:{self.stack.ports['api']}", *arguments, environment={})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def await_state(self, job_id, state):
        return wait_until(lambda: (job := self.api.job(job_id))["state"] == state and job, f"the job to be {state}")

    def test_only_its_workers_take_the_job(self):
        self.stack.start_worker("general")
        on_heavy = self.delete("1", queue="heavy")
        general = self.await_state(self.delete("2"), "succeeded")
        self.assertEqual((general["queue"], general["worker"]), ("default", "general"), general)
        waiting = wait_until(lambda: self.api.job(on_heavy).get("waiting"), "why it waits")
        self.assertEqual(waiting, {"reason": "noWorker", "text": "no worker takes jobs from queue tidemark-jobs-heavy"})
        listed = self.api.call("GET", "/v1/jobs?queue=heavy")["jobs"]
        self.assertEqual([(job["id"], job["queue"]) for job in listed], [(on_heavy, "heavy")])

        heavy = self.stack.start_worker("heavy", "--queues", "heavy")
        done = self.await_state(on_heavy, "succeeded")
        self.assertEqual((done["worker"], done["attempts"]), ("heavy", 1), done)
        workers = {w["name"]: w.get("queues") for w in self.api.call("GET", "/v1/workers")["workers"] if w["alive"]}
        self.assertEqual(workers["heavy"], ["tidemark-jobs-heavy"])
        self.assertEqual(workers["general"], ["tidemark-jobs-high", "tidemark-jobs", "tidemark-jobs-low"])

        with self.subTest("an SDK's message on the queue is a job of it"):
            self.tables.put("Source", row("3"))
            self.queues.put("tidemark-jobs-heavy", json.dumps({"kind": "delete", "source": "Source", "filter": "RowKey eq '3'"}))
            wait_until(lambda: len(self.api.call("GET", "/v1/jobs?queue=heavy&state=succeeded")["jobs"]) == 2, "its end")
        with self.subTest("the command line"):
            submitted = self.tidemark("job", "submit", "delete", "--source", "Source", "--filter", "", "--queue", "heavy", "--wait")
            self.assertIn("queue: heavy", submitted)
            self.assertIn("heavy", self.tidemark("worker", "list"))
            self.assertEqual(len(self.tidemark("job", "list", "--queue", "heavy").splitlines()), 4)
            self.assertIn("heavy", self.tidemark("kind", "queue", "delete", "heavy"))
        with self.subTest("a kind with a queue"):
            wait_until(lambda: self.await_state(self.delete("4"), "succeeded")["worker"] == "heavy", "the queue to be known")
            routed = self.await_state(self.delete("5"), "succeeded")
            self.assertEqual((routed["worker"], routed["queue"], routed["attempts"]), ("heavy", "heavy", 1), routed)
            self.assertNotIn("queue", self.api.call("PATCH", "/v1/kinds/delete", {"queue": "default"}))
        with self.subTest("poison goes back to its queue"):
            lost = self.api.submit({"kind": "delete", "source": "Later", "filter": "", "queue": "heavy"})
            poison = wait_until(lambda: next((p for p in self.api.poison() if p["jobId"] == lost), None), "poison")
            self.assertEqual(poison["queue"], "tidemark-jobs-heavy")
            self.tables.create_table("Later")
            self.api.call("POST", f"/v1/poison/{lost}/redrive")
            self.assertEqual(self.await_state(lost, "succeeded")["worker"], "heavy")
        self.assertEqual(heavy.terminate(), 0, heavy.log())

    def test_names_that_are_no_queues(self):
        for wrong in ("Heavy", "high", "x-poison", "a" * 41):
            with self.subTest(wrong=wrong), self.assertRaises(HttpFailure) as refused:
                ApiClient(self.api.port).submit({"kind": "delete", "source": "Source", "filter": "", "queue": wrong})
            self.assertIn("queue must have 1 to 40", refused.exception.body.decode())
        for method, path, body in (("GET", "/v1/jobs?queue=No", None), ("PATCH", "/v1/kinds/delete", {"queue": "no-poison"})):
            with self.subTest(path=path), self.assertRaises(HttpFailure) as refused:
                ApiClient(self.api.port).call(method, path, body)
            self.assertEqual(refused.exception.status, 400)


if __name__ == "__main__":
    unittest.main(verbosity=2)
