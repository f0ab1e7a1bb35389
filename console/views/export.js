// Saves the entities that are shown to a file.
import { textOf } from "../net/exact.js";
import { own } from "../net/values.js";

function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/// With types, in the form that `tidemark table import` reads.
export const saveJsonLines = (table, items) => save(`${table}.jsonl`, items.map((entity) => `${textOf(entity)}\n`).join(""), "application/x-ndjson");

/// RFC 4180: a column for every property that one of the entities has; the values without their types.
export function csvOf(items) {
  const names = ["PartitionKey", "RowKey", "Timestamp", ...new Set(items.flatMap(own))];
  const quoted = (value) => (value === undefined || value === null ? "" : `"${String(value).replaceAll('"', '""')}"`);
  return [names, ...items.map((each) => names.map((name) => each[name]))].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

export const saveCsv = (table, items) => save(`${table}.csv`, csvOf(items), "text/csv");
