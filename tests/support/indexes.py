"""Indexes of every kind over a table of things, and their expected rows: computed from the documentation alone.

Keys of the things begin with "w"; their values need no escaping. Some sections begin like others.
"""
import collections
import json
import re

from clients import HttpClient, HttpFailure

SOURCE = "Things"
SECTIONS = ("s1", "s1_0", "s1_New", "s1_New_York")
REFERRED = "Colours"  # ("colours", COLOUR) has the rank of the colour

# The index of kind denormalised is the first: the others follow the values that it writes into things.
INDEXES = {
    "ranks": {"kind": "denormalised", "source": REFERRED, "destination": SOURCE, "partitionKey": "colours",
              "rowKey": "{Colour}", "properties": {"ColourRank": "Rank"}},
    "by-colour": {"kind": "lists", "source": SOURCE, "by": ["Colour"], "destination": "ThingsByColour",
                  "answersQueries": True},
    "in-blobs": {"kind": "lists", "source": SOURCE, "by": ["Colour", "Section"], "where": "blobs",
                 "container": "things", "prefix": "by-colour/"},
    "in-partition": {"kind": "lists", "source": SOURCE, "by": ["Colour", "Section"], "where": "partition",
                     "destination": SOURCE, "answersQueries": True},
    "by-host": {"kind": "copies", "source": SOURCE, "destination": "ThingsByHost", "partitionKey": "{Host}",
                "rowKey": "{PartitionKey}_{RowKey}", "properties": ["Colour", "Size"]},
    "inside": {"kind": "copies", "source": SOURCE, "destination": SOURCE, "partitionKey": "{PartitionKey}",
               "rowKey": "host_{Host}_{RowKey}", "filter": "Size ge 0"},
    "sizes": {"kind": "summary", "source": SOURCE, "by": ["Section"], "of": "Size", "destination": "ThingSizes"},
}


def index_of(api, name):
    return api.call("GET", f"/v1/indexes/{name}")


def caught_up(api, name):
    index = index_of(api, name)
    return index["state"] == "ready" and index["lag"]["changes"] == 0


def following(table_port):
    """Returns the names of the indexes that follow a table."""
    _, text = HttpClient(table_port).ask("GET", "/metrics")
    ids = re.findall(r'tidemark_follower_waiting_changes\{[^}]*follower="([^"]*)"', text.decode())
    return {each[:-len("-00000000-0000-0000-0000-000000000000")] for each in ids}


def listed_in_blobs(blobs, definition):
    """Reads the blobs of lists. Every blob counts: when nothing waits, each must be a current piece."""
    found = {}
    for name, content in blobs.objects(definition["container"]).items():
        assert name.startswith(definition["prefix"]), name
        group, _ = name[len(definition["prefix"]):].split("/")
        assert len(content) <= 256 * 1024, f"{name} is too large"
        found.setdefault((group, group), []).extend(tuple(key) for key in json.loads(content))
    return without_repeats(definition["container"], found)


def without_repeats(name, found):
    for place, keys in found.items():
        if isinstance(keys, list):
            assert len(keys) == len(set(keys)), f"{name} lists a key twice in {place}"
            keys.sort(key=str)
    return found


def rows_of(tables, name, definition, blobs=None):
    """Returns {place: content}; for pieces, the keys of a group together, which must not repeat."""
    found = {}
    if definition.get("where") == "blobs":
        return listed_in_blobs(blobs, definition)
    if definition["kind"] == "denormalised":
        return {key: entity.get("ColourRank") for key, entity in tables.scan(SOURCE).items() if key[1].startswith("w")}
    for (partition, row), entity in tables.scan(definition["destination"]).items():
        content = {k: v for k, v in entity.items() if k not in ("PartitionKey", "RowKey", "Parts")}
        if definition["destination"] == SOURCE and row.startswith("w"):
            continue
        if definition["kind"] == "copies":
            if definition["destination"] != SOURCE or row.startswith("host_"):
                found[partition, row] = content
        elif row == "summary":
            found[partition, row] = content
        elif row.startswith(name + "_" if definition.get("where") == "partition" else "keys_"):
            keys = found.setdefault((partition, content["Group"]), [])
            listed = json.loads(content["Keys"])
            assert len(listed) == content["Count"], f"{row} of {partition} counts {content['Count']}, not {len(listed)}"
            assert len(content["Keys"]) <= 30_000, f"{row} of {partition} is too large"
            keys.extend(tuple(key) for key in listed)
    return without_repeats(name, found)


def change_colours(tables, choice, colours):
    """Gives some colour another rank, or none."""
    colour = choice.choice([each for each in colours if each])
    if choice.random() < 0.2:
        try:
            tables.delete(REFERRED, "colours", colour)
        except HttpFailure as failure:
            if failure.status != 404:
                raise
    else:
        tables.put(REFERRED, {"PartitionKey": "colours", "RowKey": colour, "Rank": choice.randrange(1000)})


def wanted_rows(name, definition, originals, referred):
    """Computes the same from the entities, and from those that they refer to."""
    del name
    found = {}
    if definition["kind"] == "denormalised":
        ranks = {row: entity.get("Rank") for (_, row), entity in referred.items()}
        return {key: ranks.get(entity.get("Colour")) for key, entity in originals.items()}
    if definition["kind"] == "copies":
        for (partition, row), entity in originals.items():
            if definition.get("filter") and not entity.get("Size", -1) >= 0:
                continue
            values = {**entity, "PartitionKey": partition, "RowKey": row}
            place = definition["partitionKey"].format(**values), definition["rowKey"].format(**values)
            kept = definition.get("properties", [k for k in entity if k not in ("PartitionKey", "RowKey")])
            found[place] = {k: entity[k] for k in kept if k in entity}
        return found
    groups = collections.defaultdict(list)
    for (partition, row), entity in originals.items():
        if all(name in entity for name in definition["by"]):
            group = ",".join(entity[name] for name in definition["by"])
            place = partition if definition.get("where") == "partition" else group
            groups[place, group].append((partition, row, entity))
    summary = definition["kind"] == "summary"
    for (place, group), members in groups.items():
        keys = [(p, r) + ((e["Size"],) if summary and "Size" in e else ()) for p, r, e in members]
        found[place, group] = sorted(keys, key=str)
        if summary:
            sizes = [e["Size"] for _, _, e in members if "Size" in e]
            totals = {"Sum": str(sum(sizes)), "Min": str(min(sizes)), "Max": str(max(sizes))} if sizes else {}
            found[group, "summary"] = {"Group": group, "Count": str(len(members)), **totals}
    return found
