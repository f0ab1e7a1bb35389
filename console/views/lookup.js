// Looks entities up by an index of any kind and place, and shows them as rows.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { rowId } from "../net/live.js";
import { Badge, Card, Failure, useAction } from "../parts/basic.js";
import { List } from "../parts/list.js";
import { duration } from "../parts/time.js";
import { many, Text, visible } from "../parts/text.js";

const page = 50;  // entities
const mostColumns = 12;
const keysOfTable = new Set(["PartitionKey", "RowKey"]);
const ofSummary = ["Group", "Count", "Sum", "Min", "Max"];

/// The properties of which a template of keys is made, in their order.
function propertiesIn(...templates) {
  const names = templates.flatMap((template) => [...template.replaceAll("{{", "").replaceAll("}}", "").matchAll(/\{([^{}]+)\}/g)].map((found) => found[1]));
  return [...new Set(names)];
}

/// The fields of a lookup: {by: names, needed: how many of them are, inPartition}.
function fieldsOf(definition) {
  if (definition.kind !== "copies") return { by: [definition.by].flat().filter((each) => typeof each === "string"), needed: 0, inPartition: definition.where === "partition" };
  const by = propertiesIn(definition.partitionKey || "", definition.rowKey || "");
  return { by, needed: propertiesIn(definition.partitionKey || "").length, inPartition: false };
}

/// The parameters of the lookup. Throws if a value is missing before another one.
function queryOf(definition, { by, inPartition }, { values, partition, how, to, select }) {
  const query = new URLSearchParams();
  const given = by.map((each) => values[each] || "");
  const first = given.indexOf("");
  const count = first === -1 ? given.length : first;
  if (given.slice(count).some(Boolean)) throw new Error(`Fill in ${by[first]}, too: this index finds by its properties in their order.`);
  if (inPartition) query.append("partition", partition || "");
  const exact = how === "is" ? count : count - 1;
  if (how !== "is" && count === 0) throw new Error(`Fill in ${by[0]}.`);
  for (let i = 0; i < exact; i += 1) query.append(definition.kind === "copies" ? by[i] : "value", given[i]);
  if (how === "prefix") query.append("prefix", given[exact]);
  if (how === "range") { query.append("from", given[exact]); query.append("to", to); }
  if (definition.kind !== "summary" && select === "keys") query.append("select", "keys");
  query.append("top", page);
  return query;
}

const entityOf = (keys) => ({ PartitionKey: keys.partitionKey, RowKey: keys.rowKey });
const link = (table, row) => `/tables/${part(table)}?partitionKey=${part(row.PartitionKey)}&rowKey=${part(row.RowKey)}`;

export function Lookup({ name, definition }) {
  const fields = fieldsOf(definition);
  const [form, set] = useState({ values: {}, partition: "", how: "is", to: "", select: "entities" });
  const [found, setFound] = useState(null);
  const load = async (query, continuation) => {
    const answer = await api.get(`/v1/indexes/${part(name)}/lookup?${query}${continuation ? `&continuation=${part(continuation)}` : ""}`, { exact: true });
    const rows = (answer.keys ? answer.keys.map(entityOf) : answer.groups || answer.entities).map((row) => ({ ...row, [rowId]: `${row.PartitionKey}\u0000${row.RowKey}` }));
    return { ...answer, rows };
  };
  const [ask, busy, error] = useAction(async () => { const query = queryOf(definition, fields, form); setFound({ query, ...await load(query) }); });
  const [more, loading, moreError] = useAction(async () => { const next = await load(found.query, found.continuation); setFound({ ...next, query: found.query, rows: [...found.rows, ...next.rows], leftOut: Number(found.leftOut) + Number(next.leftOut) }); });
  if (definition.kind === "denormalised") return html`<${Card} title="Look up"><p>Its values are in the entities of <a href=${`/tables/${part(definition.destination)}`}><${Text} value=${definition.destination} /></a>: look there.</p></${Card}>`;
  if (!fields.by.length) return null;
  const put = (member) => (e) => set({ ...form, [member]: e.target.value });
  const summary = definition.kind === "summary";
  const optional = (i) => fields.by.length > 1 && i >= Math.max(1, fields.needed);
  return html`<${Card} title="Look up"><form class="filters" onSubmit=${(e) => { e.preventDefault(); ask(); }}>
      ${fields.inPartition && html`<label class="choice"><span>Partition</span><input value=${form.partition} autocomplete="off" onInput=${put("partition")} /></label>`}
      ${fields.by.map((each, i) => html`<label class="choice"><span><bdi>${visible(each)}</bdi></span><input value=${form.values[each] || ""} placeholder=${optional(i) ? "any" : ""} autocomplete="off" spellcheck=${false} onInput=${(e) => set({ ...form, values: { ...form.values, [each]: e.target.value } })} /></label>`)}
      <label class="choice"><span>The last one</span><select value=${form.how} onChange=${put("how")}><option value="is">is this</option><option value="prefix">begins like this</option>${definition.kind !== "copies" && html`<option value="range">is from this…</option>`}</select></label>
      ${form.how === "range" && html`<label class="choice"><span>to</span><input value=${form.to} required autocomplete="off" onInput=${put("to")} /></label>`}
      ${!summary && html`<label class="choice"><span>Show</span><select value=${form.select} onChange=${put("select")}><option value="entities">entities</option><option value="keys">keys alone</option></select></label>`}
      <button disabled=${busy}>${busy ? "…" : "Find"}</button></form>
    <${Failure} error=${error || moreError} />${found && html`<${Found} found=${found} definition=${definition} more=${more} loading=${loading} />`}</${Card}>`;
}

function Found({ found, definition, more, loading }) {
  const summary = definition.kind === "summary";
  const seen = [...new Set(found.rows.flatMap(Object.keys))].filter((each) => !keysOfTable.has(each) && !each.includes("@") && !each.includes("odata.") && each !== "Timestamp");
  const names = summary ? [...ofSummary.filter((each) => seen.includes(each))] : seen;
  const cell = (each) => ({ name: each.length > 40 ? `${each.slice(0, 40)}…` : each, of: (row) => html`<${Text} value=${row[each]} most=${120} />` });
  const keys = ["PartitionKey", "RowKey"].map((each) => ({ name: each, of: (row) => html`<a href=${link(definition.source, row)}><${Text} value=${row[each] === "" ? "(empty)" : row[each]} most=${80} /></a>` }));
  return html`<div class="json"><${List} label="Found by the index" items=${found.rows} href=${summary ? undefined : (row) => link(definition.source, row)} empty=${found.continuation ? "Nothing so far." : "The index has nothing of that."} columns=${[...(summary ? [] : keys), ...names.slice(0, mostColumns).map(cell)]} /></div>
    <div class="more" role="status"><span class="dim">${many(found.rows.length, summary ? "group" : "entity")} shown${found.continuation ? "; there are more" : ", that is all"}${names.length > mostColumns ? `; ${names.length - mostColumns} properties have no column` : ""}${Number(found.leftOut) > 0 ? `; ${many(found.leftOut, "row")} did not match any more` : ""}. The index is <${Badge} state=${found.state} />${found.lag?.seconds !== undefined ? ` and ${duration(found.lag.seconds)} behind` : ""}.</span>
      ${found.continuation && html`<button type="button" disabled=${loading} onClick=${more}>${loading ? "…" : "Show more"}</button>`}</div>`;
}
