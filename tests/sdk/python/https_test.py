# stores: table queue blob https
"""The three stores over HTTPS through Debian's Python clients, which check the certificate."""
import os
import unittest

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ServiceRequestError
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

from support import ACCOUNT, KEY, main

SIGNED = {"account_name": ACCOUNT, "account_key": KEY}
OPTIONS = {"retry_total": 0}


class HttpsTest(unittest.TestCase):
    def test_blobs(self):
        container = BlobServiceClient(os.environ["TIDEMARK_BLOB_URL"], credential=SIGNED, **OPTIONS).create_container("python")
        content = bytes(range(256)) * 20_000
        container.upload_blob("large", content)
        self.assertEqual(container.download_blob("large").readall(), content)

    def test_queues(self):
        queue = QueueServiceClient(os.environ["TIDEMARK_QUEUE_URL"], credential=SIGNED, **OPTIONS).create_queue("python")
        queue.send_message("hello")
        message = queue.receive_message() if hasattr(queue, "receive_message") else next(queue.receive_messages())
        self.assertEqual(message.content, "hello")
        queue.delete_message(message)

    def test_tables(self):
        service = TableServiceClient(os.environ["TIDEMARK_TABLE_URL"], credential=AzureNamedKeyCredential(ACCOUNT, KEY), **OPTIONS)
        table = service.create_table("Python")
        table.submit_transaction([("create", {"PartitionKey": "p", "RowKey": str(n), "N": n}) for n in range(3)])
        self.assertEqual([entity["N"] for entity in table.list_entities()], [0, 1, 2])

    def test_a_certificate_of_an_unknown_authority(self):
        service = BlobServiceClient(os.environ["TIDEMARK_BLOB_URL"], credential=SIGNED, connection_verify=True, **OPTIONS)
        bundle = os.environ.pop("REQUESTS_CA_BUNDLE")
        try:
            with self.assertRaises(ServiceRequestError):
                service.get_account_information()
        finally:
            os.environ["REQUESTS_CA_BUNDLE"] = bundle


if __name__ == "__main__":
    main()
