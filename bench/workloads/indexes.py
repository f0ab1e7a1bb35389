"""Indexes that follow every write: how far behind, what they cost the writes, and how fast they are built and read. Each
figure beside the one without an index, and beside a PostgreSQL whose triggers keep the same rows (followers.sql).
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import time

from harness import azure, machine
from harness.processes import await_true
from harness.workload import Aspect, Expectation, Measurement, Subject, Workload
from harness.wrk import THREADS, wrk
from systems.followed import Followed
from systems.postgres import Postgres
from systems.stack import Jobs

TABLE = "Bench"
PATH = f"/{azure.ACCOUNT}/{TABLE}"
ENTITIES, PER_PARTITION, GROUPS = 10_000, 100, 1_000
DATA_LENGTH = 1024 - len('{"Group":"g0000","Size":1000,"Data":""}')
TEXT = azure.random_text(2**20, "text")
ONE, THREE = ("lists",), ("lists", "copies", "summary")
BUILT_LIMIT_S = 7200.0


def body_of(number, groups=GROUPS):
    """1 KiB, as in wrk/moves.lua. Neighbours are in different groups and have nothing in common that could be compressed."""
    begin = number * DATA_LENGTH % (len(TEXT) - DATA_LENGTH)
    return (f'{{"Group":"g{number % groups:04d}","Size":{1000 + number % 9000},'
            f'"Data":"{TEXT[begin:begin + DATA_LENGTH]}"}}')


def changed(options, **what):
    return argparse.Namespace(**vars(options) | what)


def fill_postgres(system, count):
    """Inserts as many rows as there are entities, in as many groups."""
    with open(os.path.join(os.path.dirname(__file__), "followers.sql"), encoding="ascii") as file:
        system.sql(file.read())
    system.sql(f"INSERT INTO entities SELECT (n / {PER_PARTITION})::text, (n % {PER_PARTITION})::text, (n % {GROUPS})::text, "
               f"1000 + n % 9000, '{TEXT[:DATA_LENGTH]}' FROM generate_series(0, {count - 1}) n")


CONTENTS = {"lists": ("SELECT grp, pk, rk FROM entities", "TABLE lists"),
            "copies": ("SELECT grp, pk, rk, size, body FROM entities", "TABLE copies"),
            "summary": ("SELECT grp, count(*), sum(size)::bigint, min(size), max(size) FROM entities GROUP BY grp", "TABLE summary")}


def verify_postgres(system, kinds):
    for kind in kinds:
        wanted, found = CONTENTS[kind]
        wrong = system.sql(f"SELECT count(*) FROM (({wanted} EXCEPT ALL {found}) UNION ALL ({found} EXCEPT ALL {wanted})) d")
        if wrong != "0":
            raise RuntimeError(f"{wrong} rows of {kind} in PostgreSQL are WRONG")


def cpu_us(system, used_before, units):
    return round((system.cpu_seconds() - used_before) / units * 1e6, 2)


class Verified(Workload):
    """A workload that fails the run if an index does not agree with its table."""

    def verify(self, system, subject):
        if subject.system is Followed:
            system.verify()


class Lag(Verified):
    name, unit = "index-lag", "ms, median"
    title = (f"from the answer of a write until a point read finds its row, while others write at 2,000/s over {ENTITIES:,} "
             f"entities of 1 KiB in {GROUPS:,} groups, and move each to another group")
    subjects = [Subject("the entity", Followed, {"kinds": (), "place": TABLE + "(PartitionKey='probe',RowKey='{row}')"}),
                Subject("its copy", Followed, {"kinds": ("lists", "copies"),
                                               "place": TABLE + "Copies(PartitionKey='{group}',RowKey='probe_{row}')"})]
    expectations = [Expectation("its copy", "<", 10, figure="p50_ms", unit="ms"),
                    Expectation("its copy", "<", 100, figure="p99_ms", unit="ms")]
    rate, connections, probed = 2_000, 128, 10
    between_probes_s, between_reads_s, limit_s = 0.02, 0.0005, 30.0

    def prepare(self, system, subject):
        azure.fill_table(system.table, TABLE, ENTITIES, PER_PARTITION, body_of)
        system.follow(subject.settings["kinds"], TABLE)

    def measure(self, system, subject, repeat):
        system.await_caught_up()
        options = changed(self.options, connections=self.connections)  # enough, however long the answers take
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            load = pool.submit(wrk, system, system.table, "moves", PATH, repeat, options, entities=ENTITIES,
                               perpartition=PER_PARTITION, groups=GROUPS, rate=self.rate / THREADS)
            writer, reader, taken = azure.Connection(system.table), azure.Connection(system.table), []
            while not load.done():
                taken.append(self.probe(writer, reader, subject.settings["place"], repeat * 100_000 + len(taken)))
                time.sleep(self.between_probes_s)
            writes = load.result()
        taken.sort()
        too_slow = writes.value < 0.95 * self.rate  # fewer writes than promised
        detail = {"probes": len(taken), "writes_per_s": writes.value, "writes_p50_ms": writes.p50_ms,
                  "writes_p99_ms": writes.p99_ms}
        return Measurement(statistics.median(taken), writes.failures + too_slow, taken[len(taken) // 2],
                           taken[len(taken) * 99 // 100], writes.command, detail)

    def probe(self, writer, reader, place, number):
        """Moves a marked entity to a group of its own, and returns how long it takes until that is seen, in ms."""
        row, group = f"r{number % self.probed}", f"probe{number}"
        writer.call("PUT", f"{TABLE}(PartitionKey='probe',RowKey='{row}')", json.dumps({"Group": group, "Size": 1000}),
                    azure.JSON_HEADERS)
        answered, path = time.perf_counter(), place.format(row=row, group=group)
        while True:
            content, _ = reader.call("GET", path, None, azure.JSON_HEADERS, expect=(200, 404))
            seen = time.perf_counter() - answered
            if json.loads(content).get("Group") == group:
                return seen * 1000
            if seen > self.limit_s:
                raise RuntimeError(f"the row of {group} was not seen within {self.limit_s:.0f} s")
            time.sleep(self.between_reads_s)


class Writes(Verified):
    name, unit = "index-writes", "upserts/s"
    title = (f"insert or replace of an entity of 1 KiB, at random over {ENTITIES:,} that exist, which moves it to another of "
             f"{GROUPS:,} groups; followed by nothing, by lists, and by lists, whole copies and a summary")
    subjects = [Subject("no index", Followed, {"kinds": ()}), Subject("1 index", Followed, {"kinds": ONE}),
                Subject("3 indexes", Followed, {"kinds": THREE}), Subject("postgres, no trigger", Postgres, {"kinds": ()}),
                Subject("postgres, 1", Postgres, {"kinds": ONE}), Subject("postgres, 3", Postgres, {"kinds": THREE})]
    expectations = [Expectation("1 index", ">=", 0.7, "no index"), Expectation("1 index", None, 0, "postgres, 1"),
                    Expectation("3 indexes", ">=", 0.5, "no index"), Expectation("3 indexes", None, 0, "postgres, 3"),
                    Expectation("no index", None, 0, "postgres, no trigger"),
                    Expectation("postgres, 1", None, 0, "postgres, no trigger"),
                    Expectation("postgres, 3", None, 0, "postgres, no trigger")]
    aspects = [Aspect("index-catch-up", "from the end of these writes until no index is behind", "s", "caught_up_s", [])]
    script = (f"\\set pk random(0, {ENTITIES // PER_PARTITION - 1})\n\\set rk random(0, {PER_PARTITION - 1})\n"
              f"\\set grp random(0, {GROUPS - 1})\n\\set size random(1000, 9999)\n"
              "INSERT INTO entities VALUES (:pk, :rk, :grp, :size, :body) ON CONFLICT (pk, rk) DO UPDATE "
              "SET grp = excluded.grp, size = excluded.size, body = excluded.body;\n")

    def prepare(self, system, subject):
        kinds = subject.settings["kinds"]
        if subject.system is Followed:
            azure.fill_table(system.table, TABLE, ENTITIES, PER_PARTITION, body_of)
            return system.follow(kinds, TABLE)
        fill_postgres(system, ENTITIES)
        for kind in kinds:
            system.sql(f"INSERT INTO {kind} {CONTENTS[kind][0]}")
            system.sql(f"CREATE TRIGGER {kind} AFTER INSERT OR UPDATE ON entities FOR EACH ROW EXECUTE FUNCTION keep_{kind}()")
        if "summary" in kinds:
            system.sql("CREATE INDEX ON entities (grp, size)")  # finds the next minimum and maximum
        system.sql("VACUUM ANALYZE")

    def measure(self, system, subject, repeat):
        if subject.system is Postgres:
            return system.pgbench(self.script, self.options, body=TEXT[:DATA_LENGTH])
        system.await_caught_up()
        used = system.cpu_seconds()
        result = wrk(system, system.table, "moves", PATH, repeat, self.options, entities=ENTITIES, perpartition=PER_PARTITION,
                     groups=GROUPS)
        ended = time.perf_counter()
        system.await_caught_up()
        if system.followed:
            result.detail["caught_up_s"] = time.perf_counter() - ended
        result.cpu_us = cpu_us(system, used, result.detail["requests"])  # including what remained for the indexes
        return result

    def verify(self, system, subject):
        super().verify(system, subject)
        if subject.system is Postgres:
            verify_postgres(system, subject.settings["kinds"])


class Sustained(Verified):
    name, unit = "index-sustained", "entities/s"
    title = (f"group transactions of 100 new entities of 1 KiB in {GROUPS:,} groups, as fast as they are answered, from the "
             "first write until the index is not behind any more")
    subjects = [Subject("no index", Followed, {"kinds": ()}), Subject("1 index", Followed, {"kinds": ONE})]
    expectations = [Expectation("1 index", ">=", 8_000, unit="entities/s"), Expectation("1 index", None, 0, "no index")]
    aspects = [Aspect("index-groups", "the same until the last answer to a write", "entities/s", "written_per_s", [])]

    def measure(self, system, subject, repeat):
        source, count = f"Source{repeat}", self.options.writes
        system.drop_all()  # of the repeat before
        azure.create_table(system.table, source)
        system.follow(subject.settings["kinds"], source)
        begin, used = time.perf_counter(), system.cpu_seconds()
        azure.write_groups(system.table, source, count, PER_PARTITION, body_of)
        written = time.perf_counter() - begin
        system.await_caught_up()
        caught_up = time.perf_counter() - begin
        return Measurement(count / caught_up, cpu_us=cpu_us(system, used, count), detail={"written_per_s": count / written})


class Build(Verified):
    name, unit, repeats = "index-build", "entities/s", 1
    title = f"an index of a table of --entities (500,000) of 1 KiB in {GROUPS:,} groups, from its declaration until all rows are there"
    subjects = [Subject("lists", Followed), Subject("copies", Followed),
                Subject("postgres, lists", Postgres, {"statement": f"INSERT INTO lists {CONTENTS['lists'][0]}"}),
                Subject("postgres, copies", Postgres, {"statement": f"INSERT INTO copies {CONTENTS['copies'][0]}"}),
                Subject("postgres, CREATE INDEX", Postgres, {"statement": "CREATE INDEX ON entities (grp)"})]
    expectations = [Expectation("lists", ">=", 50_000, unit="entities/s"), Expectation("lists", None, 0, "postgres, lists"),
                    Expectation("copies", ">=", 50_000, unit="entities/s"), Expectation("copies", None, 0, "postgres, copies")]
    aspects = [Aspect("index-ready", "the same until it has also been compared with the table, both ways", unit, "ready_per_s", []),
               Aspect("index-memory", "of the worker meanwhile, at most", "MB resident", "worker_mb",
                      [Expectation("lists", "<", 200, unit="MB"), Expectation("copies", "<", 200, unit="MB")])]

    def prepare(self, system, subject):
        if subject.system is Postgres:
            fill_postgres(system, self.options.entities)
            system.sql("VACUUM ANALYZE")
            return
        azure.fill_table(system.table, TABLE, self.options.entities, PER_PARTITION, body_of)
        self.await_rest(system)

    @staticmethod
    def await_rest(system):
        """Waits until the store has compacted the writes."""
        def rests():
            used = system.cpu_seconds()
            time.sleep(1.0)
            return system.cpu_seconds() - used < 0.05
        await_true(rests, "the stores to rest", BUILT_LIMIT_S)

    def measure(self, system, subject, repeat):
        count, begin, used = self.options.entities, time.perf_counter(), system.cpu_seconds()
        if subject.system is Postgres:
            system.sql(subject.settings["statement"])
            return Measurement(count / (time.perf_counter() - begin))
        name, api = system.declare(subject.label, TABLE), Jobs(system)

        def seconds_until(states):
            await_true(lambda: api.call("GET", f"/v1/indexes/{name}")["state"] in states, f"{name} to be {states[0]}", BUILT_LIMIT_S)
            return time.perf_counter() - begin
        built, built_us = seconds_until(("verifying", "ready")), cpu_us(system, used, count)
        ready = seconds_until(("ready",))
        memory = machine.resident_mib(system.workers[0], "VmHWM") * 2**20 / 1e6
        return Measurement(count / built, cpu_us=built_us, detail={"ready_per_s": count / ready, "worker_mb": memory})


class Lookup(Verified):
    name, unit = "index-lookup", "answers/s"
    title = (f"16 connections ask for 100 of {ENTITIES:,} entities of 1 KiB: by a range of keys, by a value through the api, "
             "for their keys or for them as a whole, and by a value from the table store, which has the lists to go by")
    subjects = [Subject("range", Followed), Subject("lists, query", Followed),
                *(Subject(f"{kind}, {select}", Followed, {"kind": kind, "select": select})
                  for kind in ("lists", "copies") for select in ("keys", "entities"))]
    # A lookup through the api takes longer than a range query; a client that wants whole entities asks the table store.
    expectations = [Expectation(each.label, ">=", 0.25 if "entities" in each.label else 0.5, "range") for each in subjects[1:]]
    connections, per_partition, groups = 16, 1_000, ENTITIES // 100
    parameters = {"lists": "value", "copies": "Group"}

    def prepare(self, system, subject):
        azure.fill_table(system.table, TABLE, ENTITIES, self.per_partition, lambda number: body_of(number, self.groups))
        if subject.label == "range":
            return
        if subject.label == "lists, query":
            system.follow(("lists",), TABLE, answersQueries=True)
            return self.check_query(system)
        kind, select = subject.settings["kind"], subject.settings["select"]
        system.follow((kind,), TABLE)
        system.verify()
        wanted = {azure.keys_of(number, self.per_partition) for number in range(7, ENTITIES, self.groups)}
        answer = Jobs(system).call("GET", f"{self.path(kind)}?{self.parameters[kind]}=g0007&select={select}")[select]
        partition, row = ("partitionKey", "rowKey") if select == "keys" else ("PartitionKey", "RowKey")
        found = [(each[partition], each[row]) for each in answer]
        if len(found) != 100 or set(found) != wanted:
            raise RuntimeError(f"a lookup is WRONG: of 100 keys, {len(wanted & set(found))} are in {len(found)} results")

    def check_query(self, system):
        system.verify()
        wanted = {azure.keys_of(number, self.per_partition) for number in range(7, ENTITIES, self.groups)}
        path, accept = f"{TABLE}()?$filter=Group%20eq%20%27g0007%27", {"Accept": "application/json;odata=nometadata"}
        answer, headers = azure.Connection(system.table).call("GET", path, headers=accept)
        found = {(each["PartitionKey"], each["RowKey"]) for each in json.loads(answer)["value"]}
        if found != wanted or headers["x-tidemark-index"] != f"lists-of-{TABLE}":
            raise RuntimeError(f"a query is WRONG: of 100 entities, {len(wanted & found)} are in {len(found)} results")

    @staticmethod
    def path(kind):
        return f"/v1/indexes/{kind}-of-{TABLE}/lookup"

    def measure(self, system, subject, repeat):
        options = changed(self.options, connections=self.connections)
        if subject.label == "range":
            return wrk(system, system.table, "range", PATH, repeat, options, entities=ENTITIES, perpartition=self.per_partition)
        if subject.label == "lists, query":
            return wrk(system, system.table, "value", PATH, repeat, options, groups=self.groups)
        kind, select = subject.settings["kind"], subject.settings["select"]
        return wrk(system, system.api, "lookup", self.path(kind), repeat, options, token=system.token, groups=self.groups,
                   parameter=self.parameters[kind], select=select)


ALL = [Lag, Writes, Sustained, Build, Lookup]
