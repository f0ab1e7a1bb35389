"""The recovery steps of docs/recover.md, carried out as written, with the commands that it names."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from http.client import HTTPException

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, BlobClient, HttpFailure, QueueClient, TableClient, ended, job_if_known  # noqa: E402
from stack import BIN, SOURCE, OwnStackTest, Stack, clean_environment, free_port_base, program, wait_until  # noqa: E402

LARGE = 1 << 20  # each blob has a file of its own in DATA/blob/payloads


class RecoveryTest(OwnStackTest):
    def start(self, workers=1):
        self.stack.start("blob_store")
        self.stack.up(workers=workers, worker_arguments=("--poll-s", "1"))
        self.api = ApiClient(self.stack.ports["api"])
        self.tables = TableClient(self.stack.ports["table_store"])
        self.queues = QueueClient(self.stack.ports["queue_service"])
        self.blobs = BlobClient(self.stack.ports["blob_store"])

    def run_tidemark(self, *arguments, stdin=None):
        return subprocess.run([program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports.get('api', 1)}", *arguments],
                              env=clean_environment({"PATH": os.path.abspath(BIN) + ":" + os.environ["PATH"]}),
                              capture_output=True, text=True, timeout=120, check=False, input=stdin)

    def tidemark(self, *arguments, code=0, stdin=None):
        done = self.run_tidemark(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def back_up(self, directory):
        """Repeats the backup: on a busy machine it would hold writes for too long, so it gives up and says so."""
        def backed_up():
            done = self.run_tidemark("backup", directory)
            if done.returncode != 0:
                self.assertIn("Writes were held for too long", done.stderr)
            return done.returncode == 0
        wait_until(backed_up, "a backup")

    def run_one_job(self, table="Source"):
        self.tables.put(table, {"PartitionKey": "p", "RowKey": "r"})
        job = self.api.submit({"kind": "delete", "source": table, "partitionKey": "p", "rowKey": "r"})
        done = wait_until(lambda: (found := job_if_known(self.api, job)) and ended(found) and found, "the job")
        self.assertEqual(done["state"], "succeeded")

    def payload_files(self, below):
        return [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(below, "blob", "payloads"))
                for name in names]

    def test_a_damaged_payload_is_taken_out_of_a_backup(self):
        self.start(workers=0)
        self.blobs.create_container("pictures")
        content = os.urandom(LARGE)
        self.blobs.put("pictures", "large", content)
        # On another file system a backup consists of copies; on the same one it would have the damage too.
        elsewhere = tempfile.mkdtemp(prefix="tm", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, elsewhere)
        self.assertNotEqual(os.stat(elsewhere).st_dev, os.stat(self.stack.data).st_dev)
        self.back_up(elsewhere)
        damaged, = self.payload_files(self.stack.data)
        with open(damaged, "r+b") as file:
            file.seek(LARGE // 2)
            byte = file.read(1)[0]
            file.seek(LARGE // 2)
            file.write(bytes([byte ^ 1]))
        findings = [json.loads(line) for line in self.tidemark("--json", "fsck", code=1).splitlines()]
        self.assertIn("payload", json.dumps(findings))
        with self.assertRaises((HttpFailure, HTTPException, OSError)):
            self.blobs.get("pictures", "large")
        whole, = self.payload_files(os.path.join(elsewhere, os.listdir(elsewhere)[0]))
        self.assertEqual(os.path.basename(whole), os.path.basename(damaged))
        shutil.copy(whole, damaged + ".new")
        os.replace(damaged + ".new", damaged)
        self.assertEqual(self.blobs.get("pictures", "large"), content)
        self.tidemark("fsck")

    def test_a_damaged_payload_is_uploaded_again(self):
        self.start(workers=0)
        self.blobs.create_container("pictures")
        content = os.urandom(LARGE)
        self.blobs.put("pictures", "large", content)
        damaged, = self.payload_files(self.stack.data)
        with open(damaged, "r+b") as file:
            file.write(b"x" * 10)
        self.tidemark("fsck", code=1)
        self.blobs.put("pictures", "large", content)
        self.assertEqual(self.blobs.get("pictures", "large"), content)
        wait_until(lambda: not os.path.exists(damaged), "the damaged file is removed")
        self.tidemark("fsck")

    def test_a_table_that_was_dropped_comes_out_of_a_backup(self):
        """The table comes from a second stack, which runs on the restored backup beside the first, while the first
        works on."""
        self.start(workers=0)
        self.tables.create_table("Kept")
        for number in range(20):
            self.tables.put("Kept", {"PartitionKey": f"p{number % 3}", "RowKey": str(number), "N": number,
                                     "Large@odata.type": "Edm.Int64", "Large": str(1 << 40)})
        before = self.tables.scan("Kept")
        backups = os.path.join(self.stack.directory, "backups")
        self.back_up(backups)
        self.tables.delete_table("Kept")
        name, = [name for name in os.listdir(backups) if name.startswith("tidemark-")]
        with Stack() as other:
            self.tidemark("restore", os.path.join(backups, name), "--data", other.data)
            other.start("table_store")
            there = f"http://127.0.0.1:{other.ports['table_store']}/devstoreaccount1"
            here = f"http://127.0.0.1:{self.tables.port}/devstoreaccount1"
            text = self.tidemark("--table-url", there, "--json", "table", "query", "Kept")
            self.tidemark("--table-url", here, "table", "import", "Kept", stdin=text)
        self.assertEqual(self.tables.scan("Kept"), before)

    def begin_anew(self, store, folder):
        self.stack.children[store].terminate()
        os.rename(os.path.join(self.stack.data, folder), os.path.join(self.stack.data, folder + ".damaged"))
        self.stack.start(store)

    def test_the_folder_of_the_queues_is_moved_away(self):
        self.start()
        self.tables.create_table("Source")
        self.run_one_job()
        self.begin_anew("queue_service", "queue")
        wait_until(lambda: self.queues.send("GET", "/readyz")[0] == 200 and "tidemark-jobs" in self.tidemark("queue", "list"),
                   "the queues of the jobs are made again")
        self.run_one_job()
        self.tidemark("fsck")

    def test_the_folder_of_the_tables_is_moved_away(self):
        """The other stores keep their data, and jobs run again."""
        self.start()
        self.tables.create_table("Source")
        self.run_one_job()
        self.queues.create("letters")
        self.queues.put("letters", "kept")
        self.begin_anew("table_store", "table")
        self.tables = TableClient(self.stack.ports["table_store"])
        self.tables.create_table("Source")
        wait_until(lambda: self.api.send("GET", "/v1/jobs")[0] == 200, "the api has its tables")
        self.run_one_job()
        self.assertEqual([message["MessageText"] for message in self.queues.peek("letters")], ["kept"])
        self.tidemark("fsck")

    def test_a_paused_queue_goes_on(self):
        self.start()
        self.tables.create_table("Source")
        self.tidemark("queue", "pause", "tidemark-jobs")
        self.tables.put("Source", {"PartitionKey": "p", "RowKey": "r"})
        job = self.api.submit({"kind": "delete", "source": "Source", "partitionKey": "p", "rowKey": "r"})
        shown = self.tidemark("queue", "show", "tidemark-jobs")
        self.assertIn("paused", shown)
        self.tidemark("queue", "resume", "tidemark-jobs")
        wait_until(lambda: ended(self.api.job(job)), "the job")

    def test_poison_is_mended_and_sent_back(self):
        self.start()
        job = self.api.submit({"kind": "archive", "source": "Late", "destination": "Old", "filter": ""})
        wait_until(lambda: self.api.poison(), "the poison message")
        poison = self.api.poison()[0]["id"]
        self.assertIn("Late", self.tidemark("poison", "show", poison))
        self.tables.create_table("Late")
        self.tables.put("Late", {"PartitionKey": "p", "RowKey": "r"})
        self.tidemark("poison", "redrive", poison)
        wait_until(lambda: self.api.job(job)["state"] == "succeeded", "the job")


class MovedTest(unittest.TestCase):
    """scripts/stack with a data directory that moves to another disk."""

    def stack(self, command, data, *arguments):
        line = [os.path.join(SOURCE, "scripts", "stack"), command, "--data", data, *arguments]
        ended_ = subprocess.run(line, capture_output=True, text=True, timeout=90, check=False,
                                env=clean_environment({"TIDEMARK_BIN": os.path.abspath(BIN)}))
        self.assertEqual(ended_.returncode, 0, ended_.stdout + ended_.stderr)
        return ended_.stdout

    def test_the_data_directory_moves_to_another_disk(self):
        old = tempfile.mkdtemp(prefix="tm")
        new = tempfile.mkdtemp(prefix="tm", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, old, ignore_errors=True)
        self.addCleanup(shutil.rmtree, new, ignore_errors=True)
        base = free_port_base()
        self.addCleanup(self.stack, "down", old)
        self.stack("up", old, "--port-base", str(base), "--workers", "1")
        tables, blobs = TableClient(base + 2), BlobClient(base)
        tables.create_table("Kept")
        tables.put("Kept", {"PartitionKey": "p", "RowKey": "r", "N": 7})
        blobs.create_container("pictures")
        content = os.urandom(LARGE)
        blobs.put("pictures", "large", content)
        self.stack("down", old)
        subprocess.run(["cp", "-a", old + "/.", new], check=True)
        os.rename(old, old + ".before")
        self.addCleanup(shutil.rmtree, old + ".before", ignore_errors=True)
        self.addCleanup(self.stack, "down", new)
        self.stack("up", new, "--workers", "1")
        tables, blobs = TableClient(base + 2), BlobClient(base)
        self.assertEqual(tables.get("Kept", "p", "r")["N"], 7)
        self.assertEqual(blobs.get("pictures", "large"), content)
        api = ApiClient(base + 3)
        job = api.submit({"kind": "delete", "source": "Kept", "partitionKey": "p", "rowKey": "r"})
        wait_until(lambda: (found := job_if_known(api, job)) and ended(found), "the job")


if __name__ == "__main__":
    unittest.main()
