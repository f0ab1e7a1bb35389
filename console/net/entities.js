// Writes of single entities, each under the ETag with which the entity was read.
import { api, part } from "./api.js";
import { bodyOfEntity } from "./values.js";

export const addressOf = (table, partitionKey, rowKey) => `/v1/tables/${part(table)}/entity?partitionKey=${part(partitionKey)}&rowKey=${part(rowKey)}`;
export const linkTo = (table, entity) => `/tables/${part(table)}?partitionKey=${part(entity.PartitionKey)}&rowKey=${part(entity.RowKey)}`;

/// {value, tag}
export const readEntity = (address, signal) => api.get(address, { signal, withTag: true, exact: true });

/// Another user has changed the entity, or deleted it, after it was read.
export const isConflict = (error) => error?.code === "UpdateConditionNotSatisfied" || error?.code === "ResourceNotFound";

/// `body`: an entity, or the text of one.
export const replaceEntity = (address, body, tag, reason) => api.put(address, typeof body === "string" ? body : bodyOfEntity(body), reason, { "If-Match": tag });
export const insertEntity = (address, body, reason) => api.put(address, typeof body === "string" ? body : bodyOfEntity(body), reason, { "If-None-Match": "*" });
export const deleteEntity = (address, tag, reason) => api.remove(address, reason, { "If-Match": tag });

/// Returns the entity as it is now, to be shown beside a change that was refused: {value, tag}; value null: it is gone.
export async function presentEntity(address) {
  try { return await readEntity(address); } catch (error) {
    if (error.status === 404) return { value: null, tag: "" };
    throw error;
  }
}
