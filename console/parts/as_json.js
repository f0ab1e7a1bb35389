// A dialog for a value that the api describes: a form of its members, and below it the same as JSON. Each follows the
// other.
import { html } from "./html.js";
import { useLayoutEffect, useState } from "../vendor/preact/hooks.js";
import { description } from "../net/description.js";
import { parseExact, textOf } from "../net/exact.js";
import { useLive } from "../net/live.js";
import { Busy, Dialog, Failure, useAction } from "./basic.js";
import { visible } from "./text.js";

/// `toForm(document, value)` makes the state of the form, and `toValue(document, form)` the value again; both throw if
/// that is impossible. `fields(document, form, set)` draws the form. `save(text)` gets the JSON. `before`: fields above.
export function EditDialog({ title, what, value, toForm, toValue, fields, save, verb, before, onClose }) {
  const live = useLive(() => description(), [], 0);
  const document = live.value;
  const [state, set] = useState({ form: null, json: textOf(value, 2), wrong: "" });
  const fromJson = (json) => {
    if (!document) { set({ form: null, json, wrong: "" }); return; }
    try { set({ form: toForm(document, parseExact(json)), json, wrong: "" }); } catch (error) { set({ ...state, json, wrong: error.message, unread: true }); }
  };
  const fromForm = (form) => {
    try { set({ form, json: textOf(toValue(document, form), 2), wrong: "" }); } catch (error) { set({ ...state, form, wrong: error.message, unread: false }); }
  };
  // A layout effect, here and wherever state follows a value: an effect comes a frame later, and by then somebody may have
  // typed what it would overwrite.
  useLayoutEffect(() => fromJson(state.json), [document]);
  const [act, busy, error] = useAction(async () => save(state.json));
  return html`<${Dialog} title=${title} wide onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); act(); }}>
    ${before}
    ${state.form ? fields(document, state.form, fromForm) : html`<${Failure} error=${live.error} retry=${live.refresh} />${!live.error && html`<${Busy} />`}`}
    <label class="field"><span>${what}, as JSON</span><textarea class="as-json" rows="8" spellcheck=${false} value=${state.json} onInput=${(e) => fromJson(e.target.value)}></textarea></label>
    ${state.wrong && html`<p class="inline-error" role="status"><bdi>${visible(state.wrong)}</bdi></p>`}
    <${Failure} error=${error} /><footer><button type="button" onClick=${onClose}>Back</button><button class="primary" disabled=${busy || (state.wrong && !state.unread)}>${busy ? "…" : verb}</button></footer></form></${Dialog}>`;
}
