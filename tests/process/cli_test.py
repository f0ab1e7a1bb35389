"""The command line as people and scripts use it: every operation of the api has a command; its output and its exit
code."""
import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ended  # noqa: E402
from command_line import StackCase, tidemark  # noqa: E402
from receiver import Receiver, make_certificates  # noqa: E402
from stack import SOURCE, clean_environment, program, wait_until  # noqa: E402

# Operations for the processes, not for people. `table list` asks the table service.
NOT_FOR_PEOPLE = {("GET", "/v1/tables"), ("GET", "/v1/backups/{name}"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics"),
                  ("GET", "/openapi.json"), ("POST", "/v1/session"), ("DELETE", "/v1/session"), ("GET", "/v1/about"), ("GET", "/v1/health"), ("GET", "/v1/dueTimes"),
                  ("POST", "/v1/work/claim"), ("POST", "/v1/work/beat"), ("POST", "/v1/work/end"), ("GET", "/v1/work/events")}
JOB = ["delete", "--source", "Abc", "--filter", ""]


class Recorder(BaseHTTPRequestHandler):
    """Answers every request in the same way, and remembers the requests."""
    asked = None

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked.add((self.command, urlsplit(self.path).path))
        stream = self.path.endswith("/events")
        job = {"id": "x", "state": "succeeded", "kind": "delete"}
        body = (f"id: 1\nevent: job\ndata: {json.dumps(job)}\n\n" if stream else json.dumps(job)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer

    def log_message(self, *_):
        pass


def commands():
    """Returns every command that has no subcommands, from the help."""
    def below(path):
        text = tidemark(*path, "--help").stdout
        # The program's own commands have headings of their own, below its options; those of a family have one.
        begin = re.search(r"^(Subcommands|The stack):\n", text, re.M)
        names = re.findall(r"^  (\S+)", text[begin.end():], re.M) if begin else []
        return [leaf for name in names for leaf in below([*path, name])] if names else [path]
    return below([])


class EveryOperationTest(unittest.TestCase):
    def test_each_operation_of_the_api_has_a_command(self):
        handler = type("Asked", (Recorder,), {"asked": set()})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        special = {"job submit": JOB, "transaction submit": ["-"], "schedule put": ["x", *JOB, "--cron", "@daily"], "explain": ["Abc", "p", "r"], "queue spread": ["x", "--parts", "2"], "kind queue": ["x", "q"],
                   "limit partition": ["x", "k"], "entity show": ["x", "p", "r"], "entity put": ["x", "p", "r"],
                   "entity delete": ["x", "p", "r", "--if-match", "*"],
                   **{f"{family} drop": ["x", "--yes"] for family in ("table", "queue", "container")}, "queue clear": ["x", "--yes"],
                   "table create": ["x"], "table show": ["x"], "queue delete": ["x", "m", "--lease", "1"], "queue update": ["x", "m", "--lease", "1"],
                   "policy list": ["table", "x"], "policy set": ["table", "x", "--id", "i"], "policy remove": ["table", "x", "x"],
                   "shards move": ["queue", "0", "p"], "shards split-plan": ["queue"],
                   "blob show": ["x", "b"], "blob delete": ["x", "b", "--if-match", "*"],
                   **{f"blob {name}": ["x", "b", "--file", "-"] for name in ("upload", "download")}, "poison edit": ["x", "--file", "-"],
                   **{f"consumer {name}": ["x", "g"] for name in ("put", "show", "remove", "read")},
                   "consumer acknowledge": ["x", "g", "--epoch", "1"],
                   **{f"sas {kind}": ["x", "--permissions", "r"] for kind in ("table", "queue", "container", "blob")},
                   "sas account": ["--services", "t", "--resource-types", "o", "--permissions", "r"],
                   **{f"on-change {name}": ["x", "n"] for name in ("put", "show", "pause", "resume", "remove")},
                   "rule put": ["x", "n", "--file", "-"], **{f"rule {name}": ["x", "n"] for name in ("show", "test", "run", "pause", "resume", "remove")}}
        here = {"completion bash", "completion zsh", "completion fish", "backup verify", "restore", "keys make", "keys show", "up", "down", "status", "env"}  # without the api
        found = [*commands(), ("backup",)]
        self.assertGreater(len(found), 25)
        for path in found:
            name = " ".join(path)
            if (path[0] == "table" and name not in special) or name in here:
                continue
            help_text = tidemark(*path, "--help").stdout
            positional = re.search(r"^Positionals:", help_text, re.M)
            arguments = special.get(name, ["x"] if positional else [])
            done = tidemark("--json", "--api", f"http://127.0.0.1:{server.server_port}", *path, *arguments, stdin="{}")
            expected = {"job cancel": 1, "policy remove": 3}  # the job has succeeded, there is no such policy
            self.assertEqual(done.returncode, expected.get(name, 0), f"{name}: {done.stderr}")
            if path[0] == "policy":
                for kind in ("queue", "container"):
                    tidemark("--json", "--api", f"http://127.0.0.1:{server.server_port}", *path, kind, *arguments[1:])
            if name == "job submit":
                tidemark("--api", f"http://127.0.0.1:{server.server_port}", *path, "--batch", "--file", "-",
                         stdin=json.dumps([{"kind": "x"}]))
        with open(os.path.join(SOURCE, "api/rest/openapi.json")) as file:
            paths = json.load(file)["paths"]
        missing = set()
        for template, item in paths.items():
            pattern = re.compile(re.sub(r"\{[a-zA-Z]+\}", "[^/]+", template) + "$")
            for method in item:
                asked = any(m == method.upper() and pattern.match(p) for m, p in handler.asked)
                if method != "parameters" and not asked and (method.upper(), template) not in NOT_FOR_PEOPLE:
                    missing.add((method.upper(), template))
        self.assertEqual(missing, set(), "operations without a command")

    def test_version(self):
        self.assertRegex(tidemark("--version").stdout, r"^tidemark \d+\.\d+\.\d+ \((commit [0-9a-f]+(-dirty)?, )?\w+\)\n$")

    def test_variables_from_a_file(self):
        """The file as the package and containers write it; the environment and the command line take precedence."""
        with tempfile.NamedTemporaryFile("w", suffix=".env") as file:
            file.write("# made\nTIDEMARK_API=http://127.0.0.1:1\nPATH=/nowhere\nTIDEMARK_TOKEN=a=b\n")
            file.flush()
            for environment, arguments, port in (({}, [], 1), ({"TIDEMARK_API": ""}, [], 1),
                                                 ({"TIDEMARK_API": "http://127.0.0.1:2"}, [], 2),
                                                 ({}, ["--api", "http://127.0.0.1:3"], 3)):
                with self.subTest(port=port, environment=environment):
                    told = tidemark(*arguments, "job", "list", environment={"TIDEMARK_ENV_FILE": file.name, **environment})
                    self.assertIn(f"127.0.0.1:{port}", told.stderr)
        self.assertNotIn("127.0.0.1:1/", tidemark("job", "list", environment={"TIDEMARK_ENV_FILE": "/nowhere"}).stderr)

    def test_every_command_explains_itself(self):
        for path in commands():
            shown = tidemark(*path, "--help")
            self.assertEqual(shown.returncode, 0)
            self.assertNotIn("Usage", shown.stdout.splitlines()[0], f"{path}: no description")
            self.assertNotRegex(shown.stdout, r"(?m)^  \S+( TEXT| INT| UINT)?( REQUIRED)?$", path)

    def test_the_page_about_the_command_line_has_every_command(self):
        with open(os.path.join(SOURCE, "docs/cli.md")) as file:
            rows = [re.findall(r"`([^`]+)`", line.split("|")[1]) for line in file if line.startswith("| `")]
        written = set()
        for words in rows:
            family = words[0].split()[0]
            written |= {(family, word.split()[-1]) for word in words} if words[0].islower() and " " in words[0] else {(word.split()[0],) for word in words}
        self.assertEqual({tuple(path) for path in commands()}, written)

    def test_a_word_that_was_misspelt(self):
        for line, why in (("jobs list", '"tidemark" has no command "jobs". Did you mean "job"?'),
                          ("--json poison redrvie x", '"tidemark poison" has no command "redrvie". Did you mean "redrive"?'),
                          ("--token x job list --stat y", '"tidemark job list" has no option --stat. Did you mean "--state"?'),
                          ("job", '"tidemark job" needs a command: '), ("fly", '"tidemark" has no command "fly". It has: ')):
            wrong = tidemark(*line.split())
            self.assertEqual(wrong.returncode, 2, line)
            self.assertTrue(wrong.stderr.startswith("error: " + why), wrong.stderr)

    def test_a_variable_that_was_misspelt(self):
        for name, meant in (("TIDEMARK_TOKN", "TIDEMARK_TOKEN"), ("TIDEMARK_TABEL_URL", "TIDEMARK_TABLE_URL")):
            warned = tidemark("--api", "http://127.0.0.1:1", "job", "list", environment={name: "x"})
            self.assertTrue(warned.stderr.startswith(f"warning: {name} is not a setting; did you mean {meant}?\nerror: "), warned.stderr)
        right = {"TIDEMARK_ENV_FILE": "/nowhere", "TIDEMARK_CA_FILE": "", "TIDEMARK_API": "http://127.0.0.1:1", "TIDEMARK_QUEUE_URL": "http://127.0.0.1:1"}
        self.assertTrue(tidemark("job", "list", environment=right).stderr.startswith("error: "))

    def test_a_directory_is_no_file_to_read(self):
        for line in ("job submit --file /tmp", "job submit --batch --file /tmp", "schedule put x --file /tmp",
                     "table import People --file /tmp", "table import People --format debian-packages --file /tmp"):
            wrong = tidemark(*line.split())
            self.assertEqual((wrong.returncode, wrong.stdout, wrong.stderr), (1, "", "error: /tmp is a directory\n"), line)
        directory = os.open("/tmp", os.O_RDONLY)
        self.addCleanup(os.close, directory)
        wrong = subprocess.run([program("tidemark"), "job", "submit", "--file", "-"], env=clean_environment({}),
                               stdin=directory, capture_output=True, text=True)
        self.assertEqual((wrong.returncode, wrong.stderr), (1, "error: the input cannot be read to its end\n"))

    def test_what_cannot_be_printed_is_an_error(self):
        for arguments in (["--version"], ["job", "--help"], ["completion", "bash"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([program("tidemark"), *arguments], env=clean_environment({}), stdout=full,
                                      stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, "error: standard output cannot be written\n"), arguments)

    def test_wrong_arguments(self):
        for arguments in ([], ["fly"], ["job"], ["job", "show"], ["job", "list", "--limit", "x"],
                          ["job", "list", "--state", "lost"], ["kind", "limit", "archive", "-1"]):
            self.assertEqual(tidemark(*arguments).returncode, 2, arguments)
        many = tidemark("job", "submit", "archive", "--max-attempts", "0")
        self.assertIn("--max-attempts: it must be a whole number from 1 on, not 0", many.stderr)
        for line in ("job list --limit -1", "table query People --top -1", "poison list --limit 1.5", "audit --limit many"):
            wrong = tidemark(*line.split())
            self.assertEqual(wrong.returncode, 2, line)
            self.assertRegex(wrong.stderr, r"^error: --(limit|top): it must be a whole number from 0 on, not ", line)
        for line, says in (("job submit --file - --batch --dry-run", "--dry-run is for one job"),
                           ("job submit --file - --batch --wait", "--wait is for one job"),
                           ("job submit delete --batch", "--batch needs --file"),
                           ("job submit delete --group g", "--group is for"),
                           ("job submit delete --file -", "--file has all of the job"),
                           ("job submit --file - --filter x", "--file has all of the job"),
                           ("job submit --file - --not-before 2030-01-01", "--file has all of the job"),
                           ("schedule put x --file - --cron @daily", "--file has all of the schedule"),
                           ("schedule put x delete --file -", "--file has all of the schedule")):
            wrong = tidemark(*line.split(), stdin="{}")
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""), line)
            self.assertIn(says, wrong.stderr)
        gone = tidemark("--json", "--api", "http://127.0.0.1:1", "job", "list")
        self.assertEqual((gone.returncode, json.loads(gone.stderr)["error"]["code"]), (1, "Unavailable"))


class TlsTest(unittest.TestCase):
    def test_https_with_certificates_that_are_trusted(self):
        with tempfile.TemporaryDirectory() as directory:
            ca, certificate = make_certificates(directory)
            api = Receiver(lambda request: (200, {}, b'{"id":"x","state":"queued"}'), certificate)
            self.addCleanup(api.close)
            for where in (["--ca-file", ca], ["--ca-file", ca, "--token", "secret"]):
                shown = tidemark("--api", api.url("/"), *where, "--json", "job", "show", "x",
                                 environment={"TIDEMARK_TOKEN": ""})
                self.assertEqual((shown.returncode, json.loads(shown.stdout)["id"]), (0, "x"), shown.stderr)
            self.assertEqual([request.get("authorization") for request in api.got], [None, "Bearer secret"])
            # Neither the system's authorities nor a certificate for another name will do.
            for url, arguments in ((api.url("/"), []), (api.url("/", host="127.0.0.1"), ["--ca-file", ca])):
                refused = tidemark("--api", url, *arguments, "job", "show", "x")
                self.assertEqual(refused.returncode, 1)
                self.assertRegex(refused.stderr, r"^error: cannot reach https://.*(certificate|subject).*; --ca-file \(TIDEMARK_CA_FILE\) names")
            self.assertEqual(len(api.got), 2)


class StackTest(StackCase):
    def test_errors_are_what_the_api_calls_them(self):
        no_such_kind = 'There is no kind of job "delet". Did you mean "delete"?'
        for arguments, code, name, says in ((["job", "show", "none"], 3, "JobNotFound", "none"),
                                            (["job", "submit", "--source", "Abc"], 1, "JobInvalid", "kind"),
                                            (["limit", "kind", "delet", "--max-running", "1"], 3, "NotFound", no_such_kind),
                                            (["kind", "pause", "delet"], 3, "NotFound", no_such_kind)):
            error = json.loads(self.command("--json", *arguments, code=code).stderr)["error"]
            self.assertEqual(error["code"], name)
            self.assertFalse(error["message"].endswith(".."), error)
            self.assertIn(says, error["message"])
        stranger = self.command("--api", self.environment["TIDEMARK_TABLE_URL"], "job", "list", code=1)
        self.assertIn("is --api right?", stranger.stderr)

    def test_times_are_those_of_this_place(self):
        """Times are shown to the second and read in the local time zone; JSON has UTC."""
        there = {**self.environment, "TZ": "XXX-5:30"}
        job_id = self.command("job", "submit", "delete", "--source", "Later", "--filter", "", "--not-before",
                              "2126-11-22T01:30:00Z").stdout.strip()
        self.assertIn("not before: 2126-11-22 07:00:00+05:30\n", tidemark("job", "show", job_id, environment=there).stdout)
        self.assertEqual(self.api.job(job_id)["notBefore"], "2126-11-22T01:30:00Z")
        self.command("job", "cancel", job_id)
        for text in ("2126-11-22 07:00", "2126-11-22 07:00:00", "2126-11-22 07:00:00+05:30", "2126-11-22 01:30:00Z"):
            again = tidemark("--json", "job", "submit", "delete", "--source", "Later", "--filter", "", "--not-before", text,
                             environment=there)
            again = json.loads(again.stdout)
            self.assertEqual(again["notBefore"], "2126-11-22T01:30:00Z")
            self.command("job", "cancel", again["id"])

    def start_blob_store(self):
        if "blob_store" not in self.stack.children:
            self.stack.start("blob_store")

    def test_a_download_leaves_pipes_and_links_what_they_are(self):
        self.start_blob_store()
        self.command("container", "create", "downloads")
        self.command("blob", "upload", "downloads", "b", "--file", "-", stdin="content")
        with tempfile.TemporaryDirectory() as directory:
            pipe, file, link, loose, round_about = (os.path.join(directory, name) for name in
                                                    ("pipe", "file", "link", "loose", "round"))
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, reader)
            self.command("blob", "download", "downloads", "b", "--file", pipe)
            self.assertEqual(os.read(reader, 100), b"content")
            self.assertTrue(stat.S_ISFIFO(os.lstat(pipe).st_mode))
            with open(file, "w") as out:
                out.write("old")
            os.symlink("file", link)
            os.symlink("new", loose)
            os.symlink("round", round_about)
            for name, target in ((link, "file"), (loose, "new")):
                self.command("blob", "download", "downloads", "b", "--file", name)
                self.assertEqual(os.readlink(name), target)
                with open(os.path.join(directory, target)) as written:
                    self.assertEqual(written.read(), "content")
            for wrong in (round_about, directory):
                self.command("blob", "download", "downloads", "b", "--file", wrong, code=1)
            self.assertEqual(sorted(os.listdir(directory)), ["file", "link", "loose", "new", "pipe", "round"])

    def test_plans_are_for_people(self):
        self.fill("Planned", 3)
        self.start_blob_store()
        self.command("container", "create", "photos")
        for arguments, says in (
                (["delete", "--filter", ""], ["delete: 3 entities, ", " bytes, about 0 s", "if it still is the version of 20"]),
                (["delete", "--whole-table"], ["removed together with the table Planned"]),
                (["index", "--property", "Number", "--destination", "Index"], ["list its key in Index under its Number"]),
                (["offload", "--container", "large", "--filter", "", "--min-bytes", "40000"], ["40000 bytes", "large"]),
                (["inline", "--filter", ""], ["put properties back"]),
                (["discard", "--filter", "", "--property", "Photo", "--container", "photos"], ["3 entities", "its Photo names"]),
                (["orphans", "--property", "Photo", "--container", "photos"], ["its Photo names"])):
            plan = self.command("job", "submit", *arguments, "--source", "Planned", "--dry-run").stdout
            for text in says:
                self.assertIn(text, plan)
        plan = self.command("job", "submit", "discard", "--source", "Planned", "--filter", "", "--property", "Photo",
                            "--container", "photoss", "--dry-run", code=1).stdout
        self.assertIn("would fail: The container 'photoss' does not exist.\n", plan)
        self.assertEqual(len(self.tables.scan("Planned")), 3)

    def test_poison_by_the_id_that_the_submission_told(self):
        done = self.command("job", "submit", "delete", "--source", "Missing", "--filter", "", "--wait", code=4).stdout
        job_id = done.split()[0]
        self.assertIn(f"tidemark poison show {job_id}", done)
        wait_until(lambda: any(p["jobId"] == job_id for p in self.api.poison()), "the message's move")
        shown = self.command("poison", "show", job_id).stdout
        self.assertIn('"source": "Missing"', shown)
        self.assertIn("from: tidemark-jobs, sent back 0 times", shown)
        self.command("poison", "delete", job_id)
        self.command("poison", "show", job_id, code=3)

    def test_ctrl_c_ends_the_watching_and_not_the_job(self):
        job_id = self.command("job", "submit", "delete", "--source", "Later", "--filter", "", "--not-before",
                              "2126-01-01").stdout.strip()
        with subprocess.Popen([program("tidemark"), "job", "show", job_id, "--watch"], stderr=subprocess.PIPE, text=True,
                              env=clean_environment(self.environment)) as watching:
            self.assertIn("queued", watching.stderr.readline())
            watching.send_signal(signal.SIGINT)
            self.assertIn(f"tidemark job show {job_id} --watch", watching.stderr.read())
        self.assertEqual(watching.returncode, -signal.SIGINT)
        self.assertEqual(self.api.job(job_id)["state"], "queued")
        self.command("job", "cancel", job_id)

    def test_what_is_exported_is_imported_as_it_was(self):
        entity = {"PartitionKey": "p", "RowKey": "r", "Large": 2**53 + 1, "Least": -2**63, "Small": 5, "Whole": 3.0, "Huge": 1e22,
                  "True": True, "Text": "2", "Guid@odata.type": "Edm.Guid", "Guid": "00000000-0000-0000-0000-000000000001",
                  "Bytes@odata.type": "Edm.Binary", "Bytes": "AAE=", "Time@odata.type": "Edm.DateTime",
                  "Time": "2026-01-01T00:00:00.1234567Z", "Far@odata.type": "Edm.Double", "Far": "Infinity"}
        self.command("table", "import", "ToExport", stdin=json.dumps(entity))
        exported = self.command("--json", "table", "query", "ToExport").stdout
        self.command("table", "import", "ToImport", stdin=exported)
        told = [json.loads(text) for text in (exported, self.command("--json", "table", "query", "ToImport").stdout)]
        expected = entity | {"Large": str(2**53 + 1), "Large@odata.type": "Edm.Int64",
                             "Least": str(-2**63), "Least@odata.type": "Edm.Int64"}
        for one in told:
            self.assertEqual({k: v for k, v in one.items() if k not in ("odata.etag", "Timestamp")}, expected)
            self.assertIsInstance(one["Whole"], float)

    def test_an_import_refuses_what_it_would_change(self):
        for line, why in (('"N":18446744073709551615}', "does not fit into an Int64"), ('"N":184467440737095516150}', "is too large"),
                          ('"N":1,"N":2}', "given twice"), ("rubbish", "is not JSON")):
            refused = self.command("table", "import", "Refused", code=1, stdin='{"PartitionKey":"p","RowKey":"r",' + line)
            self.assertIn(why, refused.stderr)
        self.assertIn("no package", self.command("table", "import", "Refused", "--format", "debian-packages", code=1, stdin="rubbish\n").stderr)
        for arguments in (("table", "query", "Refused", "--top"), ("job", "list", "--limit"), ("poison", "list", "--limit")):
            self.assertIn("-3", self.command(*arguments, "-3", code=2).stderr)

    def test_what_is_not_there_is_named(self):
        for line, code, why in (("table query NotThere", 3, "(table NotThere)"), ("group show no-such", 3, "no-such"),
                                ("entity show NotThere p r", 3, "NotThere"), ("schedule show no-such", 3, "no-such"),
                                ("table import T", 1, '"T" cannot be a table: ')):
            self.assertIn(why, self.command(*line.split(), code=code, stdin="{}").stderr, line)
        self.command("table", "import", "Sparse", stdin='{"PartitionKey":"p","RowKey":"r"}')
        self.assertIn('Table Sparse has no entity with PartitionKey "p" and RowKey "gone"',
                      self.command("entity", "show", "Sparse", "p", "gone", code=3).stderr)
        gone = self.command("--json", "table", "query", "NotThere", code=3)
        self.assertEqual(json.loads(gone.stderr)["error"]["code"], "TableNotFound")

    def test_an_import_tells_what_it_stopped_at(self):
        good = [json.dumps({"PartitionKey": "p", "RowKey": f"{i:03}"}) for i in range(150)]
        bad = json.dumps({"PartitionKey": "p", "RowKey": "bad", "Text": "x" * 40_000})
        failed = self.command("table", "import", "Imported", stdin="\n".join([*good, bad]), code=1)
        self.assertIn('(PartitionKey "p", RowKey "bad") 100 entities were imported before', failed.stderr)
        self.assertEqual(len(self.tables.scan("Imported")), 100)

    def test_a_job_is_watched_with_plain_lines(self):
        self.fill("Watched")
        done = self.command("job", "submit", "delete", "--source", "Watched", "--filter", "", "--wait")
        self.assertNotIn("\r", done.stderr)
        self.assertNotIn("\033", done.stderr)
        self.assertTrue(done.stderr.splitlines()[-1].startswith("succeeded"), done.stderr)
        self.assertIn("done 300", done.stdout)
        job_id = done.stdout.split()[0]
        followed = self.command("--json", "job", "follow", job_id).stdout.splitlines()
        self.assertEqual(json.loads(followed[-1]), self.api.job(job_id))
        self.command("job", "show", "7fffffffffffffff-00000000", "--watch", code=3)
        done = self.command("job", "submit", "delete", "--source", "Missing", "--filter", "", "--wait", code=4)
        self.assertIn("poisoned", done.stderr)

    def test_a_job_is_watched_with_a_bar_on_a_terminal(self):
        self.fill("Barred")
        master, slave = pty.openpty()
        line = [program("tidemark"), "job", "submit", "delete", "--source", "Barred", "--filter", "", "--wait",
                "--max-affected", "300", "--max-per-second", "600"]
        child = subprocess.Popen(line, env=clean_environment(self.environment), stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        shown = b""
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        child.stdout.read()
        child.stdout.close()
        self.assertEqual(child.wait(60), 0)
        os.close(master)
        self.assertIn(b"\r\x1b[K", shown)
        self.assertRegex(shown.decode(), r"\[#{30}\] 300/300")

    def test_watching_survives_a_restart_of_the_api(self):
        self.fill("Restarted")
        line = [program("tidemark"), "--json", "job", "follow",
                self.api.submit({"kind": "delete", "source": "Restarted", "filter": "", "maxPerSecond": 100})]
        child = subprocess.Popen(line, env=clean_environment(self.environment), stdout=subprocess.PIPE, text=True)
        child.stdout.readline()  # it is following
        self.stack.restart("api")
        self.api.close()
        rest = child.stdout.read()
        child.stdout.close()
        self.assertEqual(child.wait(60), 0)
        self.assertEqual(json.loads(rest.splitlines()[-1])["state"], "succeeded")

    def test_many_jobs_from_a_file(self):
        self.fill("Many", 20)
        jobs = [{"kind": "delete", "source": "Many", "partitionKey": "p", "rowKey": f"{i:04}"} for i in range(20)]
        lines = "\n".join(json.dumps(job) for job in jobs[:10]) + "\n"
        first = self.command("job", "submit", "--batch", "--file", "-", stdin=lines).stdout.split()
        rest = json.loads(self.command("--json", "job", "submit", "--batch", "--file", "-",
                                       stdin=json.dumps({"jobs": jobs[10:]})).stdout)["results"]
        ids = first + [result["job"]["id"] for result in rest]
        self.assertEqual(len(set(ids)), 20)
        wait_until(lambda: all(ended(self.api.job(i)) for i in ids), "all of them")
        self.assertEqual(self.tables.scan("Many"), {})
        self.command("job", "submit", "--batch", "--file", "-", stdin="{\n", code=1)
        table = self.rows(self.command("job", "list", "--limit", "0", "--kind", "delete").stdout)
        self.assertEqual(table[0][:3], ["job", "kind", "table"])
        self.assertLessEqual(set(ids), {row[0] for row in table})

    def test_jobs_are_submitted_as_a_group(self):
        self.fill("Grouped", 3)
        jobs = [{"kind": "delete", "source": "Grouped", "partitionKey": "p", "rowKey": f"{i:04}"} for i in range(3)]
        first = self.command("job", "submit", "--batch", "--group", "g1", "--file", "-", stdin=json.dumps(jobs)).stdout
        again = self.command("job", "submit", "--batch", "--file", "-",
                             stdin=json.dumps({"group": "g1", "jobs": jobs})).stdout
        self.assertEqual((first, len(first.split())), (again, 3))
        wait_until(lambda: self.tables.scan("Grouped") == {}, "all of them")

        def counted():
            titles, row = self.rows(self.command("group", "show", "g1").stdout)
            return dict(zip(titles, row)) if "ended" in titles and len(row) == len(titles) else None
        shown = wait_until(counted, "the group's end")
        self.assertEqual((shown["group"], shown["jobs"], shown["succeeded"]), ("g1", "3", "3"))

    def test_new_keys_and_what_follows(self):
        self.fill("Moving", 3)
        then = {"kind": "delete", "source": "Moving", "partitionKey": "p", "rowKey": "0001"}
        submit = ["job", "submit", "rekey", "--source", "Moving", "--partition-key", "p", "--row-key", "0000",
                  "--new-partition-key", "{Team}", "--set", "Team=blue", "--set", "Size=3", "--then", json.dumps(then)]
        self.assertIn("blue / 0000", self.command(*submit, "--dry-run").stdout)
        shown = json.loads(self.command("--json", *submit, "--wait").stdout)
        self.assertEqual(shown["spec"]["entity"], {"partitionKey": "p", "rowKey": "0000"})
        self.assertEqual((shown["spec"]["set"], shown["spec"]["then"]["kind"]), ({"Team": "blue", "Size": 3}, "delete"))
        merge = ["job", "submit", "merge", "--source", "Moving", "--filter", "", "--set", "Name=a=b"]
        self.command(*merge, "--wait")
        wrong = self.command("job", "submit", "merge", "--source", "Moving", "--filter", "", "--set", "Name", code=2)
        self.assertIn("NAME=VALUE", wrong.stderr)
        self.command("schedule", "put", "dropping", "delete", "--cron", "0 3 * * *", "--source",
                     "Log{today-1d:yyyyMMdd}", "--whole-table")
        self.command("schedule", "delete", "dropping")

    def test_schedules_and_explain(self):
        self.fill("Daily", 3)
        put = ["schedule", "put", "daily", "archive", "--cron", "0 3 * * *", "--time-zone", "Europe/Berlin", "--source",
               "Daily", "--destination", "DailyArchive", "--filter", "Number lt 2", "--overlap", "wait"]
        self.command(*put, "--create")
        self.assertIn("already", self.command(*put, "--create", code=1).stderr)
        self.command(*put, "--max-late-s", "60")
        titles, row = self.rows(self.command("schedule", "list").stdout)
        self.assertEqual((titles[0], row[:5]), ("schedule", ["daily", "active", "0 3 * * *", "Europe/Berlin", "archive"]))
        told = self.command("explain", "Daily", "p", "0000").stdout
        self.assertIn("schedule daily would archive it from table Daily at ", told)
        job_id = self.command("schedule", "run", "daily").stdout.strip()
        self.command("job", "show", job_id, "--watch")
        told = self.command("explain", "Daily", "p", "0000").stdout
        self.assertRegex(told, r"table DailyArchive +p +0000 +present.*" + job_id)
        self.assertRegex(told, r"table Daily +p +0000 +absent")
        self.assertIn("paused", self.command("schedule", "pause", "daily").stdout)
        self.assertIn("active", self.command("schedule", "resume", "daily").stdout)
        definition = json.loads(self.command("--json", "schedule", "show", "daily").stdout)
        self.assertEqual((definition["maxLateSeconds"], definition["lastRun"]["job"]), (60, job_id))
        due = tidemark("schedule", "run", "daily", "--due", "2026-03-28 02:30",
                       environment={**self.environment, "TZ": "XXX-5:30"}).stdout.strip()
        self.assertEqual(self.api.job(due)["spec"]["idempotencyKey"], "schedule:daily:2026-03-27T21:00:00Z")
        self.command("schedule", "delete", "daily")
        self.command("schedule", "show", "daily", code=3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
