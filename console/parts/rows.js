// The objects of a list, one below the other, each with fields of its own: added, removed, and put into another order.
// An object that has exactly one of several members, as a step of a transaction, has a choice of that member.
import { html } from "./html.js";
import { resolved } from "../net/description.js";
import { Fields, textsOf, valueOf } from "./form.js";
import { freshKey } from "./properties.js";
import { visible } from "./text.js";

const itemOf = (document, member) => resolved(document, member.items);
const hasChoice = (schema) => schema.maxProperties === 1;
const keys = ["partitionKey", "rowKey"];
const place = ["table", "account", ...keys];

/// Returns the name of the member that an object has, the schema of that member, and its texts.
function ofChosen(document, item, texts) {
  if (!hasChoice(item)) return { schema: item, inner: texts };
  const kind = Object.keys(texts)[0];
  return { kind, schema: resolved(document, item.properties[kind]), inner: texts[kind] };
}

/// Returns the rows for the objects of a list: {key, texts}.
export function rowsOf(values, member, document) {
  const item = itemOf(document, member);
  return (Array.isArray(values) ? values : []).map((value) => {
    if (!hasChoice(item)) return { key: freshKey(), texts: textsOf(value, item, document) };
    const kind = Object.keys(value || {}).find((name) => item.properties[name]) || Object.keys(item.properties)[0];
    return { key: freshKey(), texts: { [kind]: textsOf(value?.[kind], resolved(document, item.properties[kind]), document) } };
  });
}

/// Returns the object for which a row stands. A key may be the empty text.
export function rowValue(document, member, row) {
  const { kind, schema, inner } = ofChosen(document, itemOf(document, member), row.texts);
  const out = valueOf(document, schema, inner);
  if (schema.properties.table && inner.table && !inner.of) for (const key of keys) out[key] ??= "";
  return kind ? { [kind]: out } : out;
}

/// Another member has those texts of the former one for which it has fields.
function turned(document, item, texts, kind) {
  const { inner } = ofChosen(document, item, texts);
  const { properties } = resolved(document, item.properties[kind]);
  const same = { ...inner, set: inner.set ?? inner.entity, entity: inner.entity ?? inner.set };
  return { [kind]: Object.fromEntries(Object.entries(same).filter(([name, text]) => properties[name] && text !== undefined)) };
}

/// An entity is named by its place, or by another row.
function membersOf(schema, inner) {
  const all = Object.keys(schema.properties).filter((name) => !(inner.of ? place.includes(name) : name === "of" && inner.table));
  return [...all.filter((name) => name !== "account"), ...all.filter((name) => name === "account")];
}

const lessRequired = (schema) => ({ ...schema, required: schema.required?.filter((name) => !keys.includes(name)) });

/// `suggest(texts)`: the names to offer for one row. The first `locked` rows cannot be changed.
export function Rows({ name, id, document, member, hint, rows, onChange, suggest, problems, locked }) {
  const item = itemOf(document, member);
  const one = name.replace(/s$/, "");
  const article = /^[aeiou]/.test(one) ? "an" : "a";
  const put = (i, texts) => onChange(rows.map((row, at) => (at === i ? { ...row, texts } : row)));
  const move = (i, by) => { const next = [...rows]; next.splice(i + by, 0, next.splice(i, 1)[0]); onChange(next); };
  const first = hasChoice(item) ? (item.properties.merge ? "merge" : Object.keys(item.properties)[0]) : "";
  const add = () => onChange([...rows, { key: freshKey(), texts: first ? { [first]: {} } : {} }]);
  return html`<fieldset class="rows"><legend>${name.replace(/^./, (c) => c.toUpperCase())}</legend>${hint && html`<small class="dim">${hint}</small>`}
    ${rows.map((row, i) => {
      const { kind, schema, inner } = ofChosen(document, item, row.texts);
      const fixed = i < locked;
      const said = problems.filter((each) => each.startsWith(`${name}[${i}]`));
      const label = `${one} ${i + 1}`;
      return html`<section class="row" key=${row.key} aria-label=${label}><header><strong>${i + 1}.</strong>
        ${kind && html`<select aria-label=${`What ${label} does`} value=${kind} disabled=${fixed} onChange=${(e) => put(i, turned(document, item, row.texts, e.target.value))}>${Object.keys(item.properties).map((each) => html`<option value=${each} selected=${each === kind}>${each}</option>`)}</select>`}
        <code class="dim small">${name}[${i}]</code>${fixed && html`<span class="badge good">${name === "guards" ? "held" : "taken"}</span>`}
        ${!fixed && html`<span class="actions"><button type="button" class="quiet" aria-label=${`Move ${label} up`} disabled=${i <= locked} onClick=${() => move(i, -1)}>↑</button><button type="button" class="quiet" aria-label=${`Move ${label} down`} disabled=${i === rows.length - 1} onClick=${() => move(i, 1)}>↓</button><button type="button" class="quiet" aria-label=${`Remove ${label}`} onClick=${() => onChange(rows.filter((each) => each !== row))}>✕</button></span>`}</header>
        <fieldset class="bare" disabled=${fixed}><${Fields} document=${document} schema=${lessRequired(schema)} members=${membersOf(schema, inner)} texts=${inner} terse=${i ? "all" : "short"} within=${`${id}-${row.key.replace(" ", "")}`} suggest=${suggest?.(inner) || {}} onChange=${(texts) => put(i, kind ? { [kind]: texts } : texts)} /></fieldset>
        ${said.map((each) => html`<p class="inline-error" role="status"><bdi>${visible(each)}</bdi></p>`)}</section>`;
    })}
    ${locked !== Infinity && html`<button type="button" disabled=${rows.length >= (member.maxItems ?? Infinity)} onClick=${add}>Add ${article} ${one}</button>`}</fieldset>`;
}
