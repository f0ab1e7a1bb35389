// The page as a whole: how it is served, signing in, keys, lists, and what it says when a service is away.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { token, until } from "./stack.mjs";
import { asAnotherUser, browser, button, dialog, heading, onAnotherPage, open, overOneStack, page, rows, sight, stack } from "./views.mjs";

overOneStack(() => stack.poisoned("Missing", "one"));  // there is something to show

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
    assert.ok(size <= 180_000, `${size} bytes`);
  });

  test("views are addresses, and everything else is not", async () => {
    for (const target of ["/poison", "/jobs/some-id?x=1", "/tables/Orders", "/containers/some"]) assert.match(await (await get(target)).text(), /<div id="app">/);
    for (const target of ["/nothing", "/console/", "/console/0000000000000000/app.js", "/poisonous"]) assert.notEqual((await get(target)).status, 200, target);
    const asBrowser = await get("/nothing/here", { Accept: "text/html,*/*;q=0.8" });
    assert.equal(asBrowser.status, 404);
    assert.match(await asBrowser.text(), /<div id="app">/);
    assert.notEqual((await get("/v1/nothing", { Accept: "text/html" })).headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal((await fetch(stack.url + "/poison", { method: "POST" })).status, 401);
  });
});

describe("an unknown address", () => {
  test("has a page that says so, and leads on", async () => {
    await open("/poisonous/things?a=b");
    await heading("There is no page at this address");
    await page.getByText("/poisonous/things?a=b").waitFor();
    await page.locator("main").getByRole("link", { name: "Poison" }).click();
    await heading("Poison");
  });
});

describe("runbooks", () => {
  test("there is one for each line that the overview may show", async () => {
    const source = readFileSync(new URL("../../console/views/overview.js", import.meta.url), "utf8") + readFileSync(new URL("../../console/shell/away.js", import.meta.url), "utf8");
    const named = new Set([...source.matchAll(/say\((?:"\w+"|\w+\.full \? "bad" : "warn"), "([a-z-]+)"/g), ...source.matchAll(/"((?:api|store)-away)"/g)].map((found) => found[1]));
    assert.ok(named.size > 15, [...named].join(" "));
    await open("/runbooks");
    await heading("Runbooks");
    await page.locator("main .links a").first().waitFor();
    const there = await page.locator("main .links a").evaluateAll((all) => all.map((each) => each.getAttribute("href").split("/").at(-1)));
    assert.deepEqual([...named].sort(), there.sort());
    for (const id of there) {
      await sight.go(`/runbooks/${id}`);
      for (const step of ["Meaning", "Look at", "Do"]) await page.getByRole("heading", { level: 2, name: step, exact: true }).waitFor();
    }
  });
});

describe("signing in", () => {
  test("a wrong token is refused and told about; leaving ends it", async () => {
    const end = await asAnotherUser();
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
    await sight.open("/");
    await page.getByLabel("Token").waitFor();
    await end();
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

describe("a list that cannot be had", () => {
  const lists = [["/jobs", "jobs"], ["/queues", "queues"], ["/audit", "audit"], ["/containers", "containers"], ["/schedules", "schedules"], ["/tables", "tables"], ["/poison?show=messages", "poison"],
    ["/poison?show=queues", "poison/queues"]];

  test("says why on its first page, and comes when it is tried again", async () => {
    for (const [view, list] of lists) {
      const asked = new RegExp(`/v1/${list}(\\?|$)`);
      await page.route(asked, (route) => route.fulfill({ status: 503, json: { code: "Unavailable", detail: "the store is away" } }));
      await sight.go(view);
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
      await sight.go(view);
      await page.getByRole("alert").getByText(code).waitFor();
      assert.equal(await page.getByRole("alert").count(), 1, view);
    }
  });
});

describe("a list that changes while somebody goes through it", () => {
  test("keeps what was shown, and tells of what is new when it is asked to", async () => {
    const end = await onAnotherPage();
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

describe("what others need", () => {
  const views = ["/workers", "/audit"];
  const dialogs = [["/", "Keys ?"]];

  test("axe finds nothing wrong, neither in the light nor in the dark", async () => {
    assert.deepEqual(await wrongsOf(sight, views, dialogs), []);
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
