"""compose/cluster.yaml, used from outside: the stack over three PostgreSQL servers whose leader is lost again and
again, and with two processes of each store and two apis behind a proxy, one of which is lost. Acknowledged writes stay,
nothing is applied twice, and writes come back within half a minute.

Usage: cluster_test.py [unittest's arguments...]
TIDEMARK_FAILOVERS: how often the leader is lost (2). TIDEMARK_DATABASE_IMAGE, TIDEMARK_PROXY_IMAGE: images that exist
already.

Needs a container engine; without one the test says why it is skipped (exit code 77).
"""
import http.client
import json
import os
import signal
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support")]
from clients import BlobClient, HttpFailure, QueueClient, TableClient, ended, patiently  # noqa: E402
from engine import NoEngine, Project, ProjectTest, TokenApi, answers, build_database_image, build_image, build_proxy_image, find_engine, run  # noqa: E402
from indexes import caught_up  # noqa: E402
from stack import wait_until  # noqa: E402

SKIPPED = 77
SECOND_MACHINE = ("blob_store2", "queue_service2", "table_store2", "api2", "worker2")
DATABASES = ("database1", "database2", "database3")
FAILOVERS = int(os.environ.get("TIDEMARK_FAILOVERS", "2"))
BACK_WITHIN_S = 30
SETTLE_LIMIT_S = 120
BETWEEN_WRITES_S = 0.02  # pause of each writer, since the result is read in full at the end
WAYS = ("killed", "without its postmaster", "standing still")
engine = {}


class Writer(threading.Thread):
    """Calls write(number) with rising numbers, each once, until it is told to stop, and remembers the outcome of each
    call."""

    def __init__(self, write):
        super().__init__(daemon=True)
        self._write = write
        self.acknowledged, self.unknown = set(), set()
        self.latest = time.monotonic()  # time of the latest acknowledgement
        self.stopping = threading.Event()
        self.broken = None

    def run(self):
        number = 0
        while not self.stopping.is_set() and self.broken is None:
            number += 1
            self._write_once(number)
            time.sleep(BETWEEN_WRITES_S)

    def _write_once(self, number):
        try:
            self._write(number)
        except (HttpFailure, OSError, http.client.HTTPException) as failure:
            self.unknown.add(number)
            if isinstance(failure, HttpFailure) and failure.status < 500:
                self.broken = failure
        else:
            self.latest = time.monotonic()
            self.acknowledged.add(number)


def entity_writer(port, name, table="Acknowledged"):
    tables = TableClient(port)
    return Writer(lambda number: tables.put(table, {"PartitionKey": name, "RowKey": f"{number:06}", "Number": number}))


def message_writer(port, queue="acknowledged"):
    queues = QueueClient(port)
    queues.timeout_s = 5
    return Writer(lambda number: queues.put(queue, str(number)))


def blob_writer(port, container):
    blobs = BlobClient(port)
    blobs.timeout_s = 5
    # Some contents are so large that each becomes a file in the folder that both blob stores reach.
    return Writer(lambda number: blobs.put(container, f"{number:06}", content_of(number)))


def content_of(number):
    return f"{number:08}".encode() * (50_000 if number % 50 == 0 else 50)


class ClusterTest(ProjectTest):
    @classmethod
    def setUpClass(cls):
        cls.project = Project(engine["compose"], "cluster.yaml", TIDEMARK_LEASE_S="5",
                              TIDEMARK_DATABASE_IMAGE=engine["database_image"],
                              TIDEMARK_PROXY_IMAGE=engine["proxy_image"])
        engine["project"] = cls.project
        try:
            build_image(cls.project.image)
            cls.project.compose("up", "-d", "--scale", "worker=2")
            cls.project.await_healthy("blob_store", "queue_service", "table_store", "api", "worker",
                                      *SECOND_MACHINE, "proxy", *DATABASES, limit_s=240)
        except Exception:
            cls.project.show_logs()
            raise
        cls.tables = TableClient(cls.project.ports["TABLE"])
        cls.queues = QueueClient(cls.project.ports["QUEUE"])
        cls.blobs = BlobClient(cls.project.ports["BLOB"])
        cls.api = TokenApi(cls.project.ports["API"], cls.project.token)

    def leader(self):
        """Returns the name of the database that says that it is the leader, or None while there is none."""
        for name in DATABASES:
            containers = self.project.containers(name)
            if containers and answers("docker", "exec", containers[0], "curl", "-fsS", "-o", "/dev/null", "--max-time", "2",
                                      "http://127.0.0.1:8008/leader"):
                return name
        return None

    def await_leader_with_standby(self):
        """Waits for a leader and a standby that has everything the leader acknowledges."""
        def look():
            name = self.leader()
            if name is None:
                return None
            found = self.project.execute(name, "curl", "-fsS", "http://127.0.0.1:8008/cluster", check=False)
            return name if "sync_standby" in found else None
        return wait_until(look, "a leader and its standby", SETTLE_LIMIT_S, interval_s=0.5)

    def lose(self, name, turn):
        """Loses the leader in one of WAYS. Returns a function that brings it back."""
        container = self.project.container(name)
        if turn % 3 == 0:
            run("docker", "kill", container)
            return lambda: run("docker", "start", container)
        if turn % 3 == 1:
            self.project.execute(name, "bash", "-c", "kill -KILL $(head -n 1 /database/data/postmaster.pid)")
            return lambda: None
        # On a busy machine the kernel may not freeze the whole container at once.
        wait_until(lambda: answers("docker", "pause", container), "the container standing still", interval_s=0.2)
        return lambda: run("docker", "unpause", container)

    def test_the_leader_is_lost(self):
        patiently(self.tables.create_table, "Acknowledged")
        patiently(self.tables.create_table, "Moved")
        patiently(self.queues.create, "acknowledged")
        of_entities = {name: entity_writer(self.project.ports["TABLE"], name) for name in ("w0", "w1", "w2")}
        of_messages = message_writer(self.project.ports["QUEUE"])
        writers = [*of_entities.values(), of_messages]
        for writer in writers:
            writer.start()
        jobs = []
        for turn in range(FAILOVERS):
            leader = self.await_leader_with_standby()
            jobs.append(patiently(self.api.submit, {"kind": "copy", "source": "Acknowledged", "destination": "Moved",
                                                    "filter": "PartitionKey eq 'w0'", "rowKeyTemplate": "{RowKey}",
                                                    "idempotencyKey": f"turn-{turn}"}))
            bring_back = self.lose(leader, turn)
            lost_at = time.monotonic()
            for writer in writers:
                wait_until(lambda w=writer: w.broken or w.latest > lost_at + 0.5, "writes after the loss of the leader",
                           SETTLE_LIMIT_S, interval_s=0.05)
                self.assertIsNone(writer.broken)
            back_s = time.monotonic() - lost_at
            print(f"failover {turn + 1}: {leader} {WAYS[turn % 3]}, writes back after {back_s:.1f} s", flush=True)
            self.assertLess(back_s, BACK_WITHIN_S)
            bring_back()
        for writer in writers:
            writer.stopping.set()
            writer.join(60)
            self.assertFalse(writer.is_alive())
            self.assertIsNone(writer.broken)
        # A former leader that has come back may not know yet that it is no longer the leader: refusing is better than
        # stale data.
        stored = patiently(self.tables.scan, "Acknowledged", limit_s=SETTLE_LIMIT_S)
        for name, writer in of_entities.items():
            self.check(writer, [row["Number"] for (partition, _), row in stored.items() if partition == name])
        self.check(of_messages, self.all_messages())
        for job in jobs:
            wait_until(lambda j=job: ended(patiently(self.api.job, j)), f"the end of job {job}", SETTLE_LIMIT_S, interval_s=0.2)
            self.assertEqual(self.api.job(job)["state"], "succeeded")

    def shared(self, api):
        """Tells whether each process has half of the shards of its store."""
        try:
            stores = {store["store"]: store for store in api.call("GET", "/v1/shards")["stores"]}
        except (HttpFailure, OSError, http.client.HTTPException):
            return False
        return all([process["shards"] for process in stores[name].get("processes", [])] == [4, 4]
                   for name in ("blob", "queue", "table"))

    def await_shared(self, api):
        wait_until(lambda: self.shared(api), "a share of the shards for each", SETTLE_LIMIT_S, interval_s=0.5)

    def test_one_of_two_is_lost(self):
        """Loses first the process of the second machine, then that of the first. Clients know only the proxy."""
        self.await_leader_with_standby()
        ports = self.project.ports
        queues = QueueClient(ports["PROXY_QUEUE"])
        api = TokenApi(ports["PROXY_API"], self.project.token)
        api.timeout_s = 5
        self.await_shared(api)
        names = [f"divided{number}" for number in range(8)]
        patiently(self.tables.create_table, "Divided")
        patiently(self.tables.create_table, "Copied")
        patiently(self.tables.put, "Copied", {"PartitionKey": "p", "RowKey": "r"})
        index = {"kind": "lists", "source": "Divided", "by": ["Number"], "destination": "ByNumber"}
        patiently(api.call, "PUT", "/v1/indexes/by-number", index)
        of_messages, of_entities, of_blobs = {}, {}, {}
        for name in names:
            patiently(queues.create, name)
            patiently(self.blobs.create_container, name)
            of_messages[name] = message_writer(ports["PROXY_QUEUE"], name)
            of_entities[name] = entity_writer(ports["PROXY_TABLE"], name, "Divided")
            of_blobs[name] = blob_writer(ports["PROXY_BLOB"], name)
        writers = [*of_messages.values(), *of_entities.values(), *of_blobs.values()]
        for writer in writers:
            writer.start()
        jobs = []
        for service in (f"{name}{machine}" for machine in ("2", "")
                        for name in ("blob_store", "queue_service", "table_store", "api")):
            container = self.project.container(service)
            run("docker", "kill", container)
            lost_at = time.monotonic()
            for writer in writers:
                wait_until(lambda w=writer: w.broken or w.latest > lost_at + 0.5, f"writes without {service}",
                           SETTLE_LIMIT_S, interval_s=0.05)
                self.assertIsNone(writer.broken)
            back_s = time.monotonic() - lost_at
            jobs.append(patiently(api.submit, {"kind": "copy", "source": "Copied", "destination": f"Copy{len(jobs)}",
                                               "filter": "", "idempotencyKey": f"without-{service}"}))
            print(f"{service} is lost: all writes back after {back_s:.1f} s, a job was taken after "
                  f"{time.monotonic() - lost_at:.1f} s", flush=True)
            self.assertLess(back_s, BACK_WITHIN_S)
            run("docker", "start", container)
            self.project.await_healthy(service)
            self.await_shared(api)
        for writer in writers:
            writer.stopping.set()
            writer.join(60)
            self.assertFalse(writer.is_alive())
            self.assertIsNone(writer.broken)
        stored = patiently(self.tables.scan, "Divided", limit_s=SETTLE_LIMIT_S)
        for name in names:
            self.check(of_messages[name], self.all_messages(name))
            self.check(of_entities[name], [row["Number"] for (partition, _), row in stored.items() if partition == name])
            objects = patiently(self.blobs.objects, name)
            self.check(of_blobs[name], [int(each) for each in objects])
            for each, content in objects.items():
                self.assertEqual(content, content_of(int(each)))
        for job in jobs:
            wait_until(lambda j=job: ended(patiently(api.job, j)), f"the end of job {job}", SETTLE_LIMIT_S, interval_s=0.2)
            self.assertEqual(patiently(api.job, job)["state"], "succeeded")
        wait_until(lambda: patiently(caught_up, api, "by-number"), "the index to catch up", SETTLE_LIMIT_S, interval_s=0.5)
        listed = patiently(self.tables.scan, "ByNumber", limit_s=SETTLE_LIMIT_S)
        keys = sorted(tuple(key) for row in listed.values() for key in json.loads(row["Keys"]))
        self.assertEqual(keys, sorted(stored))

    def all_messages(self, queue="acknowledged"):
        found = []
        while messages := patiently(self.queues.take, queue, 32, 600):
            found += [int(message["MessageText"]) for message in messages]
        return found

    def check(self, writer, found):
        self.assertGreater(len(writer.acknowledged), 0)
        self.assertEqual(len(found), len(set(found)), "written twice")
        self.assertEqual(writer.acknowledged - set(found), set(), "acknowledged and lost")
        self.assertLessEqual(set(found) - writer.acknowledged, writer.unknown, "there, and never written")


def main():
    try:
        engine["compose"] = find_engine()
    except NoEngine as reason:
        print(f"SKIPPED: the stack over a database of three is not tested, for want of a container engine: {reason}")
        return SKIPPED
    engine["database_image"] = os.environ.get("TIDEMARK_DATABASE_IMAGE") or "tidemarktest-database"
    if "TIDEMARK_DATABASE_IMAGE" not in os.environ:
        build_database_image(engine["database_image"])
    engine["proxy_image"] = os.environ.get("TIDEMARK_PROXY_IMAGE") or "tidemarktest-proxy"
    if "TIDEMARK_PROXY_IMAGE" not in os.environ:
        build_proxy_image(engine["proxy_image"])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return 0 if unittest.main(argv=sys.argv, verbosity=2, exit=False).result.wasSuccessful() else 1
    finally:
        if "project" in engine:
            engine["project"].down()


if __name__ == "__main__":
    sys.exit(main())
