"""Indexes of a large table are built while workers and the table store are killed every few seconds; no worker may need
more memory than for one page.

    tests/soak/backfill_test.py --entities 5000000

Lists, copies and a summary are declared, and an index job is submitted as well. Meanwhile the resident memory of each
worker is sampled. In the end the rows must be equal to a full scan; they are compared by their number and a sum of
hashes, so that this program needs little memory too.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import threading
import time
from urllib.parse import urlencode

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ApiClient, TableClient, ended, patiently  # noqa: E402
from indexes import caught_up  # noqa: E402
from stack import Stack, program, wait_until  # noqa: E402

TABLE = "Many"
PARTITION = 1000  # entities
MOST_MIB = 200
INDEXES = {
    "lists": {"kind": "lists", "source": TABLE, "by": ["Group"], "destination": "ManyLists"},
    "copies": {"kind": "copies", "source": TABLE, "destination": "ManyCopies", "partitionKey": "{Group}",
               "rowKey": "{PartitionKey}_{RowKey}", "properties": ["Size"]},
    "summary": {"kind": "summary", "source": TABLE, "by": ["Group"], "of": "Size", "destination": "ManySums"},
}
JOB = {"kind": "index", "source": TABLE, "property": "Group", "destination": "ManyByJob", "maxAttempts": 100}


def entity(number, groups):
    group = 0 if number % 10 == 0 else number % groups  # one value is common
    return {"PartitionKey": f"p{number // PARTITION:06}", "RowKey": f"r{number % PARTITION:04}", "Group": f"g{group}",
            "Size": number % 977, "Text": "x" * 100}


class Content:
    """Some keys, each with a group and perhaps a number, in any order."""

    def __init__(self):
        self.count = self.hashes = 0

    def add(self, *member):
        self.count += 1
        self.hashes = (self.hashes + hash(member)) & (2**64 - 1)

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __str__(self):
        return f"{self.count} keys ({self.hashes:016x})"


class Run:
    def __init__(self, options, stack):
        self.options, self.stack = options, stack
        self.choice = random.Random(options.seed)
        self.tables = TableClient(stack.ports["table_store"])
        self.api = ApiClient(stack.ports["api"])
        self.counts = collections.Counter()
        self.most_kib = 0
        self.next_worker = 0
        self.stopping = threading.Event()

    def fill(self):
        begun = time.monotonic()
        url = f"http://127.0.0.1:{self.stack.ports['table_store']}/devstoreaccount1"
        line = [program("tidemark"), "--data", self.stack.data, "--table-url", url, "table", "import", TABLE]
        with subprocess.Popen(line, stdin=subprocess.PIPE, text=True) as importing:
            for number in range(self.options.entities):
                importing.stdin.write(json.dumps(entity(number, self.options.groups)) + "\n")
            importing.stdin.close()
            assert importing.wait() == 0
        print(f"{self.options.entities} entities in {time.monotonic() - begun:.0f} s", flush=True)

    def start_worker(self):
        self.next_worker += 1
        self.stack.start_worker(f"w-{self.next_worker}", "--lease-s", "2")

    def workers(self):
        return [name for name in self.stack.children if name.startswith("w-")]

    def watch(self):
        while not self.stopping.wait(0.1):
            for name in self.workers():
                try:
                    with open(f"/proc/{self.stack.children[name].pid}/status", encoding="ascii") as file:
                        peak = [int(each.split()[1]) for each in file if each.startswith("VmHWM:")]
                except (OSError, KeyError):
                    continue
                self.most_kib = max(self.most_kib, *peak, 0)

    def harm(self):
        if self.choice.random() < 0.25:
            self.stack.restart("table_store")
            self.counts["kills of the table store"] += 1
        else:
            self.stack.children.pop(self.choice.choice(self.workers())).kill()
            self.start_worker()
            self.counts["kills of workers"] += 1

    def build(self):
        for _ in range(2):
            self.start_worker()
        begun = time.monotonic()
        for name, definition in INDEXES.items():
            self.api.call("PUT", f"/v1/indexes/{name}", definition)
        job = self.api.submit(JOB)
        done = lambda: all(patiently(caught_up, self.api, name) for name in INDEXES) and ended(patiently(self.api.job, job))  # noqa: E731
        next_harm = begun
        while not done():
            time.sleep(0.2)
            if time.monotonic() >= next_harm:
                self.harm()
                next_harm = time.monotonic() + self.choice.uniform(1, 2 * self.options.every)
            assert time.monotonic() - begun < self.options.limit, "the indexes are not ready in time"
        took = time.monotonic() - begun
        job = self.api.job(job)
        assert (job["state"], job["progress"]["done"]) == ("succeeded", self.options.entities), job
        told = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        print(f"three indexes and a job in {took:.0f} s: {told}; "
              f"a worker needed {self.most_kib / 1024:.0f} MiB at most", flush=True)

    def rows(self, table):
        marker = {"$top": 1000}
        while marker:
            page, marker = patiently(self.tables.query_page, table, urlencode(marker))
            yield from page

    def judge(self):
        lists, copies = Content(), Content()
        sums = collections.defaultdict(lambda: [0, 0])
        for each in self.rows(TABLE):
            lists.add(each["Group"], each["PartitionKey"], each["RowKey"])
            copies.add(each["Group"], each["PartitionKey"], each["RowKey"], each["Size"])
            sums[each["Group"]][0] += 1
            sums[each["Group"]][1] += each["Size"]
        found = {name: Content() for name in ("lists", "copies", "summary", "job")}
        for name, table, keys in (("lists", "ManyLists", "Keys"), ("summary", "ManySums", "Keys"), ("job", "ManyByJob", "Keys0")):
            for row in self.rows(table):
                if row["RowKey"] == "summary":
                    assert [int(row["Count"]), int(row["Sum"])] == sums.pop(row["PartitionKey"]), row
                    continue
                for key in json.loads(row[keys]):
                    found[name].add(row["PartitionKey"], *key)
        for row in self.rows("ManyCopies"):
            found["copies"].add(row["PartitionKey"], *row["RowKey"].split("_"), row["Size"])
        for name, wanted in (("lists", lists), ("copies", copies), ("summary", copies), ("job", lists)):
            assert found[name] == wanted, f"{name}: {found[name]}, but a scan gives {wanted}"
        assert not sums, f"groups without a summary: {sorted(sums)[:5]}"
        assert self.most_kib <= MOST_MIB << 10, f"a worker needed {self.most_kib >> 10} MiB"
        print("the rows are what a scan gives")

    def work(self):
        self.fill()
        watching = threading.Thread(target=self.watch, daemon=True)
        watching.start()
        self.build()
        self.stopping.set()
        watching.join()
        self.judge()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--every", type=float, default=3, help="seconds between two kills, about")
    parser.add_argument("--limit", type=float, default=3600, help="seconds that building may take")
    parser.add_argument("--seed", type=int, default=sizes.seed())
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with Stack() as stack:
        stack.up()
        Run(options, stack).work()


if __name__ == "__main__":
    main()
