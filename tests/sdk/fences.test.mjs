// stores: table
// The fences of docs/fences.md, through the unmodified @azure/data-tables client. The functions under test are the text
// of that page: the code that readers copy is the code that runs here.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { AzureNamedKeyCredential, TableClient, TableTransaction, generateAccountSas } from "@azure/data-tables";

const endpoint = process.env.TIDEMARK_TABLE_URL;
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const credential = new AzureNamedKeyCredential("devstoreaccount1", key);

const page = readFileSync(new URL("../../docs/fences.md", import.meta.url), "utf8");
const snippets = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map((match) => match[1]).join("\n");
const { archive, operationClient } = new Function(`${snippets}\nreturn { archive, operationClient };`)();

const sas = generateAccountSas(credential, {
  services: { table: true },
  resourceTypes: "o",
  permissions: { query: true, update: true },
  expiresOn: new Date(Date.now() + 3_600_000),
});
const operation = operationClient(endpoint, sas);
const fence = (operationId, epoch) => ({
  "x-ms-tidemark-operation-id": operationId,
  "x-ms-tidemark-epoch": String(epoch),
});
const from = (version) => ({ "x-ms-tidemark-source-version": String(version) });
const key1 = { partitionKey: "p", rowKey: "r" };

async function freshTable(policies = []) {
  const name = `F${randomUUID().replaceAll("-", "")}`;
  const client = new TableClient(endpoint, name, credential, {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });
  for (const policy of policies) client.pipeline.addPolicy(policy);
  await client.createTable();
  return client;
}

/// Runs the call and returns the headers of its answer.
async function headersOf(call) {
  let headers;
  await call({ onResponse: (response) => (headers = response.headers) });
  return headers;
}
const put = (client, entity, customHeaders) =>
  headersOf((options) => client.upsertEntity(entity, "Replace", { ...options, requestOptions: { customHeaders } }));
const isFenced = (error) => {
  assert.equal(error.statusCode, 412);
  assert.equal(error.details.odataError.code, "Fenced");
  return true;
};
async function isGone(client) {
  await assert.rejects(client.getEntity("p", "r"), { statusCode: 404 });
}

/// Holds the first matching request back until release() is called; `reached` resolves when it is held.
function gate(method) {
  let release, arrived;
  const released = new Promise((resolve) => (release = resolve));
  const reached = new Promise((resolve) => (arrived = resolve));
  let held = false;
  const policy = {
    name: `gate-${method}`,
    async sendRequest(request, next) {
      if (request.method === method && !held) {
        held = true;
        arrived();
        await released;
      }
      return next(request);
    },
  };
  return { policy, reached, release };
}

describe("put if newer", () => {
  test("an older copy loses, and the answer says so", async () => {
    const table = await freshTable();
    const first = await put(table, { ...key1, n: 2 }, from(200));
    assert.equal(first.get("x-ms-tidemark-outcome"), "applied");
    const older = await put(table, { ...key1, n: 1 }, from(199));
    assert.equal(older.get("x-ms-tidemark-outcome"), "superseded");
    assert.equal(older.get("x-ms-tidemark-source-version"), "200");
    const same = await put(table, { ...key1, n: 9 }, from(200));
    assert.equal(same.get("x-ms-tidemark-outcome"), "unchanged");
    assert.equal((await table.getEntity("p", "r")).n, 2);
  });

  test("the source's ETag is its version", async () => {
    const [source, copies] = [await freshTable(), await freshTable()];
    const old = (await source.createEntity({ ...key1, n: 1 })).etag;
    const now = (await source.updateEntity({ ...key1, n: 2 }, "Replace")).etag;
    assert.equal((await put(copies, { ...key1, n: 2 }, from(now))).get("x-ms-tidemark-outcome"), "applied");
    assert.equal((await put(copies, { ...key1, n: 1 }, from(old))).get("x-ms-tidemark-outcome"), "superseded");
    assert.equal((await copies.getEntity("p", "r")).n, 2);
  });
});

describe("operations", () => {
  test("lower epochs and closed operations are refused", async () => {
    const [table, id] = [await freshTable(), randomUUID()];
    await put(table, { ...key1, n: 2 }, fence(id, 2));
    await assert.rejects(put(table, { ...key1, n: 1 }, fence(id, 1)), isFenced);
    assert.deepEqual(await operation("GET", { "x-ms-tidemark-operation-id": id }), {
      operationId: id, epoch: "2", closed: false, applied: "1",
    });
    assert.equal((await operation("DELETE", fence(id, 2))).closed, true);
    await assert.rejects(put(table, { ...key1, n: 3 }, fence(id, 3)), isFenced);
    assert.equal((await table.getEntity("p", "r")).n, 2);
  });

  test("a transaction is refused as a whole", async () => {
    // The SDK sends no custom headers with a transaction: a policy adds them to the batch.
    const id = randomUUID();
    let epoch;
    const policy = {
      name: "fence",
      sendRequest(request, next) {
        if (request.url.includes("$batch")) {
          for (const [name, value] of Object.entries(fence(id, epoch))) request.headers.set(name, value);
        }
        return next(request);
      },
    };
    const table = await freshTable([policy]);
    await operation("POST", fence(id, 5));
    const stale = new TableTransaction();
    stale.createEntity({ ...key1 });
    stale.createEntity({ partitionKey: "p", rowKey: "s" });
    epoch = 4;
    await assert.rejects(table.submitTransaction(stale.actions), (error) => error.statusCode === 412);
    await isGone(table);
    epoch = 5;
    assert.equal((await table.submitTransaction(stale.actions)).status, 202);
    assert.equal((await operation("GET", { "x-ms-tidemark-operation-id": id })).applied, "2");
  });
});

describe("the archive worker of docs/fences.md", () => {
  const work = (epoch, operationId) => ({ ...key1, operationId, epoch });

  test("moves an entity, once", async () => {
    const [source, destination, id] = [await freshTable(), await freshTable(), randomUUID()];
    await source.createEntity({ ...key1, n: 1, big: 5n });
    assert.equal(await archive(source, destination, operation, work(1, id)), true);
    await isGone(source);
    const copy = await destination.getEntity("p", "r");
    assert.equal(copy.n, 1);
    assert.equal(copy.big, 5n);
    // A second delivery finds the move done, and leaves a new entity of the same key alone.
    await source.createEntity({ ...key1, n: 2 });
    assert.equal(await archive(source, destination, operation, work(2, id)), true);
    assert.equal((await source.getEntity("p", "r")).n, 2);
    assert.equal((await destination.getEntity("p", "r")).n, 1);
  });

  test("one that wakes late changes nothing", async () => {
    const held = gate("PUT");
    const [source, id] = [await freshTable(), randomUUID()];
    const destination = await freshTable();
    const slow = new TableClient(endpoint, destination.tableName, credential, {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    });
    slow.pipeline.addPolicy(held.policy);
    await source.createEntity({ ...key1, n: 1 });
    const sleeper = archive(source, slow, operation, work(1, id));
    await held.reached; // it has read n = 1 and is about to write the copy
    await source.updateEntity({ ...key1, n: 2 }, "Replace");
    assert.equal(await archive(source, destination, operation, work(2, id)), true);
    await destination.deleteEntity("p", "r"); // even so: no older copy comes back
    held.release();
    await assert.rejects(sleeper, isFenced);
    await isGone(destination);
    await isGone(source);
  });

  test("an entity that changes meanwhile is copied again", async () => {
    const held = gate("DELETE");
    const [source, destination, id] = [await freshTable(), await freshTable(), randomUUID()];
    const slow = new TableClient(endpoint, source.tableName, credential, {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    });
    slow.pipeline.addPolicy(held.policy);
    await source.createEntity({ ...key1, n: 1 });
    const worker = archive(slow, destination, operation, work(1, id));
    await held.reached; // the copy of n = 1 is written
    await source.updateEntity({ ...key1, n: 2 }, "Replace");
    held.release();
    assert.equal(await worker, true);
    await isGone(source);
    assert.equal((await destination.getEntity("p", "r")).n, 2);
  });
});
