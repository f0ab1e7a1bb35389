"""Hours in minutes: a mixed load that removes as much as it adds, after which nothing may have grown.

    tests/soak/soak_test.py --minutes 30

Users write, replace, read and delete entities, messages and blobs over names that repeat, connections are opened and
closed, event streams are followed, and jobs archive a table, restore it, copy and delete. Meanwhile memory, open files,
threads and disk of each process are sampled. The second third of the time is compared with the last one.
"""
import collections
import json
import os
import random
import socket
import statistics
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import TOKEN, ApiClient, BlobClient, QueueClient, TableClient, ended  # noqa: E402
from stack import Stack, wait_until  # noqa: E402

STORES = ("table_store", "queue_service", "blob_store")
FOLDERS = {"table_store": "table", "queue_service": "queue", "blob_store": "blob"}
SMALL = ("--block-cache-mib", "16")  # so that caches are full long before the comparison begins
KEYS = 5_000
BLOBS = 100
SAMPLE_S = 1.0
BETWEEN_S = 0.02  # between two actions of a user: a machine with two cores is not at its limit


def status_of(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field + ":"))


def bytes_below(directory):
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                pass
    return total


class Users:
    """Each method of a user is one small action; all of them are for one thread."""

    def __init__(self, stack, number):
        self.choice = random.Random(number)
        self.number = number
        self.port = stack.ports["table_store"]
        self.tables = TableClient(stack.ports["table_store"])
        self.queues = QueueClient(stack.ports["queue_service"])
        self.blobs = BlobClient(stack.ports["blob_store"])
        self.done = collections.Counter()

    def run(self, stop):
        doings = (self.write, self.write, self.remove, self.read, self.scan_some, self.message, self.message,
                  self.blob, self.come_and_go)
        while not stop.is_set():
            doing = self.choice.choice(doings)
            doing()
            self.done[doing.__name__] += 1
            time.sleep(BETWEEN_S)

    def key(self):
        number = self.choice.randrange(KEYS)
        return {"PartitionKey": f"p{number % 50}", "RowKey": f"{self.number}-{number}"}

    def write(self):
        self.tables.put("Things", {**self.key(), "Text": "x" * self.choice.randrange(2_000)})

    def remove(self):
        key = self.key()
        if self.tables.get("Things", key["PartitionKey"], key["RowKey"]):
            self.tables.delete("Things", key["PartitionKey"], key["RowKey"])

    def read(self):
        key = self.key()
        self.tables.get("Things", key["PartitionKey"], key["RowKey"])

    def scan_some(self):
        self.tables.query_page("Things", "$top=100")

    def message(self):
        self.queues.put("work", "x" * self.choice.randrange(5_000))
        for message in self.queues.take("work", 2):
            self.queues.delete("work", message)

    def blob(self):
        name = f"{self.number}-{self.choice.randrange(BLOBS)}"
        if self.choice.random() < 0.3 and self.blobs.get("things", name) is not None:
            self.blobs.delete("things", name)
        else:
            self.blobs.put("things", name, self.choice.randbytes(self.choice.choice((10, 3_000, 200_000))))

    def come_and_go(self):
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
            connection.recv(1000)


class Operator:
    """Jobs, one after the other, which move everything there and back."""

    def __init__(self, stack):
        self.stack = stack
        self.api = ApiClient(stack.ports["api"])
        self.done = collections.Counter()
        rows = [{"PartitionKey": f"p{n % 5}", "RowKey": str(n), "N": n} for n in range(500)]
        tables = TableClient(stack.ports["table_store"])
        for name in ("People", "Things"):
            tables.create_table(name)
        tables.put_many("People", rows)

    def run(self, stop):
        every = {"source": "People", "destination": "Former", "filter": ""}
        container = {"container": "archive", "format": "lines"}
        jobs = ({"kind": "archive", **every}, {"kind": "unarchive", "source": "Former", "destination": "People", "filter": ""},
                {"kind": "archive", **every, "destination": container},
                {"kind": "unarchive", "source": {**container, "table": "People"}, "destination": "People", "filter": ""},
                {"kind": "copy", **every, "destination": "Copies"}, {"kind": "delete", "source": "Copies", "filter": ""})
        while not stop.is_set():
            for job in jobs:
                job_id = self.api.submit({**job, "keepHours": 2})
                self.follow(job_id)
                job = self.api.job(job_id)
                assert job["state"] == "succeeded" and job["progress"]["done"] == 500, job
                self.done[job["kind"]] += 1

    def follow(self, job_id):
        """Reads the stream of events until it ends, or for a while."""
        with socket.create_connection(("127.0.0.1", self.stack.ports["api"]), timeout=20) as connection:
            connection.sendall(f"GET /v1/jobs/{job_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                               f"Authorization: Bearer {TOKEN}\r\n\r\n".encode())
            assert connection.recv(10_000).startswith(b"HTTP/1.1 200")
        wait_until(lambda: ended(self.api.job(job_id)), f"the end of {job_id}", 60)


class Samples:
    def __init__(self, stack):
        self.stack = stack
        self.taken = collections.defaultdict(list)  # (process, what): values

    def take(self):
        for name, child in self.stack.children.items():
            assert child.alive(), f"{name} ended; it wrote:\n{child.log()}"
            self.taken[name, "memory MiB"].append(status_of(child.pid, "VmRSS") / 1024)
            self.taken[name, "threads"].append(status_of(child.pid, "Threads"))
            self.taken[name, "files"].append(len(os.listdir(f"/proc/{child.pid}/fd")))
            if name in FOLDERS:
                folder = os.path.join(self.stack.data, FOLDERS[name])
                self.taken[name, "disk MiB"].append(bytes_below(folder) / 1024 / 1024)

    ALLOWED = {"memory MiB": (1.10, 12), "threads": (1.0, 1), "files": (1.2, 20), "disk MiB": (1.25, 150)}

    def growth(self, filling_mib):
        """Returns (process, what, before, after) for everything that grew by more than chance; allows caches to
        fill."""
        grown = []
        for (name, what), values in self.taken.items():
            third = len(values) // 3
            before, after = statistics.median(values[third:2 * third]), statistics.median(values[2 * third:])
            factor, more = self.ALLOWED[what]
            more += filling_mib if "MiB" in what else 0
            print(f"{name:15} {what:10} {before:9.1f} -> {after:9.1f}   at most {max(values):9.1f}", flush=True)
            if after > before * factor + more:
                grown.append((name, what, before, after))
        return grown


def together(seconds, stack, people):
    """Runs all users and takes samples meanwhile; the first failure ends the run."""
    stop, failures = threading.Event(), []

    def guarded(run):
        try:
            run(stop)
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)
            stop.set()

    threads = [threading.Thread(target=guarded, args=(person.run,)) for person in people]
    for thread in threads:
        thread.start()
    samples, end = Samples(stack), time.monotonic() + seconds
    while time.monotonic() < end and not stop.wait(SAMPLE_S):
        samples.take()
    stop.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return samples


def main():
    minutes = float(sys.argv[sys.argv.index("--minutes") + 1]) if "--minutes" in sys.argv else 1.0
    with Stack() as stack:
        for store in STORES:
            stack.start(store, *SMALL)
        stack.start("api")
        stack.start_worker("worker", "--poll-s", "2")
        operator = Operator(stack)
        QueueClient(stack.ports["queue_service"]).create("work")
        BlobClient(stack.ports["blob_store"]).create_container("things")
        people = [operator, *(Users(stack, number) for number in range(3))]
        samples = together(minutes * 60, stack, people)
        done = sum((person.done for person in people), collections.Counter())
        print(json.dumps(done), flush=True)
        # A store has write buffers of up to 192 MiB, which take some minutes to fill.
        grown = samples.growth(filling_mib=0 if minutes >= 10 else 100)
        assert not grown, f"grew: {grown}"


if __name__ == "__main__":
    main()
