// Pauses and limits of kinds of job, and limits of tables and partitions.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { useLive } from "../net/live.js";
import { Act, AsOf, Badge, Card, Failure, Head } from "../parts/basic.js";
import { EditDialog } from "../parts/as_json.js";
import { checkKnown, Fields, textsOf, valueOf } from "../parts/form.js";
import { List } from "../parts/list.js";
import { count, Text } from "../parts/text.js";
import { useMay } from "../shell/who.js";

const load = async (signal) => {
  const [kinds, limits] = await Promise.all([api.get("/v1/kinds", { signal }), api.get("/v1/limits", { signal })]);
  return { kinds: kinds.kinds, limits: limits.limits.filter((each) => each.scope !== "kind") };
};
const limit = (number) => (number ? count(number) : html`<span class="dim">no limit</span>`);

export function Limits() {
  const live = useLive(load, [], 5_000);
  const [editing, setEditing] = useState(null);
  const may = useMay("operator");
  const mayLimit = useMay("admin");
  const pause = (kind) => async () => { await api.patch(`/v1/kinds/${part(kind.kind)}`, { paused: !kind.paused }); live.refresh(); };
  return html`<${Head} title="Limits and pauses" /><${Failure} error=${live.error} retry=${live.refresh} /><${AsOf} live=${live} />
    <${Card} title="Kinds of job"><${List} label="Kinds of job" failed=${live.error} items=${live.value?.kinds} id=${(row) => row.kind} columns=${[
      { name: "Kind", of: (row) => (row.own ? html`<a href=${`/kinds/${part(row.kind)}`}>${row.kind}</a>` : row.kind) }, { name: "State", of: (row) => (row.paused ? html`<${Badge} tone="warn" state="paused" />` : "") }, { name: "Queue", of: (row) => row.queue || "" }, { name: "Jobs at once", number: true, of: (row) => (row.own ? "" : limit(row.maxRunning)) }, { name: "Entities a second", number: true, of: (row) => (row.own ? "" : limit(row.maxPerSecond)) },
      { name: "", of: (row) => may && html`<div class="actions"><${Act} run=${pause(row)}>${row.paused ? "Resume" : "Pause"}</${Act}>${mayLimit && !row.own && html`<button type="button" onClick=${() => setEditing({ ...row, scope: "kind" })}>Limit…</button>`}</div>` }]} /></${Card}>
    <${Card} title="Tables and partitions" actions=${mayLimit && html`<button type="button" onClick=${() => setEditing({ scope: "table", name: "", maxRunning: 0, maxPerSecond: 0, fresh: true })}>New limit…</button>`}>
      <${List} label="Limits of tables and partitions" failed=${live.error} items=${live.value?.limits} id=${(row) => `${row.scope}/${row.name}/${row.partitionKey}`} empty="No table and no partition has a limit." columns=${[
        { name: "Of", of: (row) => row.scope }, { name: "Table", of: (row) => html`<${Text} value=${row.name} />` }, { name: "PartitionKey", of: (row) => html`<${Text} value=${row.partitionKey} />` }, { name: "At once", number: true, of: (row) => limit(row.maxRunning) }, { name: "Entities a second", number: true, of: (row) => limit(row.maxPerSecond) },
        { name: "", of: (row) => mayLimit && html`<button type="button" onClick=${() => setEditing(row)}>Change…</button>` }]} /></${Card}>
    ${editing && html`<${EditLimit} limit=${editing} onClose=${() => { setEditing(null); live.refresh(); }} />`}`;
}

const ofTable = ["scope", "name", "partitionKey"];

/// A limit of a kind, or of a table or partition, by the members that the api describes for each.
function EditLimit({ limit: given, onClose }) {
  const ofKind = given.scope === "kind";
  const schemaIn = (document) => { const schema = document.components.schemas[ofKind ? "KindChange" : "LimitChange"]; return ofKind ? schema : { ...schema, properties: { ...schema.properties, scope: { ...schema.properties.scope, enum: ["table", "partition"] } } }; };
  const members = (schema, texts) => Object.keys(schema.properties).filter((name) => name !== "paused" && (name !== "partitionKey" || texts.scope === "partition"));
  const value = ofKind ? { maxRunning: given.maxRunning, maxPerSecond: given.maxPerSecond, ...(given.queue ? { queue: given.queue } : {}) } : Object.fromEntries(Object.entries(given).filter(([name]) => name !== "fresh"));
  const save = async (text) => { await api.patch(ofKind ? `/v1/kinds/${part(given.kind)}` : "/v1/limits", text); onClose(); };
  const toValue = (document, texts) => {
    const schema = schemaIn(document);
    const out = valueOf(document, schema, Object.fromEntries(Object.entries(texts).filter(([name]) => members(schema, texts).includes(name))));
    if (ofKind && given.queue && !texts.queue) out.queue = "default";
    return texts.scope === "partition" ? { ...out, partitionKey: texts.partitionKey || "" } : out;
  };
  return html`<${EditDialog} title=${ofKind ? `Limits of ${given.kind} jobs` : "Limit of a table or partition"} what="Limit" verb="Save" value=${value} onClose=${onClose} save=${save} toValue=${toValue}
    toForm=${(document, from) => { checkKnown(schemaIn(document), from); return textsOf(from, schemaIn(document), document); }}
    fields=${(document, texts, set) => html`<${Fields} document=${document} schema=${schemaIn(document)} texts=${texts} onChange=${set} members=${members(schemaIn(document), texts)} fixed=${given.fresh ? [] : ofTable} suggest=${{ name: { of: "tables" } }} />`} />`;
}
