// Small parts of which all views are made.
import { html } from "./html.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { When } from "./time.js";
import { copy, visible } from "./text.js";

const tones = { running: "info", queued: "plain", succeeded: "good", poisoned: "bad", cancelled: "dim", failed: "bad", lost: "warn",
  edited: "info", sentBack: "info", ready: "good", building: "info", verifying: "info", stale: "bad", dropping: "dim" };

export const Badge = ({ state, tone }) => html`<span class=${`badge ${tone || tones[state] || "plain"}`}>${state === "sentBack" ? "sent back" : state || "began"}</span>`;

export function Failure({ error, retry }) {
  if (!error) return null;
  return html`<div class="notice bad" role="alert"><div><strong>${error.code || "Failed"}</strong> <bdi>${visible(error.message)}</bdi>
    ${error.problems?.length > 1 && html`<ul>${error.problems.map((each) => html`<li><bdi>${visible(each)}</bdi></li>`)}</ul>`}
    ${error.requestId && html`<div class="dim small">request ${error.requestId}</div>`}</div>
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}</div>`;
}

/// A command for a shell, with a button that copies it.
export function Command({ text }) {
  const [done, set] = useState(false);
  const act = async () => { await copy(text); set(true); setTimeout(() => set(false), 1500); };
  return html`<span class="command"><code>${text}</code><button type="button" class="quiet" onClick=${act} aria-label=${`Copy ${text}`}>${done ? "copied" : "copy"}</button></span>`;
}

/// A field for the reason of an action, which the audit trail keeps.
export function Reason({ value, onInput, autofocus }) {
  return html`<label class="field"><span>Reason, for the audit trail <span class="dim">needed</span></span><input name="reason" value=${value} maxlength="200" required autocomplete="off" autofocus=${autofocus} pattern=".*\\S.*" title="Some words that tell others why" onInput=${onInput} /></label>`;
}

/// Says how old a value is that could not be loaded again. `live`: the outcome of useLive().
export function AsOf({ live }) {
  if (!live.error || live.value === undefined || !live.at) return null;
  return html`<p class="dim small">This is the state of <${When} at=${new Date(live.at).toISOString()} />.</p>`;
}

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;
export const Busy = () => html`<p class="empty" aria-busy="true">Loading…</p>`;

export function Card({ title, actions, children, tone }) {
  return html`<section class=${`card ${tone || ""}`}>${(title || actions) && html`<header><h2>${title}</h2><div class="actions">${actions}</div></header>`}${children}</section>`;
}

export function Head({ title, crumbs = [], actions, children }) {
  useEffect(() => { document.title = `${typeof title === "string" ? title : "Tidemark"} · Tidemark`; }, [title]);
  return html`<header class="head"><div>${crumbs.length > 0 && html`<nav aria-label="Where this is" class="crumbs">${crumbs.map(([name, href]) => html`<a href=${href}>${name}</a><span aria-hidden="true"> / </span>`)}</nav>`}
    <h1><bdi>${typeof title === "string" ? visible(title) : title}</bdi></h1>${children}</div><div class="actions">${actions}</div></header>`;
}

/// Pairs of name and value; pairs with an undefined value are left out.
export function Facts({ items }) {
  return html`<dl class="facts">${items.filter((each) => each && each[1] !== undefined && each[1] !== "").map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function Figure({ name, value, note, tone, href }) {
  const inside = html`<span class="figure-value">${value}</span><span class="figure-name">${name}</span>${note && html`<span class="figure-note">${note}</span>`}`;
  return href ? html`<a class=${`figure ${tone || ""}`} href=${href}>${inside}</a>` : html`<div class=${`figure ${tone || ""}`}>${inside}</div>`;
}

export function Bar({ done, total, label }) {
  const share = total > 0 ? Math.min(1, Number(done) / Number(total)) : 0;
  return html`<progress max="1" value=${share} aria-label=${label || "Progress"}></progress>`;
}

const firstField = "form input, form select, form textarea, footer button";

/// A native dialog of the browser: it keeps the focus and closes with Escape.
export function Dialog({ title, onClose, children, wide }) {
  const dialog = useRef();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    dialog.current.querySelector(firstField)?.focus();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${dialog} class=${wide ? "wide" : ""} aria-label=${title} onClose=${onClose} onCancel=${(e) => { e.preventDefault(); onClose(); }}>
    <header><h2>${title}</h2><button type="button" class="quiet" onClick=${onClose} aria-label="Close">✕</button></header>${children}</dialog>`;
}

/// Runs an action, one at a time, and keeps its error: [act, busy, error].
export function useAction(run) {
  const [state, set] = useState({ busy: false, error: null });
  const act = async (...inputs) => {
    if (state.busy) return undefined;
    set({ busy: true, error: null });
    try {
      const outcome = await run(...inputs);
      set({ busy: false, error: null });
      return outcome;
    } catch (error) {
      set({ busy: false, error });
      return undefined;
    }
  };
  return [act, state.busy, state.error];
}

/// A button whose action may be refused; the api's explanation stands beside it.
export function Act({ run, children, tone, disabled, title }) {
  const [act, busy, error] = useAction(run);
  return html`<button type="button" class=${tone || ""} disabled=${disabled || busy} title=${title} onClick=${() => act()}>${busy ? "…" : children}</button>
    ${error && html`<span class="inline-error" role="alert"><bdi>${visible(error.message)}</bdi></span>`}`;
}

/// A question before an action that cannot be undone, with a reason for the audit trail.
export function Confirm({ title, children, verb, tone = "danger", needsReason, run, onClose }) {
  const [reason, setReason] = useState("");
  const [act, busy, error] = useAction(async () => { await run(reason.trim()); onClose(); });
  return html`<${Dialog} title=${title} onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); act(); }}>
    ${children}
    ${needsReason && html`<${Reason} value=${reason} onInput=${(e) => setReason(e.target.value)} />`}
    <${Failure} error=${error} />
    <footer><button type="button" onClick=${onClose}>Back</button><button class=${tone} disabled=${busy}>${busy ? "…" : verb}</button></footer></form></${Dialog}>`;
}

export function Toggle({ value, options, onChange, label }) {
  return html`<div class="toggle" role="group" aria-label=${label}>${options.map(([name, text]) => html`<button type="button" aria-pressed=${value === name} onClick=${() => onChange(name)}>${text}</button>`)}</div>`;
}
