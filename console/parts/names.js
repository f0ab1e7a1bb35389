// Names of tables, queues and containers, offered while somebody types one.
import { html } from "./html.js";
import { useEffect, useLayoutEffect, useState } from "../vendor/preact/hooks.js";
import { api, at } from "../net/api.js";

const most = 20;
const restMs = 150;

/// Returns the names that begin with the text. `of`: "tables", "queues" or "containers". `asked`: somebody is typing.
export function useNames(of, text, asked) {
  const [names, set] = useState([]);
  useEffect(() => {
    if (!asked) return undefined;
    const abort = new AbortController();
    const ask = () => api.get(at(`/v1/${of}`, { prefix: text.trim(), limit: most }), { signal: abort.signal }).then((page) => set(page[of].map((each) => each.name)), () => {});
    const timer = setTimeout(ask, restMs);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [of, text, asked]);
  return names;
}

export const Offers = ({ id, values }) => html`<datalist id=${id}>${values.map((each) => html`<option value=${each} />`)}</datalist>`;

/// A field for a name; the attributes go to the input.
export function NameInput({ of, value, onInput, ...attributes }) {
  const [asked, setAsked] = useState(false);
  const names = useNames(of, value, asked);
  const id = `names-${of}-${attributes.name || "field"}`;
  return html`<input list=${id} autocomplete="off" spellcheck=${false} value=${value} onFocus=${() => setAsked(true)} onInput=${(e) => onInput(e.target.value)} ...${attributes} /><${Offers} id=${id} values=${names} />`;
}

/// A search by the beginning of a name; `/` goes to it, and its text is part of the address.
export function NameSearch({ of, value = "", onChange }) {
  const [text, set] = useState(value);
  useLayoutEffect(() => set(value), [value]);
  const take = (typed) => { set(typed); if (typed === "") onChange(""); };
  return html`<form class="search" role="search" aria-label="Names that begin with" onSubmit=${(e) => { e.preventDefault(); onChange(text.trim()); }}>
    <label><span class="sr">Names that begin with</span><${NameInput} of=${of} name="prefix" type="search" data-search="" placeholder="Names that begin with" value=${text} onInput=${take} /></label></form>`;
}
