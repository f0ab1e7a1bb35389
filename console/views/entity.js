// One entity: its properties with their types, to look at, to edit and to delete.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { part } from "../net/api.js";
import { addressOf, deleteEntity, readEntity } from "../net/entities.js";
import { useLive } from "../net/live.js";
import { own, textIn, typeOf } from "../net/values.js";
import { Card, Failure, Head } from "../parts/basic.js";
import { Destroy } from "../parts/destroy.js";
import { WhyNot } from "../parts/rights.js";
import { Id, many, Text, visible } from "../parts/text.js";
import { When } from "../parts/time.js";
import { go } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { EntityForm } from "./entity_form.js";

export function Entity({ table, partitionKey, rowKey }) {
  const address = addressOf(table, partitionKey, rowKey);
  const live = useLive((signal) => readEntity(address, signal), [address], 10_000);
  const [acting, setActing] = useState(null);
  const ours = table.toLowerCase().startsWith("tidemark");
  const may = useMay("operator") && !ours;
  const crumbs = [["Tables", "/tables"], [table, `/tables/${part(table)}`]];
  const explain = html`<a class="button" href=${`/explain?table=${part(table)}&partitionKey=${part(partitionKey)}&rowKey=${part(rowKey)}`}>Explain</a>`;
  if (!live.value) return html`<${Head} title="Entity" crumbs=${crumbs} actions=${explain} /><${Failure} error=${live.error} retry=${live.refresh} />`;
  const { value: entity, tag } = live.value;
  const names = own(entity);
  const close = () => { setActing(null); live.refresh(); };
  return html`<${Head} title="Entity" crumbs=${crumbs} actions=${html`${explain}${may && html`<button type="button" onClick=${() => setActing({ verb: "edit", entity, tag })}>Edit…</button><button type="button" class="danger" onClick=${() => setActing({ verb: "delete", tag })}>Delete…</button>`}`} /><${Failure} error=${live.error} retry=${live.refresh} />
    <${Card}><div class="scroll" tabindex="0" role="region" aria-label="Properties"><table class="entity"><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Value</th></tr></thead><tbody>
      <tr><td>PartitionKey</td><td class="dim">String</td><td><${Text} value=${entity.PartitionKey} /></td></tr><tr><td>RowKey</td><td class="dim">String</td><td><${Text} value=${entity.RowKey} /></td></tr><tr><td>Timestamp</td><td class="dim">DateTime</td><td><${When} at=${entity.Timestamp} both /> <span class="dim small mono">${entity.Timestamp}</span></td></tr>
      ${names.map((name) => html`<tr key=${name}><td><${Text} value=${name} most=${100} /></td><td class="dim">${visible(typeOf(entity, name))}</td><td><${Text} value=${textIn(entity, name)} most=${1000} /></td></tr>`)}</tbody></table></div></${Card}><p class="dim small">${many(names.length, "property")}${entity["tidemark.job"] ? html`, a copy that job <${Id} value=${entity["tidemark.job"]} href=${`/jobs/${part(entity["tidemark.job"])}`} /> wrote` : ""}</p>
    <${WhyNot} own=${ours} />
    ${acting?.verb === "edit" && html`<${EntityForm} table=${table} entity=${acting.entity} tag=${acting.tag} names=${names} onClose=${close} />`}
    ${acting?.verb === "delete" && html`<${Destroy} title="Delete this entity?" name=${rowKey} verb="Delete" run=${(reason) => deleteEntity(address, acting.tag, reason).then(() => go(`/tables/${part(table)}`))} onClose=${() => setActing(null)}><p>It is deleted as it is shown; if somebody has changed it since, nothing happens.</p></${Destroy}>`}`;
}
