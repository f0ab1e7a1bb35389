"""The api as its users see it, but for jobs (api_jobs_test.py) and queues (api_queues_test.py)."""
import http.client
import json
import os
import socket
import sys
import unittest
from urllib.parse import quote

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from api_case import JSON, ApiCase  # noqa: E402
from clients import TOKEN, BlobClient, HttpFailure  # noqa: E402
from openapi import CheckedApiClient, UntrueDescription  # noqa: E402
from stack import wait_until  # noqa: E402


class ApiTest(ApiCase):
    subject = "api"

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
        self.assertEqual(self.api.call("POST", on_change + "/pause")["state"], "paused")
        self.api.call("POST", on_change + "/resume", {"after": "now"})
        rule = {"job": {"kind": "delete", "source": "Changing", "partitionKey": "{new.PartitionKey}", "rowKey": "{new.RowKey}"}}
        tested = self.api.call("POST", "/v1/tables/Changing/onChange/r/test", {"after": "oldest", "definition": rule})
        self.assertEqual(tested["changes"], 30)
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

    def test_lists_begin_with_a_prefix_and_count_up_to_a_bound(self):
        self.start_blob_store()
        for name in ("CountedOne", "CountedTwo"):
            self.api.call("PUT", f"/v1/tables/{name}")
        for row in range(3):
            self.api.ask("PUT", f"/v1/tables/CountedTwo/entity?partitionKey=p&rowKey={row}", {**JSON, "If-None-Match": "*"}, "{}", ok=(201,))
        self.assertEqual(self.api.call("GET", "/v1/tables?prefix=counted")["tables"], [{"name": "CountedOne"}, {"name": "CountedTwo"}])
        self.assertEqual(self.api.call("GET", "/v1/tables?prefix=COUNTED&counts=true")["tables"],
                         [{"name": "CountedOne", "entities": 0, "complete": True}, {"name": "CountedTwo", "entities": 3, "complete": True}])
        first = self.api.call("GET", "/v1/tables?prefix=counted&limit=1")
        rest = self.api.call("GET", f"/v1/tables?prefix=counted&limit=1&continuation={first['continuation']}")
        self.assertEqual((rest["tables"], rest.get("continuation")), ([{"name": "CountedTwo"}], None))
        self.api.call("PUT", "/v1/containers/counted")
        for name in ("one", "two"):
            self.api.ask("PUT", f"/v1/containers/counted/content?name={name}",
                         {"Content-Type": "application/octet-stream", "If-None-Match": "*"}, "12345", ok=(201,))
        [container] = self.api.call("GET", "/v1/containers?prefix=counted&counts=true")["containers"]
        self.assertEqual((container["blobs"], container["bytes"], container["complete"]), (2, 10, True))
        self.assertNotIn("blobs", self.api.call("GET", "/v1/containers?prefix=counted")["containers"][0])
        for path in ("tables/CountedOne", "tables/CountedTwo", "containers/counted"):
            self.api.call("DELETE", f"/v1/{path}")

    def policies_are_kept(self, of, letters):
        path = f"/v1/{of}/policies"
        self.assertEqual(self.api.call("GET", path), {"policies": []})
        asked = {"policies": [{"id": "all", "permissions": letters, "expiresAt": "2100-01-01T00:00:00Z"}]}
        self.assertEqual(self.api.call("PUT", path, asked), asked)
        self.assertEqual(self.api.call("GET", path), asked)
        wrong = {"policies": [{"id": "all", "permissions": "z"}]}
        self.assertIn("letters of " + letters, self.refused(400, "InvalidInput", "PUT", path, wrong)["detail"])

    def test_tables_are_made_shown_and_dropped(self):
        path = "/v1/tables/Made"
        self.refused(404, "TableNotFound", "GET", path)
        table = {"name": "Made", "feed": False, "indexes": []}
        for status in (201, 200):
            answered, _, content = self.api.send("PUT", path)
            self.assertEqual((answered, json.loads(content)), (status, table))
        self.api.call("PUT", path + "/feed", {"values": "keys"})
        definition = {"kind": "lists", "source": "Made", "by": ["Number"], "destination": "MadeRows"}
        self.api.call("PUT", "/v1/indexes/of-made", definition)
        self.assertEqual(self.api.call("GET", "/v1/tables/made"), {"name": "Made", "feed": True, "indexes": ["of-made"]})
        self.api.call("DELETE", "/v1/indexes/of-made")
        self.policies_are_kept("tables/Made", "raud")
        self.api.call("DELETE", path)
        entry = self.api.call("GET", "/v1/audit?limit=1&operation=tables.delete")["entries"][0]
        self.assertEqual((entry["target"], entry["outcome"]), ("Made", "done"))
        self.refused(404, "TableNotFound", "DELETE", path)
        for name in ("TidemarkJobs", "tidemarkMine"):
            for method in ("PUT", "DELETE"):
                self.refused(403, "AuthorizationPermissionMismatch", method, f"/v1/tables/{name}")
            self.refused(403, "AuthorizationPermissionMismatch", "PUT", f"/v1/tables/{name}/policies", {"policies": []})
        self.refused(400, "InvalidInput", "PUT", "/v1/tables/1st")

    def test_a_plan_names_the_index_that_answers(self):
        self.fill("Planned")
        definition = {"kind": "lists", "source": "Planned", "by": ["Number"], "destination": "PlannedRows", "answersQueries": True}
        self.api.call("PUT", "/v1/indexes/of-planned", definition)
        plan = f"/v1/tables/Planned/plan?filter={quote('Number eq 7')}"
        wait_until(lambda: self.api.call("GET", plan) == {"access": "table", "index": "of-planned"}, "the index answers")
        for filter in ("Number gt 7", "PartitionKey eq 'p1'", ""):
            self.assertNotIn("index", self.api.call("GET", f"/v1/tables/Planned/plan?filter={quote(filter)}"))
        self.api.call("DELETE", "/v1/indexes/of-planned")
        self.assertEqual(self.api.call("GET", f"/v1/tables/NotThere/plan?filter={quote('Number eq 7')}"), {"access": "table"})

    def test_containers_are_dropped(self):
        self.start_blob_store()
        path = "/v1/containers/passing"
        self.api.call("PUT", path)
        self.content("PUT", "passing", "a", b"text", If_None_Match="*")
        self.policies_are_kept("containers/passing", "racwdxyltmeopfi")
        self.api.call("DELETE", path)
        self.refused(404, "ContainerNotFound", "GET", path + "/blobs")
        self.refused(404, "ContainerNotFound", "DELETE", path)
        for container in ("tidemark-own", "$logs"):
            self.refused(403, "AuthorizationPermissionMismatch", "DELETE", f"/v1/containers/{quote(container)}")
            self.refused(403, "AuthorizationPermissionMismatch", "PUT", f"/v1/containers/{quote(container)}/policies", {"policies": []})

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

    def test_health_tells_which_stores_answer_and_since_when(self):
        stores = self.api.call("GET", "/v1/health")["stores"]
        self.assertEqual([(each["store"], each["process"]) for each in stores],
                         [("table", "table_store"), ("queue", "queue_service"), ("blob", "blob_store")])
        store = self.stack.children["queue_service"]

        def queue():
            return next(each for each in self.api.call("GET", "/v1/health")["stores"] if each["store"] == "queue")
        wait_until(lambda: queue()["answers"], "the store answers")
        store.kill()
        wait_until(lambda: not queue()["answers"], "the store is known to be away")
        away = queue()
        self.assertEqual(away["since"], away["answeredAt"])
        self.assertTrue(away["problem"])
        self.assertIn("queue", self.api.call("GET", "/v1/overview")["notAnswering"])
        self.stack.start("queue_service")
        wait_until(lambda: queue()["answers"], "the store is known to be back")
        self.assertGreater(queue()["since"], away["since"])

    def test_what_there_is_to_know_of_the_stack(self):
        about = self.api.call("GET", "/v1/about")
        self.assertRegex(about["version"], r"^\d+\.\d+\.\d+$")
        self.assertNotIn("traceUrl", about)

    def test_due_times_of_a_cron_expression(self):
        query = "/v1/dueTimes?cron=" + quote("0 3 1 1 *") + "&timeZone=Europe/Berlin&startAfter=2100-01-01T00:00:00Z"
        self.assertEqual(self.api.call("GET", query + "&count=2")["dueTimes"], ["2100-01-01T02:00:00Z", "2101-01-01T02:00:00Z"])
        self.assertEqual(len(self.api.call("GET", query)["dueTimes"]), 5)
        self.assertEqual(self.api.call("GET", "/v1/dueTimes?cron=" + quote("0 0 31 2 *"))["dueTimes"], [])
        for wrong in ("cron=daily", "cron=@daily&timeZone=Nowhere", "cron=@daily&startAfter=soon", "cron=@daily&count=0"):
            with self.assertRaises(HttpFailure) as caught:
                self.api.call("GET", "/v1/dueTimes?" + wrong)
            self.assertEqual(caught.exception.status, 400, wrong)

    def test_the_last_hour_is_known_from_the_start_on(self):
        overview = wait_until(lambda: (found := self.api.call("GET", "/v1/overview"))["points"] and found, "a point")
        self.assertEqual(overview["stepSeconds"], 10)

    def test_what_accounts_have_is_told(self):
        self.tables.create_table("Counted")
        def counted():
            told = {(each["store"], each["of"]): each for each in self.api.call("GET", "/v1/accounts")["accounts"]}
            return told["table", "tables"]["used"] > 0 and told
        told = wait_until(counted, "the tables are counted")
        self.assertEqual({each["account"] for each in told.values()}, {"devstoreaccount1"})

    def test_shards_are_told_and_planned(self):
        stores = {store["store"]: store for store in self.api.call("GET", "/v1/shards")["stores"]}
        self.assertEqual(set(stores), {"table", "queue", "blob"})
        self.assertFalse(stores["table"]["shared"])
        self.assertEqual(self.api.call("GET", "/v1/shards/table/plan")["store"], "table")
        with self.assertRaises(HttpFailure) as refused:
            self.api.call("POST", "/v1/shards/table/0/move", {"process": stores["table"]["processes"][0]["name"]})
        self.assertEqual(refused.exception.status, 501)

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
