"""A real Prometheus with the files of monitoring/ beside a real stack: faults raise alerts, which end once the faults
are mended. Rules that need the disk or memory of a production machine are only in alerts.test.yaml."""
import json
import os
import re
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, BlobClient, HttpClient, HttpFailure, QueueClient, TableClient, ended, job_if_known  # noqa: E402
from prometheus import MISSING, PROGRAM, Prometheus, alert_names, monitoring  # noqa: E402
from receiver import SECRET, Receiver  # noqa: E402
from stack import BIN, StackTest, wait_until  # noqa: E402

LOCAL = "localhost:*"
HOSTS = ("--callback-hosts", LOCAL, "--callback-http-hosts", LOCAL, "--callback-private-hosts", LOCAL)
WORKER = (*HOSTS, "--metrics", "--poll-s", "1", "--callback-secrets", SECRET)
LOGGING = b"""<?xml version="1.0"?><StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read>
<Write>true</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging></StorageServiceProperties>"""
# Nothing here can provoke these: see alerts.test.yaml.
NOT_PROVOKED = {"TidemarkWritesStalled", "TidemarkCompactionBehind", "TidemarkWriterBusy", "TidemarkMemory"}
FAULTS = os.path.abspath(os.path.join(BIN, "disk_faults.so"))  # missing in builds with sanitizers
MOST_QUEUES = 20
NOWHERE = "http://127.0.0.1:9"


class Traffic:
    """Does something again and again in a thread, whether it succeeds or not, until it is stopped."""

    def __init__(self, work, pause_s=0.05):
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work, pause_s), daemon=True)
        self._thread.start()

    def _run(self, work, pause_s):
        while not self._stop.wait(pause_s):
            try:
                work()
            except (OSError, HttpFailure):
                pass

    def stop(self):
        self._stop.set()
        self._thread.join()


@unittest.skipUnless(PROGRAM, MISSING)
class AlertsTest(StackTest):
    provoked = set()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.start("table_store")
        cls.stack.start("queue_service", "--max-queues-of-account", str(MOST_QUEUES))
        cls.faults = os.path.join(cls.stack.directory, "faults")
        cls.fail_calls()
        cls.start_blob_store()
        cls.stack.start("api", *HOSTS)
        cls.metrics_port = "0"
        cls.start_worker()
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.use_everything()
        ports = dict(cls.stack.ports, worker=cls.metrics_port)
        cls.prometheus = Prometheus(os.path.join(cls.stack.directory, "prometheus"), ports)
        cls.addClassCleanup(cls.prometheus.close)
        cls.traffic = Traffic(cls.one_of_everything, 0.2)
        cls.addClassCleanup(cls.traffic.stop)

    @classmethod
    def fail_calls(cls, *kinds):
        """Makes these calls of the blob store to its disk fail from now on."""
        with open(cls.faults + ".new", "w", encoding="utf-8") as file:
            file.write("\n".join(kinds))
        os.replace(cls.faults + ".new", cls.faults)

    @classmethod
    def start_blob_store(cls, *arguments):
        environment = {"LD_PRELOAD": FAULTS, "TIDEMARK_DISK_FAULTS": cls.faults, "TIDEMARK_DISK_FAULTS_BELOW": cls.stack.data}
        store = cls.stack.launch("blob_store", "blob_store", "--port", str(cls.stack.ports.get("blob_store", 0)), *arguments,
                                 environment=environment if os.path.exists(FAULTS) else None)
        cls.stack.ports["blob_store"] = int(store.await_ready().ready["port"])

    @classmethod
    def start_worker(cls):
        worker = cls.stack.start_worker("worker", *WORKER, "--metrics-port", cls.metrics_port)
        cls.metrics_port = worker.ready["metrics_port"]

    @classmethod
    def use_everything(cls):
        blobs = BlobClient(cls.stack.ports["blob_store"])
        blobs.create_container("pictures")
        blobs.call("PUT", "/", "comp=properties&restype=service", LOGGING)
        cls.queues.create("letters")
        cls.tables.create_table("People")
        cls.api.call("PUT", "/v1/tables/People/feed", {"values": "both"})
        cls.api.call("PUT", "/v1/tables/People/consumers/readers", {})
        cls.api.call("PUT", "/v1/tables/People/onChange/told", {"queue": "letters"})
        cls.api.call("PUT", "/v1/indexes/by-name", {"kind": "copies", "source": "People", "destination": "ByName",
                                                    "partitionKey": "{Name}", "rowKey": "{RowKey}"})

    @classmethod
    def one_of_everything(cls):
        """Makes all series move, with clients of the thread's own."""
        tables, queues = TableClient(cls.tables.port), QueueClient(cls.queues.port)
        tables.put("People", {"PartitionKey": "p", "RowKey": "r", "Name": "ann"})
        tables.get("People", "p", "r")
        queues.put("letters", "hello")
        queues.finish_one("letters")
        blobs = BlobClient(cls.stack.ports["blob_store"])
        blobs.put("pictures", "one", b"x")
        ApiClient(cls.api.port).submit({"kind": "delete", "source": "People", "partitionKey": "p", "rowKey": "r"})

    def firing(self, *alerts, limit_s=120):
        """Waits until all of them fire; returns their labels."""
        seen = {}

        def look():
            seen.clear()
            seen.update(self.prometheus.firing())
            return set(alerts) <= set(seen)
        try:
            wait_until(look, "alerts", limit_s, 0.25)
        except AssertionError:
            self.fail(f"{set(alerts) - set(seen)} did not fire, but {seen}; targets down: {self.prometheus.down()}")
        type(self).provoked |= set(alerts)
        return seen

    def none_fires(self, limit_s=180):
        seen = {}

        def look():
            seen.clear()
            seen.update(self.prometheus.firing())
            return not seen
        try:
            wait_until(look, "no alert", limit_s, 0.25)
        except AssertionError:
            self.fail(f"still firing: {seen}; targets down: {self.prometheus.down()}")

    def test_1_a_healthy_stack_has_no_alerts_and_shows_all_of_the_dashboard(self):
        wait_until(lambda: not self.prometheus.down(), "all targets are up")
        panels = json.loads(monitoring("grafana", "dashboard.json"))["panels"]
        expressions = {target["expr"].replace("$__rate_interval", "5s") for panel in panels
                       for target in panel.get("targets", ())}
        missing = set()

        def complete():
            missing.clear()
            missing.update(each for each in expressions if not self.prometheus.query(each))
            return missing <= {'sum by (queue) (tidemark_queue_poison_messages) > 0'}
        try:
            wait_until(complete, "series", 60, 0.5)
        except AssertionError:
            self.fail(f"no series for {missing}")
        self.none_fires()

    def test_2_what_a_worker_meets(self):
        """A job without a source, a change that no endpoint accepts, and a foreign row in the place of an index's
        row."""
        endpoint = Receiver(lambda request: (400, {}, b"no"))
        self.addCleanup(endpoint.close)
        self.api.call("PUT", "/v1/tables/People/onChange/refused", {"webhook": {"url": endpoint.url()}})
        self.tables.put("ByName", {"PartitionKey": "bob", "RowKey": "r2", "Mine": True})
        self.tables.put("People", {"PartitionKey": "p", "RowKey": "r2", "Name": "bob"})
        job = self.api.submit({"kind": "archive", "source": "Absent", "destination": "People", "filter": ""})
        wait_until(lambda: (found := job_if_known(self.api, job)) and ended(found), "the job")
        seen = self.firing("TidemarkJobsPoisoned", "TidemarkOnChangeStopped", "TidemarkIndexWrong")
        self.assertEqual(seen["TidemarkJobsPoisoned"][0]["kind"], "archive")
        self.assertTrue(self.prometheus.query('sum by (queue) (tidemark_queue_poison_messages) > 0'))
        endpoint.answer = lambda request: (204, {}, b"")
        self.api.call("POST", "/v1/tables/People/onChange/refused/resume", {})
        self.tables.delete("ByName", "bob", "r2")
        self.tables.put("People", {"PartitionKey": "p", "RowKey": "r2", "Name": "bob", "Again": True})
        # The poison message stays and must not count as a waiting job.
        self.none_fires()
        self.api.call("DELETE", "/v1/tables/People/onChange/refused")  # its endpoint goes away

    def queues_of_the_account(self):
        text = HttpClient(self.queues.port).ask("GET", "/metrics")[1].decode()
        return int(re.search(r'(?m)^tidemark_account_used\{account="devstoreaccount1",of="queues"\} (\d+)', text)[1])

    def test_3_no_worker_and_an_account_that_is_nearly_full(self):
        self.api.call("PUT", "/v1/indexes/small", {"kind": "lists", "source": "People", "by": ["Name"],
                                                   "destination": "Small", "maxChanges": 5})
        wait_until(lambda: self.api.call("GET", "/v1/indexes/small")["state"] == "ready", "the index")
        self.stack.children["worker"].terminate()
        for number in range(8):
            self.tables.put("People", {"PartitionKey": "q", "RowKey": str(number), "Name": "eve"})
        more = [f"more{number}" for number in range(MOST_QUEUES * 9 // 10 - self.queues_of_the_account())]
        for name in more:
            self.queues.create(name)
        self.firing("TidemarkNoWorker", "TidemarkJobsWait", "TidemarkIndexBehind", "TidemarkFeedNearlyLost",
                    "TidemarkAccountNearlyFull")
        for name in more:
            self.queues.delete_queue(name)
        self.start_worker()
        self.none_fires()

    def test_4_a_store_that_takes_nothing(self):
        """The disk of the blob store is full, it admits few requests and calls, and it can deliver neither its logs nor
        its spans."""
        self.stack.children["blob_store"].kill()
        self.start_blob_store("--min-free-mib", "1048576", "--max-requests-per-s-of-account", "20",
                              "--max-internal-calls", "1", "--analytics-buffer-mib", "1", "--analytics-flush-s", "600",
                              "--otlp-endpoint", NOWHERE, "--trace-percent", "100")
        long_names = Traffic(lambda: HttpClient(self.stack.ports["blob_store"]).send(
            "PUT", "/devstoreaccount1/pictures/" + "x" * 900), 0.001)
        too_often = [Traffic(lambda: BlobClient(self.stack.ports["blob_store"]).put("pictures", "y" * 900, b"z"), 0.001)
                     for _ in range(2)]
        at_once = [Traffic(lambda: ApiClient(self.api.port).call("GET", "/v1/containers"), 0.001) for _ in range(6)]
        try:
            seen = self.firing("TidemarkServerErrors", "TidemarkRequestsRefused", "TidemarkInternalCallsRefused",
                               "TidemarkSpansLost", "TidemarkAnalyticsLost")
        finally:
            for each in (long_names, *too_often, *at_once):
                each.stop()
        self.assertIn("account_requests", {labels["reason"] for labels in seen["TidemarkRequestsRefused"]})
        self.stack.children["blob_store"].kill()
        self.start_blob_store()
        self.none_fires()

    def test_5_a_store_is_away(self):
        self.stack.children["blob_store"].kill()
        seen = self.firing("TidemarkDown")
        self.assertEqual(seen["TidemarkDown"][0]["program"], "blob_store")
        self.start_blob_store()
        self.none_fires()

    @unittest.skipUnless(os.path.exists(FAULTS), "the library that spoils a disk is not built with sanitizers")
    def test_6_a_slow_disk_with_little_room(self):
        self.fail_calls("sync SLOW", "space 300")
        self.firing("TidemarkSlowSync", "TidemarkSlowRequests", "TidemarkDiskNearlyFull")
        self.fail_calls()
        self.none_fires()

    def test_7_the_others_are_tested_with_made_up_series(self):
        slow = set() if os.path.exists(FAULTS) else {"TidemarkSlowSync", "TidemarkSlowRequests", "TidemarkDiskNearlyFull"}
        self.assertEqual(self.provoked | slow, set(alert_names(monitoring("alerts.yaml"))) - NOT_PROVOKED)


if __name__ == "__main__":
    unittest.main()
