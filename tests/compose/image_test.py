"""The image with its default command: the whole stack in one container, started as a newcomer starts it.

Needs a container engine; without one the test says why it is skipped (exit code 77).
"""
import json
import os
import secrets
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support")]
from clients import ApiClient, HttpFailure, QueueClient, TableClient, patiently  # noqa: E402
from engine import NoEngine, TokenApi, answers, build_image, find_engine, free_ports, run  # noqa: E402
from stack import wait_until  # noqa: E402

SKIPPED = 77
PROGRAMS = ("blob_store", "queue_service", "table_store", "api", "worker-1", "worker-2")
MEMORY_MIB = 120  # of all processes together, without the pages of files
image = "tidemarktest" + secrets.token_hex(4)


class ImageTest(unittest.TestCase):
    def setUp(self):
        self.name = image + secrets.token_hex(4)
        self.ports = free_ports(4)

    def start(self, *options):
        published = [word for inside, port in enumerate(self.ports) for word in ("-p", f"127.0.0.1:{port}:{10000 + inside}")]
        run("docker", "run", "-d", "--name", self.name, "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
            "-v", f"{self.name}:/data", *published, *options, image)
        self.addCleanup(run, "docker", "volume", "rm", "-f", self.name, check=False)
        self.addCleanup(run, "docker", "rm", "-f", self.name, check=False)

    def execute(self, *command, check=True):
        return run("docker", "exec", self.name, *command, check=check)

    def processes(self):
        told = json.loads(self.execute("tidemark", "status", "--json", check=False) or '{"processes": []}')
        return {each["name"]: each["pid"] for each in told["processes"] if each["state"] == "running"}

    def await_ready(self):
        wait_until(lambda: answers("curl", "-fsS", "-o", "/dev/null", f"http://127.0.0.1:{self.ports[3]}/readyz"), "an answer")

    def test_from_run_to_stop(self):
        began = time.monotonic()
        self.start()
        self.await_ready()
        print(f"ready after {time.monotonic() - began:.1f} s", file=sys.stderr)
        self.assertEqual(sorted(self.processes()), sorted(PROGRAMS))
        self.assertEqual(self.execute("id", "-u").strip(), "10001", "not as root")
        tables = TableClient(self.ports[2])
        tables.create_table("Orders")
        tables.put("Orders", {"PartitionKey": "a", "RowKey": "b"})
        api = TokenApi(self.ports[3], self.execute("cat", "/data/run/token").strip())
        job = api.submit({"kind": "copy", "source": "Orders", "destination": "Copies", "filter": ""})
        wait_until(lambda: api.job(job)["state"] == "succeeded", "the job")
        self.assertIn("Copies", self.execute("tidemark", "table", "list"))
        wait_until(lambda: json.loads(run("docker", "inspect", self.name))[0]["State"]["Health"]["Status"] == "healthy", "health")

    def test_every_process_comes_back(self):
        self.start()
        self.await_ready()
        before = self.processes()
        for name in PROGRAMS:
            with self.subTest(name=name):
                self.execute("bash", "-c", f"kill -9 {before[name]}")
                wait_until(lambda name=name: self.processes().get(name, before[name]) != before[name], f"{name} to come back")
        self.await_ready()
        patiently(lambda: QueueClient(self.ports[1]).create("orders"))

    def test_a_stop_loses_nothing(self):
        self.start()
        self.await_ready()
        TableClient(self.ports[2]).create_table("Acknowledged")
        acknowledged, stopping = [], threading.Event()

        def write():
            tables = TableClient(self.ports[2])
            number = 0
            while not stopping.is_set():
                number += 1
                try:
                    tables.put("Acknowledged", {"PartitionKey": "p", "RowKey": f"{number:06}"})
                except (HttpFailure, OSError):
                    return
                acknowledged.append(number)
        writer = threading.Thread(target=write)
        writer.start()
        wait_until(lambda: len(acknowledged) > 100, "some writes")
        began = time.monotonic()
        run("docker", "stop", self.name)
        took = time.monotonic() - began
        stopping.set()
        writer.join(30)
        self.assertLess(took, 10, "it ended by itself")
        self.assertEqual(json.loads(run("docker", "inspect", self.name))[0]["State"]["ExitCode"], 0)
        run("docker", "start", self.name)
        self.await_ready()
        found = {row_key for _, row_key in TableClient(self.ports[2]).scan("Acknowledged")}
        self.assertEqual([number for number in acknowledged if f"{number:06}" not in found], [])

    def test_accounts_as_azurite_has_them(self):
        key = "b3duIGtleSBvZiB0aGlzIHRlc3Q="
        self.start("-e", f"AZURITE_ACCOUNTS=mine:{key}")
        self.await_ready()
        listed = self.execute("tidemark", "table", "list", "--table-url", "http://127.0.0.1:10002/mine", "--account", "mine",
                              "--key", key)
        self.assertIn("TidemarkJobs", listed)
        development = subprocess.run(["docker", "exec", self.name, "tidemark", "table", "list"], capture_output=True, timeout=60)
        self.assertNotEqual(development.returncode, 0, "the key that everybody knows opens nothing")

    def test_little_memory(self):
        self.start()
        self.await_ready()
        used = self.execute("bash", "-c", "cat /sys/fs/cgroup/memory.stat 2>/dev/null || cat /sys/fs/cgroup/memory/memory.stat")
        figures = dict(line.split() for line in used.splitlines())
        anonymous = int(figures.get("anon", figures.get("rss", 0))) / 2**20
        print(f"memory of the idle stack: {anonymous:.0f} MiB", file=sys.stderr)
        self.assertLess(anonymous, MEMORY_MIB)


if __name__ == "__main__":
    try:
        find_engine()
    except NoEngine as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    build_image(image)
    try:
        unittest.main(verbosity=2)
    finally:
        run("docker", "image", "rm", "-f", image, check=False)
