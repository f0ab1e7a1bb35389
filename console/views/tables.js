// Tables: entities found by a filter, with the cost of finding them, and one entity to look at and to edit.
import { html } from "../parts/html.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { Double, textOf } from "../net/exact.js";
import { rowId, search, useLive, usePages } from "../net/live.js";
import { Badge, Card, Confirm, Dialog, Failure, Head, useAction } from "../parts/basic.js";
import { Diff } from "../parts/diff.js";
import { List, More, Search } from "../parts/list.js";
import { SavedFilters } from "../parts/saved.js";
import { When } from "../parts/time.js";
import { beginning, Id, many, Text, visible } from "../parts/text.js";
import { go, refine } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { Followers } from "./followers.js";

export function Tables({ path, query }) {
  if (path[0] && query.partitionKey !== undefined && query.rowKey !== undefined) return html`<${Entity} table=${path[0]} partitionKey=${query.partitionKey} rowKey=${query.rowKey} />`;
  if (path[0]) return html`<${Entities} key=${path[0]} table=${path[0]} query=${query} />`;
  return html`<${All} query=${query} />`;
}

function All({ query }) {
  const pages = usePages(async (continuation, signal) => {
    const page = await api.get(at("/v1/tables", { limit: 1000, continuation }), { signal });
    return { items: page.tables.map((each) => ({ id: each.name })), continuation: page.continuation };
  }, [], 15_000);
  const wanted = (query.q || "").toLowerCase();
  return html`<${Head} title="Tables" /><div class="filters"><${Search} label="Filter by name" value=${query.q} onChange=${(q) => refine({ q })} /></div>
    <${List} label="Tables" failed=${pages.error} items=${pages.items?.filter((each) => each.id.toLowerCase().includes(wanted))} href=${(row) => `/tables/${part(row.id)}`} empty="There is no such table." columns=${[{ name: "Name", of: (row) => html`<a href=${`/tables/${part(row.id)}`}>${row.id}</a>` }, { name: "Whose", of: (row) => (row.id.startsWith("Tidemark") ? html`<${Badge} tone="dim" state="Tidemark's own" />` : "") }]} />
    <${More} pages=${pages} what="table" />`;
}

const costs = { point: ["good", "point: only entities whose keys are given are read"], rows: ["good", "range: some rows of a partition are read"], partition: ["info", "the whole partition is read"], partitions: ["warn", "a range of partitions is read"], table: ["warn", "scan: the whole table is read"] };

/// The plan of the typed filter, which the api checks shortly after the last key.
function usePlan(table, filter) {
  const [plan, set] = useState({});
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => api.get(at(`/v1/tables/${part(table)}/plan`, { filter }), { signal: abort.signal }).then((found) => set({ access: found.access }), (error) => error.name !== "AbortError" && set({ wrong: error.message })), 200);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [table, filter]);
  return plan;
}

const system = new Set(["PartitionKey", "RowKey", "Timestamp", "odata.etag", "tidemark.job", "tidemark.archive"]);
const mostColumns = 8;
const own = (entity) => Object.keys(entity).filter((name) => !system.has(name) && !name.endsWith("@odata.type"));
const link = (table, entity) => at(`/tables/${part(table)}`, {}) + `?partitionKey=${part(entity.PartitionKey)}&rowKey=${part(entity.RowKey)}`;

function Entities({ table, query }) {
  const filter = query.filter || "";
  const [text, setText] = useState(filter);
  useEffect(() => setText(filter), [filter]);
  const plan = usePlan(table, text);
  const [index, setIndex] = useState("");
  const load = (signal) => async (continuation) => {
    const page = await api.get(at(`/v1/tables/${part(table)}/entities`, { filter, limit: 100, continuation }), { signal, exact: true });
    setIndex(page.index || "");
    return { ...page, items: page.entities.map((each) => ({ ...each, [rowId]: `${each.PartitionKey}\u0000${each.RowKey}` })) };
  };
  const pages = usePages((continuation, signal, tell) => search(load(signal), continuation, { tell }), [table, filter], 0);
  const names = [...new Set((pages.items || []).slice(0, 100).flatMap(own))];
  const may = useMay("operator");
  const act = (kind) => { if (!kind) return; sessionStorage.setItem("tidemark.draft", textOf({ kind, source: table, filter })); go("/jobs/new"); };
  const [tone, cost] = index && text === filter ? ["good", `found by index ${index}`] : costs[plan.access] || ["dim", "…"];
  return html`<${Head} title=${table} crumbs=${[["Tables", "/tables"]]} actions=${html`<button type="button" disabled=${!pages.items?.length} onClick=${() => jsonLines(table, pages.items)}>Export JSON Lines</button><button type="button" disabled=${!pages.items?.length} onClick=${() => csv(table, pages.items)}>Export CSV</button>
      ${may && !table.startsWith("Tidemark") && html`<select aria-label="Act on all that match, by a job" title="A job that is planned first" value="" onChange=${(e) => act(e.target.value)}><option value="">Act on all that match…</option>${["archive", "copy", "merge", "delete"].map((kind) => html`<option value=${kind}>${kind} by a job…</option>`)}</select>`}`} />
    <form class="filters" role="search" onSubmit=${(e) => { e.preventDefault(); if (!plan.wrong) refine({ filter: text.trim() }, {}); }}><label class="search"><span class="sr">Filter ($filter)</span><input data-search type="text" spellcheck=${false} autocomplete="off" value=${text} aria-invalid=${Boolean(plan.wrong)} aria-describedby="cost" placeholder="PartitionKey eq 'sales' and Amount gt 10" onInput=${(e) => setText(e.target.value)} /></label><button disabled=${Boolean(plan.wrong)}>Query</button></form>
    <p id="cost" class="small" role="status">${plan.wrong ? html`<span class="inline-error"><bdi>${visible(plan.wrong)}</bdi></span>` : html`<${Badge} tone=${tone} state=${cost} />`}</p>
    <div class="filters"><${SavedFilters} of=${table} filter=${filter} onChoose=${(to) => refine({ filter: to }, {})} /></div>
    <${List} label="Entities" failed=${pages.error} items=${pages.items} href=${(row) => link(table, row)} empty=${pages.next ? "No entity matches so far." : "No entity matches."} columns=${[
      { name: "PartitionKey", of: (row) => html`<a href=${link(table, row)}><${Text} value=${row.PartitionKey === "" ? "(empty)" : row.PartitionKey} most=${80} /></a>` }, { name: "RowKey", of: (row) => html`<a href=${link(table, row)}><${Text} value=${row.RowKey === "" ? "(empty)" : row.RowKey} most=${80} /></a>` },
      ...names.slice(0, mostColumns).map((name) => ({ name: html`<bdi>${visible(name.length > 40 ? `${beginning(name, 40)}…` : name)}</bdi>`, of: (row) => html`<${Text} value=${row[name]} most=${120} />` })),
      ...(names.length > mostColumns ? [{ name: `and ${names.length - mostColumns} more`, of: (row) => { const more = own(row).length - mostColumns; return more > 0 ? html`<a class="dim" href=${link(table, row)}>more</a>` : ""; } }] : []),
      { name: "Changed", of: (row) => html`<${When} at=${row.Timestamp} />` }]} /><${More} pages=${pages} what="entity" among="the first" /><${Followers} table=${table} />`;
}

function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/// With types, in the form that \`tidemark table import\` reads.
const jsonLines = (table, items) => save(`${table}.jsonl`, items.map((entity) => `${textOf(entity)}\n`).join(""), "application/x-ndjson");

/// RFC 4180: a column for every property that one of the entities has; the values without their types.
export function csvOf(items) {
  const names = ["PartitionKey", "RowKey", "Timestamp", ...new Set(items.flatMap(own))];
  const quoted = (value) => (value === undefined || value === null ? "" : `"${String(value).replaceAll('"', '""')}"`);
  return [names, ...items.map((each) => names.map((name) => each[name]))].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}
const csv = (table, items) => save(`${table}.csv`, csvOf(items), "text/csv");

const typeNames = { string: "String", boolean: "Boolean", number: "Int32" };
function typeOf(entity, name) {
  const told = entity[`${name}@odata.type`];
  if (told) return String(told).replace("Edm.", "");
  const value = entity[name];
  return value instanceof Double ? "Double" : typeNames[typeof value] || typeof value;
}

function Entity({ table, partitionKey, rowKey }) {
  const address = `/v1/tables/${part(table)}/entity?partitionKey=${part(partitionKey)}&rowKey=${part(rowKey)}`;
  const live = useLive((signal) => api.get(address, { signal, withTag: true, exact: true }), [address], 10_000);
  const [acting, setActing] = useState(null);
  const may = useMay("operator");
  const crumbs = [["Tables", "/tables"], [table, `/tables/${part(table)}`]];
  const actions = html`<a class="button" href=${`/explain?table=${part(table)}&partitionKey=${part(partitionKey)}&rowKey=${part(rowKey)}`}>Explain</a>`;
  if (!live.value) return html`<${Head} title="Entity" crumbs=${crumbs} actions=${actions} /><${Failure} error=${live.error} retry=${live.refresh} />`;
  const { value: entity, tag } = live.value;
  const names = own(entity);
  return html`<${Head} title="Entity" crumbs=${crumbs} actions=${html`${actions}${may && html`<button type="button" onClick=${() => setActing({ verb: "edit", entity, tag })}>Edit…</button><button type="button" class="danger" onClick=${() => setActing({ verb: "delete", tag })}>Delete…</button>`}`} /><${Failure} error=${live.error} retry=${live.refresh} />
    <${Card}><div class="scroll" tabindex="0" role="region" aria-label="Properties"><table><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Value</th></tr></thead><tbody>
      <tr><td>PartitionKey</td><td class="dim">String</td><td><${Text} value=${entity.PartitionKey} /></td></tr><tr><td>RowKey</td><td class="dim">String</td><td><${Text} value=${entity.RowKey} /></td></tr><tr><td>Timestamp</td><td class="dim">DateTime</td><td><${When} at=${entity.Timestamp} both /> <span class="dim small mono">${entity.Timestamp}</span></td></tr>
      ${names.map((name) => html`<tr key=${name}><td><${Text} value=${name} most=${100} /></td><td class="dim">${visible(typeOf(entity, name))}</td><td><${Text} value=${String(entity[name])} most=${1000} /></td></tr>`)}</tbody></table></div></${Card}><p class="dim small">${many(names.length, "property")}${entity["tidemark.job"] ? html`, a copy that job <${Id} value=${entity["tidemark.job"]} href=${`/jobs/${part(entity["tidemark.job"])}`} /> wrote` : ""}</p>
    ${acting?.verb === "edit" && html`<${EditEntity} address=${address} entity=${acting.entity} tag=${acting.tag} onClose=${() => { setActing(null); live.refresh(); }} />`}
    ${acting?.verb === "delete" && html`<${Confirm} title="Delete this entity?" verb="Delete" needsReason run=${(reason) => api.remove(address, reason, { "If-Match": acting.tag }).then(() => go(`/tables/${part(table)}`))} onClose=${() => setActing(null)}><p>It is deleted as it is shown; if somebody has changed it since, nothing happens.</p></${Confirm}>`}`;
}

function EditEntity({ address, entity, tag, onClose }) {
  const before = textOf(Object.fromEntries(Object.entries(entity).filter(([name]) => !system.has(name))), 2);
  const [after, setAfter] = useState(before);
  const [reason, setReason] = useState("");
  const [save, busy, error] = useAction(async () => { await api.put(address, after, reason, { "If-Match": tag }); onClose(); });
  return html`<${Dialog} title="Edit the entity" wide onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); save(); }}><label class="field"><span>Properties, as JSON with types</span><textarea rows="16" spellcheck=${false} value=${after} onInput=${(e) => setAfter(e.target.value)}></textarea></label>
    <${Diff} before=${before} after=${after} /><label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${reason} onInput=${(e) => setReason(e.target.value)} /></label>
    <${Failure} error=${error} /><footer><button type="button" onClick=${onClose}>Back</button><button class="primary" disabled=${busy || after === before}>Save</button></footer></form></${Dialog}>`;
}
