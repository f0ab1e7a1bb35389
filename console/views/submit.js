// A form to submit a job: it plans first, then submits. The same can be written as JSON.
import { html } from "../parts/html.js";
import { useEffect, useMemo, useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { description, kindsOf } from "../net/description.js";
import { parseExact, textOf } from "../net/exact.js";
import { useLive } from "../net/live.js";
import { Card, Failure, Head, Toggle, useAction } from "../parts/basic.js";
import { formOf, JobFields, specOf } from "../parts/job_form.js";
import { count, Json, many, visible } from "../parts/text.js";
import { go } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { PlanOf, problemsOf } from "./plan.js";

const draftKey = "tidemark.draft";

/// Opens the form with a job to begin with.
export function submitLike(job) {
  sessionStorage.setItem(draftKey, textOf(job));
  go("/jobs/new");
}

function draft() {
  try { return parseExact(sessionStorage.getItem(draftKey)) || {}; } catch { return {}; }
}

/// Returns the job that a text describes.
function jobIn(text) {
  let job;
  try { job = parseExact(text); } catch (wrong) { throw new Error(`Not JSON yet: ${wrong.message}`); }
  if (typeof job !== "object" || job === null || Array.isArray(job)) throw new Error("A job is a JSON object.");
  return job;
}

export function Submit({ query }) {
  const live = useLive(() => description(), [], 0);
  const document = live.value;
  if (!document) return html`<${Head} title="Submit a job" crumbs=${[["Jobs", "/jobs"]]} /><${Failure} error=${live.error} retry=${live.refresh} />`;
  return html`<${Form} key=${query.kind} document=${document} query=${query} />`;
}

/// The job as it was given, as a form if that keeps all of it, and otherwise as JSON.
function begin(document, given) {
  try { return { form: formOf(document, given), mode: "form", text: "", wrong: "" }; } catch (error) { return { form: formOf(document, {}), mode: "json", text: textOf(given, 2), wrong: error.message }; }
}

function Form({ document, query }) {
  const [given] = useState(draft);
  const [state, setState] = useState(() => begin(document, query.kind ? { ...given, kind: query.kind } : given));
  const [plan, setPlan] = useState(null);
  const [reason, setReason] = useState("");
  const admin = useMay("admin");
  useEffect(() => sessionStorage.removeItem(draftKey), []);
  const { form, mode, text, wrong } = state;
  const spec = () => (mode === "json" ? text : specOf(document, form));
  const [look, looking, lookError] = useAction(async () => { if (mode === "json") jobIn(text); setPlan(await api.post("/v1/jobs?dryRun=true", spec())); });
  const [submit, busy, error] = useAction(async () => { const job = await api.post("/v1/jobs", spec(), reason); go(`/jobs/${part(job.id)}`); });
  const written = useMemo(() => { try { return textOf(specOf(document, form), 2); } catch (failed) { return failed.message; } }, [form, document]);
  const change = (next) => { setState({ ...state, ...next, wrong: "" }); setPlan(null); };
  const turn = (to) => {
    if (to === mode) return;
    try {
      if (to === "json") change({ mode: to, text: textOf(specOf(document, form), 2) }); else change({ mode: to, form: formOf(document, jobIn(text)) });
    } catch (failed) { setState({ ...state, wrong: failed.message }); }
  };
  const kind = mode === "json" ? plan?.kind : form.kind;
  const steps = kind === "transaction";
  const said = [...problemsOf(lookError), ...problemsOf(error), ...(plan?.problems || [])];
  const own = document.ownKinds.includes(kind);
  const effect = own ? "" : steps ? many(plan?.keys, "step") : `touches ${count(plan?.keys)}${plan?.complete ? "" : " or more"}`;
  const result = plan && html`<${Card} title="Plan" tone=${plan.problems.length ? "warn" : ""}><${PlanOf} plan=${plan} own=${own} /></${Card}>`;
  return html`<${Head} title="Submit a job" crumbs=${[["Jobs", "/jobs"]]} actions=${html`<${Toggle} label="Written as" value=${mode} options=${[["form", "Form"], ["json", "JSON"]]} onChange=${turn} />`} />
    <form onSubmit=${(e) => { e.preventDefault(); (plan ? submit : look)(); }}>${wrong && html`<div class="notice warn" role="status"><bdi>${visible(wrong)}</bdi></div>`}
      <div class=${steps || mode === "json" ? "" : "columns"}><${Card}>${mode === "json"
        ? html`<label class="field"><span>The job, as JSON</span><textarea class="as-json" rows="24" spellcheck=${false} value=${text} onInput=${(e) => change({ text: e.target.value })}></textarea></label>`
        : html`<${JobFields} document=${document} form=${form} onChange=${(next) => change({ form: next })} problems=${said} kinds=${Object.keys(kindsOf(document)).filter((each) => each !== "adopt" || admin)} />`}</${Card}>
      ${steps || mode === "json" ? result : html`<div><${Card} title="As it will be sent"><${Json} value=${written} /></${Card}>${result}</div>`}</div>
      <${Failure} error=${lookError || error} />
      <div class="bulk"><button class=${plan ? "" : "primary"} type="button" disabled=${looking} onClick=${(e) => e.target.form.reportValidity() && look()}>${looking ? "Planning…" : plan ? "Plan again" : "Plan: what would it do?"}</button>
        ${plan && html`<label class="choice"><span>Reason</span><input value=${reason} maxlength="200" onInput=${(e) => setReason(e.target.value)} placeholder="optional, for the audit trail" /></label><button type="submit" class="primary" disabled=${busy}>${busy ? "…" : effect ? `Submit: ${effect}` : "Submit"}</button>`}
        ${!plan && html`<span class="dim">A plan reads, and changes nothing. Then the job can be submitted.</span>`}</div></form>`;
}
