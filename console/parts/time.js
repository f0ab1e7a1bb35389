// Times: how long ago, and the exact time in UTC or the browser's zone.
import { html } from "./html.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { useSettings } from "../shell/settings.js";

const ticking = new Set();
setInterval(() => { if (!document.hidden) for (const tick of ticking) tick((n) => n + 1); }, 5_000);

function useTick() {
  const [, tick] = useState(0);
  useEffect(() => { ticking.add(tick); return () => ticking.delete(tick); }, []);
}

/// Draws the component anew every second, while `on`.
export function useSeconds(on) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(() => { if (!document.hidden) tick((n) => n + 1); }, 1_000);
    return () => clearInterval(timer);
  }, [on]);
}

const two = (number) => String(number).padStart(2, "0");

export function exactTime(text, utc) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return String(text);
  if (utc) return `${time.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const offset = -time.getTimezoneOffset();
  const zone = offset === 0 ? "UTC" : `UTC${offset < 0 ? "−" : "+"}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())} ${zone}`;
}

export function duration(seconds) {
  if (seconds === undefined || seconds === null) return "–";
  if (seconds < 0.001) return "0 s";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

export function relative(text) {
  const seconds = (Date.now() - new Date(text).getTime()) / 1000;
  const size = Math.abs(seconds);
  const said = size < 5 ? "now" : size < 60 ? `${Math.round(size)} s` : size < 3600 ? `${Math.round(size / 60)} min`
    : size < 172_800 ? `${Math.round(size / 3600)} h` : `${Math.round(size / 86_400)} d`;
  return said === "now" ? said : seconds > 0 ? `${said} ago` : `in ${said}`;
}

export function When({ at, both }) {
  const { utc } = useSettings();
  useTick();
  if (!at) return html`<span class="dim">–</span>`;
  const exact = exactTime(at, utc);
  return html`<time datetime=${at} title=${exact}>${both ? `${exact} · ${relative(at)}` : relative(at)}</time>`;
}
