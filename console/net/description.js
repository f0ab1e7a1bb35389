// The api's own description of itself, read once: the source of the forms. With it come the names of the kinds of job
// that users have declared.
import { api } from "./api.js";

let document_;

/// Returns the names; none while they cannot be had.
export const ownKinds = () => api.get("/v1/kinds").then((page) => page.kinds.filter((each) => each.own).map((each) => each.kind), () => []);

export async function description() {
  document_ ??= api.get("/openapi.json").catch((error) => { document_ = undefined; throw error; });
  const [document, own] = await Promise.all([document_, ownKinds()]);
  return { ...document, ownKinds: own };
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

/// Returns the schema of each kind of job: of those that are built in, and of those that users have declared.
export function kindsOf(document) {
  const out = {};
  for (const each of document.components.schemas.JobSpec.oneOf) {
    const schema = whole(document, each);
    for (const kind of resolved(document, schema.properties.kind).enum ?? document.ownKinds ?? []) out[kind] = schema;
  }
  return out;
}
