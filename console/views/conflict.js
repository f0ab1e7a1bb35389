// A change that met another one: somebody changed, or deleted, the entity after it was read.
import { html } from "../parts/html.js";
import { differs, own, textIn, typeOf } from "../net/values.js";
import { Text } from "../parts/text.js";

function Value({ of, name }) {
  const text = textIn(of, name);
  return text === undefined ? html`<span class="dim">not there</span>` : html`<${Text} value=${text} most=${300} /> <span class="dim small">${typeOf(of, name)}</span>`;
}

/// The properties that one of the two changed. `base`: the entity as it was read; `theirs`: as it is now, null if it is
/// gone.
export function Conflict({ base, mine, theirs }) {
  if (!theirs) return html`<div class="notice warn"><div>Somebody deleted this entity after you read it. Nothing of yours was written.</div></div>`;
  const names = [...new Set([...own(base), ...own(mine), ...own(theirs)])].filter((name) => differs(base, mine, name) || differs(base, theirs, name));
  const both = (name) => differs(base, mine, name) && differs(base, theirs, name) && differs(mine, theirs, name);
  return html`<div class="notice warn"><div>Somebody else changed this entity after you read it. Nothing of yours was written yet.</div></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Both changes"><table><thead><tr>${["Property", "As you read it", "Yours", "There now"].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
      <tbody>${names.map((name) => html`<tr key=${name}><td><${Text} value=${name} most=${100} />${both(name) && html` <span class="badge bad">both changed it</span>`}</td><td><${Value} of=${base} name=${name} /></td><td><${Value} of=${mine} name=${name} /></td><td><${Value} of=${theirs} name=${name} /></td></tr>`)}</tbody></table></div>
    ${names.length === 0 && html`<p class="dim">Both have written the same.</p>`}`;
}
