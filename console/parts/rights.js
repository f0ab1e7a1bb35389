// The reason why somebody may not do something.
import { html } from "./html.js";
import { useContext } from "../vendor/preact/hooks.js";
import { useMay, Who } from "../shell/who.js";

/// A button that a person without the role sees disabled, with the reason; a viewer does not see it.
export function Allowed({ role, children, ...attributes }) {
  const may = useMay(role);
  if (!useMay("operator")) return null;
  return html`<button type="button" ...${attributes} disabled=${!may || attributes.disabled} title=${may ? attributes.title : `This needs the role ${role}.`}>${children}</button>`;
}

/// Says why a page offers no changes. `own`: it belongs to Tidemark itself.
export function WhyNot({ own = false, admin }) {
  const { role } = useContext(Who);
  const operator = useMay("operator");
  const all = useMay("admin");
  if (own) return html`<p class="dim small">This belongs to Tidemark itself, so it is not changed by hand.</p>`;
  if (!operator) return html`<p class="dim small">You have the role ${role}, which can only look. To change something you need the role operator.</p>`;
  return admin && !all ? html`<p class="dim small">${admin} needs the role admin; you have the role ${role}.</p>` : null;
}
