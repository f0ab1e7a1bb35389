"""One run of wrk with one of the scripts of bench/wrk."""
import json
import os
import subprocess

from harness.azure import SAS, VERSION
from harness.workload import Measurement

SCRIPTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "wrk")
THREADS = 2
SECRETS = ("sas", "token")


def wrk(system, port, script, path, repeat, options, **settings):
    """Measures the rate of the script's units; the command in the result has the secrets taken out."""
    settings = {"seed": repeat, "path": path, "port": port, "version": VERSION, "sas": SAS, **settings}
    line = ["wrk", "-t", str(THREADS), "-c", str(options.connections), "-d", f"{options.seconds}s", "--timeout", "30s",
            "-s", f"{script}.lua", f"http://127.0.0.1:{port}", "--"]
    done = subprocess.run(line + [f"{name}={value}" for name, value in settings.items()], cwd=SCRIPTS,
                          capture_output=True, text=True, timeout=options.seconds + 120)
    results = [text for text in done.stdout.splitlines() if text.startswith("RESULT ")]
    if done.returncode != 0 or len(results) != 1:
        raise RuntimeError(f"wrk failed on {system.name}:\n{done.stdout}\n{done.stderr}")
    result = json.loads(results[0].removeprefix("RESULT "))
    failures = sum(result["errors"].values()) + result["unexpected"] + (result["units"] == 0)
    shown = line + [f"{name}={name.upper() if name in SECRETS else value}" for name, value in settings.items()]
    return Measurement(result["units"] / result["seconds"], failures, result["p50_ms"], result["p99_ms"],
                       " ".join(shown), result)
