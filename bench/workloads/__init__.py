"""All workloads, in the order in which they run."""
from workloads import blobs, jobs, own_kinds, postgres_engine, queue_histories, queues, table_memory, table_reads, table_writes, transactions

ALL = [*table_reads.ALL, *table_writes.ALL, *table_memory.ALL, *queues.ALL, *queue_histories.ALL,
       *postgres_engine.ALL, *blobs.ALL, *jobs.ALL, *transactions.ALL, *own_kinds.ALL]
