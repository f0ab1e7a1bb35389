"""Flipped bits in every kind of file that the stores have: fsck finds each of them, and none is ever served as if it
were data that a client wrote."""
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import unittest
from urllib.request import urlopen

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import BlobClient, HttpFailure, QueueClient, TableClient  # noqa: E402
from stack import StackTest, clean_environment, program, wait_until  # noqa: E402

ENTITIES = {f"{n:03}": os.urandom(500).hex() for n in range(200)}
LARGE = os.urandom(600_000)
SMALL = os.urandom(30_000)
STORES = ("table_store", "queue_service", "blob_store")


def fsck(data):
    done = subprocess.run([program("tidemark"), "--data", data, "--json", "fsck", "--offline"], env=clean_environment(),
                          capture_output=True, text=True, timeout=60)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, lines[:-1], done.stderr


def flip(path, at, bit):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ (1 << bit)]))


class BitFlipsTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in STORES:
            cls.stack.start(name)
        tables = TableClient(cls.stack.ports["table_store"])
        tables.create_table("Staff")
        tables.put_many("Staff", [{"PartitionKey": "p", "RowKey": key, "V": value} for key, value in ENTITIES.items()])
        queues = QueueClient(cls.stack.ports["queue_service"])
        queues.create("work")
        for n in range(20):
            queues.put("work", f"message {n}")
        blobs = BlobClient(cls.stack.ports["blob_store"])
        blobs.create_container("files")
        blobs.put("files", "large", LARGE)
        blobs.put("files", "small", SMALL)
        # A start writes the log to files; later writes are in the log.
        for name in STORES:
            cls.stack.children[name].terminate()
            cls.stack.start(name)
        TableClient(cls.stack.ports["table_store"]).put("Staff", {"PartitionKey": "q", "RowKey": "1", "V": "in the log"})
        QueueClient(cls.stack.ports["queue_service"]).put("work", "in the log")
        BlobClient(cls.stack.ports["blob_store"]).put("files", "logged", b"in the log")
        for name in STORES:
            cls.stack.children[name].terminate()
        cls.kept = os.path.join(cls.stack.directory, "kept")
        shutil.copytree(cls.stack.data, cls.kept, ignore=shutil.ignore_patterns("*.sock", "*.pid"))
        cls.random = random.Random(14)

    def setUp(self):
        shutil.rmtree(self.stack.data)
        shutil.copytree(self.kept, self.stack.data)

    def kinds(self, folder):
        found = {}
        for path in glob.glob(os.path.join(self.stack.data, folder, "**"), recursive=True):
            if not os.path.isfile(path) or os.path.getsize(path) == 0:
                continue
            name = os.path.basename(path)
            if "payloads" in path:
                kind = "payload"
            elif name.startswith("MANIFEST"):
                kind = "manifest"
            else:
                kind = {".sst": "rows", ".log": "log", ".blob": "values"}.get(os.path.splitext(name)[1], name)
            # The other files, RocksDB's own notes and the lock, are not read.
            if kind in ("payload", "manifest", "rows", "log", "values", "CURRENT", "tidemark.json"):
                found.setdefault(kind, []).append(path)
        return found

    def test_nothing_is_found_where_nothing_is_wrong(self):
        code, found, trouble = fsck(self.stack.data)
        self.assertEqual((code, found), (0, []), trouble)

    def test_each_kind_of_file_is_there(self):
        self.assertLessEqual({"manifest", "rows", "log", "CURRENT", "tidemark.json"}, set(self.kinds("table")))
        self.assertLessEqual({"manifest", "rows", "log", "payload", "values"}, set(self.kinds("blob")))

    def test_fsck_finds_every_flip(self):
        for folder in ("table", "queue", "blob"):
            for kind, paths in self.kinds(folder).items():
                path = max(paths, key=os.path.getsize)
                size = os.path.getsize(path)
                places = {0, size - 1 if kind != "CURRENT" else size - 2, *(self.random.randrange(size - 1) for _ in range(2))}
                for at in places:
                    with self.subTest(folder=folder, kind=kind, at=at, size=size):
                        bit = self.random.randrange(8)
                        flip(path, at, bit)
                        code, found, trouble = fsck(self.stack.data)
                        flip(path, at, bit)
                        self.assertTrue(code == 1 and found, f"{found} {trouble}")

    def test_what_is_served_is_what_was_written(self):
        for folder, name in zip(("table", "queue", "blob"), STORES):
            for kind, paths in self.kinds(folder).items():
                path = max(paths, key=os.path.getsize)
                at = self.random.randrange(os.path.getsize(path) - 1)
                with self.subTest(folder=folder, kind=kind, at=at):
                    flip(path, at, self.random.randrange(8))
                    child = self.stack.launch(name, name, "--port", "0")
                    try:
                        child.await_ready()
                    except AssertionError:
                        self.assertNotEqual(child.wait(), 0)  # it does not serve this
                    else:
                        self.read_all(folder, int(child.ready["port"]))
                    finally:
                        child.kill()
                        self.setUp()

    def read_all(self, folder, port):
        """Each answer is right, or is an error."""
        def right_or_refused(call, *wanted):
            try:
                self.assertIn(call(), wanted)
            except HttpFailure as failure:
                self.assertGreaterEqual(failure.status, 500)
            except (ConnectionError, OSError, EOFError):
                pass  # a download that breaks off
            except Exception as failure:  # noqa: BLE001: of http.client, for half an answer
                self.assertIn(type(failure).__name__, ("IncompleteRead", "RemoteDisconnected", "BadStatusLine"))
        if folder == "table":
            tables = TableClient(port)
            for key, value in ENTITIES.items():
                right_or_refused(lambda key=key: tables.get("Staff", "p", key)["V"], value)
            right_or_refused(lambda: tables.get("Staff", "q", "1")["V"], "in the log")
        elif folder == "queue":
            wanted = [f"message {n}" for n in range(20)] + ["in the log"]
            right_or_refused(lambda: sorted(each["MessageText"] for each in QueueClient(port).peek("work")), sorted(wanted))
        else:
            blobs = BlobClient(port)
            right_or_refused(lambda: blobs.get("files", "large"), LARGE)
            right_or_refused(lambda: blobs.get("files", "small"), SMALL)
            right_or_refused(lambda: blobs.get("files", "logged"), b"in the log")

    def test_a_store_that_runs_finds_damage_and_says_so(self):
        path = max(self.kinds("blob")["payload"], key=os.path.getsize)
        flip(path, 300_000, 3)
        self.stack.up()
        self.stack.start("blob_store")
        url = f"http://127.0.0.1:{self.stack.ports['api']}"
        done = subprocess.run([program("tidemark"), "--api", url, "fsck"], env=clean_environment(), capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("blob payload file", done.stdout)
        store = self.stack.children["blob_store"]
        wait_until(lambda: "damage found" in store.log(), "the line of the log")

        def findings():
            with urlopen(f"http://127.0.0.1:{self.stack.ports['blob_store']}/metrics", timeout=60) as answer:
                return "tidemark_scrub_findings 1" in answer.read().decode()
        wait_until(findings, "the finding is in the metrics")
        for name in list(self.stack.children):
            if self.stack.children[name].alive():
                self.stack.children[name].terminate()


if __name__ == "__main__":
    unittest.main()
