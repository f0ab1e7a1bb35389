// stores: queue
// Runs the snippets of docs/queue-extensions.md, in their order, as the page promises.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const page = readFileSync(new URL("../../docs/queue-extensions.md", import.meta.url), "utf8");
const snippets = [...page.matchAll(/^## (.*?)$|^```js\n(.*?)^```$/gms)];

test("the snippets of docs/queue-extensions.md run", async () => {
  let section = "";
  let count = 0;
  const parts = snippets.map(([, heading, code]) => {
    if (heading) section = heading.replaceAll("`", "");
    else count++;
    return heading ? "" : `// ${section}\n${code}`;
  });
  if (count < 10) throw new Error(`only ${count} snippets were found`);
  // Beside this file, so that imports find node_modules.
  const file = new URL(`.queue-extensions-${process.pid}.mjs`, import.meta.url);
  writeFileSync(file, parts.join("\n"));
  try {
    await import(pathToFileURL(file.pathname));
  } finally {
    rmSync(file);
  }
});
