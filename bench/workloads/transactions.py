"""Transactions over several partitions and tables: many at once, with a message, and how soon one has ended."""
import statistics

from harness import azure
from harness.workload import Expectation, Measurement, Subject, Workload
from systems.postgres import Postgres
from systems.stack import Jobs, Stack
from workloads.jobs import seconds_of

ACCOUNTS = 20_000

# The same work in SQL: the guard, two sums and a row, in one transaction.
SQL = """\\set payer random(1, 20000)
\\set receiver random(1, 20000)
BEGIN;
SELECT cents FROM accounts WHERE id = :payer AND cents >= 1 FOR UPDATE;
UPDATE accounts SET cents = cents - 1 WHERE id = :payer;
UPDATE accounts SET cents = cents + 1 WHERE id = :receiver;
INSERT INTO audit (payer, receiver, cents) VALUES (:payer, :receiver, 1);
COMMIT;
"""


def account(number):
    partition, row = azure.keys_of(number, 100)
    return {"table": "Accounts", "partitionKey": partition, "rowKey": row}


def transfer(number, message=False):
    """Neighbours in a run touch different accounts, as those of random pairs nearly always do."""
    payer, receiver = account(number * 7919 % ACCOUNTS), account((number * 104_729 + 1) % ACCOUNTS)
    steps = [{"merge": {"of": "p", "add": {"Cents": -1}}}, {"merge": {**receiver, "orInsert": True, "add": {"Cents": 1}}},
             {"insert": {"table": "Audit", "partitionKey": "{job.id}", "rowKey": "", "entity": {"Cents": 1}}}]
    if message:
        steps.append({"message": {"queue": "told", "text": "{job.id}"}})
    return {"kind": "transaction", "guards": [{"as": "p", **payer}], "steps": steps}


class Tables(Workload):
    name, unit = "transaction-tables", "transactions/s"
    title = ("a guard and three changes in three partitions of two tables, from the first start to the last end, beside the same "
             "in one PostgreSQL transaction by pgbench")
    subjects = [Subject("tidemark", Stack), Subject("postgres", Postgres)]
    expectations = [Expectation("tidemark", ">=", 10_000, unit="transactions/s"), Expectation("tidemark", None, 0, "postgres")]
    message = False

    def prepare(self, system, subject):
        self.jobs = self.options.seconds * 2_000
        if subject.system is Postgres:
            system.sql("CREATE TABLE accounts (id int PRIMARY KEY, cents bigint NOT NULL)")
            system.sql(f"INSERT INTO accounts SELECT n, 1000000 FROM generate_series(1, {ACCOUNTS}) n")
            system.sql("CREATE TABLE audit (id bigserial PRIMARY KEY, payer int, receiver int, cents bigint)")
            system.sql("VACUUM ANALYZE")
            return
        azure.fill_table(system.table, "Accounts", ACCOUNTS, 100)
        azure.create_table(system.table, "Audit")
        if self.message:
            Jobs(system).call("PUT", "/v1/queues/told", {})

    def measure(self, system, subject, repeat):
        if subject.system is Postgres:
            return system.pgbench(SQL, self.options)
        jobs = Jobs(system)
        ids = jobs.submit_all(transfer((repeat - 1) * self.jobs + number, self.message) for number in range(self.jobs))
        system.start_workers()
        jobs.await_empty_queue()
        records = [jobs.await_succeeded(job) for job in ids]
        system.stop_workers()
        begin = min(seconds_of(record["startedAt"]) for record in records)
        end = max(seconds_of(record["finishedAt"]) for record in records)
        audited = azure.scan(azure.Connection(system.table), "Audit", "Cents eq 1")
        return Measurement(self.jobs / (end - begin), abs(audited - repeat * self.jobs), detail={"jobs": self.jobs})


class WithMessage(Tables):
    name = "transaction-message"
    title = "the same with a message, which takes a commit of another store"
    subjects = [Subject("tidemark", Stack)]
    expectations = [Expectation("tidemark", ">=", 3_000, unit="transactions/s")]
    message = True


class End(Workload):
    name, unit = "transaction-end", "ms from accepted to ended, median"
    title = "200 transactions of three changes, one after another, on an idle stack; the times are those in the job's record"
    subjects = [Subject("tidemark", Stack)]
    expectations = [Expectation("tidemark", "<=", 5, unit="ms"), Expectation("tidemark", "<=", 25, unit="ms", figure="p99_ms")]
    count = 200

    def prepare(self, system, subject):
        azure.fill_table(system.table, "Accounts", ACCOUNTS, 100)
        azure.create_table(system.table, "Audit")
        system.start_workers()

    def measure(self, system, subject, repeat):
        jobs = Jobs(system)
        times = []
        for number in range(self.count):
            record = jobs.await_succeeded(jobs.submit(**transfer(repeat * self.count + number)))
            times.append((seconds_of(record["finishedAt"]) - seconds_of(record["submittedAt"])) * 1000)
        times.sort()
        return Measurement(statistics.median(times), 0, times[len(times) // 2], times[len(times) * 99 // 100])


ALL = [Tables, WithMessage, End]
