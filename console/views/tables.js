// Tables: their list, with how many entities each has; a table and an entity have views of their own.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { part } from "../net/api.js";
import { Badge, Head } from "../parts/basic.js";
import { Counted, useCounted } from "../parts/counted.js";
import { List, More } from "../parts/list.js";
import { NameSearch } from "../parts/names.js";
import { Allowed, WhyNot } from "../parts/rights.js";
import { refine } from "../shell/router.js";
import { Entities } from "./entities.js";
import { Entity } from "./entity.js";
import { NewTable } from "./table_actions.js";

export function Tables({ path, query }) {
  if (path[0] && query.partitionKey !== undefined && query.rowKey !== undefined) return html`<${Entity} key=${`${path[0]} ${query.partitionKey} ${query.rowKey}`} table=${path[0]} partitionKey=${query.partitionKey} rowKey=${query.rowKey} />`;
  if (path[0]) return html`<${Entities} key=${path[0]} table=${path[0]} query=${query} />`;
  return html`<${All} query=${query} />`;
}

const pageSize = 100;

function All({ query }) {
  const pages = useCounted("tables", query.q, pageSize);
  const [making, setMaking] = useState(false);
  const href = (row) => `/tables/${part(row.id)}`;
  return html`<${Head} title="Tables" actions=${html`<${Allowed} role="operator" class="primary" onClick=${() => setMaking(true)}>New table…</${Allowed}>`} />
    <div class="filters"><${NameSearch} of="tables" value=${query.q} onChange=${(q) => refine({ q })} /></div>
    <${List} label="Tables" kind="lines" failed=${pages.error} items=${pages.items} href=${href} empty="There is no such table." columns=${[
      { name: "Name", of: (row) => html`<a href=${href(row)}>${row.id}</a>` }, { name: "Entities", number: true, of: (row) => html`<${Counted} number=${row.entities} complete=${row.complete} what="Entities" />` }, { name: "Whose", of: (row) => (row.id.startsWith("Tidemark") ? html`<${Badge} tone="dim" state="Tidemark's own" />` : "") }]} />
    <${More} pages=${pages} what="table" /><${WhyNot} />
    ${making && html`<${NewTable} onClose=${() => setMaking(false)} />`}`;
}
