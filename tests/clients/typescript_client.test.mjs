// Run by typescript_client_test.py, which starts the stack that TIDEMARK_API names, and looks at the tables afterwards.
import assert from "node:assert/strict";
import test from "node:test";
import { Client, Permanent, Retry, TidemarkError, Transaction, int64, literal, runHandler } from "../../clients/typescript/index.mjs";

const client = new Client();
const payment = (row) => {
  const t = new Transaction(client, { idempotencyKey: `pay ${row}` });
  const order = t.guard("Orders", "shop", row, { where: "State eq 'open'" });
  order.merge({ set: { State: "paid", At: new Date("2026-01-02T00:00:00Z") } });
  t.merge("Accounts", "c7", row, { add: { Cents: order.get("Cents"), Small: int64(1) }, orInsert: true });
  t.message("mail", { row: order.get("RowKey"), cents: order.get("Cents"), plain: literal("{o.Cents}") });
  return t;
};

test("a transaction, planned and submitted", async () => {
  const plan = await payment("types").plan();
  assert.deepEqual([plan.samples.length, plan.problems], [3, []]);
  const job = await payment("types").submit({ wait: 30 });
  assert.equal(job.state, "succeeded");
  assert.equal((await payment("types").submit({ wait: 30 })).id, job.id, "the idempotency key names the job");
  const ids = [];
  for await (const each of client.jobs({ kind: "transaction" })) ids.push(each.id);
  assert.ok(ids.includes(job.id));
});

test("a guard that does not hold", async () => {
  const job = await payment("sold").submit({ wait: 30 });
  assert.deepEqual([job.state, job.result.found.State], ["cancelled", "sold"]);
});

test("errors list every problem", async () => {
  const bad = new Transaction(client).merge("T", "p", "r", { add: { A: "x" } }).message("mail", "{");
  await assert.rejects(bad.submit(), (error) => error instanceof TidemarkError && error.code === "JobInvalid" && error.problems.length >= 3);
});

test("jobs are waited for and cancelled", async () => {
  const later = await client.submit("delete", { source: "Orders", filter: "", notBefore: "2099-01-01T00:00:00Z" });
  assert.equal((await client.wait(later.id, 0)).state, "queued");
  assert.equal((await client.cancel(later.id)).state, "cancelled");
});

const resize = async (job) => {
  for (const [done, page] of job.input.entries()) {
    job.check();
    if (page === "bad") throw new Permanent("no picture");
    if (page === "busy") throw new Retry(30, "busy");
    if (page === "broken") throw new TypeError("broken");
    job.progress(done + 1, job.input.length);
    await job.save({ done });
  }
  return { pages: job.input.length };
};

test("a handler runs without a server, and what it throws decides", async () => {
  const outcome = await runHandler(resize, ["a", "b"]);
  assert.deepEqual(outcome.result, { pages: 2 });
  assert.deepEqual(outcome.checkpoints, [{ done: 0 }, { done: 1 }]);
  assert.deepEqual((await runHandler(resize, ["bad"])).error, { class: "permanent", message: "no picture" });
  assert.deepEqual((await runHandler(resize, ["busy"])).error, { class: "throttled", message: "busy", retryAfter: 30 });
  assert.equal((await runHandler(resize, ["broken"])).error.class, "transient");
  assert.equal((await runHandler(resize, ["a", "b"], { cancelAtCheck: 1 })).stopped, true);
});
