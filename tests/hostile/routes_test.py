"""Every route of every process without permission: without credentials, with wrong, expired, early and too narrow ones;
and with names and headers that lead elsewhere. Each is refused as the protocol says, and nothing is done."""
import base64
import hashlib
import json
import os
import re
import socket
import stat
import sys
import unittest
from urllib.parse import quote

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ACCOUNT, KEY, ApiClient, BlobClient, HttpClient, HttpFailure, QueueClient, TableClient  # noqa: E402
from sas import account_sas, at, service_sas  # noqa: E402
from stack import SOURCE, TOKEN, StackTest  # noqa: E402
import doors  # noqa: E402

JSON = {"Content-Type": "application/json"}
BLOCK = {"x-ms-blob-type": "BlockBlob"}
MESSAGE = "<QueueMessage><MessageText>theirs</MessageText></QueueMessage>"
ACL = "<SignedIdentifiers></SignedIdentifiers>"
PROPERTIES = "<StorageServiceProperties></StorageServiceProperties>"
ENTITY = json.dumps({"PartitionKey": "p", "RowKey": "new", "Number": 2})
GUID = "00000000-0000-0000-0000-000000000001"
OTHER_KEY = b"another key of sixteen bytes or so"
BATCH = ("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n"
         "Content-Transfer-Encoding: binary\r\n\r\nPUT http://x/devstoreaccount1/Things(PartitionKey='p',RowKey='new') HTTP/1.1\r\n"
         "Content-Type: application/json\r\n\r\n{}\r\n--c--\r\n--b--\r\n")
KEY_INFO = "<KeyInfo><Start>2026-01-01T00:00:00Z</Start><Expiry>2026-01-02T00:00:00Z</Expiry></KeyInfo>"
TAGS = "<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>"
FIND = "/?comp=blobs&where=" + quote("\"a\"='b'")
MULTIPART = {"Content-Type": "multipart/mixed; boundary=b"}
BLOB_BATCH = ("--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: 0\r\n\r\n"
              "DELETE /devstoreaccount1/things/mine HTTP/1.1\r\nContent-Length: 0\r\n\r\n--b--\r\n")
LEASE = {"x-ms-lease-id": GUID, "x-ms-proposed-lease-id": GUID, "x-ms-lease-duration": "15"}
LEASE_ACTIONS = ("acquire", "renew", "change", "release", "break")

# Method, target below the account, type of resource, a letter that does not suffice, headers, body. None: no SAS
# suffices.
ACCOUNT_ROUTES = [
    ("GET", "/?restype=service&comp=properties", "s", "l", {}, None),
    ("PUT", "/?restype=service&comp=properties", "s", "r", {}, PROPERTIES),
    ("GET", "/?restype=service&comp=stats", "s", "l", {}, None),
]
ROUTES = {
    "table": [
        *ACCOUNT_ROUTES,
        ("GET", "/Tables", "c", "r", {}, None),
        ("POST", "/Tables", "c", "r", JSON, '{"TableName":"Theirs"}'),
        ("GET", "/Tables('Things')", "c", "r", {}, None),
        ("DELETE", "/Tables('Things')", "c", "r", {}, None),
        ("GET", "/Things?comp=acl", "c", None, {}, None),
        ("PUT", "/Things?comp=acl", "c", None, {}, ACL),
        ("GET", "/Things", "o", "a", {}, None),
        ("GET", "/Things()", "o", "a", {}, None),
        ("GET", "/Things(PartitionKey='p',RowKey='r')", "o", "a", {}, None),
        ("POST", "/Things", "o", "r", JSON, ENTITY),
        ("PUT", "/Things(PartitionKey='p',RowKey='r')", "o", "a", JSON, "{}"),
        ("PUT", "/Things(PartitionKey='p',RowKey='r')", "o", "r", {**JSON, "If-Match": "*"}, "{}"),
        ("PATCH", "/Things(PartitionKey='p',RowKey='r')", "o", "a", JSON, "{}"),
        ("MERGE", "/Things(PartitionKey='p',RowKey='r')", "o", "r", {**JSON, "If-Match": "*"}, "{}"),
        ("POST", "/Things(PartitionKey='p',RowKey='r')", "o", "r", {**JSON, "X-HTTP-Method": "MERGE", "If-Match": "*"}, "{}"),
        ("DELETE", "/Things(PartitionKey='p',RowKey='r')", "o", "a", {"If-Match": "*"}, None),
        ("POST", "/$batch", "o", "r", {"Content-Type": "multipart/mixed; boundary=b"}, BATCH),
        ("GET", "/$operation", "o", "a", {"x-ms-tidemark-operation-id": "op"}, None),
        ("POST", "/$operation", "o", "r", {"x-ms-tidemark-operation-id": "op", "x-ms-tidemark-epoch": "1"}, None),
        ("DELETE", "/$operation", "o", "r", {"x-ms-tidemark-operation-id": "op", "x-ms-tidemark-epoch": "1"}, None),
    ],
    "queue": [
        *ACCOUNT_ROUTES,
        ("GET", "/?comp=list", "s", "r", {}, None),
        ("PUT", "/theirs", "c", "r", {}, None),
        ("DELETE", "/things", "c", "r", {}, None),
        ("GET", "/things?comp=metadata", "c", "w", {}, None),
        ("HEAD", "/things?comp=metadata", "c", "w", {}, None),
        ("PUT", "/things?comp=metadata", "c", "r", {"x-ms-meta-a": "b"}, None),
        ("GET", "/things?comp=acl", "c", None, {}, None),
        ("PUT", "/things?comp=acl", "c", None, {}, ACL),
        ("POST", "/things/messages", "o", "r", {}, MESSAGE),
        ("GET", "/things/messages", "o", "r", {}, None),
        ("GET", "/things/messages?peekonly=true", "o", "a", {}, None),
        ("DELETE", "/things/messages", "o", "r", {}, None),
        ("PUT", f"/things/messages/{GUID}?popreceipt=x&visibilitytimeout=0", "o", "r", {}, MESSAGE),
        ("PUT", f"/things/messages/{GUID}?popreceipt=x", "o", "u", {"x-ms-tidemark-finish": "true"}, None),
        ("PUT", f"/things/messages/{GUID}?popreceipt=x", "o", "u", {"x-ms-tidemark-move-to": "theirs"}, None),
        ("DELETE", f"/things/messages/{GUID}?popreceipt=x", "o", "r", {}, None),
    ],
    "blob": [
        *ACCOUNT_ROUTES,
        ("GET", "/?comp=list", "s", "r", {}, None),
        ("GET", "/?restype=account&comp=properties", "s", "y", {}, None),
        ("GET", "/things?restype=account&comp=properties", "c", "y", {}, None),
        ("GET", "/things?restype=container", "c", "l", {}, None),
        ("HEAD", "/things?restype=container", "c", "l", {}, None),
        ("GET", "/things?restype=container&comp=metadata", "c", "l", {}, None),
        ("GET", "/things?restype=container&comp=acl", "c", None, {}, None),
        ("PUT", "/things?restype=container&comp=acl", "c", None, {}, ACL),
        ("GET", "/things?restype=container&comp=list", "c", "r", {}, None),
        ("PUT", "/theirs?restype=container", "c", "r", {}, None),
        ("PUT", "/things?restype=container&comp=metadata", "c", "r", {"x-ms-meta-a": "b"}, None),
        ("DELETE", "/things?restype=container", "c", "r", {}, None),
        ("GET", "/things/mine?restype=account&comp=properties", "o", "y", {}, None),
        ("GET", "/things/mine", "o", "w", {}, None),
        ("HEAD", "/things/mine", "o", "w", {}, None),
        ("GET", "/things/mine?comp=metadata", "o", "w", {}, None),
        ("GET", "/things/mine?comp=blocklist", "o", "w", {}, None),
        ("PUT", "/things/mine", "o", "r", BLOCK, "theirs"),
        ("PUT", "/things/mine?comp=block&blockid=MDAw", "o", "r", {}, "theirs"),
        ("PUT", "/things/mine?comp=blocklist", "o", "r", {}, "<BlockList></BlockList>"),
        ("PUT", "/things/mine?comp=properties", "o", "r", {"x-ms-blob-content-type": "a/b"}, None),
        ("PUT", "/things/mine?comp=metadata", "o", "r", {"x-ms-meta-a": "b"}, None),
        ("DELETE", "/things/mine", "o", "r", {}, None),
        ("POST", "/?restype=service&comp=userdelegationkey", "s", "r", {}, KEY_INFO),
        ("GET", FIND, "s", "r", {}, None),
        ("GET", "/things" + FIND[1:] + "&restype=container", "c", "r", {}, None),
        ("POST", "/?comp=batch", "o", "r", MULTIPART, BLOB_BATCH),
        ("POST", "/things?restype=container&comp=batch", "o", "r", MULTIPART, BLOB_BATCH),
        *(("PUT", "/things?restype=container&comp=lease", "c", "r", {**LEASE, "x-ms-lease-action": action}, None)
          for action in LEASE_ACTIONS),
        *(("PUT", "/things/mine?comp=lease", "o", "r", {**LEASE, "x-ms-lease-action": action}, None) for action in LEASE_ACTIONS),
        ("GET", "/things/mine?comp=tags", "o", "r", {}, None),
        ("PUT", "/things/mine?comp=tags", "o", "w", {}, TAGS),
        ("GET", "/things/mine?comp=pagelist", "o", "w", {}, None),
        ("PUT", "/things/mine?comp=page", "o", "r", {"x-ms-page-write": "update", "x-ms-range": "bytes=0-511"}, "x" * 512),
        ("PUT", "/things/mine?comp=page", "o", "r", {"x-ms-page-write": "clear", "x-ms-range": "bytes=0-511"}, None),
        ("PUT", "/things/mine?comp=appendblock", "o", "r", {}, "theirs"),
        ("PUT", "/things/mine?comp=seal", "o", "r", {}, None),
        ("PUT", "/things/mine?comp=snapshot", "o", "r", {}, None),
        ("PUT", "/things/mine?comp=undelete", "o", "r", {}, None),
        ("PUT", "/things/mine?comp=tier", "o", "r", {"x-ms-access-tier": "Cool"}, None),
        ("PUT", f"/things/mine?comp=copy&copyid={GUID}", "o", "r", {"x-ms-copy-action": "abort"}, None),
        ("PUT", "/things/mine", "o", "r", {"x-ms-copy-source": "http://127.0.0.1:9/devstoreaccount1/others/mine"}, None),
        ("PUT", "/things/mine", "o", "r", {**BLOCK, "x-ms-copy-source": "http://127.0.0.1:9/x"}, None),
        ("PUT", "/things/mine?comp=block&blockid=MDAw", "o", "r", {"x-ms-copy-source": "http://127.0.0.1:9/x"}, None),
    ],
}
PROGRAMS = {"table": "table_store", "queue": "queue_service", "blob": "blob_store"}
EARLIER = "2020-01-01T00:00:00Z"


def other(service):
    return {"table": "queue", "queue": "blob", "blob": "table"}[service]


class RoutesTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("table_store", "queue_service", "blob_store", "api"):
            cls.stack.start(name, "--log-level", "debug")
        ports = cls.stack.ports
        cls.tables, cls.queues = TableClient(ports["table_store"]), QueueClient(ports["queue_service"])
        cls.blobs, cls.api = BlobClient(ports["blob_store"]), ApiClient(ports["api"])
        for table in ("Things", "Others"):
            cls.tables.create_table(table)
            cls.tables.put(table, {"PartitionKey": "p", "RowKey": "r", "Number": 1})
        for name in ("things", "others"):
            cls.queues.create(name)
            cls.queues.put(name, "mine")
            cls.blobs.create_container(name)
            cls.blobs.put(name, "mine", b"mine")
        cls.signatures = set()

    def state(self):
        """Reads everything that a request could have changed."""
        def ask(client, method, target):
            return re.sub(rb"<Date>.*?</Date>|(?i:<LastSyncTime>.*?</LastSyncTime>)", b"",
                          client._ask(method, *target.split("?"))[1])
        tables = json.loads(self.tables._ask("GET", "/Tables")[1])["value"]
        names = sorted(entry["TableName"] for entry in tables)
        seen = {"tables": names, "entities": {name: self.tables.read_partition(name, "p") for name in ("Things", "Others")},
                "things": self.queues.peek("things"), "others": self.queues.peek("others")}
        for name, client in (("queue", self.queues), ("blob", self.blobs)):
            seen[name] = ask(client, "GET", "/?comp=list&include=metadata")
            seen[name + " properties"] = ask(client, "GET", "/?comp=properties&restype=service")
        for container in ("things", "others"):
            seen["blobs " + container] = ask(self.blobs, "GET", f"/{container}?comp=list&restype=container&include=metadata,uncommittedblobs")
        for name, acl in (("table", self.tables), ("queue", self.queues)):
            seen[name + " acl"] = acl._ask("GET", "/Things" if name == "table" else "/things", "comp=acl")[1]
        return seen

    def state_of_jobs(self):
        queue = self.api.call("GET", "/v1/queues/things")
        return [self.api.jobs(), self.api.poison(), queue["messages"], queue["paused"],
                *(self.api.call("GET", f"/v1/{name}") for name in ("limits", "schedules", "kinds"))]

    def send(self, service, method, target, headers=None, body=None, sas=None):
        if sas:
            target += ("&" if "?" in target else "?") + sas
            self.signatures.add(re.search(r"sig=([^&]+)", sas)[1])
        client = HttpClient(self.stack.ports[PROGRAMS[service]])
        try:
            status, answered, content = client.send(method, f"/{ACCOUNT}{target}", headers, body)
        finally:
            client.close()
        code = answered.get("x-ms-error-code")
        if not code and content:
            code = HttpFailure(status, answered, content).code
        return status, code

    def expect(self, service, route, status, codes, sas=None, headers=None):
        method, target, _, _, more, body = route
        got = self.send(service, method, target, {**more, **(headers or {})}, body, sas)
        self.assertEqual(got[0], status, (service, method, target, sas, got))
        if method != "HEAD" or got[1]:
            self.assertIn(got[1], codes, (service, method, target, sas, got))

    def test_stores_refuse_whoever_may_not(self):
        before = self.state()
        date = {"x-ms-date": "Sun, 22 Nov 2026 12:00:00 GMT", "x-ms-version": "2019-02-02"}
        for service, routes in ROUTES.items():
            for route in routes:
                with self.subTest(service=service, method=route[0], target=route[1]):
                    kind, letter = route[2], route[3]
                    self.expect(service, route, 401, ["NoAuthenticationInformation"])
                    for scheme in ("SharedKey", "SharedKeyLite"):
                        wrong = base64.b64encode(hashlib.sha256(b"wrong").digest()).decode()
                        self.expect(service, route, 403, ["AuthenticationFailed"],
                                    headers={**date, "Authorization": f"{scheme} {ACCOUNT}:{wrong}"})
                    self.expect(service, route, 403, ["AuthenticationFailed"], headers={"Authorization": f"Bearer {TOKEN}"})
                    for sas in (account_sas(expires=at(-1)), account_sas(starts=at(1)), account_sas(key=OTHER_KEY),
                                account_sas(permissions="r").replace("sp=r", "sp=rwdlacup"),
                                account_sas(expires=at(-1)).replace(at(-1)[:4], "2099")):
                        self.expect(service, route, 403, ["AuthenticationFailed"], sas)
                    self.expect(service, route, 403, ["AuthorizationServiceMismatch"], account_sas(services=letter_of(other(service))))
                    if letter is None:
                        self.expect(service, route, 403, ["AuthorizationFailure"], account_sas())
                        continue
                    self.expect(service, route, 403, ["AuthorizationPermissionMismatch"], account_sas(permissions=letter))
                    self.expect(service, route, 403, ["AuthorizationResourceTypeMismatch"],
                                account_sas(types="sco".replace(kind, "")))
        self.assertEqual(self.state(), before)

    def test_no_operation_of_a_store_is_left_out(self):
        for service, routes in ROUTES.items():
            for method, target, _, _, headers, body in routes:
                self.send(service, method, target, headers, body)
            with open(os.path.join(SOURCE, PROGRAMS[service], "rest", f"{service}_routes.cpp"), encoding="utf-8") as file:
                names = set(re.findall(r'"([A-Z][a-z]+[A-Z]\w+)"', file.read()))
            text = HttpClient(self.stack.ports[PROGRAMS[service]]).ask("GET", "/metrics")[1].decode()
            asked = set(re.findall(r'(?m)^tidemark_http_request_duration_seconds_count\{operation="(\w+)",status="4xx"\}', text))
            self.assertGreater(len(names), 15)
            self.assertEqual({name for name in names - asked if "Preflight" not in name}, set(), service)

    def test_signatures_for_one_thing_are_for_no_other(self):
        before = self.state()
        everything = {"table": "raud", "queue": "raup", "blob": "rcwdl"}
        of_other = {"table": service_sas("table", "Others", "raud"), "queue": service_sas("queue", "others", "raup"),
                    "blob": service_sas("blob", "others", "rcwdl", kind="c")}
        of_this = {"table": lambda letters, **more: service_sas("table", "Things", letters, **more),
                   "queue": lambda letters, **more: service_sas("queue", "things", letters, **more),
                   "blob": lambda letters, **more: service_sas("blob", "things", letters, kind="c", **more)}
        refused = ["AuthorizationFailure", "AuthenticationFailed", "AuthorizationPermissionMismatch"]
        for service, routes in ROUTES.items():
            for route in routes:
                with self.subTest(service=service, method=route[0], target=route[1]):
                    self.expect(service, route, 403, refused, of_other[service])
                    if route[2] != "o":
                        # They grant nothing for the account, nor for the table, queue or container itself (except for
                        # its list of blobs).
                        if "comp=list" not in route[1] and "comp=metadata" not in route[1] and "restype=account" not in route[1]:
                            self.expect(service, route, 403, refused, of_this[service](everything[service]))
                        continue
                    if "$operation" in route[1]:
                        continue
                    for sas in (of_this[service](everything[service], expires=EARLIER),
                                of_this[service](everything[service], starts=at(1)),
                                of_this[service](everything[service], key=OTHER_KEY)):
                        self.expect(service, route, 403, ["AuthenticationFailed"], sas)
        # A SAS of a blob is for that blob only; that of a container is not for the table of that name.
        blob = service_sas("blob", "things/other", "rwcd", kind="b")
        self.assertEqual(self.send("blob", "GET", "/things/mine", sas=blob)[0], 403)
        self.assertEqual(self.send("blob", "GET", "/things/mine", sas=of_this["queue"]("r"))[0], 403)
        self.assertEqual(self.send("queue", "GET", "/things/messages?peekonly=true", sas=of_this["blob"]("r"))[0], 403)
        self.assertEqual(self.state(), before)
        # The routes themselves are right: a client with the rights gets in.
        for service, routes in ROUTES.items():
            for route in routes:
                if route[0] in ("GET", "HEAD") and route[3] and "messages" not in route[1]:
                    status, code = self.send(service, route[0], route[1], route[4], route[5], account_sas(permissions="rwdlacuptf"))
                    self.assertIn((status, code), ((200, None), (409, "InvalidBlobType"), (404, "ResourceNotFound"), (400, "InvalidUri"),
                                                   (400, "InvalidQueryParameterValue")), route)

    def test_the_api_refuses_whoever_has_no_token(self):
        before = self.state(), self.state_of_jobs()
        document = self.api.call("GET", "/openapi.json")
        routes = [(method.upper(), re.sub(r"\{[a-z]+\}", "things", path)) for path, item in document["paths"].items()
                  for method in item if method != "parameters"]
        self.assertGreater(len(routes), 30)
        plain = HttpClient(self.stack.ports["api"])
        body = json.dumps({"kind": "delete", "source": "Things", "filter": ""})
        for method, path in routes:
            if path in ("/openapi.json", "/healthz", "/readyz", "/metrics") or (method, path) == ("POST", "/v1/session"):
                continue  # a client that logs in has no token yet
            with self.subTest(method=method, path=path):
                for headers in ({}, {"Authorization": "Bearer " + TOKEN[:-1]}, {"Authorization": f"Bearer {TOKEN}x"},
                                {"Authorization": f"Bearer {TOKEN} {TOKEN}"}, {"Authorization": "Bearer"},
                                {"Authorization": "Basic " + base64.b64encode(f":{TOKEN}".encode()).decode()},
                                {"Cookie": f"token={TOKEN}"}, {"X-Forwarded-For": "127.0.0.1"}):
                    for target in (path, f"{path}?token={TOKEN}", f"{path}?access_token={TOKEN}"):
                        status, answered, content = plain.send(method, target, {**JSON, **headers},
                                                               body if method in ("POST", "PUT", "PATCH") else None)
                        self.assertEqual((status, json.loads(content)["code"]), (401, "Unauthorized"))
                        self.assertEqual(answered["WWW-Authenticate"], "Bearer")
                        self.assertNotIn(TOKEN, content.decode())
        self.assertEqual((self.state(), self.state_of_jobs()), before)

    def test_names_that_lead_elsewhere(self):
        """With all rights: a name is a name everywhere, and never a path."""
        files = self.files()
        before = self.state()
        names = ["..", "%2e%2e", "%2E%2E%2f%2E%2E%2fetc", "..%2f..%2fetc%2fpasswd", "%00", "a%00b", "..%5c..%5cx", "%5c", "a%5cb",
                 "%0d%0aX-Injected:%201", "a%0d%0a%0d%0ab", "%ff%fe", "%c0%ae%c0%ae"]
        for name in names:
            for service, method, target, headers, body in (
                    ("queue", "PUT", f"/{name}", {}, None), ("blob", "PUT", f"/{name}?restype=container", {}, None),
                    ("queue", "POST", f"/{name}/messages", {}, MESSAGE), ("queue", "DELETE", f"/{name}", {}, None),
                    ("queue", "PUT", f"/things/messages/{name}?popreceipt=x&visibilitytimeout=0", {}, None),
                    ("blob", "DELETE", f"/{name}?restype=container", {}, None),
                    ("blob", "PUT", f"/{name}/x", BLOCK, "theirs"),
                    ("table", "GET", f"/Tables('{name}')", {}, None), ("table", "DELETE", f"/Tables('{name}')", {}, None),
                    ("table", "POST", f"/{name}", JSON, ENTITY)):
                with self.subTest(service=service, method=method, target=target):
                    status, _ = self.send(service, method, target, headers, body, account_sas())
                    self.assertTrue(400 <= status < 500, status)
        self.assertEqual(self.state(), before)
        # Blobs may have almost any name; the name stays as it was sent, and the blob in its container.
        for name in names:
            status, _ = self.send("blob", "PUT", f"/things/{name}", BLOCK, "theirs", account_sas())
            self.assertIn(status, (201, 400), name)
            raw = self.raw("blob_store", f"GET /{ACCOUNT}/things/{name}?{account_sas()} HTTP/1.1")
            self.assertNotIn(b"\r\nx-injected", raw.lower())
            self.send("blob", "DELETE", f"/things/{name}", sas=account_sas())
        for name in (*names, "%2f", "%23", "%3f"):
            key = json.dumps({"PartitionKey": "p", "RowKey": name}) if "%" not in name else None
            status, _ = self.send("table", "PUT", f"/Things(PartitionKey='p',RowKey='{name}')", JSON, key or "{}", account_sas())
            self.assertIn(status, (204, 400), name)
            if status == 204:
                self.send("table", "DELETE", f"/Things(PartitionKey='p',RowKey='{name}')", {"If-Match": "*"}, sas=account_sas())
        self.assertEqual(self.state()["entities"], before["entities"])
        self.assertEqual(self.state()["blob"], before["blob"])
        for path in ("/v1/jobs/..", "/v1/jobs/%2e%2e", "/v1/jobs/%2e%2e%2fpoison", "/v1/queues/%00", "/v1/queues/..%5cx",
                     "/v1/groups/%0d%0aX:1", "/v1/schedules/%2e%2e", "/v1/jobs/%ff", "/v1/../openapi.json", "//v1/jobs",
                     "/v1//jobs", "/v1/jobs/a%2fb", "/v1/poison/%00"):
            status, headers, content = self.api.send("GET", path)
            self.assertIn(status, (400, 404), path)
            self.assertEqual(headers["Content-Type"], "application/problem+json", content)
            status, _, _ = self.api.send("PUT", path.replace("/v1/jobs", "/v1/schedules"), JSON, "{}")
            self.assertIn(status, (400, 404, 405), path)
        self.assertEqual(self.files(), files)
        self.answer_all()

    def test_what_no_store_takes_comes_in_by_no_door_of_the_api(self):
        self.api.call("POST", "/v1/queues/things/resume", {})  # the audit trail's table exists from now on
        before, jobs = self.state(), self.state_of_jobs()
        for what, method, target, headers, body, codes in doors.requests():
            with self.subTest(what=what, method=method, target=target, body=body):
                status, answered, content = self.api.send(method, target, headers, body)
                self.assertEqual((status, answered["Content-Type"]), (400, "application/problem+json"), content)
                problem = json.loads(content)
                self.assertIn(problem["code"], codes, problem)
                self.assertTrue(problem["detail"])
        self.assertEqual((self.state(), self.state_of_jobs()), (before, jobs))
        self.answer_all()

    def test_headers_that_would_be_two(self):
        before = self.state()
        sas = account_sas()
        for line in ("x-ms-meta-a: b\rX-Injected: 1", "x-ms-meta-a: b\nX-Injected: 1", "x-ms-meta-a: b\0c", "x-ms-meta-a\r\n: b",
                     "x-ms-meta-a : b", " x-ms-meta-a: b", "x-ms-client-request-id: a\rX-Injected: 1", "Origin: a\rX-Injected: 1"):
            for program, target in (("queue_service", f"PUT /{ACCOUNT}/things?comp=metadata&{sas}"),
                                    ("blob_store", f"PUT /{ACCOUNT}/things?restype=container&comp=metadata&{sas}"),
                                    ("table_store", f"GET /{ACCOUNT}/Tables?{sas}"), ("api", "GET /v1/jobs")):
                with self.subTest(program=program, line=line):
                    raw = self.raw(program, f"{target} HTTP/1.1", line, f"Authorization: Bearer {TOKEN}" if program == "api" else "")
                    self.assertNotIn(b"\nx-injected", raw.lower().replace(b"\r", b"\n"))
                    self.assertRegex(raw, rb"^HTTP/1\.1 (4\d\d|200|204) ")
        # Request smuggling: two lengths, a length and chunks.
        for lines in (("Content-Length: 0", "Content-Length: 30"), ("Content-Length: 5", "Transfer-Encoding: chunked"),
                      ("Transfer-Encoding: chunked, identity",), ("Content-Length: +5",), ("Content-Length: 5, 5",)):
            for program in (*PROGRAMS.values(), "api"):
                with self.subTest(program=program, lines=lines):
                    raw = self.raw(program, "POST /x HTTP/1.1", *lines, body="0\r\n\r\nDELETE /devstoreaccount1/things HTTP/1.1\r\n\r\n")
                    self.assertRegex(raw, rb"^HTTP/1\.1 4\d\d ")
                    self.assertLessEqual(raw.count(b"HTTP/1.1 "), 2)
        self.assertEqual(self.state(), before)
        self.answer_all()

    def test_a_target_that_is_a_whole_uri_names_the_host(self):
        def by_uri(kind, program):
            client = kind(self.stack.ports[program])
            self.addCleanup(client.close)
            send = client.send
            client.send = lambda method, target, *rest: send(method, f"http://127.0.0.1{target}", *rest)
            return client
        self.assertEqual(by_uri(TableClient, "table_store").get("Things", "p", "r")["Number"], 1)
        self.assertEqual(by_uri(QueueClient, "queue_service").peek("things"), self.queues.peek("things"))
        self.assertEqual(by_uri(BlobClient, "blob_store")._ask("GET", "/things/mine")[1], b"mine")
        self.assertEqual(by_uri(ApiClient, "api").jobs(), self.api.jobs())
        sas = account_sas()
        for program, target in (("table_store", f"/{ACCOUNT}/Tables?{sas}"), ("queue_service", f"/{ACCOUNT}/things?comp=metadata&{sas}"),
                                ("blob_store", f"/{ACCOUNT}/things/mine?{sas}"), ("api", "/v1/jobs")):
            for host, status in ((b"localhost", b"200"), (b"evil.example", b"403")):  # in addition to Host: localhost
                with self.subTest(program=program, host=host):
                    raw = self.raw(program, f"GET http://{host.decode()}{target} HTTP/1.1", f"Authorization: Bearer {TOKEN}" if program == "api" else "")
                    self.assertRegex(raw, rb"^HTTP/1\.1 " + status)

    def raw(self, program, request, *lines, body=""):
        with socket.create_connection(("127.0.0.1", self.stack.ports[program]), 10) as connection:
            head = [request, "Host: localhost", "Connection: close", *(line for line in lines if line), "", body]
            connection.sendall("\r\n".join(head).encode("latin-1"))
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while piece := connection.recv(65536):
                    answer += piece
            except ConnectionResetError:
                pass
            return answer

    def files(self):
        """Lists the files in and around the data directory, without those that databases and logs make themselves."""
        found = set()
        for directory, folders, names in os.walk(self.stack.directory):
            found |= {os.path.join(directory, name) for name in (*folders, *names)
                      if not re.search(r"/(table|queue|blob)/|\.log$", os.path.join(directory, name))}
        return found

    def answer_all(self):
        for name in (*PROGRAMS.values(), "api"):
            self.assertTrue(self.stack.children[name].alive())
            self.assertEqual(HttpClient(self.stack.ports[name]).send("GET", "/readyz")[0], 200)

    def test_sockets_between_processes_are_for_this_user(self):
        run = os.path.join(self.stack.data, "run")
        self.assertEqual(stat.S_IMODE(os.stat(run).st_mode), 0o700)
        for name in ("table", "queue", "blob"):
            path = os.path.join(run, name + ".sock")
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            for garbage in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(100_000), b"\xff\0\0\0\0\0\0\0\1\x7f" + b"\0" * 54 + b"\xff" * 1000,
                            b"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL" + b"\0" * 48 + b"\2" + b"\xff" * 8 + b"x" * 10_000, b""):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(10)
                    connection.connect(path)
                    try:
                        connection.sendall(garbage)
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65536):
                            pass
                    except OSError:
                        pass  # the server closed the connection
        self.answer_all()
        self.api.call("GET", "/v1/queues")

    @classmethod
    def tearDownClass(cls):
        told = "\n".join(child.log(1 << 26) for child in cls.stack.children.values())
        secrets = [TOKEN, base64.b64encode(KEY).decode(), *cls.signatures]
        found = [secret for secret in secrets if secret in told]
        if found:
            raise AssertionError(f"in the logs: {found}")


def letter_of(service):
    return service[0]


if __name__ == "__main__":
    unittest.main(verbosity=2)
