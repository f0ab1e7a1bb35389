// Access to a table, a queue or a container for others: signatures with an end, and stored access policies.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { textOf } from "../net/exact.js";
import { useLive } from "../net/live.js";
import { Dialog, Failure, Toggle, useAction } from "../parts/basic.js";
import { TypedName } from "../parts/destroy.js";
import { WhyNot } from "../parts/rights.js";
import { Copyable, Text, visible } from "../parts/text.js";
import { When } from "../parts/time.js";
import { useMay } from "../shell/who.js";

const kinds = {
  tables: { kind: "table", letters: { r: "Query", a: "Add", u: "Update", d: "Delete" }, usual: "r" },
  queues: { kind: "queue", letters: { r: "Peek", a: "Put", u: "Update", p: "Take and delete" }, usual: "r" },
  containers: { kind: "container", letters: { r: "Read", l: "List", a: "Append", c: "Create", w: "Write", d: "Delete", t: "Tags", x: "Delete a version", y: "Delete for good", m: "Move", e: "Execute", o: "Set owner", p: "Set permissions", f: "Find by tags", i: "Set immutability" }, usual: "rl" },
};
const mostPolicies = 5;
const two = (number) => String(number).padStart(2, "0");
/// The text of a field for a local time.
const fieldText = (time) => `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${two(time.getHours())}:${two(time.getMinutes())}`;
const timeOf = (text) => (text ? new Date(text).toISOString().replace(/\.\d+Z$/, "Z") : undefined);
/// A time that nobody has changed keeps its seconds.
const timeField = (at) => ({ text: at ? fieldText(new Date(at)) : "", at });
const timeIn = (field) => (field.at && field.text === fieldText(new Date(field.at)) ? field.at : timeOf(field.text));

function Permissions({ letters, value, onChange, label }) {
  const inOrder = Object.keys(letters);
  const toggle = (letter) => onChange(inOrder.filter((each) => (each === letter ? !value.includes(each) : value.includes(each))).join(""));
  return html`<fieldset class="picks"><legend>${label}</legend>${inOrder.map((letter) => html`<label class="choice"><input type="checkbox" checked=${value.includes(letter)} onChange=${() => toggle(letter)} /><span>${letters[letter]} <code>${letter}</code></span></label>`)}</fieldset>`;
}

function Signature({ of, name }) {
  const { kind, letters, usual } = kinds[of];
  const [form, set] = useState({ permissions: usual, ends: fieldText(new Date(Date.now() + 86_400_000)), starts: "", ip: "", https: false, reason: "" });
  const [made, setMade] = useState(null);
  const change = (member) => (e) => { set({ ...form, [member]: e.target.type === "checkbox" ? e.target.checked : e.target.value }); setMade(null); };
  const [sign, busy, error] = useAction(async () => {
    if (!form.permissions) throw new Error("Choose at least one permission.");
    setMade(await api.post("/v1/sas", { kind, name, permissions: form.permissions, expiresAt: timeOf(form.ends), startsAt: timeOf(form.starts), ip: form.ip || undefined, protocol: form.https ? "https" : undefined }, form.reason.trim()));
  });
  return html`<form onSubmit=${(e) => { e.preventDefault(); sign(); }}>
    <p class="dim small">The holder of a shared access signature (SAS) needs no account key. The signature works until it ends; to end it earlier, replace the account key.</p>
    <${Permissions} label="Permissions" letters=${letters} value=${form.permissions} onChange=${(permissions) => { set({ ...form, permissions }); setMade(null); }} />
    <div class="fields"><label class="field"><span>Ends</span><input type="datetime-local" required value=${form.ends} onInput=${change("ends")} /><small>In the time of this browser</small></label>
      <label class="field"><span>Starts</span><input type="datetime-local" value=${form.starts} onInput=${change("starts")} /><small>Empty: at once</small></label>
      <label class="field"><span>Only from</span><input placeholder="10.0.0.1 or 10.0.0.1-10.0.0.9" spellcheck=${false} value=${form.ip} onInput=${change("ip")} /><small>Empty: from anywhere</small></label></div>
    <label class="choice"><input type="checkbox" checked=${form.https} onChange=${change("https")} /><span>Only over HTTPS</span></label>
    <label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${form.reason} onInput=${change("reason")} /></label>
    <${Failure} error=${error} />
    ${made && html`<div class="notice good" role="status"><div class="secret"><strong>Made; it is shown only here.</strong> It ends <${When} at=${made.expiresAt} both />.<div class="field"><span>URL</span><${Copyable} value=${made.url} /></div><div class="field"><span>Signature</span><${Copyable} value=${made.token} /></div></div></div>`}
    <footer><button class="primary" disabled=${busy}>${busy ? "…" : "Make a signature"}</button></footer></form>`;
}

const blank = { id: "", permissions: "", startsAt: timeField(), expiresAt: timeField() };

/// Edits all policies at once, because the api replaces all.
function PolicyForm({ of, name, policies, onSaved, onCancel }) {
  const [rows, setRows] = useState(policies.map((each) => ({ ...each, permissions: each.permissions || "", startsAt: timeField(each.startsAt), expiresAt: timeField(each.expiresAt) })));
  const [reason, setReason] = useState("");
  const path = `/v1/${of}/${part(name)}/policies`;
  const gone = policies.filter((each) => !rows.some((row) => row.id === each.id));
  const set = (i, member) => setRows(rows.map((each, at) => (at === i ? { ...each, ...member } : each)));
  const [save, busy, error] = useAction(async () => {
    const now = await api.get(path);
    if (textOf(now.policies) !== textOf(policies)) throw Object.assign(new Error("Somebody else has changed the policies since they were shown. Go back to see them as they are now."), { code: "Changed" });
    await api.put(path, { policies: rows.map((each) => ({ id: each.id, permissions: each.permissions || undefined, startsAt: timeIn(each.startsAt), expiresAt: timeIn(each.expiresAt) })) }, reason.trim());
    onSaved();
  });
  return html`<form onSubmit=${(e) => { e.preventDefault(); save(); }}>
    ${rows.map((row, i) => html`<section class="card" key=${i}><div class="fields"><label class="field"><span>Id</span><input required maxlength="64" spellcheck=${false} autocomplete="off" value=${row.id} onInput=${(e) => set(i, { id: e.target.value })} /></label>
        <label class="field"><span>Starts</span><input type="datetime-local" value=${row.startsAt.text} onInput=${(e) => set(i, { startsAt: { ...row.startsAt, text: e.target.value } })} /></label>
        <label class="field"><span>Ends</span><input type="datetime-local" value=${row.expiresAt.text} onInput=${(e) => set(i, { expiresAt: { ...row.expiresAt, text: e.target.value } })} /><small>Empty: the signature says it</small></label></div>
      <${Permissions} label=${`Permissions of ${row.id || "the policy"}`} letters=${kinds[of].letters} value=${row.permissions} onChange=${(permissions) => set(i, { permissions })} />
      <button type="button" class="quiet" onClick=${() => setRows(rows.filter((_, at) => at !== i))}>Remove this policy</button></section>`)}
    <button type="button" disabled=${rows.length >= mostPolicies} onClick=${() => setRows([...rows, blank])}>Add a policy</button>${rows.length >= mostPolicies && html` <span class="dim small">There can be at most ${mostPolicies}.</span>`}
    ${gone.length > 0 && html`<div class="notice warn"><div>Signatures that refer to ${visible(gone.map((each) => each.id).join(", "))} stop working.</div></div><${TypedName} name=${name} />`}
    <label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${reason} onInput=${(e) => setReason(e.target.value)} /></label>
    <${Failure} error=${error} /><footer><button type="button" onClick=${onCancel}>Back to the policies</button><button class="primary" disabled=${busy}>${busy ? "…" : "Save the policies"}</button></footer></form>`;
}

function Policies({ of, name, may }) {
  const live = useLive((signal) => api.get(`/v1/${of}/${part(name)}/policies`, { signal }), [of, name], 0);
  const [editing, setEditing] = useState(false);
  const back = () => { setEditing(false); live.refresh(); };
  const policies = live.value?.policies;
  if (!policies) return html`<${Failure} error=${live.error} retry=${live.refresh} />`;
  if (editing) return html`<${PolicyForm} of=${of} name=${name} policies=${policies} onSaved=${back} onCancel=${back} />`;
  const told = (permissions) => [...(permissions || "")].map((each) => kinds[of].letters[each] || each).join(", ");
  return html`<p class="dim small">A signature can refer to a policy by its id. It follows each change of the policy, and stops working when the policy is removed.</p>
    ${policies.length === 0 ? html`<p class="empty">There is no stored access policy.</p>` : html`<div class="scroll" tabindex="0" role="region" aria-label="Stored access policies"><table><thead><tr>${["Id", "Permissions", "Starts", "Ends"].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
      <tbody>${policies.map((each) => html`<tr key=${each.id}><td><${Text} value=${each.id} /></td><td>${told(each.permissions) || html`<span class="dim">as the signature says</span>`}</td><td><${When} at=${each.startsAt} both /></td><td><${When} at=${each.expiresAt} both /></td></tr>`)}</tbody></table></div>`}
    <footer>${may && html`<button type="button" onClick=${() => setEditing(true)}>Change the policies</button>`}</footer>`;
}

/// `of`: "tables", "queues" or "containers". `own`: it belongs to Tidemark itself.
export function AccessButton({ of, name, own }) {
  const [open, setOpen] = useState(false);
  const may = useMay("operator") && !own;
  const [shown, setShown] = useState(may ? "sas" : "policies");
  return html`<button type="button" onClick=${() => setOpen(true)}>Access…</button>${open && html`<${Dialog} title=${`Access to ${name}`} wide onClose=${() => setOpen(false)}>
    ${may && html`<${Toggle} label="Kind of access" value=${shown} options=${[["sas", "Signature"], ["policies", "Stored policies"]]} onChange=${setShown} />`}
    ${shown === "sas" && may ? html`<${Signature} of=${of} name=${name} />` : html`<${Policies} of=${of} name=${name} may=${may} />`}<${WhyNot} own=${own} /></${Dialog}>`}`;
}
