"""Kills every process at random while jobs of all kinds run; the oracle is the input and the answers.

    tests/crash/random_kill_test.py --seconds 600

Workers, table store, queue service, blob store and api are killed with SIGKILL: at any time, at an armed fail point
(and then perhaps at another while they recover), several at once, or all; workers also sleep beyond their leases.
Meanwhile the scenarios run side by side, and users write entities, messages and blobs. When the time is up, everything
is restarted, all stories come to their ends, and the result is judged: every job has one end, every acknowledged write
is there, queues are empty, no poison is left. --seed N repeats the choices of a run, not its timing.

With --disk the disks of the stores fail as well: full, read-only or broken, for writes, syncs and reads, for each call
or one of many, for up to two seconds; a store that cannot even open its database may then end, and is started again.
"""
import collections
import itertools
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
import scenarios  # noqa: E402
from archive_crash_test import JOB_QUEUE, WORKER  # noqa: E402
from callback_crash_test import HOSTS  # noqa: E402
from clients import (ApiClient, BlobClient, HttpClient, HttpFailure, QueueClient, TableClient, ended,  # noqa: E402
                     job_if_known, patiently)
from receiver import SECRET, Receiver  # noqa: E402
from stack import Stack, program, wait_until  # noqa: E402
from store_crashes import OPTIONS, read_options  # noqa: E402

WORKER = (*WORKER, *HOSTS, "--callback-secrets", SECRET)
PROGRAM_FOLDER = {"table_store": "table", "queue_service": "queue", "blob_store": "blob"}  # in the data directory
STORES = tuple(PROGRAM_FOLDER)
WORKERS = ("w-a", "w-b", "w-c")
PROGRAM_OF = {**{name: name for name in (*STORES, "api")}, **{name: "worker" for name in WORKERS}}
AT_ONCE = 5        # scenarios
ASLEEP_S = 3.0     # longer than a lease
AILING_S = 2.0     # at most
CALM_LIMIT_S = 240.0


class FailingDisk:
    """The results of a store's calls for files below its own directory."""

    def __init__(self, stack, name):
        self.control = os.path.join(stack.directory, name + ".faults")
        self.failed_at = -1000.0
        self.environment = {"LD_PRELOAD": os.path.abspath(program("disk_faults.so")), "TIDEMARK_DISK_FAULTS": self.control,
                            "TIDEMARK_DISK_FAULTS_BELOW": os.path.join(stack.data, PROGRAM_FOLDER[name])}
        self.fails()

    def fails(self, *calls):
        if calls:
            self.failed_at = time.monotonic()
        with open(self.control + ".new", "w", encoding="utf-8") as file:
            file.write("\n".join(calls))
        os.replace(self.control + ".new", self.control)

    def may_have_ended(self, child):
        """A store may end if it finds its database impossible to open and says so; and Debian's RocksDB, whose
        assertions are enabled, sometimes aborts when a file that it writes in the background fails."""
        code = child.wait()
        aborted = code == -signal.SIGABRT and "rocksdb::" in child.log() and "Assertion" in child.log()
        return (code in (1, 2) or aborted) and time.monotonic() - self.failed_at < 30


class World:
    """The stack, the scenarios that run on it, and everything known about both."""

    def __init__(self, stack, seed):
        self.stack = stack
        self.seed = seed
        self.choice = random.Random(seed)
        self.numbers = itertools.count(1)
        self.tables = TableClient(stack.ports["table_store"])
        self.queues = QueueClient(stack.ports["queue_service"])
        self.blobs = BlobClient(stack.ports["blob_store"])
        self.api = ApiClient(stack.ports["api"])
        self.endpoint = Receiver(self.answer_callback)
        self.progress = {}         # last progress that each submitted job reported
        self.put_by_hand = set()   # texts of messages that were no submissions
        self.entities, self.texts, self.contents = {}, set(), {}  # acknowledged
        self.points = {name: self._list_points(name) for name in set(PROGRAM_OF.values())}
        self.armed, self.asleep, self.ailing = {}, {}, {}
        self.disks = {name: FailingDisk(stack, name) for name in STORES if OPTIONS["disk"]}
        self.faults = collections.Counter()

    @staticmethod
    def _list_points(name):
        listed = subprocess.run([program(name), "--list-fail-points"], capture_output=True, check=True, text=True)
        return listed.stdout.split()

    # The functions that scenarios call.

    def call(self, function, *arguments):
        """Repeats the call until it is answered; starts processes that died meanwhile."""
        return patiently(function, *arguments, meanwhile=self.revive)

    def ensure_table(self, name):
        try:
            self.call(self.tables.create_table, name)
        except HttpFailure as failure:
            if failure.code != "TableAlreadyExists":
                raise

    def remove(self, table, entity):
        try:
            self.call(self.tables.delete, table, entity["PartitionKey"], entity["RowKey"])
        except HttpFailure as failure:
            if failure.status != 404:
                raise

    def remove_schedule(self, name):
        try:
            self.call(self.api.call, "DELETE", f"/v1/schedules/{name}")
        except HttpFailure as failure:
            if failure.status != 404:  # removed by an attempt whose answer was lost
                raise

    def submit(self, spec):
        spec = {"maxAttempts": scenarios.EVERY, "idempotencyKey": f"{self.seed}-{next(self.numbers)}", **spec}
        job_id = self.call(self.api.submit, spec)
        self.progress[job_id] = {"done": 0, "skipped": 0}
        return job_id

    def look(self, job_id):
        job = self.call(self.api.job, job_id)
        before, now = self.progress[job_id], job["progress"]
        if not ended(job):
            fell = [name for name in ("done", "skipped") if now[name] < before[name]]
            assert not fell, f"{fell} fell from {before}: {job}"
            total = now.get("total")
            assert total is None or now["done"] + now["skipped"] <= total, job
        self.progress[job_id] = {name: now[name] for name in ("done", "skipped")}
        return job

    def look_if_known(self, job_id):
        """Looks at a job that another job has made: None until a worker has taken it."""
        self.progress.setdefault(job_id, {"done": 0, "skipped": 0})
        return self.look(job_id) if self.call(job_if_known, self.api, job_id) else None

    def sent_again(self, jobs):
        for job_id in jobs:
            self.progress[job_id] = {"done": 0, "skipped": 0}

    def answer_callback(self, request):
        """Refuses paths that begin with /busy the first time. Runs on a thread of the receiver."""
        tried = [r for r in list(self.endpoint.got) if r["webhook-id"] == request["webhook-id"]]
        return (503 if request["path"].startswith("/busy") and len(tried) == 1 else 204), {}, b""

    # Users who do not use jobs.

    def write_something(self):
        for _ in range(self.choice.randrange(6)):
            number = next(self.numbers)
            what = self.choice.randrange(4)
            if what == 0:
                entity = {"PartitionKey": "p", "RowKey": str(number), "Number": number}
                self.call(self.tables.put, "Acknowledged", entity)
                self.entities["p", entity["RowKey"]] = entity
            elif what == 1:
                self.call(self.queues.put, "acknowledged", f"message {number}")
                self.texts.add(f"message {number}")
            else:
                self.write_blob(f"blob{self.choice.randrange(40)}", what == 2)

    def write_blob(self, name, whole):
        size = self.choice.choice((0, 10, 3000, 300_000, 900_000))
        content = self.choice.randbytes(size)
        if whole:
            self.call(self.blobs.put, "acknowledged", name, content)
        else:
            cuts = sorted(self.choice.randrange(size + 1) for _ in range(2))
            blocks = [b for b in (content[:cuts[0]], content[cuts[0]:cuts[1]], content[cuts[1]:]) if b]
            self.call(self.blobs.put_blocks, "acknowledged", name, blocks)
        self.contents[name] = content

    # Faults.

    def revive(self):
        """Restarts processes that died at a fail point, sometimes to die again; wakes those that have slept enough."""
        for name in list(self.armed):
            child = self.stack.children[name]
            if child.alive():
                continue
            self.must_have_a_reason(name, child)
            self.faults["deaths at fail points"] += 1
            self.start(name, arm=self.choice.random() < 0.4)
        for name, until in list(self.ailing.items()):
            if time.monotonic() >= until:
                self.heal(name)
        for name, child in list(self.stack.children.items()):
            if name in self.armed:
                continue  # it may die now
            if not child.alive() and name in self.disks and self.disks[name].may_have_ended(child):
                self.faults["ends for a disk"] += 1
                self.start(name, arm=False)
            child = self.stack.children[name]
            assert child.alive(), f"{name} ended by itself, {child.popen.returncode}; it wrote:\n{child.log()}"
        for name, until in list(self.asleep.items()):
            if time.monotonic() >= until:
                self.stack.children[name].resume()
                del self.asleep[name]

    def must_have_a_reason(self, name, child):
        """The process must have ended by kill -9, its fail point, or its disk."""
        code = child.wait()
        if code != -signal.SIGKILL and not (name in self.disks and self.disks[name].may_have_ended(child)):
            raise AssertionError(f"{name}, armed with {self.armed.get(name)}, ended with {code}; it wrote:\n{child.log()}")

    def start(self, name, arm):
        """Does not wait until the process is ready: the stores that it needs may be down."""
        point = None
        self.armed.pop(name, None)
        if arm:
            point = f"{self.choice.choice(self.points[PROGRAM_OF[name]])}:{self.choice.choice((1, 1, 2, 5, 20))}"
            self.armed[name] = point
        if name in WORKERS:
            arguments = ("--name", name, *WORKER)
        else:
            arguments = ("--port", str(self.stack.ports[name]), *((*HOSTS, "--startup-timeout-s", "600") if name == "api" else ()))
        environment = {"TIDEMARK_FAIL_POINT": point} if point else {}
        if name in self.disks:
            self.heal(name)
            environment |= self.disks[name].environment
        self.stack.launch(name, PROGRAM_OF[name], *arguments, environment=environment)

    def heal(self, name):
        self.disks[name].fails()
        self.ailing.pop(name, None)

    def spoil_a_disk(self):
        name = self.choice.choice(STORES)
        calls = self.choice.sample(("write", "sync", "read"), self.choice.choice((1, 1, 2)))
        self.disks[name].fails(*(f"{call} {self.choice.choice(('ENOSPC', 'EIO', 'EROFS') if call == 'write' else ('EIO',))}"
                                 f" {self.choice.choice((0, 0, 1, 5, 30))}" for call in calls))
        self.ailing[name] = time.monotonic() + self.choice.uniform(0.0, AILING_S)
        self.faults["disks that failed"] += 1

    def kill(self, names, arm):
        for name in names:
            child = self.stack.children[name]
            self.asleep.pop(name, None)
            if child.alive():
                child.kill()
            else:
                self.must_have_a_reason(name, child)
            self.faults["kills"] += 1
        for name in names:
            self.start(name, arm)

    def do_harm(self):
        if self.disks and self.choice.random() < 0.6:
            return self.spoil_a_disk()
        everybody = list(PROGRAM_OF)
        dice = self.choice.random()
        if dice < 0.50:
            self.kill([self.choice.choice(everybody)], arm=False)
        elif dice < 0.80:
            self.kill([self.choice.choice(everybody)], arm=True)
        elif dice < 0.88:
            name = self.choice.choice(WORKERS)
            self.stack.children[name].pause()
            self.asleep[name] = time.monotonic() + ASLEEP_S
            self.faults["sleeps"] += 1
        elif dice < 0.97:
            self.kill(self.choice.sample(everybody, 2), arm=self.choice.random() < 0.5)
        else:
            self.kill(everybody, arm=False)

    def calm_down(self):
        for name in self.disks:
            self.heal(name)
        for name in list(self.asleep):
            self.stack.children[name].resume()
        self.asleep.clear()
        for name in list(self.armed):
            self.kill([name], arm=False)
            self.faults["kills"] -= 1
        for child in self.stack.children.values():
            if not child.ready:
                child.await_ready()


class Run:
    def __init__(self, world):
        self.world = world
        self.stories = []  # (name, generator)
        self.finished = collections.Counter()
        self.planned = []

    def begin_one(self):
        """Begins every kind of story once before any comes twice."""
        alone = {story.__name__ for story in scenarios.ONE_AT_A_TIME} & {name for name, _ in self.stories}
        if not any(story.__name__ not in alone for story in self.planned):
            self.planned += self.world.choice.sample(scenarios.ALL, len(scenarios.ALL))
        story = next(story for story in self.planned if story.__name__ not in alone)
        self.planned.remove(story)
        self.stories.append((story.__name__, story(self.world)))

    def step(self):
        """Makes one step of every story."""
        for entry in list(self.stories):
            name, story = entry
            try:
                next(story)
            except StopIteration:
                self.stories.remove(entry)
                self.finished[name] += 1
            except Exception as error:
                raise AssertionError(f"in {name}: {error}") from error

    def under_faults(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            while len(self.stories) < AT_ONCE:
                self.begin_one()
            self.world.do_harm()
            harm_at = time.monotonic() + self.world.choice.uniform(0.0, 1.5)
            while time.monotonic() < harm_at:
                self.step()
                self.world.write_something()

    def until_quiet(self):
        self.world.calm_down()
        # Stories that have not had their turn have it now: a short run tells every story too.
        told = set(self.finished) | {name for name, _ in self.stories}
        self.stories += [(s.__name__, s(self.world)) for s in scenarios.ALL if s.__name__ not in told]

        def quiet():
            self.step()
            return not self.stories

        try:
            wait_until(quiet, "the end of all stories", CALM_LIMIT_S)
        except AssertionError as error:
            unfinished = [job for job in self.world.api.jobs() if not ended(job)]
            raise AssertionError(f"{[name for name, _ in self.stories]} do not end; {unfinished}") from error
        wait_until(lambda: self.world.queues.length(JOB_QUEUE) == 0, "an empty job queue")

    def judge(self):
        world = self.world
        known, keys = {}, collections.Counter()
        for job in world.api.jobs():
            assert ended(job), job
            key = job["spec"].get("idempotencyKey", "")
            if job["id"] not in world.progress:
                assert job["state"] == "succeeded" and (not key or key.startswith("schedule:")), job
            known[job["id"]] = job["state"]
            keys[key] += 1
        del keys[""]
        assert not keys or max(keys.values()) == 1, f"submitted once, made more often: {keys.most_common(3)}"
        lost = set(world.progress) - set(known)
        assert not lost, f"acknowledged and gone: {lost}"
        assert world.api.poison() == []
        assert world.tables.scan("Acknowledged") == world.entities
        for name, content in world.contents.items():
            assert world.blobs.get("acknowledged", name) == content, f"{name} is not what was written last"
        found = self.drain("acknowledged")
        assert found == world.texts, f"lost {sorted(world.texts - found)[:5]}, strange {sorted(found - world.texts)[:5]}"
        return collections.Counter(known.values())

    def drain(self, queue):
        texts = set()
        while True:
            messages = self.world.queues.take(queue, 32)
            if not messages:
                return texts
            for message in messages:
                texts.add(message["MessageText"])
                self.world.queues.delete(queue, message)


def main():
    read_options(sys.argv[1:])
    # A test that waits for an answer restarts no process: an api that starts must not wait for its stores until it
    # gives up.
    HttpClient.timeout_s = 10.0
    seed = OPTIONS["seed"] if OPTIONS["seed"] is not None else sizes.seed()
    print(f"repeat with --seed {seed}", flush=True)
    with Stack() as stack:
        for name in STORES:
            stack.start(name)
        stack.start("api", *HOSTS)
        world = World(stack, seed)
        world.tables.create_table("Acknowledged")
        world.queues.create("acknowledged")
        world.blobs.create_container("acknowledged")
        for name in WORKERS:
            world.start(name, arm=False)
        run = Run(world)
        world.kill(world.disks, arm=False)  # they start again on disks that can fail
        run.under_faults(OPTIONS["seconds"])
        under_faults = run.finished.total()
        run.until_quiet()
        states = run.judge()
    world.endpoint.close()
    print(f"{dict(world.faults)}; {under_faults} stories ended under faults, {run.finished.total()} in all: "
          f"{dict(run.finished)}; jobs {dict(states)}; acknowledged and there: {len(world.entities)} entities, "
          f"{len(world.texts)} messages, {len(world.contents)} blobs", flush=True)


if __name__ == "__main__":
    main()
