"""Queues through Debian's azure.storage.queue: the differences from the JavaScript client in requests and answers. It
signs every header it sends, encodes texts by a policy on request, pages through messages and listings by itself, and
keeps receipts in the messages that it returns.
"""
import datetime
import os
import unittest
import uuid

from azure.core.exceptions import (ClientAuthenticationError, HttpResponseError, ResourceExistsError,
                                   ResourceNotFoundError)
from azure.storage.queue import (AccessPolicy, AccountSasPermissions, BinaryBase64DecodePolicy, BinaryBase64EncodePolicy,
                                 CorsRule, Metrics, QueueAnalyticsLogging, QueueClient, QueueSasPermissions,
                                 QueueServiceClient, ResourceTypes, RetentionPolicy, TextBase64DecodePolicy,
                                 TextBase64EncodePolicy, generate_account_sas, generate_queue_sas)

from support import ACCOUNT, KEY, azurite, main

ENDPOINT = os.environ["TIDEMARK_QUEUE_URL"]
OPTIONS = {"retry_total": 0}
HOUR = datetime.timedelta(hours=1)


def in_one_hour():
    return datetime.datetime.now(datetime.timezone.utc) + HOUR


def service(credential=KEY):
    return QueueServiceClient(ENDPOINT, credential={"account_name": ACCOUNT, "account_key": credential}
                              if credential == KEY else credential, **OPTIONS)


def client_of(name, credential=KEY, **options):
    return QueueClient(ENDPOINT, name, credential={"account_name": ACCOUNT, "account_key": credential}
                       if credential == KEY else credential, **OPTIONS, **options)


class Case(unittest.TestCase):
    def fresh(self, **options):
        client = client_of("py-" + uuid.uuid4().hex[:20], **options)
        client.create_queue()
        self.addCleanup(self.remove, client)
        return client

    @staticmethod
    def remove(client):
        try:
            client.delete_queue()
        except ResourceNotFoundError:
            pass

    def refused(self, status, code, call, *arguments, **parameters):
        with self.assertRaises(HttpResponseError) as caught:
            call(*arguments, **parameters)
        self.assertEqual(caught.exception.status_code, status, caught.exception)
        if code:
            self.assertEqual(caught.exception.error_code, code)
        return caught.exception


class Queues(Case):
    def test_create_twice(self):
        client = self.fresh()
        with self.assertRaises(ResourceExistsError):
            client.create_queue()  # this client takes the 204 for a refusal
        self.refused(409, "QueueAlreadyExists", client.create_queue, metadata={"a": "b"})

    def test_create_with_metadata(self):
        # This version sends a header x-ms-meta with the whole dictionary as well as the proper ones.
        client = client_of("py-" + uuid.uuid4().hex[:20])
        client.create_queue(metadata={"val1": "test", "val2": "blah"})
        self.addCleanup(self.remove, client)
        properties = client.get_queue_properties()
        self.assertEqual(properties.metadata, {"val1": "test", "val2": "blah"})
        self.assertEqual(properties.approximate_message_count, 0)

    def test_delete(self):
        client = self.fresh()
        client.delete_queue()
        with self.assertRaises(ResourceNotFoundError):
            client.get_queue_properties()
        self.refused(404, "QueueNotFound", client.delete_queue)

    def test_list_by_pages(self):
        prefix = "pylist" + uuid.uuid4().hex[:10]
        for number in range(5):
            queue = service().create_queue(f"{prefix}{number}", metadata={"n": str(number)})
            self.addCleanup(self.remove, queue)
        pages = list(service().list_queues(name_starts_with=prefix, include_metadata=True, results_per_page=2).by_page())
        found = [[(q.name, q.metadata["n"]) for q in page] for page in pages]
        self.assertEqual([len(page) for page in found], [2, 2, 1])
        self.assertEqual([q for page in found for q in page], [(f"{prefix}{n}", str(n)) for n in range(5)])

    def test_set_metadata(self):
        client = self.fresh()
        client.set_queue_metadata({"hello": "world", "number": "43"})
        self.assertEqual(client.get_queue_properties().metadata, {"hello": "world", "number": "43"})

    def test_bad_name(self):
        self.refused(400, "InvalidResourceName", client_of("bad_name").create_queue)
        self.refused(400, "OutOfRangeInput", client_of("x").create_queue)

    @azurite("queue-empty-policy")
    def test_access_policies(self):
        client = self.fresh()
        self.assertEqual(client.get_queue_access_policy(), {})
        start = datetime.datetime(2024, 1, 1)
        policy = AccessPolicy(permission=QueueSasPermissions(read=True, add=True), start=start, expiry=start + HOUR)
        client.set_queue_access_policy({"id1": policy, "empty": AccessPolicy()})
        found = client.get_queue_access_policy()
        self.assertEqual(sorted(found), ["empty", "id1"])
        self.assertEqual(found["id1"].permission, "ra")
        client.set_queue_access_policy({})
        self.assertEqual(client.get_queue_access_policy(), {})

    def test_service_properties(self):
        logging = QueueAnalyticsLogging(read=True, write=True, delete=True,
                                        retention_policy=RetentionPolicy(enabled=True, days=5))
        metrics = Metrics(enabled=True, include_apis=True, retention_policy=RetentionPolicy(enabled=True, days=5))
        rule = CorsRule(["www.xyz.com", "www.ab.com"], ["GET", "PUT"], max_age_in_seconds=7,
                        exposed_headers=["x-ms-meta-*"], allowed_headers=["x-ms-meta-x"])
        service().set_service_properties(analytics_logging=logging, hour_metrics=metrics, minute_metrics=metrics,
                                         cors=[rule])
        found = service().get_service_properties()
        self.assertTrue(found["analytics_logging"].delete)
        self.assertEqual(found["hour_metrics"].retention_policy.days, 5)
        self.assertEqual(found["cors"][0].allowed_origins, "www.xyz.com,www.ab.com")
        service().set_service_properties(cors=[])


class Messages(Case):
    def test_round_trip(self):
        client = self.fresh()
        for text in ("message1", "", "  blanks  ", "<a>&amp;</a>", "é漢😀", "line\nfeed"):
            sent = client.send_message(text)
            got = client.receive_message()
            self.assertEqual((got.id, got.content), (sent.id, text))
            self.assertEqual(got.dequeue_count, 1)
            client.delete_message(got)
        self.assertIsNone(client.receive_message())

    def test_sent_message_can_be_used_at_once(self):
        client = self.fresh()
        sent = client.send_message("m")
        updated = client.update_message(sent, content="n", visibility_timeout=0)
        self.assertNotEqual(updated.pop_receipt, sent.pop_receipt)
        client.delete_message(updated)
        self.assertEqual(client.get_queue_properties().approximate_message_count, 0)

    def test_receive_goes_through_the_whole_queue(self):
        client = self.fresh()
        for number in range(11):
            client.send_message(f"message{number}")
        texts = [m.content for m in client.receive_messages(messages_per_page=4, visibility_timeout=100)]
        self.assertEqual(texts, [f"message{n}" for n in range(11)])

    def test_receive_by_pages(self):
        client = self.fresh()
        for number in range(5):
            client.send_message(str(number))
        pages = client.receive_messages(messages_per_page=3).by_page()
        self.assertEqual([m.content for m in next(pages)], ["0", "1", "2"])
        self.assertEqual([m.content for m in next(pages)], ["3", "4"])

    def test_receive_no_more_than(self):
        client = self.fresh()
        for number in range(5):
            client.send_message(str(number))
        self.assertEqual(len(list(client.receive_messages(messages_per_page=2, max_messages=3))), 3)

    def test_peek(self):
        client = self.fresh()
        for number in range(3):
            client.send_message(str(number))
        peeked = client.peek_messages(max_messages=2)
        self.assertEqual([m.content for m in peeked], ["0", "1"])
        self.assertEqual(peeked[0].dequeue_count, 0)
        self.assertIsNone(peeked[0].pop_receipt)
        self.assertEqual(client.receive_message().dequeue_count, 1)

    def test_visibility(self):
        client = self.fresh()
        client.send_message("later", visibility_timeout=100)
        self.assertIsNone(client.receive_message())
        self.assertEqual(client.get_queue_properties().approximate_message_count, 1)

    def test_update_visibility_only(self):
        client = self.fresh()
        client.send_message("kept")
        got = client.receive_message(visibility_timeout=100)
        client.update_message(got, visibility_timeout=0)
        again = client.receive_message()
        self.assertEqual((again.content, again.dequeue_count), ("kept", 2))

    @azurite("queue-stale-receipt")
    def test_old_receipt(self):
        client = self.fresh()
        sent = client.send_message("m")
        client.receive_message()
        self.refused(404, "MessageNotFound", client.delete_message, sent)

    def test_never_expires(self):
        client = self.fresh()
        sent = client.send_message("m", time_to_live=-1)
        self.assertEqual(sent.expires_on.year, 9999)

    def test_limits_of_time(self):
        client = self.fresh()
        self.refused(400, "OutOfRangeQueryParameterValue", client.send_message, "m", visibility_timeout=604801,
                     time_to_live=-1)
        self.refused(400, "OutOfRangeQueryParameterValue", list, client.receive_messages(messages_per_page=33))

    def test_too_large(self):
        self.refused(413, "RequestBodyTooLarge", self.fresh().send_message, "x" * 65537)

    def test_clear(self):
        client = self.fresh()
        for number in range(4):
            client.send_message(str(number))
        client.clear_messages()
        self.assertEqual(client.peek_messages(), [])

    def test_text_encoding_policies(self):
        client = self.fresh(message_encode_policy=TextBase64EncodePolicy(),
                            message_decode_policy=TextBase64DecodePolicy())
        client.send_message("é漢")
        self.assertEqual(client.peek_messages()[0].content, "é漢")
        self.assertEqual(client_of(client.queue_name).peek_messages()[0].content, "w6nmvKI=")

    def test_binary_encoding_policies(self):
        client = self.fresh(message_encode_policy=BinaryBase64EncodePolicy(),
                            message_decode_policy=BinaryBase64DecodePolicy())
        content = bytes(range(256))
        client.send_message(content)
        self.assertEqual(client.receive_message().content, content)


class Access(Case):
    def sas(self, client, permission, **values):
        return generate_queue_sas(ACCOUNT, client.queue_name, KEY, permission=permission,
                                  expiry=values.pop("expiry", in_one_hour()), **values)

    def test_wrong_key(self):
        client = client_of("never", credential={"account_name": ACCOUNT, "account_key": "AAAA"})
        with self.assertRaises(ClientAuthenticationError):
            client.create_queue()

    def test_sas_add_and_read(self):
        client = self.fresh()
        client_of(client.queue_name, self.sas(client, QueueSasPermissions(add=True))).send_message("by a guest")
        reader = client_of(client.queue_name, self.sas(client, QueueSasPermissions(read=True)))
        self.assertEqual(reader.peek_messages()[0].content, "by a guest")
        self.refused(403, "AuthorizationPermissionMismatch", reader.send_message, "x")

    def test_sas_process_and_update(self):
        client = self.fresh()
        client.send_message("m")
        guest = client_of(client.queue_name, self.sas(client, QueueSasPermissions(process=True, update=True)))
        got = guest.receive_message()
        guest.delete_message(guest.update_message(got, content="n", visibility_timeout=0))
        self.assertEqual(client.get_queue_properties().approximate_message_count, 0)

    def test_sas_expired(self):
        client = self.fresh()
        guest = client_of(client.queue_name, self.sas(client, QueueSasPermissions(read=True), expiry="2020-01-01"))
        with self.assertRaises(ClientAuthenticationError):
            guest.peek_messages()

    def test_sas_of_a_stored_policy(self):
        client = self.fresh()
        policy = AccessPolicy(permission=QueueSasPermissions(read=True), expiry=in_one_hour())
        client.set_queue_access_policy({"id1": policy})
        guest = client_of(client.queue_name, generate_queue_sas(ACCOUNT, client.queue_name, KEY, policy_id="id1"))
        self.assertEqual(guest.peek_messages(), [])
        client.set_queue_access_policy({})
        with self.assertRaises(ClientAuthenticationError):
            guest.peek_messages()

    def test_account_sas(self):
        client = self.fresh()
        token = generate_account_sas(ACCOUNT, KEY, ResourceTypes(service=True), AccountSasPermissions(list=True),
                                     in_one_hour())
        names = [q.name for q in service(token).list_queues(name_starts_with=client.queue_name)]
        self.assertEqual(names, [client.queue_name])


if __name__ == "__main__":
    main()
