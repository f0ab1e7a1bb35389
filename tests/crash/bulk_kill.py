"""One bulk job archives many entities while its workers are killed every few seconds; every entity is accounted for.

    tests/crash/bulk_kill.py --entities 1000000 --kill-every 3

The oracle is arithmetic and lives in this process: entity n's key and properties follow from n. At the end both tables
are read through the table protocol, and each n must be in exactly one of them, once, unchanged: in the source if
another entity was in its way in the destination, else in the destination. While the job runs, its progress must only
rise and never claim more than has left the source; the lag is reported. So is the memory of each process: beyond the
caches and write buffers that a store is configured to have, and says it has (/metrics), it must stay as it was before
there was anything to do. Nothing may grow with the number of entities.
"""
import argparse
import concurrent.futures
import itertools
import os
import random
import re
import sys
import time
from urllib.parse import urlencode

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ApiClient, HttpClient, TableClient, ended, patiently  # noqa: E402
from stack import Stack, wait_until  # noqa: E402

SOURCE, DESTINATION = "Bulk", "BulkArchive"
PARTITIONS = (1, 100, 7, 250, 142)  # sizes, in turn
BLOCK = sum(PARTITIONS)
IN_THE_WAY = 997  # every 997th entity meets another one in the destination and stays
PAGE = 1000       # the most entities that a job has under way
WORKER = ("--lease-s", "2", "--poll-s", "2", "--retry-base-ms", "50", "--retry-cap-ms", "500")
# The most that a process may take beyond its memory when it was idle and empty, and beyond a store's cache and write
# buffers: requests under way, and freed memory that the allocator keeps. With a million entities, fifty bytes kept for
# each would be too many.
SLACK_MB = {"table_store": 48, "queue_service": 24, "api": 16, "worker": 16}
CONFIGURED_MB = 256 + 3 * 64  # a store's default cache and write buffers
STUCK_S = 180.0
LOOK_EVERY_S = 0.1


def key_of(n):
    block, offset = divmod(n, BLOCK)
    partition = 0
    while offset >= PARTITIONS[partition]:
        offset -= PARTITIONS[partition]
        partition += 1
    return f"p{block:06}-{partition}", f"r{offset:03}"


def number_of(partition_key, row_key):
    block, partition = partition_key[1:].split("-")
    return int(block) * BLOCK + sum(PARTITIONS[:int(partition)]) + int(row_key[1:])


def entity_of(n):
    partition_key, row_key = key_of(n)
    return {"PartitionKey": partition_key, "RowKey": row_key, "Number": n, "Ratio": n / 7, "Stays": stays(n),
            "Text": f"{n * 2654435761 % 2**32:08x}" * (1 + n % 9)}


def stays(n):
    return n % IN_THE_WAY == 0


def staying_below(n):
    return -(-n // IN_THE_WAY)


def obstacle_of(n):
    partition_key, row_key = key_of(n)
    return {"PartitionKey": partition_key, "RowKey": row_key, "Obstacle": n}


def load(port, begin, end):
    TableClient(port).put_many(SOURCE, (entity_of(n) for n in range(begin, end)))


def resident_mb(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return int(re.search(r"(?m)^VmRSS:\s+(\d+) kB", file.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return 0.0  # it has just been killed


class Memory:
    """The memory peaks of each process; for a store also those without cache and write buffers."""

    def __init__(self, ports):
        self.metrics = {name: HttpClient(port) for name, port in ports.items() if name != "api"}
        self.empty, self.peaks, self.other, self.configured = {}, {}, {}, {}

    def look(self, children):
        for name, child in children.items():
            kind = "worker" if name.startswith("w-") else name
            resident = resident_mb(child.pid)
            self.empty.setdefault(kind, resident)
            self.peaks[kind] = max(self.peaks.get(kind, 0.0), resident)
            configured = self.ask(name) if name in self.metrics else 0.0
            self.configured[kind] = max(self.configured.get(kind, 0.0), configured)
            self.other[kind] = max(self.other.get(kind, 0.0), resident - configured)

    def ask(self, store):
        _, text = patiently(self.metrics[store].ask, "GET", "/metrics", {})
        parts = re.findall(rb'(?m)^tidemark_database_memory_bytes\{part="\w+"\} (\S+)', text)
        assert len(parts) == 2, text
        return sum(float(part) for part in parts) / 2**20

    def judge(self):
        for name, peak in sorted(self.peaks.items()):
            print(f"memory of {name}: {self.empty[name]:.1f} MB at its start, {peak:.1f} MB at most; cache and write "
                  f"buffers {self.configured[name]:.1f} MB at most, all else {self.other[name]:.1f} MB at most")
        for name, peak in self.peaks.items():
            assert self.configured[name] <= CONFIGURED_MB, f"{name} does not keep to its cache and write buffers"
            # The system may not have freed write buffers that were handed on when the next ones fill.
            limit = self.empty[name] + self.configured[name] + SLACK_MB[name]
            assert peak <= limit, f"{name} took {peak:.1f} MB, more than {limit:.1f} MB"


class Run:
    def __init__(self, options, stack):
        self.options = options
        self.stack = stack
        self.choice = random.Random(options.seed)
        self.tables = TableClient(stack.ports["table_store"])
        self.api = ApiClient(stack.ports["api"])
        self.memory = Memory(stack.ports)
        self.memory.look(stack.children)
        self.numbers = itertools.count()
        self.kills = self.takeovers = self.looks = 0
        self.done = self.greatest_lag = 0
        self.frontier = 0  # every entity below it that could be moved has left the source

    def prepare(self):
        begun = time.monotonic()
        for table in (SOURCE, DESTINATION):
            self.tables.create_table(table)
        count, port = self.options.entities, self.stack.ports["table_store"]
        step = 20 * BLOCK
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            for part in [pool.submit(load, port, begin, min(begin + step, count)) for begin in range(0, count, step)]:
                part.result()
                self.memory.look(self.stack.children)
        self.tables.put_many(DESTINATION, [obstacle_of(n) for n in range(0, count, IN_THE_WAY)])
        print(f"{count} entities written in {time.monotonic() - begun:.1f} s", flush=True)

    def start_worker(self):
        """Starts a worker under a new name: a record that names a dead worker must not seem to name this one."""
        self.stack.start_worker(f"w-{next(self.numbers)}", *WORKER)

    def work(self):
        """Runs the job from submission to end, under kills. Returns the job as the api shows it."""
        spec = {"kind": "archive", "source": SOURCE, "destination": DESTINATION, "filter": "",

                "maxAffected": self.options.entities}
        if self.options.per_second:
            spec["maxPerSecond"] = self.options.per_second
        for _ in range(self.options.workers):
            self.start_worker()
        begun = kill_at = look_at = time.monotonic()
        job_id = self.api.submit(spec)
        moved_at = begun
        while True:
            wait_until(lambda: time.monotonic() >= look_at, "the time to look again")  # pylint: disable=cell-var-from-loop
            look_at = time.monotonic() + LOOK_EVERY_S
            before = self.done
            job = patiently(self.api.job, job_id)
            self.check_progress(job)
            if self.done > before:
                moved_at = time.monotonic()
            assert time.monotonic() - moved_at < STUCK_S, f"no progress for {STUCK_S:g} s: {job}"
            if ended(job):
                break
            if time.monotonic() >= kill_at:
                kill_at = time.monotonic() + self.choice.uniform(0.5, 1.5) * self.options.kill_every
                self.kill_one(job)
        took = time.monotonic() - begun
        print(f"archived in {took:.1f} s, {job['progress']['done'] / took:.0f} a second; {self.kills} kills, "
              f"{self.takeovers} of the worker that had the job; {job['attempts']} attempts", flush=True)
        return job

    def kill_one(self, job):
        """Kills the worker that has the job, if there is one; now and then another."""
        if self.done == 0 and "worker" not in job:
            return
        workers = [name for name in self.stack.children if name.startswith("w-")]
        victim = job.get("worker")
        if victim in workers and self.choice.random() < 0.8:
            self.takeovers += 1
        else:
            victim = self.choice.choice(workers)
        self.stack.children.pop(victim).kill()
        self.start_worker()
        self.kills += 1

    def check_progress(self, job):
        progress = job["progress"]
        assert progress["done"] >= self.done, f"done went down from {self.done}: {job}"
        self.done = progress["done"]
        self.memory.look(self.stack.children)
        # The frontier is read after the job: by now at least the claimed entities have left, and all but a page in
        # order of keys.
        self.find_frontier()
        moved = self.frontier - staying_below(self.frontier)
        assert self.done <= moved + PAGE, f"{self.done} done are claimed, only {moved} have left the source in order"
        self.greatest_lag = max(self.greatest_lag, moved - self.done)
        self.looks += 1

    def find_frontier(self):
        """Finds the first entity that is still to be moved, by the protocol's own order."""
        from_partition = key_of(self.frontier)[0]
        marker = {}
        while True:
            query = urlencode({"$filter": f"PartitionKey ge '{from_partition}' and Stays eq false", "$top": 1, **marker})
            found, marker = patiently(self.tables.query_page, SOURCE, query)
            if found:
                self.frontier = number_of(found[0]["PartitionKey"], found[0]["RowKey"])
                return
            if not marker:
                self.frontier = self.options.entities
                return

    def judge(self, job):
        count = self.options.entities
        staying = staying_below(count)
        progress = job["progress"]
        assert job["state"] == "succeeded", job
        assert (progress["done"], progress["skipped"]) == (count - staying, staying), job
        assert progress.get("total") == count, job
        begun = time.monotonic()
        here = self.read_all(SOURCE, entity_of)
        there = self.read_all(DESTINATION, lambda n: obstacle_of(n) if stays(n) else entity_of(n))
        for n in range(count):
            expected = (1, 1) if stays(n) else (0, 1)
            assert (here[n], there[n]) == expected, f"entity {n} is in source and destination {here[n]}, {there[n]} times"
        print(f"{count} entities accounted for, {staying} of them skipped, in {time.monotonic() - begun:.1f} s; progress "
              f"was looked at {self.looks} times and at most {self.greatest_lag} entities behind", flush=True)
        if not self.options.any_memory:
            self.memory.judge()
        assert self.kills >= self.options.least_kills, f"only {self.kills} kills"
        assert self.api.poison() == []

    def read_all(self, table, expected):
        """Counts how often each entity is there; each must be as expected."""
        found, marker = bytearray(self.options.entities), {}
        while True:
            entities, marker = self.tables.query_page(table, urlencode(marker))
            for entity in entities:
                n = number_of(entity["PartitionKey"], entity["RowKey"])
                assert entity == expected(n), f"{table}: {entity} is not {expected(n)}"
                found[n] += 1
            if not marker:
                return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--kill-every", type=float, default=3.0, help="seconds between kills, on average")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--per-second", type=int, default=0, help="pace of the job, so that a small one meets kills")
    parser.add_argument("--any-memory", action="store_true", help="do not judge the memory that the processes take")
    parser.add_argument("--least-kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=sizes.seed())
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with Stack() as stack:
        for name in ("table_store", "queue_service"):
            stack.start(name)
        stack.start("api")
        run = Run(options, stack)
        run.prepare()
        run.judge(run.work())


if __name__ == "__main__":
    main()
