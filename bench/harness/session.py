"""One command of measurements, from its arguments to its report."""
import datetime
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from harness import install, machine, report
from harness.workload import beside_baseline, medians, run_workload
from harness.wrk import THREADS
from systems.tidemark import Tidemark

PROGRAMS = ("bare_server", "table_store", "queue_service", "api", "worker")


def add_arguments(parser, seconds):
    parser.add_argument("--list", action="store_true", help="list the workloads and end")
    parser.add_argument("--only", metavar="NAME[,NAME]", help="these workloads instead of all")
    parser.add_argument("--seconds", type=int, default=seconds, help="length of each measurement")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--baseline", metavar="DIR",
                        help="instead of other systems, measure the programs in DIR (of an older commit) beside those of this build")
    parser.add_argument("--data", default="/var/tmp", help="where the temporary data goes: on the disk to be measured")


def choose(parser, options, kinds):
    """Returns the workloads that the options name."""
    if options.seconds < 1 or options.repeats < 1 or options.connections < THREADS:
        parser.error(f"needs at least 1 second, 1 repeat and {THREADS} connections")
    known = {kind.name: kind for kind in kinds}
    names = options.only.split(",") if options.only else list(known)
    for name in names:
        if name not in known:
            parser.error(f"there is no workload {name}; there are: {', '.join(known)}")
    return [known[name] for name in names]


def print_list(kinds):
    for each in (each for kind in kinds for each in (kind, *kind.aspects)):
        print(f"{each.name:15} {each.title}; {each.unit}")
        for e in (e for e in each.expectations if e.comparison):
            of = f" x {e.against}" if e.against else f" {e.unit}"
            print(f"{'':15}   expected: {e.subject} {'' if e.figure == 'value' else e.figure + ' '}{e.comparison} {e.limit:,g}{of}")


def binaries():
    directory = os.environ.get("TIDEMARK_BIN", os.path.join(machine.TOP, "build", "release", "bin"))
    for program in PROGRAMS:
        if not os.access(os.path.join(directory, program), os.X_OK):
            sys.exit(f"bench: {os.path.join(directory, program)} is missing; run scripts/build all first")
    return os.path.abspath(directory)


def log(run):
    cpu = f"  {run['cpu_us']:.1f} us CPU" if run["cpu_us"] else ""
    latency = f"  p50 {run['p50_ms']:.2f} ms  p99 {run['p99_ms']:.2f} ms" if run["p50_ms"] is not None else ""
    failed = f"  FAILED {run['failures']} times: {run['detail']}" if run["failures"] else ""
    print(f"  {run['workload']:15} {run['repeat']} {run['subject']:22} {run['value']:12,.1f} {run['unit']}{latency}{cpu}{failed}",
          flush=True)


def judge(result, expectations):
    result["medians"] = medians(result["runs"])
    result["judged"] = [dict(zip(("seen", "expected", "met"), e.judge(result["medians"]))) | {"subject": e.subject}
                        for e in expectations]


def measure_all(chosen, directory, options):
    """Measures the workloads one after another. A workload that fails leaves the results of the others in place."""
    results = []
    for kind in chosen:
        workload = kind(options)
        if options.baseline:
            beside_baseline(workload, Tidemark, os.path.abspath(options.baseline))
        result = {"name": kind.name, "title": kind.title, "unit": kind.unit, "medians": {}, "judged": [], "runs": [],
                  "error": None}
        results.append(result)
        try:
            result["runs"] = run_workload(workload, directory, binaries(), log)
        except (RuntimeError, subprocess.SubprocessError, OSError) as error:
            result["error"] = str(error)
            print(f"  {kind.name} FAILED: {error}", flush=True)
            continue
        judge(result, workload.expectations)
        for aspect in workload.aspects:
            results.append(result | {"name": aspect.name, "title": aspect.title, "unit": aspect.unit,
                                     "runs": aspect.runs(result["runs"])})
            judge(results[-1], aspect.expectations)
    return results


def failures(result):
    """Returns the faults that make the run worthless, a line each."""
    for workload in result["workloads"]:
        if workload["error"]:
            yield f"{workload['name']}: {workload['error'].splitlines()[0]}"
        for run in workload["runs"]:
            if run["failures"]:
                yield f"{workload['name']} on {run['subject']}, repeat {run['repeat']}: {run['failures']} errors"


def carry_out(command, chosen, options):
    """Installs missing software, measures, reports. Ends with 1 if any answer was an error."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that nothing is left running
    binaries()
    install.debian("wrk")
    kinds = list(dict.fromkeys(subject.system for kind in chosen for subject in kind.subjects
                               if not options.baseline or issubclass(subject.system, Tidemark)))
    for kind in kinds:
        kind.install()
    directory = tempfile.mkdtemp(prefix="tmbench", dir=options.data)
    os.chmod(directory, 0o711)  # a database that does not run as root reaches its own part
    try:
        result = {"time": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                  "commit": machine.commit(), "command": " ".join([command, *sys.argv[1:]]),
                  "machine": machine.describe(directory), "systems": {kind.name: kind.version for kind in kinds},
                  "options": vars(options), "fdatasync_ms": {"before": machine.fdatasync_ms(directory)}}
        result["workloads"] = measure_all(chosen, directory, options)
        result["fdatasync_ms"]["after"] = machine.fdatasync_ms(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    report.print_report(result)
    report.write_results(result, os.path.join(install.BENCH, "results"))
    if failed := list(failures(result)):
        sys.exit("bench: FAILED, these numbers mean nothing:\n  " + "\n  ".join(failed))

