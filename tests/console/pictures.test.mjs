// Writes the pictures of docs/console.md to the directory TIDEMARK_PICTURES.
import path from "node:path";
import { test } from "node:test";
import { inState } from "./browser.mjs";
import { until } from "./stack.mjs";
import { browser, overOneStack, page, see, stack } from "./views.mjs";

const directory = process.env.TIDEMARK_PICTURES;

overOneStack();

test("pictures for the documentation", async () => {
  await stack.poisoned("Seen", "one");
  for (const queue of ["letters", "letters-poison"]) await stack.putQueue(queue);
  await stack.putMessage("letters-poison", '{"letter":1}');
  for (let i = 0; i < 3; i += 1) await stack.poisoned("Customers", `c${i}`);
  const good = await stack.submit({ kind: "copy", source: "Orders", destination: "Copies", filter: "", maxPerSecond: 20 });
  await inState(stack, good.id, "succeeded");
  await until(async () => (await stack.call("GET", "/v1/overview")).points.length >= 8, "the charts have lines", 600_000);
  const bad = (await stack.call("GET", "/v1/poison?limit=1000")).poison.at(-1);
  const shots = { overview: "/", poison: "/poison", message: `/poison/${bad.id}`, job: `/jobs/${good.id}`, table: "/tables/Orders?filter=" + encodeURIComponent("PartitionKey eq 'p1'") };
  await page.setViewportSize({ width: 1100, height: 640 });
  for (const [name, target] of Object.entries(shots)) {
    await see(target);
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: path.join(directory, `console-${name}.png`) });
  }
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
