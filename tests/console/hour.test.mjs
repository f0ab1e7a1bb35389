// A page that is left open: its memory does not grow over the events and requests of an hour, and it costs the api next
// to nothing. The page has its own clock, which runs fast: an hour of its timers passes in a minute or so.
//   TIDEMARK_CONSOLE_HOURS=1     a whole hour instead of some minutes of it
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { Browser } from "./browser.mjs";
import { Stack, until } from "./stack.mjs";

const hours = Number(process.env.TIDEMARK_CONSOLE_HOURS || 0.1);
const stepMs = 5_000;  // how often the overview asks
const rounds = Math.round((hours * 3_600_000) / stepMs);

let stack, browser;

/// Returns the bytes in use after a garbage collection, the elements and the listeners.
async function held(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.enable");
  for (let i = 0; i < 3; i += 1) await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  const counters = await devtools.send("Memory.getDOMCounters");
  await devtools.detach();
  return { bytes: usedSize, nodes: counters.nodes, listeners: counters.jsEventListeners };
}

function staysFlat(before_, after_, what) {
  console.log(`# ${what}: ${JSON.stringify(before_)} -> ${JSON.stringify(after_)}`);
  assert.ok(after_.bytes < before_.bytes + 2_000_000, `${what}: bytes`);
  assert.ok(after_.nodes < before_.nodes * 1.5 + 500, `${what}: elements`);
  assert.ok(after_.listeners < before_.listeners * 1.5 + 100, `${what}: listeners`);
}

/// Opens a page whose clock runs as fast as the test lets it, and which counts its requests and how many of them are
/// open.
async function hastyPage() {
  const sight = await browser.page();
  await sight.page.addInitScript(() => {
    const real = window.fetch;
    window.realNow = performance.now.bind(performance);
    window.traffic = { asked: 0, open: 0 };
    window.fetch = async (...all) => {
      window.traffic.asked += 1;
      window.traffic.open += 1;
      try { return await real(...all); } finally { window.traffic.open -= 1; }
    };
  });
  await sight.signIn();
  await sight.page.clock.install();
  return sight;
}
/// The page measures how long answers take by the real clock: its own clock stands still while they are under way.
async function at(sight, target) {
  await sight.see(target);
  await sight.page.evaluate(() => { performance.now = window.realNow; });
}
const traffic = (page) => page.evaluate(() => window.traffic);
const idle = (page) => until(async () => (await traffic(page)).open === 0, "all is answered");

/// Advances the page's clock by steps; the page's requests in each step are answered before the next.
async function pass(page, steps) {
  for (let i = 0; i < steps; i += 1) {
    await page.clock.runFor(stepMs);
    await idle(page);
  }
}

before(async () => {
  stack = new Stack();
  await stack.up();
  browser = await new Browser(stack).launch();
  stack.importEntities("Orders", Array.from({ length: 300 }, (_, i) => ({ PartitionKey: "p", RowKey: String(i), Amount: i })));
  for (let i = 0; i < 20; i += 1) await stack.submit({ kind: "archive", source: `Missing${i}`, destination: "Old", partitionKey: "p", rowKey: "r", maxAttempts: 1 });
  await until(async () => (await stack.call("GET", "/v1/queues/tidemark-jobs-poison")).messages === 20, "some are poisoned");
});

after(async () => {
  await browser?.close();
  await stack?.down();
});

describe("an hour", () => {
  for (const target of ["/", "/jobs", "/poison?show=messages", "/queues"]) {
    test(`of ${target}`, async () => {
      const sight = await hastyPage();
      await at(sight, target);
      await pass(sight.page, 20);
      const begun = await held(sight.page);
      const { asked: before_ } = await traffic(sight.page);
      await pass(sight.page, rounds);
      const asked = (await traffic(sight.page)).asked - before_;
      assert.ok(asked >= rounds / 4, `asked ${asked} times`);
      staysFlat(begun, await held(sight.page), `${asked} answers of ${target}`);
      await sight.page.context().close();
    });
  }

  test("of events of a job that changes all the time", async () => {
    const job = await stack.submit({ kind: "copy", source: "Orders", destination: "Copies", filter: "", maxPerSecond: 1 });
    const sight = await hastyPage();
    const events = Math.round(hours * 18_000);  // one every 200 ms
    let told = 0;
    const record = await stack.call("GET", `/v1/jobs/${job.id}`);
    // Events as the api writes them, several thousand in one answer to the page.
    await sight.page.route(`**/v1/jobs/${job.id}/events`, (route) => {
      const from = told;
      told += Math.min(1_000, Math.max(0, events - told));
      const body = Array.from({ length: told - from }, (_, i) => `id: ${from + i}\nevent: job\ndata: ${JSON.stringify({ ...record, state: "running", attempts: 1, startedAt: record.submittedAt, progress: { done: from + i, skipped: 0, total: events, phase: `page ${from + i}`, perSecond: 5 } })}\n\n`).join("");
      return route.fulfill({ body, contentType: "text/event-stream" });
    });
    await at(sight, `/jobs/${job.id}`);
    await pass(sight.page, 3);
    const begun = await held(sight.page);
    await until(async () => { await pass(sight.page, 2); return told >= events; }, "all were told", 600_000);
    staysFlat(begun, await held(sight.page), `${told} events`);
    await sight.page.context().close();
  });
});

describe("what it costs the api", () => {
  /// Returns the seconds of processor time that a program has used so far.
  const used = (program) => {
    const fields = readFileSync(`/proc/${stack.children.get(program).pid}/stat`, "utf8").split(") ")[1].split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  };

  test("an open overview takes less than a hundredth of a core", async () => {
    const sight = await hastyPage();
    await at(sight, "/");
    await pass(sight.page, 5);
    const before_ = used("api");
    const steps = 120;
    await pass(sight.page, steps);
    const share = (used("api") - before_) / ((steps * stepMs) / 1000);
    console.log(`# an open overview takes ${(share * 100).toFixed(2)} % of a core`);
    assert.ok(share < 0.01, `${share}`);
    await sight.page.context().close();
  });

  test("a page that is hidden asks for nothing", async () => {
    const sight = await hastyPage();
    await at(sight, "/jobs");
    await sight.page.evaluate(() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await idle(sight.page);
    const { asked } = await traffic(sight.page);
    await pass(sight.page, 20);
    assert.equal((await traffic(sight.page)).asked, asked);
    await sight.page.evaluate(() => { delete document.hidden; document.dispatchEvent(new Event("visibilitychange")); });
    await until(async () => (await traffic(sight.page)).asked > asked, "it asks again");
    await sight.page.context().close();
  });
});

test("nothing complained", () => browser.nothingComplained());
