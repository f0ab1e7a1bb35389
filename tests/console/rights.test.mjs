// Access rights: tokens with roles, their sessions, a second user with fewer rights beside one with all, the audit
// trail.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { Browser } from "./browser.mjs";
import { Stack } from "./stack.mjs";

const tokens = { viewer: "the-token-of-a-viewer", operator: "the-token-of-an-operator", admin: "the-token-of-an-admin" };

let stack, browser, admin, operator, viewer;

/// Writes the file that the api reads its tokens from; only its owner may read it.
function writeTokens(roles) {
  const file = path.join(stack.data, "tokens.json");
  writeFileSync(file, JSON.stringify({ tokens: roles.map((role) => ({ name: `some.${role}`, role, token: tokens[role] })) }), { mode: 0o600 });
  return file;
}

before(async () => {
  stack = new Stack();
  await stack.up("--tokens-file", writeTokens(["viewer", "operator", "admin"]));
  browser = await new Browser(stack).launch();
  stack.importEntities("Orders", Array.from({ length: 8 }, (_, i) => ({ PartitionKey: `p${i % 4}`, RowKey: String(i), Amount: i })));
  [admin, operator, viewer] = await Promise.all(Object.values({ admin: 0, operator: 0, viewer: 0 }).map(() => browser.page()));
  await admin.signIn(tokens.admin);
  await operator.signIn(tokens.operator);
  await viewer.signIn(tokens.viewer);
});

after(async () => {
  await browser?.close();
  await stack?.down();
});

describe("roles", () => {
  const changes = /Redrive|Delete|Edit|Submit|Limit|Cancel|Pause$|New|Move|Upload|Declare|Drop|Rebuild|Scrub|Run/;

  test("a viewer is offered nothing that the api would refuse", async () => {
    const bad = await stack.poisoned("NotSeen", "one");
    await stack.call("PUT", "/v1/containers/pictures");
    await stack.call("PUT", "/v1/indexes/by-amount", { kind: "lists", source: "Orders", by: ["Amount"], destination: "ByAmount" });
    await stack.call("PUT", "/v1/schedules/nightly", { cron: "@daily", job: { kind: "copy", source: "Orders", destination: "Nightly", filter: "" } }, { "If-None-Match": "*" });
    for (const [target, there] of [["/", "viewer"], ["/poison", "NotSeen"], ["/poison?show=messages", "NotSeen"], [`/poison/${bad.id}`, "NotSeen"], ["/jobs", "NotSeen"], [`/jobs/${bad.id}`, "NotSeen"], ["/limits", "archive"], ["/schedules", "nightly"], ["/schedules/nightly", "@daily"],
      ["/shards", "this process"], ["/indexes", "by-amount"], ["/indexes/by-amount", "ByAmount"], ["/tables/Orders", "p1"], ["/tables/Orders?partitionKey=p1&rowKey=1", "Explain"], ["/queues/tidemark-jobs", "ready"], ["/containers", "pictures"], ["/containers/pictures", "Names"], ["/audit", "jobs.post"]]) {
      await viewer.see(target);
      await viewer.page.getByText(there).first().waitFor();
      const offered = await viewer.page.locator("main").getByRole("button", { name: changes }).allTextContents();
      assert.deepEqual(offered, [], target);
      assert.equal(await viewer.page.getByRole("link", { name: "Submit a job" }).count(), 0, target);
    }
    await viewer.see("/poison?show=messages");
    await viewer.page.keyboard.press("j");
    await viewer.page.keyboard.press("r");
    assert.equal(await viewer.dialog().count(), 0);
  });

  test("an operator is not offered what only an admin may do", async () => {
    await operator.see("/limits");
    await operator.button("Pause").first().waitFor();
    assert.equal(await operator.button(/Limit…|New limit/).count(), 0);
    await operator.see("/indexes/by-amount");
    await operator.button("Scrub").waitFor();
    assert.equal(await operator.button("Drop…").count(), 0);
    await admin.see("/limits");
    await admin.button("Limit…").first().waitFor();
    await admin.see("/indexes/by-amount");
    await admin.button("Drop…").waitFor();
  });

  test("the api refuses what a page does that offers it nevertheless, and the trail tells of it", async () => {
    const status = await viewer.page.evaluate(async () => {
      const session = await (await fetch("/v1/session")).json();
      const answer = await fetch("/v1/queues/tidemark-jobs/pause", { method: "POST", headers: { "X-CSRF-Token": session.csrfToken, "Content-Type": "application/json" } });
      return answer.status;
    });
    assert.equal(status, 403);
    const refused = (await stack.call("GET", "/v1/audit?limit=1&operation=queues.pause")).entries[0];
    assert.deepEqual([refused.actor, refused.outcome], ["some.viewer", "refused"]);
  });

  test("a change by cookie needs the token against forgery", async () => {
    const status = await operator.page.evaluate(async () => (await fetch("/v1/queues/tidemark-jobs/pause", { method: "POST", headers: { "Content-Type": "application/json" } })).status);
    assert.equal(status, 403);
    assert.equal(await operator.page.evaluate(() => document.cookie), "");
  });
});

describe("two people at once", () => {
  test("what one does, the other sees by itself", async () => {
    await viewer.see("/limits");
    await operator.see("/limits");
    const row = (sight) => sight.page.getByRole("row", { name: /^merge/ });
    await row(operator).getByRole("button", { name: "Pause" }).click();
    await row(viewer).getByText("paused").waitFor();
    await row(operator).getByRole("button", { name: "Resume" }).click();
    await row(viewer).getByText("paused").waitFor({ state: "detached" });
  });

  test("a reason arrives whatever its letters, and the trail is searched", async () => {
    const bad = await stack.poisoned("NotSeen", "two");
    await operator.see(`/poison/${bad.id}`);
    await operator.button("Delete…").click();
    await operator.dialog().getByLabel("Reason").fill("größer als 5 €");
    await operator.button("Delete", operator.dialog()).click();
    await operator.page.getByRole("region", { name: "Poison messages" }).waitFor();
    await viewer.see("/audit");
    await viewer.page.getByPlaceholder("Operation").fill("poison.delete");
    await viewer.page.keyboard.press("Enter");
    await viewer.rows("Audit trail").getByText("größer als 5 €").waitFor();
    assert.match(viewer.page.url(), /operation=poison.delete/);
    await viewer.page.getByPlaceholder("Actor").fill("nobody");
    await viewer.page.keyboard.press("Enter");
    await viewer.page.getByText("No entry matches").waitFor();
    await viewer.page.goBack();
  });

  test("two who change the same entity: the second is told, and undoes nothing", async () => {
    for (const each of [admin, operator]) {
      await each.see("/tables/Orders?partitionKey=p1&rowKey=1");
      await each.button("Edit…").click();
    }
    const change = async (sight, to) => {
      await sight.button("JSON", sight.dialog()).click();
      const text = sight.dialog().getByLabel("Properties");
      await text.fill((await text.inputValue()).replace('"Amount": 1', `"Amount": ${to}`));
      await sight.dialog().getByLabel("Reason").fill("mine is right");
      await sight.button("Save", sight.dialog()).click();
    };
    await change(admin, 100);
    await admin.page.getByRole("row", { name: /Amount/ }).getByText("100", { exact: true }).waitFor();
    await change(operator, 200);
    await operator.dialog().getByText("UpdateConditionNotSatisfied").waitFor();
    assert.equal((await stack.call("GET", "/v1/tables/Orders/entity?partitionKey=p1&rowKey=1")).Amount, 100);
    await operator.button("Back", operator.dialog()).click();
  });
});

describe("sessions", () => {
  test("end when the token is withdrawn; the other people stay", async () => {
    await operator.see("/workers");
    await viewer.see("/workers");
    writeTokens(["viewer", "admin"]);
    stack.signal("api", "SIGHUP");
    await operator.page.getByLabel("Token").waitFor();
    await operator.page.getByLabel("Token").fill(tokens.operator);
    await operator.page.keyboard.press("Enter");
    await operator.page.getByText("not a token of this stack").waitFor();
    await viewer.page.getByText("worker-1").waitFor();
    assert.equal(await viewer.page.getByLabel("Token").count(), 0);
  });

  test("end when somebody signs out, for the cookie as well", async () => {
    const leaving = (route) => (route.request().method() === "DELETE" ? route.fulfill({ status: 503, json: { code: "Unavailable", detail: "the store is away" } }) : route.fallback());
    await admin.page.route("**/v1/session", leaving);
    await admin.button(/Sign out/).click();
    await admin.page.getByText("You are still signed in: the store is away").waitFor();
    await admin.page.unroute("**/v1/session", leaving);
    const cookies = await admin.page.context().cookies();
    assert.ok(cookies.some((each) => each.httpOnly && each.sameSite === "Strict"));
    await admin.button(/Sign out/).click();
    await admin.page.getByLabel("Token").waitFor();
    const answer = await fetch(`${stack.url}/v1/session`, { headers: { Cookie: cookies.map((each) => `${each.name}=${each.value}`).join("; ") } });
    assert.equal(answer.status, 401);
  });
});

test("nothing complained", () => browser.nothingComplained());
