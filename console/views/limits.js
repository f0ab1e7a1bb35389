// Pauses and limits of kinds of job, and limits of tables and partitions.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { useLive } from "../net/live.js";
import { Act, Badge, Card, Dialog, Failure, Head, useAction } from "../parts/basic.js";
import { List } from "../parts/list.js";
import { count, Text } from "../parts/text.js";
import { useMay } from "../shell/who.js";

const load = async (signal) => {
  const [kinds, limits] = await Promise.all([api.get("/v1/kinds", { signal }), api.get("/v1/limits", { signal })]);
  return { kinds: kinds.kinds, limits: limits.limits.filter((each) => each.scope !== "kind") };
};
const limit = (number) => (number ? count(number) : html`<span class="dim">none</span>`);

export function Limits() {
  const live = useLive(load, [], 5_000);
  const [editing, setEditing] = useState(null);
  const may = useMay("operator");
  const mayLimit = useMay("admin");
  const pause = (kind) => async () => { await api.patch(`/v1/kinds/${part(kind.kind)}`, { paused: !kind.paused }); live.refresh(); };
  return html`<${Head} title="Limits and pauses" /><${Failure} error=${live.error} retry=${live.refresh} />
    <${Card} title="Kinds of job"><${List} label="Kinds of job" failed=${live.error} items=${live.value?.kinds} id=${(row) => row.kind} columns=${[
      { name: "Kind", of: (row) => row.kind }, { name: "State", of: (row) => (row.paused ? html`<${Badge} tone="warn" state="paused" />` : "") }, { name: "Queue", of: (row) => row.queue || "" }, { name: "Jobs at once", number: true, of: (row) => limit(row.maxRunning) }, { name: "Entities a second", number: true, of: (row) => limit(row.maxPerSecond) },
      { name: "", of: (row) => may && html`<div class="actions"><${Act} run=${pause(row)}>${row.paused ? "Resume" : "Pause"}</${Act}>${mayLimit && html`<button type="button" onClick=${() => setEditing({ scope: "kind", name: row.kind, maxRunning: row.maxRunning, maxPerSecond: row.maxPerSecond })}>Limit…</button>`}</div>` }]} /></${Card}>
    <${Card} title="Tables and partitions" actions=${mayLimit && html`<button type="button" onClick=${() => setEditing({ scope: "table", name: "", partitionKey: "", maxRunning: 0, maxPerSecond: 0, fresh: true })}>New limit…</button>`}>
      <${List} label="Limits of tables and partitions" failed=${live.error} items=${live.value?.limits} id=${(row) => `${row.scope}/${row.name}/${row.partitionKey}`} empty="No table and no partition has a limit." columns=${[
        { name: "Of", of: (row) => row.scope }, { name: "Table", of: (row) => html`<${Text} value=${row.name} />` }, { name: "PartitionKey", of: (row) => html`<${Text} value=${row.partitionKey} />` }, { name: "At once", number: true, of: (row) => limit(row.maxRunning) }, { name: "Entities a second", number: true, of: (row) => limit(row.maxPerSecond) },
        { name: "", of: (row) => mayLimit && html`<button type="button" onClick=${() => setEditing(row)}>Change…</button>` }]} /></${Card}>
    ${editing && html`<${EditLimit} limit=${editing} onClose=${() => { setEditing(null); live.refresh(); }} />`}`;
}

function EditLimit({ limit: given, onClose }) {
  const [form, set] = useState(given);
  const put = (name) => (e) => set({ ...form, [name]: e.target.value });
  const [save, busy, error] = useAction(async () => {
    const numbers = { maxRunning: Number(form.maxRunning), maxPerSecond: Number(form.maxPerSecond) };
    const scope = !given.fresh ? given.scope : form.partitionKey ? "partition" : "table";
    if (scope === "kind") await api.patch(`/v1/kinds/${part(form.name)}`, numbers);
    else await api.patch("/v1/limits", { scope, name: form.name, ...(scope === "partition" ? { partitionKey: form.partitionKey } : {}), ...numbers });
    onClose();
  });
  return html`<${Dialog} title="Limit" onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); save(); }}>
    <label class="field"><span>${form.scope === "kind" ? "Kind" : "Table"}</span><input required readonly=${!given.fresh} value=${form.name} onInput=${put("name")} /></label>
    ${form.scope !== "kind" && html`<label class="field"><span>PartitionKey</span><input readonly=${!given.fresh} value=${form.partitionKey || ""} placeholder=${given.scope === "partition" ? "(empty)" : "of the whole table"} onInput=${put("partitionKey")} /></label>`}
    <div class="fields"><label class="field"><span>At once</span><input type="number" min="0" max="1000" value=${form.maxRunning} onInput=${put("maxRunning")} /><small>0: no limit</small></label><label class="field"><span>Entities a second</span><input type="number" min="0" max="10000000" value=${form.maxPerSecond} onInput=${put("maxPerSecond")} /><small>0: no limit</small></label></div>
    <${Failure} error=${error} /><footer><button type="button" onClick=${onClose}>Back</button><button class="primary" disabled=${busy}>Save</button></footer></form></${Dialog}>`;
}
