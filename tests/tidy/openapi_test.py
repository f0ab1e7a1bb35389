"""The api's description of itself: its schemas are ones, its references lead somewhere, and the schemas of jobs take what
is a job and nothing else (Debian: python3-jsonschema). What the api does with a job is tested in tests/process."""
import json
import os
import pathlib
import unittest

import jsonschema

TOP = pathlib.Path(os.environ.get("TIDEMARK_SOURCE", pathlib.Path(__file__).parents[2]))
DOCUMENT = json.loads((TOP / "api/rest/openapi.json").read_text())
EVERY = {"maxAttempts": 3, "priority": "low", "notBefore": "2026-01-31T22:00:00Z", "retryBaseMs": 1, "retryCapMs": 86400000,
         "keepHours": 2, "key": "acme/c7", "onEnd": {"url": "https://example.com/x", "headers": {"a": "b"}, "secret": "s"}, "idempotencyKey": "k",
         "traceparent": "00-0-0-00", "tracestate": "a=b", "queue": "own-1", "then": {"kind": "undo", "job": "1"}}
SELECTING = {**EVERY, "maxAffected": 1, "maxPerSecond": 1000000}
ONE = {"partitionKey": "p", "rowKey": ""}

#: For each kind: the fewest members that it needs, others that it takes, and values that it refuses, by member.
KINDS = {
    "archive": ({"source": "People", "destination": "Old"},
                {**SELECTING, **ONE, "sourceAccount": "one", "destinationAccount": "two",
                 "destination": {"container": "old", "prefix": "a/", "table": "People", "format": "lines", "per": "day", "gzip": True}},
                {"source": "1x", "destination": {"container": "old", "colour": "red"}, "sourceAccount": "A", "filter": 1}),
    "unarchive": ({"source": {"directory": "cold"}, "destination": "People"}, {**SELECTING, "source": "Old", "filter": ""},
                  {"source": {"directory": "../x"}, "destination": {"directory": "cold"}}),
    "copy": ({"source": "People", "destination": "People"},
             {**SELECTING, "partitionKeyTemplate": "{A}", "rowKeyTemplate": "{B}", "properties": ["A", "B"], "filter": "A eq 1"},
             {"properties": ["A", "A"], "partitionKeyTemplate": None, "properties ": [], "wholeTable": True}),
    "delete": ({"source": "People"}, {**SELECTING, "wholeTable": True}, {"wholeTable": "true", "destination": "Old"}),
    "index": ({"source": "People", "property": "A", "destination": "Index"}, EVERY, {"maxAffected": 1, "property": 1}),
    "undo": ({"job": "1"}, SELECTING, {"job": 1, "source": "People"}),
    "redrive": ({}, {**EVERY, "poisonQueue": "q", "poisonIds": ["1"], "poisonKind": "copy", "poisonSource": "People",
                     "fingerprint": "0123456789abcdef", "movedAfter": "2026-01-31T22:00:00Z", "perSecond": 10000, "canary": 0, "limit": 1},
                {"poisonIds": [], "fingerprint": "x", "perSecond": 0, "canary": 101, "maxPerSecond": 1}),
    "purge": ({}, {**EVERY, "movedBefore": "2026-01-31T22:00:00Z"}, {"canary": 1, "limit": 0}),
    "offload": ({"source": "People", "container": "values"}, {**SELECTING, "prefix": "a/", "properties": ["A"], "minBytes": 0},
                {"container": "ab", "prefix": "x" * 101, "minBytes": 1048577, "keepBlobs": True}),
    "inline": ({"source": "People"}, {**SELECTING, "properties": ["A"], "keepBlobs": True}, {"keepBlobs": 1, "container": "values"}),
    "adopt": ({"directory": "cold"}, {**EVERY, "takeOver": True}, {"directory": "a/b", "takeOver": None}),
    "rekey": ({"source": "People"}, {**SELECTING, "entity": ONE, "partitionKey": "{A}", "rowKey": "{B}", "set": {"A": 1}},
              {"entity": {"partitionKey": "p"}, "entity ": ONE, "set": {}}),
    "merge": ({"source": "People", "set": {"A": "x"}},
              {**SELECTING, **ONE, "set": {"A": 1, "B": True, "C": {"type": "Int64", "value": "1"}}},
              {"set": {"A": None}, "remove": ["A"]}),
    "discard": ({"source": "People", "property": "A", "container": "photos"}, {**SELECTING, "filter": ""},
                {"property": "", "container": 1}),
    "orphans": ({"source": "People", "property": "A", "container": "photos"},
                {**EVERY, "prefix": "", "graceHours": 0, "remove": True}, {"graceHours": -1, "filter": "", "prefix": "x" * 1025}),
    "apply": ({"source": "People", "rule": "ship"}, {**SELECTING, "filter": "A eq 1"}, {"rule": "", "destination": "Old"}),
    "own": ({}, {**EVERY, "version": 2, "input": [1, None]}, {"version": 0, "source": "People"}),
    "callback": ({"url": "https://example.com/"},
                 {**EVERY, "method": "PUT", "headers": {}, "body": [1], "timeoutMs": 120000, "secret": "s"},
                 {"method": "HEAD", "headers": {"a": 1}, "timeoutMs": 0, "url": 1}),
    "transaction": ({"steps": [{"delete": {"table": "People", **ONE}}]},
                    {**EVERY, "guards": [{"as": "g", "table": "People", **ONE, "where": "absent"}],
                     "steps": [{"merge": {"of": "g", "set": {"A": "{g.B}"}, "add": {"C": 1}, "orInsert": True}},
                               {"put": {"account": "one", "table": "People", **ONE, "entity": {}}},
                               {"message": {"queue": "q", "json": {"a": [1]}, "group": "g", "delaySeconds": 1}},
                               {"blob": {"container": "c", "name": "n", "text": "t", "contentType": "text/plain"}},
                               {"callback": {"url": "https://example.com/"}}]},
                    {"steps": [], "guards": [{"table": "People"}], "source": "People", "maxAffected": 1}),
}
#: Values of the members of every job that none takes.
WRONG = {"maxAttempts": 101, "priority": "urgent", "queue": "Own", "retryBaseMs": 0, "keepHours": 1, "idempotencyKey": "",
         "onEnd": {"secret": "s"}, "then": {"kind": "undo"}, "group": "g", "kind": "other"}


def references(value):
    if isinstance(value, list):
        return [found for each in value for found in references(each)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [found for each in value.values() for found in references(each)]


def validator(schema):
    return jsonschema.Draft202012Validator({"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]})


class Description(unittest.TestCase):
    def test_references_lead_somewhere(self):
        for reference in set(references(DOCUMENT)):
            found = DOCUMENT
            for part in reference.removeprefix("#/").split("/"):
                self.assertIn(part, found, reference)
                found = found[part]

    def test_schemas_are_schemas(self):
        for name, schema in DOCUMENT["components"]["schemas"].items():
            with self.subTest(schema=name):
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertNotIn("nullable", json.dumps(schema))

    def test_kinds_are_those_tested_here(self):
        self.assertEqual({each["$ref"].rsplit("/", 1)[1].removesuffix("Spec").lower() for each in
                          DOCUMENT["components"]["schemas"]["JobSpec"]["oneOf"]}, set(KINDS))

    def test_jobs_are_valid(self):
        jobs = validator("JobSpec")
        for kind, (fewest, others, _) in KINDS.items():
            with self.subTest(kind=kind):
                jobs.validate({"kind": kind, **fewest})
                jobs.validate({"kind": kind, **fewest, **others})

    def test_what_is_no_job_is_not(self):
        for kind, (fewest, _, wrong) in KINDS.items():
            jobs = validator(kind.capitalize() + "Spec")
            refused = {**WRONG, **wrong, "colour": "red"}
            if kind == "own":  # the schema stands for all kinds that users declare, whatever their names
                refused["kind"] = "archive"
            for name, value in refused.items():
                with self.subTest(kind=kind, member=name):
                    self.assertFalse(jobs.is_valid({"kind": kind, **fewest, name: value}))
            for name in fewest:
                with self.subTest(kind=kind, without=name):
                    self.assertFalse(jobs.is_valid({"kind": kind, **{each: fewest[each] for each in fewest if each != name}}))


if __name__ == "__main__":
    unittest.main()
