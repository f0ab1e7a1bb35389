// Tables are made, cleared and dropped.
import { html } from "../parts/html.js";
import { useState } from "../vendor/preact/hooks.js";
import { api, part } from "../net/api.js";
import { Confirm } from "../parts/basic.js";
import { Destroy } from "../parts/destroy.js";
import { go } from "../shell/router.js";

export function NewTable({ onClose }) {
  const [name, setName] = useState("");
  const run = async (reason) => { await api.put(`/v1/tables/${part(name)}`, undefined, reason); go(`/tables/${part(name)}`); };
  return html`<${Confirm} title="New table" verb="Create" tone="primary" run=${run} onClose=${onClose}>
    <label class="field"><span>Name</span><input required pattern="[A-Za-z][A-Za-z0-9]{2,62}" maxlength="63" spellcheck=${false} autocomplete="off" value=${name} onInput=${(e) => setName(e.target.value)} /><small>3 to 63 letters and digits, a letter first</small></label></${Confirm}>`;
}

/// Clearing is a job: it can be watched and cancelled, and the audit trail has it.
export function ClearTable({ table, onClose }) {
  const run = async (reason) => { const job = await api.post("/v1/jobs", { kind: "delete", source: table, filter: "" }, reason); go(`/jobs/${part(job.id)}`); };
  return html`<${Destroy} title=${`Delete all entities of ${table}?`} name=${table} verb="Clear the table" run=${run} onClose=${onClose}>
    <p>A job deletes every entity; the table, its policies and its feed stay. You can watch the job and cancel it; what it has deleted is gone. To be rid of the table as well, drop it, which is done at once.</p></${Destroy}>`;
}

export function DropTable({ table, onClose }) {
  return html`<${Destroy} title=${`Drop the table ${table}?`} name=${table} verb="Drop the table" run=${(reason) => api.remove(`/v1/tables/${part(table)}`, reason).then(() => go("/tables"))} onClose=${onClose}>
    <p>The table is deleted with all of its entities, and cannot be brought back. Its feed and its followers stay for a table of the same name.</p></${Destroy}>`;
}
