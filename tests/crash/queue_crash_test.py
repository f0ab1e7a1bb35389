"""Kills the queue service with SIGKILL, at every fail point and at random, under producers and consumers of both faces.

The oracle is the answers that the clients got; it lives in this process. However the service dies: every acknowledged
put is delivered or still there; a message whose deletion was acknowledged never comes back; a message is in one queue,
once, and in the poison queue exactly if its last move says so; no delivery has the epoch of an earlier one.
"""
import collections
import http.client
import os
import random
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import shards  # noqa: E402
from clients import HttpFailure, QueueClient, patiently  # noqa: E402
from stack import program, wait_until  # noqa: E402
from store_crashes import StoreCrashTest, main  # noqa: E402

JOBS, CHORES, SPREAD = "jobs", "chores", "spread"
# Queues of messages that expire: one where a peek meets them, one where only the upkeep does.
GLANCED, FORGOTTEN = "glanced", "forgotten"
ONCE_A_SECOND = ("queue.sweep", "queue.drop_keys")
# This traffic does not reach these: the first needs 10,000 due messages to make ready, the second forgets operations
# that began ten minutes ago, and the others are for transactions (random_kill_test.py) and for the signs of life of
# users' own workers (own_kinds_deaths_test.py).
NOT_REACHED = ("queue.settle", "queue.forget_parts", "queue.ledger", "queue.renew_all")
BETWEEN_SHARDS = ("queue.arrive", "queue.forget_departed", "queue.note_parts", "queue.make_part", "queue.drop_part")
PARTS = 4 if shards.COUNT else None  # parts of the queue of jobs

Event = collections.namedtuple("Event", "operation begin end outcome queue id epoch text")


class Traffic:
    """Clients that run until stopped, and every answer they got."""

    def __init__(self, stack, poison, seed):
        self.port = stack.ports["queue_service"]
        self.stopping = threading.Event()
        self.errors = []
        self._logs = []
        self._threads = [threading.Thread(target=self._guarded, args=(role, f"h{n}", random.Random(seed + n)))
                         for n, role in enumerate((self._produce, self._consume, self._consume, self._do_chores))]
        self._log_path = os.path.join(stack.directory, "rpc-client.events")
        self._rpc_log = open(self._log_path, "wb")
        # Its output goes to a file: a pipe that is not read would stop it.
        self._rpc = subprocess.Popen([program("queue_crash_client"), stack.data, "rpc", str(seed), poison],
                                     stdin=subprocess.DEVNULL, stdout=self._rpc_log)
        for thread in self._threads:
            thread.start()

    def stop(self):
        """Returns all events, once the last answer is in."""
        self.stopping.set()
        for thread in self._threads:
            thread.join()
        self._rpc.send_signal(signal.SIGTERM)
        code = self._rpc.wait(60)
        self._rpc_log.close()
        if code != 0:
            raise AssertionError(f"queue_crash_client ended with {code}")
        if self.errors:
            raise self.errors[0]
        return self.events()

    def events(self):
        """Returns the events so far."""
        events = [event for log in self._logs for event in log]
        with open(self._log_path, encoding="utf-8") as lines:
            for line in lines:
                fields = line.rstrip("\n").split("\t")
                if len(fields) == 8:
                    events.append(Event(fields[0], int(fields[1]), int(fields[2]), *fields[3:6], int(fields[6]),
                                        fields[7]))
        return events

    def _guarded(self, role, name, choice):
        try:
            role(name, choice)
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def _logged(self, log, operation, queue, call, *arguments, id="", text="", **parameters):
        """Returns the answer, or None if the call was refused or its outcome is unknown."""
        begin = time.monotonic_ns()
        answer, outcome = None, "ok"
        try:
            answer = call(*arguments, **parameters)
        except HttpFailure as failure:
            outcome = "refused" if failure.status < 500 else "unknown"
        except (OSError, http.client.HTTPException):
            outcome = "unknown"
            self.stopping.wait(0.005)  # the service is away
        known = id or (answer if operation == "put" and answer else "")
        log.append(Event(operation, begin, time.monotonic_ns(), outcome, queue, known, 0, text))
        return answer if outcome == "ok" else None

    def _new_log(self):
        log = []
        self._logs.append(log)
        return log

    def _produce(self, name, choice):
        client, log, number = QueueClient(self.port), self._new_log(), 0
        while not self.stopping.is_set():
            number += 1
            parameters = {"visibilitytimeout": 1} if choice.random() < 0.1 else {}
            text = f"{name}-{number}"
            self._logged(log, "put", JOBS, client.put, JOBS, text, text=text, **parameters)

    def _consume(self, _, choice):
        client, log = QueueClient(self.port), self._new_log()
        while not self.stopping.is_set():
            begin = time.monotonic_ns()
            messages = self._logged([], "take", JOBS, client.take, JOBS, choice.randint(1, 4), 1)
            end = time.monotonic_ns()
            for message in messages or ():
                log.append(Event("take", begin, end, "ok", JOBS, message["MessageId"], 0,
                                 message["MessageText"]))
                if choice.random() < 0.3:  # extend, and change nothing
                    message = self._logged(log, "update", JOBS, client.update, JOBS, message, 1,
                                           id=message["MessageId"])
                if message and choice.random() < 0.8:
                    self._logged(log, "delete", JOBS, client.delete, JOBS, message, id=message["MessageId"])

    def _do_chores(self, *_):
        """Makes the service's other writes, so that each of its fail points is reached; on queues of its own."""
        client, unheard = QueueClient(self.port), []
        while not self.stopping.is_set():
            for call, *arguments in (
                    (client.create, FORGOTTEN), (client.put_once, FORGOTTEN, "x", str(time.monotonic_ns()), 1),
                    (client.create, GLANCED), (client.put_once, GLANCED, "x", "key", 1), (client.peek, GLANCED),
                    (client.create, CHORES), (client.put, CHORES, "x"), (client.finish_one, CHORES),
                    (client.peek, CHORES), (client.clear, CHORES),
                    (client.set_acl, CHORES), (client.set_metadata, CHORES), (client.set_service_properties,),
                    (client.delete_queue, CHORES),
                    *(((client.create, SPREAD, PARTS), (client.put, SPREAD, "x"), (client.delete_queue, SPREAD),
                       (client.delete_queue, f"{SPREAD}-poison")) if PARTS else ())):
                self._logged(unheard, "chore", CHORES, call, *arguments)
            unheard.clear()


class Oracle:
    """Judges the clients' answers, and the messages left at the end: {queue: [message, ...]}."""

    ENDS = ("complete", "delete", "remove")

    def __init__(self, events, remaining, poison):
        self.events = events
        self.poison = poison
        self.remaining = remaining
        self.by_id = collections.defaultdict(list)
        for event in events:
            if event.id and event.outcome != "refused":
                self.by_id[event.id].append(event)

    def violations(self):
        yield from self.one_place()
        yield from self.one_id_for_each_text()
        places = {m["MessageId"]: queue for queue, messages in self.remaining.items() for m in messages}
        for id, events in self.by_id.items():
            # The effect of a call came before its end, and its observation was true after its begin. Once a message is
            # gone, nobody does anything else with it, so any call that began before the end of that call came first.
            events.sort(key=lambda e: e.end if e.operation in ("take", *self.ENDS) else e.begin)
            yield from self.one_story(id, events, places.get(id))
            yield from self.new_epochs(id, events)

    def one_place(self):
        seen = collections.Counter(m["MessageId"] for messages in self.remaining.values() for m in messages)
        for id, times in seen.items():
            if times > 1:
                yield f"{id} is there {times} times"

    def one_id_for_each_text(self):
        """No client repeats a put, so the service doubled a text that is there under two ids."""
        ids = collections.defaultdict(set)
        for event in self.events:
            if event.operation in ("put", "take") and event.id:
                ids[event.text].add(event.id)
        for messages in self.remaining.values():
            for message in messages:
                ids[message["MessageText"]].add(message["MessageId"])
        for text, those in ids.items():
            if len(those) > 1:
                yield f"{text!r} was put once and is {sorted(those)}"

    def one_story(self, id, events, place):
        """Follows the places where the message may be, step by step; None stands for nowhere."""
        possible, since, earlier = {None, JOBS}, 0, set()
        for event in events:
            if event.operation == "take":
                # The message was there at some moment of the call; perhaps the client was slow to note the answer.
                overlaps = event.begin < since
                if JOBS not in possible and not (overlaps and JOBS in earlier):
                    yield f"{id} was delivered, but it could only be in {possible}; {events}"
                if not overlaps:
                    possible = {JOBS}
                continue
            if event.operation in ("put", "redrive"):
                target = JOBS
            elif event.operation == "move":
                target = self.poison
            elif event.operation in self.ENDS:
                target = None
            else:
                continue
            earlier, since = possible, event.end
            possible = {target} if event.outcome == "ok" else possible | {target}
        if place not in possible:
            yield f"{id} is in {place}, and it should be in {possible}; {events}"

    @staticmethod
    def new_epochs(id, events):
        epochs = collections.Counter(e.epoch for e in events if e.operation == "take" and e.epoch > 0)
        for epoch, times in epochs.items():
            if times > 1:
                yield f"{id} was delivered {times} times as epoch {epoch}"


class CrashTest(StoreCrashTest):
    program = "queue_service"
    once = ONCE_A_SECOND

    def prepare(self):
        self.stack.start("queue_service", "--upkeep-interval-s", "1")
        self.client = QueueClient(self.stack.ports["queue_service"])
        self.client.create(JOBS, PARTS)
        self.poison = self.make_poison_queue()

    def make_poison_queue(self):
        if not PARTS:  # otherwise it was made with the queue
            self.client.create(f"{JOBS}-poison")
        return f"{JOBS}-poison"

    def start_traffic(self):
        return Traffic(self.stack, self.poison, self.seed)

    def is_enough(self, traffic):
        return self.are_enough(traffic.events())

    @staticmethod
    def are_enough(events):
        done = collections.Counter(e.operation for e in events if e.outcome == "ok")
        return all(done[needed] > 2 for needed in ("put", "take", "delete", "complete", "move", "redrive"))

    def judge(self, _, events):
        self.stack.restart("queue_service")
        lengths = {queue: patiently(self.client.length, queue) for queue in (JOBS, self.poison)}
        remaining = {queue: self.drain(queue, length) for queue, length in lengths.items()}
        done = collections.Counter((e.operation, e.outcome) for e in events)
        print({f"{o} {r}": n for (o, r), n in sorted(done.items())}, {q: len(m) for q, m in remaining.items()},
              flush=True)
        self.assertTrue(self.are_enough(events), "hardly any traffic proves hardly anything")
        self.assertEqual({queue: len(messages) for queue, messages in remaining.items()}, lengths)
        violations = list(Oracle(events, remaining, self.poison).violations())
        self.assertEqual(violations[:5], [], f"{len(violations)} violations")

    def drain(self, queue, length):
        """Takes all messages for good, waiting for leases to run out."""
        taken = []

        def all_taken():
            messages = self.client.take(queue, 32, 3600)
            taken.extend(messages)
            return not messages and len(taken) >= length
        wait_until(all_taken, f"all {length} messages of {queue}", interval_s=0.0)
        return taken


class FailPointTest(CrashTest):
    """The store dies at each of its fail points, one after another, while the clients go on."""

    def make_poison_queue(self):
        if not shards.COUNT:
            return super().make_poison_queue()
        queue = shards.poison_queue_elsewhere(self.stack.data, JOBS)  # so that poisoned messages travel between shards
        self.client.create(queue)
        return queue

    def test_every_fail_point(self):
        self.die_at_every_point(at_least=40, but_not=NOT_REACHED + (() if shards.COUNT else BETWEEN_SHARDS))


class RandomKillTest(CrashTest):
    def test_random_kills(self):
        self.die_at_random()


if __name__ == "__main__":
    main()
