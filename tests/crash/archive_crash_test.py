"""Kills and pauses the real processes in the middle of jobs and checks the outcome from outside, over HTTP only.

However they die: every entity ends in exactly one of source and destination with the properties it had, the record's
count is the number of moved entities, every job has one end, and the queue is empty. Run it by hand with --points
PREFIX for some of the fail points. random_kill_test.py kills at random, fail_point_pairs_test.py tries pairs of fail
points.
"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ApiClient, BlobClient, QueueClient, TableClient, ended, job_if_known, patiently  # noqa: E402
from stack import StackTest, program, wait_until  # noqa: E402

JOB_QUEUE = "tidemark-jobs"
# Short leases and retries, since the test checks the end and not the wait for it.
WORKER = ("--lease-s", "2", "--poll-s", "2", "--retry-base-ms", "50", "--retry-cap-ms", "500")
JOB_LIMIT_S = 90.0
OPTIONS = {"points": ""}


def entities_of(partitions, rows, seed=0):
    """Makes entities of various types and sizes; every tenth is not to be archived."""
    made = []
    for p in range(partitions):
        for r in range(rows):
            n = p * rows + r
            made.append({"PartitionKey": f"p'{p:05}", "RowKey": f"r {r:03} \u00e9", "Number": n + seed,
                         "Text": "x" * (n % 200), "Ratio": n / 7, "Keep": n % 10 == 9, "Color": f"c{n % 4}"})
    return made


def by_key(entities):
    return {(e["PartitionKey"], e["RowKey"]): e for e in entities}


def minutes_of_yesterday(count):
    """Returns past due times, a cron expression that has these and no others within a year, and a time before them."""
    midnight = (int(time.time()) // 86400 - 1) * 86400
    shown = lambda t: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))  # noqa: E731
    cron = time.strftime(f"0-{count - 1} 0 %-d %-m *", time.gmtime(midnight))
    return [shown(midnight + 60 * n) for n in range(count)], cron, shown(midnight - 1)


def index_content(pieces):
    """Returns {value: [key, ...]} of an index table."""
    content = {}
    for piece in pieces.values():
        keys = [tuple(k) for name in sorted(piece) if name.startswith("Keys") for k in json.loads(piece[name])]
        assert len(keys) == piece["Count"], piece
        content.setdefault(piece["Value"], []).extend(keys)
    return content


class CrashTest(StackTest):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_stores()
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.numbers = iter(range(1, 1_000_000))

    @classmethod
    def start_stores(cls):
        cls.stack.up()

    def run(self, result=None):
        super().run(result)
        for name in [n for n in self.stack.children if n.startswith("w-")]:
            self.stack.children.pop(name).kill()

    def fill(self, entities):
        """Makes a new source table with these entities; returns it and a name for its destination."""
        number = next(self.numbers)
        source, destination = f"Source{number}", f"Archive{number}"
        self.tables.create_table(source)
        self.tables.put_many(source, entities)
        return source, destination

    def worker(self, name, *arguments, fail_point=None):
        return self.stack.start_worker("w-" + name, *(arguments or WORKER), fail_point=fail_point)

    @staticmethod
    def archive(source, destination):
        return {"kind": "archive", "source": source, "destination": destination, "filter": "Keep eq false",
                "maxAttempts": 100}

    def await_end(self, job_id, limit_s=JOB_LIMIT_S):
        def look():
            job = patiently(self.api.job, job_id)
            return job if ended(job) else None
        return wait_until(look, f"the end of job {job_id}", limit_s)

    def await_empty_queue(self):
        wait_until(lambda: patiently(self.queues.length, JOB_QUEUE) == 0, "an empty job queue")

    def check_archived(self, job, entities, source, destination):
        self.assertEqual(job["state"], "succeeded", job)
        moved = by_key(e for e in entities if not e["Keep"])
        kept = by_key(e for e in entities if e["Keep"])
        self.assertEqual(self.tables.scan(source), kept)
        self.assertEqual(self.tables.scan(destination), moved)
        self.assertEqual(job["progress"]["done"], len(moved), job)
        self.assertEqual(job["progress"]["skipped"], 0, job)

    def await_progress(self, destination, entities):
        """Waits until the copy of an entity well inside is there: the job is in the middle."""
        keys = sorted(by_key(e for e in entities if not e["Keep"]))
        key = keys[len(keys) // 10]
        wait_until(lambda: self.tables.get(destination, *key), "progress of the job", interval_s=0.0)


class FailPointTest(CrashTest):
    """A worker dies at each of its fail points, another takes over."""

    def test_every_fail_point(self):
        listed = subprocess.run([program("worker"), "--list-fail-points"], capture_output=True, check=True, text=True)
        # Fail points of the libraries below the worker have tests of their own.
        others = ("adopt", "analytics", "blob", "callback", "discard", "ending", "file", "follow", "http", "kv", "object", "offload",
                  "orphans", "queue", "rpc", "schedule", "table")
        points = [p for p in listed.stdout.split() if p.split(".")[0] not in others]
        self.assertGreater(len(points), 20)
        for point in sizes.some_of(p for p in points if p.startswith(OPTIONS["points"])):
            with self.subTest(fail_point=point):
                begun = time.monotonic()
                for case in self.cases(point):
                    case(point)
                print(f"{point}: {time.monotonic() - begun:.1f} s", flush=True)

    def cases(self, point):
        """Returns the jobs that pass a point."""
        if point.startswith(("batch.steps", "batch.message", "batch.close")):
            return [self.transaction_batch_case]
        if point.startswith("transaction.undo"):
            return [self.transaction_undo_case]
        return {
            "index": [self.index_case], "retry": [self.retry_case], "poison": [self.poison_case, self.hold_case],
            "copy": [self.copy_case], "delete": [self.delete_case], "drop": [self.drop_case],
            "sweep": [self.redrive_case, self.purge_case], "batch": [self.batch_case], "schedule": [self.schedule_case],
            "move": [self.archive_case, self.unarchive_case, self.undo_case, self.rekey_case],
            "transaction": [self.transaction_case],
            "takeback": [self.rivals_case, self.rekey_again_case], "merge": [self.merge_case],
            "finish": [self.archive_case, self.then_case], "pass_on": [self.pass_on_case],
            "rule": [self.rule_case],
        }.get(point.split(".")[0], [self.archive_case])

    def await_death(self, worker):
        self.assertEqual(worker.wait(60), -signal.SIGKILL, f"the fail point was not reached; {worker.log()}")

    def finish(self, job_id):
        """Starts a worker without a fail point, which brings the job to its end."""
        worker = self.worker("clean")
        job = self.await_end(job_id)
        self.await_empty_queue()
        self.assertEqual(worker.terminate(), 0, worker.log())
        return job

    def archive_case(self, point):
        entities = entities_of(5, 6)
        source, destination = self.fill(entities)
        # The first delivery does not pass the points of "open": an earlier worker must have died.
        first = self.worker("first", fail_point="claim.after") if point.startswith("open.") else None
        dying = None if first else self.worker("dying", fail_point=point)
        job_id = self.api.submit(self.archive(source, destination))
        if first:
            self.await_death(first)
            dying = self.worker("dying", fail_point=point)
        self.await_death(dying)
        here, there = self.tables.scan(source), self.tables.scan(destination)
        self.assertEqual(set(here) | set(there), set(by_key(entities)), "an entity is in neither table")
        self.check_archived(self.finish(job_id), entities, source, destination)

    def pass_on_case(self, point):
        """A worker dies while it moves a job to the queue that its text names."""
        entities = entities_of(2, 4)
        source, destination = self.fill(entities)
        dying = self.worker("dying", fail_point=point)
        self.queues.put(JOB_QUEUE, json.dumps(dict(self.archive(source, destination), queue="heavy")))
        self.await_death(dying)
        job = wait_until(lambda: next((j for j in self.api.jobs() if j["spec"].get("source") == source), None), "its record")
        self.assertEqual((job["state"], job["queue"]), ("queued", "heavy"), job)
        worker = self.worker("heavy", *WORKER, "--queues", "heavy")
        self.check_archived(self.finish(job["id"]), entities, source, destination)
        self.assertEqual(self.api.job(job["id"])["worker"], "w-heavy")
        wait_until(lambda: patiently(self.queues.length, "tidemark-jobs-heavy") == 0, "an empty queue")
        self.assertEqual(worker.terminate(), 0, worker.log())

    def rivals_case(self, point):
        """A job to another destination overtakes: each entity ends in one of the destinations."""
        entities = [dict(e, Keep=False) for e in entities_of(2, 4)]
        source, destination = self.fill(entities)
        slow = self.worker("slow", fail_point="move.erase.before")
        job_id = self.api.submit(self.archive(source, destination))
        self.await_death(slow)
        self.assertTrue(self.tables.scan(destination), "nothing was copied")
        dying = self.worker("dying", fail_point=point)
        rival = self.await_end(self.api.submit(self.archive(source, destination + "B")))
        self.assertEqual((rival["state"], rival["progress"]["done"]), ("succeeded", len(entities)), rival)
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 0), job)
        self.assertEqual(self.tables.scan(source), {})
        self.assertEqual(self.tables.scan(destination), {})
        self.assertEqual(self.tables.scan(destination + "B"), by_key(entities))

    def batch_case(self, point):
        """Tests jobs of one entity each, which a worker carries out together."""
        entities = [dict(e, Keep=False) for e in entities_of(4, 5)]
        source, destination = self.fill(entities)
        self.tables.create_table(destination)
        jobs = [self.api.submit({"kind": "archive", "source": source, "destination": destination,
                                 "partitionKey": e["PartitionKey"], "rowKey": e["RowKey"], "maxAttempts": 100})
                for e in entities]
        self.await_death(self.worker("dying", fail_point=point))
        here, there = self.tables.scan(source), self.tables.scan(destination)
        self.assertEqual({**here, **there}, by_key(entities), "an entity is in neither table, or changed")
        self.assertFalse(set(here) & set(there), "an entity is in both tables")
        worker = self.worker("clean")
        for job_id in jobs:
            job = self.await_end(job_id)
            self.assertEqual((job["state"], job["progress"]["done"], job["progress"]["skipped"]), ("succeeded", 1, 0), job)
            self.assertLessEqual([a["outcome"] for a in job["history"]].count("succeeded"), 1, job)
        self.await_empty_queue()
        self.assertEqual(worker.terminate(), 0, worker.log())
        self.assertEqual(self.tables.scan(source), {})
        self.assertEqual(self.tables.scan(destination), by_key(entities))

    def transaction_batch_case(self, point):
        """Tests transactions of entities and messages, which a worker carries out together: each takes its steps once."""
        source, _ = self.fill([{"PartitionKey": p, "RowKey": "r", "Number": 0} for p in "pq"])
        queue = source.lower()
        self.queues.create(queue)
        target, other = ({"table": source, "partitionKey": p, "rowKey": "r"} for p in "pq")
        jobs = [self.api.submit({"kind": "transaction", "maxAttempts": 100,
                                 "guards": [{"as": "g", **target}],
                                 "steps": [{"merge": {"of": "g", "add": {"Number": 1}}},
                                           {"put": {"table": source, "partitionKey": "{job.id}", "rowKey": "", "entity": {}}},
                                           {"message": {"queue": queue, "text": "{job.id}"}},
                                           {"merge": {**other, "add": {"Number": 1}}}]})
                for _ in range(12)]
        self.await_death(self.worker("dying", fail_point=point))
        worker = self.worker("clean")
        for job_id in jobs:
            job = self.await_end(job_id)
            self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 4), job)
        self.await_empty_queue()
        self.assertEqual(worker.terminate(), 0, worker.log())
        for partition in "pq":
            self.assertEqual(self.tables.get(source, partition, "r")["Number"], len(jobs))
        self.assertEqual(len(self.tables.scan(source)), len(jobs) + 2)
        self.assertEqual(sorted(m["MessageText"] for m in self.queues.take(queue, 32)), sorted(jobs))

    def index_case(self, point):
        entities = entities_of(5, 6)
        source, destination = self.fill(entities)
        spec = {"kind": "index", "source": source, "property": "Color", "destination": destination, "maxAttempts": 100}
        first = self.finish(self.api.submit(spec))
        self.assertEqual(first["state"], "succeeded", first)
        # One value disappears, so that the second run has something to remove, and a new one appears.
        for entity in [e for e in entities if e["Color"] == "c1"]:
            self.tables.delete(source, entity["PartitionKey"], entity["RowKey"])
        entities = [e for e in entities if e["Color"] != "c1"]
        entities[0]["Color"] = "new/value"
        self.tables.put(source, entities[0])
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit(spec)
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual(job["state"], "succeeded", job)
        wanted = {}
        for entity in entities:
            wanted.setdefault(entity["Color"], set()).add((entity["PartitionKey"], entity["RowKey"]))
        found = index_content(self.tables.scan(destination))
        for value, keys in found.items():
            self.assertEqual(len(keys), len(set(keys)), f"repeated keys for {value}")
        self.assertEqual({value: set(keys) for value, keys in found.items()}, wanted)
        self.assertEqual(job["progress"]["done"], len(entities), job)

    def unarchive_case(self, point):
        def spec(source, destination, _archived):
            return {"kind": "unarchive", "source": destination, "destination": source, "filter": "", "maxAttempts": 100}
        self.restore_case(point, spec)

    def undo_case(self, point):
        self.restore_case(point, lambda _s, _d, archived: {"kind": "undo", "job": archived, "maxAttempts": 100})

    def restore_case(self, point, spec):
        """Every archived entity comes back, except those that were created anew meanwhile."""
        entities = entities_of(5, 6)
        source, destination = self.fill(entities)
        archived = self.finish(self.api.submit(self.archive(source, destination)))
        moved = [e for e in entities if not e["Keep"]]
        newer = dict(moved[0], Text="newer")
        self.tables.put(source, newer)
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit(spec(source, destination, archived["id"]))
        self.await_death(dying)
        here, there = self.tables.scan(source), self.tables.scan(destination)
        self.assertEqual(set(here) | set(there), set(by_key(entities)), "an entity is in neither table")
        job = self.finish(job_id)
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.tables.scan(source), {**by_key(entities), **by_key([newer])})
        self.assertEqual(self.tables.scan(destination), by_key(moved[:1]))
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (len(moved) - 1, 1), job)

    def transaction_case(self, point):
        """Each step is taken once, in tables, a queue and a container."""
        source, _ = self.fill([{"PartitionKey": "p", "RowKey": "r", "Number": 1}, {"PartitionKey": "q", "RowKey": "r", "Number": 10}])
        place = source.lower()  # of a queue and of a container
        self.queues.create(place)
        if "blob_store" not in self.stack.ports:
            self.stack.start("blob_store")
        blobs = BlobClient(self.stack.ports["blob_store"])
        blobs.create_container(place)
        steps = [{"merge": {"of": "g", "add": {"Number": -1}}},
                 {"message": {"queue": place, "text": "{g.Number}"}},
                 {"blob": {"container": place, "name": "blob", "text": "{g.Number}"}},
                 {"merge": {"table": source, "partitionKey": "q", "rowKey": "r", "add": {"Number": "{g.Number}"}}}]
        guards = [{"as": "g", "table": source, "partitionKey": "p", "rowKey": "r", "where": "Number gt 0"}]
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit({"kind": "transaction", "guards": guards, "steps": steps, "maxAttempts": 100})
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 4), job)
        self.assertEqual({key: e["Number"] for key, e in self.tables.scan(source).items()},
                         {("p", "r"): 0, ("q", "r"): 11})
        self.assertEqual(self.queues.length(place), 1)
        self.assertEqual(blobs.get(place, "blob"), b"1")

    def transaction_undo_case(self, point):
        """An undo restores each entity once."""
        before = [{"PartitionKey": p, "RowKey": "r", "Number": n} for n, p in enumerate("abc")]
        source, _ = self.fill(before)
        steps = [{"merge": {"table": source, "partitionKey": p, "rowKey": "r", "add": {"Number": 10}}} for p in "abca"]
        done = self.finish(self.api.submit({"kind": "transaction", "steps": steps, "maxAttempts": 100}))
        self.assertEqual(self.tables.get(source, "a", "r")["Number"], 20)
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit({"kind": "undo", "job": done["id"], "maxAttempts": 100})
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual((job["state"], job["progress"]["done"], job["result"]["left"]), ("succeeded", 4, []), job)
        self.assertEqual(self.tables.scan(source), by_key(before))

    def delete_case(self, point):
        entities = entities_of(5, 6)
        source, _ = self.fill(entities)
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit({"kind": "delete", "source": source, "filter": "Keep eq false", "maxAttempts": 100})
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.tables.scan(source), by_key(e for e in entities if e["Keep"]))
        self.assertEqual(job["progress"]["done"], sum(not e["Keep"] for e in entities), job)

    def drop_case(self, point):
        """A table that is created again right after the first was dropped must not be dropped too."""
        entities = entities_of(2, 3)
        source, _ = self.fill(entities)
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit({"kind": "delete", "source": source, "wholeTable": True, "maxAttempts": 100})
        self.await_death(dying)
        gone = point == "drop.table.after"
        if gone:
            self.tables.create_table(source)
            self.tables.put(source, entities[0])
        job = self.finish(job_id)
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 1), job)
        if gone:
            self.assertEqual(self.tables.scan(source), by_key(entities[:1]))
        else:
            self.tables.create_table(source)
            self.assertEqual(self.tables.scan(source), {})

    def copy_case(self, point):
        entities = entities_of(5, 6)
        source, destination = self.fill(entities)
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit({
            "kind": "copy", "source": source, "destination": destination, "filter": "Keep eq false",
            "partitionKeyTemplate": "{Color}", "rowKeyTemplate": "{PartitionKey} {RowKey}", "properties": ["Number"],
            "maxAttempts": 100})
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual(job["state"], "succeeded", job)
        wanted = [{"PartitionKey": e["Color"], "RowKey": f"{e['PartitionKey']} {e['RowKey']}", "Number": e["Number"]}
                  for e in entities if not e["Keep"]]
        self.assertEqual(self.tables.scan(destination), by_key(wanted))
        self.assertEqual(self.tables.scan(source), by_key(entities))
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (len(wanted), 0), job)

    def rekey(self, source):
        return {"kind": "rekey", "source": source, "filter": "Keep eq false", "partitionKey": "{Color}",
                "rowKey": "{PartitionKey} {RowKey}", "set": {"Moved": True}, "maxAttempts": 100}

    @staticmethod
    def rekeyed(entities):
        return [e if e["Keep"] else dict(e, PartitionKey=e["Color"], RowKey=f"{e['PartitionKey']} {e['RowKey']}", Moved=True)
                for e in entities]

    def check_nothing_lost_to_new_keys(self, source, entities):
        """Checks that each entity is under at least one of its keys at every moment."""
        there = self.tables.scan(source)
        for old, new in zip(entities, self.rekeyed(entities)):
            keys = [(e["PartitionKey"], e["RowKey"]) for e in (old, new)]
            self.assertTrue(any(key in there for key in keys), f"{keys} are both gone")

    def rekey_case(self, point):
        entities = entities_of(5, 6)
        source, _ = self.fill(entities)
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit(self.rekey(source))
        self.await_death(dying)
        self.check_nothing_lost_to_new_keys(source, entities)
        job = self.finish(job_id)
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.tables.scan(source), by_key(self.rekeyed(entities)))
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (sum(not e["Keep"] for e in entities), 0), job)

    def rekey_again_case(self, point):
        """Undo takes back the copies of a dead worker. Meanwhile one entity has changed, and one is gone."""
        entities = entities_of(5, 6)
        source, _ = self.fill(entities)
        first = self.worker("first", fail_point="move.erase.before")
        job_id = self.api.submit(self.rekey(source))
        self.await_death(first)
        entities[0] = dict(entities[0], Color="new")
        self.tables.put(source, entities[0])
        gone = entities.pop(1)
        self.tables.delete(source, gone["PartitionKey"], gone["RowKey"])
        self.await_death(self.worker("dying", fail_point=point))
        self.check_nothing_lost_to_new_keys(source, entities)
        job = self.finish(job_id)
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.tables.scan(source), by_key(self.rekeyed(entities)))
        self.assertEqual(job["progress"]["done"], sum(not e["Keep"] for e in entities), job)

    def merge_case(self, point):
        entities = entities_of(5, 6)
        source, _ = self.fill(entities)
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit({"kind": "merge", "source": source, "filter": "Keep eq false",
                                  "set": {"Keep": True, "Color": "x"}, "maxAttempts": 100})
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.tables.scan(source),
                         by_key(e if e["Keep"] else dict(e, Keep=True, Color="x") for e in entities))

    def then_case(self, point):
        """The following job is there once, and so is the one after that."""
        entities = entities_of(5, 6)
        source, destination = self.fill(entities)
        drop = {"kind": "delete", "source": destination, "wholeTable": True, "maxAttempts": 100}
        copy = {"kind": "copy", "source": destination, "destination": destination + "Copy", "filter": "",
                 "maxAttempts": 100, "then": drop}
        dying = self.worker("dying", fail_point=point)
        first = self.api.submit(dict(self.archive(source, destination), then=copy))
        self.await_death(dying)
        worker = self.worker("clean")
        chain = [self.await_end(first)]
        while "then" in chain[-1]["spec"]:
            self.assertEqual(chain[-1]["state"], "succeeded", chain)
            following = chain[-1]["thenJob"]
            wait_until(lambda: patiently(job_if_known, self.api, following), "the job that follows")
            chain.append(self.await_end(following))
            self.assertEqual(chain[-1]["spec"]["after"], chain[-2]["id"])
        self.await_empty_queue()
        self.assertEqual([job["kind"] for job in chain], ["archive", "copy", "delete"])
        self.assertEqual(chain[-1]["state"], "succeeded", chain)
        self.assertEqual(self.tables.scan(destination + "Copy"), by_key(e for e in entities if not e["Keep"]))
        mine = [job["id"] for job in self.api.jobs() if destination in json.dumps(job["spec"])]
        self.assertEqual(sorted(mine), sorted(job["id"] for job in chain))
        self.assertEqual(worker.terminate(), 0, worker.log())

    def redrive_case(self, point):
        source = f"Later{next(self.numbers)}"
        spec = {"kind": "delete", "source": source, "filter": ""}
        failed = [self.api.submit(spec) for _ in range(6)]
        helper = self.worker("first")
        for job_id in failed:
            self.assertEqual(self.await_end(job_id)["state"], "poisoned")
        self.assertEqual(helper.terminate(), 0, helper.log())
        self.tables.create_table(source)
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit({"kind": "redrive", "poisonKind": "delete", "canary": 2, "perSecond": 1000,
                                  "maxAttempts": 100})
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", len(failed)), job)
        for sent in failed:
            self.assertEqual(self.await_end(sent)["state"], "succeeded")
        self.assertEqual([p for p in self.api.poison() if p["jobId"] in failed], [])

    def purge_case(self, point):
        """Messages that a dead worker may have deleted are counted once."""
        if point.startswith("sweep.canary"):
            return  # only a redrive has canaries
        queue = f"given-up{next(self.numbers)}"
        self.queues.create(queue + "-poison")
        for number in range(6):
            self.queues.put(queue + "-poison", f"message {number}")
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit({"kind": "purge", "poisonQueue": queue, "maxAttempts": 100})
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 6), job)
        self.assertEqual(self.api.call("GET", f"/v1/poison?queue={queue}"), {"poison": []})

    def schedule_case(self, point):
        """Each due time has its job once, even if a worker dies while submitting it."""
        source, name = f"Gone{next(self.numbers)}", f"schedule{next(self.numbers)}"
        self.tables.create_table(source)
        due, cron, start = minutes_of_yesterday(3)
        dying = self.worker("dying", fail_point=point)
        self.api.call("PUT", f"/v1/schedules/{name}", {
            "cron": cron, "catchUp": "all", "overlap": "allow", "startAfter": start,
            "job": {"kind": "delete", "source": source, "filter": "", "maxAttempts": 100}})
        self.await_death(dying)
        worker = self.worker("clean")

        def settled():
            shown = self.api.call("GET", f"/v1/schedules/{name}")
            return shown["runs"] == len(due)
        wait_until(settled, "every due time to have its job", JOB_LIMIT_S)
        mine = {j["spec"]["idempotencyKey"]: j["id"] for j in self.api.jobs()
                if j["spec"].get("idempotencyKey", "").startswith(f"schedule:{name}:")}
        self.assertEqual(sorted(mine), [f"schedule:{name}:{t}" for t in due])
        for job_id in mine.values():
            self.assertEqual(self.await_end(job_id)["state"], "succeeded")
        self.await_empty_queue()
        self.api.call("DELETE", f"/v1/schedules/{name}")
        self.assertEqual(worker.terminate(), 0, worker.log())

    def rule_case(self, point):
        """Each change makes one job, even if a worker dies while it makes them, or notes how far it is."""
        source, notes = self.fill([])
        self.tables.create_table(notes)
        self.api.call("PUT", f"/v1/tables/{source}/feed", {"values": "both"})
        path = f"/v1/tables/{source}/onChange/note"
        self.api.call("PUT", path, {"filter": "", "job": {
            "kind": "transaction", "maxAttempts": 100, "steps": [
                {"insert": {"table": notes, "partitionKey": "{new.RowKey}", "rowKey": "{change.version}", "entity": {}}}]}})
        dying = self.worker("dying", fail_point=point)
        self.tables.put_many(source, [{"PartitionKey": "p", "RowKey": str(n)} for n in range(6)])
        self.await_death(dying)
        worker = self.worker("clean")
        wait_until(lambda: self.api.call("GET", path)["lag"]["changes"] == 0, "the rule has read everything", JOB_LIMIT_S)
        mine = [j for j in self.api.jobs() if j["spec"].get("cause", {}).get("rule") == f"{source}/note"]
        self.assertEqual(len(mine), 6)
        for job in mine:
            self.assertEqual(self.await_end(job["id"])["state"], "succeeded")
        self.assertEqual(sorted(pk for pk, _ in self.tables.scan(notes)), [str(n) for n in range(6)])
        self.await_empty_queue()
        self.api.call("DELETE", path)
        self.assertEqual(worker.terminate(), 0, worker.log())

    def poison_case(self, point):
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit({"kind": "archive", "source": "NoSuchTable", "destination": "Nowhere", "filter": ""})
        self.await_death(dying)
        job = self.finish(job_id)
        self.assertEqual(job["state"], "poisoned", job)
        poison = [p for p in self.api.poison() if p["jobId"] == job_id]
        self.assertEqual(len(poison), 1, poison)
        self.assertIn("NoSuchTable", poison[0]["reason"])

    def hold_case(self, point):
        """A job that becomes poison holds up the one behind it until it was sent back, wherever its worker dies."""
        source, notes = self.fill([])
        self.tables.create_table(notes)
        self.tables.put(notes, {"PartitionKey": "n", "RowKey": "1"})  # in the way of the first job
        self.api.call("PUT", f"/v1/tables/{source}/feed", {"values": "both"})
        self.api.call("PUT", f"/v1/tables/{source}/onChange/hold", {"filter": "", "when": "matches", "ifPoison": "hold", "job": {
            "kind": "transaction", "maxAttempts": 1, "steps": [
                {"insert": {"table": notes, "partitionKey": "n", "rowKey": "{new.Number}", "entity": {}}}]}})
        dying = self.worker("dying", fail_point=point)
        for number in (1, 2):
            self.tables.put(source, {"PartitionKey": "p", "RowKey": "r", "Number": number})
        self.await_death(dying)
        worker = self.worker("clean")

        def job(number):
            mine = (j for j in self.api.jobs() if j["spec"].get("cause", {}).get("rule") == f"{source}/hold")
            return next((self.api.job(j["id"]) for j in mine if j["spec"]["values"]["new"]["Number"] == number), {})
        wait_until(lambda: job(2).get("waiting", {}).get("reason") == "poison", "the second job waits for the first", JOB_LIMIT_S)
        first = job(1)
        self.assertEqual((first["state"], sorted(row for _, row in self.tables.scan(notes))), ("poisoned", ["1"]))
        self.tables.delete(notes, "n", "1")
        wait_until(lambda: [p for p in self.api.poison() if p["jobId"] == first["id"]], "the message in the poison queue", JOB_LIMIT_S)
        self.api.call("POST", f"/v1/poison/{first['id']}/redrive")
        for number in (1, 2):
            self.assertEqual(self.await_end(job(number)["id"])["state"], "succeeded")
        self.assertEqual(sorted(row for _, row in self.tables.scan(notes)), ["1", "2"])
        self.await_empty_queue()
        self.api.call("DELETE", f"/v1/tables/{source}/onChange/hold")
        self.assertEqual(worker.terminate(), 0, worker.log())

    def retry_case(self, point):
        """The table store dies while a worker waits for its answer: a transient error."""
        dying = self.worker("dying", fail_point=point)
        jobs = []
        for _ in range(10):
            entities = entities_of(5, 6)
            source, destination = self.fill(entities)
            store = self.stack.children["table_store"]
            store.pause()
            # Written as any SDK would write it, since the api could not store a record now.
            message = self.queues.put(JOB_QUEUE, json.dumps(self.archive(source, destination)))
            jobs.append((message, entities, source, destination))
            self.await_open_calls(dying)
            self.stack.restart("table_store")
            if self.died_or_finished(dying, message):
                break
        self.await_death(dying)
        worker = self.worker("clean")
        for message, entities, source, destination in jobs:
            job = wait_until(lambda: self.ended_job_of(message), "the end of a job put on the queue by hand", 60)
            self.check_archived(job, entities, source, destination)
        self.await_empty_queue()
        self.assertEqual(worker.terminate(), 0, worker.log())

    def await_open_calls(self, worker):
        """Waits until the worker has taken the message: it then asks the table store, which does not answer."""
        wait_until(lambda: self.queues.visible(JOB_QUEUE) == 0 or not worker.alive(), "the message being taken")

    def ended_job_of(self, message):
        found = [j for j in patiently(self.api.jobs) if j["messageId"] == message]
        return found[0] if found and ended(found[0]) else None

    def died_or_finished(self, worker, message):
        wait_until(lambda: not worker.alive() or self.ended_job_of(message), "the worker's death or the job's end", 60)
        return not worker.alive()


class ProcessDeathTest(CrashTest):
    """The stores and the api die, and a worker sleeps, in the middle of a bulk job."""

    ENTITIES = entities_of(1000, 3)

    @staticmethod
    def archive(source, destination):
        """Returns an archive job slow enough that the processes in the middle of it are still there, even if the test
        looks late."""
        return dict(CrashTest.archive(source, destination), maxPerSecond=900)

    def test_table_store_killed(self):
        self.kill_in_the_middle("table_store")

    def test_queue_service_killed(self):
        self.kill_in_the_middle("queue_service")

    def test_api_killed(self):
        self.kill_in_the_middle("api")

    def test_workers_killed(self):
        self.kill_in_the_middle(None)

    def kill_in_the_middle(self, victim):
        source, destination = self.fill(self.ENTITIES)
        workers = [self.worker("one"), self.worker("two")]
        job_id = self.api.submit(self.archive(source, destination))
        self.await_progress(destination, self.ENTITIES)
        if victim:
            self.stack.restart(victim)
        else:
            for worker in workers:
                worker.kill()
            self.assertTrue(self.tables.scan(source), "the job was over before the workers died")
            self.worker("three")
        job = self.await_end(job_id)
        self.await_empty_queue()
        self.check_archived(job, self.ENTITIES, source, destination)

    def test_worker_of_a_queue_killed(self):
        """Another worker of the queue goes on; a worker that does not take from the queue leaves the job alone, even if
        it is idle."""
        source, destination = self.fill(self.ENTITIES)
        self.worker("idle")
        heavy = self.worker("heavy-1", *WORKER, "--queues", "heavy")
        job_id = self.api.submit(dict(self.archive(source, destination), queue="heavy"))
        self.await_progress(destination, self.ENTITIES)
        heavy.kill()
        self.assertTrue(self.tables.scan(source), "the job was over before the worker died")
        wait_until(lambda: patiently(self.queues.visible, "tidemark-jobs-heavy") == 1, "the end of its lease")
        self.await_end(self.api.submit({"kind": "delete", "source": source, "filter": "Number lt 0"}))
        self.assertEqual(self.api.job(job_id)["worker"], "w-heavy-1")
        self.worker("heavy-2", *WORKER, "--queues", "default,heavy")
        job = self.await_end(job_id)
        self.check_archived(job, self.ENTITIES, source, destination)
        self.assertEqual([a["worker"] for a in job["history"]], ["w-heavy-1", "w-heavy-2"], job)
        self.assertEqual((job["queue"], job["history"][0]["outcome"]), ("heavy", "lost"), job)
        wait_until(lambda: patiently(self.queues.length, "tidemark-jobs-heavy") == 0, "an empty queue")

    def test_worker_killed_while_it_waits(self):
        """A long poll whose client has gone must not keep a job for the length of a lease."""
        entities = entities_of(2, 3)
        for end in ("kill", "terminate"):
            with self.subTest(end=end):
                # One job, so that the worker surely waits for the next.
                gone = self.worker("gone-" + end, "--lease-s", "3600")
                self.await_end(self.api.submit(self.archive(*self.fill(entities))))
                self.await_empty_queue()
                getattr(gone, end)()
                source, destination = self.fill(entities)
                job_id = self.api.submit(self.archive(source, destination))
                self.worker("next-" + end, "--lease-s", "3600")
                self.check_archived(self.await_end(job_id), entities, source, destination)
                self.stack.children["w-next-" + end].kill()

    def test_worker_asleep_beyond_its_lease(self):
        source, destination = self.fill(self.ENTITIES)
        sleeper = self.worker("sleeper")
        job_id = self.api.submit(self.archive(source, destination))
        self.await_progress(destination, self.ENTITIES)
        sleeper.pause()
        self.assertFalse(ended(self.api.job(job_id)), "the job was over before the worker was paused")
        self.worker("other")
        job = self.await_end(job_id)
        self.check_archived(job, self.ENTITIES, source, destination)
        # Every moved entity comes back under its old key: a late removal would hit one of them.
        returned = [dict(e, Text="again") for e in self.ENTITIES if not e["Keep"]]
        self.tables.put_many(source, returned)
        archived, current = self.tables.scan(destination), self.tables.scan(source)
        sleeper.resume()
        wait_until(lambda: f"job_id={job_id} " in sleeper.log(100_000), "the sleeper's end of its delivery")
        self.assertEqual(self.tables.scan(source), current)
        self.assertEqual(self.tables.scan(destination), archived)
        self.assertEqual(self.api.job(job_id), job)
        self.await_empty_queue()


def main():
    arguments = sys.argv[1:]
    rest = [sys.argv[0]]
    while arguments:
        word = arguments.pop(0)
        if word == "--points":
            OPTIONS["points"] = arguments.pop(0)
        else:
            rest.append(word)
    unittest.main(argv=rest, verbosity=2)


if __name__ == "__main__":
    main()
