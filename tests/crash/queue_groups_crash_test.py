"""Kills the queue service with SIGKILL at random under clients of its extensions over REST: groups, idempotency keys,
leases, long polls and a maximum dequeue count, all on one queue.

The oracle is the answers that the clients got. However the service dies: a key is one message; the next message of a
group is delivered only once the one before it was deleted or is poison; nothing is delivered more often than the queue
allows; a message whose deletion was acknowledged never comes back; at the end every message was deleted or is in the
poison queue.
"""
import collections
import http.client
import os
import random
import sys
import threading
import time
from urllib.parse import urlencode

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import HttpFailure, QueueClient, patiently  # noqa: E402
from stack import wait_until  # noqa: E402
from store_crashes import StoreCrashTest, main  # noqa: E402

QUEUE, POISON = "groups", "groups-poison"
GROUPS, CONSUMERS, MAX_DEQUEUE_COUNT, LEASE_S = 6, 4, 3, 2
EXTENSION = "x-ms-tidemark-"
BACKLOG = 60  # only one message of a group is worked on at a time, so more would take long to finish
BROKEN = (OSError, http.client.HTTPException)

Event = collections.namedtuple("Event", "operation begin end outcome text id count")


class Client(QueueClient):
    def create_limited(self):
        self._ask("PUT", f"/{QUEUE}", extensions={EXTENSION + "max-dequeue-count": str(MAX_DEQUEUE_COUNT)})

    def put_next(self, group, number):
        text = f"{group}:{number}"
        extensions = {EXTENSION + "group": str(group), EXTENSION + "idempotency-key": text}
        _, body = self._ask("POST", f"/{QUEUE}/messages", "messagettl=-1", self._message(text), extensions)
        return self._messages(body)[0]["MessageId"]

    def wait_for(self, count):
        query = f"numofmessages={count}&visibilitytimeout={LEASE_S}"
        _, body = self._ask("GET", f"/{QUEUE}/messages", query, None, {EXTENSION + "detail": "true", EXTENSION + "wait": "1"})
        return self._messages(body)

    def by_lease(self, method, message, query="", body=None):
        self._ask(method, f"/{QUEUE}/messages/{message['MessageId']}", query, body, {EXTENSION + "lease": message["LeaseToken"]})


class Traffic:
    def __init__(self, port, seed):
        self.port = port
        self.full, self.stopping = threading.Event(), threading.Event()
        self.events, self.errors = [], []
        self.put = collections.Counter()
        self.finished = 0  # approximate, since several threads count
        self._threads = [threading.Thread(target=self._guarded, args=(self._produce, random.Random(seed)))]
        self._threads += [threading.Thread(target=self._guarded, args=(self._consume, random.Random(seed + n)))
                          for n in range(1, CONSUMERS + 1)]
        for thread in self._threads:
            thread.start()

    def stop(self):
        """Returns every answer. Producers stop; the consumers go on until nothing is left."""
        self.full.set()
        client = Client(self.port)
        wait_until(lambda: self.errors or patiently(client.length, QUEUE) == 0, "the end of all messages", 90.0, 0.1)
        self.stopping.set()
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise self.errors[0]
        return self.events

    def _guarded(self, role, choice):
        try:
            role(Client(self.port), choice)
        except Exception as error:  # reported to the test's own thread
            self.errors.append(error)

    def _note(self, operation, begin, outcome, text, message):
        event = Event(operation, begin, time.monotonic(), outcome, text, message["MessageId"], int(message.get("DequeueCount", 0)))
        self.events.append(event)

    def _produce(self, client, choice):
        while not self.full.is_set():
            group = choice.randrange(GROUPS)
            number = self.put[group]
            ids = {patiently(client.put_next, group, number) for _ in range(choice.choice((1, 1, 2)))}
            for id in ids:
                self._note("put", 0.0, "ok", f"{group}:{number}", {"MessageId": id})
            self.put[group] += 1
            while sum(self.put.values()) - self.finished > BACKLOG and not self.full.wait(0.01):
                pass

    def _consume(self, client, choice):
        while not self.stopping.is_set():
            begin = time.monotonic()
            try:
                messages = client.wait_for(choice.randint(1, 4))
            except BROKEN:
                continue
            except HttpFailure as failure:
                if failure.status < 500:
                    raise
                continue
            for message in messages:
                self._note("take", begin, "ok", message["MessageText"], message)
            for message in messages:
                self._finish(client, choice, message)

    def _finish(self, client, choice, message):
        what = choice.random()
        if what < 0.05:
            return  # forgets it: the lease runs out
        operation = "release" if what < 0.15 else "renew" if what < 0.35 else "delete"
        begin = time.monotonic()
        try:
            if operation != "delete":
                client.by_lease("PUT", message, urlencode({"visibilitytimeout": 0 if operation == "release" else LEASE_S}))
            if operation != "release":
                operation = "delete"
                client.by_lease("DELETE", message)
            outcome = "ok"
        except HttpFailure as failure:
            outcome = "refused" if failure.code == "LeaseLost" else "unknown"
            if failure.status < 500 and outcome == "unknown":
                raise
        except BROKEN:
            outcome = "unknown"
        self.finished += operation == "delete"
        self._note(operation, begin, outcome, message["MessageText"], message)


def violations(events, put, poison):
    ids, takes, deletes = (collections.defaultdict(list) for _ in range(3))
    for event in events:
        ids[event.text].append(event.id)
        if event.operation == "take":
            takes[event.text].append(event)
        if event.operation == "delete" and event.outcome != "refused":
            deletes[event.text].append(event)
    for text in [f"{group}:{number}" for group in put for number in range(put[group])]:
        if len(set(ids[text])) != 1:
            yield f"{text} is {len(set(ids[text]))} messages"
        if (text in poison) == any(delete.outcome == "ok" for delete in deletes[text]):
            if text in poison or not deletes[text]:
                yield f"{text}: deleted and poison, or neither"
        done = [delete.end for delete in deletes[text] if delete.outcome == "ok"]
        if len(done) > 1:
            yield f"{text} was deleted {len(done)} times"
        for take in takes[text]:
            if done and take.begin > done[0]:
                yield f"{text} came back"
            if take.count > MAX_DEQUEUE_COUNT:
                yield f"{text} was taken {take.count} times"
        group, number = map(int, text.split(":"))
        before = f"{group}:{number - 1}"
        for take in takes[text]:
            if number and before not in poison and not any(delete.begin <= take.end for delete in deletes[before]):
                yield f"{text} was delivered while {before} was there"


class GroupsTest(StoreCrashTest):
    program = "queue_service"

    def prepare(self):
        self.stack.start("queue_service", "--upkeep-interval-s", "1")
        self.client = Client(self.stack.ports["queue_service"])
        self.client.create_limited()
        self.client.create(POISON)

    def start_traffic(self):
        return Traffic(self.stack.ports["queue_service"], self.seed)

    def judge(self, traffic, events):
        self.stack.restart("queue_service")
        poison = [message["MessageText"] for message in self._drain_poison()]
        done = collections.Counter((event.operation, event.outcome) for event in events)
        print({f"{o} {r}": n for (o, r), n in sorted(done.items())}, f"{len(poison)} poison", flush=True)
        for needed in ("put", "take", "delete", "release"):
            self.assertGreater(done[needed, "ok"], 10, "hardly any traffic proves hardly anything")
        self.assertEqual(len(poison), len(set(poison)))
        self.assertEqual(patiently(self.client.length, QUEUE), 0)
        found = list(violations(events, traffic.put, set(poison)))
        self.assertEqual(found[:5], [], f"{len(found)} violations")

    def _drain_poison(self):
        while messages := patiently(self.client.take, POISON, 32, 3600):
            yield from messages

    def test_random_kills(self):
        self.die_at_random()


if __name__ == "__main__":
    main()
