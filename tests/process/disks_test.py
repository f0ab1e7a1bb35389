"""The overview shows how much room the disks of the stores have, and warns of a full one before anything else."""
import os
import re
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, HttpClient  # noqa: E402
from command_line import tidemark  # noqa: E402
from stack import StackTest, wait_until  # noqa: E402

MORE_THAN_ANY_DISK_MIB = "1048576"


class DisksTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up()
        cls.stack.start("blob_store")
        cls.api = ApiClient(cls.stack.ports["api"])

    def disks(self):
        return self.api.call("GET", "/v1/overview")["disks"]

    def overview(self):
        done = tidemark("--api", f"http://127.0.0.1:{self.stack.ports['api']}", "overview")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_stores_in_one_directory_have_one_disk(self):
        disk, = wait_until(lambda: (found := self.disks()) and len(found[0]["stores"]) == 3 and found, "all stores answer")
        usage = shutil.disk_usage(self.stack.data)
        self.assertEqual((sorted(disk["stores"]), disk["totalBytes"]), (["blob", "queue", "table"], usage.total))
        self.assertLess(abs(disk["freeBytes"] - usage.free), usage.total / 20, "others use it meanwhile")
        self.assertFalse(disk["full"])
        self.assertEqual(disk["low"], "message" in disk)
        metrics = HttpClient(self.stack.ports["table_store"]).ask("GET", "/metrics")[1].decode()
        self.assertEqual(float(re.search(r"(?m)^tidemark_disk_bytes (\S+)$", metrics)[1]), usage.total)
        self.assertTrue(any(re.match(r"disk of table, queue, blob: .* of .* free$", line) for line in self.overview()))

    def test_a_store_that_refuses_writes_is_told_of_first(self):
        self.addCleanup(self.stack.restart, "blob_store", "--min-free-mib", "0")
        self.stack.restart("blob_store", "--min-free-mib", MORE_THAN_ANY_DISK_MIB)
        disk, = wait_until(lambda: (found := self.disks()) and found[0]["full"] and found, "the store says that it is full")
        self.assertTrue(disk["low"])
        for told in disk["message"], self.overview()[0]:  # not at the same moment, and others use the disk meanwhile
            self.assertRegex(told, r"^The disk of the .* stores? has .* GiB of .* GiB left, so writes are refused$")
        self.stack.restart("blob_store", "--min-free-mib", "0")
        wait_until(lambda: (found := self.disks()) and not found[0]["full"], "there is room again")

    def test_a_store_that_is_away_is_told_of_first(self):
        self.stack.children["queue_service"].kill()
        self.assertRegex(self.overview()[0], r"^not serving: The (connection to the )?queue service ")
        self.stack.start("queue_service")
        wait_until(lambda: "notServing" not in self.api.call("GET", "/v1/overview"), "it serves again")


if __name__ == "__main__":
    unittest.main()
