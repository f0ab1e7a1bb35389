"""All workloads, in the order in which they run."""
from workloads import blobs, jobs, queue_histories, queues, table_memory, table_reads, table_writes

ALL = [*table_reads.ALL, *table_writes.ALL, *table_memory.ALL, *queues.ALL, *queue_histories.ALL,
       *blobs.ALL, *jobs.ALL]
