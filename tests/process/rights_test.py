"""Access to the api: every operation with every role, the audit trail, sessions of browsers, and keys and tokens that
change while the stack runs."""
import base64
import hashlib
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
import unittest
from urllib.parse import parse_qs, quote, urlencode, urlsplit

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import TOKEN, ApiClient, BlobClient, HttpClient, QueueClient, TableClient  # noqa: E402
from receiver import make_certificates  # noqa: E402
from sas import account_sas  # noqa: E402
from stack import Stack, StackTest, clean_environment, program, wait_until  # noqa: E402

ROLES = ["none", "viewer", "operator", "admin"]
TOKENS = {role: f"the-token-of-the-{role}" for role in [*ROLES[1:], "worker"]}
JSON = {"Content-Type": "application/json"}
METHODS = ("get", "put", "post", "delete", "patch")


def includes(role, needed):
    """The role worker stands beside the others."""
    if needed == "worker":
        return role in ("worker", "operator", "admin")
    return needed == "none" if role == "worker" else ROLES.index(role) >= ROLES.index(needed)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


CALLERS = {"without a token": {}, "an unknown token": bearer("the-token-of-nobody"),
           **{role: bearer(token) for role, token in TOKENS.items()}}


def write_private(path, text):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def tokens_text(tokens):
    entries = [{"name": name, "role": role, "sha256": hashlib.sha256(token.encode()).hexdigest()}
               for name, role, token in tokens]
    return json.dumps({"tokens": entries})


def reload(child, said):
    """Sends SIGHUP and waits until the process confirms it."""
    before = child.log(1 << 20).count(said)
    child.signal(signal.SIGHUP)
    wait_until(lambda: child.log(1 << 20).count(said) > before, f"{child.name} says {said!r}")


def run(name, *arguments, token=TOKEN):
    """Runs a program to its end."""
    return subprocess.run([program(name), *arguments], env=clean_environment({"TIDEMARK_TOKEN": token}), capture_output=True,
                          text=True, timeout=60)


class RightsTest(StackTest):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokens_file = os.path.join(cls.stack.directory, "tokens.json")
        cls.accounts_file = os.path.join(cls.stack.directory, "accounts")
        cls.write_tokens()
        cls.stack.start("blob_store")  # the api would wait for one that is away
        cls.stack.up(api_arguments=("--tokens-file", cls.tokens_file))
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.http = HttpClient(cls.stack.ports["api"])

    @classmethod
    def write_tokens(cls, *more):
        write_private(cls.tokens_file, tokens_text([(role + "-name", role, TOKENS[role]) for role in TOKENS] + list(more)))

    def send(self, method, path, headers, body=None):
        """Returns the status, the headers and the answer's JSON."""
        if body is not None:
            headers = {**JSON, **headers}
        status, answered, content = self.http.send(method, path, headers, None if body is None else json.dumps(body))
        kind = answered.get("Content-Type") or ""
        return status, answered, json.loads(content) if "json" in kind and content else content

    def entries(self, **filters):
        return self.api.call("GET", "/v1/audit?" + urlencode({"limit": 1000, **filters}))["entries"]

    def entry_of(self, request_id):
        found = [entry for entry in self.entries() if entry["requestId"] == request_id]
        self.assertEqual(len(found), 1, f"entries of request {request_id}")
        return found[0]

    def reload(self, said):
        reload(self.stack.children["api"], said)

    def another_api(self, name, *arguments, **more):
        """Returns another api of the stack, and a client of it."""
        child = self.stack.launch(name, "api", "--name", name, "--port", "0", *arguments, **more).await_ready()
        return child, HttpClient(int(child.ready["port"]))

    def operations(self):
        """Every operation of the description, with the role that it needs."""
        document = self.api.call("GET", "/openapi.json")
        return [(method.upper(), path, item[method]["x-tidemark-role"])
                for path, item in document["paths"].items() for method in METHODS if method in item]

    def test_every_operation_with_every_role(self):
        """An operation that a role may not call is refused and recorded; one that it may call is let through, even if
        it then fails."""
        refusals = []
        for method, template, needed in self.operations():
            for role, headers in CALLERS.items():
                with self.subTest(operation=f"{method} {template}", role=role):
                    status, answered, answer = self.try_operation(method, template, headers)
                    if role in TOKENS:
                        wanted = includes(role, needed) or template == "/metrics"
                    else:
                        wanted = needed == "none" or template == "/metrics"  # which is open on loopback
                    if wanted:
                        self.assertNotIn(status, (401, 403))
                    elif role not in TOKENS:
                        self.assertEqual(status, 401)
                    else:
                        self.assertEqual((status, answer["code"]), (403, "AuthorizationPermissionMismatch"))
                        self.assertIn(needed, answer["detail"])
                        refusals.append((method, template, role, answered["x-request-id"]))
        self.assertGreater(len(refusals), 30)
        self.assert_entered(refusals)

    def try_operation(self, method, template, headers):
        body = {} if method in ("PUT", "POST", "PATCH") else None
        return self.send(method, re.sub(r"\{[a-z]+\}", "Unknown1", template), headers, body)

    def assert_entered(self, refusals):
        """Only 100 refusals are entered in a second, and the next entry tells how many were left out. Those are tried again
        until each has its entry, and then the entries account for every refusal."""
        missing, sent, told = refusals, len(refusals), 0

        def are_entered():
            nonlocal missing, sent, told
            entries, left_out = {entry["requestId"]: entry for entry in self.entries()}, []
            for method, template, role, request_id in missing:
                entry = entries.get(request_id)
                if entry is None:
                    left_out.append((method, template, role))
                    continue
                self.assertEqual([entry[name] for name in ("actor", "role", "outcome", "status", "code")],
                                 [role + "-name", role, "refused", 403, "AuthorizationPermissionMismatch"])
                count = re.search(r"(\d+) refusals before it were left out", entry["detail"])
                told += int(count[1]) if count else 0
            missing = [(method, template, role, self.try_operation(method, template, CALLERS[role])[1]["x-request-id"])
                       for method, template, role in left_out]
            sent += len(missing)
            return not missing

        wait_until(are_entered, "every refusal has an entry")
        self.assertEqual(sent, len(refusals) + told, "each refusal has an entry or is counted by one")

    def test_what_strangers_try_is_counted_and_leaves_no_entry(self):
        def count():
            text = self.http.ask("GET", "/metrics")[1].decode()
            return float(re.search(r"^tidemark_api_unauthorized_total (\S+)", text, re.M)[1])
        told = "a request without a known token"
        before, entries, lines = count(), len(self.entries()), self.stack.children["api"].log(1 << 20).count(told)
        for _ in range(50):
            self.assertEqual(self.send("POST", "/v1/jobs", bearer("the-token-of-nobody"), {})[0], 401)
            self.assertEqual(self.send("DELETE", "/v1/poison/x", {})[0], 401)
        self.assertEqual(count(), before + 100)
        self.assertEqual(len(self.entries()), entries)
        log = self.stack.children["api"].log(1 << 20)
        self.assertIn("a request without a known token was refused address=127.0.0.1", log)
        self.assertLess(log.count(told) - lines, 90)
        self.assertNotIn("the-token-of-nobody", log)

    def test_what_is_done_is_entered(self):
        reason = "Löschen, wie im Änderungsantrag 17"
        job = {"kind": "delete", "source": "Somewhere", "filter": "", "notBefore": "2100-01-01T00:00:00Z"}
        headers = {**bearer(TOKENS["operator"]), "X-Tidemark-Reason": quote(reason)}
        status, answered, made = self.send("POST", "/v1/jobs", headers, job)
        self.assertEqual(status, 202)
        entry = self.entry_of(answered["x-request-id"])
        self.assertEqual({name: entry.get(name) for name in ("actor", "role", "via", "address", "operation", "target",
                                                              "detail", "reason", "outcome", "status", "code")},
                         {"actor": "operator-name", "role": "operator", "via": "token", "address": "127.0.0.1",
                          "operation": "jobs.post", "target": made["id"], "detail": "delete Somewhere", "reason": reason,
                          "outcome": "done", "status": 202, "code": None})
        status, answered, _ = self.send("POST", "/v1/jobs/batch", headers, {"jobs": [job] * 3})
        self.assertEqual((status, self.entry_of(answered["x-request-id"])["count"]), (200, 3))
        status, answered, _ = self.send("POST", "/v1/jobs/nothing/cancel", bearer(TOKENS["operator"]))
        entry = self.entry_of(answered["x-request-id"])
        self.assertEqual((status, entry["outcome"], entry["code"], entry["target"]), (404, "failed", "JobNotFound", "nothing"))
        before = len(self.entries())
        TableClient(self.stack.ports["table_store"]).create_table("Dry")
        self.assertEqual(self.send("POST", "/v1/jobs?dryRun=true", headers, {**job, "source": "Dry"})[0], 200)
        self.assertEqual(len(self.entries()), before, "a dry run does nothing")
        # Only an operation that supports dry runs can have one.
        self.assertEqual(self.send("POST", f"/v1/jobs/{made['id']}/cancel?dryRun=true", headers)[0], 400)
        self.assertEqual(len(self.entries()), before)
        self.assertEqual(self.send("POST", f"/v1/jobs/{made['id']}/cancel", headers)[0], 200)
        self.assertEqual(len(self.entries()), before + 1)

    def test_the_entry_of_a_refused_call_says_why(self):
        for role, path, why in (("viewer", "/v1/queues/own/pause", "needs the role operator"),
                                ("admin", "/v1/queues/tidemark-jobs/clear", "belongs to Tidemark itself")):
            status, answered, _ = self.send("POST", path, bearer(TOKENS[role]))
            entry = self.entry_of(answered["x-request-id"])
            self.assertEqual((status, entry["outcome"], why in entry["detail"]), (403, "refused", True), entry)

    def test_the_trail_is_read_by_pages_and_filters(self):
        for number in range(5):
            self.send("POST", f"/v1/queues/page{number}/pause", bearer(TOKENS["admin"]))
        found = self.entries(actor="admin-name", operation="queues.pause")
        ours = [entry["target"] for entry in found if entry["target"].startswith("page")]
        self.assertEqual(ours, [f"page{number}" for number in (4, 3, 2, 1, 0)], "newest first")
        self.assertEqual([entry["target"] for entry in self.entries(target="page3")], ["page3"])
        self.assertEqual(self.entries(target="it's"), [])
        since = next(entry["at"] for entry in found if entry["target"] == "page3")
        self.assertEqual([entry["target"] for entry in self.entries(since=since, operation="queues.pause")][-1], "page3")
        self.assertEqual(self.entries(since="2100-01-01T00:00:00Z"), [])
        paged, continuation = [], ""
        while True:
            page = self.api.call("GET", "/v1/audit?" + urlencode({"limit": 2, "continuation": continuation,
                                                                  "operation": "queues.pause"}))
            paged += page["entries"]
            continuation = page.get("continuation")
            if not continuation:
                break
        self.assertEqual([entry["id"] for entry in paged], [entry["id"] for entry in self.entries(operation="queues.pause")])
        self.assertEqual(self.send("GET", "/v1/audit?since=soon", bearer(TOKENS["viewer"]))[0], 400)

    def test_jobs_keep_away_from_the_trail(self):
        for job in ({"kind": "delete", "source": "TidemarkAudit", "filter": ""},
                    {"kind": "archive", "source": "tidemarkaudit", "destination": "Elsewhere", "filter": ""}):
            status, _, answer = self.send("POST", "/v1/jobs", bearer(TOKENS["admin"]), job)
            self.assertEqual((status, answer["code"]), (400, "JobInvalid"), answer)
            self.assertIn("Tidemark itself", answer["detail"])

    def test_without_the_table_store_nothing_is_done(self):
        store = self.stack.children["table_store"]
        _, cookie, who = self.log_in(TOKENS["viewer"])
        by_cookie = {"Cookie": cookie.split(";")[0]}
        store.pause()
        self.addCleanup(store.resume)
        os.waitid(os.P_PID, store.pid, os.WSTOPPED)  # all its threads have stopped
        self.assertEqual(self.send("DELETE", "/v1/session", {**by_cookie, "X-CSRF-Token": who["csrfToken"]})[0], 204)
        self.assertEqual(self.send("GET", "/v1/session", by_cookie)[0], 401, "whoever leaves is out at once")
        status, _, answer = self.send("POST", "/v1/queues/tidemark-jobs-low/pause", bearer(TOKENS["operator"]))
        self.assertEqual(status, 503, answer)
        self.assertIn("Nothing was done", answer["detail"])
        self.assertFalse(self.api.call("GET", "/v1/queues/tidemark-jobs-low")["paused"])
        self.assertEqual(self.send("POST", "/v1/queues/tidemark-jobs/pause", bearer(TOKENS["viewer"]))[0], 403)
        store.resume()
        wait_until(lambda: self.send("POST", "/v1/queues/tidemark-jobs-low/resume", bearer(TOKENS["operator"]))[0] == 200,
                   "the trail is written again")

    def test_a_login_without_the_trail_can_only_read_until_it_is_entered(self):
        """Kills the table store, so that the entry of the login cannot be written."""
        store = self.stack.children["table_store"]
        store.kill()
        wait_until(lambda: [each["answers"] for each in self.api.call("GET", "/v1/health")["stores"]
                            if each["store"] == "table"] == [False], "the api knows that the store is away")
        status, cookie, who = self.log_in(TOKENS["operator"])
        self.assertEqual((status, who["role"], who["readOnly"]), (200, "viewer", True))
        self.assertEqual(self.log_in("the-token-of-nobody")[0], 401)
        by_cookie = {"Cookie": cookie.split(";")[0], "X-CSRF-Token": who["csrfToken"]}
        self.assertEqual(self.send("GET", "/v1/queues", by_cookie)[0], 200)
        status, _, answer = self.send("POST", "/v1/queues/tidemark-jobs-low/pause", by_cookie)
        self.assertEqual(status, 403, answer)
        self.assertIn("can only read", answer["detail"])
        status, _, answer = self.send("POST", "/v1/queues/tidemark-jobs/messages", by_cookie, {"text": "x"})
        self.assertEqual(status, 403, "also where an action leaves no entry")
        self.stack.start("table_store")
        wait_until(lambda: self.send("GET", "/v1/session", by_cookie)[2]["role"] == "operator", "its role comes back")
        self.assertNotIn("readOnly", self.send("GET", "/v1/session", by_cookie)[2])
        self.assertEqual(self.send("POST", "/v1/queues/tidemark-jobs-low/resume", by_cookie)[0], 200)
        details = [entry.get("detail", "") for entry in self.entries(operation="session.post", actor="operator-name")]
        self.assertEqual(len([each for each in details if "while the audit trail could not be written" in each]), 1, details)

    def test_some_of_an_operation_may_need_more(self):
        later = {"notBefore": "2100-01-01T00:00:00Z"}
        plain = {"kind": "delete", "source": "Somewhere", "filter": ""}
        adopt = {"kind": "adopt", "directory": "nas", **later}
        hidden = {**plain, **later, "then": {"kind": "adopt", "directory": "nas"}}
        schedule = {"cron": "0 3 1 1 *", "job": {"kind": "adopt", "directory": "nas"}}
        queues = QueueClient(self.stack.ports["queue_service"])
        queues.create("tidemark-jobs-poison")
        redrives = [f"/v1/poison/{queues.put('tidemark-jobs-poison', json.dumps(job))}/redrive"
                    for job in (adopt, hidden, plain)]
        for method, path, body, *wanted in (
                ("PATCH", "/v1/kinds/copy", {"paused": True}, 200, 200),
                ("PATCH", "/v1/kinds/copy", {"paused": False}, 200, 200),
                ("PATCH", "/v1/kinds/copy", {"maxRunning": 3}, 403, 200),
                ("PATCH", "/v1/kinds/copy", {"maxRunning": 0}, 403, 200),
                *(("POST", "/v1/jobs/batch", {"jobs": [job]}, 403, 200) for job in (adopt, hidden)),
                *(("POST", "/v1/jobs", job, 403, 202) for job in (adopt, hidden)),
                ("PUT", "/v1/schedules/adoption", schedule, 403, 201),
                ("POST", "/v1/schedules/adoption/run", None, 403, 202),
                ("POST", "/v1/schedules/none/run", None, 404, 404),
                ("POST", redrives[0], None, 403, 202),
                ("POST", redrives[1], None, 403, 202),
                ("POST", redrives[2], None, 202, 404)):
            for role, status_wanted in zip(("operator", "admin"), wanted):
                with self.subTest(role=role, operation=f"{method} {path}", body=body):
                    status, answered, answer = self.send(method, path, bearer(TOKENS[role]), body)
                    self.assertEqual(status, status_wanted, answer)
                    if status == 403:
                        self.assertEqual(self.entry_of(answered["x-request-id"])["outcome"], "refused")

    def log_in(self, token, headers=None):
        status, answered, who = self.send("POST", "/v1/session", headers or {}, {"token": token})
        if status != 200:
            return status, None, who
        cookie = answered["Set-Cookie"]
        return status, cookie, who

    def test_a_browser_logs_in_and_out(self):
        status, cookie, who = self.log_in(TOKENS["operator"])
        self.assertEqual((status, who["name"], who["role"], who["via"]), (200, "operator-name", "operator", "session"))
        for attribute in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(attribute, cookie)
        self.assertNotIn("Secure", cookie)
        self.assertNotIn(TOKENS["operator"], cookie)
        by_cookie = {"Cookie": "other=1; " + cookie.split(";")[0]}
        again = self.send("GET", "/v1/session", by_cookie)
        self.assertEqual((again[0], again[2]["csrfToken"], again[2]["role"]), (200, who["csrfToken"], "operator"))
        self.assertEqual(self.send("GET", "/v1/jobs", by_cookie)[0], 200)
        # A request that changes something needs the CSRF token as well.
        for wrong in ({}, {"X-CSRF-Token": "0" * 64}, {"X-CSRF-Token": ""}):
            status, answered, answer = self.send("POST", "/v1/queues/tidemark-jobs/resume", {**by_cookie, **wrong})
            self.assertEqual((status, answer["code"]), (403, "AuthorizationFailure"))
            self.assertEqual(self.entry_of(answered["x-request-id"])["outcome"], "refused")
        with_csrf = {**by_cookie, "X-CSRF-Token": who["csrfToken"]}
        status, answered, _ = self.send("POST", "/v1/queues/tidemark-jobs/resume", with_csrf)
        self.assertEqual(status, 200)
        entry = self.entry_of(answered["x-request-id"])
        self.assertEqual((entry["actor"], entry["via"]), ("operator-name", "session"))
        self.assertEqual(self.send("PATCH", "/v1/limits", with_csrf, {})[0], 403, "a session has the role of its token")
        self.assertEqual(self.send("DELETE", "/v1/session", by_cookie)[0], 403)
        status, answered, _ = self.send("DELETE", "/v1/session", with_csrf)
        self.assertEqual((status, "Max-Age=0" in answered["Set-Cookie"]), (204, True))
        self.assertEqual(self.send("GET", "/v1/session", by_cookie)[0], 401)
        entry = self.entry_of(answered["x-request-id"])
        self.assertEqual((entry["operation"], entry["actor"], entry["outcome"], entry["status"]), ("session.delete", "operator-name", "done", 204))
        self.assertIn("session.post", {entry["operation"] for entry in self.entries(actor="operator-name")})

    def test_who_one_is_by_token(self):
        status, _, who = self.send("GET", "/v1/session", bearer(TOKENS["viewer"]))
        self.assertEqual((status, who), (200, {"name": "viewer-name", "role": "viewer", "via": "token"}))
        self.assertEqual(self.api.call("GET", "/v1/session"), {"name": "stack", "role": "admin", "via": "token"})
        # A valid cookie does not make up for a wrong token.
        cookie = self.log_in(TOKENS["viewer"])[1].split(";")[0]
        self.assertEqual(self.send("GET", "/v1/session", {**bearer("x" * 20), "Cookie": cookie})[0], 401)
        secure = self.log_in(TOKENS["viewer"], {"X-Forwarded-Proto": "https"})[1]
        self.assertIn("Secure", secure)
        self.assertEqual(self.send("POST", "/v1/session", {"Content-Type": "text/plain"}, None)[0], 400)
        self.assertEqual(self.send("POST", "/v1/session", {"Origin": "http://evil.example"}, {"token": TOKEN})[0], 403)

    def test_a_cookie_of_https_is_for_https_alone(self):
        ca, leaf = make_certificates(self.stack.directory)
        child, _ = self.another_api("api-tls", "--tls-certificate-file", leaf + ".pem", "--tls-key-file", leaf + ".key")
        connection = http.client.HTTPSConnection("localhost", int(child.ready["port"]), timeout=60,
                                                 context=ssl.create_default_context(cafile=ca))
        self.addCleanup(connection.close)
        connection.request("POST", "/v1/session", json.dumps({"token": TOKEN}), JSON)
        answer = connection.getresponse()
        self.assertEqual((answer.status, "; Secure;" in answer.headers["Set-Cookie"]), (200, True))
        child.kill()

    def test_failed_logins_are_limited(self):
        """Uses an api of its own, since the address has to wait afterwards."""
        child, client = self.another_api("api-logins")
        statuses = [client.send("POST", "/v1/session", JSON, json.dumps({"token": "wrong" * 4}))[0] for _ in range(12)]
        self.assertEqual(statuses, [401] * 10 + [503] * 2)
        status, headers, _ = client.send("POST", "/v1/session", JSON, json.dumps({"token": TOKEN}))
        self.assertEqual(status, 503)
        self.assertGreater(int(headers["Retry-After"]), 500)
        self.assertEqual(client.send("GET", "/v1/session", bearer(TOKEN))[0], 200, "tokens are not concerned")
        self.assertEqual(child.terminate(), 0)

    def test_open(self):
        child, client = self.another_api("api-open", "--open", "true", environment={"TIDEMARK_TOKEN": ""})
        for method, body in (("GET", None), ("POST", json.dumps({"token": "any"}))):
            status, headers, content = client.send(method, "/v1/session", JSON, body)
            self.assertEqual((status, json.loads(content)), (200, {"name": "open", "role": "admin", "via": "open"}))
            self.assertIsNone(headers["Set-Cookie"])
        self.assertEqual(client.send("PATCH", "/v1/limits", JSON, '{"scope":"kind","name":"copy"}')[0], 200)
        self.assertEqual(self.entries(actor="open")[0]["operation"], "limits.patch")
        self.assertEqual(child.terminate(), 0)

    def test_tokens_change_while_the_api_runs(self):
        fresh = "the-token-of-a-newcomer"
        self.assertEqual(self.send("GET", "/v1/session", bearer(fresh))[0], 401)
        self.write_tokens(("newcomer", "viewer", fresh))
        self.addCleanup(self.write_tokens)
        self.reload("the tokens were read again")
        cookie = {"Cookie": self.log_in(fresh)[1].split(";")[0]}
        self.assertEqual(self.send("GET", "/v1/session", cookie)[2]["role"], "viewer")
        self.write_tokens(("newcomer", "operator", fresh))
        self.reload("the tokens were read again")
        self.assertEqual(self.send("GET", "/v1/session", cookie)[2]["role"], "operator", "of a session, too")
        write_private(self.tokens_file, "{broken " + fresh)
        self.reload("the tokens are kept")
        self.assertEqual(self.send("GET", "/v1/session", bearer(fresh))[0], 200)
        self.write_tokens()
        self.reload("the tokens were read again")
        self.assertEqual(self.send("GET", "/v1/session", bearer(fresh))[0], 401)
        self.assertEqual(self.send("GET", "/v1/session", cookie)[0], 401, "the session ends with its token")
        log = self.stack.children["api"].log(1 << 20)
        for secret in (fresh, *TOKENS.values()):
            self.assertNotIn(secret, log)

    def test_a_stream_ends_with_what_opened_it(self):
        fresh = "the-token-of-a-listener"
        self.write_tokens(("listener", "viewer", fresh))
        self.addCleanup(self.write_tokens)
        self.reload("the tokens were read again")
        later = {"kind": "delete", "source": "Somewhere", "filter": "", "notBefore": "2100-01-01T00:00:00Z"}
        job = self.send("POST", "/v1/jobs", bearer(TOKENS["operator"]), later)[2]
        _, cookie, who = self.log_in(TOKENS["viewer"])
        by_cookie = {"Cookie": cookie.split(";")[0]}
        streams = []
        for headers in (bearer(fresh), by_cookie):
            connection = http.client.HTTPConnection("127.0.0.1", self.stack.ports["api"], timeout=60)
            self.addCleanup(connection.close)
            connection.request("GET", f"/v1/jobs/{job['id']}/events", headers=headers)
            streams.append(connection.getresponse())
            self.assertEqual(streams[-1].status, 200)
        self.write_tokens()
        self.reload("the tokens were read again")
        self.assertEqual(self.send("DELETE", "/v1/session", {**by_cookie, "X-CSRF-Token": who["csrfToken"]})[0], 204)
        latest = time.monotonic() + 60
        for stream in streams:
            for _ in stream:
                self.assertLess(time.monotonic(), latest, "it goes on")

    def test_the_stacks_own_token_changes_too(self):
        path = os.path.join(self.stack.data, "run", "token")
        child, client = self.another_api("api-own", environment={"TIDEMARK_TOKEN": ""})

        def stored():
            with open(path, encoding="ascii") as file:
                return file.read().strip()
        old = stored()
        self.assertEqual(client.send("GET", "/v1/session", bearer(old))[0], 200)
        os.remove(path)
        reload(child, "the tokens were read again")
        self.assertEqual([client.send("GET", "/v1/session", bearer(token))[0] for token in (old, stored())], [401, 200])
        self.assertEqual(child.terminate(), 0)

    def test_a_tokens_file_that_cannot_be_used_is_refused(self):
        path = os.path.join(self.stack.directory, "wrong.json")
        for text, mode, why in (("{", 0o600, "tokens_file"), (tokens_text([("a", "root", "x" * 20)]), 0o600, "viewer"),
                                (tokens_text([]), 0o644, "chmod")):
            write_private(path, text)
            os.chmod(path, mode)
            done = run("api", "--data", self.stack.data, "--name", "api-wrong", "--port", "0", "--tokens-file", path)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)

    def command(self, *arguments, token=TOKEN):
        done = run("tidemark", "--api", f"http://127.0.0.1:{self.stack.ports['api']}", *arguments, token=token)
        return done.returncode, done.stdout, done.stderr

    def test_the_command_line(self):
        code, _, error = self.command("queue", "pause", "tidemark-jobs-low", token=TOKENS["viewer"])
        self.assertEqual((code, "needs the role operator" in error), (1, True), error)
        self.assertEqual(self.command("queue", "pause", "tidemark-jobs-low", "--reason", "Größe prüfen",
                                      token=TOKENS["operator"])[0], 0)
        self.assertEqual(self.command("queue", "resume", "tidemark-jobs-low", token=TOKENS["operator"])[0], 0)
        code, text, error = self.command("--json", "audit", "--target", "tidemark-jobs-low", "--limit", "3")
        self.assertEqual(code, 0, error)
        self.assertEqual([(entry["operation"], entry["outcome"], entry.get("reason"))
                          for entry in json.loads(text)["entries"]],
                         [("queues.resume", "done", None), ("queues.pause", "done", "Größe prüfen"),
                          ("queues.pause", "refused", None)])
        code, text, error = self.command("audit", "--actor", "operator-name", "--limit", "1")
        titles, row = text.splitlines()
        self.assertEqual((code, titles.split()[0], "queues.resume" in row), (0, "time", True), text)
        code, text, _ = self.command("session", "show", token=TOKENS["viewer"])
        self.assertEqual((code, text.split()[-3:]), (0, ["viewer-name", "viewer", "token"]))


class SignaturesTest(StackTest):
    """Signatures that the stores make for the api, used as any client would."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tokens = os.path.join(cls.stack.directory, "tokens.json")
        write_private(tokens, tokens_text([(role + "-name", role, TOKENS[role]) for role in TOKENS]))
        cls.stack.start("blob_store", "--sas-longest-h", "2")
        cls.stack.up(api_arguments=("--tokens-file", tokens))
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        cls.blobs = BlobClient(cls.stack.ports["blob_store"])

    def issue(self, role="operator", **order):
        headers = {**JSON, **bearer(TOKENS[role])}
        status, _, content = HttpClient(self.stack.ports["api"]).send("POST", "/v1/sas", headers, json.dumps(order))
        return status, json.loads(content)

    def use(self, method, url, body=None, headers=None):
        """Returns the status of a request by a URL alone."""
        parts = urlsplit(url)
        status, _, content = HttpClient(parts.port).send(method, f"{parts.path}?{parts.query}",
                                                         {"x-ms-version": "2020-12-06", **(headers or {})}, body)
        return status, content

    def test_of_a_table(self):
        self.tables.create_table("Granted")
        self.tables.put("Granted", {"PartitionKey": "a", "RowKey": "1"})
        self.tables.put("Granted", {"PartitionKey": "b", "RowKey": "1"})
        status, sas = self.issue(kind="table", name="Granted", permissions="r", expiresIn=60, startPartitionKey="a",
                                 endPartitionKey="a")
        self.assertEqual(status, 200, sas)
        accept = {"Accept": "application/json;odata=nometadata"}
        status, content = self.use("GET", sas["url"].replace("Granted?", "Granted()?"), headers=accept)
        self.assertEqual((status, [row["PartitionKey"] for row in json.loads(content)["value"]]), (200, ["a"]), content)
        entity = json.dumps({"PartitionKey": "a", "RowKey": "2"})
        self.assertEqual(self.use("POST", sas["url"], entity, {**accept, **JSON})[0], 403)
        self.assertEqual(self.use("GET", sas["url"].replace("sp=r", "sp=ra").replace("Granted?", "Granted()?"))[0], 403)
        entry = self.api.call("GET", "/v1/audit?operation=sas.post&target=Granted")["entries"][0]
        self.assertEqual(entry["actor"], "operator-name")
        self.assertTrue(entry["detail"].startswith("table r until "), entry)
        self.assertNotIn(parse_qs(sas["token"])["sig"][0], json.dumps(entry))

    def test_of_a_queue_and_of_blobs(self):
        self.queues.create("granted")
        self.blobs.create_container("granted")
        self.blobs.put("granted", "a%20blob%2B", b"content")
        message = "<QueueMessage><MessageText>hi</MessageText></QueueMessage>"
        messages, blob = ("/granted?", "/granted/messages?"), ("/granted?", "/granted/a%20blob%2B?")
        for order, method, (where, there), ending, body, wanted in (
                ({"kind": "queue", "permissions": "a"}, "POST", messages, "", message, 201),
                ({"kind": "queue", "permissions": "a"}, "GET", messages, "", None, 403),
                ({"kind": "blob", "name": "granted/a blob+", "permissions": "r"}, "GET", ("", ""), "", None, 200),
                ({"kind": "container", "permissions": "rl"}, "GET", ("", ""), "&restype=container&comp=list", None, 200),
                ({"kind": "container", "permissions": "r", "ip": "10.0.0.1-10.0.0.9"}, "GET", blob, "", None, 403),
                ({"kind": "container", "permissions": "r", "protocol": "https"}, "GET", blob, "", None, 403)):
            with self.subTest(**order, method=method):
                url = self.issue(**{"name": "granted", "expiresIn": 60, **order})[1]["url"]
                status, content = self.use(method, url.replace(where, there) + ending, body)
                self.assertEqual(status, wanted)
                if order["kind"] == "blob":
                    self.assertEqual(content, b"content")
        self.assertEqual(self.issue(kind="container", name="granted", permissions="r", startsAt="2100-01-01T00:00:00Z",
                                    expiresAt="2100-01-01T01:00:00Z")[0], 400)

    def test_of_an_account_needs_an_admin(self):
        order = {"kind": "account", "services": "tq", "resourceTypes": "sco", "permissions": "rl", "expiresIn": 60}
        self.assertEqual(self.issue(**order)[0], 403)
        status, sas = self.issue("admin", **order)
        self.assertEqual(status, 200, sas)
        self.assertEqual(self.use("GET", sas["url"].replace("/?", "/Tables?"))[0], 200)
        queues = f"http://127.0.0.1:{self.stack.ports['queue_service']}/devstoreaccount1/?comp=list&{sas['token']}"
        self.assertEqual(self.use("GET", queues)[0], 200)
        blobs = f"http://127.0.0.1:{self.stack.ports['blob_store']}/devstoreaccount1/?comp=list&{sas['token']}"
        self.assertEqual(self.use("GET", blobs)[0], 403)

    def test_of_what_is_the_stacks_own_needs_an_admin(self):
        for kind, name, permissions in (("table", "TidemarkAudit", "d"), ("table", "tidemarkaudit", "d"),
                                        ("queue", "tidemark-jobs", "a")):
            order = {"kind": kind, "name": name, "permissions": permissions, "expiresIn": 60}
            self.assertEqual(self.issue(**order)[0], 403, order)
            self.assertEqual(self.issue("admin", **order)[0], 200, order)

    def test_senseless_orders_are_refused(self):
        good = {"kind": "table", "name": "Granted", "permissions": "r", "expiresIn": 60}
        for wrong, why in (({"kind": "file"}, "kind"), ({"permissions": "z"}, "raud"), ({"permissions": ""}, "raud"),
                           ({"name": "a/b"}, "name"), ({"expiresIn": 0}, "expiresIn"), ({"ip": "localhost"}, "ip"),
                           ({"expiresAt": "2100-01-01T00:00:00Z"}, "either"), ({"services": "t"}, "account"),
                           ({"startRowKey": "a"}, "partition key"), ({"protocol": "ftp"}, "protocol"),
                           ({"kind": "queue", "name": "granted", "startPartitionKey": "a", "permissions": "r"}, "table"),
                           ({"colour": 1}, "colour")):
            status, answer = self.issue(**{**good, **wrong})
            self.assertEqual((status, why in answer["detail"]), (400, True), (wrong, answer))
        self.assertEqual(self.issue("viewer", **good)[0], 403)

    def test_they_do_not_last_longer_than_the_store_allows(self):
        week = 7 * 86400
        self.assertEqual(self.issue(kind="table", name="Granted", permissions="r", expiresIn=week - 60)[0], 200)
        status, answer = self.issue(kind="table", name="Granted", permissions="r", expiresIn=week + 60)
        self.assertEqual((status, answer["code"]), (400, "InvalidInput"), answer)
        self.assertEqual(self.issue(kind="container", name="granted", permissions="r", expiresIn=3 * 3600)[0], 400)

    def test_on_the_command_line(self):
        self.tables.create_table("Shell")
        done = run("tidemark", "--api", f"http://127.0.0.1:{self.stack.ports['api']}", "sas", "table", "Shell",
                   "--permissions", "r", "--expires-in", "60")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.use("GET", done.stdout.strip().replace("Shell?", "Shell()?"))[0], 200)


class InterruptedTest(unittest.TestCase):
    def test_an_action_that_the_api_did_not_outlive_has_an_entry(self):
        """The queue service stands still, so the api is killed in the middle of the action."""
        with Stack() as stack:
            stack.up()
            api, queues = ApiClient(stack.ports["api"]), stack.children["queue_service"]
            queues.pause()
            os.waitid(os.P_PID, queues.pid, os.WSTOPPED)
            asked = threading.Thread(target=self.fail_to_pause, args=(stack.ports["api"],))
            asked.start()
            entries = lambda: api.call("GET", "/v1/audit")["entries"]  # noqa: E731
            wait_until(lambda: [entry["outcome"] for entry in entries()] == ["begun"], "the action begins")
            stack.children["api"].kill()
            asked.join()
            queues.resume()
            stack.start("api")
            entry = ApiClient(stack.ports["api"]).call("GET", "/v1/audit")["entries"][0]
            self.assertEqual((entry["operation"], entry["target"], entry["outcome"], "status" in entry),
                             ("queues.pause", "tidemark-jobs", "begun", False))

    def fail_to_pause(self, port):
        with self.assertRaises((OSError, http.client.HTTPException)):
            ApiClient(port).call("POST", "/v1/queues/tidemark-jobs/pause")


class RotationTest(unittest.TestCase):
    """The keys of accounts change while the stores run."""
    KEYS = [base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2)]

    def test_keys_of_a_file(self):
        with Stack() as stack:
            path = os.path.join(stack.directory, "accounts")
            write_private(path, f"# ours\ndevstoreaccount1:{self.KEYS[0]}\n")
            for name in ("table_store", "queue_service", "blob_store"):
                with self.subTest(store=name):
                    self.rotate(stack, stack.start(name, "--accounts-file", path), path)

    def ask(self, child, key):
        sas = account_sas(key=base64.b64decode(key))
        target = "/devstoreaccount1/Tables?" if child.name == "table_store" else "/devstoreaccount1/?comp=list&"
        return HttpClient(int(child.ready["port"])).send("GET", target + sas, {"x-ms-version": "2019-02-02"})[0]

    def rotate(self, stack, child, path):
        old, new = self.KEYS
        write_private(path, f"devstoreaccount1:{old}\n")
        reload(child, "the accounts were read again")
        self.assertEqual((self.ask(child, old), self.ask(child, new)), (200, 403))
        write_private(path, f"devstoreaccount1:{new}:{old}\n")
        reload(child, "the accounts were read again")
        self.assertEqual((self.ask(child, old), self.ask(child, new)), (200, 200))
        for broken in ("", "devstoreaccount1:c2hvcnQ=\n", "UPPER:AAAA"):
            write_private(path, broken)
            reload(child, "the accounts are kept")
        os.chmod(path, 0o644)
        reload(child, "the accounts are kept")
        os.chmod(path, 0o600)
        self.assertEqual((self.ask(child, old), self.ask(child, new)), (200, 200))
        write_private(path, f"devstoreaccount1:{new}\nsecond:{old}\n")
        reload(child, "the accounts were read again")
        self.assertEqual((self.ask(child, old), self.ask(child, new)), (403, 200))
        log = child.log(1 << 20)
        for secret in (old, new, "c2hvcnQ"):
            self.assertNotIn(secret, log)

    def test_a_file_that_cannot_be_used_is_refused(self):
        with Stack() as stack:
            path = os.path.join(stack.directory, "accounts")
            for text, more, why in (("", (), "names no account"), ("mine", (), "key"),
                                    (f"mine:{self.KEYS[0]}", ("--accounts", f"mine:{self.KEYS[0]}"), "exclude")):
                write_private(path, text)
                done = run("table_store", "--data", stack.data, "--port", "0", "--accounts-file", path, *more)
                self.assertEqual((done.returncode, why in done.stderr), (2, True), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
