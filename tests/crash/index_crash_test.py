"""The owner of an index dies at each of its steps, and so does the table store at each step of following a table.

In the end the rows of every index are those that this process computes from the table. index_kill_test.py kills at
random.
"""
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ApiClient, BlobClient, HttpFailure, TableClient, patiently  # noqa: E402
from indexes import (INDEXES, REFERRED, SECTIONS, SOURCE, caught_up, change_colours, following, index_of,  # noqa: E402
                     rows_of, wanted_rows)
from stack import OwnStackTest, program, wait_until  # noqa: E402

DEATH_LIMIT_S = 40.0


def points_of(name, prefixes):
    listed = subprocess.run([program(name), "--list-fail-points"], capture_output=True, check=True, text=True)
    return [point for point in listed.stdout.split() if point.startswith(prefixes)]


class IndexCrashTest(OwnStackTest):
    def setUp(self):
        self.stack.up()
        self.stack.start("blob_store")
        self.blobs = BlobClient(self.stack.ports["blob_store"])
        self.tables = TableClient(self.stack.ports["table_store"])
        self.api = ApiClient(self.stack.ports["api"])
        self.choice = random.Random(7)
        self.workers = 0
        self.tables.create_table(SOURCE)
        self.tables.create_table(REFERRED)

    def worker(self, fail_point=None):
        self.workers += 1
        return self.stack.start_worker(f"w{self.workers}", "--lease-s", "2", fail_point=fail_point)

    def write(self, count):
        for _ in range(count):
            if self.choice.random() < 0.3:
                patiently(change_colours, self.tables, self.choice, ["red", "green", "blue"])
            key = f"p{self.choice.randrange(3)}", f"w{self.choice.randrange(40):02}"
            if self.choice.random() < 0.2:
                patiently(self.delete, *key)
                continue
            entity = {"PartitionKey": key[0], "RowKey": key[1], "Host": f"h{self.choice.randrange(9)}",
                      "Section": self.choice.choice(SECTIONS), "Size": self.choice.randrange(-9, 99)}
            if self.choice.random() < 0.8:
                entity["Colour"] = self.choice.choice(["red", "green", "blue"])
            patiently(self.tables.put, SOURCE, entity)

    def delete(self, partition, row):
        try:
            self.tables.delete(SOURCE, partition, row)
        except HttpFailure as failure:
            if failure.status != 404:
                raise

    def declare_all(self):
        for name, definition in INDEXES.items():
            patiently(self.api.call, "PUT", f"/v1/indexes/{name}", definition)

    def write_until(self, condition, what):
        def attempt():
            self.write(5)
            return condition()
        wait_until(attempt, what, DEATH_LIMIT_S)

    def check(self):
        wait_until(lambda: all(patiently(caught_up, self.api, name) for name in INDEXES), "the indexes catch up", 60)
        originals = {key: entity for key, entity in self.tables.scan(SOURCE).items() if key[1].startswith("w")}
        referred = self.tables.scan(REFERRED)
        for name, definition in INDEXES.items():
            wanted = wanted_rows(name, definition, originals, referred)
            self.assertEqual(rows_of(self.tables, name, definition, self.blobs), wanted, name)
            self.assertEqual(index_of(self.api, name)["wrongEver"], 0, name)
        wait_until(self.only_indexes_follow, "whatever follows a table is an index")

    def only_indexes_follow(self):
        declared = {index["name"] for index in patiently(self.api.call, "GET", "/v1/indexes")["indexes"]}
        return following(self.stack.ports["table_store"]) <= declared

    def test_owners_die_at_every_step(self):
        points = points_of("worker", ("follow.",))
        self.assertEqual(len(points), 10)
        self.write(60)
        self.declare_all()
        for point in sizes.some_of(points):
            for times in (1, self.choice.randrange(2, 30)):
                with self.subTest(fail_point=f"{point}:{times}"):
                    dying = self.worker(f"{point}:{times}")
                    self.write_until(lambda: not dying.alive(), f"death at {point}:{times}")  # pylint: disable=cell-var-from-loop
                    self.assertEqual(dying.wait(), -signal.SIGKILL, dying.log())
                    clean = self.worker()
                    self.write(20)
                    self.check()
                    self.assertEqual(clean.terminate(), 0, clean.log())

    def test_the_store_dies_at_every_step_of_following(self):
        points = points_of("table_store", ("table.follow", "table.unfollow", "table.acknowledge", "table.trim_log",
                                           "table.mutate_all"))
        self.assertEqual(len(points), 10)
        self.write(60)
        self.declare_all()
        self.worker()
        for point in sizes.some_of(points):
            with self.subTest(fail_point=point):
                dying = self.stack.restart_to_die("table_store", point)
                while dying.alive():
                    # Declaring and dropping an index starts and stops following the table.
                    self.come_and_go(dying)
                self.assertEqual(dying.wait(), -signal.SIGKILL, dying.log())
                self.stack.restart("table_store")
                self.write(20)
                self.check()

    def come_and_go(self, dying):
        deadline = time.monotonic() + DEATH_LIMIT_S
        definition = {"kind": "lists", "source": SOURCE, "by": ["Host"], "destination": "Passing"}
        for method, body in (("PUT", definition), ("DELETE", None)):
            try:
                self.api.call(method, "/v1/indexes/passing", body)
                for _ in range(40):
                    self.tables.put(SOURCE, {"PartitionKey": "p0", "RowKey": "w00", "Host": f"h{self.choice.randrange(9)}"})
            except (HttpFailure, OSError):
                if not dying.alive():
                    return
            self.assertLess(time.monotonic(), deadline, dying.log())


if __name__ == "__main__":
    unittest.main(verbosity=2)
