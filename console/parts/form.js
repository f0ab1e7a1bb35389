// A form made from a schema: a field for each member, with what the api says of it. Names in lists are written with
// commas, headers line by line, an object with few members has fields of its own, and so has each object of a list; the
// rest is written as JSON.
import { html } from "./html.js";
import { resolved } from "../net/description.js";
import { parseExact, textOf } from "../net/exact.js";
import { Properties, propertiesOf, rowsOfProperties } from "./properties.js";
import { Rows, rowsOf, rowValue } from "./rows.js";
import { Suggestions } from "./suggest.js";

export const spaced = (name) => name.replace(/([A-Z])/g, (c) => ` ${c.toLowerCase()}`).replace(/^./, (c) => c.toUpperCase());

const isNames = (schema) => schema.type === "array" && schema.items?.type === "string";
const isPairs = (schema) => schema.type === "object" && !schema.properties && schema.additionalProperties?.type === "string";

const isTyped = (schema) => schema?.properties?.type && schema.properties.value;

function typeOf(schema, document) {
  if (schema.enum) return "choice";
  if (schema.type === "array" && resolved(document, schema.items)?.properties) return "rows";
  if (schema.type === "object" && schema.additionalProperties?.oneOf?.some(isTyped)) return "properties";
  if (schema.oneOf?.some(isNames) && schema.oneOf.some(isPairs)) return "pairs";
  if (schema.oneOf) return schema.oneOf.some((each) => each.type === "string") ? "mixed" : "json";
  if (isNames(schema)) return "names";
  if (isPairs(schema)) return "lines";
  if (schema.type === "object" && schema.properties) return "group";
  return { string: "text", integer: "number", number: "number", boolean: "flag" }[schema.type] || "json";
}

const range = (member) => (member.minimum !== undefined && member.maximum !== undefined ? `${member.minimum.toLocaleString("en")} to ${member.maximum.toLocaleString("en")}` : "");
const longHint = 60;
const sentence = (text) => text && text.replace(/[.]*$/, ".");
const hintOf = (member, type) => [sentence(member.description), { names: "Names, with commas between them.", pairs: "Names, with commas between them; NEW=OLD where they differ.", lines: "A line for each: name: value" }[type],
  type === "number" && range(member) && `${range(member)}.`, member.default !== undefined && `Default: ${member.default}.`].filter(Boolean).join(" ");

const parsed = (texts) => { try { return parseExact(texts); } catch { return undefined; } };
const rowsIn = (texts, member, document) => (Array.isArray(texts) ? texts : rowsOf(parsed(texts || "[]"), member, document));
const propertiesIn = (texts) => (Array.isArray(texts) ? texts : rowsOfProperties(parsed(texts || "{}")));

/// Returns the texts of the fields of an object, whether it is there as such or as the JSON of a value.
function innerOf(texts) {
  if (typeof texts !== "string") return texts || {};
  try { return textsOf(parseExact(texts)); } catch { return {}; }
}

/// `texts`: the texts in the fields, by member. `members`: the members that have a field; all if absent. `suggest`: by
/// member, the names to offer while the user types ({of: "tables"}). `fixed`: members that cannot be changed. `loose`:
/// the form of names is left to the api. `within`: the name of the object whose members these are. `terse`: "short" hints
/// or "all" are left out. `problems`: what the api has said, shown at the rows that it names. `locked`: by member, how many of the
/// first rows cannot be changed.
export function Fields({ document, schema, texts, onChange, members = Object.keys(schema.properties), suggest = {}, fixed = [], loose, within = "field", terse, problems = [], locked = {} }) {
  return html`<div class="fields">${members.filter((name) => schema.properties[name]).map((name) => {
    const member = resolved(document, schema.properties[name]);
    const type = typeOf(member, document);
    const required = schema.required?.includes(name);
    const put = (value) => onChange({ ...texts, [name]: value });
    const whole = hintOf(member, type);
    const hint = terse === "all" || (terse === "short" && whole.length < longHint) ? "" : whole;
    const id = `${within}-${name}`;
    if (type === "rows") return html`<${Rows} key=${name} name=${name} id=${id} document=${document} member=${member} hint=${hint} rows=${rowsIn(texts[name], member, document)} onChange=${put} suggest=${suggest[name]} problems=${problems} locked=${locked[name] || 0} />`;
    if (type === "properties") return html`<fieldset class="field" key=${name} name=${name}><legend>${spaced(name)}${required ? html` <span class="dim">needed</span>` : ""}</legend>${hint && html`<small>${hint}</small>`}<${Properties} id=${id} rows=${propertiesIn(texts[name])} onChange=${put} suggest=${suggest[name]} value=${suggest.value} /></fieldset>`;
    if (type === "group") {
      const inner = innerOf(texts[name]);
      const begun = Object.values(inner).some(Boolean);
      return html`<details class="field group" key=${name} open=${begun || required}><summary>${spaced(name)}</summary><small>${hint}</small>
        <${Fields} document=${document} schema=${begun || required ? member : { ...member, required: [] }} texts=${inner} onChange=${put} suggest=${suggest[name] || {}} within=${id} /></details>`;
    }
    const common = { id, name, required, "aria-describedby": hint ? `${id}-hint` : undefined };
    const value = texts[name] ?? "";
    return html`<div class="field" key=${name}><label for=${id}>${spaced(name)}${required ? html` <span class="dim">needed</span>` : ""}</label>
      <${Input} common=${common} member=${member} type=${type} value=${value} readonly=${fixed.includes(name)} loose=${loose} offered=${suggest[name]} set=${(e) => put(e.target.value)} />
      ${hint && html`<small id=${`${id}-hint`}>${hint}</small>`}</div>`;
  })}</div>`;
}

function Input({ common, member, type, value, readonly, loose, offered, set }) {
  if (type === "choice" || type === "flag") {
    const options = type === "flag" ? ["true", "false"] : member.enum;
    return html`<select ...${common} value=${value} disabled=${readonly} onChange=${set}><option value="">${member.default !== undefined ? `default: ${member.default}` : "–"}</option>${options.map((each) => html`<option selected=${value === each} value=${each}>${each}</option>`)}</select>`;
  }
  if (type === "json" || type === "lines") return html`<textarea ...${common} rows=${Math.max(2, Math.min(16, value.split("\n").length))} spellcheck=${false} readonly=${readonly} placeholder=${type === "json" ? "JSON" : "name: value"} value=${value} onInput=${set}></textarea>`;
  const list = offered && !readonly ? `${common.id}-names` : undefined;
  const pattern = type === "number" ? "-?[0-9]+" : type === "text" && !loose ? member.pattern : undefined;
  return html`<input ...${common} type="text" inputmode=${type === "number" ? "numeric" : undefined} pattern=${pattern} title=${pattern ? member.description : undefined} readonly=${readonly} spellcheck=${false} autocomplete="off" list=${list}
      placeholder=${member.format === "date-time" ? "2026-01-31T22:00:00Z" : ""} value=${value} onInput=${set} />
    ${list && html`<${Suggestions} id=${list} value=${value} several=${type === "names" || type === "pairs"} ...${offered} />`}`;
}

const itemsOf = (text) => text.split(",").map((each) => each.trim()).filter(Boolean);

function linesOf(text) {
  return Object.fromEntries(text.split("\n").filter((line) => line.trim()).map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`"${line.trim()}" is not of the form name: value.`);
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  }));
}

function valueOfText(document, member, text) {
  const type = typeOf(member, document);
  if (type === "rows") return rowsIn(text, member, document).map((row, i) => { try { return rowValue(document, member, row); } catch (wrong) { throw new Error(`${i + 1}: ${wrong.message}`); } });
  if (type === "properties") return propertiesOf(propertiesIn(text));
  if (type === "group") return valueOf(document, member, innerOf(text));
  if (/^\s*[{[]/.test(text) && ["names", "pairs", "lines", "mixed"].includes(type)) return parseExact(text);
  if (type === "names") return itemsOf(text);
  if (type === "pairs") {
    const items = itemsOf(text).map((each) => each.split("=").map((side) => side.trim()));
    return items.some((each) => each.length > 1) ? Object.fromEntries(items.map(([to, from = to]) => [to, from])) : items.map(([to]) => to);
  }
  if (type === "lines") return linesOf(text);
  return type === "number" || type === "flag" || type === "json" ? parseExact(text) : text;
}

const wrongForms = { number: "a number", json: "JSON", flag: "true or false" };

/// Returns the value for which the texts stand. Throws with the name of the member whose text is wrong.
export function valueOf(document, schema, texts) {
  const out = {};
  for (const [name, text] of Object.entries(texts)) {
    const member = resolved(document, schema.properties[name]);
    if (!member || text === "" || text === undefined) continue;
    const type = typeOf(member, document);
    try {
      const value = valueOfText(document, member, text);
      if (!["group", "rows", "properties"].includes(type) || Object.keys(value).length || schema.required?.includes(name)) out[name] = value;
    } catch (wrong) {
      throw new Error(["lines", "group", "rows", "properties"].includes(type) ? `${spaced(name)}: ${wrong.message}` : `${spaced(name)} is not ${wrongForms[type] || "JSON"}.`);
    }
  }
  return out;
}

const isPlain = (value) => typeof value === "string" && !/[,=]/.test(value) && value === value.trim() && value !== "";

/// Returns the texts that stand for a value, to begin editing.
export function textsOf(value, schema, document) {
  return Object.fromEntries(Object.entries(value || {}).map(([name, each]) => {
    const member = schema?.properties[name] && resolved(document, schema.properties[name]);
    const type = member && typeOf(member, document);
    if (type === "rows" && Array.isArray(each)) return [name, rowsOf(each, member, document)];
    if (type === "properties" && each && typeof each === "object") return [name, rowsOfProperties(each)];
    if (Array.isArray(each) && (type === "names" || type === "pairs") && each.every(isPlain)) return [name, each.join(", ")];
    if (type === "pairs" && Object.entries(each).every((pair) => pair.every(isPlain))) return [name, Object.entries(each).map(([to, from]) => (to === from ? to : `${to}=${from}`)).join(", ")];
    if (type === "lines" && each) return [name, Object.entries(each).map(([key, text]) => `${key}: ${text}`).join("\n")];
    if (type === "group" && each) return [name, textsOf(each, member, document)];
    if (type === "json") return [name, textOf(each, 2)];
    return [name, typeof each === "string" ? each : textOf(each)];
  }));
}

/// Returns the place of the first member of a value that another value does not have as well, such as "steps[2].set";
/// nothing if there is none. Empty lists and objects count as absent.
export function lost(before, after, place = "") {
  const empty = (value) => value === undefined || (typeof value === "object" && value !== null && !Object.keys(value).length && !(value instanceof Number));
  if (empty(before) && empty(after)) return "";
  const plain = (value) => typeof value !== "object" || value === null || value instanceof Number;
  if (plain(before) || plain(after) || Array.isArray(before) !== Array.isArray(after)) return textOf(before) === textOf(after) ? "" : place || "all of it";
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const found = lost(before[name], after[name], Array.isArray(before) ? `${place}[${name}]` : place ? `${place}.${name}` : name);
    if (found) return found;
  }
  return "";
}

/// Throws if the value has a member that the schema does not know, which a form would lose.
export function checkKnown(schema, value) {
  for (const name of Object.keys(value)) {
    if (!schema.properties[name]) throw new Error(`The form has no field for ${name}.`);
  }
}
