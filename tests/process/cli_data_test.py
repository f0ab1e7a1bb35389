"""The command line does everything with tables, queues, messages, containers and policies, says when there is more than it
shows, and asks before it destroys anything."""
import json
import os
import re
import sys
import unittest
from datetime import datetime, timedelta
from urllib.parse import unquote

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import QueueClient, ended  # noqa: E402
from command_line import StackCase, tidemark  # noqa: E402
from stack import wait_until  # noqa: E402


class DataTest(StackCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.start("blob_store")
        cls.queues = QueueClient(cls.stack.ports["queue_service"])

    def json(self, *arguments, **more):
        return json.loads(self.command("--json", *arguments, **more).stdout)

    def asked_first(self, question, *arguments):
        """Without a terminal, nothing is done without --yes; on one, only after a yes."""
        told = self.command(*arguments, code=1).stderr
        self.assertEqual(told, f"error: {question} There is no terminal to confirm on; use --yes.\n")
        self.assertIn(question + " [y/N]", self.shown(*arguments, answer="n\n"))

    def test_tables(self):
        for told in ("created\n", "it was there already\n"):
            self.assertEqual(self.command("table", "create", "Shelf").stdout, told)
        self.assertEqual(self.json("table", "show", "shelf"), {"name": "Shelf", "feed": False, "indexes": []})
        self.assertEqual(self.command("table", "show", "Shelf").stdout, "table: Shelf\nfeed: no\nindexes: none\n")
        self.asked_first("Delete the table Shelf with all of its entities?", "table", "drop", "Shelf")
        self.assertIn("Shelf", self.command("table", "list").stdout)
        self.assertIn("deleted", self.shown("table", "drop", "Shelf", answer="y\n"))
        self.assertIn("does not exist: Shelf", self.command("table", "drop", "Shelf", "--yes", code=3).stderr)
        self.assertIn("belongs to Tidemark itself", self.command("table", "drop", "TidemarkJobs", "--yes", code=1).stderr)

    def test_queues_and_messages(self):
        for told in ("created\n", "it was there already\n"):
            self.assertEqual(self.command("queue", "create", "letters", "--max-dequeue-count", "5", "--metadata", "a=b").stdout, told)
        self.assertIn("exists with other metadata", self.command("queue", "create", "letters", "--max-dequeue-count", "6", code=1).stderr)
        self.assertIn("must be NAME=VALUE", self.command("queue", "create", "letters", "--metadata", "ab", code=2).stderr)
        ids = [self.command("queue", "put", "letters", "first").stdout.strip(),
               self.command("queue", "put", "letters", stdin="second\nline").stdout.strip()]
        self.command("queue", "put", "letters", "hidden", "--visible-in", "5m")
        peeked = self.command("queue", "peek", "letters")
        self.assertRegex(peeked.stdout, f"^{ids[0]}  put .*, dequeued 0\nfirst\n$")
        self.assertEqual(peeked.stderr, "(1 shown; there are more: --count shows more of them, and `tidemark queue messages letters --all` all)\n")
        both = self.json("queue", "peek", "letters", "--count", "9")["messages"]
        self.assertEqual([(each["id"], each["text"]) for each in both], list(zip(ids, ("first", "second\nline"))))

        got = self.command("queue", "get", "letters", "--visibility", "5m")
        lease = re.match(f"{ids[0]}  lease (\\d+)  put .*, dequeued 1\nfirst\n", got.stdout)
        self.assertTrue(lease, got.stdout)
        self.assertEqual(got.stderr, "to delete one: tidemark queue delete letters ID --lease N\n")
        held = [ids[0], "--lease", lease.group(1)]
        self.assertIn("visible from", self.command("queue", "update", "letters", *held, "--text", "mended", "--visibility", "0").stdout)
        self.assertIn("Take it again", self.command("queue", "delete", "letters", *held, code=1).stderr)
        taken = self.json("queue", "get", "letters", "--count", "32")["messages"]
        self.assertEqual(sorted(each["text"] for each in taken), ["mended", "second\nline"])
        for each in taken:
            self.assertEqual(self.command("queue", "delete", "letters", each["id"], "--lease", str(each["lease"])).stdout, "deleted\n")
        self.assertEqual(self.command("queue", "get", "letters").stdout, "no message that can be taken now\n")

        self.asked_first("Empty the queue letters with its 1 message?", "queue", "clear", "letters")
        self.assertEqual(self.json("queue", "show", "letters")["messages"], 1)
        self.assertEqual(self.command("queue", "clear", "letters", "--yes").stdout, "emptied\n")
        self.asked_first("Delete the queue letters with its 0 messages?", "queue", "drop", "letters")
        self.assertEqual(self.command("queue", "drop", "letters", "--yes").stdout, "deleted\n")
        self.command("queue", "show", "letters", code=3)
        self.assertIn("belongs to Tidemark itself", self.command("queue", "put", "tidemark-jobs", "x", code=1).stderr)

    def test_containers(self):
        self.command("container", "create", "pictures")
        self.assertEqual(self.json("container", "show", "pictures")["name"], "pictures")
        self.assertIn("pictures", self.command("container", "show", "pictures").stdout)
        self.assertIn("container does not exist: picture\n", self.command("container", "show", "picture", code=3).stderr)
        self.asked_first("Delete the container pictures with all of its blobs?", "container", "drop", "pictures")
        self.assertEqual(self.command("container", "drop", "pictures", "--yes").stdout, "deleted\n")
        self.command("container", "show", "pictures", code=3)

    def test_policies(self):
        self.command("table", "create", "Granted")
        self.command("queue", "create", "granted")
        self.command("container", "create", "granted")
        for kind, name, letters in (("table", "Granted", "raud"), ("queue", "granted", "raup"), ("container", "granted", "rl")):
            self.assertEqual(self.command("policy", "list", kind, name).stdout, "no policies\n")
            self.command("policy", "set", kind, name, "--id", "kept", "--permissions", "r")
            self.command("policy", "set", kind, name, "--id", "one", "--permissions", "r", "--expires-at", "2100-01-01T00:00:00Z")
            self.command("policy", "set", kind, name, "--id", "one", "--permissions", letters)
            listed = self.json("policy", "list", kind, name)
            self.assertEqual(listed, {"policies": [{"id": "kept", "permissions": "r"}, {"id": "one", "permissions": letters}]})
            self.assertIn("letters of", self.command("policy", "set", kind, name, "--id", "one", "--permissions", "z", code=1).stderr)
            self.command("policy", "remove", kind, name, "kept")
            self.assertIn("has no policy kept", self.command("policy", "remove", kind, name, "--id", "kept", code=3).stderr)
            self.command("policy", "set", kind, name, "--file", "-", stdin=json.dumps(listed))
            self.assertEqual(self.json("policy", "list", kind, name), listed)
        self.command("policy", "set", "table", "Granted", code=2)

    def test_durations(self):
        self.command("queue", "create", "timed")
        put = self.json("queue", "put", "timed", "x", "--time-to-live", "2d")
        lives = datetime.fromisoformat(put["expiresAt"][:19]) - datetime.fromisoformat(put["insertedAt"][:19])
        self.assertEqual(lives, timedelta(days=2))
        url = self.command("sas", "queue", "timed", "--permissions", "r", "--expires-in", "90m").stdout
        ends = datetime.strptime(re.search(r"[?&]se=([^&]+)", unquote(url)).group(1), "%Y-%m-%dT%H:%M:%SZ")
        self.assertAlmostEqual((ends - datetime.utcnow()).total_seconds(), 5400, delta=120)

    def test_what_is_not_shown_is_told(self):
        self.fill("Many", 30)
        self.command("index", "put", "of-many", "--kind", "lists", "--source", "Many", "--by", "PartitionKey", "--destination", "OfMany", "--wait")
        lookup = ["index", "lookup", "of-many", "--value", "p", "--select", "keys"]
        some = self.command(*lookup, "--top", "3")
        keys = [json.loads(line)["rowKey"] for line in some.stdout.splitlines()]  # a line each, in the order of their hashes
        self.assertEqual(len(keys), 3)
        more = re.search(r"^\(3 shown; there are more: --all shows all, and --continuation (\S+) goes on here\)$", some.stderr, re.M)
        self.assertTrue(more, some.stderr)
        rest = self.command(*lookup, "--continuation", more.group(1))
        keys += [json.loads(line)["rowKey"] for line in rest.stdout.splitlines()]
        self.assertEqual(sorted(keys), [f"{number:04}" for number in range(30)])
        self.assertNotIn("more", rest.stderr)
        self.assertEqual(len(self.command(*lookup, "--all").stdout.splitlines()), 30)
        some = self.command("entity", "list", "Many", "--limit", "2")
        more = re.search(r"--continuation (\S+) goes on here\)$", some.stderr)
        self.assertEqual(len(self.json("entity", "list", "Many", "--continuation", more.group(1), "--all")["entities"]), 28)
        some = self.command("table", "query", "Many", "--top", "29")
        self.assertEqual(some.stderr, "(29 shown; there are more: --top 0 shows all)\n")
        self.assertEqual(self.command("table", "query", "Many", "--top", "30").stderr, "")
        self.assertIn("excludes", self.command("job", "list", "--all", "--limit", "3", code=2).stderr)

    def test_a_plan_names_the_index(self):
        self.fill("Planned", 3)
        self.command("index", "put", "by-n", "--kind", "lists", "--source", "Planned", "--by", "Number", "--destination", "ByN",
                     "--answers-queries", "--wait")
        told = wait_until(lambda: "by-n" in (text := self.command("entity", "plan", "Planned", "--filter", "Number eq 1").stdout) and text, "the index answers")
        self.assertEqual(told, "index by-n: only the entities that it lists are read\n")
        self.assertEqual(self.command("entity", "plan", "Planned", "--filter", "Number gt 1").stdout, "table: the whole table is read\n")

    def test_a_failed_import_leaves_no_table(self):
        twice = '{"PartitionKey":"p","RowKey":"r"}\n' * 2  # the first is written before the second
        for table, lines, stays in (("Wrong", '{"RowKey":"r"}', False), ("Half", twice + "no json", True)):
            told = self.command("table", "import", table, stdin=lines, code=1).stderr
            self.assertEqual(f"The table {table} was made by this import, and stays." in told, stays, told)
            self.assertEqual(table in self.command("table", "list").stdout.split(), stays)
        self.command("table", "create", "Before")
        self.assertNotIn("stays", self.command("table", "import", "Before", stdin="{}", code=1).stderr)
        self.assertIn("Before", self.command("table", "list").stdout.split())

    def test_a_job_that_has_ended_is_not_cancelled(self):
        self.fill("Source", 2)
        first = {"kind": "copy", "source": "Source", "destination": "Copy", "filter": "", "then": {"kind": "delete", "source": "Source", "filter": ""}}
        job = self.api.submit(first)
        wait_until(lambda: ended(self.api.job(job)), "the job ends")
        told = self.command("job", "cancel", job, code=1)
        self.assertEqual((told.stdout, told.stderr), ("", f"error: job {job} had ended already: it is succeeded, and stays so\n"))
        following = self.api.job(job)["thenJob"]
        self.assertIn(f"then: job {following}\n", self.command("job", "show", job).stdout)
        rows = self.rows(self.command("job", "list").stdout)
        self.assertEqual((rows[0][:3], [row[2] for row in rows if row[0] == job]), (["job", "kind", "table"], ["Source"]))
        later = self.api.submit({"kind": "delete", "source": "Source", "filter": "", "notBefore": "2100-01-01T00:00:00Z"})
        self.assertIn("cancelled", self.command("job", "cancel", later).stdout)
        self.assertIn("it is cancelled", self.command("job", "cancel", later, code=1).stderr)

    def test_a_backups_folder_names_the_backups_in_it(self):
        folder = os.path.join(self.stack.directory, "backups")
        one = self.command("backup", folder).stdout.splitlines()[0]
        told = self.command("backup", "verify", folder, code=3).stderr
        self.assertIn(f"It has 1 backup in it: verify {one}.", told)
        self.command("backup", "verify", one)

    def test_the_overview_has_ten_minutes(self):
        wait_until(lambda: self.api.call("GET", "/v1/overview")["points"], "a figure")
        self.assertIn("--minutes", self.command("overview", "--help").stdout)
        self.command("overview", "--minutes", "61", code=2)


class WordsTest(unittest.TestCase):
    """Misspelt words get suggestions, and the help is in order."""

    def told(self, *arguments):
        done = tidemark(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr.splitlines()[0]

    def test_options(self):
        self.assertEqual(self.told("job", "submit", "archive", "--filer", "x"),
                         'error: "tidemark job submit" has no option --filer. Did you mean "--file" or "--filter"?')
        self.assertEqual(self.told("entity", "list", "T", "--filer", "x"),
                         'error: "tidemark entity list" has no option --filer. Did you mean "--filter"?')

    def test_kinds(self):
        for command in (["job", "submit"], ["schedule", "put", "nightly"]):
            told = self.told(*command, "archve", "--source", "T")
            self.assertIn('there is no kind of job "archve". Did you mean "archive"?', told)

    def test_commands(self):
        self.assertEqual(self.told("queue", "cler", "x"), 'error: "tidemark queue" has no command "cler". Did you mean "clear"?')
        self.assertEqual(self.told("contaner", "list"), 'error: "tidemark" has no command "contaner". Did you mean "container"?')

    def test_commands_of_other_families(self):
        self.assertIn('no command "query". Did you mean "tidemark table query" or "tidemark entity plan" or', self.told("query", "plan", "T", "--filter", ""))
        self.assertIn('no command "redrive". Did you mean "tidemark poison redrive"?', self.told("redrive", "x"))
        self.assertIn('no command "message". It has: up, down', self.told("message", "list"))  # too many are called list

    def test_an_option_that_is_like_no_other(self):
        self.assertEqual(self.told("table", "show", "T", "--nmae"), 'error: "tidemark table show" has no option --nmae. It has: --help.')
        self.assertIn("It has: --help, --webhook, --secret,", self.told("on-change", "put", "T", "x", "--url", "http://h/"))

    def test_durations(self):
        for line, least in (("sas table T --permissions r --expires-in", 1), ("feed put T --retention", 1), ("queue get q --visibility", 1),
                            ("queue put q text --visible-in", 0), ("queue put q text --time-to-live", -1)):
            for wrong in ("1x", "h", "1.5h", "", str(least - 1), "100000d"):
                told = self.told(*line.split(), wrong)
                self.assertEqual(told, f"error: {line.split()[-1]}: it must be seconds, or such as 30m, 1h, 7d, not {wrong}")

    def test_the_help_is_in_groups(self):
        text = tidemark("--help").stdout
        headings = [line for line in re.findall(r"^([A-Z][a-z ]+):$", text, re.M) if line != "Options"]
        self.assertEqual(headings, ["The stack", "Data", "Jobs", "Indexes and changes", "Access", "Operation"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
