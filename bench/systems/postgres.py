import os
import pwd
import re
import signal
import subprocess

from harness import install
from harness.processes import System, await_true, free_ports
from harness.workload import Measurement

PROGRAMS = "/usr/lib/postgresql/15/bin"


class Postgres(System):
    """A cluster of its own, Debian's defaults: fsync and synchronous_commit are on. Its server does not run as root."""
    name, version = "postgres", f"PostgreSQL 15 ({install.debian_version('postgresql-15')}), fsync=on, synchronous_commit=on"
    stop_signal = signal.SIGINT  # "fast": ends clients instead of waiting for them
    user = "postgres"

    @staticmethod
    def install():
        install.debian("postgresql-15", "postgresql-contrib")

    def as_user(self):
        return {"user": self.user, "group": self.user, "extra_groups": []} if os.geteuid() == 0 else {}

    def start(self):
        (self.port,) = free_ports(1)
        data = os.path.join(self.directory, "data")
        os.mkdir(data)
        if os.geteuid() == 0:
            entry = pwd.getpwnam(self.user)
            os.chown(data, entry.pw_uid, entry.pw_gid)
        subprocess.run([f"{PROGRAMS}/initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C"],
                       check=True, capture_output=True, cwd="/", **self.as_user())
        self.launch("postgres", [f"{PROGRAMS}/postgres", "-D", data, "-p", str(self.port), "-k", data, "-c", "fsync=on",
                                 "-c", "synchronous_commit=on", "-c", "listen_addresses=127.0.0.1"], **self.as_user())
        await_true(lambda: subprocess.run([f"{PROGRAMS}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0,
                   "PostgreSQL to accept connections")

    def connection(self):
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", "bench"]

    def sql(self, text):
        done = subprocess.run([f"{PROGRAMS}/psql", *self.connection(), "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1",
                               "-c", text], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"psql: {done.stderr}")
        return done.stdout.strip()

    def hold_snapshot(self):
        """Begins a transaction that stays open."""
        sleeping = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_sleep(1000000)"
        self.launch("holder", [f"{PROGRAMS}/psql", *self.connection(), "-d", "postgres", "-qAtX", "-c", sleeping])
        await_true(lambda: self.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1",
                   "a transaction to begin")

    def pgbench(self, script, options, **variables):
        """Runs the script with pgbench over so many connections, for so long, with as many threads as wrk has."""
        path = os.path.join(self.directory, "script.sql")
        with open(path, "w") as file:
            file.write(script)
        log = os.path.join(self.directory, "pgbench")
        line = [f"{PROGRAMS}/pgbench", *self.connection(), "-n", "-M", "prepared", "-c", str(options.connections), "-j", "2",
                "-T", str(options.seconds), "-l", "--sampling-rate=0.1", f"--log-prefix={log}", "-f", path]
        values = [word for name, value in variables.items() for word in ("-D", f"{name}={value}")]
        done = subprocess.run([*line, *values, "postgres"], capture_output=True, text=True)
        tps = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
        failed = re.search(r"^number of failed transactions: (\d+)", done.stdout, re.MULTILINE)
        if done.returncode != 0 or not tps or not failed:
            raise RuntimeError(f"pgbench failed:\n{done.stdout}\n{done.stderr}")
        p50, p99 = self.sampled_latencies()
        return Measurement(float(tps.group(1)), int(failed.group(1)), p50, p99, " ".join(line), {"output": done.stdout})

    def sampled_latencies(self):
        taken = []
        for name in os.listdir(self.directory):
            if name.startswith("pgbench."):
                path = os.path.join(self.directory, name)
                with open(path) as file:
                    taken += [int(row.split()[2]) / 1000 for row in file]
                os.unlink(path)
        taken.sort()
        return (taken[len(taken) // 2], taken[len(taken) * 99 // 100]) if taken else (None, None)
