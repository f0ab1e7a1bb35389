import http.client
import json
import os
import signal
import time

from harness.processes import free_ports
from systems.tidemark import Tidemark

WORKERS = 2
CONCURRENCY = 16
JOB_LIMIT_S = 300.0
BATCH = 1_000
ENDS = ("succeeded", "poisoned", "cancelled")


class Stack(Tidemark):
    """The stores, the api and the workers; the workers are started and stopped by the workload."""
    version = f"default settings, durability fsync; for jobs {WORKERS} workers with concurrency {CONCURRENCY}"

    def start(self):
        super().start()
        (self.api,) = free_ports(1)
        data = os.path.join(self.directory, "data")
        process = self.launch("api", [os.path.join(self.binaries, "api"), "--data", data, "--port", str(self.api)])
        self.await_port(process, self.api)
        with open(os.path.join(data, "run", "token"), encoding="ascii") as file:
            self.token = file.read().strip()
        self.workers = []

    def start_workers(self, count=WORKERS):
        data = os.path.join(self.directory, "data")
        self.workers = [self.launch(f"worker-{n}", [os.path.join(self.binaries, "worker"), "--data", data, "--name", f"w{n}",
                                                    "--concurrency", str(CONCURRENCY)]) for n in range(count)]

    def stop_workers(self):
        for process in self.workers:
            process.send_signal(signal.SIGTERM)
        for process in self.workers:
            if process.wait(60) != 0:
                raise RuntimeError("a worker did not end well")
            self.processes.remove(process)
        self.workers = []


class WholeStack(Stack):
    """The stack with the blob store, which most jobs do not need."""

    def start(self):
        super().start()
        self.blob_process, self.blob = self.store("blob_store")


class Jobs:
    """One connection to the api."""

    def __init__(self, stack):
        self.http = http.client.HTTPConnection("127.0.0.1", stack.api, timeout=60)
        self.headers = {"Content-Type": "application/json", "Authorization": f"Bearer {stack.token}"}

    def call(self, method, path, body=None):
        self.http.request(method, path, None if body is None else json.dumps(body), self.headers)
        answer = self.http.getresponse()
        content = answer.read()
        if answer.status not in (200, 201, 202):
            raise RuntimeError(f"{method} {path} answered {answer.status}: {content[:300]!r}")
        return json.loads(content)

    def submit(self, **spec):
        return self.call("POST", "/v1/jobs", spec)["id"]

    def submit_all(self, specs):
        """Submits the jobs in batches and returns their ids."""
        specs, ids = list(specs), []
        for begin in range(0, len(specs), BATCH):
            answer = self.call("POST", "/v1/jobs/batch", {"jobs": specs[begin:begin + BATCH]})
            ids += [outcome["job"]["id"] for outcome in answer["results"]]
        return ids

    def await_empty_queue(self):
        """Waits until no job's message is left, asking so seldom that it takes nothing from the jobs."""
        deadline = time.monotonic() + JOB_LIMIT_S
        while self.call("GET", "/v1/queues/tidemark-jobs")["messages"] > 0:
            if time.monotonic() > deadline:
                raise RuntimeError(f"jobs are left after {JOB_LIMIT_S:.0f} s")
            time.sleep(0.1)

    def await_end(self, job):
        """Waits until the job has ended, and returns its record."""
        deadline = time.monotonic() + JOB_LIMIT_S
        while time.monotonic() < deadline:
            record = self.call("GET", f"/v1/jobs/{job}")
            if record["state"] in ENDS:
                return record
            time.sleep(0.02)
        raise RuntimeError(f"job {job} has not ended after {JOB_LIMIT_S:.0f} s")

    def await_succeeded(self, job):
        record = self.await_end(job)
        if record["state"] != "succeeded":
            raise RuntimeError(f"job {job} is {record['state']}: {record}")
        return record
