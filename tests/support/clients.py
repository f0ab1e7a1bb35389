"""Small clients of the stores and the api, written from the protocol alone: they share no code with the product.

Requests to the table and queue endpoints are signed with SharedKeyLite and the development account. One connection per
client, opened again when it broke. For one thread each.
"""
import base64
import email.utils
import hashlib
import hmac
import http.client
import json
import re
import select
import time
import uuid
import xml.etree.ElementTree
from urllib.parse import quote, urlencode

from stack import TOKEN

ACCOUNT = "devstoreaccount1"
KEY = base64.b64decode("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
RETRY_LIMIT_S = 60.0


class HttpFailure(Exception):
    def __init__(self, status, headers, body):
        super().__init__(f"HTTP {status}: {body[:500]!r}")
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def code(self):
        """The error's name, in any of the forms that the services use."""
        if self.headers.get("x-ms-error-code"):
            return self.headers["x-ms-error-code"]
        try:
            body = json.loads(self.body)
            return body.get("code") or body["odata.error"]["code"]
        except (ValueError, KeyError, TypeError):
            return None


class HttpClient:
    timeout_s = 30.0  # for one answer
    host = "127.0.0.1"

    def __init__(self, port):
        self.port = port
        self._connection = None

    def __del__(self):
        self.close()

    def close(self):
        if self._connection:
            self._connection.close()
        self._connection = None

    def send(self, method, target, headers=None, body=None):
        """Sends one request; returns status, headers and body of any answer."""
        if self._connection and self._connection.sock and select.select([self._connection.sock], [], [], 0)[0]:
            self.close()  # no answer is due, so the only thing to read is the end: the service was restarted
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_s)
        try:
            self._connection.request(method, target, body=body, headers=headers or {})
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        return response.status, response.headers, content

    def ask(self, method, target, headers=None, body=None, ok=(200, 201, 202, 204)):
        status, answered, content = self.send(method, target, headers, body)
        if status not in ok:
            raise HttpFailure(status, answered, content)
        return answered, content


def patiently(call, *arguments, limit_s=RETRY_LIMIT_S, meanwhile=lambda: None):
    """Repeats an idempotent call while the service is being killed and restarted."""
    deadline = time.monotonic() + limit_s
    while True:
        meanwhile()
        try:
            return call(*arguments)
        except HttpFailure as failure:
            if failure.status < 500 or time.monotonic() >= deadline:
                raise
        except (OSError, http.client.HTTPException):
            if time.monotonic() >= deadline:
                raise
        time.sleep(0.02)


def _signature(text, key=KEY):
    return base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()


def key_path(text):
    return quote(text.replace("'", "''"), safe="'")


class TableClient(HttpClient):
    """Entities are dicts with PartitionKey and RowKey; answers come without metadata and Timestamp."""
    account, key = ACCOUNT, KEY

    def _ask(self, method, path, query="", body=None, headers=None, **expected):
        date = email.utils.formatdate(usegmt=True)
        comp = "?" + query.split("&")[0] if query.startswith("comp=") else ""
        resource = f"/{self.account}/{self.account}{path}{comp}"
        signed = {
            "x-ms-date": date, "x-ms-version": "2019-02-02", "Accept": "application/json;odata=nometadata",
            "Authorization": f"SharedKeyLite {self.account}:" + _signature(f"{date}\n{resource}", self.key),
        }
        if body is not None:
            signed["Content-Type"] = "application/json"
        signed.update(headers or {})
        return self.ask(method, f"/{self.account}{path}" + (f"?{query}" if query else ""), signed, body, **expected)

    def create_table(self, name):
        self._ask("POST", "/Tables", body=json.dumps({"TableName": name}), headers={"Prefer": "return-no-content"})

    def put(self, table, entity):
        """Inserts or replaces."""
        self._ask("PUT", self._path(table, entity["PartitionKey"], entity["RowKey"]), body=json.dumps(entity))

    def get(self, table, partition_key, row_key):
        try:
            _, body = self._ask("GET", self._path(table, partition_key, row_key))
        except HttpFailure as failure:
            if failure.status == 404:
                return None
            raise
        return self._bare(json.loads(body))

    def delete(self, table, partition_key, row_key):
        self._ask("DELETE", self._path(table, partition_key, row_key), headers={"If-Match": "*"})

    def put_many(self, table, entities):
        """Inserts or replaces in entity group transactions: all entities of one partition, at most 100 at once."""
        groups = {}
        for entity in entities:
            groups.setdefault(entity["PartitionKey"], []).append(entity)
        for group in groups.values():
            for begin in range(0, len(group), 100):
                self._put_group(table, group[begin:begin + 100])

    def _put_group(self, table, entities):
        batch, change = f"batch_{uuid.uuid4()}", f"changeset_{uuid.uuid4()}"
        lines = [f"--{batch}", f"Content-Type: multipart/mixed; boundary={change}", ""]
        for number, entity in enumerate(entities):
            path = self._path(table, entity["PartitionKey"], entity["RowKey"])
            url = f"http://127.0.0.1:{self.port}/{self.account}{path}"
            lines += [f"--{change}", "Content-Type: application/http", "Content-Transfer-Encoding: binary",
                      f"Content-ID: {number}", "", f"PUT {url} HTTP/1.1", "Accept: application/json;odata=nometadata",
                      "Content-Type: application/json", "", json.dumps(entity)]
        lines += [f"--{change}--", f"--{batch}--", ""]
        _, body = self._ask("POST", "/$batch", body="\r\n".join(lines),
                            headers={"Content-Type": f"multipart/mixed; boundary={batch}"})
        if body.count(b"HTTP/1.1 204") != len(entities):
            raise HttpFailure(202, {}, body)

    def change(self, method, table, partition_key, row_key, properties, etag):
        """Sends PUT, POST, MERGE or DELETE of one entity; guarded, if an etag is given. Returns the new etag, None for
        DELETE."""
        headers, path = self._guards(method, etag), self._path(table, partition_key, row_key)
        body = None
        if properties is not None:
            body = json.dumps({"PartitionKey": partition_key, "RowKey": row_key, **properties})
        if method == "POST":
            path, headers["Prefer"] = f"/{table}", "return-no-content"
        answered, _ = self._ask(method, path, body=body, headers=headers)
        return answered.get("ETag")

    def change_group(self, table, partition_key, changes):
        """Sends (method, row key, properties, etag) each, as one transaction; returns the new etags, None for
        DELETE."""
        batch, change = f"batch_{uuid.uuid4()}", f"changeset_{uuid.uuid4()}"
        lines = [f"--{batch}", f"Content-Type: multipart/mixed; boundary={change}", ""]
        for method, row_key, properties, etag in changes:
            path = f"/{table}" if method == "POST" else self._path(table, partition_key, row_key)
            headers = self._guards(method, etag)
            headers["Accept"] = "application/json;odata=nometadata"
            if method == "POST":
                headers["Prefer"] = "return-no-content"
            body = ""
            if properties is not None:
                headers["Content-Type"] = "application/json"
                body = json.dumps({"PartitionKey": partition_key, "RowKey": row_key, **properties})
            lines += [f"--{change}", "Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
                      f"{method} http://127.0.0.1:{self.port}/{self.account}{path} HTTP/1.1",
                      *(f"{name}: {value}" for name, value in headers.items()), "", body]
        lines += [f"--{change}--", f"--{batch}--", ""]
        _, body = self._ask("POST", "/$batch", body="\r\n".join(lines),
                            headers={"Content-Type": f"multipart/mixed; boundary={batch}"})
        text = body.decode()
        if text.count("HTTP/1.1 204") != len(changes):
            raise HttpFailure(int(re.search(r"HTTP/1.1 (\d+)", text).group(1)), {}, body)
        etags = iter(re.findall(r"(?im)^etag: (.*?)\r?$", text))
        return [None if method == "DELETE" else next(etags) for method, _, _, _ in changes]

    @staticmethod
    def _guards(method, etag):
        if method == "DELETE":
            return {"If-Match": etag or "*"}
        return {"If-Match": etag} if etag else {}

    def read_partition(self, table, partition_key):
        """Returns {row key: (properties, etag)}."""
        found, marker = {}, {}
        while True:
            query = urlencode({"$filter": f"PartitionKey eq '{partition_key}'", **marker})
            headers, body = self._ask("GET", f"/{table}()", query,
                                      headers={"Accept": "application/json;odata=fullmetadata"})
            for entity in json.loads(body)["value"]:
                properties = self._bare(entity)
                del properties["PartitionKey"], properties["RowKey"]
                found[entity["RowKey"]] = {k: v for k, v in properties.items() if "@" not in k}, entity["odata.etag"]
            marker = {name: headers["x-ms-continuation-" + name] for name in ("NextPartitionKey", "NextRowKey")
                      if headers.get("x-ms-continuation-" + name)}
            if not marker:
                return found

    def delete_table(self, table):
        self._ask("DELETE", f"/Tables('{table}')")

    def set_acl(self, table):
        self._ask("PUT", f"/{table}", "comp=acl", "<SignedIdentifiers/>", {"Content-Type": "application/xml"})

    def set_service_properties(self):
        self._ask("PUT", "/", "comp=properties&restype=service", "<StorageServiceProperties/>",
                  {"Content-Type": "application/xml"})

    def scan(self, table):
        """Returns every entity: {(PartitionKey, RowKey): entity}; empty for a table that does not exist."""
        found, marker = {}, {}
        while True:
            try:
                entities, marker = self.query_page(table, urlencode(marker))
            except HttpFailure as failure:
                if failure.status == 404:
                    return {}
                raise
            for entity in entities:
                key = entity["PartitionKey"], entity["RowKey"]
                if key in found:
                    raise AssertionError(f"{table} lists {key} twice")
                found[key] = entity
            if not marker:
                return found

    def query(self, table, text):
        """Returns the entities that a filter finds, and the indexes that the answers used."""
        found, indexes, marker = [], set(), {}
        while True:
            headers, entities, marker = self._page(table, urlencode({"$filter": text, **marker}))
            found += entities
            indexes.add(headers.get("x-tidemark-index"))
            if not marker:
                return found, indexes - {None}

    def query_page(self, table, query):
        """Returns the entities of one answer, and the parameters that request the rest; none: there is no more."""
        return self._page(table, query)[1:]

    def _page(self, table, query):
        headers, body = self._ask("GET", f"/{table}()", query)
        marker = {name: headers["x-ms-continuation-" + name] for name in ("NextPartitionKey", "NextRowKey")
                  if headers.get("x-ms-continuation-" + name)}
        return headers, [self._bare(entity) for entity in json.loads(body)["value"]], marker

    @staticmethod
    def _path(table, partition_key, row_key):
        return f"/{table}(PartitionKey='{key_path(partition_key)}',RowKey='{key_path(row_key)}')"

    @staticmethod
    def _bare(entity):
        return {k: v for k, v in entity.items() if k != "Timestamp" and not k.startswith("odata.")}


class SharedKeyClient(HttpClient):
    """Signs as the queue and blob services require."""

    def _ask(self, method, path, query="", body=None, extensions=None, content_type="application/xml"):
        comp = "?" + query.split("&")[0] if query.startswith("comp=") else ""
        content_type = content_type if body is not None else ""
        headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2019-02-02", **(extensions or {})}
        signed = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers) if name.startswith("x-ms-"))
        text = f"{method}\n\n{content_type}\n\n{signed}/{ACCOUNT}/{ACCOUNT}{path}{comp}"
        headers["Authorization"] = f"SharedKeyLite {ACCOUNT}:" + _signature(text)
        if content_type:
            headers["Content-Type"] = content_type
        return self.ask(method, f"/{ACCOUNT}{path}" + (f"?{query}" if query else ""), headers, body)


class BlobClient(SharedKeyClient):
    """Block blobs; names are taken as they are."""

    def call(self, method, path, query="", body=None, extensions=None):
        """Calls any operation; returns headers and body of the answer."""
        return self._ask(method, path, query, body, extensions)

    def create_container(self, name):
        self._ask("PUT", f"/{name}", "restype=container")

    def put(self, container, name, content):
        self._ask("PUT", f"/{container}/{name}", body=content, extensions={"x-ms-blob-type": "BlockBlob"},
                  content_type="application/octet-stream")

    def put_blocks(self, container, name, blocks):
        ids = [base64.b64encode(f"{number:06}".encode()).decode() for number in range(len(blocks))]
        for block_id, block in zip(ids, blocks):
            self._ask("PUT", f"/{container}/{name}", "comp=block&" + urlencode({"blockid": block_id}), block,
                      content_type="application/octet-stream")
        listed = "".join(f"<Latest>{block_id}</Latest>" for block_id in ids)
        self._ask("PUT", f"/{container}/{name}", "comp=blocklist", f"<BlockList>{listed}</BlockList>".encode())

    def get(self, container, name):
        try:
            return self._ask("GET", f"/{container}/{name}")[1]
        except HttpFailure as failure:
            if failure.status == 404:
                return None
            raise

    def objects(self, container):
        """Returns {name: content} of a container, empty if there is none; a blob that is deleted while it is read is
        left out."""
        found, marker = {}, ""
        while True:
            query = urlencode({"comp": "list", "restype": "container", "marker": marker})
            try:
                _, body = self._ask("GET", f"/{container}", query)
            except HttpFailure as failure:
                if failure.status == 404:
                    return {}
                raise
            listed = xml.etree.ElementTree.fromstring(body.decode("utf-8-sig"))
            for name in listed.iter("Name"):
                content = self.get(container, quote(name.text))
                if content is not None:
                    found[name.text] = content
            marker = listed.findtext("NextMarker")
            if not marker:
                return found

    def delete(self, container, name):
        self._ask("DELETE", f"/{container}/{name}")


class QueueClient(SharedKeyClient):
    """Messages are dicts of the elements that the service gives: MessageId, MessageText, PopReceipt and so on."""

    @staticmethod
    def _message(text):
        message = xml.etree.ElementTree.Element("QueueMessage")
        xml.etree.ElementTree.SubElement(message, "MessageText").text = text
        return xml.etree.ElementTree.tostring(message)

    @staticmethod
    def _messages(body):
        return [{element.tag: element.text or "" for element in message}
                for message in xml.etree.ElementTree.fromstring(body.decode("utf-8-sig"))]

    def put(self, queue, text, **parameters):
        """Puts a message; returns its id. Parameters: visibilitytimeout, messagettl."""
        _, body = self._ask("POST", f"/{queue}/messages", urlencode(parameters), self._message(text))
        return self._messages(body)[0]["MessageId"]

    def put_once(self, queue, text, key, retention_s):
        """Puts a message; the same key again gives the same message, for a while."""
        extensions = {"x-ms-tidemark-idempotency-key": key, "x-ms-tidemark-idempotency-retention": str(retention_s)}
        self._ask("POST", f"/{queue}/messages", "messagettl=1", self._message(text), extensions)

    def finish_one(self, queue):
        """Takes a message, if there is one, and ends it with a follow-up into the same queue."""
        for message in self.take(queue):
            query = urlencode({"popreceipt": message["PopReceipt"], "visibilitytimeout": 0})
            self._ask("PUT", f"/{queue}/messages/{message['MessageId']}", query, self._message("next"),
                      {"x-ms-tidemark-finish": "true"})

    def take(self, queue, count=1, visibility_s=30):
        _, body = self._ask("GET", f"/{queue}/messages", f"numofmessages={count}&visibilitytimeout={visibility_s}")
        return self._messages(body)

    def peek(self, queue, count=32):
        _, body = self._ask("GET", f"/{queue}/messages", f"peekonly=true&numofmessages={count}")
        return self._messages(body)

    def update(self, queue, message, visibility_s, text=None):
        """Updates the message; returns it with its new receipt."""
        query = urlencode({"popreceipt": message["PopReceipt"], "visibilitytimeout": visibility_s})
        body = None if text is None else self._message(text)
        headers, _ = self._ask("PUT", f"/{queue}/messages/{message['MessageId']}", query, body)
        return dict(message, PopReceipt=headers["x-ms-popreceipt"])

    def delete(self, queue, message):
        query = urlencode({"popreceipt": message["PopReceipt"]})
        self._ask("DELETE", f"/{queue}/messages/{message['MessageId']}", query)

    def clear(self, queue):
        self._ask("DELETE", f"/{queue}/messages")

    def create(self, queue, parts=None):
        self._ask("PUT", f"/{queue}", extensions={"x-ms-meta-tidemark_parts": str(parts)} if parts else None)

    def delete_queue(self, queue):
        self._ask("DELETE", f"/{queue}")

    def set_acl(self, queue):
        self._ask("PUT", f"/{queue}", "comp=acl", b"<SignedIdentifiers/>")

    def set_metadata(self, queue):
        self._ask("PUT", f"/{queue}", "comp=metadata")

    def set_service_properties(self):
        self._ask("PUT", "/", "comp=properties&restype=service", b"<StorageServiceProperties/>")

    def length(self, queue):
        """Counts all messages, also those that are leased or delayed."""
        headers, _ = self._ask("GET", f"/{queue}", "comp=metadata")
        return int(headers["x-ms-approximate-messages-count"])

    def visible(self, queue):
        """Counts the messages that wait to be taken, 32 at most."""
        return len(self.peek(queue))


class ApiClient(HttpClient):
    def send(self, method, target, headers=None, body=None):
        return super().send(method, target, {"Authorization": f"Bearer {TOKEN}", **(headers or {})}, body)

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        _, content = self.ask(method, path, headers, None if body is None else json.dumps(body))
        return json.loads(content) if content else None

    def submit(self, spec):
        """Submits a job; returns its id. With an idempotency key in the spec it may be repeated."""
        return self.call("POST", "/v1/jobs", spec)["id"]

    def job(self, job_id):
        return self.call("GET", f"/v1/jobs/{job_id}")

    def cancel(self, job_id):
        return self.call("POST", f"/v1/jobs/{job_id}/cancel")

    def jobs(self):
        return self._all("/v1/jobs", "jobs")

    def poison(self):
        return self._all("/v1/poison", "poison")

    def _all(self, path, member):
        found, query = [], "limit=1000"
        while True:
            page = self.call("GET", f"{path}?{query}")
            found += page[member]
            if "continuation" not in page:
                return found
            query = urlencode({"limit": 1000, "continuation": page["continuation"]})


def job_if_known(api, job_id):
    """Returns None as long as there is no record: the first delivery makes that of a job that tells of an end."""
    try:
        return api.job(job_id)
    except HttpFailure as failure:
        if failure.status == 404:
            return None
        raise


def ended(job):
    return job["state"] in ("succeeded", "poisoned", "cancelled")
