// Compares two texts line by line: which lines are gone and which are new. Longest common subsequence, bounded.
import { html } from "./html.js";
import { visible } from "./text.js";

const most = 2_000;

export function differences(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  if (a.length > most || b.length > most) return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
  const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  }
  const out = [];
  let i = 0, j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) { out.push([" ", a[i]]); i += 1; j += 1; } else if (length[i + 1][j] >= length[i][j + 1]) out.push(["-", a[i++]]);
    else out.push(["+", b[j++]]);
  }
  while (i < a.length) out.push(["-", a[i++]]);
  while (j < b.length) out.push(["+", b[j++]]);
  return out;
}

export function Diff({ before, after }) {
  const lines = differences(before, after);
  if (lines.every(([sign]) => sign === " ")) return html`<p class="dim">Nothing is changed.</p>`;
  return html`<pre class="diff" tabindex="0" aria-label="Difference to the original">${lines.map(([sign, line]) => html`<div class=${sign === "+" ? "added" : sign === "-" ? "removed" : ""}>${sign} <bdi>${visible(line)}</bdi></div>`)}</pre>`;
}
