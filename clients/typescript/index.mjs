// Jobs, transactions and workers of Tidemark, with nothing but Node's own fetch. index.d.ts has the types and says what
// each part does.
import { hostname } from "node:os";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

const ENDED = ["succeeded", "poisoned", "cancelled"];
const CLAIM_WAIT = 5; // seconds: as long as a worker that is told to stop may still get jobs
const sleep = (ms, signal) => new Promise((resolve) => {
  if (signal?.aborted) return resolve();
  const done = () => { clearTimeout(timer); signal?.removeEventListener("abort", done); resolve(); };
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", done);
});
const given = (members) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

export class TidemarkError extends Error {
  constructor(status, problem) {
    super(`${status} ${problem.code ?? ""}: ${problem.detail ?? ""}`);
    this.name = "TidemarkError";
    this.status = status;
    this.code = problem.code ?? "";
    this.problems = problem.problems ?? [];
  }
}

function tokenOfEnvironment({ TIDEMARK_TOKEN: token, TIDEMARK_DATA: data } = process.env) {
  if (token || !data) return token ?? "";
  try {
    return readFileSync(`${data}/run/token`, "utf8").trim();
  } catch {
    return "";
  }
}

export class Client {
  constructor({ url = process.env.TIDEMARK_API ?? "http://127.0.0.1:10003", token = tokenOfEnvironment(),
    timeout = 60 } = {}) {
    this.url = url.replace(/\/$/, "");
    this.headers = token ? { Authorization: `Bearer ${token}` } : {};
    this.timeout = timeout;
  }

  async call(method, path, body) {
    const headers = body === undefined ? this.headers : { ...this.headers, "Content-Type": "application/json" };
    const answer = await fetch(this.url + path, { method, headers, body: JSON.stringify(body), redirect: "error",
      signal: AbortSignal.timeout(this.timeout * 1000) });
    const text = await answer.text();
    if (answer.status >= 400) throw new TidemarkError(answer.status, parsed(text));
    return text ? JSON.parse(text) : undefined;
  }

  async submit(kind, members = {}, { wait = 0 } = {}) {
    const atOnce = Math.min(Math.floor(wait), 30); // the api waits no longer
    const job = await this.call("POST", "/v1/jobs" + (atOnce > 0 ? `?wait=${atOnce}` : ""), { kind, ...members });
    return wait > atOnce && !ENDED.includes(job.state) ? this.wait(job.id, wait - atOnce) : job;
  }

  plan(kind, members = {}) { return this.call("POST", "/v1/jobs?dryRun=true", { kind, ...members }); }
  job(id) { return this.call("GET", `/v1/jobs/${encodeURIComponent(id)}`); }
  cancel(id) { return this.call("POST", `/v1/jobs/${encodeURIComponent(id)}/cancel`); }
  redrive(id, spec) { return this.call("POST", `/v1/poison/${encodeURIComponent(id)}/redrive`, spec); }
  putKind(name, members = {}) { return this.call("PUT", `/v1/kinds/${encodeURIComponent(name)}`, members); }
  rule(method, table, name, { action, ...members } = {}) {
    const path = `/v1/tables/${encodeURIComponent(table)}/onChange/${encodeURIComponent(name)}${action ? `/${action}` : ""}`;
    return this.call(method, path, Object.keys(members).length ? members : undefined);
  }

  async wait(id, timeout = 60) {
    const end = performance.now() + timeout * 1000;
    for (let pause = 5; ; pause = Math.min(2 * pause, 500)) {
      const job = await this.job(id);
      const left = end - performance.now();
      if (ENDED.includes(job.state) || left <= 0) return job;
      await sleep(Math.min(pause, left));
    }
  }

  async* jobs(which = {}) {
    for (let continuation; ;) {
      const page = await this.call("GET", "/v1/jobs?" + new URLSearchParams(given({ limit: "1000", ...which, continuation })));
      yield* page.jobs;
      continuation = page.continuation;
      if (!continuation) return;
    }
  }

  // Yields the names of the events of a stream until it ends or the signal is aborted.
  async* events(path, signal) {
    const answer = await fetch(this.url + path, { headers: this.headers, signal });
    if (!answer.ok) throw new TidemarkError(answer.status, parsed(await answer.text()));
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of answer.body) {
      text += decoder.decode(piece, { stream: true });
      const lines = text.split("\n");
      text = lines.pop();
      for (const line of lines) if (line.startsWith("event: ")) yield line.slice(7);
    }
  }
}

function parsed(text) {
  try {
    const found = JSON.parse(text);
    return typeof found === "object" && found ? found : { detail: text.slice(0, 300) };
  } catch {
    return { detail: text.slice(0, 300) };
  }
}

export const int64 = (value) => ({ type: "Int64", value: String(value) });
export const double = (value) => ({ type: "Double", value });
export const guid = (value) => ({ type: "Guid", value });
export const literal = (text) => text.replaceAll("{", "{{").replaceAll("}", "}}");

function valueOf(value) {
  if (typeof value === "bigint") return int64(value);
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) > 2 ** 31 - 1) return int64(value);
  if (value instanceof Date) return { type: "DateTime", value: value.toISOString() };
  if (value instanceof Uint8Array) return { type: "Binary", value: Buffer.from(value).toString("base64") };
  return value;
}
const valuesOf = (values) => values && Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valueOf(value)]));
const contentOf = (content) => (typeof content === "string" ? { text: content } : { json: content });

export class Entity {
  constructor(transaction, target) { Object.assign(this, { transaction, target }); }
  put(entity) { return this.transaction.step("put", { ...this.target, entity: valuesOf(entity) }); }
  insert(entity) { return this.transaction.step("insert", { ...this.target, entity: valuesOf(entity) }); }
  merge({ set, add, orInsert }) {
    return this.transaction.step("merge", { ...this.target, set: valuesOf(set), add: valuesOf(add), orInsert });
  }
  delete() { return this.transaction.step("delete", this.target); }
}

export class Guard extends Entity {
  get(property) { return `{${this.target.of}.${property}}`; }
  minus(property) { return `-${this.get(property)}`; }
}

export class Transaction {
  constructor(client, members = {}) { Object.assign(this, { client, members, guards: [], steps: [] }); }
  guard(table, partitionKey, rowKey, more = {}) {
    const as = `g${this.guards.length}`;
    this.guards.push(given({ as, table, partitionKey, rowKey, ...more }));
    return new Guard(this, { of: as });
  }
  entity(table, partitionKey, rowKey, more = {}) { return new Entity(this, { table, partitionKey, rowKey, ...more }); }
  message(queue, content, more = {}) { return this.step("message", { queue, ...contentOf(content), ...more }); }
  blob(container, name, content, more = {}) { return this.step("blob", { container, name, ...contentOf(content), ...more }); }
  step(kind, members) {
    this.steps.push({ [kind]: given(members) });
    return this;
  }
  get body() { return { ...this.members, guards: this.guards, steps: this.steps }; }
  submit(options) { return this.client.submit("transaction", this.body, options); }
  plan() { return this.client.plan("transaction", this.body); }
}

// Workers.

export class Permanent extends Error {}
export class Retry extends Error {
  constructor(after = 1, message = "not now") { super(message); this.after = after; }
}
export class Stopped extends Error {
  constructor(reason) { super(`the job was ${reason}`); this.reason = reason; }
}
export class End {
  constructor(result, transaction) { this.body = { result, guards: transaction.guards, steps: transaction.steps }; }
}

export class Job {
  #news = {};
  #saved = [];
  #controller = new AbortController();
  constructor(claimed) {
    const { id, epoch, kind, version = 1, key = "", attempt = 1, maxAttempts = 1, input, checkpoint, fence = {}, traceparent = "",
      leaseSeconds = 30 } = claimed;
    Object.assign(this, { id, epoch, kind, version, key, attempt, maxAttempts, input, checkpoint, fence, traceparent, leaseSeconds });
    this.beatSoon = () => {};
    this.beaten({}, performance.now());
  }
  get signal() { return this.#controller.signal; }
  check() {
    if (performance.now() >= this.heldUntil) this.stop("lost");
    this.signal.throwIfAborted();
  }
  progress(done, total, phase) { Object.assign(this.#news, given({ done, total, phase })); }
  async save(checkpoint) {
    const fits = JSON.stringify(checkpoint).length <= 16384;
    if (!fits) throw new RangeError("A checkpoint has at most 16 KiB: put more into a blob, and name the blob.");
    this.checkpoint = this.#news.checkpoint = checkpoint;
    const saved = new Promise((resolve) => this.#saved.push(resolve));
    this.beatSoon();
    await saved;
    this.check();
  }

  // The rest is for the worker.
  stop(reason) {
    if (!this.signal.aborted) this.#controller.abort(new Stopped(reason));
    this.#tellSaved();
  }
  takeNews() {
    const news = this.#news;
    this.#news = {};
    return news;
  }
  putBack(news) { this.#news = { ...news, ...this.#news }; }
  beaten(news, sentAt) {
    this.heldUntil = sentAt + this.leaseSeconds * 1000;
    this.beatAt = sentAt + Math.min(this.leaseSeconds * 250, 5000);
    if ("checkpoint" in news && !("checkpoint" in this.#news)) this.#tellSaved();
  }
  #tellSaved() { for (const resolve of this.#saved.splice(0)) resolve(); }
}

// Runs the handler and returns how the job ends; undefined: somebody else decides about it.
async function outcomeOf(handler, job) {
  try {
    const result = await handler(job);
    return result instanceof End ? result.body : { result: result ?? {} };
  } catch (error) {
    if (error instanceof Stopped || error?.name === "AbortError" && job.signal.aborted) {
      return (job.signal.reason ?? error).reason === "released" ? { release: true } : undefined;
    }
    if (error instanceof Retry) return { error: { class: "throttled", message: error.message, retryAfter: Math.ceil(error.after) } };
    return { error: { class: error instanceof Permanent ? "permanent" : "transient",
      message: error instanceof Permanent ? error.message : String(error).slice(0, 2000) } };
  }
}

export class Worker {
  #handlers = new Map();
  #held = new Map();
  #ended = new AbortController();
  #stopping = new AbortController();
  #wake = () => {};
  constructor(client, { name = `${hostname()}-${process.pid}`.slice(0, 100), concurrency = 4, drain = 30 } = {}) {
    Object.assign(this, { client, name, concurrency, drain });
  }
  kind(kind, handler, { version = 1 } = {}) {
    this.#handlers.set(`${kind}@${version}`, handler);
    return this;
  }
  stop() { this.#stopping.abort(); }

  async run({ signals = true } = {}) {
    const stop = () => this.stop();
    if (signals) for (const name of ["SIGTERM", "SIGINT"]) process.on(name, stop);
    const helpers = [this.#beat(), this.#listen()];
    const handlers = Promise.all(Array.from({ length: this.concurrency }, () => this.#work()));
    await Promise.race([handlers, sleep(2 ** 31 - 1, this.#stopping.signal)]);
    await within(handlers, Math.max(this.drain, CLAIM_WAIT + 1));
    for (const job of this.#held.values()) job.stop("released");
    await within(handlers, 2);
    for (const job of this.#held.values()) await this.#end(job, { release: true }); // their handlers look at nothing
    this.#ended.abort();
    this.#wake();
    await Promise.all(helpers);
    if (signals) for (const name of ["SIGTERM", "SIGINT"]) process.off(name, stop);
  }

  // Claims and does jobs. A claim without an answer is repeated under its id, which gives the same job.
  async #work() {
    for (let requestId; !this.#stopping.signal.aborted;) {
      requestId ??= randomUUID();
      const claim = { worker: this.name, kinds: [...this.#handlers.keys()], wait: CLAIM_WAIT, requestId };
      const answer = await this.#ask("claim", claim);
      if (answer) requestId = undefined;
      for (const claimed of answer?.jobs ?? []) {
        const job = new Job(claimed);
        job.beatSoon = () => this.#wake();
        this.#held.set(job.id, job);
        const handler = this.#handlers.get(`${job.kind}@${job.version}`);
        await this.#end(job, this.#stopping.signal.aborted ? { release: true } : await outcomeOf(handler, job));
        this.#held.delete(job.id);
      }
      if (answer?.worker !== "work") await sleep(1000, this.#stopping.signal);
    }
  }

  // Ends the job; repeats that until it is answered, as long as the job is held.
  async #end(job, end) {
    while (end && performance.now() < job.heldUntil) {
      const answer = await this.#ask("end", { worker: this.name, jobs: [{ id: job.id, epoch: job.epoch, ...end }] });
      const { status, problem } = answer?.jobs[0] ?? { status: 503 };
      if ([200, 404, 412].includes(status)) return;
      if (status >= 500) {
        await sleep(500);
      } else { // it is never accepted as it is
        const message = `The end was refused: ${problem.detail}`;
        console.error(`tidemark: job ${job.id}: ${message}`);
        end = { error: { class: "permanent", message: message.slice(0, 2000) } };
      }
    }
  }

  async #beat() {
    while (!this.#ended.signal.aborted) {
      const woken = await Promise.race([sleep(100), new Promise((resolve) => { this.#wake = () => resolve(true); })]);
      const sentAt = performance.now();
      const due = [...this.#held.values()].filter((job) => [undefined, "released"].includes(job.signal.reason?.reason) &&
        (woken || sentAt >= job.beatAt)).slice(0, 100);
      if (due.length === 0) continue;
      const news = due.map((job) => job.takeNews());
      const jobs = due.map((job, i) => ({ id: job.id, epoch: job.epoch, ...news[i] }));
      const answer = await this.#ask("beat", { worker: this.name, jobs });
      // Whatever a beat that failed may mean, the jobs are held until their leases end.
      due.forEach((job, i) => {
        const said = answer?.jobs[i].answer;
        if (said === "held") job.beaten(news[i], sentAt);
        else if (said) job.stop(said === "cancel" ? "cancelled" : "lost");
        else job.putBack(news[i]);
      });
    }
  }

  // Hears of cancelled jobs at once. The beats tell of them, too, so a stream that breaks costs only time.
  async #listen() {
    const path = `/v1/work/events?${new URLSearchParams({ worker: this.name })}`;
    while (!this.#ended.signal.aborted) {
      try {
        for await (const event of this.client.events(path, this.#ended.signal)) if (event) this.#wake();
      } catch {
        await sleep(2000, this.#ended.signal);
      }
    }
  }

  // Returns undefined if there was no answer, or none that can be used.
  async #ask(what, body) {
    try {
      return await this.client.call("POST", `/v1/work/${what}`, body);
    } catch (error) {
      const status = error instanceof TidemarkError ? error.status : 503;
      if (what === "end" && status < 500 && status !== 429) return { jobs: [{ status, problem: { detail: error.message } }] };
      console.warn(`tidemark: ${what}: ${error.message}`);
      return undefined;
    }
  }
}

async function within(work, seconds) {
  const over = new AbortController();
  await Promise.race([work, sleep(seconds * 1000, over.signal)]);
  over.abort();
}

export async function runHandler(handler, input, { cancelAtCheck = Infinity, ...claimed } = {}) {
  const outcome = { progress: [], checkpoints: [] };
  const job = new Job({ id: "0000000000000000-00000000", epoch: 1, kind: "test", leaseSeconds: 1e9, input, ...claimed });
  const check = job.check.bind(job);
  job.check = () => { if (cancelAtCheck-- <= 0) job.stop("cancelled"); check(); };
  job.progress = (done, total, phase) => outcome.progress.push(given({ done, total, phase }));
  job.save = async (saved) => { outcome.checkpoints.push(saved); job.checkpoint = saved; job.check(); };
  return { ...outcome, ...((await outcomeOf(handler, job)) ?? { stopped: true }) };
}
