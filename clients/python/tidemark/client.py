"""The connection to the api, and jobs."""
from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
import time
from typing import Any, Dict, Iterator, List, Optional
from urllib.parse import quote, urlencode, urlsplit

Json = Dict[str, Any]
ENDED = ("succeeded", "poisoned", "cancelled")
_LONGEST_WAIT = 30  # seconds; the api waits no longer for the end of a job
_UNANSWERED = (OSError, http.client.HTTPException)


class TidemarkError(Exception):
    """The api refused a request. `problems` lists everything that is wrong with a body."""

    def __init__(self, status: int, problem: Json):
        self.status = status
        self.code: str = problem.get("code", "")
        self.message: str = problem.get("detail", "")
        self.problems: List[str] = problem.get("problems", [])
        super().__init__(f"{status} {self.code}: {self.message}")


class Client:
    """A client of one api; any number of threads may use it. Without arguments, it uses TIDEMARK_API and
    TIDEMARK_TOKEN."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, timeout: float = 30.0):
        parts = urlsplit(url or os.environ.get("TIDEMARK_API", "http://127.0.0.1:10003"))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"the address of the api must be http://HOST:PORT or https://HOST:PORT, not {parts.geturl()!r}")
        self._https = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port or (443 if self._https else 80)
        self._token = token if token is not None else os.environ.get("TIDEMARK_TOKEN", "")
        self._timeout = timeout
        self._of_thread = threading.local()

    def call(self, method: str, path: str, body: Optional[Json] = None, timeout: Optional[float] = None) -> Any:
        """Makes one request and returns the JSON of its answer. Raises TidemarkError, or OSError if there was no
        answer: then a request that changes something may have been carried out."""
        reused = getattr(self._of_thread, "connection", None) is not None
        try:
            return self._ask(method, path, body, timeout)
        except _UNANSWERED:
            self._close()
            # The api closes connections that are idle, and a request that only reads may be repeated.
            if not reused or method != "GET":
                raise
        return self._ask(method, path, body, timeout)

    def submit(self, kind: str, *, wait: float = 0, **members: Any) -> Json:
        """Submits a job and returns its record. `members` are those of the job, with their names in the api:
        idempotencyKey, priority, input and so on. With `wait`, the record is that of the end, if the job has ended
        within so many seconds."""
        return self.submit_spec({"kind": kind, **members}, wait=wait)

    def submit_spec(self, spec: Json, *, wait: float = 0) -> Json:
        at_once = min(int(wait), _LONGEST_WAIT)
        query = f"?wait={at_once}" if at_once > 0 else ""
        job = self.call("POST", "/v1/jobs" + query, spec, timeout=self._timeout + at_once)
        return self.wait(job["id"], wait - at_once) if wait > at_once and job["state"] not in ENDED else job

    def plan(self, spec: Json) -> Json:
        """Returns what the job would do, without doing it."""
        return self.call("POST", "/v1/jobs?dryRun=true", spec)

    def job(self, job_id: str) -> Json:
        return self.call("GET", f"/v1/jobs/{quote(job_id, safe='')}")

    def wait(self, job_id: str, timeout: float = 60.0) -> Json:
        """Returns the record of the job once it has ended, or as it is after `timeout` seconds."""
        deadline, pause = time.monotonic() + timeout, 0.005
        while True:
            job = self.job(job_id)
            left = deadline - time.monotonic()
            if job["state"] in ENDED or left <= 0:
                return job
            time.sleep(min(pause, left))
            pause = min(pause * 2, 0.5)

    def cancel(self, job_id: str) -> Json:
        return self.call("POST", f"/v1/jobs/{quote(job_id, safe='')}/cancel")

    def jobs(self, **which: str) -> Iterator[Json]:
        """Yields jobs, the newest first: all of them, or those of a `kind`, a `state` or a `queue`."""
        continuation = ""
        while True:
            query = {"limit": "1000", **which, **({"continuation": continuation} if continuation else {})}
            page = self.call("GET", "/v1/jobs?" + urlencode(query))
            yield from page["jobs"]
            continuation = page.get("continuation", "")
            if not continuation:
                return

    def put_kind(self, name: str, **members: Any) -> Json:
        """Declares a kind of work of your own; see the members of PUT /v1/kinds/NAME."""
        return self.call("PUT", f"/v1/kinds/{quote(name, safe='')}", members)

    def stream(self, path: str, timeout: float) -> http.client.HTTPResponse:
        """Opens a stream of events over a connection of its own, which the caller closes."""
        connection = self._connect(timeout)
        connection.request("GET", path, headers=self._headers())
        answer = connection.getresponse()
        if answer.status != 200:
            content = answer.read()
            connection.close()
            raise TidemarkError(answer.status, _json_of(content))
        return answer

    def _headers(self) -> Dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self._https:
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)

    def _ask(self, method: str, path: str, body: Optional[Json], timeout: Optional[float]) -> Any:
        connection = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = self._connect(self._timeout)
        limit = timeout or self._timeout
        connection.timeout = limit
        if connection.sock is not None:
            connection.sock.settimeout(limit)
        headers, content = self._headers(), None
        if body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(body)
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        received = answer.read()
        if answer.status >= 400:
            raise TidemarkError(answer.status, _json_of(received))
        return json.loads(received) if received else None

    def _close(self) -> None:
        connection = getattr(self._of_thread, "connection", None)
        if connection is not None:
            connection.close()
        self._of_thread.connection = None


def _json_of(content: bytes) -> Json:
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"detail": content[:300].decode(errors="replace")}
