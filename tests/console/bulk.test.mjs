// Sending back and deleting very many poison messages from the page: they are counted first and handled at a limited
// rate, a redrive sends canaries first, both can be stopped in the middle, and one entry of the audit trail records
// each.
//   TIDEMARK_CONSOLE_MESSAGES=99995 TIDEMARK_CONSOLE_PACE=1000     with five others, as many as are counted
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, inState } from "./browser.mjs";
import { Stack, until } from "./stack.mjs";

const messages = Number(process.env.TIDEMARK_CONSOLE_MESSAGES || 300);
const pace = Number(process.env.TIDEMARK_CONSOLE_PACE || 20);
const few = messages / 50;  // per second: there is time to stop it, however slow the machine is
const canaries = 3;
const patienceMs = 60_000 + messages * 10;
const some = messages.toLocaleString("en");

let stack, browser, sight, page, sent;

const figures = (queue) => stack.call("GET", `/v1/queues/${queue}`);
const poisoned = async () => Number((await figures("tidemark-jobs-poison")).messages);

/// Submits jobs that fail as long as their table is missing.
async function poison(source, count) {
  const already = await poisoned();
  for (let from = 0; from < count; from += 1000) {
    const jobs = Array.from({ length: Math.min(1000, count - from) }, (_, i) => ({ kind: "archive", source, destination: "Old", partitionKey: "p", rowKey: String(from + i), maxAttempts: 1 }));
    await stack.call("POST", "/v1/jobs/batch", { jobs });
  }
  await until(async () => (await poisoned()) === already + count, `${count} of ${source} are poisoned`, patienceMs);
}

async function actOnAll(verb, source, { perSecond, reason, count }) {
  const dialog = sight.dialog();
  await sight.see("/poison");
  await page.getByRole("row", { name: new RegExp(source) }).getByRole("button", { name: `${verb} all…` }).click({ timeout: patienceMs });  // groups of very many messages are counted only now and then
  await dialog.getByLabel("Messages a second").fill(String(perSecond));
  if (verb === "Redrive") await dialog.getByLabel("Canaries first").fill(String(canaries));
  await sight.button("Count what matches", dialog).click();
  await dialog.getByText(`${count} messages match`).waitFor({ timeout: patienceMs });
  await dialog.getByLabel("Reason").fill(reason);
  if (verb === "Delete") await dialog.getByLabel("Type").fill(count.replaceAll(",", ""));
  await sight.button(`${verb} ${count}`, dialog).click();
  await sight.heading(verb === "Redrive" ? /^redrive/ : /^purge/);
  return page.url().split("/").at(-1);
}

/// Cancels a job from its page; returns how much it had done when its worker learnt of the cancellation.
async function cancel(id, reason) {
  await sight.button("Cancel…").click();
  await sight.dialog().getByLabel("Reason").fill(reason);
  await sight.button("Cancel the job", sight.dialog()).click();
  await sight.badge("cancelled");
  let progress;
  await until(async () => {
    ({ progress } = await stack.call("GET", `/v1/jobs/${id}`));
    return progress.phase === "stopped";
  }, "its worker has heard of it");
  return Number(progress.done);
}

before(async () => {
  stack = new Stack();
  await stack.up();
  browser = await new Browser(stack).launch();
  sight = await browser.page();
  page = sight.page;
  await sight.signIn();
  await poison("Lost", messages);
  await poison("Other", 5);
});

after(async () => {
  await browser?.close();
  await stack?.down();
});

describe("all that match", () => {
  test("stay where they are if a canary fails", async () => {
    const id = await actOnAll("Redrive", "Other", { perSecond: 100, reason: "to see whether it is mended", count: "5" });
    await sight.badge("cancelled");
    await page.getByText(/sent back as a canary, failed again/).first().waitFor();
    await until(async () => (await poisoned()) === messages + 5, "all are poisoned again");
    assert.equal((await stack.call("GET", `/v1/jobs/${id}`)).progress.done, canaries);
  });

  test("go at their pace behind the canaries, and stop when somebody says so", async () => {
    await stack.call("PUT", "/v1/tables/Lost/entity?partitionKey=p&rowKey=0", {}, { "If-None-Match": "*" }).catch(() => stack.importEntities("Lost", [{ PartitionKey: "p", RowKey: "0" }]));
    const id = await actOnAll("Redrive", "Lost", { perSecond: pace, reason: "the table is back", count: some });
    let job;
    await until(async () => {
      job = await stack.call("GET", `/v1/jobs/${id}`);
      return job.progress.done >= messages / 10;
    }, "a tenth is sent", patienceMs);
    // The rate since the job began; a worker may send a quarter of a second's worth at once.
    const seconds = (Date.now() - Date.parse(job.startedAt)) / 1000;
    sent = await cancel(id, "enough for now");
    await until(async () => Number((await figures("tidemark-jobs")).messages) === 0, "what was sent is done", patienceMs);
    console.log(`# sent ${job.progress.done} in ${seconds} s where ${pace} a second were asked for`);
    assert.ok(job.progress.done <= canaries + pace * (seconds + 0.25) * 1.15, `${job.progress.done} in ${seconds} s`);
  });

  test("each was sent once or is still there", async () => {
    const count = async (query, member) => {
      let sum = 0, continuation = "";
      do {
        const answer = await stack.call("GET", `${query}&limit=1000&continuation=${encodeURIComponent(continuation)}`);
        sum += answer[member].filter((each) => (each.spec || each.body).source === "Lost").length;
        continuation = answer.continuation || "";
      } while (continuation);
      return sum;
    };
    let gone, left;
    await until(async () => {
      gone = await count("/v1/jobs?kind=archive&state=succeeded", "jobs");
      left = await count("/v1/poison?source=Lost", "poison");
      return gone + left === messages;
    }, "all are accounted for", patienceMs);
    assert.equal(gone, sent, "what the cancelled job says");
    assert.ok(gone >= messages / 10 && left > 0, `${gone} sent, ${left} left`);
  });

  test("leave one entry in the trail, which says who, why and how many", async () => {
    const { entries } = await stack.call("GET", "/v1/audit?limit=100&operation=jobs.post");
    const [entry, ...others] = entries.filter((each) => each.reason === "the table is back");
    assert.deepEqual(others, []);
    assert.equal(entry.count, messages);
    assert.match(entry.detail, /^redrive poisonKind=archive poisonSource=Lost fingerprint=[0-9a-f]{16} movedBefore=/);
    assert.equal(entry.actor, "stack");
    const cancelled = (await stack.call("GET", "/v1/audit?limit=1&operation=jobs.cancel")).entries[0];
    assert.equal(cancelled.reason, "enough for now");
  });

  test("are deleted at their pace until somebody says stop", async () => {
    const left = await poisoned();
    const count = (left - 5).toLocaleString("en");
    const id = await actOnAll("Delete", "Lost", { perSecond: few, reason: "some are obsolete", count });
    await until(async () => (await stack.call("GET", `/v1/jobs/${id}`)).progress.done >= few, "some are deleted", patienceMs);
    const deleted = await cancel(id, "not all of them");
    assert.equal(await poisoned(), left - deleted);
    assert.ok(deleted < left - 5, `${deleted} of ${left}`);
    const { entries } = await stack.call("GET", "/v1/audit?limit=100&operation=jobs.post");
    const [entry, ...others] = entries.filter((each) => each.reason === "some are obsolete");
    assert.deepEqual(others, []);
    assert.deepEqual([entry.count, entry.target], [left - 5, id]);
    assert.match(entry.detail, /^purge poisonKind=archive poisonSource=Lost fingerprint=/);
  });

  test("the rest goes when it is asked for again", { skip: messages > 10_000 }, async () => {
    const left = await poisoned();
    await actOnAll("Redrive", "Lost", { perSecond: 2_000, reason: "the rest", count: (left - 5).toLocaleString("en") });
    await sight.badge("succeeded");
    await until(async () => (await poisoned()) === 5, "only the others are left");
  });
});

test("nothing complained", () => browser.nothingComplained());
