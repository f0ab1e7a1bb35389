// Shared by the SDK tests: cases that can be compared with another implementation, requests below the SDK, and small
// assertions. A case may carry { azurite: "id" }: Azurite is known to answer otherwise, for the reason that
// docs/compatibility.md gives under that id; tests/sdk/compare checks that it still does. With TIDEMARK_OUTCOMES=FILE
// every case appends one JSON line to FILE with its outcome.
import { createHmac } from "node:crypto";
import { appendFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import nodeTest, { describe as nodeDescribe } from "node:test";
import { key } from "./accounts.mjs";

export { account, key, neighbour } from "./accounts.mjs";
export { after, afterEach, before, beforeEach } from "node:test";

const outcomes = process.env.TIDEMARK_OUTCOMES;
const caseTimeoutMs = 120_000;
let group = "";

export function describe(name, body) {
  nodeDescribe(name, () => {
    const outer = group;
    group = outer ? `${outer} > ${name}` : name;
    try {
      return body();
    } finally {
      group = outer;
    }
  });
}

export function test(name, options, body) {
  if (typeof options === "function") [options, body] = [{}, options];
  const { azurite, ...rest } = options;
  const id = { file: path.basename(process.argv[1]), name: group ? `${group} > ${name}` : name, azurite };
  const record = (outcome) => outcomes && appendFileSync(outcomes, `${JSON.stringify({ ...id, ...outcome })}\n`);
  nodeTest(name, { timeout: caseTimeoutMs, ...rest }, async (context) => {
    try {
      await body(context);
    } catch (error) {
      record({ passed: false, error: `${error?.message ?? error}`.slice(0, 600) });
      throw error;
    }
    record({ passed: true });
  });
}

/// Sends a request below the SDK; header names of the answer are lower case. Adds nothing but Host and Content-Length.
export function request(url, { method = "GET", headers = {}, body = "", signal } = {}) {
  const { hostname, port } = new URL(url);
  const target = url.slice(url.indexOf("/", url.indexOf("//") + 2));  // as it is written: no normalization
  return new Promise((resolve, reject) => {
    const sent = http.request({ hostname, port, path: target, method, signal, headers: { ...headers, ...(body.length > 0 || method !== "GET" ? { "Content-Length": Buffer.byteLength(body) } : {}) } }, (answer) => {
      const pieces = [];
      answer.on("data", (piece) => pieces.push(piece));
      answer.on("error", reject);
      answer.on("end", () => {
        const bytes = Buffer.concat(pieces);
        const text = bytes.toString("utf8");
        resolve({ status: answer.statusCode, headers: answer.headers, bytes, text, json: () => JSON.parse(text) });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export const sign = (text, secret = key) => createHmac("sha256", Buffer.from(secret, "base64")).update(text, "utf8").digest("base64");

export async function all(iterator) {
  const out = [];
  for await (const item of iterator) out.push(item);
  return out;
}

export const inOneHour = () => new Date(Date.now() + 3_600_000);
export const anHourAgo = () => new Date(Date.now() - 3_600_000);
