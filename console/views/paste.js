// Pastes entities, or reads them from a file. A preview shows them, and each line that is wrong, before anything is written.
import { html } from "../parts/html.js";
import { useRef, useState } from "../vendor/preact/hooks.js";
import { addressOf, insertEntity, replaceEntity } from "../net/entities.js";
import { mostBytes, mostRows, readPaste } from "../net/paste.js";
import { textIn, types } from "../net/values.js";
import { Bar, Dialog, Failure, useAction } from "../parts/basic.js";
import { TypedName } from "../parts/destroy.js";
import { beginning, count, many, Text, visible } from "../parts/text.js";

const atOnce = 6;
const mostShown = 10;
const mostBadShown = 100;
const mostColumnsShown = 6;

/// Inserts the entity; with `replace`, one that is there already is replaced.
async function write(table, entity, replace, reason) {
  const address = addressOf(table, entity.PartitionKey, entity.RowKey);
  try {
    await insertEntity(address, entity, reason);
  } catch (error) {
    if (!replace || error.code !== "EntityAlreadyExists") throw error;
    await replaceEntity(address, entity, "*", reason);
  }
}

/// Writes all rows, a few at a time, until `stopped()`. Returns {written, failed: [{line, why}]}.
async function writeAll(table, rows, { replace, reason, stopped, tell }) {
  const out = { written: 0, failed: [] };
  let next = 0;
  const one = async () => {
    while (next < rows.length && !stopped()) {
      const { line, entity } = rows[next++];
      try { await write(table, entity, replace, reason); out.written += 1; } catch (error) { out.failed.push({ line, why: `${error.code ? `${error.code}: ` : ""}${error.message}` }); }
      tell(out.written + out.failed.length);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  out.failed.sort((a, b) => a.line - b.line);
  return out;
}

const Lines = ({ label, lines }) => html`<ul class="lines-wrong" tabindex="0" aria-label=${label}>${lines.slice(0, mostBadShown).map((each) => html`<li><strong>Line ${count(each.line)}</strong>: <bdi>${visible(beginning(each.why, 400))}</bdi></li>`)}${lines.length > mostBadShown && html`<li>and ${count(lines.length - mostBadShown)} more</li>`}</ul>`;

function Preview({ table, read, chosen, onChoose }) {
  const { rows, columns, format, ignored } = read;
  const shown = columns.slice(0, mostColumnsShown);
  return html`<div class="notice info" role="status"><div><strong>${many(rows.length, "entity")}</strong> will be written to ${table}, from ${format}.${ignored.length > 0 && ` Left out, because the store sets it: ${ignored.join(", ")}.`}</div></div>
    <h3>Properties and their types</h3>${columns.length === 0 ? html`<p class="dim">None: only keys.</p>` : html`<div class="kinds">${columns.map(({ name, types: found }) => html`<label class="choice" key=${name}><bdi class="mono">${visible(beginning(name, 60))}</bdi>${format === "CSV" ? html`<select aria-label=${`Type of ${visible(name)}`} value=${chosen[name] || found[0] || "String"} onChange=${(e) => onChoose({ ...chosen, [name]: e.target.value })}>${types.map((each) => html`<option value=${each} selected=${each === (chosen[name] || found[0] || "String")}>${each}</option>`)}</select>` : html`<span class="dim">${found.join(", ")}</span>`}</label>`)}</div>`}
    <h3>The first entities</h3><div class="scroll lines" tabindex="0" role="region" aria-label="Entities that will be written"><table><thead><tr>${["Line", "PartitionKey", "RowKey"].map((each) => html`<th scope="col">${each}</th>`)}${shown.map(({ name }) => html`<th scope="col"><bdi>${visible(beginning(name, 40))}</bdi></th>`)}</tr></thead>
      <tbody>${rows.slice(0, mostShown).map(({ line, entity }) => html`<tr key=${line}><td>${count(line)}</td><td><span class="cell"><${Text} value=${entity.PartitionKey} most=${80} /></span></td><td><span class="cell"><${Text} value=${entity.RowKey} most=${80} /></span></td>${shown.map(({ name }) => html`<td><span class="cell"><bdi>${visible(beginning(textIn(entity, name) ?? "", 80))}</bdi></span></td>`)}</tr>`)}</tbody></table></div>
    ${(rows.length > mostShown || columns.length > mostColumnsShown) && html`<p class="dim small">${rows.length > mostShown ? `${count(rows.length - mostShown)} more entities. ` : ""}${columns.length > mostColumnsShown ? `${many(columns.length - mostColumnsShown, "property")} more.` : ""}</p>`}`;
}

export function Paste({ table, onDone, onClose }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState({});
  const [replace, setReplace] = useState(false);
  const [leaveOut, setLeaveOut] = useState(false);
  const [reason, setReason] = useState("");
  const [done, setDone] = useState(0);
  const [outcome, setOutcome] = useState(null);
  const stop = useRef(false);
  const memory = useRef({});
  if (memory.current.text !== text || memory.current.chosen !== chosen) memory.current = { text, chosen, read: readPaste(text, chosen) };
  const { read } = memory.current;
  const take = (to) => { setText(to); setChosen({}); setLeaveOut(false); };
  const [open, , openError] = useAction(async (file) => {
    if (file.size > mostBytes) throw new Error("This file has more than 4 MiB. Use `tidemark table import`.");
    take(await file.text());
  });
  const [send, busy, error] = useAction(async () => {
    stop.current = false;
    setDone(0);
    const rows = read.rows;
    const found = await writeAll(table, rows, { replace, reason: reason.trim(), stopped: () => stop.current, tell: setDone });
    setOutcome({ ...found, of: rows.length });
    onDone();
  });
  const close = () => { stop.current = true; onClose(); };
  if (outcome) return html`<${Dialog} title="Paste entities" wide onClose=${onClose}><div class=${`notice ${outcome.failed.length || outcome.written < outcome.of ? "warn" : "good"}`} role="status"><div><strong>${count(outcome.written)} of ${many(outcome.of, "entity")}</strong> written to ${table}.${outcome.written + outcome.failed.length < outcome.of ? " You stopped the rest." : ""}</div></div>
    ${outcome.failed.length > 0 && html`<h3>Refused by the api</h3><${Lines} label="Refused lines" lines=${outcome.failed} />`}<form onSubmit=${(e) => { e.preventDefault(); onClose(); }}><footer><button class="primary">Close</button></footer></form></${Dialog}>`;
  const bad = read.bad.length;
  return html`<${Dialog} title="Paste entities" wide onClose=${close}><form onSubmit=${(e) => { e.preventDefault(); send(); }}>
    <label class="field"><span>Entities, as JSON, JSON Lines or CSV</span><textarea rows=${text ? 6 : 10} spellcheck=${false} disabled=${busy} placeholder=${'PartitionKey,RowKey,Amount\nsales,1,5'} value=${text} onInput=${(e) => take(e.target.value)}></textarea><small>At most ${count(mostRows)} entities and 4 MiB. The first line of CSV names the columns; a column NAME@type gives the types of NAME.</small></label>
    <label class="field"><span>Or a file</span><input type="file" accept=".json,.jsonl,.ndjson,.csv,.tsv,.txt" disabled=${busy} onChange=${(e) => e.target.files[0] && open(e.target.files[0])} /></label><${Failure} error=${openError} />
    ${bad > 0 && html`<div class="notice bad" role="alert"><div><strong>${bad === 1 ? "A line is wrong." : `${count(bad)} lines are wrong.`}</strong> Nothing is written as long as ${bad === 1 ? "it is" : "they are"} there${read.rows.length > 0 ? ", unless you leave them out" : ""}.<${Lines} label="Wrong lines" lines=${read.bad} />
      ${read.rows.length > 0 && html`<label class="choice"><input type="checkbox" checked=${leaveOut} onChange=${(e) => setLeaveOut(e.target.checked)} /><span>Leave out ${bad === 1 ? "this line" : `these ${count(bad)} lines`}</span></label>`}</div></div>`}
    ${(read.rows.length > 0 || (read.format === "CSV" && read.columns.length > 0)) && html`<${Preview} table=${table} read=${read} chosen=${chosen} onChoose=${setChosen} />
      <label class="field"><span>An entity that is there already</span><select value=${replace ? "replace" : "keep"} onChange=${(e) => setReplace(e.target.value === "replace")}><option value="keep" selected=${!replace}>stays as it is, and its line is named</option><option value="replace" selected=${replace}>is replaced, with all of its properties</option></select></label>
      ${replace && html`<${TypedName} name=${table} />`}
      <label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${reason} onInput=${(e) => setReason(e.target.value)} /></label>`}
    ${busy && html`<p role="status">${count(done)} of ${count(read.rows.length)} <${Bar} done=${done} total=${read.rows.length} label="Entities written" /></p>`}<${Failure} error=${error} />
    <footer>${busy ? html`<button type="button" onClick=${() => { stop.current = true; }}>Stop</button>` : html`<button type="button" onClick=${close}>Back</button>`}<button class="primary" disabled=${busy || !read.rows.length || (bad > 0 && !leaveOut)}>${read.rows.length ? `Write ${many(read.rows.length, "entity")}` : "Write"}</button></footer></form></${Dialog}>`;
}
