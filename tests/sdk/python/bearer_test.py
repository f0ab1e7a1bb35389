# stores: table queue blob https bearer
"""Bearer tokens and user delegation through Debian's Python clients. Their keys come from an issuer that runs here."""
import base64
import datetime
import http.client
import http.server
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from urllib.parse import urlsplit

from azure.core.credentials import AccessToken, AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, generate_container_sas, BlobClient
from azure.storage.queue import QueueServiceClient

from support import ACCOUNT, KEY, main

URLS = {name: os.environ[f"TIDEMARK_{name}_URL"] for name in ("BLOB", "QUEUE", "TABLE")}


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """One RSA key, made and used by openssl; publishes it over HTTPS."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.key = os.path.join(self.directory.name, "key.pem")
        self.openssl("genrsa", "-out", self.key, "2048")
        modulus = self.openssl("rsa", "-in", self.key, "-noout", "-modulus").decode().strip().partition("=")[2]
        keys = {"keys": [{"kty": "RSA", "kid": "one", "use": "sig", "n": encode(bytes.fromhex(modulus)), "e": "AQAB"}]}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(keys).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", urlsplit(os.environ["TIDEMARK_ISSUER_KEYS"]).port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.environ["TIDEMARK_CA_FILE"], os.environ["TIDEMARK_TLS_KEY_FILE"])
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def openssl(*arguments, data=None):
        return subprocess.run(["openssl", *arguments], check=True, capture_output=True, input=data).stdout

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.directory.cleanup()

    def credential(self, *roles):
        """What azure.identity gives a client."""
        issuer = self

        class Credential:
            def get_token(self, *_, **__):
                now = int(time.time())
                claims = {"iss": os.environ["TIDEMARK_ISSUER"], "aud": "https://storage.azure.com", "nbf": now, "exp": now + 600,
                          "oid": "11111111-2222-3333-4444-555555555555", "tid": "66666666-7777-8888-9999-000000000000",
                          "roles": roles}
                text = ".".join(encode(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "one"}, claims))
                signature = issuer.openssl("dgst", "-sha256", "-sign", issuer.key, data=text.encode())
                return AccessToken(f"{text}.{encode(signature)}", now + 600)

        return Credential()


class BearerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.issuer = Issuer()
        cls.addClassCleanup(cls.issuer.close)
        # The issuer was not there when the stores began: the first token makes them ask for its keys. The clients would wait
        # for long before they try again.
        token = cls.issuer.credential().get_token().token
        trusting = ssl.create_default_context(cafile=os.environ["TIDEMARK_CA_FILE"])
        for url in URLS.values():
            deadline = time.monotonic() + 30
            while cls.ask(url, token, trusting) == 503 and time.monotonic() < deadline:
                pass

    @staticmethod
    def ask(url, token, context):
        place = urlsplit(url)
        connection = http.client.HTTPSConnection(place.hostname, place.port, context=context, timeout=20)
        connection.request("GET", place.path + "/", headers={"Authorization": "Bearer " + token})
        status = connection.getresponse().status
        connection.close()
        return status

    def refused(self, code, call, *arguments):
        with self.assertRaises(HttpResponseError) as caught:
            call(*arguments)
        self.assertEqual((caught.exception.status_code, str(caught.exception.error_code)), (403, code))

    def test_blobs_and_user_delegation(self):
        writer = BlobServiceClient(URLS["BLOB"], credential=self.issuer.credential("Storage Blob Data Contributor"))
        container = writer.create_container("bearer")
        container.upload_blob("b", b"content")
        reader = BlobServiceClient(URLS["BLOB"], credential=self.issuer.credential("Storage Blob Data Reader"))
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
        queue = QueueServiceClient(URLS["QUEUE"], credential=self.issuer.credential("Storage Queue Data Contributor")).create_queue("bearer")
        queue.send_message("hello")
        peeker = QueueServiceClient(URLS["QUEUE"], credential=self.issuer.credential("Storage Queue Data Reader")).get_queue_client("bearer")
        self.assertEqual(peeker.peek_messages()[0].content, "hello")
        self.refused("AuthorizationPermissionMismatch", peeker.clear_messages)

    def test_tables(self):
        service = TableServiceClient(URLS["TABLE"], credential=AzureNamedKeyCredential(ACCOUNT, KEY))
        service.create_table("Bearer")
        reader = TableServiceClient(URLS["TABLE"], credential=self.issuer.credential("Storage Table Data Reader"))
        self.assertEqual(list(reader.get_table_client("Bearer").list_entities()), [])
        with self.assertRaises(HttpResponseError) as caught:
            reader.get_table_client("Bearer").create_entity({"PartitionKey": "p", "RowKey": "r"})
        self.assertEqual(caught.exception.status_code, 403)


if __name__ == "__main__":
    main()
