import os

from harness import azure
from harness.processes import System, free_ports


class Tidemark(System):
    """The table store and the queue service."""
    name, version = "tidemark", "default settings, durability fsync"

    def store(self, program, *arguments):
        (port,) = free_ports(1)
        process = self.launch(program, [os.path.join(self.binaries, program), "--data",
                                        os.path.join(self.directory, "data"), "--port", str(port), *arguments])
        self.await_port(process, port)
        return process, port

    def start(self):
        os.makedirs(os.path.join(self.directory, "data"))
        self.table_process, self.table = self.store("table_store")
        self.queue_process, self.queue = self.store("queue_service")


class TidemarkStores(Tidemark):
    """All three stores."""

    def start(self):
        super().start()
        self.blob_process, self.blob = self.store("blob_store")


class TidemarkShards(Tidemark):
    """The queue service with two shards: two writers and two logs."""
    version = "queue_service --shards 2"

    def start(self):
        os.makedirs(os.path.join(self.directory, "data"))
        self.queue_process, self.queue = self.store("queue_service", "--shards", "2")


class TidemarkBlobs(Tidemark):
    """The blob store, and the table store to compare it with."""
    durability = "fsync"

    def start(self):
        os.makedirs(os.path.join(self.directory, "data"))
        self.blob_process, self.blob = self.store("blob_store", "--durability", self.durability)
        self.table_process, self.table = self.store("table_store")

    def object_url(self, name):
        return (f"http://127.0.0.1:{self.blob}/{azure.ACCOUNT}/bench/{name}?{azure.SAS}",
                {"x-ms-blob-type": "BlockBlob", "x-ms-version": azure.VERSION})


class TidemarkBlobShards(TidemarkBlobs):
    """The blob store with two shards: two writers and two logs."""
    version = "blob_store --shards 2"

    def start(self):
        os.makedirs(os.path.join(self.directory, "data"))
        self.blob_process, self.blob = self.store("blob_store", "--shards", "2")


class TidemarkBlobsUnsynced(TidemarkBlobs):
    version, durability = "durability os: acknowledged writes survive a crash of the process only", "os"
