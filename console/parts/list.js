// A list with columns: keys move and select, rows open, more rows come by continuation.
import { html } from "./html.js";
import { useLayoutEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { useKeys } from "../shell/keys.js";
import { go } from "../shell/router.js";
import { Busy, Empty, Failure } from "./basic.js";
import { count, many } from "./text.js";
import { rowId } from "../net/live.js";

/// `columns`: [{name, of: row => content, wide?, number?, title?}]; `title` is the name as text. `failed`: why there are no
/// items. `selected`: a Set of ids, with `onSelect(set)`; `selectable(row)`: whether the row can be among them. `kind`:
/// classes, such as "lines" for one line a row, and "edits" if the last column has its actions and stays in view.
export function List({ label, columns, items, id = (each) => each[rowId] ?? each.id, href, selected, onSelect, selectable = () => true, empty, keys = {}, failed, kind = "" }) {
  const [mark, setMark] = useState(null);  // by id, so that rows that are inserted above do not move it to another row
  const at = items ? items.findIndex((each) => id(each) === mark) : -1;
  const body = useRef();
  const focus = (index) => {
    const to = Math.max(0, Math.min(items.length - 1, index));
    setMark(id(items[to]));
    body.current?.children[to]?.scrollIntoView({ block: "nearest" });
  };
  const toggle = (row) => {
    const next = new Set(selected);
    if (!next.delete(id(row))) next.add(id(row));
    onSelect(next);
  };
  const current = items?.[at];
  const onCurrent = Object.fromEntries(Object.entries(keys).map(([key, act]) => [key, () => act(current)]));
  useKeys(items?.length ? {
    j: () => focus(at + 1), k: () => focus(at - 1),
    x: () => current && selected && selectable(current) && toggle(current),
    Enter: () => current && href && go(href(current)),
    ...onCurrent,
  } : {});
  if (!items) return failed ? null : html`<${Busy} />`;
  if (!items.length) return html`<${Empty}>${empty}</${Empty}>`;
  const some = selected && items.filter(selectable);
  const all = some?.length > 0 && some.every((each) => selected.has(id(each)));
  return html`<div class=${`scroll ${kind}`} tabindex="0" role="region" aria-label=${label}><table class="cards" role="table">
    <thead role="rowgroup"><tr role="row">${selected && html`<th class="tick" role="columnheader"><input type="checkbox" aria-label="Select all that are shown" checked=${all} disabled=${!some.length} onChange=${() => onSelect(all ? new Set() : new Set(some.map(id)))} /></th>`}
      ${columns.map((column) => html`<th scope="col" role="columnheader" class=${column.number ? "number" : ""}>${column.name || html`<span class="sr">Actions</span>`}</th>`)}</tr></thead>
    <tbody ref=${body} role="rowgroup">${items.map((row, index) => html`<tr role="row" key=${id(row)} class=${index === at ? "at" : ""} aria-current=${index === at ? "true" : undefined} onClick=${() => setMark(id(row))}>
      ${selected && html`<td class="tick" role="cell">${selectable(row) && html`<input type="checkbox" aria-label=${`Select row ${index + 1}`} checked=${selected.has(id(row))} onChange=${() => toggle(row)} />`}</td>`}
      ${columns.map((column) => html`<td role="cell" class=${`${column.number ? "number" : ""} ${column.wide ? "wide" : ""}`} data-label=${column.title ?? (typeof column.name === "string" ? column.name : "")}>${column.of(row)}</td>`)}</tr>`)}</tbody></table></div>`;
}

/// The line under a list that came by pages, or the reason why none came. `what`: the name of one item. `among`: where
/// the search was, such as "the newest".
export function More({ pages, what, among }) {
  const failure = html`<${Failure} error=${pages.error} retry=${pages.refresh} />`;
  if (!pages.items) return failure;
  const shown = pages.items.length;
  const looked = among && pages.searched > shown ? ` among ${among} ${count(pages.searched)}` : "";
  const rest = pages.busy && pages.next ? "; looking on…" : pages.next ? "; there are more" : shown || looked ? ", that is all" : "";
  return html`${failure}<div class="more" role="status">${(shown > 0 || looked) && html`<span class="dim">${many(shown, what)} shown${looked}${rest}${pages.still ? " · not updated while older ones are shown" : ""}</span>`}
    ${pages.next && html`<button type="button" disabled=${pages.busy} onClick=${pages.more}>${looked ? "Search on" : "Show more"}</button>`}
    ${pages.still && html`<button type="button" onClick=${pages.refresh}>Back to the newest</button>`}</div>`;
}

/// A search field to which `/` goes; its text is part of the address.
export function Search({ label, value, onChange, hint, options }) {
  const [text, set] = useState(value || "");
  useLayoutEffect(() => set(value || ""), [value]);
  const name = `list-${label.replace(/\W/g, "")}`;
  return html`<form class="search" role="search" aria-label=${label} onSubmit=${(e) => { e.preventDefault(); onChange(text.trim()); }}>
    <label><span class="sr">${label}</span><input data-search type="search" value=${text} placeholder=${hint || label} list=${options ? name : undefined} autocomplete="off" spellcheck=${false}
      onInput=${(e) => set(e.target.value)} onChange=${(e) => { if (e.target.value === "" || options?.includes(e.target.value)) onChange(e.target.value.trim()); }} /></label>
    ${options && html`<datalist id=${name}>${options.map((each) => html`<option value=${each} />`)}</datalist>`}</form>`;
}

export function Choice({ label, value, options, onChange }) {
  return html`<label class="choice"><span>${label}</span><select value=${value || ""} onChange=${(e) => onChange(e.target.value)}><option value="">any</option>${options.map((each) => html`<option value=${each} selected=${each === value}>${each}</option>`)}</select></label>`;
}
