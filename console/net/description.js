// The api's own description of itself, read once: the source of the forms.
import { api } from "./api.js";

let document_;

export function description() {
  document_ ??= api.get("/openapi.json").catch((error) => { document_ = undefined; throw error; });
  return document_;
}

export const resolved = (document, schema) => (schema?.$ref ? resolved(document, document.components.schemas[schema.$ref.split("/").at(-1)]) : schema);

/// Returns the schema of each kind of job.
export function kindsOf(document) {
  const out = {};
  for (const each of document.components.schemas.JobSpec.oneOf) {
    const schema = resolved(document, each);
    for (const kind of resolved(document, schema.properties.kind).enum) out[kind] = schema;
  }
  return out;
}
