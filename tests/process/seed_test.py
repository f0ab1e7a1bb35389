"""The contents of a new stack: the api's seed_file makes absent objects, overwrites nothing, and fails in one line."""
import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, BlobClient, QueueClient, TableClient  # noqa: E402
from stack import OwnStackTest, Stack, clean_environment, program  # noqa: E402

SEED = {
    "tables": {"People": [{"PartitionKey": "p", "RowKey": "ann", "Name": "Ann", "Age@odata.type": "Edm.Int64", "Age": "30"},
                          {"PartitionKey": "p", "RowKey": "bob", "Name": "Bob"}],
               "Empty": [], "ByName": []},
    "queues": {"letters": ["first", "second"], "nothing": []},
    "containers": {"pictures": {"folder/a.txt": "its text"}},
    "feeds": {"People": {"values": "both"}},
    "consumers": {"People": {"mailer": {"after": "oldest"}, "later": {}}},
    "onChange": {"People": {"told": {"queue": "changes", "values": "new", "after": "oldest"}}},
    "indexes": {"by-name": {"kind": "lists", "source": "People", "by": ["Name"], "destination": "ByName"}},
}


class SeedTest(OwnStackTest):
    def setUp(self):
        for name in Stack.STORES:
            self.stack.start(name)
        self.path = os.path.join(self.stack.directory, "seed.json")
        self.tables = TableClient(self.stack.ports["table_store"])
        self.queues = QueueClient(self.stack.ports["queue_service"])
        self.blobs = BlobClient(self.stack.ports["blob_store"])

    def write(self, seed):
        with open(self.path, "w") as file:
            file.write(seed if isinstance(seed, str) else json.dumps(seed))

    def start_api(self):
        api = self.stack.start("api", "--seed-file", self.path)
        line, = [line for line in api.log(100_000).splitlines() if " seeded " in line][-1:]
        return dict(word.split("=", 1) for word in line.split() if "=" in word)

    def test_makes_what_is_absent_and_overwrites_nothing(self):
        self.write(SEED)
        made = self.start_api()
        self.assertEqual({made[key] for key in ("entities", "messages", "queues")}, {"2"})
        self.assertEqual((made["tables"], made["blobs"], made["feeds"], made["indexes"]), ("3", "1", "1", "1"))
        ann = self.tables.get("People", "p", "ann")
        self.assertEqual((ann["Name"], int(ann["Age"])), ("Ann", 30))
        self.assertEqual(self.blobs.get("pictures", "folder/a.txt"), b"its text")
        self.assertEqual(self.queues.length("letters"), 2)
        self.assertEqual(self.queues.length("nothing"), 0)
        api = ApiClient(self.stack.ports["api"])
        self.assertEqual(api.call("GET", "/v1/indexes/by-name")["definition"]["by"], ["Name"])
        self.assertEqual(api.call("GET", "/v1/tables/People/feed")["values"], "both")

        self.assertEqual((made["consumers"], made["on_change"]), ("2", "1"))
        groups = {each["group"]: each for each in api.call("GET", "/v1/tables/People/consumers")["consumers"]}
        self.assertEqual(sorted(groups), ["later", "mailer"])
        told = api.call("GET", "/v1/tables/People/onChange/told")
        self.assertEqual((told["definition"]["queue"], told["state"]), ("changes", "running"))
        self.assertEqual(self.queues.length("changes"), 0)

        api.call("PUT", "/v1/tables/People/consumers/mailer", {"after": "now"})
        set_since = api.call("GET", "/v1/tables/People/consumers/mailer")["token"]
        api.call("DELETE", "/v1/tables/People/consumers/later")
        self.tables.put("People", {"PartitionKey": "p", "RowKey": "ann", "Name": "Other"})
        self.tables.delete("People", "p", "bob")
        self.blobs.put("pictures", "folder/a.txt", b"another")
        self.queues.clear("letters")
        api.call("DELETE", "/v1/tables/People/feed")
        self.stack.children["api"].terminate()
        made = self.start_api()
        self.assertEqual((made["tables"], made["entities"], made["messages"], made["blobs"], made["feeds"],
                          made["indexes"]), ("0", "1", "0", "0", "1", "0"))
        self.assertEqual((made["consumers"], made["on_change"]), ("1", "0"))
        self.assertEqual(ApiClient(self.stack.ports["api"]).call("GET", "/v1/tables/People/consumers/mailer")["token"], set_since)
        self.assertEqual(self.tables.get("People", "p", "ann")["Name"], "Other")
        self.assertEqual(self.tables.get("People", "p", "bob")["Name"], "Bob")
        self.assertEqual(self.blobs.get("pictures", "folder/a.txt"), b"another")
        self.assertEqual(self.queues.length("letters"), 0)

    def refused(self, seed, says):
        if seed is not None:
            self.write(seed)
        ended = subprocess.run([program("api"), "--data", self.stack.data, "--port", "0", "--seed-file", self.path],
                               capture_output=True, text=True, timeout=60, env=clean_environment())
        self.assertEqual((ended.returncode, ended.stdout), (2, ""), ended.stderr)
        errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, ended.stderr)
        self.assertIn("seed_file: " + self.path, errors[0])
        self.assertIn(says, errors[0])

    def test_errors_are_one_line_that_says_where(self):
        self.refused(None, "No such file")
        self.refused("{", "")
        self.refused([], "it must be a JSON object")
        self.refused({"table": {}}, "table: is not one of tables")
        self.refused({"tables": ["People"]}, "tables: must be an object")
        self.refused({"tables": {"People": [{"RowKey": "r"}]}}, "tables.People[0]: PartitionKey and RowKey")
        self.refused({"queues": {"letters": [1]}}, "queues.letters: must be a list of texts")
        self.refused({"queues": {"letters": ["good", "b\uffffd"]}}, "queues.letters: The text of a message must be")
        self.refused({"containers": {"pictures": {"a": 1}}}, "containers.pictures: must be an object of texts")
        self.refused({"indexes": {"by-name": {"kind": "odd"}}}, "indexes.by-name: ")
        self.refused({"consumers": {"People": []}}, "consumers.People: must be an object")
        self.refused({"consumers": {"People": {"a b": {}}}}, "consumers.People.a b: a name has")
        self.refused({"consumers": {"People": {"mailer": {"after": "AQIA"}}}}, "consumers.People.mailer: after: is now or oldest")
        self.refused({"consumers": {"People": {"mailer": 5}}}, "consumers.People.mailer: must be an object")
        self.refused({"onChange": {"People": {"told": {}}}}, "onChange.People.told: ")
        # Errors that only the stores can detect.
        self.refused({"consumers": {"People": {"mailer": {}}}}, "consumers.People.mailer: ")
        self.refused({"onChange": {"People": {"told": {"queue": "changes"}}}}, "onChange.People.told: ")
        self.refused({"tables": {"No good": []}}, "tables.No good: ")
        self.refused({"queues": {"NoGood": []}}, "queues.NoGood: ")
        self.refused({"indexes": {"by-name": SEED["indexes"]["by-name"]}}, "indexes.by-name: ")
        self.assertIsNone(self.tables.get("People", "p", "r"))


if __name__ == "__main__":
    unittest.main()
