"""Names and values that no store takes from its own clients, and the routes of the api by which each could come in.
Unit tests of the rules list all refused values; a few of each here check that every route applies the rule."""
import json
from urllib.parse import quote

GUID = "00000000-0000-0000-0000-000000000001"
JSON = {"Content-Type": "application/json"}
ANY, NONE = {"If-Match": "*"}, {"If-None-Match": "*"}
BAD_NAME = ("InvalidResourceName", "OutOfRangeInput", "InvalidInput", "InvalidQueryParameterValue")
JOB = ("JobInvalid",)

VALUES = {
    "queue": ("ab", "th--ings", "things#0.2", "tidemark-jobs#1.4"),
    "container": ("ab", "th--ings"),
    "table": ("ab", "Th-ings"),
    "blob": ("", "x" * 1025, b"\xff"),
    "content type": ("text/\x01plain", " text/plain", "a\r\nX-Injected: 1"),
    "key": ("a/b", "x" * 513),
    "property": ("", "a-b", "x" * 256),
}


def job(kind, **members):
    return "POST", "/v1/jobs", {}, {"kind": kind, **members}, JOB


def sas(kind, name, **members):
    return "POST", "/v1/sas", {}, {"kind": kind, "name": name, "permissions": "r", "expiresIn": 60, **members}, BAD_NAME


def index(**members):
    return ("PUT", "/v1/indexes/hostile", {}, {"kind": "lists", "source": "Things", "by": ["Number"], "destination": "ThingsBy", **members},
            ("IndexInvalid",))


def queue_doors(name, escaped):
    for path, body in (("", None), ("/messages", None), ("/pause", ""), ("/resume", ""), ("/spread", {"parts": 2})):
        yield "GET" if body is None else "POST", f"/v1/queues/{escaped}{path}", {}, body, BAD_NAME
    for method, path, body in (("GET", "", None), ("GET", "/" + GUID, None), ("PUT", "/" + GUID, {"body": "theirs"}),
                               ("DELETE", "/" + GUID, None), ("POST", f"/{GUID}/redrive", {"body": "theirs"})):
        yield method, f"/v1/poison{path}?queue={escaped}", {}, body, BAD_NAME
    yield sas("queue", name)
    yield job("redrive", poisonQueue=name)
    yield "PUT", "/v1/tables/Things/onChange/hostile", {}, {"queue": name}, ("OnChangeInvalid",)


def container_doors(name, escaped):
    yield "PUT", f"/v1/containers/{escaped}", {}, "", BAD_NAME
    yield "GET", f"/v1/containers/{escaped}/blobs", {}, None, BAD_NAME
    yield from blob_doors("mine", "mine", escaped)
    yield sas("container", name)
    yield sas("blob", name + "/mine")
    yield job("offload", source="Things", filter="", minBytes=1, container=name)
    yield job("orphans", source="Things", container=name)
    yield job("archive", source="Things", filter="", destination={"container": name})
    yield index(container=name)


def blob_doors(name, escaped, container="things"):
    path = f"/v1/containers/{container}"
    for method, ending, headers, body in (("GET", "/blob", {}, None), ("DELETE", "/blob", ANY, None), ("GET", "/content", {}, None),
                                          ("PUT", "/content", NONE, "theirs"), ("PUT", "/content", ANY, "theirs")):
        yield method, f"{path}{ending}?name={escaped}", headers, body, (*BAD_NAME, "InvalidUri")


def type_doors(_, escaped):
    for name, headers in (("new", NONE), ("mine", ANY)):
        yield "PUT", f"/v1/containers/things/content?name={name}&contentType={escaped}", headers, "theirs", ("InvalidHeaderValue",)


def table_doors(name, escaped):
    path, keys = f"/v1/tables/{escaped}", "partitionKey=p&rowKey=r"
    for method, ending, headers, body in (
            ("GET", "/plan?filter=", {}, None), ("GET", "/entities", {}, None), ("GET", "/entity?" + keys, {}, None),
            ("PUT", "/entity?" + keys, NONE, {}), ("DELETE", "/entity?" + keys, ANY, None), ("GET", "/feed", {}, None),
            ("PUT", "/feed", {}, {"values": "new"}), ("DELETE", "/feed", {}, None), ("GET", "/changes", {}, None),
            ("GET", "/consumers", {}, None), ("GET", "/consumers/g", {}, None), ("PUT", "/consumers/g", {}, {}),
            ("DELETE", "/consumers/g", {}, None), ("GET", "/onChange", {}, None), ("GET", "/onChange/o", {}, None),
            ("PUT", "/onChange/o", {}, {"queue": "things"}), ("DELETE", "/onChange/o", {}, None)):
        yield method, path + ending, headers, body, BAD_NAME
    yield "GET", f"/v1/explain?table={escaped}&{keys}", {}, None, BAD_NAME
    yield "PATCH", "/v1/limits", {}, {"scope": "table", "name": name, "maxRunning": 1}, BAD_NAME
    yield sas("table", name)
    yield job("delete", source=name, filter="")
    yield job("archive", source="Things", filter="", destination=name)
    yield index(source=name)
    yield index(destination=name)


def key_doors(key, escaped):
    for keys in (f"partitionKey={escaped}&rowKey=r", f"partitionKey=p&rowKey={escaped}"):
        for method, headers, body in (("GET", {}, None), ("PUT", NONE, {}), ("DELETE", ANY, None)):
            yield method, f"/v1/tables/Things/entity?{keys}", headers, body, BAD_NAME
        yield "GET", f"/v1/explain?table=Things&{keys}", {}, None, BAD_NAME
    yield "PATCH", "/v1/limits", {}, {"scope": "partition", "name": "Things", "partitionKey": key, "maxRunning": 1}, BAD_NAME
    yield sas("table", "Things", startPartitionKey=key)
    yield sas("table", "Things", endPartitionKey="p", endRowKey=key)
    yield job("delete", source="Things", partitionKey=key, rowKey="r")
    yield job("delete", source="Things", partitionKey="p", rowKey=key)


def property_doors(name, _):
    yield ("PUT", "/v1/tables/Things/entity?partitionKey=p&rowKey=new", NONE, {name: 1},
           ("PropertyNameInvalid", "PropertyNameTooLong", "InvalidInput"))
    yield job("offload", source="Things", filter="", container="things", properties=[name])
    yield index(by=[name])


DOORS = {"queue": queue_doors, "container": container_doors, "blob": blob_doors, "content type": type_doors, "table": table_doors,
         "key": key_doors, "property": property_doors}


def requests():
    """Yields the kind, method, target, headers, body, and the codes of the refusal."""
    for what, values in VALUES.items():
        for value in values:
            for method, target, headers, body, codes in DOORS[what](value, quote(value, safe="")):
                if isinstance(body, dict):
                    headers, body = {**headers, **JSON}, json.dumps(body)
                elif body:
                    headers = {**headers, "Content-Type": "application/octet-stream"}
                yield f"{what} {value!r}", method, target, headers, body, codes
