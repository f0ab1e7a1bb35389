// Poison messages of jobs: found, understood, edited, sent back and deleted.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { inState } from "./browser.mjs";
import { token, until } from "./stack.mjs";
import { asAnotherUser, badge, browser, button, dialog, heading, open, overOneStack, page, rows, sight, stack } from "./views.mjs";

overOneStack();

describe("poison", () => {
  let group;  // its jobs were sent back, in vain

  before(async () => {
    for (let i = 0; i < 4; i += 1) await stack.poisoned("Missing", `m${i}`);
    await stack.poisoned("Orders2x", "other");
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
    await inState(stack, job.jobId, "succeeded");
    await badge("succeeded");
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
    const bad = await stack.poisoned("ByKeys", "one");
    const end = await asAnotherUser();
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
    await stack.poisoned("Gone", "one");
    await open("/poison?show=messages");
    await button("Delete all that match…").click();
    await button("Count what matches", dialog()).click();
    const number = Number((await dialog().getByText(/Type \d+ to confirm/).innerText()).match(/\d+/)[0]);
    assert.ok(await button(/^Delete \d/, dialog()).isDisabled());
    await dialog().getByLabel("Reason").fill("all known");
    await dialog().getByLabel("Type").fill(String(number));
    await button(/^Delete \d/, dialog()).click();
    await heading(/^purge/);
    await badge("succeeded");
    const [entry] = (await stack.call("GET", "/v1/audit?limit=1&operation=jobs.post")).entries;
    assert.deepEqual([entry.reason, entry.count, entry.target], ["all known", number, page.url().split("/").at(-1)]);
    assert.equal((await stack.call("GET", "/v1/poison")).poison.length, 0);
  });

  test("several that are selected are deleted by one job", async () => {
    for (const name of ["one", "two", "three"]) await stack.poisoned("Chosen", name);
    await open("/poison?show=messages");
    await until(async () => (await rows("Poison messages").count()) === 3, "three");
    for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
    await button("Delete selected…").click();
    await dialog().getByLabel("Reason").fill("these two");
    await button("Delete 2", dialog()).click();
    await heading(/^purge/);
    await badge("succeeded");
    const [entry] = (await stack.call("GET", "/v1/audit?limit=1&operation=jobs.post")).entries;
    assert.deepEqual([entry.reason, entry.count], ["these two", 2]);
    const left = (await stack.call("GET", "/v1/poison")).poison;
    assert.equal(left.length, 1);
    await stack.call("DELETE", `/v1/poison/${left[0].id}`);
  });
});

describe("what others need", () => {
  const views = ["/", "/poison", "/poison?show=messages"];
  const dialogs = [["/poison", "Redrive all…"], ["/poison", "Delete all…"]];

  test("axe finds nothing wrong, neither in the light nor in the dark", async () => {
    await stack.poisoned("Seen", "one");
    const bad = (await stack.call("GET", "/v1/poison?limit=1")).poison[0];
    assert.deepEqual(await wrongsOf(sight, [...views, `/poison/${bad.id}`], dialogs), []);
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
