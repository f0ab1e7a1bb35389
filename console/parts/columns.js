// The columns of a table that a person chooses, kept in this browser.
import { html } from "./html.js";
import { useState } from "../vendor/preact/hooks.js";
import { Dialog } from "./basic.js";
import { beginning, visible } from "./text.js";

const key = "tidemark.columns";
const mostTables = 50;
export const mostColumns = 60;  // of a table
const usual = 8;
const mostOffered = 500;

function stored() {
  try { return JSON.parse(localStorage.getItem(key)) || {}; } catch { return {}; }
}

/// Returns the chosen columns, and a function that changes them; by nothing: back to the first few. `names`: the
/// properties that the shown entities have.
export function useColumns(table, names) {
  const [all, set] = useState(stored);
  const mine = Array.isArray(all[table]) ? all[table].map(String).slice(0, mostColumns) : null;
  const choose = (columns) => {
    const { [table]: _, ...others } = stored();
    const kept = Object.fromEntries(Object.entries(others).slice(1 - mostTables));
    const next = columns ? { ...kept, [table]: columns.slice(0, mostColumns) } : kept;
    try { localStorage.setItem(key, JSON.stringify(next)); } catch { /* the browser keeps nothing: the choice lasts as long as the page */ }
    set(next);
  };
  return [mine || names.slice(0, usual), choose, Boolean(mine)];
}

export function ColumnPicker({ table, names, chosen, isChosen, onChoose, onClose }) {
  const all = [...new Set([...names.slice(0, mostOffered), ...chosen])];
  const toggle = (name) => onChoose(chosen.includes(name) ? chosen.filter((each) => each !== name) : all.filter((each) => each === name || chosen.includes(each)));
  return html`<${Dialog} title=${`Columns of ${table}`} onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); onClose(); }}>
    <p class="dim small">${names.length > mostOffered ? `The first ${mostOffered} of ${names.length.toLocaleString("en")} properties` : "The properties"} of the entities that are shown. The choice is kept in this browser${isChosen ? "" : `; until you choose, the first ${usual} are shown`}.</p>
    <fieldset class="picks"><legend class="sr">Columns</legend>${all.map((name) => html`<label class="choice" key=${name}><input type="checkbox" checked=${chosen.includes(name)} disabled=${!chosen.includes(name) && chosen.length >= mostColumns} onChange=${() => toggle(name)} /><bdi>${visible(beginning(name, 80))}</bdi></label>`)}</fieldset>
    ${all.length === 0 && html`<p class="dim">No entity that is shown has a property.</p>`}
    <footer><button type="button" onClick=${() => onChoose(all)}>${all.length > mostColumns ? `The first ${mostColumns}` : "All"}</button><button type="button" onClick=${() => onChoose([])}>Keys only</button><button type="button" disabled=${!isChosen} onClick=${() => onChoose(null)}>As at first</button><button class="primary">Done</button></footer></form></${Dialog}>`;
}
