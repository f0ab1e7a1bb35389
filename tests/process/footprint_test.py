"""The cost of an empty stack: memory, processor time when idle, time to start. scripts/stack starts it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from stack import BIN, SOURCE, clean_environment, free_port_base  # noqa: E402

MEMORY_LIMIT_MB = 150
IDLE_S = 2.0
# The limit for all processes together, in IDLE_S: one percent of one core.
IDLE_CPU_LIMIT_S = 0.02 * IDLE_S / 2
SETTLED_LIMIT_S = 60.0


def proportional_memory_mb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"(?m)^Pss:\s+(\d+) kB", file.read()).group(1)) / 1024


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class FootprintTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix="tm")
        cls.addClassCleanup(shutil.rmtree, cls.data, ignore_errors=True)
        begun = time.monotonic()
        cls.script("up", "--port-base", str(free_port_base()), "--workers", "2")
        cls.start_s = time.monotonic() - begun
        cls.addClassCleanup(cls.script, "down")
        run = os.path.join(cls.data, "run")
        cls.pids = {}
        for file in sorted(os.listdir(run)):
            if file.endswith(".pid"):
                with open(os.path.join(run, file), encoding="ascii") as text:
                    cls.pids[file[:-4]] = int(text.read())

    @classmethod
    def script(cls, *arguments):
        script = os.path.join(SOURCE, "scripts", "stack")
        subprocess.run([script, *arguments, "--data", cls.data], check=True, timeout=90,
                       env=clean_environment({"TIDEMARK_BIN": os.path.abspath(BIN)}), stdout=subprocess.DEVNULL)

    def test_all_run(self):
        self.assertEqual(set(self.pids), {"api", "blob_store", "queue_service", "table_store", "worker-1", "worker-2"})
        self.script("status")
        print(f"started in {self.start_s:.2f} s", flush=True)

    def test_memory(self):
        used = {name: proportional_memory_mb(pid) for name, pid in self.pids.items()}
        total = sum(used.values())
        shown = ", ".join(f"{name} {mb:.1f}" for name, mb in used.items())
        print(f"memory {total:.1f} MB: {shown}", flush=True)
        self.assertLess(total, MEMORY_LIMIT_MB, shown)

    def test_idle_costs_nothing(self):
        def measure():
            before = {name: cpu_s(pid) for name, pid in self.pids.items()}
            time.sleep(IDLE_S)  # not a wait for a condition: the time over which it is measured
            return {name: cpu_s(pid) - before[name] for name, pid in self.pids.items()}
        # The first seconds after the start are not idle. A stack that never rests is never within the limit.
        used, until = measure(), time.monotonic() + SETTLED_LIMIT_S
        while sum(used.values()) > IDLE_CPU_LIMIT_S and time.monotonic() < until:
            used = measure()
        print(f"idle {sum(used.values()):.2f} s of processor time in {IDLE_S:g} s", flush=True)
        self.assertLessEqual(sum(used.values()), IDLE_CPU_LIMIT_S, used)


if __name__ == "__main__":
    unittest.main(verbosity=2)
