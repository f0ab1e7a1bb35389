// Containers and blobs: folders by the names' slashes, a blob with its properties and the beginning of its content,
// upload, download and deletion.
import { html } from "../parts/html.js";
import { useLayoutEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { api, at, part } from "../net/api.js";
import { parseSome } from "../net/exact.js";
import { useLive, usePages } from "../net/live.js";
import { Badge, Card, Confirm, Dialog, Facts, Failure, Head, Toggle, useAction } from "../parts/basic.js";
import { Counted, useCounted } from "../parts/counted.js";
import { Destroy } from "../parts/destroy.js";
import { List, More, Search } from "../parts/list.js";
import { NameSearch } from "../parts/names.js";
import { Allowed, WhyNot } from "../parts/rights.js";
import { When } from "../parts/time.js";
import { bytes, Copyable, count, Json, many, Text, visible } from "../parts/text.js";
import { go, refine } from "../shell/router.js";
import { useMay } from "../shell/who.js";
import { AccessButton } from "./access.js";

export function Blobs({ path, query }) {
  if (path[0] && query.blob) return html`<${Blob} key=${`${path[0]} ${query.blob}`} container=${path[0]} name=${query.blob} />`;
  if (path[0]) return html`<${Container} key=${path[0]} container=${path[0]} query=${query} />`;
  return html`<${All} query=${query} />`;
}

const place = (container, query) => at(`/containers/${part(container)}`, query);
const route = (container, what, query) => at(`/v1/containers/${part(container)}/${what}`, query);
const folderOf = (name) => name.slice(0, name.slice(0, -1).lastIndexOf("/") + 1);
/// A container that only Tidemark itself changes.
const isOurs = (container) => container.startsWith("tidemark") || container === "$logs";
const lastOf = (name) => name.slice(folderOf(name).length);

const pageSize = 50;
const sized = (row) => (row.bytes === undefined ? "" : `${bytes(row.bytes)}${row.complete ? "" : " or more"}`);

function All({ query }) {
  const pages = useCounted("containers", query.q, pageSize);
  const [making, setMaking] = useState(false);
  return html`<${Head} title="Containers" actions=${html`<${Allowed} role="operator" class="primary" onClick=${() => setMaking(true)}>New container…</${Allowed}>`} />
    <div class="filters"><${NameSearch} of="containers" value=${query.q} onChange=${(q) => refine({ q })} /></div>
    <${List} label="Containers" kind="lines" failed=${pages.error} items=${pages.items} href=${(row) => place(row.name)} empty="There is no such container." columns=${[
      { name: "Name", of: (row) => html`<a href=${place(row.name)}><${Text} value=${row.name} /></a>` }, { name: "Blobs", number: true, of: (row) => html`<${Counted} number=${row.blobs} complete=${row.complete} what="Blobs" />` }, { name: "Size", number: true, of: sized }, { name: "Public", of: (row) => (row.publicAccess ? html`<${Badge} tone="warn" state=${row.publicAccess} />` : "") },
      { name: "Lease", of: (row) => (row.leased ? html`<${Badge} tone="info" state="leased" />` : "") }, { name: "Changed", of: (row) => html`<${When} at=${row.changedAt} />` }]} />
    <${More} pages=${pages} what="container" /><${WhyNot} />
    ${making && html`<${NewContainer} onClose=${() => setMaking(false)} />`}`;
}

function NewContainer({ onClose }) {
  const [name, setName] = useState("");
  return html`<${Confirm} title="New container" verb="Create" tone="primary" run=${async (reason) => { await api.put(`/v1/containers/${part(name)}`, undefined, reason); go(place(name)); }} onClose=${onClose}>
    <label class="field"><span>Name</span><input required pattern="[a-z0-9](-?[a-z0-9])+" minlength="3" maxlength="63" spellcheck=${false} autocomplete="off" value=${name} onInput=${(e) => setName(e.target.value)} /><small>Lower-case letters, digits and hyphens</small></label></${Confirm}>`;
}

function Container({ container, query }) {
  const prefix = query.prefix || "";
  const flat = query.flat === "1";
  const pages = usePages(async (continuation, signal) => {
    const page = await api.get(route(container, "blobs", { prefix, delimiter: flat ? "" : "/", limit: 200, continuation }), { signal });
    return { items: page.blobs.map((each) => ({ ...each, id: each.name })), continuation: page.continuation };
  }, [container, prefix, flat], 10_000);
  const [acting, setActing] = useState("");
  const [selected, setSelected] = useState(new Set());
  useLayoutEffect(() => setSelected(new Set()), [container, prefix, flat]);
  const ours = isOurs(container);
  const may = useMay("operator") && !ours;
  const close = () => setActing("");
  const chosen = (pages.items || []).filter((each) => !each.folder && selected.has(each.id));
  const folders = prefix.split("/").slice(0, -1);
  const crumbs = [["Containers", "/containers"], ...(prefix ? [[container, place(container)]] : []), ...folders.slice(0, -1).map((each, i) => [visible(each) || "(empty)", place(container, { prefix: `${folders.slice(0, i + 1).join("/")}/` })])];
  const href = (row) => place(container, row.folder ? { prefix: row.name } : { blob: row.name });
  return html`<${Head} title=${folders.length ? folders.at(-1) || "(empty)" : container} crumbs=${crumbs} actions=${html`<${Toggle} label="Shown as" value=${flat ? "flat" : "folders"} options=${[["folders", "Folders"], ["flat", "All names"]]} onChange=${(to) => refine({ flat: to === "flat" ? "1" : "" })} />
      ${may && html`<button type="button" class="primary" onClick=${() => setActing("upload")}>Upload…</button>`}<${AccessButton} of="containers" name=${container} own=${ours} />${!ours && html`<${Allowed} role="admin" class="danger" onClick=${() => setActing("drop")}>Drop…</${Allowed}>`}`} />
    <div class="filters"><${Search} label="Names that begin with" value=${prefix} onChange=${(to) => refine({ prefix: to })} /></div>
    <${List} label="Blobs" kind="lines" selected=${may ? selected : undefined} onSelect=${setSelected} selectable=${(row) => !row.folder} failed=${pages.error} items=${pages.items} href=${href} empty=${prefix ? "No blob has a name like this." : "This container is empty."} columns=${[
      { name: "Name", wide: true, of: (row) => html`<a href=${href(row)}>${row.folder ? "▸ " : ""}<${Text} value=${flat ? row.name : row.name.slice(folderOf(prefix.endsWith("/") ? `${prefix}x` : prefix).length)} most=${160} /></a>` },
      { name: "Size", number: true, of: (row) => (row.folder ? "" : bytes(row.size)) }, { name: "Type", of: (row) => html`<${Text} value=${row.contentType} most=${60} />` },
      { name: "Tier", of: (row) => row.tier || "" }, { name: "Changed", of: (row) => (row.folder ? "" : html`<${When} at=${row.changedAt} />`) }]} />
    <${More} pages=${pages} what="name" />
    ${chosen.length > 0 && html`<div class="bulk" role="region" aria-label="Selected blobs"><span>${many(chosen.length, "blob")} selected, ${bytes(chosen.reduce((sum, each) => sum + Number(each.size), 0))}</span><button type="button" class="danger" onClick=${() => setActing("delete")}>Delete ${chosen.length}…</button><button type="button" onClick=${() => setSelected(new Set())}>Select none</button></div>`}
    <${WhyNot} own=${ours} admin="Dropping the container" />
    ${acting === "upload" && html`<${Upload} container=${container} prefix=${prefix} onClose=${close} onDone=${(name) => go(place(container, { blob: name }))} />`}
    ${acting === "delete" && html`<${DeleteSome} container=${container} selected=${chosen} onDone=${() => { setSelected(new Set()); pages.refresh(); }} onClose=${close} />`}
    ${acting === "drop" && html`<${Destroy} title=${`Drop the container ${container}?`} name=${container} verb="Drop the container" run=${(reason) => api.remove(`/v1/containers/${part(container)}`, reason).then(() => go("/containers"))} onClose=${close}><p>The container is deleted with all of its blobs, and cannot be brought back.</p></${Destroy}>`}`;
}

/// `replaces`: the blob that the upload replaces, if that is still as it was shown.
function Upload({ container, prefix = "", replaces, onClose, onDone }) {
  const [file, setFile] = useState(null);
  const [name, setName] = useState(replaces?.name || prefix);
  const [type, setType] = useState("");
  const [reason, setReason] = useState("");
  const [abort] = useState(new AbortController());
  const [condition] = useState(replaces ? { "If-Match": replaces.etag } : { "If-None-Match": "*" }); // as it was shown
  const take = (e) => { const found = e.target.files[0]; setFile(found); if (!found || replaces) return; setType(found.type); setName(prefix + found.name); };
  const [send, busy, error] = useAction(async () => {
    await api.upload(route(container, "content", { name, contentType: type }), file, reason.trim(), condition, abort.signal);
    onClose();
    onDone(name);
  });
  const close = () => { abort.abort(); onClose(); };
  return html`<${Dialog} title=${replaces ? "Replace the content" : "Upload a blob"} onClose=${close}><form onSubmit=${(e) => { e.preventDefault(); send(); }}>
    <label class="field"><span>File</span><input type="file" required onChange=${take} /></label>
    ${!replaces && html`<label class="field"><span>Name of the blob</span><input required maxlength="1024" spellcheck=${false} autocomplete="off" value=${name} onInput=${(e) => setName(e.target.value)} /><small>A blob that is there already is not replaced</small></label>`}
    <label class="field"><span>Media type</span><input spellcheck=${false} placeholder=${replaces ? replaces.contentType : "application/octet-stream"} value=${type} onInput=${(e) => setType(e.target.value)} />${replaces && html`<small>Empty: as it is. Metadata, tags and the other headers stay, but not the encoding</small>`}</label>
    <label class="field"><span>Reason, for the audit trail</span><input required maxlength="200" value=${reason} onInput=${(e) => setReason(e.target.value)} /></label>
    ${busy && html`<p role="status">Sending ${bytes(file.size)}… It is seen when it is whole.</p>`}
    <${Failure} error=${error} /><footer><button type="button" onClick=${close}>${busy ? "Stop" : "Back"}</button><button class="primary" disabled=${busy || !file}>${busy ? "…" : "Upload"}</button></footer></form></${Dialog}>`;
}

function Pairs({ title, of }) {
  const names = Object.keys(of || {});
  return names.length > 0 && html`<${Card} title=${title}><${Facts} items=${names.map((name) => [html`<bdi>${visible(name)}</bdi>`, html`<${Text} value=${of[name]} />`])} /></${Card}>`;
}

function Blob({ container, name }) {
  const live = useLive((signal) => api.get(route(container, "blob", { name }), { signal }), [container, name], 15_000);
  const [acting, setActing] = useState("");
  const ours = isOurs(container);
  const may = useMay("operator") && !ours;
  const folder = folderOf(name);
  const crumbs = [["Containers", "/containers"], [container, place(container)], ...(folder ? [[visible(lastOf(folder)), place(container, { prefix: folder })]] : [])];
  const blob = live.value;
  if (!blob) return html`<${Head} title=${lastOf(name)} crumbs=${crumbs} /><${Failure} error=${live.error} retry=${live.refresh} />`;
  const gone = () => go(place(container, { prefix: folder }));
  return html`<${Head} title=${lastOf(name)} crumbs=${crumbs} actions=${html`<a class="button" href=${route(container, "content", { name })} download>Download</a>
      ${may && html`<button type="button" onClick=${() => setActing("replace")}>Replace…</button><button type="button" class="danger" onClick=${() => setActing("delete")}>Delete…</button>`}`} />
    <${Failure} error=${live.error} retry=${live.refresh} />
    <${Card}><${Facts} items=${[["Name", html`<${Copyable} value=${name} />`], ["Size", `${bytes(blob.size)}${blob.size >= 1024 ? ` (${count(blob.size)} bytes)` : ""}`], ["Media type", html`<${Text} value=${blob.contentType} />`],
      ["Kind", blob.type], ["Tier", blob.tier], ["Lease", blob.leased ? html`<${Badge} tone="info" state="leased" />` : undefined], ["Changed", html`<${When} at=${blob.changedAt} both />`], ["Made", html`<${When} at=${blob.createdAt} both />`], ["ETag", html`<span class="mono">${blob.etag}</span>`],
      ...[["MD5", "contentMd5"], ["Encoding", "contentEncoding"], ["Language", "contentLanguage"], ["Disposition", "contentDisposition"], ["Cache control", "cacheControl"]].map(([title, member]) => blob[member] && [title, html`<${Text} value=${blob[member]} />`])]} /></${Card}>
    <${Pairs} title="Metadata" of=${blob.metadata} /><${Pairs} title="Tags" of=${blob.tags} />
    <${Card} title="Content"><${Preview} key=${blob.etag} container=${container} blob=${blob} /></${Card}>
    <${WhyNot} own=${ours} />
    ${acting === "replace" && html`<${Upload} container=${container} replaces=${blob} onClose=${() => setActing("")} onDone=${live.refresh} />`}
    ${acting === "delete" && html`<${Delete} container=${container} blob=${blob} onClose=${() => setActing("")} onDone=${gone} />`}`;
}

/// Deletes each blob as it is shown; those that somebody has changed since are named, and stay.
function DeleteSome({ container, selected, onDone, onClose }) {
  const [blobs] = useState(selected);
  const left = useRef(blobs);
  const run = async (reason) => {
    const kept = [];
    const stayed = [];
    for (const blob of left.current) {
      try { await api.remove(route(container, "blob", { name: blob.name }), reason, { "If-Match": blob.etag }); } catch (error) { stayed.push(blob); kept.push(`${blob.name}: ${error.code || ""} ${error.message}`); }
    }
    left.current = stayed;
    onDone();
    if (kept.length) throw Object.assign(new Error(`${many(kept.length, "blob")} of ${blobs.length} stayed. ${kept[0]}`), { code: "NotAllDeleted", problems: kept.slice(0, 20) });
  };
  return html`<${Destroy} title=${`Delete ${many(blobs.length, "blob")}?`} name=${blobs.length === 1 ? lastOf(blobs[0].name) : String(blobs.length)} verb=${`Delete ${blobs.length}`} run=${run} onClose=${onClose}><p>Each is deleted as it is shown; one that somebody has changed since stays, and so does one with snapshots.</p>
    <ul class="small">${blobs.slice(0, 5).map((each) => html`<li><${Text} value=${each.name} most=${120} /></li>`)}${blobs.length > 5 && html`<li>and ${blobs.length - 5} more</li>`}</ul></${Destroy}>`;
}

function Delete({ container, blob, onClose, onDone }) {
  const [snapshots, setSnapshots] = useState(false);
  const [condition] = useState({ "If-Match": blob.etag }); // as it was shown
  const run = async (reason) => { await api.remove(route(container, "blob", { name: blob.name, snapshots: snapshots ? "true" : "" }), reason, condition); onDone(); };
  return html`<${Destroy} title="Delete this blob?" name=${lastOf(blob.name)} verb="Delete" run=${run} onClose=${onClose}><p>It is deleted as it is shown; if somebody has changed it since, nothing happens.</p>
    <label class="choice"><input type="checkbox" checked=${snapshots} onChange=${(e) => setSnapshots(e.target.checked)} /><span>Its snapshots, too</span></label></${Destroy}>`;
}

const textBytes = 64 << 10;
const imageBytes = 4 << 20;
const images = [["image/png", [0x89, 0x50, 0x4e, 0x47]], ["image/jpeg", [0xff, 0xd8, 0xff]], ["image/gif", [0x47, 0x49, 0x46, 0x38]], ["image/webp", [0x52, 0x49, 0x46, 0x46, , , , , 0x57, 0x45, 0x42, 0x50]]];
/// Finds the type by the first bytes, because anybody may have written the type that a blob states.
const imageType = (content) => images.find(([, begin]) => begin.every((each, i) => content[i] === each))?.[0];

async function begin(container, name, length, signal) {
  return new Uint8Array(await (await api.raw(route(container, "content", { name, length }), { signal })).arrayBuffer());
}

function dataUrl(content, type) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new globalThis.Blob([content], { type }));
  });
}

/// The beginning of the content: {image}, {json}, {text} or {hex}.
async function lookInto(container, blob, signal) {
  let content = await begin(container, blob.name, textBytes, signal);
  const type = imageType(content);
  if (type && blob.size <= imageBytes) {
    if (content.length < blob.size) content = await begin(container, blob.name, imageBytes, signal);
    return { image: await dataUrl(content, type) };
  }
  const whole = content.length >= blob.size;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content, { stream: !whole });
    if (!text.includes("\u0000")) {
      const json = whole && /^\s*[{[]/.test(text) ? parseSome(text) : undefined;
      if (json !== undefined) return { json, whole };
      return { text, whole };
    }
  } catch { /* not text */ }
  return { hex: hexOf(content.subarray(0, 512)), whole: content.length <= 512 && whole };
}

function hexOf(content) {
  const lines = [];
  for (let i = 0; i < content.length; i += 16) {
    const row = [...content.subarray(i, i + 16)];
    lines.push(`${i.toString(16).padStart(4, "0")}  ${row.map((each) => each.toString(16).padStart(2, "0")).join(" ").padEnd(47)}  ${row.map((each) => (each >= 32 && each < 127 ? String.fromCharCode(each) : ".")).join("")}`);
  }
  return lines.join("\n");
}

function Preview({ container, blob }) {
  const live = useLive((signal) => (blob.size ? lookInto(container, blob, signal) : { text: "", whole: true }), [container, blob.name, blob.etag], 0);
  const seen = live.value;
  if (!seen) return html`<${Failure} error=${live.error} retry=${live.refresh} />`;
  if (seen.image) return html`<img class="preview" src=${seen.image} alt=${`Picture of ${visible(lastOf(blob.name))}`} />`;
  if (!blob.size) return html`<p class="dim">It is empty.</p>`;
  return html`${seen.json !== undefined ? html`<${Json} value=${seen.json} />` : html`<pre tabindex="0" aria-label="Content"><bdi>${visible(seen.text ?? seen.hex)}</bdi></pre>`}
    ${!seen.whole && html`<p class="dim small">The beginning of ${bytes(blob.size)}. Download it to see the rest.</p>`}`;
}
