"""Clients that ask for too much are told so before anything is done, others are not held up, and the service's own
targets can be imposed. Event streams are bounded, and a client that does not read its stream costs no memory."""
import concurrent.futures
import http.client
import itertools
import json
import os
import re
import socket
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import TOKEN, ApiClient, HttpClient, HttpFailure, QueueClient, TableClient  # noqa: E402
from stack import OwnStackTest, Stack, wait_until  # noqa: E402

ROW = {"PartitionKey": "p", "Number": 1}


def refusals(port):
    text = HttpClient(port).ask("GET", "/metrics")[1].decode()
    return {reason: int(count) for reason, count in
            re.findall(r'(?m)^tidemark_requests_limited_total\{reason="(\w+)"\} (\d+)', text)}


class LimitsTest(OwnStackTest):
    def start(self, name, *arguments):
        self.stack.start(name, *arguments)
        return self.stack.ports[name]

    def refused(self, message, call, *arguments):
        with self.assertRaises(HttpFailure) as caught:
            call(*arguments)
        failure = caught.exception
        self.assertEqual((failure.status, failure.code), (503, "ServerBusy"), failure)
        self.assertIn(message, failure.body.decode())
        self.assertEqual(failure.headers.get_all("Retry-After"), ["1"])

    def exhaust(self, message, call, most=1000):
        """Calls until a call is refused; returns how many were not."""
        for done in range(most):
            try:
                call(done)
            except HttpFailure as failure:
                if failure.status != 503:
                    raise
                self.assertIn(message, failure.body.decode())
                self.assertGreaterEqual(int(failure.headers["Retry-After"]), 1)
                return done
        raise AssertionError(f"never refused: {message}")

    def exhaust_together(self, message, client_of, call, limit_s=60.0):
        """The same with parallel clients, for limits that need many calls in a second; returns how many calls were not
        refused."""
        refused, done = threading.Event(), itertools.count()
        until = time.monotonic() + limit_s

        def go(_):
            client = client_of()
            while not refused.is_set() and time.monotonic() < until:
                try:
                    call(client, next(numbers))
                    next(done)
                except HttpFailure as failure:
                    if failure.status != 503:
                        raise
                    self.assertIn(message, failure.body.decode())
                    refused.set()
        numbers = itertools.count()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(go, range(4)))
        self.assertTrue(refused.is_set(), f"never refused: {message}")
        return next(done)

    def test_requests_of_an_account(self):
        port = self.start("table_store", "--max-requests-per-s-of-account", "5")
        tables = TableClient(port)
        tables.create_table("Things")
        done = self.exhaust("Operations per second is over the account limit.",
                            lambda n: tables.put("Things", {**ROW, "RowKey": str(n)}))
        self.assertGreaterEqual(done, 4)
        store = self.stack.children["table_store"]
        wait_until(lambda: "devstoreaccount1 is over max_requests_per_s_of_account" in store.log(), "the line of the log")
        # The next second has room again, and nothing of the refused calls was done.
        found = wait_until(lambda: self.patiently(tables.scan, "Things"), "its turn")
        self.assertEqual(len(found), done)
        self.assertGreaterEqual(refusals(port)["account_requests"], 1)

    @staticmethod
    def patiently(call, *arguments):
        try:
            return call(*arguments)
        except HttpFailure as failure:
            if failure.status != 503:
                raise
            return None

    def test_strangers_use_up_no_account(self):
        port = self.start("table_store", "--max-requests-per-s-of-account", "5")
        for _ in range(50):
            self.assertIn(HttpClient(port).send("GET", "/devstoreaccount1/Tables", {"Authorization": "SharedKey devstoreaccount1:eA=="})[0],
                          (400, 401, 403))
        TableClient(port).create_table("Things")

    def test_requests_of_an_address(self):
        self.start("table_store")
        self.start("queue_service")
        for name in ("table_store", "queue_service", "blob_store", "api"):
            with self.subTest(program=name):
                if name in self.stack.children:
                    self.stack.children[name].terminate()
                port = self.start(name, "--max-requests-per-s-of-address", "3")
                statuses = [HttpClient(port).send("GET", "/nothing/there")[0] for _ in range(30)]
                self.assertGreater(statuses.count(503), 0)
                self.assertGreaterEqual(len(statuses) - statuses.count(503), 3)
                status, headers, body = next(answer for _ in range(30)
                                             if (answer := HttpClient(port).send("GET", "/nothing/there"))[0] == 503)
                self.assertEqual(headers.get_all("Retry-After"), ["1"])
                self.assertIn(b"over the limit of an address", body)
                if name == "api":
                    self.assertEqual(json.loads(body)["code"], "ServerBusy")
                # Health and metrics go on; another address is not affected.
                self.assertEqual(HttpClient(port).send("GET", "/healthz")[0], 200)
                self.assertGreater(refusals(port)["address_requests"], 0)
                other = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=("127.0.0.2", 0))
                self.addCleanup(other.close)
                other.request("GET", "/nothing/there")
                self.assertNotEqual(other.getresponse().status, 503)

    def test_bytes_each_way(self):
        port = self.start("table_store", "--max-bytes-per-s-of-account", "100000")
        tables = TableClient(port)
        tables.create_table("Things")
        big = {**ROW, "T": "x" * 30_000}
        done = self.exhaust("Ingress is over the account limit.", lambda n: tables.put("Things", {**big, "RowKey": str(n)}))
        self.assertGreaterEqual(done, 3)
        self.stack.restart("table_store")
        tables = TableClient(port)
        self.assertEqual(len(tables.scan("Things")), done)
        self.exhaust("Egress is over the account limit.", lambda _: tables.query_page("Things", ""))
        self.stack.restart("table_store", "--max-bytes-per-s-of-address", "1000")
        # A body without a length is counted when it has been read.
        body = json.dumps({"TableName": "x" * 5000}).encode()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.addCleanup(connection.close)
        tables._ask("POST", "/Tables", body=iter([body]), ok=(400,))
        connection.request("GET", "/devstoreaccount1/Tables")
        self.assertEqual(connection.getresponse().status, 503)

    def test_the_targets_of_the_service_for_tables(self):
        port = self.start("table_store", "--service-targets")
        tables = TableClient(port)
        tables.create_table("Things")
        rows = [{**ROW, "RowKey": f"{n:04}"} for n in range(1000)]
        began = time.monotonic()

        def batch(client, number):
            client.put_many("Things", rows[number % 10 * 100:number % 10 * 100 + 100])
        done = self.exhaust_together("The server is busy.", lambda: TableClient(port), batch)
        # 2,000 at once and 2,000 a second, and no batch is half done.
        self.assertGreaterEqual(done, 19)
        self.assertLessEqual(done * 100, 2100 + 2000 * (time.monotonic() - began))
        # Another partition has room.
        tables.put("Things", {**ROW, "PartitionKey": "q", "RowKey": "r"})
        # A query counts the entities that it reads, not those that it finds.
        wait_until(lambda: self.patiently(tables.get, "Things", "p", "0001"), "the partition's turn")

        def scan(_):
            tables.query_page("Things", "$filter=PartitionKey%20eq%20'p'%20and%20Number%20eq%202")
        self.exhaust("The server is busy.", scan)
        self.assertGreaterEqual(refusals(port)["part_items"], 2)

    def test_the_targets_of_the_service_for_an_account(self):
        port = self.start("table_store", "--service-targets")
        TableClient(port).create_table("Things")

        def fill(worker):
            tables = TableClient(port)
            for n in range(30):
                tables.put_many("Things", [{"PartitionKey": f"{worker}-{n}", "RowKey": str(row)} for row in range(100)])

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            outcomes = [future.exception() for future in [pool.submit(fill, worker) for worker in range(16)]]
        busy = [str(error) for error in outcomes if error]
        if busy:  # a slow machine never reaches the limit
            self.assertIn("Operations per second is over the account limit.", busy[0])

    def test_the_targets_of_the_service_for_queues(self):
        port = self.start("queue_service", "--service-targets")
        queues = QueueClient(port)
        for name in ("orders", "others"):
            queues.create(name)
        for n in range(32):
            queues.put("orders", str(n))

        def peek(client, _):
            self.assertEqual(len(client.peek("orders")), 32)
        self.exhaust_together("The server is busy.", lambda: QueueClient(port), peek)
        queues.put("others", "there is room")

    def test_who_waits_as_told_gets_through(self):
        port = self.start("table_store", "--max-requests-per-s-of-account", "10")
        tables = TableClient(port)
        tables.create_table("Things")
        for n in range(25):
            while True:
                try:
                    tables.put("Things", {**ROW, "RowKey": str(n)})
                    break
                except HttpFailure as failure:
                    time.sleep(int(failure.headers["Retry-After"]))
        self.assertEqual(len(wait_until(lambda: self.patiently(tables.scan, "Things"), "its turn")), 25)


class StreamsTest(unittest.TestCase):
    def test_event_streams_are_bounded_and_cost_no_memory(self):
        with Stack() as stack:
            stack.up(api_arguments=("--max-event-streams", "3"))
            api = ApiClient(stack.ports["api"])
            job_id = api.submit({"kind": "delete", "source": "Later", "filter": "", "notBefore": "2100-01-01T00:00:00Z"})

            def stream():
                connection = socket.create_connection(("127.0.0.1", api.port), timeout=60)
                connection.sendall(f"GET /v1/jobs/{job_id}/events HTTP/1.1\r\nHost: localhost\r\n"
                                   f"Authorization: Bearer {TOKEN}\r\n\r\n".encode())
                return connection, connection.recv(12)

            open_ones = []
            for _ in range(3):
                connection, head = stream()
                self.addCleanup(connection.close)
                self.assertEqual(head, b"HTTP/1.1 200")
                open_ones.append(connection)
            status, headers, body = api.send("GET", f"/v1/jobs/{job_id}/events")
            self.assertEqual((status, headers["Retry-After"]), (503, "1"))
            self.assertIn("max_event_streams", json.loads(body)["detail"])
            self.assertEqual(api.job(job_id)["state"], "queued")
            # Nobody reads these streams. One client leaves, and its place is soon free.
            open_ones[0].close()

            def taken():
                connection, head = stream()
                self.addCleanup(connection.close)
                return head == b"HTTP/1.1 200"
            wait_until(taken, "the place of the one that went")


if __name__ == "__main__":
    unittest.main(verbosity=2)
