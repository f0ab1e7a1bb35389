"""Kinds of one's own, whose jobs are claimed and ended over HTTP: how many, how soon one starts, how soon one hears that it
was cancelled; and the jobs that rules make of changes."""
import concurrent.futures
import http.client
import json
import statistics
import threading
import time

from harness import azure
from harness.processes import await_true
from harness.workload import Aspect, Expectation, Measurement, Subject, Workload
from harness.wrk import wrk
from systems.followed import Followed
from systems.graphile import Graphile
from systems.stack import Jobs, Stack
from workloads.jobs import seconds_of

KIND = "bench"
WAIT_S = 300.0


def quantiles(times_ms, failures=0):
    times_ms = sorted(times_ms)
    return Measurement(statistics.median(times_ms), failures, times_ms[len(times_ms) // 2], times_ms[len(times_ms) * 99 // 100])


class Ends(Workload):
    name, unit = "own-kind", "jobs/s"
    title = "jobs of a kind of one's own, claimed and ended by one process with 64 requests under way; all wait at the start"
    subjects = [Subject("singly", Stack, {"count": 1, "enough": 6_000}), Subject("50 together", Stack, {"count": 50, "enough": 25_000}),
                Subject("graphile", Graphile, {"enough": 12_000})]  # its worker takes up to 500 together
    expectations = [Expectation("singly", ">=", 5_000, unit="jobs/s"), Expectation("50 together", ">=", 20_000, unit="jobs/s")]

    def prepare(self, system, subject):
        if subject.system is Graphile:
            system.run("migrate")
        else:
            Jobs(system).call("PUT", f"/v1/kinds/{KIND}", {"leaseSeconds": 60})

    def measure(self, system, subject, repeat):
        jobs = self.options.seconds * subject.settings["enough"]
        if subject.system is Graphile:
            system.sql(f"SELECT count(graphile_worker.add_job('archive', json_build_object('n', n))) FROM generate_series(1, {jobs}) n")
            system.sql("VACUUM ANALYZE")
            result = system.run("run", str(jobs), "nothing")
            return Measurement(jobs / result["seconds"], int(system.sql("SELECT count(*) FROM graphile_worker.jobs")), detail=result)
        Jobs(system).submit_all({"kind": KIND, "input": number} for number in range(jobs))
        result = wrk(system, system.api, "work", "/", repeat, self.options, token=system.token, kind=KIND, count=subject.settings["count"])
        result.p50_ms = result.p99_ms = None  # a claim that waits for a job is not slow
        return result


class Worker:
    """A worker of one's own that claims jobs one by one, in a thread; `take(job)` ends or keeps it."""

    def __init__(self, system, take):
        self.system, self.take, self.stopping = system, take, threading.Event()
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.running = pool.submit(self.run)
        pool.shutdown(wait=False)

    def run(self):
        jobs = Jobs(self.system)
        while not self.stopping.is_set():
            for job in jobs.call("POST", "/v1/work/claim", {"worker": "w", "kinds": [KIND], "count": 1, "wait": 1})["jobs"]:
                self.take(jobs, job)

    def stop(self):
        self.stopping.set()
        self.running.result()


def end(jobs, job):
    jobs.call("POST", "/v1/work/end", {"worker": "w", "jobs": [{"id": job["id"], "epoch": job["epoch"], "result": {}}]})


class Wake(Workload):
    name, unit = "own-kind-start", "ms from accepted to started, median"
    title = "200 jobs of a kind of one's own, one after another, for a worker that waits; the times are those in the job's record"
    subjects = [Subject("tidemark", Stack)]
    expectations = [Expectation("tidemark", "<=", 2, unit="ms")]
    count = 200

    def prepare(self, system, subject):
        Jobs(system).call("PUT", f"/v1/kinds/{KIND}", {})

    def measure(self, system, subject, repeat):
        worker, jobs, times = Worker(system, end), Jobs(system), []
        try:
            for _ in range(self.count):
                record = jobs.await_succeeded(jobs.submit(kind=KIND))
                times.append((seconds_of(record["startedAt"]) - seconds_of(record["submittedAt"])) * 1000)
        finally:
            worker.stop()
        return quantiles(times)


class Cancel(Workload):
    name, unit = "own-kind-cancel", "ms until a worker hears of it, median"
    title = "100 running jobs of a kind of one's own are cancelled, one after another; from the request to the event at the worker"
    subjects = [Subject("tidemark", Stack)]
    expectations = [Expectation("tidemark", "<=", 1_000, figure="p99_ms", unit="ms")]
    count = 100

    def prepare(self, system, subject):
        Jobs(system).call("PUT", f"/v1/kinds/{KIND}", {"leaseSeconds": 300})

    def measure(self, system, subject, repeat):
        jobs, times = Jobs(system), []
        stream = http.client.HTTPConnection("127.0.0.1", system.api, timeout=30)
        stream.request("GET", "/v1/work/events?worker=w", headers=jobs.headers)
        lines = iter(stream.getresponse())
        for _ in range(self.count):
            submitted = jobs.submit(kind=KIND)
            claimed = jobs.call("POST", "/v1/work/claim", {"worker": "w", "kinds": [KIND], "count": 1, "wait": 5})["jobs"]
            if [job["id"] for job in claimed] != [submitted]:
                raise RuntimeError(f"claimed {claimed} instead of {submitted}")
            asked = time.perf_counter()
            jobs.call("POST", f"/v1/jobs/{submitted}/cancel", {})
            while submitted.encode() not in next(lines):
                pass
            times.append((time.perf_counter() - asked) * 1000)
        stream.close()
        return quantiles(times)


RULE = {"filter": "State eq 'paid'", "job": {"kind": KIND, "version": 1, "input": {"order": "{new.RowKey}"}}}


def follow(system, table, rules):
    """Makes the table with a feed and these rules."""
    azure.create_table(system.table, table)
    jobs = Jobs(system)
    jobs.call("PUT", f"/v1/tables/{table}/feed", {"values": "both"})
    for name, rule in rules.items():
        jobs.call("PUT", f"/v1/tables/{table}/onChange/{name}", rule)


def await_rules(system, table):
    """Waits until the rules have looked at all changes."""
    jobs = Jobs(system)

    def caught_up():
        return all(rule.get("lag", {}).get("changes") == 0 for rule in jobs.call("GET", f"/v1/tables/{table}/onChange")["onChange"])
    await_true(caught_up, "the rules to catch up", WAIT_S)


class RuleJobs(Workload):
    name, unit = "rule-jobs", "jobs/s"
    title = "entities that a rule makes jobs of, written 100 together, from the first write until the rule is not behind any more"
    subjects = [Subject("tidemark", Followed)]
    expectations = [Expectation("tidemark", ">=", 5_000, unit="jobs/s")]

    def prepare(self, system, subject):
        Jobs(system).call("PUT", f"/v1/kinds/{KIND}", {})

    def measure(self, system, subject, repeat):
        table, count = f"Orders{repeat}", self.options.seconds * 4_000
        follow(system, table, {"ship": RULE})
        await_rules(system, table)
        before = self.jobs_that_wait(system)
        begin = time.perf_counter()
        azure.write_groups(system.table, table, count, 100, lambda number: '{"State":"paid"}')
        await_rules(system, table)
        took = time.perf_counter() - begin
        made = self.jobs_that_wait(system) - before
        return Measurement(count / took, abs(count - made), detail={"jobs": made})

    @staticmethod
    def jobs_that_wait(system):
        return sum(version["queued"] for version in Jobs(system).call("GET", f"/v1/kinds/{KIND}")["own"]["versions"])


class RuleStart(Workload):
    name, unit = "rule-start", "ms from written to started, median"
    title = "200 entities, one after another, that a rule makes jobs of; from the answer to the write until a worker has the job"
    subjects = [Subject("tidemark", Followed)]
    expectations = [Expectation("tidemark", "<=", 10, unit="ms")]
    count = 200

    def prepare(self, system, subject):
        Jobs(system).call("PUT", f"/v1/kinds/{KIND}", {})
        follow(system, "Orders", {"ship": RULE})

    def measure(self, system, subject, repeat):
        started, arrived = {}, threading.Event()

        def take(jobs, job):
            started[job["input"]["order"]] = time.perf_counter()
            arrived.set()
            end(jobs, job)

        worker, writer, times = Worker(system, take), azure.Connection(system.table), []
        try:
            for number in range(self.count):
                row = f"{repeat}-{number}"
                arrived.clear()
                writer.call("PUT", f"Orders(PartitionKey='p',RowKey='{row}')", json.dumps({"State": "paid"}), azure.JSON_HEADERS)
                answered = time.perf_counter()
                if not arrived.wait(30) or row not in started:
                    raise RuntimeError(f"no job for {row}")
                times.append((started[row] - answered) * 1000)
        finally:
            worker.stop()
        return quantiles(times)


class RuleWrites(Workload):
    name, unit = "rule-writes", "upserts/s"
    title = "insert or replace of an entity of 1 KiB, at random over 10,000 that exist, while 200 rules look on that never match"
    subjects = [Subject("no feed", Followed, {"rules": None}), Subject("a feed", Followed, {"rules": 0}),
                Subject("200 rules", Followed, {"rules": 200})]
    expectations = [Expectation("200 rules", ">=", 0.9, "a feed"), Expectation("200 rules", None, 0, "no feed")]
    aspects = [Aspect("rule-catch-up", "from the end of these writes until no rule is behind", "s", "caught_up_s", [])]
    entities = 10_000

    def prepare(self, system, subject):
        rules = subject.settings["rules"]
        if rules is None:
            azure.create_table(system.table, "Bench")
        else:
            Jobs(system).call("PUT", f"/v1/kinds/{KIND}", {})
            never = {**RULE, "filter": "Data eq 'never'", "job": {"kind": KIND, "version": 1}}
            follow(system, "Bench", {f"r{number}": never for number in range(rules)})
        azure.write_groups(system.table, "Bench", self.entities, 100)

    def measure(self, system, subject, repeat):
        if subject.settings["rules"]:
            await_rules(system, "Bench")
        result = wrk(system, system.table, "upsert", f"/{azure.ACCOUNT}/Bench", repeat, self.options, entities=self.entities,
                     perpartition=100)
        if subject.settings["rules"]:
            ended = time.perf_counter()
            await_rules(system, "Bench")
            result.detail["caught_up_s"] = time.perf_counter() - ended
        return result


ALL = [Ends, Wake, Cancel, RuleJobs, RuleStart, RuleWrites]
