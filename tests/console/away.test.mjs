// Processes that are down: every page says within moments what it cannot know, keeps what it knew, and goes on by itself.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { token, until } from "./stack.mjs";
import { asAnotherUser, browser, button, heading, open, overOneStack, page, rows, see, sight, stack } from "./views.mjs";

overOneStack(async () => {
  await stack.poisoned("Missing", "one");
  await stack.putQueue("letters");
});

/// Leaves a program running, whatever a test that failed has done to it.
async function anew(program) {
  await stack.kill(program);
  await stack.start(program);
}

const banner = () => page.getByRole("region", { name: "Processes that are down" });

/// Ends a program, and waits until the page says so. How soon it does is printed: on a machine with time, within two seconds.
async function endsAndIsTold(program, name) {
  const begun = performance.now();
  await stack.kill(program);
  await banner().getByText(`The ${name} store (${program}) is away`).waitFor();
  console.log(`# it was told after ${Math.round(performance.now() - begun)} ms that the ${name} store is away`);
}

async function comesBack(program) {
  await stack.start(program);
  await banner().waitFor({ state: "detached" });
}

const figure = (name) => page.locator(".figure", { has: page.getByText(name, { exact: true }) }).locator(".figure-value");

describe("the table store", () => {
  after(() => anew("table_store"));

  test("is told to be away, with how to bring it back, while the overview keeps what it knew", async () => {
    await see("/");
    await page.locator(".wrong li").first().waitFor();
    await figure("workers").waitFor();
    await endsAndIsTold("table_store", "table");
    await page.locator(".wrong li").first().getByText("The table store does not answer").waitFor();
    assert.equal(await figure("poison").textContent(), "1");
    assert.equal(await figure("workers").textContent(), "1");
    await page.getByText(/workers are those of/i).waitFor();
    await banner().getByText("tidemark up", { exact: true }).waitFor();
    await banner().getByRole("button", { name: "Copy tidemark status" }).waitFor();
    await banner().getByText("this page cannot tell workers, indexes").waitFor();
    assert.equal(await page.getByText("Looking…").count(), 0);
  });

  test("is told of by a page that is opened meanwhile", async () => {
    await sight.open("/");
    await page.locator(".wrong li").first().getByText("The table store does not answer").waitFor();
    await figure("poison").waitFor();
    await sight.go("/jobs");
    await banner().getByText("this page cannot tell the jobs").waitFor();
    await sight.go("/queues");
    await banner().getByText("This page does not need it.").waitFor();
    await rows("Queues").first().waitFor();
  });

  test("leads to its runbook", async () => {
    await sight.go("/");
    await page.locator(".wrong li").first().getByRole("link", { name: "what to do" }).click();
    await heading("A store does not answer");
    await page.locator("main").getByText("scripts/stack up", { exact: true }).last().waitFor();
    await page.getByRole("button", { name: "Copy sudo systemctl start tidemark.target" }).waitFor();
  });

  test("is not needed to sign in and read, and the rights come back by themselves", async () => {
    const end = await asAnotherUser();
    await open("/queues/letters");
    await page.getByLabel("Token").fill("the-wrong-token-of-all");
    await button("Sign in").click();
    await page.getByText("not a token of this stack").waitFor();
    await page.getByLabel("Token").fill(token);
    await button("Sign in").click();
    await heading("letters");
    await page.getByText("You can only read for now").waitFor();
    await page.locator(".figure", { hasText: "ready" }).waitFor();
    assert.equal(await button("Pause").count(), 0, "nothing that changes anything is offered");
    const status = await page.evaluate(() => fetch("/v1/queues/letters/pause", { method: "POST" }).then((answer) => answer.status));
    assert.equal(status, 403);
    await comesBack("table_store");
    await page.getByText("You can only read for now").waitFor({ state: "detached" });
    await button("Pause").waitFor();
    const entries = (await stack.call("GET", "/v1/audit?operation=session.post")).entries;
    assert.ok(entries.some((each) => /while the audit trail could not be written/.test(each.detail)), JSON.stringify(entries));
    await end();
  });

  test("is back, and the pages go on by themselves", async () => {
    await sight.go("/jobs");
    await rows("Jobs").first().waitFor();
    await endsAndIsTold("table_store", "table");
    assert.ok(await rows("Jobs").count() > 0, "what was known stays");
    await comesBack("table_store");
    const job = await stack.submit({ kind: "copy", source: "Orders", destination: "AfterIt", filter: "" });
    await page.locator(`a[href="/jobs/${job.id}"]`).waitFor();
  });
});

describe("the queue service", () => {
  after(() => anew("queue_service"));

  test("is told to be away, and the last figures are shown with their age", async () => {
    await until(async () => (await stack.call("GET", "/v1/overview")).points.length > 0, "the api remembers a point");
    await see("/");
    await figure("poison").waitFor();
    await endsAndIsTold("queue_service", "queue");
    await page.locator(".figure", { hasText: "poison" }).getByText("as of").waitFor();
    assert.equal(await figure("poison").textContent(), "1");
    await sight.open("/");
    await page.locator(".figure", { hasText: "poison" }).getByText("as of").waitFor();
    assert.equal(await figure("poison").textContent(), "1", "a page that is opened now shows the figures that the api remembers");
    for (const [view, lacks] of [["/poison", "the poison messages"], ["/queues", "queues and messages"], ["/jobs", "why jobs wait"]]) {
      await sight.go(view);
      await banner().getByText(`this page cannot tell ${lacks}`).waitFor();
    }
    await sight.go("/poison");
    await stack.start("queue_service");
    await banner().waitFor({ state: "detached" });
    await rows("Groups of poison messages").first().waitFor();
  });
});

describe("the blob store", () => {
  after(() => anew("blob_store"));

  test("is told to be away where it is needed, and its page comes by itself", async () => {
    await see("/containers");
    await endsAndIsTold("blob_store", "blob");
    await banner().getByText("this page cannot tell containers and blobs").waitFor();
    await sight.go("/limits");
    await banner().getByText("This page does not need it.").waitFor();
    assert.deepEqual(await wrongsOf(sight, ["/limits", "/", "/runbooks", "/runbooks/store-away"], []), []);
    await comesBack("blob_store");
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
