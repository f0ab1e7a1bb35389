"""Several table stores that share the shards of one PostgreSQL database: which calls are passed on, and whether
acknowledged entities, tables and jobs survive when owners are killed, frozen, stopped and started (support/owners.py).
"""
import os
import random
import subprocess
import sys
import threading
import time
import unittest
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
import indexes  # noqa: E402
import shards  # noqa: E402
from clients import ACCOUNT, ApiClient, BlobClient, HttpClient, HttpFailure, TableClient, ended, patiently  # noqa: E402
from owners import GONE, ROUNDS, SHARDS, TRY_FOR_S, Load, OwnersCase, setUpModule  # noqa: E402, F401
from stack import clean_environment, program, wait_until  # noqa: E402

TABLE = "Kept"
ROWS = ("b0", "b1", "b2")
WORKER = ("--lease-s", "2", "--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "200")


class Client(TableClient):
    timeout_s = TRY_FOR_S


class Entities(Load):
    """One writer for each partition, so it knows the expected content: after number n, the row `last` has n, the row
    `chain` was merged n times under its ETags, and a transaction has set all of ROWS to n, inserted the row n and
    removed the one before. It could not be done twice."""

    def __init__(self, test, partitions, table):
        super().__init__(test, partitions, Client)
        self.table = table
        self.etags = {}

    def write(self, ask, place, number):
        number += 1
        ask(lambda client: client.put(self.table, {"PartitionKey": place, "RowKey": "last", "N": number}))
        found = ask(lambda client: client.get(self.table, place, "last"))
        if found["N"] != number:
            raise AssertionError(f"{place}: a stale read, {found['N']} after {number}")
        self.etags[place] = ask(lambda client: self.merge(client, place, number))
        ask(lambda client: self.transact(client, place, number))

    def merge(self, client, place, number):
        """Makes the change; returns the new ETag. The first try may have succeeded without an answer."""
        try:
            if number == 1:
                return client.change("POST", self.table, place, "chain", {"N": 1}, None)
            return client.change("MERGE", self.table, place, "chain", {"N": number}, self.etags[place])
        except HttpFailure as failure:
            if failure.status not in (409, 412):
                raise
        properties, etag = client.read_partition(self.table, place)["chain"]
        if properties["N"] != number:
            raise AssertionError(f"{place}: chain is {properties['N']} instead of {number}")
        return etag

    def transact(self, client, place, number):
        changes = [("PUT", row, {"N": number}, None) for row in ROWS] + [("POST", f"n{number}", {}, None)]
        if number > 1:
            changes.append(("DELETE", f"n{number - 1}", None, None))
        try:
            client.change_group(self.table, place, changes)
        except HttpFailure as failure:
            if failure.status != 409 or not client.get(self.table, place, f"n{number}"):
                raise

    def expected(self, place):
        number = self.done[place]
        return {**{row: {"N": number} for row in ("last", "chain", *ROWS)}, f"n{number}": {}}


class TableOwnersTest(OwnersCase):
    store = "table_store"

    def client(self, name):
        return TableClient(self.port(name))

    def shard_of(self, table, partition):
        stack = next(iter(self.stacks.values()))
        return shards.shard_of(stack.data, "table", ACCOUNT, table.lower(), partition)

    def partitions(self, table):
        """Returns one partition on each shard, by shard."""
        found = {}
        for number in range(200):
            found.setdefault(self.shard_of(table, f"p{number}"), f"p{number}")
        return [found[shard] for shard in range(SHARDS)]

    def new_load(self):
        table = f"T{uuid.uuid4().hex[:8]}"
        name = sorted(self.stacks)[0]
        self.eventually(lambda: self.client(name).create_table(table))
        return Entities(self, self.partitions(table), table)

    def check_load(self, load):
        """Every process shows the same of every partition: the acknowledged state, and nothing else."""
        for name in self.stacks:
            for place in load.places:
                self.assertGreater(load.done[place], 0)
                found = self.eventually(lambda: self.client(name).read_partition(load.table, place))
                self.assertEqual({row: properties for row, (properties, _) in found.items()}, load.expected(place),
                                 f"{place} as {name} sees it")
                self.assertEqual(found["chain"][1], load.etags[place])

    def mark(self, name, shard, mark):
        client = self.client(name)
        if not hasattr(self, "_marks"):
            client.create_table("Marks")
            self._marks = self.partitions("Marks")
        client.put("Marks", {"PartitionKey": self._marks[shard], "RowKey": "r", "Mark": mark})

    def read_mark(self, name, shard):
        return self.client(name).get("Marks", self._marks[shard], "r")["Mark"]

    def test_kill(self):
        self.kill_owners()

    @sizes.at_night
    def test_freeze(self):
        self.freeze_owners()

    @sizes.in_turn(0)
    def test_cut_off_from_the_database(self):
        self.cut_owners_off()

    @sizes.at_night
    def test_cut_off_by_the_network(self):
        self.cut_owners_off_by_the_network()

    @sizes.in_turn(1)
    def test_handover_under_load_shows_nothing_but_503(self):
        self.hand_over()

    def start_two(self):
        for name in ("a", "b"):
            self.start(name)
        self.await_shares(2, 2)

    def test_any_process_takes_any_request(self):
        self.start_two()
        self.client("a").create_table(TABLE)
        with self.assertRaises(HttpFailure) as again:
            self.client("b").create_table(TABLE.lower())
        self.assertEqual((again.exception.status, again.exception.code), (409, "TableAlreadyExists"))
        places = self.partitions(TABLE)
        for name, other in (("a", "b"), ("b", "a")):
            client, reader = self.client(name), self.client(other)
            for place in places:
                etag = client.change("POST", TABLE, place, name, {"N": 1}, None)
                etag = reader.change("MERGE", TABLE, place, name, {"M": 2}, etag)
                self.assertEqual(client.get(TABLE, place, name), {"PartitionKey": place, "RowKey": name, "N": 1, "M": 2})
                with self.assertRaises(HttpFailure) as conflict:
                    client.change("PUT", TABLE, place, name, {}, "W/\"datetime'2026-01-01T00%3A00%3A00.0000000Z'\"")
                self.assertEqual(conflict.exception.status, 412)
                client.change_group(TABLE, place, [("POST", f"{name}{n}", {"N": n}, None) for n in range(3)])
                reader.change("DELETE", TABLE, place, name, None, etag)
                self.assertIsNone(client.get(TABLE, place, name))
            self.assertEqual(list(reader.scan(TABLE)), sorted(
                (place, f"{writer}{n}") for place in places for n in range(3) for writer in ("a", "b")
                if writer == name or name == "b"))
        for name in ("a", "b"):
            client = self.client(name)
            client.set_service_properties()
            client.set_acl(TABLE)
            with self.assertRaises(HttpFailure) as missing:
                client.put("NoSuchTable", {"PartitionKey": places[0], "RowKey": "r"})
            self.assertEqual((missing.exception.status, missing.exception.code), (404, "TableNotFound"))
            strange = HttpClient(self.port(name))
            for place in places:
                path = f"/{ACCOUNT}/{TABLE}(PartitionKey='{place}',RowKey='r')"
                self.assertEqual(strange.send("GET", path)[0], 401, "credentials are checked everywhere")

    def test_a_table_that_was_dropped_is_gone_for_all_processes(self):
        self.start_two()
        places = self.partitions(TABLE)
        for number, (name, other) in enumerate((("a", "b"), ("b", "a"), ("a", "a"), ("b", "b"))):
            self.client(name).create_table(TABLE)
            self.client(name).put_many(TABLE, [{"PartitionKey": place, "RowKey": f"r{number}"} for place in places])
            self.assertEqual(len(self.client(other).scan(TABLE)), SHARDS)
            self.client(other).delete_table(TABLE)
            for asked in ("a", "b"):
                for place in places:
                    with self.assertRaises(HttpFailure) as gone:
                        self.client(asked).change("MERGE", TABLE, place, "r", {}, None)
                    self.assertEqual(gone.exception.status, 404)
                    self.assertIsNone(self.client(asked).get(TABLE, place, f"r{number}"))
        wait_until(lambda: self.query("SELECT count(*) FROM tidemark_table.entries WHERE substr(key, 1, 1) = 'e'") == "0",
                   "each owner erases the rows of its shards")

    def test_operations_of_users_hold_on_all_shards(self):
        self.start_two()
        self.client("a").create_table(TABLE)
        places = self.partitions(TABLE)

        def write(name, place, epoch):
            fence = {"x-ms-tidemark-operation-id": "job", "x-ms-tidemark-epoch": str(epoch)}
            self.client(name)._ask("PUT", TableClient._path(TABLE, place, "r"), body="{}", headers=fence)

        def operation(name, method, epoch):
            fence = {"x-ms-tidemark-operation-id": "job", "x-ms-tidemark-epoch": str(epoch)}
            return self.client(name)._ask(method, "/$operation", headers=fence)[1]

        for place in places:
            for name in ("a", "b"):
                write(name, place, 1)
        self.assertIn(b'"applied":"8"', operation("a", "GET", 1))
        operation("b", "POST", 2)
        for place in places:
            with self.assertRaises(HttpFailure) as fenced:
                write("a", place, 1)
            self.assertEqual((fenced.exception.status, fenced.exception.code), (412, "Fenced"))
        write("a", places[0], 2)
        self.assertIn(b'"closed":true', operation("a", "DELETE", 2))
        for place in places:
            with self.assertRaises(HttpFailure):
                write("b", place, 3)
        self.assertIn(b'"applied":"9"', operation("b", "GET", 1))

    def test_tables_come_and_go_while_owners_die(self):
        """Nothing of a dropped table is left once it is made again, even if a process dies meanwhile."""
        names = ("a", "b", "c")
        for name in names:
            self.start(name)
        self.await_shares(2, 1, 1)
        stop = threading.Event()
        failures, made = [], {f"Again{n}": 0 for n in range(3)}

        def come_and_go(table, turn):
            places = self.partitions(table)
            clients = {}
            attempts = 0

            def ask(operation, *allowed):
                nonlocal attempts
                for _ in range(2_000):
                    ports = self.ports()
                    port = ports[(turn + attempts) % len(ports)]
                    attempts += 1
                    try:
                        return operation(clients.setdefault(port, Client(port)))
                    except HttpFailure as failure:
                        if failure.status in allowed:
                            return None
                        if failure.status < 500:
                            raise
                    except GONE:
                        pass
                    time.sleep(0.01)
                raise AssertionError("it is not done")

            try:
                while not stop.is_set():
                    generation = made[table] + 1
                    # A client that is told that the table exists had made it already, and not been told.
                    ask(lambda client: client.create_table(table), 409)
                    self.assertEqual(ask(lambda client: client.scan(table)), {}, f"{table} {generation}")
                    for place in places:
                        self.assertIsNone(ask(lambda client: client.get(table, place, "r")), f"{table} {generation}")
                        ask(lambda client: client.put(table, {"PartitionKey": place, "RowKey": "r", "N": generation}))
                    for place in places:
                        self.assertEqual(ask(lambda client: client.get(table, place, "r"))["N"], generation)
                    ask(lambda client: client.delete_table(table), 404)
                    made[table] = generation
            except Exception as failure:  # reported below
                failures.append(failure)

        threads = [threading.Thread(target=come_and_go, args=each) for each in zip(made, range(3))]
        for thread in threads:
            thread.start()
        try:
            for number in range(3 * ROUNDS):
                wait_until(lambda: failures or min(made.values()) > number, "tables come and go", 60)
                victim = names[number % 3]
                self.child(victim).kill()
                before = dict(made)
                wait_until(lambda: failures or all(made[table] > before[table] + 1 for table in made),
                           "tables come and go without the one that was killed", 60)
                self.start(victim)
                self.await_shares(2, 1, 1)
                if failures:
                    break
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        print(f"tables that came and went: {made}", file=sys.stderr)

    def start_workers(self):
        """Adds the api, at `a`, whose table store has some of the shards."""
        stack = self.stacks["a"]
        for store in ("queue_service", "blob_store"):
            stack.start(store)
        stack.start("api")
        for number in range(2):
            stack.start_worker(f"worker-{number}", *WORKER)
        return ApiClient(stack.ports["api"])

    def write_things(self, choice, count):
        """Calls one process or the other, again and again, until one acknowledges."""
        def client():
            return self.client(choice.choice(sorted(self.stacks)))

        for _ in range(count):
            partition, row = f"p{choice.randrange(12)}", f"w{choice.randrange(20)}"
            entity = {"PartitionKey": partition, "RowKey": row, "Host": f"h{choice.randrange(5)}",
                      "Colour": choice.choice("rgb"), "Section": choice.choice(indexes.SECTIONS),
                      "Size": choice.randrange(-9, 99)}
            if choice.random() < 0.2:
                self.eventually(lambda: self.remove(client(), partition, row))
            else:
                self.eventually(lambda: client().put(indexes.SOURCE, entity))
            if choice.random() < 0.1:
                self.eventually(lambda: indexes.change_colours(client(), choice, "rgb"))

    @staticmethod
    def remove(client, partition, row):
        try:
            client.delete(indexes.SOURCE, partition, row)
        except HttpFailure as failure:
            if failure.status != 404:
                raise

    @sizes.at_night
    def test_indexes_and_feeds_follow_while_owners_die(self):
        self.start_two()
        api = self.start_workers()
        for table in (indexes.SOURCE, indexes.REFERRED):
            self.client("a").create_table(table)
        api.call("PUT", f"/v1/tables/{indexes.SOURCE}/feed", {"values": "new"})
        for name, definition in indexes.INDEXES.items():
            patiently(api.call, "PUT", f"/v1/indexes/{name}", definition)
        choice = random.Random(16)
        for _ in range(ROUNDS):
            for victim in ("b", "a"):
                self.write_things(choice, 100)
                self.child(victim).kill()
                self.write_things(choice, 100)
                self.start(victim)
                self.await_shares(2, 2)
        blobs = BlobClient(self.stacks["a"].ports["blob_store"])
        for name in indexes.INDEXES:
            wait_until(lambda: patiently(indexes.caught_up, api, name), f"{name} has caught up", 60)
        for process in ("a", "b"):
            tables = self.client(process)
            things = {key: entity for key, entity in tables.scan(indexes.SOURCE).items() if key[1].startswith("w")}
            referred = tables.scan(indexes.REFERRED)
            for name, definition in indexes.INDEXES.items():
                self.assertEqual(indexes.rows_of(tables, name, definition, blobs),
                                 indexes.wanted_rows(name, definition, things, referred), f"{name} as {process} sees it")
        self.assertEqual(self.told(api), {key: things[key].get("Host") for key in things})

    def told(self, api):
        """Returns the contents that follow from the feed's changes in their order."""
        found, place = {}, "oldest"
        while True:
            page = api.call("GET", f"/v1/tables/{indexes.SOURCE}/changes?after={place}&new=true&limit=1000")
            for change in page["changes"]:
                key = change["partitionKey"], change["rowKey"]
                if key[1].startswith("w"):
                    found[key] = change["new"].get("Host") if change["kind"] != "delete" else None
            place = page["next"]
            if not page["more"]:
                return {key: host for key, host in found.items() if host is not None}

    @sizes.in_turn(2)
    def test_jobs_move_entities_between_owners_that_die(self):
        self.start_two()
        api = self.start_workers()
        for number in range(ROUNDS):
            source, destination = f"From{number}", f"To{number}"
            self.eventually(lambda: self.client("a").create_table(source))
            entities = {(f"p{p:02}", f"r{r:02}"): {"PartitionKey": f"p{p:02}", "RowKey": f"r{r:02}", "N": p * 100 + r}
                        for p in range(40) for r in range(50)}
            self.client("a").put_many(source, list(entities.values()))
            job = patiently(api.submit, {"kind": "archive", "source": source, "destination": destination, "filter": "N ge 0",
                                         "maxAttempts": 100, "maxPerSecond": 400})
            for victim in ("b", "a"):
                before = len(self.moved(victim, destination))
                wait_until(lambda: len(self.moved(victim, destination)) > before or self.ended(api, job), "it moves")
                self.child(victim).kill()
                self.start(victim)
                self.await_shares(2, 2)
            wait_until(lambda: self.ended(api, job), "the job ends", 120)
            done = api.job(job)
            self.assertEqual(done["state"], "succeeded", done)
            for name in ("a", "b"):
                self.assertEqual(self.client(name).scan(source), {})
                self.assertEqual(self.client(name).scan(destination), entities)
            self.assertEqual(done["progress"]["done"], len(entities), "each is counted once")
        checked = subprocess.run([program("tidemark"), "--api", f"http://127.0.0.1:{self.stacks['a'].ports['api']}", "fsck"],
                                 env=clean_environment(), capture_output=True, text=True, timeout=120)
        self.assertIn("nothing is wrong", checked.stdout + checked.stderr)

    def moved(self, name, destination):
        return self.eventually(lambda: self.client(name).scan(destination))

    @staticmethod
    def ended(api, job):
        return ended(patiently(api.job, job))


if __name__ == "__main__":
    unittest.main()
