"""Runs handlers without a server.

    outcome = run(resize, {"pages": ["a", "b"]})
    assert outcome.result == {"pages": 2}
"""
from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, Optional

from tidemark.work import Cancelled, Handler, Job, outcome_of


class _TestJob(Job):
    def __init__(self, outcome: SimpleNamespace, cancel_at_check: Optional[int], **claimed: Any):
        super().__init__({"id": "0000000000000000-00000000", "epoch": 1, "kind": "test", "maxAttempts": 5, **claimed},
                         time.monotonic() + 1e9)
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
        cancel_at_check: Optional[int] = None) -> SimpleNamespace:
    """Runs the handler once for a job with this input. Returns result, error, released and cancelled, and what it
    reported: progress and checkpoints. `cancel_at_check`: how many check() go well before the job is cancelled."""
    outcome = SimpleNamespace(progress=[], checkpoints=[])
    end = outcome_of(handler, _TestJob(outcome, cancel_at_check, input=input, checkpoint=checkpoint, attempt=attempt))
    outcome.cancelled, end = end is None, end or {}
    outcome.result, outcome.error, outcome.released = end.get("result"), end.get("error"), end.get("release", False)
    return outcome
