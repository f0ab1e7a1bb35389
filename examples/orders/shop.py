#!/usr/bin/python3
"""Sets up the shop (`shop.py open`), or places orders and checks what becomes of them (`shop.py sell`). See README.md, and
run both with `run`."""
import os
import pathlib
import sys
import time
import uuid

from azure.core.exceptions import ResourceExistsError
from azure.data.tables import EntityProperty, EdmType, TableServiceClient
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueClient

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))
from tidemark import Client  # noqa: E402

CONNECTION = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
LIMIT_S = 120
STOCK = {"tea": 8, "coffee": 3}
CENTS = {"tea": 450, "coffee": 1200}
BALANCE = 100_000
# The fourth order of coffee finds the shelf empty.
ORDERS = [("ann", "tea"), ("bob", "coffee"), ("ann", "coffee"), ("cid", "tea"), ("bob", "tea"), ("cid", "coffee"),
          ("ann", "coffee"), ("dee", "tea")]
ADDRESSES = {"ann": "1 Elm Street", "bob": "2 Oak Lane", "cid": "3 Ash Road", "dee": ""}

RULE = {
    "filter": "RowKey ge 'outbox-' and RowKey lt 'outbox.'",
    "job": {
        "kind": "transaction",
        "guards": [{"as": "stock", "table": "Stock", "partitionKey": "shelf", "rowKey": "{new.Item}", "where": "Left gt 0"},
                   {"as": "order", "table": "Orders", "partitionKey": "{new.PartitionKey}", "rowKey": "{new.Order}"}],
        "steps": [{"merge": {"of": "stock", "add": {"Left": -1}}},
                  {"merge": {"table": "Balances", "partitionKey": "{new.PartitionKey}", "rowKey": "balance", "add": {"Cents": "-{new.Cents}"}}},
                  {"message": {"queue": "mail", "json": {"to": "{new.PartitionKey}", "order": "{new.Order}"}}},
                  {"merge": {"of": "order", "set": {"State": "shipped"}}},
                  {"delete": {"table": "Orders", "partitionKey": "{new.PartitionKey}", "rowKey": "{new.RowKey}"}}],
        "then": {"kind": "invoice", "version": 1, "key": "{new.PartitionKey}",
                 "input": {"order": "{new.Order}", "customer": "{new.PartitionKey}", "cents": "{new.Cents}", "address": "{new.Address}"}}}}


def step(text):
    print(f"\n== {text}", flush=True)


def until(ready, what):
    deadline = time.monotonic() + LIMIT_S
    while not (found := ready()):
        if time.monotonic() > deadline:
            sys.exit(f"shop: still waiting for {what} after {LIMIT_S} s")
        time.sleep(0.1)
    return found


class Shop:
    def __init__(self):
        self.api = Client()
        self.tables = TableServiceClient.from_connection_string(CONNECTION)
        self.mail = QueueClient.from_connection_string(CONNECTION, "mail")
        self.papers = BlobServiceClient.from_connection_string(CONNECTION).get_container_client("invoices")
        self.orders, self.stock, self.balances, self.invoices = (
            self.tables.create_table_if_not_exists(name) for name in ("Orders", "Stock", "Balances", "Invoices"))
        for made in (self.mail.create_queue, self.papers.create_container):
            try:
                made()
            except ResourceExistsError:
                pass

    def open(self):
        """Fills the shelves, and declares the rule and the kind of work."""
        for item, left in STOCK.items():
            self.stock.upsert_entity({"PartitionKey": "shelf", "RowKey": item, "Left": left})
        for customer in ADDRESSES:
            self.balances.upsert_entity({"PartitionKey": customer, "RowKey": "balance", "Cents": EntityProperty(BALANCE, EdmType.INT64)})
        self.api.call("PUT", "/v1/kinds/invoice", {"leaseSeconds": 10, "maxAttempts": 3})
        self.api.call("PUT", "/v1/tables/Orders/feed", {"values": "both"})
        self.api.call("PUT", "/v1/tables/Orders/onChange/ship", RULE)

    def place(self, customer, item):
        """Writes the order and its outbox entry, both or neither; returns the order's number."""
        number = uuid.uuid4().hex[:12]
        order = {"PartitionKey": customer, "RowKey": number, "Item": item, "Cents": CENTS[item], "State": "placed"}
        entry = {"PartitionKey": customer, "RowKey": f"outbox-{number}", "Order": number, "Item": item, "Cents": CENTS[item],
                 "Address": ADDRESSES[customer]}
        self.orders.submit_transaction([("create", order), ("create", entry)])
        return number

    def jobs(self, kind):
        return self.api.call("GET", f"/v1/jobs?kind={kind}&limit=1000")["jobs"]

    def ended(self, kind, count):
        """Returns the jobs of this kind once there are so many, and all have ended."""
        def look():
            jobs = self.jobs(kind)
            return jobs if len(jobs) >= count and all(j["state"] not in ("queued", "running") for j in jobs) else None
        return until(look, f"{count} jobs of kind {kind}")


def sell(shop):
    step(f"Placing {len(ORDERS)} orders, each in one entity group transaction")
    placed = [(shop.place(customer, item), customer, item) for customer, item in ORDERS]
    transactions = shop.ended("transaction", len(ORDERS))
    shipped = [job for job in transactions if job["state"] == "succeeded"]
    refused = [job for job in transactions if job["state"] == "cancelled"]
    for number, customer, item in placed:
        print(f"{number}  {customer:4} {item:7} {shop.orders.get_entity(customer, number)['State']}")
    for job in refused:
        print(f"refused: {job['error']}")

    step("Invoices, made by the shop's own worker")
    invoices = shop.ended("invoice", len(shipped))
    [poison] = [job for job in invoices if job["state"] == "poisoned"]
    print(f"{len(invoices) - 1} are made. One job is poison: {poison['error']}")

    step("Adding the address, and sending the job back")
    message = next(each for each in shop.api.call("GET", "/v1/poison")["poison"] if each["jobId"] == poison["id"])
    spec = {name: member for name, member in poison["spec"].items() if name not in ("after", "cause")}
    spec["input"]["address"] = "4 Fir Square"
    shop.api.call("POST", f"/v1/poison/{message['id']}/redrive", spec)
    until(lambda: all(job["state"] == "succeeded" for job in shop.jobs("invoice")), "the last invoice")
    print(shop.papers.download_blob(f"{poison['spec']['input']['order']}.txt").readall().decode(), end="")

    step("The sums")
    wrong = []

    def check(what, found, wanted):
        print(f"{what}: {found}")
        if found != wanted:
            wrong.append(f"{what} should be {wanted}")
    states = {number: shop.orders.get_entity(customer, number)["State"] for number, customer, _ in placed}
    sold = [(customer, item) for number, customer, item in placed if states[number] == "shipped"]
    check("orders shipped", len(sold), len(shipped))
    check("orders without goods", len(refused), 1)
    for item, count in STOCK.items():
        check(f"{item} left", shop.stock.get_entity("shelf", item)["Left"], count - sum(i == item for _, i in sold))
    for customer in ADDRESSES:
        check(f"cents of {customer}", shop.balances.get_entity(customer, "balance")["Cents"].value,
              BALANCE - sum(CENTS[i] for c, i in sold if c == customer))
    mails = [message.content for message in shop.mail.receive_messages(messages_per_page=32)]
    check("messages", len(mails), len(sold))
    check("invoices", len(list(shop.invoices.list_entities())), len(sold))
    check("papers", len(list(shop.papers.list_blobs())), len(sold))
    check("cents on invoices", sum(row["Cents"] for row in shop.invoices.list_entities()), sum(CENTS[i] for _, i in sold))
    left = [row["RowKey"] for row in shop.orders.list_entities() if row["RowKey"].startswith("outbox-")]
    check("outbox entries left", len(left), len(refused))
    if wrong:
        sys.exit("\n".join(f"shop: {each}" for each in wrong))
    print("Everything adds up.")


if __name__ == "__main__":
    if sys.argv[1:] == ["open"]:
        step("Opening the shop: tables, a rule and a kind of work")
        shop = Shop()
        if shop.jobs("transaction"):
            sys.exit("shop: this stack has been a shop before; run it with another data directory")
        shop.open()
    elif sys.argv[1:] == ["sell"]:
        sell(Shop())
    else:
        sys.exit(__doc__)
