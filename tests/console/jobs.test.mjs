// Jobs, their groups, limits and schedules.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { inState } from "./browser.mjs";
import { until } from "./stack.mjs";
import { badge, browser, button, dialog, heading, onAnotherPage, open, overOneStack, page, rows, sight, stack } from "./views.mjs";

overOneStack();

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
    await badge("running");
    const done = async () => Number(await page.locator(".figure-value").first().innerText());
    const first = await done();
    await until(async () => (await done()) > first, "the number rises");
    await badge("succeeded");
  });

  test("a pause asks for nothing", async () => {
    const end = await onAnotherPage();
    await page.clock.install();
    await open("/jobs");
    await rows("Jobs").first().waitFor();
    await page.keyboard.press("p");
    await page.getByText("Updates are paused").waitFor();
    let asked = 0;
    page.on("request", (request) => { if (request.url().includes("/v1/")) asked += 1; });
    const job = await stack.submit({ kind: "copy", source: "Orders", destination: "Copies2", filter: "" });
    await inState(stack, job.id, "succeeded");
    await page.evaluate(() => { window.dispatchEvent(new Event("focus")); document.dispatchEvent(new Event("visibilitychange")); });
    await page.clock.runFor(60_000);
    assert.equal(asked, 0);
    await page.keyboard.press("p");
    await page.getByText("Copies2").first().waitFor();
    await end();
  });

  test("where events cannot be had, a job is asked for now and then", async () => {
    const end = await onAnotherPage();
    await page.route("**/events", (route) => route.abort());
    const job = await stack.submit({ kind: "copy", source: "Orders", destination: "Asked", filter: "", notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await open(`/jobs/${job.id}`);
    await page.getByText("updated every 2 s").waitFor();
    await stack.call("POST", `/v1/jobs/${job.id}/cancel`);
    await badge("cancelled");
    await end();
  });

  test("what a job did is undone, after it was planned", async () => {
    const job = await stack.submit({ kind: "archive", source: "Orders", destination: "Undone", partitionKey: "p3", rowKey: "007" });
    await inState(stack, job.id, "succeeded");
    await open(`/jobs/${job.id}`);
    await button("Undo…").click();
    await heading("Submit a job");
    await button(/^Plan/).click();
    await page.getByText("Would touch").waitFor();
    await button(/^Submit: touches 1/).click();
    await heading(/^undo/);
    await badge("succeeded");
    assert.equal((await stack.call("GET", "/v1/tables/Orders/entity?partitionKey=p3&rowKey=007")).Amount, 7);
  });

  test("a search over very many says how far it is, stops, and goes on when it is asked to", async () => {
    const end = await onAnotherPage();
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
    await badge("cancelled");
    await button("Run again, with changes…").click();
    await heading("Submit a job");
    assert.equal(await page.getByLabel(/^Source(?! ?account)/i).inputValue(), "Copies2");
    assert.ok(await page.getByLabel("Every entity of the table").isChecked());
  });

  test("a Double of a job stays one when it is run again", async () => {
    const job = await stack.submit('{"kind":"merge","source":"Orders","partitionKey":"p1","rowKey":"001","set":{"Whole":5.0,"Large":1e+300,"Small":1}}');
    await inState(stack, job.id, "succeeded");
    await open(`/jobs/${job.id}`);
    await button("Run again, with changes…").click();
    await heading("Submit a job");
    assert.equal(await page.getByLabel("Value of Whole").inputValue(), "5.0");
    assert.equal(await page.getByLabel("Value of Large").inputValue(), "1e+300");
    await page.locator(".json", { hasText: '"Whole": 5.0' }).waitFor();
  });

  test("after it was sent back, a job tells how long its last attempt took, and all its attempts", async () => {
    await stack.call("PATCH", "/v1/kinds/archive", { paused: false });
    const job = await stack.submit({ kind: "archive", source: "LaterThere", destination: "OldLater", partitionKey: "p", rowKey: "1", maxAttempts: 1, traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
    await until(() => stack.call("GET", `/v1/poison/${job.id}`).catch(() => null), "it is poison");
    stack.importEntities("LaterThere", [{ PartitionKey: "p", RowKey: "1" }]);
    const began = new Date((await stack.call("GET", `/v1/jobs/${job.id}`)).startedAt).getTime();
    await until(() => Date.now() - began > 3_000, "time has passed");
    await stack.call("POST", `/v1/poison/${job.id}/redrive`);
    await open(`/jobs/${job.id}`);
    await badge("succeeded");
    const attempts = page.locator(".figure", { hasText: "attempts" });
    await attempts.getByText("in 2 rounds").waitFor();
    assert.equal(await attempts.locator(".figure-value").textContent(), "2");
    await page.getByText(/^\d+ ms in its last attempt, \d+ ms in all 2$/).waitFor();
    await page.getByText("0af7651916cd43dd8448eb211c80319c", { exact: true }).waitFor();
    await button(/^Copy (grep|sudo journalctl) .*/).waitFor();
    await page.getByRole("link", { name: "worker-1" }).waitFor();
  });

  test("the story of an entity has every place with its key, also an archive", async () => {
    stack.importEntities("Moved", [{ PartitionKey: "m", RowKey: "1", Customer: "ann" }]);
    await stack.call("PUT", "/v1/containers/archive-of-moved");
    const copy = await stack.submit({ kind: "copy", source: "Moved", destination: "MovedByCustomer", filter: "", partitionKeyTemplate: "{Customer}", rowKeyTemplate: "of_{RowKey}" });
    await inState(stack, copy.id, "succeeded");
    const archive = await stack.submit({ kind: "archive", source: "Moved", destination: { container: "archive-of-moved" }, partitionKey: "m", rowKey: "1" });
    await inState(stack, archive.id, "succeeded");
    await open("/explain?table=Moved&partitionKey=m&rowKey=1");
    const story = page.locator(".card", { has: page.getByRole("heading", { name: "Its story" }) });
    await story.getByText("is in table MovedByCustomer as ann / of_1").waitFor();
    await story.getByText("is in archive archive-of-moved as m / 1").waitFor();
    await page.locator(".card", { hasText: "Where it is not" }).getByText("table Moved, as m / 1").waitFor();
    await sight.go("/explain?table=Orders&partitionKey=p1&rowKey=001");
    assert.equal(await page.getByLabel("PartitionKey").inputValue(), "p1", "the form follows the address");
  });

  test("an action that wants a reason says so", async () => {
    const job = await stack.submit({ kind: "delete", source: "Copies2", filter: "", notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await open(`/jobs/${job.id}`);
    await button("Cancel…").click();
    await dialog().getByText("Reason, for the audit trail needed").waitFor();
    await button("Cancel the job", dialog()).click();
    assert.equal(await dialog().getByLabel("Reason").evaluate((input) => input.validity.valueMissing), true);
    await page.keyboard.press("Escape");
    assert.equal((await stack.call("GET", `/v1/jobs/${job.id}`)).state, "queued");
  });

  test("a group is counted", async () => {
    await stack.call("POST", "/v1/jobs/batch", { group: "both", jobs: [{ kind: "copy", source: "Orders", destination: "Group1", filter: "" }, { kind: "copy", source: "Orders", destination: "Group2", filter: "" }] });
    await open("/groups/both");
    await heading("Group both");
    await until(async () => (await page.locator(".figure", { hasText: "succeeded" }).locator(".figure-value").innerText()) === "2", "both succeeded");
  });
});

describe("limits", () => {
  test("a limit is set, and taken away", async () => {
    await open("/limits");
    const row = page.getByRole("row", { name: /^rekey/ });
    await row.getByRole("button", { name: "Limit…" }).click();
    assert.equal(await row.getByText("no limit").count(), 2);
    await dialog().getByLabel("Max per second").fill("77");
    await button("Save", dialog()).click();
    await row.getByText("77").waitFor();
    await button("New limit…").click();
    await dialog().getByLabel("Name").fill("Orders");
    assert.equal(await dialog().getByLabel("Partition key").count(), 0, "a table's limit has no partition");
    await dialog().getByLabel("Max running").fill("2");
    await button("Save", dialog()).click();
    await rows("Limits of tables and partitions").getByText("Orders").waitFor();
    await rows("Limits of tables and partitions").first().getByRole("button", { name: "Change…" }).click();
    await dialog().getByLabel("Max running").fill("0");
    await button("Save", dialog()).click();
    await page.getByText("No table and no partition has a limit").waitFor();
    await stack.call("PATCH", "/v1/kinds/rekey", { maxPerSecond: 0 });
  });

  test("a limit of the partition without a name is changed, and not one of its table", async () => {
    await stack.call("PATCH", "/v1/limits", { scope: "partition", name: "Orders", partitionKey: "", maxRunning: 2 });
    await open("/limits");
    const row = rows("Limits of tables and partitions");
    await row.getByRole("button", { name: "Change…" }).click();
    await dialog().getByLabel("Max running").fill("3");
    await button("Save", dialog()).click();
    await row.getByText("3", { exact: true }).waitFor();
    const told = (await stack.call("GET", "/v1/limits")).limits.filter((each) => each.name === "Orders");
    assert.deepEqual(told.map((each) => [each.scope, each.partitionKey, each.maxRunning]), [["partition", "", 3]]);
    await stack.call("PATCH", "/v1/limits", { scope: "partition", name: "Orders", partitionKey: "", maxRunning: 0 });
  });
});

describe("schedules", () => {
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

  test("what is typed in the moment when the form appears is kept", async () => {
    const end = await onAnotherPage();
    await open("/schedules");
    await page.evaluate(() => {
      const real = window.fetch;
      window.fetch = async (path, options) => {
        const response = await real(path, options);
        if (path !== "/openapi.json") return response;
        const text = await response.text();
        await new Promise((released) => { window.releaseDescription = released; });
        return { ok: true, status: 200, headers: response.headers, text: async () => text };
      };
    });
    await button("New schedule…").click();
    await page.waitForFunction(() => window.releaseDescription);
    const typed = JSON.stringify({ cron: "@hourly", job: { kind: "copy", source: "Orders", destination: "Typed", filter: "" } });
    // The next task comes before the next frame, in which the page would draw what the description changes.
    await page.evaluate((text) => new Promise((done) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        const field = document.querySelector("textarea.as-json");
        field.value = text;
        field.dispatchEvent(new InputEvent("input", { bubbles: true }));
        done();
      };
      window.releaseDescription();
      port2.postMessage(null);
    }), typed);
    await dialog().getByLabel("Cron").waitFor();
    assert.equal(await dialog().getByLabel("Cron").inputValue(), "@hourly");
    assert.equal(JSON.parse(await dialog().getByLabel("Schedule, as JSON").inputValue()).cron, "@hourly");
    await end();
  });

  test("a schedule is made by a form that shows when it would be due, and lists its runs", async () => {
    await open("/schedules");
    await button("New schedule…").click();
    await dialog().getByLabel("Name").fill("yearly");
    await dialog().getByLabel("Cron").fill("0 0 31 2 *");
    await dialog().getByText("It is never due.").waitFor();
    await dialog().getByLabel("Cron").fill("not a time");
    await dialog().locator(".inline-error").filter({ hasText: "cron" }).waitFor();
    await dialog().getByLabel("Cron").fill("0 3 1 1 *");
    await dialog().getByLabel("Time zone").fill("Europe/Berlin");
    await until(async () => (await dialog().locator(".due time").evaluateAll((all) => all.map((each) => each.getAttribute("datetime")))).filter((each) => /-01-01T02:00:00/.test(each)).length === 5, "the next five times");
    await dialog().getByLabel("Kind").selectOption("copy");
    await dialog().getByLabel(/^Source(?! ?account)/i).fill("Orders");
    await dialog().getByLabel(/^Destination(?! ?account)/i).fill("Yearly{today:yyyy}");
    await dialog().getByLabel("Every entity of the table").check();
    assert.deepEqual(JSON.parse(await dialog().getByLabel("Schedule, as JSON").inputValue()).job, { source: "Orders", destination: "Yearly{today:yyyy}", filter: "", kind: "copy" });
    await button("Save", dialog()).click();
    await heading("yearly");
    await page.getByText("It has not run yet").waitFor();
    await button("Run now…").click();
    await button("Run now", dialog()).click();
    await heading(/copy Orders → Yearly/);
    await badge("succeeded");
    await page.getByRole("link", { name: "yearly" }).click();
    await heading("yearly");
    await rows("Runs of the schedule").first().getByText("succeeded").waitFor();
    assert.equal(await rows("Runs of the schedule").count(), 1);
    await until(async () => (await page.locator(".due time").count()) === 5, "the times at which it is due");
    await stack.call("DELETE", "/v1/schedules/yearly", undefined, { "If-Match": "*" });
  });

  test("a schedule is not saved over what another has changed since it was opened", async () => {
    const schedule = (cron) => ({ cron, job: { kind: "copy", source: "Orders", destination: "Weekly", filter: "" } });
    await stack.call("PUT", "/v1/schedules/weekly", schedule("@weekly"), { "If-None-Match": "*" });
    await open("/schedules/weekly");
    await button("Edit…").click();
    await stack.call("PUT", "/v1/schedules/weekly", schedule("@yearly"), { "If-Match": "*" });
    await sight.comeBack();
    await page.locator("code", { hasText: "@yearly" }).waitFor({ state: "attached" });
    await button("Save", dialog()).click();
    await dialog().getByText("UpdateConditionNotSatisfied").waitFor();
    assert.equal((await stack.call("GET", "/v1/schedules/weekly")).cron, "@yearly");
    await stack.call("DELETE", "/v1/schedules/weekly", undefined, { "If-Match": "*" });
  });
});

describe("what others need", () => {
  const views = ["/jobs", "/jobs/new", "/schedules", "/limits", "/groups/both"];
  const dialogs = [["/limits", "Limit…"], ["/schedules", "New schedule…"]];

  test("axe finds nothing wrong, neither in the light nor in the dark", async () => {
    const one = await stack.poisoned("Seen", "one");
    assert.deepEqual(await wrongsOf(sight, [...views, `/jobs/${one.id}`], dialogs), []);
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
