"""Quotas of accounts: bounds from the file of accounts, refusals in all three stores, the operators' view, bounds that
change while the stack runs, and usage after a kill."""
import base64
import json
import os
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ACCOUNT, KEY, BlobClient, HttpClient, HttpFailure, QueueClient, TableClient, patiently  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from stack import Stack, StackTest, clean_environment, program, wait_until  # noqa: E402

CODE = "InsufficientAccountPermissions"
TEXT = base64.b64encode(os.urandom(7500)).decode()  # 10,000 characters that cannot be compressed


class QuotasTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.accounts = os.path.join(cls.stack.directory, "accounts")
        cls.write("tables=20 queues=8 containers=2 blob_bytes=1MiB table_bytes=1MiB queue_bytes=1MiB")
        for name in Stack.STORES:
            cls.stack.start(name, "--accounts-file", cls.accounts)
        cls.stack.start("api")
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        cls.blobs = BlobClient(cls.stack.ports["blob_store"])

    @classmethod
    def write(cls, bounds):
        with open(os.open(cls.accounts, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(f"# the only one\n{ACCOUNT}:{base64.b64encode(KEY).decode()} {bounds}\n")

    def refused(self, call, *arguments):
        with self.assertRaises(HttpFailure) as raised:
            call(*arguments)
        self.assertEqual(raised.exception.status, 403, str(raised.exception))
        self.assertIn(CODE, str(raised.exception))
        self.assertIn("The account may have", str(raised.exception))

    def use(self, store, of):
        return next(each for each in self.api.call("GET", "/v1/accounts")["accounts"]
                    if (each["account"], each["store"], each["of"]) == (ACCOUNT, store, of))

    def fill(self):
        """Inserts entities until the store refuses one; returns how many it took."""
        for number in range(1000):
            try:
                self.tables.put("Filled", {"PartitionKey": "p", "RowKey": f"{number:04}", "Text": TEXT})
            except HttpFailure as failure:
                self.assertEqual(failure.status, 403, str(failure))
                return number
        raise AssertionError("1000 entities of 10 kB in 1 MiB")

    def test_tables_queues_and_containers_are_bounded(self):
        for make, first in ((self.tables.create_table, "Many"), (self.queues.create, "many-"),
                            (self.blobs.create_container, "many-")):
            with self.assertRaises(HttpFailure, msg=f"{make.__name__} 25 times") as raised:
                for number in range(25):
                    make(f"{first}{number}")
            self.assertEqual(raised.exception.status, 403, str(raised.exception))
            self.assertIn(CODE, str(raised.exception))
        # The stack makes tables and queues of its own as well, and more of them later.
        self.assertGreaterEqual(self.use("table", "tables")["used"], 20)
        self.assertGreaterEqual(self.use("queue", "queues")["used"], 8)
        self.assertEqual(self.use("blob", "containers"), {"account": ACCOUNT, "store": "blob", "of": "containers",
                                                          "used": 2, "most": 2})
        self.told_of_what_is_full()
        self.still_so_after_a_kill()
        self.bounds_can_be_raised()

    def told_of_what_is_full(self):
        warnings = self.api.call("GET", "/v1/overview")["warnings"]
        self.assertIn({"account": ACCOUNT, "store": "blob", "of": "containers", "used": 2, "most": 2, "full": True,
                       "message": f"Account {ACCOUNT} has 2 of 2 containers in the blob store, so what adds to them is "
                                  "refused"}, warnings)
        text = HttpClient(self.stack.ports["table_store"]).ask("GET", "/metrics")[1].decode()
        self.assertRegex(text, rf'tidemark_account_used\{{account="{ACCOUNT}",of="tables"\}} 2\d\n')
        self.assertIn(f'tidemark_account_bound{{account="{ACCOUNT}",of="tables"}} 20\n', text)
        self.assertRegex(text, r'tidemark_account_refusals_total\{of="tables"\} [1-9]')
        wait_until(lambda: "an account has as much as it may have" in self.stack.children["table_store"].log(), "a line")
        url = f"http://127.0.0.1:{self.stack.ports['api']}"
        run = lambda *words: subprocess.run([program("tidemark"), "--api", url, *words], env=clean_environment(),  # noqa: E731
                                            capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertRegex(run("account", "list"), rf"{ACCOUNT} +blob +containers +2 +2 +100 %")
        self.assertIn("has 2 of 2 containers in the blob store", run("overview"))
        wait_until(lambda: json.loads(run("--json", "account", "list")) == self.api.call("GET", "/v1/accounts"),
                   "the same by the command line")

    def still_so_after_a_kill(self):
        self.stack.restart("table_store")
        self.refused(self.tables.create_table, "Another")
        self.tables.put("Many1", {"PartitionKey": "p", "RowKey": "r"})
        wait_until(lambda: patiently(self.use, "table", "tables"), "the api reaches the store again")

    def bounds_can_be_raised(self):
        room = patiently(self.use, "table", "tables")["used"] + 1  # the stack has made tables of its own meanwhile
        self.write(f"tables={room} containers=2 queues=8 table_bytes=1MiB queue_bytes=1MiB blob_bytes=1MiB")
        self.stack.children["table_store"].signal(signal.SIGHUP)
        wait_until(lambda: patiently(self.use, "table", "tables")["most"] == room, "the new bound")
        self.tables.create_table("Another")
        self.refused(self.tables.create_table, "YetAnother")
        self.tables.delete_table("Another")
        self.tables.delete_table("Many1")
        self.tables.create_table("Filled")
        self.bytes_are_bounded()

    def bytes_are_bounded(self):
        taken = self.fill()
        self.assertGreater(taken, 60)
        self.assertLess(taken, 105)
        self.stack.restart("table_store")
        self.assertLess(self.fill(), 2, "what was stored before the kill counts")
        for number in range(taken):
            self.tables.delete("Filled", "p", f"{number:04}")
        entity = {"PartitionKey": "p", "RowKey": "0001", "Text": TEXT}
        wait_until(lambda: self.accepts(lambda: self.tables.put("Filled", entity)), "room for one again")

        content = os.urandom(400_000)
        self.blobs.put("many-0", "one", content)
        self.blobs.put("many-0", "two", content)
        self.refused(self.blobs.put, "many-0", "three", content)
        self.blobs.delete("many-0", "one")
        wait_until(lambda: self.accepts(lambda: self.blobs.put("many-0", "three", content)), "room for a blob again")

    def accepts(self, write):
        try:
            write()
            return True
        except HttpFailure as failure:
            self.assertEqual(failure.status, 403, str(failure))
            return False


if __name__ == "__main__":
    unittest.main(verbosity=2)
