// One chromium over one stack: pages, the signed-in user, and the name of everything in a view.
import assert from "node:assert/strict";
import path from "node:path";
import { chromium } from "playwright-core";
import { token, until } from "./stack.mjs";

const waitMs = 60_000;
const files = process.env.TIDEMARK_CONSOLE_FILES;  // the folder console/, to try its files without a build

/// Finds elements of a page by the names that a user would give them.
export class Sight {
  constructor(page, stack) { Object.assign(this, { page, stack }); }

  /// Chromium drops a load when the machine's network interfaces change, so the load is repeated.
  async open(target) {
    for (let round = 1; ; round += 1) {
      await this.page.goto(this.stack.url + target).catch((error) => { if (round === 5) throw error; });
      const shown = await this.page.locator("#app > *").first().waitFor({ timeout: 10_000 }).then(() => true, () => false);
      if (shown) return;
      if (round === 5) throw new Error(`${target} shows nothing`);
    }
  }

  /// Opens the page and waits until everything that it asked for is there.
  async see(target) {
    await this.open(target);
    await this.whole(target);
  }

  /// Like see(), but navigates as a link of the page does.
  async go(target) {
    await this.page.evaluate((to) => {
      history.pushState(null, "", to);
      dispatchEvent(new PopStateEvent("popstate"));
      return new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    }, target);
    await this.whole(target);
  }

  async whole(target) {
    await this.page.locator("main h1").waitFor();
    await until(async () => (await this.page.locator("[aria-busy]").count()) === 0, `${target} is there`);
  }

  /// Has the page ask again at once, as it does when its user comes back to it.
  async comeBack() { await this.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); }

  async signIn(as = token) {
    await this.open("/");
    await this.page.getByLabel("Token").fill(as);
    await this.page.getByRole("button", { name: "Sign in" }).click();
    await this.heading("Overview");
    return this;
  }

  heading(name) { return this.page.getByRole("heading", { level: 1, name }).waitFor(); }
  button(name, within = this.page) { return within.getByRole("button", { name, exact: typeof name === "string" }); }
  dialog() { return this.page.getByRole("dialog"); }
  rows(label) { return this.page.getByRole("region", { name: label, exact: true }).locator("tbody tr"); }
  badge(text) { return this.page.locator(".badge", { hasText: text }).first().waitFor(); }
}

export class Browser {
  complaints = [];

  constructor(stack) { this.stack = stack; }

  async launch() {
    this.chromium = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
    return this;
  }

  /// Opens a page as another user would have it: with cookies of its own.
  async page(options = {}) {
    const context = await this.chromium.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(waitMs);
    return this.pageOf(context);
  }

  /// Opens another page of the same user.
  async pageOf(context) {
    const page = await context.newPage();
    if (files) await page.route(/\/console\/[0-9a-f]{16}\/(?!runbooks\.json)/, (route) => route.fulfill({ path: path.join(files, new URL(route.request().url()).pathname.split("/").slice(3).join("/")) }));
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.stack}`));
    page.on("console", (message) => { if (/Content Security Policy|Refused to/.test(message.text())) this.complaints.push(message.text()); });
    page.on("request", (request) => { if (!request.url().startsWith(this.stack.url) && !/^(data|blob):/.test(request.url())) this.complaints.push(`asked elsewhere: ${request.url()}`); });
    return new Sight(page, this.stack);
  }

  async close() { await this.chromium?.close(); }

  /// Checks that there was no error, no refusal by the policy and no request to another host.
  nothingComplained() { assert.deepEqual(this.complaints, []); }
}

/// Waits until a job is in this state.
export const inState = (stack, id, wanted) => until(async () => (await stack.call("GET", `/v1/jobs/${id}`)).state === wanted, `${id} is ${wanted}`);
