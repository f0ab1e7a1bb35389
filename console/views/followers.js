// The readers of a table's changes: its feed, consumer groups, webhooks and messages for changes, and the lag of each.
import { html } from "../parts/html.js";
import { api, part } from "../net/api.js";
import { useLive } from "../net/live.js";
import { Act, Badge, Card, Facts, Failure } from "../parts/basic.js";
import { List } from "../parts/list.js";
import { duration, When } from "../parts/time.js";
import { bytes, many, Text } from "../parts/text.js";
import { useMay } from "../shell/who.js";

async function look(table, signal) {
  const base = `/v1/tables/${part(table)}`;
  const feed = await api.get(`${base}/feed`, { signal }).catch((error) => { if (error.status === 404) return null; throw error; });
  const [consumers, onChange] = await Promise.all([api.get(`${base}/consumers`, { signal }), api.get(`${base}/onChange`, { signal })]);
  return { feed, followers: [...consumers.consumers.map((each) => ({ ...each, name: each.group, what: "consumer group", error: "" })),
    ...onChange.onChange.map((each) => ({ ...each, what: each.definition.webhook ? "webhook" : "queue messages", error: each.lastError?.message || each.failed || "" }))] };
}

export function Followers({ table }) {
  const live = useLive((signal) => look(table, signal), [table], 5_000);
  const may = useMay("operator");
  if (live.error) return html`<${Failure} error=${live.error} retry=${live.refresh} />`;
  const { feed, followers } = live.value || {};
  if (!feed && !followers?.length) return null;
  const resume = (row) => async () => { await api.post(`/v1/tables/${part(table)}/onChange/${part(row.name)}/resume`); live.refresh(); };
  const badge = (row) => html`<${Badge} tone=${!feed || row.expired || row.error ? "bad" : "good"} state=${row.expired ? "lost changes" : row.state || (row.reader ? "being read" : feed ? "idle" : "no feed")} />`;
  return html`<${Card} title="Change feed">${!feed ? html`<p>The table has no change feed any more, so nobody is told of its changes.</p>` : html`<${Facts} items=${[["Kept", `${many(feed.changes, "change")}, ${bytes(feed.bytes)}`], ["For at most", `${duration(feed.retention)}, ${bytes(feed.maxBytes)}`], ["Values", feed.values], ["Oldest change", html`<${When} at=${feed.oldestChange} both />`]]} />`}
    <${List} label="Followers of the changes" items=${followers} id=${(row) => `${row.what} ${row.name}`} empty="Nobody reads the changes." columns=${[
      { name: "Name", of: (row) => html`<${Text} value=${row.name} most=${80} />` }, { name: "What", of: (row) => row.what }, { name: "State", of: badge },
      { name: "Behind", number: true, of: (row) => (row.lag ? `${duration(row.lag.seconds)}, ${many(row.lag.changes, "change")}` : "") }, { name: "Last error", wide: true, of: (row) => html`<${Text} value=${row.error} most=${200} />` },
      { name: "", of: (row) => may && row.state === "stopped" && html`<${Act} run=${resume(row)}>Resume</${Act}>` }]} /></${Card}>`;
}
