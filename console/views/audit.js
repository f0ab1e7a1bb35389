// The audit trail: which person did which action, when and why.
import { html } from "../parts/html.js";
import { api, at } from "../net/api.js";
import { search, usePages } from "../net/live.js";
import { Badge, Empty, Head } from "../parts/basic.js";
import { List, More, Search } from "../parts/list.js";
import { When } from "../parts/time.js";
import { count, Text } from "../parts/text.js";
import { refine } from "../shell/router.js";

const tones = { done: "good", refused: "warn", failed: "bad", begun: "info" };

export function Audit({ query }) {
  const filter = { actor: query.actor, operation: query.operation, target: query.target, since: query.since };
  const load = (signal) => async (continuation) => { const page = await api.get(at("/v1/audit", { ...filter, limit: 100, continuation }), { signal }); return { ...page, items: page.entries }; };
  const pages = usePages((continuation, signal, tell) => search(load(signal), continuation, { tell }), Object.values(filter), 10_000);
  if (pages.error?.status === 404) return html`<${Head} title="Audit" /><${Empty}>This api keeps no audit trail.</${Empty}>`;
  return html`<${Head} title="Audit" /><div class="filters"><${Search} label="Operation, such as jobs.cancel" value=${query.operation} onChange=${(operation) => refine({ operation })} /><${Search} label="Actor" value=${query.actor} onChange=${(actor) => refine({ actor })} /><${Search} label="Target, such as an id" value=${query.target} onChange=${(target) => refine({ target })} /></div>
    <${List} label="Audit trail" failed=${pages.error} items=${pages.items} empty=${pages.next ? "No entry matches so far." : "No entry matches."} columns=${[{ name: "When", of: (row) => html`<${When} at=${row.at} />` }, { name: "Who", of: (row) => html`<${Text} value=${row.actor} /> <span class="dim small">${row.role}, ${row.address}</span>` }, { name: "Operation", of: (row) => html`<code>${row.operation}</code>` }, { name: "Target", of: (row) => html`<${Text} value=${row.target} most=${120} />${row.detail && html`<div class="small dim"><${Text} value=${row.detail} most=${160} /></div>`}` },
      { name: "How many", number: true, of: (row) => (row.count === undefined ? "" : count(row.count)) }, { name: "Reason", wide: true, of: (row) => html`<${Text} value=${row.reason} most=${200} />` }, { name: "Outcome", of: (row) => html`<${Badge} tone=${tones[row.outcome]} state=${row.outcome} /> ${row.code && html`<span class="small dim">${row.code}</span>`}` }]} /><${More} pages=${pages} what="entry" among="the newest" />`;
}
