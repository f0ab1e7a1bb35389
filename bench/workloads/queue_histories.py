"""The cost of a queue that has had, or keeps back, many messages."""
from harness import azure, machine
from harness.queue_load import queue_load
from harness.workload import Expectation, Measurement, Subject, Workload
from systems.tidemark import Tidemark

QUEUE = "bench"
DRAINED = 10_000


class Past(Workload):
    name, unit = "queue-past", "dequeues/s"
    title = f"get and delete of {DRAINED:,} messages: in a fresh queue, and in one that --messages (100,000) went through before"
    subjects = [Subject("fresh", Tidemark), Subject("after many", Tidemark)]
    expectations = [Expectation("after many", ">=", 0.9, "fresh")]

    def prepare(self, system, subject):
        azure.create_queue(system.queue, QUEUE)
        if subject.label == "after many":
            queue_load(system, QUEUE, "history", self.options.connections, self.options.messages)

    def measure(self, system, subject, repeat):
        queue = QUEUE
        if subject.label == "fresh":
            queue = f"fresh-{repeat}"
            azure.create_queue(system.queue, queue)
        queue_load(system, queue, "fill", self.options.connections, DRAINED)
        done = queue_load(system, queue, "drain", self.options.connections, DRAINED)
        done.failures += done.detail["units"] != DRAINED
        return done


class Delayed(Workload):
    name, unit = "queue-delayed", "empty polls/s"
    title = "polls of a queue without messages, and of one with --messages (100,000) that are not visible yet"
    subjects = [Subject("no messages", Tidemark), Subject("delayed messages", Tidemark)]
    expectations = [Expectation("delayed messages", ">=", 0.9, "no messages")]

    def prepare(self, system, subject):
        azure.create_queue(system.queue, QUEUE)
        if subject.label == "delayed messages":
            queue_load(system, QUEUE, "delay", self.options.connections, self.options.messages)

    def measure(self, system, subject, repeat):
        return queue_load(system, QUEUE, "poll", self.options.connections, self.options.seconds)


class Memory(Workload):
    name, unit, repeats = "queue-memory", "MiB resident", 1
    title = "memory of the queue service with 10,000 messages waiting, and with --messages (100,000)"
    subjects = [Subject("10,000", Tidemark), Subject("many", Tidemark)]
    expectations = [Expectation("many", "<=", 512, unit="MiB")]

    def measure(self, system, subject, repeat):
        azure.create_queue(system.queue, QUEUE)
        count = 10_000 if subject.label == "10,000" else self.options.messages
        queue_load(system, QUEUE, "fill", self.options.connections, count)
        queue_load(system, QUEUE, "drain", self.options.connections, 1_000)
        return Measurement(machine.resident_mib(system.queue_process), detail={"messages": count})


ALL = [Past, Delayed, Memory]
