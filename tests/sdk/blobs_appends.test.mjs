// Append blobs through the unmodified SDK.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { BlobServiceClient, StorageSharedKeyCredential, newPipeline } from "@azure/storage-blob";
import { account, before, key, test } from "./support.mjs";

const credential = new StorageSharedKeyCredential(account, key);
const service = new BlobServiceClient(process.env.TIDEMARK_BLOB_URL, newPipeline(credential, { retryOptions: { maxTries: 1 } }));
const container = service.getContainerClient("appends");
const text = async (blob) => (await blob.downloadToBuffer()).toString();
const refused = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => {
    assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [statusCode, code]);
    return true;
  });
async function fresh(name, options) {
  const blob = container.getAppendBlobClient(name);
  await blob.create(options);
  return blob;
}

before(() => container.create());

test("appended blocks tell where they are", async () => {
  const blob = await fresh("log", { blobHTTPHeaders: { blobContentType: "text/plain" }, metadata: { kind: "log" } });
  const first = await blob.appendBlock("hello ", 6);
  assert.deepEqual([first.blobAppendOffset, first.blobCommittedBlockCount], ["0", 1]);
  const second = await blob.appendBlock("world", 5);
  assert.deepEqual([second.blobAppendOffset, second.blobCommittedBlockCount], ["6", 2]);
  assert.notEqual(second.etag, first.etag);
  assert.equal(await text(blob), "hello world");
  const got = await blob.getProperties();
  assert.deepEqual([got.blobType, got.contentLength, got.blobCommittedBlockCount, got.contentType, got.metadata.kind], ["AppendBlob", 11, 2, "text/plain", "log"]);
});

test("create again empties it, and only if it may", async () => {
  const blob = await fresh("again");
  await blob.appendBlock("x", 1);
  assert.equal((await blob.createIfNotExists()).succeeded, false);
  await blob.create();
  assert.equal(await text(blob), "");
});

test("position and size are conditions", async () => {
  const blob = await fresh("conditions");
  await blob.appendBlock("12345", 5, { conditions: { appendPosition: 0, maxSize: 5 } });
  await refused(blob.appendBlock("x", 1, { conditions: { appendPosition: 0 } }), 412, "AppendPositionConditionNotMet");
  await refused(blob.appendBlock("x", 1, { conditions: { maxSize: 5 } }), 412, "MaxBlobSizeConditionNotMet");
  await refused(blob.appendBlock("x", 1, { conditions: { ifMatch: '"0x1"' } }), 412, "ConditionNotMet");
  assert.equal(await text(blob), "12345");
});

test("the MD5 of a block is checked", async () => {
  const blob = await fresh("md5");
  const right = createHash("md5").update("data").digest();
  await refused(blob.appendBlock("date", 4, { transactionalContentMD5: right }), 400, "Md5Mismatch");
  await blob.appendBlock("data", 4, { transactionalContentMD5: right });
  assert.equal(await text(blob), "data");
});

test("a sealed blob does not grow", async () => {
  const blob = await fresh("sealed");
  await blob.appendBlock("x", 1);
  assert.equal((await blob.seal()).isSealed, true);
  await refused(blob.appendBlock("y", 1), 409, "BlobIsSealed");
  assert.equal((await blob.getProperties()).isSealed, true);
  await blob.setMetadata({ still: "possible" });
  await blob.delete();
});

test("concurrent appends all land", async () => {
  const blob = await fresh("concurrent");
  const parts = Array.from({ length: 40 }, (_, i) => String(1000 + i));
  await Promise.all(parts.map((part) => blob.appendBlock(part, 4)));
  assert.deepEqual((await text(blob)).match(/.{4}/g).sort(), parts);
});

test("blocks of any size", async () => {
  const blob = await fresh("sizes");
  const large = Buffer.alloc(5 << 20, "large");
  await blob.appendBlock("small", 5);
  await blob.appendBlock(large, large.length);
  const got = await blob.downloadToBuffer();
  assert.ok(got.equals(Buffer.concat([Buffer.from("small"), large])));
});

test("what is wrong is refused", async () => {
  const blob = await fresh("refused");
  await refused(blob.appendBlock("", 0), 400, "InvalidHeaderValue");
  await refused(container.getAppendBlobClient("missing").appendBlock("x", 1), 404, "BlobNotFound");
  await refused(container.getBlockBlobClient("refused").stageBlock("MQ==", "x", 1), 409, "InvalidBlobType");
  await refused(container.getBlockBlobClient("refused").getBlockList("all"), 409, "InvalidBlobType");
  await container.getBlockBlobClient("block").upload("x", 1);
  await refused(container.getAppendBlobClient("block").appendBlock("x", 1), 409, "InvalidBlobType");
});
