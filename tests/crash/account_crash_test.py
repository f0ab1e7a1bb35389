"""Archives in another account, and their undo, while workers and stores die: every entity ends in exactly one of the
two accounts, the counts are exact, and a worker that wakes after the end of the job writes in neither account."""
import base64
import os
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import archive_crash_test  # noqa: E402
import sizes  # noqa: E402
from archive_crash_test import WORKER, by_key, entities_of  # noqa: E402
from clients import ACCOUNT, KEY, HttpFailure, TableClient, ended, patiently  # noqa: E402
from stack import program, wait_until  # noqa: E402

OTHER_KEY = b"k" * 64
ACCOUNTS = ",".join(f"{name}:{base64.b64encode(key).decode()}" for name, key in ((ACCOUNT, KEY), ("other", OTHER_KEY)))
OTHER_WORKER = (*WORKER, "--job-accounts", "other")


class OtherTables(TableClient):
    account, key = "other", OTHER_KEY


class AccountCrashTest(archive_crash_test.CrashTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.others = OtherTables(cls.stack.ports["table_store"])

    @classmethod
    def start_stores(cls):
        for name in ("table_store", "queue_service"):
            cls.stack.start(name, "--accounts", ACCOUNTS)
        cls.stack.start("api", "--job-accounts", "other")

    def worker(self, name, *arguments, fail_point=None):
        return super().worker(name, *(arguments or OTHER_WORKER), fail_point=fail_point)

    @staticmethod
    def archive(source, destination):
        return {**archive_crash_test.CrashTest.archive(source, destination), "destinationAccount": "other"}

    def check_moved(self, job, entities, source, destination):
        self.assertEqual(job["state"], "succeeded", job)
        moved = [e for e in entities if not e["Keep"]]
        self.assertEqual(self.tables.scan(source), by_key(e for e in entities if e["Keep"]))
        self.assertEqual(self.others.scan(destination), by_key(moved))
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (len(moved), 0), job)

    def finish(self, job_id):
        worker = self.worker("clean")
        job = self.await_end(job_id)
        self.await_empty_queue()
        self.assertEqual(worker.terminate(), 0, worker.log())
        return job

    def await_death(self, worker):
        self.assertEqual(worker.wait(60), -9, f"the fail point was not reached; {worker.log()}")

    def points(self):
        listed = subprocess.run([program("worker"), "--list-fail-points"], capture_output=True, check=True, text=True)
        return [p for p in listed.stdout.split() if p.split(".")[0] in ("claim", "move", "open", "close", "finish")]

    def test_a_worker_dies_at_each_point(self):
        points = self.points()
        self.assertGreater(len(points), 10)
        for point in sizes.some_of(points):
            begun = time.monotonic()
            for case in (self.archive_case, self.undo_case):
                with self.subTest(fail_point=point, case=case.__name__):
                    case(point)
            print(f"{point}: {time.monotonic() - begun:.1f} s", flush=True)

    def die_at(self, point, spec):
        """Submits a job whose worker dies at the point. Points of "open" need a delivery before it, which another
        worker takes."""
        first = self.worker("first", fail_point="move.copy.before") if point.startswith("open.") else None
        dying = None if first else self.worker("dying", fail_point=point)
        job_id = self.api.submit(spec)
        if first:
            self.await_death(first)
            dying = self.worker("dying", fail_point=point)
        self.await_death(dying)
        return job_id

    def archive_case(self, point):
        entities = entities_of(5, 6)
        source, destination = self.fill(entities)
        job_id = self.die_at(point, self.archive(source, destination))
        self.check_nothing_lost(entities, source, destination)
        self.check_moved(self.finish(job_id), entities, source, destination)

    def check_nothing_lost(self, entities, source, destination):
        try:
            there = self.others.scan(destination)
        except HttpFailure as failure:
            self.assertEqual(failure.status, 404)
            there = {}
        self.assertEqual(set(self.tables.scan(source)) | set(there), set(by_key(entities)), "an entity is in neither")

    def undo_case(self, point):
        entities = entities_of(3, 5)
        source, destination = self.fill(entities)
        archived = self.finish(self.api.submit(self.archive(source, destination)))
        job_id = self.die_at(point, {"kind": "undo", "job": archived["id"], "maxAttempts": 100})
        self.check_nothing_lost(entities, source, destination)
        job = self.finish(job_id)
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.tables.scan(source), by_key(entities))
        self.assertEqual(self.others.scan(destination), {})
        self.assertEqual(job["progress"]["done"], archived["progress"]["done"], job)

    def test_the_store_dies(self):
        entities = entities_of(300, 3)
        source, destination = self.fill(entities)
        self.worker("one")
        self.worker("two")
        job_id = self.api.submit(self.archive(source, destination))
        wait_until(lambda: patiently(self.count, destination) > 50, "progress of the job", interval_s=0.0)
        self.stack.restart("table_store", "--accounts", ACCOUNTS)
        job = self.await_end(job_id)
        self.await_empty_queue()
        self.check_moved(job, entities, source, destination)

    def count(self, destination):
        try:
            return len(self.others.scan(destination))
        except HttpFailure as failure:
            if failure.status == 404:
                return 0
            raise

    def test_a_sleeper_wakes_after_the_end(self):
        """The sleeper has read the entities and must no longer write them into the other account."""
        entities = entities_of(300, 3)
        source, destination = self.fill(entities)
        sleeper = self.worker("sleeper")
        job_id = self.api.submit(self.archive(source, destination))
        wait_until(lambda: patiently(self.count, destination) > 50, "progress of the job", interval_s=0.0)
        sleeper.pause()
        self.assertFalse(ended(self.api.job(job_id)), "the job was over before the worker was paused")
        self.worker("other")
        job = self.await_end(job_id)
        self.check_moved(job, entities, source, destination)
        for key in by_key(e for e in entities if not e["Keep"]):
            self.others.delete(destination, *key)
        sleeper.resume()
        self.assertEqual(sleeper.terminate(40), 0, sleeper.log())
        self.assertEqual(self.others.scan(destination), {})


if __name__ == "__main__":
    unittest.main(verbosity=2)
