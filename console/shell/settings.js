// The settings of a person for this browser: theme, zone of times, pause.
import { useEffect, useState } from "../vendor/preact/hooks.js";

const key = "tidemark.settings";
const listeners = new Set();
let settings = { theme: "system", utc: false, ...stored(), paused: false };

function stored() {
  try { return JSON.parse(localStorage.getItem(key)) || {}; } catch { return {}; }
}

export const current = () => settings;

export function change(part) {
  settings = { ...settings, ...part };
  localStorage.setItem(key, JSON.stringify({ theme: settings.theme, utc: settings.utc }));
  applyTheme();
  for (const listener of listeners) listener(settings);
}

export function applyTheme() {
  const dark = settings.theme === "dark" || (settings.theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => change({}));

export function useSettings() {
  const [value, set] = useState(settings);
  useEffect(() => { listeners.add(set); return () => listeners.delete(set); }, []);
  return value;
}
