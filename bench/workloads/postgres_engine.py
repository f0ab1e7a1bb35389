"""Stores that keep their rows in PostgreSQL, beside PostgreSQL itself and beside the embedded engine."""
from harness.workload import Expectation, Subject
from harness.wrk import wrk
from systems.postgres import Postgres
from systems.postgres_engine import TidemarkInPostgres, TidemarkShardsInPostgres
from systems.tidemark import Tidemark
from workloads import queue_histories, queues, table_reads, table_writes

ENGINE = "postgres-engine"


class Writes(table_writes.Upsert):
    name = "postgres-upsert"
    title = ("insert or replace of an entity of 1 KiB at random over 10,000 keys; groups: 100 of them in one transaction, "
             "all into one partition; groups, 2 shards: each into a partition of its own")
    unit = "entities/s"
    subjects = [Subject(ENGINE, TidemarkInPostgres), Subject("groups", TidemarkInPostgres),
                Subject("groups, 2 shards", TidemarkShardsInPostgres), Subject("postgres", Postgres)]
    expectations = [Expectation(ENGINE, ">=", 1, "postgres"), Expectation("groups", ">=", 3, "postgres"),
                    Expectation("groups, 2 shards", ">=", 3, "postgres")]

    def measure(self, system, subject, repeat):
        if not subject.label.startswith("groups"):
            return super().measure(system, subject, repeat)
        per_partition = 10**9 if subject.label == "groups" else 100
        return wrk(system, system.table, "group", table_writes.PATH, repeat, self.options, perpartition=per_partition)


class Reads(table_reads.Read):
    name = "postgres-read"
    title = "one of 10,000 entities of 1 KiB, at random: GET, and SELECT by pgbench"
    subjects = [Subject(ENGINE, TidemarkInPostgres), Subject("postgres", Postgres)]
    expectations = [Expectation(ENGINE, ">=", 0.5, "postgres")]
    script = "\\set pk random(1, 100)\n\\set rk random(1, 100)\nSELECT body FROM entities WHERE pk = :pk AND rk = :rk;\n"

    def prepare(self, system, subject):
        if subject.system is Postgres:
            table_writes.fill(system)
        else:
            super().prepare(system, subject)

    def measure(self, system, subject, repeat):
        if subject.system is Postgres:
            return system.pgbench(self.script, self.options)
        return super().measure(system, subject, repeat)


class Cycle(queues.Cycle):
    name = "postgres-cycle"
    subjects = [Subject(ENGINE, TidemarkInPostgres), Subject("tidemark", Tidemark)]
    expectations = [Expectation(ENGINE, ">=", 0.3, "tidemark")]


class Past(queue_histories.Past):
    name = "postgres-past"
    subjects = [Subject("fresh", TidemarkInPostgres), Subject("after many", TidemarkInPostgres)]
    expectations = [Expectation("after many", ">=", 1 / 1.2, "fresh")]


class PastBesideTransaction(Past):
    """A transaction that stays open keeps PostgreSQL from removing rows that were deleted since it began."""
    name = "postgres-past-open"
    title = Past.title + "; beside a transaction that stays open"

    def prepare(self, system, subject):
        system.database.hold_snapshot()
        super().prepare(system, subject)


ALL = [Writes, Reads, Cycle, Past, PastBesideTransaction]
