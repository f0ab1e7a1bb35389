"""Several processes of a store that share the shards of one PostgreSQL database, and writers who remember acknowledged
writes while owners are killed, frozen, stopped and started. For test modules:

    from owners import OwnersCase, setUpModule  # noqa: F401

TIDEMARK_TEST_FACTOR=20 repeats each of the failures 20 times. TIDEMARK_BACK_WITHIN_S=10 requires writes to be back as
soon as docs/scale.md promises; use it where nothing else runs.
"""
import http.client
import os
import re
import sys
import threading
import time
import unittest

import networks
import postgres
import sizes
from clients import HttpClient, HttpFailure
from link import Link, NetworkLink
from stack import TOKEN, Stack, wait_until

ROUNDS = sizes.scaled(1)
SHARDS = 4
# A limit that only catches hanging: the tests run beside others, which slow the machine down.
BACK_WITHIN_S = float(os.environ.get("TIDEMARK_BACK_WITHIN_S") or 40)
TRY_FOR_S = 2.5  # for one request; longer than a request waits for an owner
HANG_S = 60.0
PACE_S = 0.02 if sizes.FACTOR == 1 else 0.005  # between writes of one place: leases take seconds, and writers cost time
GONE = (OSError, http.client.HTTPException)
cluster = None


def setUpModule():
    global cluster
    cluster = postgres.cluster_of_module()


class Load:
    """Writers side by side, one for each place (a queue, a partition), through one process after another. A writer
    repeats each operation until it is acknowledged. `client`: makes a client for a port."""

    def __init__(self, test, places, client):
        self.test, self.places = test, places
        self.done = {place: 0 for place in places}
        self.statuses = {}
        self.longest_gap_s = 0.0
        self.avoid = None  # a port that no client is sent to, as by a balancer that finds it dead
        self.patient = False  # clients wait for an answer however slow the machine is
        self.failed = []
        self._client = client
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(place,)) for place in places]

    def write(self, ask, place, number):
        """Carries out the operation of this number. `ask(operation)` calls an operation with a client until it is
        acknowledged."""
        raise NotImplementedError

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if kind is None and self.failed:
            raise self.failed[0]

    def _count(self, status):
        self.statuses[status] = self.statuses.get(status, 0) + 1

    def _asker(self, clients, number):
        attempts = 0

        def ask(operation):
            nonlocal attempts
            given_up = None
            while True:
                if self._stop.is_set():
                    given_up = given_up or time.monotonic() + 60
                    if time.monotonic() > given_up:
                        raise AssertionError("the load ended, and what it asked for was not done in a minute")
                ports = [port for port in self.test.ports() if port != self.avoid]
                port = ports[(number + attempts) % len(ports)]
                if port not in clients:
                    clients[port] = self._client(port)
                    if self.patient:
                        clients[port].timeout_s = HANG_S
                client = clients[port]
                attempts += 1
                try:
                    return operation(client)
                except HttpFailure as failure:
                    if failure.status < 500:
                        raise
                    self._count((failure.status, failure.code))
                except GONE as failure:
                    self._count(type(failure).__name__)
        return ask

    def _run(self, place):
        clients = {}
        last = time.monotonic()
        try:
            while not self._stop.is_set():
                self.write(self._asker(clients, self.done[place]), place, self.done[place])
                self.done[place] += 1
                now = time.monotonic()
                self.longest_gap_s = max(self.longest_gap_s, now - last)
                last = now
                time.sleep(PACE_S)
        except Exception as failure:  # raised by the test that waits for the load
            self.failed.append(failure)


class OwnersCase(unittest.TestCase):
    store = None  # the program
    folder = None  # of its data; its schema has the same name

    def setUp(self):
        self.database = cluster.new_database()
        self.stacks = {}

    def tearDown(self):
        outcome = self._outcome.result
        if any(test is self for test, _ in outcome.failures + outcome.errors):
            for name, stack in self.stacks.items():
                print(f"==== {name}", file=sys.stderr)
                stack.show_logs()

    def sharing(self, database=None):
        """Returns the arguments of a process."""
        return ("--engine", "postgres", "--database", database or self.database, "--shards", str(SHARDS), "--share-shards",
                "true")

    def start(self, name, *arguments, link=None):
        """`link`: to the database."""
        if name not in self.stacks:
            self.stacks[name] = Stack()
            self.addCleanup(self.stacks[name].close)
        sharing = self.sharing(link.database(self.database) if link else None)
        return self.stacks[name].start(self.store, *sharing, *arguments)

    def child(self, name):
        return self.stacks[name].children[self.store]

    def port(self, name):
        return self.stacks[name].ports[self.store]

    def ports(self):
        """Returns the ports of the processes that have said that they are ready."""
        return [stack.ports[self.store] for _, stack in sorted(self.stacks.items()) if self.store in stack.ports]

    def figures(self, name, of="tidemark_shard_owned"):
        _, text = HttpClient(self.port(name)).ask("GET", "/metrics", {"Authorization": f"Bearer {TOKEN}"})
        found = re.findall(rf'(?m)^{of}{{shard="(\d+)"}} (\S+)$', text.decode())
        return {int(shard): float(value) for shard, value in found}

    def served(self, name):
        return sorted(shard for shard, owned in self.figures(name).items() if owned)

    def await_shares(self, *counts):
        """Waits until the processes serve these numbers of shards, in any assignment."""
        names = sorted(self.stacks)
        wait_until(lambda: sorted(len(self.served(name)) for name in names) == sorted(counts), f"shares {counts}", 60)

    def query(self, sql):
        return cluster.query(self.database, sql)

    def eventually(self, operation, limit_s=HANG_S):
        def tried():
            try:
                return (operation(),)
            except HttpFailure as failure:
                self.assertEqual(failure.status, 503, failure)
            except GONE:
                pass
            return None
        return wait_until(tried, "an operation succeeds", limit_s)[0]

    def refused(self, program, *arguments):
        stack = Stack()
        self.addCleanup(stack.close)
        child = stack.launch(program, program, "--port", "0", *arguments)
        self.assertEqual(child.wait(), 2)
        return child.log()

    def await_writes(self, load, within_s):
        """Checks that every place takes writes again within this time; returns how long it took."""
        begun = time.monotonic()
        before = dict(load.done)
        wait_until(lambda: load.failed or all(load.done[place] > before[place] + 2 for place in load.places),
                   "all places take writes", within_s)
        if load.failed:
            raise load.failed[0]
        return time.monotonic() - begun

    # The failures, with a load that new_load() makes and check_load() compares with the stored data.

    def kill_owners(self):
        names = ("a", "b", "c")
        for name in names:
            self.start(name)
        self.await_shares(2, 1, 1)
        for number in range(ROUNDS):
            victim = names[number % 3]
            with self.new_load() as load:
                self.await_writes(load, HANG_S)
                self.child(victim).kill()
                print(f"kill {number}: back within {self.await_writes(load, BACK_WITHIN_S):.1f} s", file=sys.stderr)
                self.start(victim)
                self.await_shares(2, 1, 1)
            self.check_load(load)

    def mark_all(self, name, served, text):
        """Puts a new mark on each of these shards; returns the marks."""
        marks = {shard: f"{text} {shard}" for shard in served}
        for shard, mark in marks.items():
            self.eventually(lambda: self.mark(name, shard, mark))
        return marks

    def expect_marks(self, name, marks):
        for shard, mark in marks.items():
            self.assertEqual(self.eventually(lambda: self.read_mark(name, shard)), mark, "a stale read")

    def freeze_owners(self):
        """Uses mark(name, shard, text) and read_mark(name, shard), which write and read a mark on a shard through a process."""
        for name in ("a", "b"):
            self.start(name)
        self.await_shares(2, 2)
        for number in range(ROUNDS):
            victim, other = (("a", "b"), ("b", "a"))[number % 2]
            served = self.served(victim)
            with self.new_load() as load:
                self.await_writes(load, HANG_S)
                self.child(victim).pause()
                load.avoid = self.port(victim)
                took = self.await_writes(load, BACK_WITHIN_S)
                print(f"freeze {number}: back within {took:.1f} s", file=sys.stderr)
                # A read at the process that wakes up returns the other process's writes.
                marks = self.mark_all(other, served, f"freeze {number}")
                self.child(victim).resume()
                load.avoid = None
                self.expect_marks(victim, marks)
                self.await_shares(2, 2)
            self.check_load(load)

    def cut_owners_off(self):
        """Cuts the processes off from the database, not from clients or each other. mark() and read_mark() as for
        freeze_owners()."""
        self.cut_links({name: Link(cluster) for name in ("a", "b")})

    def cut_owners_off_by_the_network(self):
        """The same with the database on another machine, to which each owner has a network cable of its own."""
        if not networks.can_make_networks():
            self.skipTest("needs root and `ip` to make network namespaces")
        networks.leave_for_a_new_network(self)
        numbers = {"a": 1, "b": 2}
        machine = networks.OtherMachine(self, numbers.values())
        self.cut_links({name: NetworkLink(cluster, machine, number) for name, number in numbers.items()})

    def cut_links(self, links):
        for name, link in links.items():
            self.addCleanup(link.close)
            self.start(name, link=link)
        self.await_shares(2, 2)
        for number in range(ROUNDS):
            victim, other = (("a", "b"), ("b", "a"))[number % 2]
            served = self.served(victim)
            with self.new_load() as load:
                self.await_writes(load, HANG_S)
                links[victim].cut()
                load.avoid = self.port(victim)
                print(f"cut {number}: back within {self.await_writes(load, BACK_WITHIN_S):.1f} s", file=sys.stderr)
                marks = self.mark_all(other, served, f"cut {number}")
                for shard, mark in marks.items():  # a process that is cut off does not know it: it answers truly or not at all
                    try:
                        self.assertEqual(self.read_mark(victim, shard), mark, "a stale read")
                    except (HttpFailure, *GONE):
                        pass
                links[victim].mend()
                load.avoid = None
                self.expect_marks(victim, marks)
                self.await_shares(2, 2)
            self.check_load(load)

    def hand_over(self):
        self.start("a")
        for number in range(ROUNDS):
            load = self.new_load()
            load.patient = True
            with load:
                self.await_writes(load, HANG_S)
                self.start("b")
                self.await_shares(2, 2)
                self.await_writes(load, HANG_S)
                second = self.stacks["b"]
                leases = f"FROM tidemark_{self.store.partition('_')[0]}.owners WHERE lease_ms > 0"
                held = self.query(f"SELECT DISTINCT quote_literal(owner) {leases} AND shard IN "
                                  f"({', '.join(map(str, self.served('b')))})").split("\n")
                self.assertEqual(second.children[self.store].terminate(), 0)
                del self.stacks["b"]
                # The next owner need not wait for the end of a lease.
                self.assertEqual(self.query(f"SELECT count(*) {leases} AND owner IN ({', '.join(held)})"), "0")
                wait_until(lambda: len(self.served("a")) == SHARDS, "what was stopped in order is followed", HANG_S)
                self.await_writes(load, HANG_S)
            # The stopping process accepts no connection any more, and closes connections without a request under way,
            # even if a request is on its way to them, which is then not read.
            not_read = ("ConnectionRefusedError", "BrokenPipeError", "ConnectionResetError", "RemoteDisconnected")
            refused = {status: count for status, count in load.statuses.items() if status not in not_read}
            self.assertEqual([status for status in refused if status != (503, "ServerBusy")], [])
            print(f"handover {number}: longest gap {load.longest_gap_s:.2f} s, {load.statuses}", file=sys.stderr)
            self.check_load(load)
