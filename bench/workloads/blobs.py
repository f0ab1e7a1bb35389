"""Blobs: small ones in number, one stream of a large one, a long list."""
import json
import os
import subprocess
import time
import urllib.parse

from harness import azure, machine
from harness.workload import Aspect, Expectation, Measurement, Subject, Workload
from harness.wrk import wrk
from systems.azurite import Azurite
from systems.bare import Bare, BareLarge
from systems.nginx import Nginx, NginxSynced
from systems.tidemark import TidemarkBlobs, TidemarkBlobShards, TidemarkBlobsUnsynced

CONTAINER = "bench"
PATH = f"/{azure.ACCOUNT}/{CONTAINER}"
TABLE = "Bench"
TABLE_PATH = f"/{azure.ACCOUNT}/{TABLE}"


class Blobs(Workload):
    """A script of wrk over blobs of one size."""
    script, size, blobs, kind = "", 0, 1_000, "BlockBlob"

    def prepare(self, system, subject):
        if subject.label == "table-upsert":
            azure.fill_table(system.table, TABLE, 10_000, 100)
        elif system.mode != "bare":
            azure.fill_container(system.blob, CONTAINER, self.blobs, self.size, self.kind)

    def measure(self, system, subject, repeat):
        if subject.label == "table-upsert":
            return wrk(system, system.table, "upsert", TABLE_PATH, repeat, self.options, entities=10_000, perpartition=100)
        measured = wrk(system, system.blob, self.script, PATH, repeat, self.options, blobs=self.blobs, size=self.size)
        if isinstance(system, TidemarkBlobs):
            measured.detail["peak_mib"] = machine.resident_mib(system.blob_process, "VmHWM")
        return measured


def memory_of(name):
    return [Aspect(f"{name}-memory", "the most that the blob store had resident", "MiB", "peak_mib",
                   [Expectation("tidemark", "<", 200, unit="MiB")])]


class Put(Blobs):
    name, unit, script, size = "blob-put", "puts/s", "blob_put", 64 << 10
    title = "Put Blob of 64 KiB, at random over 1,000 names that exist"
    subjects = [Subject("tidemark", TidemarkBlobs), Subject("unsynced", TidemarkBlobsUnsynced), Subject("bare", Bare),
                Subject("azurite", Azurite)]
    expectations = [Expectation("tidemark", ">=", 15, "azurite")]
    aspects = memory_of(name)


class Get(Blobs):
    name, unit, script, size = "blob-get", "gets/s", "blob_get", 64 << 10
    title = "Get Blob of one of 1,000 blobs of 64 KiB, at random"
    subjects = [Subject("tidemark", TidemarkBlobs), Subject("bare", BareLarge), Subject("azurite", Azurite)]
    expectations = [Expectation("tidemark", ">=", 15, "azurite")]


class PutSmall(Blobs):
    name, unit, script, size, blobs = "blob-put-small", "writes/s", "blob_put", 1 << 10, 10_000
    title = "Put Blob of 1 KiB, at random over 10,000 names that exist, beside insert or replace of an entity of 1 KiB"
    subjects = [Subject("tidemark", TidemarkBlobs), Subject("table-upsert", TidemarkBlobs)]
    expectations = [Expectation("tidemark", ">=", 0.6, "table-upsert")]


class Shards(Blobs):
    name, unit, script, size, blobs = "blob-shards", "writes/s", "blob_put", 1 << 10, 10_000
    title = "Put Blob as in blob-put-small, over one shard and over two"
    subjects = [Subject("tidemark", TidemarkBlobs), Subject("2 shards", TidemarkBlobShards)]
    expectations = [Expectation("2 shards", None, 0, "tidemark")]


class Append(Blobs):
    name, unit, script, size, blobs, kind = "blob-append", "writes/s", "blob_append", 4 << 10, 256, "AppendBlob"
    title = "Append Block of 4 KiB, at random to 256 append blobs, beside insert or replace of an entity of 1 KiB"
    subjects = [Subject("tidemark", TidemarkBlobs), Subject("table-upsert", TidemarkBlobs)]
    expectations = [Expectation("tidemark", ">=", 0.5, "table-upsert")]


class Stream(Workload):
    """One curl, one large object."""
    unit, name_of_object = "MiB/s", "large"

    def prepare(self, system, subject):
        self.file = os.path.join(os.path.dirname(system.directory), "stream")
        self.mib = self.options.stream_mib
        if not os.path.exists(self.file):
            with open(self.file, "wb") as file:
                for _ in range(self.mib):
                    file.write(os.urandom(1 << 20))
        if isinstance(system, TidemarkBlobs):
            azure.fill_container(system.blob, CONTAINER, 0, 0)
        self.put(system)

    def put(self, system):
        return self.curl(system, "--upload-file", self.file, "--header", "Expect:")

    def curl(self, system, *arguments):
        """Runs curl for one request and returns its figures."""
        url, headers = system.object_url(self.name_of_object)
        line = ["curl", "--silent", "--show-error", "--fail", "--output", "/dev/null", "--write-out", "%{json}", *arguments]
        for name, value in headers.items():
            line += ["--header", f"{name}: {value}"]
        done = subprocess.run([*line, url], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def rate(self, told, system):
        detail = {"peak_mib": machine.resident_mib(system.blob_process, "VmHWM")} if isinstance(system, TidemarkBlobs) else {}
        return Measurement(self.mib / told["time_total"], detail=detail)


class Up(Stream):
    name, title = "blob-up", "one PUT of a large object; nginx and `unsynced` leave it to the system when it is written"
    subjects = [Subject("tidemark", TidemarkBlobs), Subject("nginx, synced", NginxSynced),
                Subject("unsynced", TidemarkBlobsUnsynced), Subject("nginx", Nginx)]
    expectations = [Expectation("tidemark", ">=", 0.7, "nginx, synced"), Expectation("unsynced", ">=", 0.7, "nginx"),
                    Expectation("tidemark", None, 0, "nginx")]
    aspects = memory_of(name)

    def measure(self, system, subject, repeat):
        begun = time.monotonic()
        self.put(system)
        if isinstance(system, NginxSynced):
            system.make_durable(self.name_of_object)
        return self.rate({"time_total": time.monotonic() - begun}, system)


class Down(Stream):
    name, title = "blob-down", "one GET of a large object"
    subjects = [Subject("tidemark", TidemarkBlobs), Subject("nginx", Nginx)]
    expectations = [Expectation("tidemark", ">=", 0.7, "nginx")]

    def measure(self, system, subject, repeat):
        return self.rate(self.curl(system), system)


class FirstByte(Stream):
    name, unit, title = "blob-first-byte", "ms", "until the first byte of a large object comes, the connection included"
    subjects = [Subject("tidemark", TidemarkBlobs)]
    expectations = [Expectation("tidemark", "<", 2, unit="ms")]
    requests = 20

    def measure(self, system, subject, repeat):
        times = sorted(self.curl(system, "--range", "0-0")["time_starttransfer"] for _ in range(self.requests))
        return Measurement(times[len(times) // 2] * 1000)


class Parallel(Stream):
    """One curl with as many streams at once as --streams says, which share the megabytes of one."""
    subjects = [Subject("tidemark", TidemarkBlobs)]
    expectations = []

    def prepare(self, system, subject):
        azure.fill_container(system.blob, CONTAINER, 0, 0)
        self.streams = self.options.streams
        self.mib = max(1, self.options.stream_mib // self.streams) * self.streams
        self.file = os.path.join(os.path.dirname(system.directory), "part")
        with open(self.file, "wb") as file:
            for _ in range(self.mib // self.streams):
                file.write(os.urandom(1 << 20))
        self.put(system)

    def curl(self, system, *arguments):
        begun = time.monotonic()
        url, headers = system.object_url(f"part[1-{self.streams}]")
        line = ["curl", "--silent", "--show-error", "--fail", "--output", "/dev/null", *arguments]
        line += ["--parallel", "--parallel-immediate", "--parallel-max", str(self.streams)]
        for name, value in headers.items():
            line += ["--header", f"{name}: {value}"]
        subprocess.run([*line, url], capture_output=True, text=True, check=True)
        return {"time_total": time.monotonic() - begun}


class ParallelUp(Parallel):
    name, title = "blob-parallel-up", "many PUTs of large objects at once (--streams), together"
    aspects = memory_of(name)

    def measure(self, system, subject, repeat):
        return self.rate(self.put(system), system)


class ParallelDown(Parallel):
    name, title = "blob-parallel-down", "many GETs of large objects at once (--streams), together"
    aspects = memory_of(name)

    def measure(self, system, subject, repeat):
        return self.rate(self.curl(system), system)


class List(Workload):
    name, unit = "blob-list", "ms"
    title = "the slowest page of 5,000 names of a container, from its first page to its last (--names)"
    subjects = [Subject("tidemark", TidemarkBlobs)]
    expectations = [Expectation("tidemark", "<", 30, unit="ms")]
    repeats = 3

    def prepare(self, system, subject):
        azure.fill_container(system.blob, CONTAINER, self.options.names, 0)

    def measure(self, system, subject, repeat):
        connection = azure.Connection(system.blob)
        times, names, marker = [], 0, ""
        while marker is not None:
            begun = time.monotonic()
            body, _ = connection.call("GET", f"{CONTAINER}?restype=container&comp=list&marker={urllib.parse.quote(marker)}")
            times.append(time.monotonic() - begun)
            names += body.count(b"<Name>")
            rest = body.partition(b"<NextMarker>")[2]
            marker = rest.partition(b"<")[0].decode() or None
        if names != self.options.names:
            raise RuntimeError(f"{names} names were listed of {self.options.names}")
        times.sort()
        return Measurement(times[-1] * 1000, detail={"median_ms": times[len(times) // 2] * 1000})


ALL = [Put, Get, PutSmall, Shards, Append, Up, Down, FirstByte, ParallelUp, ParallelDown, List]
