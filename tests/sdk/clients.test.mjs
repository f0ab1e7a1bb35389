// stores: table queue blob
// The JavaScript program of docs/clients.md, taken out of the page: its output is the one on the page, also the next
// time.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { account, after, before, describe, key, test } from "./support.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const page = readFileSync(path.join(here, "../../docs/clients.md"), "utf8");
const [, code, output] = /^```js\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)^```\n/m.exec(page);
const connection = `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};TableEndpoint=${process.env.TIDEMARK_TABLE_URL};QueueEndpoint=${process.env.TIDEMARK_QUEUE_URL};BlobEndpoint=${process.env.TIDEMARK_BLOB_URL};`;

describe("the program of clients.md", () => {
  let directory;
  before(() => {
    directory = mkdtempSync(path.join(tmpdir(), "tidemark-clients-"));
    symlinkSync(path.join(here, "node_modules"), path.join(directory, "node_modules"));
    writeFileSync(path.join(directory, "hello.mjs"), code);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test("prints what the page says", async () => {
    for (let round = 0; round < 2; ++round) {
      const environment = { ...process.env, AZURE_STORAGE_CONNECTION_STRING: connection };
      const run = await promisify(execFile)(process.execPath, [path.join(directory, "hello.mjs")], { env: environment });
      assert.equal(run.stdout, output);
    }
  });
});
