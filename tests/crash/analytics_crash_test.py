"""Stores and workers die while request logs and metrics are on their way to where users find them.

Records that a store had made durable arrive whole and once: each request is in one line of one log, and the row of the
hour counts it once. Only records that were still in the memory of a killed store may be lost.
"""
import base64
import itertools
import os
import re
import signal
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError  # noqa: E402
from azure.storage.blob import BlobAnalyticsLogging, BlobServiceClient, LinearRetry, Metrics, RetentionPolicy  # noqa: E402

from clients import ACCOUNT, KEY, TableClient  # noqa: E402
from stack import OwnStackTest, wait_until  # noqa: E402

STORE = ("--analytics-flush-s", "1")
WORKER = ("--analytics-collect-s", "1")
REQUESTS = 20


class AnalyticsCrashTest(OwnStackTest):
    def setUp(self):
        for name in ("blob_store", "queue_service", "table_store"):
            self.stack.start(name, *STORE)
        self.service = BlobServiceClient(f"http://127.0.0.1:{self.stack.ports['blob_store']}/{ACCOUNT}",
                                         credential=base64.b64encode(KEY).decode(),
                                         retry_policy=LinearRetry(backoff=1, retry_total=30))
        self.tables = TableClient(self.stack.ports["table_store"])
        keep = RetentionPolicy(enabled=True, days=7)
        self.service.set_service_properties(
            analytics_logging=BlobAnalyticsLogging(version="1.0", read=False, write=True, delete=False, retention_policy=keep),
            hour_metrics=Metrics(version="1.0", enabled=True, include_apis=True, retention_policy=keep))
        self.numbers = itertools.count()

    def put_blobs(self):
        """Makes requests, one for each name; returns the names."""
        container = self.service.get_container_client("box")
        if not container.exists():
            container.create_container()
        names = [f"b{next(self.numbers)}" for _ in range(REQUESTS)]
        for name in names:
            container.upload_blob(name, b"x")
        return names

    def logged(self):
        """Returns the blobs that the logs mention, one for each line, and how many requests are counted."""
        logs = self.service.get_container_client("$logs")
        names = []
        try:
            for blob in logs.list_blobs(name_starts_with="blob/"):
                text = logs.download_blob(blob.name).readall().decode()
                self.assertTrue(text.endswith("\n"), blob.name)
                for line in text.splitlines():
                    self.assertTrue(line.startswith("1.0;"), line)
                    names += re.findall(r';PutBlob;Success;201;.*;"/\w+/box/(b\d+)";', line)
        except (ResourceNotFoundError, HttpResponseError):
            return [], 0
        return names, self.counted()

    def counted(self):
        try:
            rows = self.tables.scan("$MetricsHourPrimaryTransactionsBlob")
        except Exception:  # noqa: BLE001 - the table is not there yet
            return 0
        return sum(int(row["Success"]) for (_, key), row in rows.items() if key == "user;PutBlob")

    def await_all(self, names):
        wait_until(lambda: len(self.logged()[0]) >= len(names) and self.counted() >= len(names), "all logs and rows", 60)
        found, counted = self.logged()
        self.assertEqual(sorted(found), sorted(names))
        self.assertEqual(counted, len(names))

    def test_a_worker_dies_before_and_after_it_delivers(self):
        names = self.put_blobs()
        for n, point in enumerate(("analytics.deliver.before", "analytics.deliver.after") * 2):
            dying = self.stack.start_worker(f"dying{n}", *WORKER, fail_point=f"{point}:{1 + n}")
            wait_until(lambda: not dying.alive(), f"death at {point}; {dying.log()}", 60)
            self.assertEqual(dying.wait(), -signal.SIGKILL, dying.log())
            names += self.put_blobs()
        self.stack.start_worker("lives", *WORKER)
        self.await_all(names)

    def dying_store(self, point):
        """Ends the store in order, which loses nothing, and starts it again with a fail point."""
        self.assertEqual(self.stack.children["blob_store"].terminate(), 0)
        return self.stack.restart_to_die("blob_store", point).await_ready()

    def await_death(self, dying):
        wait_until(lambda: not dying.alive(), f"the store's death; {dying.log()}", 60)
        self.assertEqual(dying.wait(), -signal.SIGKILL, dying.log())
        self.stack.restart("blob_store")

    def test_the_store_dies_once_it_has_kept_them(self):
        dying = self.dying_store("analytics.keep.after:8")  # some seconds later
        names = self.put_blobs()
        self.await_death(dying)
        self.stack.start_worker("lives", *WORKER)
        self.await_all(names)

    def test_the_store_dies_while_a_worker_says_that_they_have_arrived(self):
        names = []
        for n, point in enumerate(("analytics.settle.before", "analytics.settle.after")):
            names += self.put_blobs()
            dying = self.dying_store(point)
            worker = self.stack.start_worker(f"w{n}", *WORKER)
            self.await_death(dying)
            self.await_all(names)
            self.assertEqual(worker.terminate(), 0, worker.log())


if __name__ == "__main__":
    unittest.main(verbosity=2)
