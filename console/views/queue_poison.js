// Poison of users' own queues: the contents of NAME-poison, and one message to look at, to edit, to send back and to
// delete.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { textOf } from "../net/exact.js";
import { useLive, usePages } from "../net/live.js";
import { Card, Confirm, Dialog, Facts, Failure, Head, Reason, Toggle, useAction } from "../parts/basic.js";
import { Diff } from "../parts/diff.js";
import { List, More } from "../parts/list.js";
import { When } from "../parts/time.js";
import { bodyOf, Copyable, count, Id, Json, many, Text } from "../parts/text.js";
import { useKeys } from "../shell/keys.js";
import { go } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { All, Some } from "./poison_actions.js";

const listOf = (queue) => at("/poison", { show: "queues", queue });
/// The text that the page shows: JSON line by line, and Base64 decoded.
const readable = (text) => { const body = bodyOf(text); return typeof body === "string" ? body : textOf(body, 2); };
const of = (queue, id, ending = "") => at(`/v1/poison/${part(id)}${ending}`, { queue });

export function PoisonedQueues() {
  const pages = usePages(async (continuation, signal) => {
    const page = await api.get(at("/v1/poison/queues", { limit: 500, continuation }), { signal });
    return { items: page.queues.map((each) => ({ ...each, id: each.name })), continuation: page.continuation };
  }, [], 15_000);
  return html`<${List} label="Queues with poison" failed=${pages.error} items=${pages.items} href=${(row) => listOf(row.name)} empty="No queue of yours has poison messages." columns=${[
      { name: "Queue", of: (row) => html`<a href=${listOf(row.name)}><${Text} value=${row.name} /></a>` }, { name: "Poison messages", number: true, of: (row) => html`<strong>${count(row.messages)}</strong>` }]} />
    <${More} pages=${pages} what="queue" />`;
}

export function QueueMessages({ queue }) {
  const pages = usePages(async (continuation, signal) => { const page = await api.get(at("/v1/poison", { queue, limit: 100, continuation }), { signal }); return { items: page.poison, continuation: page.continuation }; }, [queue], 5_000);
  const [selected, setSelected] = useState(new Set());
  const [acting, setActing] = useState(null);
  const may = useMay("operator");
  const chosen = (pages.items || []).filter((each) => selected.has(each.id));
  const act = (verb, items) => may && items.length && setActing({ verb, items });
  const verbs = { Redrive: (item, reason) => api.post(of(queue, item.id, "/redrive"), undefined, reason, { headers: { "If-Match": item.etag } }), Delete: (item, reason) => api.remove(of(queue, item.id), reason) };
  const close = () => setActing(null);
  const done = () => { setSelected(new Set()); pages.refresh(); };
  return html`<p><a href=${at("/poison", { show: "queues" })}>All queues with poison</a> · <a href=${`/queues/${part(queue)}`}>the queue <${Text} value=${queue} /></a></p>
    <${List} label="Poison messages" failed=${pages.error} items=${pages.items} selected=${selected} onSelect=${setSelected} href=${(row) => at(`/poison/${part(row.id)}`, { queue })}
      empty="No message of this queue is poisoned." keys=${{ r: (row) => act("Redrive", chosen.length ? chosen : row ? [row] : []) }} columns=${[
        { name: "Message", of: (row) => html`<${Id} value=${row.id} short=${8} href=${at(`/poison/${part(row.id)}`, { queue })} />` }, { name: "Text", wide: true, of: (row) => html`<${Text} value=${row.body} most=${200} />` },
        { name: "Reason", of: (row) => html`<${Text} value=${row.reason} most=${160} />` }, { name: "Taken", number: true, of: (row) => count(row.dequeueCount) },
        { name: "Put", of: (row) => html`<${When} at=${row.insertedAt} />` }, { name: "Moved", of: (row) => html`<${When} at=${row.movedAt} />` }]} />
    <${More} pages=${pages} what="message" />
    ${may && pages.items?.length > 0 && html`<div class="bulk" role="region" aria-label="Act on messages"><span>${selected.size ? `${chosen.length} selected` : "Nothing selected"}</span>
      <button type="button" class="primary" disabled=${!chosen.length} onClick=${() => act("Redrive", chosen)}>Redrive selected…</button><button type="button" class="danger" disabled=${!chosen.length} onClick=${() => act("Delete", chosen)}>Delete selected…</button>
      <span class="dim">or</span><button type="button" onClick=${() => setActing({ verb: "Redrive" })}>Redrive all of this queue…</button>
      <button type="button" class="danger" onClick=${() => setActing({ verb: "Delete" })}>Delete all of this queue…</button></div>`}
    ${acting?.items && html`<${Some} verb=${acting.verb} items=${acting.items} queue=${queue} one=${verbs[acting.verb]} onDone=${done} onClose=${close} />`}
    ${acting && !acting.items && html`<${All} verb=${acting.verb} filter=${{ queue }} onClose=${close} />`}`;
}

export function QueueMessage({ queue, id }) {
  const live = useLive((signal) => api.get(of(queue, id), { signal }), [queue, id], 10_000);
  const [acting, setActing] = useState("");
  const may = useMay("operator");
  useKeys(may ? { r: () => setActing("redrive") } : {});
  const message = live.value;
  const crumbs = [["Poison", "/poison"], ["Queues", at("/poison", { show: "queues" })], [queue, listOf(queue)]];
  if (!message) return html`<${Head} title="Poison message" crumbs=${crumbs} />${live.error?.status === 404 ? html`<div class="notice info"><div>This message is no longer poisoned: it was sent back or deleted.</div></div>` : html`<${Failure} error=${live.error} retry=${live.refresh} />`}`;
  const leave = () => go(listOf(queue));
  return html`<${Head} title=${`Message of ${queue} given up`} crumbs=${crumbs} actions=${may && html`<button type="button" class="primary" onClick=${() => setActing("redrive")}>Redrive…</button><button type="button" onClick=${() => setActing("edit")}>Edit…</button><button type="button" class="danger" onClick=${() => setActing("delete")}>Delete…</button>`} />
    <${Card} tone="bad"><p class="reason"><${Text} value=${message.reason || "No reason is known: somebody put it there."} most=${2000} /></p>
      <${Facts} items=${[["Message", html`<${Copyable} value=${message.id} />`], ["Taken", many(message.dequeueCount, "time")], ["Put", html`<${When} at=${message.insertedAt} both />`], ["Moved", html`<${When} at=${message.movedAt} both />`]]} /></${Card}>
    <${Card} title="Text"><${Json} value=${bodyOf(message.body)} /></${Card}>
    ${message.original !== undefined && html`<${Card} title="What was changed"><${Diff} before=${readable(message.original)} after=${readable(message.body)} /></${Card}>`}
    ${acting === "redrive" && html`<${Confirm} title="Redrive this message?" verb="Redrive" tone="primary" needsReason run=${(reason) => api.post(of(queue, id, "/redrive"), undefined, reason, { headers: { "If-Match": message.etag } }).then(leave)} onClose=${() => setActing("")}><p>It goes back to its queue as it is, and is taken anew.</p></${Confirm}>`}
    ${acting === "delete" && html`<${Confirm} title="Delete this message?" verb="Delete" needsReason run=${(reason) => api.remove(of(queue, id), reason).then(leave)} onClose=${() => setActing("")}><p>It is forgotten for good.</p></${Confirm}>`}
    ${acting === "edit" && html`<${EditText} queue=${queue} message=${message} onClose=${() => setActing("")} onSaved=${() => { setActing(""); live.refresh(); }} onSent=${leave} />`}`;
}

function EditText({ queue, message: newest, onClose, onSaved, onSent }) {
  const [message] = useState(newest);  // as it was shown
  const [after, setAfter] = useState(message.body);
  const [reason, setReason] = useState("");
  const [look, setLook] = useState(false);
  const [save, busy, error] = useAction(async (redrive) => {
    const seen = { "If-Match": message.etag };
    if (redrive) { await api.post(of(queue, message.id, "/redrive"), { body: after }, reason, { headers: seen }); onClose(); onSent(); return; }
    await api.put(of(queue, message.id), { body: after }, reason, seen);
    onSaved();
  });
  return html`<${Dialog} title="Edit the message" wide onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); save(false); }}>
    <${Toggle} label="Shown" value=${look ? "diff" : "text"} options=${[["text", "Text"], ["diff", "Difference to the original"]]} onChange=${(to) => setLook(to === "diff")} />
    ${look ? html`<${Diff} before=${message.original ?? message.body} after=${after} />` : html`<label class="field"><span class="sr">The text of the message</span><textarea rows="14" spellcheck=${false} value=${after} onInput=${(e) => setAfter(e.target.value)}></textarea></label>`}
    <${Reason} value=${reason} onInput=${(e) => setReason(e.target.value)} />
    <${Failure} error=${error} />
    <footer><button type="button" onClick=${onClose}>Back</button><button disabled=${busy || after === message.body || !reason}>Save, keep it here</button><button type="button" class="primary" disabled=${busy || !reason} onClick=${() => save(true)}>Save and redrive</button></footer></form></${Dialog}>`;
}
