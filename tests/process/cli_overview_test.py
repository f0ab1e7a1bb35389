"""`tidemark overview` shows the same as the console's overview: poisoned jobs, workers, indexes, kinds."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from command_line import StackCase  # noqa: E402
from stack import wait_until  # noqa: E402


class OverviewTest(StackCase):
    def lines(self):
        return self.command("overview").stdout.splitlines()

    def await_line(self, line):
        wait_until(lambda: line in self.lines(), line, interval_s=0.2)

    def test_1_a_stack_where_nothing_is_wrong_says_nothing(self):
        for line in self.lines():
            self.assertNotRegex(line, "^(no worker|worker|index|jobs of|[0-9]+ jobs? (is|are))")

    def test_2_poisoned_jobs(self):
        missing = ["job", "submit", "delete", "--source", "Missing", "--filter", "", "--wait"]
        self.command(*missing, code=4)
        self.await_line("1 job is poisoned: tidemark poison groups")
        self.command(*missing, code=4)
        self.await_line("2 jobs are poisoned: tidemark poison groups")

    def test_3_kinds_and_indexes(self):
        self.command("kind", "pause", "archive")
        self.fill("Listed", 1)
        self.command("index", "put", "by-number", "--kind", "lists", "--source", "Listed", "--by", "Number", "--destination", "ByNumber",
                     "--wait")
        self.command("index", "pause", "by-number")
        told = self.lines()
        self.assertIn("jobs of kind archive are paused", told)
        self.assertIn("index by-number is paused", told)
        self.command("kind", "resume", "archive")
        self.command("index", "resume", "by-number")

    def test_4_no_worker(self):
        self.stack.children["worker-1"].kill()
        wait_until(lambda: "no worker lives" in self.lines(), "nobody beats any more", limit_s=60, interval_s=0.5)
        self.assertTrue(any(line.startswith("worker worker-1 on ") and " is lost; last heard of at " in line for line in self.lines()))
        self.command("job", "submit", "delete", "--source", "Listed", "--filter", "")
        self.await_line("no worker lives, and 1 job waits")

    def test_5_a_store_that_says_nothing(self):
        self.stack.start("blob_store")
        silent = "the blob store does not answer"
        wait_until(lambda: silent not in self.lines(), "all stores answer")
        self.assertEqual(self.api.call("GET", "/v1/overview")["notAnswering"], [])
        self.stack.children["blob_store"].kill()
        self.await_line(silent)
        self.assertEqual(self.api.call("GET", "/v1/overview")["notAnswering"], ["blob"])

    def test_6_a_store_that_is_away(self):
        self.stack.children["table_store"].kill()
        told = self.lines()
        self.assertRegex(told[0], "^not serving: ")
        self.assertTrue(any(line.startswith("workers, indexes and kinds of jobs are not known: ") for line in told), told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
