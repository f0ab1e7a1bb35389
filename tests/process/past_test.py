"""`tidemark table past`: a table as it was at a moment, while it is being written to, and restored by import."""
import json
import os
import random
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, TableClient  # noqa: E402
from stack import StackTest, clean_environment, program  # noqa: E402

TYPED = {"Whole": "9007199254740993", "Whole@odata.type": "Edm.Int64", "Id": "c9da6455-213d-42c9-9a79-3e9149a57833",
         "Id@odata.type": "Edm.Guid", "When": "2026-11-22T17:05:11.1234567Z", "When@odata.type": "Edm.DateTime",
         "Bytes": "AAEC", "Bytes@odata.type": "Edm.Binary", "Real": 2.0, "Real@odata.type": "Edm.Double", "Yes": True}


class PastTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up()
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.api = ApiClient(cls.stack.ports["api"])

    def tidemark(self, *arguments, code=0, stdin=None):
        done = subprocess.run(
            [program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", "--table-url",
             f"http://127.0.0.1:{self.tables.port}/devstoreaccount1", *arguments],
            env=clean_environment(), capture_output=True, text=True, timeout=60, input=stdin, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def declare(self, table, values="both"):
        self.tables.create_table(table)
        self.api.call("PUT", f"/v1/tables/{table}/feed", {"values": values})

    def write(self, table, row, **properties):
        self.tables.put(table, {"PartitionKey": f"p{row % 3}", "RowKey": str(row), **properties})

    def moment(self, table):
        """Returns the time of a write that comes after all earlier ones."""
        self.write(table, 9_999, Marker=True)
        shown = self.tidemark("--json", "table", "query", table, "--filter", "PartitionKey eq 'p0' and RowKey eq '9999'")
        return json.loads(shown)["Timestamp"]

    @staticmethod
    def read(text):
        """Returns the entities by key, each once or with the same values, without their write times."""
        found = {}
        for line in text.splitlines():
            entity = {name: value for name, value in json.loads(line).items() if not name.startswith(("odata.", "Timestamp"))}
            key = (entity["PartitionKey"], entity["RowKey"])
            assert found.setdefault(key, entity) == entity, entity
        return found

    def past(self, table, at):
        return self.read(self.tidemark("table", "past", table, "--at", at))

    def now(self, table):
        return self.read(self.tidemark("--json", "table", "query", table))

    def change_something(self, table, dice, present):
        row = dice.randrange(60)
        if row in present and dice.random() < 0.4:
            self.tables.delete(table, f"p{row % 3}", str(row))
            present.discard(row)
        else:
            self.write(table, row, N=dice.randrange(1000), **(TYPED if dice.random() < 0.3 else {}))
            present.add(row)

    def test_any_moment_since_the_feed_began(self):
        dice, present = random.Random(14), set()
        self.tables.create_table("Things")
        for _ in range(40):
            self.change_something("Things", dice, present)
        self.api.call("PUT", "/v1/tables/Things/feed", {"values": "old"})
        moments = []
        for _ in range(5):
            moments.append((self.moment("Things"), self.now("Things")))
            for _ in range(60):
                self.change_something("Things", dice, present)
        stop = threading.Event()
        others = TableClient(self.tables.port)

        def go_on():
            number = 0
            while not stop.is_set():
                number += 1
                others.put("Things", {"PartitionKey": "p0", "RowKey": str(3 * (number % 40)), "N": -number})
        writer = threading.Thread(target=go_on)
        writer.start()
        try:
            for at, then in moments:
                self.assertEqual(self.past("Things", at), then)
        finally:
            stop.set()
            writer.join()
        at, then = moments[2]
        self.tidemark("table", "import", "ThingsThen", stdin=self.tidemark("table", "past", "Things", "--at", at))
        self.assertEqual(self.now("ThingsThen"), then)

    def test_a_moment_that_the_feed_does_not_reach(self):
        self.declare("Late")
        at = self.moment("Late")
        self.assertIn("goes back to", self.tidemark("table", "past", "Late", "--at", "2020-01-01 12:00", code=1))
        self.tables.delete_table("Late")
        self.tables.create_table("Late")
        self.assertIn("was dropped at", self.tidemark("table", "past", "Late", "--at", at, code=1))

    def test_a_feed_without_old_values(self):
        self.declare("Keys", values="new")
        at = self.moment("Keys")
        self.assertIn("--values both", self.tidemark("table", "past", "Keys", "--at", at, code=1))
        self.write("Keys", 9_999, Marker=False)
        self.api.call("PUT", "/v1/tables/Keys/feed", {"values": "both"})
        self.assertIn("kept no old values yet", self.tidemark("table", "past", "Keys", "--at", at, code=1))
        self.assertEqual(self.past("Keys", self.moment("Keys")), self.now("Keys"))
        self.tables.create_table("None")
        self.assertIn("no change feed", self.tidemark("table", "past", "None", "--at", at, code=3).lower())


if __name__ == "__main__":
    unittest.main()
