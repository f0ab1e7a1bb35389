"""Stores whose rows are divided over shards: their number, and the shard of a queue.

TIDEMARK_TEST_SHARDS=N divides the stores that the stacks of tests start, where they can be divided.
"""
import ctypes
import itertools
import json
import os

DIVIDED = ("queue_service", "table_store", "blob_store")
COUNT = os.environ.get("TIDEMARK_TEST_SHARDS")  # one, if it is not set


def arguments_of(store):
    return ("--shards", COUNT) if COUNT and store in DIVIDED else ()


def shard_of(data, folder, *parts):
    """Computes the shard as docs/scale.md describes: SipHash-2-4 of the parts of the name under the key in the
    stamp."""
    with open(os.path.join(data, folder, "tidemark.json"), encoding="utf-8") as file:
        stamp = json.load(file)
    name = b"".join(part.encode() + b"\0\1" for part in parts)
    out = ctypes.create_string_buffer(8)
    ctypes.CDLL("libsodium.so.23").crypto_shorthash(out, name, ctypes.c_ulonglong(len(name)),
                                                    bytes.fromhex(stamp["placement"]))
    return int.from_bytes(out.raw, "big") % stamp["shards"]


def shard_of_queue(data, queue, account="devstoreaccount1"):
    return shard_of(data, "queue", account, queue.removesuffix("-poison"))


def poison_queue_elsewhere(data, queue):
    """Returns a poison queue on another shard than this queue."""
    names = (f"failed-{n}-poison" for n in itertools.count())
    return next(n for n in names if shard_of_queue(data, n) != shard_of_queue(data, queue))
