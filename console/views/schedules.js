import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { textOf } from "../net/exact.js";
import { useLive, usePages } from "../net/live.js";
import { Act, Badge, Card, Confirm, Dialog, Facts, Failure, Head, useAction } from "../parts/basic.js";
import { List, More } from "../parts/list.js";
import { When } from "../parts/time.js";
import { count, Id, Json, Text } from "../parts/text.js";
import { go } from "../shell/router.js";
import { useMay } from "../shell/who.js";

const load = async (continuation, signal) => {
  const page = await api.get(at("/v1/schedules", { limit: 100, continuation }), { signal });
  return { items: page.schedules.map((each) => ({ ...each, id: each.name })), continuation: page.continuation };
};

const state = (schedule) => (schedule.paused ? html`<${Badge} tone="warn" state="paused" />` : schedule.lastRun?.problem ? html`<${Badge} tone="bad" state="problem" />` : html`<${Badge} tone="good" state="on" />`);

export function Schedules({ path }) {
  if (path[0]) return html`<${Schedule} key=${path[0]} name=${path[0]} />`;
  return html`<${Schedules_} />`;
}

function Schedules_() {
  const pages = usePages(load, [], 10_000);
  const [making, setMaking] = useState(false);
  const may = useMay("operator");
  return html`<${Head} title="Schedules" actions=${may && html`<button type="button" class="primary" onClick=${() => setMaking(true)}>New schedule…</button>`} />
    <${List} label="Schedules" failed=${pages.error} items=${pages.items} href=${(row) => `/schedules/${part(row.name)}`} empty="There is no schedule." columns=${[
      { name: "Name", of: (row) => html`<${Id} value=${row.name} href=${`/schedules/${part(row.name)}`} />` }, { name: "State", of: state }, { name: "When", of: (row) => html`<code>${row.cron}</code> <span class="dim">${row.timeZone}</span>` }, { name: "Job", of: (row) => String(row.job?.kind || "") },
      { name: "Next run", of: (row) => html`<${When} at=${row.nextRun} />` }, { name: "Last run", of: (row) => html`<${When} at=${row.lastRun?.dueTime} /> ${row.lastRun?.jobState && html`<${Badge} state=${row.lastRun.jobState} />`}` },
      { name: "Runs", number: true, of: (row) => count(row.runs) }, { name: "Skipped", number: true, of: (row) => row.skipped || "" }, { name: "Missed", number: true, of: (row) => row.missed || "" }]} />
    <${More} pages=${pages} what="schedule" />${making && html`<${EditSchedule} onClose=${() => setMaking(false)} />`}`;
}

function Schedule({ name }) {
  const live = useLive((signal) => api.get(`/v1/schedules/${part(name)}`, { signal, withTag: true, exact: true }), [name], 5_000);
  const [acting, setActing] = useState(null);
  const may = useMay("operator");
  const schedule = live.value?.value;
  const tag = live.value?.tag;
  if (!schedule) return html`<${Head} title=${name} crumbs=${[["Schedules", "/schedules"]]} /><${Failure} error=${live.error} retry=${live.refresh} />`;
  const ask = (verb) => async () => { await api.post(`/v1/schedules/${part(name)}/${verb}`); live.refresh(); };
  const last = schedule.lastRun;
  return html`<${Head} title=${name} crumbs=${[["Schedules", "/schedules"]]} actions=${may && html`<${Act} run=${ask(schedule.paused ? "resume" : "pause")}>${schedule.paused ? "Resume" : "Pause"}</${Act}>
      <button type="button" onClick=${() => setActing({ verb: "run" })}>Run now…</button><button type="button" onClick=${() => setActing({ verb: "edit", schedule, tag })}>Edit…</button><button type="button" class="danger" onClick=${() => setActing({ verb: "delete", tag })}>Delete…</button>`}><div>${state(schedule)}</div></${Head}>
    <${Failure} error=${live.error} retry=${live.refresh} />${last?.problem && html`<${Card} tone="bad"><${Text} value=${last.problem} most=${1000} /></${Card}>`}
    <${Card}><${Facts} items=${[["When", html`<code>${schedule.cron}</code> in ${schedule.timeZone}`], ["Next run", html`<${When} at=${schedule.nextRun} both />`], last && ["Last due", html`<${When} at=${last.dueTime} both />`],
      last?.job && ["Last job", html`<${Id} value=${last.job} href=${`/jobs/${part(last.job)}`} /> ${last.jobState && html`<${Badge} state=${last.jobState} />`}`], ["Runs", count(schedule.runs)], ["Left out because of the job before", count(schedule.skipped)], ["Missed", count(schedule.missed)],
      ["After a time that was missed", schedule.catchUp], ["If the job before still runs", schedule.overlap], ["Made", html`<${When} at=${schedule.createdAt} both />`]]} /></${Card}><${Card} title="Job"><${Json} value=${schedule.job} /></${Card}>
    ${acting?.verb === "run" && html`<${Confirm} title="Run it now?" verb="Run now" tone="primary" run=${async () => { const job = await api.post(`/v1/schedules/${part(name)}/run`); go(`/jobs/${part(job.id)}`); }} onClose=${() => setActing(null)}><p>The job is submitted at once, as if it were due now.</p></${Confirm}>`}
    ${acting?.verb === "delete" && html`<${Confirm} title="Delete this schedule?" verb="Delete" needsReason run=${async (reason) => { await api.remove(`/v1/schedules/${part(name)}`, reason, { "If-Match": acting.tag }); go("/schedules"); }} onClose=${() => setActing(null)}><p>Its jobs stay.</p></${Confirm}>`}
    ${acting?.verb === "edit" && html`<${EditSchedule} name=${name} schedule=${acting.schedule} tag=${acting.tag} onClose=${() => { setActing(null); live.refresh(); }} />`}`;
}

const stateMembers = ["name", "paused", "createdAt", "runs", "skipped", "missed", "nextRun", "lastRun"];
const example = { cron: "30 2 * * *", timeZone: "UTC", job: { kind: "archive", source: "Orders", destination: "OldOrders", filter: "Timestamp lt datetime'{now-60d}'" }, catchUp: "last", overlap: "skip" };

function EditSchedule({ name, schedule, tag, onClose }) {
  const [form, set] = useState({ name: name || "", text: textOf(schedule ? Object.fromEntries(Object.entries(schedule).filter(([member]) => !stateMembers.includes(member))) : example, 2) });
  const [save, busy, error] = useAction(async () => {
    await api.put(`/v1/schedules/${part(form.name)}`, form.text, "", schedule ? { "If-Match": tag } : { "If-None-Match": "*" });
    onClose();
    go(`/schedules/${part(form.name)}`);
  });
  return html`<${Dialog} title=${schedule ? "Edit the schedule" : "New schedule"} wide onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); save(); }}>
    <label class="field"><span>Name</span><input required readonly=${Boolean(schedule)} value=${form.name} onInput=${(e) => set({ ...form, name: e.target.value })} /></label>
    <label class="field"><span>Schedule, as JSON</span><textarea rows="16" spellcheck=${false} value=${form.text} onInput=${(e) => set({ ...form, text: e.target.value })}></textarea></label>
    <${Failure} error=${error} /><footer><button type="button" onClick=${onClose}>Back</button><button class="primary" disabled=${busy}>Save</button></footer></form></${Dialog}>`;
}
