import { html } from "../parts/html.js";
import { api, part } from "../net/api.js";
import { useLive } from "../net/live.js";
import { Act, AsOf, Badge, Failure, Head } from "../parts/basic.js";
import { List } from "../parts/list.js";
import { When } from "../parts/time.js";
import { count, Text } from "../parts/text.js";
import { useMay } from "../shell/who.js";
import { claimsOf } from "./kinds.js";

/// The versions of kinds that a worker of the user's own claims.
const Claims = ({ worker }) => claimsOf(worker).map((each, i) => html`${i ? ", " : ""}<a class="mono" href=${`/kinds/${part(each.kind)}`}>${each.kind}@${each.version}</a>`);
const stateOf = (row) => (!row.alive ? html`<${Badge} tone="bad" state="lost" />` : row.quiet ? html`<${Badge} tone="warn" state="quiet" />` : html`<${Badge} tone="good" state="alive" />`);

export function Workers() {
  const may = useMay("operator");
  const turn = (row) => async () => { await api.post(`/v1/workers/${part(row.name)}/${row.quiet ? "resume" : "quiet"}`); live.refresh(); };
  const live = useLive((signal) => api.get("/v1/workers?limit=1000", { signal }), [], 3_000);
  return html`<${Head} title="Workers" /><${Failure} error=${live.error} retry=${live.refresh} /><${AsOf} live=${live} />
    <${List} label="Workers" failed=${live.error} items=${live.value?.workers} id=${(row) => row.name} empty="No worker lives, and none was lost lately." columns=${[
      { name: "Name", of: (row) => html`<${Text} value=${row.name} />` }, { name: "State", of: stateOf }, { name: "Host", of: (row) => html`<${Text} value=${row.host} />` }, { name: "Process", number: true, of: (row) => (row.own ? "" : row.pid) },
      { name: "Running", number: true, of: (row) => (row.own ? count(row.running) : `${count(row.running)} of ${count(row.concurrency)}`) }, { name: "Takes from", of: (row) => (row.own ? html`<${Claims} worker=${row} />` : html`<${Text} value=${(row.queues || []).join(", ")} />`) }, { name: "Version", of: (row) => html`<${Text} value=${row.version} />` }, { name: "Started", of: (row) => html`<${When} at=${row.startedAt} />` }, { name: "Last heard of", of: (row) => html`<${When} at=${row.heartbeatAt} />` },
      { name: "", of: (row) => may && row.own && row.alive && html`<div class="actions"><${Act} run=${turn(row)} title=${row.quiet ? "Let it take jobs again" : "It ends what it has, and takes nothing more"}>${row.quiet ? "Resume" : "Quiet"}</${Act}></div>` }]} />
    ${live.value?.continuation && html`<p class="dim">The first 1,000 are shown.</p>`}`;
}
