// The shards of the stores: their processes and loads, moves, and a plan to relieve hot shards.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { useLive } from "../net/live.js";
import { Badge, Card, Confirm, Empty, Facts, Failure, Head } from "../parts/basic.js";
import { List } from "../parts/list.js";
import { duration } from "../parts/time.js";
import { bytes, count, rate, Text } from "../parts/text.js";
import { useMay } from "../shell/who.js";

export function Shards({ path }) {
  return path[0] ? html`<${Plan} key=${path[0]} store=${path[0]} />` : html`<${All} />`;
}

const owner = (row) => (row.shared ? row.process ? html`<${Text} value=${row.process} />` : html`<${Badge} tone="warn" state="nobody" />` : html`<span class="dim">this process</span>`);
const busy = (row) => (row.writesPerSecond === undefined ? html`<span class="dim" title=${row.unknown || "It is too early to tell."}>?</span>` : rate(Number(row.writesPerSecond)));

function All() {
  const live = useLive((signal) => api.get("/v1/shards", { signal }), [], 5_000);
  const [moving, setMoving] = useState(null);
  const may = useMay("operator");
  const processes = (store) => live.value.stores.find((each) => each.store === store).processes;
  return html`<${Head} title="Shards" /><${Failure} error=${live.error} retry=${live.refresh} />
    <p class="dim small">Rows and bytes are estimates of the database. Writes are transactions, of the last ten seconds.</p>
    ${live.value?.stores.map((store) => html`<${Card} title=${`Shards of the ${store.store} store`} actions=${store.shards && html`<a href=${`/shards/${part(store.store)}`}>Plan</a>`}>
      ${store.trouble ? html`<${Empty}>The store does not answer: <${Text} value=${store.trouble} /></${Empty}>` : html`<${List} label=${`Shards of the ${store.store} store`} items=${store.shards} id=${(row) => String(row.shard)} columns=${[
        { name: "Shard", number: true, of: (row) => count(row.shard) }, { name: "Served by", of: owner }, { name: "Epoch", number: true, of: (row) => (row.epoch === undefined ? "" : count(row.epoch)) }, { name: "Rows, about", number: true, of: (row) => count(row.rows) }, { name: "Bytes, about", number: true, of: (row) => bytes(row.bytes) },
        { name: "Writes/s", number: true, of: busy }, { name: "Waiting", number: true, of: (row) => count(row.waiting) }, { name: "Served for", number: true, of: (row) => duration(row.servedSeconds === undefined ? undefined : Number(row.servedSeconds)) }, { name: "Lease", number: true, of: (row) => (row.leaseSeconds === undefined ? "" : duration(Number(row.leaseSeconds))) },
        { name: "Hottest", of: (row) => row.hottest?.[0] && html`<${Text} value=${[row.hottest[0].name, row.hottest[0].part].filter(Boolean).join(" / ")} most=${60} />` }, { name: "To go to", of: (row) => html`<${Text} value=${row.wish} />` },
        { name: "", of: (row) => may && row.shared && html`<button type="button" onClick=${() => setMoving(row)}>Move…</button>` }]} />`}</${Card}>`)}
    ${moving && html`<${MoveShard} shard=${moving} processes=${processes(moving.store)} onClose=${() => { setMoving(null); live.refresh(); }} />`}`;
}

function MoveShard({ shard, processes, onClose }) {
  const [to, setTo] = useState(shard.wish || processes.find((each) => each.name !== shard.process)?.name || "");
  return html`<${Confirm} title=${`Move shard ${count(shard.shard)} of the ${shard.store} store`} verb=${to ? "Move" : "Take the wish back"} tone="primary" needsReason onClose=${onClose}
    run=${(reason) => api.post(`/v1/shards/${part(shard.store)}/${shard.shard}/move`, { process: to || null }, reason)}>
    <p>The process follows within seconds, and keeps the shard as long as it lives. Requests wait for some milliseconds meanwhile.</p>
    <label class="field"><span>Process</span><select value=${to} onChange=${(e) => setTo(e.target.value)}>${processes.map((each) => html`<option value=${each.name} selected=${each.name === to}>${each.name}${each.name === shard.process ? " (serves it now)" : ""}</option>`)}<option value="" selected=${!to}>any: take the wish back</option></select></label></${Confirm}>`;
}

const change = (of) => `${rate(Number(of.before))} writes/s now, ${rate(Number(of.after))} then`;

function Plan({ store }) {
  const live = useLive((signal) => api.get(`/v1/shards/${part(store)}/plan`, { signal }), [store], 10_000);
  const plan = live.value;
  return html`<${Head} title=${`Plan for the ${store} store`} crumbs=${[["Shards", "/shards"]]} /><${Failure} error=${live.error} retry=${live.refresh} />
    ${plan && html`<${Card} title="What it says"><ul>${plan.advice.map((each) => html`<li><${Text} value=${each} /></li>`)}</ul>
      <${Facts} items=${[["A shard carries", `${count(plan.carries)} writes/s`], plan.hot.length > 0 && ["Hottest shard, if what makes shards hot were spread evenly", change(plan.hottestShard)], plan.moves.length > 0 && ["Busiest process, by the moves", change(plan.busiestProcess)]]} /></${Card}>
    ${plan.hot.map((hot) => html`<${Card} title=${`Shard ${count(hot.shard)}: ${rate(Number(hot.writesPerSecond))} writes/s`}><${List} label=${`What makes shard ${hot.shard} hot`} items=${hot.parts} id=${(row) => `${row.account}/${row.name}/${row.part}`} empty="No name has much of it: it is many that are busy." columns=${[
      { name: "Name", of: (row) => html`<${Text} value=${row.name} />${row.tooHot && html` <${Badge} tone="bad" state="more than a shard carries" />`}` }, { name: "Partition or blob", wide: true, of: (row) => html`<${Text} value=${row.part} most=${120} />` }, { name: "Writes/s", number: true, of: (row) => rate(Number(row.writesPerSecond)) }, { name: "Of the shard", number: true, of: (row) => `${Math.round(100 * Number(row.ofShard))} %` }, { name: "Spread over", number: true, of: (row) => count(row.spreadOver) }]} /></${Card}>`)}
    ${plan.moves.length > 0 && html`<${Card} title="Moves"><${List} label="Moves" items=${plan.moves} id=${(row) => String(row.shard)} columns=${[{ name: "Shard", number: true, of: (row) => count(row.shard) }, { name: "From", of: (row) => html`<${Text} value=${row.from} />` }, { name: "To", of: (row) => html`<${Text} value=${row.to} />` }, { name: "Writes/s", number: true, of: (row) => rate(Number(row.writesPerSecond)) }]} /></${Card}>`}`}`;
}
