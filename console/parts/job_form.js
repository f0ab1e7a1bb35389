// The fields of a job, made from the api's description of its kinds.
import { html } from "./html.js";
import { kindsOf } from "../net/description.js";
import { checkKnown, Fields, lost, textsOf, valueOf } from "./form.js";

const shared = ["key", "maxAttempts", "idempotencyKey", "priority", "queue", "notBefore", "retryBaseMs", "retryCapMs", "keepHours", "maxAffected", "maxPerSecond", "onEnd", "then", "traceparent", "tracestate"];

const rowsOf = (texts) => (Array.isArray(texts) ? texts.map((row) => row.texts) : []);
/// The tables of the guards that have a name, by their names.
const guardsOf = (texts) => Object.fromEntries(rowsOf(texts.guards).filter((guard) => guard.as).map((guard) => [guard.as, guard.table]));

/// Returns the names that are offered in a step: the values that the guards read, and the properties of its entity.
function suggestForStep(guards, step) {
  const value = { guards, template: true };
  const properties = { of: "properties", table: step.of ? guards[step.of] : step.table };
  return { value, of: { fixed: Object.keys(guards) }, table: { of: "tables" }, queue: { of: "queues" }, container: { of: "containers" }, set: properties, add: properties, entity: properties,
    ...Object.fromEntries(["partitionKey", "rowKey", "text", "group", "name"].map((name) => [name, value])) };
}

const suggestFor = (texts) => {
  const properties = { of: "properties", table: texts.source };
  const guards = guardsOf(texts);
  return { guards: () => ({ table: { of: "tables" } }), steps: (step) => suggestForStep(guards, step), set: properties, source: { of: "tables" }, destination: { of: "tables" }, poisonSource: { of: "tables" }, poisonQueue: { of: "queues" }, container: { of: "containers" }, property: properties, properties,
    partitionKeyTemplate: { ...properties, template: true }, rowKeyTemplate: { ...properties, template: true } };
};

const chosen = (texts) => texts.filter || texts.partitionKey || texts.rowKey;

/// Returns the job for which the form stands. Throws with the name of the member that is wrong.
export function specOf(document, { kind, texts, every }) {
  const schema = kindsOf(document)[kind];
  const selects = schema.properties.filter && !chosen(texts);
  return { ...valueOf(document, schema, texts), ...(selects && every ? { filter: "" } : {}), kind };
}

/// Returns the form for a job. Throws if there is no form for its kind, or none that would keep all of the job.
export function formOf(document, job) {
  const { kind = "archive", ...members } = job;
  const schema = kindsOf(document)[kind];
  if (!schema) throw new Error(`${kind} is not a kind of job.`);
  checkKnown(schema, members);
  const form = { kind, texts: textsOf(members, schema, document), every: members.filter === "" };
  const missing = lost({ ...job, kind }, specOf(document, form));
  if (missing) throw new Error(`The form has no field for ${missing} as it is here.`);
  return form;
}

/// `form`: {kind, texts, every}, the texts by member, and whether every entity is selected. `kinds`: those to choose from;
/// without them the kind stays. `without`: members that such a job does not have. `loose`: names may hold moments such as
/// {today}. `problems` and `locked`: as in Fields.
export function JobFields({ document, form, onChange, kinds, without = [], loose, problems, locked }) {
  const { kind, texts, every } = form;
  const schema = kindsOf(document)[kind];
  const members = Object.keys(schema.properties).filter((name) => name !== "kind" && !without.includes(name));
  const fields = (wanted) => html`<${Fields} document=${document} schema=${schema} texts=${texts} loose=${loose} problems=${problems} locked=${locked} suggest=${suggestFor(texts)} onChange=${(next) => onChange({ ...form, texts: next })} members=${members.filter((name) => shared.includes(name) === wanted)} />`;
  return html`${kinds && html`<label class="field"><span>Kind</span><select name="kind" value=${kind} onChange=${(e) => onChange({ ...form, kind: e.target.value })}>${kinds.map((each) => html`<option value=${each} selected=${each === kind}>${each}</option>`)}</select></label>`}
    ${fields(false)}
    ${schema.properties.filter && !chosen(texts) && html`<label class="choice"><input type="checkbox" checked=${every} onChange=${(e) => onChange({ ...form, every: e.target.checked })} /><span>Every entity of the table</span></label>`}
    <details><summary>What all jobs have: priority, attempts, limits, what follows</summary>${fields(true)}</details>`;
}
