"""W3C trace context over all ports, and the spans that a collector gets: a small one, which suffices for OTLP."""
import json
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, HttpClient, QueueClient, TableClient, ended, job_if_known  # noqa: E402
from receiver import SECRET, Receiver  # noqa: E402
from stack import Stack, StackTest, wait_until  # noqa: E402

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
HOSTS = ("--callback-hosts", "127.0.0.1:*", "--callback-http-hosts", "127.0.0.1:*",
         "--callback-private-hosts", "127.0.0.1:*")


def parent(trace=TRACE, span=SPAN, sampled=True):
    return f"00-{trace}-{span}-{'01' if sampled else '00'}"


class Collector(Receiver):
    """Keeps spans by name."""

    def __init__(self, answer=None):
        super().__init__(answer or (lambda request: (200, {"Content-Type": "application/json"}, b"{}")))

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def spans(self):
        out = []
        for request in list(self.got):
            assert request["path"] == "/v1/traces" and request["content-type"] == "application/json", request
            for resource in json.loads(request["body"])["resourceSpans"]:
                service = resource["resource"]["attributes"][0]["value"]["stringValue"]
                for span in resource["scopeSpans"][0]["spans"]:
                    out.append(dict(span, service=service))
        return out

    def find(self, name, trace=TRACE):
        return [span for span in self.spans() if span["name"] == name and span["traceId"] == trace]


class TraceTest(StackTest):
    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.close)
        super().setUpClass()
        tracing = ("--otlp-endpoint", cls.collector.endpoint, "--trace-percent", "0", "--log-level", "debug")
        for name in ("table_store", "queue_service", "blob_store"):
            cls.stack.start(name, *tracing)
        cls.stack.start("api", *tracing, *HOSTS)
        cls.worker = cls.stack.start_worker("worker", *tracing, *HOSTS, "--poll-s", "1", "--callback-secrets", SECRET)
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.tables.create_table("Source")

    def await_one(self, name, trace=TRACE, count=1):
        return wait_until(lambda: len(found := self.collector.find(name, trace)) >= count and found, f"span {name}")

    def submit(self, spec, **headers):
        _, body = self.api.ask("POST", "/v1/jobs", {"Content-Type": "application/json", **headers}, json.dumps(spec))
        return json.loads(body)["id"]

    def test_parentage_from_the_api_to_the_callback(self):
        endpoint = Receiver()
        self.addCleanup(endpoint.close)
        self.tables.put("Source", {"PartitionKey": "p", "RowKey": "r"})
        spec = {"kind": "delete", "source": "Source", "partitionKey": "p", "rowKey": "r",
                "onEnd": {"url": f"http://127.0.0.1:{endpoint.port}/end"}}
        job = self.submit(spec, traceparent=parent(), tracestate="vendor=1")
        request, = self.await_one("POST v1/jobs")
        self.assertEqual((request["parentSpanId"], request["kind"], request["service"]), (SPAN, 2, "api"))
        self.assertEqual(request["traceState"], "vendor=1")
        of_job, = self.await_one("job delete")
        self.assertEqual((of_job["parentSpanId"], of_job["service"]), (request["spanId"], "worker"))
        delivery, = self.await_one("deliver delete")
        self.assertEqual(delivery["parentSpanId"], of_job["spanId"])
        self.assertIn({"key": "tidemark.job_id", "value": {"stringValue": job}}, delivery["attributes"])
        of_callback, = self.await_one("job callback")
        self.assertEqual(of_callback["parentSpanId"], of_job["spanId"])
        sending, = self.await_one("deliver callback")
        self.assertEqual(sending["parentSpanId"], of_callback["spanId"])
        told = wait_until(lambda: endpoint.got and endpoint.got[0], "the callback")
        self.assertEqual(told["traceparent"], parent(span=sending["spanId"]))
        self.assertEqual(told["tracestate"], "vendor=1")
        for span in self.collector.spans():
            self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
        self.assertIn(f"trace_id={TRACE}", self.worker.log(200_000))
        shown = job_if_known(self.api, job)
        self.assertEqual(shown["spec"]["traceparent"], parent(span=request["spanId"]))

    def calls_below(self, span):
        """Returns the spans of the stores' internal calls, with the store of each."""
        return {(each["service"], each["name"]) for each in self.collector.spans() if each["parentSpanId"] == span["spanId"]
                and each["service"] in ("table_store", "queue_service", "blob_store")}

    def test_calls_to_the_stores_are_below_what_makes_them(self):
        trace = "e" * 32
        self.tables.put("Source", {"PartitionKey": "calls", "RowKey": "r"})
        self.submit({"kind": "delete", "source": "Source", "partitionKey": "calls", "rowKey": "r"}, traceparent=parent(trace))
        delivery, = self.await_one("deliver delete", trace)
        request, = self.await_one("POST v1/jobs", trace)
        # The record is read and written and the entity removed; the operation is closed, and the message deleted.
        work = {("table_store", f"table.{name}") for name in ("get", "mutate", "close")} | {("queue_service", "queue.complete")}
        wait_until(lambda: work <= self.calls_below(delivery), "the calls of the delivery")
        wait_until(lambda: {("queue_service", "queue.put"), ("table_store", "table.mutate")} <= self.calls_below(request),
                   "the calls of the request")
        for span in self.collector.spans():
            if span["name"].startswith(("table.", "queue.", "blob.")):
                self.assertEqual(span["kind"], 2)
                self.assertIn({"key": "rpc.method", "value": {"stringValue": span["name"]}}, span["attributes"])

    def test_calls_of_what_is_not_sampled_are_not_told(self):
        quiet, loud = "f" * 32, "9" * 32
        for trace, sampled in ((quiet, False), (loud, True)):
            self.tables.put("Source", {"PartitionKey": "quiet", "RowKey": trace})
            job = self.submit({"kind": "delete", "source": "Source", "partitionKey": "quiet", "rowKey": trace},
                              traceparent=parent(trace, sampled=sampled))
            wait_until(lambda: (found := job_if_known(self.api, job)) and ended(found), "the job")
        delivery, = self.await_one("deliver delete", loud)
        wait_until(lambda: self.calls_below(delivery), "the calls of the delivery")
        self.assertEqual([span for span in self.collector.spans() if span["traceId"] == quiet], [])

    def test_requests_to_the_stores(self):
        trace = "a" * 32
        for name, path in (("table_store", "Tables"), ("queue_service", "?comp=list"), ("blob_store", "?comp=list")):
            client = HttpClient(self.stack.ports[name])
            status, _, _ = client.send("GET", f"/devstoreaccount1/{path}", {"traceparent": parent(trace)})
            self.assertIn(status, (401, 403), name)
            wait_until(lambda: f"trace_id={trace}" in self.stack.children[name].log(200_000), "the line of the log")
        for operation in ("QueryTables", "ListQueues", "ListContainers"):
            span, = self.await_one(operation, trace)
            self.assertEqual(span["parentSpanId"], SPAN)
        text = json.dumps(self.collector.find("ListQueues", trace))
        self.assertNotIn("comp=list", text, "the query may hold a signature")

    def test_what_is_not_sampled_is_not_sent(self):
        quiet, loud = "b" * 32, "c" * 32
        self.tables.put("Source", {"PartitionKey": "q", "RowKey": "r"})
        client = HttpClient(self.stack.ports["table_store"])
        client.send("GET", "/devstoreaccount1/Tables", {"traceparent": parent(quiet, sampled=False)})
        client.send("GET", "/devstoreaccount1/Tables", {"traceparent": "00-garbage"})
        client.send("GET", "/devstoreaccount1/Tables", {"traceparent": parent(loud)})
        self.await_one("QueryTables", loud)
        self.assertEqual({span["traceId"] for span in self.collector.spans()} & {quiet}, set())
        self.assertTrue({span["traceId"] for span in self.collector.spans()} <= {TRACE, loud, *(digit * 32 for digit in "ade9")})

    def test_a_message_of_ones_own_may_carry_a_trace(self):
        trace = "d" * 32
        self.tables.put("Source", {"PartitionKey": "m", "RowKey": "r"})
        QueueClient(self.stack.ports["queue_service"]).put("tidemark-jobs", json.dumps(
            {"kind": "delete", "source": "Source", "partitionKey": "m", "rowKey": "r", "traceparent": parent(trace)}))
        of_job, = self.await_one("job delete", trace)
        self.assertEqual(of_job["parentSpanId"], SPAN)


class LostSpansTest(unittest.TestCase):
    def figures(self, port):
        text = HttpClient(port).ask("GET", "/metrics")[1].decode()
        return {outcome: int(count) for outcome, count in
                re.findall(r'(?m)^tidemark_spans_total\{outcome="(\w+)"\} (\d+)$', text)}

    @staticmethod
    def threads(pid):
        names = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/comm") as file:
                names.append(file.read().strip())
        return names

    def test_a_collector_that_refuses(self):
        refusing = Collector(lambda request: (400, {}, b""))
        self.addCleanup(refusing.close)
        with Stack() as stack:
            store = stack.start("table_store", "--otlp-endpoint", refusing.endpoint, "--trace-percent", "100")
            client = HttpClient(stack.ports["table_store"])
            client.send("GET", "/devstoreaccount1/Tables")
            wait_until(lambda: self.figures(client.port)["failed"] == 1, "the failure")
            wait_until(lambda: "spans were not taken by the collector count=1" in store.log(), "the line of the log")
            self.assertEqual(store.terminate(), 0)

    def test_no_thread_without_a_setting(self):
        with Stack() as stack:
            store = stack.start("table_store")
            self.assertNotIn("otlp", self.threads(store.pid))
            self.assertEqual(self.figures(stack.ports["table_store"]), {"exported": 0, "dropped": 0, "failed": 0})
            store = stack.restart("table_store", "--otlp-endpoint", "http://127.0.0.1:9")
            wait_until(lambda: "otlp" in self.threads(store.pid), "a thread of that name")

    def test_the_end_does_not_wait_for_a_collector_that_is_away(self):
        with Stack() as stack:
            store = stack.start("table_store", "--otlp-endpoint", "http://127.0.0.1:9", "--trace-percent", "100")
            HttpClient(stack.ports["table_store"]).send("GET", "/devstoreaccount1/Tables")
            self.assertEqual(store.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
