// Jobs: the list, one job as it runs, and groups.
import { html } from "../parts/html.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { api, at, follow, part } from "../net/api.js";
import { parseExact } from "../net/exact.js";
import { useAbout } from "../net/about.js";
import { search, textSearch, useLive, usePages } from "../net/live.js";
import { Badge, Bar, Card, Command, Confirm, Empty, Facts, Failure, Figure, Head } from "../parts/basic.js";
import { Choice, List, More, Search } from "../parts/list.js";
import { duration, When } from "../parts/time.js";
import { Copyable, count, Id, Json, many, rate, Text, visible } from "../parts/text.js";
import { go, refine } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { useSettings } from "../shell/settings.js";
import { states, useKinds } from "./kinds.js";
import { Story } from "./story.js";
import { Submit, submitLike } from "./submit.js";
import { isTransaction, isUndoable, isUndoOfSteps, tellsResult, Transaction, Undone } from "./transaction.js";

const ended = (job) => ["succeeded", "poisoned", "cancelled"].includes(job.state);

export function Jobs({ path, query }) {
  if (path[0] === "new") return html`<${Submit} query=${query} />`;
  if (path[0]) return html`<${Job} key=${path[0]} id=${path[0]} />`;
  return html`<${JobList} query=${query} />`;
}

/// With a text, the results are searched here.
function findJobs(filter, text, continuation, signal, tell) {
  const load = async (from) => { const page = await api.get(at("/v1/jobs", { ...filter, limit: text ? 500 : 100, continuation: from }), { signal }); return { ...page, items: page.jobs }; };
  return search(load, continuation, { tell, ...textSearch(text) });
}

const inAccount = (name, account) => (typeof name === "string" && account ? `${account}/${name}` : name);
export const target = (spec) => [inAccount(spec?.source, spec?.sourceAccount), inAccount(spec?.destination, spec?.destinationAccount)].filter((each) => typeof each === "string").join(" → ");

const attemptsOf = (job) => job.history.filter((each) => each.number);
/// How often the job was tried in all its rounds; a round begins when it is sent back from poison.
const triesOf = (job) => Math.max(job.attempts, attemptsOf(job).length);
const roundsOf = (job) => Math.max(1, ...job.history.map((each) => each.round || 1));

/// How long the job took: its last attempt, and all of them together if there were several.
function Took({ job }) {
  const tries = attemptsOf(job).filter((each) => each.durationMs !== undefined);
  if (!tries.length) return duration((new Date(job.finishedAt) - new Date(job.startedAt)) / 1000);
  const last = duration(Number(tries.at(-1).durationMs) / 1000);
  return tries.length === 1 ? last : `${last} in its last attempt, ${duration(tries.reduce((sum, each) => sum + Number(each.durationMs), 0) / 1000)} in all ${tries.length}`;
}

/// The trace of a job, in the system that keeps traces if the api knows its address; and the log of its worker.
function Traces({ job, worker }) {
  const about = useAbout();
  const trace = /^00-([0-9a-f]{32})-/.exec(job.spec?.traceparent || "")?.[1];
  if (!trace && !worker) return null;
  return html`<${Card} title="Trace and log"><${Facts} items=${[trace && ["Trace", html`<${Copyable} value=${trace} />${about.traceUrl && html` <a href=${about.traceUrl.replace("{traceId}", trace)} rel="noreferrer" target="_blank">open it</a>`}`],
    worker && about.logs && ["Log of the worker", html`<${Command} text=${`grep ${job.id} ${shellWord(`${about.logs}/${worker}.log`)}`} />`],
    worker && !about.logs && ["Log of the worker", html`<${Command} text=${`sudo journalctl -u 'tidemark-worker@*' --grep ${job.id}`} />`]]} /></${Card}>`;
}
const shellWord = (text) => (/^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function JobList({ query }) {
  const filter = { kind: query.kind, state: query.state, queue: query.queue };
  const pages = usePages((continuation, signal, tell) => findJobs(filter, query.q || "", continuation, signal, tell), [query.kind, query.state, query.queue, query.q], 3_000);
  const may = useMay("operator");
  const kinds = useKinds();
  const find = (q) => { if (/^[0-9a-f]{16}-([0-9a-f]{8}|[0-9a-f]{32})$/.test(q)) go(`/jobs/${q}`); else refine({ q }); };
  return html`<${Head} title="Jobs" actions=${may && html`<a class="button primary" href="/jobs/new">Submit a job</a>`} />
    <div class="filters"><${Search} label="Search in specs, errors and ids" value=${query.q} onChange=${find} />
      <${Choice} label="state" value=${query.state} options=${states} onChange=${(state) => refine({ state })} /><${Choice} label="kind" value=${query.kind} options=${kinds} onChange=${(kind) => refine({ kind })} /></div>
    <${List} label="Jobs" failed=${pages.error} items=${pages.items} href=${(job) => `/jobs/${part(job.id)}`} empty=${query.q || query.kind || query.state ? (pages.next ? "No job matches so far." : "No job matches.") : html`No job has been submitted yet. ${may && html`<a href="/jobs/new">Submit one</a>`}`} columns=${[
      { name: "Job", of: (job) => html`<${Id} value=${job.id} short=${8} byEnd href=${`/jobs/${part(job.id)}`} />` }, { name: "Kind", of: (job) => job.kind }, { name: "Queue", of: (job) => job.queue }, { name: "State", of: (job) => html`<${Badge} state=${job.state} />` },
      { name: "What", wide: true, of: (job) => html`<${Text} value=${target(job.spec) || (job.spec?.steps ? many(job.spec.steps.length, "step") : job.spec?.key)} most=${120} />${job.waiting && html`<div class="small dim">waits: <${Text} value=${job.waiting.text} most=${160} /></div>`}${job.error && html`<div class="small dim"><${Text} value=${job.error} most=${160} /></div>`}` },
      { name: "Done", number: true, of: (job) => html`${count(job.progress.done)}${job.progress.total !== undefined ? ` of ${count(job.progress.total)}` : ""}${job.state === "running" && job.progress.total ? html`<${Bar} done=${job.progress.done} total=${job.progress.total} />` : ""}` },
      { name: "Attempts", number: true, of: triesOf }, { name: "Submitted", of: (job) => html`<${When} at=${job.submittedAt} />` }, { name: "Ended", of: (job) => html`<${When} at=${job.finishedAt} />` }]} />
    <${More} pages=${pages} what="job" among="the newest" />`;
}

/// The present state of one job, from its events; polled where events are not available.
function useJob(id) {
  const { paused } = useSettings();
  const [told, setTold] = useState(undefined);
  const [streaming, setStreaming] = useState(false);
  const over = told && ended(told);
  const live = useLive((signal) => api.get(`/v1/jobs/${part(id)}`, { signal, exact: true }), [id], streaming ? 0 : over ? 15_000 : 2_000);
  useEffect(() => { if (live.value) setTold(live.value); }, [live.value]);
  useEffect(() => {
    if (paused || !told || over) return undefined;
    let abort;
    let timer;
    const listen = async () => {
      if (document.hidden || abort) return;
      abort = new AbortController();
      const own = abort;
      try {
        setStreaming(true);
        await follow(`/v1/jobs/${part(id)}/events`, (name, text) => { if (name === "job") setTold(parseExact(text)); }, own.signal);
      } catch { /* polling goes on */ }
      if (own !== abort) return;
      abort = undefined;
      setStreaming(false);
      if (!own.signal.aborted) timer = setTimeout(listen, 5_000);
    };
    const seen = () => { if (document.hidden) { abort?.abort(); } else listen(); };
    document.addEventListener("visibilitychange", seen);
    listen();
    return () => { document.removeEventListener("visibilitychange", seen); clearTimeout(timer); const last = abort; abort = undefined; last?.abort(); setStreaming(false); };
  }, [id, paused, over, told === undefined]);
  return { job: told, error: live.error, refresh: live.refresh, streaming, take: setTold };
}

function Job({ id }) {
  const { job, error, refresh, streaming, take } = useJob(id);
  const [acting, setActing] = useState("");
  const may = useMay("operator");
  if (!job) return html`<${Head} title="Job" crumbs=${[["Jobs", "/jobs"]]} /><${Failure} error=${error} retry=${refresh} />`;
  const spec = job.spec;
  const schedule = /^schedule:([^:]+):/.exec(spec?.idempotencyKey || "")?.[1];
  const repeat = () => { const { idempotencyKey, notBefore, group, ...rest } = spec; submitLike(rest); };
  const undo = () => submitLike({ kind: "undo", job: job.id });
  const transaction = isTransaction(job);
  const undoable = ended(job) && (transaction ? isUndoable(job) : ["archive", "unarchive", "copy", "undo"].includes(job.kind));
  const cancellable = !ended(job) && job.transaction?.decision !== "goesAhead";
  return html`<${Head} title=${`${job.kind} ${target(spec)}`.trim()} crumbs=${[["Jobs", "/jobs"]]} actions=${may && html`
      ${cancellable && html`<button type="button" class="danger" onClick=${() => setActing("cancel")}>Cancel…</button>`}
      ${undoable && html`<button type="button" onClick=${undo}>Undo…</button>`}
      ${typeof spec === "object" && html`<button type="button" onClick=${repeat}>Run again, with changes…</button>`}
      ${job.state === "poisoned" && html`<a class="button primary" href=${`/poison/${part(job.messageId)}`}>Its poison message</a>`}`}>
      <div><${Badge} state=${job.state} /> <span class="dim small">${ended(job) ? "" : streaming ? "live" : "updated every 2 s"}</span></div></${Head}>
    <${Failure} error=${error} retry=${refresh} />
    ${job.waiting && html`<div class="notice info" role="status"><div>It waits: <${Text} value=${job.waiting.text} most=${2000} /></div></div>`}
    ${job.error && html`<${Card} tone="bad"><${Text} value=${job.error} most=${2000} /></${Card}>`}
    <div class="figures">${transaction && job.transaction ? html`<${Figure} name=${`of ${many(spec.steps.length, "step")} taken`} value=${count(job.transaction.taken)} />` : html`<${Figure} name=${job.progress.total !== undefined ? `done of ${count(job.progress.total)}` : "done"} value=${count(job.progress.done)} note=${job.progress.phase} />
      <${Figure} name="skipped" value=${count(job.progress.skipped)} tone=${job.progress.skipped ? "warn" : ""} />`}<${Figure} name=${triesOf(job) === 1 ? "attempt" : "attempts"} value=${count(triesOf(job))} note=${roundsOf(job) > 1 && `in ${roundsOf(job)} rounds`} />
      ${job.progress.perSecond !== undefined && html`<${Figure} name="a second" value=${rate(job.progress.perSecond)} note=${job.progress.secondsLeft !== undefined ? `${duration(job.progress.secondsLeft)} left` : ""} />`}</div>
    ${job.progress.total !== undefined && !ended(job) && html`<p><${Bar} done=${Number(job.progress.done) + Number(job.progress.skipped)} total=${job.progress.total} /></p>`}
    <${Card}><${Facts} items=${[["Job", html`<${Copyable} value=${job.id} />`], ["Submitted", html`<${When} at=${job.submittedAt} both />`], job.notBefore && ["Not before", html`<${When} at=${job.notBefore} both />`],
      job.startedAt && [roundsOf(job) > 1 ? "First started" : "Started", html`<${When} at=${job.startedAt} both />`], job.finishedAt && ["Ended", html`<${When} at=${job.finishedAt} both />`],
      job.startedAt && job.finishedAt && ["Took", html`<${Took} job=${job} />`], ["Queue", job.queue], spec?.version !== undefined && ["Version", spec.version], spec?.key && ["Key", html`<${Text} value=${spec.key} />`], job.worker && ["Worker", html`<a href="/workers"><${Text} value=${job.worker} /></a>`], schedule && ["Schedule", html`<a href=${`/schedules/${part(schedule)}`}><${Text} value=${schedule} /></a>`], ["Message", html`<${Id} value=${job.messageId} />`],
      job.thenJob && ["Followed by", html`<${Id} value=${job.thenJob} href=${`/jobs/${part(job.thenJob)}`} />`], job.callbackJob && ["Its end is told by", html`<${Id} value=${job.callbackJob} href=${`/jobs/${part(job.callbackJob)}`} />`]]} /></${Card}>
    ${transaction && html`<${Transaction} job=${job} />`}${isUndoOfSteps(job) && html`<${Undone} job=${job} />`}
    <div class="columns"><${Card} title="History"><${Story} attempts=${job.history} before=${html`<li><strong>submitted</strong> <span class="dim"><${When} at=${job.submittedAt} both /></span></li>`}
        after=${ended(job) && job.finishedAt ? html`<li class=${job.state === "succeeded" ? "good" : job.state === "poisoned" ? "bad" : ""}><strong>${job.state}</strong> <span class="dim"><${When} at=${job.finishedAt} both /></span></li>` : ""} /></${Card}>
      <div>${job.result !== undefined && !tellsResult(job) && !isUndoOfSteps(job) && html`<${Card} title="Result"><${Json} value=${job.result} /></${Card}>`}
        ${job.checkpoint !== undefined && html`<${Card} title="Checkpoint"><p class="dim small">What a worker saved last; the next attempt gets it.</p><${Json} value=${job.checkpoint} /></${Card}>`}
        ${spec?.input !== undefined && html`<${Card} title="Input"><${Json} value=${spec.input} /></${Card}>`}
        ${job.skips && html`<${Card} title="Skipped"><ul>${job.skips.map((skip) => html`<li><strong>${count(skip.count)}</strong> <${Text} value=${skip.reason} /><ul class="small">${skip.samples.slice(0, 5).map(([p, r]) => html`<li><${Text} value=${p} most=${80} /> / <${Text} value=${r} most=${80} /></li>`)}</ul></li>`)}</ul></${Card}>`}
        <${Card} title="Spec"><${Json} value=${spec} /></${Card}><${Traces} job=${job} worker=${job.worker || attemptsOf(job).at(-1)?.worker} /></div></div>
    ${acting === "cancel" && html`<${Confirm} title="Cancel this job?" verb="Cancel the job" needsReason run=${async (reason) => take(await api.post(`/v1/jobs/${part(id)}/cancel`, undefined, reason, { exact: true }))} onClose=${() => setActing("")}><p>What it has done stays done.</p></${Confirm}>`}`;
}

export function Groups({ path }) {
  const id = path[0] || "";
  const live = useLive((signal) => (id ? api.get(`/v1/groups/${part(id)}`, { signal }) : null), [id], 3_000);
  const group = live.value;
  return html`<${Head} title=${id ? `Group ${visible(id)}` : "Groups"} crumbs=${[["Jobs", "/jobs"]]} /><div class="filters"><${Search} label="Name of a group" value=${id} onChange=${(name) => go(name ? `/groups/${part(name)}` : "/groups")} /></div>
    ${live.error?.status === 404 ? html`<${Empty}>There is no group of this name, or it is no longer kept.</${Empty}>` : html`<${Failure} error=${live.error} retry=${live.refresh} />`}
    ${group && html`<div class="figures">${Object.entries(group.states).map(([state, number]) => html`<${Figure} name=${state} value=${count(number)} tone=${state === "poisoned" && number ? "bad" : ""} />`)}</div>
      <${Card}><${Facts} items=${[["Members", count(group.members)], ["Submitted", html`<${When} at=${group.submittedAt} both />`], group.finishedAt && ["Ended", html`<${When} at=${group.finishedAt} both />`], group.callbackJob && ["Its end is told by", html`<${Id} value=${group.callbackJob} href=${`/jobs/${part(group.callbackJob)}`} />`]]} />${group.onEnd && html`<h3>At its end</h3><${Json} value=${group.onEnd} />`}</${Card}>`}`;
}
