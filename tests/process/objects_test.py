"""Archives in containers and directories, and properties in blobs, as a user meets them: submitted with the command
line, planned and answered by the api as /openapi.json describes, read with Debian's Azure SDK for Python."""
import gzip
import json
import os
import subprocess
import sys
import unittest
from urllib.parse import quote

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from blobs import BlobReader, archived, files  # noqa: E402
from clients import TableClient  # noqa: E402
from openapi import CheckedApiClient  # noqa: E402
from stack import StackTest, clean_environment, program  # noqa: E402

WORKER = ("--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "100", "--lease-s", "5")
TYPES = {"Text": "\u00e9 \"quoted\" \U0001F30A\n", "Int": -5, "Flag": True, "Ratio": 0.1, "Whole": 5.0,
         "Big@odata.type": "Edm.Int64", "Big": "9007199254740993",
         "When@odata.type": "Edm.DateTime", "When": "2026-11-21T19:30:04.1234567Z",
         "Id@odata.type": "Edm.Guid", "Id": "0d391d16-97f1-4b9a-be68-4cc871f90001",
         "Bytes@odata.type": "Edm.Binary", "Bytes": "AAEC/w==",
         "Odd@odata.type": "Edm.Double", "Odd": "Infinity"}
KEYS = [("p", "r"), ("p q", "100%"), ("'quoted'", "~"), ("\u6f22\u5b57", "."), ("", ""), ("p", "x" * 500)]


class ObjectsTest(StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.start("blob_store")
        cls.directory = os.path.join(cls.stack.directory, "nas")
        os.mkdir(cls.directory)
        allowed = ("--archive-directories", "nas=" + cls.directory)
        cls.stack.up(workers=1, worker_arguments=(*WORKER, *allowed), api_arguments=allowed)
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.blobs = BlobReader(cls.stack.ports["blob_store"])

    def tidemark(self, *arguments):
        line = [program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", "--json", *arguments]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, env=clean_environment())
        self.assertEqual(done.returncode, 0, (line, done.stdout, done.stderr))
        return json.loads(done.stdout)

    def fill(self, table):
        self.tables.create_table(table)
        for partition, row in KEYS:
            self.tables.put(table, {"PartitionKey": partition, "RowKey": row, **TYPES})
        return self.tables.scan(table)

    def explained(self, table, partition, row):
        """Returns the other places of the entity, by a check of its own against /openapi.json and by the command
        line."""
        told = self.api.call("GET", f"/v1/explain?table={table}&partitionKey={quote(partition)}&rowKey={quote(row)}")
        self.assertEqual(self.tidemark("explain", table, partition, row), told)
        self.assertEqual((told["places"][0]["name"], told["places"][0]["present"], told["complete"]),
                         (table, False, True), told)
        self.assertEqual(len(told["places"]), 2, told)
        return told["places"][1]

    def there_and_back(self, table, options, objects):
        before = self.fill(table)
        plan = self.tidemark("job", "submit", "archive", "--source", table, *options, "--filter", "", "--dry-run")
        self.assertEqual((plan["keys"], plan["problems"]), (len(KEYS), []), plan)
        self.assertEqual(objects(), {})
        job = self.tidemark("job", "submit", "archive", "--source", table, *options, "--filter", "", "--wait")
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", len(KEYS)), job)
        self.assertEqual(self.tables.scan(table), {})
        kept = objects()
        self.assertEqual(archived(kept), {key: {k: v for k, v in entity.items() if "@" not in k}
                                          for key, entity in before.items()})
        place = self.explained(table, *KEYS[2])
        self.assertEqual((place["present"], place["job"], len(place["objects"])), (True, job["id"], 1), place)
        self.assertTrue(any(name.startswith(place["objects"][0].split(".")[0]) for name in kept), (place, kept))
        back = ("job", "submit", "unarchive", *options, "--destination", table)
        plan = self.tidemark(*back, "--partition-key", "p", "--row-key", "r", "--dry-run")
        self.assertEqual((plan["keys"], plan["complete"], plan["problems"]), (1, True, []), plan)
        job = self.tidemark(*back, "--partition-key", "p", "--row-key", "r", "--wait")
        self.assertEqual(job["progress"]["done"], 1, job)
        self.assertEqual(set(self.tables.scan(table)), {("p", "r")})
        job = self.tidemark(*back, "--filter", "", "--wait")
        self.assertEqual(job["progress"]["done"], len(KEYS) - 1, job)
        self.assertEqual(self.tables.scan(table), before)
        self.assertEqual(objects(), {})
        return kept

    def test_documents(self):
        kept = self.there_and_back("Documents", ("--container", "documents", "--prefix", "a/"),
                                   lambda: self.blobs.objects("documents"))
        self.assertIn("a/documents/p/r.json", kept)
        self.assertIn("a/documents/~/~.json", kept)
        self.assertIn("a/documents/%27quoted%27/%7E.json", kept)

    def test_parts_by_month(self):
        kept = self.there_and_back("Months", ("--container", "months", "--format", "lines", "--per", "month", "--gzip"),
                                   lambda: self.blobs.objects("months"))
        (name, content), = kept.items()
        self.assertRegex(name, r"^months/20\d\d-\d\d/[0-9a-f-]+-0001-000000\.jsonl\.gz$")
        lines = gzip.decompress(content).decode().splitlines()
        self.assertEqual(len(lines), len(KEYS))
        self.assertEqual({k: v for k, v in json.loads(lines[0]).items() if k in TYPES}, TYPES)

    def test_documents_in_a_directory(self):
        self.there_and_back("Filed", ("--directory", "nas"), lambda: files(self.directory))

    def test_parts_in_a_directory(self):
        self.there_and_back("Lines", ("--directory", "nas", "--format", "lines", "--gzip"),
                            lambda: files(self.directory))

    def test_a_directory_that_the_api_may_not_read(self):
        self.fill("Hidden")
        job = self.tidemark("job", "submit", "archive", "--source", "Hidden", "--directory", "nas", "--filter", "",
                            "--wait")
        self.stack.restart("api", "--threads", "1")  # arguments, though none that allows anything
        self.addCleanup(self.stack.restart, "api", "--archive-directories", "nas=" + self.directory)
        told = self.api.call("GET", "/v1/explain?table=Hidden&partitionKey=p&rowKey=r")
        place = told["places"][1]
        self.assertEqual((place["store"], place["name"], place["present"], place["job"], told["complete"]),
                         ("directory", "nas", True, job["id"], False), told)
        plan = self.tidemark("job", "submit", "unarchive", "--directory", "nas", "--destination", "Hidden",
                             "--filter", "", "--dry-run")
        self.assertEqual((plan["keys"], plan["complete"]), (0, False), plan)
        self.tidemark("job", "submit", "unarchive", "--directory", "nas", "--destination", "Hidden", "--filter", "",
                      "--wait")
        self.assertEqual(files(self.directory), {})

    def test_a_lost_catalog_is_made_again(self):
        before = self.fill("Lost")
        options = ("--directory", "nas", "--prefix", "lost/")
        self.tidemark("job", "submit", "archive", "--source", "Lost", *options, "--filter", "", "--wait")
        self.tables.delete_table("TidemarkFiles")
        plan = self.api.call("POST", "/v1/jobs?dryRun=true", {"kind": "adopt", "directory": "nas"})
        self.assertEqual(plan["keys"], len(KEYS), plan)
        self.assertIn("takeOver", plan["problems"][0])
        back = self.api.call("POST", "/v1/jobs?dryRun=true", {"kind": "unarchive", "destination": "Lost", "filter": "",
                                                             "source": {"directory": "nas", "prefix": "lost/"}})
        self.assertIn("adopt", back["problems"][0])
        job = self.tidemark("job", "submit", "adopt", "--directory", "nas", "--take-over", "--wait")
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", len(KEYS)), job)
        job = self.tidemark("job", "submit", "unarchive", "--destination", "Lost", *options, "--filter", "", "--wait")
        self.assertEqual(job["progress"]["done"], len(KEYS), job)
        self.assertEqual(self.tables.scan("Lost"), before)

    def test_a_directory_that_is_not_allowed(self):
        self.fill("Refused")
        done = subprocess.run([program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", "job",
                               "submit", "archive", "--source", "Refused", "--directory", "other", "--filter", "",
                               "--wait"], capture_output=True, text=True, timeout=60, env=clean_environment())
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("archive_directories", done.stdout)
        self.assertEqual(len(self.tables.scan("Refused")), len(KEYS))

    def test_large_properties(self):
        self.tables.create_table("Photos")
        large = {**TYPES, "PartitionKey": "p", "RowKey": "r", "Text": "\u00e9" * 20_000}
        self.tables.put("Photos", large)
        before = self.tables.scan("Photos")
        job = self.tidemark("job", "submit", "offload", "--source", "Photos", "--container", "photos", "--min-bytes",
                            "32768", "--filter", "", "--wait")
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 1), job)
        entity = self.tables.get("Photos", "p", "r")
        link = json.loads(entity["Text_tidemark_blob"])
        self.assertNotIn("Text", entity)
        self.assertEqual(self.blobs.objects("photos")[link["name"]].decode(), large["Text"])
        properties = self.blobs.service.get_blob_client("photos", link["name"]).get_blob_properties()
        self.assertEqual((properties.etag.strip('"'), properties.size), (link["etag"], link["size"]))
        told = self.api.call("GET", "/v1/explain?table=Photos&partitionKey=p&rowKey=r")
        self.assertEqual(told["places"][0]["blobs"], [{"property": "Text", "container": "photos", "name": link["name"],
                                                       "bytes": link["size"], "present": True}])
        job = self.tidemark("job", "submit", "inline", "--source", "Photos", "--filter", "", "--wait")
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", 1), job)
        self.assertEqual(self.tables.scan("Photos"), before)
        self.assertEqual(self.blobs.objects("photos"), {})

    def test_the_api_says_what_it_takes(self):
        self.fill("Checked")
        spec = {"kind": "archive", "source": "Checked", "filter": "", "destination": {
            "container": "checked", "format": "lines", "per": "day", "gzip": True}}
        plan = self.api.call("POST", "/v1/jobs?dryRun=true", spec)
        self.assertIn("into a part of container checked", plan["samples"][0]["steps"][0])
        job = self.api.call("POST", "/v1/jobs", spec)
        self.assertEqual(job["spec"]["destination"]["table"], "Checked")


if __name__ == "__main__":
    unittest.main(verbosity=2)
