// A form made from a schema: a field for each member; a value that is more than a word or a number is written as JSON.
import { html } from "./html.js";
import { resolved } from "../net/description.js";
import { parseExact, textOf } from "../net/exact.js";

const spaced = (name) => name.replace(/([A-Z])/g, (c) => ` ${c.toLowerCase()}`).replace(/^./, (c) => c.toUpperCase());

function typeOf(schema) {
  if (schema.enum) return "choice";
  if (schema.oneOf) return schema.oneOf.some((each) => each.type === "string") ? "mixed" : "json";
  return { string: "text", integer: "number", number: "number", boolean: "flag" }[schema.type] || "json";
}

/// `texts`: the texts in the fields, by member. `members`: the members that have a field.
export function Fields({ document, schema, texts, onChange, members }) {
  return html`<div class="fields">${members.map((name) => {
    const member = resolved(document, schema.properties[name]);
    const type = typeOf(member);
    const required = schema.required?.includes(name);
    const set = (e) => onChange({ ...texts, [name]: e.target.value });
    const hint = [member.description, member.default !== undefined && `Default: ${member.default}`].filter(Boolean).join(". ");
    const label = html`<span>${spaced(name)}${required ? html` <span class="dim">needed</span>` : ""}</span>`;
    if (type === "choice" || type === "flag") {
      const options = type === "flag" ? ["true", "false"] : member.enum;
      return html`<label class="field" key=${name}>${label}<select name=${name} value=${texts[name] || ""} onChange=${set}><option value="">${member.default !== undefined ? `default: ${member.default}` : "–"}</option>${options.map((each) => html`<option selected=${texts[name] === each} value=${each}>${each}</option>`)}</select><small>${member.description}</small></label>`;
    }
    if (type === "json") return html`<label class="field" key=${name}>${label}<textarea name=${name} rows="2" spellcheck=${false} required=${required} placeholder="JSON" value=${texts[name] || ""} onInput=${set}></textarea><small>${hint}</small></label>`;
    return html`<label class="field" key=${name}>${label}<input name=${name} type=${type === "number" ? "text" : "text"} inputmode=${type === "number" ? "numeric" : undefined} pattern=${type === "number" ? "-?[0-9]+" : undefined} required=${required} spellcheck=${false} autocomplete="off"
      placeholder=${member.format === "date-time" ? "2026-01-31T22:00:00Z" : ""} value=${texts[name] || ""} onInput=${set} /><small>${hint}</small></label>`;
  })}</div>`;
}

/// Returns the value for which the texts stand. Throws with the name of the member whose text is wrong.
export function valueOf(document, schema, texts) {
  const out = {};
  for (const [name, text] of Object.entries(texts)) {
    const member = resolved(document, schema.properties[name]);
    if (!member || text === "" || text === undefined) continue;
    const type = typeOf(member);
    try {
      if (type === "number" || type === "flag" || type === "json") out[name] = parseExact(text);
      else if (type === "mixed" && /^\s*[{[]/.test(text)) out[name] = parseExact(text);
      else out[name] = text;
    } catch {
      throw new Error(`${spaced(name)} is not ${type === "number" ? "a number" : "JSON"}.`);
    }
  }
  return out;
}

/// Returns the texts that stand for a value, to begin editing.
export function textsOf(value) {
  return Object.fromEntries(Object.entries(value || {}).map(([name, each]) => [name, typeof each === "string" ? each : textOf(each)]));
}
