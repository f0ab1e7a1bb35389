// axe-core over views and dialogs: mistakes that keep people out who see, read or point differently.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { someOf } from "../support/sizes.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function run(page, what, options) {
  const found = await page.evaluate((how) => window.axe.run(document, { resultTypes: ["violations"], ...how }), options);
  return found.violations.map((each) => `${what}: ${each.id}: ${each.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message || ""}`).join(" | ")}`);
}

/// The themes differ only in their colours.
async function inBothThemes(page, what) {
  if (!(await page.evaluate(() => window.axe))) await page.evaluate(axe);
  const light = await run(page, what);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.locator("[data-theme=dark]").waitFor();
  const dark = await run(page, `${what} in the dark`, { runOnly: ["color-contrast", "link-in-text-block"] });
  await page.emulateMedia({ colorScheme: "light" });
  await page.locator("[data-theme=light]").waitFor();
  return [...light, ...dark];
}

/// `dialogs`: the page of each dialog, and the button that opens it.
export async function wrongsOf(sight, views, dialogs) {
  await sight.open("/");
  const menu = sight.button("Menu");
  if (await menu.isVisible()) await menu.click();
  await sight.button("Auto").click();
  const wrongs = [];
  for (const target of someOf(views)) {
    await sight.go(target);
    wrongs.push(...await inBothThemes(sight.page, target));
  }
  for (const [target, opens] of someOf(dialogs)) {
    await sight.go(target);
    await sight.button(opens).first().click();
    await sight.dialog().waitFor();
    wrongs.push(...await inBothThemes(sight.page, `${target} ${opens}`));
    await sight.page.keyboard.press("Escape");
    await sight.dialog().waitFor({ state: "detached" });
  }
  return wrongs;
}
