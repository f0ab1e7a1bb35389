"""Frameworks and an SDK for .NET, unmodified, on Tidemark and on Azurite: what their users see. The load client in C# is one
process, which takes its share of the cores.
"""
from harness.dotnet_load import dotnet_load
from harness.workload import Aspect, Expectation, Subject, Workload
from systems.azurite import Azurite
from systems.nothing import Nothing
from systems.tidemark import TidemarkStores

SYSTEMS = (TidemarkStores, Azurite)


def subjects(**kinds):
    """Returns both systems with each kind of settings; `default` adds nothing to the label."""
    return [Subject(system.name if kind == "default" else f"{system.name}, {kind.replace('_', ' ')}", system, settings)
            for kind, settings in kinds.items() for system in SYSTEMS]


def beside_azurite(found, comparison, limit):
    """Expects it of each subject that is Tidemark."""
    return [Expectation(subject.label, comparison, limit, subject.label.replace(TidemarkStores.name, Azurite.name))
            for subject in found if subject.system is TidemarkStores]


def aspects(name):
    return [Aspect(f"{name}-client", "processor time of the client for one of them", "us CPU", "client_us", []),
            Aspect(f"{name}-server", "processor time of the system for one of them", "us CPU", "server_us", []),
            Aspect(f"{name}-wait", "from a request of the client to the headers of its answer, mean", "ms", "request_ms", [])]


class FanOut(Workload):
    name, unit = "durable-fan-out", "activities/s"
    title = ("DurableTask: an instance that starts --activities (1,000) which do nothing at once, until it is completed; with the settings "
             "of the framework, and tuned")
    subjects = subjects(default={"tuned": False}, tuned={"tuned": True})
    expectations = beside_azurite(subjects, ">=", 5)
    aspects = aspects(name)

    def measure(self, system, subject, repeat):
        return dotnet_load(system, "fan-out", activities=self.options.activities, **subject.settings)


class Sequence(Workload):
    name, unit = "durable-sequence", "ms"
    title = "DurableTask: an instance that starts --steps (100) activities which do nothing one after another; for each of them"
    subjects = subjects(default={"tuned": False}, tuned={"tuned": True})
    expectations = beside_azurite(subjects, "<=", 0.5)
    aspects = aspects(name)

    def measure(self, system, subject, repeat):
        measured = dotnet_load(system, "sequence", activities=self.options.steps, **subject.settings)
        measured.value = 1000 / measured.value
        return measured


class QueueTrigger(Workload):
    name, unit = "queue-trigger", "messages/s"
    title = ("WebJobs: a queue of --messages (2,000) and a function that does nothing, from its first call to its last; with the batches of "
             "the framework (16), and with its largest (32, and the next when 128 are left)")
    subjects = subjects(default={}, large_batches={"batch": 32, "threshold": 128})
    expectations = beside_azurite(subjects, None, 0)
    aspects = aspects(name)

    def measure(self, system, subject, repeat):
        return dotnet_load(system, "queue-trigger", messages=self.options.messages, **subject.settings)


class Grains(Workload):
    name, unit = "orleans-writes", "writes/s"
    title = "Orleans: 64 grains that write a state of 1 KiB again and again, in a silo of the client's process"
    subjects = subjects(tables={"storage": "tables"}, blobs={"storage": "blobs"})
    expectations = beside_azurite(subjects, None, 0)
    aspects = aspects(name)

    def measure(self, system, subject, repeat):
        return dotnet_load(system, "grains", grains=64, seconds=self.options.seconds, **subject.settings)


class TableBatches(Workload):
    name, unit = "table-batches", "entities/s"
    title = ("Azure.Data.Tables: group transactions of 100 new entities of 1 KiB; one after another, and 8 at a time; and the same "
             "without a server, answered within the client")
    subjects = [*subjects(default={"parallel": 1}, **{"8_at_a_time": {"parallel": 8}}),
                Subject("client alone", Nothing, {"parallel": 1, "alone": True}),
                Subject("client alone, 8 at a time", Nothing, {"parallel": 8, "alone": True})]
    expectations = beside_azurite(subjects, ">=", 10)
    aspects = aspects(name)

    def measure(self, system, subject, repeat):
        return dotnet_load(system, "table-batches", seconds=self.options.seconds, **subject.settings)


ALL = [FanOut, Sequence, QueueTrigger, Grains, TableBatches]
