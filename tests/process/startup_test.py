"""How the programs start, refuse to start, answer requests that they cannot serve, and stop."""
import email.utils
import json
import os
import re
import signal
import socket
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, HttpClient, HttpFailure, QueueClient, TableClient  # noqa: E402
from sas import account_sas  # noqa: E402
from stack import SOURCE, Child, OwnStackTest, Stack, StackTest, clean_environment, program, wait_until  # noqa: E402

STORES = ("table_store", "queue_service", "blob_store")
FOLDERS = {"table_store": "table", "queue_service": "queue", "blob_store": "blob"}
SERVERS = STORES + ("api",)
# Root passes every permission check; without its capabilities it is like any other user.
UNPRIVILEGED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
HANG_S = 60.0
# A process that waited at its end for work that never ends would do so for longer than the test waits for it.
PATIENT_STORE, PATIENT_WORKER = ("--shutdown-grace-s", "600"), ("--drain-s", "600")


class StartupTest(OwnStackTest):
    def setUp(self):
        os.mkdir(self.stack.data)

    def refuse(self, name, *arguments, says, environment=None, data=None, prefix=(), code=2):
        """Starts a program that must refuse: exit code, and one line on stderr that gives the reason."""
        line = [*prefix, program(name), "--data", data or self.stack.data, *arguments]
        if not any(a == "--port" for a in arguments) and name in SERVERS:
            line += ["--port", "0"]
        ended = subprocess.run(line, capture_output=True, text=True, timeout=HANG_S, env=clean_environment(environment))
        errors = [e for e in ended.stderr.splitlines() if e.startswith("error: ")]
        self.assertEqual(ended.returncode, code, ended.stderr)
        self.assertEqual(len(errors), 1, ended.stderr)
        for text in says:
            self.assertIn(text, errors[0])
        self.assertEqual(ended.stdout, "", "it must not announce itself")
        return errors[0]

    def write_config(self, content):
        path = os.path.join(self.stack.directory, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def test_bad_settings(self):
        for name in SERVERS:
            with self.subTest(program=name):
                self.refuse(name, "--port", "70000", says=["port", "70000", "0 to 65535"])
                self.refuse(name, says=["threads", "many", "TIDEMARK_THREADS", "1 to 64"],
                            environment={"TIDEMARK_THREADS": "many"})
                unknown = self.write_config({"prot": 1})
                self.refuse(name, "--config", unknown, says=["'prot'", unknown, "port"])
                self.refuse(name, "--config", self.write_config({"port": "one"}), says=["port", "one"])
                self.refuse(name, "--config", self.write_config("{port"), says=["not valid JSON"])
                self.refuse(name, "--config", "/nowhere/config.json", says=["/nowhere/config.json", "cannot be read: No such file"])
                self.refuse(name, "--colour", "red", says=["--colour", "--help"])
                self.refuse(name, "--log-level", "loud", says=["log_level", "loud", "debug"])
        self.refuse("worker", "--lease-s", "0", says=["lease_s", "0"])
        for name in (*STORES, "worker", "api"):
            self.refuse(name, says=["no.such.point", "--list-fail-points"],
                        environment={"TIDEMARK_FAIL_POINT": "no.such.point"})

    def test_every_setting_is_known_to_the_others(self):
        """One file may serve all programs: each must know the names of the others' settings."""
        path = os.path.join(SOURCE, "common", "process", "known_settings.h")
        with open(path, encoding="utf-8") as header:
            block = header.read().split("kKnownSettings[] = {")[1].split("}")[0]
        known = set(re.findall(r'"([a-z0-9_]+)"', block))
        said = set()
        for name in (*SERVERS, "worker"):
            text = subprocess.run([program(name), "--help"], capture_output=True, text=True, check=True).stdout
            said |= {option.replace("-", "_") for option in re.findall(r"^ +--([a-z0-9-]+)", text, re.MULTILINE)}
        self.assertEqual(known, said - {"help", "version", "config", "list_fail_points"})

    def test_bad_accounts(self):
        for name in STORES:
            with self.subTest(program=name):
                self.refuse(name, "--accounts", "UPPER:AAAA", says=["accounts", "lower-case"])
                self.refuse(name, "--accounts", "mine:not-base64!", says=["accounts", "mine", "base64"])
                self.refuse(name, "--accounts", "mine", says=["accounts", "mine", "key"])
                self.refuse(name, "--accounts", ",".join(["mine:" + "A" * 24] * 2), says=["accounts", "mine", "twice"])

    def test_secrets_are_not_repeated(self):
        error = self.refuse("table_store", "--accounts", "mine:c2hvcnQtc2VjcmV0!", says=["mine"])
        self.assertNotIn("c2hvcnQtc2VjcmV0", error)
        child = self.stack.launch("table_store", "table_store", "--port", "0", "--accounts",
                                  "mine:c2VjcmV0LXNlY3JldC1zZWNyZXQ=").await_ready()
        self.assertNotIn("c2VjcmV0", child.log())

    def test_misspelt_variables(self):
        child = self.stack.launch("table_store", "table_store", "--port", "0",
                                  environment={"TIDEMARK_DURABILTY": "secret", "TIDEMARK_MINE": "1", "TIDEMARK_IMAGE": "x"}).await_ready()
        self.assertIn("TIDEMARK_DURABILTY is not a setting; did you mean TIDEMARK_DURABILITY?", child.log())
        self.assertNotIn("secret", child.log())
        self.assertEqual(child.log().count("is not a setting"), 1)

    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            for name in SERVERS:
                with self.subTest(program=name):
                    self.refuse(name, "--port", port, says=[port, "in use", "--port"])

    def test_directory_not_writable(self):
        closed = os.path.join(self.stack.directory, "closed")
        os.mkdir(closed, 0o500)
        for name in SERVERS:
            with self.subTest(program=name):
                self.refuse(name, data=closed, prefix=UNPRIVILEGED, says=[closed])
        self.refuse("table_store", data="/proc/nothing", says=["/proc/nothing"])

    def test_database_in_use(self):
        for name in STORES:
            with self.subTest(program=name):
                self.stack.start(name)
                self.refuse(name, says=[self.stack.data, "Another process", str(self.stack.children[name].pid)])
                self.assertTrue(self.stack.children[name].alive())
                HttpClient(self.stack.ports[name]).ask("GET", "/readyz")

    def test_name_in_use(self):
        """Neither its records nor the script that stops the stack could tell it from the first."""
        self.stack.up(1)
        for name in ("api", "worker"):
            with self.subTest(program=name):
                known = "worker-1" if name == "worker" else "api"
                self.refuse(name, "--name", known, says=[known, str(self.stack.children[known].pid)])
                self.refuse(name, "--name", "a/b", says=["a/b", "letters"])
                with open(os.path.join(self.stack.data, "run", known + ".pid"), encoding="ascii") as file:
                    self.assertEqual(int(file.read()), self.stack.children[known].pid)

    def test_workers_name_themselves(self):
        """In two containers that share a data directory, both have the process id 1, but not the same host."""
        self.stack.up()
        host = "box.example.org"
        line = ["unshare", "--pid", "--uts", "--fork", "--kill-child", "sh", "-c", f"hostname {host}; exec \"$0\" \"$@\"",
                program("worker"), "--data", self.stack.data]
        if os.getuid() != 0:
            line[1:1] = ["--map-root-user"]
        if subprocess.run([*line[:-3], "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("namespaces cannot be made here")
        worker = Child("worker", line, os.path.join(self.stack.directory, "worker.log"))
        self.stack.children["worker"] = worker
        self.assertEqual(worker.await_ready().ready["name"], "worker-box-1")

    def test_systemd_is_told(self):
        path = os.path.join(self.stack.directory, "notify")
        for address in (path, f"\0tidemark-{os.getpid()}"):
            with self.subTest(address=address), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as waiting:
                waiting.bind(address)
                waiting.settimeout(HANG_S)
                self.stack.launch("table_store", "table_store", "--port", "0",
                                  environment={"NOTIFY_SOCKET": address.replace("\0", "@")}).await_ready()
                self.assertEqual(waiting.recv(100), b"READY=1\nSTATUS=ready")
                self.assertEqual(self.stack.children["table_store"].terminate(), 0)

    def test_systemd_does_not_wait_for_a_worker_that_waits_for_the_stores(self):
        path = os.path.join(self.stack.directory, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as waiting:
            waiting.bind(path)
            waiting.settimeout(HANG_S)
            self.stack.launch("worker-1", "worker", "--name", "worker-1", environment={"NOTIFY_SOCKET": path})
            self.assertEqual(waiting.recv(100), b"READY=1\nSTATUS=waiting for the stores")
            self.stack.up(workers=0)
            self.assertEqual(waiting.recv(100), b"READY=1\nSTATUS=ready")

    def test_too_long_a_path_for_sockets(self):
        """The stores have begun their background work by then: it ends in order."""
        for name in STORES:
            with self.subTest(program=name):
                self.refuse(name, data=os.path.join(self.stack.data, "x" * 110), says=["107", "shorter"])

    def test_few_open_files(self):
        few = ["prlimit", "--nofile=300:300"]
        child = subprocess.run([*few, program("table_store"), "--data", self.stack.data, "--port", "0", "--host", "x"],
                               capture_output=True, text=True, timeout=HANG_S, env=clean_environment())
        self.assertIn("is not an IP address", child.stderr)
        child = Child("table_store", [*few, program("table_store"), "--data", self.stack.data, "--port", "0"],
                      os.path.join(self.stack.directory, "few.log")).await_ready()
        self.addCleanup(child.kill)
        self.assertIn("max_connections is 150 instead of 4096", child.log())

    def test_damaged_database(self):
        for name in STORES:
            with self.subTest(program=name):
                self.assertEqual(self.stack.start(name).terminate(), 0)
                folder = os.path.join(self.stack.data, FOLDERS[name])
                manifest = [f for f in os.listdir(folder) if f.startswith("MANIFEST")][0]
                with open(os.path.join(folder, manifest), "r+b") as file:
                    file.write(b"\xff" * os.path.getsize(file.name))
                self.refuse(name, says=[folder, "damaged", "backup"], code=1)

    def test_damaged_log_is_not_taken_for_a_crash(self):
        """A flipped byte in front of good records is damage to acknowledged data, not a torn end."""
        child = self.stack.start("table_store")
        client = TableClient(self.stack.ports["table_store"])
        client.create_table("Things")
        for n in range(200):
            client.put("Things", {"PartitionKey": "p", "RowKey": str(n), "Text": "x" * 500})
        child.kill()
        folder = os.path.join(self.stack.data, "table")
        log = max((os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".log")), key=os.path.getsize)
        with open(log, "r+b") as file:
            file.seek(40_000)
            file.write(b"\x00\xff" * 50)
        self.refuse("table_store", says=[folder, "damaged"], code=1)

    def test_open_addresses(self):
        self.refuse("table_store", "--host", "not an address", "--allow-development-key",
                    says=["host", "not an address"])
        for name in STORES:
            with self.subTest(program=name):
                self.refuse(name, "--host", "0.0.0.0", says=["0.0.0.0", "development key", "accounts"])
                allowed = ("--port", "0", "--host", "0.0.0.0", "--allow-development-key")
                self.stack.launch(name, name, *allowed).await_ready()
        self.refuse("api", "--host", "0.0.0.0", "--open", says=["0.0.0.0", "token"], environment={"TIDEMARK_TOKEN": ""})
        self.refuse("api", "--open", says=["open", "token"])

    def test_api_without_stores(self):
        error = self.refuse("api", "--startup-timeout-s", "1", says=["stores do not answer", self.stack.data], code=1)
        self.assertIn("table_store", error)

    def test_fail_points_are_listed(self):
        owned = {"table_store": "table.mutate.after", "queue_service": "queue.put.after", "blob_store": "blob.put_blob.after",
                 "worker": "claim.after", "api": "http.reply.before"}
        for name, point in owned.items():
            listed = subprocess.run([program(name), "--list-fail-points"], capture_output=True, check=True, text=True,
                                    env=clean_environment()).stdout.split()
            self.assertIn(point, listed, name)
            self.assertEqual(listed, sorted(set(listed)), name)

    def test_help_mentions_every_setting(self):
        for name in SERVERS + ("worker",):
            with self.subTest(program=name):
                shown = subprocess.run([program(name), "--help"], capture_output=True, text=True, check=True).stdout
                # The line at start lists all settings; the api and the worker may then wait for the stores.
                child = self.stack.launch(name, name, *(["--port", "0"] if name in SERVERS else []))
                line = wait_until(lambda: "\n" in (rest := child.log().partition("starting ")[2]) and rest.partition("\n")[0],
                                  "the line at start")
                names = re.findall(r"(\w+)=", line)
                child.kill()
                self.assertGreater(len(names), 5, child.log())
                for setting in names:
                    self.assertIn("--" + setting.replace("_", "-"), shown)
                    self.assertIn("TIDEMARK_" + setting.upper(), shown)
        version = subprocess.run([program("table_store"), "--version"], capture_output=True, text=True, check=True)
        self.assertRegex(version.stdout, r"^table_store \S+\n$")


class ServingTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.start("blob_store")
        cls.stack.up()

    def raw(self, name, data):
        """Sends bytes; returns the answer's status line and the rest, read until the server closes or has answered."""
        with socket.create_connection(("127.0.0.1", self.stack.ports[name]), timeout=HANG_S) as connection:
            connection.sendall(data)
            answer = b""
            while b"\r\n\r\n" not in answer:
                piece = connection.recv(65536)
                if not piece:
                    break
                answer += piece
        return answer

    def failure(self, call, *arguments):
        with self.assertRaises(HttpFailure) as caught:
            call(*arguments)
        return caught.exception

    def test_malformed_request(self):
        for name in SERVERS:
            with self.subTest(program=name):
                self.assertRegex(self.raw(name, b"GARBAGE\r\n\r\n"), rb"^HTTP/1\.1 400 ")
                self.assertRegex(self.raw(name, b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"), rb"^HTTP/1\.1 400 ")
                HttpClient(self.stack.ports[name]).ask("GET", "/healthz")

    def test_headers_too_large(self):
        for name in SERVERS:
            with self.subTest(program=name):
                request = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * (64 << 10) + b"\r\n\r\n"
                self.assertRegex(self.raw(name, request), rb"^HTTP/1\.1 431 ")

    def test_body_too_large(self):
        tables = TableClient(self.stack.ports["table_store"])
        tables.create_table("Large")
        entity = {"PartitionKey": "p", "RowKey": "r", "Text": "x" * (4 << 20)}
        failure = self.failure(tables.put, "Large", entity)
        self.assertEqual((failure.status, failure.code), (413, "RequestBodyTooLarge"))
        queues = QueueClient(self.stack.ports["queue_service"])
        queues.create("large-messages")
        for size in (65_537, 200_000):
            failure = self.failure(queues.put, "large-messages", "x" * size)
            self.assertEqual((failure.status, failure.code), (413, "RequestBodyTooLarge"))
        queues.put("large-messages", "x" * 65_536)
        self.assertEqual(queues.length("large-messages"), 1)
        api = ApiClient(self.stack.ports["api"])
        failure = self.failure(api.submit, {"kind": "x" * 100_000})
        self.assertEqual((failure.status, failure.code), (413, "RequestBodyTooLarge"))

    def test_unsigned_and_wrongly_signed(self):
        for name in STORES:
            with self.subTest(program=name):
                client = HttpClient(self.stack.ports[name])
                failure = self.failure(client.ask, "GET", "/devstoreaccount1/?comp=list")
                self.assertIn(failure.status, (401, 403, 404), failure)
                forged = {"Authorization": "SharedKeyLite devstoreaccount1:AAAA", "x-ms-version": "2019-02-02",
                          "x-ms-date": email.utils.formatdate(usegmt=True)}
                failure = self.failure(client.ask, "GET", "/devstoreaccount1/?comp=list", forged)
                self.assertEqual(failure.status, 403, failure)

    def test_api_errors(self):
        api = ApiClient(self.stack.ports["api"])
        for method, path, expected in (("GET", "/v1/nothing", (404, "NotFound")),
                                       ("GET", "/nothing", (404, "NotFound")),
                                       ("DELETE", "/v1/jobs", (405, "UnsupportedHttpVerb")),
                                       ("GET", "/v1/jobs/none", (404, "JobNotFound")),
                                       ("GET", "/v1/poison/none", (404, "PoisonNotFound")),
                                       ("POST", "/v1/poison/none/redrive", (404, "PoisonNotFound")),
                                       ("POST", "/v1/jobs/none/cancel", (404, "JobNotFound")),
                                       ("GET", "/v1/jobs?limit=0", (400, "OutOfRangeQueryParameterValue")),
                                       ("GET", "/v1/jobs?colour=red", (400, "InvalidQueryParameterValue"))):
            with self.subTest(request=f"{method} {path}"):
                failure = self.failure(api.call, method, path)
                self.assertEqual((failure.status, failure.code), expected)
                self.assertEqual(failure.headers["Content-Type"], "application/problem+json")

    def test_invalid_jobs_list_all_problems(self):
        api = ApiClient(self.stack.ports["api"])
        failure = self.failure(api.submit, {"kind": "archive", "source": "1bad", "destination": 5, "filter": "",
                                            "maxAttempts": 0, "colour": "red"})
        self.assertEqual((failure.status, failure.code), (400, "JobInvalid"))
        problems = json.loads(failure.body)["problems"]
        for word in ("source", "destination", "maxAttempts", "colour"):
            self.assertTrue(any(word in p for p in problems), (word, problems))
        failure = self.failure(api.submit, "not an object")
        self.assertEqual((failure.status, failure.code), (400, "JobInvalid"))

    def test_health_and_metrics(self):
        worker = self.stack.start_worker("observed", "--metrics")
        ports = {name: self.stack.ports[name] for name in SERVERS}
        ports["worker"] = int(worker.ready["metrics_port"])
        for name, port in ports.items():
            with self.subTest(program=name):
                client = HttpClient(port)
                self.assertEqual(client.ask("GET", "/healthz")[1], b"ok\n")
                self.assertEqual(client.ask("GET", "/readyz")[1], b"ok\n")
                metrics = client.ask("GET", "/metrics")[1].decode()
                self.assertRegex(metrics, r"(?m)^process_resident_memory_bytes [1-9]")
                self.assertRegex(metrics, r"(?m)^process_cpu_seconds_total \d")
                if name in SERVERS:
                    # Health and metrics are not counted; refused requests are.
                    before = int(re.search(r'(?m)^tidemark_http_requests_total\{status="4xx"\} (\d+)$', metrics)[1])
                    self.failure(client.ask, "GET", "/nothing")
                    metrics = client.ask("GET", "/metrics")[1].decode()
                    self.assertIn(f'tidemark_http_requests_total{{status="4xx"}} {before + 1}\n', metrics)
                    self.assertRegex(metrics, r"(?m)^tidemark_http_request_duration_seconds_count\{.*\} [1-9]")
        self.assertEqual(worker.terminate(), 0)


class ShutdownTest(unittest.TestCase):
    def end(self, child):
        self.assertEqual(child.terminate(HANG_S), 0, child.log())

    def test_sigterm_with_waiting_workers(self):
        """A store has a long poll open, and a client an idle connection: neither delays its end."""
        for first in ("queue_service", "table_store", "api", "w1"):
            with self.subTest(first=first), Stack() as stack:
                for name in STORES:
                    stack.start(name, *PATIENT_STORE)
                stack.start("api")
                for name in ("w1", "w2"):
                    stack.start_worker(name, *PATIENT_WORKER)
                clients = [HttpClient(port) for port in stack.ports.values()]
                for client in clients:
                    client.ask("GET", "/healthz")
                rest = ["w2", "w1", "api", "table_store", "queue_service", "blob_store"]
                rest.remove(first)
                for name in [first, *rest]:
                    self.end(stack.children[name])
                for client in clients:
                    client.close()
                self.assertEqual([f for f in os.listdir(os.path.join(stack.data, "run")) if f.endswith(".pid")], [])

    def test_a_reload_while_it_stops(self):
        """Requests in progress are answered, even while other requests arrive."""
        with Stack() as stack:
            store = stack.start("queue_service")
            port = stack.ports["queue_service"]
            QueueClient(port).create("things")
            body = b"<QueueMessage><MessageText>a</MessageText></QueueMessage>"
            head = (f"POST /devstoreaccount1/things/messages?{account_sas()} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                    f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n").encode()
            with socket.create_connection(("127.0.0.1", port), HANG_S) as connection:
                connection.sendall(head)
                self.assertRegex(connection.recv(65536), rb"^HTTP/1\.1 100 ")
                store.signal(signal.SIGTERM)
                wait_until(lambda: "shutting down" in store.log(), "it stops")
                for number in (signal.SIGHUP, signal.SIGUSR1):
                    store.signal(number)
                connection.sendall(body)
                self.assertRegex(connection.recv(65536), rb"^HTTP/1\.1 201 ")
            self.assertEqual(store.wait(), 0, store.log())

    def test_sigterm_while_stores_are_away(self):
        for name in ("worker", "api"):
            with self.subTest(program=name), Stack() as stack:
                self.end_of_waiting(stack, name)
                self.assertEqual([f for f in os.listdir(os.path.join(stack.data, "run")) if f.endswith(".pid")], [])

    def test_ready_means_that_the_stores_answer(self):
        with Stack() as stack:
            stack.up()
            worker = stack.start_worker("observed", "--metrics")
            clients = [HttpClient(stack.ports["api"]), HttpClient(int(worker.ready["metrics_port"]))]
            for store, says in (("queue_service", b"queue service"), ("table_store", b"table store")):
                stack.children[store].kill()
                for client in clients:
                    status, _, body = client.send("GET", "/readyz")
                    self.assertEqual((status, says in body), (503, True), body)
                    self.assertEqual(client.send("GET", "/healthz")[0], 200)
                stack.restart(store)
                for client in clients:
                    wait_until(lambda asked=client: asked.send("GET", "/readyz")[0] == 200, "readiness")
                    client.close()

    def end_of_waiting(self, stack, name):
        child = stack.launch(name, name, *(["--port", "0"] if name in SERVERS else PATIENT_WORKER))
        wait_until(lambda: "waiting for the stores" in child.log() or not child.alive(), "it waits")
        self.end(child)


if __name__ == "__main__":
    unittest.main(verbosity=2)
