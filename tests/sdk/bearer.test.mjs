// stores: table queue blob https bearer
// Bearer tokens of an issuer that runs here, their roles, and SAS signed with user delegation keys.
import assert from "node:assert/strict";
import { createSign, generateKeyPairSync, sign as signRaw } from "node:crypto";
import { readFileSync } from "node:fs";
import https from "node:https";
import path from "node:path";
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from "@azure/data-tables";
import {
  BlobServiceClient, ContainerClient, ContainerSASPermissions, SASProtocol, StorageSharedKeyCredential, generateBlobSASQueryParameters,
} from "@azure/storage-blob";
import { AnonymousCredential, QueueClient, QueueSASPermissions, QueueServiceClient, generateQueueSASQueryParameters } from "@azure/storage-queue";
import { account, after, all, before, describe, inOneHour, key, request, test } from "./support.mjs";

const urls = { table: process.env.TIDEMARK_TABLE_URL, queue: process.env.TIDEMARK_QUEUE_URL, blob: process.env.TIDEMARK_BLOB_URL };
const encode = (object) => Buffer.from(JSON.stringify(object)).toString("base64url");

/// Keys by id; the first one signs.
let keys = {};
const newKey = (kid, kind = "rsa") => ({
  ...generateKeyPairSync(kind, kind === "rsa" ? { modulusLength: 2048 } : { namedCurve: "P-256" }), kid, alg: kind === "rsa" ? "RS256" : "ES256" });
const published = () => JSON.stringify({ keys: Object.values(keys).map((each) => ({ ...each.publicKey.export({ format: "jwk" }), kid: each.kid, use: "sig" })) });

function tokenOf(roles, { signer = Object.values(keys)[0], ...claims } = {}) {
  const now = Math.floor(Date.now() / 1000);
  const text = `${encode({ alg: signer.alg, kid: signer.kid, typ: "JWT" })}.${encode({
    iss: process.env.TIDEMARK_ISSUER, aud: "https://storage.azure.com", iat: now, nbf: now, exp: now + 3600,
    oid: "11111111-2222-3333-4444-555555555555", tid: "66666666-7777-8888-9999-000000000000", roles, ...claims })}`;
  const signature = signer.alg === "RS256" ? createSign("RSA-SHA256").update(text).sign(signer.privateKey)
    : signRaw("sha256", Buffer.from(text), { key: signer.privateKey, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}
/// A credential as @azure/identity gives it to a client.
const bearing = (roles, options) => ({ getToken: async () => ({ token: tokenOf(roles, options), expiresOnTimestamp: Date.now() + 3_600_000 }) });
const blobsAs = (...roles) => new BlobServiceClient(urls.blob, bearing(roles));
const refused = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => {
    assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode ?? error.details?.odataError?.code], [statusCode, code], error.message);
    return true;
  });
const ask = (url, token, headers = {}) =>
  new Promise((resolve, reject) =>
    https.get(url, { headers: { ...(token ? { Authorization: `Bearer ${token}` } : {}), "x-ms-version": "2021-12-02", ...headers } }, (answer) => {
      answer.resume();
      resolve({ status: answer.statusCode, code: answer.headers["x-ms-error-code"], challenge: answer.headers["www-authenticate"] });
    }).on("error", reject));

let issuer;
let asked = 0;
const beforeTheIssuer = [];
before(async () => {
  keys = { first: newKey("first"), curve: newKey("curve", "ec") };
  issuer = https.createServer({ cert: readFileSync(process.env.TIDEMARK_CA_FILE), key: readFileSync(process.env.TIDEMARK_TLS_KEY_FILE) }, (_, answer) => {
    asked += 1;
    answer.end(published());
  });
  const anybody = tokenOf([]);
  for (let i = 0; i < 20; ++i) beforeTheIssuer.push(await ask(urls.blob, anybody));
  const { port } = new URL(process.env.TIDEMARK_ISSUER_KEYS);
  await new Promise((resolve) => issuer.listen(Number(port), "127.0.0.1", resolve));
  const until = Date.now() + 60_000;
  while ((await ask(urls.blob, anybody)).status === 503) assert.ok(Date.now() < until, "the issuer's keys were never read");
  const owner = new BlobServiceClient(urls.blob, new StorageSharedKeyCredential(account, key));
  await owner.getContainerClient("bearer").create();
  await owner.getContainerClient("bearer").getBlockBlobClient("b").upload("content", 7);
  await new TableServiceClient(urls.table, new AzureNamedKeyCredential(account, key)).createTable("Bearer");
});
after(() => issuer.close());

describe("Bearer tokens", () => {
  test("a reader of blobs reads and lists, and is refused what changes", async () => {
    const service = blobsAs("Storage Blob Data Reader");
    const container = service.getContainerClient("bearer");
    assert.equal((await container.getBlockBlobClient("b").downloadToBuffer()).toString(), "content");
    assert.ok((await all(container.listBlobsFlat())).length > 0);
    assert.ok((await all(service.listContainers())).some((item) => item.name === "bearer"));
    await refused(container.getBlockBlobClient("b").upload("x", 1), 403, "AuthorizationPermissionMismatch");
    await refused(container.delete(), 403, "AuthorizationPermissionMismatch");
  });

  test("a contributor writes blobs, and tags are the owner's", async () => {
    const blob = blobsAs("Storage Blob Data Contributor").getContainerClient("bearer").getBlockBlobClient("written");
    await blob.upload("x", 1);
    await refused(blob.getTags(), 403, "AuthorizationPermissionMismatch");
    const own = blobsAs("Storage Blob Data Owner").getContainerClient("bearer").getBlockBlobClient("written");
    await own.setTags({ a: "b" });
    assert.deepEqual((await own.getTags()).tags, { a: "b" });
    await blob.delete();
  });

  test("a batch carries the token", async () => {
    const service = blobsAs("Storage Blob Data Contributor");
    const container = service.getContainerClient("bearer");
    await container.getBlockBlobClient("batched").upload("x", 1);
    const answer = await service.getBlobBatchClient().deleteBlobs([container.getBlockBlobClient("batched").url], bearing(["Storage Blob Data Contributor"]));
    assert.equal(answer.subResponsesSucceededCount, 1);
  });

  test("queues: one sends, the other processes", async () => {
    const owner = new QueueServiceClient(urls.queue, bearing(["Storage Queue Data Contributor"]));
    await owner.getQueueClient("bearer").create();
    const sender = new QueueServiceClient(urls.queue, bearing(["Storage Queue Data Message Sender"])).getQueueClient("bearer");
    await sender.sendMessage("hello");
    await refused(sender.receiveMessages(), 403, "AuthorizationPermissionMismatch");
    const processor = new QueueServiceClient(urls.queue, bearing(["Storage Queue Data Message Processor"])).getQueueClient("bearer");
    await refused(processor.sendMessage("x"), 403, "AuthorizationPermissionMismatch");
    const { receivedMessageItems: [message] } = await processor.receiveMessages();
    await processor.deleteMessage(message.messageId, message.popReceipt);
  });

  test("tables: a contributor writes, a reader reads", async () => {
    const writer = new TableClient(urls.table, "Bearer", bearing(["Storage Table Data Contributor"]));
    await writer.upsertEntity({ partitionKey: "p", rowKey: "r", value: 1 });
    await writer.submitTransaction([["create", { partitionKey: "p", rowKey: "t", value: 2 }]]);
    const reader = new TableClient(urls.table, "Bearer", bearing(["Storage Table Data Reader"]));
    assert.equal((await reader.getEntity("p", "r")).value, 1);
    assert.equal((await all(reader.listEntities())).length, 2);
    await assert.rejects(reader.deleteEntity("p", "r"), { statusCode: 403 });
  });

  test("tokens that do not hold are challenged", async () => {
    const url = `${urls.blob}/bearer/b`;
    const roles = ["Storage Blob Data Reader"];
    const challenge = `Bearer authorization_uri=${process.env.TIDEMARK_ISSUER.replace("/v2.0", "")}/oauth2/authorize resource_id=https://storage.azure.com`;
    const now = Math.floor(Date.now() / 1000);
    const stranger = { ...newKey("first") };
    for (const token of ["x", tokenOf(roles, { exp: now - 3600 }), tokenOf(roles, { aud: "https://x" }), tokenOf(roles, { iss: "https://x" }),
      tokenOf(roles, { signer: stranger })]) {
      assert.deepEqual(await ask(url, token), { status: 401, code: "InvalidAuthenticationInfo", challenge });
    }
    assert.deepEqual(await ask(url), { status: 401, code: "NoAuthenticationInformation", challenge });
    assert.equal((await ask(url, tokenOf(roles, { signer: keys.curve }))).status, 200);
  });

  test("a client tries again until the issuer's keys are known", () => {
    for (const { status, code } of beforeTheIssuer) assert.deepEqual([status, code], [503, "ServerBusy"]);
  });

  test("what the account alone may do is not for tokens", async () => {
    const service = blobsAs("Storage Blob Data Owner");
    await refused(service.setProperties({ cors: [] }), 403, "AuthorizationPermissionMismatch");
    await refused(service.getContainerClient("bearer").setAccessPolicy(), 403, "AuthorizationPermissionMismatch");
    await refused(service.getContainerClient("bearer").getAccessPolicy(), 403, "AuthorizationPermissionMismatch");
  });
});

describe("User delegation", () => {
  const values = (permissions) => ({
    containerName: "bearer", permissions: ContainerSASPermissions.parse(permissions), startsOn: new Date(Date.now() - 60_000),
    expiresOn: inOneHour(), protocol: SASProtocol.Https });
  const delegated = async (role, permissions, more = {}) => {
    const secret = await blobsAs(role).getUserDelegationKey(new Date(Date.now() - 60_000), inOneHour());
    return new ContainerClient(`${urls.blob}/bearer?${generateBlobSASQueryParameters({ ...values(permissions), ...more }, secret, account)}`);
  };

  for (const version of [undefined, "2025-07-05", "2021-12-02", "2020-02-10", "2018-11-09"]) {
    test(`a signature of version ${version ?? "that is the SDK's own"} reads and writes`, async () => {
      const container = await delegated("Storage Blob Data Contributor", "rwl", { version });
      await container.getBlockBlobClient("delegated").upload("x", 1);
      assert.equal((await container.getBlockBlobClient("delegated").downloadToBuffer()).toString(), "x");
      assert.ok((await all(container.listBlobsFlat())).length > 0);
    });
  }

  test("it grants no more than its signer may do", async () => {
    const container = await delegated("Storage Blob Data Reader", "rwl");
    assert.equal((await container.getBlockBlobClient("b").downloadToBuffer()).toString(), "content");
    await refused(container.getBlockBlobClient("b").upload("x", 1), 403, "AuthorizationPermissionMismatch");
    const powerless = await delegated("Storage Blob Delegator", "r");
    await refused(powerless.getBlockBlobClient("b").downloadToBuffer(), 403, "AuthorizationPermissionMismatch");
  });

  test("queues have it too", async () => {
    const owner = new QueueServiceClient(urls.queue, bearing(["Storage Queue Data Contributor"]));
    await owner.getQueueClient("delegated").create();
    const sender = new QueueServiceClient(urls.queue, bearing(["Storage Queue Data Message Sender"]));
    const secret = await sender.getUserDelegationKey(new Date(Date.now() - 60_000), inOneHour());
    const sas = generateQueueSASQueryParameters(
      { queueName: "delegated", permissions: QueueSASPermissions.parse("ap"), expiresOn: inOneHour() }, secret, account);
    const queue = new QueueClient(`${urls.queue}/delegated?${sas}`, new AnonymousCredential());
    await queue.sendMessage("hello");
    await refused(queue.receiveMessages(), 403, "AuthorizationPermissionMismatch");
  });

  test("a key is for bearers, and for seven days at most", async () => {
    const now = new Date();
    const owner = new BlobServiceClient(urls.blob, new StorageSharedKeyCredential(account, key));
    await refused(owner.getUserDelegationKey(now, inOneHour()), 403, "AuthenticationFailed");
    const reader = blobsAs("Storage Blob Data Reader");
    const inDays = (days) => new Date(now.getTime() + days * 24 * 3_600_000);
    for (const [start, expiry] of [[now, inDays(8)], [inDays(6), inDays(8)], [inDays(365), inDays(366)]]) {
      await refused(reader.getUserDelegationKey(start, expiry), 400, "InvalidXmlNodeValue");
    }
    assert.ok((await reader.getUserDelegationKey(inDays(5), inDays(6))).value, "it may begin later");
    await refused(blobsAs("none").getUserDelegationKey(now, inOneHour()), 403, "AuthorizationPermissionMismatch");
  });
});

describe("Keys of the issuer", () => {
  test("rotate", async () => {
    const url = `${urls.blob}/bearer/b`;
    const old = tokenOf(["Storage Blob Data Reader"]);
    assert.equal((await ask(url, old)).status, 200);
    const before = asked;
    keys = { second: newKey("second") };
    process.kill(Number(readFileSync(path.join(process.env.TIDEMARK_DATA, "run", "blob_store.pid"), "utf8")), "SIGHUP");
    const fresh = tokenOf(["Storage Blob Data Reader"]);
    const until = Date.now() + 60_000;
    while ((await ask(url, fresh)).status !== 200) assert.ok(Date.now() < until, "the new key was never accepted");
    assert.ok(asked > before);
    assert.equal((await ask(url, old)).status, 401, "the old key is gone");
    const after = asked;
    for (let i = 0; i < 20; ++i) await ask(url, tokenOf([], { signer: newKey(`unknown-${i}`, "ec") }));
    assert.ok(asked <= after + 1, "unknown keys are asked for once a minute at most");
  });
});

test("a token over plain HTTP would be told to use HTTPS before anything else", async () => {
  const answer = await request(urls.blob.replace("https:", "http:"), { headers: { Authorization: "Bearer x" } });
  assert.match(answer.text, /AccountRequiresHttps/);
});
