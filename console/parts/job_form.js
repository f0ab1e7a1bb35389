// The fields of a job, made from the api's description of its kinds.
import { html } from "./html.js";
import { kindsOf } from "../net/description.js";
import { Fields, valueOf } from "./form.js";

const shared = ["maxAttempts", "idempotencyKey", "priority", "queue", "notBefore", "retryBaseMs", "retryCapMs", "keepHours", "maxAffected", "maxPerSecond", "onEnd", "then", "traceparent", "tracestate"];

const suggestFor = (texts) => {
  const properties = { of: "properties", table: texts.source };
  return { source: { of: "tables" }, destination: { of: "tables" }, poisonSource: { of: "tables" }, poisonQueue: { of: "queues" }, container: { of: "containers" }, property: properties, properties,
    partitionKeyTemplate: { ...properties, template: true }, rowKeyTemplate: { ...properties, template: true } };
};

const chosen = (texts) => texts.filter || texts.partitionKey || texts.rowKey;

/// Returns the job for which the form stands. Throws with the name of the member that is wrong.
export function specOf(document, { kind, texts, every }) {
  const schema = kindsOf(document)[kind];
  const selects = schema.properties.filter && !chosen(texts);
  return { ...valueOf(document, schema, texts), ...(selects && every ? { filter: "" } : {}), kind };
}

/// `form`: {kind, texts, every}, the texts by member, and whether every entity is selected. `without`: members that such
/// a job does not have. `loose`: names may hold moments such as {today}.
export function JobFields({ document, form, onChange, kinds, without = [], loose }) {
  const { kind, texts, every } = form;
  const schema = kindsOf(document)[kind];
  const members = Object.keys(schema.properties).filter((name) => name !== "kind" && !without.includes(name));
  const fields = (wanted) => html`<${Fields} document=${document} schema=${schema} texts=${texts} loose=${loose} suggest=${suggestFor(texts)} onChange=${(next) => onChange({ ...form, texts: next })} members=${members.filter((name) => shared.includes(name) === wanted)} />`;
  return html`<label class="field"><span>Kind</span><select name="kind" value=${kind} onChange=${(e) => onChange({ ...form, kind: e.target.value })}>${kinds.map((each) => html`<option value=${each} selected=${each === kind}>${each}</option>`)}</select></label>
    ${fields(false)}
    ${schema.properties.filter && !chosen(texts) && html`<label class="choice"><input type="checkbox" checked=${every} onChange=${(e) => onChange({ ...form, every: e.target.checked })} /><span>Every entity of the table</span></label>`}
    <details><summary>What all jobs have: priority, attempts, limits, what follows</summary>${fields(true)}</details>`;
}
