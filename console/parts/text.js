// Shows texts of others as text: never as markup, each in a frame of its own for its direction, long ones cut at first.
import { html } from "./html.js";
import { useState } from "../vendor/preact/hooks.js";
import { parseSome, textOf } from "../net/exact.js";

/// Control characters and direction marks are shown by their code, so that no text looks like another.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
export const visible = (text) => text.replace(hidden, (c) => `\u27e8${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);

/// Returns at most so many characters, without half of one at the end.
export const beginning = (text, most) => text.slice(0, most).replace(/[\ud800-\udbff]$/, "");

export function Text({ value, most = 400 }) {
  const [whole, setWhole] = useState(false);
  const text = value === undefined || value === null ? "" : String(value);
  const cut = !whole && text.length > most;
  return html`<bdi class="text">${visible(cut ? beginning(text, most) : text)}</bdi>${text.length > most &&
    html`${cut ? "… " : " "}<button type="button" class="quiet" onClick=${(e) => { e.stopPropagation(); setWhole(cut); }}>${cut ? `all ${text.length.toLocaleString("en")} characters` : "less"}</button>`}`;
}

const token = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
const mostHighlighted = 100_000;

/// JSON, indented and in colours. `value`: a parsed value, or a text.
export function Json({ value }) {
  const [whole, setWhole] = useState(false);
  const text = typeof value === "string" ? value : textOf(value, 2);
  const most = whole ? Infinity : 20_000;
  const shown = visible(text.length > most ? beginning(text, most) : text);
  return html`<div class="json"><pre tabindex="0" aria-label="JSON"><bdi>${typeof value === "string" || shown.length > mostHighlighted ? shown : coloured(shown)}</bdi></pre>
    ${text.length > most && html`<button type="button" class="quiet" onClick=${() => setWhole(true)}>show all ${text.length.toLocaleString("en")} characters</button>`}</div>`;
}

function coloured(text) {
  const out = [];
  let end = 0;
  for (const found of text.matchAll(token)) {
    out.push(text.slice(end, found.index));
    const kind = found[1] ? (found[2] ? "name" : "string") : found[3] ? "word" : "number";
    out.push(html`<span class=${`j-${kind}`}>${found[1] || found[0]}</span>`, found[2] || "");
    end = found.index + found[0].length;
  }
  out.push(text.slice(end));
  return out;
}

export const count = (number) => (number === undefined || number === null ? "–" : number.toLocaleString("en"));
/// "1 entry", "2 entries".
export const many = (number, one) => `${count(number)} ${Number(number) === 1 ? one : `${one.replace(/y$/, "ie")}s`}`;
export const rate = (number) => (number === undefined ? "–" : number >= 100 ? Math.round(number).toLocaleString("en") : number >= 10 ? number.toFixed(0) : number > 0 ? number.toFixed(1) : "0");

export function bytes(number) {
  if (number === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = Number(number), unit = 0;
  while (value >= 1024 && unit < 4) { value /= 1024; unit += 1; }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/// Without HTTPS there is no clipboard: there the text is selected and copied the old way.
export async function copy(text) {
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text).catch(() => {});
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/// `short`: only so many characters are shown, of its beginning or, with `byEnd`, of its end, because jobs of one day
/// begin alike.
export function Id({ value, href, short = 0, byEnd = false }) {
  const text = value || "–";
  const part = byEnd ? `…${text.slice(-short)}` : `${text.slice(0, short)}…`;
  const shown = short && text.length > short + 4 ? part : text;
  const look = short ? "mono short" : "mono";
  return href ? html`<a class=${look} href=${href} title=${visible(text)}><bdi>${visible(shown)}</bdi></a>` : html`<span class=${look} title=${visible(text)}><bdi>${visible(shown)}</bdi></span>`;
}

export function Copyable({ value }) {
  const [done, set] = useState(false);
  const act = async () => { await copy(value); set(true); setTimeout(() => set(false), 1500); };
  return html`<span class="copyable"><${Id} value=${value} /> <button type="button" class="quiet" onClick=${act} aria-label="Copy">${done ? "copied" : "copy"}</button></span>`;
}

/// Returns the content of a message: JSON, also in base64, or its text.
export function bodyOf(text) {
  const value = parseSome(text);
  if (value && typeof value === "object") return value;
  if (/^[A-Za-z0-9+/]{8,}={0,2}$/.test(text) && text.length % 4 === 0) {
    try {
      const decoded = new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
      return parseSome(decoded) ?? decoded;
    } catch { /* not base64 of text */ }
  }
  return text;
}
