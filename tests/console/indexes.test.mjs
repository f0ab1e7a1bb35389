// Indexes of all kinds and places: declared by a form, looked up in, and told about with true figures; rules for the
// changes of a table.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { until } from "./stack.mjs";
import { badge, browser, button, dialog, heading, open, overOneStack, page, rows, see, sight, stack } from "./views.mjs";

overOneStack(async () => {
  stack.importEntities("Staff", [["Sales", "1", "Jones"], ["Sales", "2", "Smith"], ["Marketing", "1", "Jones"], ["Marketing", "2", "Brown"]]
    .map(([PartitionKey, RowKey, LastName], i) => ({ PartitionKey, RowKey, LastName, Pay: 100 * (i + 1), Mail: `${LastName}${i}@example.org`.toLowerCase() })));
  stack.importEntities("Departments", [{ PartitionKey: "all", RowKey: "Sales", Head: "Ann" }]);
});

const field = (name) => dialog().locator(`input[name=${name}], select[name=${name}], textarea[name=${name}]`);
const asJson = () => dialog().getByLabel("Definition, as JSON");
const found = () => rows("Found by the index");

/// Declares an index by the fields of the form; `fields`: the text of each, or the option to choose.
async function declare(name, kind, fields) {
  await open("/indexes");
  await button("Declare an index…").click();
  await dialog().getByLabel("Name").fill(name);
  await dialog().getByLabel("Kind").selectOption(kind);
  for (const [member, text] of Object.entries(fields)) {
    const input = field(member);
    if (await input.evaluate((element) => element.tagName === "SELECT")) await input.selectOption(text);
    else await input.fill(text);
  }
  await button("Declare", dialog()).click();
  await heading(name);
  await badge("ready");
}

async function lookUp(values) {
  for (const [label, text] of Object.entries(values)) await page.getByLabel(label, { exact: true }).fill(text);
  await button("Find").click();
}
const shown = (texts) => until(async () => JSON.stringify(await found().locator("td:first-child").allInnerTexts()) === JSON.stringify(texts), `shown: ${texts}`);

describe("an index is declared by a form", () => {
  test("lists across partitions: names are offered, the JSON follows, and the figures are true", async () => {
    await open("/indexes");
    await button("Declare an index…").click();
    await field("source").fill("Sta");
    await until(async () => (await dialog().locator("#field-source-names option").evaluateAll((all) => all.map((each) => each.value))).includes("Staff"), "the table is offered");
    await field("source").fill("Staff");
    await field("by").fill("Las");
    await until(async () => (await dialog().locator("#field-by-names option").evaluateAll((all) => all.map((each) => each.value))).includes("LastName"), "the property is offered");
    await field("by").fill("LastName, Pay");
    await field("destination").fill("ByName");
    assert.deepEqual(JSON.parse(await asJson().inputValue()), { kind: "lists", source: "Staff", by: ["LastName", "Pay"], destination: "ByName" });
    await asJson().fill(JSON.stringify({ kind: "lists", source: "Staff", by: ["LastName"], destination: "ByName", unique: true }));
    assert.equal(await field("by").inputValue(), "LastName");
    assert.equal(await field("unique").inputValue(), "true");
    await asJson().fill('{"kind":"lists","colour":"red"}');
    await dialog().getByText("The form has no field for colour.").waitFor();
    await page.keyboard.press("Escape");
    await declare("by-name", "lists", { source: "Staff", by: "LastName", destination: "ByName", unique: "true" });
    await page.getByText("It is ready and follows the table: nothing waits.").waitFor();
    await page.locator(".figure", { hasText: "entities when it was built" }).getByText("4", { exact: true }).waitFor();
    await page.locator(".figure", { hasText: "changes followed since" }).getByText("0", { exact: true }).waitFor();
    await lookUp({ LastName: "Jones" });
    await shown(["Marketing", "Sales"]);
    await found().first().getByText("jones2@example.org").waitFor();
    await rows("Violations").getByText("Jones").waitFor();
    await page.getByLabel("Show").selectOption("keys");
    await button("Find").click();
    await until(async () => (await found().first().locator("td").count()) === 2, "keys alone");
    await page.getByLabel("The last one").selectOption("prefix");
    await page.getByLabel("LastName", { exact: true }).fill("S");
    await button("Find").click();
    await shown(["Sales"]);
    await page.getByLabel("The last one").selectOption("range");
    await page.getByLabel("LastName", { exact: true }).fill("A");
    await page.getByLabel("to", { exact: true }).fill("K");
    await button("Find").click();
    await until(async () => (await found().count()) === 3, "Brown and both Joneses");
  });

  test("lists in each partition, which a lookup asks for", async () => {
    await declare("in-partition", "lists", { source: "Staff", by: "LastName", where: "partition", destination: "Staff" });
    await lookUp({ Partition: "Marketing", LastName: "Jones" });
    await shown(["Marketing"]);
    await page.getByLabel("Partition", { exact: true }).fill("Sales");
    await button("Find").click();
    await shown(["Sales"]);
  });

  test("lists in blobs, which have a container instead of a table", async () => {
    await open("/indexes");
    await button("Declare an index…").click();
    assert.equal(await field("container").count(), 0);
    await field("where").selectOption("blobs");
    assert.equal(await field("destination").count(), 0);
    await page.keyboard.press("Escape");
    await declare("in-blobs", "lists", { source: "Staff", by: "LastName", where: "blobs", container: "lists", prefix: "names/" });
    await lookUp({ LastName: "Brown" });
    await shown(["Marketing"]);
  });

  test("copies, found by the properties of their templates", async () => {
    await declare("by-mail", "copies", { source: "Staff", destination: "ByMail", partitionKey: "{PartitionKey}", rowKey: "mail_{Mail}", properties: "LastName, Pay" });
    assert.deepEqual((await stack.call("GET", "/v1/indexes/by-mail")).definition.properties, ["LastName", "Pay"]);
    await lookUp({ PartitionKey: "Sales" });
    await until(async () => (await found().count()) === 2, "all of a partition");
    await lookUp({ Mail: "smith1@example.org" });
    await until(async () => (await found().count()) === 1, "one");
    await found().first().getByText("Smith", { exact: true }).waitFor();
  });

  test("a summary, whose groups are shown", async () => {
    await declare("pay", "summary", { source: "Staff", by: "LastName", of: "Pay", destination: "Pay" });
    await lookUp({ LastName: "Jones" });
    await until(async () => JSON.stringify(await found().first().locator("td").allInnerTexts()) === JSON.stringify(["Jones", "2", "400", "100", "300"]), "the sums of the group");
  });

  test("denormalised, whose properties may have other names", async () => {
    await declare("heads", "denormalised", { source: "Departments", destination: "Staff", partitionKey: "all", rowKey: "{PartitionKey}", properties: "DepartmentHead=Head" });
    assert.deepEqual((await stack.call("GET", "/v1/indexes/heads")).definition.properties, { DepartmentHead: "Head" });
    await page.getByText("Its values are in the entities of").waitFor();
    await until(async () => (await stack.call("GET", "/v1/tables/Staff/entity?partitionKey=Sales&rowKey=1")).DepartmentHead === "Ann", "the value is there");
  });
});

describe("rules for the changes of a table", () => {
  test("changes are kept, and a rule puts a message for each; another is made like it, and one is removed", async () => {
    await open("/tables/Departments");
    await button("Keep changes…").click();
    await dialog().locator("[name=values]").selectOption("both");
    await button("Keep changes", dialog()).click();
    await button("New rule…").click();
    await dialog().getByLabel("Name").fill("told");
    await dialog().locator("[name=queue]").fill("news");
    await dialog().locator("[name=values]").selectOption("both");
    await button("Declare", dialog()).click();
    await rows("Followers of the changes").getByText("told").waitFor();
    assert.deepEqual((await stack.call("GET", "/v1/tables/Departments/onChange/told")).definition.queue, "news");
    await rows("Followers of the changes").getByRole("button", { name: "Another like it…" }).click();
    assert.equal(await dialog().locator("[name=queue]").inputValue(), "news");
    await dialog().getByLabel("For each change").selectOption("webhook");
    await dialog().locator("[name=url]").waitFor();
    await page.keyboard.press("Escape");
    await rows("Followers of the changes").getByRole("button", { name: "Remove…" }).click();
    await dialog().getByLabel("Reason").fill("tried");
    await button("Remove", dialog()).click();
    await page.getByText("Nobody reads the changes.").waitFor();
  });
});

describe("what others need", () => {
  test("axe finds nothing wrong, neither in the light nor in the dark", async () => {
    await see("/indexes/by-name");
    assert.deepEqual(await wrongsOf(sight, ["/indexes", "/indexes/by-name", "/indexes/by-mail"], [["/indexes", "Declare an index…"], ["/tables/Departments", "New rule…"], ["/tables/Departments", "Change the feed…"]]), []);
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
