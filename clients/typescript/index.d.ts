// Jobs, transactions and workers of Tidemark. Tables, queues and blobs are those of Azure Storage: use Microsoft's
// libraries for them.

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
  /** Without options, TIDEMARK_API and TIDEMARK_TOKEN are used. Times are in seconds. */
  constructor(options?: { url?: string; token?: string; timeout?: number });
  /** Makes one request. Fails with TidemarkError, or with that of fetch if there was no answer: then a request that
   * changes something may have been carried out. */
  call(method: string, path: string, body?: Json, options?: { timeout?: number; signal?: AbortSignal }): Promise<any>;
  /** Submits a job. With `wait`, the record is that of the end, if the job has ended within so many seconds. */
  submit(kind: string, members?: Json, options?: { wait?: number }): Promise<JobRecord>;
  submitSpec(spec: Json, options?: { wait?: number }): Promise<JobRecord>;
  /** Returns what the job would do, without doing it. */
  plan(spec: Json): Promise<Json>;
  job(id: string): Promise<JobRecord>;
  cancel(id: string): Promise<JobRecord>;
  /** Returns the record of the job once it has ended, or as it is after so many seconds. */
  wait(id: string, timeout?: number): Promise<JobRecord>;
  /** Yields jobs, the newest first. */
  jobs(which?: { kind?: string; state?: string; queue?: string }): AsyncGenerator<JobRecord>;
  /** Declares a kind of work of your own; see PUT /v1/kinds/NAME. */
  putKind(name: string, members?: Json): Promise<Json>;
  events(path: string, signal?: AbortSignal): AsyncGenerator<string>;
}

export type Value = string | number | bigint | boolean | Date | Uint8Array | { type: string; value: unknown };
export type Values = { [property: string]: Value };
export function int64(value: number | bigint | string): Value;
export function double(value: number): Value;
export function guid(value: string): Value;
/** Returns a text that stands for itself, with its braces doubled: texts of a transaction are templates. */
export function literal(text: string): string;

/** An entity that a transaction depends on. get() stands for a property of it as it is when the transaction is decided,
 * with its type; minus() for the number with the other sign, in `add`. */
export class Guard {
  get(property: string): string;
  minus(property: string): string;
  merge(change: { set?: Values; add?: Values }): Transaction;
  put(entity: Values): Transaction;
  delete(): Transaction;
}

/** Collects guards and steps, then submits them. `members` are those that every job has, such as idempotencyKey. */
export class Transaction {
  static readonly jobId: string;
  constructor(client: Client | null, members?: Json);
  /** Asks that there be such an entity and, with `where`, that it match the filter; "absent": that there be none. */
  guard(table: string, partitionKey: string, rowKey: string, options?: { where?: string; account?: string }): Guard;
  put(table: string, partitionKey: string, rowKey: string, entity: Values, more?: Json): Transaction;
  insert(table: string, partitionKey: string, rowKey: string, entity: Values, more?: Json): Transaction;
  merge(table: string, partitionKey: string, rowKey: string,
        change: { set?: Values; add?: Values; orInsert?: boolean; account?: string }): Transaction;
  delete(table: string, partitionKey: string, rowKey: string, more?: Json): Transaction;
  /** Puts a message: a text, or anything else as JSON. */
  message(queue: string, content: unknown, more?: { group?: string; delaySeconds?: number; account?: string }): Transaction;
  blob(container: string, name: string, content: unknown, more?: { contentType?: string; account?: string }): Transaction;
  callback(url: string, more?: Json): Transaction;
  readonly spec: Json;
  /** With `wait`, returns the end: `state` is "succeeded", or "cancelled" with the guard that did not hold in `result`. */
  submit(options?: { wait?: number }): Promise<JobRecord>;
  /** Returns what each step would change now, without changing it. */
  plan(): Promise<Json>;
}

/** The job can never succeed: it becomes poison at once. */
export class Permanent extends Error {}
/** Not now: the job is tried again after so many seconds, and the attempt does not count. */
export class Retry extends Error {
  constructor(after?: number, message?: string);
}
export class Stopped extends Error {
  readonly reason: "cancelled" | "lost" | "released";
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
  stopped?: boolean;
  progress: Json[];
  checkpoints: unknown[];
}
/** Runs a handler without a server. `cancelAtCheck`: how many check() go well before the job is cancelled. */
export function runHandler(handler: Handler, input?: unknown,
                           options?: { checkpoint?: unknown; attempt?: number; cancelAtCheck?: number }): Promise<Outcome>;
