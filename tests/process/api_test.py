"""The api as its users see it: every answer conforms to /openapi.json, and every operation is called."""
import http.client
import json
import os
import socket
import subprocess
import sys
import unittest
from datetime import datetime, timedelta, timezone
from urllib.parse import quote

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import TOKEN, BlobClient, HttpFailure, QueueClient, TableClient, ended  # noqa: E402
from openapi import CheckedApiClient, UntrueDescription  # noqa: E402
from stack import StackTest, clean_environment, program, wait_until  # noqa: E402

ENTITIES = [{"PartitionKey": f"p{i % 3}", "RowKey": str(i), "Number": i} for i in range(30)]
ARCHIVE = {"kind": "archive", "source": "Source", "destination": "Archive", "filter": "Number lt 20"}
JSON = {"Content-Type": "application/json"}
WORKER = ("--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "100", "--lease-s", "5")


class ApiTest(StackTest):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=1, worker_arguments=WORKER)
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])

    @classmethod
    def tearDownClass(cls):
        # These succeed where there are shards: shard_tools_test.py.
        elsewhere = {("POST", "/v1/shards/{store}/{shard}/move"), ("POST", "/v1/queues/{id}/spread")}
        missing = cls.api.operations() - elsewhere - {(method, path) for method, path, status in cls.api.seen if status < 400}
        if missing:
            raise AssertionError(f"operations that no test saw succeed: {sorted(missing)}")

    def start_blob_store(self):
        if "blob_store" not in self.stack.children:
            self.stack.start("blob_store")

    def test_backups_and_checks(self):
        self.start_blob_store()
        directory = os.path.join(self.stack.directory, "backups")
        name = self.api.call("POST", "/v1/backups", {"directory": directory})["name"]
        wait_until(lambda: self.api.call("GET", f"/v1/backups/{name}")["state"] != "running", "the backup ends")
        self.assertEqual(self.api.call("GET", f"/v1/backups/{name}")["state"], "done")
        found = self.api.call("GET", f"/v1/backups?directory={directory}")["backups"]
        self.assertEqual([each["name"] for each in found], [name])
        rounds = {each["store"]: each["round"] for each in self.api.call("POST", "/v1/fsck", {})["stores"]}
        wait_until(lambda: all(not each["running"] and each["round"] >= rounds[each["store"]]
                               for each in self.api.call("GET", "/v1/fsck")["stores"]), "the check ends")
        self.assertEqual([each["found"] for each in self.api.call("GET", "/v1/fsck")["stores"]], [0, 0, 0])

    def refused(self, status, code, method, path, body=None):
        with self.assertRaises(HttpFailure) as caught:
            self.api.call(method, path, body)
        self.assertEqual((caught.exception.status, caught.exception.code), (status, code))
        return json.loads(caught.exception.body)

    def finish(self, spec):
        job_id = self.api.submit(spec)
        return wait_until(lambda: (job := self.api.job(job_id)) and ended(job) and job, f"the end of {job_id}")

    def fill(self, name):
        self.tables.create_table(name)
        self.fill_again(name)

    def fill_again(self, name):
        self.tables.put_many(name, ENTITIES)

    def test_health(self):
        for path in ("/healthz", "/readyz", "/metrics"):
            self.assertEqual(self.api.send("GET", path)[0], 200)

    def test_a_head_is_answered_like_a_get(self):
        for path in ("/healthz", "/readyz", "/metrics", "/v1/jobs", "/v1/jobs/unknown"):
            connection = http.client.HTTPConnection("127.0.0.1", self.stack.ports["api"], timeout=60)
            self.addCleanup(connection.close)
            for method in ("HEAD", "GET"):
                connection.request(method, path, headers={"Authorization": f"Bearer {TOKEN}"})
                answer = connection.getresponse()
                self.assertEqual((answer.status, method, path), (404 if "unknown" in path else 200, method, path))
                self.assertEqual(bool(answer.read()), method == "GET")

    def test_change_feeds(self):
        self.fill("Changing")
        feed, group, on_change = (f"/v1/tables/Changing/{ending}" for ending in ("feed", "consumers/g", "onChange/o"))
        self.api.call("PUT", feed, {"values": "both"})
        self.assertEqual(self.api.call("GET", feed)["changes"], 0)
        self.api.call("PUT", group, {"after": "oldest"})
        self.api.call("PUT", on_change, {"queue": "changing"})
        self.fill_again("Changing")
        self.assertEqual(len(self.api.call("GET", "/v1/tables/Changing/changes?old=true&new=true")["changes"]), 30)
        page = self.api.call("POST", group + "/read", {"reader": "me"})
        self.api.call("POST", group + "/acknowledge", {"epoch": page["epoch"], "token": page["next"]})
        self.assertEqual(self.api.call("GET", group)["lag"]["changes"], 0)
        self.assertEqual(len(self.api.call("GET", "/v1/tables/Changing/consumers")["consumers"]), 1)
        self.assertEqual(len(self.api.call("GET", "/v1/tables/Changing/onChange")["onChange"]), 1)
        self.assertEqual(self.api.call("GET", on_change)["state"], "running")
        self.api.call("POST", on_change + "/resume", {"after": "now"})
        for path in (on_change, group, feed):
            self.api.call("DELETE", path)

    def test_indexes(self):
        self.fill("Indexed")
        path = "/v1/indexes/by-number"
        definition = {"kind": "lists", "source": "Indexed", "by": ["Number"], "destination": "IndexedRows"}
        self.assertEqual(self.api.call("PUT", path, definition)["definition"]["by"], ["Number"])
        wait_until(lambda: self.api.call("GET", path)["state"] == "ready", "the index is ready")
        self.assertEqual(len(self.api.call("GET", path + "/lookup?value=7")["entities"]), 1)
        self.assertEqual(self.api.call("GET", path + "/violations")["violations"], [])
        for wish in ("pause", "resume", "scrub", "rebuild"):
            self.api.call("POST", f"{path}/{wish}")
        self.assertEqual([each["name"] for each in self.api.call("GET", "/v1/indexes")["indexes"]], ["by-number"])
        self.assertEqual(self.api.call("DELETE", path)["state"], "dropping")
        wait_until(lambda: self.api.call("GET", "/v1/indexes")["indexes"] == [], "the index is gone")

    def test_a_poison_queue_that_was_deleted_is_an_empty_one(self):
        self.queues.delete_queue("tidemark-jobs-poison")
        self.assertEqual(self.api.call("GET", "/v1/poison")["poison"], [])
        none = self.api.call("GET", "/v1/poison/groups")
        self.assertEqual((none["groups"], none["complete"], none["counted"]), ([], True, 0))
        self.refused(404, "PoisonNotFound", "GET", "/v1/poison/00000000-0000-0000-0000-000000000000")
        job = self.finish({"kind": "delete", "source": "NoSuchTable", "filter": ""})
        self.assertEqual(job["state"], "poisoned")
        found = wait_until(lambda: self.api.call("GET", "/v1/poison")["poison"], "the poison message")
        self.assertEqual([p["jobId"] for p in found], [job["id"]])
        self.api.call("DELETE", f"/v1/poison/{job['id']}")

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

    def test_poison_of_a_users_queue(self):
        self.refused(404, "QueueNotFound", "GET", "/v1/poison?queue=orders")
        self.queues._ask("PUT", "/orders", extensions={"x-ms-tidemark-max-dequeue-count": "2"})
        self.assertEqual(self.api.call("GET", "/v1/poison?queue=orders"), {"poison": []})
        ids = [self.queues.put("orders", text) for text in ("bad 1", "bad 2", "bad 3")]
        for _ in range(3):  # the third time they go to orders-poison
            for message in self.queues.take("orders", 3, visibility_s=300):
                self.queues.update("orders", message, 0)
        listed = self.api.call("GET", "/v1/poison?queue=orders")["poison"]
        self.assertEqual([(one["id"], one["body"], one["dequeueCount"]) for one in listed],
                         [(ids[n], f"bad {n + 1}", 2) for n in range(3)])
        self.assertEqual(len(self.api.call("GET", "/v1/poison?queue=orders&limit=1")["poison"]), 1)
        one = f"/v1/poison/{ids[0]}"
        shown = self.api.call("GET", one + "?queue=orders")
        self.assertEqual((shown["queue"], shown["reason"]), ("orders", "max_dequeue_count"))

        seen = {**JSON, "If-Match": shown["etag"]}
        answered, edited = self.api.ask("PUT", one + "?queue=orders", seen, json.dumps({"body": "better 1"}))
        edited = json.loads(edited)
        self.assertEqual((edited["body"], edited["dequeueCount"], edited["etag"]), ("better 1", 2, answered["ETag"]))
        for method, path in ("PUT", one), ("POST", one + "/redrive"):
            self.refused_with(seen, 412, method, path + "?queue=orders", {"body": "worse 1"})
        self.api.call("POST", one + "/redrive?queue=orders")
        self.api.call("POST", f"/v1/poison/{ids[1]}/redrive?queue=orders", {"body": "better 2"})
        back = self.queues.take("orders", 32)
        self.assertEqual([(m["MessageId"], m["MessageText"], m["DequeueCount"]) for m in back],
                         [(ids[0], "better 1", "1"), (ids[1], "better 2", "1")])
        code, output = self.command("poison", "show", ids[2], "--queue", "orders")
        self.assertEqual(code, 0)
        self.assertIn("dequeued 2 times", output)
        self.assertIn(ids[2], self.command("poison", "list", "--queue", "orders")[1])
        self.assertEqual(self.command("poison", "delete", ids[2], "--queue", "orders")[0], 0)
        self.assertEqual(self.api.call("GET", "/v1/poison?queue=orders"), {"poison": []})

        for method, path in ("GET", one), ("PUT", one), ("POST", one + "/redrive"), ("DELETE", one):
            body = {"body": "x"} if method == "PUT" else None
            self.refused(404, "PoisonNotFound", method, path + "?queue=orders", body)
        self.refused(400, "InvalidInput", "PUT", one + "?queue=orders", {"text": "x"})
        for query in ("queue=", "queue=orders-poison", "queue=orders&kind=copy"):
            self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/poison?" + query)
        self.assertEqual(self.api.call("GET", "/v1/poison?queue=tidemark-jobs"), self.api.call("GET", "/v1/poison"))

    def test_queues_are_watched_paused_and_resumed(self):
        for name in ("watched", "watched-poison", "zebra"):
            self.queues.create(name)
        for _ in range(3):
            self.queues.put("watched", "at once")
        self.queues.put("watched", "later", visibilitytimeout=300)
        self.queues.put("watched-poison", "bad")
        self.assertEqual(len(self.queues.take("watched", visibility_s=300)), 1)
        shown = self.api.call("GET", "/v1/queues/watched")
        self.assertEqual({name: shown[name] for name in ("messages", "ready", "delayed", "inFlight", "waiting", "poison")},
                         {"messages": 4, "ready": 2, "delayed": 1, "inFlight": 1, "waiting": 0, "poison": 1})
        self.assertGreater(shown["oldestAgeSeconds"], 0)
        self.assertEqual((shown["name"], shown["paused"], shown["maxDequeueCount"]), ("watched", False, 0))

        self.assertTrue(self.api.call("POST", "/v1/queues/watched/pause")["paused"])
        self.assertEqual(self.queues.take("watched"), [])
        self.assertTrue(self.api.call("GET", "/v1/queues/watched")["paused"])
        self.assertFalse(self.api.call("POST", "/v1/queues/watched/resume")["paused"])
        if not os.environ.get("TIDEMARK_TEST_SHARDS"):
            self.refused(400, "InvalidMetadata", "POST", "/v1/queues/watched/spread", {"parts": 2})
        for body in ({}, {"parts": 1}, {"parts": 65}, {"parts": "2"}, {"parts": 2, "other": 1}):
            self.refused(400, "InvalidInput", "POST", "/v1/queues/watched/spread", body)
        left = self.queues.take("watched", 32)
        self.assertEqual(len(left), 2)

        def rates():
            """Makes one message come and one go between any two looks."""
            self.queues.put("watched", "more")
            for message in self.queues.take("watched"):
                self.queues.delete("watched", message)
            seen = self.api.call("GET", "/v1/queues/watched")
            return seen["inPerSecond"] > 0 and seen["outPerSecond"] > 0
        wait_until(rates, "the rates")

        names, continuation = [], ""
        while True:
            page = self.api.call("GET", f"/v1/queues?limit=1&continuation={quote(continuation)}")
            names += [queue["name"] for queue in page["queues"]]
            continuation = page.get("continuation")
            if not continuation:
                break
        self.assertEqual(names, sorted(names))
        self.assertLessEqual({"tidemark-jobs", "watched", "watched-poison", "zebra"}, set(names))
        self.refused(404, "QueueNotFound", "GET", "/v1/queues/absent")
        self.refused(404, "QueueNotFound", "POST", "/v1/queues/absent/pause")
        self.refused(400, "InvalidResourceName", "GET", "/v1/queues/a%2F..%00")
        self.refused(400, "OutOfRangeQueryParameterValue", "GET", "/v1/queues?limit=0")
        self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/queues?kind=delete")

    def command(self, *arguments):
        """Returns the exit code and standard output of the command line tool."""
        done = subprocess.run([program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", *arguments],
                              env=clean_environment(), capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout

    def test_queues_on_the_command_line(self):
        self.queues.create("shown")
        self.queues.put("shown", "one")
        code, text = self.command("--json", "queue", "list")
        self.assertEqual(code, 0)
        listed = {queue["name"]: queue for queue in json.loads(text)["queues"]}
        self.assertEqual((listed["shown"]["ready"], listed["shown"]["paused"]), (1, False))
        self.assertEqual(self.command("queue", "pause", "shown")[0], 0)
        code, text = self.command("queue", "show", "shown")
        titles, row = text.splitlines()
        self.assertEqual((code, titles.split()[:2], row.split()[:2], row.split()[-1]),
                         (0, ["queue", "ready"], ["shown", "1"], "paused"))
        self.assertEqual(self.command("queue", "resume", "shown")[0], 0)
        code, text = self.command("queue", "list")
        rows = [line.split() for line in text.splitlines()]
        self.assertIn(["shown", "1", "0", "0", "0", "0"], [row[:6] for row in rows])
        self.assertNotIn("paused", text)
        self.assertEqual(self.command("queue", "show", "absent")[0], 3)

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

    def refused_with(self, headers, status, method, path, body):
        self.assertEqual(self.api.send(method, path, {**JSON, **headers}, json.dumps(body))[0], status)

    def entity(self, method, keys, body=None, headers=None, ok=(200, 201, 204)):
        target = f"/v1/tables/Looked/entity?{keys}"
        answered, content = self.api.ask(method, target, {**JSON, **(headers or {})} if body is not None else headers, body, ok=ok)
        return answered.get("ETag"), json.loads(content) if content else None

    def test_tables_are_looked_into_and_an_entity_is_changed_as_it_was_read(self):
        self.fill("Looked")
        self.assertIn({"name": "Looked"}, self.api.call("GET", "/v1/tables?limit=1000")["tables"])
        first = self.api.call("GET", "/v1/tables?limit=1")
        self.assertEqual(len(first["tables"]), 1)
        self.assertNotIn(first["tables"][0], self.api.call("GET", f"/v1/tables?continuation={first['continuation']}")["tables"])
        keys = quote("PartitionKey eq 'p1' and RowKey eq '1'")
        self.assertEqual(self.api.call("GET", f"/v1/tables/Looked/plan?filter={keys}"), {"access": "point"})
        self.refused(400, "InvalidInput", "GET", f"/v1/tables/Looked/plan?filter={quote('PartitionKey eq')}")
        page = self.api.call("GET", f"/v1/tables/Looked/entities?limit=7&filter={quote('Number lt 20')}")
        self.assertEqual((page["access"], len(page["entities"])), ("table", 7))
        rest = self.api.call("GET", f"/v1/tables/Looked/entities?filter={quote('Number lt 20')}&continuation={quote(page['continuation'])}")
        self.assertEqual(len(rest["entities"]), 13)
        # An Int64 is text with its type, so that no reader rounds it.
        made, big = self.entity("PUT", "partitionKey=p&rowKey=big", '{"Big":"9007199254740993","Big@odata.type":"Edm.Int64"}',
                                {"If-None-Match": "*"})
        self.assertEqual((big["Big"], big["Big@odata.type"]), ("9007199254740993", "Edm.Int64"))
        read, _ = self.entity("GET", "partitionKey=p&rowKey=big")
        self.assertEqual(read, made)
        for headers, status in (({"If-None-Match": "*"}, 409), ({"If-None-Match": "*", "If-Match": "*"}, 400), ({}, 400), ({"If-Match": 'W/"datetime\'2020-01-01T00%3A00%3A00Z\'"'}, 412)):
            self.assertEqual(self.api.send("PUT", "/v1/tables/Looked/entity?partitionKey=p&rowKey=big", {**JSON, **headers}, "{}")[0], status)
        changed, small = self.entity("PUT", "partitionKey=p&rowKey=big", '{"Small":1}', {"If-Match": made})
        self.assertNotIn("Big", small)
        self.assertEqual(self.api.send("DELETE", "/v1/tables/Looked/entity?partitionKey=p&rowKey=big", {"If-Match": made})[0], 412)
        self.entity("DELETE", "partitionKey=p&rowKey=big", headers={"If-Match": changed})
        self.refused(404, "ResourceNotFound", "GET", "/v1/tables/Looked/entity?partitionKey=p&rowKey=big")
        for table in ("TidemarkJobs", "tidemarkaudit"):
            for method in ("PUT", "DELETE"):
                status, _, _ = self.api.send(method, f"/v1/tables/{table}/entity?partitionKey=p&rowKey=r", {**JSON, "If-Match": "*"}, "{}")
                self.assertEqual(status, 403)
        self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/tables/Looked/entity?partitionKey=p")
        self.refused(404, "TableNotFound", "GET", "/v1/tables/NotThere/entities")

    def content(self, method, container, name, body=None, ok=(200, 201), query="", **headers):
        """Calls the content of a blob; returns the answer's headers and bytes."""
        if body is not None:
            headers["Content-Type"] = "application/octet-stream"
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.api.ask(method, f"/v1/containers/{container}/content?name={quote(name, safe='')}{query}", headers, body, ok)

    def test_blobs_are_uploaded_looked_at_and_deleted(self):
        self.start_blob_store()
        self.api.call("PUT", "/v1/containers/looked")
        self.api.call("PUT", "/v1/containers/looked")
        self.assertIn("looked", [each["name"] for each in self.api.call("GET", "/v1/containers?prefix=look")["containers"]])
        large = os.urandom(9 << 20)  # in three pieces
        name = "a/größer ü.bin"
        made, told = self.content("PUT", "looked", name, large, query="&contentType=image%2Fpng", If_None_Match="*")
        blob = json.loads(told)
        self.assertEqual((blob["name"], blob["size"], blob["contentType"], blob["etag"]), (name, len(large), "image/png", made["ETag"]))
        answered, read = self.content("GET", "looked", name)
        self.assertEqual(read, large)
        # A browser saves it, even if the content claims to be a page.
        self.assertEqual(answered["Content-Type"], "application/octet-stream")
        self.assertTrue(answered["Content-Disposition"].startswith("attachment; filename*=UTF-8''gr%C3%B6"))
        self.assertIn("sandbox", answered["Content-Security-Policy"])
        self.assertEqual(self.content("GET", "looked", name, query="&offset=4194300&length=10")[1], large[4194300:4194310])
        self.assertEqual(self.content("GET", "looked", name, query=f"&offset={len(large)}")[1], b"")
        self.assertEqual(BlobClient(self.stack.ports["blob_store"]).get("looked", quote(name)), large)

        for headers, status in (({"If_None_Match": "*"}, 409), ({}, 400), ({"If_Match": '"0x1"'}, 412)):
            with self.assertRaises(HttpFailure) as caught:
                self.content("PUT", "looked", name, b"new", **headers)
            self.assertEqual(caught.exception.status, status)
        changed, told = self.content("PUT", "looked", name, b"", If_Match=made["ETag"])
        self.assertEqual(json.loads(told)["contentType"], "image/png", "as it was")
        self.assertEqual(self.content("GET", "looked", name)[1], b"")
        self.content("PUT", "looked", "b", b"text", If_None_Match="*")
        where = "/v1/containers/looked/blobs?delimiter=%2F"
        self.assertEqual([each["name"] for each in self.api.call("GET", where)["blobs"]], ["a/", "b"])
        first = self.api.call("GET", where + "&limit=1")
        self.assertEqual(self.api.call("GET", f"{where}&continuation={quote(first['continuation'])}")["blobs"][0]["name"], "b")
        self.assertEqual(self.api.call("GET", "/v1/containers/looked/blobs?prefix=a%2F")["blobs"][0]["name"], name)

        target = f"/v1/containers/looked/blob?name={quote(name, safe='')}"
        self.assertEqual(self.api.call("GET", target)["metadata"], {})
        backslash = f"/v1/containers/looked/blob?name={quote(name.replace('/', chr(92)), safe='')}"
        self.assertEqual(self.api.call("GET", backslash)["name"], name)
        for headers, status in (({}, 400), ({"If-Match": made["ETag"]}, 412), ({"If-Match": changed["ETag"]}, 204), ({"If-Match": "*"}, 404)):
            self.assertEqual(self.api.send("DELETE", target, headers)[0], status)
        self.refused(404, "BlobNotFound", "GET", target)
        self.refused(404, "ContainerNotFound", "GET", "/v1/containers/not-there/blobs")
        self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/containers/looked/content")

    def test_what_is_tidemarks_own_and_what_is_no_content_is_refused(self):
        self.start_blob_store()
        for container in ("tidemark-own", "$logs"):
            with self.assertRaises(HttpFailure) as caught:
                self.content("PUT", container, "x", b"x", If_None_Match="*")
            self.assertEqual(caught.exception.status, 403)
        # A form from another site's page.
        status, _, _ = self.api.send("PUT", "/v1/containers/looked/content?name=x", {"Content-Type": "text/plain"}, b"x")
        self.assertEqual(status, 415)
        self.assertEqual(self.api.send("POST", "/v1/jobs", {"Content-Type": "application/octet-stream"}, b"{}")[0], 415)

    def test_an_upload_that_breaks_off_leaves_nothing(self):
        self.start_blob_store()
        self.api.call("PUT", "/v1/containers/looked")
        with socket.create_connection(("127.0.0.1", self.stack.ports["api"]), 10) as raw:
            raw.sendall(f"PUT /v1/containers/looked/content?name=half HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
                        "Content-Type: application/octet-stream\r\nIf-None-Match: *\r\nContent-Length: 9000000\r\n\r\n".encode())
            raw.sendall(b"x" * 5_000_000)
        def ended():
            found = self.api.call("GET", "/v1/audit?limit=20&operation=containers.content.put")["entries"]
            return found and found[0]["target"] == "looked/half" and found[0]["outcome"] == "failed"
        wait_until(ended, "the upload has failed")
        self.refused(404, "BlobNotFound", "GET", "/v1/containers/looked/blob?name=half")

    def test_poison_is_deleted_by_one_job(self):
        failed = [self.finish({"kind": kind, "source": "Gone", "filter": "", **more})
                  for kind, more in (("delete", {}), ("delete", {}), ("copy", {"destination": "Old"}))]
        self.assertEqual({job["state"] for job in failed}, {"poisoned"})
        wait_until(lambda: len(self.api.poison()) == 3, "three poison messages")
        group = self.api.call("GET", "/v1/poison/groups")["groups"][0]
        which = {"kind": "purge", "fingerprint": group["fingerprint"], "poisonSource": "gone"}
        plan = self.api.call("POST", "/v1/jobs?dryRun=true", which)
        self.assertEqual((plan["keys"], plan["complete"], plan["problems"]), (2, True, []))
        old = self.finish({**which, "movedBefore": "2000-01-01T00:00:00Z"})
        self.assertEqual((old["state"], old["progress"]["done"]), ("succeeded", 0))
        job = self.finish({**which, "limit": 2})
        self.assertEqual((job["state"], job["progress"]["done"], job["progress"]["phase"]), ("succeeded", 2, "finished"))
        entry = self.api.call("GET", "/v1/audit?limit=1&operation=jobs.post")["entries"][0]
        self.assertEqual((entry["target"], entry["count"]), (job["id"], 2))
        self.assertEqual(entry["detail"], f"purge poisonSource=gone fingerprint={group['fingerprint']}")
        self.assertEqual(self.api.job(failed[0]["id"])["state"], "poisoned")
        self.refused(400, "JobInvalid", "POST", "/v1/jobs", {"kind": "undo", "job": job["id"]})
        [left] = self.api.poison()
        gone = "00000000-0000-0000-0000-000000000000"
        job = self.finish({"kind": "purge", "poisonIds": [left["jobId"], gone]})
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 1))
        entry = self.api.call("GET", "/v1/audit?limit=1&operation=jobs.post")["entries"][0]
        self.assertEqual((entry["count"], entry["detail"]), (2, f"purge poisonIds={left['jobId']},{gone}"))
        self.assertEqual(self.api.poison(), [])

    def test_a_purge_says_what_is_wrong_with_it(self):
        for members, says in (({"poisonIds": []}, "1 to 500"), ({"poisonIds": ["no id"]}, "1 to 500"),
                              ({"poisonIds": ["a"] * 501}, "1 to 500"), ({"poisonQueue": "tidemark-jobs"}, "queue of yours"),
                              ({"poisonQueue": "bills-poison"}, "without -poison"),
                              ({"poisonQueue": "bills", "poisonKind": "copy"}, "nothing else is known"),
                              ({"poisonIds": ["a"], "poisonKind": "copy"}, "nothing else can select"),
                              ({"canary": 1}, "canary")):
            status, _, body = self.api.send("POST", "/v1/jobs", JSON, json.dumps({"kind": "purge", **members}))
            self.assertEqual((status, says in body.decode()), (400, True), body)
        status, _, body = self.api.send("POST", "/v1/jobs", JSON, json.dumps({"kind": "redrive", "poisonQueue": "bills", "canary": 1}))
        self.assertEqual((status, b"canary" in body), (400, True), body)

    def test_poisoned_queues_are_told_emptied_and_sent_back(self):
        for queue in ("bills", "bills-poison", "empty-poison"):
            self.queues.create(queue)
        for number in range(5):
            self.queues.put("bills-poison", f"bill {number}")
        self.assertEqual(self.api.call("GET", "/v1/poison/queues")["queues"], [{"name": "bills", "messages": 5}])
        whole = {"kind": "purge", "poisonQueue": "bills"}
        self.assertEqual(self.api.call("POST", "/v1/jobs?dryRun=true", whole)["keys"], 5)
        self.assertEqual(self.api.call("POST", "/v1/jobs?dryRun=true", {**whole, "poisonQueue": "nobody"})["keys"], 0)
        two = [message["id"] for message in self.api.call("GET", "/v1/poison?queue=bills")["poison"][:2]]
        job = self.finish({"kind": "redrive", "poisonQueue": "bills", "poisonIds": two, "perSecond": 1000})
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 2))
        self.assertEqual(sorted(message["MessageText"] for message in self.queues.peek("bills")), ["bill 0", "bill 1"])
        job = self.finish(whole)
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 3))
        entry = self.api.call("GET", "/v1/audit?limit=1&operation=jobs.post")["entries"][0]
        self.assertEqual(entry["detail"], "purge poisonQueue=bills")
        self.assertEqual(self.api.call("GET", "/v1/poison/queues")["queues"], [])
        self.assertEqual(self.finish({**whole, "poisonQueue": "nobody"})["progress"]["done"], 0)

    def test_messages_are_looked_at_and_stay(self):
        self.queues.create("looked-at")
        for number in range(3):
            self.queues.put("looked-at", f"message {number}")
        self.queues.take("looked-at")
        page = self.api.call("GET", "/v1/queues/looked-at/messages?limit=2")
        rest = self.api.call("GET", f"/v1/queues/looked-at/messages?continuation={quote(page['continuation'])}")
        messages = page["messages"] + rest["messages"]
        self.assertEqual(sorted(each["text"] for each in messages), [f"message {number}" for number in range(3)])
        self.assertEqual(sorted((each["visible"], each["dequeueCount"]) for each in messages), [(False, 1), (True, 0), (True, 0)])
        self.refused(404, "QueueNotFound", "GET", "/v1/queues/not-there/messages")

    def test_the_last_hour_is_known_from_the_start_on(self):
        overview = wait_until(lambda: (found := self.api.call("GET", "/v1/overview"))["points"] and found, "a point")
        self.assertEqual(overview["stepSeconds"], 10)

    def test_queues_that_somebody_should_look_at_are_told(self):
        for name in ("letters", "letters-poison", "held", "calm"):
            self.queues.create(name)
        self.queues.put("letters-poison", "one that failed")
        self.api.call("POST", "/v1/queues/held/pause")

        def told():
            overview = self.api.call("GET", "/v1/overview")
            self.assertIn("tidemark-jobs", [queue["name"] for queue in overview["queuesOfJobs"]])
            seen = {queue["name"]: queue for queue in overview.get("remarkable", {}).get("queues", [])}
            return "letters" in seen and "held" in seen and (overview["remarkable"], seen)
        remarkable, seen = wait_until(told, "both are told")
        self.assertEqual((seen["letters"]["poison"], seen["held"]["paused"]), (1, True))
        self.assertNotIn("calm", seen)
        self.assertNotIn("letters-poison", seen)
        self.assertGreaterEqual(remarkable["counted"], len(seen) + 2)
        self.assertEqual(remarkable["untold"], 0)

    def test_what_accounts_have_is_told(self):
        told = {(each["store"], each["of"]): each for each in self.api.call("GET", "/v1/accounts")["accounts"]}
        self.assertGreater(told["table", "tables"]["used"], 0)
        self.assertEqual({each["account"] for each in told.values()}, {"devstoreaccount1"})

    def test_shards_are_told_and_planned(self):
        stores = {store["store"]: store for store in self.api.call("GET", "/v1/shards")["stores"]}
        self.assertEqual(set(stores), {"table", "queue", "blob"})
        self.assertFalse(stores["table"]["shared"])
        self.assertEqual(self.api.call("GET", "/v1/shards/table/plan")["store"], "table")
        with self.assertRaises(HttpFailure) as refused:
            self.api.call("POST", "/v1/shards/table/0/move", {"process": stores["table"]["processes"][0]["name"]})
        self.assertEqual(refused.exception.status, 501)

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

    def test_poison_is_understood_edited_and_sent_back(self):
        broken = self.queues.put("tidemark-jobs", "no job at all")
        failed = [self.finish({"kind": "delete", "source": "Absent", "filter": ""}) for _ in range(3)]
        self.assertEqual({j["state"] for j in failed}, {"poisoned"})
        wait_until(lambda: len(self.api.poison()) == 4, "four poison messages")
        groups = self.api.call("GET", "/v1/poison/groups")["groups"]
        self.assertEqual([(g["kind"], g["count"]) for g in groups], [("delete", 3), ("unknown", 1)])
        print_of = groups[0]["fingerprint"]
        found = self.api.call("GET", f"/v1/poison?fingerprint={print_of}&limit=2")
        self.assertEqual(len(found["poison"]), 2)
        rest = self.api.call("GET", f"/v1/poison?fingerprint={print_of}&continuation={quote(found['continuation'])}")
        self.assertEqual(len(rest["poison"]), 1)
        self.assertEqual(self.api.call("GET", "/v1/poison?kind=unknown")["poison"][0]["id"], broken)

        one = found["poison"][0]["id"]
        shown = self.api.call("GET", f"/v1/poison/{one}")
        self.assertEqual(len(shown["attempts"]), 1)
        # The id of the job leads to its message, too; the id of a job that is not poisoned leads to none.
        self.assertEqual(self.api.call("GET", f"/v1/poison/{shown['jobId']}"), shown)
        for absent in ("7fffffffffffffff-00000000", self.finish({"kind": "redrive", "fingerprint": "0" * 16})["id"]):
            self.refused(404, "PoisonNotFound", "GET", f"/v1/poison/{absent}")
        self.assertTrue(self.api.call("GET", f"/v1/poison/{one}/plan")["problems"])
        self.refused(400, "JobInvalid", "GET", f"/v1/poison/{broken}/plan")
        self.fill("Present")
        edited = self.api.call("PUT", f"/v1/poison/{one}", {"kind": "delete", "source": "Present", "filter": ""})
        self.assertEqual(edited["body"]["source"], "Present")
        for method, path in ("PUT", one), ("POST", f"{one}/redrive"):
            self.refused_with({"If-Match": shown["etag"]}, 412, method, f"/v1/poison/{path}", {"kind": "delete", "source": "Absent", "filter": ""})
        self.assertEqual(self.api.call("GET", f"/v1/poison/{one}/plan")["keys"], 30)
        self.assertEqual(len(self.tables.scan("Present")), 30)
        sent = self.api.call("POST", f"/v1/poison/{shown['jobId']}/redrive")
        self.assertEqual((sent["id"], sent["jobId"]), (one, shown["jobId"]))
        wait_until(lambda: self.api.job(sent["jobId"])["state"] == "succeeded", "the edited job's end")
        self.assertEqual(self.tables.scan("Present"), {})

        self.tables.create_table("Absent")
        job = self.finish({"kind": "redrive", "poisonKind": "delete", "canary": 1, "perSecond": 1000})
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 2), job)
        for each in failed:
            wait_until(lambda: self.api.job(each["id"])["state"] == "succeeded", "a job that was sent back")
        self.api.call("DELETE", f"/v1/poison/{broken}")
        self.refused(404, "PoisonNotFound", "DELETE", f"/v1/poison/{broken}")
        self.assertEqual(self.api.poison(), [])

    def test_refusals(self):
        self.refused(404, "NotFound", "GET", "/v2/jobs")
        self.refused(405, "UnsupportedHttpVerb", "DELETE", "/v1/jobs")
        self.refused(400, "OutOfRangeQueryParameterValue", "GET", "/v1/jobs?limit=0")
        self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/jobs?colour=red")
        self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/jobs?state=lost")
        self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/poison?movedAfter=soon")
        self.refused(404, "JobNotFound", "GET", "/v1/jobs/none")
        for path in ("jobs", "poison", "queues", "schedules", "workers"):
            self.refused(400, "OutOfRangeQueryParameterValue", "GET", f"/v1/{path}?limit=1001")
            self.refused(400, "InvalidQueryParameterValue", "GET", f"/v1/{path}?page=2")
        self.refused(413, "RequestBodyTooLarge", "POST", "/v1/jobs", {"kind": "x" * 100_000})

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

    def test_what_is_no_request_is_a_problem_too(self):
        for text in (b"nonsense\r\n\r\n", b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                     b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.stack.ports["api"]), 10) as raw:
                raw.sendall(text)
                answer = http.client.HTTPResponse(raw)
                answer.begin()
                self.assertGreaterEqual(answer.status, 400)
                self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
                problem = json.loads(answer.read())
                self.assertEqual(problem["status"], answer.status)
                self.assertEqual(problem["requestId"], answer.headers["x-request-id"])

    def test_a_token_is_asked_for(self):
        child = self.stack.launch("api-token", "api", "--name", "api-token", "--port", "0", "--token", "s3cret").await_ready()
        port = int(child.ready["port"])
        stranger = CheckedApiClient(port, {"Authorization": ""})  # may read the description
        self.assertEqual(stranger.send("GET", "/v1/kinds")[0], 401)
        authorized = CheckedApiClient(port, {"Authorization": "Bearer s3cret"})
        self.assertEqual(authorized.send("GET", "/v1/kinds")[0], 200)
        authorized.extra = {"Authorization": "Bearer other"}
        status, headers, _ = authorized.send("GET", "/v1/jobs")
        self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
        self.assertEqual(json.loads(authorized.send("GET", "/v1/jobs")[2])["detail"], "This is not the bearer token.")
        self.assertEqual(authorized.send("GET", "/healthz")[0], 200)
        self.assertEqual(child.terminate(), 0)

    def test_sessions_signatures_and_the_audit_trail(self):
        self.assertEqual(self.api.call("GET", "/v1/session")["role"], "admin")
        self.assertEqual(self.api.call("POST", "/v1/session", {"token": TOKEN})["via"], "session")
        self.api.call("DELETE", "/v1/session")
        sas = self.api.call("POST", "/v1/sas", {"kind": "table", "name": "Any", "permissions": "r", "expiresIn": 60})
        self.assertTrue(sas["url"].endswith("?" + sas["token"]))
        newest = [entry["operation"] for entry in self.api.call("GET", "/v1/audit?limit=3")["entries"]]
        self.assertEqual(newest, ["sas.post", "session.delete", "session.post"])

    def test_the_check_itself_bites(self):
        document = json.loads(json.dumps(self.api.document))
        checked = CheckedApiClient(self.stack.ports["api"])
        checked.document = document
        del document["components"]["schemas"]["Kind"]["properties"]["paused"]
        with self.assertRaises(UntrueDescription):
            checked.call("GET", "/v1/kinds")


if __name__ == "__main__":
    unittest.main(verbosity=2)
