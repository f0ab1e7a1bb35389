"""Memory of the table store, with any number of entities. 10,000 entities do not fill its block cache (256 MiB by
default) and write buffers; any large number does, and then memory does not grow with the table any more.
"""
from harness import azure, machine
from harness.workload import Expectation, Measurement, Subject, Workload
from harness.wrk import wrk
from systems.tidemark import Tidemark

TABLE = "Bench"


class Memory(Workload):
    name, unit, repeats = "table-memory", "MiB resident", 1
    title = "memory of the table store with 10,000 entities of 1 KiB, and with --entities (500,000), after reads all over it"
    subjects = [Subject("10,000", Tidemark), Subject("many", Tidemark)]
    expectations = [Expectation("many", "<=", 512, unit="MiB")]

    def measure(self, system, subject, repeat):
        count = 10_000 if subject.label == "10,000" else self.options.entities
        azure.fill_table(system.table, TABLE, count, 100)
        filled = machine.resident_mib(system.table_process)
        reads = wrk(system, system.table, "read", f"/{azure.ACCOUNT}/{TABLE}", repeat, self.options, entities=10_000,
                    spread=count // 10_000, perpartition=100)
        return Measurement(machine.resident_mib(system.table_process), reads.failures, reads.p50_ms, reads.p99_ms,
                           reads.command, {"entities": count, "after_filling_mib": filled, "reads_per_s": reads.value})


ALL = [Memory]
