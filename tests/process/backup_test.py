"""Backups of a working stack: made under load and restored elsewhere, where all operations under way come to their one
end. Also checks, and the information that a data directory holds about itself."""
import json
import os
import shutil
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from blobs import BlobReader, archived  # noqa: E402
from clients import BlobClient, HttpFailure, TableClient, ended  # noqa: E402
from indexes import caught_up  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from stack import Child, OwnStackTest, Stack, clean_environment, program, wait_until  # noqa: E402

WORKER = ("--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "100", "--lease-s", "5")
LARGE = os.urandom(700_000)


def tidemark(*arguments, code=0):
    done = subprocess.run([program("tidemark"), *arguments], env=clean_environment(), capture_output=True, text=True,
                          timeout=120)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout if code == 0 else done.stdout + done.stderr


class Loaded:
    """A stack with data, and threads that keep writing."""

    def __init__(self, stack):
        self.stack = stack
        self.stopping = threading.Event()
        self.threads = []
        self.failures = []

    def start(self, *work):
        for each in work:
            thread = threading.Thread(target=self._repeat, args=(each,))
            thread.start()
            self.threads.append(thread)

    def _repeat(self, work):
        number = 0
        try:
            while not self.stopping.is_set():
                work(number)
                number += 1
        except Exception as failure:  # noqa: BLE001: told by stop()
            self.failures.append(failure)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        if self.failures:
            raise self.failures[0]


class BackupTest(OwnStackTest):
    def run(self, result=None):
        with Stack() as self.other:
            super().run(result)

    def show_logs(self):
        super().show_logs()
        self.other.show_logs()

    def setUp(self):
        self.backups = os.path.join(self.stack.directory, "backups")

    def up(self, stack, workers=1):
        stack.start("blob_store")
        stack.up(workers=workers, worker_arguments=WORKER)
        return CheckedApiClient(stack.ports["api"])

    def backup(self, *options, code=0):
        url = f"http://127.0.0.1:{self.stack.ports['api']}"
        text = tidemark("--api", url, "--json", "backup", self.backups, *options, code=code)
        return json.loads(text) if code == 0 else text

    def restored(self, name):
        """Restores the backup into another stack, which is not started."""
        other = self.other
        tidemark("--data", other.data, "restore", os.path.join(self.backups, name))
        return other

    def test_what_is_under_way_converges_after_a_restore(self):
        api = self.up(self.stack)
        tables = TableClient(self.stack.ports["table_store"])
        blobs = BlobClient(self.stack.ports["blob_store"])
        tables.create_table("Staff")
        tables.create_table("Former")
        blobs.create_container("files")
        everybody = [{"PartitionKey": f"p{n % 5}", "RowKey": f"{n:04}", "Team": f"t{n % 7}"} for n in range(600)]
        tables.put_many("Staff", everybody)
        api.call("PUT", "/v1/indexes/by-team",
                 {"kind": "lists", "source": "Staff", "by": ["Team"], "destination": "ByTeam"})
        jobs = [api.submit({"kind": "archive", "source": "Staff", "filter": f"PartitionKey eq 'p{n}'",
                            "destination": "Former" if n < 2 else {"container": "former"}}) for n in range(3)]
        load = Loaded(self.stack)
        writer, uploader = TableClient(self.stack.ports["table_store"]), BlobClient(self.stack.ports["blob_store"])
        load.start(lambda n: writer.put("Staff", {"PartitionKey": "late", "RowKey": f"{n:05}", "Team": f"t{n % 7}"}),
                   lambda n: uploader.put("files", f"f{n % 20}", LARGE[n % 1000:]))
        try:
            done = self.backup()
        finally:
            load.stop()
        self.assertEqual(done["state"], "done")
        for part in done["manifest"]["parts"]:
            self.assertGreater(part["heldMicroseconds"], 0)

        other = self.restored(done["name"])
        self.assertIn("nothing is wrong", tidemark("--data", other.data, "fsck", "--offline"))
        there = self.up(other)
        for job in jobs:
            wait_until(lambda job=job: ended(there.job(job)), "the job ends", 60)
            self.assertEqual(there.job(job)["state"], "succeeded")
        restored = TableClient(other.ports["table_store"])
        wait_until(lambda: caught_up(there, "by-team"), "the index has caught up", 60)
        staff, former = restored.scan("Staff"), restored.scan("Former")
        objects = archived(BlobReader(other.ports["blob_store"]).objects("former"))
        keys = [*staff, *former, *objects]
        self.assertEqual(len(keys), len(set(keys)), "an entity is in two places")
        self.assertLessEqual({(each["PartitionKey"], each["RowKey"]) for each in everybody}, set(keys))
        self.assertEqual({partition for partition, _ in staff} & {"p0", "p1", "p2"}, set())
        for team in range(7):
            listed = there.call("GET", f"/v1/indexes/by-team/lookup?value=t{team}&top=1000")["entities"]
            self.assertEqual({(each["PartitionKey"], each["RowKey"]) for each in listed},
                             {key for key, each in staff.items() if each["Team"] == f"t{team}"})
        url = f"http://127.0.0.1:{other.ports['api']}"
        self.assertIn("nothing is wrong", tidemark("--api", url, "fsck"))

    def test_a_store_that_does_not_see_the_directory_makes_none(self):
        """The store runs in another container, or with a /tmp of its own."""
        os.makedirs(self.backups)
        line = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {self.backups} && exec \"$0\" \"$@\""]
        if os.getuid() != 0:
            line[1:1] = ["--map-root-user"]
        if subprocess.run([*line, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("namespaces cannot be made here")
        self.up(self.stack, workers=0)
        self.assertEqual(self.stack.children["queue_service"].terminate(), 0)
        port = str(self.stack.ports["queue_service"])
        apart = Child("queue_service", [*line, program("queue_service"), "--data", self.stack.data, "--port", port],
                      os.path.join(self.stack.directory, "apart.log"))
        self.stack.children["queue_service"] = apart
        apart.await_ready()
        self.assertIn("The api and the queue store do not see the same directory " + self.backups, self.backup(code=1))
        self.assertEqual([each for each in os.listdir(self.backups) if each != ".lock"], [])

    def test_a_second_backup_shares_files_with_the_first(self):
        self.up(self.stack, workers=0)
        blobs = BlobClient(self.stack.ports["blob_store"])
        blobs.create_container("files")
        for number in range(4):
            blobs.put("files", f"f{number}", LARGE)
        first = self.backup()["manifest"]
        second = self.backup()
        whole = sum(part["bytes"] for part in first["parts"])
        new = sum(part["newBytes"] for part in second["manifest"]["parts"])
        self.assertGreater(whole, 4 * len(LARGE))
        self.assertLess(new, 200_000)
        for name, child in self.stack.children.items():
            self.assertNotIn(" warning ", child.log(1 << 20), f"a backup is nothing to warn of: {name}")
        blobs.delete("files", "f0")
        other = self.restored(second["name"])
        other.start("blob_store")
        self.assertEqual(BlobClient(other.ports["blob_store"]).get("files", "f0"), LARGE)

    def test_old_backups_are_listed_and_removed(self):
        api = self.up(self.stack, workers=0)
        names = [self.backup()["name"] for _ in range(3)]
        self.assertEqual([each["name"] for each in api.call("GET", f"/v1/backups?directory={self.backups}")["backups"]], names)
        last = self.backup("--keep", "2")
        self.assertEqual(last["removed"], 2)
        url = f"http://127.0.0.1:{self.stack.ports['api']}"
        listed = tidemark("--api", url, "backup", "list", self.backups)
        self.assertIn(last["name"], listed)
        self.assertNotIn(names[0], listed)
        self.assertRegex(tidemark("backup", "verify", os.path.join(self.backups, last["name"])), "^nothing is wrong in [0-9]+ files\n$")

    def test_wrong_requests_are_refused(self):
        api = self.up(self.stack, workers=0)
        for body in ({"directory": "relative"}, {"directory": "/x", "keep": 0}, {"other": 1}):
            with self.assertRaises(HttpFailure) as caught:
                api.call("POST", "/v1/backups", body)
            self.assertEqual(caught.exception.status, 400)
        with self.assertRaises(HttpFailure) as caught:
            api.call("GET", "/v1/backups/tidemark-1")
        self.assertEqual(caught.exception.status, 404)
        with open(os.path.join(self.stack.directory, "file"), "w", encoding="ascii"):
            self.backups = os.path.join(self.stack.directory, "file")
        self.assertIn("directory", self.backup(code=1))

    def test_a_restore_needs_an_empty_directory_and_a_whole_backup(self):
        self.up(self.stack, workers=0)
        path = os.path.join(self.backups, self.backup()["name"])
        other = self.other
        os.makedirs(other.data)
        with open(os.path.join(other.data, "mine"), "w", encoding="ascii") as file:
            file.write("mine")
        self.assertIn("is not empty", tidemark("--data", other.data, "restore", path, code=1))
        self.assertEqual(os.listdir(other.data), ["mine"])
        os.remove(os.path.join(other.data, "mine"))
        with open(os.path.join(path, "queue", "CURRENT"), "r+b") as file:
            file.write(b"X")
        self.assertIn("CURRENT has other bytes", tidemark("--data", other.data, "restore", path, code=1))
        self.assertEqual(os.listdir(other.data), [])
        with open(os.path.join(path, "manifest.json"), "r+", encoding="ascii") as file:
            changed = file.read().replace('"format": 1', '"format": 2', 1)
            file.seek(0)
            file.write(changed)
        self.assertIn("damaged", tidemark("--data", other.data, "restore", path, code=1))

    @unittest.skipUnless(os.getuid() == 0, "only root can give files away")
    def test_what_root_restores_belongs_to_the_owner_of_the_directory(self):
        self.up(self.stack, workers=0)
        name = self.backup()["name"]
        os.makedirs(self.other.data)
        os.chown(self.other.data, 65534, 65534)
        self.restored(name)
        found = [os.path.join(folder, each) for folder, folders, files in os.walk(self.other.data) for each in folders + files]
        self.assertGreater(len(found), 10)
        self.assertEqual({os.stat(each).st_uid for each in found} | {os.stat(each).st_gid for each in found}, {65534})

    def test_a_kill_in_the_middle_leaves_nothing_that_looks_complete(self):
        self.up(self.stack, workers=0)
        TableClient(self.stack.ports["table_store"]).create_table("Staff")
        points = [("table_store", "backup.begin.before"), ("queue_service", "backup.cut.before"),
                  ("blob_store", "backup.cut.after"), ("table_store", "backup.copy.before"),
                  ("blob_store", "backup.copy.after"), ("api", "backup.finish.before")]
        for name, point in points:
            with self.subTest(name=name, point=point):
                self.stack.restart_to_die(name, point).await_ready()
                self.backup(code=1)
                self.assertEqual([each for each in self.complete() if not each.startswith(".")], [])
                self.stack.restart(name)
                TableClient(self.stack.ports["table_store"]).put("Staff", {"PartitionKey": name, "RowKey": point})
        done = self.backup()
        self.assertEqual(self.complete(), [done["name"]])
        self.assertEqual([each for each in os.listdir(self.backups) if each.endswith(".unfinished")], [])
        self.assertFalse(os.path.exists(os.path.join(self.stack.data, "table", "checkpoint")))

    def complete(self):
        if not os.path.isdir(self.backups):
            return []
        return [each for each in os.listdir(self.backups) if os.path.exists(os.path.join(self.backups, each, "manifest.json"))
                and not each.startswith(".")]

    def test_a_data_directory_says_whose_it_is(self):
        self.stack.start("queue_service")
        self.stack.start("table_store")
        for name in ("queue_service", "table_store"):
            self.assertEqual(self.stack.children[name].terminate(), 0)
        stamp = os.path.join(self.stack.data, "queue", "tidemark.json")
        with open(stamp, encoding="ascii") as file:
            self.assertEqual(json.load(file)["store"], "queue")

        def refusal():
            child = self.stack.launch("queue_service", "queue_service", "--port", "0")
            self.assertNotEqual(child.wait(), 0)
            return child.log()

        shutil.copy(os.path.join(self.stack.data, "table", "tidemark.json"), stamp)
        self.assertIn("the data of another store (table)", refusal())
        with open(stamp, "r+", encoding="ascii") as file:
            changed = file.read().replace('"format":1', '"format":9')
            file.seek(0)
            file.write(changed)
        self.assertIn("is damaged", refusal())
        os.remove(stamp)  # as older versions left it
        self.stack.start("queue_service").terminate()
        self.assertTrue(os.path.exists(stamp))
        with open(os.path.join(self.stack.data, "owner"), "w", encoding="ascii") as file:
            file.write("another\n")
        self.assertIn("belong together", refusal())


if __name__ == "__main__":
    unittest.main()
