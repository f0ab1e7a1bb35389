// Tables and their indexes, and what a query selects.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { readPaste } from "../../console/net/paste.js";
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
    await button("JSON", dialog()).click();
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
    await dialog().getByLabel("Type 1 to confirm").fill("1");
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
    await button("Add a property").click();
    await page.getByLabel("Name of the property").fill("Marked");
    await page.getByLabel("Type of Marked").selectOption("true or false");
    await page.getByLabel("Value of Marked").fill("true");
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

/// Types the name that a dialog asks for, and the reason; then presses its button.
async function destroy(name, verb) {
  await dialog().getByLabel(`Type ${name} to confirm`).fill(name);
  await dialog().getByLabel("Reason").fill("asked for");
  await button(verb, dialog()).click();
}

const entity = (table, partitionKey, rowKey) => `/v1/tables/${table}/entity?partitionKey=${encodeURIComponent(partitionKey)}&rowKey=${encodeURIComponent(rowKey)}`;
const put = (table, partitionKey, rowKey, body) => stack.call("PUT", entity(table, partitionKey, rowKey), body, { "If-None-Match": "*" });
const change = (table, partitionKey, rowKey, body) => stack.call("PUT", entity(table, partitionKey, rowKey), body, { "If-Match": "*" });
const get = (table, partitionKey, rowKey) => stack.call("GET", entity(table, partitionKey, rowKey)).catch(() => null);
const all = async (table) => (await stack.call("GET", `/v1/tables/${table}/entities?limit=1000`)).entities;
const gridRow = (rowKey) => rows("Entities").filter({ has: page.getByRole("link", { name: rowKey, exact: true }) });

describe("tables as such", () => {
  test("a table is created, cleared by a job and dropped, each after its name was typed", async () => {
    await open("/tables");
    await button("New table…").click();
    await dialog().getByLabel("Name").fill("Fresh");
    await button("Create", dialog()).click();
    await heading("Fresh");
    await page.getByText("This table is empty.").waitFor();
    for (const row of ["1", "2"]) await put("Fresh", "p", row, "{}");
    await button("Clear…").click();
    await dialog().getByLabel("Reason").fill("asked for");
    await dialog().getByLabel("Type Fresh to confirm").fill("fresh");
    await button("Clear the table", dialog()).click();
    assert.equal(await dialog().getByLabel("Type Fresh to confirm").evaluate((field) => field.validity.customError), true);
    assert.equal((await all("Fresh")).length, 2);
    await destroy("Fresh", "Clear the table");
    await heading(/delete Fresh/);
    await badge("succeeded");
    assert.equal((await all("Fresh")).length, 0);
    await open("/tables/Fresh");
    await button("Drop…").click();
    await destroy("Fresh", "Drop the table");
    await heading("Tables");
    await assert.rejects(() => stack.call("GET", "/v1/tables/Fresh"), /TableNotFound/);
  });

  test("the list counts entities, up to a bound, and finds names by their beginning", async () => {
    stack.importEntities("Many", Array.from({ length: 1_001 }, (_, i) => ({ PartitionKey: "p", RowKey: String(i) })));
    stack.importEntities("Manyfold", [{ PartitionKey: "p", RowKey: "1" }]);
    await open("/tables");
    await rows("Tables").filter({ hasText: "Manyfold" }).getByText("1", { exact: true }).waitFor();
    await rows("Tables").filter({ hasText: /^Many1,000 or more/ }).waitFor();
    const search = page.getByPlaceholder("Names that begin with");
    await search.fill("many");
    await page.locator("datalist option[value=Manyfold]").waitFor({ state: "attached" });
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Tables").count()) === 2, "Many and Manyfold");
    assert.match(page.url(), /q=many/);
    for (const table of ["Many", "Manyfold"]) await stack.call("DELETE", `/v1/tables/${table}`);
  });
});

describe("the grid of entities", () => {
  before(async () => {
    stack.importEntities("Grid", Array.from({ length: 120 }, (_, i) => ({ PartitionKey: "p", RowKey: String(i).padStart(3, "0"), Amount: i, Customer: `customer ${i}`, Note: i === 1 ? `first line\nsecond line ${"word ".repeat(150)}end` : "short" })));
  });

  test("has one line a row, the whole value on hover, the types, and more on demand", async () => {
    await open("/tables/Grid");
    await gridRow("001").waitFor();
    const heights = await rows("Entities").evaluateAll((found) => found.map((row) => row.getBoundingClientRect().height));
    assert.ok(Math.max(...heights) - Math.min(...heights) < 2, `heights ${heights}`);
    assert.match(await gridRow("001").locator(".cell", { hasText: "first line" }).getAttribute("title"), /second line .*end$/s);
    await page.getByRole("columnheader", { name: "Amount Int32" }).waitFor();
    await page.getByText(/^100 entities shown.*there are more$/).waitFor();
    await button("Show more").click();
    await page.getByText(/^120 entities shown.*that is all/).waitFor();
  });

  test("shows the columns that were chosen, for each table its own", async () => {
    await open("/tables/Grid");
    await button("Columns…").click();
    await dialog().getByRole("checkbox", { name: "Amount" }).uncheck();
    await button("Done", dialog()).click();
    await page.getByRole("columnheader", { name: /^Amount/ }).waitFor({ state: "detached" });
    await page.getByText("1 property not shown.").waitFor();
    await open("/tables/Orders");
    await page.getByRole("columnheader", { name: /^Amount/ }).waitFor();
    await open("/tables/Grid");
    await page.getByRole("columnheader", { name: /^Customer/ }).waitFor();
    assert.equal(await page.getByRole("columnheader", { name: /^Amount/ }).count(), 0);
    await button("Choose the columns").click();
    await button("As at first", dialog()).click();
    await button("Done", dialog()).click();
    await page.getByRole("columnheader", { name: /^Amount/ }).waitFor();
  });

  test("a value is changed in place with the keys alone, under its ETag", async () => {
    await open("/tables/Grid");
    await gridRow("000").waitFor();
    for (const key of ["j", "e"]) await page.keyboard.press(key);
    const amount = page.getByLabel("Amount, Int32");
    await amount.waitFor();
    assert.equal(await amount.evaluate((field) => field === document.activeElement), true);
    await amount.fill("many");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Amount must be a whole number").waitFor();
    await amount.fill("1000");
    await page.getByText("1 value changed").waitFor();
    await page.keyboard.press("Enter");
    await gridRow("000").getByText("1000", { exact: true }).waitFor();
    assert.deepEqual(await get("Grid", "p", "000").then((found) => [found.Amount, found.Customer, found.Note]), [1000, "customer 0", "short"]);
    await page.keyboard.press("e");
    await amount.fill("5");
    await page.getByRole("heading", { level: 1 }).click();
    for (const key of ["j", "e"]) await page.keyboard.press(key);
    assert.equal(await amount.inputValue(), "5", "another row is not edited before this one is done");
    await amount.press("Escape");
    await amount.waitFor({ state: "detached" });
    assert.equal((await get("Grid", "p", "000")).Amount, 1000);
  });

  test("a conflict shows both values, and writes nothing until one has decided", async () => {
    const begin = async (rowKey, amount) => {
      await open("/tables/Grid");
      await button(`Edit ${rowKey} in place`).click();
      await page.getByLabel("Amount, Int32").fill(amount);
    };
    const told = () => dialog().getByRole("region", { name: "Both changes" }).getByRole("row", { name: /^Amount/ });
    await begin("002", "22");
    await change("Grid", "p", "002", { Amount: 222, Customer: "somebody else's" });
    await button("Save the row").click();
    await dialog().getByText("Somebody else changed this entity after you read it").waitFor();
    assert.deepEqual((await told().getByRole("cell").allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim()), ["Amount both changed it", "2 Int32", "22 Int32", "222 Int32"]);
    assert.equal((await get("Grid", "p", "002")).Amount, 222);
    await button("Take theirs", dialog()).click();
    await gridRow("002").getByText("222", { exact: true }).waitFor();
    assert.equal((await get("Grid", "p", "002")).Amount, 222);
    await begin("003", "33");
    await change("Grid", "p", "003", { Amount: 333, Added: true });
    await button("Save the row").click();
    await button("Put mine on top of theirs", dialog()).click();
    await dialog().waitFor({ state: "detached" });
    assert.deepEqual(await get("Grid", "p", "003").then((found) => [found.Amount, found.Added, found.Customer]), [33, true, undefined]);
    await begin("004", "44");
    await stack.call("DELETE", entity("Grid", "p", "004"), undefined, { "If-Match": "*" });
    await button("Save the row").click();
    await dialog().getByText("Somebody deleted this entity").waitFor();
    await button("Leave it deleted", dialog()).click();
    await gridRow("004").waitFor({ state: "detached" });
  });

  test("a selection is deleted as it is shown, and what somebody changed stays and is named", async () => {
    await open("/tables/Grid");
    await gridRow("010").waitFor();
    for (const rowKey of ["010", "011"]) await gridRow(rowKey).getByRole("checkbox").check();
    await change("Grid", "p", "011", { Amount: -1 });
    await button("Delete 2…").click();
    await destroy("2", "Delete 2");
    await dialog().getByText("1 entity of 2 stayed").waitFor();
    await dialog().getByText("UpdateConditionNotSatisfied").waitFor();
    await button("Back", dialog()).click();
    await gridRow("010").waitFor({ state: "detached" });
    assert.deepEqual([await get("Grid", "p", "010"), (await get("Grid", "p", "011")).Amount], [null, -1]);
  });

  test("the results go when the filter is wrong, and the error stands there instead", async () => {
    await open("/tables/Grid");
    await gridRow("001").waitFor();
    await page.getByLabel("Filter ($filter)").fill("Amount lt");
    await page.getByRole("alert").getByText("InvalidInput").waitFor();
    assert.equal(await rows("Entities").count(), 0);
    assert.ok(await button("Export CSV").isDisabled());
    await page.getByLabel("Filter ($filter)").fill("Amount lt 3");
    await page.keyboard.press("Enter");
    await gridRow("001").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  });

  test("names of properties, and what may follow them, are offered while one types", async () => {
    await open("/tables/Grid");
    await gridRow("001").waitFor();
    const offered = async (text) => {
      await page.getByLabel("Filter ($filter)").fill(text);
      return page.locator("#filter-offers option").evaluateAll((found) => found.map((each) => each.value));
    };
    assert.deepEqual(await offered("am"), ["Amount"]);
    assert.deepEqual(await offered("PartitionKey eq 'p' and Cus"), ["PartitionKey eq 'p' and Customer"]);
    assert.deepEqual(await offered("Amount g"), ["Amount gt", "Amount ge"]);
    assert.deepEqual(await offered("Customer eq 'and Am"), []);
  });

  test("the index of a filter is named before the query is made", async () => {
    await stack.call("PUT", "/v1/indexes/grid-by-customer", { kind: "lists", source: "Grid", by: ["Customer"], destination: "GridByCustomer", answersQueries: true });
    await until(async () => (await stack.call("GET", `/v1/tables/Grid/plan?filter=${encodeURIComponent("Customer eq 'customer 7'")}`)).index, "the index answers queries");
    await open("/tables/Grid");
    await page.locator("#cost").getByText("scan: the whole table").waitFor();
    await page.getByLabel("Filter ($filter)").fill("Customer eq 'customer 7'");
    await page.locator("#cost").getByText("found by index grid-by-customer").waitFor();
    assert.doesNotMatch(page.url(), /filter=/);
    assert.equal(await page.getByText("the whole table").count(), 0);
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Entities").count()) === 1, "one");
    await page.locator("#cost").getByText("found by index grid-by-customer").waitFor();
    await stack.call("DELETE", "/v1/indexes/grid-by-customer");
  });
});

describe("entities are made", () => {
  test("one by one, with a type for each property", async () => {
    await open("/tables/Orders");
    await button("New entity…").click();
    await dialog().getByLabel("PartitionKey").fill("made");
    await dialog().getByLabel("RowKey").fill("1");
    const property = async (number, name, type, value) => {
      await button("Add a property", dialog()).click();
      const row = dialog().locator(".property").nth(number);
      await row.getByLabel("Name of the property").fill(name);
      await row.getByLabel(`Type of ${name}`).selectOption(type);
      if (type === "Boolean") await row.getByLabel(`Value of ${name}`).selectOption(value); else await row.getByLabel(`Value of ${name}`).fill(value);
    };
    await property(0, "Big", "Int64", "9007199254740993");
    await property(1, "Share", "Double", "5");
    await property(2, "Paid", "Boolean", "true");
    await property(3, "At", "DateTime", "tomorrow");
    await dialog().getByLabel("Reason").fill("asked for");
    await button("Insert", dialog()).click();
    await dialog().getByText("At must be a time such as").waitFor();
    await dialog().getByLabel("Value of At").fill("2026-01-31T22:00:00Z");
    await button("Insert", dialog()).click();
    await heading("Entity");
    for (const [name, type, value] of [["Big", "Int64", "9007199254740993"], ["Share", "Double", "5.0"], ["Paid", "Boolean", "true"], ["At", "DateTime", "2026-01-31T22:00:00Z"]]) {
      const row = page.getByRole("row", { name: new RegExp(`^${name}`) });
      await row.getByText(type, { exact: true }).waitFor();
      await row.getByText(value, { exact: true }).waitFor();
    }
    await open("/tables/Orders");
    await button("New entity…").click();
    await dialog().getByLabel("PartitionKey").fill("made");
    await dialog().getByLabel("RowKey").fill("1");
    await dialog().getByLabel("Reason").fill("asked for");
    await button("Insert", dialog()).click();
    await dialog().getByText("EntityAlreadyExists").waitFor();
    await stack.call("DELETE", entity("Orders", "made", "1"), undefined, { "If-Match": "*" });
  });

  test("by fields, only what was touched changes, and a conflict shows both values", async () => {
    await put("Orders", "form", "1", '{"__proto__":"kept","Lines":"a\\r\\nb","Big":"9007199254740993","Big@odata.type":"Edm.Int64","Share":5.0,"Small":1}');
    await open("/tables/Orders?partitionKey=form&rowKey=1");
    await button("Edit…").click();
    await dialog().getByLabel("Value of Small").fill("2");
    await dialog().getByLabel("Reason").fill("two is right");
    await change("Orders", "form", "1", '{"__proto__":"kept","Lines":"a\\r\\nb","Big":"9007199254740993","Big@odata.type":"Edm.Int64","Share":5.0,"Small":3}');
    await button("Save", dialog()).click();
    await dialog().getByText("UpdateConditionNotSatisfied").waitFor();
    await dialog().getByRole("row", { name: /^Small both changed it 1 Int32 2 Int32 3 Int32/ }).waitFor();
    await button("Put mine on top of theirs", dialog()).click();
    await button("Save", dialog()).click();
    await dialog().waitFor({ state: "detached" });
    const text = await (await fetch(stack.url + entity("Orders", "form", "1"), { headers: { Authorization: `Bearer ${token}` } })).text();
    for (const each of [/"__proto__":"kept"/, /"Lines":"a\\r\\nb"/, /"Big":"9007199254740993"/, /"Share":5\.0/, /"Small":2/]) assert.match(text, each);
    await stack.call("DELETE", entity("Orders", "form", "1"), undefined, { "If-Match": "*" });
  });

  test("fields become JSON and JSON becomes fields, and a long text is typed into one field", async () => {
    await put("Orders", "turn", "1", '{"Note":"short"}');
    await open("/tables/Orders?partitionKey=turn&rowKey=1");
    await button("Edit…").click();
    await dialog().getByLabel("Value of Note").focus();
    await page.keyboard.press("End");
    await page.keyboard.type(" and longer than what fits into a line, which is some sixty characters");
    await button("JSON", dialog()).click();
    const json = dialog().getByLabel("Properties, as JSON");
    assert.match(await json.inputValue(), /"Note": "short and longer .* sixty characters"/);
    await json.fill('{"Note":"new","Absent":null}');
    await button("Fields", dialog()).click();
    assert.equal(await dialog().getByLabel("Value of Note").inputValue(), "new");
    assert.equal(await dialog().locator(".property").count(), 1);
    await dialog().getByLabel("Reason").fill("asked for");
    await button("Save", dialog()).click();
    await dialog().waitFor({ state: "detached" });
    assert.equal((await get("Orders", "turn", "1")).Note, "new");
    await stack.call("DELETE", entity("Orders", "turn", "1"), undefined, { "If-Match": "*" });
  });

  const paste = async (text) => {
    await open("/tables/Pasted");
    await button("Paste…").click();
    await dialog().getByLabel("Entities, as JSON").fill(text);
  };

  test("by pasting CSV: nothing is written before the preview, and every bad line is named", async () => {
    await stack.call("PUT", "/v1/tables/Pasted");
    await paste("PartitionKey,RowKey,Amount,Name\np,1,5,007\np,2,many,\"two\nlines\"\np,1,7,again\nq\n");
    await dialog().getByText("2 entities will be written to Pasted, from CSV.").waitFor();
    const wrong = () => dialog().getByRole("list", { name: "Wrong lines" }).getByRole("listitem").allInnerTexts();
    assert.deepEqual(await wrong(), ["Line 5: it has the keys of line 2", "Line 6: it has 1 field instead of 4"]);
    assert.equal(await dialog().getByLabel("Type of Amount").inputValue(), "String");
    await dialog().getByLabel("Type of Amount").selectOption("Int32");
    await dialog().getByText("Line 3").waitFor();
    assert.match((await wrong())[0], /^Line 3: Amount must be a whole number/);
    await dialog().getByText("1 entity will be written").waitFor();
    await dialog().getByLabel("Reason").fill("asked for");
    assert.ok(await button("Write 1 entity", dialog()).isDisabled());
    assert.equal((await all("Pasted")).length, 0);
    await dialog().getByRole("checkbox", { name: /Leave out/ }).check();
    await button("Write 1 entity", dialog()).click();
    await dialog().getByText("1 of 1 entity").waitFor();
    await button("Close", dialog()).last().click();
    await gridRow("1").waitFor();
    const [made] = await all("Pasted");
    assert.deepEqual([made.PartitionKey, made.RowKey, made.Amount, made.Name], ["p", "1", 5, "007"]);
  });

  test("by pasting JSON: what is there stays, or is replaced after the name was typed", async () => {
    const pasted = '[{"PartitionKey":"p","RowKey":"1","Amount":50.0},\n {"PartitionKey":"p","RowKey":"9","Big":9007199254740993}]';
    await paste(pasted);
    await dialog().getByText("2 entities will be written to Pasted, from JSON.").waitFor();
    await dialog().getByText("Double").waitFor();
    await dialog().getByText("Int64").waitFor();
    await dialog().getByLabel("Reason").fill("asked for");
    await button("Write 2 entities", dialog()).click();
    await dialog().getByText("1 of 2 entities").waitFor();
    await dialog().getByText(/^Line 1: EntityAlreadyExists/).waitFor();
    await button("Close", dialog()).last().click();
    assert.deepEqual([(await get("Pasted", "p", "1")).Amount, (await get("Pasted", "p", "9")).Big], [5, "9007199254740993"]);
    await paste(pasted);
    await dialog().getByLabel("An entity that is there already").selectOption("replace");
    await destroy("Pasted", "Write 2 entities");
    await dialog().getByText("2 of 2 entities").waitFor();
    await button("Close", dialog()).last().click();
    assert.equal((await get("Pasted", "p", "1")).Name, undefined);
    await stack.call("DELETE", "/v1/tables/Pasted");
  });

  test("a paste is read exactly: lines, types and keys", () => {
    const told = (text, chosen) => { const { format, rows: read, bad } = readPaste(text, chosen); return [format, read.map(({ line, entity: each }) => [line, { ...each }]), bad.map((each) => `${each.line}: ${each.why}`)]; };
    assert.deepEqual(told('\n{"PartitionKey":"p","RowKey":"1","A":true}\n\nnonsense\n'), ["JSON Lines", [[2, { PartitionKey: "p", RowKey: "1", A: true }]], ["4: it is not JSON"]]);
    assert.deepEqual(told('[{"RowKey":"1"},\n7,\n{"PartitionKey":"a/b","RowKey":"1"}]')[2].map((each) => each.slice(0, 25)), ["1: it has no PartitionKey", "2: it is not a JSON objec", "3: PartitionKey must have"]);
    assert.deepEqual(told('[{"PartitionKey":"p","RowKey":"1"}]\n[]')[2], ["2: there is more after the end of the list"]);
    assert.deepEqual(told("PartitionKey\tRowKey\tA\tA@type\np\t1\t5\tEdm.Int64\n"), ["CSV", [[2, { PartitionKey: "p", RowKey: "1", A: "5", "A@odata.type": "Edm.Int64" }]], []]);
    assert.deepEqual(told("a,b\n1,2")[2], ["1: the first line must name the columns, and PartitionKey is not among them"]);
    assert.deepEqual(told('PartitionKey,RowKey\n"p,1\n')[2], ["2: a quote is opened and never closed"]);
    assert.match(told(`PartitionKey,RowKey\n${"p,1\n".repeat(1_001)}`)[2][0], /^1002: there are 1,001 entities, and at most 1,000/);
  });
});

describe("access to a table", () => {
  test("a signature with an end works at the store, and is refused what it does not allow", async () => {
    await open("/tables/Orders");
    await button("Access…").click();
    await dialog().getByRole("checkbox", { name: /^Query/ }).waitFor();
    assert.ok(await dialog().getByRole("checkbox", { name: /^Query/ }).isChecked());
    await dialog().getByLabel("Reason").fill("for a colleague");
    await button("Make a signature", dialog()).click();
    const made = await dialog().getByRole("status").locator(".mono").first().getAttribute("title");
    assert.match(made, /[?&]se=/);
    assert.equal((await fetch(made.replace("Orders?", "Orders()?"), { headers: { Accept: "application/json" } })).status, 200);
    assert.equal((await fetch(made, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"PartitionKey":"x","RowKey":"y"}' })).status, 403);
  });

  test("stored policies are added, kept, and removed after the name was typed", async () => {
    await open("/tables/Orders");
    await button("Access…").click();
    await button("Stored policies", dialog()).click();
    await dialog().getByText("There is no stored access policy.").waitFor();
    await button("Change the policies", dialog()).click();
    await button("Add a policy", dialog()).click();
    await dialog().getByLabel("Id", { exact: true }).fill("readers");
    await dialog().getByRole("checkbox", { name: /^Query/ }).check();
    await dialog().getByLabel("Ends").fill("2100-01-31T22:00");
    await dialog().getByLabel("Reason").fill("asked for");
    await button("Save the policies", dialog()).click();
    await dialog().getByRole("region", { name: "Stored access policies" }).getByText("readers").waitFor();
    const { policies } = await stack.call("GET", "/v1/tables/Orders/policies");
    assert.deepEqual(policies.map((each) => [each.id, each.permissions, new Date(each.expiresAt).getTime()]), [["readers", "r", new Date("2100-01-31T22:00").getTime()]]);
    await button("Change the policies", dialog()).click();
    await button("Remove this policy", dialog()).click();
    await dialog().getByText("Signatures that refer to readers stop working.").waitFor();
    await destroy("Orders", "Save the policies");
    await dialog().getByText("There is no stored access policy.").waitFor();
  });
});

describe("a narrow screen", () => {
  test("has cards instead of tables, with the actions in reach", async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    for (const [target, list] of [["/tables", "Tables"], ["/tables/Orders", "Entities"]]) {
      await open(target);
      await rows(list).first().waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, target);
      assert.equal(await rows(list).first().evaluate((row) => getComputedStyle(row).display), "block");
      const outside = await page.evaluate(() => [...document.querySelectorAll("main button, main a, main input, main select")].filter((each) => { const box = each.getBoundingClientRect(); return box.width && (box.left < 0 || box.right > innerWidth + 1); }).map((each) => each.textContent || each.name));
      assert.deepEqual(outside, [], target);
    }
    await button("Edit 000 in place").click();
    await page.getByLabel("Customer, String").fill("on the phone");
    await button("Save the row").click();
    await until(async () => (await get("Orders", "p0", "000")).Customer === "on the phone", "it is saved");
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

describe("what others need", () => {
  const views = ["/indexes", "/tables", "/tables/Orders", "/tables/Orders?partitionKey=p1&rowKey=001", "/explain?table=Orders&partitionKey=p1&rowKey=001"];
  const dialogs = [["/indexes", "Declare an index…"], ["/tables/Orders?partitionKey=p1&rowKey=001", "Edit…"], ["/tables/Orders?partitionKey=p1&rowKey=001", "Delete…"], ["/tables", "New table…"],
    ["/tables/Orders", "New entity…"], ["/tables/Orders", "Paste…"], ["/tables/Orders", "Columns…"], ["/tables/Orders", "Access…"], ["/tables/Orders", "Clear…"]];

  test("axe finds nothing wrong, neither in the light nor in the dark", async () => {
    assert.deepEqual(await wrongsOf(sight, views, dialogs), []);
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
