"""The command line's answers to a user's mistakes, and a check that it then does nothing."""
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import shards  # noqa: E402
from command_line import StackCase, tidemark  # noqa: E402
from receiver import Receiver  # noqa: E402
from stack import Stack  # noqa: E402

NOWHERE = "http://127.0.0.1:1"
OPTIONS_OF_ALL = "Also: --api --token --data --table-url --account --key --ca-file --reason --json; see tidemark --help."


class WithoutStackTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="tm")
        self.addCleanup(self.directory.cleanup)

    def refused(self, *arguments, code=2):
        done = tidemark(*arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        return done.stderr

    def test_a_backup_needs_a_directory(self):
        for arguments in (["backup"], ["backup", ""], ["backup", "--keep", "3"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.refused(*arguments),
                                 'error: "tidemark backup" needs a directory, or a command: list, verify.\n')
        for arguments in (["backup", "list", ""], ["backup", "verify", ""], ["restore", ""]):
            with self.subTest(arguments=arguments):
                self.assertIn("it names no directory", self.refused(*arguments))

    def test_a_restore_needs_a_directory_to_restore_into(self):
        self.assertIn("--data (TIDEMARK_DATA) is empty", self.refused("--data", "", "restore", "nowhere", code=1))

    def test_a_misspelt_command_makes_no_backup(self):
        for word, meant in (("lst", "list"), ("verfy", "verify")):
            self.assertEqual(self.refused("backup", word), f'error: "tidemark backup" has no command "{word}". Did you mean '
                                                           f'"{meant}"? For a directory of this name write ./{word}\n')
        self.assertIn("cannot reach", self.refused("--api", NOWHERE, "backup", "./lst", code=1), "it is taken for a directory")

    def test_an_offline_check_is_of_a_data_directory(self):
        typo = os.path.join(self.directory.name, "typo")
        for data in (typo, self.directory.name, ""):
            with self.subTest(data=data):
                self.assertEqual(self.refused("--data", data, "fsck", "--offline", code=1),
                                 f'error: "{data}" is no data directory of a stack: --data (TIDEMARK_DATA) names one\n')
        self.assertEqual(os.listdir(self.directory.name), [], "asking makes nothing")

    def test_an_address_where_nobody_is(self):
        for arguments, setting in ((["--api", NOWHERE, "job", "list"], "--api (TIDEMARK_API) says where"),
                                   (["--table-url", f"{NOWHERE}/x", "table", "list"], "--table-url (TIDEMARK_TABLE_URL) says where")):
            told = self.refused(*arguments, code=1)
            self.assertIn("is the stack up, and at this address? tidemark status shows its ports; " + setting, told)

    def test_the_token_of_the_stack_stays_on_this_machine(self):
        os.mkdir(os.path.join(self.directory.name, "run"))
        with open(os.path.join(self.directory.name, "run", "token"), "w", encoding="utf-8") as file:
            file.write("the-token-of-the-stack\n")
        receiver = Receiver(lambda request: (200, {"Content-Type": "application/json"}, b'{"jobs":[]}'))
        self.addCleanup(receiver.close)
        for host in ("127.0.0.1", "0.0.0.0"):  # which leads to this machine, too, but is no name of its loopback
            done = tidemark("--data", self.directory.name, "--api", receiver.url(host=host), "job", "list",
                            environment={"TIDEMARK_TOKEN": ""})
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([request.get("authorization") for request in receiver.got],
                         ["Bearer the-token-of-the-stack", None])

    def test_all_that_is_wrong_with_arguments_is_an_error(self):
        for line in ("job show", "queue spread x", "shards move nosuch 1 x", "job list --limit x", "sas blob --permissions r"):
            self.assertIn("Run with --help for more information.", self.refused(*line.split()), line)

    def test_the_help_of_a_command_names_the_options_of_all(self):
        for command in (["job", "list"], ["index", "put"], ["schedule", "put"], ["completion", "zsh"]):
            self.assertIn(OPTIONS_OF_ALL, tidemark(*command, "--help").stdout)
        self.assertNotIn(OPTIONS_OF_ALL, tidemark("--help").stdout)
        for kind, letters in (("table", "raud"), ("queue", "raup"), ("container", "racwdxyltfmei"), ("blob", "racwdxytmei"),
                              ("account", "rwdxylacuptfi")):
            self.assertIn(f"letters of {letters}", tidemark("sas", kind, "--help").stdout)


class OneStoreTest(unittest.TestCase):
    def test_an_offline_check_misses_whole_stores_and_makes_none(self):
        with Stack() as stack:
            stack.start("table_store", "--shards", "2")
            stack.children["table_store"].terminate()
            before = sorted(os.listdir(stack.data))
            done = tidemark("--data", stack.data, "fsck", "--offline")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertEqual(done.stdout.splitlines(),
                             [f"queue_service missing folder queue: {stack.data} has nothing of this store",
                              f"blob_store missing folder blob: {stack.data} has nothing of this store", "2 findings"])
            self.assertEqual(sorted(os.listdir(stack.data)), before)
            os.rename(os.path.join(stack.data, "table"), os.path.join(stack.data, "table.away"))
            told = [json.loads(line) for line in tidemark("--data", stack.data, "--json", "fsck", "--offline").stdout.splitlines()]
            self.assertEqual([each.get("store") for each in told], ["table_store", "queue_service", "blob_store", None])
            self.assertEqual(told[-1]["found"], 3)


class StackTest(StackCase):
    workers = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.start("blob_store")

    def test_an_entity_that_is_no_json(self):
        self.tables.create_table("Broken")
        for body in ("{bad", "[1]", '"x"', ""):
            told = self.command("entity", "put", "Broken", "p", "r", stdin=body, code=1).stderr
            self.assertNotIn("while processing this request", told)
            self.assertRegex(told, "JSON")

    def test_what_is_not_there_is_named_as_it_was_asked_for(self):
        for told in ("created\n", "it was there already\n"):
            self.assertEqual(self.command("container", "create", "pictures").stdout, told)
        for arguments in (["blob", "show", "pictures", "a/nosuch"], ["blob", "delete", "pictures", "a/nosuch", "--if-match", "*"],
                          ["blob", "download", "pictures", "a/nosuch", "--file", "-"]):
            self.assertEqual(self.command(*arguments, code=3).stderr, "error: The specified blob does not exist: pictures/a/nosuch\n")
        self.assertIn("container does not exist: nosuch\n", self.command("blob", "show", "nosuch", "x", code=3).stderr)

    def test_poison_of_a_queue_that_is_not_there(self):
        self.assertEqual(self.command("poison", "list", "--queue", "nosuch", code=3).stderr, "error: There is no queue nosuch.\n")

    def test_advice_is_a_command(self):
        self.tables.create_table("Quiet")
        no_feed = "error: Quiet has no change feed: declare one with `tidemark feed put Quiet`.\n"
        for asked in (["changes", "Quiet"], ["feed", "show", "Quiet"], ["on-change", "put", "Quiet", "audit", "--queue", "audit"]):
            self.assertEqual(self.command(*asked, code=3).stderr, no_feed)
        self.command("feed", "put", "Quiet")
        self.assertEqual(self.command("consumer", "show", "Quiet", "mail.er", code=3).stderr,
                         "error: The table Quiet has no consumer group mail.er. Make it with `tidemark consumer put Quiet mail.er`.\n")
        self.assertRegex(self.command("changes", "Quiet").stderr, "^next [A-Za-z0-9_=-]+\n$")

    @unittest.skipIf(shards.COUNT, "of a store with one shard")
    def test_a_queue_of_a_store_that_is_not_divided(self):
        told = self.command("queue", "spread", "tidemark-jobs", "--parts", "2", code=1).stderr
        self.assertIn("This store has one shard, so no queue can be spread", told)

    def test_the_url_of_something_else(self):
        there = self.environment["TIDEMARK_API"] + "/devstoreaccount1"
        self.assertIn("is --table-url right?", self.command("--table-url", there, "table", "list", code=1).stderr)

    def test_one_is_not_several(self):
        self.assertEqual(self.command("table", "import", "Single", stdin='{"PartitionKey":"p","RowKey":"r"}').stdout,
                         "imported 1 entity into Single\n")
        self.assertIn("delete: 1 entity, ", self.command("job", "submit", "delete", "--source", "Single", "--filter", "", "--dry-run").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
