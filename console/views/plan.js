import { html } from "../parts/html.js";
import { Facts } from "../parts/basic.js";
import { duration } from "../parts/time.js";
import { bytes, count, Text } from "../parts/text.js";

/// Returns the problems that a refusal lists.
export const problemsOf = (error) => (error ? [error.message, ...(error.problems || [])] : []);

const Steps = ({ steps }) => html`<ol class="small">${steps.map((step) => html`<li><${Text} value=${step} /></li>`)}</ol>`;

/// A step of a transaction whose table is missing has no sample, but a problem.
function stepsOf(plan) {
  const missing = new Set(plan.problems.map((each) => /^steps\[(\d+)\]: there is no table/.exec(each)?.[1]).filter(Boolean).map(Number));
  const left = [...plan.samples];
  return Array.from({ length: plan.samples.length + missing.size }, (_, i) => (missing.has(i) ? { steps: ["fail: there is no such table"] } : left.shift()));
}

/// Shows for each step of a transaction the change that it would make.
function PlanOfSteps({ plan }) {
  const broken = plan.problems.some((each) => each.startsWith("guards["));
  if (!plan.samples.length) return html`<p>${broken ? "A guard does not hold, so no step would be taken." : "No step would be taken."}</p>`;
  return html`<ol class="steps">${stepsOf(plan).map((each) => html`<li class=${/fail: |is not|does not/.test(each.steps[0]) ? "bad" : ""}><${Text} value=${each.steps.join("; ")} most=${600} />${(each.partitionKey || each.rowKey) && html`<div class="dim small"><${Text} value=${each.partitionKey} most=${120} /> / <${Text} value=${each.rowKey} most=${120} /></div>`}</li>`)}</ol>`;
}

/// `own`: a worker of the user's own does the job, so nobody else knows what it would do.
export function PlanOf({ plan, own }) {
  const problems = plan.problems.length > 0 && html`<div class="notice warn"><ul>${plan.problems.map((each) => html`<li><${Text} value=${each} /></li>`)}</ul></div>`;
  if (plan.kind === "transaction") return html`${problems}<${PlanOfSteps} plan=${plan} />`;
  if (own) return html`${problems}${plan.samples.map((each) => html`<p><${Text} value=${each.steps.join("; ")} /></p>`)}`;
  return html`${problems}
    <${Facts} items=${[["Would touch", `${count(plan.keys)}${plan.complete ? "" : " or more"}`], ["Bytes", bytes(plan.bytes)], ["Looked for", duration(plan.seconds)]]} />
    ${plan.samples.length > 0 && html`<h3>For example</h3><div class="scroll" tabindex="0" role="region" aria-label="Examples of the plan"><table><thead><tr><th scope="col">PartitionKey</th><th scope="col">RowKey</th><th scope="col" class="number">Bytes</th><th scope="col">Steps</th></tr></thead>
      <tbody>${plan.samples.slice(0, 20).map((each) => html`<tr><td><${Text} value=${each.partitionKey} most=${120} /></td><td><${Text} value=${each.rowKey} most=${120} /></td><td class="number">${count(each.bytes)}</td><td><${Steps} steps=${each.steps} /></td></tr>`)}</tbody></table></div>`}`;
}
