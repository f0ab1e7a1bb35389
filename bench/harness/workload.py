"""The parts of a benchmark: a workload measures subjects (a system, perhaps in a certain state) and states the
expectations of them.
"""
import dataclasses
import operator
import os
import statistics
import time
import typing


@dataclasses.dataclass
class Measurement:
    value: float  # in the unit of the workload
    failures: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    command: str = ""
    detail: dict = dataclasses.field(default_factory=dict)
    cpu_us: float | None = None  # for one unit; if absent, the time of all that the system did meanwhile counts


@dataclasses.dataclass(frozen=True)
class Subject:
    """A system that is measured, with processes and data of its own."""
    label: str
    system: type
    settings: dict = dataclasses.field(default_factory=dict)
    baseline: str | None = None  # directory of programs to measure instead of those of this build

    @property
    def name(self):
        return f"{self.label}, baseline" if self.baseline else self.label


COMPARISONS = {">=": operator.ge, "<=": operator.le, "<": operator.lt}


@dataclasses.dataclass(frozen=True)
class Expectation:
    """A figure of one subject, alone or divided by the same figure of another one, is `comparison` `limit`. Without a
    comparison the ratio is only shown.
    """
    subject: str
    comparison: str | None
    limit: float
    against: str | None = None
    figure: str = "value"
    unit: str = ""

    def judge(self, medians):
        """Returns the figure, the expectation, and whether it is met."""
        seen = medians[self.subject][self.figure]
        if self.against is not None:
            other = medians[self.against][self.figure]
            seen = seen / other if other else float("nan")
        if self.comparison is None:
            return f"{seen:.2f} x {self.against}", "", None
        met = COMPARISONS[self.comparison](seen, self.limit)
        if self.against is None:
            name = {"value": "", "p50_ms": "p50 ", "p99_ms": "p99 "}[self.figure]
            return "", f"{name}{self.comparison} {self.limit:,g} {self.unit}".strip(), met
        return (f"{seen:.2f} x {self.against}", f"{self.comparison} {self.limit:g} x", met)


MOST_LOST = 0.03  # of the baseline's figure


def beside_baseline(workload, system, directory):
    """Keeps the subjects that are a `system`, each beside the programs in `directory`, and expects no worse figures."""
    ours = [subject for subject in workload.subjects if issubclass(subject.system, system)]
    theirs = [dataclasses.replace(subject, baseline=directory) for subject in ours]
    workload.subjects = [subject for pair in zip(ours, theirs) for subject in pair]
    comparison, limit = (">=", 1 - MOST_LOST) if workload.unit.endswith("/s") else ("<=", 1 + MOST_LOST)
    workload.expectations = [Expectation(new.name, comparison, limit, old.name) for new, old in zip(ours, theirs)]


@dataclasses.dataclass(frozen=True)
class Aspect:
    """Another figure of a workload's runs, which stands in their details under `key`; reported like a workload."""
    name: str
    title: str
    unit: str
    key: str
    expectations: list[Expectation]

    def runs(self, runs):
        return [run | {"workload": self.name, "unit": self.unit, "value": run["detail"][self.key], "cpu_us": None, "p50_ms": None,
                       "p99_ms": None, "failures": 0, "detail": {}} for run in runs if self.key in run["detail"]]


class Workload:
    """One instance lives for all repeats of all its subjects."""
    name = title = unit = ""
    subjects: typing.ClassVar[list[Subject]] = []
    expectations: typing.ClassVar[list[Expectation]] = []
    aspects: typing.ClassVar[list[Aspect]] = []
    repeats: int | None = None  # for workloads that are not repeated as often as the options say

    def __init__(self, options):
        self.options = options

    def prepare(self, system, subject):
        """Makes the data that has to exist before the first repeat; called once for each subject."""

    def measure(self, system, subject, repeat):
        raise NotImplementedError

    def verify(self, system, subject):
        """Checks the data after each measurement, outside of its time and work. Raises an exception if it is wrong."""


def medians(runs):
    """Returns the medians of the repeats for each label."""
    table = {}
    for label in dict.fromkeys(run["subject"] for run in runs):
        mine = [run for run in runs if run["subject"] == label]
        values = [run["value"] for run in mine]
        row = {"value": statistics.median(values), "lowest": min(values), "highest": max(values)}
        for name in ("p50_ms", "p99_ms"):
            known = [run[name] for run in mine if run[name] is not None]
            row[name] = statistics.median(known) if known else None
        table[label] = row
    return table


def run_workload(workload, directory, binaries, log):
    """Measures all repeats, interleaved between the subjects. In every case, the systems are stopped at the end."""
    running, runs = [], []
    try:
        for number, subject in enumerate(workload.subjects):
            system = subject.system(os.path.join(directory, f"{workload.name}-{number}"), subject.baseline or binaries)
            running.append((subject, system))
            system.start()
            workload.prepare(system, subject)
            system.pause()
        for repeat in range(1, (workload.repeats or workload.options.repeats) + 1):
            for subject, system in running:
                # Paused systems cost the measured one nothing, not even timers or a late compaction.
                system.resume()
                begin, used = time.monotonic(), system.cpu_seconds()
                measurement = workload.measure(system, subject, repeat)
                cores = (system.cpu_seconds() - used) / (time.monotonic() - begin)
                # The system's own CPU time for one unit: it says more than the rate does on a machine that is not quiet.
                if measurement.cpu_us is None and workload.unit.endswith("/s"):
                    measurement.cpu_us = round(cores / measurement.value * 1e6, 2)
                workload.verify(system, subject)
                system.check_alive()
                system.pause()
                run = {"workload": workload.name, "subject": subject.name, "repeat": repeat, "unit": workload.unit,
                       **dataclasses.asdict(measurement)}
                runs.append(run)
                log(run)
    finally:
        for _, system in running:
            system.stop()
    return runs
