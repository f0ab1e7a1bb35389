// Page blobs through the unmodified SDK.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { BlobServiceClient, StorageSharedKeyCredential, newPipeline } from "@azure/storage-blob";
import { account, all as collect, before, key, test } from "./support.mjs";

const credential = new StorageSharedKeyCredential(account, key);
const service = new BlobServiceClient(process.env.TIDEMARK_BLOB_URL, newPipeline(credential, { retryOptions: { maxTries: 1 } }));
const container = service.getContainerClient("pages");
const page = (letter, count = 1) => Buffer.alloc(512 * count, letter);
const refused = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => {
    assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [statusCode, code]);
    return true;
  });
async function fresh(name, size = 4096, options = {}) {
  const blob = container.getPageBlobClient(name);
  await blob.create(size, options);
  return blob;
}
const ranges = (list) => (list ?? []).map(({ offset, count }) => [offset, count]);

before(() => container.create());

test("a new page blob is zeros", async () => {
  const blob = await fresh("new", 1 << 20, { blobSequenceNumber: 7, metadata: { kind: "disk" } });
  const got = await blob.getProperties();
  assert.deepEqual([got.blobType, got.contentLength, got.blobSequenceNumber, got.metadata.kind], ["PageBlob", 1 << 20, 7, "disk"]);
  assert.ok((await blob.downloadToBuffer()).equals(Buffer.alloc(1 << 20)));
  assert.deepEqual(ranges((await blob.getPageRanges()).pageRange), []);
  assert.equal((await blob.createIfNotExists(512)).succeeded, false);
});

test("pages are written, cleared and listed", async () => {
  const blob = await fresh("pages");
  const written = await blob.uploadPages(page("a", 2), 512, 1024);
  assert.equal(written.blobSequenceNumber, 0);
  await blob.uploadPages(page("b"), 3072, 512);
  assert.deepEqual(ranges((await blob.getPageRanges()).pageRange), [[512, 1023], [3072, 511]]);
  await blob.clearPages(1024, 512);
  const expected = Buffer.concat([page(0), page("a"), page(0, 4), page("b"), page(0)]);
  assert.ok((await blob.downloadToBuffer()).equals(expected));
  assert.deepEqual(ranges((await blob.getPageRanges(0, 1024)).pageRange), [[512, 511]]);
});

test("page ranges come in pages", { azurite: "blob-page-ranges" }, async () => {
  const blob = await fresh("listed", 16384);
  for (let at = 0; at < 16384; at += 2048) await blob.uploadPages(page("x"), at, 512);
  const lists = await collect(blob.listPageRanges().byPage({ maxPageSize: 3 }));
  assert.deepEqual(lists.map((list) => list.pageRange.length), [3, 3, 2]);
  const starts = (await collect(blob.listPageRanges())).map((range) => range.start);
  assert.deepEqual(starts, [0, 2048, 4096, 6144, 8192, 10240, 12288, 14336]);
});

test("what changed since a snapshot", { azurite: "blob-page-differences" }, async () => {
  const blob = await fresh("changed");
  await blob.uploadPages(page("a", 4), 0, 2048);
  const { snapshot } = await blob.createSnapshot();
  await blob.uploadPages(page("b"), 512, 512);
  await blob.clearPages(1024, 512);
  await blob.uploadPages(page("c"), 3584, 512);
  const difference = await blob.getPageRangesDiff(0, 4096, snapshot);
  assert.deepEqual(ranges(difference.pageRange), [[512, 511], [3584, 511]]);
  assert.deepEqual(ranges(difference.clearRange), [[1024, 511]]);
  const old = blob.withSnapshot(snapshot);
  assert.deepEqual(ranges((await old.getPageRanges()).pageRange), [[0, 2047]]);
  assert.ok((await old.downloadToBuffer()).equals(Buffer.concat([page("a", 4), page(0, 4)])));
});

test("large writes, and small ones over them", async () => {
  const blob = await fresh("large", 8 << 20);
  const expected = Buffer.alloc(8 << 20);
  const large = Buffer.alloc(4 << 20, "large");
  await blob.uploadPages(large, 1 << 20, large.length);
  large.copy(expected, 1 << 20);
  for (let i = 0; i < 100; i++) {
    const at = (2 << 20) + 512 * ((i * 37) % 512);
    await blob.uploadPages(page("s"), at, 512);
    page("s").copy(expected, at);
  }
  assert.ok((await blob.downloadToBuffer()).equals(expected));
});

test("a write has at most 4 MiB", { azurite: "blob-page-limit" }, async () => {
  const blob = await fresh("limit", 8 << 20);
  await refused(blob.uploadPages(Buffer.alloc((4 << 20) + 512), 0, (4 << 20) + 512), 413, "RequestBodyTooLarge");
});

test("the MD5 of pages is checked", async () => {
  const blob = await fresh("md5");
  const right = createHash("md5").update(page("a")).digest();
  await refused(blob.uploadPages(page("b"), 0, 512, { transactionalContentMD5: right }), 400, "Md5Mismatch");
  await blob.uploadPages(page("a"), 0, 512, { transactionalContentMD5: right });
});

test("sequence numbers", async () => {
  const blob = await fresh("sequence");
  assert.equal((await blob.updateSequenceNumber("update", 5)).blobSequenceNumber, 5);
  assert.equal((await blob.updateSequenceNumber("max", 3)).blobSequenceNumber, 5);
  assert.equal((await blob.updateSequenceNumber("increment")).blobSequenceNumber, 6);
  for (const conditions of [{ ifSequenceNumberLessThan: 6 }, { ifSequenceNumberLessThanOrEqualTo: 5 }, { ifSequenceNumberEqualTo: 5 }]) {
    await refused(blob.uploadPages(page("a"), 0, 512, { conditions }), 412, "SequenceNumberConditionNotMet");
    await refused(blob.clearPages(0, 512, { conditions }), 412, "SequenceNumberConditionNotMet");
  }
  await blob.uploadPages(page("a"), 0, 512, { conditions: { ifSequenceNumberEqualTo: 6 } });
});

test("resize keeps what remains, and the headers", async () => {
  const blob = await fresh("resized", 4096, { blobHTTPHeaders: { blobContentType: "disk/image" } });
  await blob.uploadPages(page("a", 8), 0, 4096);
  await blob.resize(1024);
  await blob.resize(2048);
  assert.ok((await blob.downloadToBuffer()).equals(Buffer.concat([page("a", 2), page(0, 2)])));
  const got = await blob.getProperties();
  assert.deepEqual([got.contentLength, got.contentType], [2048, "disk/image"]);
});

test("conditions on pages", async () => {
  const blob = container.getPageBlobClient("conditions");
  const { etag } = await blob.create(512, { conditions: { ifNoneMatch: "*" } });
  await refused(blob.create(512, { conditions: { ifNoneMatch: "*" } }), 409, "BlobAlreadyExists");
  const written = await blob.uploadPages(page("a"), 0, 512, { conditions: { ifMatch: etag } });
  assert.notEqual(written.etag, etag);
  await refused(blob.uploadPages(page("a"), 0, 512, { conditions: { ifMatch: etag } }), 412, "ConditionNotMet");
});

test("ranges that are not pages of the blob are refused", { azurite: "blob-page-range-errors" }, async () => {
  const blob = await fresh("ranges");
  await refused(blob.uploadPages(page("a"), 100, 512), 416, "InvalidPageRange");
  await refused(blob.uploadPages(Buffer.alloc(100), 0, 100), 416, "InvalidPageRange");
  await refused(blob.uploadPages(page("a"), 4096, 512), 416, "InvalidPageRange");
  await refused(blob.clearPages(3584, 1024), 416, "InvalidPageRange");
});

test("sizes that a page blob cannot have are refused", { azurite: "blob-page-sizes" }, async () => {
  const blob = await fresh("sizes");
  await refused(container.getPageBlobClient("odd").create(1000), 400, "InvalidHeaderValue");
  await refused(container.getPageBlobClient("huge").create(8 * 2 ** 40 + 512), 400, "InvalidHeaderValue");
  await refused(blob.resize(1000), 400, "InvalidHeaderValue");
});

test("pages of what is no page blob are refused", { azurite: "blob-page-types" }, async () => {
  await container.getBlockBlobClient("block").upload("x", 1);
  const block = container.getPageBlobClient("block");
  await refused(block.uploadPages(page("a"), 0, 512), 409, "InvalidBlobType");
  await refused(block.getPageRanges(), 409, "InvalidBlobType");
  await refused(block.resize(512), 409, "InvalidBlobType");
});

test("appending to a page blob is refused", async () => {
  await fresh("other");
  await refused(container.getAppendBlobClient("other").appendBlock("x", 1), 409, "InvalidBlobType");
  await refused(container.getPageBlobClient("missing").uploadPages(page("a"), 0, 512), 404, "BlobNotFound");
});

test("a tier of page blobs is recorded", { azurite: "blob-page-tiers" }, async () => {
  const blob = await fresh("tiered", 512, { tier: "P20" });
  assert.equal((await blob.getProperties()).accessTier, "P20");
  await blob.setAccessTier("p30");
  const { accessTier, accessTierInferred } = await blob.getProperties();
  assert.deepEqual([accessTier, accessTierInferred], ["P30", undefined]);
  const [listed] = await collect(container.listBlobsFlat({ prefix: "tiered" }));
  assert.equal(listed.properties.accessTier, "P30");
  await refused(fresh("tiered", 512, { tier: "Cool" }), 400, "InvalidHeaderValue");
});
