// Runbooks: for each line that the overview may show, its meaning, and the steps to take. The texts are those of
// docs/runbooks.md.
import { html } from "../parts/html.js";
import { Card, Command, Empty, Failure, Head } from "../parts/basic.js";
import { useLive } from "../net/live.js";

let loaded;

/// The texts come with the page, and are loaded when somebody first looks at them.
function load() {
  loaded ??= fetch(new URL("../runbooks.json", import.meta.url)).then((answer) => {
    if (!answer.ok) throw new Error("The runbooks cannot be loaded.");
    return answer.json();
  }).catch((error) => { loaded = undefined; throw error; });
  return loaded;
}

const withCode = (text) => text.split(/`([^`]*)`/).map((piece, i) => (i % 2 ? html`<code>${piece}</code>` : piece.replace(/\*([^*]+)\*/g, "$1")));

export function Runbooks({ path }) {
  const live = useLive(load, [], 0);
  const all = live.value;
  const one = path[0] && all?.find((each) => each.id === path[0]);
  const crumbs = path[0] ? [["Runbooks", "/runbooks"]] : [];
  if (path[0]) return html`<${Head} title=${one?.title || "Runbook"} crumbs=${crumbs} /><${Failure} error=${live.error} retry=${live.refresh} />
    ${all && !one && html`<${Empty}>There is no runbook of this name. <a href="/runbooks">All runbooks</a></${Empty}>`}
    ${one && html`<div class="runbook">${one.steps.map((step) => html`<${Card} title=${step.name}><p>${withCode(step.text)}</p>${step.commands.map((command) => html`<div><${Command} text=${command} /></div>`)}</${Card}>`)}</div>`}`;
  return html`<${Head} title="Runbooks"><p class="dim small">One for each line that the overview may show.</p></${Head}><${Failure} error=${live.error} retry=${live.refresh} />
    ${all && html`<${Card}><ul class="links">${all.map((each) => html`<li><a href=${`/runbooks/${each.id}`}>${each.title}</a></li>`)}</ul></${Card}>`}`;
}
