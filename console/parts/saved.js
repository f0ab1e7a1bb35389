// Filters that a person saves under a name, only in this browser.
import { html } from "./html.js";
import { useState } from "../vendor/preact/hooks.js";
import { Confirm } from "./basic.js";

const key = "tidemark.filters";
const most = 20;  // for one table

function stored() {
  try { return JSON.parse(localStorage.getItem(key)) || {}; } catch { return {}; }
}

/// `of`: the table to which the filters belong; `filter`: the one that is shown.
export function SavedFilters({ of, filter, onChoose }) {
  const [all, set] = useState(stored);
  const [asking, setAsking] = useState(false);
  const [name, setName] = useState("");
  const mine = all[of] || [];
  const keep = (filters) => { const next = { ...stored(), [of]: filters.slice(-most) }; localStorage.setItem(key, JSON.stringify(next)); set(next); };
  const known = mine.find((each) => each.filter === filter);
  return html`${mine.length > 0 && html`<label class="choice"><span>Saved</span><select value=${known?.name || ""} onChange=${(e) => { const found = mine.find((each) => each.name === e.target.value); if (found) onChoose(found.filter); }}>
      <option value="">–</option>${mine.map((each) => html`<option value=${each.name} selected=${each === known}>${each.name}</option>`)}</select></label>`}
    ${known ? html`<button type="button" class="quiet" onClick=${() => keep(mine.filter((each) => each !== known))}>Forget it</button>`
      : filter && html`<button type="button" class="quiet" onClick=${() => setAsking(true)}>Save this filter…</button>`}
    ${asking && html`<${Confirm} title="Save this filter" verb="Save" tone="primary" run=${async () => keep([...mine.filter((each) => each.name !== name.trim()), { name: name.trim(), filter }])} onClose=${() => setAsking(false)}>
      <label class="field"><span>Name</span><input required maxlength="60" pattern=".*\\S.*" autocomplete="off" value=${name} onInput=${(e) => setName(e.target.value)} /><small>It is kept in this browser</small></label></${Confirm}>`}`;
}
