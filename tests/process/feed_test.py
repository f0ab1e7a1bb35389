"""Change feeds as their users see them: while stores and api are killed, nothing is missing and everything is in order.
Every answer conforms to /openapi.json."""
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from urllib.parse import urlencode

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import shards  # noqa: E402
import sizes  # noqa: E402
from clients import TOKEN, HttpFailure, TableClient  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from stack import StackTest, clean_environment, program, wait_until  # noqa: E402

SOURCE = os.environ["TIDEMARK_SOURCE"]


def ticks(version):
    """Returns the version with all seven digits (trailing zeros are omitted), so that it sorts as text."""
    second, fraction = re.fullmatch(r"([^.]*)(?:\.(\d+))?Z", version).groups()
    return f"{second}.{(fraction or '').ljust(7, '0')}"


def version_in(event):
    return json.loads(event["data"])["version"]


class Events:
    """The server-sent events of a request, read by a thread of its own."""

    def __init__(self, port, path, headers=None):
        self.events, self.comments, self.place, self.ended = [], 0, None, False
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream",
                                                      **(headers or {})})
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        assert self.response.headers["Content-Type"] == "text/event-stream"
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        event = {}
        try:
            for raw in self.response:
                line = raw.decode().rstrip("\n")
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    name, _, value = line.partition(": ")
                    event[name] = value
                else:
                    self.place = event.get("id", self.place)
                    if "event" in event:
                        self.events.append(event)
                    event = {}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # closed meanwhile
        self.ended = True

    def close(self):
        self.connection.sock and self.connection.sock.close()
        self.connection.close()


class FeedTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=0)
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])

    def setUp(self):
        self.table = "T" + self._testMethodName.replace("_", "")[4:40]
        self.tables.create_table(self.table)

    def tidemark(self, *arguments, code=0):
        done = subprocess.run([program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", *arguments],
                              env=clean_environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def path(self, ending):
        return f"/v1/tables/{self.table}/{ending}"

    def put_feed(self, **feed):
        return self.api.call("PUT", self.path("feed"), feed)

    def changes(self, **parameters):
        return self.api.call("GET", self.path("changes?" + urlencode(parameters)))

    def write(self, row, partition="p", **properties):
        return self.tables.change("PUT", self.table, partition, row, properties, None)

    def refused(self, status, code, method, path, body=None):
        with self.assertRaises(HttpFailure) as caught:
            self.api.call(method, path, body)
        self.assertEqual((caught.exception.status, caught.exception.code), (status, code))
        return json.loads(caught.exception.body)["detail"]

    def test_changes_with_their_values(self):
        self.refused(404, "FeedNotFound", "GET", self.path("changes"))
        feed = self.put_feed(values="both", retention=3600)
        self.assertEqual((feed["changes"], feed["values"], feed["retention"]), (0, "both", 3600))
        self.write("a", City="Rome")
        self.tables.change("MERGE", self.table, "p", "a", {"Age": 9}, "*")
        self.tables.delete(self.table, "p", "a")
        page = self.changes(old="true", new="true")
        self.assertEqual([each["kind"] for each in page["changes"]], ["insert", "merge", "delete"])
        insert, merge, delete = page["changes"]
        self.assertNotIn("old", insert)
        self.assertEqual((insert["new"]["City"], insert["new"]["Timestamp"]), ("Rome", insert["version"]))
        self.assertEqual((merge["old"]["odata.etag"], merge["new"]["City"], merge["new"]["Age"]),
                         (insert["new"]["odata.etag"], "Rome", 9))
        self.assertEqual(("new" in delete, delete["old"]["Age"]), (False, 9))
        self.assertEqual(self.changes(after=insert["token"], limit=1)["changes"][0]["token"], merge["token"])
        chosen = self.changes(select="Age")["changes"]
        self.assertEqual((chosen[1]["new"]["Age"], "City" in chosen[1]["new"]), (9, False))
        self.assertNotIn("new", self.changes()["changes"][0])
        self.assertEqual(self.changes(after="now")["changes"], [])
        self.assertEqual(self.api.call("GET", self.path("feed"))["changes"], 3)

    def test_bad_requests_say_what_to_do(self):
        self.refused(404, "TableNotFound", "PUT", "/v1/tables/Nowhere/feed", {})
        self.refused(400, "InvalidInput", "PUT", "/v1/tables/tidemarkconsumers/feed", {})
        self.assertIn("retention", self.refused(400, "InvalidInput", "PUT", self.path("feed"), {"retention": 0}))
        self.put_feed()
        self.assertIn("values", self.refused(400, "InvalidInput", "GET", self.path("changes?new=true")))
        for query in ("after=x", "limit=0", "limit=1001", "wait=61", "old=1", "more=1"):
            with self.assertRaises(HttpFailure) as caught:
                self.api.call("GET", self.path("changes?" + query))
            self.assertEqual(caught.exception.status, 400, query)
        other = self.table + "b"
        self.tables.create_table(other)
        self.api.call("PUT", f"/v1/tables/{other}/feed", {})
        token = self.changes(after="now")["next"]
        self.refused(400, "InvalidQueryParameterValue", "GET", f"/v1/tables/{other}/changes?after={token}")
        self.api.call("DELETE", self.path("feed"))
        self.assertIn("PUT /v1/tables/", self.refused(404, "FeedNotFound", "GET", self.path(f"changes?after={token}")))
        self.put_feed()
        self.refused(410, "ChangesExpired", "GET", self.path(f"changes?after={token}"))

    def test_a_wait_ends_with_the_first_change(self):
        self.put_feed()
        token = self.changes(after="now")["next"]
        begun = time.monotonic()
        self.assertEqual(self.changes(after=token, wait=1)["changes"], [])
        self.assertGreaterEqual(time.monotonic() - begun, 0.9)
        found = []
        reader = threading.Thread(target=lambda: found.extend(
            CheckedApiClient(self.stack.ports["api"]).call("GET", self.path(f"changes?after={token}&wait=50"))["changes"]))
        reader.start()
        self.write("a")
        reader.join()
        self.assertEqual([each["rowKey"] for each in found], ["a"])

    def test_drop_and_creation_are_told_and_old_changes_go(self):
        self.put_feed(retention=1)
        token = self.changes(after="now")["next"]
        self.write("a")
        self.tables.delete_table(self.table)
        self.tables.create_table(self.table)
        self.write("b")
        last = self.changes(after="now")["next"]
        wait_until(lambda: self.api.call("GET", self.path("feed"))["changes"] == 0, "everything is old")
        self.assertIn("oldest", self.refused(410, "ChangesExpired", "GET", self.path(f"changes?after={token}")))
        self.assertEqual(self.changes(after=last)["changes"], [], "nothing is missing after the last")
        self.put_feed(retention=3600)
        self.tables.delete_table(self.table)
        self.tables.create_table(self.table)
        self.write("c")
        self.assertEqual([each["kind"] for each in self.changes(after=last)["changes"]], ["drop", "create", "insert"])

    def test_a_stream_goes_on_where_it_broke_off(self):
        self.put_feed(values="new")
        for row in range(3):
            self.write(str(row), Row=row)
        events = Events(self.stack.ports["api"], self.path("changes?after=oldest&new=true"))
        self.addCleanup(events.close)
        wait_until(lambda: len(events.events) == 3, "three events")
        self.write("3", Row=3)
        wait_until(lambda: len(events.events) == 4, "the fourth")
        self.assertEqual([json.loads(each["data"])["new"]["Row"] for each in events.events], [0, 1, 2, 3])
        self.assertEqual({each["event"] for each in events.events}, {"change"})
        again = Events(self.stack.ports["api"], self.path("changes"), {"Last-Event-ID": events.events[1]["id"]})
        self.addCleanup(again.close)
        wait_until(lambda: len(again.events) == 2, "the rest")
        self.assertEqual([version_in(each) for each in again.events], [version_in(each) for each in events.events[2:]])
        if not shards.COUNT:  # otherwise a place tells how far the other shards were read, too
            self.assertEqual([each["id"] for each in again.events], [each["id"] for each in events.events[2:]])
        self.api.call("DELETE", self.path("feed"))
        wait_until(lambda: events.ended and again.ended, "both end")
        self.assertEqual((events.events[-1]["event"], json.loads(events.events[-1]["data"])["code"]), ("end", "FeedNotFound"))

    def test_a_stream_names_its_place_before_the_first_change(self):
        self.put_feed()
        self.write("before")
        port = self.stack.ports["api"]
        events = Events(port, self.path("changes?after=now"))
        wait_until(lambda: events.comments >= 1, "a comment at once")
        wait_until(lambda: events.comments >= 2, "another one")
        events.close()
        self.assertEqual(events.events, [])
        self.write("meanwhile")
        again = Events(port, self.path("changes?after=now"), {"Last-Event-ID": events.place})
        self.addCleanup(again.close)
        wait_until(lambda: again.events, "what came in between")
        self.assertEqual([json.loads(each["data"])["rowKey"] for each in again.events], ["meanwhile"])

    def answering(self, operation):
        """Returns the seconds that requests of this operation have taken so far."""
        _, _, metrics = self.api.send("GET", "/metrics")
        pattern = rf'tidemark_http_request_duration_seconds_sum{{operation="{re.escape(operation)}",status="2xx"}} (\S+)'
        return sum(float(each) for each in re.findall(pattern, metrics.decode()))

    def test_what_is_waited_is_no_time_to_answer(self):
        self.put_feed()
        self.api.call("PUT", self.path("consumers/g"), {})
        routes = "GET v1/tables/*/changes", "POST v1/tables/*/consumers/*/read"

        def answered():
            """Returns the seconds that each answer took without its wait: never less than that, if the wait counts."""
            before = [self.answering(each) for each in routes]
            self.changes(after="now", wait=3)
            self.api.call("POST", self.path("consumers/g/read"), {"reader": "a", "wait": 3})
            took = [self.answering(each) - seconds for each, seconds in zip(routes, before)]
            self.assertGreater(min(took), 0)
            return max(took) < 3
        wait_until(answered, "answers that took less than the wait")

    def test_streams_are_bounded_and_show_that_they_live(self):
        self.put_feed()
        self.stack.restart("api", "--max-event-streams", "1")
        self.addCleanup(lambda: self.stack.restart("api", "--max-event-streams", "256"))
        port, path = self.stack.ports["api"], self.path("changes?after=now")
        events = Events(port, path)
        wait_until(lambda: events.comments >= 1, "a comment at once")
        status, _, body = self.api.send("GET", path, {"Accept": "text/event-stream"})
        self.assertEqual((status, json.loads(body)["code"]), (503, "ServerBusy"))
        self.assertEqual(self.changes(after="now")["changes"], [], "pages are not streams")
        wait_until(lambda: events.comments >= 2, "another one")
        events.close()

    def test_the_command_line(self):
        self.tidemark("feed", "put", self.table, "--values", "both", "--retention", "600")
        self.assertIn("both", self.tidemark("feed", "show", self.table).stdout)
        for row in "abc":
            self.write(row, Row=row)
        self.assertRegex(self.tidemark("changes", self.table, "--new").stdout, r'insert  p / a  new .*"Row":"a"')
        page = json.loads(self.tidemark("--json", "changes", self.table, "--limit", "2").stdout)
        self.assertEqual((len(page["changes"]), page["more"]), (2, True))
        following = subprocess.Popen([program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", "--json",
                                      "changes", self.table, "--follow", "--after", page["next"]],
                                     env=clean_environment(), stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(json.loads(following.stdout.readline())["rowKey"], "c")
            self.stack.restart("api")
            self.write("d")
            self.assertEqual(json.loads(following.stdout.readline())["rowKey"], "d")
        finally:
            following.kill()
            following.wait()
            following.stdout.close()
        self.tidemark("consumer", "put", self.table, "g", "--after", "oldest")
        read = self.tidemark("--json", "consumer", "read", self.table, "g", "--limit", "2")
        page = json.loads(read.stdout)
        self.tidemark("consumer", "acknowledge", self.table, "g", "--epoch", str(page["epoch"]), "--token", page["next"], "--leave")
        self.assertRegex(self.tidemark("consumer", "list", self.table).stdout, r"g\s+2\b")
        self.tidemark("consumer", "remove", self.table, "g")
        self.tidemark("consumer", "show", self.table, "g", code=3)
        self.tidemark("feed", "drop", self.table)
        self.tidemark("feed", "show", self.table, code=3)

    def test_consumer_groups(self):
        self.put_feed(values="new")
        for row in range(5):
            self.write(str(row))
        group = self.path("consumers/g.1")
        self.refused(404, "ConsumerNotFound", "POST", group + "/read", {"reader": "a"})
        self.api.call("PUT", group, {"after": "oldest"})
        self.assertEqual(self.api.call("GET", group)["lag"]["changes"], 5)
        first = self.api.call("POST", group + "/read", {"reader": "a", "limit": 2, "leaseSeconds": 1})
        self.assertEqual([each["rowKey"] for each in first["changes"]], ["0", "1"])
        again = self.api.call("POST", group + "/read", {"reader": "a", "limit": 2, "epoch": first["epoch"], "leaseSeconds": 1})
        self.assertEqual(again["changes"], first["changes"], "not acknowledged yet")
        second = self.api.call("POST", group + "/read", {"reader": "a", "epoch": first["epoch"], "acknowledge": first["next"],
                                                         "limit": 1, "leaseSeconds": 1, "new": True})
        self.assertEqual([(each["rowKey"], each["new"]["RowKey"]) for each in second["changes"]], [("2", "2")])
        other = wait_until(lambda: self.try_read(group, {"reader": "b", "limit": 1}), "the lease is over")
        self.assertEqual(other["changes"][0]["rowKey"], "2", "what was not acknowledged comes again")
        for page in (first, other):
            self.assertEqual(int(float(page["epoch"])), page["epoch"], "JavaScript gives it back as it is")
        self.refused(412, "Fenced", "POST", group + "/acknowledge", {"epoch": first["epoch"], "token": second["next"]})
        self.refused(412, "Fenced", "POST", group + "/read", {"reader": "a", "epoch": first["epoch"]})
        shown = self.api.call("POST", group + "/acknowledge", {"epoch": other["epoch"], "token": other["next"], "leave": True})
        self.assertEqual((shown["lag"]["changes"], "reader" in shown), (2, False))
        self.assertEqual([each["group"] for each in self.api.call("GET", self.path("consumers"))["consumers"]], ["g.1"])
        stored = self.tables.get("TidemarkConsumers", self.table.lower(), "g.1")
        self.assertEqual(stored["Token"], other["next"])
        _, _, metrics = self.api.send("GET", "/metrics")
        self.assertIn(f'tidemark_consumer_waiting_changes{{table="{self.table.lower()}",group="g.1"}} 2', metrics.decode())
        self.api.call("DELETE", group)
        self.refused(404, "ConsumerNotFound", "GET", group)
        held = self.path("consumers/held")
        self.api.call("PUT", held, {"after": "oldest"})
        self.api.call("POST", held + "/read", {"reader": "a", "leaseSeconds": 300})
        self.refused(409, "ConsumerInUse", "POST", held + "/read", {"reader": "b"})
        for bad in ({}, {"reader": ""}, {"reader": "a", "limit": 0}, {"reader": "a", "acknowledge": "x"}, {"reader": "a", "x": 1}):
            self.refused(400, "InvalidInput", "POST", group + "/read", bad)
        self.refused(400, "InvalidInput", "PUT", self.path("consumers/a%2Fb"), {})
        self.refused(404, "FeedNotFound", "PUT", "/v1/tables/Elsewhere/consumers/g", {})

    def try_read(self, group, body):
        try:
            return self.api.call("POST", group + "/read", body)
        except HttpFailure as failure:
            if failure.code != "ConsumerInUse":
                raise
            return None

    def test_the_worker_of_the_documentation(self):
        with open(os.path.join(SOURCE, "docs/changes.md")) as file:
            text = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
        self.put_feed(values="new")
        self.api.call("PUT", self.path("consumers/worker"), {"after": "oldest"})
        environment = {**clean_environment(), "TIDEMARK_API": f"http://127.0.0.1:{self.stack.ports['api']}",
                       "TIDEMARK_TOKEN": TOKEN}
        seen = []

        def begin():
            worker = subprocess.Popen([sys.executable, "-c", text, self.table, "worker"], env=environment,
                                      stdout=subprocess.PIPE, text=True)
            thread = threading.Thread(target=lambda: seen.extend(line.split()[2] for line in worker.stdout), daemon=True)
            thread.start()
            return worker, thread

        worker, thread = begin()
        try:
            for row in range(50):
                self.write(f"{row:03}", Row=row)
                if row == 25:
                    self.stack.restart("api")
            wait_until(lambda: "049" in seen, "all have come")
            wait_until(lambda: self.api.call("GET", self.path("consumers/worker"))["lag"]["changes"] == 0, "acknowledged")
        finally:
            worker.kill()
            worker.wait()
            thread.join()
            worker.stdout.close()
        first = list(dict.fromkeys(seen))
        self.assertEqual(first, [f"{row:03}" for row in range(50)])

    def test_the_store_dies_at_every_step_of_a_feed(self):
        steps = ("table.put_feed", "table.drop_feed", "table.let_changes_go")
        listed = subprocess.run([program("table_store"), "--list-fail-points"], capture_output=True, check=True, text=True)
        points = [point for point in listed.stdout.split() if point.startswith(steps)]
        self.assertEqual(len(points), 2 * len(steps))
        for point in sizes.some_of(points):
            with self.subTest(fail_point=point):
                self.put_feed(retention=1)
                dying = self.stack.restart_to_die("table_store", point)
                while dying.alive():
                    try:
                        self.write("a")
                        if not point.startswith("table.let_changes_go"):
                            self.api.call("DELETE", self.path("feed"))
                            self.put_feed(retention=1)
                    except (OSError, http.client.HTTPException, HttpFailure):
                        pass
                self.assertEqual(dying.wait(), -signal.SIGKILL, dying.log())
                self.stack.restart("table_store")
                self.put_feed(retention=3600)
                token = self.changes(after="now")["next"]
                self.write("b")
                self.assertEqual([each["rowKey"] for each in self.changes(after=token)["changes"]], ["b"])
                self.changes(after="oldest")

    def test_nothing_is_missing_while_everything_is_killed(self):
        self.put_feed(values="new")
        partitions = [f"p{i}" for i in range(4)]
        done = threading.Event()
        written = {partition: [] for partition in partitions}  # acknowledged numbers, in order

        def write(partition):
            tables = TableClient(self.stack.ports["table_store"])
            number = 0
            while not done.is_set():
                number += 1
                try:
                    tables.change("PUT", self.table, partition, f"r{number % 5}", {"N": number}, None)
                    written[partition].append(number)
                except (OSError, http.client.HTTPException, HttpFailure):
                    time.sleep(0.02)  # it may have taken effect or not

        writers = [threading.Thread(target=write, args=(partition,)) for partition in partitions]
        for writer in writers:
            writer.start()
        seen, token, chance = [], "oldest", random.Random(12)
        reader = CheckedApiClient(self.stack.ports["api"])

        def read_page(wait):
            nonlocal token
            try:
                page = reader.call("GET", self.path(f"changes?after={token}&new=true&limit={chance.randint(1, 500)}&wait={wait}"))
            except (OSError, http.client.HTTPException, HttpFailure) as failure:
                self.assertNotIn(getattr(failure, "status", 0), (400, 404, 410))
                return None
            seen.extend(page["changes"])
            token = page["next"]
            return page

        for _ in range(6):
            before = len(seen)
            victim = chance.choice(["table_store", "table_store", "api"])
            wait_until(lambda: read_page(1) is not None and len(seen) > before + 100, "some changes")
            self.stack.children[victim].kill()
            read_page(0)
            self.stack.start(victim)
        done.set()
        for writer in writers:
            writer.join()
        wait_until(lambda: (page := read_page(0)) is not None and not page["more"] and not page["changes"], "the end")
        for some in [partitions] if not shards.COUNT else [[partition] for partition in partitions]:
            versions = [ticks(each["version"]) for each in seen if each["partitionKey"] in some]
            self.assertEqual(versions, sorted(versions))
        self.assertEqual(len({each["token"] for each in seen}), len(seen), "nothing came twice")
        for partition in partitions:
            numbers = [each["new"]["N"] for each in seen if each["partitionKey"] == partition]
            self.assertEqual(numbers, sorted(numbers), "the order within a partition")
            self.assertEqual(set(written[partition]) - set(numbers), set(), "nothing is missing")
        last = {(each["partitionKey"], each["rowKey"]): each["new"]["N"] for each in seen}
        found = {keys: entity["N"] for keys, entity in self.tables.scan(self.table).items()}
        self.assertEqual(last, found, "the feed tells what the table is")


if __name__ == "__main__":
    unittest.main()
