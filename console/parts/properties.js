// Properties of an entity and their values, in the form in which jobs set them: plain values, or values with a type.
import { html } from "./html.js";
import { useState } from "../vendor/preact/hooks.js";
import { Double, hasMembers, parseExact, textOf } from "../net/exact.js";
import { Suggestions } from "./suggest.js";

const types = ["text", "number", "true or false", "Int32", "Int64", "Double", "DateTime", "Guid", "Binary", "String", "Boolean"];
const most = 252;
let made = 0;
export const freshKey = () => `row ${(made += 1)}`;

const plainType = (value) => (typeof value === "string" ? "text" : typeof value === "boolean" ? "true or false" : "number");
const typed = (value) => hasMembers(value) && typeof value.type === "string" && "value" in value;
const written = (value) => (typeof value === "string" ? value : textOf(value));
const seen = (value) => (typed(value) ? { type: value.type, text: written(value.value) } : { type: plainType(value), text: written(value) });

/// Returns a row for each property. A row that nobody changes keeps its value exactly.
export const rowsOfProperties = (values) => Object.entries(values || {}).map(([name, value]) => ({ key: freshKey(), name, ...seen(value), was: value }));

function number(text) {
  let value;
  try { value = parseExact(text); } catch { /* not a number */ }
  if (!["number", "bigint"].includes(typeof value) && !(value instanceof Double)) throw new Error(`"${text}" is not a number.`);
  return value;
}

function truth(text) {
  if (text !== "true" && text !== "false") throw new Error(`"${text}" is neither true nor false.`);
  return text === "true";
}

function attempt(read, text) { try { return read(text); } catch { return text; } }

/// A template may stand in the place of a value of any type.
function valueOfRow({ type, text, was }) {
  if (was !== undefined && seen(was).type === type && seen(was).text === text) return was;
  if (type === "text") return text;
  if (type === "number") return number(text);
  if (type === "true or false") return truth(text);
  return { type, value: type === "Int32" || type === "Double" ? attempt(number, text) : type === "Boolean" ? attempt(truth, text) : text };
}

export function propertiesOf(rows) {
  const out = {};
  for (const row of rows) {
    if (!row.name) throw new Error("A property needs a name.");
    if (Object.hasOwn(out, row.name)) throw new Error(`The property ${row.name} is there twice.`);
    try { out[row.name] = valueOfRow(row); } catch (wrong) { throw new Error(`${row.name}: ${wrong.message}`); }
  }
  return out;
}

/// A field with names that are offered while it has the focus: rows may be many.
export function Offering({ id, value, offered, set, ...attributes }) {
  const [asked, ask] = useState(false);
  return html`<input id=${id} autocomplete="off" spellcheck=${false} value=${value} list=${offered && asked ? `${id}-names` : undefined} onFocus=${() => ask(true)} onInput=${(e) => set(e.target.value)} ...${attributes} />${offered && asked && html`<${Suggestions} id=${`${id}-names`} value=${value} ...${offered} />`}`;
}

/// `suggest`: the names to offer; `value`: the placeholders to offer for values.
export function Properties({ id, rows, onChange, suggest, value }) {
  const set = (row, part) => onChange(rows.map((each) => (each.key === row.key ? { ...each, ...part } : each)));
  return html`<div class="properties">${rows.map((row, i) => html`<div class="property" key=${row.key}>
      <${Offering} id=${`${id}-${i}-name`} aria-label="Name of the property" placeholder="Name" required maxlength="255" value=${row.name} offered=${suggest} set=${(name) => set(row, { name })} />
      <select aria-label=${`Type of ${row.name || "the property"}`} value=${row.type} onChange=${(e) => set(row, { type: e.target.value })}>${types.map((each) => html`<option value=${each} selected=${each === row.type}>${each}</option>`)}</select>
      <${Offering} id=${`${id}-${i}-value`} aria-label=${`Value of ${row.name || "the property"}`} placeholder=${row.type === "DateTime" ? "2026-01-31T22:00:00Z" : "Value"} value=${row.text} offered=${value} set=${(text) => set(row, { text })} />
      <button type="button" class="quiet" aria-label=${`Remove ${row.name || "the property"}`} onClick=${() => onChange(rows.filter((each) => each.key !== row.key))}>✕</button></div>`)}
    <button type="button" disabled=${rows.length >= most} onClick=${() => onChange([...rows, { key: freshKey(), name: "", type: "text", text: "" }])}>Add a property</button></div>`;
}
