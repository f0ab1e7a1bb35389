// How far a transaction has come: its guards and the entities that they found, the decision, and each step.
import { html } from "../parts/html.js";
import { part } from "../net/api.js";
import { hasMembers, textOf } from "../net/exact.js";
import { Badge, Card } from "../parts/basic.js";
import { count, Json, Text } from "../parts/text.js";

const decisions = {
  open: ["plain", "not decided yet", "Until it is decided, nothing has happened, and the job can be cancelled."],
  goesAhead: ["info", "goes ahead", "It was decided, and cannot be cancelled any more: the steps are taken in order."],
  withdrawn: ["dim", "withdrawn", "No step was taken, and none ever will be."],
};

const written = (value) => (typeof value === "string" ? value : hasMembers(value) && "value" in value && "type" in value ? `${value.value} (${value.type})` : textOf(value));
const isTemplate = (text) => /\{[^{}]*\}/.test(text);

/// The number of the step that failed, from 0, if the job is poison at a step.
const poisonAt = (job) => (job.state === "poisoned" ? Number(/^steps\[(\d+)\]/.exec(job.error || "")?.[1] ?? NaN) : NaN);

function Entity({ of, guards }) {
  const guard = of.of && guards.find((each) => each.as === of.of);
  const { table, partitionKey = "", rowKey = "", account } = guard || of;
  const name = html`<${Text} value=${[account, table].filter(Boolean).join("/")} /> <span class="dim">/</span> <${Text} value=${partitionKey} most=${80} /> <span class="dim">/</span> <${Text} value=${rowKey} most=${80} />`;
  return account || isTemplate(partitionKey + rowKey) ? name : html`<a href=${`/tables/${part(table)}?partitionKey=${part(partitionKey)}&rowKey=${part(rowKey)}`}>${name}</a>`;
}

const Values = ({ title, values }) => values && html`<div class="small"><span class="dim">${title}</span> ${Object.entries(values).map(([name, value], i) => html`${i ? ", " : ""}<code><${Text} value=${name} most=${60} /></code> <${Text} value=${written(value)} most=${120} />`)}</div>`;

function What({ name, step, guards }) {
  if (name === "message") return html`into the queue <a href=${`/queues/${part(step.queue)}`}><${Text} value=${step.queue} /></a>${step.group && html` <span class="dim">group</span> <${Text} value=${step.group} />`}<div class="small"><${Text} value=${step.text ?? textOf(step.json)} most=${240} /></div>`;
  if (name === "blob") return html`<${Text} value=${`${step.container}/${step.name}`} /><div class="small"><${Text} value=${step.text ?? textOf(step.json)} most=${240} /></div>`;
  if (name === "callback") return html`${step.method || "POST"} <${Text} value=${step.url} most=${200} />`;
  return html`<${Entity} of=${step} guards=${guards} /><${Values} title="entity" values=${step.entity} /><${Values} title="set" values=${step.set} /><${Values} title="add" values=${step.add} />`;
}

function stateOfGuard(job, decision, i) {
  const broken = job.result?.guard;
  if (decision === "goesAhead") return ["good", "held"];
  if (broken === undefined) return ["plain", "not known"];
  return Number(broken) === i ? ["bad", "does not hold"] : i < Number(broken) ? ["good", "held"] : ["dim", "not read"];
}

function Guard({ guard, i, job, facts }) {
  const [tone, text] = stateOfGuard(job, facts?.decision, i);
  const broken = tone === "bad";
  const read = facts?.read?.[guard.as];
  return html`<li class=${tone === "good" ? "good" : broken ? "bad" : ""}><div><strong>${guard.as ? html`<${Text} value=${guard.as} />` : `guard ${i + 1}`}</strong> <${Badge} tone=${tone} state=${text} /></div>
    <div><${Entity} of=${guard} guards=${[]} /></div>
    <div class="small">${!guard.where ? "must exist" : guard.where === "absent" ? "must not exist" : html`must match <code><${Text} value=${guard.where} most=${300} /></code>`}</div>
    ${read && html`<${Values} title="read" values=${read} />`}
    ${broken && html`<p><${Text} value=${job.result.reason} most=${600} />.</p>${hasMembers(job.result.found) ? html`<div class="small dim">Found:</div><${Json} value=${job.result.found} />` : html`<p class="dim small">There was no such entity.</p>`}`}</li>`;
}

function stateOfStep(job, facts, i) {
  if (facts && i < facts.taken) return ["good", "taken"];
  if (poisonAt(job) === i) return ["bad", "failed here"];
  if (job.state === "running" && facts?.decision === "goesAhead" && i === Number(facts.taken)) return ["info", "now"];
  return ["dim", facts ? "not taken" : "not known"];
}

export const isTransaction = (job) => job.kind === "transaction" && Array.isArray(job.spec?.steps);

/// Whether the page of a transaction shows the result of the job.
export const tellsResult = (job) => isTransaction(job) && job.result?.guard !== undefined;

/// Whether there is anything that an undo could take back.
export const isUndoable = (job) => job.transaction?.decision === "goesAhead" && job.transaction.taken > 0;

export function Transaction({ job }) {
  const facts = job.transaction;
  const { guards = [], steps } = job.spec;
  const [tone, name, meaning] = decisions[facts?.decision] || ["plain", "not known", "The stores cannot tell now."];
  const at_ = poisonAt(job);
  return html`<${Card} title="Decision" tone=${job.state === "poisoned" ? "bad" : ""}><p><${Badge} tone=${tone} state=${name} /> ${meaning}</p>
      ${job.state === "poisoned" && facts?.decision === "goesAhead" && html`<p>Mend the cause and send it back, and it goes on at step ${Number(facts.taken) + 1}; or edit the steps that have not been taken, in <a href=${`/poison/${part(job.messageId)}`}>its poison message</a>.</p>`}
      ${job.state === "poisoned" && facts?.decision === "open" && html`<p>It failed before the decision${Number.isNaN(at_) ? "" : `, because of step ${at_ + 1}`}: all of it can still be edited, in <a href=${`/poison/${part(job.messageId)}`}>its poison message</a>.</p>`}</${Card}>
    <div class="columns">${guards.length > 0 && html`<${Card} title="Guards"><ol class="line">${guards.map((guard, i) => html`<${Guard} guard=${guard} i=${i} job=${job} facts=${facts} />`)}</ol></${Card}>`}
      <${Card} title="Steps"><ol class="line">${steps.map((each, i) => {
        const [kind, step] = Object.entries(each)[0];
        const [stepTone, state] = stateOfStep(job, facts, i);
        return html`<li class=${stepTone} aria-current=${state === "now" ? "step" : undefined}><div><strong>${i + 1}. ${kind}</strong> <${Badge} tone=${stepTone} state=${state} /></div><div><${What} name=${kind} step=${step} guards=${guards} /></div></li>`;
      })}</ol></${Card}></div>`;
}

/// Tells whether the job has taken back a transaction; its result then lists the steps that stay.
export const isUndoOfSteps = (job) => job.kind === "undo" && Array.isArray(job.result?.left);

export function Undone({ job }) {
  const { restored, left } = job.result;
  return html`<${Card} title="Taken back" tone=${left.length ? "warn" : ""}><p>${count(restored)} of the steps of <a href=${`/jobs/${part(job.spec.job)}`}>the transaction</a> ${Number(restored) === 1 ? "was" : "were"} taken back${left.length ? "; these stay:" : "."}</p>
    ${left.length > 0 && html`<ul>${left.map((each) => html`<li><${Text} value=${typeof each === "string" ? each : `step ${Number(each.step) + 1}: ${each.why}`} /></li>`)}</ul>`}</${Card}>`;
}
