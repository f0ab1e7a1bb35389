"""A system under test: processes on free ports with data in a directory of their own, paused while another is measured.
Used by one thread only.
"""
import os
import signal
import socket
import subprocess
import time

START_LIMIT_S = 60.0
STOP_LIMIT_S = 30.0


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def descendants(pid):
    """Returns the process and all that it started: a database may give each child a session of its own."""
    found = [pid]
    for parent in found:
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children") as file:
                    found += [int(word) for word in file.read().split()]
        except OSError:
            continue  # ended meanwhile
    return found


def state_of(pid):
    """Returns the letter that ps shows: T is stopped, Z and X have ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def await_true(condition, what, limit_s=START_LIMIT_S):
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {limit_s:.0f} s in vain for {what}")
        time.sleep(0.02)


class System:
    """`name` is its name in the report, `version` describes it, and `mode` says whether it is a store."""
    name = version = ""
    protocol = ""  # the name of its queue client, if that is not its own name
    mode = "store"
    stop_signal = signal.SIGTERM

    def __init__(self, directory, binaries):
        self.directory = directory
        self.binaries = binaries
        self.processes = []
        os.makedirs(directory)

    @staticmethod
    def install():
        """Installs what the system needs, once."""

    def start(self):
        raise NotImplementedError

    def launch(self, name, line, **how):
        self.log_path = os.path.join(self.directory, name + ".log")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TIDEMARK_")} | how.pop("env", {})
        with open(self.log_path, "ab") as log:
            # In a session of its own: Ctrl-C reaches bench/run alone, which then stops everything in order.
            process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
                                       env=environment, start_new_session=True, **how)
        self.processes.append(process)
        return process

    def await_port(self, process, port):
        def answers():
            if process.poll() is not None:
                with open(self.log_path, errors="replace") as log:
                    raise RuntimeError(f"{self.name} ended before it opened port {port}:\n{log.read()[-3000:]}")
            with socket.socket() as probe:
                # Nobody listens yet if the probe happens to be given the port itself, and so reaches itself.
                return probe.connect_ex(("127.0.0.1", port)) == 0 and probe.getsockname() != probe.getpeername()
        await_true(answers, f"{self.name} to open port {port}")

    def signal(self, number):
        for process in self.processes:
            if process.poll() is None:
                for pid in descendants(process.pid):
                    try:
                        os.kill(pid, number)
                    except ProcessLookupError:
                        continue

    def cpu_seconds(self):
        """Returns the processor time that all processes that still run have used so far."""
        ticks = 0
        for process in self.processes:
            for pid in descendants(process.pid):
                try:
                    with open(f"/proc/{pid}/stat") as file:
                        fields = file.read().rpartition(")")[2].split()
                    ticks += sum(int(field) for field in fields[11:15])  # user, system, and those of ended children
                except OSError:
                    continue  # ended meanwhile
        return ticks / os.sysconf("SC_CLK_TCK")

    def check_alive(self):
        dead = [process.args[0] for process in self.processes if process.poll() is not None]
        if dead:
            raise RuntimeError(f"{self.name}: ended while being measured: {', '.join(dead)}")

    def pause(self):
        self.signal(signal.SIGSTOP)
        pids = [pid for process in self.processes for pid in descendants(process.pid)]
        await_true(lambda: all(state_of(pid) in "TZX" for pid in pids), f"{self.name} to stop")

    def resume(self):
        self.signal(signal.SIGCONT)

    def stop(self):
        """Ends the processes, the last one started first, so that a process ends after those that depend on it."""
        self.resume()
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(self.stop_signal)
            try:
                process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.kill(process)

    @staticmethod
    def kill(process):
        for pid in descendants(process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()
