// Snapshots, deletion with snapshots, and deleted blobs that are retained.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { BlobSASPermissions, generateBlobSASQueryParameters } from "@azure/storage-blob";
import { inOneHour, request, test } from "./support.mjs";
import { credential, isRefused, listed, makeContainer, put, refused, service, textOf, url, wire } from "./blobs_support.mjs";

const container = await makeContainer("snapshots");
const blob = (name) => container.getBlockBlobClient(name);
const names = async (options) => (await listed(container, options)).map((item) => [item.name, Boolean(item.snapshot), Boolean(item.deleted)]);

test("snapshot: stays as it was", async () => {
  await put(container, "kept", "one", { metadata: { a: "1" }, blobHTTPHeaders: { blobContentType: "text/x" } });
  const first = await blob("kept").createSnapshot();
  assert.match(first.snapshot, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
  const second = await blob("kept").createSnapshot({ metadata: { b: "2" } });
  assert.notEqual(first.snapshot, second.snapshot);
  await put(container, "kept", "two");
  const old = blob("kept").withSnapshot(first.snapshot);
  assert.equal(await textOf(old), "one");
  assert.equal(await textOf(blob("kept")), "two");
  const told = await old.getProperties();
  assert.deepEqual([told.contentType, told.metadata, told.leaseState], ["text/x", { a: "1" }, undefined]);
  assert.deepEqual((await blob("kept").withSnapshot(second.snapshot).getProperties()).metadata, { b: "2" });
  assert.equal(first.etag, told.etag);
});

test("snapshot: tells which it is", { azurite: "blob-snapshot-header" }, async () => {
  await put(container, "named", "one");
  const { snapshot } = await blob("named").createSnapshot();
  for (const method of ["HEAD", "GET"]) {
    assert.equal((await wire(method, `/snapshots/named?snapshot=${snapshot}`)).headers["x-ms-snapshot"], snapshot);
    assert.equal((await wire(method, "/snapshots/named")).headers["x-ms-snapshot"], undefined);
  }
});

test("snapshot: a signature for one covers no other, and not the blob", { azurite: "blob-auth-errors" }, async () => {
  await put(container, "signed", "one");
  const first = (await blob("signed").createSnapshot()).snapshot;
  await put(container, "signed", "two");
  const second = (await blob("signed").createSnapshot()).snapshot;
  const sas = generateBlobSASQueryParameters(
    { containerName: "snapshots", blobName: "signed", snapshotTime: first, permissions: BlobSASPermissions.parse("r"), expiresOn: inOneHour() }, credential);
  const get = (snapshot) => request(`${url}/snapshots/signed?${snapshot}${sas}`);
  assert.equal((await get(`snapshot=${first}&`)).text, "one");
  isRefused(await get(`snapshot=${second}&`), 403, "AuthenticationFailed");
  isRefused(await get(""), 403, "AuthenticationFailed");
});

test("snapshot: of a large blob shares its content", async () => {
  const content = randomBytes(3_000_000);
  await blob("large").uploadData(content);
  const { snapshot } = await blob("large").createSnapshot();
  await blob("large").delete({ deleteSnapshots: undefined }).catch(() => {});
  await put(container, "large", "small");
  assert.deepEqual(await blob("large").withSnapshot(snapshot).downloadToBuffer(), content);
  assert.deepEqual(await blob("large").withSnapshot(snapshot).downloadToBuffer(1_000_000, 500_000), content.subarray(1_000_000, 1_500_000));
});

test("snapshot: of blocks that are committed again", async () => {
  const id = (n) => Buffer.from(`block-${n}`).toString("base64");
  const client = blob("blocks");
  for (const n of [1, 2]) await client.stageBlock(id(n), `part ${n} `, 7);
  await client.commitBlockList([id(1), id(2)]);
  const { snapshot } = await client.createSnapshot();
  await client.stageBlock(id(3), "part 3 ", 7);
  await client.commitBlockList([id(2), id(3), id(2)]);
  assert.equal(await textOf(client), "part 2 part 3 part 2 ");
  assert.equal(await textOf(client.withSnapshot(snapshot)), "part 1 part 2 ");
  await client.delete({ deleteSnapshots: "only" });
  assert.equal(await textOf(client), "part 2 part 3 part 2 ");
  const { committedBlocks } = await client.getBlockList("committed");
  assert.deepEqual(committedBlocks.map((block) => block.name), [id(2), id(3), id(2)]);
});

test("snapshot: a blob with snapshots is deleted with them or not at all", async () => {
  await put(container, "many", "x");
  const { snapshot } = await blob("many").createSnapshot();
  await blob("many").createSnapshot();
  await refused(blob("many").delete(), 409, "SnapshotsPresent");
  await blob("many").withSnapshot(snapshot).delete();
  await refused(blob("many").withSnapshot(snapshot).download(), 404, "BlobNotFound");
  await blob("many").delete({ deleteSnapshots: "include" });
  assert.deepEqual(await names({ prefix: "many", includeSnapshots: true }), []);
});

test("snapshot: nothing writes to one", async () => {
  await put(container, "fixed", "x");
  const { snapshot } = await blob("fixed").createSnapshot();
  await refused(blob("fixed").withSnapshot(snapshot).setMetadata({ a: "b" }), 400, "InvalidQueryParameterValue");
  await refused(blob("fixed").withSnapshot("nonsense").download(), 400, "InvalidQueryParameterValue");
  await refused(blob("fixed").withSnapshot("2020-01-01T00:00:00.0000000Z").download(), 404, "BlobNotFound");
});

test("snapshot: lists have them before their blob, in pages too", async () => {
  for (const name of ["list/a", "list/b"]) {
    await put(container, name, "x");
    for (let n = 0; n < 3; ++n) await blob(name).createSnapshot();
  }
  const expected = ["list/a", "list/b"].flatMap((name) => [[name, true, false], [name, true, false], [name, true, false], [name, false, false]]);
  assert.deepEqual(await names({ prefix: "list/", includeSnapshots: true }), expected);
  const paged = [];
  for await (const page of container.listBlobsFlat({ prefix: "list/", includeSnapshots: true }).byPage({ maxPageSize: 3 })) {
    assert.equal(page.segment.blobItems.length <= 3, true);
    paged.push(...page.segment.blobItems.map((item) => [item.name, Boolean(item.snapshot), false]));
  }
  assert.deepEqual(paged, expected);
  assert.deepEqual(await names({ prefix: "list/" }), [["list/a", false, false], ["list/b", false, false]]);
});

test("list: blobs that are not committed yet", async () => {
  await blob("staged/one").stageBlock("MDAwMQ==", "x", 1);
  assert.deepEqual(await names({ prefix: "staged/" }), []);
  assert.deepEqual(await names({ prefix: "staged/", includeUncommitedBlobs: true }), [["staged/one", false, false]]);
});

test("soft delete: what is deleted or replaced comes back", { timeout: 60000 }, async () => {
  await service.setProperties({ deleteRetentionPolicy: { enabled: true, days: 3 } });
  try {
    await put(container, "soft", "one");
    await blob("soft").createSnapshot();
    await put(container, "soft", "two");
    const answer = await blob("soft").delete({ deleteSnapshots: "include" });
    assert.equal(answer._response.headers.get("x-ms-delete-type-permanent"), "false");
    await refused(blob("soft").download(), 404, "BlobNotFound");
    assert.deepEqual(await names({ prefix: "soft" }), []);
    const deleted = await listed(container, { prefix: "soft", includeDeleted: true });
    assert.deepEqual(deleted.map((item) => item.deleted), [true, true, true]);
    assert.equal(deleted[0].properties.remainingRetentionDays, 2);
    await blob("soft").undelete();
    assert.equal(await textOf(blob("soft")), "two");
    assert.deepEqual(await names({ prefix: "soft", includeSnapshots: true }), [["soft", true, false], ["soft", true, false], ["soft", false, false]]);
    await blob("soft").undelete();
  } finally {
    await service.setProperties({ deleteRetentionPolicy: { enabled: false } });
  }
  await refused(blob("never").undelete(), 404, "BlobNotFound");
});
