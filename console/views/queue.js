// One queue: its figures, its messages, those that the user has taken, and actions on all of it.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { useLive, usePages } from "../net/live.js";
import { Act, Badge, Failure, Figure, Head } from "../parts/basic.js";
import { Destroy } from "../parts/destroy.js";
import { List, More, Search } from "../parts/list.js";
import { Allowed, WhyNot } from "../parts/rights.js";
import { duration, When } from "../parts/time.js";
import { beginning, bodyOf, count, Id, Json, Text, visible } from "../parts/text.js";
import { go, refine } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { AccessButton } from "./access.js";
import { PutMessage, TakeMessages, TakenMessages } from "./messages.js";

const pageSize = 50;
const poisonEnding = "-poison";

/// Returns the messages that wait behind the first one of their group, by their ids.
function behindOthers(messages) {
  const heads = new Set();
  return new Set((messages || []).filter((each) => each.group && (heads.has(each.group) || !heads.add(each.group))).map((each) => each.id));
}

const stateOf = (row, waits) => (waits ? html`<${Badge} tone="dim" state="behind its group" />` : row.visible ? html`<${Badge} tone="good" state="ready" />` : html`<${Badge} tone="info" state=${row.dequeueCount ? "in flight" : "delayed"} />`);

export function Queue({ name, query }) {
  const path = `/v1/queues/${part(name)}`;
  const live = useLive((signal) => api.get(path, { signal }), [name], 3_000);
  const pages = usePages(async (continuation, signal) => { const page = await api.get(at(`${path}/messages`, { limit: pageSize, continuation }), { signal }); return { items: page.messages, continuation: page.continuation }; }, [name], 5_000);
  const [shown, setShown] = useState("");
  const [acting, setActing] = useState("");
  const [taken, setTaken] = useState([]);
  const ours = name.startsWith("tidemark");
  const operator = useMay("operator");
  const may = operator && !ours;
  const queue = live.value;
  const wanted = (query.q || "").toLowerCase();
  const refresh = () => { live.refresh(); pages.refresh(); };
  const pause = async () => { await api.post(`${path}/${queue.paused ? "resume" : "pause"}`); live.refresh(); };
  const close = () => setActing("");
  const behind = behindOthers(queue?.waiting ? pages.items : []);
  const message = pages.items?.find((each) => each.id === shown);
  const isPoison = name.endsWith(poisonEnding);
  const actions = queue && html`${may && html`<button type="button" class="primary" onClick=${() => setActing("put")}>Put a message…</button><button type="button" onClick=${() => setActing("take")}>Take messages…</button>`}${operator && html`<${Act} run=${pause}>${queue.paused ? "Resume" : "Pause"}</${Act}>`}<${AccessButton} of="queues" name=${name} own=${ours} />
    ${!ours && html`<${Allowed} role="admin" onClick=${() => setActing("clear")}>Clear…</${Allowed}><${Allowed} role="admin" class="danger" onClick=${() => setActing("drop")}>Drop…</${Allowed}>`}`;
  return html`<${Head} title=${name} crumbs=${[["Queues", "/queues"]]} actions=${actions}>${queue?.paused && html`<${Badge} tone="warn" state="paused" />`}</${Head}><${Failure} error=${live.error} retry=${live.refresh} />
    ${queue && html`<div class="figures"><${Figure} name="ready" value=${count(queue.ready)} /><${Figure} name="delayed" value=${count(queue.delayed)} /><${Figure} name="in flight" value=${count(queue.inFlight)} /><${Figure} name="waiting behind their group" value=${count(queue.waiting)} /><${Figure} name="poison" value=${count(queue.poison)} tone=${queue.poison ? "bad" : ""} href=${queue.poison ? `/poison?queue=${part(name)}` : undefined} /><${Figure} name="next waits for" value=${duration(queue.oldestAgeSeconds)} />${queue.parts > 0 && html`<${Figure} name="parts, on a shard each" value=${count(queue.parts)} />`}</div>`}
    <${TakenMessages} queue=${name} taken=${taken} onChange=${setTaken} onDone=${refresh} />
    <div class="filters"><${Search} label="Search in the messages that are shown" value=${query.q} onChange=${(q) => refine({ q })} /></div>
    <p class="dim small">Peeking takes nothing: messages that are delayed or in flight are shown as well, in order.${may ? html` To change or delete a message, take it first${isPoison ? html`, or go to <a href=${`/poison?queue=${part(name.slice(0, -poisonEnding.length))}`}>Poison</a>` : ""}.` : ""}</p>
    <${List} label="Messages" kind="lines" failed=${pages.error} items=${pages.items?.filter((each) => !wanted || `${each.id} ${each.text}`.toLowerCase().includes(wanted))} keys=${{ Enter: (row) => row && setShown(row.id) }} empty=${wanted ? "No message that is shown has this text." : "No message."} columns=${[
      { name: "Message", of: (row) => html`<button type="button" class="quiet mono" title=${row.id} aria-expanded=${shown === row.id} onClick=${() => setShown(shown === row.id ? "" : row.id)}>${row.id.slice(0, 8)}…</button>` }, { name: "State", of: (row) => stateOf(row, behind.has(row.id)) },
      { name: "Text", wide: true, of: (row) => html`<span class="cell" title=${visible(beginning(row.text, 1_000))}><bdi>${visible(beginning(row.text, 200))}</bdi></span>` }, { name: "Dequeue count", number: true, of: (row) => count(row.dequeueCount) }, { name: "Put", of: (row) => html`<${When} at=${row.insertedAt} />` }, { name: "Visible", of: (row) => (row.visible ? "" : html`<${When} at=${row.nextVisibleAt} />`) },
      { name: "Expires", of: (row) => (row.expiresAt ? html`<${When} at=${row.expiresAt} />` : html`<span class="dim">never</span>`) }, { name: "Group", of: (row) => html`<${Text} value=${row.group} most=${60} />` }]} />
    ${message && html`<section class="card" aria-label="Message"><header><h2><${Id} value=${message.id} /></h2><button type="button" onClick=${() => setShown("")}>Close</button></header><${Json} value=${bodyOf(message.text)} /></section>`}
    ${(queue || !live.error) && html`<${More} pages=${pages} what="message" />`}<${WhyNot} own=${ours} admin="Clearing and dropping the queue" />
    ${acting === "put" && html`<${PutMessage} queue=${name} onDone=${refresh} onClose=${close} />`}
    ${acting === "take" && html`<${TakeMessages} queue=${name} onTaken=${(some) => { setTaken([...taken.filter((each) => !some.some((one) => one.id === each.id)), ...some]); refresh(); }} onClose=${close} />`}
    ${acting === "clear" && html`<${Destroy} title=${`Delete all messages of ${name}?`} name=${name} verb="Clear the queue" run=${(reason) => api.post(`${path}/clear`, undefined, reason).then(() => { setTaken([]); refresh(); })} onClose=${close}><p>Every message is deleted for good, also those that somebody holds. The queue stays.</p></${Destroy}>`}
    ${acting === "drop" && html`<${Destroy} title=${`Drop the queue ${name}?`} name=${name} verb="Drop the queue" run=${(reason) => api.remove(path, reason).then(() => go("/queues"))} onClose=${close}><p>The queue is deleted with all of its messages, and cannot be brought back. Its poison queue stays.</p></${Destroy}>`}`;
}
