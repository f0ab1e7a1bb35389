"""Debian's package index with three indexes at once, which stay correct while all processes that keep them are killed.

    tests/crash/package_index_test.py --packages 0 --writes 100000      # all of it

The package index of this machine (`apt-cache dumpavail`; without one, made-up packages) is imported: lists by
Maintainer, copies by the host of Homepage, a summary of InstalledSize by Section. Then writers change random packages:
new values, removals, packages that come back, transactions of several, and jobs archive sections and bring them back.
Meanwhile the table store, the queue service and the workers are killed. In the end each index must be equal to the
result of a full scan.
"""
import argparse
import collections
import hashlib
import os
import random
import re
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ApiClient, HttpFailure, TableClient, ended, patiently  # noqa: E402
from indexes import caught_up, rows_of  # noqa: E402
from stack import Stack, program, wait_until  # noqa: E402

TABLE = "Packages"
WRITERS = 4
INDEXES = {
    "by-maintainer": {"kind": "lists", "source": TABLE, "by": ["Maintainer"], "destination": "ByMaintainer"},
    "by-host": {"kind": "copies", "source": TABLE, "destination": "ByHost", "partitionKey": "{HomepageHost}",
                "rowKey": "{PartitionKey}_{RowKey}", "properties": ["Version"]},
    "sizes": {"kind": "summary", "source": TABLE, "by": ["Section"], "of": "InstalledSize", "destination": "Sizes"},
}


def made_up(count):
    for n in range(count):
        yield (f"Package: made-up-{n}\nVersion: 1.{n}\nSection: {'contrib/' if n % 9 == 0 else ''}s{n % 30}\n"
               f"Maintainer: Team {n % 97}, 100% <t{n % 97}@example.org>\nInstalled-Size: {n * 7 % 5000}\n"
               + (f"Homepage: https://h{n % 50}.example.org/{n}\n" if n % 3 else ""))


def package_index(count):
    """Returns the first `count` packages of the index; 0: all."""
    try:
        text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        text = ""
    packages = [each for each in text.split("\n\n") if each.startswith("Package: ")]
    if len(packages) < 1000:
        packages = list(made_up(count or 60_000))
    return "\n\n".join(each.strip("\n") for each in packages[:count or None]) + "\n\n"


# The expected rows, from docs/indexes.md alone.

def escaped(text, more=""):
    forbidden = re.compile(rf"[%/\\#?\x00-\x1f\x7f-\x9f{more}]")
    return forbidden.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


def group_of(value):
    text = escaped(value, ",")
    return text if len(text) <= 400 else "%sha256:" + hashlib.sha256(text.encode()).hexdigest()


def wanted(packages):
    lists, copies, summaries = collections.defaultdict(list), {}, collections.defaultdict(list)
    for (section, name), package in packages.items():
        if "Maintainer" in package:
            group = group_of(package["Maintainer"])
            lists[group, group].append((section, name))
        if "HomepageHost" in package:
            content = {"Version": package["Version"]} if "Version" in package else {}
            copies[escaped(package["HomepageHost"]), f"{section}_{name}"] = content
        if "Section" in package:
            summaries[group_of(package["Section"])].append((section, name) + (
                (int(package["InstalledSize"]),) if "InstalledSize" in package else ()))
    sizes = {}
    for group, members in summaries.items():
        numbers = [member[2] for member in members if len(member) > 2]
        totals = {"Sum": str(sum(numbers)), "Min": str(min(numbers)), "Max": str(max(numbers))} if numbers else {}
        sizes[group, "summary"] = {"Group": group, "Count": str(len(members)), **totals}
        sizes[group, group] = sorted(members, key=str)
    return {"by-maintainer": {place: sorted(keys, key=str) for place, keys in lists.items()}, "by-host": copies,
            "sizes": sizes}


class Writer(threading.Thread):
    def __init__(self, number, run):
        super().__init__(daemon=True)
        self.state = run
        self.choice = random.Random(run.options.seed * 100 + number)
        self.tables = TableClient(run.stack.ports["table_store"])
        self.left = run.options.writes // WRITERS
        self.lost = 0
        self.error = None

    def run(self):
        try:
            while self.left > 0:
                self.write()
        except BaseException as error:  # noqa: BLE001
            self.error = error
            raise

    def changed(self, package):
        """Returns the package with another package's maintainer, host and size, or without some of them."""
        other = self.choice.choice(self.state.packages)
        out = {name: value for name, value in package.items() if name in ("Version", "Section")}
        for name in ("Maintainer", "HomepageHost"):
            if name in other and self.choice.random() < 0.9:
                out[name] = other[name]
        if self.choice.random() < 0.9:
            out["InstalledSize"] = self.choice.randrange(-10, 100_000)
        return out

    def write(self):
        package = self.choice.choice(self.state.packages)
        section, kind, count = package["PartitionKey"], self.choice.random(), 1
        try:
            if kind < 0.2:
                self.tables.delete(TABLE, section, package["RowKey"])
            elif kind < 0.4:
                group = self.choice.sample(self.state.sections[section], min(10, len(self.state.sections[section])))
                count = len(group)
                self.tables.change_group(TABLE, section, [("PUT", each["RowKey"], self.changed(each), None) for each in group])
            else:
                self.tables.change("PUT", TABLE, section, package["RowKey"], self.changed(package), None)
        except Exception as error:  # noqa: BLE001
            if isinstance(error, HttpFailure) and error.status < 500 and error.status != 404:
                raise
            self.lost += not (isinstance(error, HttpFailure) and error.status == 404)
            time.sleep(0.01)
        self.left -= count


class Run:
    def __init__(self, options, stack):
        self.options, self.stack = options, stack
        self.choice = random.Random(options.seed)
        self.tables = TableClient(stack.ports["table_store"])
        self.api = ApiClient(stack.ports["api"])
        self.counts = collections.Counter()
        self.packages, self.sections = [], collections.defaultdict(list)
        self.next_worker = 0

    def start_worker(self):
        self.next_worker += 1
        self.stack.start_worker(f"w-{self.next_worker}", "--lease-s", "2")

    def import_packages(self):
        with open(os.path.join(self.stack.directory, "packages"), "w", encoding="utf-8") as file:
            file.write(package_index(self.options.packages))
        subprocess.run([program("tidemark"), "--data", self.stack.data, "--table-url",
                        f"http://127.0.0.1:{self.stack.ports['table_store']}/devstoreaccount1", "table", "import", TABLE,
                        "--format", "debian-packages", "--file", file.name], check=True)
        self.packages = list(self.tables.scan(TABLE).values())
        for package in self.packages:
            self.sections[package["PartitionKey"]].append(package)

    def build(self):
        begun = time.monotonic()
        for name, definition in INDEXES.items():
            self.api.call("PUT", f"/v1/indexes/{name}", definition)
        wait_until(lambda: all(caught_up(self.api, name) for name in INDEXES), "the indexes are built", 600)
        print(f"{len(self.packages)} packages: three indexes ready after {time.monotonic() - begun:.1f} s", flush=True)
        self.judge()

    def harm(self):
        kind = self.choice.random()
        if kind < 0.25:
            self.stack.restart("table_store")
            self.counts["kills of the table store"] += 1
        elif kind < 0.35:
            self.stack.restart("queue_service")
            self.counts["kills of the queue service"] += 1
        else:
            name = self.choice.choice([name for name in self.stack.children if name.startswith("w-")])
            self.stack.children.pop(name).kill()
            self.start_worker()
            self.counts["kills of workers"] += 1

    def archive(self):
        """A section leaves the table and comes back; entities that were written meanwhile stay."""
        section = self.choice.choice(sorted(self.sections)).replace("'", "''")
        selected = {"filter": f"PartitionKey eq '{section}'", "maxAttempts": 100}
        back = {"kind": "unarchive", "source": "Archived", "destination": TABLE, **selected}
        job = {"kind": "archive", "source": TABLE, "destination": "Archived", **selected, "then": back}
        self.counts["archive jobs"] += 1
        return patiently(self.api.submit, {**job, "idempotencyKey": f"{self.options.seed}-{self.counts['archive jobs']}"})

    def write(self):
        writers = [Writer(number, self) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        jobs = []
        while any(writer.is_alive() for writer in writers):
            time.sleep(self.choice.uniform(0.2, 1.0))
            self.harm()
            if self.choice.random() < 0.3:
                jobs.append(self.archive())
        for writer in writers:
            writer.join()
            if writer.error:
                raise writer.error
        self.counts["lost answers"] = sum(writer.lost for writer in writers)
        while jobs:
            job = wait_until(lambda: (each := patiently(self.api.job, jobs[-1])) and ended(each) and each, "a job ends", 120)
            assert job["state"] == "succeeded", job
            jobs.pop()
            if job.get("thenJob"):
                wait_until(lambda: self.is_known(job["thenJob"]), "its job follows", 60)  # pylint: disable=cell-var-from-loop
                jobs.append(job["thenJob"])

    def is_known(self, job):
        try:
            return self.api.job(job)
        except HttpFailure:
            return None

    def judge(self):
        truth = wanted(patiently(self.tables.scan, TABLE))
        for name, definition in INDEXES.items():
            actual = rows_of(self.tables, name, definition)
            wrong = [(place, truth[name].get(place), actual.get(place)) for place in {**truth[name], **actual}
                     if truth[name].get(place) != actual.get(place)]
            assert not wrong, f"{name}: {len(wrong)} rows are wrong, such as {wrong[:2]}"
            index = self.api.call("GET", f"/v1/indexes/{name}")
            assert index["wrongEver"] == 0, index

    def work(self):
        for _ in range(2):
            self.start_worker()
        self.import_packages()
        self.build()
        self.write()
        begun = time.monotonic()
        wait_until(lambda: all(caught_up(self.api, name) for name in INDEXES), "the indexes catch up", 300)
        took = time.monotonic() - begun
        self.judge()
        told = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        print(f"{self.options.writes} writes, {told}: the indexes are what a scan gives, {took:.1f} s after the last write")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--packages", type=int, default=sizes.scaled(1_000), help="the first so many; 0: all")
    parser.add_argument("--writes", type=int, default=sizes.scaled(1_500))
    parser.add_argument("--seed", type=int, default=sizes.seed())
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with Stack() as stack:
        stack.up()
        Run(options, stack).work()


if __name__ == "__main__":
    main()
