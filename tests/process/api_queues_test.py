"""The api of queues, their messages and their poison, as its users see it."""
import json
import os
import sys
import time
import unittest
from urllib.parse import quote

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from api_case import JSON, ApiCase  # noqa: E402
from stack import wait_until  # noqa: E402


class ApiQueuesTest(ApiCase):
    subject = "queues"

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

    def test_a_message_that_was_sent_back_waits_from_then_on(self):
        self.queues._ask("PUT", "/returned", extensions={"x-ms-tidemark-max-dequeue-count": "1"})
        put = time.monotonic()
        one = self.queues.put("returned", "bad")
        for _ in range(2):
            for message in self.queues.take("returned", visibility_s=300):
                self.queues.update("returned", message, 0)
        wait_until(lambda: self.api.call("GET", "/v1/queues/returned")["poison"] == 1, "it is poison")
        wait_until(lambda: time.monotonic() - put > 3, "some time has passed since it was put")
        began = time.monotonic()
        self.api.call("POST", f"/v1/poison/{one}/redrive?queue=returned")
        waited = self.api.call("GET", "/v1/queues/returned")["oldestAgeSeconds"]
        self.assertGreater(waited, 0)
        self.assertLessEqual(waited, time.monotonic() - began)

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

    def test_queues_are_found_by_the_beginning_of_their_names(self):
        for name in ("begin", "begin-a", "begin-b", "beg", "begun"):
            self.queues.create(name)
        page = self.api.call("GET", "/v1/queues?prefix=begin&limit=2")
        self.assertEqual([each["name"] for each in page["queues"]], ["begin", "begin-a"])
        page = self.api.call("GET", f"/v1/queues?prefix=begin&limit=2&continuation={page['continuation']}")
        self.assertEqual(([each["name"] for each in page["queues"]], page.get("continuation")), (["begin-b"], None))
        self.assertEqual(self.api.call("GET", "/v1/queues?prefix=zzz")["queues"], [])

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

    def made(self, queue, body=None):
        """Returns the status and the answer."""
        status, _, content = self.api.send("PUT", f"/v1/queues/{queue}", JSON, None if body is None else json.dumps(body))
        return status, json.loads(content)

    def latest_entry(self, operation):
        entry = self.api.call("GET", f"/v1/audit?limit=1&operation={operation}")["entries"][0]
        return entry["target"], entry["outcome"], entry.get("detail"), entry.get("count")

    def test_queues_are_made_cleared_and_deleted(self):
        status, queue = self.made("fresh", {"maxDequeueCount": 3, "metadata": {"owner": "billing"}})
        self.assertEqual((status, queue["name"], queue["maxDequeueCount"], queue["messages"]), (201, "fresh", 3, 0))
        self.assertEqual(self.latest_entry("queues.put")[:2], ("fresh", "done"))
        self.assertEqual(self.made("fresh")[0], 200, "as it is")
        self.assertEqual(self.made("fresh", {})[0], 200)
        self.assertEqual(self.made("fresh", {"maxDequeueCount": 3, "metadata": {"owner": "billing"}})[0], 200)
        told = self.refused(409, "QueueAlreadyExists", "PUT", "/v1/queues/fresh", {"maxDequeueCount": 4})
        self.assertIn("Ask for none to leave it as it is", told["detail"])
        for body in ({"maxDequeueCount": -1}, {"metadata": {"a": 1}}, {"metadata": ["a"]}, {"colour": "red"}):
            self.refused(400, "InvalidInput", "PUT", "/v1/queues/fresh", body)
        self.refused(400, "InvalidResourceName", "PUT", "/v1/queues/No_name")

        for number in range(3):
            self.queues.put("fresh", f"message {number}")
        self.queues.take("fresh", visibility_s=300)
        self.api.call("POST", "/v1/queues/fresh/clear")
        self.assertEqual(self.latest_entry("queues.clear")[:2], ("fresh", "done"))
        self.assertEqual(self.api.call("GET", "/v1/queues/fresh")["messages"], 0)
        self.api.call("DELETE", "/v1/queues/fresh")
        for method, path in (("DELETE", "/v1/queues/fresh"), ("POST", "/v1/queues/fresh/clear"), ("GET", "/v1/queues/fresh")):
            self.refused(404, "QueueNotFound", method, path)

    def test_messages_are_put_taken_changed_and_deleted(self):
        self.queues.create("hands")
        messages = "/v1/queues/hands/messages"
        first = self.api.call("POST", messages, {"text": "größer <&> \"quoted\"", "timeToLiveSeconds": -1})
        self.assertNotIn("expiresAt", first)
        self.assertEqual(self.latest_entry("queues.messages"), ("hands", "done", first["id"], None))
        once = {"text": "once", "idempotencyKey": "key", "timeToLiveSeconds": 600}
        second = self.api.call("POST", messages, once)
        self.assertEqual(self.api.call("POST", messages, once)["id"], second["id"], "the same key gives the same message")
        later = self.api.call("POST", messages, {"text": "later", "visibleInSeconds": 300})
        self.assertGreater(later["nextVisibleAt"], later["insertedAt"])
        for body in ({}, {"text": 1}, {"text": "x", "visibleInSeconds": -1}, {"text": "x", "timeToLiveSeconds": 0},
                     {"text": "x", "visibleInSeconds": 9, "timeToLiveSeconds": 9}, {"text": "x", "colour": 1}):
            self.refused(400, "InvalidInput", "POST", messages, body)
        self.refused(413, "RequestBodyTooLarge", "POST", messages, {"text": "x" * 65537})
        self.refused(404, "QueueNotFound", "POST", "/v1/queues/absent/messages", {"text": "x"})

        taken = self.api.call("POST", "/v1/queues/hands/take", {"count": 32, "visibilitySeconds": 300})["messages"]
        self.assertEqual([(each["id"], each["text"], each["dequeueCount"]) for each in taken],
                         [(first["id"], "größer <&> \"quoted\"", 1), (second["id"], "once", 1)])
        self.assertEqual(self.latest_entry("queues.take")[3], 2)
        self.assertEqual(self.api.call("POST", "/v1/queues/hands/take"), {"messages": []})
        for body in ({"count": 0}, {"count": 33}, {"visibilitySeconds": 0}):
            self.refused(400, "InvalidInput", "POST", "/v1/queues/hands/take", body)

        one, other = (f"{messages}/{each['id']}?lease={each['lease']}" for each in taken)
        changed = self.api.call("PATCH", one, {"text": "smaller", "visibilitySeconds": 600})
        self.assertGreater(changed["nextVisibleAt"], taken[0]["nextVisibleAt"])
        self.api.call("DELETE", one)
        self.assertEqual(self.api.call("PATCH", other, {"visibilitySeconds": 0})["id"], second["id"])
        [again] = self.api.call("POST", "/v1/queues/hands/take", {})["messages"]
        self.assertEqual((again["id"], again["text"], again["dequeueCount"]), (second["id"], "once", 2))
        self.assertGreater(again["lease"], taken[1]["lease"])
        for method, target in (("DELETE", one), ("DELETE", other), ("PATCH", other)):
            told = self.refused(412, "LeaseLost", method, target, {} if method == "PATCH" else None)
            self.assertIn("Take it again", told["detail"])
        self.refused(400, "MissingRequiredQueryParameter", "DELETE", f"{messages}/{second['id']}")
        self.refused(400, "OutOfRangeQueryParameterValue", "DELETE", f"{messages}/{second['id']}?lease=0")
        self.api.call("DELETE", f"{messages}/{again['id']}?lease={again['lease']}")
        self.assertEqual([each["text"] for each in self.api.call("GET", messages)["messages"]], ["later"])

    def test_policies_of_a_queue(self):
        self.queues.create("granted")
        path = "/v1/queues/granted/policies"
        self.assertEqual(self.api.call("GET", path), {"policies": []})
        asked = {"policies": [{"id": "read", "permissions": "r", "startsAt": "2026-01-01T00:00:00Z", "expiresAt": "2100-01-01T00:00:00Z"},
                              {"id": "open"}]}
        self.assertEqual(self.api.call("PUT", path, asked), asked)
        self.assertEqual(self.api.call("GET", path), asked)
        entry = self.latest_entry("queues.policies.put")
        self.assertEqual((entry[0], entry[1], json.loads(entry[2])), ("granted", "done", asked))
        for policies, why in (([{"id": "a", "permissions": "d"}], "letters of raup"), ([{"id": ""}], "1 to 64 characters"),
                              ([{"id": "a"}, {"id": "a"}], "given twice"), ([{"id": str(n)} for n in range(6)], "at most 5"),
                              ([{"id": "a", "startsAt": "2026-02-01T00:00:00Z", "expiresAt": "2026-01-01T00:00:00Z"}], "before it starts"),
                              ([{"id": "a", "expiresAt": "tomorrow"}], "must be a time"), (None, "must be a list")):
            self.assertIn(why, self.refused(400, "InvalidInput", "PUT", path, {"policies": policies})["detail"])
        self.assertEqual(self.api.call("GET", path), asked, "what is refused changes nothing")
        self.refused(404, "QueueNotFound", "GET", "/v1/queues/absent/policies")
        self.assertEqual(self.api.call("PUT", path, {"policies": []}), {"policies": []})

    def test_queues_of_tidemark_are_not_changed_by_hand(self):
        for queue in ("tidemark-jobs", "tidemark-jobs-poison", "tidemark-mine"):
            one = f"/v1/queues/{queue}"
            for method, path, body in (("PUT", one, None), ("DELETE", one, None), ("POST", one + "/clear", None),
                                       ("POST", one + "/messages", {"text": "x"}), ("POST", one + "/take", None),
                                       ("DELETE", one + "/messages/x?lease=1", None), ("PATCH", one + "/messages/x?lease=1", {}),
                                       ("PUT", one + "/policies", {"policies": []})):
                told = self.refused(403, "AuthorizationPermissionMismatch", method, path, body)
                self.assertIn("belongs to Tidemark itself", told["detail"])

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
