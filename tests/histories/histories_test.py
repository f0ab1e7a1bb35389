"""Runs real stores under faults, with clients whose histories are judged (README.md).

    histories_test.py SET-UP [--minutes M] [--times N] [--calm] [--late-ms N] [--groups]

SET-UP is embedded, shards, postgres, shared (two processes of each store on the shards of one database), or replicated
(the same, and the database has a standby that takes its place).
  --minutes M  load for M minutes instead of some seconds
  --times N    N times as many clients, for high load
  --calm       no faults but late answers of the database
  --late-ms N  the longest delay of an answer; choose more on a slow machine
  --groups     only the clients of large groups of entities
TIDEMARK_SEED repeats the choices of a run, not its timing.
"""
import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import postgres  # noqa: E402
import sas  # noqa: E402
import sizes  # noqa: E402
from clients import BlobClient, QueueClient, TableClient, patiently  # noqa: E402
from link import Link  # noqa: E402
from stack import Stack, program  # noqa: E402

STORES = ("table_store", "queue_service", "blob_store")
LOAD_S = 6.0         # in the gate
BETWEEN_FAULTS_S = 0.7
PAUSE_MS = 25        # between two operations of a client, of which there are 18
LATE_MS = 30         # the longest delay of an answer of the database
AWAY_S = (0.2, 2.5)  # how long a process stands still, or a link is cut
MOST_NOT_JUDGED = 0.01  # of all histories; one more is allowed, because a short run has few
THREADS = "8"        # of a store that waits for a database; half of them may scan


class SetUp:
    """The three stores, each in one process with files of its own."""
    arguments = ()

    def __init__(self, options):
        self.options, self.choice = options, random.Random(options.seed)
        self.stacks = [Stack()]
        self.faults = [self.kill, self.freeze]

    def start(self):
        for stack in self.stacks:
            for store in STORES:
                self.start_one(stack, store)

    def start_one(self, stack, store):
        return stack.start(store, *self.arguments_of(stack, store))

    def restart(self, stack, store):
        stack.children[store].kill()
        self.start_one(stack, store)

    def arguments_of(self, _stack, _store):
        return self.arguments

    def ports(self, store):
        return ",".join(str(stack.ports[store]) for stack in self.stacks)

    def any_process(self):
        return self.choice.choice(self.stacks), self.choice.choice(STORES)

    def away(self):
        time.sleep(self.choice.uniform(*AWAY_S))

    def kill(self):
        self.restart(*self.any_process())

    def freeze(self):
        stack, store = self.any_process()
        child = stack.children[store]
        child.pause()
        self.away()
        child.resume()

    def mend(self):
        """Starts the processes again that have ended."""
        for stack in self.stacks:
            for store in STORES:
                if not stack.children[store].alive():
                    self.restart(stack, store)

    def show_logs(self):
        for stack in self.stacks:
            stack.show_logs()

    def close(self):
        for stack in self.stacks:
            stack.close()


class Shards(SetUp):
    arguments = ("--shards", "4")


class Postgres(SetUp):
    """The stores keep their rows in a database, over a link that can be cut, and on which answers come late."""

    def __init__(self, options):
        super().__init__(options)
        self.cluster = postgres.Cluster()
        self.database = self.cluster.new_database()
        self.links = [Link(self.cluster, self.options.late_ms / 1000) for _ in self.stacks]
        self.faults += [self.end_sessions, self.restart_database, self.cut]

    def arguments_of(self, stack, _store):
        link = self.links[self.stacks.index(stack)]
        return ("--engine", "postgres", "--database", link.database(self.database), "--threads", THREADS)

    def end_sessions(self):
        self.cluster.query(self.database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                          "WHERE datname = current_database() AND pid <> pg_backend_pid()")

    def restart_database(self):
        self.cluster.stop()
        self.cluster.start()

    def cut(self):
        link = self.choice.choice(self.links)
        link.cut()
        self.away()
        link.mend()

    def close(self):
        super().close()
        for link in self.links:
            link.close()
        self.cluster.close()


class Shared(Postgres):
    """Two processes of each store share its shards."""

    def __init__(self, options):
        super().__init__(options)
        self.stacks.append(Stack())
        self.links.append(Link(self.cluster, self.options.late_ms / 1000))
        self.payloads = tempfile.mkdtemp(prefix="tmp")

    def arguments_of(self, stack, store):
        sharing = ("--shards", "4", "--share-shards", "true")
        payloads = ("--payload-folder", self.payloads) if store == "blob_store" else ()
        return (*super().arguments_of(stack, store), *sharing, *payloads)

    def close(self):
        super().close()
        shutil.rmtree(self.payloads, ignore_errors=True)


class Replicated(Shared):
    """The database has a standby that gets every commit before it is acknowledged, and that takes its place. Nothing ends
    sessions of the database but its own death: a session that is ended while it waits for the standby leaves a commit
    that others see and a failover loses (docs/scale.md)."""

    def __init__(self, options):
        super().__init__(options)
        self.faults = [self.kill, self.freeze, self.cut, self.fail_over]
        self.add_standby()

    def add_standby(self):
        self.standby = postgres.Cluster(standby_of=self.cluster)
        self.cluster.wait_for_standbys()

    def fail_over(self):
        self.cluster.stop(signal.SIGQUIT)
        self.standby.promote()
        for link in self.links:
            link.lead_to(self.standby)
        self.cluster.close()
        self.cluster = self.standby
        self.add_standby()

    def close(self):
        super().close()
        self.standby.close()


SET_UPS = {"embedded": SetUp, "shards": Shards, "postgres": Postgres, "shared": Shared, "replicated": Replicated}


def make_places(set_up):
    stack = set_up.stacks[0]
    patiently(TableClient(stack.ports["table_store"]).create_table, "Rows")
    for queue in ("queue-0", "queue-1"):
        patiently(QueueClient(stack.ports["queue_service"]).create, queue)
    patiently(BlobClient(stack.ports["blob_store"]).create_container, "box")


def launch_clients(set_up, options):
    line = [program("histories_client"), *(set_up.ports(store) for store in STORES), str(options.seed), str(PAUSE_MS),
            str(options.times), "groups" if options.groups else "all"]
    environment = {**os.environ, "TIDEMARK_SAS": sas.account_sas(expires=sas.at(100))}
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def cause_faults(set_up, options):
    """Causes faults until the time is up; returns the number of each."""
    done = collections.Counter()
    end = time.monotonic() + (60 * options.minutes or sizes.scaled(LOAD_S))
    while time.monotonic() < end:
        time.sleep(min(set_up.choice.expovariate(1 / BETWEEN_FAULTS_S), max(0.0, end - time.monotonic())))
        if not options.calm and time.monotonic() < end:
            fault = set_up.choice.choice(set_up.faults)
            fault()
            done[fault.__name__] += 1
    return done


def verdict_of(name, told, faults):
    """Prints the stories and the figures; returns whether all is right."""
    *stories, last = told.rstrip("\n").split("\n")
    try:
        figures = json.loads(last)
    except ValueError:
        raise AssertionError(f"the clients ended without a verdict:\n{told}") from None
    print("\n".join(line for line in stories if line != "ready"))
    print(f"{name}: {figures}, faults {dict(faults)}")
    if figures["not_judged"] > 1 + MOST_NOT_JUDGED * figures["objects"]:
        print(f"{figures['not_judged']} of {figures['objects']} histories took too long to judge")
        return False
    return figures["wrong"] == 0 and figures["operations"] > 0


def run(name, options):
    set_up = SET_UPS[name](options)
    try:
        set_up.start()
        make_places(set_up)
        clients = launch_clients(set_up, options)
        try:
            faults = cause_faults(set_up, options)
            set_up.mend()
            told, _ = clients.communicate("end\n")
        finally:
            clients.kill()
            clients.wait()
        right = verdict_of(name, told, faults)
        if not right:
            set_up.show_logs()
        return right
    finally:
        set_up.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set_up", choices=SET_UPS)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--late-ms", type=float, default=LATE_MS)
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--calm", action="store_true")
    options = parser.parse_args()
    if issubclass(SET_UPS[options.set_up], Postgres) and postgres.programs() is None:
        print(postgres.ABSENT)
        return 77
    options.seed = sizes.seed()
    print(f"seed {options.seed}")
    return 0 if run(options.set_up, options) else 1


if __name__ == "__main__":
    sys.exit(main())
