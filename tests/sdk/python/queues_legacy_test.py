"""Queues through the clients that Debian's azure-cli carries: the first generation (2018), and an early one of the
second. They send older versions of the protocol, and other bodies and signatures than today's clients.
"""
import datetime
import os
import unittest
import uuid

from azure.multiapi.storage.v2018_11_09.common import AccessPolicy
from azure.multiapi.storage.v2018_11_09.queue import QueuePermissions, QueueService
from azure.multiapi.storagev2.queue.v2019_07_07 import QueueClient

from support import ACCOUNT, KEY, main

ENDPOINT = os.environ["TIDEMARK_QUEUE_URL"]
CONNECTION = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};QueueEndpoint={ENDPOINT};"


def fresh_name():
    return "old-" + uuid.uuid4().hex[:20]


class FirstGeneration(unittest.TestCase):
    def setUp(self):
        self.service = QueueService(connection_string=CONNECTION)
        self.service.retry = lambda context: None
        self.queue = fresh_name()
        self.assertTrue(self.service.create_queue(self.queue, metadata={"a": "b"}))
        self.addCleanup(self.service.delete_queue, self.queue)

    def test_create_and_list(self):
        self.assertFalse(self.service.create_queue(self.queue, metadata={"a": "b"}))
        self.assertEqual([q.name for q in self.service.list_queues(prefix=self.queue)], [self.queue])
        self.assertTrue(self.service.exists(self.queue))
        self.assertFalse(self.service.delete_queue(fresh_name()))

    def test_metadata(self):
        metadata = self.service.get_queue_metadata(self.queue)
        self.assertEqual((metadata["a"], metadata.approximate_message_count), ("b", 0))
        self.service.set_queue_metadata(self.queue, {"c": "d"})
        self.assertEqual(dict(self.service.get_queue_metadata(self.queue)), {"c": "d"})

    def test_messages(self):
        for text in ("first", "<second> & é"):
            self.service.put_message(self.queue, text)
        self.assertEqual([m.content for m in self.service.peek_messages(self.queue, 5)], ["first", "<second> & é"])
        first, second = self.service.get_messages(self.queue, 2, visibility_timeout=100)
        updated = self.service.update_message(self.queue, first.id, first.pop_receipt, 0, "again")
        self.assertIsNotNone(updated.time_next_visible)
        self.service.delete_message(self.queue, second.id, second.pop_receipt)
        (again,) = self.service.get_messages(self.queue, 32)
        self.assertEqual((again.id, again.content, again.dequeue_count), (first.id, "again", 2))
        self.service.clear_messages(self.queue)
        self.assertEqual(list(self.service.peek_messages(self.queue)), [])

    def test_time_to_live(self):
        sent = self.service.put_message(self.queue, "m", time_to_live=-1)
        self.assertEqual(sent.expiration_time.year, 9999)

    def test_stored_policy(self):
        expiry = datetime.datetime.utcnow() + datetime.timedelta(hours=1)
        self.service.set_queue_acl(self.queue, {"p": AccessPolicy(QueuePermissions.READ, expiry)})
        self.assertEqual(self.service.get_queue_acl(self.queue)["p"].permission, "r")


class EarlySecondGeneration(unittest.TestCase):
    def test_life_of_a_message(self):
        client = QueueClient.from_connection_string(CONNECTION, fresh_name(), retry_total=0)
        client.create_queue()
        self.addCleanup(client.delete_queue)
        client.send_message("m", visibility_timeout=0, time_to_live=60)
        self.assertEqual(client.get_queue_properties().approximate_message_count, 1)
        (got,) = [m for page in client.receive_messages(visibility_timeout=100).by_page() for m in page]
        updated = client.update_message(got, content="n", visibility_timeout=0)
        self.assertEqual(client.peek_messages()[0].content, "n")
        client.delete_message(got.id, updated.pop_receipt)
        self.assertEqual(client.peek_messages(), [])


if __name__ == "__main__":
    main()
