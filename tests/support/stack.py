"""Runs the real programs for tests: a data directory of its own, free ports, kill -9, pause, restart.

Nothing waits for a fixed time: every wait polls a condition until a deadline. A process's stderr is shown when it did
not behave as expected. For one thread, except where a method says otherwise.
"""
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import postgres
import shards

BIN = os.environ.get("TIDEMARK_BIN", "build/release/bin")
SOURCE = os.environ.get("TIDEMARK_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
START_LIMIT_S = 60.0
NO_DATABASE = "error: cannot use the database: PostgreSQL: "  # begins the last line of a store that cannot start
TOKEN = "the-token-of-all-tests"  # shared by the programs, the command line and ApiClient


def program(name):
    return os.path.join(BIN, name)


def wait_until(condition, what, limit_s=60.0, interval_s=0.02):
    """Polls until the condition holds; returns its result. The limit only catches hanging, not slowness."""
    deadline = time.monotonic() + limit_s
    while True:
        outcome = condition()
        if outcome:
            return outcome
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {limit_s:g} s: {what}")
        time.sleep(interval_s)


def _reserve(port):
    """Reserves the port for as long as this process lives, among all tests of this network: the holder of the UDP port
    has the port (also ports.mjs)."""
    holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        holder.bind(("127.0.0.1", port))
    except OSError:
        holder.close()
        return False
    holder.detach()  # it stays open
    return True


def _are_free(ports):
    sockets = []
    try:
        for port in ports:
            sockets.append(socket.create_server(("127.0.0.1", port)))
        return True
    except OSError:
        return False
    finally:
        for taken in sockets:
            taken.close()


# Below the ports that the system hands out: a program that is killed and started again finds its port free.
PORT_BASES = range(16_000, 31_000, 10)


def free_port_base():
    """Returns the first of four ports in a row that are free, and that no other test gets."""
    for base in random.sample(PORT_BASES, len(PORT_BASES)):
        if _reserve(base) and _are_free(range(base, base + 4)):
            return base
    raise AssertionError("no four free ports in a row")


def free_port():
    """Returns a port that is free and that no other test gets: between those of free_port_base()."""
    for base in random.sample(PORT_BASES, len(PORT_BASES)):
        for port in range(base + 4, base + 10):
            if _reserve(port) and _are_free([port]):
                return port
    raise AssertionError("no free port")


def clean_environment(extra=None):
    """Returns the environment without the TIDEMARK_ settings of the user who runs the tests, and of a Tidemark that is
    installed on this machine. An empty TIDEMARK_TOKEN is as if it were not set."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TIDEMARK_")}
    environment["TIDEMARK_TOKEN"] = TOKEN
    environment["TIDEMARK_ENV_FILE"] = ""
    environment.update(extra or {})
    return environment


class Child:
    """One process of the stack, from start to its end."""

    def __init__(self, name, arguments, log_path, environment=None, cwd=None):
        self.name = name
        self.log_path = log_path
        self._log = open(log_path, "ab")
        self.popen = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log,
                                      env=clean_environment(environment), cwd=cwd)
        self.ready = {}

    def await_ready(self, limit_s=START_LIMIT_S, may_die=False):
        """Reads the line "ready NAME key=value ..." and keeps its values. A process that may die may do so before that
        line."""
        deadline = time.monotonic() + limit_s
        text = b""
        stdout = self.popen.stdout.fileno()
        while b"\n" not in text:
            left = deadline - time.monotonic()
            readable, _, _ = select.select([stdout], [], [], max(0.0, left))
            piece = os.read(stdout, 4096) if readable else b""
            if not piece:
                if may_die and readable and self.popen.wait(limit_s) == -signal.SIGKILL:
                    return self
                raise AssertionError(f"{self.name} did not become ready; it wrote:\n{self.log()}")
            text += piece
        words = text.split(b"\n")[0].decode().split()
        if words[0] != "ready":
            raise AssertionError(f"{self.name} announced {words} instead of ready")
        self.ready = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        return self

    @property
    def pid(self):
        return self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def signal(self, number):
        if self.alive():
            self.popen.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.popen.wait()
        self.close()

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def terminate(self, limit_s=60.0):
        """Sends SIGTERM; returns the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait(limit_s)

    def wait(self, limit_s=60.0):
        try:
            code = self.popen.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {limit_s:g} s; it wrote:\n{self.log()}") from None
        self.close()
        return code

    def close(self):
        self.popen.stdout.close()
        self._log.close()

    def log(self, last_bytes=4000):
        with open(self.log_path, "rb") as file:
            return file.read()[-last_bytes:].decode(errors="replace")


class Stack:
    """The stores, the api and any number of workers on one data directory. Restarted processes keep their ports."""

    STORES = ("table_store", "queue_service", "blob_store")

    def __init__(self):
        # Short: the path of a Unix socket has at most 107 bytes.
        self.directory = tempfile.mkdtemp(prefix="tm")
        self.data = os.path.join(self.directory, "d")
        self.children = {}
        self.ports = {}
        self._arguments = {}
        self._settings = postgres.stack_settings()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.show_logs()
        self.close()

    def launch(self, name, program_name, *arguments, environment=None):
        """Starts a process without waiting for it."""
        line = [program(program_name), "--data", self.data, *arguments]
        environment = {**self._settings, **(environment or {})}
        child = Child(name, line, os.path.join(self.directory, name + ".log"), environment)
        self.children[name] = child
        return child

    def start(self, name, *arguments):
        """Starts a store or the api, on a free port the first time and on the same one later."""
        self._arguments[name] = arguments or self._arguments.get(name, ())
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            child = self.launch(name, name, "--port", str(self.ports.get(name) or free_port()), *shards.arguments_of(name),
                                *self._arguments[name])
            try:
                child.await_ready()
            except AssertionError:
                # A service manager starts a store again whose database did not answer in time.
                if child.alive() or time.monotonic() > deadline or NO_DATABASE not in child.log().strip().split("\n")[-1]:
                    raise
                child.close()
                continue
            self.ports[name] = int(child.ready["port"])
            return child

    def start_worker(self, name, *arguments, fail_point=None):
        """Starts a worker. One with a fail point may reach it, and die, before it is ready."""
        environment = {"TIDEMARK_FAIL_POINT": fail_point} if fail_point else None
        worker = self.launch(name, "worker", "--name", name, *arguments, environment=environment)
        return worker.await_ready(may_die=fail_point is not None)

    def up(self, workers=0, worker_arguments=(), api_arguments=()):
        for name in ("table_store", "queue_service"):
            self.start(name)
        self.start("api", *api_arguments)
        for number in range(1, workers + 1):
            self.start_worker(f"worker-{number}", *worker_arguments)
        return self

    def restart(self, name, *arguments):
        """Kills the process with SIGKILL, if it lives, and starts it again, perhaps with other arguments."""
        self.children[name].kill()
        return self.start(name, *arguments)

    def restart_to_die(self, name, fail_point):
        """Kills the process and starts it again to die at this point: perhaps before it is ready, so nothing waits for
        that."""
        self.children[name].kill()
        return self.launch(name, name, "--port", str(self.ports[name]), *self._arguments[name],
                           environment={"TIDEMARK_FAIL_POINT": fail_point})

    def show_logs(self):
        for name in sorted(self.children):
            print(f"---- {name}\n{self.children[name].log()}", file=sys.stderr)

    def close(self):
        for child in self.children.values():
            child.resume()
            if child.alive():
                child.kill()
            else:
                child.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class StackTest(unittest.TestCase):
    """Tests that share a stack. Its logs are shown after a failure."""
    stack = None

    @classmethod
    def setUpClass(cls):
        cls.stack = Stack()
        cls.addClassCleanup(cls.stack.close)

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            self.show_logs()

    def show_logs(self):
        self.stack.show_logs()


class OwnStackTest(StackTest):
    """Tests of which each has a stack of its own."""

    @classmethod
    def setUpClass(cls):
        pass

    def run(self, result=None):
        with Stack() as self.stack:
            super().run(result)
