// Indexes and other followers of tables: their progress, the findings of scrubs, lookups.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { useLive, usePages } from "../net/live.js";
import { Act, AsOf, Badge, Bar, Card, Confirm, Facts, Failure, Figure, Head } from "../parts/basic.js";
import { List, More } from "../parts/list.js";
import { duration, When } from "../parts/time.js";
import { bytes, count, Id, Json, many, rate, Text } from "../parts/text.js";
import { go } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { Declare } from "./index_form.js";
import { Lookup } from "./lookup.js";

export function Indexes({ path }) {
  if (path[0]) return html`<${Index} key=${path[0]} name=${path[0]} />`;
  return html`<${All} />`;
}

const life = (index) => html`<${Badge} state=${index.state} />${index.paused && html` <${Badge} tone="warn" state="paused" />`}${index.lastError?.inARow > 0 && html` <${Badge} tone="bad" state="failing" />`}`;
const lag = (index) => (index.lag ? html`${index.lag.seconds !== undefined ? duration(index.lag.seconds) : "given up"} <span class="dim small">${many(index.lag.changes, "change")}</span>` : html`<span class="dim">not begun</span>`);

/// Says in words how the index stands.
function meaning(index) {
  if (index.paused) return "It is paused: changes wait.";
  if (index.lastError?.inARow) return "It meets an error, and tries again.";
  if (index.state === "building") return "It is being built: the table is walked over, and writes go into the rows already.";
  if (index.state === "verifying") return "It is complete, and is compared with the table once before it is ready.";
  if (index.state === "stale") return "It fell too far behind, and is about to be built again.";
  if (index.state === "dropping") return "Its rows are being removed.";
  return Number(index.lag?.changes) ? "It is ready, and has changes to deal with." : "It is ready and follows the table: nothing waits.";
}

function All() {
  const live = useLive((signal) => api.get("/v1/indexes", { signal }), [], 5_000);
  const [making, setMaking] = useState(false);
  const may = useMay("operator");
  return html`<${Head} title="Indexes" actions=${may && html`<button type="button" class="primary" onClick=${() => setMaking(true)}>Declare an index…</button>`} /><${Failure} error=${live.error} retry=${live.refresh} />
    <${List} label="Indexes" failed=${live.error} items=${live.value?.indexes} id=${(row) => row.name} href=${(row) => `/indexes/${part(row.name)}`} empty="There is no index." columns=${[
      { name: "Name", of: (row) => html`<${Id} value=${row.name} href=${`/indexes/${part(row.name)}`} />` }, { name: "State", of: life }, { name: "Kind", of: (row) => html`<${Text} value=${row.definition.kind} />` }, { name: "Table", of: (row) => html`<${Text} value=${row.definition.source} />` },
      { name: "Behind", number: true, of: lag }, { name: "Walk", of: (row) => row.walk && html`${count(row.walk.walked)}${row.walk.total ? ` of ${count(row.walk.total)}` : ""}<${Bar} done=${row.walk.walked} total=${row.walk.total || 0} />` },
      { name: "Last scrub", of: (row) => row.lastScrub && html`<${When} at=${row.lastScrub.at} />, ${count(row.lastScrub.wrong)} wrong` }, { name: "Changes followed", number: true, of: (row) => count(row.changes) }]} />
    ${making && html`<${Declare} onClose=${() => { setMaking(false); live.refresh(); }} />`}`;
}

function Index({ name }) {
  const live = useLive((signal) => api.get(`/v1/indexes/${part(name)}`, { signal }), [name], 2_000);
  const [acting, setActing] = useState("");
  const may = useMay("operator");
  const mayDrop = useMay("admin");
  const index = live.value;
  if (!index) return html`<${Head} title=${name} crumbs=${[["Indexes", "/indexes"]]} /><${Failure} error=${live.error} retry=${live.refresh} />`;
  const ask = (verb) => async () => { await api.post(`/v1/indexes/${part(name)}/${verb}`); live.refresh(); };
  return html`<${Head} title=${name} crumbs=${[["Indexes", "/indexes"]]} actions=${may && html`<${Act} run=${ask(index.paused ? "resume" : "pause")}>${index.paused ? "Resume" : "Pause"}</${Act}><${Act} run=${ask("scrub")}>Scrub</${Act}>
      <button type="button" onClick=${() => setActing("rebuild")}>Rebuild…</button>${mayDrop && html`<button type="button" class="danger" onClick=${() => setActing("drop")}>Drop…</button>`}`}><div>${life(index)} <span class="dim">${meaning(index)}</span></div></${Head}>
    <${Failure} error=${live.error} retry=${live.refresh} /><${AsOf} live=${live} />
    ${index.lastError && html`<${Card} tone=${index.lastError.inARow ? "bad" : "warn"}><${Text} value=${index.lastError.message} most=${1000} /> <span class="dim"><${When} at=${index.lastError.at} both />${index.lastError.inARow ? `, ${count(index.lastError.inARow)} in a row` : ""}</span></${Card}>`}
    <div class="figures"><${Figure} name="behind" value=${index.lag?.seconds !== undefined ? duration(index.lag.seconds) : "–"} note=${index.lag && `${many(index.lag.changes, "change")}, ${bytes(index.lag.bytes)}`} tone=${index.lag?.seconds > 60 ? "warn" : ""} />
      ${index.built !== undefined && html`<${Figure} name="entities when it was built" value=${count(index.built)} />`}<${Figure} name="changes followed since" value=${count(index.changes)} /><${Figure} name="rows ever wrong" value=${count(index.wrongEver)} tone=${index.wrongEver ? "warn" : ""} />
      ${index.walk && html`<${Figure} name=${index.walk.total ? `walked of ${count(index.walk.total)}` : "walked"} value=${count(index.walk.walked)} note=${index.walk.perSecond !== undefined ? `${rate(index.walk.perSecond)} a second${index.walk.secondsLeft !== undefined ? `, ${duration(index.walk.secondsLeft)} left` : ""}` : ""} />`}</div>
    <div class="columns"><${Card} title="How it is"><${Facts} items=${[["True up to", html`<${When} at=${index.position} both />`], ["Declared", html`<${When} at=${index.createdAt} both />`], index.figuresAgeSeconds !== undefined && ["These figures are", `${duration(index.figuresAgeSeconds)} old`],
      index.lastScrub && ["Last scrub", html`<${When} at=${index.lastScrub.at} both />: ${count(index.lastScrub.checked)} checked, ${count(index.lastScrub.wrong)} wrong`], index.lastScrub?.proven && ["Proven true up to", html`<${When} at=${index.lastScrub.proven} both />`], index.inTheWay && ["Rows that are not written, because other rows have their keys", html`${count(index.inTheWay.rows)}${index.inTheWay.examples?.length > 0 && html`<ul class="small">${index.inTheWay.examples.map((each) => html`<li><${Text} value=${each} most=${200} /></li>`)}</ul>`}`]]} /></${Card}>
      <${Card} title="Definition"><${Json} value=${index.definition} /></${Card}></div><${Lookup} name=${name} definition=${index.definition} />${index.definition.unique && html`<${Violations} name=${name} />`}
    ${acting === "rebuild" && html`<${Confirm} title="Rebuild this index?" verb="Rebuild" tone="primary" needsReason run=${(reason) => api.post(`/v1/indexes/${part(name)}/rebuild`, undefined, reason).then(live.refresh)} onClose=${() => setActing("")}><p>The whole table is walked over again.</p></${Confirm}>`}
    ${acting === "drop" && html`<${Confirm} title="Drop this index?" verb="Drop" needsReason run=${(reason) => api.remove(`/v1/indexes/${part(name)}`, reason).then(() => go("/indexes"))} onClose=${() => setActing("")}><p>Its rows are removed; the table stays.</p></${Confirm}>`}`;
}

/// The values of a unique index that several entities have.
function Violations({ name }) {
  const pages = usePages(async (continuation, signal) => { const page = await api.get(at(`/v1/indexes/${part(name)}/violations`, { limit: 100, continuation }), { signal }); return { items: page.violations.map((each) => ({ ...each, id: each.group })), continuation: page.continuation }; }, [name], 10_000);
  return html`<${Card} title="Values that several entities have"><${List} label="Violations" failed=${pages.error} items=${pages.items} empty="None: every value is unique." columns=${[
      { name: "Value", of: (row) => html`<${Text} value=${row.group} most=${120} />` }, { name: "Entities", number: true, of: (row) => count(row.count) },
      { name: "For example", of: (row) => row.examples.map(([p, r]) => html`<div><${Text} value=${p} most=${80} /> / <${Text} value=${r} most=${80} /></div>`) }]} /><${More} pages=${pages} what="value" /></${Card}>`;
}
