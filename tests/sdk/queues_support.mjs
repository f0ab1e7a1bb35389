// Shared by the queue suites: the service, fresh queues, refusals, and requests below the SDK.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { AnonymousCredential, QueueClient, QueueServiceClient, StorageSharedKeyCredential } from "@azure/storage-queue";
import { account, key, request } from "./support.mjs";

export const url = process.env.TIDEMARK_QUEUE_URL;
export const credential = new StorageSharedKeyCredential(account, key);
const once = { retryOptions: { maxTries: 1 } };
export const service = new QueueServiceClient(url, credential, once);
export const withSas = (target, sas) => new QueueClient(`${target}?${sas}`, new AnonymousCredential(), once);
export const serviceWithSas = (sas) => new QueueServiceClient(`${url}?${sas}`, new AnonymousCredential(), once);
export const serviceWithKey = (secret) => new QueueServiceClient(url, new StorageSharedKeyCredential(account, secret), once);

// TIDEMARK_TEST_PARTS=K spreads the queues over K parts.
export const parts = process.env.TIDEMARK_TEST_PARTS;
let made = 0;
export const freshName = (prefix = "q") => `${prefix}-${process.pid}-${Date.now().toString(36)}-${++made}`;
export async function queue(options) {
  const client = service.getQueueClient(freshName());
  await client.create(parts ? { ...options, metadata: { ...options?.metadata, tidemark_parts: parts } } : options);
  return client;
}

export const fails = (promise, status, code) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.statusCode, status, error.message);
    if (code) assert.equal(error.code ?? error.details?.errorCode, code);
    return true;
  });

export async function receive(client, options) {
  return (await client.receiveMessages(options)).receivedMessageItems;
}
export async function peek(client, options) {
  return (await client.peekMessages(options)).peekedMessageItems;
}

/// Sends a signed request with exactly this path and query, which begins with "/" or "?".
export function wire(method, target, { body = "", version = "2021-02-12", headers = {}, signal, secondary = false } = {}) {
  const date = new Date().toUTCString();
  const [path, query = ""] = target.split("?", 2);
  const suffix = secondary ? "-secondary" : "";
  const named = { "x-ms-date": date, "x-ms-version": version, ...headers };
  const canonicalHeaders = Object.keys(named).map((n) => n.toLowerCase()).filter((n) => n.startsWith("x-ms-")).sort()
    .map((n) => `${n}:${Object.entries(named).find(([k]) => k.toLowerCase() === n)[1]}\n`).join("");
  const parameters = new Map();
  for (const [name, value] of new URLSearchParams(query)) parameters.set(name.toLowerCase(), value);
  const canonicalQuery = [...parameters.keys()].sort().map((n) => `\n${n}:${parameters.get(n)}`).join("");
  const length = body.length > 0 ? `${Buffer.byteLength(body)}` : "";
  const type = body.length > 0 ? "application/xml" : "";
  const text = `${method}\n\n\n${length}\n\n${type}\n\n\n\n\n\n\n${canonicalHeaders}/${account}/${account}${suffix}${path}${canonicalQuery}`;
  named.Authorization = `SharedKey ${account}:${createHmac("sha256", Buffer.from(key, "base64")).update(text, "utf8").digest("base64")}`;
  if (type) named["Content-Type"] = type;
  return request(`${url}${suffix}${target}`, { method, headers: named, body, signal });
}
export const element = (text, name) => new RegExp(`<${name}>(.*?)</${name}>`, "s").exec(text)?.[1];
