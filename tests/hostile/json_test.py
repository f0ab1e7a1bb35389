"""JSON that is meant to break its reader: nested without end, with members given twice, with numbers out of range."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, HttpFailure, QueueClient, TableClient  # noqa: E402
from stack import StackTest, wait_until  # noqa: E402

JSON = {"Content-Type": "application/json"}


def nested(levels):
    return "[" * levels + "]" * levels


class JsonTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=1, api_arguments=("--callback-hosts", "*"), worker_arguments=("--poll-s", "2"))
        cls.api = ApiClient(cls.stack.ports["api"])

    def refused(self, method, path, body, *words):
        status, _, answer = self.api.send(method, path, JSON, body)
        self.assertEqual(status, 400, answer[:300])
        for word in words:
            self.assertIn(word, answer.decode())
        self.assertEqual(self.api.send("GET", "/healthz")[0], 200)

    def test_deep_nesting_is_refused_on_every_route(self):
        for levels in (65, 45_000, 1_000_000):
            callback = '{"kind":"callback","url":"https://example.com/","body":' + nested(levels) + "}"
            self.refused("POST", "/v1/jobs/batch", '{"jobs":[' + callback + "]}")
            for method, path in (("POST", "/v1/jobs"), ("POST", "/v1/jobs?dryRun=true"), ("PUT", "/v1/schedules/s"),
                                 ("PUT", "/v1/limits/kinds/archive"), ("PUT", "/v1/limits")):
                status, _, answer = self.api.send(method, path, JSON, callback)
                self.assertIn(status, (400, 404, 405, 413), answer[:300])
        self.refused("POST", "/v1/jobs", nested(65), "nested deeper than 64")
        self.assertTrue(self.stack.children["api"].alive())

    def test_a_deep_message_becomes_poison(self):
        queues = QueueClient(self.stack.ports["queue_service"])
        text = '{"kind":"callback","url":"https://example.com/","body":' + nested(29_900) + "}"
        message_id = queues.put("tidemark-jobs", text)
        found = wait_until(lambda: [p for p in self.api.poison() if p["id"] == message_id], "the poison message")
        self.assertIn("nested deeper", found[0]["reason"])
        self.assertTrue(self.stack.children["worker-1"].alive())

    def test_deep_entities_are_refused(self):
        tables = TableClient(self.stack.ports["table_store"])
        tables.create_table("Deep")
        for value in (nested(100_000), '{"a":' * 100_000 + "1" + "}" * 100_000):
            entity = '{"PartitionKey":"p","RowKey":"r","A":' + value + "}"
            with self.assertRaises(HttpFailure) as raised:
                tables._ask("PUT", "/Deep(PartitionKey='p',RowKey='r')", body=entity)
            self.assertEqual(raised.exception.status, 400)
        self.assertEqual(tables.scan("Deep"), {})

    def test_members_that_are_given_twice_are_refused(self):
        self.refused("POST", "/v1/jobs", '{"kind":"delete","source":"A","source":"B","filter":""}', "source",
                     "given twice")

    def test_numbers_that_would_change_are_refused(self):
        self.refused("POST", "/v1/jobs", '{"kind":"callback","url":"https://example.com/","body":123456789012345678901}',
                     "123456789012345678901", "too large")
        exact = {"kind": "callback", "url": "https://example.com/", "body": [2**63 - 1, -2**63, 2**64 - 1]}
        self.assertEqual(self.api.call("GET", "/v1/jobs/" + self.api.submit(exact))["spec"]["body"], exact["body"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
