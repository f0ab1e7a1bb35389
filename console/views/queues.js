import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { useLive, usePages } from "../net/live.js";
import { Act, Badge, Failure, Figure, Head } from "../parts/basic.js";
import { List, More, Search } from "../parts/list.js";
import { duration, When } from "../parts/time.js";
import { bodyOf, count, Id, Json, rate, Text } from "../parts/text.js";
import { refine } from "../shell/router.js";
import { useMay } from "../shell/who.js";

export function Queues({ path, query }) {
  if (path[0]) return html`<${Queue} key=${path[0]} name=${path[0]} query=${query} />`;
  return html`<${All} query=${query} />`;
}

function All({ query }) {
  const pages = usePages(async (continuation, signal) => {
    const page = await api.get(at("/v1/queues", { limit: 500, continuation }), { signal });
    return { items: page.queues.map((each) => ({ ...each, id: each.name })), continuation: page.continuation };
  }, [], 5_000);
  const wanted = (query.q || "").toLowerCase();
  return html`<${Head} title="Queues" /><div class="filters"><${Search} label="Filter those that are shown by name" value=${query.q} onChange=${(q) => refine({ q })} /></div>
    <${List} label="Queues" failed=${pages.error} items=${pages.items?.filter((each) => each.name.includes(wanted))} href=${(row) => `/queues/${part(row.name)}`} empty="There is no such queue." columns=${[
      { name: "Name", of: (row) => html`<a href=${`/queues/${part(row.name)}`}><${Text} value=${row.name} /></a>${row.paused && html` <${Badge} tone="warn" state="paused" />`}` }, { name: "Ready", number: true, of: (row) => count(row.ready) }, { name: "Delayed", number: true, of: (row) => count(row.delayed) }, { name: "In flight", number: true, of: (row) => count(row.inFlight) }, { name: "Waiting", number: true, of: (row) => count(row.waiting) },
      { name: "Poison", number: true, of: (row) => (row.poison ? html`<a href=${`/poison?queue=${part(row.name)}`}><span class="badge bad">${count(row.poison)}</span></a>` : "") }, { name: "Next waits for", number: true, of: (row) => (row.messages ? duration(row.oldestAgeSeconds) : "") }, { name: "In/s", number: true, of: (row) => rate(row.inPerSecond) }, { name: "Out/s", number: true, of: (row) => rate(row.outPerSecond) }]} />
    <${More} pages=${pages} what="queue" />`;
}

function Queue({ name, query }) {
  const live = useLive((signal) => api.get(`/v1/queues/${part(name)}`, { signal }), [name], 3_000);
  const pages = usePages(async (continuation, signal) => { const page = await api.get(at(`/v1/queues/${part(name)}/messages`, { limit: 50, continuation }), { signal }); return { items: page.messages, continuation: page.continuation }; }, [name], 5_000);
  const [shown, setShown] = useState("");
  const may = useMay("operator");
  const queue = live.value;
  const wanted = (query.q || "").toLowerCase();
  const pause = async () => { await api.post(`/v1/queues/${part(name)}/${queue.paused ? "resume" : "pause"}`); live.refresh(); };
  const message = pages.items?.find((each) => each.id === shown);
  return html`<${Head} title=${name} crumbs=${[["Queues", "/queues"]]} actions=${queue && may && html`<${Act} run=${pause}>${queue.paused ? "Resume" : "Pause"}</${Act}>`}>${queue?.paused && html`<${Badge} tone="warn" state="paused" />`}</${Head}><${Failure} error=${live.error} retry=${live.refresh} />
    ${queue && html`<div class="figures"><${Figure} name="ready" value=${count(queue.ready)} /><${Figure} name="delayed" value=${count(queue.delayed)} /><${Figure} name="in flight" value=${count(queue.inFlight)} /><${Figure} name="waiting behind their group" value=${count(queue.waiting)} /><${Figure} name="poison" value=${count(queue.poison)} tone=${queue.poison ? "bad" : ""} href=${queue.poison ? `/poison?queue=${part(name)}` : undefined} /><${Figure} name="next waits for" value=${duration(queue.oldestAgeSeconds)} />${queue.parts > 0 && html`<${Figure} name="parts, on a shard each" value=${count(queue.parts)} />`}</div>`}
    <div class="filters"><${Search} label="Search in the messages that are shown" value=${query.q} onChange=${(q) => refine({ q })} /></div>
    <p class="dim small">Looking takes nothing: also messages that are delayed or in flight are shown, in order.</p>
    <${List} label="Messages" failed=${pages.error} items=${pages.items?.filter((each) => !wanted || `${each.id} ${each.text}`.toLowerCase().includes(wanted))} keys=${{ Enter: (row) => row && setShown(row.id) }} empty="No message." columns=${[
      { name: "Message", of: (row) => html`<button type="button" class="quiet mono" aria-expanded=${shown === row.id} onClick=${() => setShown(shown === row.id ? "" : row.id)}>${row.id.slice(0, 8)}…</button>` }, { name: "State", of: (row) => (row.visible ? html`<${Badge} tone="good" state="ready" />` : html`<${Badge} tone="info" state=${row.dequeueCount ? "in flight" : "delayed"} />`) },
      { name: "Text", wide: true, of: (row) => html`<${Text} value=${row.text} most=${200} />` }, { name: "Taken", number: true, of: (row) => count(row.dequeueCount) }, { name: "Put", of: (row) => html`<${When} at=${row.insertedAt} />` }, { name: "Visible", of: (row) => (row.visible ? "" : html`<${When} at=${row.nextVisibleAt} />`) }, { name: "Group", of: (row) => html`<${Text} value=${row.group} most=${60} />` }]} />
    ${message && html`<section class="card" aria-label="Message"><header><h2><${Id} value=${message.id} /></h2><button type="button" onClick=${() => setShown("")}>Close</button></header><${Json} value=${bodyOf(message.text)} /></section>`}
    ${(queue || !live.error) && html`<${More} pages=${pages} what="message" />`}`;
}
