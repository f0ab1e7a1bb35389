"""Webhooks and messages for the changes of a table, delivered by real workers that are killed."""
import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import HttpFailure, QueueClient, TableClient  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from receiver import SECRET, Receiver, signature  # noqa: E402
from stack import StackTest, clean_environment, program, wait_until  # noqa: E402

LOCAL = "localhost:*,127.0.0.1:*"
HOSTS = ("--callback-hosts", LOCAL, "--callback-http-hosts", LOCAL, "--callback-private-hosts", LOCAL)
WORKER = (*HOSTS, "--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "100", "--callback-secrets", SECRET)


class OnChangeTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=2, worker_arguments=WORKER, api_arguments=HOSTS)
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])

    def setUp(self):
        self.table = "T" + self._testMethodName.replace("_", "")[4:40]
        self.tables.create_table(self.table)
        self.api.call("PUT", f"/v1/tables/{self.table}/feed", {"values": "both"})

    def path(self, ending=""):
        return f"/v1/tables/{self.table}/onChange{ending}"

    def receiver(self, answer=None):
        made = Receiver(answer)
        self.addCleanup(made.close)
        return made

    def write(self, row, partition="p", **properties):
        self.tables.change("PUT", self.table, partition, row, properties, None)

    def show(self, name="told"):
        return self.api.call("GET", self.path(f"/{name}"))

    def refused(self, status, code, method, path, body=None):
        with self.assertRaises(HttpFailure) as caught:
            self.api.call(method, path, body)
        self.assertEqual((caught.exception.status, caught.exception.code), (status, code))
        return json.loads(caught.exception.body)

    def tidemark(self, *arguments, code=0):
        done = subprocess.run([program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", *arguments],
                              env=clean_environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def test_matching_changes_are_told_and_signed(self):
        endpoint = self.receiver()
        put = {"webhook": {"url": endpoint.url("/in"), "headers": {"x-mine": "yes"}}, "filter": "Age ge 18", "values": "new"}
        self.assertEqual(self.api.call("PUT", self.path("/told"), put)["state"], "running")
        self.assertEqual(self.api.call("PUT", self.path("/told"), put)["name"], "told", "the same again is no error")
        for row, age in (("a", 20), ("b", 3), ("c", 18)):
            self.write(row, Age=age)
        self.tables.delete(self.table, "p", "a")
        self.tables.delete(self.table, "p", "b")
        wait_until(lambda: self.show()["lag"]["changes"] == 0, "all are told")
        told = [json.loads(each["body"]) for each in endpoint.got]
        self.assertEqual([(each["change"]["kind"], each["change"]["rowKey"]) for each in told],
                         [("insert", "a"), ("insert", "c"), ("delete", "a")])
        self.assertEqual((told[0]["onChange"], told[0]["table"], told[0]["change"]["new"]["Age"]), ("told", self.table, 20))
        self.assertNotIn("old", told[2]["change"])
        for request in endpoint.got:
            self.assertEqual(request["webhook-signature"], signature(SECRET, request))
            self.assertEqual((request["x-mine"], request["path"]), ("yes", "/in"))
        self.assertEqual(len({each["webhook-id"] for each in endpoint.got}), 3)
        shown = self.show()
        self.assertEqual((shown["told"], shown["passedBy"]), (3, 2))
        self.assertEqual([each["name"] for each in self.api.call("GET", self.path())["onChange"]], ["told"])
        self.api.call("DELETE", self.path("/told"))
        self.refused(404, "OnChangeNotFound", "GET", self.path("/told"))

    def test_bad_declarations_list_what_is_wrong(self):
        problems = self.refused(400, "OnChangeInvalid", "PUT", self.path("/x"),
                                {"webhook": {"url": "ftp://x"}, "queue": "Q", "filter": "((", "values": "all", "more": 1})["problems"]
        self.assertEqual(len(problems), 5, problems)
        self.refused(400, "OnChangeInvalid", "PUT", self.path("/x"), {})
        self.refused(400, "OnChangeInvalid", "PUT", self.path("/x"), {"webhook": {"url": "https://elsewhere.example.org/"}})
        self.refused(400, "InvalidInput", "PUT", self.path("/a%20b"), {"queue": "things"})
        self.refused(404, "FeedNotFound", "PUT", "/v1/tables/Elsewhere/onChange/x", {"queue": "things"})
        self.api.call("PUT", f"/v1/tables/{self.table}/feed", {"values": "new"})
        self.assertIn("both", self.refused(400, "OnChangeInvalid", "PUT", self.path("/x"),
                                           {"queue": "things", "filter": "Age gt 1"})["detail"])
        self.api.call("PUT", self.path("/x"), {"queue": "things"})
        self.refused(400, "OnChangeInvalid", "PUT", self.path("/x"), {"queue": "others"})
        self.api.call("DELETE", self.path("/x"))

    def test_a_feed_goes_on_keeping_what_is_needed(self):
        feed = f"/v1/tables/{self.table}/feed"
        self.api.call("PUT", self.path("/paid"), {"queue": "things", "filter": "Age gt 1"})
        self.assertIn("paid follows", self.refused(400, "InvalidInput", "PUT", feed, {"retention": 172800})["detail"])
        self.tidemark("feed", "put", self.table, "--retention", "172800", code=1)
        self.assertEqual(self.api.call("GET", feed)["values"], "both")
        self.api.call("PUT", feed, {"retention": 172800, "values": "both"})
        self.api.call("DELETE", self.path("/paid"))
        self.api.call("PUT", feed, {"retention": 172800})

    def test_messages_of_a_partition_are_in_order(self):
        queue = "changes-of-it"
        self.tidemark("on-change", "put", self.table, "told", "--queue", queue, "--values", "both")
        for number in range(10):
            self.write("r", partition=f"p{number % 2}", N=number)
        seen = []
        while len(seen) < 10:
            got = wait_until(lambda: self.queues.take(queue), "a message")
            for message in got:
                seen.append(json.loads(message["MessageText"])["change"])
                self.queues.delete(queue, message)
        for partition in ("p0", "p1"):
            numbers = [each["new"]["N"] for each in seen if each["partitionKey"] == partition]
            self.assertEqual(numbers, sorted(numbers))
            self.assertEqual(len(numbers), 5)
        self.assertIn("queue " + queue, self.tidemark("on-change", "list", self.table))
        self.tidemark("on-change", "remove", self.table, "told")

    def test_a_message_tells_what_no_xml_can_carry(self):
        self.tidemark("on-change", "put", self.table, "told", "--queue", "odd-changes", "--values", "both")
        self.write("r\ufffe", partition="p\uffff", Text="\ufffe\uffff\x01")
        [message] = wait_until(lambda: self.queues.take("odd-changes"), "a message")
        change = json.loads(message["MessageText"])["change"]
        self.assertEqual((change["partitionKey"], change["rowKey"], change["new"]["Text"]), ("p\uffff", "r\ufffe", "\ufffe\uffff\x01"))
        self.tidemark("on-change", "remove", self.table, "told")

    def test_it_stops_where_it_cannot_go_on(self):
        bad = {"r1"}

        def answer(request):
            return (500 if json.loads(request["body"])["change"]["rowKey"] in bad else 204), {}, b""
        endpoint = self.receiver(answer)
        self.api.call("PUT", self.path("/told"), {"webhook": {"url": endpoint.url()}, "maxAttempts": 3})
        for row in range(4):
            self.write(f"r{row}")
        stopped = wait_until(lambda: (shown := self.show()) and shown["state"] == "stopped" and shown, "it stops")
        self.assertIn("500", stopped["lastError"]["message"])
        rows = [json.loads(each["body"])["change"]["rowKey"] for each in endpoint.got]
        self.assertEqual(rows, ["r0", "r1", "r1", "r1"], "in order, and nothing after it")
        self.assertEqual([each["tidemark-attempt"] for each in endpoint.got], ["1", "1", "2", "3"])
        self.assertEqual(len({each["webhook-id"] for each in endpoint.got[1:]}), 1)
        shown = self.tidemark("on-change", "show", self.table, "told")
        self.assertIn("last error", shown)
        self.assertIn(f"\nshow the change: tidemark changes {self.table} --limit 1 --after {stopped['failed']}\n"
                      f"try it again:    tidemark on-change resume {self.table} told\n", shown)
        skip = shown.splitlines()[-1]
        self.assertTrue(skip.startswith(f"skip it:         tidemark on-change resume {self.table} told --after "), skip)
        _, _, metrics = self.api.send("GET", "/metrics")
        self.assertIn(f'tidemark_on_change_stopped{{table="{self.table.lower()}",name="told"}} 1', metrics.decode())
        change = self.api.call("GET", f"/v1/tables/{self.table}/changes?limit=1&after={stopped['failed']}")["changes"][0]
        self.assertEqual(change["rowKey"], "r1")
        resumed = self.tidemark("on-change", "resume", self.table, "told", "--after", skip.split()[-1])
        self.assertEqual(resumed, "It will go on from there.\n")
        wait_until(lambda: self.show()["lag"]["changes"] == 0, "the rest is told")
        rows = [json.loads(each["body"])["change"]["rowKey"] for each in endpoint.got]
        self.assertEqual(rows[4:], ["r2", "r3"])
        self.assertEqual(self.show()["state"], "running")
        self.api.call("DELETE", self.path("/told"))

    def test_it_is_told_of_when_its_feed_is_gone(self):
        endpoint = self.receiver()
        self.api.call("PUT", self.path("/told"), {"webhook": {"url": endpoint.url()}})
        self.write("a")
        wait_until(lambda: self.show()["lag"]["changes"] == 0, "it is told")
        self.api.call("DELETE", f"/v1/tables/{self.table}/feed")
        wait_until(lambda: self.show()["state"] == "stopped", "it stops")
        stopped = f'tidemark_on_change_stopped{{table="{self.table.lower()}",name="told"}} 1'
        wait_until(lambda: stopped in self.api.send("GET", "/metrics")[2].decode(), "the metric says so")

        def remarked():
            readers = self.api.call("GET", "/v1/overview").get("remarkable", {}).get("readers", [])
            return [each for each in readers if each["table"] == self.table]
        told = wait_until(remarked, "the overview says so")
        self.assertEqual([(each["name"], each["stopped"], each["feedEnded"]) for each in told], [("told", True, True)])
        self.assertIn(f"on-change told of table {self.table}: the feed has ended\n", self.tidemark("overview"))
        self.api.call("DELETE", self.path("/told"))

    def test_an_endpoint_that_refuses_stops_it_at_once(self):
        endpoint = self.receiver(lambda request: (400, {}, b"no"))
        self.api.call("PUT", self.path("/told"), {"webhook": {"url": endpoint.url()}})
        self.write("a")
        wait_until(lambda: self.show()["state"] == "stopped", "it stops")
        self.assertEqual(len(endpoint.got), 1)
        endpoint.answer = lambda request: (204, {}, b"")
        self.api.call("POST", self.path("/told/resume"), {})
        wait_until(lambda: self.show()["lag"]["changes"] == 0, "it is told")
        self.api.call("DELETE", self.path("/told"))

    def test_nothing_is_missing_while_workers_and_stores_are_killed(self):
        endpoint = self.receiver()
        self.api.call("PUT", self.path("/told"), {"webhook": {"url": endpoint.url()}, "values": "new"})
        number, killed = 0, 0

        def write_some(count):
            nonlocal number
            for _ in range(count):
                number += 1
                self.write(f"r{number % 3}", partition=f"p{number % 5}", N=number)

        for victim in ("worker-1", "table_store", "worker-2", "worker-1"):
            seen = len(endpoint.got)
            write_some(100)
            wait_until(lambda: len(endpoint.got) >= seen + 20, "some are told")
            self.stack.children[victim].kill()
            killed += 1
            if victim == "table_store":
                self.stack.start(victim)
            else:
                self.stack.start_worker(victim, *WORKER)
        write_some(100)
        wait_until(lambda: self.show()["lag"]["changes"] == 0, "all are told", limit_s=60)
        first = {}
        for request in endpoint.got:
            change = json.loads(request["body"])["change"]
            first.setdefault(request["webhook-id"], (change["partitionKey"], change["new"]["N"]))
        self.assertEqual(sorted(n for _, n in first.values()), list(range(1, number + 1)), "none is missing")
        for partition in {each for each, _ in first.values()}:
            numbers = [n for each, n in first.values() if each == partition]
            self.assertEqual(numbers, sorted(numbers), "in order")
        self.assertLessEqual(len(endpoint.got), number + 100 * killed, "duplicates only after a death")
        self.api.call("DELETE", self.path("/told"))


if __name__ == "__main__":
    unittest.main()
