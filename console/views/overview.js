// Present problems first; then the last hour.
import { html } from "../parts/html.js";
import { useMemo, useRef } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { useHealth } from "../net/health.js";
import { useLive } from "../net/live.js";
import { Badge, Card, Empty, Figure, Head } from "../parts/basic.js";
import { Chart } from "../parts/chart.js";
import { duration, When } from "../parts/time.js";
import { bytes, count, many, rate, Text } from "../parts/text.js";
import { workOf } from "./kinds.js";

const isOfJobs = (queue) => queue.name.startsWith("tidemark-jobs") && queue.name !== "tidemark-jobs-poison";
const patience = { oldest: 60, lag: 60 };  // seconds

/// Each part is loaded by itself, so that the others are shown while a store is away.
function useParts() {
  return {
    figures: useLive((signal) => api.get("/v1/overview", { signal }), []),
    workers: useLive((signal) => api.get("/v1/workers?limit=1000", { signal }), []),
    indexes: useLive((signal) => api.get("/v1/indexes", { signal }), []),
    kinds: useLive((signal) => api.get("/v1/kinds", { signal }), []),
  };
}

/// The figures of the queues of jobs, and when they were taken. While the queue service is away, they are the last that
/// were seen here, or those that the api remembers.
function useJobs(figures) {
  const last = useRef(null);
  const value = figures.value;
  if (value && !value.notAnswering.includes("queue") && value.queuesOfJobs.length) last.current = { at: figures.at, fresh: true, queues: value.queuesOfJobs };
  else if (last.current) last.current = { ...last.current, fresh: false };
  if (last.current || !value) return last.current;
  const point = value.points.at(-1);
  return point ? { at: new Date(point.at).getTime(), fresh: false, point, queues: [] } : null;
}

/// {tone, text, href, runbook}, the worst first.
function wrongs({ away, figures, jobs, workers, indexes, kinds, groups }) {
  const out = [];
  const say = (tone, runbook, text, href) => out.push({ tone, runbook, text, href });
  for (const each of away) say("bad", "store-away", html`The ${each.store} store does not answer (<code>${each.process}</code>), its last answer came <${When} at=${each.since} both />`);
  const gone = (figures?.notAnswering || []).filter((store) => !away.some((each) => each.store === store));
  for (const store of gone) say("bad", "store-away", `The ${store} store does not answer`);
  if (figures?.notServing && !away.length && !gone.length) say("bad", "store-away", html`Not serving: <${Text} value=${figures.notServing} />`);
  for (const disk of (figures?.disks || []).filter((each) => each.low)) say("bad", "disk-low", html`<${Text} value=${disk.message} />`);
  for (const warning of figures?.warnings || []) say(warning.full ? "bad" : "warn", "account-nearly-full", html`<${Text} value=${warning.message} />`);
  const remarkable = figures?.remarkable || { queues: [], readers: [] };
  const ofJobs = (jobs?.fresh ? jobs.queues : []).filter(isOfJobs);
  const queues = [...ofJobs, ...remarkable.queues.filter((queue) => !isOfJobs(queue))];
  const waiting = ofJobs.reduce((sum, queue) => sum + queue.ready, 0);
  if (workers && !workers.some((worker) => worker.alive) && waiting) say("bad", "no-worker", `${many(waiting, "job")} ${waiting === 1 ? "waits" : "wait"} and no worker is alive`, "/workers");
  for (const worker of (workers || []).filter((each) => !each.alive)) say("bad", "worker-lost", html`Worker <${Text} value=${worker.name} /> on <${Text} value=${worker.host} /> is lost; last heard of <${When} at=${worker.heartbeatAt} />`, "/workers");
  for (const group of groups.slice(0, mostGroups)) say("bad", "poison-jobs", html`<strong>${many(group.count, group.kind === "unknown" ? "poison message" : `poison ${group.kind} job`)}</strong>, last <${When} at=${group.lastMovedAt} />: <${Text} value=${group.reason} most=${160} />`, `/poison?show=messages&fingerprint=${group.fingerprint}`);
  const rest = groups.slice(mostGroups);
  if (rest.length) say("bad", "poison-jobs", `${count(rest.reduce((sum, group) => sum + group.count, 0))} more poisoned, in ${count(rest.length)} more groups`, "/poison");
  const unclaimed = new Set();
  for (const kind of kinds || []) for (const each of kind.own?.versions || []) {
    const name = `${kind.kind}@${each.version}`;
    if (each.waiting === "noWorker") { unclaimed.add(name); say("bad", "no-claims", `${many(each.queued, "job")} of your kind ${name} ${Number(each.queued) === 1 ? "waits" : "wait"}, and no worker claims it`, `/kinds/${part(kind.kind)}`); }
  }
  for (const queue of queues) {
    if (queue.poison && !isOfJobs(queue)) say("bad", "poison-queue", html`${many(queue.poison, "poison message")} of queue <${Text} value=${queue.name} />`, `/poison?queue=${part(queue.name)}`);
    const own = workOf(queue.name);
    const waits = queue.oldestAgeSeconds > patience.oldest && queue.ready && !queue.name.endsWith("-poison");
    if (waits && own && !unclaimed.has(`${own.kind}@${own.version}`)) say("warn", "waiting", html`The next job of your kind <${Text} value=${`${own.kind}@${own.version}`} /> has waited for ${duration(queue.oldestAgeSeconds)}; ${many(queue.ready, "job")} can be claimed`, `/kinds/${part(own.kind)}`);
    if (waits && !own) say("warn", "waiting", html`The next message of <${Text} value=${queue.name} /> has waited for ${duration(queue.oldestAgeSeconds)}; ${many(queue.ready, "message")} can be taken`, `/queues/${part(queue.name)}`);
    if (queue.paused) say("warn", "paused", html`Queue <${Text} value=${queue.name} /> is paused`, "/queues");
  }
  for (const kind of (kinds || []).filter((each) => each.paused)) say("warn", "paused", `Jobs of kind ${kind.kind} are paused`, kind.own ? `/kinds/${part(kind.kind)}` : "/limits");
  for (const index of indexes || []) {
    const where = `/indexes/${part(index.name)}`;
    if (index.state === "stale") say("bad", "index-stale", html`Index <${Text} value=${index.name} /> is stale: its rows no longer follow the table`, where);
    if (index.lastError?.inARow) say("bad", "index-failing", html`Index <${Text} value=${index.name} />: <${Text} value=${index.lastError.message} most=${160} />`, where);
    if (index.inTheWay?.rows) say("warn", "index-in-the-way", html`Index <${Text} value=${index.name} />: ${many(index.inTheWay.rows, "row")} ${index.inTheWay.rows === 1 ? "is" : "are"} not written, because other rows have the same keys${index.inTheWay.examples?.length ? html`, such as <${Text} value=${index.inTheWay.examples[0]} most=${80} />` : ""}`, where);
    if (index.lag?.seconds > patience.lag) say("warn", "index-behind", html`Index <${Text} value=${index.name} /> is ${duration(index.lag.seconds)} behind`, where);
    if (index.paused) say("warn", "paused", html`Index <${Text} value=${index.name} /> is paused`, where);
  }
  for (const reader of remarkable.readers) {
    const what = html`${reader.what === "onChange" ? "The rule for changes" : "Consumer group"} <${Text} value=${reader.name} /> of table <${Text} value=${reader.table} />`;
    const where = `/tables/${part(reader.table)}`;
    if (reader.feedEnded) say("bad", "reader-lost-changes", html`${what}: the feed has ended`, where);
    else if (reader.stopped) say("bad", "reader-stopped", html`${what} has stopped: <${Text} value=${reader.error} most=${160} />`, where);
    else if (reader.lostChanges) say("bad", "reader-lost-changes", html`${what} has lost changes, which are not kept any more`, where);
    else say("warn", "reader-behind", html`${what} is ${duration(reader.seconds)} behind`, where);
  }
  const refused = (figures?.points || []).slice(-refusalPoints).reduce((sum, point) => sum + point.refused, 0);
  if (refused) say("warn", "requests-refused", `${refused === 1 ? "1 request to the api was" : `${count(refused)} requests to the api were`} refused in the last ten minutes: by rights, a limit, or for want of room`, "/audit");
  return out.sort((a, b) => (a.tone === b.tone ? 0 : a.tone === "bad" ? -1 : 1));
}

/// Counting groups reads every poison message, so it is done when their number has changed, and at intervals.
function usePoisonGroups(total) {
  const live = useLive((signal) => (total === undefined ? null : total ? api.get("/v1/poison/groups", { signal }) : { groups: [], complete: true }), [total], 60_000);
  const last = useRef();
  if (live.value) last.current = live.value;
  return { ...live, value: last.current };
}

const mostShown = 12;
const mostGroups = 5;
const refusalPoints = 60;  // ten minutes
const partNames = { figures: "the figures of queues and disks", workers: "the workers", indexes: "the indexes", kinds: "the kinds of job", groups: "the groups of poison" };

/// The parts that could not be loaded, and how old the state is that is shown instead.
function Unknown({ parts }) {
  const failing = Object.entries(parts).filter(([, live]) => live.error);
  if (!failing.length) return null;
  return html`<p class="dim">${failing.map(([name, live]) => html`<span class="unknown">${partNames[name]} ${live.value === undefined || live.value === null ? "cannot be told now" : html`are those of <${When} at=${new Date(live.at).toISOString()} />`}; </span>`)} <button type="button" class="quiet" onClick=${() => failing.forEach(([, live]) => live.refresh())}>Try again</button></p>`;
}

export function Overview() {
  const parts = useParts();
  const { stores } = useHealth();
  const away = stores.filter((each) => !each.answers);
  const figures = parts.figures.value;
  const workers = parts.workers.value?.workers;
  const indexes = parts.indexes.value?.indexes;
  const jobs = useJobs(parts.figures);
  const queues = (jobs?.queues || []).filter(isOfJobs);
  const sum = (member) => queues.reduce((total, queue) => total + queue[member], 0);
  const poison = jobs?.point ? jobs.point.poison : jobs?.queues.find((queue) => queue.name === "tidemark-jobs-poison")?.messages || 0;
  const groups = usePoisonGroups(jobs?.fresh ? poison : undefined);
  const all = { ...parts, groups };
  const told = Object.values(all).every((live) => live.error || live.value);
  const sure = Object.values(all).every((live) => !live.error && live.value) && jobs?.fresh;
  const wrong = wrongs({ away, figures, jobs, workers, indexes, kinds: parts.kinds.value?.kinds, groups: groups.value?.groups || [] });
  const alive = workers?.filter((worker) => worker.alive);
  const row = (each) => html`<li><${Badge} tone=${each.tone} state=${each.tone === "bad" ? "act" : "watch"} /><div>${each.text} <span class="ways">${each.href && html`<a href=${each.href}>look</a> `}<a href=${`/runbooks/${each.runbook}`}>what to do</a></span></div></li>`;
  const oldest = jobs?.point ? jobs.point.oldestSeconds : Math.max(0, ...queues.map((queue) => queue.oldestAgeSeconds));
  const ofPoint = (member, other) => (jobs?.point ? jobs.point[member] : sum(other || member));
  const then = jobs && !jobs.fresh ? html`as of <${When} at=${new Date(jobs.at).toISOString()} />` : undefined;
  const late = (live) => (live.error && live.value ? html`as of <${When} at=${new Date(live.at).toISOString()} />` : undefined);
  return html`<${Head} title="Overview" />
    <${Card} title="Wrong now" tone=${wrong.length ? wrong[0].tone : sure ? "good" : ""}>
      ${wrong.length > 0 && html`<ul class="wrong">${wrong.slice(0, mostShown).map(row)}</ul>
          ${wrong.length > mostShown && html`<details><summary>and ${count(wrong.length - mostShown)} more</summary><ul class="wrong">${wrong.slice(mostShown).map(row)}</ul></details>`}`}
      ${!wrong.length && (sure ? html`<p>Nothing. All stores answer, nothing is poisoned, nothing waits for long.</p>` : !told && html`<${Empty}>Looking…</${Empty}>`)}
      <${Unknown} parts=${all} /></${Card}>
    ${(jobs || workers || indexes) && html`<div class="figures">
      ${jobs && html`<${Figure} name="jobs waiting" value=${count(ofPoint("ready"))} note=${then || `${count(sum("delayed"))} delayed`} href="/jobs?state=queued" />
      <${Figure} name="jobs in flight" value=${count(ofPoint("inFlight"))} note=${then} href="/jobs?state=running" />
      <${Figure} name="poison" value=${count(poison)} tone=${poison ? "bad" : "good"} note=${then || (groups.value && `${many(groups.value.groups.length, "group")}${groups.value.complete ? "" : ", not all counted"}`)} href="/poison" />
      <${Figure} name="oldest waiting" value=${duration(oldest)} tone=${oldest > patience.oldest ? "warn" : ""} note=${then} href="/queues" />`}
      ${alive && html`<${Figure} name="workers" value=${count(alive.length)} tone=${alive.length ? "" : "warn"} note=${late(parts.workers) || `${count(alive.reduce((n, worker) => n + worker.running, 0))} of ${count(alive.reduce((n, worker) => n + worker.concurrency, 0))} places taken`} href="/workers" />`}
      ${jobs && html`<${Figure} name="jobs a second" value=${rate(ofPoint("outPerSecond"))} note=${then || `${rate(sum("inPerSecond"))} put`} href="/jobs" />`}
      ${indexes && html`<${Figure} name="indexes" value=${count(indexes.length)} note=${late(parts.indexes) || `${indexes.filter((index) => index.state === "ready").length} ready`} href="/indexes" />`}</div>`}
    ${figures && html`${figures.disks.map((disk) => html`<p class=${`small ${disk.low ? "" : "dim"}`}>Disk of ${disk.stores.join(", ")}: ${bytes(disk.freeBytes)} of ${bytes(disk.totalBytes)} free</p>`)}
      ${figures.remarkable?.untold > 0 && html`<p class="dim small">${figures.remarkable.untold === 1 ? "1 more queue has" : `${count(figures.remarkable.untold)} more queues have`} something wrong. <a href="/queues">All ${count(figures.remarkable.counted)} queues</a></p>`}`}
    ${figures?.points.length > 1 && html`<${LastHour} points=${figures.points} />`}`;
}

function LastHour({ points }) {
  const series = useMemo(() => {
    const of = (member) => points.map((point) => point[member]);
    return { times: points.map((point) => new Date(point.at).getTime() / 1000),
      jobs: [{ name: "put", values: of("inPerSecond"), colour: "--c2" }, { name: "finished", values: of("outPerSecond"), colour: "--c1" }],
      waiting: [{ name: "waiting", values: of("ready"), colour: "--c1" }, { name: "poison", values: of("poison"), colour: "--c2" }],
      oldest: [{ name: "oldest", values: of("oldestSeconds"), colour: "--c3" }],
      latency: [{ name: "mean", values: of("meanMs"), colour: "--c1" }] };
  }, [points]);
  return html`<h2>The last hour</h2><div class="columns charts"><${Card}><${Chart} title="Jobs a second" times=${series.times} lines=${series.jobs} /></${Card}>
    <${Card}><${Chart} title="Jobs waiting, and poison" times=${series.times} lines=${series.waiting} /></${Card}>
    <${Card}><${Chart} title="How long the next job has waited" unit=" s" times=${series.times} lines=${series.oldest} /></${Card}>
    <${Card}><${Chart} title="Requests to the api: time to answer" unit=" ms" times=${series.times} lines=${series.latency} /></${Card}></div>`;
}
