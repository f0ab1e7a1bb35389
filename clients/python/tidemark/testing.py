"""Runs handlers without a server.

    outcome = run(resize, {"pages": ["a", "b"]})
    assert outcome.result == {"pages": 2}
"""
from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, List, Optional

from tidemark.client import Json
from tidemark.work import Cancelled, Handler, Job, outcome_of


@dataclass
class Outcome:
    result: Any = None
    error: Optional[Json] = None
    released: bool = False
    cancelled: bool = False
    progress: List[Json] = field(default_factory=list)
    checkpoints: List[Any] = field(default_factory=list)


class _TestJob(Job):
    def __init__(self, claimed: Json, outcome: Outcome, cancel_at_check: Optional[int]):
        super().__init__(claimed, time.monotonic() + 1e9)
        self._outcome, self._left = outcome, cancel_at_check

    def check(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise Cancelled(f"job {self.id}")
        super().check()

    def progress(self, done: int, total: Optional[int] = None, phase: Optional[str] = None) -> None:
        self._outcome.progress.append({"done": done, "total": total, "phase": phase})

    def save(self, checkpoint: Any) -> None:
        self._outcome.checkpoints.append(checkpoint)
        self.checkpoint = checkpoint
        self.check()


def run(handler: Handler, input: Any = None, *, checkpoint: Any = None, attempt: int = 1,
        cancel_at_check: Optional[int] = None) -> Outcome:
    """Runs the handler once for a job with this input. `cancel_at_check`: the number of check() that goes well before
    the job is cancelled."""
    outcome = Outcome()
    job = _TestJob({"id": "0000000000000000-00000000", "epoch": 1, "kind": "test", "attempt": attempt, "maxAttempts": 5,
                    "input": input, "checkpoint": checkpoint}, outcome, cancel_at_check)
    end = outcome_of(handler, job)
    if end is None:
        outcome.cancelled = True
    else:
        outcome.result, outcome.error, outcome.released = end.get("result"), end.get("error"), end.get("release", False)
    return outcome
