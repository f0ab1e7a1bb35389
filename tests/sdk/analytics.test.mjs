// stores: table queue blob worker
// Storage analytics as users see it: the settings of the three services, the logs in $logs and the rows of the metrics
// tables, read by the SDKs, and the operations on them that users are refused.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { TableClient, TableServiceClient, AzureNamedKeyCredential } from "@azure/data-tables";
import { BlobServiceClient, StorageSharedKeyCredential } from "@azure/storage-blob";
import { QueueServiceClient, StorageSharedKeyCredential as QueueCredential } from "@azure/storage-queue";

const account = "devstoreaccount1";
// The well-known key of the storage emulators: no secret.
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const retryOptions = { maxTries: 1, maxRetries: 0 };
const blobs = new BlobServiceClient(process.env.TIDEMARK_BLOB_URL, new StorageSharedKeyCredential(account, key), { retryOptions });
const queues = new QueueServiceClient(process.env.TIDEMARK_QUEUE_URL, new QueueCredential(account, key), { retryOptions });
const tableOptions = { allowInsecureConnection: true, retryOptions };
const tableCredential = new AzureNamedKeyCredential(account, key);
const tables = new TableServiceClient(process.env.TIDEMARK_TABLE_URL, tableCredential, tableOptions);
const table = (name) => new TableClient(process.env.TIDEMARK_TABLE_URL, name, tableCredential, tableOptions);
const logs = blobs.getContainerClient("$logs");

const all = async (iterator) => {
  const out = [];
  for await (const item of iterator) out.push(item);
  return out;
};
/// Asks again until the answer is true.
const eventually = async (what, ask) => {
  const until = Date.now() + 60_000;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    assert.ok(Date.now() < until, `not within a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
const refused = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.statusCode, statusCode);
    assert.equal(error.code ?? error.details?.odataError?.code, code);
    return true;
  });

const retentionPolicy = { enabled: true, days: 7 };
const metrics = { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy };
const wanted = (version) => ({
  blobAnalyticsLogging: { version, read: true, write: true, deleteProperty: true, retentionPolicy },
  queueAnalyticsLogging: { version, read: true, write: true, deleteProperty: true, retentionPolicy },
  logging: { version, read: true, write: true, delete: true, retentionPolicy },
  hourMetrics: metrics,
  minuteMetrics: { version: "1.0", enabled: true, includeAPIs: false, retentionPolicy },
});

/// Splits a line into its fields, at semicolons that are not in quotes.
const fieldsOf = (line) => {
  const fields = [""];
  let quoted = false;
  for (const letter of line) {
    if (letter === '"') quoted = !quoted;
    if (letter === ";" && !quoted) fields.push("");
    else fields[fields.length - 1] += letter;
  }
  return fields;
};
/// Returns the records of a service, as arrays of fields.
const records = async (service) => {
  const out = [];
  if (!(await logs.exists())) return out;
  for await (const { name } of logs.listBlobsFlat({ prefix: `${service}/` })) {
    const text = (await logs.getBlobClient(name).downloadToBuffer()).toString();
    assert.ok(text.endsWith("\n"), name);
    out.push(...text.slice(0, -1).split("\n").map(fieldsOf));
  }
  return out;
};
const operations = async (service) => (await records(service)).map((fields) => fields[2]);

before(async () => {
  assert.equal(await logs.exists(), false);
  await blobs.setProperties(wanted("2.0"));
  assert.deepEqual(await all(logs.listBlobsFlat()), [], "hosts of Azure Functions list it at once");
  await queues.setProperties(wanted("1.0"));
  await tables.setProperties(wanted("1.0"));

  const box = blobs.getContainerClient("box");
  await box.create();
  await box.getBlockBlobClient('a;"b&c\n').upload("hello", 5, { blobHTTPHeaders: { blobContentType: "text/plain" } });
  await box.getBlobClient('a;"b&c\n').downloadToBuffer();
  await box.getBlobClient("missing").exists();
  await box.getBlockBlobClient('a;"b&c\n').delete();
  const queue = queues.getQueueClient("line");
  await queue.create();
  await queue.sendMessage("m");
  const [message] = (await queue.receiveMessages()).receivedMessageItems;
  await queue.deleteMessage(message.messageId, message.popReceipt);
  await tables.createTable("People");
  await table("People").createEntity({ partitionKey: "p", rowKey: "r" });
  await table("People").getEntity("p", "r");
  await assert.rejects(table("People").getEntity("p", "nobody"));
  await table("People").deleteEntity("p", "r");
});

describe("logs", () => {
  test("tell of the requests to all three services", async () => {
    for (const [service, expected] of Object.entries({
      blob: ["CreateContainer", "PutBlob", "GetBlob", "GetBlobProperties", "DeleteBlob"],
      queue: ["CreateQueue", "PutMessage", "GetMessages", "DeleteMessage"],
      table: ["CreateTable", "InsertEntity", "QueryEntity", "DeleteEntity"],
    })) {
      await eventually(`logs of ${service}`, async () => {
        const seen = await operations(service);
        return expected.every((name) => seen.includes(name));
      });
    }
  });

  test("are records as documented", async () => {
    const [put] = (await records("blob")).filter((fields) => fields[2] === "PutBlob");
    assert.equal(put.length, 38);  // of version 2.0
    assert.deepEqual([put[0], put[3], put[4], put[7], put[8], put[9], put[10]], ["2.0", "Success", "201", "authenticated", account, account, "blob"]);
    assert.match(put[1], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
    assert.match(put[11], /^"http:\/\/127\.0\.0\.1:\d+\/devstoreaccount1\/box\/a%3B%22b%26c%0A"$/);
    assert.equal(put[20], "0");
    assert.equal(put[21], "5");
    assert.match(put[24], /^"0x[0-9A-F]+"$/);
    assert.match(put[25], /^\w+, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT$/);
    assert.match(put[27], /azsdk-js/);
    const [query] = (await records("table")).filter((fields) => fields[2] === "QueryEntity" && fields[4] === "404");
    assert.equal(query.length, 30);
    assert.equal(query[3], "ClientOtherError");
  });

  test("have names and metadata as documented", async () => {
    for await (const { name, metadata } of logs.listBlobsFlat({ includeMetadata: true })) {
      assert.match(name, /^(blob|queue|table)\/\d{4}\/\d\d\/\d\d\/\d\d00\/\d{6}\.log$/);
      assert.match(metadata.LogType, /^(read|write|delete)(,(read|write|delete))*$/);
      assert.match(metadata.StartTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.ok(metadata.StartTime <= metadata.EndTime);
      assert.equal(metadata.LogVersion, name.startsWith("blob/") ? "2.0" : "1.0");
    }
  });

  test("are hidden, and read and deleted only", async () => {
    assert.ok(!(await all(blobs.listContainers())).some(({ name }) => name === "$logs"));
    assert.ok((await all(blobs.listContainers({ includeSystem: true }))).some(({ name }) => name === "$logs"));
    const [{ name }] = await all(logs.listBlobsFlat({ prefix: "queue/" }));
    await refused(logs.create(), 403, "InsufficientAccountPermissions");
    await refused(logs.delete(), 403, "InsufficientAccountPermissions");
    await refused(logs.setMetadata({ a: "b" }), 403, "InsufficientAccountPermissions");
    await refused(logs.getBlockBlobClient("queue/mine").upload("x", 1), 403, "InsufficientAccountPermissions");
    await refused(logs.getBlobClient(name).setMetadata({ a: "b" }), 403, "InsufficientAccountPermissions");
    await logs.getBlobClient(name).delete();
    assert.equal(await logs.getBlobClient(name).exists(), false);
  });
});

describe("metrics", () => {
  const hour = (service) => table(`$MetricsHourPrimaryTransactions${service}`);
  const rows = async (client) => {
    try {
      return await all(client.listEntities());
    } catch (error) {
      if (error.statusCode === 404) return [];
      throw error;
    }
  };
  const total = async (client, operation, column = "TotalRequests") =>
    (await rows(client)).filter(({ rowKey }) => rowKey === `user;${operation}`).reduce((sum, row) => sum + Number(row[column]), 0);

  test("count each operation once", async () => {
    for (const [service, operation] of [["Blob", "PutBlob"], ["Blob", "DeleteBlob"], ["Queue", "PutMessage"], ["Table", "InsertEntity"]]) {
      await eventually(`${operation} is counted`, async () => (await total(hour(service), operation)) > 0);
      assert.equal(await total(hour(service), operation), 1);
    }
    assert.equal(await total(hour("Table"), "QueryEntity"), 2);
    assert.equal(await total(hour("Table"), "QueryEntity", "ClientOtherError"), 1);
  });

  test("have the documented keys and columns", async () => {
    const [row] = (await rows(hour("Blob"))).filter(({ rowKey }) => rowKey === "user;All");
    assert.match(row.partitionKey, /^\d{8}T\d{2}00$/);
    for (const name of ["TotalIngress", "TotalEgress", "TotalRequests", "TotalBillableRequests", "Success", "SASNetworkError", "AnonymousThrottlingError"]) {
      assert.equal(typeof row[name], "bigint", name);
    }
    for (const name of ["Availability", "AverageE2ELatency", "AverageServerLatency", "PercentSuccess", "PercentTimeoutError"]) {
      assert.equal(typeof row[name], "number", name);
    }
    assert.equal(row.Availability, 100);
  });

  test("are there by the minute, and of capacity", async () => {
    const minute = table("$MetricsMinutePrimaryTransactionsQueue");
    await eventually("rows of minutes", async () => (await total(minute, "All")) >= 4);
    assert.equal(await total(minute, "PutMessage"), 0);  // not requested
    const capacity = await eventually("capacity", async () => {
      const found = await rows(table("$MetricsCapacityBlob"));
      return found.length >= 2 && found;
    });
    assert.deepEqual(capacity.map(({ rowKey }) => rowKey).sort(), ["analytics", "data"]);
    assert.ok(capacity.every((row) => typeof row.Capacity === "bigint"));
  });

  test("are hidden, and read and deleted only", async () => {
    const names = (await all(tables.listTables())).map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.startsWith("$")), []);
    const [row] = await rows(hour("Queue"));
    const entity = { partitionKey: row.partitionKey, rowKey: row.rowKey };
    assert.equal((await hour("Queue").getEntity(row.partitionKey, row.rowKey)).rowKey, row.rowKey);
    await refused(hour("Queue").createEntity({ ...entity, rowKey: "mine" }), 403, "InsufficientAccountPermissions");
    await refused(hour("Queue").upsertEntity(entity), 403, "InsufficientAccountPermissions");
    await refused(hour("Queue").updateEntity(entity), 403, "InsufficientAccountPermissions");
    await refused(tables.deleteTable("$MetricsHourPrimaryTransactionsQueue"), 403, "InsufficientAccountPermissions");
    await hour("Queue").deleteEntity(row.partitionKey, row.rowKey);
  });
});

describe("settings", () => {
  test("that are off record nothing more", async () => {
    const off = { version: "1.0", read: false, write: false, deleteProperty: false, retentionPolicy: { enabled: false } };
    await queues.setProperties({ queueAnalyticsLogging: off });
    await queues.createQueue("unseen");
    await queues.setProperties({ queueAnalyticsLogging: { ...off, write: true } });
    await queues.createQueue("seen");
    const lines = await eventually("the log of the queue that is seen", async () => {
      const found = (await records("queue")).filter((fields) => /seen/.test(fields[12]));
      return found.length > 0 && found;
    });
    assert.deepEqual(lines.map((fields) => fields[12]), ['"/devstoreaccount1/seen"']);
  });
});
