// JSON whose integers are exact: one that a number would round becomes a BigInt, and is written back as it was.
const piece = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const long = /^-?\d{16,}$/;
// Nobody can guess it, so no text that somebody stored is taken for a number.
const mark = `integer ${[...crypto.getRandomValues(new Uint32Array(4))].join("-")}:`;
const marked = new RegExp(`"${mark}(-?\\d+)"`, "g");

export function parseExact(text) {
  const safe = text.replace(piece, (found) => (long.test(found) ? JSON.stringify(mark + found) : found));
  if (safe.length === text.length) return JSON.parse(text);
  return JSON.parse(safe, (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? exactNumber(value.slice(mark.length)) : value);
}

const deepest = 64;  // as the api has it: whoever shows a value recurses into it

/// The same of text that may be anything: undefined if it is not JSON, or is nested too deep to be shown as such.
export function parseSome(text) {
  let depth = 0;
  for (const bracket of text.match(/[[\]{}]/g) || []) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    if (depth > deepest) return undefined;
  }
  try { return parseExact(text); } catch { return undefined; }
}

function exactNumber(digits) {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

export function textOf(value, indent = 0) {
  const text = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? mark + each : each), indent);
  return text === undefined ? "" : text.replace(marked, "$1");
}
