"""Tidemark's api from Python: jobs, transactions, rules, and workers for kinds of work of your own. Tables, queues and blobs
are those of Azure Storage: use Microsoft's libraries for them."""
from tidemark.client import Client, TidemarkError
from tidemark.transactions import Entity, Guard, Int64, Transaction, text
from tidemark.work import End, Job, Permanent, Retry, Stopped, Worker, run_handler

__all__ = ["Client", "End", "Entity", "Guard", "Int64", "Job", "Permanent", "Retry", "Stopped", "TidemarkError",
           "Transaction", "Worker", "run_handler", "text"]
