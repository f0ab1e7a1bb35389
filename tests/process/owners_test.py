"""Several queue services that share the shards of one PostgreSQL database: who has what, what is passed on, and what
becomes of acknowledged messages when owners are killed, frozen, stopped and started.

TIDEMARK_OWNER_ROUNDS=20 repeats each of the failures so many times; one is the default.
"""
import ctypes
import http.client
import os
import re
import sys
import tempfile
import threading
import time
import unittest
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import postgres  # noqa: E402
from clients import ACCOUNT, HttpClient, HttpFailure, QueueClient  # noqa: E402
from stack import TOKEN, Stack, wait_until  # noqa: E402

ROUNDS = int(os.environ.get("TIDEMARK_OWNER_ROUNDS", "1"))
SHARDS = 4
BACK_WITHIN_S = 10.0
TRY_FOR_S = 2.5  # of one request; longer than one waits for an owner
GONE = (OSError, http.client.HTTPException)


def setUpModule():
    global cluster
    if postgres.programs() is None:
        raise unittest.SkipTest(postgres.ABSENT)
    os.environ.pop(postgres.VARIABLE, None)
    cluster = postgres.Cluster()
    unittest.addModuleCleanup(cluster.close)


class Client(QueueClient):
    timeout_s = TRY_FOR_S


class Load:
    """Puts numbered messages into queues through one process after another, and remembers which were acknowledged. A
    message that was not is repeated under its key, so that it is there once whatever became of the first try."""

    def __init__(self, test, queues):
        self.test, self.queues = test, queues
        self.name = uuid.uuid4().hex[:8]  # of its messages and their keys
        self.acknowledged = {queue: [] for queue in queues}
        self.statuses = {}
        self.longest_gap_s = 0.0
        self.avoid = None  # a port: as a balancer does that finds nobody there
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(queue,)) for queue in queues]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @staticmethod
    def _put(client, queue, text):
        key = {"x-ms-tidemark-idempotency-key": text.replace(" ", "-"), "x-ms-tidemark-idempotency-retention": "3600"}
        client._ask("POST", f"/{queue}/messages", "messagettl=-1", client._message(text), key)

    def _run(self, queue):
        clients = {}
        last = time.monotonic()
        for number in range(1_000_000):
            text = f"{queue} {self.name} {number}"
            attempt = 0
            while True:
                if self._stop.is_set() and attempt > 100:
                    return
                ports = self.test.ports()
                ports = [port for port in ports if port != self.avoid]
                port = ports[(number + attempt) % len(ports)]
                client = clients.setdefault(port, Client(port))
                attempt += 1
                try:
                    self._put(client, queue, text)
                    break
                except HttpFailure as failure:
                    self.statuses[failure.status, failure.code] = self.statuses.get((failure.status, failure.code), 0) + 1
                except GONE as failure:
                    self.statuses[type(failure).__name__] = self.statuses.get(type(failure).__name__, 0) + 1
            now = time.monotonic()
            self.longest_gap_s = max(self.longest_gap_s, now - last)
            last = now
            self.acknowledged[queue].append(text)
            if self._stop.is_set():
                return
            time.sleep(0.005)  # a client's own pace: many of them would only wait for the disk


class OwnersTest(unittest.TestCase):
    def setUp(self):
        self.database = cluster.new_database()
        self.stacks = {}

    def tearDown(self):
        outcome = self._outcome.result
        if any(test is self for test, _ in outcome.failures + outcome.errors):
            for name, stack in self.stacks.items():
                print(f"==== {name}", file=sys.stderr)
                stack.show_logs()

    def start(self, name, *arguments):
        if name not in self.stacks:
            self.stacks[name] = Stack()
            self.addCleanup(self.stacks[name].close)
        child = self.stacks[name].start("queue_service", "--engine", "postgres", "--database", self.database, "--shards",
                                        str(SHARDS), "--share-shards", "true", *arguments)
        return child

    def child(self, name):
        return self.stacks[name].children["queue_service"]

    def port(self, name):
        return self.stacks[name].ports["queue_service"]

    def client(self, name):
        client = QueueClient(self.port(name))
        return client

    def ports(self):
        """Of those that have said that they are ready."""
        return [stack.ports["queue_service"] for _, stack in sorted(self.stacks.items()) if stack.ports]

    def figures(self, name, of="tidemark_shard_owned"):
        _, text = HttpClient(self.port(name)).ask("GET", "/metrics", {"Authorization": f"Bearer {TOKEN}"})
        found = re.findall(rf'(?m)^{of}{{shard="(\d+)"}} (\S+)$', text.decode())
        return {int(shard): float(value) for shard, value in found}

    def served(self, name):
        return sorted(shard for shard, owned in self.figures(name).items() if owned)

    def await_shares(self, *counts):
        """Of the processes in the order of their names."""
        names = sorted(self.stacks)
        wait_until(lambda: sorted(len(self.served(name)) for name in names) == sorted(counts), f"shares {counts}", 60)

    def queue_on(self, shard):
        """A queue on each shard is made by its owner: the rows say where it is."""
        if not hasattr(self, "_queues"):
            self._queues = {}
            for number in range(200):
                if len(self._queues) == SHARDS:
                    break
                queue = f"queue-{number}"
                self.eventually(lambda: self.client(sorted(self.stacks)[0]).create(queue))
                where = cluster.query(self.database, "SELECT shard FROM tidemark_queue.entries WHERE position("
                                      f"'{queue}'::bytea in key) > 0 LIMIT 1")
                self._queues.setdefault(int(where), queue)
        return self._queues[shard]

    def all_queues(self):
        return [self.queue_on(shard) for shard in range(SHARDS)]

    def eventually(self, operation, limit_s=30.0):
        def tried():
            try:
                return (operation(),)
            except HttpFailure as failure:
                self.assertEqual(failure.status, 503, failure)
            except GONE:
                pass
            return None
        return wait_until(tried, "an operation succeeds", limit_s)[0]

    def drained(self, queue):
        """The texts of all messages, in order; takes them away."""
        texts = []
        client = self.client(sorted(self.stacks)[0])
        while True:
            taken = self.eventually(lambda: client.take(queue, 32, 600))
            if not taken:
                return texts
            texts += [message["MessageText"] for message in taken]

    def check(self, load):
        """Everything that was acknowledged is there once, in its order."""
        for queue in load.queues:
            self.assertEqual(self.drained(queue), load.acknowledged[queue], queue)
            self.assertGreater(len(load.acknowledged[queue]), 0)

    def refused(self, program, *arguments):
        stack = Stack()
        self.addCleanup(stack.close)
        child = stack.launch(program, program, "--port", "0", *arguments)
        self.assertEqual(child.wait(), 2)
        return child.log()

    def test_settings(self):
        in_database = ("--engine", "postgres", "--database", self.database)
        self.assertIn("share_shards needs engine postgres", self.refused("queue_service", "--share-shards", "true"))
        self.assertIn("table_store cannot share its shards",
                      self.refused("table_store", "--share-shards", "true", *in_database))
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
        self.assertEqual(cluster.query(self.database, "SELECT count(*) FROM tidemark_queue.processes "
                                       "WHERE address ~ '^tcp://[^ ]*127.0.0.1]?:[0-9]+ [0-9a-f]{64}$'"), "2")
        for queue in self.all_queues():
            for name, other in (("a", "b"), ("b", "a")):
                self.client(name).put(queue, f"by {name}")
                message = self.client(other).take(queue)[0]
                self.assertEqual(message["MessageText"], f"by {name}")
                self.client(name).delete(queue, message)

    def directory(self):
        if not hasattr(self, "_directory"):
            self._directory = tempfile.TemporaryDirectory(prefix="tm", dir="/tmp")
            self.addCleanup(self._directory.cleanup)
        return self._directory.name

    def make_key(self, name):
        """A key file and the public key in it, as `tidemark keys` makes them."""
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
            got = []
            def poll():
                client = self.client("a")
                headers, body = client._ask("GET", f"/{queue}/messages", "numofmessages=1", None,
                                            {"x-ms-tidemark-wait": "20"})
                got.extend(client._messages(body))
            thread = threading.Thread(target=poll)
            begun = time.monotonic()
            thread.start()
            self.client("b").put(queue, "news")
            thread.join()
            self.assertEqual([message["MessageText"] for message in got], ["news"])
            self.assertLess(time.monotonic() - begun, 15)

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

    def await_writes(self, load, within_s):
        """From now on, every queue takes messages again within this time; how long it took."""
        begun = time.monotonic()
        before = {queue: len(texts) for queue, texts in load.acknowledged.items()}
        wait_until(lambda: all(len(texts) > before[queue] + 2 for queue, texts in load.acknowledged.items()),
                   "all queues take messages", within_s)
        return time.monotonic() - begun

    def test_kill(self):
        names = ("a", "b", "c")
        for name in names:
            self.start(name)
        self.await_shares(2, 1, 1)
        queues = self.all_queues()
        for number in range(ROUNDS):
            victim = names[number % 3]
            with Load(self, queues) as load:
                self.await_writes(load, 10)
                self.child(victim).kill()
                print(f"kill {number}: back within {self.await_writes(load, BACK_WITHIN_S):.1f} s", file=sys.stderr)
                self.start(victim)
                self.await_shares(2, 1, 1)
            self.check(load)

    def test_freeze(self):
        for name in ("a", "b"):
            self.start(name)
        self.await_shares(2, 2)
        queues = self.all_queues()
        for number in range(ROUNDS):
            victim, other = (("a", "b"), ("b", "a"))[number % 2]
            served = self.served(victim)
            with Load(self, queues) as load:
                self.await_writes(load, 10)
                self.child(victim).pause()
                load.avoid = self.port(victim)
                took = self.await_writes(load, BACK_WITHIN_S)
                print(f"freeze {number}: back within {took:.1f} s", file=sys.stderr)
                # What is read at the one that wakes up is what the other one has written.
                marks = {self.queue_on(shard): uuid.uuid4().hex for shard in served}
                for queue, mark in marks.items():
                    self.eventually(lambda: self.mark(other, queue, mark))
                self.child(victim).resume()
                load.avoid = None
                for queue, mark in marks.items():
                    self.assertEqual(self.eventually(lambda: self.read_mark(victim, queue)), mark, "a stale read")
                self.await_shares(2, 2)
            self.check(load)

    def mark(self, name, queue, mark):
        self.client(name)._ask("PUT", f"/{queue}", "comp=metadata", None, {"x-ms-meta-mark": mark})

    def read_mark(self, name, queue):
        headers, _ = self.client(name)._ask("GET", f"/{queue}", "comp=metadata")
        return headers["x-ms-meta-mark"]

    def test_handover_under_load_shows_nothing_but_503(self):
        self.start("a")
        queues = self.all_queues()
        for number in range(ROUNDS):
            with Load(self, queues) as load:
                self.await_writes(load, 10)
                self.start("b")
                self.await_shares(2, 2)
                self.await_writes(load, 10)
                second = self.stacks["b"]
                self.assertEqual(second.children["queue_service"].terminate(), 0)
                del self.stacks["b"]
                wait_until(lambda: len(self.served("a")) == SHARDS, "what was stopped in order is followed at once", 5)
                self.await_writes(load, 10)
            # Of the process that stops: it takes no connection any more, and ends those on which nothing is under way.
            not_sent = ("ConnectionRefusedError", "BrokenPipeError")
            refused = {status: count for status, count in load.statuses.items() if status not in not_sent}
            self.assertEqual([status for status in refused if status != (503, "ServerBusy")], [])
            print(f"handover {number}: longest gap {load.longest_gap_s:.2f} s, {load.statuses}", file=sys.stderr)
            self.check(load)


if __name__ == "__main__":
    unittest.main()
