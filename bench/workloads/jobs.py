"""Archive jobs: many small ones, a large one, its cost for readers, and how soon a job starts."""
import concurrent.futures
import datetime
import statistics
import threading

from harness import azure
from harness.workload import Expectation, Measurement, Subject, Workload
from harness.wrk import wrk
from systems.graphile import Graphile
from systems.stack import Jobs, Stack, WholeStack

TABLE = """CREATE TABLE {0} (pk text NOT NULL, rk text NOT NULL, body text NOT NULL, PRIMARY KEY (pk, rk))"""


def seconds_of(text):
    """Converts an ISO 8601 time to seconds; Python reads at most six digits of a second."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + float(f"0.{fraction or 0}")


class Single(Workload):
    name, unit = "job-archive", "jobs/s"
    title = "archive jobs of one entity of 1 KiB each, from the first start to the last end, beside Graphile Worker"
    subjects = [Subject("tidemark", Stack), Subject("graphile", Graphile, {"form": "transaction"}),
                Subject("graphile, one statement", Graphile, {"form": "statement"})]
    expectations = [Expectation("tidemark", ">=", 4, "graphile"),
                    Expectation("tidemark", None, 0, "graphile, one statement")]

    def prepare(self, system, subject):
        # As many as take Graphile Worker about as long as the other measurements.
        self.jobs = self.options.seconds * 4_000
        if subject.system is Graphile:
            for table in ("entities", "archive"):
                system.sql(TABLE.format(table))
            system.run("migrate")

    def measure(self, system, subject, repeat):
        if subject.system is Graphile:
            return self.measure_graphile(system, subject.settings["form"])
        source, archive = f"Source{repeat}", f"Archive{repeat}"
        azure.fill_table(system.table, source, self.jobs, 100)
        azure.create_table(system.table, archive)

        jobs = Jobs(system)
        keys = [azure.keys_of(number, 100) for number in range(self.jobs)]
        ids = jobs.submit_all({"kind": "archive", "source": source, "destination": archive, "partitionKey": partition,
                               "rowKey": row} for partition, row in keys)
        # The workers find all jobs waiting, as those of Graphile do; no client asks for a job before all have ended.
        system.start_workers()
        jobs.await_empty_queue()
        records = [jobs.await_succeeded(job) for job in ids]
        system.stop_workers()
        begin = min(seconds_of(record["startedAt"]) for record in records)
        end = max(seconds_of(record["finishedAt"]) for record in records)
        connection = azure.Connection(system.table)
        left, moved = (azure.scan(connection, table, "PartitionKey ge 'p'") for table in (source, archive))
        return Measurement(self.jobs / (end - begin), left + abs(self.jobs - moved),
                           detail={"jobs": self.jobs, "left": left, "moved": moved})

    def measure_graphile(self, system, form):
        system.sql("TRUNCATE entities, archive")
        system.sql(f"INSERT INTO entities SELECT (n / 100)::text, n::text, '{azure.random_text(1024, 1)}' "
                   f"FROM generate_series(1, {self.jobs}) n")
        system.sql("SELECT count(graphile_worker.add_job('archive', json_build_object('pk', pk, 'rk', rk))) FROM entities")
        system.sql("VACUUM ANALYZE")
        result = system.run("run", str(self.jobs), form)
        left, moved, waiting = (int(system.sql(f"SELECT count(*) FROM {table}")) for table in (
            "entities", "archive", "graphile_worker.jobs"))
        return Measurement(self.jobs / result["seconds"], left + waiting + abs(self.jobs - moved), detail=result)


class Bulk(Workload):
    name, unit = "job-bulk", "entities/s"
    title = "one archive job of 50,000 entities of 1 KiB"
    subjects = [Subject("tidemark", Stack)]
    expectations = [Expectation("tidemark", ">=", 20_000, unit="entities/s")]
    entities = 50_000

    def prepare(self, system, subject):
        system.start_workers()

    def measure(self, system, subject, repeat):
        source = f"Source{repeat}"
        azure.fill_table(system.table, source, self.entities, 1_000)
        jobs = Jobs(system)
        record = jobs.await_succeeded(jobs.submit(kind="archive", source=source, destination=f"Archive{repeat}", filter=""))
        took = seconds_of(record["finishedAt"]) - seconds_of(record["startedAt"])
        return Measurement(self.entities / took, abs(self.entities - record["progress"]["done"]), detail=record)


class Outside(Workload):
    name, unit = "job-objects", "entities/s"
    title = "one archive job of 20,000 entities of 1 KiB in 20 partitions to blobs"
    subjects = [Subject("a document each", WholeStack, {"place": {}}),
                Subject("parts", WholeStack, {"place": {"format": "lines"}}),
                Subject("parts, gzip", WholeStack, {"place": {"format": "lines", "gzip": True}})]
    expectations = []
    entities = 20_000

    def prepare(self, system, subject):
        system.start_workers()

    def measure(self, system, subject, repeat):
        source, jobs = f"Source{repeat}", Jobs(system)
        azure.fill_table(system.table, source, self.entities, 1_000)
        record = jobs.await_succeeded(jobs.submit(kind="archive", source=source, filter="", destination={
            "container": f"archive{repeat}", **subject.settings["place"]}))
        took = seconds_of(record["finishedAt"]) - seconds_of(record["startedAt"])
        return Measurement(self.entities / took, abs(self.entities - record["progress"]["done"]), detail=record)


class Mover:
    """Archives everything from Here to There and back, one job after another, from its construction until stop()."""

    def __init__(self, system):
        self.system, self.stopping, self.running, self.done = system, threading.Event(), threading.Event(), []
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.moving = pool.submit(self.move)
        pool.shutdown(wait=False)
        self.running.wait()

    def move(self):
        jobs, here, there = Jobs(self.system), "Here", "There"
        try:
            # The entities end where they began.
            while not self.stopping.is_set() or here == "There":
                job = jobs.submit(kind="archive", source=here, destination=there, filter="")
                self.running.set()
                self.done.append(jobs.await_succeeded(job)["progress"]["done"])
                here, there = there, here
        finally:
            self.running.set()

    def stop(self):
        """Returns how many entities each job moved; raises the exception of a job that failed."""
        self.stopping.set()
        self.moving.result()
        return self.done


class Foreground(Workload):
    name, unit = "job-foreground", "reads/s"
    title = "point reads as in table-read, alone and while archive jobs move 20,000 entities to and fro without a pause"
    subjects = [Subject("alone", Stack), Subject("during bulk jobs", Stack)]
    expectations = [Expectation("during bulk jobs", "<=", 3, "alone", figure="p99_ms")]
    moved, entities = 20_000, 10_000

    def prepare(self, system, subject):
        azure.fill_table(system.table, "Bench", self.entities, 100)
        azure.fill_table(system.table, "Here", self.moved, 1_000)
        azure.create_table(system.table, "There")
        system.start_workers()

    def measure(self, system, subject, repeat):
        mover = Mover(system) if subject.label == "during bulk jobs" else None
        result = wrk(system, system.table, "read", f"/{azure.ACCOUNT}/Bench", repeat, self.options, entities=self.entities,
                     perpartition=100)
        if mover:
            result.detail["moved"] = mover.stop()
            result.failures += any(count != self.moved for count in result.detail["moved"])
        return result


class Start(Workload):
    name, unit = "job-start", "ms from accepted to started, median"
    title = "100 jobs, one after another, on an idle stack; the times are those in the job's record"
    subjects = [Subject("tidemark", Stack)]
    expectations = [Expectation("tidemark", "<=", 5, unit="ms")]
    count = 100

    def prepare(self, system, subject):
        azure.fill_table(system.table, "Source", 100 * self.count, 100)
        system.start_workers()

    def measure(self, system, subject, repeat):
        jobs = Jobs(system)
        waits = []
        for number in range(self.count):
            partition, row = azure.keys_of(repeat * 1_000 + number, 100)
            record = jobs.await_succeeded(jobs.submit(kind="archive", source="Source", destination="Archive",
                                                      partitionKey=partition, rowKey=row))
            waits.append((seconds_of(record["startedAt"]) - seconds_of(record["submittedAt"])) * 1000)
        waits.sort()
        return Measurement(statistics.median(waits), 0, waits[len(waits) // 2], waits[len(waits) * 99 // 100])


ALL = [Single, Bulk, Outside, Foreground, Start]
