// Jobs, transactions and workers of Tidemark, with nothing but Node's own fetch. index.d.ts has the types and says what
// each part does.
import { hostname } from "node:os";
import { randomUUID } from "node:crypto";

const ENDED = ["succeeded", "poisoned", "cancelled"];
const LONGEST_WAIT = 30; // seconds; the api waits no longer for the end of a job
const CLAIM_WAIT = 20;
const DEFAULT_LEASE = 30;
const sleep = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
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

export class Client {
  constructor({ url = process.env.TIDEMARK_API ?? "http://127.0.0.1:10003", token = process.env.TIDEMARK_TOKEN ?? "",
    timeout = 30 } = {}) {
    this.url = url.replace(/\/$/, "");
    this.token = token;
    this.timeout = timeout;
  }

  async call(method, path, body, { timeout = this.timeout, signal } = {}) {
    const limit = AbortSignal.timeout(timeout * 1000);
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? anyOf(signal, limit) : limit, redirect: "error" });
    const text = await answer.text();
    if (answer.status >= 400) throw new TidemarkError(answer.status, parsed(text));
    return text ? JSON.parse(text) : undefined;
  }

  submit(kind, members = {}, options = {}) { return this.submitSpec({ kind, ...members }, options); }

  async submitSpec(spec, { wait = 0 } = {}) {
    const atOnce = Math.min(Math.floor(wait), LONGEST_WAIT);
    const job = await this.call("POST", "/v1/jobs" + (atOnce > 0 ? `?wait=${atOnce}` : ""), spec, { timeout: this.timeout + atOnce });
    return wait > atOnce && !ENDED.includes(job.state) ? this.wait(job.id, wait - atOnce) : job;
  }

  plan(spec) { return this.call("POST", "/v1/jobs?dryRun=true", spec); }
  job(id) { return this.call("GET", `/v1/jobs/${encodeURIComponent(id)}`); }
  cancel(id) { return this.call("POST", `/v1/jobs/${encodeURIComponent(id)}/cancel`); }
  putKind(name, members = {}) { return this.call("PUT", `/v1/kinds/${encodeURIComponent(name)}`, members); }

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
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    const answer = await fetch(this.url + path, { headers, signal });
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

function anyOf(...signals) {
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  }
  return controller.signal;
}

// Values of properties.

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

export class Guard {
  constructor(transaction, name) { Object.assign(this, { transaction, name }); }
  get(property) { return `{${this.name}.${property}}`; }
  minus(property) { return `-{${this.name}.${property}}`; }
  merge({ set, add }) { return this.transaction.step("merge", { of: this.name, set: valuesOf(set), add: valuesOf(add) }); }
  put(entity) { return this.transaction.step("put", { of: this.name, entity: valuesOf(entity) }); }
  delete() { return this.transaction.step("delete", { of: this.name }); }
}

export class Transaction {
  static jobId = "{job.id}";
  constructor(client, members = {}) { Object.assign(this, { client, members, guards: [], steps: [] }); }

  guard(table, partitionKey, rowKey, { where, account } = {}) {
    const as = `g${this.guards.length}`;
    this.guards.push(given({ as, account, table, partitionKey, rowKey, where }));
    return new Guard(this, as);
  }
  put(table, partitionKey, rowKey, entity, more = {}) {
    return this.step("put", { table, partitionKey, rowKey, entity: valuesOf(entity), ...more });
  }
  insert(table, partitionKey, rowKey, entity, more = {}) {
    return this.step("insert", { table, partitionKey, rowKey, entity: valuesOf(entity), ...more });
  }
  merge(table, partitionKey, rowKey, { set, add, ...more }) {
    return this.step("merge", { table, partitionKey, rowKey, set: valuesOf(set), add: valuesOf(add), ...more });
  }
  delete(table, partitionKey, rowKey, more = {}) { return this.step("delete", { table, partitionKey, rowKey, ...more }); }
  message(queue, content, more = {}) { return this.step("message", { queue, ...contentOf(content), ...more }); }
  blob(container, name, content, more = {}) { return this.step("blob", { container, name, ...contentOf(content), ...more }); }
  callback(url, more = {}) { return this.step("callback", { url, ...more }); }
  step(kind, members) {
    this.steps.push({ [kind]: given(members) });
    return this;
  }
  get spec() {
    return { kind: "transaction", ...this.members, ...(this.guards.length ? { guards: this.guards } : {}), steps: this.steps };
  }
  submit(options) { return this.client.submitSpec(this.spec, options); }
  plan() { return this.client.plan(this.spec); }
}

// Workers.

export class Permanent extends Error {}
export class Retry extends Error {
  constructor(after = 1, message = "not now") { super(message); this.after = after; }
}
/** Why a job must stop: "cancelled", "lost" or "released". */
export class Stopped extends Error {
  constructor(reason) { super(`the job was ${reason}`); this.reason = reason; }
}

export class Job {
  #news = {};
  #saved = [];
  #controller = new AbortController();
  constructor(claimed, sentAt = performance.now()) {
    const { id, epoch, kind, version = 1, key = "", attempt = 1, maxAttempts = 1, input, checkpoint, fence = {}, traceparent = "",
      leaseSeconds = DEFAULT_LEASE } = claimed;
    Object.assign(this, { id, epoch, kind, version, key, attempt, maxAttempts, input, checkpoint, fence, traceparent, leaseSeconds });
    this.heldUntil = sentAt + leaseSeconds * 1000;
    this.beatSoon = () => {};
  }
  /** Aborted when the job must stop; for fetch and the like. */
  get signal() { return this.#controller.signal; }
  check() {
    if (!this.signal.aborted && performance.now() >= this.heldUntil) this.stop("lost");
    this.signal.throwIfAborted();
  }
  progress(done, total, phase) { Object.assign(this.#news, given({ done, total, phase })); }
  async save(checkpoint) {
    this.checkpoint = checkpoint;
    this.#news.checkpoint = checkpoint;
    const saved = new Promise((resolve) => this.#saved.push(resolve));
    this.beatSoon();
    await saved;
    this.check();
  }
  stop(reason) {
    this.#controller.abort(new Stopped(reason));
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
    if ("checkpoint" in news) this.#tellSaved();
  }
  #tellSaved() { for (const resolve of this.#saved.splice(0)) resolve(); }
}

/** Runs the handler and returns how the job ends; undefined: somebody else decides about it. */
export async function outcomeOf(handler, job) {
  try {
    return { result: (await handler(job)) ?? {} };
  } catch (error) {
    if (job.signal.aborted || error instanceof Stopped) {
      return (job.signal.reason ?? error).reason === "released" ? { release: true } : undefined;
    }
    if (error instanceof Retry) return { error: { class: "throttled", message: error.message, retryAfter: Math.round(error.after) } };
    if (error instanceof Permanent) return { error: { class: "permanent", message: error.message } };
    return { error: { class: "transient", message: String(error).slice(0, 2000) } };
  }
}

export class Worker {
  #handlers = new Map();
  #held = new Map();
  #ending = new AbortController();
  #stopping = new AbortController();
  #wake = () => {};
  #quiet = false;
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
    const beating = this.#beat();
    const listening = this.#listen();
    const running = new Set();
    while (!this.#stopping.signal.aborted) {
      if (this.#quiet || running.size >= this.concurrency) {
        await Promise.race([sleep(200, this.#stopping.signal), ...running]);
        if (running.size >= this.concurrency) continue;
      }
      const sentAt = performance.now();
      for (const claimed of await this.#claim(this.concurrency - running.size)) {
        const job = new Job(claimed, sentAt);
        job.beatSoon = () => this.#wake();
        this.#held.set(job.id, job);
        const doing = this.#do(job).finally(() => { this.#held.delete(job.id); running.delete(doing); });
        running.add(doing);
      }
    }
    await Promise.race([sleep(this.drain * 1000), Promise.all(running)]);
    for (const job of this.#held.values()) job.stop("released");
    await Promise.all(running);
    this.#ending.abort();
    this.#wake();
    await Promise.all([beating, listening]);
    if (signals) for (const name of ["SIGTERM", "SIGINT"]) process.off(name, stop);
  }

  // A claim without an answer is repeated under its id, which gives the same jobs.
  async #claim(count) {
    const wanted = { worker: this.name, kinds: [...this.#handlers.keys()], count, wait: this.#quiet ? 0 : CLAIM_WAIT, requestId: randomUUID() };
    while (!this.#stopping.signal.aborted) {
      const answer = await this.#try("claim", wanted, { timeout: CLAIM_WAIT + 10, signal: this.#stopping.signal });
      if (answer) {
        this.#quiet = answer.worker === "quiet";
        return answer.jobs;
      }
      await sleep(1000, this.#stopping.signal);
    }
    return [];
  }

  async #do(job) {
    const end = await outcomeOf(this.#handlers.get(`${job.kind}@${job.version}`), job);
    while (end && performance.now() < job.heldUntil) {
      const answer = await this.#try("end", { worker: this.name, jobs: [{ id: job.id, epoch: job.epoch, ...end }] });
      if (answer && answer.jobs[0].status < 500) return;
      await sleep(500);
    }
  }

  async #beat() {
    while (!this.#ending.signal.aborted) {
      const jobs = [...this.#held.values()];
      const pause = Math.min(5000, ...jobs.map((job) => (job.leaseSeconds * 1000) / 4));
      await Promise.race([sleep(pause, this.#ending.signal), new Promise((resolve) => { this.#wake = resolve; })]);
      const now = [...this.#held.values()];
      for (let begin = 0; begin < now.length; begin += 100) await this.#beatFor(now.slice(begin, begin + 100));
    }
  }

  async #beatFor(jobs) {
    const news = jobs.map((job) => job.takeNews());
    const sentAt = performance.now();
    const told = jobs.map((job, i) => ({ id: job.id, epoch: job.epoch, ...news[i] }));
    const answer = await this.#try("beat", { worker: this.name, jobs: told });
    // Whatever a beat that failed may mean, the jobs are held until their leases end.
    if (!answer) return jobs.forEach((job, i) => job.putBack(news[i]));
    this.#quiet = answer.worker === "quiet";
    answer.jobs.forEach(({ answer: said }, i) => {
      if (said === "held") jobs[i].beaten(news[i], sentAt);
      else jobs[i].stop(said === "cancel" ? "cancelled" : "lost");
    });
  }

  // Hears of cancelled jobs at once. The beats tell of them, too, so a stream that breaks costs only time.
  async #listen() {
    while (!this.#ending.signal.aborted) {
      try {
        for await (const event of this.client.events(`/v1/work/events?${new URLSearchParams({ worker: this.name })}`, this.#ending.signal)) {
          if (event) this.#wake();
        }
      } catch { /* it is opened again */ }
      await sleep(2000, this.#ending.signal);
    }
  }

  async #try(what, body, options) {
    try {
      return await this.client.call("POST", `/v1/work/${what}`, body, options);
    } catch (error) {
      if (error instanceof TidemarkError && error.status < 500 && error.status !== 429) throw error;
      return undefined;
    }
  }
}

/** Runs a handler without a server. */
export async function runHandler(handler, input, { checkpoint, attempt = 1, cancelAtCheck } = {}) {
  const outcome = { progress: [], checkpoints: [] };
  const job = new Job({ id: "0000000000000000-00000000", epoch: 1, kind: "test", attempt, maxAttempts: 5, input, checkpoint, leaseSeconds: 1e9 });
  let left = cancelAtCheck ?? Infinity;
  const check = job.check.bind(job);
  job.check = () => { if (left-- <= 0) job.stop("cancelled"); check(); };
  job.progress = (done, total, phase) => outcome.progress.push(given({ done, total, phase }));
  job.save = async (saved) => { outcome.checkpoints.push(saved); job.checkpoint = saved; job.check(); };
  return { ...outcome, ...((await outcomeOf(handler, job)) ?? { stopped: true }) };
}
