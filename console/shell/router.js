// Every view is an address: the path names the thing that is shown, the query selects a part of it.
import { useEffect, useState } from "../vendor/preact/hooks.js";

const listeners = new Set();

export function here() {
  const path = location.pathname.split("/").filter(Boolean).map(decoded);
  return { path, query: Object.fromEntries(new URLSearchParams(location.search)), href: location.pathname + location.search };
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

export function go(href, { replace = false } = {}) {
  if (href !== location.pathname + location.search) history[replace ? "replaceState" : "pushState"](null, "", href);
  tell();
}

/// The same view with other filters; empty filters are removed.
export function refine(changes, options = { replace: true }) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === undefined || value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ""), options);
}

function tell() {
  for (const listener of listeners) listener(here());
}

export function useRoute() {
  const [route, set] = useState(here());
  useEffect(() => { listeners.add(set); return () => listeners.delete(set); }, []);
  return route;
}

addEventListener("popstate", tell);
addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
  event.preventDefault();
  go(link.pathname + link.search);
  scrollTo(0, 0);
});
