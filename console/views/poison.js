// Poison messages: by kind of failure, one by one, and what can be done about one, some or all of them.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { parseExact, textOf } from "../net/exact.js";
import { useLive, usePages } from "../net/live.js";
import { Act, Badge, Card, Confirm, Dialog, Facts, Failure, Head, Toggle, useAction } from "../parts/basic.js";
import { Diff } from "../parts/diff.js";
import { Choice, List, More, Search } from "../parts/list.js";
import { exactTime, When } from "../parts/time.js";
import { Copyable, count, Id, Json, Text, visible } from "../parts/text.js";
import { useKeys } from "../shell/keys.js";
import { go, refine } from "../shell/router.js";
import { useMay } from "../shell/shell.js";
import { useSettings } from "../shell/settings.js";
import { PlanOf } from "./plan.js";
import { Story } from "./story.js";
import { kinds } from "./kinds.js";

export function Poison({ path, query }) {
  if (path[0]) return html`<${Message} key=${path[0]} id=${path[0]} />`;
  const messages = query.show === "messages" || query.fingerprint || query.q;
  const filter = { kind: query.kind, fingerprint: query.fingerprint, movedAfter: query.movedAfter, movedBefore: query.movedBefore };
  return html`<${Head} title="Poison" actions=${html`<${Toggle} label="Shown as" value=${messages ? "messages" : "groups"} options=${[["groups", "Groups"], ["messages", "Messages"]]}
      onChange=${(show) => go(at("/poison", { show: show === "messages" ? show : "", kind: query.kind, movedAfter: query.movedAfter, movedBefore: query.movedBefore }))} />`}>
      <p class="dim small">Jobs that were given up. They stay until they are sent back or deleted.</p></${Head}>
    <div class="filters">${messages && html`<${Search} label="Search in ids, errors and bodies" value=${query.q} onChange=${(q) => refine({ q, show: "messages" })} />`}
      <${Choice} label="kind" value=${query.kind} options=${kinds} onChange=${(kind) => refine({ kind })} />
      <${Choice} label="moved in the last" value=${query.since} options=${Object.keys(spans)} onChange=${(since) => refine({ since, movedAfter: since && new Date(Date.now() - spans[since]).toISOString() })} />
      ${query.fingerprint && html`<span class="badge info">group <span class="mono">${visible(query.fingerprint)}</span></span><a href=${at("/poison", { show: "messages", kind: query.kind, q: query.q })}>all groups</a>`}</div>
    ${messages ? html`<${Messages} filter=${filter} text=${query.q || ""} />` : html`<${Groups} filter=${filter} />`}`;
}

const spans = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 };

function Groups({ filter }) {
  const inputs = Object.values(filter);
  const live = useLive((signal) => api.get(at("/v1/poison/groups", filter), { signal }), inputs, 15_000);
  const [acting, setActing] = useState(null);
  const groups = live.value?.groups;
  const largest = Math.max(1, ...(groups || []).map((group) => group.count));
  const may = useMay("operator");
  return html`<${Failure} error=${live.error} retry=${live.refresh} />
    <${List} label="Groups of poison messages" failed=${live.error} items=${groups} id=${(group) => group.fingerprint} href=${(group) => at("/poison", { show: "messages", fingerprint: group.fingerprint })}
      empty="Nothing is poisoned." keys=${may ? { r: (group) => group && setActing({ verb: "redrive", group }) } : {}} columns=${[
        { name: "Messages", number: true, of: (group) => html`<strong>${count(group.count)}</strong><div><progress max=${largest} value=${group.count} aria-label="Share of the largest group"></progress></div>` },
        { name: "Kind", of: (group) => group.kind },
        { name: "Reason", wide: true, of: (group) => html`<a href=${at("/poison", { show: "messages", fingerprint: group.fingerprint })}><${Text} value=${group.reason || "no reason is known"} most=${300} /></a>` },
        { name: "First", of: (group) => html`<${When} at=${group.firstMovedAt} />` }, { name: "Last", of: (group) => html`<${When} at=${group.lastMovedAt} />` },
        { name: "", of: (group) => may && html`<div class="actions"><button type="button" onClick=${() => setActing({ verb: "redrive", group })}>Redrive all…</button><button type="button" class="danger" onClick=${() => setActing({ verb: "delete", group })}>Delete all…</button></div>` }]} />
    ${live.value && !live.value.complete && html`<p class="dim">The first 100,000 messages were counted; there are more.</p>`}
    ${groups?.length > 0 && may && html`<div class="more"><button type="button" onClick=${() => setActing({ verb: "redrive", group: null })}>Redrive all that match…</button></div>`}
    ${acting && html`<${acting.verb === "redrive" ? RedriveAll : DeleteAll} filter=${{ ...filter, ...(acting.group ? { fingerprint: acting.group.fingerprint } : {}) }} count=${acting.group?.count} onClose=${() => { setActing(null); live.refresh(); }} />`}`;
}

const searchedAtMost = 5_000;

/// A page of messages; with a text, as many pages as it takes to find some, up to a bound.
async function findMessages(filter, text, continuation, signal) {
  const wanted = text.toLowerCase();
  const items = [];
  let searched = 0;
  let from = continuation;
  for (;;) {
    const page = await api.get(at("/v1/poison", { ...filter, limit: wanted ? 500 : 100, continuation: from }), { signal });
    searched += page.poison.length;
    items.push(...page.poison.filter((each) => !wanted || textOf(each).toLowerCase().includes(wanted)));
    from = page.continuation || "";
    if (!from || items.length >= 100 || (wanted ? searched >= searchedAtMost : page.poison.length)) return { items, searched, continuation: from };
  }
}

function Messages({ filter, text }) {
  const pages = usePages((continuation, signal) => findMessages(filter, text, continuation, signal), [...Object.values(filter), text], 5_000);
  const [selected, setSelected] = useState(new Set());
  const [acting, setActing] = useState(null);
  const may = useMay("operator");
  const chosen = (pages.items || []).filter((each) => selected.has(each.id));
  const redriveKey = (row) => {
    if (!may) return;
    if (chosen.length) setActing({ verb: "redrive", items: chosen });
    else if (row) setActing({ verb: "redrive", items: [row] });
  };
  return html`<${List} label="Poison messages" failed=${pages.error} items=${pages.items} selected=${selected} onSelect=${setSelected} href=${(row) => `/poison/${part(row.id)}`}
      empty=${text ? "No message has this text, among those that were searched." : "Nothing is poisoned that matches."} keys=${{ r: redriveKey }} columns=${[
        { name: "Message", of: (row) => html`<${Id} value=${row.id} short=${8} href=${`/poison/${part(row.id)}`} />` }, { name: "Kind", of: (row) => html`<bdi>${visible(row.kind)}</bdi>` },
        { name: "Reason", wide: true, of: (row) => html`<${Text} value=${row.reason || "no reason is known"} most=${240} />` },
        { name: "Attempts", number: true, of: (row) => row.attempts.filter((each) => each.number).length }, { name: "Sent back", number: true, of: (row) => row.redrives || "" },
        { name: "Moved", of: (row) => html`<${When} at=${row.movedAt} />` },
        { name: "Group", of: (row) => html`<${Id} value=${row.fingerprint} short=${8} href=${at("/poison", { show: "messages", fingerprint: row.fingerprint })} />` }]} />
    <${More} pages=${pages} what="messages" />
    ${text && html`<p class="dim small">At most ${count(searchedAtMost)} messages are searched at a time; “Show more” goes on.</p>`}
    ${may && pages.items?.length > 0 && html`<div class="bulk" role="region" aria-label="Act on messages"><span>${selected.size ? `${chosen.length} selected` : "Nothing selected"}</span>
      <button type="button" class="primary" disabled=${!chosen.length} onClick=${() => setActing({ verb: "redrive", items: chosen })}>Redrive selected…</button>
      <button type="button" class="danger" disabled=${!chosen.length} onClick=${() => setActing({ verb: "delete", items: chosen })}>Delete selected…</button>
      <span class="dim">or</span><button type="button" onClick=${() => setActing({ verb: "redriveAll" })} disabled=${Boolean(text)} title=${text ? "A text search acts on what is selected" : ""}>Redrive all that match…</button>
      <button type="button" class="danger" disabled=${Boolean(text)} onClick=${() => setActing({ verb: "deleteAll" })}>Delete all that match…</button></div>`}
    ${acting?.verb === "redrive" && html`<${Some} verb="Redrive" items=${acting.items} one=${(item, reason) => api.post(`/v1/poison/${part(item.id)}/redrive`, undefined, reason)} onClose=${() => { setActing(null); setSelected(new Set()); pages.refresh(); }} />`}
    ${acting?.verb === "delete" && html`<${Some} verb="Delete" items=${acting.items} one=${(item, reason) => api.remove(`/v1/poison/${part(item.id)}`, reason)} onClose=${() => { setActing(null); setSelected(new Set()); pages.refresh(); }} />`}
    ${acting?.verb === "redriveAll" && html`<${RedriveAll} filter=${filter} onClose=${() => { setActing(null); pages.refresh(); }} />`}
    ${acting?.verb === "deleteAll" && html`<${DeleteAll} filter=${filter} onClose=${() => { setActing(null); pages.refresh(); }} />`}`;
}

/// Does it to each of them, and tells which failed.
function Some({ verb, items, one, onClose }) {
  const [failed, setFailed] = useState([]);
  const run = async (reason) => {
    const refusals = [];
    for (const item of items) {
      try { await one(item, reason); } catch (error) { refusals.push(`${item.id}: ${error.message}`); }
    }
    if (!refusals.length) return;
    setFailed(refusals);
    throw new Error(`${refusals.length} of ${items.length} failed.`);
  };
  return html`<${Confirm} title=${`${verb} ${items.length} ${items.length === 1 ? "message" : "messages"}?`} verb=${`${verb} ${items.length}`} tone=${verb === "Delete" ? "danger" : "primary"} needsReason run=${run} onClose=${onClose}>
    <p>${verb === "Delete" ? "They are forgotten for good; their jobs stay poisoned." : "Each goes back to its queue as it is, and its attempts begin anew."}</p>
    <ul class="small">${items.slice(0, 5).map((each) => html`<li><${Id} value=${each.id} short=${8} /> ${each.kind}: <${Text} value=${each.reason} most=${80} /></li>`)}${items.length > 5 && html`<li>and ${items.length - 5} more</li>`}</ul>
    ${failed.length > 0 && html`<details open><summary>What failed</summary><ul class="small">${failed.slice(0, 20).map((each) => html`<li><bdi>${visible(each)}</bdi></li>`)}</ul></details>`}</${Confirm}>`;
}

const describe = (filter, utc) => [filter.fingerprint ? `group ${filter.fingerprint}` : "all groups", filter.kind && `kind ${filter.kind}`, filter.movedAfter && `moved after ${exactTime(filter.movedAfter, utc)}`, filter.movedBefore && `before ${exactTime(filter.movedBefore, utc)}`].filter(Boolean).join(", ");

/// Everything that matches, as a job: counted first, in a pace, with canaries.
function RedriveAll({ filter, onClose }) {
  const { utc } = useSettings();
  const [form, setForm] = useState({ perSecond: 10, canary: 1, limit: "", reason: "" });
  const [until] = useState(new Date().toISOString());
  const [plan, setPlan] = useState(null);
  const number = (text) => (text === "" ? undefined : Number(text));
  const spec = () => ({ kind: "redrive", poisonKind: filter.kind || undefined, fingerprint: filter.fingerprint || undefined, movedAfter: filter.movedAfter || undefined, movedBefore: filter.movedBefore || until,
    perSecond: number(form.perSecond), canary: number(form.canary), limit: number(form.limit) });
  const set = (name) => (e) => { setForm({ ...form, [name]: e.target.value }); if (name !== "reason") setPlan(null); };
  const [count_, counting, countError] = useAction(async () => setPlan(await api.post("/v1/jobs?dryRun=true", spec())));
  const [submit, busy, error] = useAction(async () => {
    const job = await api.post("/v1/jobs", { ...spec(), idempotencyKey: `console-${until}-${filter.fingerprint || "all"}` }, form.reason.trim());
    onClose();
    go(`/jobs/${part(job.id)}`);
  });
  return html`<${Dialog} title="Redrive all that match" onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); (plan ? submit : count_)(); }}>
    <p>${visible(describe(filter, utc))}. What is poisoned after this dialog was opened stays where it is.</p>
    <div class="fields"><label class="field"><span>Messages a second</span><input type="number" min="1" max="10000" required value=${form.perSecond} onInput=${set("perSecond")} /></label>
      <label class="field"><span>Canaries first</span><input type="number" min="0" max="100" required value=${form.canary} onInput=${set("canary")} /><small>The rest follows only if these succeed</small></label>
      <label class="field"><span>At most</span><input type="number" min="1" value=${form.limit} placeholder="no limit" onInput=${set("limit")} /></label></div>
    ${plan && html`<div class="notice ${plan.keys ? "info" : "warn"}" role="status"><div><strong>${count(plan.keys)}${plan.complete ? "" : " or more"}</strong> ${plan.keys === 1 ? "message matches" : "messages match"} now; in this pace it takes about ${Math.ceil(Number(plan.keys) / Math.max(1, form.perSecond))} s.</div></div>
      <label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${form.reason} onInput=${set("reason")} autofocus /></label>`}
    <${Failure} error=${countError || error} />
    <footer><button type="button" onClick=${onClose}>Back</button><button class="primary" disabled=${busy || counting || (plan && !plan.keys)}>${plan ? `Redrive ${count(plan.keys)}` : "Count what matches"}</button></footer></form></${Dialog}>`;
}

const deletedAtMost = 10_000;

/// Everything that matches, page by page, until it is stopped.
function DeleteAll({ filter, onClose }) {
  const { utc } = useSettings();
  const [state, set] = useState({ found: null, reason: "", typed: "", done: 0, failed: 0, running: false });
  const [abort] = useState(new AbortController());
  const until = { ...filter, movedBefore: filter.movedBefore || new Date().toISOString() };
  const [look, looking, lookError] = useAction(async () => {
    const ids = [];
    let continuation = "";
    do {
      const page = await api.get(at("/v1/poison", { ...until, limit: 1000, continuation }), { signal: abort.signal });
      ids.push(...page.poison.map((each) => each.id));
      continuation = page.continuation || "";
    } while (continuation && ids.length < deletedAtMost);
    set((was) => ({ ...was, found: ids.slice(0, deletedAtMost), more: Boolean(continuation) }));
  });
  const [run, busy, error] = useAction(async () => {
    for (const id of state.found) {
      if (abort.signal.aborted) return;
      const gone = await api.remove(`/v1/poison/${part(id)}`, state.reason.trim()).then(() => true, (refusal) => { if (refusal.status === 404) return true; if (refusal.status === 0) throw refusal; return false; });
      set((was) => ({ ...was, done: was.done + (gone ? 1 : 0), failed: was.failed + (gone ? 0 : 1) }));
    }
  });
  const close = () => { abort.abort(); onClose(); };
  const ended = state.found && state.done + state.failed === state.found.length && state.found.length > 0;
  const number = state.found?.length;
  return html`<${Dialog} title="Delete all that match" onClose=${close}><form onSubmit=${(e) => { e.preventDefault(); (state.found ? run : look)(); }}>
    <p>${visible(describe(filter, utc))}. Deleted messages are forgotten for good; their jobs stay poisoned.</p>
    ${state.found && html`<div class="notice warn" role="status"><div><strong>${count(number)}</strong> match now${state.more ? `; there are more, and ${count(deletedAtMost)} are deleted at a time` : ""}.</div></div>
      <label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${state.reason} onInput=${(e) => set({ ...state, reason: e.target.value })} /></label>
      <label class="field"><span>Type ${number} to confirm</span><input required inputmode="numeric" pattern=${String(number)} value=${state.typed} onInput=${(e) => set({ ...state, typed: e.target.value })} /></label>
      ${(busy || state.done > 0) && html`<p role="status">${count(state.done)} deleted${state.failed ? `, ${count(state.failed)} failed` : ""}${ended ? "." : "…"}</p>`}`}
    <${Failure} error=${lookError || error} />
    <footer><button type="button" onClick=${close}>${busy ? "Stop" : ended ? "Close" : "Back"}</button>${!ended && html`<button class="danger" disabled=${busy || looking || number === 0 || (state.found && state.typed !== String(number))}>${state.found ? `Delete ${count(number)}` : "Count what matches"}</button>`}</footer></form></${Dialog}>`;
}

/// The job of a message: what an edit begins from and what is sent.
export function specOf(body) {
  if (!body || typeof body !== "object") return String(body ?? "");
  const { jobId, group, ...spec } = body;
  return textOf(spec, 2);
}

function Message({ id }) {
  const live = useLive((signal) => api.get(`/v1/poison/${part(id)}`, { signal }), [id], 10_000);
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
      <${Card} title="Body"><${Json} value=${message.body} /></${Card}></div>
    <${PlanNow} id=${id} />
    ${acting === "redrive" && html`<${Confirm} title="Redrive this message?" verb="Redrive" tone="primary" needsReason run=${(reason) => api.post(`/v1/poison/${part(id)}/redrive`, undefined, reason).then(() => go(`/jobs/${part(message.jobId)}`))} onClose=${() => setActing("")}><p>It goes back to its queue as it is, and its attempts begin anew.</p></${Confirm}>`}
    ${acting === "delete" && html`<${Confirm} title="Delete this message?" verb="Delete" needsReason run=${(reason) => api.remove(`/v1/poison/${part(id)}`, reason).then(done)} onClose=${() => setActing("")}><p>It is forgotten for good; its job stays poisoned.</p></${Confirm}>`}
    ${acting === "edit" && html`<${Edit} message=${message} onClose=${() => setActing("")} onSaved=${() => { setActing(""); live.refresh(); }} />`}`;
}

function PlanNow({ id }) {
  const [plan, setPlan] = useState(null);
  const [ask, busy, error] = useAction(async () => setPlan(await api.get(`/v1/poison/${part(id)}/plan`)));
  return html`<${Card} title="What it would do now" actions=${html`<button type="button" disabled=${busy} onClick=${ask}>${busy ? "Looking…" : plan ? "Ask again" : "Plan"}</button>`}><${Failure} error=${error} />${plan ? html`<${PlanOf} plan=${plan} />` : html`<p class="dim">A plan reads, and changes nothing.</p>`}</${Card}>`;
}

function Edit({ message, onClose, onSaved }) {
  const before = specOf(message.body);
  const [after, setAfter] = useState(before);
  const [reason, setReason] = useState("");
  const [look, setLook] = useState(false);
  let wrong = "";
  try { parseExact(after); } catch (error) { wrong = error.message; }
  const [save, busy, error] = useAction(async (redrive) => {
    if (redrive) { await api.post(`/v1/poison/${part(message.id)}/redrive`, after, reason); onClose(); go(`/jobs/${part(message.jobId)}`); return; }
    await api.put(`/v1/poison/${part(message.id)}`, after, reason);
    onSaved();
  });
  return html`<${Dialog} title="Edit the job" wide onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); save(false); }}>
    <${Toggle} label="Shown" value=${look ? "diff" : "text"} options=${[["text", "Text"], ["diff", "Difference to the original"]]} onChange=${(to) => setLook(to === "diff")} />
    ${look ? html`<${Diff} before=${before} after=${after} />` : html`<label class="field"><span class="sr">The job as JSON</span><textarea rows="18" spellcheck=${false} value=${after} onInput=${(e) => setAfter(e.target.value)}></textarea></label>`}
    ${wrong && html`<p class="inline-error" role="status">Not JSON yet: ${visible(wrong)}</p>`}
    <label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${reason} onInput=${(e) => setReason(e.target.value)} /></label>
    <${Failure} error=${error} />
    <footer><button type="button" onClick=${onClose}>Back</button><button disabled=${busy || Boolean(wrong) || after === before || !reason}>Save, keep it here</button><button type="button" class="primary" disabled=${busy || Boolean(wrong) || !reason} onClick=${() => save(true)}>Save and redrive</button></footer></form></${Dialog}>`;
}
