"""A store whose rows are divided over shards: the number is chosen once, and every tool that looks at a store sees
all."""
import json
import os
import subprocess
import sys
import unittest
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, BlobClient, HttpFailure, QueueClient, TableClient, patiently  # noqa: E402
from indexes import caught_up  # noqa: E402
from stack import OwnStackTest, Stack, program, wait_until  # noqa: E402


class ShardsTest(OwnStackTest):
    def start(self, *arguments):
        return self.stack.start("queue_service", *arguments)

    def stop(self):
        self.assertEqual(self.stack.children["queue_service"].terminate(), 0)

    def refusal(self, store="queue_service", *arguments):
        child = self.stack.launch(store, store, "--port", "0", *arguments)
        self.assertNotEqual(child.wait(), 0)
        return child.log()

    def folders(self):
        return sorted(n for n in os.listdir(os.path.join(self.stack.data, "queue")) if n.startswith("shard-"))

    def test_the_number_is_chosen_once(self):
        self.start("--shards", "4")
        client = QueueClient(self.stack.ports["queue_service"])
        for n in range(20):
            client.create(f"queue-{n:02}")
            client.put(f"queue-{n:02}", f"text {n}")
        self.assertEqual(self.folders(), [f"shard-{n}" for n in range(4)])
        self.stop()
        self.assertIn("was made with shards=4, and the setting says 2", self.refusal("queue_service", "--shards", "2"))
        self.start("--log-level", "info")  # no number is given: the store keeps its own
        client = QueueClient(self.stack.ports["queue_service"])
        self.assertEqual([client.take(f"queue-{n:02}", 1, 30)[0]["MessageText"] for n in range(20)],
                         [f"text {n}" for n in range(20)])

    def test_one_shard_stays_one(self):
        self.start()
        self.stop()
        self.assertEqual(self.folders(), [])
        self.assertIn("was made with shards=1", self.refusal("queue_service", "--shards", "2"))

    def test_a_lost_stamp_hides_no_rows(self):
        self.start("--shards", "2")
        self.stop()
        os.remove(os.path.join(self.stack.data, "queue", "tidemark.json"))
        self.assertIn("divided over shards, and its file tidemark.json is missing", self.refusal())
        self.assertIn("data from an older version", self.refusal("queue_service", "--shards", "2"))

    def test_how_far_stores_can_be_divided(self):
        for store in ("queue_service", "table_store", "blob_store"):
            self.assertIn("takes at most shards=64", self.refusal(store, "--shards", "65"))

    def test_each_has_figures_and_is_checked(self):
        self.start("--shards", "3")
        client = QueueClient(self.stack.ports["queue_service"])
        for n in range(12):
            client.create(f"queue-{n}")
            client.put(f"queue-{n}", "text")
        with urllib.request.urlopen(f"http://127.0.0.1:{self.stack.ports['queue_service']}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        written = [line.split() for line in lines if line.startswith("tidemark_database_log_bytes_total{")]
        self.assertEqual([name for name, _ in written],
                         [f'tidemark_database_log_bytes_total{{shard="{n}"}}' for n in range(3)])
        self.assertTrue(all(float(value) > 0 for _, value in written), written)
        self.stop()
        done = subprocess.run([program("queue_service"), "--data", self.stack.data, "--fsck"], capture_output=True,
                              check=True, text=True)
        report = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(report["found"], 0)
        self.assertGreaterEqual(report["rows"], 12 * 3)  # queue, figures, message
        current = os.path.join(self.stack.data, "queue", "shard-2", "CURRENT")
        with open(current, "w", encoding="ascii") as file:
            file.write("nothing")
        damaged = subprocess.run([program("queue_service"), "--data", self.stack.data, "--fsck"], capture_output=True,
                                 check=False, text=True)
        self.assertNotEqual(damaged.returncode, 0)
        self.assertIn("queue/shard-2", damaged.stdout)

    def test_tables_are_divided(self):
        self.stack.start("table_store", "--shards", "8")
        client = TableClient(self.stack.ports["table_store"])
        client.create_table("People")
        keys = [(f"p{n:02}", f"r{m}") for n in range(40) for m in range(2)]
        for partition, row in keys:
            client.put("People", {"PartitionKey": partition, "RowKey": row})
        self.assertEqual(list(client.scan("People")), keys)
        client.create_table("Gone")
        client.put("Gone", {"PartitionKey": "p", "RowKey": "r"})
        client.delete_table("Gone")
        self.assertEqual(self.stack.children["table_store"].terminate(), 0)
        self.stack.start("table_store", "--log-level", "info")
        client = TableClient(self.stack.ports["table_store"])
        self.assertEqual(list(client.scan("People")), keys)
        self.assertEqual(self.stack.children["table_store"].terminate(), 0)
        report = self.fsck("table_store")
        self.assertEqual((report["found"], report["rows"] >= len(keys) + 8), (0, True), report)
        folder = os.path.join(self.stack.data, "table")
        os.rename(os.path.join(folder, "shard-1"), os.path.join(folder, "other"))
        os.rename(os.path.join(folder, "shard-2"), os.path.join(folder, "shard-1"))
        os.rename(os.path.join(folder, "other"), os.path.join(folder, "shard-2"))
        self.assertGreater(self.fsck("table_store")["found"], 0, "rows are on the shards of others")

    def test_indexes_follow_a_table_over_shards(self):
        """A lookup finds the same as a scan of the table, even while processes are killed."""
        with Stack() as stack:
            for store in ("queue_service", "blob_store"):
                stack.start(store)
            stack.start("table_store", "--shards", "4")
            stack.start("api")
            stack.start_worker("w-1", "--lease-s", "2")
            tables, api = TableClient(stack.ports["table_store"]), ApiClient(stack.ports["api"])
            tables.create_table("People")

            def put(number, city):
                patiently(tables.put, "People", {"PartitionKey": f"p{number % 20}", "RowKey": f"r{number}", "City": f"c{city % 7}"})
            for number in range(200):
                put(number, number)
            api.call("PUT", "/v1/indexes/lists", {"kind": "lists", "source": "People", "by": ["City"], "destination": "ByCity"})
            api.call("PUT", "/v1/indexes/copies", {"kind": "copies", "source": "People", "destination": "Copies",
                                                   "partitionKey": "{City}", "rowKey": "{PartitionKey}_{RowKey}"})
            for number in range(200):
                put(number, number + 1 + number // 20)
                if number in (60, 140):
                    stack.restart("table_store")
            for number in range(0, 200, 3):
                patiently(tables.delete, "People", f"p{number % 20}", f"r{number}")
            for name in ("lists", "copies"):
                wait_until(lambda name=name: patiently(caught_up, api, name), f"{name} to catch up")
            wanted = {}
            for keys, entity in tables.scan("People").items():
                wanted.setdefault(entity["City"], set()).add(keys)
            self.assertEqual(len(wanted), 7)
            for name, parameter in (("lists", "value"), ("copies", "City")):
                found = {city: {(key["partitionKey"], key["rowKey"]) for key in
                                api.call("GET", f"/v1/indexes/{name}/lookup?{parameter}={city}&select=keys")["keys"]}
                         for city in wanted}
                self.assertEqual(found, wanted, name)

    def fsck(self, store):
        done = subprocess.run([program(store), "--data", self.stack.data, "--fsck"], capture_output=True, check=False,
                              text=True)
        return json.loads(done.stdout.splitlines()[-1])


class BlobShardsTest(OwnStackTest):
    """The blob store over shards: content in rows and in files, copies between shards, and all of it after a restart."""
    SHARDS = 4

    def setUp(self):
        self.start("--shards", str(self.SHARDS))
        self.client().create_container("box")

    def start(self, *arguments):
        return self.stack.start("blob_store", *arguments)

    def stop(self):
        self.assertEqual(self.stack.children["blob_store"].terminate(), 0)

    def client(self):
        return BlobClient(self.stack.ports["blob_store"])

    def copy(self, source, name):
        url = f"http://127.0.0.1:{self.stack.ports['blob_store']}/devstoreaccount1/box/{source}"
        headers, _ = self.client().call("PUT", f"/box/{name}", extensions={"x-ms-copy-source": url})
        self.assertEqual(headers["x-ms-copy-status"], "success")

    def payloads(self):
        folder = os.path.join(self.stack.data, "blob", "payloads")
        return [os.path.join(place, file) for place, _, files in os.walk(folder) for file in files]

    def check(self):
        done = subprocess.run([program("blob_store"), "--data", self.stack.data, "--fsck"], capture_output=True,
                              check=False, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_blobs_copies_and_deletions(self):
        client = self.client()
        expected = {}
        for n in range(16):
            content = f"{n};".encode() * (10 if n % 4 else 200_000)
            client.put("box", f"b{n:02}", content)
            client.put_blocks("box", f"c{n:02}", [content, b"end"])
            expected |= {f"b{n:02}": content, f"c{n:02}": content + b"end"}
        for name in sorted(expected):
            self.copy(name, f"copy-{name}")
            expected[f"copy-{name}"] = expected[name]
        for n in range(0, 16, 3):
            client.delete("box", f"c{n:02}")
            del expected[f"c{n:02}"]
        self.assertEqual(client.objects("box"), expected)
        self.stop()
        folders = [n for n in os.listdir(os.path.join(self.stack.data, "blob")) if n.startswith("shard-")]
        self.assertEqual(sorted(folders), [f"shard-{n}" for n in range(self.SHARDS)])
        self.assertEqual(self.check()[-1]["found"], 0)
        self.start()
        self.assertEqual(self.client().objects("box"), expected)
        self.client().call("DELETE", "/box", "restype=container")
        wait_until(lambda: not self.payloads(), "the end of all files")
        with self.assertRaises(HttpFailure) as refused:
            self.client().put("box", "b00", b"late")
        self.assertEqual(refused.exception.status, 404)
        self.stop()
        self.assertEqual(self.check()[-1]["found"], 0)

    def test_what_is_lost_is_found(self):
        for n in range(8):
            self.client().put("box", f"b{n}", bytes(300_000))
        self.stop()
        files = self.payloads()
        self.assertEqual(len(files), 8)
        os.remove(files[0])
        of_no_shard = f"{(self.SHARDS << 49) + 1:x}"
        os.rename(files[1], os.path.join(os.path.dirname(files[1]), of_no_shard))
        report = self.check()
        self.assertEqual(sorted(line["kind"] for line in report[:-1]), ["payload", "payload", "stray"])
        self.assertEqual(report[-1]["found"], 3)


if __name__ == "__main__":
    unittest.main()
