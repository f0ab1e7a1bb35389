// The clients and requests that the Table test files share.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { AzureNamedKeyCredential, AzureSASCredential, TableClient, TableServiceClient } from "@azure/data-tables";
import { account, all, key, request, sign } from "./support.mjs";

export const endpoint = process.env.TIDEMARK_TABLE_URL;
export const credential = new AzureNamedKeyCredential(account, key);
export const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
export const service = new TableServiceClient(endpoint, credential, options);
let counter = 0;
export const freshName = (prefix = "T") => `${prefix}${randomUUID().replaceAll("-", "").slice(0, 12)}${counter++}`;
export const clientOf = (table, as = credential) => new TableClient(endpoint, table, as, options);
export const sasClient = (table, sas) => clientOf(table, new AzureSASCredential(sas));
export const sasService = (sas) => new TableServiceClient(endpoint, new AzureSASCredential(sas), options);

export async function freshTable() {
  const client = clientOf(freshName());
  await client.createTable();
  return client;
}

export const query = (client, filter, more = {}) => all(client.listEntities({ queryOptions: { filter, ...more } }));
export const rows = async (client, filter) => (await query(client, filter)).map((entity) => entity.rowKey);

/// Returns the code in an error's body: JSON as the table service answers, or XML.
const codeIn = (text) => (text.startsWith("<") ? /<(?:m:)?code>(\w+)</i.exec(text)?.[1] : JSON.parse(text)["odata.error"].code);

/// For assert.rejects: expects a refusal with this status and, when given, this code and message.
export const failsWith = (status, code, message) => (error) => {
  assert.equal(error.statusCode, status, `${error.statusCode} ${error.code}: ${error.message}`);
  const body = error.response?.bodyAsText ?? "";
  if (code) assert.equal(error.details?.odataError?.code ?? error.code ?? codeIn(body || error.message), code, error.message);
  if (message) assert.match(error.details?.odataError?.message?.value ?? error.message, message);
  return true;
};

/// Sends a signed request (SharedKeyLite) to a path below the account, exactly as written.
export function raw(method, target, { headers = {}, body = "", level = "minimalmetadata", secondary = false } = {}) {
  const url = `${endpoint}${secondary ? "-secondary" : ""}${target}`;
  const [wire, parameters = ""] = url.slice(url.indexOf("/", url.indexOf("//") + 2)).split("?", 2);
  const comp = new URLSearchParams(parameters).get("comp");
  const date = new Date().toUTCString();
  const signature = sign(`${date}\n/${account}${wire}${comp === null ? "" : `?comp=${comp}`}`);
  const all = {
    "x-ms-date": date, "x-ms-version": "2019-02-02", Authorization: `SharedKeyLite ${account}:${signature}`,
    ...(level ? { Accept: `application/json;odata=${level}` } : {}),
    ...(body ? { "Content-Type": "application/json" } : {}), ...headers,
  };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return request(url, { method, headers: sent, body: text });
}

/// Returns the code of an error answer to raw().
export const codeOf = (answer) => codeIn(answer.text);

/// Returns an ETag as text that sorts by time: its fraction has all seven digits, which the service trims.
export function versionOf(etag) {
  const [, seconds, fraction = ""] = /^W\/"datetime'([^.Z]+)(?:\.(\d+))?Z'"$/.exec(decodeURIComponent(etag));
  return `${seconds}.${fraction.padEnd(7, "0")}`;
}

export const entityUrl = (table, partition, row) => {
  const quoted = (text) => `'${encodeURIComponent(text.replaceAll("'", "''"))}'`;
  return `/${table}(PartitionKey=${quoted(partition)},RowKey=${quoted(row)})`;
};
