"""What the command line says to somebody who has made a mistake, and that it does nothing then."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from command_line import tidemark  # noqa: E402
from stack import Stack  # noqa: E402

NOWHERE = "http://127.0.0.1:1"


class WithoutStackTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="tm", dir="/tmp")
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


class OneStoreTest(unittest.TestCase):
    def test_an_offline_check_leaves_out_what_a_directory_does_not_have(self):
        with Stack() as stack:
            stack.start("table_store")
            stack.children["table_store"].terminate()
            before = sorted(os.listdir(stack.data))
            done = tidemark("--data", stack.data, "fsck", "--offline")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("nothing is wrong", done.stdout)
            self.assertEqual([line.partition(" has ")[2] for line in done.stderr.splitlines()],
                             ["nothing of the queue store)", "nothing of the blob store)"])
            self.assertEqual(sorted(os.listdir(stack.data)), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
