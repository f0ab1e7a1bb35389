import json
import os
import subprocess

from harness import install
from systems.postgres import Postgres

SCRIPT = os.path.join(install.BENCH, "clients", "graphile_archive.mjs")


class Graphile(Postgres):
    """Graphile Worker on a PostgreSQL of its own, set as its documentation on performance advises."""
    name, version = "graphile", f"{install.GRAPHILE} on {install.NODE} and PostgreSQL as above; 24 jobs at once, local queue"

    @staticmethod
    def install():
        Postgres.install()
        install.npm(install.NODE, install.GRAPHILE)

    def run(self, *words):
        url = f"postgres://bench@127.0.0.1:{self.port}/postgres"
        done = subprocess.run([install.node_path(), SCRIPT, url, *words], capture_output=True, text=True, timeout=600)
        results = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if done.returncode != 0 or len(results) != 1:
            raise RuntimeError(f"graphile_archive.mjs failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return json.loads(results[0].removeprefix("RESULT "))
