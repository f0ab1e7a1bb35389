// The one place that talks to the api: identity, requests, refusals, server-sent events. A token is exchanged for a
// cookie that no script can read. An api without sessions gets the token itself with each request; the token is then
// kept for this tab alone.
import { parseExact, textOf } from "./exact.js";

const tokenKey = "tidemark.token";
const state = { csrf: "", token: sessionStorage.getItem(tokenKey) || "", onSignedOut: () => {} };

/// A refusal or a failure, with the api's explanation.
export class Refusal extends Error {
  constructor(status, problem, fallback) {
    super(problem?.detail || problem?.title || fallback);
    this.status = status;
    this.code = problem?.code || "";
    this.requestId = problem?.requestId || "";
    this.problems = problem?.problems || [];
  }
}

async function send(method, path, { body, headers = {}, signal } = {}) {
  const all = { ...headers };
  if (body !== undefined) all["Content-Type"] ??= "application/json";
  if (state.token) all.Authorization = `Bearer ${state.token}`;
  if (method !== "GET" && state.csrf) all["X-CSRF-Token"] = state.csrf;
  try {
    return await fetch(path, { method, headers: all, body, signal, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, null, "The api does not answer. It may be restarting; this page keeps trying.");
  }
}

async function refusalOf(response) {
  const text = await response.text().catch(() => "");
  let problem = null;
  try { problem = parseExact(text); } catch { /* not an answer of the api */ }
  return new Refusal(response.status, problem, `${response.status} ${response.statusText}`);
}

async function ask(method, path, options = {}) {
  const { raw, exact = false, ...rest } = options;
  const response = await send(method, path, rest);
  if (response.status === 401) state.onSignedOut();
  if (!response.ok) throw await refusalOf(response);
  if (raw) return response;
  const text = await response.text();
  const value = text ? parseExact(text, { doubles: exact }) : null;
  if (options.withTag) return { value, tag: response.headers.get("ETag") || "" };
  return value;
}

const written = (value) => (value === undefined ? undefined : typeof value === "string" ? value : textOf(value));
/// Header values are bytes; a reason may be any text.
const reasonHeader = (reason) => (reason ? { "X-Tidemark-Reason": encodeURIComponent(reason) } : {});

/// Option `exact`: the answer will be written back, so its values keep their Doubles.
export const api = {
  get: (path, options) => ask("GET", path, options),
  post: (path, value, reason, { headers, ...options } = {}) => ask("POST", path, { ...options, body: written(value), headers: { ...reasonHeader(reason), ...headers } }),
  put: (path, value, reason, headers) => ask("PUT", path, { body: written(value), headers: { ...reasonHeader(reason), ...headers } }),
  patch: (path, value, reason) => ask("PATCH", path, { body: written(value), headers: reasonHeader(reason) }),
  remove: (path, reason, headers, signal) => ask("DELETE", path, { headers: { ...reasonHeader(reason), ...headers }, signal }),
  upload: (path, file, reason, headers, signal) => ask("PUT", path, { body: file, headers: { "Content-Type": "application/octet-stream", ...reasonHeader(reason), ...headers }, signal }),
  raw: (path, options) => ask("GET", path, { ...options, raw: true }),
};

/// PATH?NAME=VALUE for every parameter that is neither empty nor absent.
export function at(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.append(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export const part = encodeURIComponent;

/// Returns the signed-in caller: {role, name}; null: nobody.
export async function whoAmI() {
  const response = await send("GET", "/v1/session");
  if (response.ok) return remember(parseExact(await response.text()));
  if (response.status === 401) return null;
  if (response.status !== 404) throw await refusalOf(response);
  const probe = await send("GET", "/v1/kinds");
  if (probe.ok) return { role: "admin", name: "", sessions: false };
  if (probe.status === 401) { forget(); return null; }
  throw await refusalOf(probe);
}

export async function signIn(token) {
  forget();
  const response = await send("POST", "/v1/session", { body: textOf({ token }) });
  if (response.ok) return remember(parseExact(await response.text()));
  // An api without sessions refuses that route, either before or after it looks at the token.
  const sessions = response.status !== 404 && !(response.status === 401 && (await lacksSessions(token)));
  if (sessions) throw await refusalOf(response);
  state.token = token;
  const probe = await send("GET", "/v1/kinds");
  if (!probe.ok) { forget(); throw await refusalOf(probe); }
  sessionStorage.setItem(tokenKey, token);
  return { role: "admin", name: "", sessions: false };
}

async function lacksSessions(token) {
  return (await send("GET", "/v1/session", { headers: { Authorization: `Bearer ${token}` } })).status === 404;
}

function remember(session) {
  state.csrf = session.csrfToken || session.csrf || "";
  return { role: session.role || "viewer", name: session.name || "", sessions: true, readOnly: Boolean(session.readOnly) };
}

function forget() {
  state.csrf = "";
  state.token = "";
  sessionStorage.removeItem(tokenKey);
}

export async function signOut() {
  try {
    let response = state.csrf ? await send("DELETE", "/v1/session") : null;
    // Another tab has signed in anew, and this one still has the previous token.
    if (response?.status === 403 && (await whoAmI())) response = await send("DELETE", "/v1/session");
    if (response && !response.ok && response.status !== 401) throw await refusalOf(response);
  } catch (error) {
    error.message = `You are still signed in: ${error.message}`;
    throw error;
  }
  forget();
}

export function whenSignedOut(callback) {
  state.onSignedOut = () => { forget(); callback(); };
}

/// Calls onEvent(name, text) for each server-sent event until the end of the stream or the signal.
export async function follow(path, onEvent, signal) {
  const response = await send("GET", path, { headers: { Accept: "text/event-stream" }, signal });
  if (response.status === 401) state.onSignedOut();
  if (!response.ok) throw await refusalOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const lines = event.split("\n");
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const text = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (name) onEvent(name, text);
    }
  }
}
