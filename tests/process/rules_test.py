"""Rules with the real programs: each match makes one job, in order, within limits, through loops, whatever is killed."""
import json
import os
import random
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ApiClient, HttpFailure, TableClient, patiently  # noqa: E402
from command_line import StackCase  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from stack import StackTest, wait_until  # noqa: E402

WORKER = ("--lease-s", "2", "--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "200")
NOTE = {"insert": {"table": "Notes", "partitionKey": "{new.RowKey}", "rowKey": "{change.version}", "entity": {"State": "{new.State}"}}}


def note_job(*steps):
    return {"kind": "transaction", "steps": [NOTE, *steps]}


class RulesTest(StackCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.tables.create_table("Notes")

    def setUp(self):
        self.table = "R" + self._testMethodName.replace("_", "")[4:40]
        self.tables.create_table(self.table)
        self.api.call("PUT", f"/v1/tables/{self.table}/feed", {"values": "both"})

    def path(self, name="rule", ending="", table=None):
        return f"/v1/tables/{table or self.table}/onChange/{name}{ending}"

    def put(self, rule, name="rule", table=None):
        self.addCleanup(self.api.call, "DELETE", self.path(name, table=table))
        return self.api.call("PUT", self.path(name, table=table), rule)

    def show(self, name="rule"):
        return self.api.call("GET", self.path(name))

    def write(self, row, state, partition="p", **more):
        self.tables.put(self.table, {"PartitionKey": partition, "RowKey": row, "State": state, **more})

    def quiet(self, name="rule"):
        """Waits until the rule has dealt with every change, and its jobs have ended; returns them."""
        wait_until(lambda: self.show(name)["lag"]["changes"] == 0, "the rule has read everything", limit_s=120)
        mine = f"{self.table}/{name}"
        jobs = lambda: [j for j in self.api.jobs() if j["spec"].get("cause", {}).get("rule") == mine]  # noqa: E731
        wait_until(lambda: all(j["state"] not in ("queued", "running") for j in jobs()), "its jobs have ended", limit_s=120)
        return jobs()

    def refused(self, status, body, name="rule"):
        with self.assertRaises(HttpFailure) as caught:
            self.api.call("PUT", self.path(name), body)
        self.assertEqual(caught.exception.status, status)
        return json.loads(caught.exception.body)

    def test_what_enters_makes_one_job(self):
        self.put({"filter": "State eq 'paid'", "job": note_job()})
        for row, states in (("a", ["open", "paid", "paid"]), ("b", ["paid", "open", "paid"]), ("c", ["open"])):
            for state in states:
                self.write(row, state)
        jobs = self.quiet()
        self.assertEqual([job["state"] for job in jobs], ["succeeded"] * 3, jobs)
        self.assertEqual(sorted(pk for pk, _ in self.tables.scan("Notes") if pk in "abc"), ["a", "b", "b"])
        shown = self.show()
        self.assertEqual((shown["told"], shown["passedBy"], shown["definition"]["when"]), (3, 4, "enters"))

    def test_what_leaves_and_what_matches(self):
        self.put({"filter": "State eq 'paid'", "when": "leaves", "job": {
            "kind": "transaction", "steps": [{"insert": {"table": "Notes", "partitionKey": "left-{old.RowKey}",
                                                         "rowKey": "{change.version}", "entity": {"Kind": "{change.kind}"}}}]}})
        self.write("l", "paid")
        self.write("l", "open")
        self.write("l", "paid")
        self.tables.delete(self.table, "p", "l")
        self.quiet()
        kinds = sorted(row["Kind"] for (pk, _), row in self.tables.scan("Notes").items() if pk == "left-l")
        self.assertEqual(kinds, ["delete", "replace"])

    def test_bad_rules_list_what_is_wrong(self):
        body = self.refused(400, {"job": {"kind": "transaction", "steps": [{"put": {"table": "Orders"}}, {"sing": {}}]}})
        self.assertIn("steps[1]", body["detail"])
        self.assertIn("partitionKey is missing", body["detail"])
        self.assertIn("kind must be one of", self.refused(400, {"job": {"kind": "sing"}})["detail"])
        self.assertIn("one of webhook, queue and job", self.refused(400, {"filter": ""})["detail"])
        self.assertIn("idempotencyKey", self.refused(400, {"job": {**note_job(), "idempotencyKey": "x"}})["detail"])
        self.api.call("PUT", f"/v1/tables/{self.table}/feed", {"values": "new"})
        self.assertIn("both", self.refused(400, {"job": note_job()})["detail"])

    def test_jobs_of_an_entity_begin_in_order(self):
        self.put({"filter": "", "when": "matches", "job": {
            "kind": "transaction", "steps": [{"merge": {"table": "Notes", "partitionKey": "order-{new.PartitionKey}", "rowKey": "{new.RowKey}",
                                                        "set": {"Last": "{new.N}"}, "add": {"Times": 1}, "orInsert": True}}]}})
        for number in range(30):
            self.write(f"r{number % 3}", "x", partition=f"p{number % 2}", N=number)
        self.quiet()
        rows = {key: row for key, row in self.tables.scan("Notes").items() if key[0].startswith("order-")}
        self.assertEqual(sum(int(row["Times"]) for row in rows.values()), 30)
        for (partition, row), entity in rows.items():
            last = max(n for n in range(30) if f"order-p{n % 2}" == partition and f"r{n % 3}" == row)
            self.assertEqual(entity["Last"], last, (partition, row))

    def test_a_poisoned_job_holds_up_its_entity(self):
        self.put({"filter": "", "when": "matches", "ifPoison": "hold", "job": {
            "kind": "transaction", "maxAttempts": 1,
            "steps": [{"insert": {"table": "Notes", "partitionKey": "hold", "rowKey": "{new.RowKey}-{new.N}", "entity": {}}}]}})
        for number in (1, 4):
            self.tables.put("Notes", {"PartitionKey": "hold", "RowKey": f"a-{number}"})  # in the way of an insert
        for number in range(1, 6):
            self.write("a", "x", N=number)
        self.write("b", "x", N=1)
        rule = f"{self.table}/rule"

        def job(row, number):
            made = [j for j in self.api.jobs() if j["spec"].get("cause", {}).get("rule") == rule]
            wanted = {"RowKey": row, "N": number}
            return next((self.api.job(j["id"]) for j in made if {k: v for k, v in j["spec"]["values"]["new"].items() if k in wanted} == wanted), {})

        def in_state(row, number, state):
            return wait_until(lambda: (found := job(row, number)).get("state") == state and found, f"{row}-{number} is {state}")
        in_state("b", 1, "succeeded")
        first = in_state("a", 1, "poisoned")
        wait_until(lambda: job("a", 2).get("waiting", {}).get("reason") == "poison", "the second says why it waits")
        self.assertIn(first["id"], job("a", 2)["waiting"]["text"])
        self.tables.delete("Notes", "hold", "a-1")
        self.api.call("POST", f"/v1/poison/{first['id']}/redrive")
        begun = [in_state("a", number, "succeeded")["startedAt"] for number in (1, 2, 3)]
        self.assertEqual(sorted(begun), begun)
        fourth = in_state("a", 4, "poisoned")
        self.assertEqual(job("a", 5)["state"], "queued")
        self.api.call("DELETE", f"/v1/poison/{fourth['id']}")
        in_state("a", 5, "succeeded")
        self.assertIn("needs an order", self.refused(400, {"order": "none", "ifPoison": "hold", "job": note_job()}, "other")["detail"])

    def test_a_rule_passes_by_what_its_own_jobs_change(self):
        self.put({"filter": "", "when": "matches", "job": note_job(
            {"merge": {"table": self.table, "partitionKey": "{new.PartitionKey}", "rowKey": "{new.RowKey}", "add": {"Times": 1}}})})
        self.write("self", "x", Times=0)
        self.assertEqual(len(self.quiet()), 1)
        self.assertEqual(self.tables.get(self.table, "p", "self")["Times"], 1)

    def test_a_ring_of_three_rules_ends(self):
        ring = [self.table, self.table + "B", self.table + "C"]
        for table in ring[1:]:
            self.tables.create_table(table)
            self.api.call("PUT", f"/v1/tables/{table}/feed", {"values": "both"})
        for number, table in enumerate(ring):
            following = ring[(number + 1) % 3]
            self.put({"filter": "", "when": "matches", "hops": 1, "job": {"kind": "transaction", "steps": [
                {"merge": {"table": following, "partitionKey": "ring", "rowKey": "r", "add": {"Times": 1}, "orInsert": True}}]}},
                name=f"ring{number}", table=table)
        self.tables.put(self.table, {"PartitionKey": "ring", "RowKey": "r", "Times": 0})
        stopped = wait_until(lambda: (shown := self.show("ring0"))["state"] == "stopped" and shown, "the ring ends", limit_s=60)
        self.assertIn("loop", stopped["lastError"]["message"])
        self.assertIn("ring0-", stopped["lastError"]["message"])
        times = [self.tables.get(table, "ring", "r")["Times"] for table in ring]
        self.assertEqual(times, [2, 2, 2], "one round that a user began, and one hop more")

    def test_limits_hold_it_up_and_lose_nothing(self):
        self.put({"filter": "", "job": note_job(), "limits": {"perDay": 5}})
        for number in range(8):
            self.write(f"day{number}", "x")
        stopped = wait_until(lambda: (shown := self.show())["state"] == "stopped" and shown, "it stops at its jobs of a day")
        self.assertIn("perDay", stopped["lastError"]["message"])
        self.assertEqual(stopped["told"], 5)
        self.command("rule", "resume", self.table, "rule")
        self.assertEqual(len(self.quiet()), 8)

    def test_a_pause_makes_it_wait(self):
        self.put({"filter": "", "job": note_job()})
        self.command("rule", "pause", self.table, "rule")
        self.assertEqual(self.show()["state"], "paused")
        self.write("waits", "x")
        self.command("rule", "resume", self.table, "rule")
        self.assertEqual(len(self.quiet()), 1)

    def test_collapse_leaves_the_newest(self):
        self.put({"filter": "", "when": "matches", "collapse": True, "limits": {"perSecond": 1000}, "job": {
            "kind": "transaction", "steps": [{"put": {"table": "Notes", "partitionKey": "newest", "rowKey": "{new.RowKey}", "entity": {"N": "{new.N}"}}}]}})
        self.command("rule", "pause", self.table, "rule")
        for number in range(20):
            self.write(f"c{number % 2}", "x", N=number)
        self.command("rule", "resume", self.table, "rule")
        jobs = self.quiet()
        self.assertLess(len(jobs), 20)
        rows = {row: entity["N"] for (pk, row), entity in self.tables.scan("Notes").items() if pk == "newest"}
        self.assertEqual(rows, {"c0": 18, "c1": 19})

    def test_what_cannot_be_made_stops_it(self):
        self.put({"filter": "", "job": note_job()})
        self.tables.put(self.table, {"PartitionKey": "p", "RowKey": "stateless"})
        self.write("after", "x")
        stopped = wait_until(lambda: (shown := self.show())["state"] == "stopped" and shown, "it stops")
        self.assertIn("{new.State}", stopped["lastError"]["message"])
        tested = self.api.call("POST", self.path(ending="/test"), {})
        self.assertEqual((tested["changes"], tested["matches"]), (2, 1))
        self.assertIn("{new.State}", tested["first"][0]["problem"])
        self.assertEqual(tested["first"][1]["job"]["kind"], "transaction")

    def test_the_command_line_puts_tests_and_runs_one(self):
        for number in range(4):
            self.write(f"run{number}", "paid" if number % 2 else "open")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"filter": "State eq 'paid'", "job": note_job()}, file)
            file.flush()
            tested = self.command("rule", "test", self.table, "rule", "--file", file.name).stdout
            self.assertIn("4 changes looked at, 2 of them would count; nothing was done", tested)
            self.command("rule", "put", self.table, "rule", "--file", file.name)
            self.addCleanup(self.command, "rule", "remove", self.table, "rule")
        self.assertIn("transaction job", self.command("rule", "list", self.table).stdout)
        self.assertIn("2", self.command("rule", "run", self.table, "rule", "--dry-run").stdout)
        for _ in range(2):
            job = self.command("rule", "run", self.table, "rule", "--per-second", "100").stdout.strip()
            wait_until(lambda job=job: self.api.call("GET", f"/v1/jobs/{job}")["state"] == "succeeded", "it has made the jobs")
        self.assertEqual(len(self.quiet()), 2, "a version of an entity makes one job")
        self.assertEqual(sorted(pk for pk, _ in self.tables.scan("Notes") if pk.startswith("run")), ["run1", "run3"])

    def test_an_outbox_written_with_its_entity_makes_a_job(self):
        self.put({"filter": "RowKey ge 'outbox-' and RowKey lt 'outbox.'", "job": {
            "kind": "transaction", "steps": [
                {"put": {"table": "Notes", "partitionKey": "outbox", "rowKey": "{new.RowKey}", "entity": {"Text": "{new.Text}"}}},
                {"delete": {"table": self.table, "partitionKey": "{new.PartitionKey}", "rowKey": "{new.RowKey}"}}]}})
        self.tables.put_many(self.table, [{"PartitionKey": "shop", "RowKey": "17", "State": "open"},
                                          {"PartitionKey": "shop", "RowKey": "outbox-17", "Text": "order 17"}])
        self.quiet()
        self.assertEqual(self.tables.get("Notes", "outbox", "outbox-17")["Text"], "order 17")
        self.assertIsNone(self.tables.get(self.table, "shop", "outbox-17"))


class KilledRulesTest(StackTest):
    """Each match makes exactly one job, though workers, stores and the api are killed."""

    def test_each_match_makes_one_job(self):
        choice = random.Random(sizes.seed())
        self.stack.up()
        for name in ("one", "two"):
            self.stack.start_worker(name, *WORKER)
        tables, api = TableClient(self.stack.ports["table_store"]), ApiClient(self.stack.ports["api"])
        for table in ("Orders", "Notes", "Sums"):
            tables.create_table(table)
        api.call("PUT", "/v1/tables/Orders/feed", {"values": "both"})
        api.call("PUT", "/v1/tables/Orders/onChange/ship", {"filter": "State eq 'paid'", "job": {
            "kind": "transaction", "maxAttempts": 100, "steps": [
                {"merge": {"table": "Sums", "partitionKey": "sum", "rowKey": "all", "add": {"Jobs": 1}, "orInsert": True}},
                {"insert": {"table": "Notes", "partitionKey": "{new.RowKey}", "rowKey": "{change.version}",
                            "entity": {"Job": "{job.id}"}}}]}})
        stop, entered = threading.Event(), []

        def write(number):
            mine, tables = random.Random(number), TableClient(self.stack.ports["table_store"])
            states = {}
            while not stop.is_set():
                row = f"w{number}-{mine.randrange(20)}"
                state = mine.choice(("open", "paid"))
                patiently(tables.put, "Orders", {"PartitionKey": "p", "RowKey": row, "State": state})
                if state == "paid" and states.get(row) != "paid":
                    entered.append(row)
                states[row] = state

        writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for writer in writers:
            writer.start()
        killed, end = 0, time.monotonic() + sizes.scaled(10.0)
        while time.monotonic() < end:
            name = choice.choice(["one", "two", "one", "two", "table_store", "queue_service"])
            self.stack.children[name].kill()
            if name in ("one", "two"):
                self.stack.start_worker(name, *WORKER)
            else:
                self.stack.restart(name)
            killed += 1
        stop.set()
        for writer in writers:
            writer.join()
        wait_until(lambda: patiently(api.call, "GET", "/v1/tables/Orders/onChange/ship")["lag"]["changes"] == 0,
                   "the rule has read everything", limit_s=300)
        wait_until(lambda: all(j["state"] not in ("queued", "running") for j in patiently(api.jobs)), "the end of all jobs", limit_s=300)
        jobs = api.jobs()
        self.assertEqual({job["state"] for job in jobs}, {"succeeded"})
        notes = tables.scan("Notes")
        self.assertEqual(sorted(pk for pk, _ in notes), sorted(entered))
        self.assertEqual({row["Job"] for row in notes.values()}, {job["id"] for job in jobs})
        self.assertEqual(int(tables.get("Sums", "sum", "all")["Jobs"]), len(entered))
        self.assertGreater(killed, 2)
        print(f"{len(entered)} matches, {killed} processes killed")


if __name__ == "__main__":
    unittest.main()
