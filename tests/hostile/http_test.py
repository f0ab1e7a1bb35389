"""HTTP that is meant to hold up or break a server: bytes without end, one byte at a time, and connections without
number."""
import http.client
import os
import re
import socket
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import HttpClient, HttpFailure, TableClient  # noqa: E402
from stack import OwnStackTest, wait_until  # noqa: E402

CHUNKED = b"POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


def memory_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class NotRead(Exception):
    pass


class NeverReads(TableClient):
    """Sends its request and does not read the answer."""

    def send(self, method, target, headers=None, body=None):
        self.waiting = http.client.HTTPConnection("127.0.0.1", self.port)
        self.waiting.request(method, target, body=body, headers=headers or {})
        raise NotRead


class HttpTest(OwnStackTest):
    def setUp(self):
        self.connections = []

    def start(self, *arguments):
        self.stack.start("table_store", *arguments)
        self.port = self.stack.ports["table_store"]
        self.tables = TableClient(self.port)
        self.tables.create_table("Things")
        return self.stack.children["table_store"].pid

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.addCleanup(connection.close)
        self.connections.append(connection)
        return connection

    @staticmethod
    def send_while_taken(connection, piece, limit_bytes):
        sent = 0
        try:
            while sent < limit_bytes:
                sent += connection.send(piece)
        except OSError:
            pass
        return sent

    def test_endless_chunk_extensions_and_trailers_cost_nothing(self):
        pid = self.start()
        for begin in (b"1;", b"1\r\na\r\n0\r\nX: "):
            before, used = memory_mib(pid), cpu_seconds(pid)
            for _ in range(5):
                connection = self.connect()
                connection.sendall(CHUNKED + begin)
                sent = self.send_while_taken(connection, b"a" * 65_536, 64 << 20)
                self.assertLess(sent, 32 << 20, "the server took it all")
            self.assertLess(memory_mib(pid) - before, 20)
            self.assertLess(cpu_seconds(pid) - used, 2)
        self.tables.put("Things", {"PartitionKey": "p", "RowKey": "r"})

    def test_idle_connections_keep_nobody_out(self):
        self.start("--max-connections", "50")
        idle = [self.connect() for _ in range(49)]
        for _ in range(20):
            client = TableClient(self.port)
            client.put("Things", {"PartitionKey": "p", "RowKey": "r"})
            client.close()
        self.assertEqual(len(idle), 49)

    def test_one_address_cannot_take_all_connections(self):
        self.start("--max-connections-of-address", "10")
        for _ in range(9):
            connection = self.connect()
            connection.sendall(b"GET / HTTP/1.1\r\n")  # and no more, so it is not idle

        def refused():
            connection = self.connect()
            connection.settimeout(0.5)
            try:
                return connection.recv(100).startswith(b"HTTP/1.1 503")
            except TimeoutError:
                return False  # it was accepted, before all earlier ones were

        wait_until(refused, "the next ones are refused")
        for connection in self.connections:
            connection.close()

        def counted():
            try:
                text = HttpClient(self.port).ask("GET", "/metrics")[1].decode()
            except (OSError, http.client.HTTPException, HttpFailure):
                return False  # they are not gone yet
            return re.search(r'(?m)^tidemark_connections_refused_total\{reason="max_connections_of_address"\} [1-9]', text)

        wait_until(counted, "the refusals are counted")

    def test_the_bodies_of_strangers_cost_nothing(self):
        pid = self.start()
        before = memory_mib(pid)
        for _ in range(40):
            connection = self.connect()
            connection.sendall(b"POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n")
            connection.sendall(b"x" * 1000)
            self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 40"))
        self.assertLess(memory_mib(pid) - before, 20)

    def test_who_does_not_take_an_answer_or_finish_a_head_slows_nobody(self):
        pid = self.start()
        row = {"PartitionKey": "p", "T": "x" * 30_000}
        self.tables.put_many("Things", [row | {"RowKey": f"{n:04}"} for n in range(100)])
        before = memory_mib(pid)
        readers = [NeverReads(self.port) for _ in range(20)]
        for reader in readers:
            with self.assertRaises(NotRead):
                reader.query_page("Things", "")
        for _ in range(20):
            self.connect().sendall(b"GET /devstoreaccount1/Things HTTP/1.1\r\n")
        for _ in range(50):  # a client that waited for the others would not be answered at all
            self.assertEqual(self.tables.get("Things", "p", "0001")["T"], "x" * 30_000)
        self.assertLess(memory_mib(pid) - before, 200)  # 20 answers of 3 MB wait


if __name__ == "__main__":
    unittest.main(verbosity=2)
