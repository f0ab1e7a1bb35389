"""The output of the command line for people: on a terminal, about waiting jobs, while a process is down, in its
help."""
import os
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from command_line import StackCase, tidemark  # noqa: E402
from stack import clean_environment, program, wait_until  # noqa: E402

JOB = ["delete", "--source", "Waited", "--filter", ""]


class TerminalTest(StackCase):
    workers = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tables.create_table("Waited")

    def submit(self, *arguments):
        return self.command("job", "submit", *JOB, *arguments).stdout.strip()

    def waiting(self, job_id):
        return self.api.job(job_id).get("waiting", {})

    def test_lists_fit_and_ids_are_short_where_they_tell_apart(self):
        ids = [self.submit("--not-before", "2126-01-01") for _ in range(3)]
        shown = self.shown("job", "list", "--limit", "3", columns=70).splitlines()
        self.assertTrue(all(len(line) <= 70 for line in shown[:-1]), shown)
        self.assertRegex(shown[-1], r"^\(3 shown; there are more: --all shows all, and --continuation \S+ goes on here\)$")
        # Columns that have no room are shown below their row; nothing that fits is cut.
        self.assertEqual(self.rows(shown[0])[0], ["job", "kind", "table", "state", "queue", "done", "skipped", "attempts"])
        self.assertRegex(shown[2], r"^  submitted: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S*$")
        self.assertEqual(shown[3], "  waiting: it begins at 2126-01-01T00:00:00Z")
        short = [row[0] for row in self.rows("\n".join(shown[1:10:3]))]
        self.assertEqual([len(each) for each in short], [8, 8, 8])
        for whole, end in zip(reversed(ids), short):
            self.assertTrue(whole.endswith(end))
            self.assertIn(whole, self.command("job", "show", end).stdout)
        self.assertIn("no such job", self.command("job", "show", "0123-56789", code=3).stderr)  # no id ends in it
        whole = self.command("job", "list", "--limit", "3").stdout
        self.assertTrue(all(each in whole for each in ids))
        for each, end in zip(ids, reversed(short)):
            self.assertIn(each + "  delete  cancelled", self.command("job", "cancel", end).stdout)

    def test_names_figures_and_states_are_whole_on_a_narrow_terminal(self):
        self.submit()
        queues = self.shown("queue", "list", columns=80)
        self.assertTrue(all(len(line) <= 80 for line in queues.splitlines()), queues)
        self.assertNotIn("…", queues)
        for name in ("tidemark-jobs-high", "tidemark-jobs-low"):
            self.assertRegex(queues, rf"(?m)^{name} +0 +0 +0 +0 +0 ")
        jobs = self.shown("job", "list", "--limit", "1", columns=70).splitlines()
        self.assertRegex(jobs[1], r"^\S{8}  delete  Waited  queued  default +0 +0 +0$")
        self.assertRegex(jobs[2], r"^  submitted: .*, waiting: no worker is running$")
        self.assertIn("\n  waiting: no worker is runni…\n", self.shown("job", "list", "--limit", "1", columns=30))
        wide = self.shown("job", "list", "--limit", "1", columns=200).splitlines()
        self.assertRegex(wide[1], r"^\S{8}  delete  Waited  queued .* no worker is running$", "there is room for all")

    def test_an_empty_list_says_so(self):
        for arguments, says in ((["job", "list", "--kind", "orphans"], "no jobs"), (["schedule", "list"], "no schedules"),
                                (["limit", "list"], "no limits"), (["poison", "groups"], "no poison messages"),
                                (["entity", "list", "Waited"], "no entities"), (["table", "query", "Waited"], "no entities")):
            self.assertEqual(self.command(*arguments).stdout, says + "\n")
        self.assertEqual(self.command("--json", "table", "query", "Waited").stdout, "")

    def test_a_job_says_why_it_waits(self):
        later = self.submit("--not-before", "2126-01-01T00:00:00Z")
        self.assertEqual(self.waiting(later)["reason"], "notBefore")
        self.assertEqual(self.waiting(later)["until"], "2126-01-01T00:00:00Z")
        self.assertIn("begins at 2126-01-01 00:00:00Z", tidemark("job", "show", later, environment={**self.environment, "TZ": "UTC"}).stdout)
        job = self.submit()
        self.assertEqual(self.waiting(job)["reason"], "noWorker")
        self.assertIn("no worker is running", self.command("job", "list").stdout)
        watching = subprocess.Popen([program("tidemark"), "job", "show", job, "--watch"], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=clean_environment(self.environment))
        self.assertIn("no worker is running", watching.stderr.readline())
        self.command("kind", "pause", "delete")
        worker = self.stack.start_worker("w", "--poll-s", "2", "--lease-s", "5")
        self.addCleanup(worker.terminate)
        wait_until(lambda: self.waiting(job).get("reason") == "kindPaused", "the pause to be seen")
        said = watching.stderr.readline()
        while "kind delete is paused" not in said:
            self.assertIsNone(watching.poll(), said)
            said = watching.stderr.readline()
        self.command("queue", "pause", "tidemark-jobs")
        wait_until(lambda: self.waiting(job).get("reason") == "queuePaused", "the pause of the queue to be seen")
        self.command("queue", "resume", "tidemark-jobs")
        self.command("kind", "resume", "delete")
        watching.communicate(timeout=60)
        self.assertEqual((watching.returncode, self.waiting(job)), (0, {}))
        self.command("job", "cancel", later)

    def test_a_limit_that_is_reached(self):
        self.fill("Slow")
        self.command("limit", "table", "Slow", "--max-running", "1")
        self.addCleanup(self.command, "limit", "table", "Slow", "--max-running", "0")
        # A running worker may begin both jobs before it reads the limit, once a second.
        self.addCleanup(self.stack.start_worker("slow", "--poll-s", "2", "--lease-s", "5").terminate)
        jobs = [self.api.submit({"kind": "delete", "source": "Slow", "filter": "", "maxPerSecond": 20}) for _ in range(2)]
        held = wait_until(lambda: [w for w in map(self.waiting, jobs) if w.get("reason") == "limit"], "the wait")
        self.assertIn("table Slow may have 1 running at once", held[0]["text"])
        for each in jobs:
            self.command("job", "cancel", each)

    def test_it_says_that_it_reconnects(self):
        job = self.submit("--not-before", "2126-01-01")
        with subprocess.Popen([program("tidemark"), "job", "show", job, "--watch"], stderr=subprocess.PIPE, text=True,
                              env=clean_environment(self.environment)) as watching:
            self.assertIn("queued", watching.stderr.readline())
            self.stack.children["api"].kill()
            self.assertEqual(watching.stderr.readline(), "reconnecting...\n")
            self.stack.restart("api")
            self.api.close()
            self.assertIn("queued", watching.stderr.readline())
            watching.send_signal(signal.SIGINT)
        self.command("job", "cancel", job)

    def test_a_store_that_is_away_is_named_at_once(self):
        self.stack.children["table_store"].kill()
        try:
            told = self.command("job", "list", code=1).stderr  # and not after a call's whole time without an answer
            self.assertRegex(told, r"^error: The table store at \S+table\.sock cannot be reached\. Is it running\?")
            self.assertIn("table store", self.command("queue", "pause", "tidemark-jobs", code=1).stderr)
            self.assertEqual(self.api.send("GET", "/readyz")[0], 503)
        finally:
            self.stack.restart("table_store")
        self.command("job", "list")

    def test_an_archive_that_is_not_there(self):
        self.stack.start("blob_store")
        self.tables.create_table("Restored")
        unarchive = ["job", "submit", "unarchive", "--destination", "Restored", "--filter", ""]
        plan = self.command(*unarchive, "--container", "nothing-here", "--dry-run", code=1)
        self.assertIn("nothing-here", plan.stdout)
        both = self.command("job", "submit", "archive", "--source", "Waited", "--destination", "Other", "--container", "old",
                            "--filter", "", code=1)
        self.assertIn("only one of the two", both.stderr)

    def test_the_help_of_a_kind(self):
        every = tidemark("job", "submit", "--help").stdout
        archive = tidemark("job", "submit", "archive", "--help").stdout
        self.assertNotIn("--container", every)
        self.assertIn("--not-before", every)
        self.assertIn("adopt, apply, archive, callback,", every)
        self.assertNotIn("\n\n\n", every + archive)
        self.assertIn("Options of archive:", archive)
        for flag in ("--source", "--destination", "--container", "--filter", "--not-before"):
            self.assertIn(flag, archive)
        for flag in ("--canary", "--cron", "--header", "--set "):
            self.assertNotIn(flag, archive)
        callback = tidemark("schedule", "put", "x", "callback", "--help").stdout
        self.assertIn("--header", callback)
        self.assertNotIn("--not-before", callback)
        self.assertNotIn("--idempotency-key", callback)
        self.assertNotRegex(callback, r"(?m)^  --source")
        redrive = tidemark("job", "submit", "redrive", "--help").stdout
        self.assertRegex(redrive, r"--limit INT.* +at most so many")


if __name__ == "__main__":
    unittest.main(verbosity=2)
