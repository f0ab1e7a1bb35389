"""Tidemark's api from Python: jobs, transactions, and workers for kinds of work of your own.

Tables, queues and blobs are those of Azure Storage: use Microsoft's libraries for them.
"""
from tidemark.client import Client, TidemarkError
from tidemark.transactions import Guard, Int64, Transaction
from tidemark.work import Cancelled, Job, Lost, Permanent, Released, Retry, Worker

__all__ = ["Cancelled", "Client", "Guard", "Int64", "Job", "Lost", "Permanent", "Released", "Retry", "TidemarkError",
           "Transaction", "Worker"]
