"""The benchmarks' harness: it judges by the figures, starts from the state that it states, stops the processes that it
pauses, and counts failures."""
import json
import os
import pathlib
import sys
import tempfile
import types
import unittest

TOP = pathlib.Path(os.environ.get("TIDEMARK_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = os.environ.get("TIDEMARK_BIN", str(TOP / "build" / "release" / "bin"))
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "bench"))
from harness import azure, index_rows
from harness.processes import System, await_true, descendants, state_of
from harness.workload import Aspect, Expectation, Measurement, Subject, Workload, medians, run_workload
from systems.tidemark import Tidemark


class Sleeper(System):
    name = "sleeper"

    def start(self):
        # A child in a session of its own, as PostgreSQL has: a signal to the group would not reach it.
        self.process = self.launch("sleeper", ["sh", "-c", "setsid sleep 600 & trap 'kill $!' TERM; : >ready; wait"])
        ready = os.path.join(self.directory, "ready")
        await_true(lambda: os.path.exists(ready), "the sleeper to take care of its child")


class Judging(unittest.TestCase):
    MEDIANS = {"ours": {"value": 150.0, "p99_ms": 4.0}, "theirs": {"value": 100.0, "p99_ms": 2.0}}

    def judged(self, *words, **more):
        return Expectation(*words, **more).judge(self.MEDIANS)

    def test_a_ratio_is_of_the_medians(self):
        self.assertEqual(self.judged("ours", ">=", 1.5, "theirs"), ("1.50 x theirs", ">= 1.5 x", True))
        self.assertFalse(self.judged("ours", ">=", 1.51, "theirs")[2])
        self.assertFalse(self.judged("ours", "<=", 1.9, "theirs", figure="p99_ms")[2])

    def test_an_absolute_limit(self):
        self.assertTrue(self.judged("ours", ">=", 150)[2])
        self.assertFalse(self.judged("ours", "<", 150)[2])

    def test_nothing_beside_zero_is_not_met(self):
        table = {"ours": {"value": 1.0}, "theirs": {"value": 0.0}}
        self.assertFalse(Expectation("ours", ">=", 1, "theirs").judge(table)[2])

    def test_without_a_comparison_there_is_no_verdict(self):
        self.assertEqual(self.judged("ours", None, 0, "theirs"), ("1.50 x theirs", "", None))

    def test_medians_are_of_each_subject(self):
        runs = [{"subject": s, "value": v, "p50_ms": p, "p99_ms": None}
                for s, v, p in (("a", 1, 5), ("b", 7, None), ("a", 9, 3), ("a", 2, 4))]
        self.assertEqual(medians(runs), {
            "a": {"value": 2, "lowest": 1, "highest": 9, "p50_ms": 4, "p99_ms": None},
            "b": {"value": 7, "lowest": 7, "highest": 7, "p50_ms": None, "p99_ms": None}})


    def test_an_aspect_is_of_the_runs_that_have_it(self):
        runs = [{"workload": "w", "subject": s, "value": 1, "unit": "a/s", "detail": d}
                for s, d in (("a", {"size": 7}), ("b", {}))]
        found = Aspect("sizes", "", "MB", "size", []).runs(runs)
        self.assertEqual([(run["workload"], run["subject"], run["value"], run["unit"]) for run in found],
                         [("sizes", "a", 7, "MB")])


class Running(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def test_a_pause_reaches_every_descendant(self):
        system = Sleeper(os.path.join(self.directory, "s"), BIN)
        system.start()
        pids = descendants(system.process.pid)
        system.pause()
        self.assertEqual({state_of(pid) for pid in pids}, {"T"})
        system.resume()
        await_true(lambda: {state_of(pid) for pid in pids} == {"S"}, "all to go on")
        system.kill(system.process)
        await_true(lambda: all(state_of(pid) in "ZX" for pid in pids), "all to end")

    def test_only_the_measured_subject_runs_and_all_are_stopped(self):
        seen, started = [], []

        class Recording(Sleeper):
            def start(self):
                super().start()
                started.append(self)

        class Two(Workload):
            name, unit = "two", "things/s"
            subjects = [Subject("a", Recording), Subject("b", Recording)]

            def measure(self, system, subject, repeat):
                await_true(lambda: state_of(system.process.pid) != "T", "the measured one to go on")
                others = [other.process.pid for other in started if other is not system]
                seen.append((subject.label, repeat, [state_of(pid) for pid in others]))
                return Measurement(repeat)

        runs = run_workload(Two(types.SimpleNamespace(repeats=2)), self.directory, BIN, lambda run: None)
        self.assertEqual(seen, [("a", 1, ["T"]), ("b", 1, ["T"]), ("a", 2, ["T"]), ("b", 2, ["T"])])
        self.assertEqual([run["value"] for run in runs], [1, 1, 2, 2])
        self.assertEqual([system.process.poll() is None for system in started], [False, False])

    def test_a_filled_table_holds_what_it_should(self):
        system = Tidemark(os.path.join(self.directory, "t"), BIN)
        try:
            system.start()
            azure.fill_table(system.table, "Bench", 2_500, 500)
            connection = azure.Connection(system.table)
            self.assertEqual(azure.scan(connection, "Bench", "RowKey ge ''"), 2_500)  # more than one page
            partition, first = azure.keys_of(1_010, 500)
            _, end = azure.keys_of(1_110, 500)
            found = azure.scan(connection, "Bench",
                               f"PartitionKey eq '{partition}' and RowKey ge '{first}' and RowKey lt '{end}'")
            self.assertEqual(found, 100)
            with self.assertRaisesRegex(RuntimeError, "409"):
                azure.create_table(system.table, "Bench")
        finally:
            system.stop()

    def test_a_wrong_index_is_told(self):
        system = Tidemark(os.path.join(self.directory, "t"), BIN)
        try:
            system.start()
            tables = azure.Connection(system.table)

            def put(table, partition, row, **values):
                tables.call("PUT", f"{table}(PartitionKey='{partition}',RowKey='{row}')", json.dumps(values),
                            azure.JSON_HEADERS)

            def put_rows():
                put("ThingsLists", "red", "keys_1", Count=1, Keys='[["p","a"]]')
                put("ThingsLists", "red", "keys_f", Count=1, Keys='[["p","b"]]')
                put("ThingsCopies", "red", "p_a", Size=3)
                put("ThingsCopies", "red", "p_b", Size=5)
                put("ThingsSummary", "red", "keys_f", Count=2, Keys='[["p","a",3],["p","b",5]]')
                put("ThingsSummary", "red", "summary", Count=2, Sum=8, Min=3, Max=5)

            definitions = [index_rows.definition(kind, "Things") for kind in ("lists", "copies", "summary")]
            for table in ("Things", *(each["destination"] for each in definitions)):
                azure.create_table(system.table, table)
            put("Things", "p", "a", Group="red", Size=3)
            put("Things", "p", "b", Group="red", Size=5)
            put_rows()
            index_rows.verify(tables, definitions)
            for what, *row in (("a key is there twice", "ThingsLists", "red", "keys_1", {"Keys": '[["p","a"],["p","b"]]'}),
                               ("a key is missing", "ThingsLists", "red", "keys_f", {"Keys": "[]"}),
                               ("a key is in another group", "ThingsLists", "blue", "keys_f", {"Keys": '[["p","b"]]'}),
                               ("a copy is old", "ThingsCopies", "red", "p_a", {"Size": 4}),
                               ("a copy is left over", "ThingsCopies", "blue", "p_a", {"Size": 3}),
                               ("a value is old", "ThingsSummary", "red", "keys_f", {"Keys": '[["p","a",3],["p","b",6]]'}),
                               ("a sum is wrong", "ThingsSummary", "red", "summary",
                                {"Count": 2, "Sum": 9, "Min": 3, "Max": 5}),
                               ("a group is left over", "ThingsSummary", "blue", "summary",
                                {"Count": 1, "Sum": 3, "Min": 3, "Max": 3})):
                with self.subTest(what):
                    table, partition, key, values = row
                    put(table, partition, key, **values)
                    with self.assertRaisesRegex(RuntimeError, "WRONG"):
                        index_rows.verify(tables, definitions)
                    tables.call("DELETE", f"{table}(PartitionKey='{partition}',RowKey='{key}')", None, {"If-Match": "*"})
                    put_rows()
            index_rows.verify(tables, definitions)
        finally:
            system.stop()


if __name__ == "__main__":
    unittest.main()
