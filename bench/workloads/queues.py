"""Puts and cycles of queue messages, and how soon a message reaches a client that waits for it."""
import concurrent.futures
import statistics

from harness import azure
from harness.queue_load import queue_load
from harness.workload import Expectation, Measurement, Subject, Workload
from systems.azurite import Azurite
from systems.bare import Bare
from systems.rabbitmq import RabbitMq
from systems.redis import Redis
from systems.tidemark import Tidemark, TidemarkShards


class Put(Workload):
    name, unit = "queue-put", "puts/s"
    title = "put of a message of 400 bytes"
    subjects = [Subject("tidemark", Tidemark), Subject("azurite", Azurite)]
    expectations = [Expectation("tidemark", ">=", 20, "azurite")]

    def measure(self, system, subject, repeat):
        queue = f"put-{repeat}"  # each repeat begins with an empty one
        azure.create_queue(system.queue, queue)
        return queue_load(system, queue, "rest-put", self.options.connections, self.options.seconds)


class Cycle(Workload):
    name, unit = "queue-cycle", "cycles/s"
    title = "put, get and delete of one message of 400 bytes; counted when the delete is acknowledged"
    subjects = [Subject("tidemark", Tidemark), Subject("bare", Bare), Subject("azurite", Azurite)]
    expectations = [Expectation("tidemark", ">=", 40, "azurite")]

    def measure(self, system, subject, repeat):
        queue = f"cycle-{repeat}"
        if system.mode == "store":
            azure.create_queue(system.queue, queue)
        return queue_load(system, queue, "rest-cycle", self.options.connections, self.options.seconds)


class Peers(Workload):
    name, unit = "queue-peers", "cycles/s"
    title = "put, get and delete by the same C++ client, beside other message queues that are as durable"
    subjects = [Subject("tidemark", Tidemark), Subject("rabbitmq", RabbitMq), Subject("redis", Redis)]
    expectations = [Expectation("tidemark", None, 0, "rabbitmq"), Expectation("tidemark", None, 0, "redis")]

    def measure(self, system, subject, repeat):
        queue = f"peers-{repeat}"
        if subject.system is Tidemark:
            azure.create_queue(system.queue, queue)
        return queue_load(system, queue, "cycle", self.options.connections, self.options.seconds)


class Arrival(Workload):
    name, unit = "queue-arrival", "ms from put to receiver, median"
    title = "one client waits for messages (long poll), another puts one every 10 ms: from just before the put until it is there"
    subjects = [Subject("tidemark", Tidemark), Subject("rabbitmq", RabbitMq), Subject("redis", Redis)]
    expectations = [Expectation("tidemark", "<", 3, unit="ms")]

    def measure(self, system, subject, repeat):
        queue = f"arrival-{repeat}"
        if subject.system is Tidemark:
            azure.create_queue(system.queue, queue)
        done = queue_load(system, queue, "arrival", 1, self.options.seconds)
        done.value = done.p50_ms
        return done


class Shards(Workload):
    name, unit = "queue-shards", "cycles/s"
    title = "put, get and delete as in queue-cycle, of eight queues at once, over one shard and over two"
    subjects = [Subject("tidemark", Tidemark), Subject("2 shards", TidemarkShards)]
    expectations = [Expectation("2 shards", None, 0, "tidemark")]
    queues = 8

    def measure(self, system, subject, repeat):
        names = [f"shards-{repeat}-{n}" for n in range(self.queues)]
        for name in names:
            azure.create_queue(system.queue, name)
        share = max(1, self.options.connections // self.queues)
        with concurrent.futures.ThreadPoolExecutor(self.queues) as pool:
            parts = list(pool.map(lambda n: queue_load(system, n, "rest-cycle", share, self.options.seconds), names))
        return Measurement(sum(p.value for p in parts), 0, statistics.median(p.p50_ms for p in parts),
                           max(p.p99_ms for p in parts), f"{self.queues} x {parts[0].command}")


class Spread(Workload):
    name, unit = "queue-spread", "cycles/s"
    title = "put, get and delete as in queue-cycle, of one queue: on one of two shards, and spread over both"
    subjects = [Subject("one shard", TidemarkShards), Subject("spread", TidemarkShards)]
    expectations = [Expectation("spread", None, 0, "one shard")]

    def measure(self, system, subject, repeat):
        queue = f"spread-{repeat}"
        azure.create_queue(system.queue, queue, parts=2 if subject.label == "spread" else None)
        return queue_load(system, queue, "rest-cycle", self.options.connections, self.options.seconds)


ALL = [Put, Cycle, Peers, Arrival, Shards, Spread]
