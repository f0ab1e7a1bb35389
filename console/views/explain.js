// The story of one entity: its present and past places, the jobs that put it there, and those that would take it next.
import { html } from "../parts/html.js";
import { useLayoutEffect, useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { useLive } from "../net/live.js";
import { Badge, Card, Empty, Failure, Head } from "../parts/basic.js";
import { When } from "../parts/time.js";
import { bytes, Id, many, Text } from "../parts/text.js";
import { go } from "../shell/router.js";

const relations = { wouldTake: "would take it", gaveUp: "gave up; would take it if sent back", named: "was for this entity alone" };
const place = (each) => html`${each.archive ? html`archive <${Text} value=${each.name || each.archive.container || ""} />` : html`table <a href=${`/tables/${part(each.table || each.name)}`}><${Text} value=${each.table || each.name} /></a>`}`;

const keysOf = (each) => html`<${Text} value=${each.partitionKey === "" ? "(empty)" : each.partitionKey} most=${80} /> / <${Text} value=${each.rowKey === "" ? "(empty)" : each.rowKey} most=${80} />`;
/// The time of an entity in an archive is that of its original, or that of the job that wrote it.
const timeOf = (each) => each.timestamp || each.sourceTimestamp || each.jobFinishedAt;
/// A place where the entity is belongs to its story, also if nobody knows since when it is there.
const isStory = (each) => each.present || Boolean(each.timestamp);

/// Everything that has a time, in order; places without a time come last.
function storyOf(found) {
  const out = [];
  for (const each of found.places) {
    if (isStory(each)) out.push({ at: timeOf(each), tone: each.present ? "good" : "", text: html`${each.present ? "is" : "was"} in ${place(each)} as ${keysOf(each)}${each.sourceTimestamp && each.timestamp && html` <span class="dim small">from the version of <${When} at=${each.sourceTimestamp} /></span>`}${each.job && html`, written by job <${Id} value=${each.job} short=${8} byEnd href=${`/jobs/${part(each.job)}`} /> ${each.jobState && html`<${Badge} state=${each.jobState} />`}`}${(each.blobs || []).map((blob) => html`<div class="small">${blob.property}: ${bytes(blob.bytes)} in blob <${Text} value=${`${blob.container}/${blob.name}`} />${blob.present ? "" : html` <${Badge} tone="bad" state="missing" />`}</div>`)}` });
  }
  for (const job of found.jobs) out.push({ at: job.finishedAt || job.submittedAt, tone: job.state === "poisoned" ? "bad" : "info", text: html`job <${Id} value=${job.id} short=${8} byEnd href=${`/jobs/${part(job.id)}`} /> (${job.kind}) <${Badge} state=${job.state} /> ${relations[job.relation] || job.relation}` });
  for (const next of found.schedules) out.push({ at: next.dueTime, tone: "info", text: html`schedule <a href=${`/schedules/${part(next.name)}`}><${Text} value=${next.name} /></a> (${next.kind}) would take it` });
  return out.sort((a, b) => ((a.at || "~") < (b.at || "~") ? -1 : 1));
}

export function Explain({ query }) {
  const [form, set] = useState({ table: query.table || "", partitionKey: query.partitionKey || "", rowKey: query.rowKey || "" });
  useLayoutEffect(() => set({ table: query.table || "", partitionKey: query.partitionKey || "", rowKey: query.rowKey || "" }), [query.table, query.partitionKey, query.rowKey]);
  const asked = query.table !== undefined;
  const keys = (value) => `table=${part(value.table || "")}&partitionKey=${part(value.partitionKey || "")}&rowKey=${part(value.rowKey || "")}`;
  const live = useLive((signal) => (asked ? api.get(`/v1/explain?${keys(query)}`, { signal }) : null), [query.table, query.partitionKey, query.rowKey], 0);
  const found = asked && live.value;
  const elsewhere = found ? found.places.filter((each) => !isStory(each)) : [];
  return html`<${Head} title="Explain an entity" /><form class="filters" onSubmit=${(e) => { e.preventDefault(); go(`/explain?${keys(form)}`); }}>${[["table", "Table"], ["partitionKey", "PartitionKey"], ["rowKey", "RowKey"]].map(([name, label], index) => html`<label class="choice"><span>${label}</span><input name=${name} data-search=${index === 0 ? "" : undefined} required=${name === "table"} spellcheck=${false} autocomplete="off" value=${form[name]} onInput=${(e) => set({ ...form, [name]: e.target.value })} /></label>`)}<button class="primary">Explain</button></form>
    <${Failure} error=${asked ? live.error : null} retry=${live.refresh} />
    ${found && html`<${Card} title="Its story">${storyOf(found).length ? html`<ol class="line">${storyOf(found).map((each) => html`<li class=${each.tone}><div class="dim small">${each.at ? html`<${When} at=${each.at} both />` : "at an unknown time"}</div><div>${each.text}</div></li>`)}</ol>` : html`<${Empty}>Nothing is known of it.</${Empty}>`}</${Card}>
      ${elsewhere.length > 0 && html`<${Card} title="Where it is not, or not known to be"><ul>${elsewhere.map((each) => html`<li>${place(each)}, as ${keysOf(each)}${each.problem && html`: <${Text} value=${each.problem} />`}${each.mayBeIn?.length > 0 && html` – may be in ${each.mayBeIn.map((name) => html`<${Text} value=${name} /> `)}`}</li>`)}</ul></${Card}>`}
      <p class="dim small">Looked at ${many(found.looked.jobs, "job")}, ${many(found.looked.schedules, "schedule")} and ${many(found.looked.places, "place")}${found.complete ? "." : "; there are more, or something could not be read."}</p>`}`;
}
