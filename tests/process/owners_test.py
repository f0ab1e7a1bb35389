"""Several queue services that share the shards of one PostgreSQL database: which process owns each shard, which calls
are passed on, and whether acknowledged messages survive when owners are killed, frozen, stopped and started
(support/owners.py).
"""
import contextlib
import ctypes
import os
import re
import socket
import sys
import tempfile
import threading
import time
import unittest
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ACCOUNT, HttpClient, HttpFailure, QueueClient  # noqa: E402
from owners import GONE, SHARDS, TRY_FOR_S, Load, OwnersCase, setUpModule  # noqa: E402, F401
from stack import TOKEN, wait_until  # noqa: E402

SPREAD = "spread"


class Client(QueueClient):
    timeout_s = TRY_FOR_S


class Messages(Load):
    """Puts numbered messages into queues. A put without an acknowledgement is repeated under its key, so that the
    message is there once even if the first try took effect."""

    def __init__(self, test, queues):
        super().__init__(test, queues, Client)
        self.name = uuid.uuid4().hex[:8]  # of its messages and their keys

    def text(self, queue, number):
        return f"{queue} {self.name} {number}"

    def write(self, ask, place, number):
        text = self.text(place, number)
        key = {"x-ms-tidemark-idempotency-key": text.replace(" ", "-"), "x-ms-tidemark-idempotency-retention": "3600"}
        ask(lambda client: client._ask("POST", f"/{place}/messages", "messagettl=-1", client._message(text), key))


class OwnersTest(OwnersCase):
    store = "queue_service"

    def client(self, name):
        return QueueClient(self.port(name))

    def queue_on(self, shard):
        """Makes a queue on each shard: the rows tell where it is."""
        if not hasattr(self, "_queues"):
            self._queues = {}
            for number in range(200):
                if len(self._queues) == SHARDS:
                    break
                queue = f"queue-{number}"
                self.eventually(lambda: self.client(sorted(self.stacks)[0]).create(queue))
                where = self.query(f"SELECT shard FROM tidemark_queue.entries WHERE position('{queue}'::bytea in key) > 0 "
                                   "LIMIT 1")
                self._queues.setdefault(int(where), queue)
        return self._queues[shard]

    def all_queues(self):
        return [self.queue_on(shard) for shard in range(SHARDS)]

    def drained(self, queue):
        """Takes all messages; returns their texts in order."""
        texts = []
        client = self.client(sorted(self.stacks)[0])
        while True:
            taken = self.eventually(lambda: client.take(queue, 32, 600))
            if not taken:
                return texts
            texts += [message["MessageText"] for message in taken]

    def new_load(self):
        """Uses a queue on each shard, and one that is spread over all."""
        self.eventually(lambda: self.client(sorted(self.stacks)[0]).create(SPREAD, SHARDS))
        return Messages(self, [*self.all_queues(), SPREAD])

    def check_load(self, load):
        """Every acknowledged message is there once, in its order; each part of a spread queue has an order of its
        own."""
        for queue in load.places:
            self.assertGreater(load.done[queue], 0)
            order = sorted if queue == SPREAD else list
            there, put = self.drained(queue), [load.text(queue, number) for number in range(load.done[queue])]
            self.assertEqual(order(there), order(put), queue)

    def test_settings(self):
        in_database = ("--engine", "postgres", "--database", self.database)
        self.assertIn("share_shards needs engine postgres", self.refused("queue_service", "--share-shards", "true"))
        self.assertIn("peer_address is set, but share_shards is not",
                      self.refused("queue_service", "--peer-address", "tcp://10.0.0.1:7000", *in_database))
        self.assertIn("peer_address needs internal_address",
                      self.refused("queue_service", "--peer-address", "tcp://10.0.0.1:7000", "--share-shards", "true", *in_database))
        self.start("a")
        self.assertIn("which still runs: stop it first", self.refused("queue_service", *in_database), "one for itself alone")

    def test_one_alone_has_all_and_a_second_gets_its_share(self):
        self.start("a")
        self.assertEqual(self.served("a"), [0, 1, 2, 3], "before it says that it is ready")
        self.start("b")
        self.await_shares(2, 2)
        self.assertEqual(sorted(self.served("a") + self.served("b")), [0, 1, 2, 3])
        self.start("c")
        self.await_shares(2, 1, 1)

    def test_any_process_takes_any_request(self):
        for name in ("a", "b"):
            self.start(name)
        self.await_shares(2, 2)
        for shard, queue in enumerate(self.all_queues()):
            for name in ("a", "b"):
                client = self.client(name)
                client.put(queue, f"by {name}")
                self.assertEqual(client.length(queue), 1)
                message = client.take(queue)[0]
                self.assertEqual(message["MessageText"], f"by {name}")
                message = client.update(queue, message, 0, f"changed by {name}")
                other = self.client("b" if name == "a" else "a")
                self.assertEqual(other.peek(queue)[0]["MessageText"], f"changed by {name}")
                other.delete(queue, other.take(queue)[0])
                self.assertEqual(client.length(queue), 0)
            with self.assertRaises(HttpFailure) as missing:
                self.client("a").take(f"no-such-{shard}")
            self.assertEqual((missing.exception.status, missing.exception.code), (404, "QueueNotFound"))
        listed = [self.names(name) for name in ("a", "b")]
        self.assertEqual(listed[0], listed[1])
        self.assertTrue(set(self.all_queues()) <= set(listed[0]))
        for name in ("a", "b"):
            self.client(name).set_service_properties()
        strange = HttpClient(self.port("a"))
        for queue in self.all_queues():
            self.assertEqual(strange.send("GET", f"/{ACCOUNT}/{queue}/messages")[0], 401, "credentials are checked everywhere")

    def test_processes_reach_each_other_by_tcp(self):
        keys = {name: self.make_key(name) for name in ("a", "b")}
        allowed = os.path.join(self.directory(), "allowed")
        with open(allowed, "w", encoding="ascii") as file:
            file.writelines(f"{public} {name}\n" for name, (_, public) in keys.items())
        for name in ("a", "b"):
            self.start(name, "--internal-address", "tcp://127.0.0.1:0", "--internal-key-file", keys[name][0],
                       "--internal-allowed-keys", allowed)
        self.await_shares(2, 2)
        self.assertEqual(self.query("SELECT count(*) FROM tidemark_queue.processes "
                                    "WHERE address ~ '^tcp://[^ ]*127.0.0.1]?:[0-9]+ [0-9a-f]{64}$'"), "2")
        for queue in self.all_queues():
            for name, other in (("a", "b"), ("b", "a")):
                self.client(name).put(queue, f"by {name}")
                message = self.client(other).take(queue)[0]
                self.assertEqual(message["MessageText"], f"by {name}")
                self.client(name).delete(queue, message)

    def directory(self):
        if not hasattr(self, "_directory"):
            self._directory = tempfile.TemporaryDirectory(prefix="tm")
            self.addCleanup(self._directory.cleanup)
        return self._directory.name

    def make_key(self, name):
        """Makes a key file and returns its public key, as `tidemark keys` does."""
        secret, public = os.urandom(32), ctypes.create_string_buffer(32)
        ctypes.CDLL("libsodium.so.23").crypto_scalarmult_curve25519_base(public, secret)
        path = os.path.join(self.directory(), name + ".key")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(f"tidemark-secret-key {secret.hex()}\n")
        return path, public.raw.hex()

    def names(self, name):
        _, body = self.client(name)._ask("GET", "/", "comp=list")
        return re.findall(r"<Name>([^<]+)</Name>", body.decode())

    def test_a_long_poll_at_one_process_hears_of_a_put_at_another(self):
        for name in ("a", "b"):
            self.start(name)
        self.await_shares(2, 2)
        for queue in self.all_queues():
            wait_until(lambda: self.poll_hears(queue), "a poll that does not last as long as it may", 120, interval_s=0)

    def poll_hears(self, queue):
        got = []
        def poll():
            client = self.client("a")
            headers, body = client._ask("GET", f"/{queue}/messages", "numofmessages=1", None, {"x-ms-tidemark-wait": "20"})
            got.extend(client._messages(body))
        thread = threading.Thread(target=poll)
        begun = time.monotonic()
        thread.start()
        self.client("b").put(queue, "news")
        thread.join()
        self.assertEqual([message["MessageText"] for message in got], ["news"])
        self.client("b").delete(queue, got[0])
        return time.monotonic() - begun < 20

    def test_a_long_poll_of_a_client_that_has_gone_takes_nothing_at_the_other_process(self):
        for name in ("a", "b"):
            self.start(name)
        self.await_shares(2, 2)
        queue, client = self.queue_on(self.served("b")[0]), self.client("a")

        def poll():
            with contextlib.suppress(*GONE):
                client._ask("GET", f"/{queue}/messages", "numofmessages=1", None, {"x-ms-tidemark-wait": "30"})

        thread = threading.Thread(target=poll)
        thread.start()
        wait_until(lambda: self.waiters("b") == 1, "the poll to reach the owner", 60)
        client._connection.sock.shutdown(socket.SHUT_RDWR)
        begun = time.monotonic()
        wait_until(lambda: self.waiters("b") == 0, "the end of the poll", 60)
        self.assertLess(time.monotonic() - begun, 25, "before its time")
        thread.join()
        self.client("a").put(queue, "news")
        self.assertEqual([message["MessageText"] for message in self.client("b").take(queue)], ["news"])

    def waiters(self, name):
        _, text = HttpClient(self.port(name)).ask("GET", "/metrics", {"Authorization": f"Bearer {TOKEN}"})
        return int(re.search(r"(?m)^tidemark_queue_waiters (\d+)", text.decode())[1])

    def test_messages_travel_between_shards_of_two_processes(self):
        for name in ("a", "b"):
            self.start(name)
        self.await_shares(2, 2)
        here, there = self.served("a")[0], self.served("b")[0]
        source, target = self.queue_on(here), self.queue_on(there)
        for name in ("a", "b"):
            client = self.client(name)
            for number in range(5):
                client.put(source, f"{name} {number}")
                message = client.take(source)[0]
                client._ask("PUT", f"/{source}/messages/{message['MessageId']}",
                            f"popreceipt={message['PopReceipt']}&visibilitytimeout=0".replace("+", "%2B"), None,
                            {"x-ms-tidemark-move-to": target})
        self.assertEqual(self.drained(target), [f"{name} {number}" for name in ("a", "b") for number in range(5)])
        self.assertEqual(self.drained(source), [])

    def test_kill(self):
        self.kill_owners()

    @sizes.in_turn(0)
    def test_freeze(self):
        self.freeze_owners()

    @sizes.at_night
    def test_cut_off_from_the_database(self):
        self.cut_owners_off()

    @sizes.at_night
    def test_cut_off_by_the_network(self):
        self.cut_owners_off_by_the_network()

    @sizes.in_turn(1)
    def test_handover_under_load_shows_nothing_but_503(self):
        self.hand_over()

    def mark(self, name, shard, mark):
        self.client(name)._ask("PUT", f"/{self.queue_on(shard)}", "comp=metadata", None, {"x-ms-meta-mark": mark})

    def read_mark(self, name, shard):
        headers, _ = self.client(name)._ask("GET", f"/{self.queue_on(shard)}", "comp=metadata")
        return headers["x-ms-meta-mark"]


if __name__ == "__main__":
    unittest.main()
