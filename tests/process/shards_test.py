"""A store whose rows are divided over shards: the number is chosen once, and everything that looks at a store sees all."""
import json
import os
import subprocess
import sys
import unittest
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import QueueClient  # noqa: E402
from stack import Stack, program  # noqa: E402


class ShardsTest(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()
        self.addCleanup(self.stack.close)

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
        self.start("--log-level", "info")  # none is named: as many as it has
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

    def test_stores_that_cannot_be_divided_say_so(self):
        self.assertIn("takes at most shards=1", self.refusal("table_store", "--shards", "2"))
        self.assertIn("takes at most shards=1", self.refusal("blob_store", "--shards", "2"))

    def test_each_has_figures_and_is_checked(self):
        self.start("--shards", "3")
        client = QueueClient(self.stack.ports["queue_service"])
        for n in range(12):
            client.create(f"queue-{n}")
            client.put(f"queue-{n}", "text")
        with urllib.request.urlopen(f"http://127.0.0.1:{self.stack.ports['queue_service']}/metrics", timeout=10) as answer:
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
        sst = os.path.join(self.stack.data, "queue", "shard-2", "CURRENT")
        with open(sst, "w", encoding="ascii") as file:
            file.write("nothing")
        damaged = subprocess.run([program("queue_service"), "--data", self.stack.data, "--fsck"], capture_output=True,
                                 check=False, text=True)
        self.assertNotEqual(damaged.returncode, 0)
        self.assertIn("queue/shard-2", damaged.stdout)


if __name__ == "__main__":
    unittest.main()
