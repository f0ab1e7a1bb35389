"""The stories that run while everything is killed at random: one generator per story, with jobs of every kind.

A scenario submits jobs, yields whenever it has to wait, and checks its conditions meanwhile and at the end; the world
(random_kill_test.py) kills between two of its steps. All calls go through the world, which repeats them until the
service is back. New kinds of job belong here: write a story and add it to ALL.
"""
import json
import time

from archive_crash_test import JOB_QUEUE, by_key, entities_of, index_content
from blobs import archived, entities_in
from receiver import SECRET, signature

EVERY = 100  # attempts: deaths of workers count as attempts, and there are many here


def run_job(world, spec, during=lambda: None, state="succeeded"):
    """Submits the job and waits for its end."""
    job_id = world.submit(spec)
    return (yield from ended_job(world, job_id, during, state))


def ended_job(world, job_id, during=lambda: None, state="succeeded"):
    while True:
        job = world.look(job_id)
        if job["state"] in ("succeeded", "poisoned", "cancelled"):
            assert job["state"] == state, job
            return job
        during()
        yield


class Tables:
    """A new source table with entities, and the name of an empty destination."""

    def __init__(self, world, partitions=100, rows=3):
        number = next(world.numbers)
        self.world = world
        self.source, self.destination = f"Source{number}", f"Archive{number}"
        self.entities = entities_of(partitions, rows, seed=number)
        self.chosen = [e for e in self.entities if not e["Keep"]]
        self.kept = [e for e in self.entities if e["Keep"]]
        # Both are repeated until they are acknowledged, so both may find themselves done.
        world.ensure_table(self.source)
        world.call(world.tables.put_many, self.source, self.entities)

    def archive(self):
        return {"kind": "archive", "source": self.source, "destination": self.destination, "filter": "Keep eq false"}

    def scan_both(self, back=False):
        """Scans source and destination. The table that entities leave comes first (the source, or the destination if
        `back`): those missing there are in the other by then."""
        scan = lambda table: self.world.call(self.world.tables.scan, table)  # noqa: E731
        if back:
            there = scan(self.destination)
            return scan(self.source), there
        return scan(self.source), scan(self.destination)

    def check(self, source, destination):
        here, there = self.scan_both()
        assert here == by_key(source), difference(here, by_key(source), self.source)
        assert there == by_key(destination), difference(there, by_key(destination), self.destination)

    def check_nothing_lost(self, back=False):
        here, there = self.scan_both(back)
        both = {**there, **here}
        assert both == by_key(self.entities), difference(both, by_key(self.entities), "both tables")

    def check_nothing_lost_on_the_way_back(self):
        self.check_nothing_lost(back=True)


def difference(found, wanted, table):
    lost, strange = set(wanted) - set(found), set(found) - set(wanted)
    changed = [key for key in set(found) & set(wanted) if found[key] != wanted[key]]
    return (f"{table}: missing {sorted(lost)[:5]} of {len(lost)}, too many {sorted(strange)[:5]} of {len(strange)}, "
            f"different {[(found[k], wanted[k]) for k in changed[:2]]} of {len(changed)}")


def check_counts(job, done, skipped=0):
    assert (job["progress"]["done"], job["progress"]["skipped"]) == (done, skipped), job


def archive_and_unarchive(world):
    tables = Tables(world)
    spec = dict(tables.archive(), maxAffected=len(tables.entities))
    job = yield from run_job(world, spec, tables.check_nothing_lost)
    check_counts(job, len(tables.chosen))
    assert job["progress"]["total"] == len(tables.chosen), job
    tables.check(tables.kept, tables.chosen)
    back = {"kind": "unarchive", "source": tables.destination, "destination": tables.source, "filter": ""}
    job = yield from run_job(world, back, tables.check_nothing_lost_on_the_way_back)
    check_counts(job, len(tables.chosen))
    tables.check(tables.entities, [])


def archive_and_undo(world):
    """Undoes twice: the undo of an undo archives again."""
    tables = Tables(world)
    job = yield from run_job(world, tables.archive(), tables.check_nothing_lost)
    tables.check(tables.kept, tables.chosen)
    job = yield from run_job(world, {"kind": "undo", "job": job["id"]}, tables.check_nothing_lost_on_the_way_back)
    check_counts(job, len(tables.chosen))
    tables.check(tables.entities, [])
    job = yield from run_job(world, {"kind": "undo", "job": job["id"]}, tables.check_nothing_lost)
    check_counts(job, len(tables.chosen))
    tables.check(tables.kept, tables.chosen)


def archive_under_changes(world):
    """A user writes the entities that are being archived: the last write stays, in one table or the other."""
    tables = Tables(world)
    last = by_key(tables.entities)

    def change():
        entity = dict(world.choice.choice(tables.chosen), Text=f"changed {world.choice.random()}")
        world.call(world.tables.put, tables.source, entity)
        last[entity["PartitionKey"], entity["RowKey"]] = entity

    yield from run_job(world, tables.archive(), change)
    here, there = tables.scan_both()
    assert set(here) | set(there) == set(last)
    for key, entity in last.items():
        # An entity that was written again after it had been archived is a new one in the source.
        assert (here.get(key) or there[key]) == entity, f"{key} is {here.get(key)} and {there.get(key)}, not {entity}"


def archive_one_by_one(world):
    tables = Tables(world, partitions=2, rows=4)
    jobs = []
    for entity in tables.chosen:
        spec = {"kind": "archive", "source": tables.source, "destination": tables.destination,
                "partitionKey": entity["PartitionKey"], "rowKey": entity["RowKey"],
                "priority": world.choice.choice(("high", "normal", "low"))}
        jobs.append(world.submit(spec))
        yield
    for job_id in jobs:
        job = yield from ended_job(world, job_id, tables.check_nothing_lost)
        check_counts(job, 1)
    tables.check(tables.kept, tables.chosen)


def archive_and_cancel(world):
    """Wherever the job stops, nothing is lost, and its changes can be undone."""
    tables = Tables(world, partitions=300)
    job_id = world.submit(dict(tables.archive(), maxPerSecond=400))
    while world.look(job_id)["progress"]["done"] == 0:
        yield
    world.call(world.api.cancel, job_id)
    while True:
        job = world.look(job_id)
        if job["state"] in ("cancelled", "succeeded"):
            break
        yield
    tables.check_nothing_lost()
    yield
    yield from run_job(world, {"kind": "undo", "job": job_id}, tables.check_nothing_lost_on_the_way_back)
    here, _ = tables.scan_both()
    assert here == by_key(tables.entities), difference(here, by_key(tables.entities), tables.source)


def copy_and_undo(world):
    tables = Tables(world)
    spec = dict(tables.archive(), kind="copy", partitionKeyTemplate="{Color}", rowKeyTemplate="{PartitionKey}{RowKey}")
    job = yield from run_job(world, spec)
    check_counts(job, len(tables.chosen))
    copies = [dict(e, PartitionKey=e["Color"], RowKey=f"{e['PartitionKey']}{e['RowKey']}") for e in tables.chosen]
    tables.check(tables.entities, copies)
    job = yield from run_job(world, {"kind": "undo", "job": job["id"]})
    check_counts(job, len(copies))
    tables.check(tables.entities, [])


def delete_some(world):
    tables = Tables(world)
    job = yield from run_job(world, {"kind": "delete", "source": tables.source, "filter": "Keep eq false"})
    check_counts(job, len(tables.chosen))
    tables.check(tables.kept, [])


def rekey_and_merge(world):
    """Each entity is under its old key or its new one, at every moment."""
    tables = Tables(world)
    key_of = lambda e: (e["Color"], f"{e['PartitionKey']}{e['RowKey']}")  # noqa: E731
    moved = [dict(e, PartitionKey=key_of(e)[0], RowKey=key_of(e)[1], Text="moved") for e in tables.chosen]

    def check_nothing_lost():
        # An entity that the first scan finds under neither key moved meanwhile: the second scan finds it under the new
        # one.
        found = set().union(*(world.call(world.tables.scan, tables.source) for _ in range(2)))
        for old, new in zip(tables.chosen, moved):
            keys = {(e["PartitionKey"], e["RowKey"]) for e in (old, new)}
            assert found & keys, f"{keys} are both gone"

    spec = {"kind": "rekey", "source": tables.source, "filter": "Keep eq false", "partitionKey": "{Color}",
            "rowKey": "{PartitionKey}{RowKey}", "set": {"Text": "moved"}}
    job = yield from run_job(world, spec, check_nothing_lost)
    check_counts(job, len(moved))
    tables.check(tables.kept + moved, [])
    merge = {"kind": "merge", "source": tables.source, "filter": "Keep eq false", "set": {"Keep": True, "Number": -1}}
    job = yield from run_job(world, merge)
    check_counts(job, len(moved))
    tables.check(tables.kept + [dict(e, Keep=True, Number=-1) for e in moved], [])


def one_after_another(world):
    tables = Tables(world, partitions=10)
    drop = {"kind": "delete", "source": tables.source, "wholeTable": True, "maxAttempts": EVERY}
    copy = {"kind": "copy", "source": tables.destination, "destination": tables.destination + "Copy", "filter": "",
            "maxAttempts": EVERY, "then": drop}
    job = yield from run_job(world, dict(tables.archive(), then=copy), tables.check_nothing_lost)
    for kind in ("copy", "delete"):
        before, following = job, job["thenJob"]
        while not (job := world.look_if_known(following)) or job["state"] in ("queued", "running"):
            yield
        assert (job["kind"], job["state"], job["spec"]["after"]) == (kind, "succeeded", before["id"]), job
    tables.check([], tables.chosen)
    copies = world.call(world.tables.scan, tables.destination + "Copy")
    assert copies == by_key(tables.chosen), difference(copies, by_key(tables.chosen), "the copies")


def drop_table(world):
    """Drops a table, but not the next one of that name."""
    tables = Tables(world, partitions=3)
    job = yield from run_job(world, {"kind": "delete", "source": tables.source, "wholeTable": True})
    check_counts(job, 1)
    world.ensure_table(tables.source)
    world.call(world.tables.put_many, tables.source, tables.kept)
    yield
    tables.check(tables.kept, [])


def index_twice(world):
    """Two jobs run at once, and once more after changes."""
    tables = Tables(world, partitions=30)
    spec = {"kind": "index", "source": tables.source, "property": "Color", "destination": tables.destination}
    entities = tables.entities
    for _ in range(2):
        other = world.submit(spec)
        job = yield from run_job(world, spec)
        check_counts(job, len(entities))
        yield from ended_job(world, other)
        wanted = {}
        for entity in entities:
            wanted.setdefault(entity["Color"], set()).add((entity["PartitionKey"], entity["RowKey"]))
        found = index_content(world.call(world.tables.scan, tables.destination))
        assert {value: sorted(keys) for value, keys in found.items()} == {v: sorted(k) for v, k in wanted.items()}
        gone = [e for e in entities if e["Color"] == "c1"]
        for entity in gone:
            world.remove(tables.source, entity)
        entities = [e for e in entities if e["Color"] != "c1"]
        entities[0] = dict(entities[0], Color="new/value")
        world.call(world.tables.put, tables.source, entities[0])
        yield


def poison_and_redrive(world):
    """The only story that makes poison, so it counts the poison it finds; only one runs at a time."""
    source = f"Later{next(world.numbers)}"
    failed = [world.submit({"kind": "delete", "source": source, "filter": ""}) for _ in range(6)]
    for job_id in failed:
        yield from ended_job(world, job_id, state="poisoned")
    # A record says poisoned a moment before its message is in the poison queue, or longer if the worker dies in
    # between.
    while True:
        found = [poison["jobId"] for poison in world.call(world.api.poison)]
        assert len(found) == len(set(found)) and set(found) <= set(failed), (found, failed)
        if len(found) == len(failed):
            break
        yield
    world.ensure_table(source)
    job = yield from run_job(world, {"kind": "redrive", "poisonKind": "delete", "canary": 2, "perSecond": 1000})
    check_counts(job, len(failed))
    world.sent_again(failed)
    for job_id in failed:
        # It is still poisoned if the redrive died before noting that it had sent the job, and no worker has taken it
        # yet.
        while world.look(job_id)["state"] != "succeeded":
            yield
    assert world.call(world.api.poison) == []


def by_hand(world):
    """A message as any SDK writes it. A lost answer makes it two messages: the second finds nothing to do."""
    tables = Tables(world, partitions=4)
    text = json.dumps(dict(tables.archive(), maxAttempts=EVERY))
    message = world.call(world.queues.put, JOB_QUEUE, text)
    while True:
        found = [job for job in world.call(world.api.jobs) if job["messageId"] == message]
        if found and found[0]["state"] == "succeeded":
            break
        assert not found or found[0]["state"] in ("queued", "running"), found
        tables.check_nothing_lost()
        yield
    world.put_by_hand.add(text)
    tables.check(tables.kept, tables.chosen)


def through_objects(world, form, partitions):
    """Archives into a container and back: at each moment every entity is in the table or in a whole object."""
    tables = Tables(world, partitions)
    place = {"container": f"archive{next(world.numbers)}", **form}
    looks = iter(range(1_000_000))

    def check_nothing_lost(back=False):
        if next(looks) % 8:
            return  # reading all objects takes long
        read = [lambda: set(world.call(world.tables.scan, tables.source)),
                lambda: {(e["PartitionKey"], e["RowKey"])
                         for content in world.call(world.blobs.objects, place["container"]).values()
                         for e in entities_in(content)}]
        found = set().union(*(look() for look in (reversed(read) if back else read)))
        assert found == set(by_key(tables.entities)), f"lost {set(by_key(tables.entities)) - found}"

    spec = {"kind": "archive", "source": tables.source, "destination": place, "filter": "Keep eq false"}
    job = yield from run_job(world, spec, check_nothing_lost)
    check_counts(job, len(tables.chosen))
    tables.check(tables.kept, [])
    found = archived(world.call(world.blobs.objects, place["container"]))
    assert found == by_key(tables.chosen), difference(found, by_key(tables.chosen), place)
    back = {"kind": "unarchive", "source": place, "destination": tables.source, "filter": ""}
    job = yield from run_job(world, world.choice.choice((back, {"kind": "undo", "job": job["id"]})),
                             lambda: check_nothing_lost(back=True))
    check_counts(job, len(tables.chosen))
    tables.check(tables.entities, [])
    left = world.call(world.blobs.objects, place["container"])
    assert not left, f"{list(left)[:3]} are left of {place}"


def through_documents(world):
    yield from through_objects(world, {}, 12)


def through_parts(world):
    form = {"format": "lines", "per": world.choice.choice(("partition", "day")), "gzip": world.choice.random() < 0.5}
    yield from through_objects(world, form, 40)


def callbacks(world):
    """The endpoint hears of each callback under one id, however often, and of the end of a job under the id of the job
    that tells of it."""
    number = next(world.numbers)
    paths = [f"/{world.choice.choice(('busy', 'ready'))}/{number}/{n}" for n in range(4)]
    jobs = [world.submit({"kind": "callback", "url": world.endpoint.url(path)}) for path in paths[:3]]
    table = f"Gone{number}"
    world.ensure_table(table)
    on_end = {"url": world.endpoint.url(paths[3])}
    told = yield from run_job(world, {"kind": "delete", "source": table, "wholeTable": True, "onEnd": on_end})
    jobs.append(told["callbackJob"])
    for path, job_id in zip(paths, jobs):
        while not (job := world.look_if_known(job_id)) or job["state"] in ("queued", "running"):
            yield
        assert job["state"] == "succeeded", job
        heard = [r for r in list(world.endpoint.got) if r["path"] == path]
        assert {r["webhook-id"] for r in heard} == {job_id}, (job_id, heard)
        assert all(r["webhook-signature"] == signature(SECRET, r) for r in heard), heard
    body = json.loads(heard[0]["body"])
    assert (body["type"], body["data"]["id"]) == ("job.succeeded", told["id"]), body


def transfer(bank, mail, number, payer, receiver, cents):
    """A transaction that moves money, and says so in a table and in a queue."""
    return {"kind": "transaction", "maxAttempts": EVERY,
            "guards": [{"as": "p", **payer, "where": f"Cents ge {cents}L"}],
            "steps": [{"merge": {"of": "p", "add": {"Cents": -cents}}},
                      {"merge": {**receiver, "add": {"Cents": cents}}},
                      {"insert": {"table": bank + "Audit", "partitionKey": str(number % 7), "rowKey": "{job.id}",
                                  "entity": {"Cents": cents, "Before": "{p.Cents}"}}},
                      {"message": {"queue": mail, "json": {"job": "{job.id}", "cents": cents}}}]}


def transfers(world):
    """Money moves between accounts of two tables: none is made or lost, no balance falls below zero, and each transfer is
    told of once, or says why it did not happen."""
    number = next(world.numbers)
    bank, mail = f"Bank{number}", f"mail{number}"
    places = [{"table": f"{bank}{'AB'[n % 2]}", "partitionKey": f"p{n // 2}", "rowKey": "r"} for n in range(12)]
    for table in (bank + "A", bank + "B", bank + "Audit"):
        world.ensure_table(table)
    world.call(world.queues.create, mail)
    for place in places:
        entity = {"PartitionKey": place["partitionKey"], "RowKey": "r", "Cents@odata.type": "Edm.Int64", "Cents": "100"}
        world.call(world.tables.put, place["table"], entity)
    jobs = {}
    for n in range(25):
        payer, receiver = world.choice.sample(places, 2)
        cents = world.choice.randint(1, 90)
        jobs[world.submit(transfer(bank, mail, n, payer, receiver, cents))] = cents
        yield
    succeeded = set()
    for job_id in jobs:
        while (job := world.look(job_id))["state"] not in ("succeeded", "poisoned", "cancelled"):
            yield
        assert job["state"] != "poisoned", job
        if job["state"] == "cancelled":
            assert job["result"]["guard"] == 0 and int(job["result"]["found"]["Cents"]["value"]) < jobs[job_id], job
        else:
            succeeded.add(job_id)
    balances = [int(entity["Cents"]) for table in "AB" for entity in world.call(world.tables.scan, bank + table).values()]
    assert sum(balances) == 100 * len(places) and min(balances) >= 0, balances
    audit = world.call(world.tables.scan, bank + "Audit")
    assert {row for _, row in audit} == succeeded, (audit, succeeded)
    assert all(entity["Cents"] == jobs[row] for (_, row), entity in audit.items())
    told = [json.loads(message["MessageText"])["job"] for message in world.call(world.queues.peek, mail)]
    assert sorted(told) == sorted(succeeded), (told, succeeded)


def schedule_every_minute(world):
    """Ten past minutes and the coming ones: each has its job, once, no matter which worker submitted it."""
    name, table = f"schedule{next(world.numbers)}", f"Scheduled{next(world.numbers)}"
    world.ensure_table(table)
    first = int(time.time()) // 60 * 60 - 9 * 60
    shown = lambda t: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))  # noqa: E731
    job = {"kind": "delete", "source": table, "filter": "", "maxAttempts": EVERY}
    world.call(world.api.call, "PUT", f"/v1/schedules/{name}", {
        "cron": "* * * * *", "catchUp": "all", "overlap": "allow", "startAfter": shown(first - 1), "job": job})
    while world.call(world.api.call, "GET", f"/v1/schedules/{name}")["runs"] < 10:
        yield
    world.remove_schedule(name)
    while True:
        mine = [j for j in world.call(world.api.jobs) if j["spec"].get("idempotencyKey", "").startswith(f"schedule:{name}:")]
        if all(j["state"] not in ("queued", "running") for j in mine):
            break
        yield
    assert all((j["state"], j["progress"]["done"]) == ("succeeded", 0) for j in mine), mine
    due = sorted(j["spec"]["idempotencyKey"].removeprefix(f"schedule:{name}:") for j in mine)
    assert len(due) >= 10 and due == [shown(first + 60 * n) for n in range(len(due))], due


ALL = (archive_and_unarchive, archive_and_undo, archive_under_changes, archive_one_by_one, archive_and_cancel,
       copy_and_undo, delete_some, rekey_and_merge, one_after_another, drop_table, index_twice, poison_and_redrive, by_hand, through_documents, through_parts,
       callbacks, transfers, schedule_every_minute)
ONE_AT_A_TIME = (poison_and_redrive,)
