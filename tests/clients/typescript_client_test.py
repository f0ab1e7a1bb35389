"""The client for JavaScript: against the real api, and its harness without one."""
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "tests", "support"))
from clients import QueueClient, TableClient  # noqa: E402
from stack import TOKEN, StackTest  # noqa: E402


class TypeScriptClientTest(StackTest):
    def test_the_client(self):
        self.stack.up(workers=1, worker_arguments=("--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "50"))
        tables = TableClient(self.stack.ports["table_store"])
        for table in ("Orders", "Accounts"):
            tables.create_table(table)
        for row, state in (("types", "open"), ("sold", "sold")):
            tables.put("Orders", {"PartitionKey": "shop", "RowKey": row, "State": state, "Cents@odata.type": "Edm.Int64", "Cents": "500"})
        QueueClient(self.stack.ports["queue_service"]).create("mail")
        done = subprocess.run(["node", "--test", os.path.join(os.path.dirname(os.path.abspath(__file__)), "typescript_client.test.mjs")],
                              env={**os.environ, "TIDEMARK_API": f"http://127.0.0.1:{self.stack.ports['api']}",
                                   "TIDEMARK_TOKEN": TOKEN}, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        account = tables.get("Accounts", "c7", "types")
        self.assertEqual((account["Cents"], account["Small"]), ("500", "1"))
        self.assertEqual(tables.get("Orders", "shop", "types")["At"], "2026-01-02T00:00:00Z")
        self.assertEqual(tables.get("Orders", "shop", "sold")["State"], "sold")


if __name__ == "__main__":
    unittest.main()
