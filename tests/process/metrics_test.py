"""The metrics of the processes: each one is documented, and monitoring/ uses none that does not exist."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, BlobClient, HttpClient, QueueClient, TableClient, ended, job_if_known  # noqa: E402
from stack import SOURCE, StackTest, wait_until  # noqa: E402

MONITORING = os.path.join(SOURCE, "monitoring")
PROMETHEUS_OWN = {"up"}  # series that Prometheus itself makes for a target
NAME = re.compile(r"\b(?:tidemark|process)_[a-z0-9_]+\b")


def read(*path):
    with open(os.path.join(SOURCE, *path)) as file:
        return file.read()


def names_in(expression):
    """Returns the metrics that a PromQL expression names: words before a selector or an operator, without label
    names."""
    without_labels = re.sub(r"\{[^}]*\}", "", re.sub(r'"[^"]*"', '""', expression))
    without_labels = re.sub(r"\b(by|without|on|ignoring)\s*\([^)]*\)", "", without_labels)
    return set(NAME.findall(without_labels))


def label_names_in(expression):
    return {(metric, label) for metric, selector in re.findall(r"([a-z_]+)\{([^}]*)\}", expression)
            for label in re.findall(r"([a-z_]+)\s*[!=]", selector)}


class MetricsTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.start("table_store", "--metrics-max-names", "3")
        cls.stack.start("queue_service")
        cls.stack.start("blob_store")
        cls.stack.start("api")
        worker = cls.stack.start_worker("worker", "--metrics", "--poll-s", "1")
        cls.ports = dict(cls.stack.ports, worker=int(worker.ready["metrics_port"]))
        cls.tables = TableClient(cls.ports["table_store"])
        cls.queues = QueueClient(cls.ports["queue_service"])
        cls.blobs = BlobClient(cls.ports["blob_store"])
        cls.api = ApiClient(cls.ports["api"])
        cls.use_everything()

    @classmethod
    def use_everything(cls):
        cls.tables.create_table("People")
        for i in range(40):
            cls.tables.put("People", {"PartitionKey": "p", "RowKey": str(i)})
            cls.tables.get("People", "p", str(i))
        cls.queues.create("letters")
        cls.queues.put("letters", "hello")
        cls.blobs.create_container("pictures")
        cls.blobs.put("pictures", "one", b"x" * 1000)
        cls.api.call("PUT", "/v1/tables/People/feed", {})
        cls.api.call("PUT", "/v1/tables/People/consumers/readers", {})
        cls.api.call("PUT", "/v1/tables/People/onChange/told", {"queue": "letters"})
        cls.api.call("PUT", "/v1/kinds/resize", {})
        own = cls.api.submit({"kind": "resize"})
        claimed = cls.api.call("POST", "/v1/work/claim", {"worker": "w", "kinds": ["resize"], "count": 1, "wait": 30})["jobs"]
        cls.api.call("POST", "/v1/work/end", {"worker": "w", "jobs": [{"id": own, "epoch": claimed[0]["epoch"], "result": 1}]})
        job = cls.api.submit({"kind": "delete", "source": "People", "partitionKey": "p", "rowKey": "3"})
        wait_until(lambda: (found := job_if_known(cls.api, job)) and ended(found), "the job")
        wait_until(lambda: 'kind="delete"' in cls.metrics_of("worker"), "the delivery is counted")
        wait_until(lambda: "tidemark_on_change_stopped{" in cls.metrics_of("api"), "metrics of what follows a table")

    @classmethod
    def metrics_of(cls, program):
        return HttpClient(cls.ports[program]).ask("GET", "/metrics")[1].decode()

    def text(self, program):
        return self.metrics_of(program)

    def all_types(self):
        """Returns the type of each metric by its name."""
        return {name: kind for program in self.ports
                for name, kind in re.findall(r"(?m)^# TYPE (\S+) (\S+)$", self.text(program))}

    def series(self, types):
        """Returns the names that a query may use."""
        out = set()
        for name, kind in types.items():
            out |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
        return out

    def test_every_metric_is_documented_and_the_other_way_round(self):
        watching = read("docs", "watch.md").split("\n## Health and metrics\n")[1].split("\n## ")[0]
        cells = [line.split("|")[1] for line in watching.splitlines() if line.startswith("| `")]
        documented = set(NAME.findall(" ".join(cells)))
        present = set(self.all_types())
        self.assertEqual(present - documented, set(), "not in docs/watch.md")
        not_here = ("`engine=postgres`", "`share_shards`")
        elsewhere = set(NAME.findall(" ".join(cell for cell in cells if any(setting in cell for setting in not_here))))
        self.assertEqual(documented - present, elsewhere, "documented, but no process has it")

    def test_every_metric_says_what_it_is(self):
        for program in self.ports:
            text = self.text(program)
            for name in re.findall(r"(?m)^# TYPE (\S+) ", text):
                self.assertRegex(text, rf"(?m)^# HELP {name} \S+", program)
            names = re.findall(r"(?m)^# TYPE (\S+) ", text)
            self.assertEqual(len(names), len(set(names)), f"{program} has a metric twice")

    def test_alerts_use_what_is_there_and_are_documented(self):
        text = read("monitoring", "alerts.yaml")
        types = self.all_types()
        expressions = re.findall(r"(?ms)^        expr: (?:>-\s*)?(.*?)^        \w", text)
        alerts = re.findall(r"(?m)^      - alert: (\w+)", text)
        self.assertEqual(len(expressions), len(alerts))
        for expression in expressions:
            self.assertLessEqual(names_in(expression), self.series(types) | PROMETHEUS_OWN, expression)
        told = re.findall(r"(?m)^\| `(Tidemark\w+)`", read("docs", "watch.md"))
        self.assertEqual(sorted(told), sorted(alerts))

    def test_the_dashboard_uses_what_is_there(self):
        panels = json.loads(read("monitoring", "grafana", "dashboard.json"))["panels"]
        expressions = [target["expr"] for panel in panels for target in panel.get("targets", ())]
        self.assertGreater(len(expressions), 20)
        available = self.series(self.all_types())
        for expression in expressions:
            self.assertTrue(names_in(expression), expression)
            self.assertLessEqual(names_in(expression), available, expression)

    def test_labels_of_selectors_are_there(self):
        panels = json.loads(read("monitoring", "grafana", "dashboard.json"))["panels"]
        expressions = [target["expr"] for panel in panels for target in panel.get("targets", ())]
        text = "\n".join(self.text(program) for program in self.ports)
        own = {"job", "program", "instance"}  # Prometheus adds these
        for metric, label in label_names_in("\n".join([*expressions, read("monitoring", "alerts.yaml")])):
            if label in own or not re.search(rf"(?m)^{metric}\{{", text):
                continue
            self.assertRegex(text, rf'(?m)^{metric}\{{[^}}]*\b{label}="', metric)

    @unittest.skipUnless(os.environ.get("TIDEMARK_PROMTOOL") or shutil.which("promtool"),
                         "promtool is not installed (Debian's package prometheus has it)")
    def test_promtool_accepts_the_rules(self):
        tool = os.environ.get("TIDEMARK_PROMTOOL") or shutil.which("promtool")
        for arguments in (["check", "rules", "alerts.yaml"], ["check", "config", "--syntax-only", "prometheus.yml"]):
            done = subprocess.run([tool, *arguments], cwd=MONITORING, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for program, port in self.ports.items():
            text = HttpClient(port).ask("GET", "/metrics")[1]
            done = subprocess.run([tool, "check", "metrics"], input=text, capture_output=True, timeout=60)
            self.assertNotIn(b"error", done.stderr.lower(), program)

    def test_requests_are_measured_by_operation_and_by_name(self):
        tables = self.text("table_store")
        self.assertRegex(tables, r'tidemark_http_request_duration_seconds_count\{operation="QueryEntity",status="2xx"\} 4\d')
        self.assertRegex(tables, r'tidemark_table_requests_total\{account="devstoreaccount1",table="people",access="read",status="2xx"\} 4\d')
        self.assertRegex(self.text("queue_service"), r'tidemark_queue_requests_total\{account="devstoreaccount1",queue="letters",access="write"')
        self.assertRegex(self.text("blob_store"), r'tidemark_container_requests_total\{account="devstoreaccount1",container="pictures",access="write"')
        self.assertRegex(self.text("api"), r'tidemark_http_request_duration_seconds_count\{operation="POST v1/jobs",status="2xx"\} [1-9]')
        self.assertRegex(self.text("worker"), r'tidemark_job_deliveries_total\{end="succeeded",kind="delete"\} [1-9]'
                                              r'|tidemark_job_deliveries_total\{kind="delete",end="succeeded"\} [1-9]')

    def test_strangers_and_names_that_are_not_there_make_no_series(self):
        stranger = HttpClient(self.ports["table_store"])
        for i in range(30):
            stranger.send("GET", f"/devstoreaccount1/stranger{i}()")
            self.assertIsNone(self.tables.get(f"absent{i}", "p", "r"))
        text = self.text("table_store")
        self.assertNotIn("stranger", text)
        self.assertNotIn("absent", text)

    def test_the_number_of_names_is_bounded(self):
        for i in range(8):
            self.tables.create_table(f"Bounded{i}")
            for _ in range(i):
                self.tables.put(f"Bounded{i}", {"PartitionKey": "p", "RowKey": "r"})
        text = self.text("table_store")
        named = set(re.findall(r'tidemark_table_requests_total\{account="\w*",table="([^"]+)"', text))
        self.assertEqual(len(named), 4, named)
        self.assertIn("(other)", named)

    def test_the_database_measures_itself(self):
        text = self.text("table_store")
        for metric in ("tidemark_database_group_transactions_count", "tidemark_database_log_sync_seconds_count",
                       "tidemark_database_log_bytes_total", "tidemark_database_transaction_wait_seconds_count"):
            self.assertGreater(float(re.search(rf"(?m)^{metric} (\S+)$", text)[1]), 40, metric)
        self.assertRegex(text, r'tidemark_database_memtable_lookups_total\{outcome="hit"\} [1-9]')


if __name__ == "__main__":
    unittest.main()
