"""Transactions: steps over any partitions, tables, accounts, queues and blobs, all of them or none."""
from __future__ import annotations

import base64
import datetime
import uuid
from typing import Any, Dict, List, Optional

from tidemark.client import Client, Json


class Int64(int):
    """A number that is stored as an Int64, however small it is."""


def _value(value: Any) -> Any:
    """Returns a property's value as the api takes it."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Int64) or (isinstance(value, int) and not -2**31 <= value < 2**31):
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


def _values(values: Optional[Dict[str, Any]]) -> Optional[Json]:
    return None if values is None else {name: _value(value) for name, value in values.items()}


def text(value: str) -> str:
    """Returns a text that stands for itself, with its braces doubled: texts of a transaction are templates."""
    return value.replace("{", "{{").replace("}", "}}")


class Guard:
    """An entity that the transaction depends on. guard["Name"] stands for a property of it, as it is when the
    transaction is decided; -guard["Name"] for the number with the other sign, in `add`."""

    def __init__(self, transaction: "Transaction", name: str):
        self._transaction, self._name = transaction, name

    def __getitem__(self, name: str) -> "Placeholder":
        return Placeholder(f"{{{self._name}.{name}}}")

    def merge(self, *, set: Optional[Dict[str, Any]] = None, add: Optional[Dict[str, Any]] = None) -> "Transaction":
        return self._transaction._step("merge", of=self._name, set=_values(set), add=_values(add))

    def put(self, entity: Dict[str, Any]) -> "Transaction":
        return self._transaction._step("put", of=self._name, entity=_values(entity))

    def delete(self) -> "Transaction":
        return self._transaction._step("delete", of=self._name)


class Placeholder(str):
    def __neg__(self) -> "Placeholder":
        return Placeholder(self[1:] if self.startswith("-") else "-" + self)


class Transaction:
    """Collects guards and steps, then submits them. `members` are those that every job has, such as idempotencyKey."""

    JOB_ID = Placeholder("{job.id}")

    def __init__(self, client: Client, **members: Any):
        self._client, self._members = client, members
        self._guards: List[Json] = []
        self._steps: List[Json] = []

    def guard(self, table: str, partition_key: str, row_key: str, *, where: Optional[str] = None,
              account: Optional[str] = None) -> Guard:
        """Asks that there be such an entity and, with `where`, that it match the filter; "absent": that there be none."""
        name = f"g{len(self._guards)}"
        self._guards.append(_given({"as": name, "account": account, "table": table, "partitionKey": partition_key,
                                    "rowKey": row_key, "where": where}))
        return Guard(self, name)

    def put(self, table: str, partition_key: str, row_key: str, entity: Dict[str, Any], **more: Any) -> "Transaction":
        return self._entity("put", table, partition_key, row_key, entity=_values(entity), **more)

    def insert(self, table: str, partition_key: str, row_key: str, entity: Dict[str, Any], **more: Any) -> "Transaction":
        return self._entity("insert", table, partition_key, row_key, entity=_values(entity), **more)

    def merge(self, table: str, partition_key: str, row_key: str, *, set: Optional[Dict[str, Any]] = None,
              add: Optional[Dict[str, Any]] = None, or_insert: bool = False, **more: Any) -> "Transaction":
        return self._entity("merge", table, partition_key, row_key, set=_values(set), add=_values(add),
                            orInsert=or_insert or None, **more)

    def delete(self, table: str, partition_key: str, row_key: str, **more: Any) -> "Transaction":
        return self._entity("delete", table, partition_key, row_key, **more)

    def message(self, queue: str, content: Any, *, group: Optional[str] = None, delay_seconds: Optional[int] = None,
                account: Optional[str] = None) -> "Transaction":
        """Puts a message: a text, or anything else as JSON."""
        return self._step("message", account=account, queue=queue, group=group, delaySeconds=delay_seconds, **_content(content))

    def blob(self, container: str, name: str, content: Any, *, content_type: Optional[str] = None,
             account: Optional[str] = None) -> "Transaction":
        return self._step("blob", account=account, container=container, name=name, contentType=content_type, **_content(content))

    def callback(self, url: str, body: Any = None, **more: Any) -> "Transaction":
        return self._step("callback", url=url, body=body, **more)

    @property
    def spec(self) -> Json:
        return {"kind": "transaction", **self._members, **({"guards": self._guards} if self._guards else {}), "steps": self._steps}

    def submit(self, *, wait: float = 0) -> Json:
        """Submits it and returns the job. With `wait`, returns its end: `state` is "succeeded", or "cancelled" with the
        guard that did not hold in `result`."""
        return self._client.submit_spec(self.spec, wait=wait)

    def plan(self) -> Json:
        """Returns what each step would change now, without changing it."""
        return self._client.plan(self.spec)

    def _entity(self, kind: str, table: str, partition_key: str, row_key: str, **members: Any) -> "Transaction":
        return self._step(kind, table=table, partitionKey=partition_key, rowKey=row_key, **members)

    def _step(self, step_kind: str, **members: Any) -> "Transaction":
        self._steps.append({step_kind: _given(members)})
        return self


def _given(members: Json) -> Json:
    return {name: value for name, value in members.items() if value is not None}


def _content(content: Any) -> Json:
    return {"text": content} if isinstance(content, str) else {"json": content}
