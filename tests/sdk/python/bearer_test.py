# stores: table queue blob https bearer
"""Bearer tokens and user delegation through Debian's Python clients. Their keys come from an issuer that runs here."""
import base64
import datetime
import hmac
import http.client
import os
import ssl
import sys
import time
import unittest
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree

from azure.core.credentials import AccessToken, AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, generate_container_sas, BlobClient
from azure.storage.queue import QueueServiceClient

from support import ACCOUNT, KEY, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from authority import TOKEN_LIFE_S, Authority  # noqa: E402

URLS = {name: os.environ[f"TIDEMARK_{name}_URL"] for name in ("BLOB", "QUEUE", "TABLE")}


class Credential:
    """A credential as azure.identity gives it to a client."""

    def __init__(self, authority, roles):
        self.authority, self.roles = authority, roles

    def get_token(self, *_, **__):
        return AccessToken(self.authority.token(*self.roles), int(time.time()) + TOKEN_LIFE_S)


class BearerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        port = urlsplit(os.environ["TIDEMARK_ISSUER_KEYS"]).port
        cls.issuer = Authority(os.environ["TIDEMARK_CA_FILE"], os.environ["TIDEMARK_TLS_KEY_FILE"], port, os.environ["TIDEMARK_ISSUER"])
        cls.addClassCleanup(cls.issuer.close)
        # The issuer was not running when the stores started: the first token makes them request its keys. The clients
        # would wait for long before they try again.
        token = cls.issuer.token()
        trusting = ssl.create_default_context(cafile=os.environ["TIDEMARK_CA_FILE"])
        for url in URLS.values():
            deadline = time.monotonic() + 60
            while cls.ask(url, token, trusting) == 503 and time.monotonic() < deadline:
                pass

    def as_(self, role):
        return Credential(self.issuer, [role])

    @staticmethod
    def ask(url, token, context):
        place = urlsplit(url)
        connection = http.client.HTTPSConnection(place.hostname, place.port, context=context, timeout=60)
        connection.request("GET", place.path + "/", headers={"Authorization": "Bearer " + token})
        status = connection.getresponse().status
        connection.close()
        return status

    def refused(self, code, call, *arguments):
        with self.assertRaises(HttpResponseError) as caught:
            call(*arguments)
        self.assertEqual((caught.exception.status_code, str(caught.exception.error_code)), (403, code))

    def test_blobs_and_user_delegation(self):
        writer = BlobServiceClient(URLS["BLOB"], credential=self.as_("Storage Blob Data Contributor"))
        container = writer.create_container("bearer")
        container.upload_blob("b", b"content")
        reader = BlobServiceClient(URLS["BLOB"], credential=self.as_("Storage Blob Data Reader"))
        self.assertEqual(reader.get_blob_client("bearer", "b").download_blob().readall(), b"content")
        self.refused("AuthorizationPermissionMismatch", reader.get_container_client("bearer").delete_container)
        now = datetime.datetime.utcnow()
        key = writer.get_user_delegation_key(now - datetime.timedelta(minutes=1), now + datetime.timedelta(hours=1))
        sas = generate_container_sas(ACCOUNT, "bearer", user_delegation_key=key, permission=ContainerSasPermissions(read=True),
                                     expiry=now + datetime.timedelta(hours=1))
        delegated = BlobClient.from_blob_url(f"{URLS['BLOB']}/bearer/b?{sas}")
        self.assertEqual(delegated.download_blob().readall(), b"content")
        self.refused("AuthorizationPermissionMismatch", delegated.delete_blob)

    def test_queues(self):
        queue = QueueServiceClient(URLS["QUEUE"], credential=self.as_("Storage Queue Data Contributor")).create_queue("bearer")
        queue.send_message("hello")
        peeker = QueueServiceClient(URLS["QUEUE"], credential=self.as_("Storage Queue Data Reader")).get_queue_client("bearer")
        self.assertEqual(peeker.peek_messages()[0].content, "hello")
        self.refused("AuthorizationPermissionMismatch", peeker.clear_messages)

    def call(self, method, url, headers=None, body=None):
        place = urlsplit(url)
        trusting = ssl.create_default_context(cafile=os.environ["TIDEMARK_CA_FILE"])
        connection = http.client.HTTPSConnection(place.hostname, place.port, context=trusting, timeout=60)
        self.addCleanup(connection.close)
        connection.request(method, f"{place.path}?{place.query}", body=body, headers={"x-ms-version": "2025-07-05", **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def test_user_delegation_of_a_table(self):
        """No SDK in Debian signs these yet."""
        TableServiceClient(URLS["TABLE"], credential=AzureNamedKeyCredential(ACCOUNT, KEY)).create_table("Delegated")
        now = datetime.datetime.utcnow()
        start, expiry = (f"{now + datetime.timedelta(minutes=m):%Y-%m-%dT%H:%M:%SZ}" for m in (-1, 60))
        status, text = self.call("POST", URLS["TABLE"] + "/?restype=service&comp=userdelegationkey",
                                 {"Authorization": "Bearer " + self.issuer.token("Storage Table Data Reader")},
                                 f"<KeyInfo><Start>{start}</Start><Expiry>{expiry}</Expiry></KeyInfo>")
        self.assertEqual(status, 200, text)
        key = {child.tag: child.text for child in ElementTree.fromstring(text.lstrip("\ufeff"))}
        about = {"skoid": key["SignedOid"], "sktid": key["SignedTid"], "skt": key["SignedStart"], "ske": key["SignedExpiry"],
                 "sks": key["SignedService"], "skv": key["SignedVersion"]}
        given = {"sp": "ra", "se": expiry, "sv": "2025-07-05", "tn": "Delegated", **about}
        signed = "\n".join(["ra", "", expiry, f"/table/{ACCOUNT}/delegated", *about.values(), "", "", "", "", given["sv"], *[""] * 4])
        digest = hmac.new(base64.b64decode(key["Value"]), signed.encode(), "sha256").digest()
        target = f"{URLS['TABLE']}/Delegated?{urlencode({**given, 'sig': base64.b64encode(digest).decode()})}"
        self.assertEqual(self.call("GET", target)[0], 200)
        # The letters allow adding, but the signer's role does not; and a signature by another key is worth nothing.
        self.assertEqual(self.call("POST", target, {"Content-Type": "application/json"}, '{"PartitionKey":"p","RowKey":"r"}')[0], 403)
        wrong = f"{URLS['TABLE']}/Delegated?{urlencode({**given, 'sig': base64.b64encode(digest[::-1]).decode()})}"
        self.assertEqual(self.call("GET", wrong)[0], 403)

    def test_tables(self):
        service = TableServiceClient(URLS["TABLE"], credential=AzureNamedKeyCredential(ACCOUNT, KEY))
        service.create_table("Bearer")
        reader = TableServiceClient(URLS["TABLE"], credential=self.as_("Storage Table Data Reader"))
        self.assertEqual(list(reader.get_table_client("Bearer").list_entities()), [])
        with self.assertRaises(HttpResponseError) as caught:
            reader.get_table_client("Bearer").create_entity({"PartitionKey": "p", "RowKey": "r"})
        self.assertEqual(caught.exception.status_code, 403)


if __name__ == "__main__":
    main()
