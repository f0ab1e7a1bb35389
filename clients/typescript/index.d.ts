// Jobs, transactions, rules and workers of Tidemark. For tables, queues and blobs use Microsoft's libraries.

export type Json = { [name: string]: unknown };
/** The record of a job: GET /v1/jobs/ID. */
export interface JobRecord extends Json {
  id: string;
  kind: string;
  state: "queued" | "running" | "succeeded" | "poisoned" | "cancelled";
  result?: unknown;
  error?: string;
}

/** The api refused a request; `problems` lists everything that is wrong with a body. */
export class TidemarkError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problems: string[];
}

export class Client {
  /** Without options, TIDEMARK_API is used, and TIDEMARK_TOKEN or the token of the stack in TIDEMARK_DATA. Times are in seconds. */
  constructor(options?: { url?: string; token?: string; timeout?: number });
  /** Makes one request. Fails with TidemarkError, or with that of fetch if there was no answer: then a request that
   * changes something may have been carried out. */
  call(method: string, path: string, body?: unknown): Promise<any>;
  /** Submits a job. With `wait`, the record is that of the end, if the job has ended within so many seconds. */
  submit(kind: string, members?: Json, options?: { wait?: number }): Promise<JobRecord>;
  /** Returns what the job would do, without doing it. */
  plan(kind: string, members?: Json): Promise<any>;
  job(id: string): Promise<JobRecord>;
  cancel(id: string): Promise<JobRecord>;
  /** Sends a poison job back, with another spec if one is given. */
  redrive(id: string, spec?: Json): Promise<Json>;
  /** Returns the record of the job once it has ended, or as it is after so many seconds. */
  wait(id: string, timeout?: number): Promise<JobRecord>;
  /** Yields jobs, the newest first. */
  jobs(which?: { kind?: string; state?: string; queue?: string }): AsyncGenerator<JobRecord>;
  /** Declares a kind of work of your own; see PUT /v1/kinds/NAME. */
  putKind(name: string, members?: Json): Promise<Json>;
  /** Reads ("GET"), declares ("PUT", with its members) or drops ("DELETE") what happens on changes of a table, or makes
   * it act ("POST"): action "resume" or "test". */
  rule(method: "GET" | "PUT" | "DELETE" | "POST", table: string, name: string, members?: Json & { action?: string }): Promise<any>;
  events(path: string, signal?: AbortSignal): AsyncGenerator<string>;
}

export type Value = string | number | bigint | boolean | Date | Uint8Array | { type: string; value: unknown };
export type Values = { [property: string]: Value };
export function int64(value: number | bigint | string): Value;
export function double(value: number): Value;
export function guid(value: string): Value;
/** Returns a text that stands for itself, with its braces doubled: texts of a transaction are templates. */
export function literal(text: string): string;

/** An entity that steps of a transaction change. */
export class Entity {
  put(entity: Values): Transaction;
  insert(entity: Values): Transaction;
  merge(change: { set?: Values; add?: Values; orInsert?: boolean }): Transaction;
  delete(): Transaction;
}
/** An entity that a transaction depends on. get() stands for a property of it as it is when the transaction is decided,
 * with its type; minus() for the number with the other sign, in `add`. */
export class Guard extends Entity {
  get(property: string): string;
  minus(property: string): string;
}

/** Collects guards and steps. It is submitted as a job, or ends a job of a worker (End). `members` are those that every
 * job has, such as idempotencyKey; `more` are other members of a guard or a step, such as account. */
export class Transaction {
  constructor(client?: Client | null, members?: Json);
  /** Asks that there be such an entity and, with `where`, that it match the filter; "absent": that there be none. */
  guard(table: string, partitionKey: string, rowKey: string, more?: { where?: string; account?: string }): Guard;
  entity(table: string, partitionKey: string, rowKey: string, more?: { account?: string }): Entity;
  /** Puts a message: a text, or anything else as JSON. */
  message(queue: string, content: unknown, more?: { group?: string; delaySeconds?: number; account?: string }): Transaction;
  blob(container: string, name: string, content: unknown, more?: { contentType?: string; account?: string }): Transaction;
  /** Adds any step, such as step("callback", { url }). */
  step(kind: string, members: Json): Transaction;
  /** With `wait`, returns the end: `state` is "succeeded", or "cancelled" with the guard that did not hold in `result`. */
  submit(options?: { wait?: number }): Promise<JobRecord>;
  /** Returns what each step would change now, without changing it. */
  plan(): Promise<any>;
}

/** The job can never succeed: it becomes poison at once. */
export class Permanent extends Error {}
/** Not now: the job is tried again after so many seconds, and the attempt does not count. */
export class Retry extends Error {
  constructor(after?: number, message?: string);
}
/** The handler must stop. "lost": the lease ran out, and another worker may have the job, so write nothing more;
 * "released": the worker stops, and the job goes back without counting an attempt. */
export class Stopped extends Error {
  constructor(reason: "cancelled" | "lost" | "released");
  readonly reason: "cancelled" | "lost" | "released";
}
/** A result that comes with guards and steps: all of them happen together, or none. The kind must allow it ("steps"). */
export class End {
  constructor(result: unknown, transaction: Transaction);
}

/** A job that a worker holds. `fence` has the headers that belong to each write in its name: with them, the writes of a
 * worker that has lost the job are refused. */
export class Job {
  readonly id: string;
  readonly epoch: number;
  readonly kind: string;
  readonly version: number;
  readonly key: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly input: any;
  checkpoint: any;
  readonly fence: { [header: string]: string };
  readonly traceparent: string;
  /** Aborted when the job must stop. */
  readonly signal: AbortSignal;
  /** Throws Stopped if the job must stop; call it before each step. */
  check(): void;
  /** Reports progress with the next sign of life. */
  progress(done: number, total?: number, phase?: string): void;
  /** Stores a checkpoint of at most 16 KiB, from which the next attempt goes on, and returns once it is stored. */
  save(checkpoint: unknown): Promise<void>;
}
export type Handler = (job: Job) => unknown;

/** Claims jobs and runs their handlers. Handlers share one thread with the signs of life: one that computes for long
 * without awaiting anything belongs into a worker thread or a process of its own. */
export class Worker {
  constructor(client: Client, options?: { name?: string; concurrency?: number; drain?: number });
  kind(kind: string, handler: Handler, options?: { version?: number }): this;
  /** Works until stop(), or SIGTERM or SIGINT; returns when all jobs have ended or have been given back. */
  run(options?: { signals?: boolean }): Promise<void>;
  stop(): void;
}

export interface Outcome {
  result?: any;
  error?: { class: string; message: string; retryAfter?: number };
  release?: boolean;
  steps?: Json[];
  stopped?: boolean;
  progress: Json[];
  checkpoints: unknown[];
}
/** Runs a handler without a server, for a job with this input and other members of a claimed job.
 * `cancelAtCheck`: how many check() go well before the job is cancelled. */
export function runHandler(handler: Handler, input?: unknown,
                           options?: Json & { cancelAtCheck?: number }): Promise<Outcome>;
