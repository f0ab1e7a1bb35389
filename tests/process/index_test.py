"""Indexes as their users see them: declared with the command line, kept by real workers, asked over HTTP. Every answer
conforms to /openapi.json."""
import json
import os
import re
import subprocess
import sys
import unittest
from urllib.parse import quote, urlencode

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import BlobClient, HttpClient, HttpFailure, TableClient  # noqa: E402
from indexes import following  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from stack import StackTest, clean_environment, program, wait_until  # noqa: E402

WORKER = ("--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "100", "--lease-s", "5")
BEHIND_S = 3  # an owner that does not rest gets there sooner, on a slow machine too
STAFF = [{"PartitionKey": f"dept{i % 3}", "RowKey": f"{i:03}", "Name": f"name{i % 7}", "Mail": f"m{i}@example.org",
          "Grade": i % 5, "Pay": 100 + i} for i in range(60)]


class IndexTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=1, worker_arguments=WORKER)
        cls.stack.start("blob_store")
        cls.blobs = BlobClient(cls.stack.ports["blob_store"])
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])

    def setUp(self):
        self.table = "Staff" + self._testMethodName.replace("_", "")[4:40]
        self.tables.create_table(self.table)
        self.tables.put_many(self.table, STAFF)

    def tidemark(self, *arguments, stdin=None, code=0):
        done = subprocess.run([program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", *arguments],
                              env=clean_environment(), capture_output=True, text=True, timeout=90, input=stdin)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def tearDown(self):
        for index in self.api.call("GET", "/v1/indexes")["indexes"]:
            self.drop(index["name"])

    def put(self, name, *options):
        done = self.tidemark("--json", "index", "put", name, "--source", self.table, *options, "--wait")
        index = json.loads(done.stdout)
        self.assertEqual(index["state"], "ready")
        return index

    def drop(self, name):
        self.api.call("DELETE", f"/v1/indexes/{name}")
        wait_until(lambda: name not in [each["name"] for each in self.api.call("GET", "/v1/indexes")["indexes"]],
                   f"{name} is gone")

    def write(self, entity):
        """Writes the entity; returns its version as an ETag."""
        properties = {name: value for name, value in entity.items() if name not in ("PartitionKey", "RowKey")}
        return self.tables.change("PUT", self.table, entity["PartitionKey"], entity["RowKey"], properties, None)

    def lookup(self, name, **parameters):
        return self.api.call("GET", f"/v1/indexes/{name}/lookup?" + urlencode(parameters, doseq=True))

    def rows(self, name, **parameters):
        answer = self.lookup(name, **parameters)
        return sorted((each["PartitionKey"], each["RowKey"]) for each in answer["entities"])

    def refused(self, status, code, method, path, body=None):
        with self.assertRaises(HttpFailure) as caught:
            self.api.call(method, path, body)
        self.assertEqual((caught.exception.status, caught.exception.code), (status, code))
        return json.loads(caught.exception.body)

    @staticmethod
    def where(condition):
        return sorted((each["PartitionKey"], each["RowKey"]) for each in STAFF if condition(each))

    def test_lists_find_what_has_a_value(self):
        index = self.put("names", "--kind", "lists", "--by", "Name", "--destination", self.table + "Rows")
        self.assertEqual(index["definition"]["by"], ["Name"])
        self.assertIn("proven", index["lastScrub"])
        self.assertEqual(self.rows("names", value="name3"), self.where(lambda e: e["Name"] == "name3"))
        entity = self.lookup("names", value="name3", top=1)["entities"][0]
        self.assertEqual((entity["Name"], set(entity) >= {"odata.etag", "Timestamp", "Pay"}), ("name3", True))
        moved = {**STAFF[3], "Name": "other"}
        version = self.write(moved)
        self.assertEqual(self.rows("names", value="other", minVersion=version), [("dept0", "003")])
        self.assertNotIn(("dept0", "003"), self.rows("names", value="name3", minVersion=version))
        self.tables.delete(self.table, "dept0", "003")
        version = self.write({**STAFF[4], "Name": "last"})
        self.assertEqual(self.rows("names", value="other", minVersion=version, wait=20000), [])
        answer = self.lookup("names", prefix="name", select="keys", top=1000, maxLag=5)
        self.assertEqual(len(answer["keys"]), 58)
        self.assertEqual((answer["state"], answer["leftOut"]), ("ready", 0))
        # The log records this a little after the rows are there.
        wait_until(lambda: self.lookup("names", value="name3")["lag"]["changes"] == 0, "nothing waits")

    def test_pages_join_to_the_whole(self):
        self.put("grades", "--kind", "lists", "--by", "Grade,Name", "--destination", self.table + "Rows")
        for top in (1, 7, 50):
            found, continuation = [], ""
            while True:
                more = {"continuation": continuation} if continuation else {}
                page = self.lookup("grades", **{"from": "1", "to": "3"}, type="Int32", top=top, select="Name,Grade", **more)
                self.assertLessEqual(len(page["entities"]), top)
                self.assertTrue(all("Pay" not in each and "Name" in each for each in page["entities"]))
                found += [(each["PartitionKey"], each["RowKey"]) for each in page["entities"]]
                continuation = page.get("continuation", "")
                if not continuation:
                    break
            self.assertEqual(sorted(found), self.where(lambda e: 1 <= e["Grade"] <= 3))
        self.assertEqual(self.rows("grades", value=["2", "name2"]),
                         self.where(lambda e: (e["Grade"], e["Name"]) == (2, "name2")))
        shown = self.tidemark("--json", "index", "lookup", "grades", "--value", "2", "--top", "0", "--select", "keys")
        self.assertEqual(len(json.loads(shown.stdout)["keys"]), 12)

    def test_lists_in_the_entities_own_partitions(self):
        self.put("inside", "--kind", "lists", "--by", "Name", "--where", "partition", "--destination", self.table)
        self.assertEqual(self.rows("inside", partition="dept1", value="name1"),
                         self.where(lambda e: (e["PartitionKey"], e["Name"]) == ("dept1", "name1")))
        self.assertEqual(len(self.lookup("inside", partition="dept2", **{"from": "name2"}, to="name4")["entities"]),
                         len(self.where(lambda e: e["PartitionKey"] == "dept2" and "name2" <= e["Name"] <= "name4")))
        self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/indexes/inside/lookup?value=name1")

    def test_lists_of_values_that_begin_alike(self):
        self.put("alike", "--kind", "lists", "--by", "City", "--where", "partition", "--answers-queries",
                 "--destination", self.table + "Rows")
        cities = ["New_York", "New_0", "New_00", "New_York_City"] + 12 * ["New"]
        for number, city in enumerate(cities):
            self.write({"PartitionKey": "p", "RowKey": f"c{number:02}", "City": city})
            # One after the other: together they would be handled as one.
            wait_until(lambda: ("p", f"c{number:02}") in self.rows("alike", partition="p", value=city), "its row")
        for city in set(cities):
            wanted = [("p", f"c{number:02}") for number, each in enumerate(cities) if each == city]
            self.assertEqual(self.rows("alike", partition="p", value=city), wanted, city)
            found, index = self.tables.query(self.table, f"PartitionKey eq 'p' and City eq '{city}'")
            self.assertEqual((sorted((e["PartitionKey"], e["RowKey"]) for e in found), index), (wanted, {"alike"}), city)

    def test_lists_in_blobs(self):
        in_blobs = ("--kind", "lists", "--by", "Name", "--where", "blobs", "--container", "lists", "--prefix", "by-name/")
        index = self.put("blobs", *in_blobs)
        self.assertEqual((index["definition"]["container"], index["definition"]["prefix"]), ("lists", "by-name/"))
        self.assertEqual(self.rows("blobs", value="name3"), self.where(lambda e: e["Name"] == "name3"))
        version = self.write({**STAFF[3], "Name": "other"})
        self.assertEqual(self.rows("blobs", value="other", minVersion=version), [("dept0", "003")])
        self.assertEqual(len(self.lookup("blobs", prefix="name", select="keys", top=1000)["keys"]), 59)
        self.assertRegex(self.tidemark("index", "list").stdout, r"(?m)^blobs +ready +lists +\w+ +lists/by-name/ ")
        wait_until(lambda: self.lookup("blobs", value="name3")["lag"]["changes"] == 0, "nothing waits")
        found = self.blobs.objects("lists")
        self.assertEqual(sorted(name.split("/")[1] for name in found), [f"name{i}" for i in range(7)] + ["other"])
        keys = [tuple(key) for content in found.values() for key in json.loads(content)]
        self.assertEqual(sorted(keys), self.where(lambda e: True))
        definition = {"kind": "lists", "source": self.table, "by": ["Name"], "where": "blobs", "container": "lists"}
        refusal = self.refused(400, "IndexInvalid", "PUT", "/v1/indexes/again", definition)
        self.assertIn("blobs of index blobs", json.dumps(refusal))
        self.assertIn("such as by-name/name0/", json.dumps(refusal))
        self.drop("blobs")
        self.assertEqual(self.blobs.objects("lists"), {})

    def test_copies(self):
        self.put("mails", "--kind", "copies", "--destination", self.table, "--partition-key", "{PartitionKey}",
                 "--row-key", "mail_{Mail}", "--property-list", "Name", "--filter", "Grade ge 1")
        found = self.lookup("mails", PartitionKey="dept1", Mail="m13@example.org")["entities"]
        self.assertEqual([(e["RowKey"], e["Pay"]) for e in found], [("013", 113)])
        self.assertEqual(self.rows("mails", PartitionKey="dept1", Mail="m10@example.org"), [], "it has grade 0")
        self.assertEqual(self.rows("mails", PartitionKey="dept1", prefix="m1"),
                         self.where(lambda e: e["PartitionKey"] == "dept1" and e["Mail"].startswith("m1") and e["Grade"]))
        row = self.tables.get(self.table, "dept1", "mail_m13@example.org")
        self.assertEqual((row["Name"], "Pay" in row), ("name6", False))

    def test_copies_whose_keys_begin_alike(self):
        self.put("hosts", "--kind", "copies", "--destination", self.table + "Rows", "--partition-key", "all",
                 "--row-key", "{Host}_{RowKey}")
        self.put("pairs", "--kind", "copies", "--destination", self.table + "Pairs", "--partition-key", "all",
                 "--row-key", "{Host}_{Port}")
        self.write({"PartitionKey": "q", "RowKey": "1", "Host": "web", "Port": "1_0"})
        version = self.write({"PartitionKey": "q", "RowKey": "2", "Host": "web_1", "Port": "2"})
        self.assertEqual(self.rows("hosts", Host="web", minVersion=version), [("q", "1")])
        self.assertEqual(self.rows("hosts", Host="web_1"), [("q", "2")])
        self.assertEqual(self.rows("pairs", Host="web", minVersion=version), [("q", "1")])
        self.assertEqual(self.rows("pairs", Host="web_1", Port="0"), [])
        keys = self.lookup("pairs", Host="web", select="keys")["keys"]
        self.assertEqual(keys, [{"partitionKey": "q", "rowKey": "1"}])

    def test_summaries(self):
        self.put("pay", "--kind", "summary", "--by", "Name", "--of", "Pay", "--destination", self.table + "Rows")
        group = self.lookup("pay", value="name2")["groups"][0]
        pays = [e["Pay"] for e in STAFF if e["Name"] == "name2"]
        self.assertEqual([int(group[each]) for each in ("Count", "Sum", "Min", "Max")],
                         [len(pays), sum(pays), min(pays), max(pays)])
        self.assertEqual([each["Group"] for each in self.lookup("pay", top=1000)["groups"]],
                         [f"name{i}" for i in range(7)])
        version = self.write({**STAFF[2], "Pay": 0})
        group = self.lookup("pay", value="name2", minVersion=version)["groups"][0]
        self.assertEqual(int(group["Sum"]), sum(pays) - 102)

    def told(self, table, name="Head"):
        return {key: entity.get(name) for key, entity in self.tables.scan(table).items()}

    def test_denormalised_values_follow_what_is_referred_to(self):
        heads = self.table + "Heads"
        self.tables.create_table(heads)
        for number in range(2):
            self.tables.put(heads, {"PartitionKey": "heads", "RowKey": f"dept{number}", "Name": f"Ann{number}"})
        index = json.loads(self.tidemark(
            "--json", "index", "put", "heads", "--kind", "denormalised", "--source", heads, "--destination", self.table,
            "--partition-key", "heads", "--row-key", "{PartitionKey}", "--property-list", "Head=Name",
            "--missing", "empty", "--wait").stdout)
        self.assertEqual(index["definition"]["properties"], {"Head": "Name"})
        wanted = {"dept0": "Ann0", "dept1": "Ann1", "dept2": ""}
        self.assertEqual(self.told(self.table), {key: wanted[key[0]] for key in self.told(self.table)})
        self.tables.put(heads, {"PartitionKey": "heads", "RowKey": "dept2", "Name": "Bo"})
        self.tables.delete(heads, "heads", "dept0")
        self.write({"PartitionKey": "dept1", "RowKey": "new", "Name": "Cleo", "Head": "somebody"})
        wanted.update(dept0="", dept2="Bo")
        wait_until(lambda: all(head == wanted[key[0]] for key, head in self.told(self.table).items()), "all are told")
        self.assertEqual(self.told(self.table, "Name")["dept1", "new"], "Cleo")
        error = self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/indexes/heads/lookup?value=x")
        self.assertIn(f"are in the entities of {self.table}", str(error))
        self.refused(400, "IndexInvalid", "PUT", "/v1/indexes/back",
                     {"kind": "denormalised", "source": self.table, "destination": heads, "partitionKey": "dept1",
                      "rowKey": "{Deputy}", "properties": {"Name": "Head"}})

    def test_denormalised_values_within_a_table(self):
        self.write({"PartitionKey": "dept0", "RowKey": "department", "Head": "Ann"})
        self.tidemark("index", "put", "heads", "--kind", "denormalised", "--source", self.table, "--destination",
                      self.table, "--partition-key", "{PartitionKey}", "--row-key", "department", "--property-list",
                      "Head", "--wait")
        of_dept0 = lambda: {head for key, head in self.told(self.table).items() if key[0] == "dept0"}  # noqa: E731
        self.assertEqual(of_dept0(), {"Ann"})
        self.write({"PartitionKey": "dept0", "RowKey": "department", "Head": "Bo"})
        wait_until(lambda: of_dept0() == {"Bo"}, "all are told")
        self.drop("heads")
        self.assertEqual(of_dept0(), {"Bo"})

    def test_a_value_that_must_be_unique(self):
        told = {"kind": "lists", "source": self.table, "by": ["Mail"], "destination": self.table + "Rows", "unique": True,
                "onViolation": {"url": "https://example.com/hook"}}
        self.assertIn("onViolation: ", str(self.refused(400, "IndexInvalid", "PUT", "/v1/indexes/told", told)))
        self.put("unique", "--kind", "lists", "--by", "Mail", "--unique", "--destination", self.table + "Rows")
        self.assertEqual(self.api.call("GET", "/v1/indexes/unique/violations"), {"violations": []})
        version = self.write({**STAFF[0], "RowKey": "other"})
        self.lookup("unique", value="x", minVersion=version)
        found = self.api.call("GET", "/v1/indexes/unique/violations")["violations"]
        self.assertEqual([(each["group"], each["count"]) for each in found], [("m0@example.org", 2)])
        self.assertIn("m0@example.org", self.tidemark("index", "violations", "unique").stdout)

    def test_queries_of_the_table_go_by_lists(self):
        def named(name):
            return sorted((each["PartitionKey"], each["RowKey"]) for each in entities_of(f"Name eq '{name}'"))

        def entities_of(text):
            found, self.by = self.tables.query(self.table, text)
            return found
        self.assertEqual(named("name3"), self.where(lambda e: e["Name"] == "name3"))
        self.assertEqual(self.by, set(), "there is no index")
        self.put("answers", "--kind", "lists", "--by", "Name", "--destination", self.table + "Rows", "--answers-queries")
        self.assertEqual(named("name3"), self.where(lambda e: e["Name"] == "name3"))
        self.assertEqual(self.by, {"answers"})
        self.assertEqual(len(entities_of("Name eq 'name3' and Grade gt 1 and PartitionKey eq 'dept0'")),
                         len(self.where(lambda e: (e["Name"], e["PartitionKey"]) == ("name3", "dept0") and e["Grade"] > 1)))
        self.assertEqual(self.by, {"answers"})
        page = self.api.call("GET", f"/v1/tables/{self.table}/entities?filter=" + quote("Name eq 'name3'"))
        self.assertEqual((page["index"], page["searched"]), ("answers", len(page["entities"])))
        # The next answer includes a write, although the index is paused.
        self.tidemark("index", "pause", "answers")
        self.write({**STAFF[3], "Name": "other"})
        self.write({**STAFF[4], "Name": "name3"})
        self.assertIn(("dept1", "004"), named("name3"))
        self.assertNotIn(("dept0", "003"), named("name3"))
        self.assertEqual(named("other"), [("dept0", "003")])
        self.assertEqual(self.by, {"answers"})
        self.tidemark("job", "submit", "merge", "--source", self.table, "--filter", "Name eq 'other'", "--set", "Grade=9",
                      "--wait")
        self.assertEqual([each["Grade"] for each in entities_of("Name eq 'other'")], [9])
        self.tidemark("index", "resume", "answers")
        # The pause can be taken back, and nothing else can be changed.
        self.put("answers", "--kind", "lists", "--by", "Name", "--destination", self.table + "Rows")
        wait_until(lambda: named("other") and not self.by, "queries go by no index")
        other = self.tidemark("index", "put", "answers", "--source", self.table, "--kind", "lists", "--by", "Grade",
                              "--destination", self.table + "Rows", code=1)
        self.assertIn("another definition", other.stderr)
        blobs = {"kind": "lists", "source": self.table, "by": ["Name"], "where": "blobs", "container": "lists",
                 "answersQueries": True}
        self.assertIn("answersQueries", self.refused(400, "IndexInvalid", "PUT", "/v1/indexes/blobs", blobs)["detail"])

    def test_a_pause_shows_how_far_it_is_behind(self):
        self.put("paused", "--kind", "lists", "--by", "Name", "--destination", self.table + "Rows")
        self.assertTrue(self.api.call("POST", "/v1/indexes/paused/pause")["paused"])
        # The index's owner learns of that a little later.
        number = iter(range(10**6))

        def falls_behind():
            lag = self.api.call("GET", "/v1/indexes/paused")["lag"]
            if lag["changes"] == 0:
                self.write({**STAFF[1], "Pay": next(number)})
            return lag["seconds"] > BEHIND_S
        wait_until(falls_behind, "a lag that grows")
        version = self.write({**STAFF[1], "Name": "waits"})
        answer = self.refused(504, "DeadlineExceeded", "GET",
                              f"/v1/indexes/paused/lookup?value=waits&wait=50&minVersion={quote(version)}")
        self.assertIn("It is paused.", answer["detail"])
        self.tidemark("index", "resume", "paused")
        self.assertEqual(self.rows("paused", value="waits", minVersion=version, wait=30000), [("dept1", "001")])

    def test_metrics_tell_how_far_an_index_is_behind(self):
        def metric(name):
            _, text = HttpClient(self.stack.ports["table_store"]).ask("GET", "/metrics")
            found = re.search(rf'(?m)^tidemark_follower_{name}{{[^}}]*follower="measured-[^}}]*}} (\S+)$', text.decode())
            return found and float(found.group(1))

        self.assertIsNone(metric("lag_seconds"))
        self.put("measured", "--kind", "lists", "--by", "Name", "--destination", self.table + "Index")
        wait_until(lambda: metric("lag_seconds") == 0, "nothing waits")
        self.api.call("POST", "/v1/indexes/measured/pause")

        def falls_behind():  # once its owner knows of the pause
            if metric("waiting_changes") == 0:
                self.tables.put(self.table, {**STAFF[1], "Name": "changed"})
            return metric("lag_seconds") > BEHIND_S
        wait_until(falls_behind, "the lag grows")
        self.assertEqual((metric("waiting_changes"), metric("stale")), (1, 0))
        def of_api(name):
            _, text = HttpClient(self.stack.ports["api"]).ask("GET", "/metrics")
            return {labels: float(value) for labels, value in
                    re.findall(rf'(?m)^tidemark_index_{name}{{([^}}]*index="measured"[^}}]*)}} (\S+)$', text.decode())}

        self.assertGreater(*of_api("lag_seconds").values(), BEHIND_S)
        self.assertEqual(list(of_api("paused").values()), [1])
        self.api.call("POST", "/v1/indexes/measured/resume")
        wait_until(lambda: metric("lag_seconds") == 0, "nothing waits again")
        states = of_api("state")
        self.assertEqual(len(states), 5)
        self.assertEqual(states['index="measured",state="ready"'], 1)
        self.assertEqual(list(of_api("wrong_rows_total").values()), [0])

    def test_scrub_and_rebuild(self):
        rows = self.table + "Rows"
        self.put("mended", "--kind", "lists", "--by", "Name", "--destination", rows)
        piece = next(key for key in self.tables.scan(rows) if key[0] == "name1")
        self.tables.delete(rows, *piece)
        self.assertEqual(self.rows("mended", value="name1"), [])
        shown = json.loads(self.tidemark("--json", "index", "scrub", "mended", "--wait").stdout)
        self.assertGreater(shown["wrongEver"], 0)
        self.assertEqual(self.rows("mended", value="name1"), self.where(lambda e: e["Name"] == "name1"))
        shown = json.loads(self.tidemark("--json", "index", "rebuild", "mended", "--wait").stdout)
        self.assertEqual(shown["state"], "ready")
        listed = self.tidemark("index", "list").stdout
        self.assertRegex(listed, r"(?m)^mended +ready +lists")
        self.assertIn("last scrub: ", self.tidemark("index", "show", "mended").stdout)

    def test_a_definition_is_refused_with_every_problem(self):
        self.tables.create_table(self.table + "Full")
        self.tables.put(self.table + "Full", {"PartitionKey": "p", "RowKey": "r"})
        wrong = {"kind": "lists", "source": "Nowhere", "by": ["Name"], "destination": self.table + "Full"}
        problems = self.refused(400, "IndexInvalid", "PUT", "/v1/indexes/wrong", wrong)["problems"]
        self.assertEqual(problems, ["source: there is no table Nowhere",
                                    f"destination {self.table}Full holds rows that are not of an index"])
        problems = self.refused(400, "IndexInvalid", "PUT", "/v1/indexes/wrong",
                                {**wrong, "by": [], "colour": 1, "maxBytes": 0})["problems"]
        self.assertEqual(len(problems), 3)
        self.refused(400, "InvalidInput", "PUT", "/v1/indexes/2wrong", wrong)
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/scrub"), ("GET", "/lookup"),
                             ("GET", "/violations")):
            self.refused(404, "IndexNotFound", method, "/v1/indexes/nothing" + path)
        self.tidemark("index", "show", "nothing", code=3)
        definition = {"kind": "lists", "source": self.table, "by": ["Name"], "destination": self.table + "Rows"}
        self.put("twice", "--kind", "lists", "--by", "Name", "--destination", self.table + "Rows")
        again = self.tidemark("--json", "index", "put", "twice", "--file", "-", stdin=json.dumps(definition))
        self.assertEqual(json.loads(again.stdout)["name"], "twice")
        self.refused(400, "IndexInvalid", "PUT", "/v1/indexes/twice", {**definition, "by": ["Mail"]})
        self.refused(400, "IndexInvalid", "PUT", "/v1/indexes/thrice", definition)
        self.refused(400, "InvalidQueryParameterValue", "GET", "/v1/indexes/twice/lookup?value=a&value=b&top=0")

    def test_a_dropped_index_leaves_no_rows(self):
        self.put("brief", "--kind", "lists", "--by", "Name", "--destination", self.table + "Rows")
        self.assertNotEqual(self.tables.scan(self.table + "Rows"), {})
        self.assertIn("dropping", self.tidemark("index", "drop", "brief").stdout)
        wait_until(lambda: self.api.call("GET", "/v1/indexes")["indexes"] == [], "brief is gone")
        self.assertEqual(self.tables.scan(self.table + "Rows"), {})
        self.assertEqual(following(self.stack.ports["table_store"]), set())
        self.put("brief", "--kind", "lists", "--by", "Name", "--destination", self.table + "Rows")


if __name__ == "__main__":
    unittest.main()
