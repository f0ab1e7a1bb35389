// Every view and action of the console, in a real browser over a real stack.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { Browser, inState } from "./browser.mjs";
import { Stack, token, until } from "./stack.mjs";

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const screenshots = process.env.TIDEMARK_SCREENSHOTS;
const markup = `"><img src=x onerror="window.hurt=1"><script>window.hurt=1</script>`;

let stack, browser, sight, page;

/// Opens a fresh browser context, as another user has it; returns a function that goes back to the previous one.
async function newPage(options = {}) {
  const before_ = sight;
  sight = await browser.page(options);
  page = sight.page;
  return async () => { await page.context().close(); sight = before_; page = before_.page; };
}

const open = (target) => sight.open(target);
const see = (target) => sight.see(target);
const signIn = (as) => sight.signIn(as);
const heading = (name) => sight.heading(name);
const button = (name, within) => sight.button(name, within);
const dialog = () => sight.dialog();
const rows = (label) => sight.rows(label);
const state = (id, wanted) => inState(stack, id, wanted);

async function poisonOf(source, rowKey) {
  const job = await stack.submit({ kind: "archive", source, destination: "Old", partitionKey: "p", rowKey });
  // The record says that the job is poisoned a little before the message is in the poison queue.
  await until(async () => (await stack.call("GET", "/v1/poison?limit=1000")).poison.some((each) => each.jobId === job.id), `the message of ${job.id}`);
  return job;
}

before(async () => {
  stack = new Stack();
  await stack.up();
  browser = await new Browser(stack).launch();
  stack.importEntities("Orders", Array.from({ length: 40 }, (_, i) => ({ PartitionKey: `p${i % 4}`, RowKey: String(i).padStart(3, "0"), Amount: i, Customer: `customer ${i}` })));
  await newPage();
  await signIn();
});

after(async () => {
  await browser?.close();
  await stack?.down();
});

describe("what is served", () => {
  const get = (target, headers = {}) => fetch(stack.url + target, { headers });

  test("the bundle is small, and its policy lets nothing else in", async () => {
    const answer = await get("/");
    const text = await answer.text();
    const policy = answer.headers.get("content-security-policy");
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'$/);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    assert.doesNotMatch(text, /<script(?![^>]* src=)|style=|https?:/);
    const files = [...new Set([...text.matchAll(/(?:href|src)="([^"]+)"/g)].map((found) => found[1]))];
    assert.ok(files.length > 20);
    let size = text.length;
    for (const file of files) {
      const found = await get(file, { "Accept-Encoding": "gzip" });
      assert.equal(found.status, 200, file);
      assert.match(found.headers.get("cache-control"), /immutable/);
      assert.equal(found.headers.get("content-encoding"), "gzip");
      const again = await get(file, { "If-None-Match": found.headers.get("etag") });
      assert.equal(again.status, 304);
      size += Number(found.headers.get("content-length"));
      const plain = await get(file, { "Accept-Encoding": "identity" });
      assert.equal(await plain.text(), await found.text());
    }
    assert.ok(size <= 120_000, `${size} bytes`);
  });

  test("views are addresses, and everything else is not", async () => {
    for (const target of ["/poison", "/jobs/some-id?x=1", "/tables/Orders", "/containers/some"]) assert.match(await (await get(target)).text(), /<div id="app">/);
    for (const target of ["/nothing", "/console/", "/console/0000000000000000/app.js", "/poisonous"]) assert.notEqual((await get(target)).status, 200, target);
    assert.equal((await fetch(stack.url + "/poison", { method: "POST" })).status, 401);
  });
});

describe("signing in", () => {
  test("a wrong token is refused and told about; leaving ends it", async () => {
    const end = await newPage();
    await open("/jobs?state=queued");
    await page.getByLabel("Token").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("not a token of this stack").waitFor();
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await heading("Jobs");
    assert.match(page.url(), /state=queued/);
    await button(/Sign out/).click();
    await page.getByLabel("Token").waitFor();
    await open("/");
    await page.getByLabel("Token").waitFor();
    await end();
  });
});

describe("poison", () => {
  let group;  // its jobs were sent back, in vain

  before(async () => {
    for (let i = 0; i < 4; i += 1) await poisonOf("Missing", `m${i}`);
    await poisonOf("Orders2x", "other");
  });

  test("the overview tells of it, and leads there", async () => {
    await open("/");
    await page.getByText("Wrong now").waitFor();
    await page.getByText(/poison archive job/).first().waitFor();
    await page.getByRole("link", { name: "look" }).first().click();
    await page.getByRole("region", { name: "Poison messages" }).waitFor();
    assert.match(page.url(), /fingerprint=/);
    await page.goBack();
    await heading("Overview");
  });

  test("groups lead to messages, and a message tells its story", async () => {
    await open("/poison");
    await rows("Groups of poison messages").first().getByRole("link").click();
    await rows("Poison messages").first().getByRole("link").first().click();
    await heading(/archive given up/);
    await page.getByText("attempt 1").waitFor();
    await page.getByText("TableNotFound").waitFor();
    await button("Plan").click();
    await page.getByText(/does not exist/).nth(1).waitFor();
  });

  test("a text finds messages by their bodies, in the address", async () => {
    await open("/poison?show=messages");
    await page.getByPlaceholder("Search in ids").fill("m2");
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Poison messages").count()) === 1, "one row");
    assert.match(page.url(), /q=m2/);
  });

  test("one is edited, with the difference shown, and sent back", async () => {
    const job = (await stack.call("GET", "/v1/poison?limit=1000")).poison.find((each) => each.body.rowKey === "m3");
    await open(`/poison/${job.id}`);
    await button("Edit…").click();
    const text = dialog().getByLabel("The job as JSON");
    await text.fill((await text.inputValue()).replace("Missing", "Orders").replace('"p"', '"p3"').replace("m3", "003"));
    await button("Difference to the original", dialog()).click();
    await dialog().locator(".removed", { hasText: "Missing" }).waitFor();
    await dialog().locator(".added", { hasText: "Orders" }).waitFor();
    await dialog().getByLabel("Reason").fill("the table has another name");
    await button("Save, keep it here", dialog()).click();
    const changed = page.locator(".card", { hasText: "What was changed" });
    await changed.locator(".removed", { hasText: "Missing" }).waitFor();
    await changed.locator(".added", { hasText: "Orders" }).waitFor();
    await page.reload();
    await changed.locator(".removed", { hasText: "m3" }).waitFor();
    await button("Edit…").click();
    await text.fill((await text.inputValue()).replace('"Old"', '"Older"'));
    await button("Difference to the original", dialog()).click();
    await dialog().locator(".removed", { hasText: "Missing" }).waitFor();
    await dialog().locator(".added", { hasText: "Older" }).waitFor();
    await dialog().getByLabel("Reason").fill("and the archive, too");
    await button("Save and redrive", dialog()).click();
    await heading(/archive Orders/);
    await state(job.jobId, "succeeded");
    await page.locator(".badge", { hasText: "succeeded" }).first().waitFor();
  });

  test("a selection is deleted with the keys alone", async () => {
    await open("/poison?show=messages");
    await rows("Poison messages").first().waitFor();
    const before_ = await rows("Poison messages").count();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.getByText("1 selected").waitFor();
    await button("Delete selected…").focus();
    await page.keyboard.press("Enter");
    await page.keyboard.type("no longer wanted");
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Poison messages").count()) === before_ - 1, "one less");
  });

  test("from signing in to a redrive without a mouse", async () => {
    const bad = await poisonOf("ByKeys", "one");
    const end = await newPage();
    await open("/");
    const { keyboard } = page;
    await page.getByLabel("Token").waitFor();
    await keyboard.type(token);
    await keyboard.press("Enter");
    await heading("Overview");
    for (const key of ["g", "m"]) await keyboard.press(key);
    await heading("Poison");
    const group = page.getByRole("row", { name: /ByKeys/ });
    await group.waitFor();
    const at = () => group.getAttribute("aria-current");
    for (let i = 0; i < 20 && (await at()) !== "true"; i += 1) await keyboard.press("j");
    await keyboard.press("Enter");
    await rows("Poison messages").first().waitFor();
    await keyboard.press("j");
    await keyboard.press("Enter");
    await heading(/archive given up/);
    await keyboard.press("r");
    await dialog().waitFor();
    await keyboard.type("by keys alone");
    await keyboard.press("Enter");
    await heading(/archive ByKeys/);
    await end();
    const again = await until(async () => (await stack.call("GET", "/v1/poison?source=ByKeys")).poison.find((each) => each.redrives === 1), `${bad.id} is poisoned again`);
    await stack.call("DELETE", `/v1/poison/${again.id}`);
  });

  test("a question that is not answered leaves the selection as it is", async () => {
    await open("/poison?show=messages");
    await rows("Poison messages").first().waitFor();
    for (const key of ["j", "x"]) await page.keyboard.press(key);
    for (const [asked, answer] of [["Delete selected…", "Back"], ["Delete all that match…", "Back"], ["Redrive selected…", "Close"]]) {
      await button(asked).click();
      await button(answer, dialog()).click();
      await dialog().waitFor({ state: "detached" });
      await page.getByText("1 selected").waitFor();
    }
  });

  test("a time that messages are looked for in is told, goes along, and is taken off", async () => {
    await open("/poison");
    await page.getByLabel("moved in the last").selectOption("hour");
    await rows("Groups of poison messages").first().getByRole("link").click();
    await rows("Poison messages").first().waitFor();
    assert.match(page.url(), /movedAfter=/);
    assert.equal(await page.getByLabel("moved in the last").inputValue(), "hour");
    await button("Groups").click();
    assert.equal(await page.getByLabel("moved in the last").inputValue(), "hour");
    await open("/poison?show=messages&movedBefore=2020-01-01T00:00:00Z");
    await page.getByText(/^moved before 20/).waitFor();
    await page.getByText("Nothing is poisoned that matches.").waitFor();
    await button("at any time").click();
    await rows("Poison messages").first().waitFor();
    assert.doesNotMatch(page.url(), /moved/);
  });

  test("r asks before it sends the row back", async () => {
    await open("/poison?show=messages");
    await rows("Poison messages").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("r");
    await dialog().getByText(/Redrive 1 message/).first().waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await dialog().count(), 0);
  });

  test("all that match are counted, then sent back by a job with a pace and canaries", async () => {
    group = (await stack.call("GET", "/v1/poison/groups")).groups[0];
    await open("/poison");
    await button("Redrive all…").first().click();
    await button("Count what matches", dialog()).click();
    await dialog().getByText(new RegExp(`${group.count} messages? match`)).waitFor();
    await dialog().getByLabel("Reason").fill("tried again");
    await button(`Redrive ${group.count}`, dialog()).click();
    await heading(/^redrive/);
    const spec = (await stack.call("GET", "/v1/jobs?kind=redrive")).jobs[0].spec;
    assert.equal(spec.fingerprint, group.fingerprint);
    assert.equal(spec.canary, 1);
  });

  test("all that match are deleted, after the number was typed", async () => {
    await until(async () => (await stack.call("GET", "/v1/jobs?kind=redrive")).jobs.every((job) => job.state !== "queued" && job.state !== "running"), "the redrive has ended");
    await until(async () => (await stack.call("GET", "/v1/poison/groups")).groups.find((each) => each.fingerprint === group.fingerprint)?.count === group.count, "all are poisoned again");
    await poisonOf("Gone", "one");
    await open("/poison?show=messages");
    await button("Delete all that match…").click();
    await button("Count what matches", dialog()).click();
    const number = Number((await dialog().getByText(/Type \d+ to confirm/).innerText()).match(/\d+/)[0]);
    assert.ok(await button(/^Delete \d/, dialog()).isDisabled());
    await dialog().getByLabel("Reason").fill("all known");
    await dialog().getByLabel("Type").fill(String(number));
    await button(/^Delete \d/, dialog()).click();
    await heading(/^purge/);
    await page.locator(".badge", { hasText: "succeeded" }).first().waitFor();
    const [entry] = (await stack.call("GET", "/v1/audit?limit=1&operation=jobs.post")).entries;
    assert.deepEqual([entry.reason, entry.count, entry.target], ["all known", number, page.url().split("/").at(-1)]);
    assert.equal((await stack.call("GET", "/v1/poison")).poison.length, 0);
  });

  test("several that are selected are deleted by one job", async () => {
    for (const name of ["one", "two", "three"]) await poisonOf("Chosen", name);
    await open("/poison?show=messages");
    await until(async () => (await rows("Poison messages").count()) === 3, "three");
    for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
    await button("Delete selected…").click();
    await dialog().getByLabel("Reason").fill("these two");
    await button("Delete 2", dialog()).click();
    await heading(/^purge/);
    await page.locator(".badge", { hasText: "succeeded" }).first().waitFor();
    const [entry] = (await stack.call("GET", "/v1/audit?limit=1&operation=jobs.post")).entries;
    assert.deepEqual([entry.reason, entry.count], ["these two", 2]);
    const left = (await stack.call("GET", "/v1/poison")).poison;
    assert.equal(left.length, 1);
    await stack.call("DELETE", `/v1/poison/${left[0].id}`);
  });
});

describe("jobs", () => {
  test("a form made from the description plans, then submits; progress is live", async () => {
    await open("/jobs/new");
    await page.getByLabel("Kind").selectOption("copy");
    await page.getByLabel(/^Source(?! ?account)/i).fill("Orders");
    await page.getByLabel(/^Destination(?! ?account)/i).fill("Copies");
    await page.getByLabel("Every entity of the table").check();
    await page.getByText("What all jobs have").click();
    await page.getByLabel("Max per second").fill("4");  // slow enough to be seen
    await button(/^Plan/).click();
    await page.getByText("Would touch").waitFor();
    await button(/^Submit/).click();
    await heading(/copy Orders → Copies/);
    await page.getByText("live", { exact: true }).waitFor();
    await page.locator(".badge", { hasText: "running" }).first().waitFor();
    const done = async () => Number(await page.locator(".figure-value").first().innerText());
    const first = await done();
    await until(async () => (await done()) > first, "the number rises");
    await page.locator(".badge", { hasText: "succeeded" }).first().waitFor();
  });

  test("a pause asks for nothing", async () => {
    const end = await newPage();
    await signIn();
    await page.clock.install();
    await open("/jobs");
    await rows("Jobs").first().waitFor();
    await page.keyboard.press("p");
    await page.getByText("Updates are paused").waitFor();
    let asked = 0;
    page.on("request", (request) => { if (request.url().includes("/v1/")) asked += 1; });
    const job = await stack.submit({ kind: "copy", source: "Orders", destination: "Copies2", filter: "" });
    await state(job.id, "succeeded");
    await page.evaluate(() => { window.dispatchEvent(new Event("focus")); document.dispatchEvent(new Event("visibilitychange")); });
    await page.clock.runFor(60_000);
    assert.equal(asked, 0);
    await page.keyboard.press("p");
    await page.getByText("Copies2").first().waitFor();
    await end();
  });

  test("where events cannot be had, a job is asked for now and then", async () => {
    const end = await newPage();
    await signIn();
    await page.route("**/events", (route) => route.abort());
    const job = await stack.submit({ kind: "copy", source: "Orders", destination: "Asked", filter: "", notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await open(`/jobs/${job.id}`);
    await page.getByText("updated every 2 s").waitFor();
    await stack.call("POST", `/v1/jobs/${job.id}/cancel`);
    await sight.badge("cancelled");
    await end();
  });

  test("what a job did is undone, after it was planned", async () => {
    const job = await stack.submit({ kind: "archive", source: "Orders", destination: "Undone", partitionKey: "p3", rowKey: "007" });
    await state(job.id, "succeeded");
    await open(`/jobs/${job.id}`);
    await button("Undo…").click();
    await heading("Submit a job");
    await button(/^Plan/).click();
    await page.getByText("Would touch").waitFor();
    await button(/^Submit: touches 1/).click();
    await heading(/^undo/);
    await sight.badge("succeeded");
    assert.equal((await stack.call("GET", "/v1/tables/Orders/entity?partitionKey=p3&rowKey=007")).Amount, 7);
  });

  test("a search over very many says how far it is, stops, and goes on when it is asked to", async () => {
    const end = await newPage();
    await signIn();
    let pages = 0;
    const told = [];
    // Answers as the api does where little is found: short pages that say how much was searched.
    await page.route(/\/v1\/jobs\?.*state=cancelled/, async (route) => {
      pages += 1;
      if (pages > 1) told.push(await page.locator(".more").innerText());
      await route.fulfill({ json: { jobs: [], searched: 30_000, continuation: String(pages) } });
    });
    await open("/jobs?state=cancelled");
    await page.getByText("0 jobs shown among the newest 120,000; there are more").waitFor();
    assert.match(told.at(-1), /among the newest 90,000; looking on/);
    assert.equal(pages, 4);
    await button("Search on").click();
    await page.getByText("among the newest 240,000").waitFor();
    await end();
  });

  test("a limit is set, and taken away", async () => {
    await open("/limits");
    const row = page.getByRole("row", { name: /^rekey/ });
    await row.getByRole("button", { name: "Limit…" }).click();
    await dialog().getByLabel("Entities a second").fill("77");
    await button("Save", dialog()).click();
    await row.getByText("77").waitFor();
    await button("New limit…").click();
    await dialog().getByLabel("Table").fill("Orders");
    await dialog().getByLabel("At once").fill("2");
    await button("Save", dialog()).click();
    await rows("Limits of tables and partitions").getByText("Orders").waitFor();
    await rows("Limits of tables and partitions").first().getByRole("button", { name: "Change…" }).click();
    await dialog().getByLabel("At once").fill("0");
    await button("Save", dialog()).click();
    await page.getByText("No table and no partition has a limit").waitFor();
    await stack.call("PATCH", "/v1/kinds/rekey", { maxPerSecond: 0 });
  });

  test("a limit of the partition without a name is changed, and not one of its table", async () => {
    await stack.call("PATCH", "/v1/limits", { scope: "partition", name: "Orders", partitionKey: "", maxRunning: 2 });
    await open("/limits");
    const row = rows("Limits of tables and partitions");
    await row.getByRole("button", { name: "Change…" }).click();
    await dialog().getByLabel("At once").fill("3");
    await button("Save", dialog()).click();
    await row.getByText("3", { exact: true }).waitFor();
    const told = (await stack.call("GET", "/v1/limits")).limits.filter((each) => each.name === "Orders");
    assert.deepEqual(told.map((each) => [each.scope, each.partitionKey, each.maxRunning]), [["partition", "", 3]]);
    await stack.call("PATCH", "/v1/limits", { scope: "partition", name: "Orders", partitionKey: "", maxRunning: 0 });
  });

  test("filters combine in the address, and back takes them off", async () => {
    await open("/jobs");
    await page.getByLabel("state").selectOption("succeeded");
    await page.getByLabel("kind").selectOption("copy");
    await until(() => /state=succeeded/.test(page.url()) && /kind=copy/.test(page.url()), "both in the address");
    await rows("Jobs").first().waitFor();
    await until(async () => (await rows("Jobs").allTextContents()).every((text) => text.includes("copy")), "only what the filters let through");
    const link = rows("Jobs").first().getByRole("link");
    assert.equal(await link.textContent(), `…${(await link.getAttribute("href")).slice(-8)}`);
    await page.keyboard.press("j");
    await page.locator("tr[aria-current=true]").waitFor();
    await page.keyboard.press("Enter");
    await heading(/copy/);
    await page.goBack();
    assert.match(page.url(), /kind=copy/);
  });

  test("a kind is paused, its job waits and is cancelled, and is run again with changes", async () => {
    await open("/limits");
    const row = page.getByRole("row", { name: /^merge/ });
    await row.getByRole("button", { name: "Pause" }).click();
    await row.getByText("paused").waitFor();
    await row.getByRole("button", { name: "Resume" }).click();
    await row.getByText("paused").waitFor({ state: "detached" });
    const job = await stack.submit({ kind: "delete", source: "Copies2", filter: "", notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await open(`/jobs/${job.id}`);
    await button("Cancel…").click();
    await dialog().getByLabel("Reason").fill("not now");
    await button("Cancel the job", dialog()).click();
    await page.locator(".badge", { hasText: "cancelled" }).first().waitFor();
    await button("Run again, with changes…").click();
    await heading("Submit a job");
    assert.equal(await page.getByLabel(/^Source(?! ?account)/i).inputValue(), "Copies2");
    assert.ok(await page.getByLabel("Every entity of the table").isChecked());
  });

  test("a Double of a job stays one when it is run again", async () => {
    const job = await stack.submit('{"kind":"merge","source":"Orders","partitionKey":"p1","rowKey":"001","set":{"Whole":5.0,"Large":1e+300,"Small":1}}');
    await state(job.id, "succeeded");
    await open(`/jobs/${job.id}`);
    await button("Run again, with changes…").click();
    await heading("Submit a job");
    assert.match(await page.locator("[name=set]").inputValue(), /"Whole":5\.0\b/);
    assert.match(await page.locator("[name=set]").inputValue(), /"Large":1e\+300\b/);
    await page.locator(".json", { hasText: '"Whole": 5.0' }).waitFor();
  });

  test("a schedule is made, run, paused and deleted", async () => {
    await open("/schedules");
    await button("New schedule…").click();
    await dialog().getByLabel("Name").fill("nightly");
    await dialog().getByLabel("Schedule, as JSON").fill(JSON.stringify({ cron: "@daily", job: { kind: "copy", source: "Orders", destination: "Nightly", filter: "" } }));
    await button("Save", dialog()).click();
    await heading("nightly");
    await button("Pause").click();
    await button("Resume").waitFor();
    await button("Edit…").click();
    const text = dialog().getByLabel("Schedule, as JSON");
    await text.fill((await text.inputValue()).replace("@daily", "@hourly"));
    await button("Save", dialog()).click();
    await page.getByText("@hourly").first().waitFor();
    await button("Run now…").click();
    await button("Run now", dialog()).click();
    await heading(/copy Orders → Nightly/);
    await open("/schedules/nightly");
    await button("Delete…").click();
    await dialog().getByLabel("Reason").fill("tried");
    await button("Delete", dialog()).click();
    await page.getByText("There is no schedule.").waitFor();
  });

  test("a schedule is not saved over what another has changed since it was opened", async () => {
    const schedule = (cron) => ({ cron, job: { kind: "copy", source: "Orders", destination: "Weekly", filter: "" } });
    await stack.call("PUT", "/v1/schedules/weekly", schedule("@weekly"), { "If-None-Match": "*" });
    await open("/schedules/weekly");
    await button("Edit…").click();
    await stack.call("PUT", "/v1/schedules/weekly", schedule("@yearly"), { "If-Match": "*" });
    await page.locator("code", { hasText: "@yearly" }).waitFor({ state: "attached" });
    await button("Save", dialog()).click();
    await dialog().getByText("UpdateConditionNotSatisfied").waitFor();
    assert.equal((await stack.call("GET", "/v1/schedules/weekly")).cron, "@yearly");
    await stack.call("DELETE", "/v1/schedules/weekly", undefined, { "If-Match": "*" });
  });

  test("a group is counted", async () => {
    await stack.call("POST", "/v1/jobs/batch", { group: "both", jobs: [{ kind: "copy", source: "Orders", destination: "Group1", filter: "" }, { kind: "copy", source: "Orders", destination: "Group2", filter: "" }] });
    await open("/groups/both");
    await heading("Group both");
    await until(async () => (await page.locator(".figure", { hasText: "succeeded" }).locator(".figure-value").innerText()) === "2", "both succeeded");
  });
});

describe("indexes and data", () => {
  test("an index is declared, looked up in, and dropped", async () => {
    await open("/indexes");
    await button("Declare an index…").click();
    await dialog().getByLabel("Name").fill("by-customer");
    await dialog().getByLabel("Definition").fill(JSON.stringify({ kind: "lists", source: "Orders", by: ["Customer"], destination: "ByCustomer" }));
    await button("Declare", dialog()).click();
    await heading("by-customer");
    await page.locator(".badge", { hasText: "ready" }).waitFor({ timeout: 60_000 });
    await page.getByLabel("Customer").fill("customer 7");
    await button("Find").click();
    await page.locator(".json", { hasText: "007" }).waitFor();
    await button("Scrub").click();
    await button("Pause").click();
    await button("Resume").click();
    await button("Pause").waitFor();
    await button("Rebuild…").click();
    await dialog().getByLabel("Reason").fill("to be sure");
    await button("Rebuild", dialog()).click();
    await page.locator(".badge", { hasText: "ready" }).waitFor({ timeout: 60_000 });
    await button("Drop…").click();
    await dialog().getByLabel("Reason").fill("tried");
    await button("Drop", dialog()).click();
    await heading("Indexes");
  });

  test("a lookup by several properties wants them in their order", async () => {
    await stack.call("PUT", "/v1/indexes/by-two", { kind: "lists", source: "Orders", by: ["Customer", "Amount"], destination: "ByTwo" });
    await open("/indexes/by-two");
    await page.locator(".badge", { hasText: "ready" }).waitFor({ timeout: 60_000 });
    await page.getByLabel("Amount").fill("7");
    await button("Find").click();
    await page.getByText("Fill in Customer, too").waitFor();
    await page.getByLabel("Customer").fill("customer 7");
    await button("Find").click();
    await page.locator(".json", { hasText: "007" }).waitFor();
    await stack.call("DELETE", "/v1/indexes/by-two");
  });

  test("a filter is checked while it is typed, and its cost is told", async () => {
    await open("/tables");
    await page.getByRole("link", { name: "Orders", exact: true }).click();
    await heading("Orders");
    const filter = page.getByLabel("Filter ($filter)");
    await page.getByText("scan: the whole table").waitFor();
    await filter.fill("PartitionKey eq 'p1' and RowKey eq '001'");
    await page.getByText("point: only entities").waitFor();
    await filter.fill("PartitionKey eq");
    await page.locator("#cost .inline-error").waitFor();
    assert.ok(await button("Query").isDisabled());
    await filter.fill("PartitionKey eq 'p1' and Amount lt 10");
    await page.getByText("the whole partition").waitFor();
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Entities").count()) === 3, "1, 5 and 9");
    assert.match(page.url(), /filter=/);
  });

  test("who reads a table's changes is told, and how far behind", async () => {
    await stack.call("PUT", "/v1/tables/Orders/feed", { values: "both" });
    await stack.call("PUT", "/v1/tables/Orders/consumers/readers", {});
    await open("/tables/Orders");
    await rows("Followers of the changes").getByText("readers").waitFor();
    // The page asks again by itself, but where answers take seconds, it leaves the api alone for a minute or two.
    await stack.call("PUT", "/v1/tables/Orders/entity?partitionKey=feed&rowKey=1", "{}", { "If-None-Match": "*" });
    await page.reload();
    await rows("Followers of the changes").getByText("1 change").waitFor();
    await stack.call("DELETE", "/v1/tables/Orders/feed");
    await page.reload();
    await page.getByText("The table has no change feed any more").waitFor();
    await rows("Followers of the changes").getByText("no feed").waitFor();
    await stack.call("DELETE", "/v1/tables/Orders/consumers/readers");
  });

  /// Edits up to the button that saves.
  const edit = async (before, after, reason) => {
    await button("Edit…").click();
    const text = dialog().getByLabel("Properties");
    await text.fill((await text.inputValue()).replace(before, after));
    await dialog().getByLabel("Reason").fill(reason);
  };

  test("an Int64 stays exact through an edit, and a change by another is not undone", async () => {
    const where = "/v1/tables/Orders/entity?partitionKey=exact&rowKey=1";
    await stack.call("PUT", where, '{"Big":"9007199254740993","Big@odata.type":"Edm.Int64","Small":1}', { "If-None-Match": "*" });
    await open("/tables/Orders?partitionKey=exact&rowKey=1");
    await page.getByText("9007199254740993").waitFor();
    await page.getByText("Int64").waitFor();
    await edit('"Small": 1', '"Small": 2', "two is right");
    await button("Save", dialog()).click();
    await page.getByRole("row", { name: /Small/ }).getByText("2", { exact: true }).waitFor();
    assert.equal((await stack.call("GET", where)).Big, "9007199254740993");
    await edit('"Small": 2', '"Small": 3', "three is right");
    await stack.call("PUT", where, '{"Small":9}', { "If-Match": "*" });
    await button("Save", dialog()).click();
    await dialog().getByText("UpdateConditionNotSatisfied").waitFor();
    await button("Back", dialog()).click();
    await page.getByRole("row", { name: /Small/ }).getByText("9", { exact: true }).waitFor();
    await button("Delete…").click();
    await dialog().getByLabel("Reason").fill("tried");
    await button("Delete", dialog()).click();
    await heading("Orders");
  });

  test("a Double stays one through an edit and an export", async () => {
    const where = "/v1/tables/Orders/entity?partitionKey=exact&rowKey=2";
    const told = async () => (await fetch(stack.url + where, { headers: { Authorization: `Bearer ${token}` } })).text();
    const doubles = [/"Whole":5\.0\b/, /"Nothing":-0\.0\b/, /"Large":1e\+300\b/];
    await stack.call("PUT", where, '{"Whole":5.0,"Nothing":-0.0,"Large":1e+300,"Small":1}', { "If-None-Match": "*" });
    await open("/tables/Orders?partitionKey=exact&rowKey=2");
    for (const [name, type, value] of [["Whole", "Double", "5.0"], ["Nothing", "Double", "-0.0"], ["Large", "Double", "1e+300"], ["Small", "Int32", "1"]]) {
      const row = page.getByRole("row", { name: new RegExp(`^${name}`) });
      await row.getByText(type, { exact: true }).waitFor();
      await row.getByText(value, { exact: true }).waitFor();
    }
    await edit('"Small": 1', '"Small": 2', "two is right");
    await button("Save", dialog()).click();
    await page.getByRole("row", { name: /Small/ }).getByText("2", { exact: true }).waitFor();
    for (const each of doubles) assert.match(await told(), each);
    await open(`/tables/Orders?filter=${encodeURIComponent("PartitionKey eq 'exact'")}`);
    await rows("Entities").first().waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), button("Export JSON Lines").click()]);
    for (const each of doubles) assert.match(readFileSync(await saved.path(), "utf8"), each);
    await stack.call("DELETE", where, undefined, { "If-Match": "*" });
  });

  test("messages of a queue are looked at, also those that nobody can take", async () => {
    await stack.submit({ kind: "copy", source: "Orders", destination: "Later", filter: "", notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await open("/queues/tidemark-jobs");
    await page.getByRole("region", { name: "Messages" }).getByText("delayed").waitFor();
    await rows("Messages").first().getByRole("button").first().click();
    await page.locator(".json", { hasText: "Later" }).waitFor();
    await page.getByPlaceholder("Search in the messages").fill("nowhere");
    await page.keyboard.press("Enter");
    await page.getByText("No message.").waitFor();
    await page.getByPlaceholder("Search in the messages").fill("");
    await button("Pause").click();
    await button("Resume").click();
    await button("Pause").waitFor();
  });

  test("an entity is explained", async () => {
    const job = await stack.submit({ kind: "archive", source: "Orders", destination: "Told", partitionKey: "p2", rowKey: "002" });
    await state(job.id, "succeeded");
    await open("/explain");
    await page.getByLabel("Table").fill("Orders");
    await page.getByLabel("PartitionKey").fill("p2");
    await page.getByLabel("RowKey").fill("002");
    await button("Explain").click();
    await page.getByText("Its story").waitFor();
    await page.locator(".line a", { hasText: "Told" }).waitFor();
  });
});

describe("containers", () => {
  const picture = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  const put = (name, content, type) => stack.call("PUT", `/v1/containers/pictures/content?name=${encodeURIComponent(name)}&contentType=${encodeURIComponent(type)}`, content, { "Content-Type": "application/octet-stream", "If-None-Match": "*" });

  test("one is made, and a blob is uploaded, seen, replaced as it was seen, and deleted", async () => {
    await open("/containers");
    await button("New container…").click();
    await dialog().getByLabel("Name").fill("pictures");
    await button("Make it", dialog()).click();
    await heading("pictures");
    await page.getByText("This container is empty.").waitFor();
    await button("Upload…").click();
    await dialog().getByLabel("File").setInputFiles({ name: "told.json", mimeType: "application/json", buffer: Buffer.from('{"big":9007199254740993}') });
    await dialog().getByLabel("Name of the blob").fill("notes/2026/told.json");
    await dialog().getByLabel("Reason").fill("asked for");
    await button("Upload", dialog()).click();
    await heading("told.json");
    await page.locator(".json", { hasText: "9007199254740993" }).waitFor();
    await page.getByText("application/json").waitFor();
    const entry = (await stack.call("GET", "/v1/audit?limit=1&operation=containers.content.put")).entries[0];
    assert.deepEqual([entry.target, entry.count, entry.reason], ["pictures/notes/2026/told.json", 24, "asked for"]);
    await button("Replace…").click();
    await dialog().getByLabel("File").setInputFiles({ name: "x.txt", mimeType: "text/plain", buffer: Buffer.from("another text") });
    await dialog().getByLabel("Reason").fill("it is another now");
    await button("Upload", dialog()).click();
    await page.locator("pre", { hasText: "another text" }).waitFor();
    const before_ = await stack.call("GET", "/v1/containers/pictures/blob?name=notes%2F2026%2Ftold.json");
    await button("Delete…").click();
    await stack.call("PUT", "/v1/containers/pictures/content?name=notes%2F2026%2Ftold.json", "changed", { "Content-Type": "application/octet-stream", "If-Match": before_.etag });
    await dialog().getByLabel("Reason").fill("no longer needed");
    await button("Delete", dialog()).click();
    await dialog().getByText("ConditionNotMet").waitFor();
    await button("Back", dialog()).click();
    await open("/containers/pictures?blob=notes%2F2026%2Ftold.json");
    await button("Delete…").click();
    await dialog().getByLabel("Reason").fill("no longer needed");
    await button("Delete", dialog()).click();
    await until(async () => !(await stack.call("GET", "/v1/containers/pictures/blobs")).blobs.length, "it is gone");
  });

  test("what is said of a blob stays when its content is replaced", async () => {
    await stack.call("PUT", "/v1/containers/pictures");
    await stack.ofBlob("PUT", "pictures/said.txt", "first", { "x-ms-blob-type": "BlockBlob", "Content-Type": "text/x-said", "x-ms-blob-cache-control": "no-store", "x-ms-blob-content-encoding": "x-said", "x-ms-meta-whose": "ann", "x-ms-tags": "project=one" });
    await open("/containers/pictures?blob=said.txt");
    await button("Replace…").click();
    await dialog().getByLabel("File").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from("second") });
    await dialog().getByLabel("Reason").fill("it is another now");
    await button("Upload", dialog()).click();
    await page.locator("pre", { hasText: "second" }).waitFor();
    const { contentType, contentEncoding, cacheControl, metadata, tags } = await stack.call("GET", "/v1/containers/pictures/blob?name=said.txt");
    assert.deepEqual({ contentType, contentEncoding, cacheControl, metadata, tags }, { contentType: "text/x-said", contentEncoding: undefined, cacheControl: "no-store", metadata: { whose: "ann" }, tags: { project: "one" } });
    await stack.call("DELETE", "/v1/containers/pictures/blob?name=said.txt", undefined, { "If-Match": "*" });
  });

  test("folders are walked with the keys, and lead back", async () => {
    await put("a/one.txt", "first", "text/plain");
    await put("a/deep/er/two.txt", "second", "text/plain");
    await put("a/picture.png", picture, "text/html");
    await put("bytes.bin", Buffer.from([0, 1, 2, 255]), "application/x-thing");
    await open("/containers/pictures");
    await rows("Blobs").first().waitFor();
    assert.equal(await rows("Blobs").count(), 2);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await heading("a");
    assert.match(page.url(), /prefix=a%2F/);
    await rows("Blobs").getByText("deep/").click();
    await rows("Blobs").getByText("er/").click();
    await heading("er");
    await page.getByRole("navigation", { name: "Where this is" }).getByText("pictures").click();
    await heading("pictures");
    await button("All names").click();
    await until(async () => (await rows("Blobs").count()) === 4, "all of them");
    await page.getByPlaceholder("Names that begin with").fill("a/d");
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Blobs").count()) === 1, "one");
    await page.getByText(/^1 name shown, that is all$/).waitFor();
    await see("/containers/pictures?prefix=none");
    await page.getByText("No blob has a name like this.").waitFor();
  });

  test("a picture is seen by its bytes, other bytes as such, and a page of a blob is never run", async () => {
    await open("/containers/pictures?blob=a%2Fpicture.png");
    await page.getByRole("img", { name: "Picture of picture.png" }).waitFor();
    assert.equal(await page.locator("img.preview").evaluate((image) => image.decode().then(() => image.naturalWidth)), 1);
    await open("/containers/pictures?blob=bytes.bin");
    await page.locator("pre", { hasText: "00 01 02 ff" }).waitFor();
    await put("page.html", markup, "text/html");
    await open("/containers/pictures?blob=page.html");
    await page.locator("pre", { hasText: "onerror" }).waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).click()]);
    assert.equal(saved.suggestedFilename(), "page.html");
    assert.equal(readFileSync(await saved.path(), "utf8"), markup);
    assert.equal(await page.evaluate(() => window.hurt), undefined);
  });

  test("a long text is begun, and says so", async () => {
    await put("long.txt", "é".repeat(100_000), "text/plain");
    await open("/containers/pictures?blob=long.txt");
    await page.getByText("The beginning of 195 KiB").waitFor();
    assert.doesNotMatch(await page.locator("main pre").innerText(), /\ufffd/);
  });
});

describe("poison of queues of one's own", () => {
  const queue = "letters";
  before(async () => {
    for (const name of [queue, `${queue}-poison`]) await stack.putQueue(name);
    for (let i = 0; i < 4; i += 1) await stack.putMessage(`${queue}-poison`, `{"letter":${i}}`);
  });

  test("the queue is listed, and a message edited, sent back, and deleted", async () => {
    await open("/poison");
    await button("Your queues").click();
    await rows("Queues with poison").getByRole("link", { name: queue }).click();
    await until(async () => (await rows("Poison messages").count()) === 4, "four");
    assert.match(page.url(), /queue=letters/);
    await rows("Poison messages").first().getByRole("link").click();
    await heading(/Message of letters given up/);
    await button("Edit…").click();
    await dialog().getByLabel("The text of the message").fill('{"letter":"new"}');
    await button("Difference to the original", dialog()).click();
    await dialog().locator(".added", { hasText: "new" }).waitFor();
    await dialog().getByLabel("Reason").fill("it was old");
    await button("Save, keep it here", dialog()).click();
    await page.locator(".card", { hasText: "What was changed" }).locator(".added", { hasText: "new" }).waitFor();
    await button("Edit…").click();
    await button("Difference to the original", dialog()).click();
    await dialog().locator(".removed", { hasText: "0" }).waitFor();
    await dialog().getByLabel("Reason").fill("it is new");
    await button("Save and redrive", dialog()).click();
    await until(async () => (await stack.call("GET", `/v1/queues/${queue}/messages`)).messages[0]?.text === '{"letter":"new"}', "it is in its queue");
    await until(async () => (await rows("Poison messages").count()) === 3, "three are left");
  });

  test("a selection goes back with the keys alone, and the rest is deleted after it was counted", async () => {
    await open(`/poison?queue=${queue}`);
    await rows("Poison messages").first().waitFor();
    for (const key of ["j", "x", "r"]) await page.keyboard.press(key);
    await dialog().getByLabel("Reason").waitFor();
    await page.keyboard.type("once more");
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Poison messages").count()) === 2, "two are left");
    await button("Delete all of this queue…").click();
    await button("Count what matches", dialog()).click();
    await dialog().getByLabel("Reason").fill("not wanted");
    await dialog().getByLabel("Type").fill("2");
    await button("Delete 2", dialog()).click();
    await heading(/^purge/);
    await page.locator(".badge", { hasText: "succeeded" }).first().waitFor();
    await open(`/poison?queue=${queue}`);
    await page.getByText("No message of this queue is poisoned.").waitFor();
    await stack.putMessage(`${queue}-poison`, "one for the views that follow");
  });
});

describe("what a query selects", () => {
  const filter = "PartitionKey eq 'p1' and Amount lt 10";

  test("is given to a job, which is planned first", async () => {
    await open(`/tables/Orders?filter=${encodeURIComponent(filter)}`);
    await rows("Entities").first().waitFor();
    await page.getByLabel("Act on all that match").selectOption("merge");
    await heading("Submit a job");
    assert.equal(await page.getByLabel("Kind").inputValue(), "merge");
    assert.equal(await page.locator("[name=filter]").inputValue(), filter);
    await page.locator("[name=set]").fill('{"Marked":true}');
    await button(/^Plan/).click();
    await page.getByText("Would touch").waitFor();
    await button(/^Submit: touches/).click();
    await heading(/merge Orders/);
    await page.locator(".badge", { hasText: "succeeded" }).first().waitFor();
    assert.equal((await stack.call("GET", `/v1/tables/Orders/entities?filter=${encodeURIComponent("Marked eq true")}`)).entities.length, 3);
  });

  test("may be nothing: then the page says how much was searched", async () => {
    for (const [where, told] of [[`/tables/Orders?filter=${encodeURIComponent("Amount eq -1")}`, /^0 entities shown among the first [\d,]+, that is all$/],
      ["/audit?operation=none.such", /^0 entries shown among the newest [\d,]+, that is all$/],
      ["/jobs?state=cancelled&kind=offload", /^0 jobs shown among the newest [\d,]+, that is all$/]]) {
      await open(where);
      await page.getByText(told).waitFor();
    }
  });

  test("is saved as CSV, with quotes where they are needed", async () => {
    await stack.call("PUT", "/v1/tables/Orders/entity?partitionKey=csv&rowKey=1", JSON.stringify({ Said: 'a "b", c\nd', Amount: 1 }), { "If-None-Match": "*" });
    await open(`/tables/Orders?filter=${encodeURIComponent("PartitionKey eq 'csv'")}`);
    await rows("Entities").first().waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), button("Export CSV").click()]);
    const text = readFileSync(await saved.path(), "utf8");
    assert.match(text, /^"PartitionKey","RowKey","Timestamp",.*"Said"/);
    assert.ok(text.includes('"a ""b"", c\nd"'));
    await stack.call("DELETE", "/v1/tables/Orders/entity?partitionKey=csv&rowKey=1", undefined, { "If-Match": "*" });
  });

  test("is kept under a name in this browser, and forgotten", async () => {
    await open(`/tables/Orders?filter=${encodeURIComponent(filter)}`);
    await button("Save this filter…").click();
    await dialog().getByLabel("Name").fill("small ones");
    await button("Save", dialog()).click();
    await open("/tables/Orders");
    await page.getByLabel("Saved").selectOption("small ones");
    await until(async () => (await rows("Entities").count()) === 3, "1, 5 and 9");
    await button("Forget it").click();
    assert.equal(await page.getByLabel("Saved").count(), 0);
  });
});

describe("another screen", () => {
  test("a narrow screen shows the same", async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    for (const target of ["/", "/poison", "/jobs", "/tables/Orders"]) {
      await open(target);
      await page.locator("main h1").waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, target);
    }
    await button("Menu").click();
    await page.getByRole("link", { name: "Jobs" }).click();
    await heading("Jobs");
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

describe("keys, times and themes", () => {
  test("/ goes to the search, ? shows the keys, g goes to a view", async () => {
    await open("/jobs");
    await heading("Jobs");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.hasAttribute("data-search")), true);
    await page.keyboard.press("?");  // typed into the field
    assert.equal(await dialog().count(), 0);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("?");
    await dialog().getByText("next and previous row").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    await heading("Workers");
    await page.getByText("worker-1").waitFor();
  });

  test("times are in UTC when asked", async () => {
    await button("UTC").click();
    await page.getByText("alive").waitFor();
    assert.match(await page.locator("main time").first().getAttribute("title"), /UTC$/);
    await button("Local").click();
  });
});

describe("shards", () => {
  test("each store has its shards, and a plan", async () => {
    await open("/shards");
    await rows("Shards of the table store").first().getByText("this process").waitFor();
    await rows("Shards of the queue store").first().getByText("this process").waitFor();
    assert.equal(await button("Move…").count(), 0, "the shards of this stack are not shared");
    await page.getByRole("link", { name: "Plan" }).first().click();
    await heading("Plan for the table store");
    await page.getByText("No shard is hot").waitFor();
    await page.getByRole("link", { name: "Shards", exact: true }).first().click();
    await heading("Shards");
  });

  test("a move asks first, says why, and goes to the process that was chosen", async () => {
    const shared = { stores: [{ store: "queue", shared: true, processes: [{ name: "one", shards: 1, writesPerSecond: 3 }, { name: "two", shards: 0, writesPerSecond: 0 }],
      shards: [{ store: "queue", shard: 0, shared: true, process: "one", epoch: 2, unknown: "It is being handed over." }] }, { store: "blob", trouble: "away" }] };
    await page.route("**/v1/shards", (route) => route.fulfill({ json: shared }));
    const asked = new Promise((resolve) => page.route("**/v1/shards/queue/0/move", (route) => { resolve(route.request()); return route.fulfill({ json: shared.stores[0].shards[0] }); }));
    await open("/shards");
    await page.getByText("The store does not answer: away").waitFor();
    await button("Move…").click();
    assert.equal(await dialog().getByLabel("Process").inputValue(), "two");
    await dialog().getByLabel("Reason").fill("one is busy");
    await button("Move", dialog()).click();
    const request = await asked;
    assert.deepEqual(request.postDataJSON(), { process: "two" });
    assert.equal(request.headers()["x-tidemark-reason"], "one%20is%20busy");
    await dialog().waitFor({ state: "detached" });
    await page.unrouteAll();
  });
});

describe("what others need", () => {
  const views = ["/", "/poison", "/poison?show=messages", "/jobs", "/jobs/new", "/schedules", "/limits", "/workers", "/shards", "/shards/table", "/indexes", "/containers", "/containers/pictures", "/containers/pictures?prefix=a%2F", "/containers/pictures?blob=a%2Fpicture.png", "/containers/pictures?blob=bytes.bin", "/poison?show=queues", "/poison?queue=letters", "/tables", "/tables/Orders", "/tables/Orders?partitionKey=p1&rowKey=001", "/queues", "/queues/tidemark-jobs", "/groups/both", "/audit", "/explain?table=Orders&partitionKey=p1&rowKey=001"];
  const run = async (what, options) => {
    const found = await page.evaluate((how) => window.axe.run(document, { resultTypes: ["violations"], ...how }), options);
    return found.violations.map((each) => `${what}: ${each.id}: ${each.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message || ""}`).join(" | ")}`);
  };
  /// The themes differ only in their colours.
  const wrongs = async (what) => {
    if (!(await page.evaluate(() => window.axe))) await page.evaluate(axe);
    const light = await run(what);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.locator("[data-theme=dark]").waitFor();
    const dark = await run(`${what} in the dark`, { runOnly: ["color-contrast", "link-in-text-block"] });
    await page.emulateMedia({ colorScheme: "light" });
    await page.locator("[data-theme=light]").waitFor();
    return [...light, ...dark];
  };
  /// The page of each dialog, and the button that opens it.
  const dialogs = [["/poison", "Redrive all…"], ["/poison", "Delete all…"], ["/limits", "Limit…"], ["/schedules", "New schedule…"], ["/indexes", "Declare an index…"], ["/containers/pictures", "Upload…"], ["/tables/Orders?partitionKey=p1&rowKey=001", "Edit…"], ["/", "Keys ?"]];
  before(() => poisonOf("Seen", "one"));

  test("axe finds nothing wrong, neither in the light nor in the dark", async () => {
    const one = (await stack.call("GET", "/v1/jobs?limit=1")).jobs[0];
    const bad = (await stack.call("GET", "/v1/poison?limit=1")).poison[0];
    await open("/");
    await button("Auto").click();
    const wrong = [];
    for (const target of [...views, `/jobs/${one.id}`, `/poison/${bad.id}`]) {
      await sight.go(target);
      wrong.push(...await wrongs(target));
    }
    for (const [target, opens] of dialogs) {
      await sight.go(target);
      await button(opens).first().click();
      await dialog().waitFor();
      wrong.push(...await wrongs(`${target} ${opens}`));
      await page.keyboard.press("Escape");
      await dialog().waitFor({ state: "detached" });
    }
    assert.deepEqual(wrong, []);
  });
});

test("pictures for the documentation", { skip: !screenshots }, async () => {
  for (let i = 0; i < 3; i += 1) await poisonOf("Customers", `c${i}`);
  const bad = (await stack.call("GET", "/v1/poison?limit=1000")).poison.at(-1);
  const good = (await stack.call("GET", "/v1/jobs?kind=copy&state=succeeded")).jobs[0];
  const shots = { overview: "/", poison: "/poison", message: `/poison/${bad.id}`, job: `/jobs/${good.id}`, table: "/tables/Orders?filter=" + encodeURIComponent("PartitionKey eq 'p1'") };
  await page.setViewportSize({ width: 1100, height: 640 });
  for (const [name, target] of Object.entries(shots)) {
    await see(target);
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: path.join(screenshots, `console-${name}.png`) });
  }
});

describe("a list that cannot be had", () => {
  const lists = [["/jobs", "jobs"], ["/queues", "queues"], ["/audit", "audit"], ["/containers", "containers"], ["/schedules", "schedules"], ["/tables", "tables"], ["/poison?show=messages", "poison"],
    ["/poison?show=queues", "poison/queues"]];

  test("says why on its first page, and comes when it is tried again", async () => {
    for (const [view, list] of lists) {
      const asked = new RegExp(`/v1/${list}(\\?|$)`);
      await page.route(asked, (route) => route.fulfill({ status: 503, json: { code: "Unavailable", detail: "the store is away" } }));
      await see(view);
      const told = page.getByRole("alert").filter({ hasText: "the store is away" });
      await told.waitFor();
      assert.equal(await told.count(), 1, view);
      await page.unroute(asked);
      await button("Try again", told).click();
      await told.waitFor({ state: "detached" });
    }
  });

  test("is told of once when what it belongs to is not there", async () => {
    for (const [view, code] of [["/tables/Nosuch", /TableNotFound/], ["/queues/nosuch", /QueueNotFound/], ["/containers/nosuch", /ContainerNotFound/]]) {
      await see(view);
      await page.getByRole("alert").getByText(code).waitFor();
      assert.equal(await page.getByRole("alert").count(), 1, view);
    }
  });
});

describe("a list that changes while somebody goes through it", () => {
  test("keeps what was shown, and tells of what is new when it is asked to", async () => {
    const end = await newPage();
    await signIn();
    await page.clock.install();
    const names = ["five", "four", "one", "three", "two"];
    let held;
    await page.route(/\/v1\/containers\?/, async (route) => {
      const after = new URL(route.request().url()).searchParams.get("continuation");
      const from = after ? names.indexOf(after) + 1 : 0;
      const list = names.slice(from, from + 2);
      if (held === true) await new Promise((go) => { held = go; });
      await route.fulfill({ json: { containers: list.map((name) => ({ name, changedAt: "2026-01-31T22:00:00Z", leased: false })), ...(from + 2 < names.length ? { continuation: list.at(-1) } : {}) } });
    });
    const shown = async (wanted) => until(async () => JSON.stringify((await rows("Containers").allTextContents()).map((text) => /^[a-z]+/.exec(text)[0])) === JSON.stringify(wanted), `shown: ${wanted}`);
    await open("/containers");
    await shown(["five", "four"]);
    names.unshift("begun", "eight");
    held = true;
    await page.clock.runFor(15_000);  // the first page is requested again
    await until(() => typeof held === "function", "that is under way");
    const answer = held;
    held = undefined;
    await button("Show more").click();
    await shown(["five", "four", "one", "three"]);
    answer();
    await button("Show more").click();
    await page.getByText(/^5 containers shown, that is all/).waitFor();
    await shown(["five", "four", "one", "three", "two"]);
    await button("Back to the newest").click();
    await shown(["begun", "eight"]);
    await end();
  });
});

describe("a disk that is full", () => {
  after(async () => { await stack.kill("blob_store"); await stack.start("blob_store"); });

  test("comes first in what is wrong", async () => {
    await open("/");
    await page.getByText(/^Disk of table, queue, blob: .* of .* free$/).waitFor();
    await stack.kill("blob_store");
    await stack.start("blob_store", "--min-free-mib", "1048576");
    await page.locator(".wrong li").first().getByText(/^The disk of the .* GiB left, so writes are refused$/).waitFor();
  });
});

describe("a store that is away", () => {
  after(async () => { await stack.kill("blob_store"); await stack.start("blob_store"); });

  test("comes before everything else that is wrong", async () => {
    await open("/");
    await page.getByText("Wrong now").waitFor();
    await stack.kill("blob_store");
    await page.locator(".wrong li").first().getByText("The blob store does not answer").waitFor();
  });
});

describe("the api goes and comes", () => {
  test("the page says that it is away, keeps trying, and goes on", async () => {
    await open("/workers");
    await page.getByText("worker-1").waitFor();
    await stack.kill("api");
    await page.getByText("The api does not answer").waitFor();
    await stack.start("api");
    // Sessions are kept in memory, so a user who signed in with one is asked again, at the same address.
    await page.getByLabel("Token").waitFor({ timeout: 60_000 });
    assert.match(page.url(), /\/workers$/);
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await heading("Workers");
    await page.getByText("worker-1").waitFor();
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => {
  browser.nothingComplained();
});
