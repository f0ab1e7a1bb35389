// Phones and wide windows: lists are cards where the window is narrow, nothing is wider than it, ids stay on one line,
// actions can be reached, and in a wide window no word is broken beside empty space.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";
import { someOf } from "../support/sizes.mjs";
import { wrongsOf } from "./axe.mjs";
import { inState } from "./browser.mjs";
import { until } from "./stack.mjs";
import { browser, button, dialog, heading, overOneStack, page, rows, see, sight, stack } from "./views.mjs";

const phone = { width: 390, height: 844 };
const tablet = { width: 768, height: 1024 };
const wide = { width: 1440, height: 900 };
const pictures = process.env.TIDEMARK_PICTURES;

let job, bad;

overOneStack(async () => {
  bad = await stack.poisoned("AnArchiveOfOrdersThatNobodyHasEverMade", "one");
  job = await stack.submit({ kind: "copy", source: "Orders", destination: "CopiesOfOrdersForTheAnnualReport", filter: "" });
  await inState(stack, job.id, "succeeded");
  await stack.call("PUT", "/v1/schedules/nightly-archive-of-all-orders", { cron: "30 2 * * *", job: { kind: "copy", source: "Orders", destination: "Nightly", filter: "" } });
  await stack.call("POST", "/v1/schedules/nightly-archive-of-all-orders/run");
  await stack.call("PUT", "/v1/indexes/by-customer-of-the-whole-company", { kind: "lists", source: "Orders", by: ["Customer"], destination: "ByCustomerOfTheWholeCompany" });
  await stack.call("PATCH", "/v1/limits", { scope: "table", name: "Orders", maxRunning: 2 });
  await stack.call("PUT", "/v1/queues/thumbnails-for-the-web-shop", {});
  await stack.call("POST", "/v1/queues/thumbnails-for-the-web-shop/messages", { text: JSON.stringify({ picture: "a.png", sizes: [90, 180, 360], of: "the collection of this winter" }) });
  await stack.call("PUT", "/v1/containers/pictures");
  await stack.ofBlob("PUT", "pictures/2026/one.txt", "one", { "x-ms-blob-type": "BlockBlob" });
  await stack.call("PUT", "/v1/kinds/resize", { leaseSeconds: 30 });
  await until(async () => (await stack.call("GET", "/v1/indexes/by-customer-of-the-whole-company")).state === "ready", "the index is ready");
});

const views = () => ["/", "/jobs", `/jobs/${job.id}`, "/jobs/new", "/poison", "/poison?show=messages", `/poison/${bad.id}`, "/indexes", "/indexes/by-customer-of-the-whole-company", "/schedules", "/schedules/nightly-archive-of-all-orders",
  "/limits", "/workers", "/audit", "/runbooks", "/runbooks/store-away", "/kinds", "/tables", "/tables/Orders", "/tables/Orders?partitionKey=p1&rowKey=001", "/queues", "/queues/thumbnails-for-the-web-shop", "/containers", "/containers/pictures?flat=1", "/explain?table=Orders&partitionKey=p1&rowKey=001"];

const nameOf = (view) => view.replace(/\?.*/, "").replace(job.id, "one").replace(bad.id, "one").replaceAll("/", "-").slice(1) || "overview";

/// Writes a picture of each view if a directory for them is named.
async function picture(view, size, theme) {
  if (!pictures) return;
  await page.screenshot({ path: path.join(pictures, `${nameOf(view)}${view.includes("show=") ? "-messages" : ""}-${size.width}-${theme}.png`), fullPage: size.width < 1000 });
}

async function inBothThemes(view, size) {
  await picture(view, size, "light");
  if (!pictures) return;
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(view, size, "dark");
  await page.emulateMedia({ colorScheme: "light" });
}

/// Texts that are outside of the window and cannot be scrolled to, and those that are wider than it.
const tooWide = () => page.evaluate(() => {
  const out = document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth} wide`] : [];
  for (const each of document.querySelectorAll("main .scroll")) if (each.scrollWidth > each.clientWidth + 1) out.push(`${each.getAttribute("aria-label")} is ${each.scrollWidth} wide in ${each.clientWidth}`);
  return out;
});

/// Buttons and links of the view that cannot be reached: outside of the window, or covered.
const unreachable = () => page.evaluate(() => {
  const out = [];
  for (const each of document.querySelectorAll("main button, main a.button, main .scroll a")) {
    if (each.disabled || each.closest("details:not([open])")) continue;
    each.scrollIntoView({ block: "center" });
    const box = each.getBoundingClientRect();
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    const there = document.elementFromPoint(x, y);
    if (box.left < 0 || box.right > innerWidth + 1 || !(each.contains(there) || there?.contains(each))) out.push(`${each.textContent.trim().slice(0, 40)} at ${Math.round(box.left)}..${Math.round(box.right)}`);
  }
  scrollTo(0, 0);
  return out;
});

/// Ids that take more than one line; a name that somebody chose may be longer than a phone is wide.
const brokenIds = () => page.evaluate(() => [...document.querySelectorAll("main .scroll .mono")].filter((each) => each.textContent.length < 26 && each.getClientRects().length > 1).map((each) => each.textContent));

describe("a phone", () => {
  test("shows lists as cards, with everything in reach", async () => {
    await page.setViewportSize(phone);
    for (const view of someOf(views())) {
      await see(view);
      assert.deepEqual(await tooWide(), [], view);
      assert.deepEqual(await unreachable(), [], view);
      assert.deepEqual(await brokenIds(), [], view);
      await inBothThemes(view, phone);
    }
    await sight.go("/jobs");
    const cell = rows("Jobs").first().locator("td").nth(3);
    assert.equal(await cell.evaluate((each) => getComputedStyle(each, "::before").content), '"State"');
    assert.equal(await page.getByRole("columnheader", { name: "State" }).count(), 1, "it is still a table for those who hear it");
    for (const size of [phone, tablet]) {
      await page.setViewportSize(size);
      await see("/tables");
      const label = await rows("Tables").first().locator("td").first().evaluate((each) => { const style = getComputedStyle(each, "::before"); return [style.content, style.marginLeft, style.float]; });
      assert.deepEqual(label, ['"Name"', "0px", "none"], "the label is inside of the card");
    }
  });

  test("lets one act: pause a kind, redrive a message, open a dialog that fits", async () => {
    await page.setViewportSize(phone);
    await see("/limits");
    const row = page.getByRole("row", { name: /merge/ });
    await row.getByRole("button", { name: "Pause" }).click();
    await row.getByText("paused").waitFor();
    await row.getByRole("button", { name: "Resume" }).click();
    for (const [view, opens] of [["/schedules", "New schedule…"], ["/indexes", "Declare an index…"], ["/limits", "New limit…"], [`/poison/${bad.id}`, "Redrive…"]]) {
      await sight.go(view);
      await button(opens).first().click();
      await dialog().locator("footer button").last().scrollIntoViewIfNeeded();
      const box = await dialog().boundingBox();
      assert.ok(box.x >= 0 && box.x + box.width <= phone.width, `${opens}: ${JSON.stringify(box)}`);
      assert.equal(await dialog().evaluate((each) => each.scrollWidth > each.clientWidth + 1), false, opens);
      await inBothThemes(`${view}-dialog`, phone);
      await page.keyboard.press("Escape");
      await dialog().waitFor({ state: "detached" });
    }
  });

  test("has no mistake that axe finds, neither in the light nor in the dark", async () => {
    await page.setViewportSize(phone);
    assert.deepEqual(await wrongsOf(sight, views(), []), []);
  });
});

describe("a tablet and a wide window", () => {
  for (const size of [tablet, wide]) {
    test(`nothing is wider than ${size.width} points, and everything is in reach`, async () => {
      await page.setViewportSize(size);
      for (const view of someOf(views())) {
        await see(view);
        assert.deepEqual(await tooWide(), [], view);
        assert.deepEqual(await unreachable(), [], view);
        await inBothThemes(view, size);
      }
    });
  }

  test("in a wide window, no word is broken", async () => {
    await page.setViewportSize(wide);
    for (const view of someOf(views())) {
      await see(view);
      const broken = await page.evaluate(() => {
        const out = [];
        for (const cell of document.querySelectorAll("main td, main dd, main h1, main .wrong li")) {
          const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            if (node.parentElement.closest("pre, .sr")) continue;
            for (const word of node.data.matchAll(/\S+/g)) {
              if (word[0].length > 60) continue;
              const range = document.createRange();
              range.setStart(node, word.index);
              range.setEnd(node, word.index + word[0].length);
              // A word may be broken at its hyphens, as in any text.
              const lines = new Set([...range.getClientRects()].map((rect) => Math.round(rect.top)));
              if (lines.size > 1 && !/[-/]/.test(word[0])) out.push(word[0]);
            }
          }
        }
        return out;
      });
      assert.deepEqual(broken, [], view);
    }
  });
});

describe("the keyboard", () => {
  test("leads through the forms and the actions of a list", async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await see("/limits");
    await page.keyboard.press("g");
    await page.keyboard.press("b");
    await heading("Runbooks");
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await heading("Schedules");
    await rows("Schedules").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await heading("nightly-archive-of-all-orders");
    await button("Edit…").focus();
    await page.keyboard.press("Enter");
    await dialog().locator("[name=cron]").waitFor();
    const seen = new Set();
    await until(async () => {
      await page.keyboard.press("Tab");
      const name = await page.evaluate(() => document.activeElement.closest("dialog") && (document.activeElement.name || document.activeElement.textContent.trim()));
      seen.add(name);
      return seen.has("Save");
    }, "the button Save is reached");
    for (const name of ["cron", "timeZone", "kind", "source"]) assert.ok(seen.has(name), `${name} in ${[...seen].join(", ")}`);
    await page.keyboard.press("Escape");
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
