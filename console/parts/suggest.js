// Names that are offered while the user types: tables, queues, containers, and the properties of a table, as far as the
// first of each tell. They are asked for when a field for them is first shown, and kept for a minute.
import { html } from "./html.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";

const keptMs = 60_000;
const most = 1_000;
const sampled = 50;  // entities, for the properties of a table
const kept = new Map();

const loads = {
  tables: async () => (await api.get(`/v1/tables?limit=${most}`)).tables.map((each) => each.name).filter((name) => !name.startsWith("Tidemark")),
  queues: async () => (await api.get(`/v1/queues?limit=${most}`)).queues.map((each) => each.name),
  containers: async () => (await api.get(`/v1/containers?limit=${most}`)).containers.map((each) => each.name),
  zones: async () => Intl.supportedValuesOf("timeZone"),
  properties: async (table) => {
    if (!/^[A-Za-z][A-Za-z0-9]{2,62}$/.test(table || "")) return [];
    const page = await api.get(`/v1/tables/${part(table)}/entities?limit=${sampled}`);
    return [...new Set(page.entities.flatMap(Object.keys))].filter((name) => !/[@.]/.test(name) && name !== "Timestamp");
  },
  kinds: async () => (await api.get("/v1/kinds")).kinds.map((each) => each.kind),
};

/// Returns the values that the guards of a transaction read, as templates name them. `guards`: {name: table}.
async function placeholdersOf(guards) {
  const all = await Promise.all(Object.entries(guards).map(async ([name, table]) => ["RowKey", ...await namesOf("properties", table)].map((each) => `${name}.${each}`)));
  return [...new Set(["job.id", ...all.flat()])];
}

function namesOf(of, table) {
  const key = `${of} ${table || ""}`;
  const found = kept.get(key);
  if (found && Date.now() - found.at < keptMs) return found.names;
  // A form works without suggestions, so a failure is no reason to disturb its user.
  const names = loads[of](table).catch(() => { kept.delete(key); return []; });
  if (kept.size > 100) kept.clear();
  kept.set(key, { at: Date.now(), names });
  return names;
}

/// `of`: tables, queues, containers, zones, kinds or properties, the latter of `table`; or the `fixed` names; or the
/// values that `guards` read. `several`: the field holds names with commas between them. `template`: the names stand in braces, and
/// text may be around them.
export function Suggestions({ id, of, table, fixed, guards, value = "", several, template }) {
  const [names, set] = useState([]);
  useEffect(() => {
    let over = false;
    Promise.resolve(fixed || (guards ? placeholdersOf(guards) : namesOf(of, table))).then((found) => { if (!over) set(found); });
    return () => { over = true; };
  }, [of, table, String(fixed), JSON.stringify(guards)]);
  const cut = several ? value.lastIndexOf(",") + 1 : template ? Math.max(0, value.lastIndexOf("{")) : 0;
  const head = several && cut ? `${value.slice(0, cut)} ` : value.slice(0, cut);
  const begun = value.slice(cut).replace(/^[\s{]+/, "").toLowerCase();
  const fitting = names.filter((name) => name.toLowerCase().includes(begun)).slice(0, 200);
  return html`<datalist id=${id}>${fitting.map((name) => html`<option value=${head + (template ? `{${name}}` : name)} />`)}</datalist>`;
}
