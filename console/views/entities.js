// The entities of a table that a filter finds, one line each: columns that are chosen, values that are edited in place.
import { html } from "../parts/html.js";
import { useLayoutEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { addressOf, deleteEntity, isConflict, linkTo, presentEntity, replaceEntity } from "../net/entities.js";
import { rowId, search, usePages } from "../net/live.js";
import { bare, differs, own, rebased, setProperty, tagOf, textIn, typeOf } from "../net/values.js";
import { Dialog, Empty, Failure, Head, useAction } from "../parts/basic.js";
import { ColumnPicker, useColumns } from "../parts/columns.js";
import { Destroy } from "../parts/destroy.js";
import { List, More } from "../parts/list.js";
import { Allowed, WhyNot } from "../parts/rights.js";
import { SavedFilters } from "../parts/saved.js";
import { beginning, many, visible } from "../parts/text.js";
import { When } from "../parts/time.js";
import { go, refine } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { AccessButton } from "./access.js";
import { Conflict } from "./conflict.js";
import { EntityForm } from "./entity_form.js";
import { saveCsv, saveJsonLines } from "./export.js";
import { FilterForm, refusalOf, usePlan } from "./filter.js";
import { Followers } from "./followers.js";
import { Paste } from "./paste.js";
import { submitLike } from "./submit.js";
import { ClearTable, DropTable } from "./table_actions.js";

const keyOf = (entity) => `${entity.PartitionKey}\u0000${entity.RowKey}`;
const pageSize = 100;
const longestInPlace = 1_000;
const onHover = 1_000;

/// A value on one line; pointing at it shows more of it.
function Cell({ value, href }) {
  if (value === undefined) return html`<span class="cell"></span>`;
  const inside = html`<bdi>${visible(beginning(value, 200)) || html`<span class="dim">(empty)</span>`}</bdi>`;
  const title = visible(beginning(value, onHover));
  return href ? html`<a class="cell" href=${href} title=${title}>${inside}</a>` : html`<span class="cell" title=${title}>${inside}</span>`;
}

/// Returns the type that a property has in these entities; "mixed": not all have the same.
function typeInAll(items, name) {
  const found = new Set(items.filter((each) => textIn(each, name) !== undefined).map((each) => typeOf(each, name)));
  return found.size > 1 ? "mixed" : [...found][0] || "";
}

/// Entities that were written or deleted here since the list was read; both by their keys.
function useWritten(inputs) {
  const [written, set] = useState({ now: new Map(), gone: new Set() });
  const forget = () => set({ now: new Map(), gone: new Set() });
  useLayoutEffect(forget, inputs);
  return { over: (items) => items?.filter((each) => !written.gone.has(each[rowId])).map((each) => written.now.get(each[rowId]) || each), forget,
    put: (entity) => set((was) => ({ ...was, now: new Map(was.now).set(keyOf(entity), { ...entity, [rowId]: keyOf(entity) }) })),
    remove: (ids) => set((was) => ({ ...was, gone: new Set([...was.gone, ...ids]) })) };
}

/// Edits the values of one row in place: {row, texts, ...}.
function useRowEdit(table, items, written) {
  const [edit, set] = useState(null);
  const tried = useRef(null);  // the edit that was last saved, so that its error is not shown with another one
  const [reason, setReason] = useState("");
  const [conflict, setConflict] = useState(null);
  /// Returns the row with the texts that were typed.
  const mine = () => {
    const next = bare(edit.row);
    for (const [name, text] of Object.entries(edit.texts)) {
      const before = textIn(edit.row, name);
      if (text === (before ?? "")) continue;
      const type = before !== undefined ? typeOf(edit.row, name) : typeInAll(items, name);
      setProperty(next, name, type === "mixed" || !type ? "String" : type, text);
    }
    return next;
  };
  const changes = () => { try { const next = mine(); return own(next).filter((name) => differs(edit.row, next, name)).length; } catch { return 1; } };
  const end = (row) => {
    set(null);
    setConflict(null);
    requestAnimationFrame(() => [...document.querySelectorAll("button[data-edit]")].find((each) => each.dataset.edit === row[rowId])?.focus());
  };
  const write = async (row, next, tag) => {
    const address = addressOf(table, row.PartitionKey, row.RowKey);
    try {
      await replaceEntity(address, next, tag, reason.trim());
    } catch (refusal) {
      if (!isConflict(refusal)) throw refusal;
      const now = await presentEntity(address);
      setConflict({ base: row, mine: next, ...now });
      throw refusal;
    }
    const { value } = await presentEntity(address);
    if (value) written.put(value); else written.remove([row[rowId]]);
    end(row);
  };
  const [save, busy, error] = useAction(() => { tried.current = edit.row; return write(edit.row, mine(), tagOf(edit.row)); });
  const [insist, insisting, insistError] = useAction(() => write(conflict.value, rebased(conflict.base, conflict.mine, conflict.value), conflict.tag));
  const takeTheirs = () => {
    if (conflict.value) written.put(conflict.value); else written.remove([conflict.base[rowId]]);
    end(conflict.base);
  };
  return { edit, reason, setReason, conflict, changes, save, busy, error: edit && tried.current === edit.row ? error : null, insist, insisting, insistError, takeTheirs, stay: () => setConflict(null),
    begin: (row) => set({ row, texts: {} }), end: () => end(edit.row), type: (name, text) => set((was) => ({ ...was, texts: { ...was.texts, [name]: text } })) };
}

const isLongIn = (row, name) => (textIn(row, name) || "").length > longestInPlace;
const hasLinesIn = (row, name) => /[\r\n]/.test(textIn(row, name) || "");

/// The field for a value of the row that is edited.
function InPlace({ editor, name, type, first }) {
  const { edit } = editor;
  const before = textIn(edit.row, name);
  const why = isLongIn(edit.row, name) ? "too long for a line" : hasLinesIn(edit.row, name) ? "several lines" : "";
  if (why) return html`<span class="cell dim" title="Edit it in the entity's own page.">${why}</span>`;
  const onKeyDown = (e) => { if (e.key === "Escape") { e.stopPropagation(); editor.end(); } if (e.key === "Enter") { e.preventDefault(); editor.save(); } };
  return html`<input class="in-place" ref=${first ? (input) => input && !input.dataset.seen && (input.dataset.seen = "1") && input.focus() : undefined} aria-label=${`${name}, ${(before !== undefined ? typeOf(edit.row, name) : type) || "String"}`} placeholder=${before === undefined ? "not there" : ""} autocomplete="off" spellcheck=${false}
    value=${edit.texts[name] ?? before ?? ""} onInput=${(e) => editor.type(name, e.target.value)} onKeyDown=${onKeyDown} />`;
}

function EditBar({ editor }) {
  const { edit, changes, save, busy, error, conflict } = editor;
  const changed = changes();
  return html`<form class="bulk" aria-label="Edited row" onSubmit=${(e) => { e.preventDefault(); save(); }}>
    <span>Editing <bdi class="mono">${visible(beginning(`${edit.row.PartitionKey} / ${edit.row.RowKey}`, 80))}</bdi>: ${changed ? many(changed, "value") + " changed" : "nothing is changed yet"}</span>
    <label class="choice"><span>Reason</span><input maxlength="200" placeholder="for the audit trail" value=${editor.reason} onInput=${(e) => editor.setReason(e.target.value)} /></label>
    <button class="primary" disabled=${busy || !changed}>${busy ? "…" : "Save the row"}</button><button type="button" onClick=${editor.end}>Cancel</button>
    ${!conflict && html`<${Failure} error=${error} />`}</form>`;
}

function ConflictDialog({ editor }) {
  const { conflict, error, insist, insisting, insistError } = editor;
  return html`<${Dialog} title="Somebody else changed this entity" wide onClose=${editor.stay}><form onSubmit=${(e) => { e.preventDefault(); insist(); }}>
    <${Failure} error=${insistError || error} /><${Conflict} base=${conflict.base} mine=${conflict.mine} theirs=${conflict.value} />
    <footer><button type="button" onClick=${editor.stay}>Back</button><button type="button" onClick=${editor.takeTheirs}>${conflict.value ? "Take theirs" : "Leave it deleted"}</button>${conflict.value && html`<button class="primary" disabled=${insisting}>${insisting ? "…" : "Put mine on top of theirs"}</button>`}</footer></form></${Dialog}>`;
}

/// Deletes each entity as it is shown; those that somebody has changed since are named, and stay.
function DeleteSome({ table, selected, onGone, onClose }) {
  const [rows] = useState(selected);
  const [done, setDone] = useState(0);
  const left = useRef(rows);
  const run = async (reason) => {
    const kept = [];
    const gone = [];
    const stayed = [];
    for (const row of left.current) {
      try { await deleteEntity(addressOf(table, row.PartitionKey, row.RowKey), tagOf(row), reason); gone.push(row[rowId]); } catch (error) { stayed.push(row); kept.push(`${row.PartitionKey} / ${row.RowKey}: ${error.code || ""} ${error.message}`); }
      setDone(rows.length - left.current.length + gone.length + kept.length);
    }
    left.current = stayed;
    onGone(gone);
    if (kept.length) throw Object.assign(new Error(`${many(kept.length, "entity")} of ${rows.length} stayed. ${kept[0]}`), { code: "NotAllDeleted", problems: kept.slice(0, 20) });
  };
  const one = rows.length === 1;
  return html`<${Destroy} title=${one ? "Delete this entity?" : `Delete ${many(rows.length, "entity")}?`} name=${one ? rows[0].RowKey : String(rows.length)} verb=${one ? "Delete" : `Delete ${rows.length}`} run=${run} onClose=${onClose}>
    <p>${one ? "It is" : "Each is"} deleted as it is shown; one that somebody has changed since stays.</p>
    <ul class="small">${rows.slice(0, 5).map((each) => html`<li><bdi>${visible(beginning(`${each.PartitionKey} / ${each.RowKey}`, 120))}</bdi></li>`)}${rows.length > 5 && html`<li>and ${rows.length - 5} more</li>`}</ul>
    ${done > 0 && !one && html`<p role="status">${done} of ${rows.length}</p>`}</${Destroy}>`;
}

const kinds = ["archive", "copy", "merge", "delete"];

export function Entities({ table, query }) {
  const filter = query.filter || "";
  const [text, setText] = useState(filter);
  useLayoutEffect(() => setText(filter), [filter]);
  const plan = usePlan(table, text);
  const [index, setIndex] = useState("");
  const [acting, setActing] = useState("");
  const [selected, setSelected] = useState(new Set());
  useLayoutEffect(() => setSelected(new Set()), [table, filter]);
  const load = (signal) => async (continuation) => {
    const page = await api.get(at(`/v1/tables/${part(table)}/entities`, { filter, limit: pageSize, continuation }), { signal, exact: true });
    setIndex(page.index || "");
    return { ...page, items: page.entities.map((each) => ({ ...each, [rowId]: keyOf(each) })) };
  };
  const pages = usePages((continuation, signal, tell) => search(load(signal), continuation, { tell }), [table, filter], 0);
  const written = useWritten([table, filter]);
  const items = written.over(pages.items);
  const names = [...new Set((items || []).flatMap(own))];
  const [columns, choose, isChosen] = useColumns(table, names);
  const editor = useRowEdit(table, items || [], written);
  const ours = table.toLowerCase().startsWith("tidemark");
  const may = useMay("operator") && !ours;
  const act = (kind) => { if (!kind) return; submitLike({ kind, source: table, filter }); };
  const again = () => { written.forget(); setSelected(new Set()); pages.refresh(); };
  const wrong = refusalOf(plan, text);
  const rows = (items || []).filter((each) => selected.has(each[rowId]));
  const isEdited = (row) => editor.edit?.row[rowId] === row[rowId];
  const firstField = editor.edit && columns.find((name) => !isLongIn(editor.edit.row, name) && !hasLinesIn(editor.edit.row, name));
  const close = () => setActing("");
  const head = html`${may && html`<button type="button" class="primary" onClick=${() => setActing("insert")}>New entity…</button><button type="button" onClick=${() => setActing("paste")}>Paste…</button>`}<${AccessButton} of="tables" name=${table} own=${ours} />
    ${!ours && html`<${Allowed} role="operator" onClick=${() => setActing("clear")}>Clear…</${Allowed}><${Allowed} role="admin" class="danger" onClick=${() => setActing("drop")}>Drop…</${Allowed}>`}`;
  return html`<${Head} title=${table} crumbs=${[["Tables", "/tables"]]} actions=${head} />
    <${FilterForm} text=${text} plan=${plan} names=${names} onText=${setText} onQuery=${(to) => { if (to === filter) again(); refine({ filter: to }, {}); }} />
    <div class="filters"><${SavedFilters} of=${table} filter=${filter} onChoose=${(to) => refine({ filter: to }, {})} />
      <button type="button" disabled=${wrong || !items?.length} onClick=${() => setActing("columns")}>Columns…</button>
      <button type="button" disabled=${wrong || !items?.length} onClick=${() => saveJsonLines(table, items)}>Export JSON Lines</button><button type="button" disabled=${wrong || !items?.length} onClick=${() => saveCsv(table, items)}>Export CSV</button>
      ${may && html`<select aria-label="Act on all that match, by a job" title="A job that is planned first" value="" onChange=${(e) => act(e.target.value)}><option value="">Act on all that match…</option>${kinds.map((kind) => html`<option value=${kind}>${kind} by a job…</option>`)}</select>`}</div>
    ${wrong ? html`<${Failure} error=${wrong} /><${Empty}>Correct the filter to see entities.</${Empty}>`
    : html`<${List} label="Entities" kind=${may ? "lines edits" : "lines"} failed=${pages.error} items=${items} href=${(row) => linkTo(table, row)} empty=${pages.next ? "No entity matches so far." : filter ? "No entity matches." : "This table is empty."}
      selected=${may ? selected : undefined} onSelect=${setSelected} keys=${may ? { e: (row) => row && !editor.edit && editor.begin(row) } : {}} columns=${[
      { name: "PartitionKey", of: (row) => html`<${Cell} value=${row.PartitionKey} href=${linkTo(table, row)} />` }, { name: "RowKey", of: (row) => html`<${Cell} value=${row.RowKey} href=${linkTo(table, row)} />` },
      ...columns.map((name) => { const type = typeInAll(items || [], name); return { title: beginning(name, 40), name: html`<bdi title=${visible(name)}>${visible(name.length > 40 ? `${beginning(name, 40)}…` : name)}</bdi> <span class="type">${visible(type)}</span>`,
        of: (row) => (isEdited(row) ? html`<${InPlace} editor=${editor} name=${name} type=${type === "mixed" ? "" : type} first=${name === firstField} />` : html`<${Cell} value=${textIn(row, name)} />`) }; }),
      { name: "Changed", of: (row) => html`<${When} at=${row.Timestamp} />` },
      ...(may ? [{ name: "", of: (row) => (isEdited(row) ? "" : html`<button type="button" class="quiet" aria-label=${`Edit ${visible(beginning(row.RowKey, 60))} in place`} data-edit=${row[rowId]} disabled=${Boolean(editor.edit)} onClick=${() => editor.begin(row)}>Edit</button>`) }] : [])]} />
      ${names.length > columns.length && items?.length > 0 && html`<p class="dim small">${many(names.length - columns.filter((each) => names.includes(each)).length, "property")} not shown. <button type="button" class="quiet" onClick=${() => setActing("columns")}>Choose the columns</button></p>`}
      <${More} pages=${{ ...pages, refresh: again }} what="entity" among="the first" />${index && html`<p class="dim small">Found by index <a href=${`/indexes/${part(index)}`}>${visible(index)}</a>.</p>`}`}
    ${editor.edit && html`<${EditBar} editor=${editor} />`}${editor.conflict && html`<${ConflictDialog} editor=${editor} />`}
    ${rows.length > 0 && !editor.edit && html`<div class="bulk" role="region" aria-label="Selected entities"><span>${many(rows.length, "entity")} selected</span><button type="button" class="danger" onClick=${() => setActing("delete")}>Delete ${rows.length}…</button><button type="button" onClick=${() => setSelected(new Set())}>Select none</button></div>`}
    <${WhyNot} own=${ours} admin="Dropping the table" /><${Followers} table=${table} />
    ${acting === "columns" && html`<${ColumnPicker} table=${table} names=${names} chosen=${columns} isChosen=${isChosen} onChoose=${choose} onClose=${close} />`}
    ${acting === "insert" && html`<${EntityForm} table=${table} names=${names} onClose=${close} onSaved=${(partitionKey, rowKey) => go(linkTo(table, { PartitionKey: partitionKey, RowKey: rowKey }))} />`}
    ${acting === "paste" && html`<${Paste} table=${table} onDone=${again} onClose=${close} />`}
    ${acting === "delete" && html`<${DeleteSome} table=${table} selected=${rows} onGone=${(ids) => { written.remove(ids); setSelected(new Set()); }} onClose=${close} />`}
    ${acting === "clear" && html`<${ClearTable} table=${table} onClose=${close} />`}${acting === "drop" && html`<${DropTable} table=${table} onClose=${close} />`}`;
}
