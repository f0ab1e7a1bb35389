// Present problems first; then the last hour.
import { html } from "../parts/html.js";
import { useMemo, useRef } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { useLive } from "../net/live.js";
import { Badge, Card, Empty, Failure, Figure, Head } from "../parts/basic.js";
import { Chart } from "../parts/chart.js";
import { duration, When } from "../parts/time.js";
import { bytes, count, many, rate, Text } from "../parts/text.js";

const isOfJobs = (queue) => queue.name.startsWith("tidemark-jobs") && queue.name !== "tidemark-jobs-poison";
const patience = { oldest: 60, lag: 60 };  // seconds

async function look(signal) {
  const [figures, workers, indexes, kinds] = await Promise.all([
    api.get("/v1/overview", { signal }), api.get("/v1/workers?limit=1000", { signal }),
    api.get("/v1/indexes", { signal }), api.get("/v1/kinds", { signal })]);
  return { notServing: figures.notServing, notAnswering: figures.notAnswering, jobs: figures.queuesOfJobs, remarkable: figures.remarkable || { queues: [], readers: [], untold: 0 }, points: figures.points, warnings: figures.warnings, disks: figures.disks, workers: workers.workers, indexes: indexes.indexes, kinds: kinds.kinds };
}

/// [tone, text, where to look], the worst first.
export function wrongs({ notServing, notAnswering, jobs: ofJobs, remarkable, points, warnings, disks, workers, indexes, kinds }, groups) {
  const out = [];
  const say = (tone, text, href) => out.push({ tone, text, href });
  if (notServing) say("bad", html`Not serving: <${Text} value=${notServing} />`);
  for (const store of notAnswering) say("bad", `The ${store} store does not answer`);
  for (const disk of disks.filter((each) => each.low)) say("bad", html`<${Text} value=${disk.message} />`);
  for (const warning of warnings) say(warning.full ? "bad" : "warn", html`<${Text} value=${warning.message} />`);
  const jobs = ofJobs.filter(isOfJobs);
  const queues = [...jobs, ...remarkable.queues.filter((queue) => !isOfJobs(queue))];
  const waiting = jobs.reduce((sum, queue) => sum + queue.ready, 0);
  const alive = workers.filter((worker) => worker.alive);
  if (!alive.length && waiting) say("bad", `${many(waiting, "job")} ${waiting === 1 ? "waits" : "wait"} and no worker is alive`, "/workers");
  for (const worker of workers.filter((each) => !each.alive)) say("bad", html`Worker <${Text} value=${worker.name} /> on <${Text} value=${worker.host} /> is lost; last heard of <${When} at=${worker.heartbeatAt} />`, "/workers");
  for (const group of groups.slice(0, mostGroups)) say("bad", html`<strong>${many(group.count, group.kind === "unknown" ? "poison message" : `poison ${group.kind} job`)}</strong>, last <${When} at=${group.lastMovedAt} />: <${Text} value=${group.reason} most=${160} />`, `/poison?show=messages&fingerprint=${group.fingerprint}`);
  const rest = groups.slice(mostGroups);
  if (rest.length) say("bad", `${count(rest.reduce((sum, group) => sum + group.count, 0))} more poisoned, in ${count(rest.length)} more groups`, "/poison");
  for (const queue of queues) {
    if (queue.poison && !isOfJobs(queue)) say("bad", html`${many(queue.poison, "poison message")} of queue <${Text} value=${queue.name} />`, `/poison?queue=${part(queue.name)}`);
    if (queue.oldestAgeSeconds > patience.oldest && queue.ready && !queue.name.endsWith("-poison")) say("warn", html`The next message of <${Text} value=${queue.name} /> has waited for ${duration(queue.oldestAgeSeconds)}; ${many(queue.ready, "message")} can be taken`, `/queues/${part(queue.name)}`);
    if (queue.paused) say("warn", html`Queue <${Text} value=${queue.name} /> is paused`, "/queues");
  }
  for (const kind of kinds.filter((each) => each.paused)) say("warn", `Jobs of kind ${kind.kind} are paused`, "/limits");
  for (const index of indexes) {
    const where = `/indexes/${part(index.name)}`;
    if (index.state === "stale") say("bad", html`Index <${Text} value=${index.name} /> is stale: its rows no longer follow the table`, where);
    if (index.lastError?.inARow) say("bad", html`Index <${Text} value=${index.name} />: <${Text} value=${index.lastError.message} most=${160} />`, where);
    if (index.inTheWay?.rows) say("warn", html`Index <${Text} value=${index.name} />: ${many(index.inTheWay.rows, "row")} ${index.inTheWay.rows === 1 ? "is" : "are"} in the way`, where);
    if (index.lag?.seconds > patience.lag) say("warn", html`Index <${Text} value=${index.name} /> is ${duration(index.lag.seconds)} behind`, where);
    if (index.paused) say("warn", html`Index <${Text} value=${index.name} /> is paused`, where);
  }
  for (const reader of remarkable.readers) {
    const what = html`${reader.what === "onChange" ? "What follows changes" : "Consumer group"} <${Text} value=${reader.name} /> of table <${Text} value=${reader.table} />`;
    const where = `/tables/${part(reader.table)}`;
    if (reader.feedEnded) say("bad", html`${what}: the feed has ended`, where);
    else if (reader.stopped) say("bad", html`${what} has stopped: <${Text} value=${reader.error} most=${160} />`, where);
    else if (reader.lostChanges) say("bad", html`${what} has lost changes, which are not kept any more`, where);
    else say("warn", html`${what} is ${duration(reader.seconds)} behind`, where);
  }
  const refused = points.slice(-refusalPoints).reduce((sum, point) => sum + point.refused, 0);
  if (refused) say("warn", `${refused === 1 ? "1 request to the api was" : `${count(refused)} requests to the api were`} refused in the last ten minutes: by rights, a limit, or for want of room`, "/audit");
  return out.sort((a, b) => (a.tone === b.tone ? 0 : a.tone === "bad" ? -1 : 1));
}

/// Counting groups reads every poison message, so it is done when their number has changed, and at intervals.
function usePoisonGroups(total) {
  const live = useLive((signal) => (total === undefined ? null : total ? api.get("/v1/poison/groups", { signal }) : { groups: [], complete: true }), [total], 60_000);
  const last = useRef();
  if (live.value) last.current = live.value;
  return last.current;
}

const mostShown = 12;
const mostGroups = 5;
const refusalPoints = 60;  // ten minutes

export function Overview() {
  const now = useLive(look, []);
  const jobs = (now.value?.jobs || []).filter(isOfJobs);
  const sum = (member) => jobs.reduce((total, queue) => total + queue[member], 0);
  const poison = now.value?.jobs.find((queue) => queue.name === "tidemark-jobs-poison")?.messages || 0;
  const groups = usePoisonGroups(now.value ? poison : undefined);
  const wrong = now.value && groups ? wrongs(now.value, groups.groups) : undefined;
  const alive = now.value?.workers.filter((worker) => worker.alive) || [];
  const row = (each) => html`<li><${Badge} tone=${each.tone} state=${each.tone === "bad" ? "act" : "watch"} /><div>${each.text} ${each.href && html`<a href=${each.href}>look</a>`}</div></li>`;
  const oldest = Math.max(0, ...jobs.map((queue) => queue.oldestAgeSeconds));
  return html`<${Head} title="Overview" />
    <${Failure} error=${now.error} retry=${now.refresh} />
    <${Card} title="Wrong now" tone=${!wrong ? "" : wrong.length ? wrong[0].tone : "good"}>
      ${!wrong ? html`<${Empty}>Looking…</${Empty}>` : !wrong.length ? html`<p>Nothing. All stores answer, nothing is poisoned, nothing waits for long.</p>`
        : html`<ul class="wrong">${wrong.slice(0, mostShown).map(row)}</ul>
          ${wrong.length > mostShown && html`<details><summary>and ${count(wrong.length - mostShown)} more</summary><ul class="wrong">${wrong.slice(mostShown).map(row)}</ul></details>`}`}</${Card}>
    ${now.value && html`<div class="figures">
      <${Figure} name="jobs waiting" value=${count(sum("ready"))} note=${`${count(sum("delayed"))} delayed`} href="/jobs?state=queued" />
      <${Figure} name="jobs in flight" value=${count(sum("inFlight"))} href="/jobs?state=running" />
      <${Figure} name="poison" value=${count(poison)} tone=${poison ? "bad" : "good"} note=${groups && `${many(groups.groups.length, "group")}${groups.complete ? "" : ", not all counted"}`} href="/poison" />
      <${Figure} name="oldest waiting" value=${duration(oldest)} tone=${oldest > patience.oldest ? "warn" : ""} href="/queues" />
      <${Figure} name="workers" value=${count(alive.length)} tone=${alive.length ? "" : "warn"} note=${`${count(alive.reduce((n, worker) => n + worker.running, 0))} of ${count(alive.reduce((n, worker) => n + worker.concurrency, 0))} places taken`} href="/workers" />
      <${Figure} name="jobs a second" value=${rate(sum("outPerSecond"))} note=${`${rate(sum("inPerSecond"))} put`} href="/jobs" />
      <${Figure} name="indexes" value=${count(now.value.indexes.length)} note=${`${now.value.indexes.filter((index) => index.state === "ready").length} ready`} href="/indexes" /></div>
      ${now.value.disks.map((disk) => html`<p class=${`small ${disk.low ? "" : "dim"}`}>Disk of ${disk.stores.join(", ")}: ${bytes(disk.freeBytes)} of ${bytes(disk.totalBytes)} free</p>`)}
      ${now.value.remarkable.untold > 0 && html`<p class="dim small">${now.value.remarkable.untold === 1 ? "1 more queue has" : `${count(now.value.remarkable.untold)} more queues have`} something wrong. <a href="/queues">All ${count(now.value.remarkable.counted)} queues</a></p>`}`}
    ${now.value?.points.length > 1 && html`<${LastHour} points=${now.value.points} />`}`;
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
  return html`<h2>The last hour</h2><div class="columns"><${Card}><${Chart} title="Jobs a second" times=${series.times} lines=${series.jobs} /></${Card}>
    <${Card}><${Chart} title="Jobs waiting, and poison" times=${series.times} lines=${series.waiting} /></${Card}>
    <${Card}><${Chart} title="How long the next job has waited" unit=" s" times=${series.times} lines=${series.oldest} /></${Card}>
    <${Card}><${Chart} title="Requests to the api: time to answer" unit=" ms" times=${series.times} lines=${series.latency} /></${Card}></div>`;
}
