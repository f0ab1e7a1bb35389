"""Kills the worker that submits a schedule's jobs at each of its steps, and the stores as well."""
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import archive_crash_test as archive  # noqa: E402
import sizes  # noqa: E402
from stack import program, wait_until  # noqa: E402


class ScheduleTest(archive.FailPointTest):
    """Each due time has its job once, even if a worker dies while submitting it."""

    def test_every_fail_point(self):
        listed = subprocess.run([program("worker"), "--list-fail-points"], capture_output=True, check=True, text=True)
        points = [p for p in listed.stdout.split() if p.startswith("schedule.")]
        self.assertGreaterEqual(len(points), 6)
        for point in sizes.some_of(points):
            with self.subTest(fail_point=point):
                self.schedule_case(point)

    def put(self, times):
        """Makes a schedule with `count` times to catch up, at most 60, and none to come for a year; returns its name
        and those times."""
        source, name = f"Gone{next(self.numbers)}", f"schedule{next(self.numbers)}"
        self.tables.create_table(source)
        due, cron, start = archive.minutes_of_yesterday(times)
        self.api.call("PUT", f"/v1/schedules/{name}", {
            "cron": cron, "catchUp": "all", "overlap": "allow", "startAfter": start,
            "job": {"kind": "delete", "source": source, "filter": "", "maxAttempts": 100}})
        return name, due

    def check(self, name, due):
        def settled():
            return archive.patiently(self.api.call, "GET", f"/v1/schedules/{name}")["runs"] == len(due)
        wait_until(settled, "every due time to have its job", archive.JOB_LIMIT_S)
        mine = {j["spec"]["idempotencyKey"]: j["id"] for j in self.api.jobs()
                if j["spec"].get("idempotencyKey", "").startswith(f"schedule:{name}:")}
        self.assertEqual(sorted(mine), [f"schedule:{name}:{t}" for t in due])
        for job_id in mine.values():
            job = self.await_end(job_id)
            self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 0), job)
        self.await_empty_queue()
        self.api.call("DELETE", f"/v1/schedules/{name}")

    def schedule_case(self, point):
        dying = self.worker("dying", fail_point=point)
        name, due = self.put(3)
        self.await_death(dying)
        worker = self.worker("clean")
        self.check(name, due)
        self.assertEqual(worker.terminate(), 0, worker.log())

    def test_two_workers_and_stores_that_die(self):
        for store in ("table_store", "queue_service"):
            with self.subTest(store=store):
                workers = [self.worker("one"), self.worker("two")]
                name, due = self.put(40)
                wait_until(lambda n=name: archive.patiently(self.api.call, "GET", f"/v1/schedules/{n}")["runs"] > 3,
                           "the first of them", interval_s=0.0)
                self.stack.restart(store)
                self.check(name, due)
                for worker in workers:
                    self.assertEqual(worker.terminate(), 0, worker.log())


if __name__ == "__main__":
    unittest.main(verbosity=2)
