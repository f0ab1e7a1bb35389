// Declares an index by a form that the api's description makes: of all kinds, with all their members.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { EditDialog } from "../parts/as_json.js";
import { checkKnown, Fields, textsOf, valueOf } from "../parts/form.js";
import { resolved } from "../net/description.js";
import { go } from "../shell/router.js";

const seldom = ["maxChanges", "maxBytes", "beyond", "buildPerSecond", "scrubPerSecond"];
const fresh = { kind: "lists", source: "", by: [], destination: "" };
const about = {
  copies: "A copy of each entity under other keys.", lists: "The keys of all entities that have a value.", summary: "How many entities have a value, and the sum, the least and the greatest of another property.",
  denormalised: "Properties of the source, kept in the entities of the destination that refer to it.",
};

/// Returns the schema of each kind of index.
export function indexKinds(document) {
  const out = {};
  for (const each of document.components.schemas.IndexDefinition.oneOf) {
    const { kind, ...properties } = resolved(document, each).properties;
    out[kind.enum[0]] = { ...each, properties, required: each.required.filter((name) => name !== "kind") };
  }
  return out;
}

/// Members that belong to others are shown where they apply: blobs need a container, and tables a destination.
function applies(name, kind, texts) {
  if (kind !== "lists") return true;
  const blobs = texts.where === "blobs";
  if (name === "container" || name === "prefix") return blobs;
  if (name === "destination" || name === "answersQueries") return !blobs;
  return name !== "onViolation" || texts.unique === "true";
}

export function Declare({ onClose }) {
  const [name, setName] = useState("");
  const toForm = (document, { kind = "lists", ...rest }) => {
    const schema = indexKinds(document)[kind];
    if (!schema) throw new Error(`${kind} is not a kind of index.`);
    checkKnown(schema, rest);
    return { kind, texts: textsOf(rest, schema, document) };
  };
  const applying = (schema, { kind, texts }) => Object.keys(schema.properties).filter((each) => applies(each, kind, texts));
  const toValue = (document, form) => {
    const schema = indexKinds(document)[form.kind];
    const kept = applying(schema, form);
    return { kind: form.kind, ...valueOf(document, schema, Object.fromEntries(Object.entries(form.texts).filter(([each]) => kept.includes(each)))) };
  };
  const draw = (document, form, set) => {
    const schema = indexKinds(document)[form.kind];
    const needed = form.kind === "lists" ? [form.texts.where === "blobs" ? "container" : "destination"] : [];
    const whole = { ...schema, required: [...schema.required, ...needed] };
    const table = form.kind === "denormalised" ? form.texts.destination : form.texts.source;
    const properties = { of: "properties", table };
    const template = { ...properties, template: true };
    const suggest = { source: { of: "tables" }, destination: { of: "tables" }, container: { of: "containers" }, by: properties, of: properties, properties: { of: "properties", table: form.texts.source }, partitionKey: template, rowKey: template };
    const fields = (wanted) => html`<${Fields} document=${document} schema=${whole} texts=${form.texts} onChange=${(texts) => set({ ...form, texts })} suggest=${suggest} members=${applying(schema, form).filter((each) => seldom.includes(each) === wanted)} />`;
    return html`<div class="field"><label for="index-kind">Kind</label><select id="index-kind" aria-describedby="index-kind-hint" value=${form.kind} onChange=${(e) => set({ ...form, kind: e.target.value })}>${Object.keys(indexKinds(document)).map((each) => html`<option value=${each} selected=${each === form.kind}>${each}</option>`)}</select><small id="index-kind-hint">${about[form.kind]}</small></div>
      ${fields(false)}<details><summary>How far it may fall behind, and how fast it is built and compared</summary>${fields(true)}</details>`;
  };
  const save = async (text) => { await api.put(`/v1/indexes/${part(name)}`, text); onClose(); go(`/indexes/${part(name)}`); };
  return html`<${EditDialog} title="Declare an index" what="Definition" verb="Declare" value=${fresh} toForm=${toForm} toValue=${toValue} fields=${draw} save=${save} onClose=${onClose}
    before=${html`<label class="field"><span>Name <span class="dim">needed</span></span><input name="name" required autocomplete="off" spellcheck=${false} pattern="[A-Za-z][A-Za-z0-9\\-]{0,62}" title="1 to 63 letters, digits and hyphens, a letter first" value=${name} onInput=${(e) => setName(e.target.value)} /></label>`} />`;
}
