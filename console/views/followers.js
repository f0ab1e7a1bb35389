// The readers of a table's changes: its feed, consumer groups, rules for changes, and the lag of each.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { description } from "../net/description.js";
import { useLive } from "../net/live.js";
import { EditDialog } from "../parts/as_json.js";
import { Act, Badge, Card, Confirm, Facts, Failure } from "../parts/basic.js";
import { checkKnown, Fields, textsOf, valueOf } from "../parts/form.js";
import { List } from "../parts/list.js";
import { duration, When } from "../parts/time.js";
import { bytes, count, many, Text, visible } from "../parts/text.js";
import { useMay } from "../shell/who.js";

const kindOf = { queue: "queue messages", webhook: "webhook", job: "jobs" };

async function look(table, signal) {
  const base = `/v1/tables/${part(table)}`;
  const feed = await api.get(`${base}/feed`, { signal }).catch((error) => { if (error.status === 404) return null; throw error; });
  const [consumers, onChange] = await Promise.all([api.get(`${base}/consumers`, { signal }), api.get(`${base}/onChange`, { signal })]);
  return { feed, followers: [...consumers.consumers.map((each) => ({ ...each, name: each.group, what: "consumer group", error: "" })),
    ...onChange.onChange.map((each) => ({ ...each, what: kindOf[targetOf(each.definition)], error: each.lastError?.message || each.failed || "" }))] };
}

const ruleName = "[A-Za-z0-9][A-Za-z0-9._\\-]{0,62}";

/// A form for one of the api's schemas, without more ado.
function EditSchema({ schema, members, suggest, ...rest }) {
  const of = (document) => document.components.schemas[schema];
  return html`<${EditDialog} ...${rest} toForm=${(document, from) => { checkKnown(of(document), from); return textsOf(from, of(document), document); }} toValue=${(document, texts) => valueOf(document, of(document), texts)}
    fields=${(document, texts, set) => html`<${Fields} document=${document} schema=${of(document)} members=${members?.(of(document), texts)} texts=${texts} onChange=${set} suggest=${suggest} />`} />`;
}

const targets = { queue: "put a message into a queue", webhook: "call an endpoint", job: "begin a job" };
const begun = { queue: "", webhook: { url: "https://" }, job: { kind: "transaction", steps: [{ message: { queue: "", json: { row: "{new.RowKey}" } } }] } };
const ofJobs = ["order", "ifPoison", "hops", "collapse", "limits"];
const targetOf = (definition) => Object.keys(targets).find((each) => definition[each]) || "queue";
const fits = (name, by) => !(name in targets && name !== by) && !(ofJobs.includes(name) && by !== "job") && !(name === "timeoutMs" && by !== "webhook");

/// Declares that each change calls an endpoint, puts a message, or begins a job. `like`: the definition to begin with.
function EditRule({ table, like, onClose }) {
  const [name, setName] = useState("");
  const [by, setBy] = useState(like ? targetOf(like) : "queue");
  const document = useLive(() => description(), [], 0).value;
  const known = document ? document.components.schemas.OnChangeSpec.properties : {};
  // A job gets the values that its own texts name.
  const members = (schema) => Object.keys(schema.properties).filter((each) => fits(each, by) && !(each === "values" && by === "job"));
  const kept = Object.fromEntries(Object.entries(like || (by === "job" ? {} : { values: "new" })).filter(([each]) => fits(each, by)));
  const value = { ...kept, [by]: like?.[by] || begun[by] };
  const save = async (text) => { await api.put(`/v1/tables/${part(table)}/onChange/${part(name)}`, text); onClose(); };
  return html`<${EditSchema} key=${by} schema="OnChangeSpec" title="New rule for changes" what="Rule" verb="Declare" value=${value} members=${members} suggest=${{ queue: { of: "queues" } }} save=${save} onClose=${onClose}
    before=${html`<div class="fields"><label class="field"><span>Name <span class="dim">needed</span></span><input name="name" required autocomplete="off" spellcheck=${false} pattern=${ruleName} title="1 to 63 letters, digits, '.', '_' and '-', a letter or digit first" value=${name} onInput=${(e) => setName(e.target.value)} /></label>
      <label class="field"><span>For each change</span><select value=${by} onChange=${(e) => setBy(e.target.value)}>${Object.entries(targets).filter(([each]) => each === by || each in known).map(([each, text]) => html`<option value=${each} selected=${by === each}>${text}</option>`)}</select></label></div>
      ${by === "job" && html`<p class="dim small">In the texts of the job, <code>${"{new.Property}"}</code> and <code>${"{old.Property}"}</code> stand for values of the entity after and before the change.</p>`}`} />`;
}

const feedMembers = ["retention", "maxBytes", "values"];

function EditFeed({ table, feed, onClose }) {
  const value = feed ? Object.fromEntries(feedMembers.filter((each) => feed[each] !== undefined).map((each) => [each, feed[each]])) : {};
  return html`<${EditSchema} schema="FeedSpec" title=${feed ? "Change the feed" : "Keep the changes of this table"} what="Feed" verb=${feed ? "Change" : "Keep changes"} value=${value} save=${async (text) => { await api.put(`/v1/tables/${part(table)}/feed`, text); onClose(); }} onClose=${onClose} />`;
}

export function Followers({ table }) {
  const live = useLive((signal) => look(table, signal), [table], 5_000);
  const [acting, setActing] = useState(null);
  const may = useMay("operator");
  if (live.error) return html`<${Failure} error=${live.error} retry=${live.refresh} />`;
  const { feed, followers } = live.value || {};
  const close = () => { setActing(null); live.refresh(); };
  const dialogs = html`${acting?.feed && html`<${EditFeed} table=${table} feed=${feed} onClose=${close} />`}${acting?.rule && html`<${EditRule} table=${table} like=${acting.like} onClose=${close} />`}
    ${acting?.remove && html`<${Confirm} title=${`Remove the rule ${visible(acting.remove)}?`} verb="Remove" needsReason run=${(reason) => api.remove(`/v1/tables/${part(table)}/onChange/${part(acting.remove)}`, reason)} onClose=${close}><p>Later changes are told to nobody by this rule.</p></${Confirm}>`}`;
  if (!live.value) return null;
  if (!feed && !followers.length) return may && !table.startsWith("Tidemark") ? html`<p class="dim small">Nobody can follow the changes of this table: they are not kept. <button type="button" class="quiet" onClick=${() => setActing({ feed: true })}>Keep changes…</button></p>${dialogs}` : null;
  const resume = (row) => async () => { await api.post(`/v1/tables/${part(table)}/onChange/${part(row.name)}/resume`); live.refresh(); };
  const pause = (row) => async () => { await api.post(`/v1/tables/${part(table)}/onChange/${part(row.name)}/pause`); live.refresh(); };
  const badge = (row) => html`<${Badge} tone=${row.state === "paused" ? "warn" : !feed || row.expired || row.state === "stopped" || row.error ? "bad" : "good"} state=${row.expired ? "lost changes" : row.state || (row.reader ? "being read" : feed ? "idle" : "no feed")} />`;
  const acts = (row) => may && row.definition && html`<div class="actions">${["stopped", "paused"].includes(row.state) ? html`<${Act} run=${resume(row)}>Resume</${Act}>` : row.definition.job && html`<${Act} run=${pause(row)}>Pause</${Act}>`}<button type="button" onClick=${() => setActing({ rule: true, like: row.definition })}>Another like it…</button><button type="button" class="danger" onClick=${() => setActing({ remove: row.name })}>Remove…</button></div>`;
  return html`<${Card} title="Change feed" actions=${may && html`<button type="button" onClick=${() => setActing({ feed: true })}>${feed ? "Change the feed…" : "Keep changes…"}</button>${feed && html`<button type="button" onClick=${() => setActing({ rule: true })}>New rule…</button>`}`}>${!feed ? html`<p>The table has no change feed any more, so nobody is told of its changes.</p>` : html`<${Facts} items=${[["Kept", `${many(feed.changes, "change")}, ${bytes(feed.bytes)}`], ["For at most", `${duration(feed.retention)}, ${bytes(feed.maxBytes)}`], ["Values", feed.values], ["Oldest change", html`<${When} at=${feed.oldestChange} both />`]]} />`}
    <${List} label="Followers of the changes" items=${followers} id=${(row) => `${row.what} ${row.name}`} empty="Nobody reads the changes." columns=${[
      { name: "Name", of: (row) => html`<${Text} value=${row.name} most=${80} />` }, { name: "What", of: (row) => html`${row.what}${row.definition?.job?.kind && html` <a href=${`/jobs?kind=${part(String(row.definition.job.kind))}`}><${Text} value=${row.definition.job.kind} most=${40} /></a>`}${row.definition?.filter && html`<div class="small dim"><${Text} value=${row.definition.filter} most=${120} /></div>`}` }, { name: "State", of: badge },
      { name: "Told", number: true, of: (row) => (row.told === undefined ? "" : count(row.told)) }, { name: "Behind", number: true, of: (row) => (row.lag ? `${duration(row.lag.seconds)}, ${many(row.lag.changes, "change")}` : "") }, { name: "Last error", wide: true, of: (row) => html`<${Text} value=${row.error} most=${200} />` },
      { name: "", of: acts }]} /></${Card}>${dialogs}`;
}
