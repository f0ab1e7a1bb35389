// stores: table queue blob https
// The three stores over HTTPS, with a certificate that the clients trust, and signatures that name the protocol.
import assert from "node:assert/strict";
import https from "node:https";
import tls from "node:tls";
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from "@azure/data-tables";
import { BlobServiceClient, ContainerSASPermissions, SASProtocol, StorageSharedKeyCredential } from "@azure/storage-blob";
import { QueueServiceClient } from "@azure/storage-queue";
import { account, all, describe, inOneHour, key, request, test } from "./support.mjs";

const urls = { table: process.env.TIDEMARK_TABLE_URL, queue: process.env.TIDEMARK_QUEUE_URL, blob: process.env.TIDEMARK_BLOB_URL };
const blobs = new BlobServiceClient(urls.blob, new StorageSharedKeyCredential(account, key));
const queues = new QueueServiceClient(urls.queue, new StorageSharedKeyCredential(account, key));
const tables = new TableServiceClient(urls.table, new AzureNamedKeyCredential(account, key));

describe("HTTPS", () => {
  test("blobs of many records go up and down", async () => {
    const container = blobs.getContainerClient("secure");
    await container.create();
    const content = Buffer.alloc(9_000_001, "tidemark ");
    const blob = container.getBlockBlobClient("large");
    await blob.uploadData(content, { blockSize: 1 << 20, concurrency: 4, maxSingleShotSize: 1 << 20 });
    assert.ok((await blob.downloadToBuffer(0, undefined, { blockSize: 1 << 20, concurrency: 4 })).equals(content));
    assert.deepEqual((await all(container.listBlobsFlat())).map((item) => item.name), ["large"]);
  });

  test("messages are put, taken and deleted", async () => {
    const queue = queues.getQueueClient("secure");
    await queue.create();
    await queue.sendMessage("hello");
    const { receivedMessageItems: [message] } = await queue.receiveMessages();
    assert.equal(message.messageText, "hello");
    await queue.deleteMessage(message.messageId, message.popReceipt);
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
  });

  test("entities are written, also in a transaction, and read", async () => {
    await tables.createTable("Secure");
    const table = new TableClient(urls.table, "Secure", new AzureNamedKeyCredential(account, key));
    await table.createEntity({ partitionKey: "p", rowKey: "0", value: 1 });
    await table.submitTransaction([1, 2].map((n) => ["create", { partitionKey: "p", rowKey: `${n}`, value: n }]));
    assert.deepEqual((await all(table.listEntities())).map((entity) => entity.rowKey), ["0", "1", "2"]);
  });

  test("an answer's URLs are https", async () => {
    const answer = await tables.createTable("Located");
    assert.ok(answer === undefined || !JSON.stringify(answer).includes("http:"));
    const location = await new Promise((resolve, reject) => {
      const table = new TableClient(urls.table, "Located", new AzureNamedKeyCredential(account, key));
      table.createEntity({ partitionKey: "p", rowKey: "r" }, { onResponse: (got) => resolve(got.headers.get("location")) }).catch(reject);
    });
    assert.ok(location.startsWith(`${urls.table}/Located(`), location);
  });

  test("a signature for https only is accepted, and nothing else is needed to prove the protocol", async () => {
    const container = blobs.getContainerClient("signed");
    await container.create();
    await container.getBlockBlobClient("b").upload("x", 1);
    const url = await container.generateSasUrl({
      permissions: ContainerSASPermissions.parse("rl"), expiresOn: inOneHour(), protocol: SASProtocol.Https });
    assert.ok(url.includes("spr=https&"));
    const { status } = await new Promise((resolve, reject) =>
      https.get(`${url}&restype=container&comp=list`, (answer) => resolve({ status: answer.resume().statusCode })).on("error", reject));
    assert.equal(status, 200);
  });

  for (const [name, url] of Object.entries(urls)) {
    test(`the ${name} port tells plain HTTP to use https`, async () => {
      const answer = await request(url.replace("https:", "http:"), { method: "PUT", body: "x".repeat(100_000) });
      assert.equal(answer.status, 400);
      assert.match(answer.text, /AccountRequiresHttps/);
      assert.match(answer.text, /https:\/\//);
    });
  }

  test("a client that does not know the authority refuses", async () => {
    const error = await new Promise((resolve) =>
      https.get(urls.blob, { agent: false, ca: tls.rootCertificates }, (answer) => resolve(answer.resume() && undefined)).on("error", resolve));
    assert.match(error?.code ?? "", /SELF_SIGNED|UNABLE_TO_VERIFY/);
  });
});
