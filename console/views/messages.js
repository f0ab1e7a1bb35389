// Messages are put, taken under a lease, and then changed, kept for longer, given back or deleted.
import { html } from "../parts/html.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { Act, Badge, Card, Confirm, Dialog, Failure, useAction } from "../parts/basic.js";
import { Destroy } from "../parts/destroy.js";
import { many, Text } from "../parts/text.js";
import { duration, When } from "../parts/time.js";

const encoder = new TextEncoder();
const mostBytes = 65_536;
const base64 = (text) => btoa(String.fromCharCode(...encoder.encode(text)));
const messageAddress = (queue, message) => at(`/v1/queues/${part(queue)}/messages/${part(message.id)}`, { lease: message.lease });
const number = (text) => (text === "" ? undefined : Number(text));

export function PutMessage({ queue, onDone, onClose }) {
  const [form, set] = useState({ text: "", encoded: false, delay: "", life: "", group: "", key: "" });
  const change = (member) => (e) => set({ ...form, [member]: e.target.type === "checkbox" ? e.target.checked : e.target.value });
  const run = async (reason) => {
    const bytes = encoder.encode(form.text).length;
    if (bytes > mostBytes / (form.encoded ? 4 / 3 : 1)) throw new Error(`The text has ${bytes.toLocaleString("en")} bytes; a message holds ${mostBytes.toLocaleString("en")}${form.encoded ? ", and base64 makes it a third longer" : ""}.`);
    await api.post(`/v1/queues/${part(queue)}/messages`, { text: form.encoded ? base64(form.text) : form.text, visibleInSeconds: number(form.delay), timeToLiveSeconds: number(form.life), group: form.group || undefined, idempotencyKey: form.key || undefined }, reason);
    onDone();
  };
  return html`<${Confirm} title=${`Put a message into ${queue}`} verb="Put it" tone="primary" run=${run} onClose=${onClose}>
    <label class="field"><span>Text</span><textarea rows="8" required spellcheck=${false} value=${form.text} onInput=${change("text")}></textarea><small>At most 64 KiB</small></label>
    <label class="choice"><input type="checkbox" checked=${form.encoded} onChange=${change("encoded")} /><span>Encode it as base64, as many SDKs expect</span></label>
    <div class="fields"><label class="field"><span>Visible in, seconds</span><input type="number" min="0" max="604800" placeholder="0: at once" value=${form.delay} onInput=${change("delay")} /></label>
      <label class="field"><span>Time to live, seconds</span><input type="number" min="-1" placeholder="604800: a week" value=${form.life} onInput=${change("life")} /><small>-1: it never expires</small></label>
      <label class="field"><span>Group</span><input maxlength="128" spellcheck=${false} autocomplete="off" value=${form.group} onInput=${change("group")} /><small>One message of a group is in flight at a time</small></label>
      <label class="field"><span>Idempotency key</span><input maxlength="256" spellcheck=${false} autocomplete="off" value=${form.key} onInput=${change("key")} /><small>Putting again with it within a day puts nothing new</small></label></div></${Confirm}>`;
}

export function TakeMessages({ queue, onTaken, onClose }) {
  const [form, set] = useState({ count: "1", seconds: "300" });
  const [nothing, setNothing] = useState(false);
  const [take, busy, error] = useAction(async () => {
    const page = await api.post(`/v1/queues/${part(queue)}/take`, { count: Number(form.count), visibilitySeconds: Number(form.seconds) });
    setNothing(page.messages.length === 0);
    if (!page.messages.length) return;
    onTaken(page.messages);
    onClose();
  });
  return html`<${Dialog} title=${`Take messages of ${queue}`} onClose=${onClose}><form onSubmit=${(e) => { e.preventDefault(); take(); }}>
    <p>The first messages that are ready are leased to you: nobody else can take them until the visibility timeout is over. Each take raises their dequeue count.</p>
    <div class="fields"><label class="field"><span>Messages</span><input type="number" min="1" max="32" required value=${form.count} onInput=${(e) => set({ ...form, count: e.target.value })} /></label>
      <label class="field"><span>Visibility timeout, seconds</span><input type="number" min="1" max="604800" required value=${form.seconds} onInput=${(e) => set({ ...form, seconds: e.target.value })} /></label></div>
    ${nothing && html`<p role="status">No message is ready now.</p>`}<${Failure} error=${error} /><footer><button type="button" onClick=${onClose}>Back</button><button class="primary" disabled=${busy}>${busy ? "…" : "Take"}</button></footer></form></${Dialog}>`;
}

function EditMessage({ queue, message, onSaved, onClose }) {
  const [text, setText] = useState(message.text);
  const [seconds, setSeconds] = useState("300");
  const run = async (reason) => {
    const placed = await api.patch(messageAddress(queue, message), { text: text === message.text ? undefined : text, visibilitySeconds: Number(seconds) }, reason);
    onSaved({ ...message, text, nextVisibleAt: placed.nextVisibleAt }, Number(seconds) === 0);
  };
  return html`<${Confirm} title="Change the message" verb="Save" tone="primary" needsReason run=${run} onClose=${onClose}>
    <label class="field"><span>Text</span><textarea rows="10" spellcheck=${false} value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label>
    <label class="field"><span>Visibility timeout from now, seconds</span><input type="number" min="0" max="604800" required value=${seconds} onInput=${(e) => setSeconds(e.target.value)} /><small>0: it is given back with the new text at once</small></label></${Confirm}>`;
}

/// Ticks as long as there is something to count down.
function useSecond(on) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(() => tick((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, [on]);
}

/// The messages that are leased to this page. The leases are forgotten when the user leaves it, and the messages become
/// visible again when their timeouts are over.
export function TakenMessages({ queue, taken, onChange, onDone }) {
  const [acting, setActing] = useState(null);
  useSecond(taken.length > 0);
  if (!taken.length) return null;
  const drop = (message) => { onChange(taken.filter((each) => each.id !== message.id)); onDone(); };
  const put = (message) => { onChange(taken.map((each) => (each.id === message.id ? message : each))); onDone(); };
  const give = (message) => async () => { await api.patch(messageAddress(queue, message), { visibilitySeconds: 0 }); drop(message); };
  const keep = (message) => async () => { const placed = await api.patch(messageAddress(queue, message), { visibilitySeconds: 300 }); put({ ...message, nextVisibleAt: placed.nextVisibleAt }); };
  const left = (message) => Math.floor((new Date(message.nextVisibleAt).getTime() - Date.now()) / 1000);
  return html`<${Card} title=${`${many(taken.length, "message")} taken by you`}><p class="dim small">Only this page has their leases. If you leave it, they become visible again when their timeouts are over.</p>
    <ul class="taken" aria-label="Messages that you have taken">${taken.map((message) => { const seconds = left(message); return html`<li key=${message.id}><div class="taken-text"><span class="mono">${message.id.slice(0, 8)}…</span> ${seconds > 0 ? html`<${Badge} tone="info" state=${`${duration(seconds)} left`} />` : html`<${Badge} tone="warn" state="timeout over" />`} <span class="dim small">dequeue count ${String(message.dequeueCount)}, put <${When} at=${message.insertedAt} /></span><div><${Text} value=${message.text} most=${300} /></div></div>
      <div class="actions"><button type="button" onClick=${() => setActing({ verb: "edit", message })}>Change…</button><${Act} run=${keep(message)}>Keep 5 min</${Act}><${Act} run=${give(message)}>Give back</${Act}><button type="button" class="danger" onClick=${() => setActing({ verb: "delete", message })}>Delete…</button><button type="button" class="quiet" onClick=${() => onChange(taken.filter((each) => each.id !== message.id))} aria-label=${`Hide ${message.id.slice(0, 8)}`}>✕</button></div></li>`; })}</ul>
    ${acting?.verb === "edit" && html`<${EditMessage} queue=${queue} message=${acting.message} onSaved=${(message, back) => (back ? drop(message) : put(message))} onClose=${() => setActing(null)} />`}
    ${acting?.verb === "delete" && html`<${Destroy} title="Delete this message?" name=${acting.message.id.slice(0, 8)} verb="Delete" run=${(reason) => api.remove(messageAddress(queue, acting.message), reason).then(() => drop(acting.message))} onClose=${() => setActing(null)}><p><${Text} value=${acting.message.text} most=${200} /></p></${Destroy}>`}</${Card}>`;
}
