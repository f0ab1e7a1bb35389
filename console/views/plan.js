import { html } from "../parts/html.js";
import { Facts } from "../parts/basic.js";
import { duration } from "../parts/time.js";
import { bytes, count, Text } from "../parts/text.js";

export function PlanOf({ plan }) {
  return html`${plan.problems.length > 0 && html`<div class="notice warn"><ul>${plan.problems.map((each) => html`<li><${Text} value=${each} /></li>`)}</ul></div>`}
    <${Facts} items=${[["Would touch", `${count(plan.keys)}${plan.complete ? "" : " or more"}`], ["Bytes", bytes(plan.bytes)], ["Looked for", duration(plan.seconds)]]} />
    ${plan.samples.length > 0 && html`<h3>For example</h3><div class="scroll" tabindex="0" role="region" aria-label="Examples of the plan"><table><thead><tr><th scope="col">PartitionKey</th><th scope="col">RowKey</th><th scope="col" class="number">Bytes</th><th scope="col">Steps</th></tr></thead>
      <tbody>${plan.samples.slice(0, 20).map((each) => html`<tr><td><${Text} value=${each.partitionKey} most=${120} /></td><td><${Text} value=${each.rowKey} most=${120} /></td><td class="number">${count(each.bytes)}</td><td><ol class="small">${each.steps.map((step) => html`<li><${Text} value=${step} /></li>`)}</ol></td></tr>`)}</tbody></table></div>`}`;
}
