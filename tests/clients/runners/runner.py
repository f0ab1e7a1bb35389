"""The client for Python, as clients_test.py asks for it."""
import datetime
import json
import logging
import os
import sys
import time
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "clients", "python"))
from tidemark import Client, End, Int64, Permanent, Retry, Stopped, TidemarkError, Transaction, Worker, run_handler, text  # noqa: E402

client = Client()


def tell(**what):
    """Prints a line at once, because several threads do so."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def payment(row, **members):
    t = Transaction(client, **members)
    order = t.guard("Orders", "shop", row, where="State eq 'open'")
    order.merge(set={"State": "paid", "At": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), "By": uuid.UUID(int=1), "Raw": b"x",
                     "Big": 2**40, "Share": 0.5, "Yes": True})
    t.entity("Accounts", "c7", row).merge(add={"Cents": order["Cents"], "Small": Int64(1)}, or_insert=True)
    t.entity("Accounts", "c8", row).merge(add={"Cents": -order["Cents"]}, or_insert=True)
    t.message("mail", {"row": order["RowKey"], "cents": order["Cents"], "plain": text("{o.Cents}")})
    return t


def handle(job):
    wish = job.input
    if wish["do"] == "echo":
        return wish["value"]
    if wish["do"] == "sleep":
        tell(began=job.id)
        time.sleep(wish["seconds"])
        return {"slept": job.attempt}
    if wish["do"] == "compute":
        tell(began=job.id)
        end = time.monotonic() + wish["seconds"]
        while time.monotonic() < end:
            pass
        return {"computed": job.attempt}
    if wish["do"] == "wait":
        tell(began=job.id)
        try:
            while True:
                job.check()
                time.sleep(0.02)
        except Stopped as stopped:
            tell(stopped=stopped.reason, id=job.id)
            raise
    if wish["do"] == "save":
        if job.checkpoint is not None:
            return {"from": job.checkpoint, "attempt": job.attempt}
        job.progress(1, 2, "half")
        job.save({"row": 17})
        tell(saved=job.id)
        time.sleep(600)
    if wish["do"] == "pay":
        return End({"paid": wish["row"]}, payment(wish["row"]))
    if wish["do"] == "spoil":
        return End({}, Transaction().entity("Orders", "shop", "x").merge(add={"Cents": "no number"}))
    if wish["do"] == "later":
        raise Retry(0.2, "busy")
    if wish["do"] == "permanent":
        raise Permanent("no picture")
    raise ValueError("broken")


def harness(input, checks=-1):
    outcome = run_handler(lambda job: [job.check(), job.progress(1, 2), job.save({"done": 1}), job.check(), handle(job)][-1],
                          input, cancel_at_check=checks)
    return {"result": outcome.result, "error": outcome.error, "steps": len(outcome.steps), "cancelled": outcome.cancelled,
            "progress": [each["done"] for each in outcome.progress], "checkpoints": outcome.checkpoints}


def work(kind, **options):
    worker = Worker(client, **options)
    worker.kind(kind)(handle)
    tell(ready=True)
    worker.run()
    tell(over=True)


def refused(members):
    try:
        client.submit("transaction", **members)
    except TidemarkError as error:
        return {"status": error.status, "code": error.code, "problems": error.problems}


logging.basicConfig(level=logging.CRITICAL)
commands = {
    "submit": lambda kind, members, wait=0: client.submit(kind, wait=wait, **members),
    "wait": client.wait,
    "cancel": client.cancel,
    "redrive": client.redrive,
    "listed": lambda kind: [job["id"] for job in client.jobs(kind=kind)],
    "putKind": lambda name, members: client.put_kind(name, **members),
    "pay": lambda row, members=(): payment(row, **dict(members)).submit(wait=40),
    "plan": lambda row: payment(row).plan(),
    "rule": lambda method, members=(), action="": client.rule(method, "Orders", "tell", action, **dict(members)),
    "refused": refused,
    "harness": harness,
    "work": work,
}
print(json.dumps(commands[sys.argv[1]](**json.loads(sys.argv[2]))), flush=True)
