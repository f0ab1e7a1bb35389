"""The connection to the api, jobs, and rules."""
from __future__ import annotations

import http.client
import json
import os
import threading
import time
from typing import Any, Dict, Iterator, List, Optional
from urllib.parse import quote, urlencode, urlsplit

Json = Dict[str, Any]
ENDED = ("succeeded", "poisoned", "cancelled")
UNANSWERED = (OSError, http.client.HTTPException)


class TidemarkError(Exception):
    """The api refused a request. `problems` lists everything that is wrong with a body."""

    def __init__(self, status: int, content: bytes):
        try:
            problem = json.loads(content)
        except ValueError:
            problem = {"detail": content[:300].decode(errors="replace")}
        self.status, self.code, self.message = status, problem.get("code", ""), problem.get("detail", "")
        self.problems: List[str] = problem.get("problems", [])
        super().__init__(f"{status} {self.code}: {self.message}")


def _token_of_environment() -> str:
    token, data = os.environ.get("TIDEMARK_TOKEN", ""), os.environ.get("TIDEMARK_DATA")
    if token or not data:
        return token
    try:
        with open(os.path.join(data, "run", "token"), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class Client:
    """Any number of threads may use it. Without arguments, it uses TIDEMARK_API, and TIDEMARK_TOKEN or the token of the stack
    in the directory TIDEMARK_DATA: what `tidemark env` prints."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, timeout: float = 60.0):
        self._url = urlsplit(url or os.environ.get("TIDEMARK_API", "http://127.0.0.1:10003"))
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise ValueError(f"the api's address must be http://HOST:PORT or https://HOST:PORT, not {self._url.geturl()!r}")
        token = _token_of_environment() if token is None else token
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout, self._of_thread = timeout, threading.local()

    def call(self, method: str, path: str, body: Optional[Json] = None) -> Any:
        """Makes one request and returns the JSON of its answer. Raises TidemarkError, or OSError if there was no
        answer: then a request that changes something may have been carried out."""
        connection = self._of_thread.__dict__.pop("connection", None)
        # The api closes connections that are idle, and a request that only reads may be repeated.
        repeats = connection is not None and method == "GET"
        connection = connection or self._connect()
        content, headers = (None, {}) if body is None else (json.dumps(body), {"Content-Type": "application/json"})
        try:
            connection.request(method, path, content, {**self._headers, **headers})
            answer = connection.getresponse()
            received = answer.read()
        except UNANSWERED:
            connection.close()
            if repeats:
                return self.call(method, path, body)
            raise
        self._of_thread.connection = connection
        if answer.status >= 400:
            raise TidemarkError(answer.status, received)
        return json.loads(received) if received else None

    def submit(self, kind: str, *, wait: float = 0, **members: Any) -> Json:
        """Submits a job and returns its record. `members` are those of the job, with their names in the api, such as
        idempotencyKey. With `wait`, the record is that of the end, if the job has ended within so many seconds."""
        at_once = min(int(wait), 30)  # the api waits no longer
        path = f"/v1/jobs?wait={at_once}" if at_once > 0 else "/v1/jobs"
        job = self.call("POST", path, {"kind": kind, **members})
        return self.wait(job["id"], wait - at_once) if wait > at_once and job["state"] not in ENDED else job

    def plan(self, kind: str, **members: Any) -> Json:
        """Returns what the job would do, without doing it."""
        return self.call("POST", "/v1/jobs?dryRun=true", {"kind": kind, **members})

    def job(self, job_id: str) -> Json:
        return self.call("GET", "/v1/jobs/" + quote(job_id, safe=""))

    def wait(self, job_id: str, timeout: float = 60.0) -> Json:
        """Returns the record of the job once it has ended, or as it is after `timeout` seconds."""
        deadline, pause = time.monotonic() + timeout, 0.005
        while True:
            job, left = self.job(job_id), deadline - time.monotonic()
            if job["state"] in ENDED or left <= 0:
                return job
            time.sleep(min(pause, left))
            pause = min(pause * 2, 0.5)

    def cancel(self, job_id: str) -> Json:
        return self.call("POST", f"/v1/jobs/{quote(job_id, safe='')}/cancel")

    def redrive(self, job_id: str, spec: Optional[Json] = None) -> Json:
        """Sends a poison job back, with another spec if one is given."""
        return self.call("POST", f"/v1/poison/{quote(job_id, safe='')}/redrive", spec)

    def jobs(self, **which: str) -> Iterator[Json]:
        """Yields jobs, the newest first: all of them, or those of a `kind`, a `state` or a `queue`."""
        query = {"limit": "1000", **which}
        while True:
            page = self.call("GET", "/v1/jobs?" + urlencode(query))
            yield from page["jobs"]
            if not page.get("continuation"):
                return
            query["continuation"] = page["continuation"]

    def put_kind(self, name: str, **members: Any) -> Json:
        """Declares a kind of work of your own; see the members of PUT /v1/kinds/NAME."""
        return self.call("PUT", "/v1/kinds/" + quote(name, safe=""), members)

    def rule(self, method: str, table: str, name: str, action: str = "", **members: Any) -> Any:
        """Reads ("GET"), declares ("PUT", with its members) or drops ("DELETE") what happens on changes of a table, or
        makes it act ("POST"): action "resume" or "test"."""
        path = f"/v1/tables/{quote(table, safe='')}/onChange/{quote(name, safe='')}"
        return self.call(method, f"{path}/{action}" if action else path, members or None)

    def stream(self, path: str) -> Iterator[bytes]:
        """Yields the lines of a stream of events, over a connection of its own."""
        connection = self._connect()
        try:
            connection.request("GET", path, headers=self._headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise TidemarkError(answer.status, answer.read())
            yield from answer
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        scheme = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        return scheme(self._url.hostname or "", self._url.port, timeout=self._timeout)
