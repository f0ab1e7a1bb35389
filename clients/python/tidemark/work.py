"""Workers: functions that do the jobs of kinds of your own."""
from __future__ import annotations

import itertools
import json
import logging
import os
import signal
import socket
import threading
import time
import uuid
from types import SimpleNamespace
from typing import Any, Callable, Dict, Optional, Tuple
from urllib.parse import urlencode

from tidemark.client import Client, Json, TidemarkError, UNANSWERED
from tidemark.transactions import Transaction

_LOG = logging.getLogger("tidemark")
Handler = Callable[["Job"], Any]
_CLAIM_WAIT = 5  # seconds: as long as a worker that is told to stop may still get jobs


class Permanent(Exception):
    """The job can never succeed: it becomes poison at once."""


class Retry(Exception):
    """Not now: the job is tried again after so many seconds, and the attempt does not count."""

    def __init__(self, after: float = 1.0, message: str = "not now"):
        super().__init__(message)
        self.seconds = max(0, -int(-after // 1))


class Stopped(Exception):
    """The handler must stop. `reason` is "cancelled"; or "lost": the lease ran out, and another worker may have the job,
    so write nothing more; or "released": the worker stops, and the job goes back without counting an attempt."""

    def __init__(self, reason: str):
        super().__init__(f"the job was {reason}")
        self.reason = reason


class End:
    """A result that comes with guards and steps: all of them happen together, or none. The kind must allow it ("steps")."""

    def __init__(self, result: Any, transaction: Transaction):
        self.body = {"result": result, "guards": transaction.guards, "steps": transaction.steps}


class Job:
    """A job that a worker holds. `fence` has the headers that belong to each write in its name: with them, the writes
    of a worker that has lost the job are refused."""

    def __init__(self, claimed: Json):
        self.id, self.epoch, self.kind = claimed["id"], claimed["epoch"], claimed["kind"]
        self.version, self.key = claimed.get("version", 1), claimed.get("key", "")
        self.attempt, self.max_attempts = claimed.get("attempt", 1), claimed.get("maxAttempts", 1)
        self.input, self.checkpoint = claimed.get("input"), claimed.get("checkpoint")
        self.fence, self.traceparent = claimed.get("fence", {}), claimed.get("traceparent", "")
        self._lease, self._changed = claimed.get("leaseSeconds", 30), threading.Condition()
        self._news: Json = {}
        self._stop = ""
        self._beat_soon: Callable[[], None] = lambda: None
        self._beaten({}, time.monotonic())

    def check(self) -> None:
        """Raises Stopped if the job must stop; call it before each step."""
        if self._stop or time.monotonic() >= self._held_until:
            raise Stopped(self._stop or "lost")

    def progress(self, done: int, total: Optional[int] = None, phase: Optional[str] = None) -> None:
        """Reports progress with the next sign of life."""
        news = {"done": done, "total": total, "phase": phase}
        with self._changed:
            self._news.update({name: value for name, value in news.items() if value is not None})

    def save(self, checkpoint: Any) -> None:
        """Stores a checkpoint of at most 16 KiB, from which the next attempt goes on, and returns once it is stored."""
        if len(json.dumps(checkpoint)) > 16384:
            raise ValueError("A checkpoint has at most 16 KiB: put more into a blob, and name the blob.")
        with self._changed:
            self._news["checkpoint"] = self.checkpoint = checkpoint
            self._beat_soon()
            while "checkpoint" in self._news and not self._stop and time.monotonic() < self._held_until:
                self._changed.wait(0.2)
        self.check()

    def _beaten(self, news: Json, sent_at: float) -> None:
        with self._changed:
            self._held_until, self._beat_at = sent_at + self._lease, sent_at + min(self._lease / 4, 5.0)
            self._news = {name: value for name, value in self._news.items() if news.get(name) is not value}
            self._changed.notify_all()

    def _end_with(self, reason: str) -> None:
        with self._changed:
            self._stop = self._stop or reason
            self._changed.notify_all()


def outcome_of(handler: Handler, job: Job) -> Optional[Json]:
    """Runs the handler and returns how the job ends; None: somebody else decides about it."""
    try:
        result = handler(job)
        end = result.body if isinstance(result, End) else {"result": {} if result is None else result}
        json.dumps(end)
        return end
    except Stopped as error:
        return {"release": True} if error.reason == "released" else None
    except Retry as error:
        return {"error": {"class": "throttled", "message": str(error), "retryAfter": error.seconds}}
    except Permanent as error:
        return {"error": {"class": "permanent", "message": str(error)}}
    except Exception as error:  # pylint: disable=broad-except
        _LOG.exception("job %s failed", job.id)
        return {"error": {"class": "transient", "message": f"{type(error).__name__}: {error}"[:2000]}}


def run_handler(handler: Handler, input: Any = None, *, cancel_at_check: int = -1, **claimed: Any) -> SimpleNamespace:
    """Runs a handler without a server, for a job with this input and other members, such as checkpoint. Returns result,
    steps, error, released, cancelled, progress and checkpoints. The job is cancelled after `cancel_at_check` checks."""
    job = Job({"id": "0000000000000000-00000000", "epoch": 1, "kind": "test", "leaseSeconds": 1e9, "input": input, **claimed})
    told: Json = {"result": None, "error": None, "steps": [], "progress": [], "checkpoints": []}
    checks, check = itertools.count(), job.check

    def counted_check() -> None:
        if next(checks) == cancel_at_check:
            job._end_with("cancelled")
        check()

    def save(checkpoint: Any) -> None:
        told["checkpoints"].append(checkpoint)
        job.check()

    job.check, job.save = counted_check, save
    job.progress = lambda done, total=None, phase=None: told["progress"].append({"done": done, "total": total, "phase": phase})
    end = outcome_of(handler, job)
    return SimpleNamespace(**{**told, **(end or {})}, cancelled=end is None, released="release" in (end or {}))


class Worker:
    """Claims jobs and runs their handlers in 1 to 100 threads. One more thread gives signs of life, so a handler that
    computes for long keeps its job; one that never lets other threads run needs a process of its own."""

    def __init__(self, client: Client, name: Optional[str] = None, concurrency: int = 4, drain: float = 30.0):
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"[:100]
        self._client, self._concurrency, self._drain = client, concurrency, drain
        self._handlers: Dict[Tuple[str, int], Handler] = {}
        self._held: Dict[str, Job] = {}
        self._stopping, self._ended, self._beat_now = threading.Event(), threading.Event(), threading.Event()

    def kind(self, kind: str, version: int = 1) -> Callable[[Handler], Handler]:
        """Makes a function the handler of a kind: it takes a Job and returns the result, which is any JSON, or an End."""
        return lambda handler: self._handlers.setdefault((kind, version), handler)

    def stop(self) -> None:
        """Takes nothing more; run() returns when all jobs have ended or have been given back."""
        self._stopping.set()

    def run(self, signals: bool = True) -> None:
        """Works until stop(), or SIGTERM or SIGINT if `signals` and this is the main thread."""
        if signals and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        works = [self._work] * self._concurrency + [self._beat, self._listen]
        threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
        self._stopping.wait()
        for seconds, reason in ((max(self._drain, _CLAIM_WAIT + 1), ""), (2.0, "released")):
            for job in list(self._held.values()) if reason else []:
                job._end_with(reason)
            deadline = time.monotonic() + seconds
            for thread in threads[:self._concurrency]:
                thread.join(max(0.0, deadline - time.monotonic()))
        for job in list(self._held.values()):  # their handlers look at nothing
            self._end(job, {"release": True})
        self._ended.set()

    def _work(self) -> None:
        """Claims and does jobs. A claim without an answer is repeated under its id, which gives the same job."""
        claim: Json = {}
        while not self._stopping.is_set():
            claim = claim or {"worker": self.name, "kinds": [f"{kind}@{version}" for kind, version in self._handlers],
                              "wait": _CLAIM_WAIT, "requestId": uuid.uuid4().hex}
            given = self._ask("claim", claim) or {}
            claim = {} if given else claim
            for job in map(Job, given.get("jobs", [])):
                job._beat_soon = self._beat_now.set
                self._held[job.id] = job
                handler = self._handlers[job.kind, job.version]
                self._end(job, {"release": True} if self._stopping.is_set() else outcome_of(handler, job))
                self._held.pop(job.id, None)
            if given.get("worker") != "work":
                self._stopping.wait(1.0)

    def _end(self, job: Job, end: Optional[Json]) -> None:
        """Ends the job; repeats that until it is answered, as long as the job is held."""
        while end is not None and time.monotonic() < job._held_until:
            answer = self._ask("end", {"worker": self.name, "jobs": [{"id": job.id, "epoch": job.epoch, **end}]})
            ended = answer["jobs"][0] if answer else {"status": 503}
            if ended["status"] in (200, 404, 412):
                return
            if ended["status"] < 500:  # it is never accepted as it is
                message = "The end was refused: " + ended["problem"]["detail"]
                _LOG.error("job %s: %s", job.id, message)
                end = {"error": {"class": "permanent", "message": message[:2000]}}
            else:
                time.sleep(0.5)

    def _beat(self) -> None:
        while not self._ended.is_set():
            all_of_them = self._beat_now.wait(0.1)
            self._beat_now.clear()
            sent_at = time.monotonic()
            due = [(job, dict(job._news)) for job in list(self._held.values())
                   if job._stop in ("", "released") and (all_of_them or sent_at >= job._beat_at)]
            beats = [{"id": job.id, "epoch": job.epoch, **news} for job, news in due]
            answer = self._ask("beat", {"worker": self.name, "jobs": beats}) if beats else None
            # The jobs are held until their leases end, whatever a beat that failed may mean.
            for (job, news), said in zip(due, answer["jobs"] if answer else []):
                if said["answer"] == "held":
                    job._beaten(news, sent_at)
                else:
                    job._end_with("cancelled" if said["answer"] == "cancel" else "lost")

    def _listen(self) -> None:
        """Hears of cancelled jobs at once. The beats tell of them, too, so a stream that breaks costs only time."""
        while not self._ended.is_set():
            try:
                for line in self._client.stream("/v1/work/events?" + urlencode({"worker": self.name})):
                    if line.startswith(b"event: "):
                        self._beat_now.set()
            except (TidemarkError, *UNANSWERED):
                self._ended.wait(2.0)

    def _ask(self, what: str, body: Json) -> Optional[Json]:
        """Returns None if there was no answer, or none that can be used."""
        try:
            return self._client.call("POST", f"/v1/work/{what}", body)
        except (TidemarkError, *UNANSWERED) as error:
            status = getattr(error, "status", 503)
            if what == "end" and status < 500 and status != 429:
                return {"jobs": [{"status": status, "problem": {"detail": str(error)}}]}
            _LOG.warning("%s: %s", what, error)
            return None
