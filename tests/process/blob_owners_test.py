"""Several blob stores that share the shards of one PostgreSQL database and one folder of payload files: which calls are
passed on, and whether acknowledged blobs survive when owners are killed, frozen, stopped and started
(support/owners.py).
"""
import hashlib
import http.client
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import unittest
import uuid

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import ACCOUNT, ApiClient, BlobClient, HttpClient, HttpFailure, TableClient, ended, patiently  # noqa: E402
from owners import GONE, ROUNDS, SHARDS, TRY_FOR_S, Load, OwnersCase, setUpModule  # noqa: E402, F401
from stack import wait_until  # noqa: E402

BOX = "box"
SMALL, LARGE = 2_000, 700_000  # a row, and a file of three chunks
WORKER = ("--lease-s", "2", "--poll-s", "1", "--retry-base-ms", "20", "--retry-cap-ms", "200")
KINDS = {"small": SMALL, "large": LARGE, "append": 0}


class Client(BlobClient):
    timeout_s = TRY_FOR_S


def content_of(name, number, size):
    """Content that identifies itself from its beginning to its end."""
    line = f"{name} {number} {hashlib.sha256(f'{name} {number}'.encode()).hexdigest()}\n".encode()
    return (line * (size // len(line) + 1))[:size]


def block(number):
    return f"{number}\n".encode()


class Repeated:
    """A body that repeats a piece."""

    def __init__(self, piece, total):
        self.piece, self.left = piece, total

    def read(self, _):
        some = self.piece[:self.left]
        self.left -= len(some)
        return some


class Unsent(BlobClient):
    """Keeps the text of a request, as a part of a batch contains it."""

    def send(self, method, target, headers=None, body=None):
        self.text = "".join([f"{method} {target} HTTP/1.1\r\n", *(f"{k}: {v}\r\n" for k, v in headers.items()), "\r\n"])
        return 202, {}, b""


class Downloader(BlobClient):
    """Compares the answer with a piece that is repeated; the body that it returns is its size."""
    timeout_s = 300.0

    def __init__(self, port, piece):
        super().__init__(port)
        self.piece = piece

    def send(self, method, target, headers=None, body=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_s)
        connection.request(method, target, headers=headers)
        response = connection.getresponse()
        size = 0
        while some := response.read(len(self.piece)):
            if some != self.piece[:len(some)]:
                raise AssertionError(f"other bytes after {size}")
            size += len(some)
        connection.close()
        return response.status, response.headers, size


class Blobs(Load):
    """Blobs whose content is replaced again and again, and blobs to which blocks are appended, on every shard. Each
    change names the state that it replaces, so that a late one does nothing, and one whose answer was lost is settled
    by a look at the blob. Meanwhile a reader asks every process for the content that was acknowledged before."""

    def __init__(self, test):
        name = uuid.uuid4().hex[:6]
        self.kinds = {test.name_on(shard, f"{name}-{kind}"): kind for shard in range(SHARDS) for kind in KINDS}
        super().__init__(test, list(self.kinds), Client)
        self.etags, self.reads = {}, 0
        self._threads.append(threading.Thread(target=self._read))

    def write(self, ask, place, number):
        self.etags[place] = ask(lambda client: self.change(client, place, number))

    def change(self, client, place, number):
        """Makes the change; returns the new ETag."""
        try:
            return self.send(client, place, number)
        except HttpFailure as failure:
            if failure.status not in (409, 412):
                raise
        # An earlier try has arrived, or a try before that arrives late and does nothing.
        headers, content = client.call("GET", f"/{BOX}/{place}")
        if content == self.expected(place, number):
            return headers["ETag"]
        self.test.assertEqual(content, self.expected(place, number - 1), f"{place} after {number - 1}")
        raise ConnectionError("it is as it was: once more")

    def send(self, client, place, number):
        path, guard = f"/{BOX}/{place}", {"If-None-Match": "*"} if number == 0 else {"If-Match": self.etags[place]}
        appends = self.kinds[place] == "append"
        if appends and number > 0:
            at = {"x-ms-blob-condition-appendpos": str(len(self.expected(place, number - 1)))}
            headers, _ = client.call("PUT", path, "comp=appendblock", block(number), at)
        else:
            kind = {"x-ms-blob-type": "AppendBlob" if appends else "BlockBlob"}
            headers, _ = client.call("PUT", path, "", self.expected(place, number), {**kind, **guard})
        return headers["ETag"]

    def expected(self, place, number):
        """Returns the whole blob after this change."""
        if self.kinds[place] == "append":
            return b"".join(block(each) for each in range(1, number + 1))
        return content_of(place, number, KINDS[self.kinds[place]])

    def _read(self):
        clients = {}
        try:
            for number in range(1_000_000):
                if self._stop.is_set():
                    return
                place = self.places[number % len(self.places)]
                ports = self.test.ports()
                port = ports[number // len(self.places) % len(ports)]
                before = self.done[place] - 1
                if port == self.avoid or before < 0:
                    continue
                try:
                    _, content = clients.setdefault(port, Client(port)).call("GET", f"/{BOX}/{place}")
                except HttpFailure as failure:
                    if failure.status != 503:
                        raise
                    continue
                except GONE:
                    continue
                latest = self.done[place]  # it may be under way
                if not any(content == self.expected(place, each) for each in range(before, latest + 1)):
                    raise AssertionError(f"{place}: {content[:80]!r} is none of {before} to {latest}")
                self.reads += 1
        except Exception as failure:  # raised by the test that waits for the load
            self.failed.append(failure)


class Containers(Load):
    """Containers that are made and deleted. Nothing of a deleted one is left when it is made again, even if a process
    dies meanwhile."""
    BLOBS = [f"blob-{number}" for number in range(6)]  # on several shards

    def __init__(self, test):
        super().__init__(test, ["again-0", "again-1"], Client)

    def write(self, ask, place, number):
        etag = ask(lambda client: self.make(client, place))
        for blob in self.BLOBS:
            self.test.assertIsNone(ask(lambda client: client.get(place, blob)), f"{place} {number}")
        for blob in self.BLOBS:
            ask(lambda client: client.put(place, blob, content_of(blob, number, LARGE if blob == "blob-0" else SMALL)))
        for blob in self.BLOBS:
            content = ask(lambda client: client.get(place, blob))
            self.test.assertTrue(content.startswith(f"{blob} {number} ".encode()), f"{place} {number}")
        ask(lambda client: self.remove(client, place, etag))

    @staticmethod
    def make(client, place):
        """Returns the container's ETag. A client that is told that it exists had made it already, and not been told."""
        try:
            return client.call("PUT", f"/{place}", "restype=container")[0]["ETag"]
        except HttpFailure as failure:
            if failure.status != 409:
                raise
        return client.call("GET", f"/{place}", "restype=container")[0]["ETag"]

    @staticmethod
    def remove(client, place, etag):
        """A deletion that arrives late, when there is another container, does nothing."""
        try:
            client.call("DELETE", f"/{place}", "restype=container", None, {"If-Match": etag})
        except HttpFailure as failure:
            if failure.status not in (404, 412):
                raise


class BlobOwnersTest(OwnersCase):
    store, folder = "blob_store", "blob"

    def setUp(self):
        super().setUp()
        self.payloads = tempfile.mkdtemp(prefix="tmp")
        self.addCleanup(shutil.rmtree, self.payloads, True)
        self._names = 0

    def sharing(self, database=None):
        return (*super().sharing(database), "--payload-folder", self.payloads)

    def client(self, name):
        return BlobClient(self.port(name))

    def start_two(self):
        for name in ("a", "b"):
            self.start(name)
        self.await_shares(2, 2)
        self.make_box()

    def make_box(self):
        def make():
            try:
                self.client(sorted(self.stacks)[0]).create_container(BOX)
            except HttpFailure as failure:
                if failure.status != 409:
                    raise
        self.eventually(make)

    def name_on(self, shard, kind):
        """Returns an unused name of a blob on this shard: the rows of a blob that is put tell where it is."""
        client = self.client(sorted(self.stacks)[0])
        while True:
            self._names += 1
            name = f"{kind}-{self._names}"
            self.eventually(lambda: client.put(BOX, name, b"x"))
            where = self.query("SELECT shard FROM tidemark_blob.entries WHERE "
                                       f"position('{name}'::bytea in key) > 0 LIMIT 1")
            self.eventually(lambda: client.delete(BOX, name))
            if int(where) == shard:
                return name

    def files(self):
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.payloads) for name in names
                if name != "tidemark-payloads"]

    def new_load(self):
        self.make_box()
        self.marks = [self.name_on(shard, "mark") for shard in range(SHARDS)]
        return Blobs(self)

    def check_load(self, load):
        """Every acknowledged blob is there, at each process; nothing else takes space."""
        for process in sorted(self.stacks):
            for place in load.places:
                content = self.eventually(lambda: self.client(process).get(BOX, place))
                self.assertEqual(content, load.expected(place, load.done[place] - 1), f"{place} at {process}")
            listed = self.eventually(lambda: self.listed(process))
            for place in load.places:
                self.assertEqual(listed.get(place), len(load.expected(place, load.done[place] - 1)), f"list at {process}")
        large = sum(size > 256 << 10 for size in listed.values())
        try:
            wait_until(lambda: len(self.files()) == large, f"{large} files are left")
        except AssertionError as failure:
            rows = self.query("SELECT shard, left(encode(key, 'escape'), 1), count(*), min(encode(key, 'hex')) FROM "
                              "tidemark_blob.entries WHERE left(encode(key, 'escape'), 1) IN ('D', 'Q', 'W') GROUP BY 1, 2")
            raise AssertionError(f"{failure}; there are {self.files()}; dead, pending and late: {rows}") from None
        print(f"  {sum(load.done.values())} writes, {load.reads} reads, {load.statuses}", file=sys.stderr)

    def mark(self, name, shard, text):
        self.client(name).put(BOX, self.marks[shard], text.encode())

    def read_mark(self, name, shard):
        return self.client(name).get(BOX, self.marks[shard]).decode()

    def listed(self, process):
        """Returns {name: size}."""
        _, body = self.client(process).call("GET", f"/{BOX}", "comp=list&restype=container")
        found = re.findall(r"<Blob><Name>([^<]+)</Name>.*?<Content-Length>(\d+)</Content-Length>", body.decode())
        return {name: int(size) for name, size in found}

    def test_settings(self):
        in_database = ("--engine", "postgres", "--database", self.database, "--shards", str(SHARDS))
        shared = (*in_database, "--share-shards", "true")
        self.assertIn("share_shards needs payload_folder", self.refused("blob_store", *shared))
        self.assertIn("payload_folder is set, but share_shards is not",
                      self.refused("blob_store", *in_database, "--payload-folder", self.payloads))
        self.assertIn("is not a directory",
                      self.refused("blob_store", *shared, "--payload-folder", self.payloads + "/none"))
        self.start("a")
        wait_until(lambda: self.query("SELECT count(*) FROM tidemark_blob.entries WHERE "
                                              "key = 'F'::bytea") == "1", "the folder is noted")
        other = tempfile.mkdtemp(prefix="tmp")
        self.addCleanup(shutil.rmtree, other, True)
        self.assertIn("Is it mounted?", self.refused("blob_store", *shared, "--payload-folder", other))
        with open(os.path.join(other, "tidemark-payloads"), "w", encoding="ascii") as file:
            file.write("another\n")
        self.assertIn("has another id", self.refused("blob_store", *shared, "--payload-folder", other))

    def test_any_process_takes_any_request(self):
        self.start_two()
        for shard in range(SHARDS):
            for size in (0, SMALL, LARGE):
                for name, other in (("a", "b"), ("b", "a")):
                    blob = self.name_on(shard, f"{size}-{name}")
                    content = content_of(blob, 0, size)
                    self.client(name).put(BOX, blob, content)
                    self.assertEqual(self.client(other).get(BOX, blob), content)
                    self.assertEqual(self.client(name).get(BOX, blob), content)
                    with self.assertRaises(HttpFailure) as unmet:
                        self.client(other).call("PUT", f"/{BOX}/{blob}", "", b"no",
                                                {"x-ms-blob-type": "BlockBlob", "If-None-Match": "*"})
                    self.assertEqual((unmet.exception.status, unmet.exception.code), (409, "BlobAlreadyExists"))
                    self.client(other).call("PUT", f"/{BOX}/{blob}", "comp=lease", b"",
                                            {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1"})
                    with self.assertRaises(HttpFailure) as leased:
                        self.client(name).delete(BOX, blob)
                    self.assertEqual(leased.exception.code, "LeaseIdMissing")
            strange = HttpClient(self.port("a"))
            self.assertEqual(strange.send("GET", f"/{ACCOUNT}/{BOX}/{blob}")[0], 401, "credentials are checked everywhere")
        self.assertEqual(self.listed("a"), self.listed("b"))

    def test_containers_belong_to_all(self):
        self.start_two()
        blobs = [self.name_on(shard, "kept") for shard in range(SHARDS)]
        for number in range(2):
            for name, other in (("a", "b"), ("b", "a")):
                self.client(name).create_container("temporary")
                with self.assertRaises(HttpFailure) as there:
                    self.client(other).create_container("temporary")
                self.assertEqual(there.exception.code, "ContainerAlreadyExists")
                self.client(other).call("PUT", "/temporary", "comp=metadata&restype=container", b"",
                                        {"x-ms-meta-by": other})
                headers, _ = self.client(name).call("GET", "/temporary", "restype=container")
                self.assertEqual(headers["x-ms-meta-by"], other)
                for blob in blobs:
                    self.client(other).put("temporary", blob, content_of(blob, number, LARGE))
                self.client(name).call("DELETE", "/temporary", "restype=container")
                for blob in blobs:
                    for process in (name, other):
                        self.assertIsNone(self.client(process).get("temporary", blob))
                with self.assertRaises(HttpFailure) as gone:
                    self.client(other).put("temporary", blobs[0], b"no")
                self.assertEqual(gone.exception.code, "ContainerNotFound")
        wait_until(lambda: not self.files(), "what was in the containers is collected")

    def test_copies_between_shards(self):
        self.start_two()
        for size in (SMALL, LARGE):
            source = self.name_on(self.served("a")[0], "source")
            content = content_of(source, 0, size)
            self.client("a").put(BOX, source, content)
            for shard in range(SHARDS):
                for name in ("a", "b"):
                    copy = self.name_on(shard, "copy")
                    url = f"http://127.0.0.1:{self.port(name)}/{ACCOUNT}/{BOX}/{source}"
                    self.client(name).call("PUT", f"/{BOX}/{copy}", "", None, {"x-ms-copy-source": url})
                    self.assertEqual(self.client("a").get(BOX, copy), content)
        large = [name for name, size in self.listed("b").items() if size == LARGE]
        self.assertEqual(len(large), 1 + 2 * SHARDS)

    def test_a_batch_has_parts_everywhere(self):
        self.start_two()
        for name in ("a", "b"):
            blobs = [self.name_on(shard, "part") for shard in range(SHARDS)]
            for blob in blobs:
                self.client(name).put(BOX, blob, b"gone soon")
            parts = []
            for blob in blobs:
                part = Unsent(self.port(name))
                part.delete(BOX, blob)
                parts.append(f"--batch_1\r\nContent-Type: application/http\r\n\r\n{part.text}\r\n")
            client = self.client(name)
            _, body = client._ask("POST", "/", "comp=batch", ("".join(parts) + "--batch_1--\r\n").encode(),
                                  content_type="multipart/mixed; boundary=batch_1")
            self.assertEqual(body.count(b"HTTP/1.1 202"), SHARDS, body)
            self.assertEqual(set(blobs) & set(self.listed(name)), set())

    def test_kill(self):
        self.kill_owners()

    @sizes.at_night
    def test_freeze(self):
        self.freeze_owners()

    @sizes.at_night
    def test_cut_off_from_the_database(self):
        self.cut_owners_off()

    @sizes.in_turn(0)
    def test_cut_off_by_the_network(self):
        self.cut_owners_off_by_the_network()

    @sizes.in_turn(1)
    def test_handover(self):
        self.hand_over()

    @sizes.at_night
    def test_containers_come_and_go_while_owners_die(self):
        names = ("a", "b", "c")
        for name in names:
            self.start(name)
        self.await_shares(2, 1, 1)
        with Containers(self) as load:
            for number in range(ROUNDS):
                self.await_writes(load, 60)
                self.child(names[number % 3]).kill()
                self.await_writes(load, 60)
                self.start(names[number % 3])
                self.await_shares(2, 1, 1)
        for name in names:
            for place in load.places:
                self.assertEqual(self.eventually(lambda: self.client(name).objects(place)), {})
        wait_until(lambda: not self.files(), "all that was in them is collected")
        print(f"containers that came and went: {load.done}", file=sys.stderr)

    @sizes.in_turn(2)
    def test_jobs_archive_to_owners_that_die(self):
        """Workers and the api are at `a`. Each entity becomes a document, written under the fence of the job on its
        shard."""
        self.start_two()
        stack = self.stacks["a"]
        for store in ("queue_service", "table_store"):
            stack.start(store)
        stack.start("api")
        for number in range(2):
            stack.start_worker(f"worker-{number}", *WORKER)
        api, tables = ApiClient(stack.ports["api"]), TableClient(stack.ports["table_store"])
        for number in range(ROUNDS):
            source, box = f"From{number}", f"to-{number}"
            tables.create_table(source)
            entities = {(f"p{p:02}", f"r{r:02}"): {"PartitionKey": f"p{p:02}", "RowKey": f"r{r:02}", "N": p * 100 + r}
                        for p in range(20) for r in range(50)}
            tables.put_many(source, list(entities.values()))
            job = patiently(api.submit, {"kind": "archive", "source": source, "filter": "N ge 0", "maxAttempts": 100,
                                         "maxPerSecond": 200, "destination": {"container": box, "format": "entity"}})
            for victim in ("b", "a"):
                before = len(self.archived(box))
                wait_until(lambda: len(self.archived(box)) > before or self.ended(api, job), "it moves")
                self.child(victim).kill()
                self.start(victim)
                self.await_shares(2, 2)
            wait_until(lambda: self.ended(api, job), "the job ends", 120)
            done = api.job(job)
            self.assertEqual(done["state"], "succeeded", done)
            self.assertEqual(tables.scan(source), {})
            self.assertEqual(self.archived(box), entities)
            self.assertEqual(done["progress"]["done"], len(entities), "each is counted once")

    def archived(self, box):
        """Returns {(PartitionKey, RowKey): its N}, as both processes show it."""
        found = {}
        for name in ("a", "b"):
            objects = self.eventually(lambda: self.client(name).objects(box))
            each = [json.loads(content) for content in objects.values()]
            found[name] = {(one["PartitionKey"], one["RowKey"]): {k: one[k] for k in ("PartitionKey", "RowKey", "N")} for one in each}
        return min(found.values(), key=len)

    @staticmethod
    def ended(api, job):
        return ended(patiently(api.job, job))

    def test_a_large_body_streams_through_the_wrong_process(self):
        self.start_two()
        blob = self.name_on(self.served("b")[0], "huge")
        piece = os.urandom(1 << 20)
        total = sizes.scaled(192) << 20  # several times the memory that a process may use for it
        before = self.peak("a"), self.peak("b")
        client = BlobClient(self.port("a"))
        client.timeout_s = 300
        begun = time.monotonic()
        client.call("PUT", f"/{BOX}/{blob}", "", Repeated(piece, total),
                    {"x-ms-blob-type": "BlockBlob", "Content-Length": str(total)})
        up = time.monotonic() - begun
        begun = time.monotonic()
        _, got = Downloader(self.port("a"), piece).call("GET", f"/{BOX}/{blob}")
        down = time.monotonic() - begun
        self.assertEqual(got, total)
        for name, peak in zip(("a", "b"), before):
            self.assertLess(self.peak(name) - peak, 64, f"MiB more at {name}")
        print(f"{total >> 20} MiB up {total / up / 1e6:.0f} MB/s, down {total / down / 1e6:.0f} MB/s", file=sys.stderr)

    def peak(self, name):
        """Returns the most MiB of memory that the process has had."""
        with open(f"/proc/{self.child(name).pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) >> 10


if __name__ == "__main__":
    unittest.main()
