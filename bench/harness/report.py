"""The report: the conditions of the run, and one table of medians beside the expectations."""
import json
import os


def milliseconds(value):
    return "" if value is None else f"{value:.2f}"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def rows(report):
    """One row for each subject, and one more for each further expectation of the subject."""
    for workload in report["workloads"]:
        for label, median in workload["medians"].items():
            judged = [e for e in workload["judged"] if e["subject"] == label] or [{"seen": "", "expected": "", "met": None}]
            for index, verdict in enumerate(judged):
                met = {None: "", True: "yes", False: "NO"}[verdict["met"]]
                figures = ["", "", "", "", "", ""]
                if index == 0:
                    figures = [f"{workload['name']}, {workload['unit']}", label, number(median["value"]),
                               f"{number(median['lowest'])}..{number(median['highest'])}",
                               milliseconds(median["p50_ms"]), milliseconds(median["p99_ms"])]
                yield [*figures, verdict["seen"], verdict["expected"], met]


def print_table(report):
    head = ["workload", "system", "median", "min..max", "p50 ms", "p99 ms", "ratio", "expected", "met"]
    lines = [head, *rows(report)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    right = {2, 3, 4, 5}
    lines.insert(1, [("-" * (w - 1) + ":") if i in right else "-" * w for i, w in enumerate(widths)])
    print()
    for line in lines:
        print("| " + " | ".join(cell.rjust(w) if i in right else cell.ljust(w)
                                for i, (cell, w) in enumerate(zip(line, widths))) + " |")


def print_report(report):
    machine, sync = report["machine"], report["fdatasync_ms"]
    print(f"\nmachine   {machine['cpu']}, {machine['cores']} cores shared with the load, {machine['memory_gib']} GiB, Linux "
          f"{machine['kernel']}, data on {machine['filesystem']}, load before {machine['load_average_before']:.1f}")
    print(f"commit    {report['commit']}")
    print(f"command   {report['command']}")
    print(f"fdatasync 4 KiB append: before p50 {sync['before']['p50']} ms, p99 {sync['before']['p99']} ms; "
          f"after p50 {sync['after']['p50']} ms, p99 {sync['after']['p99']} ms")
    for name, version in report["systems"].items():
        print(f"{name:9} {version}")
    print_table(report)


def write_results(report, directory):
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, report["time"].replace(":", "") + ".json")
    with open(path, "w") as file:
        json.dump(report, file, indent=1)
    print(f"\nwritten to {os.path.relpath(path, os.getcwd())}")
