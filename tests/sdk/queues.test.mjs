// stores: queue
// The life of queues and messages through the unmodified Azure SDK.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  QueueSASPermissions, QueueServiceClient, StorageSharedKeyCredential, generateQueueSASQueryParameters,
  generateAccountSASQueryParameters, AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, QueueClient,
  newPipeline, AnonymousCredential,
} from "@azure/storage-queue";

const url = process.env.TIDEMARK_QUEUE_URL;
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const credential = new StorageSharedKeyCredential("devstoreaccount1", key);
const service = new QueueServiceClient(url, credential, { retryOptions: { maxTries: 1 } });
let made = 0;
async function queue() {
  const client = service.getQueueClient(`q-${process.pid}-${++made}`);
  await client.create();
  return client;
}
const fails = (promise, status, code) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.statusCode, status, error.message);
    if (code) assert.equal(error.code ?? error.details?.errorCode, code);
    return true;
  });

test("create is 201, then 204, then 409 with other metadata", async () => {
  const client = service.getQueueClient(`create-${process.pid}`);
  assert.equal((await client.create())._response.status, 201);
  assert.equal((await client.create())._response.status, 204);
  await fails(client.create({ metadata: { a: "b" } }), 409, "QueueAlreadyExists");
  assert.equal((await client.createIfNotExists()).succeeded, false);
});
test("delete, deleteIfExists, exists", async () => {
  const client = await queue();
  assert.equal(await client.exists(), true);
  await client.delete();
  assert.equal(await client.exists(), false);
  await fails(client.delete(), 404, "QueueNotFound");
  assert.equal((await client.deleteIfExists()).succeeded, false);
});
test("bad names", async () => {
  await fails(service.getQueueClient("a--b").create(), 400, "InvalidResourceName");
  await fails(service.getQueueClient("ab").create(), 400, "OutOfRangeInput");
});
test("metadata and approximate count", async () => {
  const client = await queue();
  await client.setMetadata({ Owner: "me", k_1: "v & w" });
  await client.sendMessage("a");
  await client.sendMessage("b", { visibilityTimeout: 100 });
  const properties = await client.getProperties();
  assert.equal(properties.metadata.owner, "me");
  assert.equal(properties.metadata.k_1, "v & w");
  assert.equal(properties.approximateMessagesCount, 2);
});
test("listing with prefix, pages and metadata", async () => {
  const prefix = `list-${process.pid}-`;
  for (let i = 0; i < 7; i++) await service.createQueue(`${prefix}${i}`, { metadata: { n: `${i}` } });
  const names = [];
  for await (const page of service.listQueues({ prefix, includeMetadata: true }).byPage({ maxPageSize: 3 })) {
    for (const item of page.queueItems) {
      names.push(item.name);
      assert.equal(item.metadata.n, item.name.slice(prefix.length));
    }
  }
  assert.deepEqual(names, [...Array(7).keys()].map((i) => `${prefix}${i}`));
});
// This SDK takes line feeds out of a text before it sends it; the unit tests have them.
test("text comes back exactly", async () => {
  const client = await queue();
  for (const text of ["", " ", "  lead and trail  ", "<b>&\"' é 漢 😀</b>", "tab\there", "x".repeat(65536)]) {
    const sent = await client.sendMessage(text);
    const { receivedMessageItems: [got] } = await client.receiveMessages();
    assert.equal(got.messageId, sent.messageId);
    assert.equal(got.messageText, text);
    await client.deleteMessage(got.messageId, got.popReceipt);
  }
});
test("text over 64 KiB is refused", async () => {
  await fails((await queue()).sendMessage("x".repeat(65537)), 413, "RequestBodyTooLarge");
});
test("escaped text may be longer than 64 KiB", async () => {
  const client = await queue();
  await client.sendMessage("&".repeat(20000));
  assert.equal((await client.peekMessages()).peekedMessageItems[0].messageText, "&".repeat(20000));
});
test("plain puts keep their order", async () => {
  const client = await queue();
  for (let i = 0; i < 20; i++) await client.sendMessage(`${i}`);
  const { receivedMessageItems } = await client.receiveMessages({ numberOfMessages: 32 });
  assert.deepEqual(receivedMessageItems.map((m) => m.messageText), [...Array(20).keys()].map(String));
});
test("received messages are invisible and counted", async () => {
  const client = await queue();
  await client.sendMessage("m");
  const { receivedMessageItems: [first] } = await client.receiveMessages({ visibilityTimeout: 1 });
  assert.equal(first.dequeueCount, 1);
  assert.equal((await client.receiveMessages()).receivedMessageItems.length, 0);
  await client.updateMessage(first.messageId, first.popReceipt, undefined, 0);
  assert.equal((await client.receiveMessages()).receivedMessageItems[0].dequeueCount, 2);
});
test("peek changes nothing", async () => {
  const client = await queue();
  await client.sendMessage("m");
  for (let i = 0; i < 2; i++) {
    const { peekedMessageItems: [seen] } = await client.peekMessages({ numberOfMessages: 5 });
    assert.equal(seen.dequeueCount, 0);
    assert.equal(seen.messageText, "m");
  }
});
test("empty queue gives empty lists", async () => {
  const client = await queue();
  assert.deepEqual((await client.receiveMessages()).receivedMessageItems, []);
  assert.deepEqual((await client.peekMessages()).peekedMessageItems, []);
});
test("update replaces the text and the receipt", async () => {
  const client = await queue();
  const sent = await client.sendMessage("old");
  const updated = await client.updateMessage(sent.messageId, sent.popReceipt, "new", 0);
  assert.ok(updated.popReceipt && updated.nextVisibleOn instanceof Date);
  await fails(client.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
  const { receivedMessageItems: [got] } = await client.receiveMessages();
  assert.equal(got.messageText, "new");
  await fails(client.deleteMessage(sent.messageId, updated.popReceipt), 404, "MessageNotFound");
  await client.deleteMessage(got.messageId, got.popReceipt);
});
test("the put receipt deletes", async () => {
  const client = await queue();
  const sent = await client.sendMessage("m");
  await client.deleteMessage(sent.messageId, sent.popReceipt);
  await fails(client.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
});
test("a receipt of another message or garbage", async () => {
  const client = await queue();
  const a = await client.sendMessage("a");
  const b = await client.sendMessage("b");
  await fails(client.deleteMessage(a.messageId, b.popReceipt), 400, "PopReceiptMismatch");
  await fails(client.deleteMessage(a.messageId, "garbage"), 400, "PopReceiptMismatch");
});
test("clear kills receipts", async () => {
  const client = await queue();
  const sent = await client.sendMessage("m");
  await client.sendMessage("n", { visibilityTimeout: 50 });
  await client.clearMessages();
  assert.equal((await client.getProperties()).approximateMessagesCount, 0);
  await fails(client.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
});
test("time to live", async () => {
  const client = await queue();
  const never = await client.sendMessage("m", { messageTimeToLive: -1 });
  assert.equal(never.expiresOn.getUTCFullYear(), 9999);
  const usual = await client.sendMessage("m");
  assert.equal((usual.expiresOn - usual.insertedOn) / 1000, 604800);
  await fails(client.sendMessage("m", { messageTimeToLive: 0 }), 400, "InvalidQueryParameterValue");
  await fails(client.sendMessage("m", { messageTimeToLive: 5, visibilityTimeout: 5 }), 400, "InvalidQueryParameterValue");
});
test("parameters out of range", async () => {
  const client = await queue();
  await fails(client.receiveMessages({ numberOfMessages: 33 }), 400, "OutOfRangeQueryParameterValue");
  await fails(client.receiveMessages({ visibilityTimeout: 604801 }), 400, "OutOfRangeQueryParameterValue");
  await fails(client.receiveMessages({ visibilityTimeout: 0 }), 400, "OutOfRangeQueryParameterValue");
  await fails(client.peekMessages({ numberOfMessages: 0 }), 400, "OutOfRangeQueryParameterValue");
  await fails(client.sendMessage("m", { visibilityTimeout: -1 }), 400, "OutOfRangeQueryParameterValue");
});
test("operations on a missing queue", async () => {
  const client = service.getQueueClient("not-there");
  await fails(client.sendMessage("m"), 404, "QueueNotFound");
  await fails(client.receiveMessages(), 404, "QueueNotFound");
  await fails(client.peekMessages(), 404, "QueueNotFound");
  await fails(client.clearMessages(), 404, "QueueNotFound");
  await fails(client.getProperties(), 404, "QueueNotFound");
});
test("access policies round trip", async () => {
  const client = await queue();
  assert.deepEqual((await client.getAccessPolicy()).signedIdentifiers, []);
  const rules = { startsOn: new Date("2024-01-01T00:00:00Z"), expiresOn: new Date("2034-01-01T00:00:00Z"), permissions: "raup" };
  await client.setAccessPolicy([{ id: "p1", accessPolicy: rules }]);
  const { signedIdentifiers: [got] } = await client.getAccessPolicy();
  assert.equal(got.id, "p1");
  assert.deepEqual({ ...got.accessPolicy }, rules);
  await client.setAccessPolicy([]);
  assert.deepEqual((await client.getAccessPolicy()).signedIdentifiers, []);
});
test("a queue SAS gives what it says and no more", async () => {
  const client = await queue();
  const sas = generateQueueSASQueryParameters(
    { queueName: client.name, permissions: QueueSASPermissions.parse("a"), expiresOn: new Date(Date.now() + 3600e3) }, credential);
  const guest = new QueueClient(`${client.url}?${sas}`, newPipeline(new AnonymousCredential(), { retryOptions: { maxTries: 1 } }));
  await guest.sendMessage("from a guest");
  await fails(guest.receiveMessages(), 403, "AuthorizationPermissionMismatch");
  assert.equal((await client.peekMessages()).peekedMessageItems[0].messageText, "from a guest");
});
test("a queue SAS by stored policy dies with the policy", async () => {
  const client = await queue();
  await client.setAccessPolicy([{ id: "p", accessPolicy: { expiresOn: new Date(Date.now() + 3600e3), permissions: "r" } }]);
  const sas = generateQueueSASQueryParameters({ queueName: client.name, identifier: "p" }, credential);
  const guest = new QueueClient(`${client.url}?${sas}`, newPipeline(new AnonymousCredential(), { retryOptions: { maxTries: 1 } }));
  await guest.peekMessages();
  await client.setAccessPolicy([]);
  await fails(guest.peekMessages(), 403, "AuthenticationFailed");
});
test("an account SAS lists queues", async () => {
  const sas = generateAccountSASQueryParameters(
    { permissions: AccountSASPermissions.parse("l"), services: AccountSASServices.parse("q").toString(),
      resourceTypes: AccountSASResourceTypes.parse("s").toString(), expiresOn: new Date(Date.now() + 3600e3) }, credential);
  const guest = new QueueServiceClient(`${url}?${sas}`, undefined, { retryOptions: { maxTries: 1 } });
  for await (const item of guest.listQueues()) assert.ok(item.name);
  await fails(guest.createQueue("not-allowed"), 403);
});
test("a wrong key is refused", async () => {
  const stranger = new QueueServiceClient(url, new StorageSharedKeyCredential("devstoreaccount1", "AAAA"), { retryOptions: { maxTries: 1 } });
  await fails(stranger.createQueue("never"), 403, "AuthenticationFailed");
});
test("service properties", async () => {
  const before = await service.getProperties();
  assert.equal(before.queueAnalyticsLogging.read, false);
  await service.setProperties({ ...before, cors: [{ allowedOrigins: "https://a.example", allowedMethods: "GET", allowedHeaders: "*", exposedHeaders: "*", maxAgeInSeconds: 60 }] });
  assert.equal((await service.getProperties()).cors[0].allowedOrigins, "https://a.example");
});
test("concurrent receivers never share a message", async () => {
  const client = await queue();
  for (let i = 0; i < 40; i++) await client.sendMessage(`${i}`);
  const got = await Promise.all([...Array(20)].map(() => client.receiveMessages({ numberOfMessages: 3 })));
  const ids = got.flatMap((g) => g.receivedMessageItems.map((m) => m.messageId));
  assert.equal(ids.length, 40);
  assert.equal(new Set(ids).size, 40);
});
