import { html } from "../parts/html.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { kindsOf } from "../net/description.js";
import { search, useLive, usePages } from "../net/live.js";
import { EditDialog } from "../parts/as_json.js";
import { Act, Badge, Card, Confirm, Facts, Failure, Head } from "../parts/basic.js";
import { checkKnown, Fields, textsOf, valueOf } from "../parts/form.js";
import { formOf, JobFields, specOf } from "../parts/job_form.js";
import { List, More } from "../parts/list.js";
import { When } from "../parts/time.js";
import { count, Id, Json, Text, visible } from "../parts/text.js";
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
      ["After a time that was missed", schedule.catchUp], ["If the job before still runs", schedule.overlap], ["Made", html`<${When} at=${schedule.createdAt} both />`]]} /></${Card}><div class="columns"><${Card} title="Due next">${schedule.paused ? html`<p>Not while it is paused.</p>` : html`<${DueTimes} cron=${schedule.cron} timeZone=${schedule.timeZone} startAfter=${schedule.startAfter} />`}</${Card}><${Card} title="Job"><${Json} value=${schedule.job} /></${Card}></div>
    <${Runs} name=${name} kind=${schedule.job?.kind} />
    ${acting?.verb === "run" && html`<${Confirm} title="Run it now?" verb="Run now" tone="primary" run=${async () => { const job = await api.post(`/v1/schedules/${part(name)}/run`); go(`/jobs/${part(job.id)}`); }} onClose=${() => setActing(null)}><p>The job is submitted at once, as if it were due now.</p></${Confirm}>`}
    ${acting?.verb === "delete" && html`<${Confirm} title="Delete this schedule?" verb="Delete" needsReason run=${async (reason) => { await api.remove(`/v1/schedules/${part(name)}`, reason, { "If-Match": acting.tag }); go("/schedules"); }} onClose=${() => setActing(null)}><p>Its jobs stay.</p></${Confirm}>`}
    ${acting?.verb === "edit" && html`<${EditSchedule} name=${name} schedule=${acting.schedule} tag=${acting.tag} onClose=${() => { setActing(null); live.refresh(); }} />`}`;
}

const stateMembers = ["name", "paused", "createdAt", "runs", "skipped", "missed", "nextRun", "lastRun"];
const fresh = { cron: "30 2 * * *", timeZone: "UTC", catchUp: "last", overlap: "skip", job: { kind: "archive" } };
const notInJobs = ["idempotencyKey", "notBefore", "traceparent", "tracestate"];
const manyDueTimes = 5;

/// The next due times of a schedule, or the reason why there are none, shortly after the last key.
function DueTimes({ cron, timeZone, startAfter, label }) {
  const [found, set] = useState({});
  useEffect(() => {
    if (!cron) { set({}); return undefined; }
    const abort = new AbortController();
    const timer = setTimeout(() => api.get(at("/v1/dueTimes", { cron, timeZone, startAfter, count: manyDueTimes }), { signal: abort.signal })
      .then((told) => set({ times: told.dueTimes }), (error) => error.name !== "AbortError" && set({ wrong: error.message })), 200);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [cron, timeZone, startAfter]);
  if (found.wrong) return html`<p class="inline-error" role="status">${visible(found.wrong)}</p>`;
  if (!found.times) return null;
  return html`<div class="due small" role="status">${found.times.length ? html`${label && html`<span class="dim">${label}</span>`}<ol>${found.times.map((time) => html`<li><${When} at=${time} both /></li>`)}</ol>` : "It is never due."}</div>`;
}

function EditSchedule({ name: known, schedule, tag, onClose }) {
  const [name, setName] = useState(known || "");
  const admin = useMay("admin");
  const value = schedule ? Object.fromEntries(Object.entries(schedule).filter(([member]) => !stateMembers.includes(member))) : fresh;
  const schemaOf = (document) => document.components.schemas.ScheduleSpec;
  const save = async (text) => {
    await api.put(`/v1/schedules/${part(name)}`, text, "", schedule ? { "If-Match": tag } : { "If-None-Match": "*" });
    onClose();
    go(`/schedules/${part(name)}`);
  };
  const toForm = (document, from) => {
    const { job = {}, ...rest } = from;
    checkKnown(schemaOf(document), rest);
    return { texts: textsOf(rest), job: formOf(document, job) };
  };
  const toValue = (document, form) => ({ ...valueOf(document, schemaOf(document), form.texts), job: specOf(document, form.job) });
  return html`<${EditDialog} title=${schedule ? "Edit the schedule" : "New schedule"} what="Schedule" verb="Save" value=${value} onClose=${onClose} save=${save} toForm=${toForm} toValue=${toValue}
    before=${html`<label class="field"><span>Name <span class="dim">needed</span></span><input name="name" required readonly=${Boolean(schedule)} autocomplete="off" value=${name} onInput=${(e) => setName(e.target.value)} /></label>`}
    fields=${(document, form, set) => html`<${Fields} document=${document} schema=${schemaOf(document)} members=${Object.keys(schemaOf(document).properties).filter((each) => each !== "job")} texts=${form.texts} suggest=${{ timeZone: { of: "zones" } }} onChange=${(texts) => set({ ...form, texts })} />
      <${DueTimes} cron=${form.texts.cron} timeZone=${form.texts.timeZone} startAfter=${form.texts.startAfter} label="Due next:" />
      <fieldset><legend>The job</legend><${JobFields} document=${document} form=${form.job} loose without=${notInJobs} kinds=${Object.keys(kindsOf(document)).filter((each) => each !== "adopt" || admin)} onChange=${(job) => set({ ...form, job })} /></fieldset>`} />`;
}

const cost = 20;  // a job that is received counts as much as so many that the api has looked at

/// The jobs of a schedule, the newest first: their idempotency key has its name and their due time.
function Runs({ name, kind }) {
  const prefix = `schedule:${name}:`;
  const find = (continuation, signal, tell) => search(async (from) => {
    const page = await api.get(at("/v1/jobs", { kind, limit: 500, continuation: from }), { signal });
    return { ...page, items: page.jobs, searched: Math.max(Number(page.searched || 0), page.jobs.length * cost) };
  }, continuation, { tell, wanted: (job) => job.spec?.idempotencyKey?.startsWith(prefix) });
  const pages = usePages(find, [name, kind], 10_000);
  return html`<${Card} title="Its runs"><${List} label="Runs of the schedule" failed=${pages.error} items=${pages.items} href=${(job) => `/jobs/${part(job.id)}`} empty=${pages.next ? "No run so far among the newest jobs." : "It has not run yet, or its jobs are no longer kept."} columns=${[
      { name: "Due", of: (job) => html`<${When} at=${job.spec.idempotencyKey.slice(prefix.length)} both />` }, { name: "Job", of: (job) => html`<${Id} value=${job.id} short=${8} byEnd href=${`/jobs/${part(job.id)}`} />` }, { name: "State", of: (job) => html`<${Badge} state=${job.state} />` },
      { name: "Done", number: true, of: (job) => count(job.progress.done) }, { name: "Ended", of: (job) => html`<${When} at=${job.finishedAt} />` }, { name: "Error", of: (job) => html`<${Text} value=${job.error} most=${160} />` }]} /><${More} pages=${pages} what="run" /></${Card}>`;
}
