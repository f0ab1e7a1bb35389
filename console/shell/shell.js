// The frame around every view: navigation, the signed-in person, theme, zone, pause, keys.
import { html } from "../parts/html.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { signOut } from "../net/api.js";
import { Act, Dialog, Head, Toggle } from "../parts/basic.js";
import { visible } from "../parts/text.js";
import { useKeys } from "./keys.js";
import { go, useRoute } from "./router.js";
import { useHealthWatch } from "../net/health.js";
import { Away } from "./away.js";
import { change, current, useSettings } from "./settings.js";
import { Who } from "./who.js";
import { views } from "../views/all.js";

const zones = [["local", "Local"], ["utc", "UTC"]];

export function Shell({ who, onSignOut }) {
  const route = useRoute();
  const { theme, utc, paused } = useSettings();
  const [help, setHelp] = useState(false);
  const [open, setOpen] = useState(false);
  const name = route.path[0] || "overview";
  const view = views.find((each) => each.name === name);
  const jump = (to) => go(to === "overview" ? "/" : `/${to}`);
  const [chord, setChord] = useState(0);
  useHealthWatch(paused);
  useKeys({
    "?": () => setHelp(true),
    "/": () => document.querySelector("[data-search]")?.focus(),
    p: () => change({ paused: !current().paused }),
    g: () => setChord(Date.now()),
    ...(Date.now() - chord < 1500 ? Object.fromEntries(views.filter((each) => each.key).map((each) => [each.key, () => { setChord(0); jump(each.name); }])) : {}),
  });
  useEffect(() => setOpen(false), [route.href]);
  const leave = async () => { await signOut(); onSignOut(); };
  return html`<${Who.Provider} value=${who}><a class="skip" href="#view" onClick=${(e) => { e.preventDefault(); document.getElementById("view").focus(); }}>Skip to content</a>
    <div class=${`shell ${open ? "open" : ""}`}>
    <header class="top"><a class="brand" href="/"><span class="mark" aria-hidden="true"></span>Tidemark</a>
      <button type="button" class="quiet menu" aria-expanded=${open} aria-controls="nav" onClick=${() => setOpen(!open)}>Menu</button></header>
    <nav id="nav" aria-label="Views"><ul>${views.filter((each) => each.title && (!each.sessions || who.sessions)).map((each) => html`<li class=${each.apart ? "apart" : ""}><a href=${each.name === "overview" ? "/" : `/${each.name}`} aria-current=${each.name === (view?.under || name) ? "page" : undefined}>${each.title}</a></li>`)}</ul>
      <div class="settings">
        <button type="button" aria-pressed=${paused} onClick=${() => change({ paused: !paused })}>${paused ? "Paused: resume" : "Pause updates"}</button>
        <${Toggle} label="Times" value=${utc ? "utc" : "local"} options=${zones} onChange=${(zone) => change({ utc: zone === "utc" })} />
        <${Toggle} label="Theme" value=${theme} options=${[["system", "Auto"], ["light", "Light"], ["dark", "Dark"]]} onChange=${(to) => change({ theme: to })} />
        <div class="row"><button type="button" class="quiet" onClick=${() => setHelp(true)}>Keys <kbd>?</kbd></button>
          <${Act} tone="quiet" run=${leave} title=${`Signed in as ${who.name || who.role}`}>Sign out</${Act}></div>
        <div class="dim small">${who.name ? html`<bdi>${who.name}</bdi> · ` : ""}${who.role}</div>
      </div></nav>
    <main id="view" tabindex="-1">${paused && html`<div class="notice info">Updates are paused: what is shown may be old. <button type="button" onClick=${() => change({ paused: false })}>Resume</button></div>`}
      <${Away} lacks=${view?.lacks} />
      ${who.readOnly && html`<div class="notice info" role="status"><div>You can only read for now: you signed in while the audit trail could not be written. Your rights as the owner of the token come back by themselves when the table store answers.</div></div>`}
      ${view ? html`<${view.of} key=${name} path=${route.path.slice(1)} query=${route.query} />` : html`<${Nowhere} address=${route.href} />`}</main></div>
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}</${Who.Provider}>`;
}

/// The page at an address that belongs to no view.
function Nowhere({ address }) {
  return html`<${Head} title="There is no page at this address" /><p><code>${visible(address)}</code> belongs to none of the views. The address may be mistyped, or come from another version of the console.</p>
    <ul>${views.filter((each) => each.title).map((each) => html`<li><a href=${each.name === "overview" ? "/" : `/${each.name}`}>${each.title}</a></li>`)}</ul>`;
}

function Help({ onClose }) {
  const keys = [["/", "search or filter"], ["j, k", "next and previous row"], ["x", "select the row"], ["Enter", "open the row"], ["e", "edit the row of a table in place"], ["r", "redrive what is selected, or the row"],
    ["p", "pause and resume updates"], ["?", "these keys"], ["Esc", "close a dialog"], ...views.filter((each) => each.key).map((each) => [`g ${each.key}`, each.title])];
  return html`<${Dialog} title="Keys" onClose=${onClose}><dl class="keys">${keys.map(([key, what]) => html`<div><dt>${key.split(" ").map((each) => html`<kbd>${each}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl></${Dialog}>`;
}
