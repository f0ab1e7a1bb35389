// What can be done about many poison messages: a selection one by one, or all that match.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { Confirm, Dialog, Failure, useAction } from "../parts/basic.js";
import { exactTime } from "../parts/time.js";
import { count, Id, Text, visible } from "../parts/text.js";
import { go } from "../shell/router.js";
import { useSettings } from "../shell/settings.js";

/// Does it to each of them, and tells which failed.
export function Some({ verb, items, one, onClose }) {
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
    <p>${verb === "Delete" ? "They are forgotten for good; jobs stay poisoned." : "Each goes back to its queue as it is, and its attempts begin anew."}</p>
    <ul class="small">${items.slice(0, 5).map((each) => html`<li><${Id} value=${each.id} short=${8} /> ${each.kind ? html`${visible(each.kind)}: ` : ""}<${Text} value=${each.reason || each.body} most=${80} /></li>`)}${items.length > 5 && html`<li>and ${items.length - 5} more</li>`}</ul>
    ${failed.length > 0 && html`<details open><summary>What failed</summary><ul class="small">${failed.slice(0, 20).map((each) => html`<li><bdi>${visible(each)}</bdi></li>`)}</ul></details>`}</${Confirm}>`;
}

const describe = (filter, utc) => [filter.fingerprint ? `group ${filter.fingerprint}` : "all groups", filter.kind && `kind ${filter.kind}`, filter.source && `table ${filter.source}`, filter.movedAfter && `moved after ${exactTime(filter.movedAfter, utc)}`, filter.movedBefore && `before ${exactTime(filter.movedBefore, utc)}`].filter(Boolean).join(", ");

/// Everything that matches, as a job: counted first, in a pace, with canaries.
export function RedriveAll({ filter, onClose }) {
  const { utc } = useSettings();
  const [form, setForm] = useState({ perSecond: 10, canary: 1, limit: "", reason: "" });
  const [until] = useState(new Date().toISOString());
  const [plan, setPlan] = useState(null);
  const number = (text) => (text === "" ? undefined : Number(text));
  const spec = () => ({ kind: "redrive", poisonKind: filter.kind || undefined, poisonSource: filter.source || undefined, fingerprint: filter.fingerprint || undefined, movedAfter: filter.movedAfter || undefined, movedBefore: filter.movedBefore || until,
    perSecond: number(form.perSecond), canary: number(form.canary), limit: number(form.limit) });
  const set = (name) => (e) => { setForm({ ...form, [name]: e.target.value }); if (name !== "reason") setPlan(null); };
  const [count_, counting, countError] = useAction(async () => setPlan(await api.post("/v1/jobs?dryRun=true", spec())));
  const [submit, busy, error] = useAction(async () => {
    // No more than was counted, whatever comes meanwhile; so the audit trail says how many.
    const job = await api.post("/v1/jobs", { ...spec(), ...(plan.complete ? { limit: plan.keys } : {}), idempotencyKey: `console-${until}-${filter.fingerprint || "all"}` }, form.reason.trim());
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

const deletedAtATime = 1_000;
const deletedAtMost = 10_000;

/// Everything that matches, a page at a time, until it is stopped; never more than was counted.
export function DeleteAll({ filter, onClose }) {
  const { utc } = useSettings();
  const [state, set] = useState({ found: null, reason: "", typed: "", done: 0 });
  const [abort] = useState(new AbortController());
  const [until] = useState(new Date().toISOString());
  const which = filter.queue ? filter : { ...filter, movedBefore: filter.movedBefore || until };
  /// `member` of each page is added up until there are `most`; tells whether there are more.
  const sweep = async (most, member, query, reason, tell) => {
    let continuation = "";
    let sum = 0;
    do {
      const page = await api.remove(at("/v1/poison", { ...which, ...query, limit: Math.min(most - sum, deletedAtATime), continuation }), reason, {}, abort.signal);
      sum += Number(page[member]);
      continuation = page.continuation || "";
      tell(sum);
    } while (continuation && sum < most && !abort.signal.aborted);
    return continuation !== "";
  };
  const [look, looking, lookError] = useAction(async () => {
    let found = 0;
    const more = await sweep(deletedAtMost, "matched", { dryRun: "true" }, "", (sum) => { found = sum; });
    set((was) => ({ ...was, found, more }));
  });
  const [run, busy, error] = useAction(async () => {
    await sweep(state.found, "deleted", {}, state.reason.trim(), (done) => set((was) => ({ ...was, done })));
    set((was) => ({ ...was, ended: true }));
  });
  const close = () => { abort.abort(); onClose(); };
  const number = state.found;
  const counted = number !== null;
  return html`<${Dialog} title="Delete all that match" onClose=${close}><form onSubmit=${(e) => { e.preventDefault(); (counted ? run : look)(); }}>
    <p>${filter.queue ? html`All poison messages of queue <${Text} value=${filter.queue} />. They are forgotten for good.` : `${visible(describe(filter, utc))}. Deleted messages are forgotten for good; their jobs stay poisoned.`}</p>
    ${counted && html`<div class="notice warn" role="status"><div><strong>${count(number)}</strong> match now${state.more ? `; there are more, and only the first ${count(number)} are deleted` : ""}.</div></div>
      <label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${state.reason} onInput=${(e) => set({ ...state, reason: e.target.value })} /></label>
      <label class="field"><span>Type ${number} to confirm</span><input required inputmode="numeric" pattern=${String(number)} value=${state.typed} onInput=${(e) => set({ ...state, typed: e.target.value })} /></label>
      ${(busy || state.ended) && html`<p role="status">${count(state.done)} deleted${state.ended ? "." : "…"}</p>`}`}
    <${Failure} error=${lookError || error} />
    <footer><button type="button" onClick=${close}>${busy ? "Stop" : state.ended ? "Close" : "Back"}</button>${!state.ended && html`<button class="danger" disabled=${busy || looking || number === 0 || (counted && state.typed !== String(number))}>${counted ? `Delete ${count(number)}` : "Count what matches"}</button>`}</footer></form></${Dialog}>`;
}
