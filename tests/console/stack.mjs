// A stack for one test file: the real programs on free ports with a data directory of their own.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "../support/ports.mjs";

export const token = "the-token-of-all-tests";
const bin = process.env.TIDEMARK_BIN;
const readyWithinMs = 60_000;

export class Stack {
  data = mkdtempSync(path.join(tmpdir(), "tmc"));
  children = new Map();
  ports = {};

  /// `api`: further arguments of the api.
  async up(...api) {
    for (const store of ["table_store", "queue_service", "blob_store"]) await this.start(store);
    await this.start("api", ...api);
    await this.start("worker", "--name", "worker-1", "--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "100", "--lease-s", "5");
  }

  /// A program that is started again keeps its port.
  async start(program, ...more) {
    if (program !== "worker") this.ports[program] ??= await freePort();
    const port = program === "worker" ? [] : ["--port", String(this.ports[program])];
    const child = spawn(path.join(bin, program), ["--data", this.data, ...port, ...more], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, TIDEMARK_TOKEN: token } });
    child.said = "";
    child.stderr.on("data", (piece) => (child.said = (child.said + piece).slice(-20_000)));
    this.children.set(program, child);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${program} is not ready: ${child.said}`)), readyWithinMs);
      child.on("exit", () => reject(new Error(`${program} ended: ${child.said}`)));
      child.stdout.on("data", (line) => {
        if (!String(line).startsWith("ready")) return;
        clearTimeout(timer);
        resolve();
      });
    });
  }

  signal(program, name) { this.children.get(program).kill(name); }

  kill(program) {
    const child = this.children.get(program);
    if (!child || child.exitCode !== null || child.signalCode) return undefined;
    return new Promise((resolve) => { child.on("exit", resolve); child.kill("SIGKILL"); });
  }

  async down() {
    for (const program of this.children.keys()) await this.kill(program);
    rmSync(this.data, { recursive: true, force: true });
  }

  get url() { return `http://127.0.0.1:${this.ports.api}`; }

  importEntities(table, entities) {
    execFileSync(path.join(bin, "tidemark"), ["--table-url", `http://127.0.0.1:${this.ports.table_store}/devstoreaccount1`, "--data", this.data, "table", "import", table],
      { input: entities.map((each) => JSON.stringify(each)).join("\n"), env: { ...process.env, TIDEMARK_TOKEN: token } });
  }

  /// Sends a request to one of the account's own queues, by the public protocol and with a signature that the api
  /// makes.
  ofQueue(method, queue, ending, body) { return this.signed("q", "queue_service", method, `${queue}${ending}`, body); }
  /// Sends a request to one of the account's own blobs in the same way.
  ofBlob(method, blob, body, headers) { return this.signed("b", "blob_store", method, blob, body, { "x-ms-version": "2023-11-03", ...headers }); }
  async signed(services, store, method, target, body, headers = {}) {
    const { token: signature } = await this.call("POST", "/v1/sas", { kind: "account", services, resourceTypes: "sco", permissions: "rwdlacupt", expiresIn: 3600 });
    const response = await fetch(`http://127.0.0.1:${this.ports[store]}/devstoreaccount1/${target}?${signature}`, { method, body, headers });
    if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${await response.text()}`);
  }
  putQueue(queue) { return this.ofQueue("PUT", queue, ""); }
  putMessage(queue, text) { return this.ofQueue("POST", queue, "/messages", `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`); }

  async call(method, target, body, headers = {}) {
    const response = await fetch(this.url + target, { method, body: body === undefined ? undefined : typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body), headers: { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers } });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  submit(spec) { return this.call("POST", "/v1/jobs", spec); }

  /// Submits a job that fails, since its table is missing; returns it when its message is poison, which is a little later
  /// than its record says.
  async poisoned(source, rowKey) {
    const job = await this.submit({ kind: "archive", source, destination: "Old", partitionKey: "p", rowKey });
    await until(() => this.call("GET", `/v1/poison/${job.id}`).catch(() => null), `the message of ${job.id}`);
    return job;
  }
}

/// Waits until the condition holds.
export async function until(condition, what, withinMs = 60_000) {
  const end = Date.now() + withinMs;
  for (;;) {
    const outcome = await condition();
    if (outcome) return outcome;
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
