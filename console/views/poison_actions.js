// Actions on many poison messages, as one job: on the selected messages, or on all that match.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { Confirm, Dialog, Failure, Reason, useAction } from "../parts/basic.js";
import { exactTime } from "../parts/time.js";
import { count, Id, many, Text, visible } from "../parts/text.js";
import { go } from "../shell/router.js";
import { useSettings } from "../shell/settings.js";

const kindOf = { Redrive: "redrive", Delete: "purge" };
const consequenceOf = { Redrive: "Each goes back to its queue as it is, and its attempts begin anew.", Delete: "They are forgotten for good; jobs stay poisoned." };
const mostSelected = 500;

async function submit(spec, reason) {
  const job = await api.post("/v1/jobs", spec, reason.trim());
  go(`/jobs/${part(job.id)}`);
}

/// Acts on a selection. `one` acts on a single message, which needs no job.
export function Some({ verb, items, queue, one, onDone, onClose }) {
  const run = async (reason) => {
    if (items.length > 1) return submit({ kind: kindOf[verb], poisonQueue: queue, poisonIds: items.map((each) => each.id) }, reason);
    await one(items[0], reason);
    return onDone();
  };
  if (items.length > mostSelected) return html`<${Dialog} title="Too many are selected" onClose=${onClose}><p>At most ${mostSelected} messages can be selected one by one; use what acts on all that match.</p><footer><button type="button" onClick=${onClose}>Back</button></footer></${Dialog}>`;
  return html`<${Confirm} title=${`${verb} ${many(items.length, "message")}?`} verb=${`${verb} ${items.length}`} tone=${verb === "Delete" ? "danger" : "primary"} needsReason run=${run} onClose=${onClose}>
    <p>${consequenceOf[verb]}</p>
    <ul class="small">${items.slice(0, 5).map((each) => html`<li><${Id} value=${each.id} short=${8} /> ${each.kind ? html`${visible(each.kind)}: ` : ""}<${Text} value=${each.reason || each.body} most=${80} /></li>`)}${items.length > 5 && html`<li>and ${items.length - 5} more</li>`}</ul></${Confirm}>`;
}

const describe = (filter, utc) => (filter.queue ? `all poison messages of queue ${filter.queue}` : [filter.fingerprint ? `group ${filter.fingerprint}` : "all groups", filter.kind && `kind ${filter.kind}`, filter.source && `table ${filter.source}`, filter.movedAfter && `moved after ${exactTime(filter.movedAfter, utc)}`, filter.movedBefore && `before ${exactTime(filter.movedBefore, utc)}`].filter(Boolean).join(", "));
const selectionOf = (filter, until) => (filter.queue ? { poisonQueue: filter.queue } : { poisonKind: filter.kind || undefined, poisonSource: filter.source || undefined, fingerprint: filter.fingerprint || undefined, movedAfter: filter.movedAfter || undefined, movedBefore: filter.movedBefore || until });
const number = (text) => (text === "" ? undefined : Number(text));

/// Acts on all that match: counts them first, limits the rate, and sends jobs back behind canaries. To delete, the user
/// types the number.
export function All({ verb, filter, onClose }) {
  const { utc } = useSettings();
  const deletes = verb === "Delete";
  const canaries = !deletes && !filter.queue;
  const [form, setForm] = useState({ perSecond: deletes ? 1000 : 10, canary: canaries ? 1 : 0, limit: "", reason: "", typed: "" });
  const [until] = useState(new Date().toISOString());
  const [plan, setPlan] = useState(null);
  const spec = () => ({ kind: kindOf[verb], ...selectionOf(filter, until), perSecond: number(form.perSecond), canary: canaries ? number(form.canary) : undefined, limit: number(form.limit) });
  const set = (name) => (e) => { setForm({ ...form, [name]: e.target.value }); if (["perSecond", "canary", "limit"].includes(name)) setPlan(null); };
  const [look, looking, lookError] = useAction(async () => setPlan(await api.post("/v1/jobs?dryRun=true", spec())));
  const [run, busy, error] = useAction(async () => {
    // Limited to the counted messages, even if more come meanwhile; so the audit trail states the number.
    await submit({ ...spec(), ...(plan.complete || deletes ? { limit: plan.keys } : {}), idempotencyKey: `console-${kindOf[verb]}-${until}-${filter.queue || filter.fingerprint || "all"}` }, form.reason);
    onClose();
  });
  return html`<${Dialog} title=${`${verb} all that match`} onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); (plan ? run : look)(); }}>
    <p><bdi>${visible(describe(filter, utc))}</bdi>. ${consequenceOf[verb]} What is poisoned after ${filter.queue ? "the job was submitted" : "this dialog was opened"} stays where it is.</p>
    <div class="fields"><label class="field"><span>Messages a second</span><input type="number" min="1" max="10000" required value=${form.perSecond} onInput=${set("perSecond")} /></label>
      ${canaries && html`<label class="field"><span>Canaries first</span><input type="number" min="0" max="100" required value=${form.canary} onInput=${set("canary")} /><small>The rest follows only if these succeed</small></label>`}
      <label class="field"><span>At most</span><input type="number" min="1" value=${form.limit} placeholder="no limit" onInput=${set("limit")} /></label></div>
    ${plan && html`<div class="notice ${plan.keys && !deletes ? "info" : "warn"}" role="status"><div><strong>${count(plan.keys)}${plan.complete ? "" : " or more"}</strong> ${plan.keys === 1 ? "message matches" : "messages match"} now; in this pace it takes about ${Math.ceil(Number(plan.keys) / Math.max(1, form.perSecond))} s.</div></div>
      <${Reason} value=${form.reason} onInput=${set("reason")} autofocus />
      ${deletes && html`<label class="field"><span>Type ${String(plan.keys)} to confirm</span><input required inputmode="numeric" pattern=${String(plan.keys)} value=${form.typed} onInput=${set("typed")} /></label>`}`}
    <${Failure} error=${lookError || error} />
    <footer><button type="button" onClick=${onClose}>Back</button><button class=${deletes ? "danger" : "primary"} disabled=${busy || looking || (plan && !plan.keys) || (plan && deletes && form.typed !== String(plan.keys))}>${plan ? `${verb} ${count(plan.keys)}` : "Count what matches"}</button></footer></form></${Dialog}>`;
}
