import { html } from "../parts/html.js";
import { api } from "../net/api.js";
import { useLive } from "../net/live.js";
import { AsOf, Badge, Failure, Head } from "../parts/basic.js";
import { List } from "../parts/list.js";
import { When } from "../parts/time.js";
import { count, Text } from "../parts/text.js";

export function Workers() {
  const live = useLive((signal) => api.get("/v1/workers?limit=1000", { signal }), [], 3_000);
  return html`<${Head} title="Workers" /><${Failure} error=${live.error} retry=${live.refresh} /><${AsOf} live=${live} />
    <${List} label="Workers" failed=${live.error} items=${live.value?.workers} id=${(row) => row.name} empty="No worker lives, and none was lost lately." columns=${[
      { name: "Name", of: (row) => html`<${Text} value=${row.name} />` }, { name: "State", of: (row) => html`<${Badge} tone=${row.alive ? "good" : "bad"} state=${row.alive ? "alive" : "lost"} />` }, { name: "Host", of: (row) => html`<${Text} value=${row.host} />` }, { name: "Process", number: true, of: (row) => row.pid },
      { name: "Running", number: true, of: (row) => `${count(row.running)} of ${count(row.concurrency)}` }, { name: "Takes from", of: (row) => html`<${Text} value=${(row.queues || []).join(", ")} />` }, { name: "Version", of: (row) => html`<${Text} value=${row.version} />` }, { name: "Started", of: (row) => html`<${When} at=${row.startedAt} />` }, { name: "Last heard of", of: (row) => html`<${When} at=${row.heartbeatAt} />` }]} />
    ${live.value?.continuation && html`<p class="dim">The first 1,000 are shown.</p>`}`;
}
