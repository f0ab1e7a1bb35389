"""One run of the C++ load client of the queues (bench/clients)."""
import json
import os
import subprocess

from harness import install
from harness.azure import SAS
from harness.workload import Measurement


def queue_load(system, queue, mode, connections, amount):
    """`value` is the rate; a mode's meaning and its amount stand at the top of clients/queue_load.cpp."""
    line = [install.CLIENT, system.protocol or system.name, str(system.queue), queue, mode, str(connections), str(amount)]
    done = subprocess.run(line, capture_output=True, text=True, env=os.environ | {"BENCH_SAS": SAS})
    if done.returncode != 0 or not done.stdout.startswith("RESULT "):
        raise RuntimeError(f"queue_load {mode} failed on {system.name}: {done.stdout}{done.stderr}")
    result = json.loads(done.stdout.removeprefix("RESULT "))
    command = " ".join(["queue_load", *line[1:]])
    return Measurement(result["units"] / result["seconds"], 0, result["p50_ms"], result["p99_ms"], command, result)
