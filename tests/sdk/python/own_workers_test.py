# stores: table queue
"""The Python programs of docs/own-workers.md, taken out of the page and driven."""
import json
import os
import re
import threading
import types
import unittest

from azure.core.exceptions import HttpResponseError

from support import main

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "..", "..", "..", "docs", "own-workers.md"), encoding="utf-8") as text:
    PROGRAMS = {name: code for code, name in re.findall(r"^```python\n(# (\w+)\.py\n.*?)^```$", text.read(), re.M | re.S)}


def program(name):
    module = types.ModuleType(name)
    exec(compile(PROGRAMS[name], f"own-workers.md/{name}.py", "exec"), module.__dict__)
    return module


class Worker(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.worker = program("worker")
        cls.worker.prepare()
        cls.worker.prepare()

    def order(self, row, *lines):
        self.worker.orders.upsert_entity({"PartitionKey": "p", "RowKey": row, "lines": json.dumps(
            [{"price": price, "count": count} for price, count in lines])})

    def ask(self, row):
        self.worker.queue.send_message(json.dumps({"partitionKey": "p", "rowKey": row}))

    def total(self, row):
        return self.worker.totals.get_entity("p", row)["total"]

    def test_does_what_the_messages_ask_for(self):
        stopped = threading.Event()
        running = threading.Thread(target=self.worker.run, args=(stopped,))
        running.start()
        try:
            unreadable = self.worker.queue.send_message("no JSON")
            for n in (1, 2, 3):
                self.order(f"o{n}", (n, 2), (10, 1))
                self.ask(f"o{n}")
            while self.worker.queue.get_queue_properties().approximate_message_count > 1:
                self.assertTrue(running.is_alive())
            with self.assertRaises(HttpResponseError):  # it was taken, and is still there
                self.worker.queue.delete_message(unreadable)
        finally:
            stopped.set()
            running.join()
        self.assertEqual([self.total(f"o{n}") for n in (1, 2, 3)], [12, 14, 16])

    def test_one_that_wakes_after_another_has_taken_over_writes_nothing(self):
        self.order("late", (1, 1))
        self.ask("late")
        first = self.worker.take()
        self.worker.queue.update_message(first, visibility_timeout=0)
        second = self.worker.take()
        self.assertEqual((second.id, second.dequeue_count), (first.id, 2))
        self.worker.work(second)
        self.order("late", (5, 1))
        with self.assertRaises(HttpResponseError) as caught:
            self.worker.handle(first)
        self.assertEqual(caught.exception.status_code, 412)
        self.assertEqual(self.total("late"), 1)

    def test_what_can_never_be_done_is_poison(self):
        self.ask("no-such-order")
        for attempt in range(1, 6):
            message = self.worker.take()
            self.assertEqual(message.dequeue_count, attempt)
            with self.assertRaises(HttpResponseError):
                self.worker.work(message)
            self.worker.queue.update_message(message, visibility_timeout=0)
        self.assertIsNone(self.worker.take())


class Receiver(unittest.TestCase):
    # The worked example of Standard Webhooks.
    SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    OTHER = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
    HEADERS = {"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
               "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
    BODY = b'{"test": 2432232314}'
    THEN = 1614265330

    def test_believes_what_is_signed_and_nothing_else(self):
        genuine = program("receiver").genuine
        self.assertTrue(genuine([self.OTHER, self.SECRET], self.HEADERS, self.BODY, self.THEN))
        several = {**self.HEADERS, "webhook-signature": "v1,AAAA v1a,x " + self.HEADERS["webhook-signature"]}
        self.assertTrue(genuine([self.SECRET], several, self.BODY, self.THEN + 299))
        self.assertFalse(genuine([self.OTHER], self.HEADERS, self.BODY, self.THEN))
        self.assertFalse(genuine([self.SECRET], self.HEADERS, self.BODY + b" ", self.THEN))
        for now in (self.THEN - 301, self.THEN + 301, None):
            self.assertFalse(genuine([self.SECRET], self.HEADERS, self.BODY, now))
        for name, value in self.HEADERS.items():
            self.assertFalse(genuine([self.SECRET], {**self.HEADERS, name: value + "1"}, self.BODY, self.THEN))
            without = {k: v for k, v in self.HEADERS.items() if k != name}
            self.assertFalse(genuine([self.SECRET], without, self.BODY, self.THEN))


if __name__ == "__main__":
    main()
