// A question before something is destroyed: the user types its name.
import { html } from "./html.js";
import { useState } from "../vendor/preact/hooks.js";
import { Confirm } from "./basic.js";
import { visible } from "./text.js";

const longest = 60;
/// A name that can hardly be typed is replaced by a word.
const typeable = (name) => name !== "" && name.length <= longest && name.trim() === name && visible(name) === name;

/// A field into which the user types `name` exactly; the form is not sent before.
export function TypedName({ name }) {
  const word = typeable(name) ? name : "delete";
  const [text, setText] = useState("");
  const check = (e) => { e.target.setCustomValidity(e.target.value === word ? "" : "This is not what is asked for."); setText(e.target.value); };
  return html`<label class="field"><span>Type <bdi class="mono">${word}</bdi> to confirm</span><input required autocomplete="off" autocapitalize="off" spellcheck=${false} value=${text} onInput=${check} /></label>`;
}

/// `run(reason)` is called once the name is typed and a reason is given.
export function Destroy({ title, name, verb, run, onClose, children }) {
  return html`<${Confirm} title=${title} verb=${verb} needsReason run=${run} onClose=${onClose}>${children}<${TypedName} name=${name} /></${Confirm}>`;
}
