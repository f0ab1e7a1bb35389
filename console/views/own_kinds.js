// Kinds of work of users' own: their declarations, the versions that wait and run, and the workers that claim them.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { useLive } from "../net/live.js";
import { EditDialog } from "../parts/as_json.js";
import { Act, AsOf, Badge, Card, Empty, Facts, Failure, Head } from "../parts/basic.js";
import { Destroy } from "../parts/destroy.js";
import { checkKnown, Fields, textsOf, valueOf } from "../parts/form.js";
import { List } from "../parts/list.js";
import { duration, When } from "../parts/time.js";
import { count, Id, many, Text } from "../parts/text.js";
import { go } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { claimsOf } from "./kinds.js";
import { submitLike } from "./submit.js";

const kindName = "[a-z][a-z0-9]*(-[a-z0-9]+)*";
const sum = (versions, member) => versions.reduce((all, each) => all + Number(each[member]), 0);
const waitsForWorker = (kind) => kind.own.versions.some((each) => each.waiting === "noWorker");
const limits = (perKey) => [perKey?.running && `${count(perKey.running)} at once`, perKey?.perSecond && `${count(perKey.perSecond)} a second`].filter(Boolean).join(", ");

const State = ({ kind }) => html`${kind.paused && html`<${Badge} tone="warn" state="paused" /> `}${waitsForWorker(kind) ? html`<${Badge} tone="bad" state="no worker" />` : !kind.paused && html`<${Badge} tone="good" state="on" />`}`;
const pause = (kind, refresh) => async () => { await api.patch(`/v1/kinds/${part(kind.kind)}`, { paused: !kind.paused }); refresh(); };

export function OwnKinds({ path }) {
  return path[0] ? html`<${Kind} key=${path[0]} name=${path[0]} />` : html`<${Kinds} />`;
}

function Kinds() {
  const live = useLive((signal) => api.get("/v1/kinds", { signal }), [], 5_000);
  const [making, setMaking] = useState(false);
  const may = useMay("operator");
  const mayDeclare = useMay("admin");
  const kinds = live.value?.kinds.filter((each) => each.own);
  return html`<${Head} title="Your kinds" actions=${mayDeclare && html`<button type="button" class="primary" onClick=${() => setMaking(true)}>Declare a kind…</button>`}><p class="dim small">Kinds of work that processes of your own do, over HTTP.</p></${Head}>
    <${Failure} error=${live.error} retry=${live.refresh} /><${AsOf} live=${live} />
    <${List} label="Your kinds" failed=${live.error} items=${kinds} id=${(row) => row.kind} href=${(row) => `/kinds/${part(row.kind)}`} empty="No kind of your own is declared." columns=${[
      { name: "Kind", of: (row) => html`<a href=${`/kinds/${part(row.kind)}`}>${row.kind}</a>` }, { name: "State", of: (row) => html`<${State} kind=${row} />` },
      { name: "Versions", of: (row) => row.own.versions.map((each) => each.version).join(", ") }, { name: "Waiting", number: true, of: (row) => count(sum(row.own.versions, "queued")) }, { name: "Running", number: true, of: (row) => count(sum(row.own.versions, "running")) },
      { name: "Lease", number: true, of: (row) => duration(row.own.leaseSeconds) }, { name: "Attempts", number: true, of: (row) => row.own.maxAttempts }, { name: "Limits of a key", of: (row) => limits(row.own.perKey) || html`<span class="dim">no limit</span>` },
      { name: "", of: (row) => may && html`<div class="actions"><${Act} run=${pause(row, live.refresh)}>${row.paused ? "Resume" : "Pause"}</${Act}></div>` }]} />
    ${making && html`<${EditKind} onClose=${() => setMaking(false)} />`}`;
}

async function look(name, signal) {
  const [kind, workers, jobs] = await Promise.all([api.get(`/v1/kinds/${part(name)}`, { signal }), api.get("/v1/workers?limit=1000", { signal }), api.get(at("/v1/jobs", { kind: name, limit: 10 }), { signal })]);
  return { kind, jobs: jobs.jobs, workers: workers.workers.filter((each) => each.own && each.alive).map((each) => ({ ...each, versions: claimsOf(each).filter((claim) => claim.kind === name).map((claim) => claim.version) })).filter((each) => each.versions.length) };
}

function Kind({ name }) {
  const live = useLive((signal) => look(name, signal), [name], 3_000);
  const [acting, setActing] = useState("");
  const may = useMay("operator");
  const mayDeclare = useMay("admin");
  const crumbs = [["Your kinds", "/kinds"]];
  if (live.error?.status === 404) return html`<${Head} title=${name} crumbs=${crumbs} /><${Empty}>No kind of your own has this name. <a href="/kinds">Your kinds</a></${Empty}>`;
  if (!live.value) return html`<${Head} title=${name} crumbs=${crumbs} /><${Failure} error=${live.error} retry=${live.refresh} />`;
  const { kind, workers, jobs } = live.value;
  if (!kind.own) return html`<${Head} title=${name} crumbs=${crumbs} /><${Empty}>This kind is built in. <a href="/limits">Its limits and pauses</a></${Empty}>`;
  const own = kind.own;
  const waiting = own.versions.filter((each) => each.waiting === "noWorker");
  return html`<${Head} title=${name} crumbs=${crumbs} actions=${html`${may && html`<button type="button" class="primary" onClick=${() => submitLike({ kind: name })}>Submit a job</button><${Act} run=${pause(kind, live.refresh)}>${kind.paused ? "Resume" : "Pause"}</${Act}>`}
      ${mayDeclare && html`<button type="button" onClick=${() => setActing("change")}>Change…</button><button type="button" class="danger" onClick=${() => setActing("remove")}>Remove…</button>`}`}><div><${State} kind=${kind} /></div></${Head}>
    <${Failure} error=${live.error} retry=${live.refresh} /><${AsOf} live=${live} />
    ${waiting.map((each) => html`<div class="notice bad" role="status"><div>${many(each.queued, "job")} of version ${each.version} ${Number(each.queued) === 1 ? "waits" : "wait"}, and no worker claims <code>${name}@${each.version}</code>. <a href=${at("/jobs", { kind: name, state: "queued" })}>The jobs that wait</a></div></div>`)}
    <${Card}><${Facts} items=${[["Lease", `${duration(own.leaseSeconds)}: then the job of a silent worker goes to another one`], ["Attempts", count(own.maxAttempts)], own.retryBaseMs !== undefined && ["First delay before a retry, at most", duration(own.retryBaseMs / 1000)], own.retryCapMs !== undefined && ["Any delay before a retry, at most", duration(own.retryCapMs / 1000)],
      own.keepHours !== undefined && ["Records are kept for", duration(own.keepHours * 3600)], ["Limits of each key", limits(own.perKey) || "no limit"], own.steps && ["Its ends", "may have guards and steps, whatever else the worker’s token allows"]]} /></${Card}>
    <${Card} title="Versions"><${List} label="Versions" items=${own.versions} id=${(row) => row.version} empty="No job of this kind was submitted yet." columns=${[
      { name: "Version", of: (row) => html`<code>${name}@${row.version}</code>` }, { name: "Waiting", number: true, of: (row) => count(row.queued) }, { name: "Running", number: true, of: (row) => count(row.running) }, { name: "Workers", number: true, of: (row) => (row.waiting === "noWorker" ? html`<${Badge} tone="bad" state="no worker" />` : count(row.workers)) }]} /></${Card}>
    <${Card} title="Workers that claim it"><${List} label="Workers of the kind" items=${workers} id=${(row) => row.name} empty="No live worker claims this kind." columns=${[
      { name: "Name", of: (row) => html`<${Text} value=${row.name} />` }, { name: "State", of: (row) => html`<${Badge} tone=${row.quiet ? "warn" : "good"} state=${row.quiet ? "quiet" : "alive"} />` }, { name: "Versions", of: (row) => row.versions.join(", ") }, { name: "Running", number: true, of: (row) => count(row.running) }, { name: "Last heard of", of: (row) => html`<${When} at=${row.heartbeatAt} />` }]} /></${Card}>
    <${Card} title="Its newest jobs" actions=${html`<a href=${at("/jobs", { kind: name })}>all</a>`}><${List} label="Newest jobs of the kind" items=${jobs} href=${(job) => `/jobs/${part(job.id)}`} empty="There is no job of this kind." columns=${[
      { name: "Job", of: (job) => html`<${Id} value=${job.id} short=${8} byEnd href=${`/jobs/${part(job.id)}`} />` }, { name: "State", of: (job) => html`<${Badge} state=${job.state} />` }, { name: "Version", number: true, of: (job) => job.spec?.version }, { name: "Key", of: (job) => html`<${Text} value=${job.spec?.key} most=${80} />` },
      { name: "Waits", wide: true, of: (job) => job.waiting && html`<${Text} value=${job.waiting.text} most=${160} />` }, { name: "Submitted", of: (job) => html`<${When} at=${job.submittedAt} />` }, { name: "Ended", of: (job) => html`<${When} at=${job.finishedAt} />` }]} /></${Card}>
    ${acting === "change" && html`<${EditKind} kind=${kind} onClose=${() => { setActing(""); live.refresh(); }} />`}
    ${acting === "remove" && html`<${Destroy} title=${`Remove the kind ${name}?`} name=${name} verb="Remove the kind" run=${(reason) => api.remove(`/v1/kinds/${part(name)}`, reason).then(() => go("/kinds"))} onClose=${() => setActing("")}>
      <p>No more jobs of this kind are taken, and workers cannot claim it. ${many(sum(own.versions, "queued"), "job")} that ${sum(own.versions, "queued") === 1 ? "waits goes" : "wait go"} on waiting until it is declared again.</p></${Destroy}>`}`;
}

/// Declares a kind, or replaces its declaration.
function EditKind({ kind, onClose }) {
  const [name, setName] = useState(kind?.kind || "");
  const schemaOf = (document) => document.components.schemas.OwnKindSpec;
  const { versions, ...value } = kind?.own || { leaseSeconds: 30, maxAttempts: 5 };
  const save = async (text) => { await api.put(`/v1/kinds/${part(name)}`, text); onClose(); go(`/kinds/${part(name)}`); };
  return html`<${EditDialog} title=${kind ? `Change the kind ${name}` : "Declare a kind"} what="Declaration" verb=${kind ? "Change" : "Declare"} value=${value} save=${save} onClose=${onClose}
    toForm=${(document, from) => { checkKnown(schemaOf(document), from); return textsOf(from, schemaOf(document), document); }} toValue=${(document, texts) => valueOf(document, schemaOf(document), texts)}
    before=${html`<label class="field"><span>Name <span class="dim">needed</span></span><input name="name" required readonly=${Boolean(kind)} maxlength="32" pattern=${kindName} title="Lower-case letters, digits and single hyphens, a letter first" autocomplete="off" spellcheck=${false} value=${name} onInput=${(e) => setName(e.target.value)} /></label>
      ${kind && html`<p class="dim small">Jobs that were submitted already keep what they were submitted with.</p>`}`}
    fields=${(document, texts, set) => html`<${Fields} document=${document} schema=${schemaOf(document)} texts=${texts} onChange=${set} />`} />`;
}
