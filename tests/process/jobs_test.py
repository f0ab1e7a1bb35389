"""What jobs do about entities that they did not write, and what their records tell: with the real programs."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, TableClient, ended  # noqa: E402
from stack import Stack, wait_until  # noqa: E402


def row(row_key, **properties):
    return {"PartitionKey": "p", "RowKey": row_key, **properties}


class JobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack()
        cls.addClassCleanup(cls.stack.close)
        cls.stack.up()
        cls.stack.start_worker("worker", "--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "50")
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])

    def table(self, suffix="", entities=()):
        """A table of this test's own."""
        name = "T" + self._testMethodName.replace("_", "")[4:40] + suffix
        self.tables.create_table(name)
        self.tables.put_many(name, entities)
        return name

    def ended(self, job_id):
        return wait_until(lambda: (job := self.api.job(job_id)) and ended(job) and job, "the job's end")

    def run_job(self, kind, source, destination, **members):
        """The record of the job after its success."""
        job = self.ended(self.api.submit({"kind": kind, "source": source, "destination": destination, **members}))
        self.assertEqual(job["state"], "succeeded", job)
        return job

    def there_and_back(self, *entities):
        """A table whose entities were archived and restored."""
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
        source = self.table("", [row("a", N=1), row("b", N=2)])  # a is younger than its namesake
        job = self.run_job("archive", source, archive, filter="")
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (1, 1), job)
        self.assertEqual(self.tables.get(archive, "p", "a"), row("a", Note="mine"))
        self.assertEqual(self.tables.get(source, "p", "a"), row("a", N=1))

    def test_a_cancelled_job_tells_what_it_did(self):
        source, archive = self.table("", [row(f"r{n:05}", N=n) for n in range(2_000)]), self.table("Archive")
        job_id = self.api.submit({"kind": "archive", "source": source, "destination": archive, "filter": "",
                                  "maxPerSecond": 1_000})
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
