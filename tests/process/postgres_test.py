"""Stores that keep their rows in PostgreSQL: settings, stamps, owners that fence each other, a database that is
down."""
import os
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import postgres  # noqa: E402
from clients import BlobClient, HttpClient, HttpFailure, QueueClient, TableClient  # noqa: E402
from stack import TOKEN, Stack, clean_environment, program, wait_until  # noqa: E402

PASSWORD = "a-password-of-nobody"


def setUpModule():
    global cluster
    cluster = postgres.cluster_of_module()


def ready(stack, name):
    """Returns the status and text of /readyz."""
    status, _, text = HttpClient(stack.ports[name]).send("GET", "/readyz")
    return status, text.decode()


class PostgresTest(unittest.TestCase):
    def setUp(self):
        self.database = cluster.new_database()
        self.stack = self.new_stack()

    def new_stack(self):
        stack = Stack()
        self.addCleanup(stack.close)
        return stack

    def start(self, name, stack=None, database=None):
        return (stack or self.stack).start(name, "--engine", "postgres", "--database", database or self.database)

    def refuse(self, *arguments, says, name="table_store", stack=None, code=2):
        line = [program(name), "--data", (stack or self.stack).data, "--port", "0", *arguments]
        ended = subprocess.run(line, capture_output=True, text=True, timeout=60, env=clean_environment())
        errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual((ended.returncode, len(errors)), (code, 1), ended.stderr)
        for text in says:
            self.assertIn(text, errors[0])
        self.assertNotIn(PASSWORD, ended.stderr)

    def test_rows_of_all_stores_are_in_the_database(self):
        for name in ("table_store", "queue_service", "blob_store"):
            self.start(name)
        tables = TableClient(self.stack.ports["table_store"])
        tables.create_table("people")
        tables.put("people", {"PartitionKey": "p", "RowKey": "r", "Name": "Ann"})
        queues = QueueClient(self.stack.ports["queue_service"])
        queues.create("letters")
        queues.put("letters", "a letter")
        blobs = BlobClient(self.stack.ports["blob_store"])
        large = os.urandom(700_000)
        blobs.create_container("box")
        blobs.put("box", "large", large)
        for folder in ("table", "queue", "blob"):
            rows = cluster.query(self.database, f"SELECT count(*) FROM tidemark_{folder}.entries")
            self.assertGreater(int(rows), 0, folder)
        for name in ("table_store", "queue_service", "blob_store"):
            self.assertEqual(self.stack.children[name].terminate(), 0)
            self.start(name)
        self.assertEqual(tables.get("people", "p", "r")["Name"], "Ann")
        self.assertEqual(queues.take("letters")[0]["MessageText"], "a letter")
        self.assertEqual(blobs.get("box", "large"), large)

    def test_settings(self):
        self.refuse("--engine", "postgres", says=["engine postgres needs the setting database"])
        self.refuse("--database", self.database, says=["database is set, but engine is rocksdb"])
        self.refuse("--engine", "mysql", says=["engine", "mysql", "postgres"])
        for broken in ("somebody:{}@[host/name", "somebody:{}/x@host/name", "somebody:x@{}@host/name", "somebody:{}/name",
                       "some@body:x/{}@host/name", "somebody:x?{}@x@host/name", "somebody:x?{}/x@host/name"):
            self.refuse("--engine", "postgres", "--database", "postgresql://" + broken.format(PASSWORD),
                        says=["connection string is neither", "special characters as %XX"])
        nowhere = f"host={self.stack.directory} user=postgres password={PASSWORD}"
        self.refuse("--engine", "postgres", "--database", nowhere, says=["cannot use the database", "cannot connect"], code=1)
        self.start("table_store", database=self.database + f" password={PASSWORD}")
        log = self.stack.children["table_store"].log(100_000)
        self.assertNotIn(PASSWORD, log)
        self.assertRegex(log, r"engine=postgres database=\*")

    def test_a_database_that_may_lose_what_it_acknowledged_is_refused(self):
        with postgres.Cluster("fsync=off") as hasty:
            database = hasty.new_database()
            self.refuse("--engine", "postgres", "--database", database, says=["fsync = off", "durability to os"])
            self.stack.start("table_store", "--engine", "postgres", "--database", database, "--durability", "os")

    def test_stamps(self):
        self.start("table_store")
        self.assertEqual(self.stack.children["table_store"].terminate(), 0)
        self.refuse(says=["engine postgres", "setting engine says rocksdb"])
        other = self.new_stack()
        other.start("queue_service")
        self.assertEqual(other.children["queue_service"].terminate(), 0)
        in_database = ("--engine", "postgres", "--database", self.database)
        self.refuse(*in_database, name="queue_service", stack=other, says=["engine rocksdb", "setting engine says postgres"])
        self.refuse(*in_database, stack=other, says=["the schema tidemark_table of the database has the rows of the stack"])
        # A directory without an owner, on another machine, becomes part of the stack that the database belongs to.
        host = self.new_stack()
        self.start("table_store", stack=host)
        with open(os.path.join(self.stack.data, "owner"), encoding="utf-8") as mine, \
                open(os.path.join(host.data, "owner"), encoding="utf-8") as its:
            self.assertEqual(mine.read(), its.read())
        self.assertEqual(host.children["table_store"].terminate(), 0)
        cluster.query(self.database, "UPDATE tidemark_table.about SET stamp = replace(stamp, 'table', 'queue')")
        self.refuse(*in_database, says=["the schema tidemark_table of the database says about itself is damaged"], code=1)
        cluster.query(self.database, "UPDATE tidemark_table.about SET format = 99")
        self.refuse(*in_database, says=["made by another version"])

    def test_an_owner_that_lives_is_not_replaced(self):
        self.start("table_store")
        in_database = ("--engine", "postgres", "--database", self.database)
        self.refuse(*in_database, stack=self.new_stack(), says=["in use by table_store-", "still runs"])
        self.assertEqual(ready(self.stack, "table_store")[0], 200)

    def test_a_frozen_owner_is_replaced_and_finds_out(self):
        first = self.start("table_store")
        table = TableClient(self.stack.ports["table_store"])
        table.create_table("people")
        table.put("people", {"PartitionKey": "p", "RowKey": "1", "Name": "Ann"})
        self.assertEqual(table.get("people", "p", "1")["Name"], "Ann")
        first.pause()
        other = self.new_stack()
        self.start("table_store", stack=other)
        second = TableClient(other.ports["table_store"])
        second.put("people", {"PartitionKey": "p", "RowKey": "1", "Name": "Bob"})
        first.resume()
        self.assertEqual(table.get("people", "p", "1")["Name"], "Bob", "nothing from its memory")
        with self.assertRaises(HttpFailure) as refused:
            table.put("people", {"PartitionKey": "p", "RowKey": "2"})
        self.assertEqual((refused.exception.status, refused.exception.code), (503, "ServerBusy"))
        wait_until(lambda: ready(self.stack, "table_store")[0] == 503, "the former owner says that it is one")
        self.assertIn("taken", ready(self.stack, "table_store")[1])
        self.assertEqual(ready(other, "table_store")[0], 200)
        self.assertEqual(sorted(row for _, row in second.scan("people")), ["1"])
        self.assertTrue(first.alive(), "it takes nothing back by itself")
        self.assertEqual(first.terminate(), 0)

    def test_an_owner_that_was_killed_is_replaced_at_once_in_its_place_and_soon_elsewhere(self):
        self.start("table_store")
        table = TableClient(self.stack.ports["table_store"])
        table.create_table("people")
        again = self.stack.restart("table_store")
        table.put("people", {"PartitionKey": "p", "RowKey": "1"})
        self.assertNotIn("waits for the end of a lease", again.log(1 << 20), "the pid file shows that it is dead")
        self.stack.children["table_store"].kill()
        other = self.new_stack()
        self.start("table_store", stack=other)
        self.assertEqual(sorted(row for _, row in TableClient(other.ports["table_store"]).scan("people")), ["1"])

    def test_a_database_that_is_away_and_comes_back(self):
        with postgres.Cluster() as own:
            self.start("table_store", database=own.new_database())
            table = TableClient(self.stack.ports["table_store"])
            table.create_table("people")
            table.put("people", {"PartitionKey": "p", "RowKey": "1"})
            own.stop(signal.SIGQUIT)
            wait_until(lambda: ready(self.stack, "table_store")[0] == 503, "it says that its database is away")
            self.assertIn("database of this store cannot be reached", ready(self.stack, "table_store")[1])
            self.assertTrue(self.refused(table.put, "people", {"PartitionKey": "p", "RowKey": "2"}))
            wait_until(lambda: self.refused(table.get, "people", "p", "1"),
                       "what it knows may not be true any more, once its lease is over")
            own.start()
            wait_until(lambda: ready(self.stack, "table_store")[0] == 200, "it finds its database again")
            table.put("people", {"PartitionKey": "p", "RowKey": "3"})
            self.assertEqual(sorted(row for _, row in table.scan("people")), ["1", "3"])

    def refused(self, operation, *arguments):
        try:
            operation(*arguments)
            return False
        except HttpFailure as failure:
            self.assertEqual(failure.status, 503)
            return True

    def test_copies_and_checks(self):
        for name in ("table_store", "queue_service", "blob_store"):
            self.start(name)
        TableClient(self.stack.ports["table_store"]).create_table("people")
        self.stack.start("api")
        backup = self.tidemark("backup", os.path.join(self.stack.directory, "backups"), code=1)
        self.assertIn("copy them with its own tools, such as pg_dump", backup)
        self.assertIn("nothing is wrong", self.tidemark("fsck"))
        self.refuse("--engine", "postgres", "--database", self.database, "--fsck", "true", says=["tidemark fsck"])

    def tidemark(self, *arguments, code=0):
        line = [program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", *arguments]
        done = subprocess.run(line, env=clean_environment(), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_figures(self):
        self.start("table_store")
        TableClient(self.stack.ports["table_store"]).create_table("people")
        headers = {"Authorization": f"Bearer {TOKEN}"}
        _, text = HttpClient(self.stack.ports["table_store"]).ask("GET", "/metrics", headers)
        for name in ("groups", "transactions", "bodies_run", "fetches"):
            self.assertRegex(text.decode(), rf"(?m)^tidemark_database_{name}_total [1-9]")


if __name__ == "__main__":
    unittest.main()
