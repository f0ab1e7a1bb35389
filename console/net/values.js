// The properties of an entity: their types, the texts by which people see and edit them, and back.
import { Double, textOf } from "./exact.js";

export const types = ["String", "Int32", "Int64", "Double", "Boolean", "DateTime", "Guid", "Binary"];
const system = new Set(["PartitionKey", "RowKey", "Timestamp", "odata.etag", "tidemark.job", "tidemark.archive"]);
const annotation = "@odata.type";

/// Returns the names of the properties that somebody gave the entity.
export const own = (entity) => Object.keys(entity).filter((name) => !system.has(name) && !name.endsWith(annotation));
export const isSystem = (name) => system.has(name) || name.endsWith(annotation);

/// Returns a copy without a prototype, which may have a property of any name.
export const bare = (entity) => Object.assign(Object.create(null), entity);

const plainTypes = { string: "String", boolean: "Boolean", number: "Int32", bigint: "Int64" };

export function typeOf(entity, name) {
  const told = entity[name + annotation];
  if (told) return String(told).replace("Edm.", "");
  const value = entity[name];
  return value instanceof Double ? "Double" : plainTypes[typeof value] || typeof value;
}

/// Returns the text of a property; undefined: the entity does not have it.
export const textIn = (entity, name) => (Object.hasOwn(entity, name) && entity[name] !== null ? String(entity[name]) : undefined);

/// Returns the ETag that belongs to an entity of a list.
export const tagOf = (entity) => `W/"datetime'${String(entity.Timestamp).replaceAll(":", "%3A")}'"`;

/// Returns the entity without what the store itself says of it: the body of a write.
export const bodyOfEntity = (entity) => Object.fromEntries(Object.entries(entity).filter(([name]) => !system.has(name.replace(annotation, ""))));

const whole = (low, high) => (text) => /^-?\d{1,19}$/.test(text) && BigInt(text) >= low && BigInt(text) <= high;
const isInt32 = whole(-2147483648n, 2147483647n);
const isInt64 = whole(-9223372036854775808n, 9223372036854775807n);
const decimal = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const special = /^(?:NaN|-?Infinity)$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,7})?)?(?:Z|[+-]\d\d:\d\d)$/;
const guid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/// For each type: whether a text is one, and the value in JSON. `told`: JSON does not imply the type.
const kinds = {
  String: { is: () => true, value: (text) => text },
  Int32: { is: isInt32, value: Number, rule: "a whole number from -2,147,483,648 to 2,147,483,647" },
  Int64: { is: isInt64, value: (text) => text, told: true, rule: "a whole number of 64 bits" },
  Double: { is: (text) => decimal.test(text) || special.test(text), value: (text) => (special.test(text) ? text : new Double(/^-?\d+$/.test(text) ? `${text}.0` : text)), told: special, rule: "a number such as 0.5, 1e300, NaN or Infinity" },
  Boolean: { is: (text) => text === "true" || text === "false", value: (text) => text === "true", rule: "true or false" },
  DateTime: { is: (text) => time.test(text) && !Number.isNaN(Date.parse(text)), value: (text) => text, told: true, rule: "a time such as 2026-01-31T22:00:00Z" },
  Guid: { is: (text) => guid.test(text), value: (text) => text, told: true, rule: "a GUID such as 00000000-0000-0000-0000-000000000000" },
  Binary: { is: (text) => base64.test(text), value: (text) => text, told: true, rule: "base64" },
};

/// Says why a text is no value of this type; empty: it is one.
export const wrongIn = (name, type, text) => (!kinds[type] ? `${name} has the type ${type}, which is none.` : kinds[type].is(text) ? "" : `${name} must be ${kinds[type].rule}.`);

/// Gives the entity a property. Throws with the reason why the text is no value of this type.
export function setProperty(entity, name, type, text) {
  const wrong = wrongIn(name, type, text);
  if (wrong) throw new Error(wrong);
  delete entity[name + annotation];
  entity[name] = kinds[type].value(text);
  const { told } = kinds[type];
  if (told === true || (told && told.test(text))) entity[name + annotation] = `Edm.${type}`;
}

/// Guesses the type that all of these texts have.
export function typeOfAll(texts) {
  const guessed = [["Int32", (text) => isInt32(text) && String(Number(text)) === text], ["Int64", (text) => isInt64(text) && String(BigInt(text)) === text], ["Double", (text) => decimal.test(text) && !/^-?0\d/.test(text)],
    ["Boolean", kinds.Boolean.is], ["DateTime", kinds.DateTime.is], ["Guid", kinds.Guid.is]];
  return texts.length ? (guessed.find(([, is]) => texts.every(is))?.[0] || "String") : "String";
}

/// Compares the values and the types of a property in two entities.
export const differs = (a, b, name) => textIn(a, name) !== textIn(b, name) || (textIn(a, name) !== undefined && typeOf(a, name) !== typeOf(b, name));

/// Returns `theirs` with what `mine` changed in `base`.
export function rebased(base, mine, theirs) {
  const out = bare(theirs);
  for (const name of new Set([...own(base), ...own(mine)])) {
    if (!differs(base, mine, name)) continue;
    delete out[name];
    delete out[name + annotation];
    if (textIn(mine, name) === undefined) continue;
    out[name] = mine[name];
    if (mine[name + annotation]) out[name + annotation] = mine[name + annotation];
  }
  return out;
}

export const jsonOf = (entity) => textOf(bodyOfEntity(entity), 2);

const keyRule = "must have at most 512 characters, without control characters, '/', '\\', '#' and '?'";
/// Says why a text cannot be a key; empty: it can.
export const wrongKey = (name, text) => (typeof text !== "string" ? `${name} must be text` : text.length > 512 || /[\u0000-\u001f\u007f-\u009f/\\#?]/.test(text) ? `${name} ${keyRule}` : "");
