"""Transactions: steps over any partitions, tables, accounts, queues and blobs, all of them or none."""
from __future__ import annotations

import base64
import datetime
import uuid
from typing import Any, List, Optional

from tidemark.client import Client, Json


class Int64(int):
    """A number that is stored as an Int64, however small it is."""


def _value(value: Any) -> Any:
    """Returns a property's value as the api takes it."""
    if isinstance(value, Int64) or (isinstance(value, int) and not -2**31 <= value < 2**31):  # bool is small
        return {"type": "Int64", "value": str(int(value))}
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs a time zone")
        return {"type": "DateTime", "value": value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")}
    if isinstance(value, uuid.UUID):
        return {"type": "Guid", "value": str(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"type": "Binary", "value": base64.b64encode(value).decode()}
    return value


def _values(values: Optional[Json]) -> Optional[Json]:
    return values and {name: _value(value) for name, value in values.items()}


def text(value: str) -> str:
    """Returns a text that stands for itself, with its braces doubled: texts of a transaction are templates."""
    return value.replace("{", "{{").replace("}", "}}")


class Placeholder(str):
    def __neg__(self) -> Placeholder:
        return Placeholder("-" + self)


class Entity:
    """An entity that steps of a transaction change. Values of properties may be of Python's own types."""

    def __init__(self, transaction: Transaction, **target: str):
        self._transaction, self._target = transaction, target

    def put(self, entity: Json) -> Transaction:
        return self._transaction.step("put", **self._target, entity=_values(entity))

    def insert(self, entity: Json) -> Transaction:
        return self._transaction.step("insert", **self._target, entity=_values(entity))

    def merge(self, *, set: Optional[Json] = None, add: Optional[Json] = None, or_insert: bool = False) -> Transaction:
        """Sets properties, adds to numbers, or both."""
        return self._transaction.step("merge", **self._target, set=_values(set), add=_values(add), orInsert=or_insert or None)

    def delete(self) -> Transaction:
        return self._transaction.step("delete", **self._target)


class Guard(Entity):
    """An entity that the transaction depends on. guard["Name"] stands for a property of it, as it is when the
    transaction is decided; -guard["Name"] for the number with the other sign, in `add`."""

    def __getitem__(self, name: str) -> Placeholder:
        return Placeholder(f"{{{self._target['of']}.{name}}}")


class Transaction:
    """Collects guards and steps. It is submitted as a job, for which it needs a client, or ends a job of a worker
    (work.End). `members` are those that every job has, such as idempotencyKey; `more` are other members of a guard or a
    step, such as account, with their names in the api."""

    def __init__(self, client: Optional[Client] = None, **members: Any):
        self._client, self._members = client, members
        self.guards: List[Json] = []
        self.steps: List[Json] = []

    def guard(self, table: str, partition_key: str, row_key: str, **more: str) -> Guard:
        """Asks that there be such an entity and, with `where`, that it match the filter; "absent": that there be none."""
        name = f"g{len(self.guards)}"
        self.guards.append({"as": name, "table": table, "partitionKey": partition_key, "rowKey": row_key, **more})
        return Guard(self, of=name)

    def entity(self, table: str, partition_key: str, row_key: str, **more: str) -> Entity:
        return Entity(self, table=table, partitionKey=partition_key, rowKey=row_key, **more)

    def message(self, queue: str, content: Any, **more: Any) -> Transaction:
        """Puts a message: a text, or anything else as JSON."""
        return self.step("message", queue=queue, **{"text" if isinstance(content, str) else "json": content}, **more)

    def blob(self, container: str, name: str, content: Any, **more: Any) -> Transaction:
        return self.step("blob", container=container, name=name, **{"text" if isinstance(content, str) else "json": content}, **more)

    def step(self, step_kind: str, **members: Any) -> Transaction:
        """Adds any step, such as step("callback", url=...)."""
        self.steps.append({step_kind: {name: value for name, value in members.items() if value is not None}})
        return self

    @property
    def spec(self) -> Json:
        """The job, as the api takes it."""
        return {"kind": "transaction", **self._members, "guards": self.guards, "steps": self.steps}

    def submit(self, *, wait: float = 0) -> Json:
        """Returns the job. Its `state` ends as "succeeded", or "cancelled" with the guard that did not hold in `result`."""
        return self._client.submit(**self.spec, wait=wait)

    def plan(self) -> Json:
        """Returns what each step would change now, without changing it."""
        return self._client.plan(**self.spec)
