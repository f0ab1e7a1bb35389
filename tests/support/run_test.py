#!/usr/bin/python3
"""Runs one test for ctest: run_test.py NAME LIMIT_S COMMAND...

Gives it a temporary directory of its own (TMPDIR), notes its cost in TIDEMARK_TEST_COSTS/NAME.json (scripts/test-costs
prints them), and fails it if it leaves a process behind or hangs: after its limit, which TIDEMARK_TEST_FACTOR and, on
a machine with other work, TIDEMARK_PATIENCE multiply, it is interrupted, so that it shows where it was. The exit code
is the test's own. A test that takes turns (TIDEMARK_TURN, from its registration) is skipped if a gate (TIDEMARK_GATE)
has other seeds than its own.
"""
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import sizes

PR_SET_CHILD_SUBREAPER = 36
SKIPPED = 77  # the exit code that ctest knows: the last line of the output gives the reason
LEFT_OVER_LIMIT_S = 10.0  # for processes that are ending anyway
INTERRUPTED_LIMIT_S = 20.0  # for a test that cleans up
CHILD_ENDED = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)  # gets a byte whenever a child has ended


def children():
    """Returns the living processes whose parent is this one: processes that the test left behind are handed to it."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as file:
                    found.append((int(entry), file.read().replace("\0", " ").strip()[:200]))
        except OSError:
            continue  # it has ended
    return found


def reap_orphans(test=None):
    """Reaps the processes that were handed to this one and have ended, so that nobody takes them for living."""
    try:
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and ended.si_pid != test:
            os.waitpid(ended.si_pid, 0)
    except ChildProcessError:
        pass


def left_behind():
    """Waits for the processes that the test started to end, and kills those that do not; returns them."""
    deadline = time.monotonic() + LEFT_OVER_LIMIT_S
    left = children()
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = children()
    remaining = left
    while remaining:  # their own children become ours
        for pid, _ in remaining:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
        reap_orphans()
        remaining = children()
    reap_orphans()
    return left


def pass_on(test, deadline):
    """Copies the test's output until the test has ended and all of it is read, or until the deadline. Returns the end of
    the output, and whether the test was in time.
    """
    tail, pipe, ended = b"", test.stdout.fileno(), os.pidfd_open(test.pid)
    while True:
        readable, _, _ = select.select([pipe, ended, CHILD_ENDED[0]], [], [], max(0.0, deadline - time.monotonic()))
        if not readable:
            return tail, False
        if CHILD_ENDED[0] in readable:
            os.read(CHILD_ENDED[0], 4096)
            reap_orphans(test.pid)
        if pipe in readable:
            piece = os.read(pipe, 1 << 16)
            if not piece:
                return tail, True
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            tail = (tail + piece)[-4096:]
        elif ended in readable:
            return tail, True


def run(command, limit_s):
    """Returns the exit code and the end of the output."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as test:
        tail, in_time = pass_on(test, time.monotonic() + limit_s)
        if in_time:
            return test.wait(), tail
        print(f"run_test: interrupted, since it did not end within {limit_s:g} s", flush=True)
        test.send_signal(signal.SIGINT)
        pass_on(test, time.monotonic() + INTERRUPTED_LIMIT_S)
        test.kill()
        return test.wait() or 1, tail


def note_cost(name, wall_s, cpu_s, code, skipped):
    costs = os.environ.get("TIDEMARK_TEST_COSTS")
    if costs:
        os.makedirs(costs, exist_ok=True)
        with open(os.path.join(costs, name + ".json"), "w", encoding="utf-8") as file:
            json.dump({"name": name, "wall_s": wall_s, "cpu_s": cpu_s, "code": code, "skipped": skipped}, file)


def other_turn():
    """Returns why the test is not in this gate, or nothing."""
    if "TIDEMARK_GATE" in os.environ and (place := os.environ.get("TIDEMARK_TURN")):
        turn, turns = map(int, place.split("/"))
        if (sizes.seed() // 3 + turn) % turns:  # the seed's third is what sizes.in_turn goes by, within the tests
            return f"its turn comes in one gate of {turns}, and at night"
    return ""


def main():
    name, limit_s, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    if reason := other_turn():
        print(reason)
        note_cost(name, 0.0, 0.0, SKIPPED, reason)
        return SKIPPED
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.set_wakeup_fd(CHILD_ENDED[1], warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    directory = tempfile.mkdtemp(prefix="tm-", dir=os.environ.get("TIDEMARK_TEST_TMP", "/tmp"))
    os.environ["TMPDIR"] = directory  # short: the path of a Unix socket has at most 107 bytes
    os.chmod(directory, 0o755)  # PostgreSQL runs as another user where the tests run as root
    began = time.monotonic()
    try:
        code, tail = run(command, sizes.scaled(limit_s) * float(os.environ.get("TIDEMARK_PATIENCE") or 1))
        left = left_behind()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    wall = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if left:
        print("run_test: the test left processes behind:", *(f"  {pid} {line}" for pid, line in left), sep="\n")
        code = 1 if code in (0, SKIPPED) else code
    last = tail.decode(errors="replace").strip().rpartition("\n")[2] if code == SKIPPED else ""
    note_cost(name, wall, used.ru_utime + used.ru_stime, code, last)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
