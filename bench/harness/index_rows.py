"""The indexes that are measured, and a check of their rows against the entities of the table."""
import json

from harness import azure


def definition(kind, source):
    return {"kind": kind, "source": source, "destination": source + kind.capitalize()} | {
        "lists": {"by": ["Group"]},
        "copies": {"partitionKey": "{Group}", "rowKey": "{PartitionKey}_{RowKey}"},
        "summary": {"by": ["Group"], "of": "Size"}}[kind]


def entities(connection, table, query):
    for page in azure.pages(connection, table, query):
        yield from json.loads(page)["value"]


class Content:
    """The contents of a table or an index, in any order. Sets that are too large to keep are compared by their number
    and the sum of their members' hashes; a member that is there twice makes a difference."""

    def __init__(self):
        self.count, self.hashes, self.summaries = 0, 0, {}

    def add(self, *member):
        self.count += 1
        self.hashes = (self.hashes + hash(member)) & (2**64 - 1)

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __str__(self):
        summaries = f" and {len(self.summaries)} summaries" if self.summaries else ""
        return f"{self.count} keys (hashes {self.hashes:016x}){summaries}"


def of_source(connection, kind, source):
    content = Content()
    for each in entities(connection, source, "$select=PartitionKey,RowKey,Group,Size"):
        group, size = each["Group"], each["Size"]
        content.add(group, each["PartitionKey"], each["RowKey"], *([] if kind == "lists" else [size]))
        if kind == "summary":
            count, total, least, most = content.summaries.get(group, (0, 0, size, size))
            content.summaries[group] = (count + 1, total + size, min(least, size), max(most, size))
    return content


def of_index(connection, kind, destination):
    content = Content()
    select = "PartitionKey,RowKey,Size" if kind == "copies" else "PartitionKey,RowKey,Count,Keys,Sum,Min,Max"
    for row in entities(connection, destination, "$select=" + select):
        group = row["PartitionKey"]
        if kind == "copies":
            content.add(group, *row["RowKey"].split("_"), row["Size"])
        elif row["RowKey"] == "summary":
            content.summaries[group] = tuple(int(row[name]) for name in ("Count", "Sum", "Min", "Max"))
        else:
            for key in json.loads(row["Keys"]):
                content.add(group, *key)
    return content


def verify(connection, followed):
    """Compares the indexes of these definitions, whose followers have caught up, with the table."""
    for each in followed:
        wanted = of_source(connection, each["kind"], each["source"])
        found = of_index(connection, each["kind"], each["destination"])
        if found != wanted:
            raise RuntimeError(f"the {each['kind']} of {each['source']} are WRONG: they have {found}, the table has {wanted}")
