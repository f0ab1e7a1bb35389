// The api's own description of itself, read once: the source of the forms.
import { api } from "./api.js";

let document_;

export function description() {
  document_ ??= api.get("/openapi.json").catch((error) => { document_ = undefined; throw error; });
  return document_;
}

/// Returns the schema itself for a reference to it; what stands beside the reference counts more.
export function resolved(document, schema) {
  if (!schema?.$ref) return schema;
  const { $ref, ...own } = schema;
  return { ...resolved(document, document.components.schemas[$ref.split("/").at(-1)]), ...own };
}

/// Returns the schema with the members of those of which it is made, after its own.
function whole(document, schema) {
  const { allOf = [], ...own } = resolved(document, schema);
  return { ...own, properties: Object.assign({}, own.properties, ...allOf.map((each) => whole(document, each).properties)) };
}

/// Returns the schema of each kind of job. Those that users have declared have no names here.
export function kindsOf(document) {
  const out = {};
  for (const each of document.components.schemas.JobSpec.oneOf) {
    const schema = whole(document, each);
    for (const kind of resolved(document, schema.properties.kind).enum ?? []) out[kind] = schema;
  }
  return out;
}
