// A form for an entity: one field for each property with its type, or JSON. For a new entity, and for a change.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { parseExact } from "../net/exact.js";
import { addressOf, insertEntity, isConflict, presentEntity, replaceEntity } from "../net/entities.js";
import { bare, bodyOfEntity, differs, jsonOf, own, rebased, setProperty, textIn, typeOf, types } from "../net/values.js";
import { Dialog, Failure, Toggle, useAction } from "../parts/basic.js";
import { Diff } from "../parts/diff.js";
import { Offers } from "../parts/names.js";
import { Text } from "../parts/text.js";
import { Conflict } from "./conflict.js";

const modes = [["fields", "Fields"], ["json", "JSON"]];
const mostProperties = 252;

/// A property without a value, null in JSON, is none.
const rowsOf = (entity) => own(entity).filter((name) => textIn(entity, name) !== undefined).map((name, i) => ({ key: `${i}`, name, type: typeOf(entity, name), text: textIn(entity, name), from: name }));

/// The rows of an entity; those that are not as in `base` count as touched.
const rowsBeside = (entity, base) => rowsOf(entity).map((each) => (differs(entity, base, each.name) ? { ...each, touched: true } : each));

/// Makes the entity of the rows. A row that nobody touched keeps its value exactly.
function entityOf(rows, before) {
  const out = bare({});
  for (const row of rows) {
    if (!row.name) throw new Error("A property needs a name.");
    if (Object.hasOwn(out, row.name)) throw new Error(`The property ${row.name} is there twice.`);
    if (row.from === row.name && !row.touched) {
      out[row.name] = before[row.name];
      if (before[`${row.name}@odata.type`]) out[`${row.name}@odata.type`] = before[`${row.name}@odata.type`];
    } else setProperty(out, row.name, row.type, row.text);
  }
  return out;
}

function jsonEntity(text) {
  let found;
  try { found = parseExact(text); } catch { throw new Error("The properties must be JSON: an object with the properties as its members."); }
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw new Error("The properties must be a JSON object.");
  return found;
}

const isLong = (text) => text.length > 60 || /[\r\n]/.test(text);
const mayBeLong = new Set(["String", "Binary"]);
const mostNames = 200;  // that are offered

function PropertyRows({ rows, names, onChange }) {
  const set = (row, part) => onChange(rows.map((each) => (each === row ? { ...each, ...part, touched: true } : each)));
  const add = () => onChange([...rows, { key: `new ${Date.now()} ${rows.length}`, name: "", type: "String", text: "", touched: true }]);
  return html`<div class="properties" role="group" aria-label="Fields">${rows.map((row) => html`<div class="property" key=${row.key}>
      <input aria-label="Name of the property" placeholder="Name" list="known-properties" required maxlength="255" autocomplete="off" spellcheck=${false} value=${row.name} onInput=${(e) => set(row, { name: e.target.value })} />
      <select aria-label=${`Type of ${row.name || "the property"}`} value=${row.type} onChange=${(e) => set(row, { type: e.target.value })}>${types.map((each) => html`<option value=${each} selected=${each === row.type}>${each}</option>`)}</select>
      ${mayBeLong.has(row.type) ? html`<textarea rows=${isLong(row.text) ? 3 : 1} aria-label=${`Value of ${row.name || "the property"}`} spellcheck=${false} value=${row.text} onInput=${(e) => set(row, { text: e.target.value })}></textarea>`
        : row.type === "Boolean" ? html`<select aria-label=${`Value of ${row.name || "the property"}`} value=${row.text} onChange=${(e) => set(row, { text: e.target.value })}>${["", "true", "false"].map((each) => html`<option value=${each} selected=${each === row.text}>${each || "–"}</option>`)}</select>`
        : html`<input aria-label=${`Value of ${row.name || "the property"}`} placeholder=${row.type === "DateTime" ? "2026-01-31T22:00:00Z" : ""} autocomplete="off" spellcheck=${false} value=${row.text} onInput=${(e) => set(row, { text: e.target.value })} />`}
      <button type="button" class="quiet" aria-label=${`Remove ${row.name || "the property"}`} onClick=${() => onChange(rows.filter((each) => each !== row))}>✕</button></div>`)}
    <${Offers} id="known-properties" values=${names.slice(0, mostNames)} /><button type="button" disabled=${rows.length >= mostProperties} onClick=${add}>Add a property</button></div>`;
}

/// `entity` and `tag`: as it was read; without them, a new entity is made. `names`: properties that the table is known to
/// have. `onSaved(partitionKey, rowKey)`.
export function EntityForm({ table, entity, tag, names = [], onSaved, onClose }) {
  const before = entity ? bodyOfEntity(entity) : {};
  const [base, setBase] = useState({ entity: before, tag });
  const [keys, setKeys] = useState({ partitionKey: entity?.PartitionKey ?? "", rowKey: entity?.RowKey ?? "" });
  const [mode, setMode] = useState("fields");
  const [rows, setRows] = useState(rowsOf(before));
  const [text, setText] = useState(jsonOf(before));
  const [reason, setReason] = useState("");
  const [conflict, setConflict] = useState(null);
  const [modeError, setModeError] = useState(null);
  const address = addressOf(table, keys.partitionKey, keys.rowKey);
  const mine = () => (mode === "json" ? jsonEntity(text) : entityOf(rows, base.entity));
  const turn = (to) => {
    try {
      if (to === mode) return;
      if (to === "json") setText(jsonOf(mine())); else setRows(rowsBeside(bodyOfEntity(jsonEntity(text)), base.entity));
      setModeError(null);
      setMode(to);
    } catch (error) { setModeError(error); }
  };
  const [save, busy, error] = useAction(async () => {
    setModeError(null);
    const own_ = mine();
    const body = mode === "json" ? text : own_;
    try {
      if (entity) await replaceEntity(address, body, base.tag, reason.trim()); else await insertEntity(address, body, reason.trim());
    } catch (refusal) {
      if (entity && isConflict(refusal)) setConflict({ mine: own_, ...(await presentEntity(address)) });
      throw refusal;
    }
    onClose();
    onSaved?.(keys.partitionKey, keys.rowKey);
  });
  /// Begins anew with the entity as it is now.
  const goOn = (withMine) => {
    const theirs = bodyOfEntity(conflict.value);
    const next = withMine ? rebased(base.entity, conflict.mine, theirs) : theirs;
    setBase({ entity: theirs, tag: conflict.tag });
    setRows(rowsBeside(next, theirs));
    setText(jsonOf(next));
    setConflict(null);
  };
  const unchanged = entity && (mode === "json" ? text === jsonOf(base.entity) : rows.length === own(base.entity).length && rows.every((each) => !each.touched));
  const after = () => { try { return jsonOf(mine()); } catch { return null; } };
  const shown = conflict ? null : after();
  const key = (name, label) => html`<label class="field"><span>${label}</span><input maxlength="512" autocomplete="off" spellcheck=${false} value=${keys[name]} onInput=${(e) => setKeys({ ...keys, [name]: e.target.value })} /></label>`;
  return html`<${Dialog} title=${entity ? "Edit the entity" : `New entity in ${table}`} wide onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); if (!conflict) save(); }}>
    ${entity ? html`<p class="small"><span class="dim">PartitionKey</span> <${Text} value=${keys.partitionKey} most=${80} /> <span class="dim">RowKey</span> <${Text} value=${keys.rowKey} most=${80} /></p>` : html`<div class="fields">${key("partitionKey", "PartitionKey")}${key("rowKey", "RowKey")}</div>`}
    ${conflict ? html`<${Failure} error=${error} /><${Conflict} base=${base.entity} mine=${conflict.mine} theirs=${conflict.value} />
      <footer><button type="button" onClick=${onClose}>Back</button>${conflict.value && html`<button type="button" onClick=${() => goOn(false)}>Take theirs</button><button type="button" class="primary" onClick=${() => goOn(true)}>Put mine on top of theirs</button>`}</footer>`
    : html`<${Toggle} label="Shown as" value=${mode} options=${modes} onChange=${turn} />
      ${mode === "json" ? html`<label class="field"><span>Properties, as JSON with types</span><textarea rows="14" spellcheck=${false} value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label>` : html`<${PropertyRows} rows=${rows} names=${names} onChange=${setRows} />`}
      ${entity && shown !== null && html`<${Diff} before=${jsonOf(base.entity)} after=${shown} />`}
      <label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${reason} onInput=${(e) => setReason(e.target.value)} /></label>
      <${Failure} error=${modeError || error} /><footer><button type="button" onClick=${onClose}>Back</button><button class="primary" disabled=${busy || unchanged}>${busy ? "…" : entity ? "Save" : "Insert"}</button></footer>`}</form></${Dialog}>`;
}
