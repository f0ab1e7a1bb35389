// JSON whose integers are exact: one that a number would round becomes a BigInt, and is written back as it was.
const piece = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const long = /^-?\d{16,}$/;
const mark = "\u0001integer:";
const marked = /"\\u0001integer:(-?\d+)"/g;

export function parseExact(text) {
  const safe = text.replace(piece, (found) => (long.test(found) ? JSON.stringify(mark + found) : found));
  if (safe.length === text.length) return JSON.parse(text);
  return JSON.parse(safe, (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? exactNumber(value.slice(mark.length)) : value);
}

function exactNumber(digits) {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

export function textOf(value, indent = 0) {
  const text = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? mark + each : each), indent);
  return text === undefined ? "" : text.replace(marked, "$1");
}
