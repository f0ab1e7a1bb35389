"""Poison messages by the command line: viewed, edited, sent back and deleted, one by one and many at once."""
import base64
import json
import os
import stat
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import QueueClient, ended  # noqa: E402
from command_line import StackCase  # noqa: E402
from stack import wait_until  # noqa: E402


class PoisonTest(StackCase):
    def setUp(self):
        self.queues = QueueClient(self.stack.ports["queue_service"])
        self.addCleanup(self.command, "poison", "delete", "--all", "--yes", "--wait")

    def poisoned(self, table, count=1):
        """Returns the ids of jobs that failed because their table is missing."""
        ids = [self.api.submit({"kind": "delete", "source": table, "filter": ""}) for _ in range(count)]
        self.await_messages(ids)
        return ids

    def await_messages(self, ids):
        """Waits for the messages: records tell of a failure a little before the messages are in the poison queue."""
        wait_until(lambda: {p["jobId"] for p in self.api.poison()} >= set(ids), "the poison messages")

    def editor(self, script):
        """Makes a program that changes the file it is given."""
        with tempfile.NamedTemporaryFile("w", prefix="editor", delete=False) as file:
            file.write(f"#!/usr/bin/python3\nimport sys\npath = sys.argv[1]\ntext = open(path).read()\n{script}\n"
                       "open(path, 'w').write(text)\n")
        os.chmod(file.name, stat.S_IRWXU)
        self.addCleanup(os.remove, file.name)
        return {"EDITOR": file.name, "VISUAL": ""}

    def test_more_than_one_is_asked_for(self):
        self.poisoned("Asked", 3)
        for verb, says in (("redrive", "Send back 3 messages?"), ("delete", "Delete 3 messages?")):
            refused = self.command("poison", verb, "--source", "Asked", code=1).stderr
            self.assertIn(says, refused)
            self.assertIn("--yes", refused)
            self.assertIn(says + " [y/N]", self.shown("poison", verb, "--source", "Asked", answer="n\n"))
            self.assertEqual(len(self.api.poison()), 3, "nothing was done")
        self.assertIn("no poison message matches", self.command("poison", "delete", "--source", "Other").stderr)
        self.assertIn("deleted 3 messages", self.shown("poison", "delete", "--source", "Asked", "--wait", answer="y\n"))
        self.assertEqual(self.api.poison(), [])

    def test_what_is_meant_must_be_said(self):
        for arguments, says in (((), "--all"), (("x", "--all"), "exclude"), (("x", "--kind", "delete"), "exclude"),
                                (("--queue", "q", "--kind", "delete"), "selected by their ids")):
            for verb in ("redrive", "delete"):
                self.assertIn(says, self.command("poison", verb, *arguments, code=2).stderr)
            self.assertIn("many messages", self.command("poison", verb, "x", "--per-second", "5", code=2).stderr)
        self.assertIn("canary is for messages of jobs", self.command("poison", "redrive", "--all", "--queue", "q", "--canary", "1", code=1).stderr)
        self.assertIn("--file", self.command("poison", "redrive", "--all", "--file", "-", code=2).stderr)

    def test_tables_are_not_merged(self):
        self.poisoned("One", 2)
        self.poisoned("Two")
        titles, *groups = self.rows(self.command("poison", "groups").stdout)
        self.assertEqual([(row[titles.index("count")], row[titles.index("source")]) for row in groups],
                         [("2", "One"), ("1", "Two")])
        fingerprint = groups[1][titles.index("fingerprint")]
        self.command("poison", "delete", "--fingerprint", fingerprint, "--yes", "--wait")
        self.assertEqual([p["source"] for p in self.api.poison()], ["One", "One"])

    def test_many_are_sent_back_and_what_became_of_them_is_told(self):
        good, bad = self.poisoned("Mended", 3), self.poisoned("Broken", 2)
        self.tables.create_table("Mended")
        told = self.command("--json", "poison", "redrive", "--kind", "delete", "--per-second", "1000", "--yes", "--wait", code=4)
        outcome = json.loads(told.stdout)
        self.assertEqual((outcome["sent"], outcome["succeeded"], set(outcome["failedAgain"])), (5, 3, set(bad)))
        self.await_messages(bad)
        self.assertTrue(all(self.api.job(each)["state"] == "succeeded" for each in good))
        self.tables.create_table("Broken")
        told = self.command("poison", "redrive", "--source", "broken", "--per-second", "1000", "--yes", "--wait").stdout
        self.assertIn("sent 2, succeeded 2, failed again 0", told)

    def test_those_that_are_named(self):
        ids = self.poisoned("Named", 3)
        self.tables.create_table("Named")
        self.assertIn("succeeded 2", self.command("poison", "redrive", *ids[:2], "--yes", "--wait").stdout)
        self.assertIn("sent back: job " + ids[2], self.command("poison", "redrive", ids[2]).stdout)
        wait_until(lambda: ended(self.api.job(ids[2])), "its end")

    def test_a_redrive_that_failed_is_no_poison(self):
        ids = self.poisoned("Canary", 3)
        failed = self.command("poison", "redrive", "--source", "Canary", "--canary", "1", "--yes", "--wait", code=4)
        self.assertIn("sent 1, succeeded 0, failed again 1", failed.stdout)
        self.assertIn("canary", failed.stderr)
        self.await_messages(ids)
        self.assertEqual([p["kind"] for p in self.api.poison()], ["delete"] * 3)

    def test_the_newest_is_first_and_ids_are_short_on_a_terminal(self):
        self.assertEqual(self.command("poison", "list").stdout, "no poison messages\n")
        first, last = self.poisoned("First"), self.poisoned("Last")
        listed = json.loads(self.command("--json", "poison", "list").stdout)["poison"]
        self.assertEqual([p["jobId"] for p in listed], last + first)
        listed = json.loads(self.command("--json", "poison", "list", "--limit", "1").stdout)["poison"]
        self.assertEqual([p["jobId"] for p in listed], last)
        titles, newest, oldest = self.rows(self.shown("poison", "list", columns=200))
        self.assertEqual((titles[:2], len(newest[0]), len(newest[1])), (["message", "job"], 8, 8))
        self.assertTrue(last[0].endswith(newest[1]) and first[0].endswith(oldest[1]))
        for short in newest[:2]:
            self.assertIn(last[0], self.command("poison", "show", short).stdout)
        self.assertTrue(all(len(line) <= 60 for line in self.shown("poison", "list", columns=60).splitlines()))

    def test_a_job_is_edited(self):
        [job_id] = self.poisoned("Wrong")
        self.assertIn(f"once it is mended: tidemark poison redrive {job_id}\n", self.command("job", "show", job_id).stdout)
        self.tables.create_table("Right")
        same = self.command("poison", "edit", job_id, environment=self.editor("pass"))
        self.assertIn("unchanged", same.stderr)
        edited = self.command("poison", "edit", job_id, environment=self.editor("text = text.replace('Wrong', 'Right')"))
        self.assertIn('"source": "Right"', edited.stdout)
        broken = self.command("poison", "edit", job_id, environment=self.editor("text = '{'"), code=1)
        self.assertIn("what you wrote is in /", broken.stderr)
        os.remove(broken.stderr.split("what you wrote is in ")[1].strip())
        shown = self.command("--json", "poison", "show", job_id).stdout
        self.command("poison", "edit", job_id, "--file", "-", stdin=shown.replace("Right", "Other"))
        self.assertEqual(self.api.poison()[0]["body"]["source"], "Other")
        conflict = self.command("poison", "edit", job_id, "--file", "-", stdin=shown, code=1)
        self.assertIn("look again", conflict.stderr, "it was changed since")
        self.assertIn("look again", self.command("poison", "redrive", job_id, "--file", "-", stdin=shown, code=1).stderr)
        shown = self.command("--json", "poison", "show", job_id).stdout
        self.command("poison", "edit", job_id, "--file", "-", stdin=shown.replace("Other", "Right"))
        self.assertIn("succeeded 1", self.command("poison", "redrive", job_id, "--wait").stdout)

    def test_the_original_of_an_edited_job_is_kept_through_rounds(self):
        [job_id] = self.poisoned("Before")
        original = self.api.call("GET", f"/v1/poison/{job_id}")
        self.assertNotIn("original", original)
        for table in ("Between", "After"):
            self.command("poison", "edit", job_id, "--file", "-", stdin=json.dumps({"kind": "delete", "source": table, "filter": ""}))
            self.assertEqual(json.loads(self.api.call("GET", f"/v1/poison/{job_id}")["original"]), original["body"])
        self.command("poison", "redrive", job_id, "--wait", code=4)
        self.await_messages([job_id])
        again = json.loads(self.command("--json", "poison", "show", job_id).stdout)
        self.assertEqual((again["redrives"], again["body"]["source"], json.loads(again["original"])), (1, "After", original["body"]))
        shown = self.command("poison", "show", job_id).stdout
        self.assertRegex(shown, r'(?s)body: .*"source": "After".*before it was edited: .*"source": "Before".*attempts:')
        self.command("poison", "redrive", job_id, "--file", "-", "--wait", code=4,
                     stdin=json.dumps({"kind": "delete", "source": "Before", "filter": ""}))
        self.await_messages([job_id])
        self.assertNotIn("original", self.api.call("GET", f"/v1/poison/{job_id}"), "it is that again")

    def test_a_text_in_base64_is_shown_as_it_reads(self):
        self.queues.create("orders-poison")
        encoded = base64.b64encode(b"an order of f\xc3\xbcnf").decode()
        for text in (encoded, "plain text"):
            self.queues.put("orders-poison", text)
        listed = self.command("poison", "list", "--queue", "orders").stdout
        self.assertIn("an order of fünf", listed)
        [encoded_id] = [m["id"] for m in json.loads(self.command("--json", "poison", "list", "--queue", "orders").stdout)["poison"]
                        if m["body"] == encoded]
        self.assertIn("body: an order of fünf\n", self.command("poison", "show", encoded_id, "--queue", "orders").stdout)
        self.command("poison", "edit", encoded_id, "--queue", "orders",
                     environment=self.editor("text = text.replace('fünf', 'six')"))
        shown = json.loads(self.command("--json", "poison", "show", encoded_id, "--queue", "orders").stdout)
        self.assertEqual(base64.b64decode(shown["body"]), b"an order of six")
        self.assertEqual(shown["original"], encoded)
        self.assertIn("before it was edited: an order of fünf\n", self.command("poison", "show", encoded_id, "--queue", "orders").stdout)
        self.command("poison", "redrive", "--all", "--queue", "orders", code=1)
        self.queues.create("orders")
        self.assertIn("sent 2 messages", self.command("poison", "redrive", "--all", "--queue", "orders", "--yes", "--wait").stdout)
        self.assertEqual(len(self.queues.peek("orders")), 2)

    def letter(self, text):
        """A poison message of a queue: how it is edited and read."""
        self.queues.create("letters-poison")
        which = (self.queues.put("letters-poison", text), "--queue", "letters")
        return (lambda *arguments, **how: self.command("poison", "edit", *which, *arguments, **how),
                lambda: json.loads(self.command("--json", "poison", "show", *which).stdout)["body"])

    def test_an_editor_ends_the_last_line_of_a_text(self):
        edit, body = self.letter("plain")
        for script, says in (("text += '\\n'", "plain"), ("text = 'other\\r\\n'", "other"), ("text = 'two\\n\\n'", "two\n"),
                             ("text = 'three\\n'", "three\n"), ("text = 'four'", "four")):
            unchanged = body() == says
            self.assertEqual("unchanged" in edit(environment=self.editor(script)).stderr, unchanged, script)
            self.assertEqual(body(), says)
        edit("--file", "-", stdin="exact\n")
        self.assertEqual(body(), "exact\n")

    def test_a_text_that_no_message_can_have(self):
        edit, body = self.letter("plain")
        for content, says in ((b"\xff\xfea", "the file is not UTF-8 text"), (b"a\x01b\x00c", "Put it in Base64"),
                              ("a\uffff".encode(), "Put it in Base64")):
            with tempfile.NamedTemporaryFile() as file:
                file.write(content)
                file.flush()
                self.assertIn(says, edit("--file", file.name, code=1).stderr)
        self.assertEqual(body(), "plain")

    def test_what_many_did_is_in_the_trail(self):
        self.poisoned("Trailed", 3)
        deleted = self.command("--json", "--reason", "old", "poison", "delete", "--source", "Trailed", "--per-second", "1000", "--yes", "--wait")
        self.assertEqual(json.loads(deleted.stdout), {"deleted": 3})
        entries = [entry for entry in json.loads(self.command("--json", "audit", "--limit", "100").stdout)["entries"]
                   if "Trailed" in entry.get("detail", "") and entry.get("reason") == "old"]
        self.assertEqual([(entry["operation"], entry["count"]) for entry in entries], [("jobs.post", 3)])
        self.assertIn("purge poisonSource=Trailed movedBefore=", entries[0]["detail"])
        self.assertEqual(self.api.call("GET", "/v1/poison?source=Trailed")["poison"], [])

    def test_some_that_are_named_are_deleted_by_one_job(self):
        ids = self.poisoned("Some", 3)
        self.assertIn("deleted 2 messages", self.command("poison", "delete", ids[0], ids[1][-8:], "--yes", "--wait").stdout)
        job = self.command("poison", "delete", ids[2], ids[0], "--yes").stdout.strip()
        wait_until(lambda: ended(self.api.job(job)), "its end")
        self.assertEqual((self.api.job(job)["progress"]["done"], self.api.poison()), (1, []))
        self.assertIn("no such poison message", self.command("poison", "delete", ids[2], code=3).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
