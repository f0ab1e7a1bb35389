"""Failing disks: acknowledged writes stay, reads go on, nobody restarts anything, and no job loses an attempt."""
import http.client
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ACCOUNT, ApiClient, BlobClient, HttpFailure, TableClient, ended  # noqa: E402
from sas import account_sas  # noqa: E402
from stack import BIN, OwnStackTest, wait_until  # noqa: E402


class DiskTest(OwnStackTest):
    def setUp(self):
        self.faults = os.path.join(self.stack.directory, "faults")
        self.fail_calls()
        self.environment = {"LD_PRELOAD": os.path.abspath(os.path.join(BIN, "disk_faults.so")),
                            "TIDEMARK_DISK_FAULTS": self.faults, "TIDEMARK_DISK_FAULTS_BELOW": self.stack.data}

    def fail_calls(self, *kinds):
        with open(self.faults + ".new", "w", encoding="utf-8") as file:
            file.write("\n".join(kinds))
        os.replace(self.faults + ".new", self.faults)

    def start_table_store(self, *arguments):
        store = self.stack.launch("table_store", "table_store", "--port", "0", *arguments, environment=self.environment)
        self.stack.ports["table_store"] = int(store.await_ready().ready["port"])
        return TableClient(self.stack.ports["table_store"])

    def refused(self, call, *arguments):
        with self.assertRaises(HttpFailure) as raised:
            call(*arguments)
        return raised.exception

    def ready(self, tables):
        return tables.send("GET", "/readyz")[0] == 200

    @staticmethod
    def row(number):
        return {"PartitionKey": "p", "RowKey": f"r{number:04}", "N": number}

    def heals(self, *faults):
        """Writes fail while the disk fails, go on without a restart when it works again, and the acknowledgements were
        true."""
        tables = self.start_table_store()
        tables.create_table("Things")
        kept = [self.row(number) for number in range(200)]
        tables.put_many("Things", kept)
        self.fail_calls(*faults)
        failure = self.refused(tables.put, "Things", self.row(1000))
        self.assertEqual((failure.status, failure.code), (500, "StorageFailure"))
        wait_until(lambda: not self.ready(tables), "it says that it is not ready")
        self.assertEqual(self.refused(tables.put, "Things", self.row(1001)).code, "StorageFailure")
        self.assertEqual(len(tables.scan("Things")), 200)
        self.fail_calls()
        wait_until(lambda: self.up(tables), "it is ready again")
        tables.put("Things", self.row(1002))
        found = tables.scan("Things")
        self.assertEqual([found.get(("p", row["RowKey"])) for row in kept], kept)
        self.assertIn(("p", "r1002"), found)
        self.assertTrue(self.stack.children["table_store"].alive())
        self.assertIn("the disk failed a write", self.stack.children["table_store"].log(100_000))
        # Everything the store holds now is on the disk.
        self.stack.children["table_store"].kill()
        tables = self.start_table_store()
        self.assertEqual(tables.scan("Things"), found)

    def up(self, tables):
        try:
            return self.ready(tables)
        except OSError:
            return False  # it opens its database again

    def test_a_full_disk(self):
        self.heals("write ENOSPC")

    def test_a_disk_that_refuses_to_sync(self):
        self.heals("sync EIO")

    def test_a_disk_that_refuses_to_write(self):
        self.heals("write EIO")

    def test_a_store_can_be_stopped_while_its_disk_fails(self):
        for table, fault in (("One", "write ENOSPC"), ("Two", "sync EIO"), ("Three", "write EIO")):
            tables = self.start_table_store()
            self.fail_calls(fault)
            self.refused(tables.create_table, table)
            wait_until(lambda: not self.ready(tables), "the failure is seen")
            self.assertEqual(self.stack.children["table_store"].terminate(), 0, self.stack.children["table_store"].log())
            self.fail_calls()
        self.start_table_store().create_table("Things")

    def test_reads_that_fail_are_errors_and_no_wrong_answers(self):
        tables = self.start_table_store("--block-cache-mib", "1")
        tables.create_table("Things")
        tables.put_many("Things", [self.row(number) | {"Text": "x" * 20_000} for number in range(500)])
        self.stack.children["table_store"].terminate()
        tables = self.start_table_store("--block-cache-mib", "1")
        self.fail_calls("read EIO 3")
        wrong = []
        for number in range(0, 500, 7):
            try:
                entity = tables.get("Things", "p", f"r{number:04}")
                if entity is None or entity["N"] != number:
                    wrong.append(entity)
            except HttpFailure as failure:
                self.assertEqual(failure.status, 500)
        self.assertEqual(wrong, [])
        self.fail_calls()
        self.assertEqual(len(tables.scan("Things")), 500)

    def test_little_space_refuses_writes_and_no_reads(self):
        # A limit that is more than any disk has.
        tables = self.start_table_store()
        tables.create_table("Things")
        tables.put("Things", self.row(0))
        self.stack.children["table_store"].terminate()
        tables = self.start_table_store("--min-free-mib", "1048576")
        wait_until(lambda: not self.ready(tables), "it says that it is not ready")
        failure = self.refused(tables.put, "Things", self.row(1))
        self.assertEqual((failure.status, failure.code), (507, "InsufficientStorage"))
        self.assertEqual(list(tables.scan("Things").values()), [self.row(0)])
        self.assertTrue(self.stack.children["table_store"].alive())

    def upload_that_meets(self, fault, blobs, is_seen=lambda: True):
        """Sends half of a large blob before the disk fails and half of it after; returns the status of the answer."""
        size = 8 << 20
        upload = http.client.HTTPConnection("127.0.0.1", blobs.port, timeout=60)
        upload.putrequest("PUT", f"/{ACCOUNT}/box/large?{account_sas(services='b')}")
        for name, value in (("x-ms-blob-type", "BlockBlob"), ("Content-Length", str(size))):
            upload.putheader(name, value)
        upload.endheaders(os.urandom(size // 2))
        wait_until(self.payload_files, "the upload has a file")
        self.fail_calls(fault)
        wait_until(is_seen, "the store sees it")
        try:
            upload.send(os.urandom(size // 2))
            return upload.getresponse().status
        finally:
            upload.close()

    def payload_files(self):
        found = []
        for folder, _, names in os.walk(os.path.join(self.stack.data, "blob", "payloads")):
            found += [os.path.join(folder, name) for name in names]
        return found

    def test_an_upload_to_a_full_disk_is_refused_and_leaves_no_file(self):
        for fault, status in (("write ENOSPC", 507), ("write EIO", 500), ("sync EIO", 500)):
            with self.subTest(fault=fault):
                store = self.stack.launch("blob_store", "blob_store", "--port", "0", environment=self.environment)
                blobs = BlobClient(int(store.await_ready().ready["port"]))
                blobs.create_container("box")
                blobs.put("box", "small", b"kept")
                self.assertEqual(self.upload_that_meets(fault, blobs), status)
                self.fail_calls()
                wait_until(lambda: self.up(blobs), "it is ready again")
                wait_until(lambda: not self.payload_files(), "what was written of the blob is gone")
                self.assertIsNone(blobs.get("box", "large"))
                self.assertEqual(blobs.get("box", "small"), b"kept")
                content = os.urandom(1 << 20)
                wait_until(lambda: self.puts(blobs, content), "it takes blobs again")
                self.assertEqual(blobs.get("box", "large"), content)
                blobs.delete("box", "large")
                blobs.call("DELETE", "/box", "restype=container")
                wait_until(lambda: not self.payload_files(), "the space is given back")
                self.assertEqual(store.terminate(), 0, store.log())

    def test_an_upload_that_meets_little_space_is_refused_and_gives_its_own_back(self):
        store = self.stack.launch("blob_store", "blob_store", "--port", "0", environment=self.environment)
        blobs = BlobClient(int(store.await_ready().ready["port"]))
        blobs.create_container("box")
        self.assertEqual(self.upload_that_meets("space 100", blobs, lambda: not self.ready(blobs)), 507)
        wait_until(lambda: not self.payload_files(), "what was written of the blob is gone")
        self.assertFalse(self.ready(blobs))
        self.assertIsNone(blobs.get("box", "large"))
        self.fail_calls()
        content = os.urandom(1 << 20)
        wait_until(lambda: self.puts(blobs, content), "it takes blobs again")
        self.assertEqual(blobs.get("box", "large"), content)
        self.assertEqual(store.terminate(), 0, store.log())

    @staticmethod
    def puts(blobs, content):
        try:
            blobs.put("box", "large", content)
        except (HttpFailure, OSError):
            return False
        return True

    def test_no_job_loses_an_attempt(self):
        tables = self.start_table_store()
        self.stack.start("queue_service")
        self.stack.start("api")
        api = ApiClient(self.stack.ports["api"])
        tables.create_table("Source")
        tables.put_many("Source", [self.row(number) for number in range(50)])
        self.stack.start_worker("worker", "--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "50")
        job_id = api.submit({"kind": "archive", "source": "Source", "destination": "Archive", "filter": "",
                             "maxAttempts": 1, "maxPerSecond": 50})
        wait_until(lambda: tables.scan("Archive"), "the job works")
        self.fail_calls("write ENOSPC")
        wait_until(lambda: not self.ready(tables), "the disk's failure is seen")
        self.fail_calls()
        job = wait_until(lambda: self.job_ended(api, job_id), "the job's end")
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 50), job)
        self.assertEqual((len(tables.scan("Archive")), tables.scan("Source")), (50, {}))

    @staticmethod
    def job_ended(api, job_id):
        try:
            job = api.job(job_id)
        except HttpFailure:
            return None
        return job if ended(job) else None


if __name__ == "__main__":
    unittest.main(verbosity=2)
