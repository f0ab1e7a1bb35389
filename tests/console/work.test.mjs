// Work of users' own: transactions, kinds that their workers do, and rules that begin jobs.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { inState } from "./browser.mjs";
import { until } from "./stack.mjs";
import { badge, browser, button, dialog, heading, open, overOneStack, page, rows, see, sight, stack } from "./views.mjs";

overOneStack(async () => {
  stack.importEntities("Accounts", [{ PartitionKey: "c7", RowKey: "balance", Cents: 100 }, { PartitionKey: "c8", RowKey: "balance", Cents: 5 }]);
  stack.importEntities("Paid", [{ PartitionKey: "c7", RowKey: "there" }]);
  await stack.putQueue("mail");
});

const entity = (table, partitionKey, rowKey) => stack.call("GET", `/v1/tables/${table}/entity?partitionKey=${partitionKey}&rowKey=${rowKey}`);
const guard = (number) => page.getByRole("region", { name: `guard ${number}`, exact: true });
const step = (number) => page.getByRole("region", { name: `step ${number}`, exact: true });
const json = () => page.getByLabel("The job, as JSON");
const as = (mode) => button(mode, page.getByRole("group", { name: "Written as" }));
const property = async (within, name, type, value) => {
  await button("Add a property", within).click();
  const row = within.locator(".property").last();
  await row.getByLabel("Name of the property").fill(name);
  await row.getByLabel(/^Type of/).selectOption(type);
  await row.getByLabel(/^Value of/).fill(value);
};
/// A step's state as the page of its job tells it.
const steps = () => page.locator(".card", { has: page.getByRole("heading", { name: "Steps" }) }).locator("li");

/// A transfer whose third step finds an entity.
const failing = (rowKey, more = {}) => ({ kind: "transaction", ...more, maxAttempts: 1,
  guards: [{ as: "b", table: "Accounts", partitionKey: "c7", rowKey: "balance" }],
  steps: [{ merge: { of: "b", add: { Cents: -1 } } }, { message: { queue: "mail", json: { cents: "{b.Cents}" } } }, { insert: { table: "Paid", partitionKey: "c7", rowKey, entity: { Job: "{job.id}" } } }] });

/// Submits a job and waits until its message is poison.
async function poisoned(spec) {
  const job = await stack.submit(spec);
  await until(() => stack.call("GET", `/v1/poison/${job.id}`).catch(() => null), `the message of ${job.id}`);
  return job;
}

describe("transactions", () => {
  test("a form makes guards and steps, plans what each would change, and submits", async () => {
    await open("/jobs/new?kind=transaction");
    await button("Add a guard").click();
    await guard(1).getByLabel("As").fill("o");
    await guard(1).getByLabel(/^Table/).fill("Orders");
    await guard(1).getByLabel("Partition key").fill("p1");
    await guard(1).getByLabel("Row key").fill("005");
    await guard(1).getByLabel("Where").fill("Amount eq 6");
    await button("Add a step").click();
    await step(1).getByLabel("What step 1 does").selectOption("message");
    await step(1).getByLabel(/^Queue/).fill("mail");
    await step(1).getByLabel("Json").fill('{"to":"{o.Customer}","amount":"{o.Amount}"}');
    await button("Add a step").click();
    await step(2).getByLabel(/^Of/).fill("o");
    await step(2).getByLabel(/^Table/).waitFor({ state: "detached" });
    await property(step(2).getByRole("group", { name: "Set" }), "State", "text", "paid");
    await property(step(2).getByRole("group", { name: "Set" }), "Number", "Int64", "9007199254740993");
    await property(step(2).getByRole("group", { name: "Add" }), "Amount", "number", "1");
    await button("Add a step").click();
    await step(3).getByLabel("What step 3 does").selectOption("put");
    await button("Move step 2 up").click();
    assert.equal(await step(1).getByLabel("What step 1 does").inputValue(), "merge");
    await button("Remove step 3").click();

    await button(/^Plan/).click();
    await page.getByText("A guard does not hold, so no step would be taken.").waitFor();
    await guard(1).getByText(/^guards\[0\] does not hold/).waitFor();
    await guard(1).getByLabel("Where").fill("Amount eq 5");
    await button(/^Plan/).click();
    await page.locator(".steps li", { hasText: 'set Number from nothing to' }).waitFor();
    await page.locator(".steps li", { hasText: "put a message into the queue mail" }).waitFor();
    assert.equal((await entity("Orders", "p1", "005")).State, undefined);
    await button("Submit: 2 steps").click();
    await heading("transaction");
    await badge("succeeded");
    await page.getByText("of 2 steps taken").waitFor();
    assert.deepEqual(await steps().locator(".badge").allTextContents(), ["taken", "taken"]);
    await page.getByText("held").waitFor();
    const done = await entity("Orders", "p1", "005");
    assert.equal(done.State, "paid");
    assert.equal(done.Number, "9007199254740993");
    assert.equal(done.Amount, 6);
  });

  test("form and JSON follow each other, and nothing is lost", async () => {
    await open("/jobs/new?kind=transaction");
    await as("JSON").click();
    const job = { guards: [{ as: "o", partitionKey: "", rowKey: "{job.id}", table: "Orders", where: "absent" }], kind: "transaction", maxAttempts: 7,
      steps: [{ put: { entity: { Big: { type: "Int64", value: "9007199254740993" }, Flag: { type: "Boolean", value: true }, Half: 0.5, No: false, Text: "{o.RowKey} and {{braces}}" }, partitionKey: "a", rowKey: "b", table: "Orders" } },
        { callback: { body: "as text", headers: { "X-A": "1" }, method: "PUT", url: "https://example.org/" } }, { blob: { container: "some", json: [1, { a: null }], name: "n/{job.id}" } }, { delete: { of: "o" } }] };
    await json().fill(JSON.stringify(job));
    await as("Form").click();
    assert.equal(await step(1).locator(".property").count(), 5);
    assert.equal(await step(4).getByLabel("What step 4 does").inputValue(), "delete");
    await as("JSON").click();
    const sorted = (value) => (Array.isArray(value) ? value.map(sorted) : value && typeof value === "object" ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])])) : value);
    assert.deepEqual(sorted(JSON.parse(await json().inputValue())), sorted(job));
    await json().fill('{"kind":"transaction","steps":[{"put":{"table":"Orders","partitionKey":"a","rowKey":"b","entity":{"A":5.0},"colour":"red"}}]}');
    await as("Form").click();
    await page.getByText("The form has no field for steps[0].put.colour").waitFor();
    await json().fill("{");
    await as("Form").click();
    await page.getByText("Not JSON yet").waitFor();
    await json().fill('{"kind":"transaction","steps":[{"merge":{"of":"nobody","set":{"A":1}}},{"merge":{"table":"Orders","partitionKey":"a","rowKey":"b","set":{"A":5.0},"add":{"A":1}}}]}');
    await as("Form").click();
    await button(/^Plan/).click();
    await step(1).getByText("no guard is named 'nobody'").waitFor();
    await step(2).getByText("'A' is to be set and added to").waitFor();
  });

  test("a guard that does not hold ends the job, and its page says what was found", async () => {
    const job = await stack.submit({ kind: "transaction", guards: [{ as: "a", table: "Accounts", partitionKey: "c7", rowKey: "balance" }, { as: "b", table: "Accounts", partitionKey: "c8", rowKey: "balance", where: "Cents ge 1000" }, { table: "Paid", partitionKey: "x", rowKey: "y", where: "absent" }],
      steps: [{ merge: { of: "b", add: { Cents: "-{a.Cents}" } } }] });
    await inState(stack, job.id, "cancelled");
    await open(`/jobs/${job.id}`);
    await page.getByText("withdrawn", { exact: true }).first().waitFor();
    const guards = page.locator(".card", { has: page.getByRole("heading", { name: "Guards" }) }).locator("li");
    assert.deepEqual(await guards.locator(".badge").allTextContents(), ["held", "does not hold", "not read"]);
    await guards.nth(1).locator(".json", { hasText: "Cents" }).waitFor();
    assert.deepEqual(await steps().locator(".badge").allTextContents(), ["not taken"]);
    assert.equal(await button("Undo…").count(), 0);
  });

  test("poison at a step: the steps that were not taken are edited, and it goes on there", async () => {
    const before = Number((await entity("Accounts", "c7", "balance")).Cents);
    const job = await poisoned(failing("there"));
    await open(`/jobs/${job.id}`);
    await page.getByText("it goes on at step 3").waitFor();
    assert.deepEqual(await steps().locator(".badge").allTextContents(), ["taken", "taken", "failed here"]);
    await page.getByText("read", { exact: true }).waitFor();
    await page.getByRole("link", { name: "its poison message", exact: true }).click();
    await heading("transaction given up");
    await button("Edit…").click();
    await step(1).getByText("taken", { exact: true }).waitFor();
    assert.ok(await step(2).getByLabel("What step 2 does").isDisabled());
    assert.ok(await step(1).getByLabel(/^Value of Cents/).isDisabled());
    assert.equal(await button("Remove step 1").count(), 0);
    await step(3).getByLabel("Row key").fill("mended");
    await button("Difference to the original").click();
    await dialog().locator(".diff .added", { hasText: "mended" }).waitFor();
    await dialog().getByLabel("Reason").fill("the key was taken");
    await button("Save and redrive", dialog()).click();
    await heading("transaction");
    await badge("succeeded");
    assert.deepEqual(await steps().locator(".badge").allTextContents(), ["taken", "taken", "taken"]);
    assert.equal((await entity("Paid", "c7", "mended")).Job, job.id);
    assert.equal(Number((await entity("Accounts", "c7", "balance")).Cents), before - 1);
  });

  test("what it did is taken back, and what cannot be taken back is named", async () => {
    const before = Number((await entity("Accounts", "c7", "balance")).Cents);
    const job = await stack.submit(failing("undone"));
    await inState(stack, job.id, "succeeded");
    await open(`/jobs/${job.id}`);
    await button("Undo…").click();
    await heading("Submit a job");
    await button(/^Plan/).click();
    await button(/^Submit/).click();
    await heading(/^undo/);
    await badge("succeeded");
    await page.getByText("2 of the steps of the transaction were taken back; these stay:").waitFor();
    await page.getByText("step 2: a message is not taken back").waitFor();
    assert.equal(Number((await entity("Accounts", "c7", "balance")).Cents), before);
  });

  test("a transaction may follow another job, and be run by a schedule", async () => {
    await open("/schedules");
    await button("New schedule…").click();
    await dialog().getByLabel("Name").fill("nightly-sum");
    await dialog().getByLabel("Kind").selectOption("transaction");
    await button("Add a step", dialog()).click();
    await dialog().getByLabel(/^Table/).fill("Accounts");
    await dialog().getByLabel("Partition key").fill("c8");
    await dialog().getByLabel("Row key").fill("balance");
    await property(dialog().getByRole("group", { name: "Add" }), "Cents", "number", "1");
    await button("Save", dialog()).click();
    await heading("nightly-sum");
    assert.deepEqual((await stack.call("GET", "/v1/schedules/nightly-sum")).job.steps, [{ merge: { table: "Accounts", partitionKey: "c8", rowKey: "balance", add: { Cents: 1 } } }]);
  });
});

describe("kinds of work of your own", () => {
  const claim = (kinds, wait = 20) => stack.call("POST", "/v1/work/claim", { worker: "w1", kinds, count: 1, wait });

  /// A worker that says nothing for a while counts as lost, so it goes on asking.
  async function whileItLives(run) {
    let lives = true;
    const asking = (async () => { while (lives) await claim(["resize@2"], 1).catch(() => {}); })();
    try { await run(); } finally { lives = false; await asking; }
  }

  test("a kind is declared by a form, and jobs without a worker say so", async () => {
    await open("/kinds");
    await page.getByText("No kind of your own is declared.").waitFor();
    await button("Declare a kind…").click();
    await dialog().getByLabel("Name").fill("resize");
    await dialog().getByLabel("Lease seconds").fill("60");
    await dialog().getByText("Per key").click();
    await dialog().getByLabel("Running").fill("2");
    await button("Declare", dialog()).click();
    await heading("resize");
    await page.getByText("2 at once").waitFor();
    await button("Submit a job").click();
    await heading("Submit a job");
    assert.equal(await page.getByLabel("Kind").inputValue(), "resize");
    await page.getByLabel("Version").fill("2");
    await page.getByLabel("Input").fill('{"picture":"a.png","large":9007199254740993}');
    await page.getByText("What all jobs have").click();
    await page.getByLabel("Key", { exact: true }).fill("acme/c7");
    await button(/^Plan/).click();
    await button("Submit", page.locator(".bulk")).click();
    await heading("resize");
    await page.getByText(/^It waits:/).waitFor();
    await page.locator(".json", { hasText: "9007199254740993" }).first().waitFor();
    await page.getByText("acme/c7", { exact: true }).waitFor();
    await open("/kinds/resize");
    await page.getByText("1 job of version 2 waits, and no worker claims resize@2").waitFor();
    await open("/kinds");
    await rows("Your kinds").getByText("no worker").waitFor();
    await open("/");
    await page.getByRole("listitem").filter({ hasText: "1 job of your kind resize@2 waits, and no worker claims it" }).getByRole("link", { name: "what to do" }).click();
    await heading("Jobs of your own kind wait and no worker claims them");
  });

  test("its workers, what they claim, and how a job goes on", async () => {
    const { jobs: [job] } = await claim(["resize@2"]);
    await stack.call("POST", "/v1/work/beat", { worker: "w1", jobs: [{ id: job.id, epoch: job.epoch, done: 1, total: 4, phase: "reading", checkpoint: { row: 17 } }] });
    await whileItLives(async () => {
      await open("/kinds/resize");
      await rows("Workers of the kind").getByText("w1").waitFor();
    });
    await open(`/jobs/${job.id}`);
    await page.getByRole("heading", { name: "Checkpoint" }).waitFor();
    await page.locator(".json", { hasText: '"row": 17' }).waitFor();
    await page.getByText("reading").waitFor();
    await stack.call("POST", "/v1/work/end", { worker: "w1", jobs: [{ id: job.id, epoch: job.epoch, result: { url: "b.png" } }] });
    await badge("succeeded");
    await page.locator(".json", { hasText: "b.png" }).waitFor();
    await whileItLives(async () => {
      const row = rows("Workers").filter({ hasText: "w1" });
      await open("/workers");
      await row.getByRole("link", { name: "resize@2" }).waitFor();
      await row.getByRole("button", { name: "Quiet" }).click();
      await row.getByText("quiet", { exact: true }).waitFor();
      await until(async () => (await claim(["resize@2"], 0)).worker === "quiet", "it is told");
      await row.getByRole("button", { name: "Resume" }).click();
      await row.getByText("alive").waitFor();
    });
  });

  test("it is paused, changed and removed", async () => {
    await open("/kinds/resize");
    await button("Pause").click();
    await badge("paused");
    await button("Resume").click();
    await button("Change…").click();
    assert.equal(await dialog().getByLabel("Lease seconds").inputValue(), "60");
    await dialog().getByLabel("Max attempts").fill("9");
    await button("Change", dialog()).click();
    await until(async () => (await stack.call("GET", "/v1/kinds/resize")).own.maxAttempts === 9, "changed");
    assert.equal((await stack.call("GET", "/v1/kinds/resize")).own.perKey.running, 2);
    await button("Remove…").click();
    await dialog().getByLabel("Reason").fill("no longer needed");
    await dialog().getByLabel(/^Type/).fill("resize");
    await button("Remove the kind", dialog()).click();
    await page.getByText("No kind of your own is declared.").waitFor();
    await open("/kinds/resize");
    await page.getByText("No kind of your own has this name.").waitFor();
  });
});

describe("everybody", () => {
  test("axe finds nothing in the light and in the dark", async () => {
    await stack.call("PUT", "/v1/kinds/resize", {});
    const waits = await stack.submit({ kind: "resize", input: { a: 1 } });
    const failed = await poisoned(failing("there"));
    assert.deepEqual(await wrongsOf(sight, ["/jobs/new?kind=transaction", `/jobs/${failed.id}`, "/kinds", "/kinds/resize", `/jobs/${waits.id}`, "/workers"],
      [["/kinds", "Declare a kind…"], ["/kinds/resize", "Change…"], ["/kinds/resize", "Remove…"], [`/poison/${failed.id}`, "Edit…"]]), []);
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
