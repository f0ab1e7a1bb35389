"""Reads the content of a container or a directory without the product: with Debian's Azure SDK for Python, and from
disk.

Archived entities are returned as the table endpoint shows them, without annotations, so that an oracle can compare.
"""
import gzip
import json
import os

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob import BlobServiceClient, LinearRetry

from clients import ACCOUNT, KEY
import base64


class BlobReader:
    """For one thread."""

    def __init__(self, port):
        self.service = BlobServiceClient(f"http://127.0.0.1:{port}/{ACCOUNT}",
                                         credential=base64.b64encode(KEY).decode(),
                                         retry_policy=LinearRetry(backoff=1, retry_total=30))

    def objects(self, container):
        """Returns {name: bytes}; a blob that is deleted while it is read is left out."""
        client = self.service.get_container_client(container)
        found = {}
        try:
            names = [blob.name for blob in client.list_blobs()]
        except ResourceNotFoundError:
            return {}
        for name in names:
            try:
                found[name] = client.download_blob(name).readall()
            except ResourceNotFoundError:
                pass
        return found


def files(directory):
    """Returns {path below: bytes} of every file that is not temporary."""
    found = {}
    for folder, _, names in os.walk(directory):
        if ".tidemark" in folder.split(os.sep):
            continue
        for name in names:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, directory)] = file.read()
            except FileNotFoundError:
                pass
    return found


def entities_in(content):
    """Returns the entities of a document or a part."""
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    return [json.loads(line) for line in content.decode().splitlines()]


def bare(entity):
    return {k: v for k, v in entity.items() if k not in ("Timestamp", "tidemark.job", "tidemark.archive") and "odata." not in k}


def archived(objects):
    """Returns {(PartitionKey, RowKey): entity} of all objects; a key that is there twice is an error."""
    found = {}
    for name, content in objects.items():
        for entity in entities_in(content):
            key = entity["PartitionKey"], entity["RowKey"]
            if key in found:
                raise AssertionError(f"{key} is archived twice, the second time in {name}")
            found[key] = bare(entity)
    return found
