"""Durable writes to tables."""
from harness import azure
from harness.workload import Expectation, Subject, Workload
from harness.wrk import wrk
from systems.azurite import Azurite
from systems.postgres import Postgres
from systems.tidemark import Tidemark

TABLE = "Bench"
PATH = f"/{azure.ACCOUNT}/{TABLE}"
CREATE = "CREATE TABLE entities (pk text NOT NULL, rk text NOT NULL, body text NOT NULL, PRIMARY KEY (pk, rk))"
BODY = azure.random_text(1024, "body")


def fill(postgres):
    """10,000 rows, with the keys 1 to 100."""
    postgres.sql(CREATE)
    postgres.sql(f"INSERT INTO entities SELECT p::text, r::text, '{BODY}' "
                 "FROM generate_series(1, 100) p, generate_series(1, 100) r")
    postgres.sql("VACUUM ANALYZE entities")


class Insert(Workload):
    name, unit = "table-insert", "inserts/s"
    title = "insert of an entity of 1 KiB under a new key; PostgreSQL does the same by pgbench"
    subjects = [Subject("tidemark", Tidemark), Subject("postgres", Postgres)]
    expectations = [Expectation("tidemark", ">=", 1.5, "postgres")]
    # The keys are parameters of the prepared statement, as is the body: nothing is computed by the server.
    script = "\\set row :row + 1\nINSERT INTO entities VALUES (:client_id, :row, :body);\n"

    def prepare(self, system, subject):
        if subject.system is Postgres:
            system.sql(CREATE)
        else:
            azure.create_table(system.table, TABLE)

    def measure(self, system, subject, repeat):
        if subject.system is Postgres:
            return system.pgbench(self.script, self.options, row=repeat * 1_000_000_000, body=BODY)
        return wrk(system, system.table, "insert", PATH, repeat, self.options)


class Upsert(Workload):
    name, unit = "table-upsert", "upserts/s"
    title = "insert or replace of an entity of 1 KiB, at random over 10,000 keys that exist"
    subjects = [Subject("tidemark", Tidemark), Subject("postgres", Postgres), Subject("azurite", Azurite)]
    expectations = [Expectation("tidemark", ">=", 1.5, "postgres")]
    entities, per_partition = 10_000, 100
    script = ("\\set pk random(1, 100)\n\\set rk random(1, 100)\nINSERT INTO entities VALUES (:pk, :rk, :body) "
              "ON CONFLICT (pk, rk) DO UPDATE SET body = excluded.body;\n")

    def prepare(self, system, subject):
        if subject.system is Postgres:
            fill(system)
        else:
            azure.fill_table(system.table, TABLE, self.entities, self.per_partition)

    def measure(self, system, subject, repeat):
        if subject.system is Postgres:
            return system.pgbench(self.script, self.options, body=BODY)
        return wrk(system, system.table, "upsert", PATH, repeat, self.options, entities=self.entities,
                   perpartition=self.per_partition)


class Group(Workload):
    name, unit = "table-group", "entities/s"
    title = "entity group transactions of 100 entities of 1 KiB (insert or replace), all into one partition"
    subjects = [Subject("tidemark", Tidemark)]
    expectations = [Expectation("tidemark", ">=", 20_000, unit="entities/s")]

    def prepare(self, system, subject):
        azure.create_table(system.table, TABLE)

    def measure(self, system, subject, repeat):
        return wrk(system, system.table, "group", PATH, repeat, self.options, perpartition=10**9)


class Partitions(Workload):
    name, unit = "table-hot", "upserts/s"
    title = "insert or replace at random over 100,000 keys of one partition, and of 1,000 partitions"
    subjects = [Subject("1 partition", Tidemark, {"partitions": 1}),
                Subject("1,000 partitions", Tidemark, {"partitions": 1_000})]
    expectations = [Expectation("1 partition", ">=", 0.667, "1,000 partitions")]
    entities = 100_000

    def prepare(self, system, subject):
        azure.create_table(system.table, TABLE)

    def measure(self, system, subject, repeat):
        return wrk(system, system.table, "upsert", PATH, repeat, self.options, entities=self.entities,
                   perpartition=self.entities // subject.settings["partitions"])


ALL = [Insert, Upsert, Group, Partitions]
