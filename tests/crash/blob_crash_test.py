"""Kills the blob store with SIGKILL, at every fail point and at random, under clients that write names of their own:
whole blobs small and large, blocks, snapshots, copies, appends, pages, tags and deletions.

The oracle is the answers that the clients got; it lives in this process. However the store dies, a blob is whole and
either as it was or as it became, byte for byte; an acknowledged write is there, and an append once; in the end, when
everything is deleted, no file is left.
"""
import contextlib
import http.client
import os
import random
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import shards  # noqa: E402
from clients import BlobClient, HttpFailure, patiently  # noqa: E402
from stack import wait_until  # noqa: E402
from store_crashes import StoreCrashTest, main  # noqa: E402

CONTAINER = "kept"
WRITERS = 3
UNANSWERED = (OSError, http.client.HTTPException)
DISK = 2 << 20
SIZES = (0, 10, 1000, 100_000, 400_000, 1_500_000)


class Writer:
    """The only client of its names, so it knows what each name must have: content, or nothing."""

    def __init__(self, port, number, seed):
        self.client = BlobClient(port)
        self.choice = random.Random(seed * 100 + number)
        self.number = number
        self.known = {f"w{number}-{n}": None for n in range(3)}
        self.snapshots = {}   # by (name, time)
        self.done = {"acknowledged": 0, "unanswered": 0}
        self.made = 0

    def content(self):
        self.made += 1
        size = self.choice.choice(SIZES)
        mark = f"{self.number}:{self.made};".encode()
        return (mark * (size // len(mark) + 1))[:size]

    def step(self):
        name = self.choice.choice([name for name in self.known if name.startswith("w")])
        action = self.choice.choice((self.put, self.put, self.put_blocks, self.copy, self.snapshot, self.delete,
                                     self.append, self.append, self.pages, self.pages, self.tag))
        try:
            action(name)
            self.done["acknowledged"] += 1
        except UNANSWERED:
            self.done["unanswered"] += 1
        except HttpFailure as failure:
            if failure.status < 500:
                raise AssertionError(f"{name}: {action.__name__} was refused: {failure}"[:2000]) from failure
            self.done["unanswered"] += 1

    def written(self, name, before, after, call):
        """A write without an answer happened as a whole or not at all."""
        try:
            call()
        except (HttpFailure, *UNANSWERED) as failure:
            if isinstance(failure, HttpFailure) and failure.status < 500:
                raise
            found = patiently(self.client.get, CONTAINER, name)
            if found not in (before, after):
                raise AssertionError(f"{name} is neither what it was nor what it became") from failure
            self.known[name] = found
            raise
        self.known[name] = after

    def put(self, name):
        content = self.content()
        self.written(name, self.known[name], content, lambda: self.client.put(CONTAINER, name, content))

    def put_blocks(self, name):
        blocks = [block for block in (self.content(), self.content(), self.content()) if block] or [b"x"]
        self.written(name, self.known[name], b"".join(blocks), lambda: self.client.put_blocks(CONTAINER, name, blocks))

    def copy(self, name):
        source = next((other for other, content in self.known.items() if content is not None and other.startswith("w")), None)
        if source is None:
            return
        url = f"http://127.0.0.1:{self.client.port}/devstoreaccount1/{CONTAINER}/{source}"
        self.written(name, self.known[name], self.known[source],
                     lambda: self.client.call("PUT", f"/{CONTAINER}/{name}", extensions={"x-ms-copy-source": url}))

    def snapshot(self, name):
        if self.known[name] is None:
            return
        headers, _ = self.client.call("PUT", f"/{CONTAINER}/{name}", "comp=snapshot")
        self.snapshots[name, headers["x-ms-snapshot"]] = self.known[name]

    def tag(self, name):
        if self.known[name] is None:
            return
        body = f"<Tags><TagSet><Tag><Key>made</Key><Value>{self.made}</Value></Tag></TagSet></Tags>".encode()
        self.client.call("PUT", f"/{CONTAINER}/{name}", "comp=tags", body)

    def delete(self, name):
        if self.known[name] is None:
            return

        def delete():
            self.client.call("DELETE", f"/{CONTAINER}/{name}", extensions={"x-ms-delete-snapshots": "include"})
            self.forget_snapshots(name)
        try:
            self.written(name, self.known[name], None, delete)
        finally:
            if self.known[name] is None:
                self.forget_snapshots(name)

    def forget_snapshots(self, name):
        self.snapshots = {key: content for key, content in self.snapshots.items() if key[0] != name}

    def append(self, _):
        """The append position tells whether an append without an answer was done."""
        name = f"log{self.number}"
        path = f"/{CONTAINER}/{name}"
        before = self.known.setdefault(name, None)
        if before is None or len(before) > 2_000_000:
            self.written(name, before, b"", lambda: self.client.call("PUT", path, extensions={"x-ms-blob-type": "AppendBlob"}))
            return
        block = self.content() or b"x"
        at = {"x-ms-blob-condition-appendpos": str(len(before))}
        self.written(name, before, before + block, lambda: self.client.call("PUT", path, "comp=appendblock", block, extensions=at))

    def pages(self, _):
        """Small and large writes and clears, including ranges that snapshots share."""
        name = f"disk{self.number}"
        path = f"/{CONTAINER}/{name}"
        before = self.known.setdefault(name, None)
        if before is None:
            made = {"x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": str(DISK)}
            self.written(name, before, bytes(DISK), lambda: self.client.call("PUT", path, extensions=made))
            return
        if self.choice.random() < 0.1 and sum(name == other for other, _ in self.snapshots) < 3:
            self.snapshot(name)
            return
        clears = self.choice.random() < 0.3
        start = 512 * self.choice.randrange(DISK // 512)
        size = min(512 * self.choice.choice((1, 8, 1000)), DISK - start)
        self.made += 1
        mark = f"{self.number}:{self.made};".encode()
        part = bytes(size) if clears else (mark * size)[:size]
        where = {"x-ms-range": f"bytes={start}-{start + size - 1}", "x-ms-page-write": "clear" if clears else "update"}
        self.written(name, before, before[:start] + part + before[start + size:],
                     lambda: self.client.call("PUT", path, "comp=page", b"" if clears else part, extensions=where))

    def check(self):
        for name, content in self.known.items():
            found = patiently(self.client.get, CONTAINER, name)
            assert found == content, f"{name} is not what was written last"
        for (name, time), content in self.snapshots.items():
            _, found = patiently(self.client.call, "GET", f"/{CONTAINER}/{name}", f"snapshot={time}")
            assert found == content, f"{name} of {time} has changed"


class Traffic:
    def __init__(self, stack, seed):
        self.stopping = threading.Event()
        self.errors = []
        self.writers = [Writer(stack.ports["blob_store"], n, seed) for n in range(WRITERS)]
        self._threads = [threading.Thread(target=self._write, args=(writer,)) for writer in self.writers]
        for thread in self._threads:
            thread.start()

    def _write(self, writer):
        try:
            while not self.stopping.is_set():
                writer.step()
        except BaseException as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def stop(self):
        self.stopping.set()
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise self.errors[0]


class BlobCrashTest(StoreCrashTest):
    program = "blob_store"
    # Workers, the deletion of a container, expiry or an explicit request reach these, but this traffic does not.
    rare = ("rpc.", "kv.erase_range", "kv.drop_faded", "blob.collect_generation", "blob.purge", "blob.delete_container", "blob.change_container",
            "blob.settle_kept", "blob.lease", "blob.undelete", "blob.set_service_properties", "blob.set_tier", "blob.change_blob", "blob.seal",
            "blob.create_container", "blob.abandon", "catalogue.")

    def prepare(self):
        self.stack.start("blob_store")
        BlobClient(self.stack.ports["blob_store"]).create_container(CONTAINER)

    def start_traffic(self):
        return Traffic(self.stack, self.seed)

    def judge(self, traffic, told):
        for writer in traffic.writers:
            writer.check()
        done = [sum(writer.done[what] for writer in traffic.writers) for what in ("acknowledged", "unanswered")]
        print(f"{done[0]} acknowledged, {done[1]} unanswered", flush=True)
        self.assertGreater(done[0], 0)
        self.nothing_is_left()

    def nothing_is_left(self):
        client = BlobClient(self.stack.ports["blob_store"])
        patiently(client.call, "DELETE", f"/{CONTAINER}", "restype=container")
        payloads = os.path.join(self.stack.data, "blob", "payloads")
        wait_until(lambda: not any(files for _, _, files in os.walk(payloads)), "the end of all files")


class FailPointTest(BlobCrashTest):
    def test_death_at_every_fail_point(self):
        self.die_at_every_point(15, but_not=self.rare)


class SnapshotsTest(BlobCrashTest):
    """More snapshots than one transaction removes disappear at once for every reader, wherever the store dies
    meanwhile."""
    count = 700

    def test_death_while_many_snapshots_go(self):
        for point in ("blob.settle_kept.before:1", "blob.settle_kept.after:1", "blob.settle_kept.after:2"):
            client = BlobClient(self.stack.ports["blob_store"])
            client.put(CONTAINER, "many", b"x" * 300_000)
            taken = [client.call("PUT", f"/{CONTAINER}/many", "comp=snapshot")[0]["x-ms-snapshot"] for _ in range(self.count)]
            dying = self.stack.restart_to_die("blob_store", point)
            wait_until(lambda: self.answers(client), "the store answers")
            with contextlib.suppress(*UNANSWERED):
                self.delete_once(client)
            wait_until(lambda: not dying.alive(), f"death at {point}; it wrote:\n{dying.log()}")
            self.stack.restart("blob_store")
            patiently(self.delete_once, client)
            for snapshot in (taken[0], taken[-1]):
                with self.assertRaises(HttpFailure) as raised:
                    patiently(client.call, "GET", f"/{CONTAINER}/many", f"snapshot={snapshot}")
                self.assertEqual(raised.exception.status, 404)
        self.nothing_is_left()

    @staticmethod
    def answers(client):
        try:
            return client.send("GET", "/readyz")[0] == 200
        except UNANSWERED:
            return False

    @staticmethod
    def delete_once(client):
        """The blob may be gone if an earlier deletion had no answer."""
        try:
            client.call("DELETE", f"/{CONTAINER}/many", extensions={"x-ms-delete-snapshots": "include"})
        except HttpFailure as failure:
            if failure.status != 404:
                raise


class DeletionTest(BlobCrashTest):
    """Wherever the store dies while a container is deleted, the container is either there with all its blobs or gone
    with all of them; it can be deleted again and made again, and no file is left."""
    one_shard = ("blob.delete_container.before", "blob.delete_container.after")
    several = ("catalogue.copy.before", "catalogue.copy.after", "catalogue.end.before", "catalogue.end.after")

    def test_death_while_a_container_goes(self):
        for point in self.one_shard + (self.several if shards.COUNT else ()):
            client = BlobClient(self.stack.ports["blob_store"])
            blobs = {f"b{n}": f"{point} {n}".encode() * (1 if n % 2 else 20_000) for n in range(24)}
            for name, content in blobs.items():
                client.put(CONTAINER, name, content)
            dying = self.stack.restart_to_die("blob_store", f"{point}:1")
            wait_until(lambda: SnapshotsTest.answers(client), "the store answers")
            with contextlib.suppress(*UNANSWERED):
                client.call("DELETE", f"/{CONTAINER}", "restype=container")
            wait_until(lambda: not dying.alive(), f"death at {point}; it wrote:\n{dying.log()}")
            self.stack.restart("blob_store")
            self.whole_or_gone(client, blobs, point)
            with contextlib.suppress(HttpFailure):
                client.call("DELETE", f"/{CONTAINER}", "restype=container")
            self.assertEqual(client.objects(CONTAINER), {})
            self.assertEqual([client.get(CONTAINER, name) for name in blobs], [None] * len(blobs), point)
            client.create_container(CONTAINER)
            self.assertEqual(client.objects(CONTAINER), {}, point)
        self.nothing_is_left()

    def whole_or_gone(self, client, blobs, point):
        """A deletion that goes on may end while the test looks: then everything is gone."""
        if client.objects(CONTAINER) != blobs:
            wait_until(lambda: not client.objects(CONTAINER), f"the end of the container after {point}")
            self.assertEqual([client.get(CONTAINER, name) for name in blobs], [None] * len(blobs), point)


class RandomKillTest(BlobCrashTest):
    def test_random_kills(self):
        self.die_at_random()


if __name__ == "__main__":
    main()
