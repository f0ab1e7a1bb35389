"""A store with more work than it accepts: workers slow down, no attempt of a job is counted, and all of the work is
done."""
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, HttpClient, HttpFailure, TableClient, ended  # noqa: E402
from stack import StackTest, wait_until  # noqa: E402

JOBS = 30
ROWS = 20
WORKER = ("--poll-s", "2", "--retry-base-ms", "50", "--retry-cap-ms", "400", "--concurrency", "16")


class PressureTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up()
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])

    def refused(self):
        _, _, text = HttpClient(self.stack.ports["table_store"]).send("GET", "/metrics")
        return int(float(re.search(r"^tidemark_internal_calls_refused_total (\S+)$", text.decode(), re.M)[1]))

    def all_ended(self):
        try:
            found = {job["id"]: job for job in self.api.jobs()}
        except HttpFailure as failure:
            if failure.code != "ServerBusy":
                raise
            return None  # the api is refused like the workers, and says so
        return found if len(found) == JOBS and all(ended(job) for job in found.values()) else None

    def submit_all(self):
        """Submits jobs that each move a partition and have no attempt to spare."""
        self.tables.create_table("Source")
        for job in range(JOBS):
            self.tables.put_many("Source", [{"PartitionKey": f"p{job}", "RowKey": f"r{row}", "N": row}
                                            for row in range(ROWS)])
        return [self.api.submit({"kind": "archive", "source": "Source", "destination": "Archive", "maxAttempts": 1,
                                 "filter": f"PartitionKey eq 'p{job}'"}) for job in range(JOBS)]

    def test_an_overloaded_store_costs_no_job_an_attempt(self):
        jobs = self.submit_all()
        self.assertEqual(self.refused(), 0)
        self.stack.children["table_store"].terminate()
        self.stack.start("table_store", "--max-internal-calls", "2")
        for name in ("one", "two"):
            self.stack.start_worker(name, *WORKER)
        wait_until(lambda: self.refused() > 50, "the store is overloaded")
        # The pressure does not end before the work does: two calls at once have to suffice for 30 jobs.
        ends = wait_until(self.all_ended, "all jobs have ended", limit_s=120)
        self.assertEqual(set(ends), set(jobs))
        for job in ends.values():
            self.assertEqual((job["state"], job["attempts"], job["progress"]["done"]), ("succeeded", 1, ROWS), job)
        self.assertEqual(self.api.poison(), [])
        self.assertEqual(len(self.tables.scan("Archive")), JOBS * ROWS)
        self.assertEqual(self.tables.scan("Source"), {})


if __name__ == "__main__":
    unittest.main(verbosity=2)
