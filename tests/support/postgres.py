#!/usr/bin/python3
"""A private PostgreSQL for tests: a cluster in a temporary directory, reached by a socket there, which ends with the
process. PostgreSQL refuses to run as root, so root runs it as nobody.

Run as a program, it runs a command whose stacks keep their rows in such a cluster, each in a database of its own:

    tests/support/postgres.py /usr/bin/python3 tests/crash/table_crash_test.py RandomKillTest
"""
import ctypes
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ABSENT = "PostgreSQL is not installed: scripts/setup --tests installs it"
VARIABLE = "TIDEMARK_TEST_POSTGRES"  # "DIRECTORY_OF_THE_SOCKET", for stacks that are to use a cluster
START_LIMIT_S = 60.0
PR_SET_PDEATHSIG = 1


def programs():
    """Returns the folder of the newest version's programs, or None. Debian keeps each version in a folder of its
    own."""
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    return os.path.dirname(max(found, key=lambda path: int(path.split("/")[4]))) if found else None


def new_database(directory):
    """Makes a database in the cluster whose socket is there, and returns its connection string."""
    name = f"stack_{os.getpid()}_{time.monotonic_ns()}"
    subprocess.run([os.path.join(programs(), "createdb"), "-h", directory, "-U", "postgres", name], check=True,
                   stdout=subprocess.DEVNULL)
    return f"host={directory} user=postgres dbname={name}"


def stack_settings():
    """Returns the environment of the programs of a new stack: empty, unless it is to keep its rows in PostgreSQL."""
    directory = os.environ.get(VARIABLE)
    return {"TIDEMARK_ENGINE": "postgres", "TIDEMARK_DATABASE": new_database(directory)} if directory else {}


class Cluster:
    def __init__(self, *settings, standby_of=None):
        """`settings`: "name=value" of postgresql.conf. `standby_of`: the cluster to follow, instead of an empty one."""
        if programs() is None:
            raise RuntimeError(ABSENT)
        self.directory = tempfile.mkdtemp(prefix="tmpg")  # short, since it is part of a socket's path
        self._user = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        if self._user:
            os.chown(self.directory, self._user.pw_uid, self._user.pw_gid)
        self._settings = settings
        self._log = os.path.join(self.directory, "log")
        self._data = os.path.join(self.directory, "data")
        self._server = None
        if standby_of:
            self._run("pg_basebackup", "-D", self._data, "-h", standby_of.directory, "-U", "postgres", "-R", "-X", "stream",
                      "-c", "fast", "--no-sync").wait()
        else:
            self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C").wait()
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self, name, *arguments):
        def become():
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)
        user = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []} if self._user else {}
        with open(self._log, "ab") as log:
            return subprocess.Popen([os.path.join(programs(), name), *arguments], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, cwd="/", preexec_fn=become, **user)

    def start(self):
        settings = ("listen_addresses=", "shared_buffers=64MB", "max_connections=300", *self._settings)
        options = [word for setting in settings for word in ("-c", setting)]
        self._server = self._run("postgres", "-D", self._data, "-k", self.directory, *options)
        deadline = time.monotonic() + START_LIMIT_S
        while self._run("pg_isready", "-q", "-h", self.directory).wait() != 0:
            if self._server.poll() is not None or time.monotonic() > deadline:
                with open(self._log, errors="replace") as log:
                    raise RuntimeError(f"PostgreSQL did not start:\n{log.read()[-4000:]}")
            time.sleep(0.02)

    def stop(self, how=signal.SIGINT):
        """Stops the server: SIGINT ends its sessions; SIGQUIT is a crash."""
        if self._server.poll() is None:
            self._server.send_signal(how)
        self._server.wait()

    @property
    def pid(self):
        return self._server.pid

    def new_database(self):
        return new_database(self.directory)

    def query(self, database, sql):
        """Returns the rows as text, columns separated by
        ."""
        return subprocess.run([os.path.join(programs(), "psql"), "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", database,
                               "-c", sql], check=True, capture_output=True, text=True).stdout.strip()

    def administer(self, sql):
        return self.query(f"host={self.directory} user=postgres dbname=postgres", sql)

    def wait_for_standbys(self):
        """From now on, commits wait until a standby has them. Returns when there is one."""
        self.administer("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.administer("SELECT pg_reload_conf()")
        deadline = time.monotonic() + START_LIMIT_S
        while self.administer("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "0":
            if time.monotonic() > deadline:
                raise RuntimeError("no standby follows the database")
            time.sleep(0.02)

    def promote(self):
        """Makes a standby accept writes."""
        self.administer("SELECT pg_promote()")

    def close(self):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def cluster_of_module():
    """For setUpModule(): a cluster that ends with the module's tests. They are skipped where there is no PostgreSQL."""
    if programs() is None:
        raise unittest.SkipTest(ABSENT)
    os.environ.pop(VARIABLE, None)
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.close)
    return cluster


def main():
    if programs() is None:
        print(f"skipped: {ABSENT}")
        return 0
    with Cluster() as cluster:
        return subprocess.run(sys.argv[1:], env={**os.environ, VARIABLE: cluster.directory}).returncode


if __name__ == "__main__":
    sys.exit(main())
