"""The tools for shards: lists of stores with one shard, with several, and with processes that share them; moves;
plans."""
import json
import os
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import postgres  # noqa: E402
from clients import BlobClient, QueueClient, TableClient  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from command_line import tidemark  # noqa: E402
from stack import Stack, StackTest, wait_until  # noqa: E402

SHARDS = 4


class ShardTools(unittest.TestCase):
    def call(self, method, target, body=None):
        status, _, content = self.client.send(method, target, {} if body is None else {"Content-Type": "application/json"},
                                              None if body is None else json.dumps(body))
        return status, json.loads(content)

    def store(self, name):
        status, answer = self.call("GET", "/v1/shards")
        self.assertEqual(status, 200)
        return next(store for store in answer["stores"] if store["store"] == name)

    def command(self, *arguments, code=0):
        done = tidemark("--api", f"http://127.0.0.1:{self.stack.ports['api']}", *arguments)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done


class EmbeddedTest(ShardTools, StackTest):
    """Stores that have their shards to themselves."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.start("table_store")
        cls.stack.start("queue_service", "--shards", str(SHARDS))
        cls.stack.start("blob_store")
        cls.stack.start("api")
        cls.client = CheckedApiClient(cls.stack.ports["api"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])

    def test_one_shard(self):
        tables = TableClient(self.stack.ports["table_store"])
        tables.create_table("Seen")
        tables.put_many("Seen", [{"PartitionKey": "p", "RowKey": str(i)} for i in range(100)])
        def told():
            store = self.store("table")
            return store if "writesPerSecond" in store["shards"][0] else None
        store = wait_until(told, "two samples")
        self.assertFalse(store["shared"])
        shard, = store["shards"]
        self.assertGreater(shard["rows"], 100)
        self.assertGreater(shard["bytes"], 0)
        self.assertGreaterEqual(shard["servedSeconds"], 0)
        self.assertNotIn("leaseSeconds", shard)
        process, = store["processes"]
        self.assertEqual((process["name"], process["shards"]), (shard["process"], 1))

    def test_several_shards(self):
        shards = self.store("queue")["shards"]
        self.assertEqual([shard["shard"] for shard in shards], list(range(SHARDS)))
        self.assertTrue(all("unknown" not in shard for shard in shards))

    def test_the_command_says_who_serves_them(self):
        listed = self.command("shards", "list").stdout
        self.assertEqual(listed.count("this process"), SHARDS + 2, listed)
        self.assertIn("writes/s", listed.splitlines()[0])
        self.assertEqual(len(json.loads(self.command("--json", "shards", "list").stdout)["stores"]), 3)

    def test_a_queue_is_spread_over_them(self):
        self.queues.create("orders")
        self.queues.put("orders", "before")
        shown = self.command("queue", "spread", "orders", "--parts", str(SHARDS)).stdout
        self.assertEqual(shown.split()[-1], str(SHARDS), shown)
        for number in range(8):
            self.queues.put("orders", str(number))
        status, shown = self.call("GET", "/v1/queues/orders")
        self.assertEqual((status, shown["parts"], shown["messages"]), (200, SHARDS, 9))
        self.assertEqual(sorted(m["MessageText"] for m in self.queues.take("orders", 32) + self.queues.take("orders", 32)),
                         [*map(str, range(8)), "before"])
        self.assertEqual([queue["name"] for queue in self.call("GET", "/v1/queues")[1]["queues"] if "orders" in queue["name"]],
                         ["orders", "orders-poison"])
        for parts in (SHARDS - 1, SHARDS + 1):
            status, problem = self.call("POST", "/v1/queues/orders/spread", {"parts": parts})
            self.assertEqual((status, problem["code"]), (400, "InvalidMetadata"))
            self.assertIn("parts", problem["detail"])
        self.assertEqual(self.call("POST", "/v1/queues/orders/spread", {"parts": SHARDS})[0], 200)

    def test_a_lease_is_found_in_the_parts_of_a_spread_queue(self):
        self.queues.create("leased")
        self.assertEqual(self.call("POST", "/v1/queues/leased/spread", {"parts": SHARDS})[0], 200)
        for number in range(8):
            self.assertEqual(self.call("POST", "/v1/queues/leased/messages", {"text": str(number)})[0], 201)
        taken = self.call("POST", "/v1/queues/leased/take", {"count": 32, "visibilitySeconds": 300})[1]["messages"]
        self.assertEqual(sorted(each["text"] for each in taken), [str(number) for number in range(8)])
        targets = [f"/v1/queues/leased/messages/{each['id']}?lease={each['lease']}" for each in taken]
        for target in targets:
            self.assertEqual(self.call("PATCH", target, {"text": "kept"})[0], 200)
            self.assertEqual(self.client.send("DELETE", target)[0], 204)
            status, problem = self.call("DELETE", target)
            self.assertEqual((status, problem["code"]), (412, "LeaseLost"))
        self.assertEqual(self.call("GET", "/v1/queues/leased")[1]["messages"], 0)

    def test_its_parts_have_no_names(self):
        self.queues.create("parted")
        self.assertEqual(self.call("POST", "/v1/queues/parted/spread", {"parts": SHARDS})[0], 200)
        before = self.call("GET", "/v1/queues/parted")
        part = f"parted%230.{SHARDS}"
        for method, target, body in (("GET", f"/v1/queues/{part}", None), ("POST", f"/v1/queues/{part}/pause", {}),
                                     ("POST", f"/v1/queues/{part}/resume", {}), ("POST", f"/v1/queues/{part}/spread", {"parts": 2}),
                                     ("GET", f"/v1/queues/{part}/messages", None), ("GET", f"/v1/poison?queue={part}", None)):
            status, problem = self.call(method, target, body)
            self.assertEqual((status, problem["code"]), (400, "InvalidResourceName"), target)
            self.assertIn("give that of the queue", problem["detail"])
        self.assertEqual(self.call("GET", "/v1/queues/parted"), before)

    def test_they_cannot_be_moved(self):
        process = self.store("queue")["processes"][0]["name"]
        status, problem = self.call("POST", "/v1/shards/queue/0/move", {"process": process})
        self.assertEqual((status, problem["code"]), (501, "NotImplemented"))
        self.assertIn("not shared", problem["detail"])
        self.assertIn("not shared", self.command("shards", "move", "queue", "0", process, code=1).stderr)

    def test_what_is_no_move(self):
        for target, body, status in (("/v1/shards/queue/0/move", {}, 400), ("/v1/shards/queue/0/move", {"process": 1}, 400),
                                     ("/v1/shards/queue/x/move", {"process": "a"}, 400),
                                     ("/v1/shards/files/0/move", {"process": "a"}, 404)):
            self.assertEqual(self.call("POST", target, body)[0], status, target)
        self.command("shards", "move", "queue", "0", code=2)
        self.command("shards", "move", "queue", "0", "a", "--clear", code=2)
        self.command("shards", "move", "files", "0", "a", code=2)

    def test_the_plan_names_the_queue_that_is_hot(self):
        for name in ("hot-queue", "cold-queue"):
            self.queues.create(name)
        stop = threading.Event()
        def load(name, pause):
            client = QueueClient(self.stack.ports["queue_service"])
            while not stop.wait(pause):
                client.put(name, "x")
        threads = [threading.Thread(target=load, args=args) for args in (("hot-queue", 0), ("hot-queue", 0), ("cold-queue", 0.2))]
        for thread in threads:
            thread.start()
        try:
            def planned():
                status, plan = self.call("GET", "/v1/shards/queue/plan?carries=1")
                self.assertEqual(status, 200)
                parts = [part for hot in plan["hot"] for part in hot["parts"] if part["name"] == "hot-queue"]
                return (plan, parts[0]) if parts and parts[0]["tooHot"] else None
            plan, part = wait_until(planned, "a queue that is too hot", interval_s=0.2)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(part["account"], "devstoreaccount1")
        self.assertGreaterEqual(part["spreadOver"], 2)
        self.assertTrue(any("Queue hot-queue is alone hotter" in advice for advice in plan["advice"]), plan["advice"])
        self.assertIn("hot-queue", self.command("shards", "split-plan", "queue", "--carries", "1").stdout)
        self.assertEqual(self.call("GET", "/v1/shards/queue/plan?carries=0")[0], 400)
        self.assertEqual(self.call("GET", "/v1/shards/files/plan")[0], 404)

    def test_the_plan_names_partitions_and_blobs(self):
        tables = TableClient(self.stack.ports["table_store"])
        tables.create_table("Planned")
        blobs = BlobClient(self.stack.ports["blob_store"])
        blobs.create_container("planned")
        number = iter(range(1_000_000))
        def hottest(store):
            tables.put("Planned", {"PartitionKey": "the partition", "RowKey": str(next(number))})
            blobs.put("planned", "the-blob", b"x")
            names = self.store(store)["shards"][0].get("hottest", [])
            return next((name for name in names if name["name"].lower() == "planned"), None)
        self.assertEqual(wait_until(lambda: hottest("table"), "a partition", interval_s=0)["part"], "the partition")
        self.assertEqual(wait_until(lambda: hottest("blob"), "a blob", interval_s=0)["part"], "the-blob")


class SharedTest(ShardTools):
    """Two queue services that share their shards."""

    @classmethod
    def setUpClass(cls):
        if postgres.programs() is None:
            raise unittest.SkipTest(postgres.ABSENT)
        os.environ.pop(postgres.VARIABLE, None)
        cls.cluster = postgres.Cluster()
        cls.addClassCleanup(cls.cluster.close)
        cls.database = cls.cluster.new_database()
        cls.stack, cls.other = Stack(), Stack()
        for stack in (cls.stack, cls.other):
            cls.addClassCleanup(stack.close)
            stack.start("queue_service", "--engine", "postgres", "--database", cls.database, "--shards", str(SHARDS),
                        "--share-shards", "true")
        cls.stack.start("table_store", "--engine", "postgres", "--database", cls.database)
        cls.stack.start("api")
        cls.client = CheckedApiClient(cls.stack.ports["api"])

    def setUp(self):
        wait_until(lambda: self.shares() == [2, 2], "even shares", 60, interval_s=0.1)

    def tearDown(self):
        for number in range(SHARDS):
            self.call("POST", f"/v1/shards/queue/{number}/move", {"process": None})

    def shares(self):
        return sorted(process["shards"] for process in self.store("queue")["processes"])

    def shard(self, number):
        return self.store("queue")["shards"][number]

    def other_than(self, process):
        return next(each["name"] for each in self.store("queue")["processes"] if each["name"] != process)

    def test_any_process_tells_of_all(self):
        def told():
            store = self.store("queue")
            return store if all("writesPerSecond" in shard for shard in store["shards"]) else None
        store = wait_until(told, "all are known")
        self.assertTrue(store["shared"])
        self.assertEqual(len(store["processes"]), 2)
        names = {process["name"] for process in store["processes"]}
        for shard in store["shards"]:
            self.assertIn(shard["process"], names)
            self.assertGreaterEqual(shard["epoch"], 1)
            self.assertGreater(shard["leaseSeconds"], 0)
            self.assertTrue(shard["address"].startswith("ipc://"), shard)

    def test_sizes_are_those_that_the_database_noted(self):
        queues = QueueClient(self.stack.ports["queue_service"])
        queues.create("sized")
        for number in range(50):
            queues.put("sized", str(number))
        self.cluster.query(self.database, "ANALYZE tidemark_queue.entries")
        def sized():
            shards = [shard for shard in self.store("queue")["shards"] if "rows" in shard]
            return shards if sum(shard["rows"] for shard in shards) > 50 else None
        shards = wait_until(sized, "sizes", interval_s=0.2)
        self.assertGreater(sum(shard["bytes"] for shard in shards), 0)

    def test_a_move_and_back(self):
        before = self.shard(0)["process"]
        wanted = self.other_than(before)
        moved = json.loads(self.command("--json", "shards", "move", "queue", "0", wanted, "--wait").stdout)
        self.assertEqual((moved["process"], moved["wish"]), (wanted, wanted))
        self.assertEqual(self.cluster.query(self.database, "SELECT process FROM tidemark_queue.wishes WHERE shard = 0"), wanted)
        cleared = json.loads(self.command("--json", "shards", "move", "queue", "0", "--clear").stdout)
        self.assertNotIn("wish", cleared)
        self.assertEqual(self.cluster.query(self.database, "SELECT count(*) FROM tidemark_queue.wishes"), "0")
        entry = self.call("GET", "/v1/audit?limit=1&operation=shards.move")[1]["entries"][0]
        self.assertEqual((entry["target"], entry["outcome"]), ("queue/0", "done"))

    def test_what_cannot_be_moved(self):
        status, problem = self.call("POST", "/v1/shards/queue/0/move", {"process": "nobody"})
        self.assertEqual(status, 400)
        for process in self.store("queue")["processes"]:
            self.assertIn(process["name"], problem["detail"], "who lives is told")
        process = self.shard(0)["process"]
        status, problem = self.call("POST", f"/v1/shards/queue/{SHARDS}/move", {"process": process})
        self.assertEqual(status, 400)
        self.assertIn("shards 0 to 3", problem["detail"])
        self.assertEqual(self.call("POST", "/v1/shards/table/0/move", {"process": process})[0], 501)

    def test_the_blob_store_that_is_not_there_is_said(self):
        self.assertIn("trouble", self.store("blob"))
        listed = self.command("shards", "list")
        self.assertIn("the blob store does not answer", listed.stderr)
        self.assertIn("queue", listed.stdout)

    def test_a_process_that_does_not_answer_leaves_unknowns(self):
        here = next(process["name"] for process in self.store("queue")["processes"]
                    if process["address"].startswith("ipc://" + self.stack.data))
        child = self.other.children["queue_service"]
        child.pause()
        try:
            def unknown():
                shards = [shard for shard in self.store("queue")["shards"] if "unknown" in shard]
                return shards if shards and not self.call("GET", "/v1/shards/queue/plan")[1]["complete"] else None
            shards = wait_until(unknown, "what the frozen one serves is not known")
            self.assertTrue(all(shard["shard"] < SHARDS and shard.get("process") != here for shard in shards))
            wait_until(lambda: self.shares() == [SHARDS], "the other one has all", interval_s=0.2)
        finally:
            child.resume()


if __name__ == "__main__":
    unittest.main()
