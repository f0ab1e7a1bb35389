#!/usr/bin/python3
"""The worker that makes invoices: a blob, and a row that names it. Ends at SIGTERM, once it has given back its jobs."""
import os
import pathlib
import sys

from azure.data.tables import TableClient
from azure.storage.blob import ContainerClient

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))
from tidemark import Client, Permanent, Worker  # noqa: E402

CONNECTION = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
invoices = TableClient.from_connection_string(CONNECTION, "Invoices")
papers = ContainerClient.from_connection_string(CONNECTION, "invoices")
worker = Worker(Client(), concurrency=4)


@worker.kind("invoice")
def invoice(job):
    order = job.input
    if not order["address"]:
        raise Permanent(f"order {order['order']} has no address")
    name = f"{order['order']}.txt"
    text = f"Invoice for order {order['order']}\n{order['customer']}, {order['address']}\n{order['cents'] / 100:.2f}\n"
    # Both steps may be repeated. The headers refuse the row of a worker that has lost the job meanwhile.
    papers.upload_blob(name, text, overwrite=True)
    invoices.upsert_entity({"PartitionKey": order["customer"], "RowKey": order["order"], "Cents": order["cents"], "Blob": name},
                           headers=job.fence)
    return {"blob": name}


worker.run()
