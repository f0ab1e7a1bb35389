// JSON whose numbers are exact: an integer that a number would round becomes a BigInt, and one with a point or an
// exponent becomes a Double. Each is written back as it was.
const piece = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const long = /^-?\d{16,}$/;
const double = /^(?:-0|-?\d.*[.eE].*)$/;
// Nobody can guess the mark, so no stored text is taken for a number.
const mark = `number ${[...crypto.getRandomValues(new Uint32Array(4))].join("-")}:`;
const marked = new RegExp(`"${mark}([^"]+)"`, "g");

/// The text of a number is its type: 5.0 is a Double in a table, and 5 is an Int32.
export class Double extends Number {
  #text;
  constructor(text) { super(text); this.#text = text; }
  toString() { return this.#text; }
}

export const hasMembers = (value) => typeof value === "object" && value !== null && !(value instanceof Double);

/// `doubles`: false for figures, which are computed with and not written back: they become plain numbers.
export function parseExact(text, { doubles = true } = {}) {
  const safe = text.replace(piece, (found) => (long.test(found) || (doubles && double.test(found)) ? JSON.stringify(mark + found) : found));
  if (safe.length === text.length) return JSON.parse(text);
  return JSON.parse(safe, (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? exactNumber(value.slice(mark.length)) : value);
}

const deepest = 64;  // the api's limit; code that shows a value recurses into it

/// Does the same for any text: returns undefined if it is not JSON, or is nested too deep to be shown as JSON.
export function parseSome(text) {
  let depth = 0;
  for (const bracket of text.match(/[[\]{}]/g) || []) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    if (depth > deepest) return undefined;
  }
  try { return parseExact(text); } catch { return undefined; }
}

function exactNumber(text) {
  if (double.test(text)) return new Double(text);
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

export function textOf(value, indent = 0) {
  const text = JSON.stringify(value, (_, each) => (typeof each === "bigint" || each instanceof Double ? `${mark}${each.toString()}` : each), indent);
  return text === undefined ? "" : text.replace(marked, "$1");
}
