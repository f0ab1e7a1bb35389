// Poison messages: by kind of failure, by queue, one by one, and the actions on one, some or all of them.
import { html } from "../parts/html.js";
import { useLayoutEffect, useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { description } from "../net/description.js";
import { hasMembers, parseExact, textOf } from "../net/exact.js";
import { search, textSearch, useLive, usePages } from "../net/live.js";
import { Act, Badge, Card, Confirm, Dialog, Facts, Failure, Head, Reason, Toggle, useAction } from "../parts/basic.js";
import { Diff } from "../parts/diff.js";
import { formOf, JobFields, specOf as specIn } from "../parts/job_form.js";
import { Spark } from "../parts/spark.js";
import { Choice, List, More, Search } from "../parts/list.js";
import { exactTime, When } from "../parts/time.js";
import { bodyOf, Copyable, count, Id, Json, Text, visible } from "../parts/text.js";
import { useKeys } from "../shell/keys.js";
import { go, refine } from "../shell/router.js";
import { useSettings } from "../shell/settings.js";
import { useMay } from "../shell/who.js";
import { PlanOf } from "./plan.js";
import { Story } from "./story.js";
import { All, Some } from "./poison_actions.js";
import { PoisonedQueues, QueueMessage, QueueMessages } from "./queue_poison.js";
import { useKinds } from "./kinds.js";

export function Poison({ path, query }) {
  const { utc } = useSettings();
  const kinds = useKinds();
  const ofQueue = query.queue && !query.queue.startsWith("tidemark-jobs");  // otherwise the poison is that of jobs
  if (path[0] && ofQueue) return html`<${QueueMessage} key=${path[0]} queue=${query.queue} id=${path[0]} />`;
  if (path[0]) return html`<${Message} key=${path[0]} id=${path[0]} />`;
  const show = ofQueue || query.show === "queues" ? "queues" : query.show === "messages" || query.fingerprint || query.q || query.queue ? "messages" : "groups";
  const filter = { kind: query.kind, fingerprint: query.fingerprint, movedAfter: query.movedAfter, movedBefore: query.movedBefore };
  const time = { since: query.since, movedAfter: query.movedAfter, movedBefore: query.movedBefore };
  const change = (to) => go(at("/poison", { show: to === "groups" ? "" : to, ...(to === "queues" ? {} : { kind: query.kind, ...time }) }));
  const group = (fingerprint) => at("/poison", { show: "messages", fingerprint, ...time });
  const told = [!query.since && query.movedAfter && `moved after ${exactTime(query.movedAfter, utc)}`, query.movedBefore && `moved before ${exactTime(query.movedBefore, utc)}`].filter(Boolean);
  return html`<${Head} title="Poison" actions=${html`<${Toggle} label="Shown as" value=${show} options=${[["groups", "Groups"], ["messages", "Messages"], ["queues", "Your queues"]]} onChange=${change} />`}>
      <p class="dim small">${show === "queues" ? "Messages of your own queues that failed too often." : "Jobs that were given up."} They stay until they are sent back or deleted.</p></${Head}>
    ${show === "queues" ? (ofQueue ? html`<${QueueMessages} key=${query.queue} queue=${query.queue} />` : html`<${PoisonedQueues} />`) : html`
    <div class="filters">${show === "messages" && html`<${Search} label="Search in ids, errors and bodies" value=${query.q} onChange=${(q) => refine({ q, show: "messages" })} />`}
      <${Choice} label="kind" value=${query.kind} options=${kinds} onChange=${(kind) => refine({ kind })} />
      <${Choice} label="moved in the last" value=${query.since} options=${Object.keys(spans)} onChange=${(since) => refine({ since, movedAfter: since && new Date(Date.now() - spans[since]).toISOString() })} />
      ${told.length > 0 && html`<span class="badge info">${visible(told.join(", "))}</span><button type="button" class="quiet" onClick=${() => refine({ since: "", movedAfter: "", movedBefore: "" })}>at any time</button>`}
      ${query.fingerprint && html`<span class="badge info">group <span class="mono">${visible(query.fingerprint)}</span></span><a href=${at("/poison", { show: "messages", kind: query.kind, q: query.q, ...time })}>all groups</a>`}</div>
    ${show === "messages" ? html`<${Messages} filter=${filter} text=${query.q || ""} linkOf=${group} />` : html`<${Groups} filter=${filter} linkOf=${group} />`}`}`;
}

const spans = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 };

function Groups({ filter, linkOf }) {
  const inputs = Object.values(filter);
  const live = useLive((signal) => api.get(at("/v1/poison/groups", filter), { signal }), inputs, 15_000);
  const [acting, setActing] = useState(null);
  const groups = live.value?.groups;
  const largest = Math.max(1, ...(groups || []).map((group) => group.count));
  const may = useMay("operator");
  return html`<${Failure} error=${live.error} retry=${live.refresh} />
    <${List} label="Groups of poison messages" failed=${live.error} items=${groups} id=${(group) => `${group.fingerprint} ${group.source || ""}`} href=${(group) => linkOf(group.fingerprint)}
      empty="Nothing is poisoned." keys=${may ? { r: (group) => group && setActing({ verb: "Redrive", group }) } : {}} columns=${[
        { name: "Messages", number: true, of: (group) => html`<strong>${count(group.count)}</strong><div><progress max=${largest} value=${group.count} aria-label="Share of the largest group"></progress></div>` },
        { name: "Kind", of: (group) => group.kind }, { name: "Table", of: (group) => group.source && html`<${Text} value=${group.source} />` },
        { name: "Reason", wide: true, of: (group) => html`<a href=${linkOf(group.fingerprint)}><${Text} value=${group.reason || "no reason is known"} most=${300} /></a>` },
        { name: "Last 24 hours", of: (group) => html`<${Spark} values=${group.trend} />` }, { name: "First, last", of: (group) => html`<div><${When} at=${group.firstMovedAt} /></div><div><${When} at=${group.lastMovedAt} /></div>` },
        { name: "", of: (group) => may && html`<div class="actions"><button type="button" onClick=${() => setActing({ verb: "Redrive", group })}>Redrive all…</button><button type="button" class="danger" onClick=${() => setActing({ verb: "Delete", group })}>Delete all…</button></div>` }]} />
    ${live.value && html`<p class="dim small">${live.value.complete ? "" : `${count(live.value.counted)} messages are counted; there are more. `}Counted <${When} at=${live.value.asOf} />.</p>`}
    ${groups?.length > 0 && may && html`<div class="more"><button type="button" onClick=${() => setActing({ verb: "Redrive", group: null })}>Redrive all that match…</button></div>`}
    ${acting && html`<${All} verb=${acting.verb} filter=${{ ...filter, ...(acting.group ? { fingerprint: acting.group.fingerprint, kind: acting.group.kind, source: acting.group.source } : {}) }} onClose=${() => { setActing(null); live.refresh(); }} />`}`;
}

/// With a text, the results are searched here.
function findMessages(filter, text, continuation, signal, tell) {
  const load = async (from) => { const page = await api.get(at("/v1/poison", { ...filter, limit: text ? 500 : 100, continuation: from }), { signal }); return { ...page, items: page.poison }; };
  return search(load, continuation, { tell, ...textSearch(text) });
}

function Messages({ filter, text, linkOf }) {
  const pages = usePages((continuation, signal, tell) => findMessages(filter, text, continuation, signal, tell), [...Object.values(filter), text], 5_000);
  const [selected, setSelected] = useState(new Set());
  const [acting, setActing] = useState(null);
  const may = useMay("operator");
  const chosen = (pages.items || []).filter((each) => selected.has(each.id));
  const close = () => setActing(null);
  const done = () => { setSelected(new Set()); pages.refresh(); };
  const redriveKey = (row) => {
    if (!may) return;
    if (chosen.length) setActing({ verb: "Redrive", items: chosen });
    else if (row) setActing({ verb: "Redrive", items: [row] });
  };
  return html`<${List} label="Poison messages" failed=${pages.error} items=${pages.items} selected=${selected} onSelect=${setSelected} href=${(row) => `/poison/${part(row.id)}`}
      empty=${pages.next ? "No message matches so far." : "Nothing is poisoned that matches."} keys=${{ r: redriveKey }} columns=${[
        { name: "Message", of: (row) => html`<${Id} value=${row.id} short=${8} href=${`/poison/${part(row.id)}`} />` }, { name: "Kind", of: (row) => html`<bdi>${visible(row.kind)}</bdi>` },
        { name: "Reason", wide: true, of: (row) => html`<${Text} value=${row.reason || "no reason is known"} most=${240} />` },
        { name: "Attempts", number: true, of: (row) => row.attempts.filter((each) => each.number).length }, { name: "Sent back", number: true, of: (row) => row.redrives || "" },
        { name: "Moved", of: (row) => html`<${When} at=${row.movedAt} />` },
        { name: "Group", of: (row) => html`<${Id} value=${row.fingerprint} short=${8} href=${linkOf(row.fingerprint)} />` }]} />
    <${More} pages=${pages} what="message" among="the first" />
    ${may && pages.items?.length > 0 && html`<div class="bulk" role="region" aria-label="Act on messages"><span>${selected.size ? `${chosen.length} selected` : "Nothing selected"}</span>
      <button type="button" class="primary" disabled=${!chosen.length} onClick=${() => setActing({ verb: "Redrive", items: chosen })}>Redrive selected…</button>
      <button type="button" class="danger" disabled=${!chosen.length} onClick=${() => setActing({ verb: "Delete", items: chosen })}>Delete selected…</button>
      <span class="dim">or</span><button type="button" onClick=${() => setActing({ verb: "Redrive" })} disabled=${Boolean(text)} title=${text ? "A text search acts on what is selected" : ""}>Redrive all that match…</button>
      <button type="button" class="danger" disabled=${Boolean(text)} onClick=${() => setActing({ verb: "Delete" })}>Delete all that match…</button></div>`}
    ${acting?.items && html`<${Some} verb=${acting.verb} items=${acting.items} one=${verbs[acting.verb]} onDone=${done} onClose=${close} />`}
    ${acting && !acting.items && html`<${All} verb=${acting.verb} filter=${filter} onClose=${close} />`}`;
}

const verbs = {
  Redrive: (item, reason) => api.post(`/v1/poison/${part(item.id)}/redrive`, undefined, reason, { headers: { "If-Match": item.etag } }),
  Delete: (item, reason) => api.remove(`/v1/poison/${part(item.id)}`, reason),
};

/// The job of a message, in the form in which it is edited and sent.
export function specOf(body) {
  if (!hasMembers(body)) return String(body ?? "");
  const { jobId, group, ...spec } = body;
  return textOf(spec, 2);
}

/// Members in the order in which the api returns them.
const sorted = (value) => (Array.isArray(value) ? value.map(sorted) : hasMembers(value) ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])])) : value);

/// The message before its first edit.
const originalOf = (message) => specOf(message.original === undefined ? message.body : sorted(bodyOf(message.original)));

function Message({ id }) {
  const live = useLive((signal) => api.get(`/v1/poison/${part(id)}`, { signal, exact: true }), [id], 10_000);
  const [acting, setActing] = useState("");
  const may = useMay("operator");
  useKeys(may ? { r: () => setActing("redrive") } : {});
  const message = live.value;
  if (!message) return html`<${Head} title="Poison message" crumbs=${[["Poison", "/poison"]]} />${live.error?.status === 404 ? html`<div class="notice info"><div>This message is no longer poisoned: it was sent back or deleted. <a href=${`/jobs?q=${part(id)}`}>Look for its job</a></div></div>` : html`<${Failure} error=${live.error} retry=${live.refresh} />`}`;
  const done = () => { setActing(""); go("/poison?show=messages"); };
  return html`<${Head} title=${`${message.kind} given up`} crumbs=${[["Poison", "/poison"], ["group", at("/poison", { show: "messages", fingerprint: message.fingerprint })]]}
      actions=${may && html`<button type="button" class="primary" onClick=${() => setActing("redrive")}>Redrive…</button><button type="button" onClick=${() => setActing("edit")}>Edit…</button><button type="button" class="danger" onClick=${() => setActing("delete")}>Delete…</button>`} />
    <${Card} tone="bad"><p class="reason"><${Text} value=${message.reason || "No reason is known."} most=${2000} /></p>
      <${Facts} items=${[["Message", html`<${Copyable} value=${message.id} />`], ["Job", html`<${Id} value=${message.jobId} href=${`/jobs/${part(message.jobId)}`} />`], ["Came from", html`<${Text} value=${message.queue} />`],
        ["Moved", html`<${When} at=${message.movedAt} both />`], ["Sent back before", message.redrives], ["Group", html`<${Id} value=${message.fingerprint} href=${at("/poison", { show: "messages", fingerprint: message.fingerprint })} />`]]} /></${Card}>
    <div class="columns"><${Card} title="Story"><${Story} attempts=${message.attempts} /></${Card}>
      <div><${Card} title="Body"><${Json} value=${message.body} /></${Card}>
        ${message.original !== undefined && html`<${Card} title="What was changed"><${Diff} before=${originalOf(message)} after=${specOf(message.body)} /></${Card}>`}</div></div>
    <${PlanNow} id=${id} />
    ${acting === "redrive" && html`<${Confirm} title="Redrive this message?" verb="Redrive" tone="primary" needsReason run=${(reason) => verbs.Redrive(message, reason).then(() => go(`/jobs/${part(message.jobId)}`))} onClose=${() => setActing("")}><p>It goes back to its queue as it is, and its attempts begin anew.</p></${Confirm}>`}
    ${acting === "delete" && html`<${Confirm} title="Delete this message?" verb="Delete" needsReason run=${(reason) => api.remove(`/v1/poison/${part(id)}`, reason).then(done)} onClose=${() => setActing("")}><p>It is forgotten for good; its job stays poisoned.</p></${Confirm}>`}
    ${acting === "edit" && html`<${Edit} message=${message} onClose=${() => setActing("")} onSaved=${() => { setActing(""); live.refresh(); }} />`}`;
}

function PlanNow({ id }) {
  const [plan, setPlan] = useState(null);
  const [ask, busy, error] = useAction(async () => setPlan(await api.get(`/v1/poison/${part(id)}/plan`)));
  return html`<${Card} title="What it would do now" actions=${html`<button type="button" disabled=${busy} onClick=${ask}>${busy ? "Looking…" : plan ? "Ask again" : "Plan"}</button>`}><${Failure} error=${error} />${plan ? html`<${PlanOf} plan=${plan} />` : html`<p class="dim">A plan reads, and changes nothing.</p>`}</${Card}>`;
}

/// How many of the first steps of a transaction were taken, and so cannot be changed.
async function takenOf(message, signal) {
  if (message.kind !== "transaction") return 0;
  const job = await api.get(`/v1/jobs/${part(message.jobId)}`, { signal });
  return job.transaction?.decision === "goesAhead" ? Number(job.transaction.taken) : 0;
}

function Edit({ message: newest, onClose, onSaved }) {
  const [message] = useState(newest);  // as it was shown
  const before = specOf(message.body);
  const original = originalOf(message);
  const [after, setAfter] = useState(before);
  const [reason, setReason] = useState("");
  const [mode, setMode] = useState("text");
  const [form, setForm] = useState(null);
  const [formWrong, setFormWrong] = useState("");
  const document = useLive(() => description(), [], 0).value;
  const taken = useLive((signal) => takenOf(message, signal), [], 0).value;
  let wrong = "";
  try { parseExact(after); } catch (error) { wrong = `Not JSON yet: ${error.message}`; }
  const turn = (to) => {
    if (to !== "form") { if (!formWrong) setMode(to); return; }
    try { setForm(formOf(document, parseExact(after))); setMode(to); setFormWrong(""); } catch (error) { setMode("text"); setFormWrong(error.message); }
  };
  const ready = document && taken !== undefined && !wrong;
  useLayoutEffect(() => { if (ready && message.kind === "transaction") turn("form"); }, [Boolean(ready)]);
  const change = (next) => {
    setForm(next);
    try { setAfter(textOf(sorted(specIn(document, next)), 2)); setFormWrong(""); } catch (error) { setFormWrong(error.message); }
  };
  const held = Boolean(wrong) || (mode === "form" && Boolean(formWrong));
  const [save, busy, error] = useAction(async (redrive) => {
    const seen = { "If-Match": message.etag };
    if (redrive) { await api.post(`/v1/poison/${part(message.id)}/redrive`, after, reason, { headers: seen }); onClose(); go(`/jobs/${part(message.jobId)}`); return; }
    await api.put(`/v1/poison/${part(message.id)}`, after, reason, seen);
    onSaved();
  });
  return html`<${Dialog} title="Edit the job" wide onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); save(false); }}>
    <${Toggle} label="Shown" value=${mode} options=${[["text", "Text"], ["diff", "Difference to the original"], ...(ready || mode === "form" ? [["form", "Form"]] : [])]} onChange=${turn} />
    ${mode === "diff" ? html`<${Diff} before=${original} after=${after} />` : mode === "form" ? html`<${JobFields} document=${document} form=${form} onChange=${change} locked=${taken ? { guards: Infinity, steps: taken } : {}} />`
      : html`<label class="field"><span class="sr">The job as JSON</span><textarea rows="18" spellcheck=${false} value=${after} onInput=${(e) => { setAfter(e.target.value); setFormWrong(""); }}></textarea></label>`}
    ${(wrong || formWrong) && html`<p class="inline-error" role="status">${visible(wrong || formWrong)}</p>`}
    <${Reason} value=${reason} onInput=${(e) => setReason(e.target.value)} />
    <${Failure} error=${error} />
    <footer><button type="button" onClick=${onClose}>Back</button><button disabled=${busy || held || after === before || !reason}>Save, keep it here</button><button type="button" class="primary" disabled=${busy || held || !reason} onClick=${() => save(true)}>Save and redrive</button></footer></form></${Dialog}>`;
}
