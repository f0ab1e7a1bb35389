"""The few calls of the Azure protocols that prepare and check a benchmark. Any unexpected answer ends the run."""
import base64
import concurrent.futures
import datetime
import hashlib
import hmac
import http.client
import json
import random
import string
import urllib.parse

ACCOUNT = "devstoreaccount1"
# The well-known key of the storage emulators: no secret.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "2021-12-02"
JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json;odata=nometadata"}
FILL_CONNECTIONS = 8
GROUP = 100
# With its JSON around it, data of this length makes a body of 1 KiB.
DATA_LENGTH = 1024 - len('{"Data":""}')


def account_sas(account=ACCOUNT, key=KEY):
    """Returns a shared access signature for everything, as the query of a URL: the server verifies it, and a load
    script need not sign."""
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    start, end = ((now + d).strftime("%Y-%m-%dT%H:%M:%SZ") for d in (-day, day))
    fields = {"sp": "rwdlacup", "ss": "btqf", "srt": "sco", "st": start, "se": end, "sip": "", "spr": "https,http",
              "sv": VERSION, "ses": ""}
    text = "".join(value + "\n" for value in [account, *fields.values()])
    signature = base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()
    return urllib.parse.urlencode({k: v for k, v in fields.items() if v} | {"sig": signature})


SAS = account_sas()


def random_text(length, seed):
    """Returns text that does not compress to nothing, as a row of one letter would."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


class Connection:
    """One kept-alive connection to one store."""

    def __init__(self, port):
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def call(self, method, path, body=None, headers=None, expect=(200, 201, 202, 204)):
        """Returns the body and the headers of the answer."""
        separator = "&" if "?" in path else "?"
        self.http.request(method, f"/{ACCOUNT}/{path}{separator}{SAS}", body, {"x-ms-version": VERSION, **(headers or {})})
        answer = self.http.getresponse()
        content = answer.read()
        if answer.status not in expect:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {content[:300]!r}")
        return content, answer.headers


def create_table(port, table):
    Connection(port).call("POST", "Tables", '{"TableName":"%s"}' % table, JSON_HEADERS)


def create_queue(port, queue, parts=None):
    Connection(port).call("PUT", queue, headers={"x-ms-meta-tidemark_parts": str(parts)} if parts else None)


def blob_name(number):
    """The same as blob_path in wrk/common.lua."""
    return f"b{number:08d}"


def fill_container(port, container, count, size, kind="BlockBlob"):
    """Creates the container with blobs 0..count-1: block blobs of this size, or empty append blobs."""
    Connection(port).call("PUT", f"{container}?restype=container")
    body = random_text(size, "blob").encode() if kind == "BlockBlob" else b""

    def write(share):
        connection = Connection(port)
        for number in range(share, count, FILL_CONNECTIONS):
            connection.call("PUT", f"{container}/{blob_name(number)}", body,
                            {"x-ms-blob-type": kind, "Content-Type": "application/octet-stream"})

    with concurrent.futures.ThreadPoolExecutor(FILL_CONNECTIONS) as pool:
        list(pool.map(write, range(FILL_CONNECTIONS)))


def keys_of(number, per_partition):
    """The same as entity_keys in wrk/common.lua."""
    return f"p{number // per_partition:06d}", f"r{number:09d}"


def group_of(port, table, numbers, per_partition, body_of):
    """Sends an entity group transaction that inserts or replaces these entities of one partition."""
    parts = []
    for number in numbers:
        partition, row = keys_of(number, per_partition)
        parts.append("--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
                     f"PUT http://127.0.0.1:{port}/{ACCOUNT}/{table}(PartitionKey='{partition}',RowKey='{row}') HTTP/1.1\r\n"
                     'Content-Type: application/json\r\nAccept: application/json;odata=minimalmetadata\r\n\r\n'
                     f'{body_of(number)}\r\n')
    return ("--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n" + "".join(parts)
            + "--changeset_1--\r\n--batch_1--\r\n").encode()


TEXTS = [random_text(DATA_LENGTH, seed) for seed in range(16)]


def plain_body(number):
    return f'{{"Data":"{TEXTS[(number // GROUP) % len(TEXTS)]}"}}'


def write_groups(port, table, count, per_partition, body_of=plain_body):
    """Inserts or replaces entities 0..count-1 by group transactions, as fast as they are answered. Both counts are whole hundreds."""
    def write(share):
        connection = Connection(port)
        for first in range(share * GROUP, count, FILL_CONNECTIONS * GROUP):
            body = group_of(port, table, range(first, first + GROUP), per_partition, body_of)
            answer, _ = connection.call("POST", "$batch", body, {
                "Content-Type": "multipart/mixed; boundary=batch_1", "Accept": "application/json",
                "DataServiceVersion": "3.0"})
            if answer.count(b"HTTP/1.1 204") != GROUP:
                raise RuntimeError(f"an entity group transaction failed: {answer[:600]!r}")

    with concurrent.futures.ThreadPoolExecutor(FILL_CONNECTIONS) as pool:
        list(pool.map(write, range(FILL_CONNECTIONS)))


def fill_table(port, table, count, per_partition, body_of=plain_body):
    """Creates the table with entities 0..count-1 of 1 KiB, and reads the last one back."""
    create_table(port, table)
    write_groups(port, table, count, per_partition, body_of)
    partition, row = keys_of(count - 1, per_partition)
    last, _ = Connection(port).call("GET", f"{table}(PartitionKey='{partition}',RowKey='{row}')", None, JSON_HEADERS)
    if not json.loads(body_of(count - 1)).items() <= json.loads(last).items():
        raise RuntimeError("the last entity did not come back as written")


def pages(connection, table, query):
    """Yields the text of each page that answers the query."""
    following = ""
    while True:
        body, headers = connection.call("GET", f"{table}()?{query}{following}", None, JSON_HEADERS)
        yield body
        marks = {name: headers.get(f"x-ms-continuation-{name}") for name in ("NextPartitionKey", "NextRowKey")}
        if not marks["NextPartitionKey"]:
            return
        following = "&" + urllib.parse.urlencode({k: v for k, v in marks.items() if v})


def scan(connection, table, condition):
    """Returns how many entities match, over all pages."""
    query = f"$filter={urllib.parse.quote(condition)}"
    return sum(page.count(b'"RowKey"') for page in pages(connection, table, query))
