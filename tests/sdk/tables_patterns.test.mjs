// stores: table blob queue api worker
// The programs in docs/table-patterns.md: each is taken out of the document, run against the stores, and must print the
// output that the document shows.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { account, after, before, describe, key, test } from "./support.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const text = readFileSync(path.join(here, "../../docs/table-patterns.md"), "utf8");
const blocks = [...text.matchAll(/^```js\n([\s\S]*?)^```\n(?:\n```text\n([\s\S]*?)^```\n)?/gm)];
const programs = blocks.map(([, code, output]) => ({ name: /^\/\/ (\w+\.mjs)\n/.exec(code)?.[1], code, output }));
const connection = `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};TableEndpoint=${process.env.TIDEMARK_TABLE_URL};BlobEndpoint=${process.env.TIDEMARK_BLOB_URL};`;

describe("the programs of table-patterns.md", () => {
  let directory;
  before(() => {
    directory = mkdtempSync(path.join(tmpdir(), "tidemark-patterns-"));
    symlinkSync(path.join(here, "node_modules"), path.join(directory, "node_modules"));
    for (const { name, code } of programs) writeFileSync(path.join(directory, name), code);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test("every program has a name, every one but the module they share an output", () => {
    assert.equal(programs.length, (text.match(/^```js$/gm) ?? []).length);
    assert.equal(new Set(programs.map(({ name }) => name)).size, programs.length);
    for (const { name, output } of programs) {
      assert.ok(name, "a program without a name");
      assert.equal(output === undefined, name === "tables.mjs", name);
    }
    assert.equal((text.match(/^```text$/gm) ?? []).length, programs.length - 1);
  });
  for (const { name, code, output } of programs.filter((program) => program.output !== undefined)) {
    const options = code.includes('execFileSync("tidemark"') ? { azurite: "table-indexes" } : {};
    test(`${name} prints what the document says`, options, async () => {
      const environment = { ...process.env, TIDEMARK_CONNECTION: connection, TIDEMARK_API: process.env.TIDEMARK_API_URL };
      environment.PATH = `${process.env.TIDEMARK_BIN}:${process.env.PATH}`;
      const run = await promisify(execFile)(process.execPath, [path.join(directory, name)], { env: environment });
      assert.equal(run.stdout, output);
    });
  }
});
