"""Kills the table store with SIGKILL, at every fail point and at random, under clients that write one partition each.

The oracle is the answers that the clients got; it lives in this process. However the store dies: every acknowledged
write is there, byte for byte and under the ETag of its answer; a write without an answer happened as a whole or not at
all, an entity group transaction too; versions only rise; small archive jobs, which write over the internal link, end
with every entity moved.
"""
import http.client
import os
import random
import re
import sys
import threading
from urllib.parse import unquote

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import shards  # noqa: E402
from clients import ApiClient, HttpFailure, TableClient, ended, patiently  # noqa: E402
from stack import wait_until  # noqa: E402
from store_crashes import StoreCrashTest, main  # noqa: E402

TABLE = "Kept"
WRITERS = 4
ENOUGH = 100  # acknowledged writes; fewer prove hardly anything
WORKER = ("--lease-s", "2", "--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "200")
# Steps that clients who follow a table reach; there are none here (index_crash_test.py, feed_test.py).
FOLLOWING = ("table.follow", "table.unfollow", "table.acknowledge", "table.trim_log", "table.mutate_all",
             "table.put_feed", "table.drop_feed", "table.let_changes_go")
BETWEEN_SHARDS = ("catalogue.",)
# Over shards, source and destination of a small job are hardly ever on one shard: the worker copies and removes.
ON_ONE_SHARD = ("table.move",)
UNANSWERED = (OSError, http.client.HTTPException)


def version_of(etag):
    """Returns the time in the ETag with all seven digits (the ETag omits trailing zeros), so that it sorts as text."""
    second, fraction = re.fullmatch(r"W/\"datetime'([^.]*)(?:\.(\d+))?Z'\"", unquote(etag)).groups()
    return f"{second}.{(fraction or '').ljust(7, '0')}"


class Writer:
    """The only client that writes its partition, so it knows the expected content: {row: (properties, etag)}."""

    def __init__(self, port, number, seed):
        self.client = TableClient(port)
        self.partition = f"p{number}"
        self.choice = random.Random(seed * 100 + number)
        self.known = {}
        self.last = ""
        self.done = {"acknowledged": 0, "unanswered": 0, "happened": 0}
        self._stamp = 0

    def step(self):
        changes = self._plan()
        try:
            if len(changes) == 1:
                etags = [self._send_one(*changes[0])]
            else:
                etags = self.client.change_group(TABLE, self.partition, changes)
        except HttpFailure as failure:
            if failure.status < 500:
                raise AssertionError(f"{self.partition}: {changes} was refused: {failure}"[:2000]) from failure
            self._learn(changes)
        except UNANSWERED:
            self._learn(changes)
        else:
            self.done["acknowledged"] += 1
            self._believe(changes, etags)
            if self.choice.random() < 0.05:
                self.check(self.read())

    def _plan(self):
        """Returns [(method, row, properties or None, etag or None)], one or a group; rows are not repeated."""
        self._stamp += 1
        rows = self.choice.sample([f"r{n:02}" for n in range(40)], self.choice.choice((1, 1, 1, 2, 5, 20)))
        return [self._plan_one(row) for row in rows]

    def _plan_one(self, row):
        properties = {"Stamp": self._stamp, "Text": "x" * self.choice.choice((0, 10, 200))}
        if row not in self.known:
            return self.choice.choice(("PUT", "POST")), row, properties, None
        method = self.choice.choice(("PUT", "MERGE", "DELETE", "PUT"))
        guard = self.known[row][1] if self.choice.random() < 0.5 or method == "DELETE" else None
        if method == "MERGE":
            del properties["Text"]
        return method, row, None if method == "DELETE" else properties, guard

    def _send_one(self, method, row, properties, etag):
        return self.client.change(method, TABLE, self.partition, row, properties, etag)

    def _applied(self, changes, etags):
        """Returns the rows after the changes."""
        after = dict(self.known)
        for (method, row, properties, _), etag in zip(changes, etags):
            if method == "DELETE":
                del after[row]
            else:
                old = after[row][0] if method == "MERGE" else {}
                after[row] = ({**old, **properties}, etag)
        return after

    def _believe(self, changes, etags):
        versions = {version_of(etag) for etag in etags if etag}
        if versions and min(versions) <= self.last:
            raise AssertionError(f"{self.partition}: version {min(versions)} after {self.last}")
        self.last = max(versions, default=self.last)
        self.known = self._applied(changes, etags)

    def _learn(self, changes):
        """The call had no answer: all of it happened, or nothing."""
        self.done["unanswered"] += 1
        found = self.read()
        if found == self.known:
            return
        self.done["happened"] += 1
        self._believe(changes, [found[row][1] if method != "DELETE" and row in found else None
                                for method, row, _, _ in changes])
        self.check(found)

    def read(self):
        return patiently(self.client.read_partition, TABLE, self.partition)

    def check(self, found):
        if found == self.known:
            return
        for row in sorted(set(found) | set(self.known)):
            if found.get(row) != self.known.get(row):
                raise AssertionError(f"{self.partition}/{row} is {found.get(row)}, not {self.known.get(row)}")


class Traffic:
    """Writers, chores and archive jobs that run until stopped."""

    def __init__(self, stack, seed):
        self.stack = stack
        self.port = stack.ports["table_store"]
        self.stopping = threading.Event()
        self.errors = []
        self.writers = [Writer(self.port, n, seed) for n in range(WRITERS)]
        self.jobs, self.additions = [], []
        targets = [lambda w=w: self._write(w) for w in self.writers] + [self._do_chores, self._archive]
        self._threads = [threading.Thread(target=self._guarded, args=(t,)) for t in targets]
        for thread in self._threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _guarded(self, target):
        try:
            target()
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def _write(self, writer):
        while not self.stopping.is_set():
            writer.step()

    def _do_chores(self):
        """Makes the store's other writes, so that each of its fail points is reached; on a table of its own."""
        client = TableClient(self.port)
        while not self.stopping.is_set():
            for call, *arguments in ((client.create_table, "Chores"), (client.set_acl, "Chores"),
                                     *((client.put, "Chores", {"PartitionKey": f"p{n}", "RowKey": "r"}) for n in range(4)),
                                     (client.set_service_properties,), (client.delete_table, "Chores")):
                try:
                    call(*arguments)
                except (HttpFailure, *UNANSWERED):
                    self.stopping.wait(0.005)

    def _archive(self):
        tables = TableClient(self.port)
        api = ApiClient(self.stack.ports["api"])
        number = 0
        while not self.stopping.is_set():
            number += 1
            partition = f"job{number}"
            for row in range(3):
                patiently(tables.put, "Source", {"PartitionKey": partition, "RowKey": str(row), "Value": number})
            # In turn one job for all of them, and one for each, which the worker carries out in another way.
            selections = ([{"filter": f"PartitionKey eq '{partition}'"}] if number % 2 else
                          [{"partitionKey": partition, "rowKey": str(row)} for row in range(3)])
            for selection in selections:
                job = patiently(api.submit, {
                    "kind": "archive", "source": "Source", "destination": "Archive", "maxAttempts": 100,
                    "idempotencyKey": f"{partition} {selection}", **selection})
                self.jobs.append((job, 3 // len(selections)))
            self.additions.append(patiently(api.submit, {
                "kind": "transaction", "maxAttempts": 100, "idempotencyKey": partition,
                "steps": [{"merge": {"table": "Source", "partitionKey": "sum", "rowKey": f"{n}", "orInsert": True,
                                     "add": {"Value": 1}}} for n in range(2)]}))
            for job in [job for job, _ in self.jobs[-len(selections):]] + self.additions[-1:]:
                self._await(lambda: ended(patiently(api.job, job)))

    def _await(self, condition):
        while not self.stopping.is_set() and not condition():
            self.stopping.wait(0.02)


class CrashTest(StoreCrashTest):
    program = "table_store"

    def prepare(self):
        self.stack.up(workers=1, worker_arguments=WORKER)
        self.client = TableClient(self.stack.ports["table_store"])
        for table in (TABLE, "Source"):
            self.client.create_table(table)

    def start_traffic(self):
        return Traffic(self.stack, self.seed)

    def is_enough(self, traffic):
        return sum(writer.done["acknowledged"] for writer in traffic.writers) > ENOUGH and traffic.jobs

    def judge(self, traffic, _):
        self.stack.restart("table_store")
        totals = {}
        for writer in traffic.writers:
            writer.check(writer.read())
            for name, count in writer.done.items():
                totals[name] = totals.get(name, 0) + count
        print(totals, f"{len(traffic.jobs)} jobs", flush=True)
        self.assertGreater(totals["acknowledged"], ENOUGH, "hardly any traffic proves hardly anything")
        self.judge_jobs(traffic.jobs)
        self.judge_additions(traffic.additions)

    def end_of(self, job_id):
        api = ApiClient(self.stack.ports["api"])
        return wait_until(lambda: (lambda j: j if ended(j) else None)(patiently(api.job, job_id)),
                          f"the end of job {job_id}", 60)

    def judge_additions(self, jobs):
        """Each transaction added 1 to both entities, once."""
        for job_id in jobs:
            job = self.end_of(job_id)
            self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 2), job)
        sums = [self.client.get("Source", "sum", row) for row in "01"]
        self.assertEqual([entity and entity["Value"] for entity in sums], [len(jobs) or None] * 2)

    def judge_jobs(self, jobs):
        self.assertGreater(len(jobs), 0)
        for job_id, moved in jobs:
            job = self.end_of(job_id)
            self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", moved), job)
        archived = self.client.scan("Archive")
        self.assertEqual(len(archived), sum(moved for _, moved in jobs))
        left = {key for key in self.client.scan("Source") if key in archived}
        self.assertEqual(left, set(), "in both tables")


class FailPointTest(CrashTest):
    """The store dies at each of its fail points, one after another, while the clients go on."""

    def test_every_fail_point(self):
        self.die_at_every_point(at_least=20, but_not=FOLLOWING + (ON_ONE_SHARD if shards.COUNT else BETWEEN_SHARDS))


class RandomKillTest(CrashTest):
    def test_random_kills(self):
        self.die_at_random()


if __name__ == "__main__":
    main()
