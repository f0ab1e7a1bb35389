// Tables and their indexes, and what a query selects.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { inState } from "./browser.mjs";
import { token, until } from "./stack.mjs";
import { badge, browser, button, dialog, heading, open, overOneStack, page, rows, sight, stack } from "./views.mjs";

overOneStack();

describe("indexes and data", () => {
  test("an index is declared, looked up in, and dropped", async () => {
    await open("/indexes");
    await button("Declare an index…").click();
    await dialog().getByLabel("Name").fill("by-customer");
    await dialog().getByLabel("Definition").fill(JSON.stringify({ kind: "lists", source: "Orders", by: ["Customer"], destination: "ByCustomer" }));
    await button("Declare", dialog()).click();
    await heading("by-customer");
    await badge("ready");
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
    await badge("ready");
    await button("Drop…").click();
    await dialog().getByLabel("Reason").fill("tried");
    await button("Drop", dialog()).click();
    await heading("Indexes");
  });

  test("a lookup by several properties wants them in their order", async () => {
    await stack.call("PUT", "/v1/indexes/by-two", { kind: "lists", source: "Orders", by: ["Customer", "Amount"], destination: "ByTwo" });
    await open("/indexes/by-two");
    await badge("ready");
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

  test("an entity is explained", async () => {
    const job = await stack.submit({ kind: "archive", source: "Orders", destination: "Told", partitionKey: "p2", rowKey: "002" });
    await inState(stack, job.id, "succeeded");
    await open("/explain");
    await page.getByLabel("Table").fill("Orders");
    await page.getByLabel("PartitionKey").fill("p2");
    await page.getByLabel("RowKey").fill("002");
    await button("Explain").click();
    await page.getByText("Its story").waitFor();
    await page.locator(".line a", { hasText: "Told" }).waitFor();
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
    await badge("succeeded");
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

describe("what others need", () => {
  const views = ["/indexes", "/tables", "/tables/Orders", "/tables/Orders?partitionKey=p1&rowKey=001", "/explain?table=Orders&partitionKey=p1&rowKey=001"];
  const dialogs = [["/indexes", "Declare an index…"], ["/tables/Orders?partitionKey=p1&rowKey=001", "Edit…"]];

  test("axe finds nothing wrong, neither in the light nor in the dark", async () => {
    assert.deepEqual(await wrongsOf(sight, views, dialogs), []);
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
