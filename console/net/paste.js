// Reads entities that somebody pastes, as JSON, JSON Lines or CSV, and names each line that is wrong.
import { parseExact } from "./exact.js";
import { bare, isSystem, own, setProperty, textIn, typeOf, typeOfAll, types, wrongIn, wrongKey } from "./values.js";

export const mostBytes = 4 << 20;
export const mostRows = 1000;
const annotation = "@odata.type";

/// Splits RFC 4180 into records, each with the line at which it begins.
export function recordsOf(text) {
  const records = [];
  let fields = [], field = "", quoted = false, line = 1, begun = 1;
  const separator = text.split("\n", 1)[0].includes("\t") ? "\t" : ",";
  const end = () => { fields.push(field); records.push({ line: begun, fields }); fields = []; field = ""; begun = line; };
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (c === "\n") line += 1;
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') { field += '"'; i += 1; } else quoted = false;
    } else if (c === '"' && field === "") quoted = true;
    else if (c === separator) { fields.push(field); field = ""; } else if (c === "\n") { field = field.replace(/\r$/, ""); end(); } else field += c;
  }
  if (quoted) throw Object.assign(new Error("a quote is opened and never closed"), { line: begun });
  if (field !== "" || fields.length) end();
  return records.filter((each) => each.fields.some((one) => one !== ""));
}

const withKeys = (partitionKey, rowKey) => bare({ PartitionKey: partitionKey, RowKey: rowKey });

function entityOf(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("it is not a JSON object");
  const entity = withKeys(value.PartitionKey, value.RowKey);
  for (const name of own(value)) {
    const text = textIn(value, name);
    if (text === undefined) continue;
    if (typeof value[name] === "object" && !(value[name] instanceof Number)) throw new Error(`${name} is ${Array.isArray(value[name]) ? "a list" : "an object"}, which no property can be`);
    setProperty(entity, name, typeOf(value, name), text);
  }
  return entity;
}

/// JSON tells no line, so a list is read element by element: [[line, text]].
function elementsOf(text) {
  const out = [];
  let depth = 0, quoted = false, line = 1, from = -1, begun = 1;
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (c === "\n") line += 1;
    if (quoted) { if (c === "\\") i += 1; else if (c === '"') quoted = false; continue; }
    if (depth === 0 && i > 0 && /\S/.test(c)) throw Object.assign(new Error("there is more after the end of the list"), { line });
    if (from < 0 && depth === 1 && !/[\s,\]]/.test(c)) { from = i; begun = line; }
    if (c === '"') quoted = true;
    else if (c === "[" || c === "{") depth += 1;
    else if (c === "]" || c === "}") depth -= 1;
    if (from >= 0 && ((depth === 1 && c === ",") || depth === 0)) { out.push([begun, text.slice(from, i).trim()]); from = -1; }
    else if (from >= 0 && depth === 1 && (c === "}" || c === "]")) { out.push([begun, text.slice(from, i + 1)]); from = -1; }
  }
  if (depth || quoted) throw Object.assign(new Error("the list is not closed"), { line });
  return out;
}

function parsed(text) {
  try { return parseExact(text); } catch { throw new Error("it is not JSON"); }
}

function fromJson(text) {
  const trimmed = text.trimStart();
  const before = text.length - trimmed.length;
  const skipped = text.slice(0, before).split("\n").length - 1;
  if (trimmed.startsWith("[")) return ["JSON", elementsOf(trimmed).map(([line, each]) => [line + skipped, () => entityOf(parsed(each))])];
  // Either one object over several lines, or one in each line.
  try {
    const one = parseExact(trimmed);
    const rows = Array.isArray(one?.value) ? one.value.map((each) => [1 + skipped, () => entityOf(each)]) : [[1 + skipped, () => entityOf(one)]];
    return ["JSON", rows];
  } catch { /* not one object */ }
  return ["JSON Lines", text.split("\n").flatMap((each, i) => (each.trim() ? [[i + 1, () => entityOf(parsed(each))]] : []))];
}

/// `chosen`: types that the user has chosen, by the names of the columns.
function fromCsv(text, chosen) {
  const records = recordsOf(text);
  const header = records.shift()?.fields.map((each) => each.trim().replace(/^\ufeff/, "")) || [];
  for (const key of ["PartitionKey", "RowKey"]) {
    if (!header.includes(key)) throw Object.assign(new Error(`the first line must name the columns, and ${key} is not among them`), { line: 1 });
  }
  const twice = header.find((each, i) => each && header.indexOf(each) !== i);
  if (twice) throw Object.assign(new Error(`the column ${twice} is there twice`), { line: 1 });
  const typeColumn = (name) => Math.max(header.indexOf(`${name}@type`), header.indexOf(name + annotation));
  const columns = header.map((name, at) => ({ name, at })).filter(({ name }) => name && !isSystem(name) && !name.endsWith("@type"));
  const ignored = header.filter((name) => isSystem(name) && name !== "PartitionKey" && name !== "RowKey" && !name.endsWith(annotation));
  for (const column of columns) {
    column.told = typeColumn(column.name);
    column.type = chosen[column.name] || typeOfAll(records.map((each) => each.fields[column.at]).filter((each) => each !== undefined && each !== ""));
  }
  const rows = records.map(({ line, fields }) => [line, () => {
    if (fields.length !== header.length) throw new Error(`it has ${fields.length} ${fields.length === 1 ? "field" : "fields"} instead of ${header.length}`);
    const entity = withKeys(fields[header.indexOf("PartitionKey")], fields[header.indexOf("RowKey")]);
    for (const { name, at, told, type } of columns) {
      if (fields[at] === "") continue;
      const own_ = (told >= 0 && !chosen[name] && fields[told].replace("Edm.", "")) || type;
      const wrong = wrongIn(name, types.includes(own_) ? own_ : "", fields[at]);
      if (wrong) throw new Error(types.includes(own_) ? wrong.replace(/\.$/, "") : `${name} has the type ${own_}, which is none`);
      setProperty(entity, name, own_, fields[at]);
    }
    return entity;
  }]);
  return ["CSV", rows, ignored, columns.map(({ name, type }) => [name, new Set(chosen[name] ? [type] : [])])];
}

/// Returns {format, rows: [{line, entity}], bad: [{line, why}], columns: [{name, types}], ignored}.
export function readPaste(text, chosen = {}) {
  const out = { format: "", rows: [], bad: [], columns: [], ignored: [] };
  if (!text.trim()) return out;
  if (text.length > mostBytes) return { ...out, bad: [{ line: 1, why: "this is more than 4 MiB; use `tidemark table import`" }] };
  let lines, known;
  try {
    [out.format, lines, out.ignored = [], known = []] = /^\s*[[{]/.test(text) ? fromJson(text) : fromCsv(text, chosen);
  } catch (error) {
    return { ...out, bad: [{ line: error.line || 1, why: error.message }] };
  }
  if (lines.length > mostRows) return { ...out, bad: [{ line: lines[mostRows][0], why: `there are ${lines.length.toLocaleString("en")} entities, and at most ${mostRows.toLocaleString("en")} can be pasted; use \`tidemark table import\`` }] };
  const seen = new Map();
  const columns = new Map(known);  // those of CSV are known even if no line is right
  for (const [line, read] of lines) {
    try {
      const entity = read();
      const wrong = ["PartitionKey", "RowKey"].map((key) => (entity[key] === undefined ? `it has no ${key}` : wrongKey(key, entity[key]))).find(Boolean);
      if (wrong) throw new Error(wrong);
      const key = JSON.stringify([entity.PartitionKey, entity.RowKey]);
      if (seen.has(key)) throw new Error(`it has the keys of line ${seen.get(key)}`);
      seen.set(key, line);
      for (const name of own(entity)) {
        if (!columns.has(name)) columns.set(name, new Set());
        columns.get(name).add(typeOf(entity, name));
      }
      out.rows.push({ line, entity });
    } catch (error) {
      out.bad.push({ line, why: error.message.replace(/\.$/, "") });
    }
  }
  out.columns = [...columns].map(([name, found]) => ({ name, types: [...found] }));
  return out;
}
