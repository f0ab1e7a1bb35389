"""The systems that bench/run compares: started on free ports with data in a directory of its own, filled, paused while
another one is measured, stopped. Each has the same members: name, table, queue (port numbers), mode (for the Lua scripts)
and version (what it is). For one thread.
"""
import base64
import concurrent.futures
import datetime
import hashlib
import hmac
import http.client
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
ACCOUNT = "devstoreaccount1"
# The well-known key of the storage emulators: no secret.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "2021-12-02"
AZURITE = "azurite@3.37.0"
NODE = "node@22"  # Azurite 3.37 asks for it; Debian 12 has 18
START_LIMIT_S = 60.0
PRELOAD_CONNECTIONS = 8


def account_sas():
    """The query of an account SAS for everything the workloads do, valid for two days around now."""
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    start, end = ((now + d).strftime("%Y-%m-%dT%H:%M:%SZ") for d in (-day, day))
    fields = {"sp": "rwdlacup", "ss": "btqf", "srt": "sco", "st": start, "se": end, "sip": "", "spr": "https,http",
              "sv": VERSION, "ses": ""}
    text = "".join(value + "\n" for value in [ACCOUNT, *fields.values()])
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    return urllib.parse.urlencode({k: v for k, v in fields.items() if v} | {"sig": signature})


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class System:
    name = mode = version = ""
    table = queue = blob = 0

    def __init__(self, directory):
        self.directory = directory
        self.processes = []
        os.makedirs(directory, exist_ok=True)

    def launch(self, name, line):
        log_path = os.path.join(self.directory, name + ".log")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TIDEMARK_")}
        with open(log_path, "wb") as log:
            # In a group of its own: Ctrl-C reaches bench/run alone, which then stops everything in order.
            process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
                                       env=environment, start_new_session=True)
        self.processes.append(process)
        return process, log_path

    def await_port(self, process, port, log_path):
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            if process.poll() is not None or time.monotonic() > deadline:
                with open(log_path, errors="replace") as log:
                    raise RuntimeError(f"{self.name} did not open port {port}; it wrote:\n{log.read()[-3000:]}")
            time.sleep(0.05)

    def signal(self, number):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(number)

    def check_alive(self):
        dead = [p.args[0] for p in self.processes if p.poll() is not None]
        if dead:
            raise RuntimeError(f"{self.name}: ended while being measured: {', '.join(dead)}")

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def stop(self):
        self.resume()
        self.signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Bare(System):
    name, mode, version = "bare", "bare", "Beast server that answers 1 KiB to everything"

    def start(self, binaries):
        (port,) = free_ports(1)
        line = [os.path.join(binaries, "bare_server"), str(port), str(os.cpu_count())]
        process, log = self.launch("bare_server", line)
        self.await_port(process, port, log)
        self.table = self.queue = port


class Tidemark(System):
    name, mode, version = "tidemark", "store", "default settings, durability fsync"

    def start(self, binaries):
        self.table, self.queue = free_ports(2)
        for program, port in (("table_store", self.table), ("queue_service", self.queue)):
            line = [os.path.join(binaries, program), "--data", os.path.join(self.directory, "data"), "--port", str(port)]
            process, log = self.launch(program, line)
            self.await_port(process, port, log)


class Azurite(System):
    name, mode, version = "azurite", "store", f"{AZURITE} on {NODE}, data on disk, defaults"

    def start(self, _binaries):
        install_azurite()
        self.blob, self.queue, self.table = free_ports(3)
        line = [node_path(), os.path.join(HERE, "node_modules", "azurite", "dist", "src", "azurite.js"),
                "--skipApiVersionCheck", "--loose", "--silent", "--disableTelemetry",
                "--location", os.path.join(self.directory, "data"), "--blobPort", str(self.blob),
                "--queuePort", str(self.queue), "--tablePort", str(self.table)]
        process, log = self.launch("azurite", line)
        for port in (self.queue, self.table):
            self.await_port(process, port, log)


ALL = (Bare, Tidemark, Azurite)


def node_path():
    return os.path.join(HERE, "node_modules", "node", "bin", "node")


def install_azurite():
    """Once, into node_modules, which git ignores."""
    package = os.path.join(HERE, "node_modules", "azurite", "package.json")
    if os.path.exists(package) and os.path.exists(node_path()):
        with open(package) as file:
            if f'"version": "{AZURITE.split("@")[1]}"' in file.read():
                return
    if not shutil.which("npm"):
        raise RuntimeError("npm is missing; run scripts/setup")
    print(f"bench: installing {AZURITE} and {NODE} into bench/node_modules", file=sys.stderr)
    os.makedirs(os.path.join(HERE, "node_modules"), exist_ok=True)
    subprocess.run(["npm", "install", "--no-save", "--package-lock=false", "--no-audit", "--no-fund",
                    "--loglevel=error", "--prefix", HERE, AZURITE, NODE], check=True, stdout=sys.stderr)
    got = subprocess.run([node_path(), "--version"], check=True, capture_output=True, text=True).stdout
    if not got.startswith("v22."):
        raise RuntimeError(f"bench/node_modules has Node {got.strip()}, not 22")


def install_wrk():
    if shutil.which("wrk"):
        return
    print("bench: installing the Debian package wrk", file=sys.stderr)
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*as_root, "apt-get", "update", "-qq"], check=True, stdout=sys.stderr)
    subprocess.run([*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
                    "--no-install-recommends", "wrk"], check=True, stdout=sys.stderr)


def call(connection, method, path, body=None, headers=None, expect=(200, 201, 204)):
    """One request; the body of the answer. Anything but an expected status ends the run."""
    connection.request(method, path, body, {"x-ms-version": VERSION, **(headers or {})})
    answer = connection.getresponse()
    content = answer.read()
    if answer.status not in expect:
        raise RuntimeError(f"{method} {path.split('?')[0]} answered {answer.status}: {content[:300]!r}")
    return content


def connect(port):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json;odata=nometadata"}


def create_table(port, sas, table):
    call(connect(port), "POST", f"/{ACCOUNT}/Tables?{sas}", '{"TableName":"%s"}' % table, JSON_HEADERS)


def preload(port, sas, table, count):
    """Creates the table with `count` entities of 1 KiB, under the keys that entity_path in wrk/common.lua makes."""
    create_table(port, sas, table)
    body = '{"Data":"' + "r" * (1024 - 11) + '"}'

    def fill(first):
        connection = connect(port)
        for number in range(first, count, PRELOAD_CONNECTIONS):
            path = f"/{ACCOUNT}/{table}(PartitionKey='p{number % 100}',RowKey='r{number:06d}')?{sas}"
            call(connection, "PUT", path, body, JSON_HEADERS)

    with concurrent.futures.ThreadPoolExecutor(PRELOAD_CONNECTIONS) as pool:
        list(pool.map(fill, range(PRELOAD_CONNECTIONS)))
    last = f"/{ACCOUNT}/{table}(PartitionKey='p{(count - 1) % 100}',RowKey='r{count - 1:06d}')?{sas}"
    if "r" * 1013 not in call(connect(port), "GET", last, None, JSON_HEADERS).decode():
        raise RuntimeError("the preloaded entity did not come back as written")


def create_queue(port, sas, queue):
    call(connect(port), "PUT", f"/{ACCOUNT}/{queue}?{sas}")


def filesystem_of(directory):
    row = subprocess.run(["df", "-T", directory], check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    return row.split()[1]


def machine(directory):
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read())
    with open("/proc/meminfo") as file:
        memory_kib = int(re.search(r"MemTotal:\s*(\d+)", file.read()).group(1))
    return {"cpu": model.group(1) if model else platform.machine(), "cores": os.cpu_count(),
            "memory_gib": round(memory_kib / 2**20, 1), "kernel": platform.release(),
            "data_directory_filesystem": filesystem_of(directory), "load_average_before": os.getloadavg()[0]}


def fdatasync_ms(directory, times=300):
    """What one fdatasync of a 4 KiB append costs: the floor under every durable write."""
    path = os.path.join(directory, "fdatasync")
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    taken = []
    try:
        for _ in range(times):
            os.write(descriptor, b"\0" * 4096)
            begin = time.perf_counter()
            os.fdatasync(descriptor)
            taken.append((time.perf_counter() - begin) * 1000)
    finally:
        os.close(descriptor)
        os.unlink(path)
    taken.sort()
    return {"p50": round(taken[times // 2], 3), "p99": round(taken[times * 99 // 100], 3)}
