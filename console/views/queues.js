// Queues: their list with figures; a queue has a view of its own.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { usePages } from "../net/live.js";
import { Badge, Confirm, Head } from "../parts/basic.js";
import { List, More } from "../parts/list.js";
import { NameSearch } from "../parts/names.js";
import { Allowed, WhyNot } from "../parts/rights.js";
import { duration } from "../parts/time.js";
import { count, rate, Text } from "../parts/text.js";
import { go, refine } from "../shell/router.js";
import { Queue } from "./queue.js";

export function Queues({ path, query }) {
  if (path[0]) return html`<${Queue} key=${path[0]} name=${path[0]} query=${query} />`;
  return html`<${All} query=${query} />`;
}

const pageSize = 200;

function All({ query }) {
  const pages = usePages(async (continuation, signal) => {
    const page = await api.get(at("/v1/queues", { prefix: query.q, limit: pageSize, continuation }), { signal });
    return { items: page.queues.map((each) => ({ ...each, id: each.name })), continuation: page.continuation };
  }, [query.q], 5_000);
  const [making, setMaking] = useState(false);
  const href = (row) => `/queues/${part(row.name)}`;
  return html`<${Head} title="Queues" actions=${html`<${Allowed} role="operator" class="primary" onClick=${() => setMaking(true)}>New queue…</${Allowed}>`} />
    <div class="filters"><${NameSearch} of="queues" value=${query.q} onChange=${(q) => refine({ q })} /></div>
    <${List} label="Queues" kind="lines" failed=${pages.error} items=${pages.items} href=${href} empty="There is no such queue." columns=${[
      { name: "Name", of: (row) => html`<a href=${href(row)}><${Text} value=${row.name} /></a>${row.paused && html` <${Badge} tone="warn" state="paused" />`}` }, { name: "Messages", number: true, of: (row) => count(row.messages) }, { name: "Ready", number: true, of: (row) => count(row.ready) }, { name: "Delayed", number: true, of: (row) => count(row.delayed) }, { name: "In flight", number: true, of: (row) => count(row.inFlight) }, { name: "Waiting", number: true, of: (row) => count(row.waiting) },
      { name: "Poison", number: true, of: (row) => (row.poison ? html`<a href=${`/poison?queue=${part(row.name)}`}><span class="badge bad">${count(row.poison)}</span></a>` : "") }, { name: "Next waits for", number: true, of: (row) => (row.messages ? duration(row.oldestAgeSeconds) : "") }, { name: "In/s", number: true, of: (row) => rate(row.inPerSecond) }, { name: "Out/s", number: true, of: (row) => rate(row.outPerSecond) }]} />
    <${More} pages=${pages} what="queue" /><${WhyNot} />
    ${making && html`<${NewQueue} onClose=${() => setMaking(false)} />`}`;
}

function NewQueue({ onClose }) {
  const [form, set] = useState({ name: "", most: "" });
  const run = async (reason) => {
    await api.put(`/v1/queues/${part(form.name)}`, { maxDequeueCount: form.most === "" ? undefined : Number(form.most) }, reason);
    go(`/queues/${part(form.name)}`);
  };
  return html`<${Confirm} title="New queue" verb="Create" tone="primary" run=${run} onClose=${onClose}>
    <label class="field"><span>Name</span><input required pattern="[a-z0-9](-?[a-z0-9])+" minlength="3" maxlength="63" spellcheck=${false} autocomplete="off" value=${form.name} onInput=${(e) => set({ ...form, name: e.target.value })} /><small>3 to 63 lower-case letters, digits and single hyphens between them</small></label>
    <label class="field"><span>Dequeue count at which a message becomes poison</span><input type="number" min="0" max="10000" value=${form.most} placeholder="never" onInput=${(e) => set({ ...form, most: e.target.value })} /><small>A message that was taken so often goes to NAME-poison. Empty or 0: never</small></label></${Confirm}>`;
}
