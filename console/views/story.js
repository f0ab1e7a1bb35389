// Attempts, and the marks between them, as a time line.
import { html } from "../parts/html.js";
import { Badge, Empty } from "../parts/basic.js";
import { duration, When } from "../parts/time.js";
import { Text } from "../parts/text.js";

const tones = { succeeded: "good", failed: "bad", lost: "warn", edited: "info", sentBack: "info" };
const most = 60;

export function Story({ attempts, before = [], after = [] }) {
  const shown = attempts.slice(-most);
  if (!attempts.length && !before.length && !after.length) return html`<${Empty}>No attempt is known.</${Empty}>`;
  return html`${attempts.length > most && html`<p class="dim small">The last ${most} of ${attempts.length}.</p>`}<ol class="line">${before}
    ${shown.map((each) => html`<li class=${tones[each.outcome] || ""}><div><${Badge} state=${each.outcome} /> ${each.number ? html`<strong>attempt ${each.number}</strong> of round ${each.round}` : html`round ${each.round}`} <span class="dim"><${When} at=${each.startedAt} both />${each.durationMs !== undefined && ` · took ${duration(Number(each.durationMs) / 1000)}`}</span></div>
      ${(each.worker || each.by) && html`<div class="dim small">by <${Text} value=${each.worker || each.by} most=${120} />${each.done ? ` · had done ${each.done}` : ""}</div>`}
      ${(each.message || each.code) && html`<div>${each.errorClass && html`<span class="badge warn">${each.errorClass}</span> `}${each.code && html`<code>${each.code}</code> `}<${Text} value=${each.message} most=${600} /></div>`}</li>`)}${after}</ol>`;
}
