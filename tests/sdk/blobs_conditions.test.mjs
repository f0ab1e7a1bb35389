// Every conditional header over every operation that takes it: a table of operations, a table of conditions, a case for
// each pair. A case is one call of the SDK on a blob of its own.
import assert from "node:assert/strict";
import { describe, test } from "./support.mjs";
import { makeContainer, wire } from "./blobs_support.mjs";

const container = await makeContainer("conditions");
const yesterday = () => new Date(Date.now() - 86_400_000);
const tomorrow = () => new Date(Date.now() + 86_400_000);
const wrong = '"0x8D0000000000000"';
const tags = { color: "blue" };
const page = Buffer.alloc(512, "p");
const id = Buffer.from("block-01").toString("base64");

// Makes the blob that an operation works on.
const made = {
  block: async (name) => {
    const client = container.getBlockBlobClient(name);
    await client.stageBlock(id, "old", 3);
    return [client, await client.commitBlockList([id], { tags })];
  },
  append: async (name) => {
    const client = container.getAppendBlobClient(name);
    return [client, await client.create({ tags })];
  },
  page: async (name) => {
    const client = container.getPageBlobClient(name);
    return [client, await client.create(1024, { tags })];
  },
};

// kind: of the blob; reads: unmet conditions of "no change" are 304; creates: If-None-Match: * finds the blob there;
// copies: the conditions are those of the target.
const operations = {
  "Put Blob": { kind: "block", creates: true, run: (blob, conditions) => blob.upload("new", 3, { conditions }) },
  "Put Block List": { kind: "block", creates: true, run: (blob, conditions) => blob.commitBlockList([id], { conditions }) },
  "Put Blob From URL": {
    kind: "block",
    creates: true,
    copies: true,
    run: async (blob, conditions) => {
      const source = container.getBlockBlobClient("a-source");
      await source.upload("source", 6);
      return blob.syncUploadFromURL(source.url, { conditions });
    },
  },
  "Copy Blob": {
    kind: "block",
    creates: true,
    copies: true,
    run: async (blob, conditions) => {
      const source = container.getBlockBlobClient("another-source");
      await source.upload("source", 6);
      return (await blob.beginCopyFromURL(source.url, { conditions })).pollUntilDone();
    },
  },
  "Set Blob Metadata": { kind: "block", run: (blob, conditions) => blob.setMetadata({ a: "b" }, { conditions }) },
  "Set Blob Properties": { kind: "block", run: (blob, conditions) => blob.setHTTPHeaders({ blobContentType: "a/b" }, { conditions }) },
  "Snapshot Blob": { kind: "block", run: (blob, conditions) => blob.createSnapshot({ conditions }) },
  "Lease Blob": { kind: "block", run: (blob, conditions) => blob.getBlobLeaseClient().acquireLease(15, { conditions }) },
  "Delete Blob": { kind: "block", run: (blob, conditions) => blob.delete({ conditions }) },
  "Create Append Blob": { kind: "append", creates: true, run: (blob, conditions) => blob.create({ conditions }) },
  "Append Block": { kind: "append", run: (blob, conditions) => blob.appendBlock("x", 1, { conditions }) },
  "Seal Append Blob": { kind: "append", run: (blob, conditions) => blob.seal({ conditions }), tagless: true },
  "Create Page Blob": { kind: "page", creates: true, run: (blob, conditions) => blob.create(512, { conditions }) },
  "Put Page": { kind: "page", run: (blob, conditions) => blob.uploadPages(page, 0, 512, { conditions }) },
  "Clear Page": { kind: "page", run: (blob, conditions) => blob.clearPages(0, 512, { conditions }) },
  "Resize": { kind: "page", run: (blob, conditions) => blob.resize(2048, { conditions }) },
  "Set Sequence Number": { kind: "page", run: (blob, conditions) => blob.updateSequenceNumber("increment", undefined, { conditions }) },
  "Get Page Ranges": { kind: "page", reads: true, run: (blob, conditions) => blob.getPageRanges(0, 1024, { conditions }) },
  "Get Blob": { kind: "block", reads: true, run: (blob, conditions) => blob.download(0, undefined, { conditions }) },
  "Get Blob by range": { kind: "block", reads: true, run: (blob, conditions) => blob.download(0, 2, { conditions }) },
  "Get Blob Properties": { kind: "block", reads: true, run: (blob, conditions) => blob.getProperties({ conditions }) },
};

const ok = () => undefined;
const unmet = ({ copies }) => [412, copies ? "TargetConditionNotMet" : "ConditionNotMet"];
const unchanged = (operation) => (operation.reads ? [304, "ConditionNotMet"] : unmet(operation));
const conditions = {
  "If-Match of its version": { of: (etag) => ({ ifMatch: etag }), then: ok },
  "If-Match without quotes": { of: (etag) => ({ ifMatch: etag.slice(1, -1) }), then: ok },
  "If-Match of another version": { of: () => ({ ifMatch: wrong }), then: unmet },
  "If-Match of any version": { of: () => ({ ifMatch: "*" }), then: ok },
  "If-Match of an empty tag": { of: () => ({ ifMatch: '""' }), then: unmet },
  "If-None-Match of its version": { of: (etag) => ({ ifNoneMatch: etag }), then: unchanged },
  "If-None-Match of another version": { of: () => ({ ifNoneMatch: wrong }), then: ok },
  "If-None-Match of any version": {
    of: () => ({ ifNoneMatch: "*" }),
    then: ({ reads, creates }) => (reads ? [400, "UnsatisfiableCondition"] : creates ? [409, "BlobAlreadyExists"] : [412, "ConditionNotMet"]),
  },
  "If-Modified-Since yesterday": { of: () => ({ ifModifiedSince: yesterday() }), then: ok },
  "If-Modified-Since tomorrow": { of: () => ({ ifModifiedSince: tomorrow() }), then: unchanged },
  "If-Unmodified-Since yesterday": { of: () => ({ ifUnmodifiedSince: yesterday() }), then: unmet },
  "If-Unmodified-Since tomorrow": { of: () => ({ ifUnmodifiedSince: tomorrow() }), then: ok },
  // Reads need both conditions of the first pair and one of the second; for writes the versions count more than the
  // dates.
  "If-Match of its version, If-Unmodified-Since yesterday": {
    of: (etag) => ({ ifMatch: etag, ifUnmodifiedSince: yesterday() }),
    then: ({ reads }) => (reads ? [412, "ConditionNotMet"] : undefined),
  },
  "If-None-Match of its version, If-Modified-Since yesterday": {
    of: (etag) => ({ ifNoneMatch: etag, ifModifiedSince: yesterday() }),
    then: (operation) => (operation.reads ? undefined : unmet(operation)),
  },
  "If-None-Match of another version, If-Modified-Since tomorrow": {
    of: () => ({ ifNoneMatch: wrong, ifModifiedSince: tomorrow() }),
    then: ok,
  },
  "tags that it has": { of: () => ({ tagConditions: "color = 'blue'" }), then: ok, tags: true },
  "tags that it does not have": { of: () => ({ tagConditions: "color = 'red'" }), then: unmet, tags: true },
};

// Differences of Azurite, which checks a snapshot's conditions as those of a read.
const snapshotDiffers = ["If-Match of its version, If-Unmodified-Since yesterday", "If-Modified-Since tomorrow", "If-None-Match of its version",
  "If-None-Match of its version, If-Modified-Since yesterday", "If-None-Match of any version"];
const azuriteDiffers = (name, what) => {
  if (name === "Put Blob From URL") return "blob-from-url";
  if (conditions[what].then(operations[name])?.includes("TargetConditionNotMet")) return "blob-target-conditions";
  if (name === "Snapshot Blob") return snapshotDiffers.includes(what) ? "blob-snapshot-conditions" : undefined;
  const { reads, creates } = operations[name];
  return what === "If-None-Match of any version" && !reads && !creates ? "blob-any-version" : undefined;
};

let count = 0;
for (const [name, operation] of Object.entries(operations)) {
  describe(name, () => {
    for (const [what, condition] of Object.entries(conditions)) {
      if (condition.tags && operation.tagless) continue;  // the SDK has no way to send it
      test(what, { azurite: azuriteDiffers(name, what) }, async () => {
        const [blob, { etag }] = await made[operation.kind](`blob-${(count += 1)}`);
        const expected = condition.then(operation);
        if (!expected) return await operation.run(blob, condition.of(etag));
        await assert.rejects(Promise.resolve(operation.run(blob, condition.of(etag))), (error) => {
          assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], expected);
          return true;
        });
        assert.equal((await blob.getProperties()).etag, etag);  // nothing has changed
      });
    }
  });
}

describe("a blob that is not there", () => {
  const absent = () => container.getBlockBlobClient(`absent-${(count += 1)}`);
  const refused = (promise, status, code) =>
    assert.rejects(promise, (error) => {
      assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [status, code]);
      return true;
    });
  test("matches nothing when it is written", async () => {
    for (const ifMatch of ["*", wrong]) await refused(absent().upload("x", 1, { conditions: { ifMatch } }), 412, "ConditionNotMet");
  });
  test("is made if nothing may be there", async () => {
    await absent().upload("x", 1, { conditions: { ifNoneMatch: "*" } });
    await absent().upload("x", 1, { conditions: { ifNoneMatch: wrong } });
  });
  test("has no date", async () => {
    await absent().upload("x", 1, { conditions: { ifModifiedSince: tomorrow() } });
    await absent().upload("x", 1, { conditions: { ifUnmodifiedSince: yesterday() } });
  });
  test("is not found when it is read", { azurite: "blob-absent-conditions" }, async () => {
    for (const conditions of [{ ifMatch: wrong }, { ifModifiedSince: yesterday() }, { tagConditions: "color = 'blue'" }]) {
      await refused(absent().download(0, undefined, { conditions }), 404, "BlobNotFound");
    }
  });
});

describe("as they are written", () => {
  const etagOf = async (name) => (await container.getBlockBlobClient(name).upload("x", 1)).etag;
  const read = (name, headers) => wire("GET", `/conditions/${name}`, { headers });
  test("several versions, of which one is right", { azurite: "blob-condition-lists" }, async () => {
    const etag = await etagOf("several");
    assert.equal((await read("several", { "If-Match": `${wrong}, ${etag}` })).status, 200);
    assert.equal((await read("several", { "If-None-Match": `${wrong}, ${etag}` })).status, 304);
    assert.equal((await read("several", { "If-Match": `${wrong}, ""` })).status, 412);
  });
  test("an empty header is none", { azurite: "blob-condition-lists" }, async () => {
    await etagOf("empty");
    assert.equal((await read("empty", { "If-Match": "", "If-Modified-Since": "" })).status, 200);
  });
  test("a date that is none is ignored", { azurite: "blob-condition-lists" }, async () => {
    await etagOf("dates");
    assert.equal((await read("dates", { "If-Unmodified-Since": "once upon a time" })).status, 200);
  });
  test("dates compare at whole seconds", async () => {
    await etagOf("seconds");
    const modified = (await read("seconds")).headers["last-modified"];
    assert.equal((await read("seconds", { "If-Modified-Since": modified })).status, 304);
    assert.equal((await read("seconds", { "If-Unmodified-Since": modified })).status, 200);
  });
});
