// The filter of a table: checked while it is typed, with what a query by it would read, and with names that are offered.
import { html } from "../parts/html.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { Badge } from "../parts/basic.js";
import { Offers } from "../parts/names.js";
import { visible } from "../parts/text.js";

const costs = { point: ["good", "point: only entities whose keys are given are read"], rows: ["good", "range: some rows of a partition are read"], partition: ["info", "the whole partition is read"], partitions: ["warn", "a range of partitions is read"], table: ["warn", "scan: the whole table is read"] };
const restMs = 200;

/// Returns the plan of the typed filter, which the api makes shortly after the last key: {of, access, index} or {of,
/// wrong}, the refusal. `of`: the filter.
export function usePlan(table, filter) {
  const [plan, set] = useState({});
  useEffect(() => {
    const abort = new AbortController();
    const failed = (error) => { if (error.name !== "AbortError") set({ of: filter, wrong: error }); };
    const ask = () => api.get(at(`/v1/tables/${part(table)}/plan`, { filter }), { signal: abort.signal }).then((found) => set({ ...found, of: filter }), failed);
    const timer = setTimeout(ask, restMs);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [table, filter]);
  return plan;
}

/// Why the api takes this text for no filter; null: it takes it, or has not said yet.
export const refusalOf = (plan, text) => (plan.of === text && plan.wrong?.status === 400 ? plan.wrong : null);

const operators = ["eq", "ne", "gt", "ge", "lt", "le"];
const mostOffered = 20;

/// Completes the last word of the filter: returns the possible texts of the whole filter. `names`: known properties.
export function offersFor(text, names) {
  const typed = /[A-Za-z_]\w*$/.exec(text)?.[0] || "";
  const before = text.slice(0, text.length - typed.length);
  const last = /(\w+|'|\()\s*$/.exec(before)?.[1] || "(";
  const known = ["PartitionKey", "RowKey", "Timestamp", ...names];
  const quotes = before.split("'").length - 1;
  if (quotes % 2 || (before !== "" && !/[\s(]$/.test(before))) return [];
  const next = last === "(" || /^(?:and|or|not)$/.test(last) ? known : operators.includes(last) ? [] : known.includes(last) ? operators : ["and", "or"];
  return next.filter((each) => each !== typed && each.toLowerCase().startsWith(typed.toLowerCase())).slice(0, mostOffered).map((each) => before + each);
}

/// Says what the query would read, before it is made.
function Cost({ plan, text }) {
  if (plan.of !== text) return html`<${Badge} tone="dim" state="…" />`;
  if (plan.wrong) return html`<span class="inline-error">${refusalOf(plan, text) ? "This is not a filter." : "The filter could not be checked."}</span>`;
  if (plan.index) return html`<${Badge} tone="good" state=${`found by index ${visible(plan.index)}`} />`;
  const [tone, told] = costs[plan.access] || ["dim", plan.access];
  return html`<${Badge} tone=${tone} state=${told} />`;
}

export function FilterForm({ text, plan, names, onText, onQuery }) {
  const wrong = Boolean(refusalOf(plan, text));
  return html`<form class="filters" role="search" onSubmit=${(e) => { e.preventDefault(); if (!wrong) onQuery(text.trim()); }}>
      <label class="search"><span class="sr">Filter ($filter)</span><input data-search type="text" spellcheck=${false} autocomplete="off" list="filter-offers" value=${text} aria-invalid=${wrong} aria-describedby="cost" placeholder="PartitionKey eq 'sales' and Amount gt 10" onInput=${(e) => onText(e.target.value)} /></label>
      <${Offers} id="filter-offers" values=${offersFor(text, names)} /><button disabled=${wrong}>Query</button></form>
    <p id="cost" class="small" role="status"><${Cost} plan=${plan} text=${text} /> <span class="dim">Entities come in the order of their keys, PartitionKey and then RowKey, each ascending. The store keeps no other order.</span></p>`;
}
