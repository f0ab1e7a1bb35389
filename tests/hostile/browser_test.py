"""Attacks that any web page can make a browser carry out on the machine where the stack runs: requests to loopback,
under names of its own (DNS rebinding), from its own origin, with bodies that need no permission (text/plain); and
access to /metrics."""
import http.client
import json
import os
import socketserver
import stat
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, HttpClient, QueueClient, TableClient  # noqa: E402
from sas import account_sas  # noqa: E402
from stack import Stack, StackTest, clean_environment, program, wait_until  # noqa: E402

JOB = json.dumps({"kind": "delete", "source": "Nothing", "filter": ""})
JSON = {"Content-Type": "application/json"}
OPEN = {"TIDEMARK_TOKEN": ""}  # as if it were not set


class BrowserTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up()

    def api(self, *arguments, environment=None, name="another"):
        """Starts one more api; returns its port."""
        child = self.stack.launch(name, "api", "--name", name, "--port", "0", *arguments, environment=environment)
        self.addCleanup(child.kill)
        return int(child.await_ready().ready["port"])

    def answer(self, client, method, target, headers, body=None):
        status, answered, content = client.send(method, target, headers, body)
        return status, json.loads(content) if "json" in (answered.get("Content-Type") or "") else content.decode()

    def jobs(self):
        return len(ApiClient(self.stack.ports["api"]).jobs())

    def test_a_page_submits_no_job(self):
        open_port = self.api("--open", environment=OPEN)
        before = self.jobs()
        for client in (HttpClient(open_port), ApiClient(self.stack.ports["api"])):
            local = f"127.0.0.1:{client.port}"
            for headers, status, says in (
                    ({"Content-Type": "text/plain", "Origin": "http://evil.example", "Host": "evil.example"}, 403, "allowed_hosts"),
                    ({**JSON, "Host": "evil.example"}, 403, "allowed_hosts"),
                    ({**JSON, "Host": f"evil.example:{client.port}", "Origin": f"http://evil.example:{client.port}"}, 403,
                     "allowed_hosts"),
                    ({**JSON, "Host": "127.0.0.1.evil.example"}, 403, "allowed_hosts"),
                    ({**JSON, "Host": "203.0.113.9"}, 403, "allowed_hosts"),
                    ({**JSON, "Origin": "http://evil.example"}, 403, "allowed_origins"),
                    ({**JSON, "Origin": "null"}, 403, "allowed_origins"),
                    ({**JSON, "Origin": "http://localhost:1"}, 403, "allowed_origins"),
                    ({**JSON, "Origin": f"http://{local}.evil.example"}, 403, "allowed_origins"),
                    ({"Content-Type": "text/plain"}, 415, "application/json"),
                    ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "application/json"),
                    ({"Content-Type": "text/plain; application/json"}, 415, "application/json"),
                    ({}, 415, "application/json")):
                with self.subTest(headers=headers, port=client.port):
                    got, problem = self.answer(client, "POST", "/v1/jobs", headers, JOB)
                    self.assertEqual(got, status, problem)
                    self.assertIn(says, problem["detail"])
                    got, _ = self.answer(client, "POST", "/v1/queues/tidemark-jobs/pause", headers)
                    self.assertEqual(got, 200 if status == 415 else 403)  # it has no body
        self.assertEqual(self.jobs(), before)

    def test_two_hosts_and_none(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.api("--open", environment=OPEN), timeout=60)
        self.addCleanup(connection.close)
        for hosts in ([], ["localhost", "evil.example"], ["evil.example", "localhost"]):
            connection.putrequest("GET", "/v1/jobs", skip_host=True)
            for host in hosts:
                connection.putheader("Host", host)
            connection.endheaders()
            response = connection.getresponse()
            response.read()
            self.assertIn(response.status, (400, 403), hosts)

    def test_names_and_pages_that_are_allowed(self):
        port = self.api("--allowed-hosts", "jobs.example.org, other", "--allowed-origins", "https://console.example.org:8443")
        client = ApiClient(port)
        for host in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", "127.1.2.3", f"[::1]:{port}", "jobs.example.org",
                     "Jobs.Example.org:443", "other"):
            self.assertEqual(client.send("GET", "/v1/kinds", {"Host": host})[0], 200, host)
        # The api's own pages, also behind a TLS terminator.
        for host, origin in ((f"127.0.0.1:{port}", f"http://127.0.0.1:{port}"), ("jobs.example.org", "https://jobs.example.org")):
            self.assertEqual(client.send("GET", "/v1/kinds", {"Host": host, "Origin": origin})[0], 200, origin)
        page = {"Origin": "https://console.example.org:8443"}
        status, headers, _ = client.send("GET", "/v1/kinds", page)
        self.assertEqual((status, headers["Access-Control-Allow-Origin"], headers["Vary"]), (200, page["Origin"], "Origin"))
        status, headers, _ = HttpClient(port).send("OPTIONS", "/v1/jobs", {**page, "Access-Control-Request-Method": "POST"})
        self.assertEqual(status, 204)
        self.assertIn("Authorization", headers["Access-Control-Allow-Headers"])
        for origin in ("https://console.example.org", "https://evil.example"):
            status, headers, _ = HttpClient(port).send("OPTIONS", "/v1/jobs", {"Origin": origin,
                                                                               "Access-Control-Request-Method": "POST"})
            self.assertEqual((status, headers.get("Access-Control-Allow-Origin")), (403, None))
        self.assertEqual(self.answer(client, "POST", "/v1/jobs?dryRun=true", {"Content-Type": "Application/JSON; charset=utf-8"},
                                     JOB)[0], 200)
        for wrong in (("--allowed-hosts", "http://x"), ("--allowed-origins", "console.example.org"),
                      ("--allowed-origins", "https://x/path")):
            refused = subprocess.run([program("api"), "--data", self.stack.data, "--name", "wrong", "--port", "0", *wrong],
                                     env=clean_environment(), capture_output=True, text=True, timeout=60)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(wrong[1], refused.stderr)

    def test_a_token_is_there_by_itself(self):
        port = self.api(environment=OPEN)
        path = os.path.join(self.stack.data, "run", "token")
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
        self.assertGreaterEqual(len(token), 64)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(os.listdir(os.path.dirname(path)).count("token"), 1)
        plain = HttpClient(port)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic " + token}, {"Authorization": token}):
            self.assertEqual(plain.send("GET", "/v1/jobs", headers)[0], 401, headers)
        self.assertIn("DATA/run/token", self.answer(plain, "GET", "/v1/jobs", {})[1]["detail"])
        self.assertEqual(plain.send("GET", "/v1/jobs", {"Authorization": "Bearer " + token})[0], 200)
        self.assertEqual(plain.send("GET", "/healthz")[0], 200)
        # The token is kept, and another api has the same.
        again = self.api(environment=OPEN, name="third")
        self.assertEqual(HttpClient(again).send("GET", "/v1/jobs", {"Authorization": "Bearer " + token})[0], 200)
        for name in ("another", "third"):
            self.assertNotIn(token, self.stack.children[name].log())

        def tidemark(*arguments, code=0, **environment):
            ran = subprocess.run([program("tidemark"), *arguments, "job", "list"], capture_output=True, text=True, timeout=60,
                                 env=clean_environment({**OPEN, **environment}), cwd="/")
            self.assertEqual(ran.returncode, code, ran.stderr)
            return ran.stderr

        here = f"http://127.0.0.1:{port}"
        tidemark("--api", here, "--data", self.stack.data)
        tidemark(TIDEMARK_API=here, TIDEMARK_DATA=self.stack.data)
        tidemark("--api", here, "--token", token)
        self.assertIn("--data", tidemark("--api", here, code=1))
        # A token that is given explicitly takes precedence.
        self.assertIn("not the bearer token", tidemark("--api", here, "--data", self.stack.data, "--token", "other", code=1))
        self.assertIn("not the bearer token", tidemark(TIDEMARK_API=here, TIDEMARK_DATA=self.stack.data, TIDEMARK_TOKEN="other",
                                                       code=1))

    def test_the_token_of_this_machine_is_told_to_nobody_else(self):
        """An api elsewhere gets no token that was not meant for it. 0.0.0.0 stands for elsewhere."""
        token = os.path.join(self.stack.data, "run", "token")
        self.api(environment=OPEN)
        wait_until(lambda: os.path.exists(token), "the token")
        with open(token, encoding="ascii") as file:
            secret = file.read().strip()
        heard = []
        class Listener(socketserver.BaseRequestHandler):
            def handle(self):
                heard.append(self.request.recv(65536).decode())
                self.request.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        with socketserver.TCPServer(("127.0.0.1", 0), Listener) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            port = server.server_address[1]
            for url in (f"http://127.0.0.1:{port}", f"http://localhost:{port}", f"http://0.0.0.0:{port}",
                        f"http://127.0.0.1:1@0.0.0.0:{port}"):
                subprocess.run([program("tidemark"), "--api", url, "--data", self.stack.data, "job", "list"],
                               env=clean_environment(OPEN), capture_output=True, timeout=60, check=False)
            server.shutdown()
        self.assertEqual([secret in text for text in heard], [True, True, False, False], heard)

    def test_a_damaged_token_is_said_to_be(self):
        with Stack() as stack:
            os.makedirs(os.path.join(stack.data, "run"))
            with open(os.path.join(stack.data, "run", "token"), "w", encoding="ascii") as file:
                file.write("short\n")
            for name in ("table_store", "api"):
                ran = subprocess.run([program(name), "--data", stack.data, "--port", "0"], env=clean_environment(OPEN),
                                     capture_output=True, text=True, timeout=60)
                self.assertEqual(ran.returncode, 2, ran.stderr)
                self.assertIn("run/token", ran.stderr)
                self.assertIn("remove it", ran.stderr)

    def test_a_page_that_knows_the_development_key(self):
        """Requests that need no preflight: a form's POST, with a signature in the URL, and a GET that takes
        messages."""
        queues, tables = QueueClient(self.stack.ports["queue_service"]), TableClient(self.stack.ports["table_store"])
        queues.create("paged")
        tables.create_table("Paged")
        queues.put("paged", "mine")
        put = "<QueueMessage><MessageText>theirs</MessageText></QueueMessage>"
        insert = json.dumps({"PartitionKey": "p", "RowKey": "r"})
        sent = ((queues.port, "POST", "/devstoreaccount1/paged/messages", put),
                (queues.port, "GET", "/devstoreaccount1/paged/messages", None),
                (tables.port, "POST", "/devstoreaccount1/Paged", insert),
                (tables.port, "POST", "/devstoreaccount1/Tables", '{"TableName":"Theirs"}'))
        for port, method, target, body in sent:
            client, signed = HttpClient(port), f"{target}?{account_sas()}"
            for page in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:3000"},
                         {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
                         {"Host": "evil.example", "Origin": "http://evil.example"}, {"Host": f"rebound.example:{port}"}):
                with self.subTest(target=target, page=page):
                    status, headers, content = client.send(method, signed, page, body)
                    self.assertEqual((status, headers["x-ms-error-code"] or "AuthorizationFailure"), (403, "AuthorizationFailure"))
                    self.assertIn(b"key of your own", content)
        self.assertEqual([m["MessageText"] for m in queues.peek("paged")], ["mine"])
        self.assertEqual(tables.scan("Paged"), {})
        self.assertEqual(tables.scan("Theirs"), {})
        # Under a name of its own, a page could even read the answers.
        for target in ("Paged", "Tables"):
            self.assertEqual(HttpClient(tables.port).send("GET", f"/devstoreaccount1/{target}?{account_sas()}",
                                                          {"Host": "evil.example"})[0], 403)
        # Allowed: programs, pages of the same origin, and pictures in pages of other origins.
        for headers in ({}, {"Host": "store:10002"}, {"Host": "devstoreaccount1.table.localhost"}, {"Sec-Fetch-Site": "none"},
                        {"Host": "localhost:9", "Origin": "http://localhost:9"}):
            target = "/Tables" if "devstoreaccount1" in headers.get("Host", "") else "/devstoreaccount1/Tables"
            status, _, content = HttpClient(tables.port).send("GET", f"{target}?{account_sas()}", headers)
            self.assertEqual(status, 200, content)
            self.assertEqual(HttpClient(queues.port).send("POST", f"/devstoreaccount1/paged/messages?{account_sas()}",
                                                          {k: v for k, v in headers.items() if "." not in v}, put)[0], 201)
        self.assertEqual(HttpClient(tables.port).send("GET", f"/devstoreaccount1/Paged?{account_sas()}",
                                                      {"Sec-Fetch-Site": "cross-site"})[0], 200)

    def test_pages_and_names_that_a_store_was_told_of(self):
        with Stack() as stack:
            stack.start("queue_service", "--allowed-hosts", "queues.example.org")
            queues = QueueClient(stack.ports["queue_service"])
            queues.create("paged")
            target = f"/devstoreaccount1/paged/messages?{account_sas()}"
            put = "<QueueMessage><MessageText>m</MessageText></QueueMessage>"
            page = {"Origin": "https://app.example"}
            client = HttpClient(queues.port)
            self.assertEqual(client.send("POST", target, page, put)[0], 403)
            rules = ("<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>https://app.example</AllowedOrigins>"
                     "<AllowedMethods>POST</AllowedMethods><AllowedHeaders></AllowedHeaders><ExposedHeaders></ExposedHeaders>"
                     "<MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>")
            queues._ask("PUT", "/", "comp=properties&restype=service", rules.encode())
            self.assertEqual(client.send("POST", target, page, put)[0], 201)
            self.assertEqual(client.send("POST", target, {"Origin": "https://other.example"}, put)[0], 403)
            self.assertEqual(client.send("GET", target, {"Host": "queues.example.org:80"})[0], 200)
            self.assertEqual(client.send("GET", target, {"Host": "other.example.org"})[0], 403)

    def test_metrics_are_for_this_machine_and_for_the_token(self):
        QueueClient(self.stack.ports["queue_service"]).create("secret-name")
        bearer = {"Authorization": "Bearer the-token-of-all-tests"}
        worker = self.stack.start_worker("measured", "--metrics")
        local = {name: self.stack.ports[name] for name in ("table_store", "queue_service", "api")}
        local["worker"] = int(worker.ready["metrics_port"])
        for name, port in local.items():
            with self.subTest(program=name):
                client = HttpClient(port)
                self.assertEqual(client.send("GET", "/metrics")[0], 200)
                status, _, text = client.send("GET", "/metrics", {"Host": "evil.example"})
                self.assertIn(status, (401, 403))
                self.assertNotIn(b"secret-name", text)
        with Stack() as stack:
            anywhere = ("--host", "0.0.0.0", "--allow-development-key")
            for name in ("table_store", "queue_service", "blob_store"):
                stack.start(name, *anywhere)
            stack.start("api", "--host", "0.0.0.0")
            stack.ports["worker"] = int(stack.start_worker("w", "--metrics", "--metrics-host", "0.0.0.0").ready["metrics_port"])
            for name, port in stack.ports.items():
                with self.subTest(program=name, host="0.0.0.0"):
                    client = HttpClient(port)
                    for headers in ({}, {"Authorization": "Bearer wrong"}):
                        status, answered, _ = client.send("GET", "/metrics", headers)
                        self.assertEqual((status, answered["WWW-Authenticate"]), (401, "Bearer"))
                    status, _, text = client.send("GET", "/metrics", bearer)
                    self.assertEqual(status, 200)
                    self.assertIn(b"process_resident_memory_bytes", text)
                    self.assertEqual(client.send("GET", "/healthz")[0], 200)
                    self.assertEqual(client.send("GET", "/readyz", {"Host": "evil.example"})[0], 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
