"""Workers: functions that do the jobs of kinds of your own.

    worker = Worker(Client())

    @worker.kind("resize", version=2)
    def resize(job):
        for done, page in enumerate(pages(job.input), 1):
            job.check()                      # raises if the job was cancelled, or another worker has it
            ...
            job.progress(done, len(job.input["pages"]))
        return {"pages": done}

    worker.run()
"""
from __future__ import annotations

import concurrent.futures
import logging
import os
import signal
import socket
import threading
import time
import uuid
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import urlencode

from tidemark.client import Client, Json, TidemarkError, _UNANSWERED

_LOG = logging.getLogger("tidemark")
_CLAIM_WAIT = 20  # seconds
_DEFAULT_LEASE = 30.0


class Permanent(Exception):
    """The job can never succeed: it becomes poison at once."""


class Retry(Exception):
    """Not now: the job is tried again after so many seconds, and the attempt does not count."""

    def __init__(self, after: float = 1.0, message: str = ""):
        super().__init__(message or "not now")
        self.after = after


class Cancelled(Exception):
    """The job was cancelled: stop. Nothing that is written in its name takes effect any more."""


class Lost(Exception):
    """The lease ran out, and another worker may have the job: stop, and write nothing more."""


class Released(Exception):
    """The worker stops: give the job back. The attempt does not count."""


class Job:
    """A job that a worker holds. `fence` has the headers that belong to each write in its name: with them, the writes
    of a worker that has lost the job are refused."""

    def __init__(self, claimed: Json, sent_at: float):
        self.id: str = claimed["id"]
        self.epoch: int = claimed["epoch"]
        self.kind: str = claimed["kind"]
        self.version: int = claimed.get("version", 1)
        self.key: str = claimed.get("key", "")
        self.attempt: int = claimed.get("attempt", 1)
        self.max_attempts: int = claimed.get("maxAttempts", 1)
        self.input: Any = claimed.get("input")
        self.checkpoint: Any = claimed.get("checkpoint")
        self.fence: Dict[str, str] = claimed.get("fence", {})
        self.traceparent: str = claimed.get("traceparent", "")
        self.lease: float = claimed.get("leaseSeconds", _DEFAULT_LEASE)
        self._lock = threading.Lock()
        self._news: Json = {}
        self._saved = threading.Condition(self._lock)
        self._held_until = sent_at + self.lease
        self._stop: Optional[type] = None
        self._now: Callable[[], None] = lambda: None  # sends a beat soon

    def check(self) -> None:
        """Raises Cancelled, Lost or Released if the job must stop; call it before each step."""
        if self._stop is not None:
            raise self._stop(f"job {self.id}")
        if time.monotonic() >= self._held_until:
            raise Lost(f"job {self.id}")

    def progress(self, done: int, total: Optional[int] = None, phase: Optional[str] = None) -> None:
        """Reports progress with the next sign of life."""
        with self._lock:
            self._news.update({name: value for name, value in
                               (("done", done), ("total", total), ("phase", phase)) if value is not None})

    def save(self, checkpoint: Any) -> None:
        """Stores a checkpoint of at most 16 KiB, from which the next attempt goes on, and returns once it is stored."""
        with self._saved:
            self._news["checkpoint"] = checkpoint
            self.checkpoint = checkpoint
        self._now()
        with self._saved:
            while "checkpoint" in self._news and self._stop is None and time.monotonic() < self._held_until:
                self._saved.wait(0.2)
        self.check()

    def _take_news(self) -> Json:
        with self._lock:
            return dict(self._news)

    def _beaten(self, news: Json, sent_at: float) -> None:
        with self._saved:
            self._held_until = sent_at + self.lease
            for name, value in news.items():
                if self._news.get(name) is value:
                    del self._news[name]
            self._saved.notify_all()

    def _end_with(self, reason: type) -> None:
        with self._saved:
            self._stop = self._stop or reason
            self._saved.notify_all()


Handler = Callable[[Job], Any]


def outcome_of(handler: Handler, job: Job) -> Optional[Json]:
    """Runs the handler and returns how the job ends; None: somebody else decides about it."""
    try:
        result = handler(job)
        return {"result": {} if result is None else result}
    except (Cancelled, Lost):
        return None
    except Released:
        return {"release": True}
    except Retry as error:
        return {"error": {"class": "throttled", "message": str(error), "retryAfter": max(0, round(error.after))}}
    except Permanent as error:
        return {"error": {"class": "permanent", "message": str(error)}}
    except Exception as error:  # pylint: disable=broad-except
        _LOG.exception("job %s failed", job.id)
        return {"error": {"class": "transient", "message": f"{type(error).__name__}: {error}"[:2000]}}


class Worker:
    """Claims jobs and runs their handlers in threads. A thread of its own gives signs of life, so a handler that
    computes for long keeps its job; one that never lets other threads run needs a process of its own."""

    def __init__(self, client: Client, name: Optional[str] = None, concurrency: int = 4, drain: float = 30.0):
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"[:100]
        self._client, self._concurrency, self._drain = client, concurrency, drain
        self._handlers: Dict[Tuple[str, int], Handler] = {}
        self._held: Dict[str, Job] = {}
        self._lock = threading.Lock()
        self._free = threading.Semaphore(concurrency)
        self._stopping = threading.Event()
        self._beat_now = threading.Event()
        self._quiet = False

    def kind(self, kind: str, version: int = 1) -> Callable[[Handler], Handler]:
        """Makes a function the handler of a kind: it takes a Job and returns the result, which is any JSON."""
        def register(handler: Handler) -> Handler:
            self._handlers[kind, version] = handler
            return handler
        return register

    def stop(self) -> None:
        """Takes nothing more; run() returns when all jobs have ended or have been given back."""
        self._stopping.set()

    def run(self, signals: bool = True) -> None:
        """Works until stop(), or SIGTERM or SIGINT if `signals` and this is the main thread."""
        if signals and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        ended = threading.Event()
        helpers = [threading.Thread(target=work, args=(ended,), daemon=True) for work in (self._beat, self._listen)]
        for helper in helpers:
            helper.start()
        with concurrent.futures.ThreadPoolExecutor(self._concurrency) as pool:
            while not self._stopping.is_set():
                self._claim_into(pool)
            self._give_back_after(self._drain)
        ended.set()
        self._beat_now.set()
        helpers[0].join()

    def _claim_into(self, pool: concurrent.futures.Executor) -> None:
        if not self._free.acquire(timeout=0.2):  # pylint: disable=consider-using-with
            return
        count = 1
        while count < self._concurrency and self._free.acquire(blocking=False):  # pylint: disable=consider-using-with
            count += 1
        sent_at = time.monotonic()
        claimed = [] if self._quiet else self._claim(count)
        if self._quiet:
            self._stopping.wait(0.2)
        for given in claimed:
            job = Job(given, sent_at)
            job._now = self._beat_now.set
            with self._lock:
                self._held[job.id] = job
            pool.submit(self._do, job)
        for _ in range(count - len(claimed)):
            self._free.release()

    def _claim(self, count: int) -> List[Json]:
        """Claims jobs. A claim without an answer is repeated under its id, which gives the same jobs."""
        wanted = {"worker": self.name, "kinds": [f"{kind}@{version}" for kind, version in self._handlers], "count": count,
                  "wait": _CLAIM_WAIT, "requestId": uuid.uuid4().hex}
        while not self._stopping.is_set():
            given = self._try("claim", wanted, _CLAIM_WAIT + 10)
            if given is not None:
                self._quiet = given["worker"] == "quiet"
                return given["jobs"]
            self._stopping.wait(1.0)
        return []

    def _do(self, job: Job) -> None:
        try:
            end = outcome_of(self._handlers[job.kind, job.version], job)
            if end is not None:
                self._end(job, end)
        finally:
            with self._lock:
                self._held.pop(job.id, None)
            self._free.release()

    def _end(self, job: Job, end: Json) -> None:
        """Ends the job; repeats that until it is answered, as long as the job is held."""
        body = {"worker": self.name, "jobs": [{"id": job.id, "epoch": job.epoch, **end}]}
        while time.monotonic() < job._held_until:
            answer = self._try("end", body)
            if answer is not None:
                ended = answer["jobs"][0]
                if ended["status"] >= 500:
                    time.sleep(0.5)
                    continue
                if ended["status"] >= 400:
                    _LOG.warning("the end of job %s was refused: %s", job.id, ended.get("problem", {}).get("detail"))
                return
            time.sleep(0.5)

    def _beat(self, ended: threading.Event) -> None:
        while not ended.is_set():
            with self._lock:
                jobs = list(self._held.values())
            pause = min([job.lease / 4 for job in jobs], default=1.0)
            self._beat_now.wait(min(pause, 5.0))
            self._beat_now.clear()
            for begin in range(0, len(jobs), 100):
                self._beat_for(jobs[begin:begin + 100])

    def _beat_for(self, jobs: List[Job]) -> None:
        news = [job._take_news() for job in jobs]
        sent_at = time.monotonic()
        beat = self._try("beat", {"worker": self.name,
                                  "jobs": [{"id": job.id, "epoch": job.epoch, **told} for job, told in zip(jobs, news)]})
        if beat is None:
            return  # the jobs are held until their leases end, whatever a beat that failed may mean
        self._quiet = beat["worker"] == "quiet"
        for job, told, answer in zip(jobs, news, beat["jobs"]):
            if answer["answer"] == "held":
                job._beaten(told, sent_at)
            else:
                job._end_with(Cancelled if answer["answer"] == "cancel" else Lost)

    def _listen(self, ended: threading.Event) -> None:
        """Hears of cancelled jobs at once. The beats tell of them, too, so a stream that breaks costs only time."""
        while not ended.is_set():
            try:
                stream = self._client.stream("/v1/work/events?" + urlencode({"worker": self.name}), 60.0)
                for line in stream:
                    if ended.is_set():
                        return
                    if line.startswith(b"event: "):
                        self._beat_now.set()
            except (TidemarkError, *_UNANSWERED):
                ended.wait(2.0)

    def _give_back_after(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._held and time.monotonic() < deadline:
            time.sleep(0.05)
        with self._lock:
            for job in self._held.values():
                job._end_with(Released)

    def _try(self, what: str, body: Json, timeout: Optional[float] = None) -> Optional[Json]:
        """Returns None if there was no answer, or the api is in trouble."""
        try:
            return self._client.call("POST", f"/v1/work/{what}", body, timeout)
        except TidemarkError as error:
            if error.status < 500 and error.status != 429:
                raise
        except _UNANSWERED:
            pass
        return None
