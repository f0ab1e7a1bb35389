"""Kills workers and the blob store in the middle of archive jobs whose archive is a container or a directory.

The oracle reads the archive with Debian's Azure SDK, or from disk: however they die, each entity ends in exactly one of
table and archive with the properties it had, and nothing half written is ever there. --points PREFIX runs only some of
the fail points.
"""
import json
import os
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from archive_crash_test import OPTIONS, WORKER, CrashTest, by_key, entities_of, main  # noqa: E402
from blobs import BlobReader, archived, entities_in, files  # noqa: E402
from clients import patiently  # noqa: E402
from stack import wait_until  # noqa: E402

POINTS = ("object.put.before", "object.put.after", "object.erase.before", "object.erase.after", "move.plan.before",
          "move.plan.after", "move.erase.before", "move.erase.after", "move.page.after", "close.before", "close.after")
FILE_POINTS = POINTS + ("file.rename.after", "file.row.before", "file.row.after", "file.erase.after")


class ObjectCrashTest(CrashTest):
    worker_directory = "nas"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.start("blob_store")
        cls.blobs = BlobReader(cls.stack.ports["blob_store"])
        cls.directory = os.path.join(cls.stack.directory, "archive")
        os.mkdir(cls.directory)

    def worker(self, name, *arguments, fail_point=None):
        return super().worker(name, *(arguments or WORKER), "--archive-directories",
                              f"{self.worker_directory}={self.directory}",
                              "--collect-every-s", "1", "--archive-grace-s", "0", fail_point=fail_point)

    def place(self, form):
        """Returns a new archive of this form, as jobs name it."""
        number = next(self.numbers)
        store = {"directory": "nas", "prefix": f"a{number}/"} if "files" in form else {"container": f"archive{number}"}
        lines = {"format": "lines", "per": "day" if "days" in form else "partition", "gzip": "gzip" in form}
        return {**store, **({} if "documents" in form else lines)}

    def objects(self, place):
        if "container" in place:
            return self.blobs.objects(place["container"])
        return {name: content for name, content in files(self.directory).items() if name.startswith(place["prefix"])}

    def archive_spec(self, source, place):
        return {"kind": "archive", "source": source, "destination": place, "filter": "Keep eq false",
                "maxAttempts": 100}

    def check_whole(self, place):
        """Checks that every object can be read to its end."""
        return {(e["PartitionKey"], e["RowKey"]) for content in self.objects(place).values()
                for e in entities_in(content)}

    def await_archived(self, place, wanted):
        """Waits, since the files of dead workers are collected a little later."""
        def look():
            try:
                return archived(self.objects(place)) == wanted
            except AssertionError:
                return False
        if "directory" in place:
            wait_until(look, "the end of files that no row names")
        self.assertEqual(archived(self.objects(place)), wanted)


class FailPointTest(ObjectCrashTest):
    def die_and_finish(self, point, spec, between=lambda: None):
        dying = self.worker("dying", fail_point=point)
        job_id = self.api.submit(spec)
        code = wait_until(lambda: dying.popen.poll() or self.ended(job_id), "a death or the end of the job")
        self.assertEqual(code, -9, f"{point} was not reached; {dying.log()}")
        dying.wait()
        between()
        worker = self.worker("clean")
        job = self.await_end(job_id)
        self.await_empty_queue()
        self.assertEqual(job["state"], "succeeded", job)
        return job, worker

    def ended(self, job_id):
        return 1 if self.api.job(job_id)["state"] in ("succeeded", "poisoned") else None

    def archive_and_restore(self, point, form):
        entities = entities_of(4, 10)
        source, _ = self.fill(entities)
        place = self.place(form)
        keys, moved = set(by_key(entities)), by_key(e for e in entities if not e["Keep"])
        kept = by_key(e for e in entities if e["Keep"])

        def nothing_lost():
            self.assertEqual(set(self.tables.scan(source)) | self.check_whole(place), keys, "an entity is lost")

        reaches = not point.startswith("object.erase") and not point.startswith("file.erase")
        spec = self.archive_spec(source, place)
        if reaches:
            job, worker = self.die_and_finish(point, spec, nothing_lost)
        else:
            worker = self.worker("clean")
            job = self.await_end(self.api.submit(spec))
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (len(moved), 0), job)
        self.assertEqual(self.tables.scan(source), kept)
        self.await_archived(place, moved)
        self.assertEqual(worker.terminate(), 0, worker.log())
        # Only objects that may change have a note: parts do not, and a page of them is removed at once.
        if "documents" not in form and (point.startswith("move.plan") or point.startswith("object.put")
                                        or point.startswith("file.r")):
            return
        if point.startswith("move.erase"):
            return
        back = {"kind": "unarchive", "source": place, "destination": source, "filter": "", "maxAttempts": 100}
        if "documents" in form and (point.startswith("object.put") or point.startswith("file.r")):
            return
        job, worker = self.die_and_finish(point, back, nothing_lost)
        self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (len(moved), 0), job)
        self.assertEqual(self.tables.scan(source), by_key(entities))
        self.await_archived(place, {})
        self.assertEqual(worker.terminate(), 0, worker.log())

    def every_point(self, form):
        points = FILE_POINTS if "files" in form else POINTS
        for point in sizes.some_of(p for p in points if p.startswith(OPTIONS["points"])):
            with self.subTest(fail_point=point, form=form):
                begun = time.monotonic()
                self.archive_and_restore(point, form)
                print(f"{form} {point}: {time.monotonic() - begun:.1f} s", flush=True)

    def test_documents(self):
        self.every_point("documents")

    def test_parts(self):
        self.every_point("days")

    def test_documents_in_files(self):
        self.every_point("documents files")

    def test_parts_in_files(self):
        self.every_point("gzip files")


class AdoptTest(FailPointTest):
    """A worker dies at each point of rebuilding a lost catalog, and of stamping and collecting."""

    test_documents = test_parts = test_documents_in_files = test_parts_in_files = None

    def test_adopting(self):
        for point in ("adopt.enter.before", "adopt.enter.after", "adopt.own.before", "adopt.own.after"):
            for form in ("documents files", "gzip files"):
                with self.subTest(fail_point=point, form=form):
                    entities = entities_of(4, 10)
                    source, _ = self.fill(entities)
                    place, moved = self.place(form), by_key(e for e in entities if not e["Keep"])
                    worker = self.worker("archiving")
                    self.assertEqual(self.await_end(self.api.submit(self.archive_spec(source, place)))["state"],
                                     "succeeded")
                    self.tables.delete_table("TidemarkFiles")
                    self.assertEqual(worker.terminate(), 0, worker.log())
                    adopt = {"kind": "adopt", "directory": "nas", "takeOver": True, "maxAttempts": 100}
                    _, worker = self.die_and_finish(point, adopt)
                    self.await_archived(place, moved)
                    back = {"kind": "unarchive", "source": place, "destination": source, "filter": ""}
                    job = self.await_end(self.api.submit(back))
                    self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", len(moved)), job)
                    self.assertEqual(self.tables.scan(source), by_key(entities))
                    self.await_archived(place, {})
                    self.assertEqual(worker.terminate(), 0, worker.log())

    def test_first_use_of_a_directory(self):
        for point in ("file.owner.row", "file.owner.stamp"):
            with self.subTest(fail_point=point):
                self.directory = os.path.join(self.stack.directory, point)
                os.mkdir(self.directory)
                entities = entities_of(2, 4)
                source, _ = self.fill(entities)
                # Another name, so that the directory belongs to nobody.
                place = {"directory": point.replace(".", "-")}
                spec = self.archive_spec(source, place)
                self.worker_directory = place["directory"]
                job, worker = self.die_and_finish(point, spec)
                moved = by_key(e for e in entities if not e["Keep"])
                self.assertEqual(job["progress"]["done"], len(moved), job)
                self.assertEqual(archived(files(self.directory)), moved)
                self.assertEqual(worker.terminate(), 0, worker.log())


class OffloadTest(FailPointTest):
    """A worker dies at each point of moving large properties out and back."""

    test_documents = test_parts = test_documents_in_files = test_parts_in_files = None

    def check_linked(self, source, container, entities):
        """Checks that every entity has its value behind its link, and that no blob is without a link."""
        blobs, linked = self.blobs.objects(container), set()
        found = self.tables.scan(source)
        for key, entity in by_key(entities).items():
            link = json.loads(found[key].pop("Text_tidemark_blob"))
            self.assertEqual(blobs[link["name"]].decode(), entity["Text"])
            self.assertEqual(link["size"], len(blobs[link["name"]]))
            linked.add(link["name"])
            self.assertEqual(found[key], {k: v for k, v in entity.items() if k != "Text"})
        self.assertEqual(set(blobs), linked)

    def test_offload_and_inline(self):
        for point in sizes.some_of(f"offload.{step}.{moment}" for step in ("note", "upload", "link", "erase")
                                   for moment in ("before", "after")):
            with self.subTest(fail_point=point):
                entities = [dict(e, Text="\u00e9" * 500 + str(e["Number"])) for e in entities_of(3, 4)]
                source, _ = self.fill(entities)
                container = f"values{next(self.numbers)}"
                out = {"kind": "offload", "source": source, "filter": "", "container": container, "minBytes": 900,
                       "maxAttempts": 100}
                back = {"kind": "inline", "source": source, "filter": "", "maxAttempts": 100}
                for spec, reaches in ((out, "erase" not in point), (back, "upload" not in point)):
                    if reaches:
                        job, worker = self.die_and_finish(point, spec)
                    else:
                        worker = self.worker("clean")
                        job = self.await_end(self.api.submit(spec))
                    self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", len(entities)), job)
                    self.assertEqual(worker.terminate(), 0, worker.log())
                    if spec is out:
                        self.check_linked(source, container, entities)
                self.assertEqual(self.tables.scan(source), by_key(entities))
                self.assertEqual(self.blobs.objects(container), {})


class DiscardTest(FailPointTest):
    """A worker dies at each point of removing entities with their blobs, and of finding blobs without entities."""

    test_documents = test_parts = test_documents_in_files = test_parts_in_files = None

    def fill_with_blobs(self):
        """Makes entities that point to blobs, and as many blobs that nothing points to."""
        container = f"photos{next(self.numbers)}"
        entities = [dict(e, photo=f"people/{e['PartitionKey']}/{e['RowKey']}") for e in entities_of(3, 4)]
        blobs = self.blobs.service.get_container_client(container)
        blobs.create_container()
        for entity in entities:
            blobs.upload_blob(entity["photo"], b"of an entity")
            blobs.upload_blob(entity["photo"] + "-left", b"of nobody")
        source, _ = self.fill(entities)
        return source, container, entities

    def pointed_at(self, source):
        return {e["photo"] for e in self.tables.scan(source).values()}

    def left(self, entities):
        return {e["photo"] + "-left" for e in entities}

    def test_discard(self):
        for point in sizes.some_of(f"{step}.{moment}" for step in ("discard.note", "discard.entity", "discard.blob", "close")
                                   for moment in ("before", "after")):
            with self.subTest(fail_point=point):
                source, container, entities = self.fill_with_blobs()
                missing = entities[0]["photo"]
                self.blobs.service.get_blob_client(container, missing).delete_blob()

                def no_entity_without_blob():
                    lost = self.pointed_at(source) - set(self.blobs.objects(container)) - {missing}
                    self.assertEqual(lost, set(), "an entity is without its blob")

                spec = {"kind": "discard", "source": source, "filter": "Keep eq false", "property": "photo",
                        "container": container, "maxAttempts": 100}
                gone = [e for e in entities if not e["Keep"]]
                job, worker = self.die_and_finish(point, spec, no_entity_without_blob)
                self.assertEqual((job["progress"]["done"], job["progress"]["skipped"]), (len(gone), 0), job)
                self.assertEqual(self.tables.scan(source), by_key(e for e in entities if e["Keep"]))
                kept = {e["photo"] for e in entities if e["Keep"]} - {missing}
                self.assertEqual(set(self.blobs.objects(container)), kept | self.left(entities))
                self.assertEqual(worker.terminate(), 0, worker.log())

    def test_orphans(self):
        for point in sizes.some_of(("orphans.page.before", "orphans.page.after", "orphans.erase.before",
                                    "orphans.erase.after", "close.before", "close.after")):
            with self.subTest(fail_point=point):
                source, container, entities = self.fill_with_blobs()
                everything = set(self.blobs.objects(container))
                spec = {"kind": "orphans", "source": source, "property": "photo", "container": container,
                        "prefix": "people/", "maxAttempts": 100}
                worker = self.worker("looking")
                job = self.await_end(self.api.submit(spec))
                self.assertEqual((job["state"], job["result"]["orphans"]), ("succeeded", 0), job)  # they are too young
                job = self.await_end(self.api.submit(dict(spec, graceHours=0)))
                self.assertEqual((job["result"]["orphans"], job["result"]["removed"]), (len(entities), 0), job)
                self.assertLessEqual(set(job["result"]["samples"]), self.left(entities))
                self.assertEqual(set(self.blobs.objects(container)), everything)
                self.assertEqual(worker.terminate(), 0, worker.log())
                job, worker = self.die_and_finish(point, dict(spec, graceHours=0, remove=True))
                self.assertEqual((job["progress"]["done"], job["result"]["removed"]), (len(entities),) * 2, job)
                self.assertEqual(set(self.blobs.objects(container)), self.pointed_at(source))
                self.assertEqual(self.tables.scan(source), by_key(entities))
                self.assertEqual(worker.terminate(), 0, worker.log())


class ProcessDeathTest(ObjectCrashTest):
    ENTITIES = entities_of(sizes.scaled(100), 10)
    ARCHIVED = sum(not e["Keep"] for e in ENTITIES)

    def run_and_kill(self, form, kill):
        source, _ = self.fill(self.ENTITIES)
        place = self.place(form)
        self.worker("a")
        self.worker("b")
        job_id = self.api.submit(self.archive_spec(source, place))
        for _ in range(3):  # the job may be faster than the test, which reads thousands of objects
            before = 0 if self.succeeded(job_id) else len(patiently(self.objects, place))
            wait_until(lambda: self.succeeded(job_id) or len(patiently(self.objects, place)) > before,
                       "progress of the job", 60)
            kill()
        job = self.await_end(job_id)
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", self.ARCHIVED), job)
        self.assertEqual(self.tables.scan(source), by_key(e for e in self.ENTITIES if e["Keep"]))
        self.await_archived(place, by_key(e for e in self.ENTITIES if not e["Keep"]))
        back = self.api.submit({"kind": "undo", "job": job_id, "maxAttempts": 100})
        kill()
        job = self.await_end(back)
        self.assertEqual((job["state"], job["progress"]["done"]), ("succeeded", self.ARCHIVED), job)
        self.assertEqual(self.tables.scan(source), by_key(self.ENTITIES))
        self.await_archived(place, {})

    def succeeded(self, job_id):
        return self.api.job(job_id)["state"] == "succeeded"

    def kill_workers(self):
        for name in ("a", "b"):
            self.stack.children["w-" + name].kill()
            self.worker(name)

    @sizes.in_turn(0)
    def test_blob_store_killed_under_documents(self):
        self.run_and_kill("documents", lambda: self.stack.restart("blob_store"))

    @sizes.in_turn(1)
    def test_blob_store_killed_under_parts(self):
        self.run_and_kill("parts gzip", lambda: self.stack.restart("blob_store"))

    @sizes.in_turn(2)
    def test_workers_killed_under_documents(self):
        self.run_and_kill("documents", self.kill_workers)

    @sizes.in_turn(0)
    def test_workers_killed_under_parts_in_files(self):
        self.run_and_kill("parts files", self.kill_workers)

    def test_a_sleeper_publishes_nothing(self):
        """The file or part of a worker that renames or sends it after the job is over is not there in the end."""
        for form in ("documents", "parts", "parts files"):
            with self.subTest(form=form):
                source, _ = self.fill(self.ENTITIES)
                place = self.place(form)
                sleeper = self.worker("sleeper")
                job_id = self.api.submit(self.archive_spec(source, place))
                wait_until(lambda: self.objects(place), "the first archived object", interval_s=0.0)
                sleeper.pause()
                other = self.worker("other")
                self.assertEqual(self.await_end(job_id)["state"], "succeeded")
                wanted = by_key(e for e in self.ENTITIES if not e["Keep"])
                returned = [dict(e, Text="again") for e in self.ENTITIES if not e["Keep"]]
                self.tables.put_many(source, returned)
                current = self.tables.scan(source)
                sleeper.resume()
                wait_until(lambda: f"job_id={job_id} " in sleeper.log(100_000) or not sleeper.alive(),
                           "the sleeper's end of its delivery", 60)
                self.assertEqual(self.tables.scan(source), current)
                self.await_archived(place, wanted)
                self.stack.children.pop("w-sleeper").kill()
                self.assertEqual(other.terminate(), 0, other.log())


if __name__ == "__main__":
    main()
