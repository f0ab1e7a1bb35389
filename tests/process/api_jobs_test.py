"""The api of jobs, their groups, kinds, limits, schedules and workers, as its users see it."""
import json
import os
import sys
import unittest
from datetime import datetime, timedelta, timezone

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from api_case import ENTITIES, JSON, ApiCase  # noqa: E402
from stack import wait_until  # noqa: E402

ARCHIVE = {"kind": "archive", "source": "Source", "destination": "Archive", "filter": "Number lt 20"}


class ApiJobsTest(ApiCase):
    subject = "jobs"

    def test_the_table_of_jobs_is_made_again(self):
        self.tables.delete_table("TidemarkJobs")
        self.assertEqual(self.api.send("GET", "/readyz")[0], 200)
        self.assertEqual(self.api.call("GET", "/v1/jobs")["jobs"], [])
        self.fill("Remade")
        job = self.finish({"kind": "delete", "source": "Remade", "filter": ""})
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 30), job)

    def test_a_job_from_plan_to_undo(self):
        self.fill("Source")
        plan = self.api.call("POST", "/v1/jobs?dryRun=true", ARCHIVE)
        self.assertEqual((plan["keys"], plan["complete"], plan["problems"]), (20, True, []))
        self.assertEqual(len(plan["samples"]), 5)
        self.assertEqual(len(self.tables.scan("Source")), 30)
        job = self.finish({**ARCHIVE, "maxAffected": 20, "priority": "high"})
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 20), job)
        self.assertEqual([a["outcome"] for a in job["history"]], ["succeeded"])
        self.assertEqual(len(self.tables.scan("Archive")), 20)
        undo = self.finish({"kind": "undo", "job": job["id"]})
        self.assertEqual((undo["state"], undo["progress"]["done"]), ("succeeded", 20), undo)
        self.assertEqual(len(self.tables.scan("Source")), 30)
        self.refused(404, "JobNotFound", "POST", "/v1/jobs", {"kind": "undo", "job": "7fffffffffffffff-00000000"})
        listed = self.api.call("GET", "/v1/jobs?kind=undo&state=succeeded&limit=1")["jobs"]
        self.assertEqual([j["id"] for j in listed], [undo["id"]])

    def test_every_problem_of_a_job_is_listed(self):
        problem = self.refused(400, "JobInvalid", "POST", "/v1/jobs",
                               {"kind": "copy", "source": "1", "rowKeyTemplate": "{", "maxAttempts": 0, "x": 1})
        self.assertEqual(len(problem["problems"]), 6, problem)
        self.assertEqual(problem["status"], 400)
        self.refused(400, "JobInvalid", "POST", "/v1/jobs")

    def test_many_jobs_in_one_request(self):
        self.fill("Batch")
        jobs = [{"kind": "delete", "source": "Batch", "partitionKey": f"p{i % 3}", "rowKey": str(i),
                 "idempotencyKey": f"batch-{i}"} for i in range(30)]
        first = self.api.call("POST", "/v1/jobs/batch", {"jobs": jobs})["results"]
        self.assertEqual([r["status"] for r in first], [202] * 30)
        again = self.api.call("POST", "/v1/jobs/batch", {"jobs": jobs})["results"]
        self.assertEqual([r["status"] for r in again], [200] * 30)
        self.assertEqual([r["job"]["id"] for r in again], [r["job"]["id"] for r in first])
        wait_until(lambda: not self.tables.scan("Batch"), "all entities gone")
        other = [{**jobs[0], "rowKey": "other"}]
        result = self.api.call("POST", "/v1/jobs/batch", {"jobs": other})["results"][0]
        self.assertEqual((result["status"], result["problem"]["code"]), (409, "IdempotencyKeyReused"))
        problem = self.refused(400, "JobInvalid", "POST", "/v1/jobs/batch", {"jobs": [jobs[0], {"kind": "fly"}]})
        self.assertTrue(problem["problems"][0].startswith("jobs[1]: "), problem)

    def test_jobs_of_a_group(self):
        self.fill("Grouped")
        jobs = [{"kind": "delete", "source": "Grouped", "partitionKey": f"p{i}", "rowKey": str(i)} for i in range(3)]
        results = self.api.call("POST", "/v1/jobs/batch", {"group": "three", "jobs": jobs})["results"]
        self.assertEqual([r["status"] for r in results], [202] * 3)
        group = wait_until(lambda: (g := self.api.call("GET", "/v1/groups/three")) and "finishedAt" in g and g, "its end")
        self.assertEqual((group["members"], group["states"]["succeeded"]), (3, 3))
        self.refused(409, "IdempotencyKeyReused", "POST", "/v1/jobs/batch", {"group": "three", "jobs": jobs[:1]})
        self.refused(404, "NotFound", "GET", "/v1/groups/four")

    def test_events_tell_a_job_to_its_end(self):
        self.fill("Followed")
        job_id = self.api.submit({"kind": "delete", "source": "Followed", "filter": "", "maxPerSecond": 60})
        status, headers, body = self.api.send("GET", f"/v1/jobs/{job_id}/events")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        events = [dict(line.split(": ", 1) for line in event.splitlines() if not line.startswith(":"))
                  for event in body.decode().strip().split("\n\n")]
        self.assertEqual(events[-1], {"event": "end", "data": '"succeeded"'})
        told = [json.loads(e["data"]) for e in events if e.get("event") == "job"]
        self.assertEqual(told[-1], self.api.job(job_id))
        self.refused(404, "JobNotFound", "GET", "/v1/jobs/7fffffffffffffff-00000000/events")

    def test_cancel_and_delay(self):
        later = self.api.call("POST", "/v1/jobs", {"kind": "delete", "source": "Nowhere", "filter": "",
                                                   "notBefore": "2100-01-01T00:00:00Z"})
        self.assertEqual((later["state"], later["notBefore"]), ("queued", "2100-01-01T00:00:00Z"))
        self.assertEqual(self.api.call("POST", f"/v1/jobs/{later['id']}/cancel")["state"], "cancelled")
        self.refused(404, "JobNotFound", "POST", "/v1/jobs/7fffffffffffffff-00000000/cancel")

    def test_kinds_are_paused_and_limited(self):
        self.fill("Waiting")
        self.assertTrue(self.api.call("PATCH", "/v1/kinds/index", {"paused": True})["paused"])

        def waits():
            """Submits a job that stays queued although the worker has seen it; the worker reads the settings now and
            then."""
            job_id = self.api.submit({"kind": "index", "source": "Waiting", "property": "Number",
                                      "destination": "ByNumber"})
            self.finish({"kind": "delete", "source": "Waiting", "partitionKey": "p0", "rowKey": "0"})
            return job_id if self.api.job(job_id)["state"] == "queued" else None
        job_id = wait_until(waits, "the pause to be noticed")
        control = self.api.call("PATCH", "/v1/kinds/index", {"paused": False, "maxRunning": 1})
        self.assertEqual(control, {"kind": "index", "paused": False, "maxRunning": 1, "maxPerSecond": 0})
        self.assertIn(control, self.api.call("GET", "/v1/kinds")["kinds"])
        wait_until(lambda: self.api.job(job_id)["state"] == "succeeded", "the job that waited", 60)
        self.assertEqual(self.api.call("PATCH", "/v1/kinds/index", {"maxRunning": 0})["maxRunning"], 0)
        self.refused(400, "InvalidInput", "PATCH", "/v1/kinds/index", {"paused": 1})
        self.refused(404, "NotFound", "PATCH", "/v1/kinds/fly", {"paused": True})

    def test_limits_are_set_shown_and_heeded(self):
        self.fill("Slow")
        slow = {"scope": "table", "name": "Slow", "maxRunning": 0, "maxPerSecond": 20}
        self.assertEqual(self.api.call("PATCH", "/v1/limits", {"scope": "table", "name": "Slow", "maxPerSecond": 20}), slow)
        code, text = self.command("limit", "partition", "Slow", "p:1", "--max-running", "2")
        self.assertEqual((code, text.splitlines()[1].split()), (0, ["partition", "Slow", "2", "no", "limit", "p:1"]))
        self.assertEqual(self.command("limit", "kind", "copy", "--max-per-second", "9")[0], 0)
        limits = self.api.call("GET", "/v1/limits")["limits"]
        self.assertIn(slow, limits)
        self.assertIn({"scope": "partition", "name": "Slow", "partitionKey": "p:1", "maxRunning": 2, "maxPerSecond": 0},
                      limits)
        rows = [line.split() for line in self.command("limit", "list")[1].splitlines()]
        self.assertIn(["table", "Slow", "no", "limit", "20"], rows)
        # The worker reads the limits now and then: once it has noticed them, 30 entities take more than a second.
        def seconds():
            self.tables.put_many("Slow", ENTITIES)
            job = self.finish({"kind": "delete", "source": "Slow", "filter": ""})
            self.assertEqual((job["state"], job["progress"]["done"], job["progress"]["total"]), ("succeeded", 30, 30), job)
            times = [datetime.fromisoformat(job[name].rstrip("Z")[:26]) for name in ("startedAt", "finishedAt")]
            return (times[1] - times[0]).total_seconds()
        wait_until(lambda: seconds() >= 1, "the limit to be heeded", 60)
        for target in ("table", "Slow"), ("partition", "Slow", "p:1"), ("kind", "copy"):
            self.assertEqual(self.command("limit", *target, "--max-per-second", "0", "--max-running", "0")[0], 0)
        self.assertEqual(self.api.call("GET", "/v1/limits"), {"limits": []})
        self.refused(404, "NotFound", "PATCH", "/v1/limits", {"scope": "kind", "name": "fly"})
        for wrong in ({"scope": "table"}, {"scope": "queue", "name": "Slow"},
                      {"scope": "partition", "name": "Slow"}, {"scope": "table", "name": "Slow", "partitionKey": "p"},
                      {"scope": "table", "name": "Slow", "maxRunning": -1}, {"scope": "table", "name": "Slow", "x": 1}):
            self.refused(400, "InvalidInput", "PATCH", "/v1/limits", wrong)

    def test_a_schedule_from_put_to_its_jobs(self):
        self.fill("Leavers")
        job = {"kind": "archive", "source": "Leavers", "destination": "Former", "filter": "Number lt 10"}
        # Due four times yesterday, and then not for a year, at any hour of the day and even if midnight strikes
        # meanwhile.
        begin = datetime.now(timezone.utc).replace(hour=0, minute=30, second=0, microsecond=0) - timedelta(days=1)
        due = 4
        spec = {"cron": begin.strftime(f"0 1-{due} %-d %-m *"), "timeZone": "UTC", "job": job, "catchUp": "all", "overlap": "wait",
                "startAfter": begin.strftime("%Y-%m-%dT%H:%M:%SZ")}
        status, headers, body = self.api.send("PUT", "/v1/schedules/leavers", JSON, json.dumps(spec))
        self.assertEqual(status, 201, body)
        etag = headers["ETag"]

        def caught_up():
            shown = self.api.call("GET", "/v1/schedules/leavers")
            return shown if shown["runs"] == due and shown["lastRun"].get("jobState") == "succeeded" else None
        shown = wait_until(caught_up, "the schedule to catch up")
        self.assertEqual((shown["runs"], shown["skipped"], shown["missed"]), (due, 0, 0), shown)
        self.assertEqual(len(self.tables.scan("Former")), 10)
        self.assertEqual({n: shown[n] for n in spec}, spec)
        keys = [j["spec"]["idempotencyKey"] for j in self.api.jobs() if "leavers" in j["spec"].get("idempotencyKey", "")]
        wanted = [(begin + timedelta(minutes=30, hours=i)).strftime("schedule:leavers:%Y-%m-%dT%H:%M:%SZ")
                  for i in range(due)]
        self.assertEqual(sorted(keys), wanted)

        listed = self.api.call("GET", "/v1/schedules?limit=10")["schedules"]
        self.assertIn(shown["lastRun"], [s.get("lastRun") for s in listed])
        paused = self.api.call("POST", "/v1/schedules/leavers/pause")
        self.assertTrue(paused["paused"])
        self.assertNotIn("nextRun", paused)
        self.refused_with({"If-Match": etag}, 412, "PUT", "/v1/schedules/leavers", spec)
        self.assertFalse(self.api.call("POST", "/v1/schedules/leavers/resume")["paused"])
        self.refused_with({"If-None-Match": "*"}, 412, "PUT", "/v1/schedules/leavers", spec)
        self.assertEqual(self.api.send("PUT", "/v1/schedules/leavers", {**JSON, "If-Match": etag}, json.dumps(spec))[0], 200)

        run = self.api.call("POST", "/v1/schedules/leavers/run", {"dueTime": "2020-01-01T00:00:00Z"})
        again = self.api.call("POST", "/v1/schedules/leavers/run", {"dueTime": "2020-01-01T00:00:00Z"})
        self.assertEqual(run["id"], again["id"])
        self.refused(400, "InvalidInput", "POST", "/v1/schedules/leavers/run", {"due": 1})
        jobs = len(self.api.jobs())
        self.refused(400, "InvalidInput", "POST", "/v1/schedules/leavers/run", {"dueTime": "1500-01-01T00:00:00Z"})
        self.assertEqual(len(self.api.jobs()), jobs)
        self.api.call("DELETE", "/v1/schedules/leavers")
        self.refused(404, "ScheduleNotFound", "GET", "/v1/schedules/leavers")
        self.refused(404, "ScheduleNotFound", "POST", "/v1/schedules/leavers/run")
        self.refused(400, "InvalidInput", "PUT", "/v1/schedules/-", spec)
        problem = self.refused(400, "ScheduleInvalid", "PUT", "/v1/schedules/x",
                               {"cron": "x", "catchUp": "y", "job": {"kind": "delete", "source": "1"}})
        self.assertEqual(len(problem["problems"]), 4, problem)

    def test_one_entity_is_explained(self):
        self.fill("Story")
        self.tables.put("Story", {"PartitionKey": "p", "RowKey": "late", "Number": 100,
                                  "Left@odata.type": "Edm.DateTime", "Left": "2026-01-01T00:00:00Z"})
        archive = self.finish({"kind": "archive", "source": "Story", "destination": "StoryArchive",
                               "filter": "Number eq 0"})
        later = self.api.submit({"kind": "unarchive", "source": "StoryArchive", "destination": "Story",
                                 "filter": "Number lt 5", "notBefore": "2100-01-01T00:00:00Z"})
        told = self.api.call("GET", "/v1/explain?table=Story&partitionKey=p0&rowKey=0")
        self.assertEqual([(p["name"], p["present"]) for p in told["places"]],
                         [("Story", False), ("StoryArchive", True)])
        self.assertEqual((told["places"][1]["job"], told["places"][1]["jobKind"]), (archive["id"], "archive"))
        self.assertEqual([(j["id"], j["relation"], j["table"]) for j in told["jobs"]],
                         [(later, "wouldTake", "StoryArchive")])
        self.assertTrue(told["complete"])
        self.api.call("POST", f"/v1/jobs/{later}/cancel")
        # Nightly in 2100, for entities that left 36,000 days ago. It is due on a certain day.
        self.api.call("PUT", "/v1/schedules/story", {
            "cron": "0 3 * * *", "startAfter": "2099-12-01T00:00:00Z",
            "job": {"kind": "delete", "source": "Story", "filter": "Left lt datetime'{now-27028d}'"}})
        told = self.api.call("GET", "/v1/explain?table=Story&partitionKey=p&rowKey=late")
        self.assertEqual(told["schedules"], [{"name": "story", "kind": "delete", "table": "Story",
                                              "dueTime": "2100-01-01T03:00:00Z"}])
        self.api.call("DELETE", "/v1/schedules/story")
        self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/explain?table=Story&partitionKey=p")

    def test_workers_are_listed(self):
        workers = wait_until(lambda: self.api.call("GET", "/v1/workers")["workers"], "a worker's heartbeat")
        self.assertEqual([(w["name"], w["alive"], w["pid"]) for w in workers],
                         [("worker-1", True, self.stack.children["worker-1"].pid)])

    def test_a_dry_run_of_what_has_none_does_nothing(self):
        self.fill("Dry")
        job = {"kind": "delete", "source": "Dry", "filter": ""}
        index = {"kind": "lists", "source": "Dry", "by": ["Number"], "destination": "DryRows"}
        self.api.call("PUT", "/v1/schedules/wet", {"cron": "0 0 1 1 *", "job": job})
        for method, path, body in (("POST", "/v1/jobs/batch", {"jobs": [job]}),
                                   ("PUT", "/v1/schedules/dry", {"cron": "* * * * *", "job": job}),
                                   ("POST", "/v1/schedules/wet/run", {}), ("PUT", "/v1/indexes/dry", index),
                                   ("PUT", "/v1/tables/Dry/feed", {"values": "both"})):
            problem = self.refused(400, "InvalidQueryParameterValue", method, path + "?dryRun=true", body)
            self.assertIn('Unknown query parameter "dryRun"; known here: none', problem["detail"])
        self.api.call("DELETE", "/v1/schedules/wet")
        for kind, name in (("schedules", "dry"), ("indexes", "dry"), ("tables", "Dry/feed")):
            self.assertEqual(self.api.send("GET", f"/v1/{kind}/{name}")[0], 404, kind)
        self.assertEqual([job for job in self.api.jobs() if job["spec"].get("source") == "Dry"], [])
        self.assertEqual(len(self.tables.scan("Dry")), len(ENTITIES))


if __name__ == "__main__":
    unittest.main(verbosity=2)
