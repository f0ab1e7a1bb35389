"""Point reads, ranges and scans of tables."""
import concurrent.futures
import time

from harness import azure
from harness.workload import Expectation, Measurement, Subject, Workload
from harness.wrk import wrk
from systems.azurite import Azurite
from systems.bare import Bare
from systems.tidemark import Tidemark

TABLE = "Bench"
PATH = f"/{azure.ACCOUNT}/{TABLE}"


class Read(Workload):
    name, unit = "table-read", "reads/s"
    title = "GET of one of 10,000 entities of 1 KiB, at random"
    subjects = [Subject("tidemark", Tidemark), Subject("bare", Bare), Subject("azurite", Azurite)]
    expectations = [Expectation("tidemark", ">=", 0.6, "bare"), Expectation("tidemark", ">=", 15, "azurite")]
    entities, per_partition = 10_000, 100

    def prepare(self, system, subject):
        if system.mode == "store":
            azure.fill_table(system.table, TABLE, self.entities, self.per_partition)

    def measure(self, system, subject, repeat):
        return wrk(system, system.table, "read", PATH, repeat, self.options, entities=self.entities,
                   perpartition=self.per_partition)


class Range(Workload):
    name, unit = "table-range", "queries/s"
    title = "query of 100 consecutive entities of 1 KiB by a RowKey range, out of 10 partitions of 1,000"
    subjects = [Subject("tidemark", Tidemark), Subject("azurite", Azurite)]
    expectations = [Expectation("tidemark", ">=", 20, "azurite")]
    entities, per_partition = 10_000, 1_000

    def prepare(self, system, subject):
        azure.fill_table(system.table, TABLE, self.entities, self.per_partition)
        partition, first = azure.keys_of(2_150, self.per_partition)
        _, end = azure.keys_of(2_250, self.per_partition)
        found = azure.scan(azure.Connection(system.table), TABLE,
                           f"PartitionKey eq '{partition}' and RowKey ge '{first}' and RowKey lt '{end}'")
        if found != 100:
            raise RuntimeError(f"a range of 100 entities returned {found}")

    def measure(self, system, subject, repeat):
        return wrk(system, system.table, "range", PATH, repeat, self.options, entities=self.entities,
                   perpartition=self.per_partition)


class Scan(Workload):
    name, unit = "table-scan", "entities/s"
    title = "4 connections scan a table of 100,000 entities of 1 KiB with a filter on a property that matches nothing"
    subjects = [Subject("tidemark", Tidemark)]
    expectations = [Expectation("tidemark", ">=", 400_000, unit="entities/s")]
    entities, connections = 100_000, 4

    def prepare(self, system, subject):
        azure.fill_table(system.table, TABLE, self.entities, 100)
        self.found_of_first = azure.scan(azure.Connection(system.table), TABLE, "PartitionKey eq 'p000000'")
        if self.found_of_first != 100:
            raise RuntimeError(f"a partition of 100 entities returned {self.found_of_first}")

    def measure(self, system, subject, repeat):
        """Whole scans only, each with all its pages: the rate has no rounding at the end."""
        begin = time.perf_counter()

        def scans(_):
            connection, taken, wrong = azure.Connection(system.table), [], 0
            while time.perf_counter() - begin < self.options.seconds:
                start = time.perf_counter()
                wrong += azure.scan(connection, TABLE, "Data eq 'nothing'") != 0
                taken.append((time.perf_counter() - start) * 1000)
            return taken, wrong, time.perf_counter() - begin

        with concurrent.futures.ThreadPoolExecutor(self.connections) as pool:
            done = list(pool.map(scans, range(self.connections)))
        taken = sorted(one for each, _, _ in done for one in each)
        rate = sum(len(each) * self.entities / elapsed for each, _, elapsed in done)
        return Measurement(rate, sum(wrong for _, wrong, _ in done), taken[len(taken) // 2], taken[len(taken) * 99 // 100])


ALL = [Read, Range, Scan]
