// Copies within the store.
import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { BlobSASPermissions, BlobServiceClient, StorageSharedKeyCredential, generateBlobSASQueryParameters, newPipeline } from "@azure/storage-blob";
import { account, inOneHour, neighbour, test } from "./support.mjs";
import { accountSas, credential, isRefused, makeContainer, put, refused, service, textOf, url, wire } from "./blobs_support.mjs";

const container = await makeContainer("copies");
const blob = (name) => container.getBlockBlobClient(name);
const readSas = (name, more = {}) =>
  generateBlobSASQueryParameters({ containerName: "copies", blobName: name, permissions: BlobSASPermissions.parse("r"), expiresOn: inOneHour(), ...more }, credential);

test("copy: content, headers and metadata", async () => {
  await put(container, "a", "content", { metadata: { k: "v" }, blobHTTPHeaders: { blobContentType: "text/x" } });
  const poller = await blob("b").beginCopyFromURL(blob("a").url);
  const done = await poller.pollUntilDone();
  assert.equal(done.copyStatus, "success");
  const told = await blob("b").getProperties();
  assert.deepEqual([told.contentType, told.metadata, told.copyStatus, told.copyProgress, told.copySource],
    ["text/x", { k: "v" }, "success", "7/7", blob("a").url]);
  assert.equal(await textOf(blob("b")), "content");
  await (await blob("b").beginCopyFromURL(blob("a").url, { metadata: { other: "1" } })).pollUntilDone();
  assert.deepEqual((await blob("b").getProperties()).metadata, { other: "1" });
  await put(container, "b", "written");
  assert.equal((await blob("b").getProperties()).copyStatus, undefined);
});

test("copy: a large blob, whose source may go", async () => {
  const content = randomBytes(2_500_000);
  await blob("large").uploadData(content);
  await (await blob("large-copy").beginCopyFromURL(blob("large").url)).pollUntilDone();
  await blob("large").delete();
  assert.deepEqual(await blob("large-copy").downloadToBuffer(), content);
});

test("copy: onto itself, with new metadata", async () => {
  const content = randomBytes(700_000);
  await blob("self").uploadData(content, { metadata: { a: "1" } });
  for (const n of ["2", "3"]) {
    await (await blob("self").beginCopyFromURL(blob("self").url, { metadata: { a: n } })).pollUntilDone();
    assert.deepEqual((await blob("self").getProperties()).metadata, { a: n });
    assert.deepEqual(await blob("self").downloadToBuffer(), content);
  }
});

test("copy: the signature of the source is nobody else's", { azurite: "blob-copy-source" }, async () => {
  await put(container, "signed", "x");
  const sas = readSas("signed").toString();
  const signature = new URLSearchParams(sas).get("sig");
  const copy = await blob("signed-copy").syncCopyFromURL(`${blob("signed").url}?${sas.replace("sig=", "Si%47=")}`);
  assert.equal(copy.copyStatus, "success");
  const told = [(await blob("signed-copy").getProperties()).copySource, (await blob("signed-copy").download()).copySource];
  for await (const item of container.listBlobsFlat({ prefix: "signed-copy", includeCopy: true })) told.push(item.properties.copySource);
  assert.equal(told.length, 3);
  for (const source of told) {
    assert.ok(source.startsWith(`${blob("signed").url}?`), source);
    assert.ok(!decodeURIComponent(source).includes(signature), source);
    assert.equal(new URL(source).searchParams.get("sig"), "XXXXX");
  }
});

test("copy: of a snapshot brings it back", async () => {
  await put(container, "promoted", "old");
  const { snapshot } = await blob("promoted").createSnapshot();
  await put(container, "promoted", "new");
  await (await blob("promoted").beginCopyFromURL(blob("promoted").withSnapshot(snapshot).url)).pollUntilDone();
  assert.equal(await textOf(blob("promoted")), "old");
  assert.equal(await textOf(blob("promoted").withSnapshot(snapshot)), "old");
});

test("copy: conditions of source and destination", { azurite: "blob-source-conditions" }, async () => {
  await put(container, "source", "x");
  await put(container, "taken", "y");
  const from = blob("source").url;
  const copy = async (options) => (await blob("taken").beginCopyFromURL(from, options)).pollUntilDone();
  await refused(copy({ sourceConditions: { ifMatch: '"0x1"' } }), 412, "SourceConditionNotMet");
  await refused(copy({ conditions: { ifMatch: '"0x1"' } }), 412, "TargetConditionNotMet");
  await refused(copy({ conditions: { ifNoneMatch: "*" } }), 409, "BlobAlreadyExists");
  await refused((async () => (await blob("x").beginCopyFromURL(blob("nowhere").url)).pollUntilDone())(), 404, "BlobNotFound");
  await refused((async () => (await blob("x").beginCopyFromURL("http://example.com/a/b")).pollUntilDone())(), 404, "CannotVerifyCopySource");
  const lease = blob("taken").getBlobLeaseClient(randomUUID());
  await lease.acquireLease(-1);
  await refused(copy({}), 412, "LeaseIdMissing");
  await copy({ conditions: { leaseId: lease.leaseId } });
  await refused(blob("taken").abortCopyFromURL("id", { conditions: { leaseId: lease.leaseId } }), 409, "NoPendingCopyOperation");
});

test("copy: onto a leased blob only if its lease does not end", { azurite: "blob-copy-lease" }, async () => {
  await put(container, "leased-source", "x");
  await put(container, "leased-target", "y");
  const lease = blob("leased-target").getBlobLeaseClient(randomUUID());
  const conditions = { leaseId: lease.leaseId };
  const copy = async (options) => (await blob("leased-target").beginCopyFromURL(blob("leased-source").url, options)).pollUntilDone();
  await lease.acquireLease(15);
  await refused(copy({}), 412, "LeaseIdMissing");
  await refused(copy({ conditions }), 412, "InfiniteLeaseDurationRequired");
  await blob("leased-target").syncCopyFromURL(`${blob("leased-source").url}?${readSas("leased-source")}`, { conditions });
  await lease.acquireLease(-1);
  await copy({ conditions });
});

test("copy: at once, from a URL, whole or in blocks", { azurite: "blob-from-url" }, async () => {
  const content = randomBytes(600_000);
  await blob("origin").uploadData(content);
  const from = `${blob("origin").url}?${readSas("origin")}`;
  assert.equal((await blob("sync").syncCopyFromURL(from)).copyStatus, "success");
  assert.deepEqual(await blob("sync").downloadToBuffer(), content);
  await blob("upload").syncUploadFromURL(from);
  assert.deepEqual(await blob("upload").downloadToBuffer(), content);
  assert.equal((await blob("upload").getProperties()).copyStatus, undefined);
  const id = (n) => Buffer.from(`b${n}`).toString("base64");
  await blob("blocks").stageBlockFromURL(id(1), from, 100_000, 300_000);
  await blob("blocks").stageBlockFromURL(id(2), from, 0, 10);
  await blob("blocks").commitBlockList([id(1), id(2)]);
  assert.deepEqual(await blob("blocks").downloadToBuffer(), Buffer.concat([content.subarray(100_000, 400_000), content.subarray(0, 10)]));
});

test("copy: from a URL, the headers of the request win over those of the source", { azurite: "blob-from-url" }, async () => {
  const page = container.getPageBlobClient("dressed-page");
  await put(container, "dressed", "x", { blobHTTPHeaders: { blobContentType: "text/x", blobContentLanguage: "de", blobCacheControl: "no-store" } });
  await page.create(512, { blobHTTPHeaders: { blobContentType: "text/x", blobContentLanguage: "de", blobCacheControl: "no-store" } });
  const told = async (source, options) => {
    await blob("dressed-copy").syncUploadFromURL(source.url, { blobHTTPHeaders: { blobContentLanguage: "en", blobContentDisposition: "inline" }, ...options });
    const got = await blob("dressed-copy").getProperties();
    return [got.contentType, got.contentLanguage, got.cacheControl, got.contentDisposition];
  };
  for (const source of [blob("dressed"), page]) {
    assert.deepEqual(await told(source), ["text/x", "en", "no-store", "inline"]);
    assert.deepEqual(await told(source, { copySourceBlobProperties: false }), ["application/octet-stream", "en", undefined, "inline"]);
  }
});

test("copy: who may not read the source makes no copy of it", { azurite: "blob-from-url" }, async () => {
  await put(container, "secret", "x");
  const writer = new BlobServiceClient(
    `${url}?${generateBlobSASQueryParameters({ containerName: "copies", permissions: BlobSASPermissions.parse("cw"), expiresOn: inOneHour() }, credential)}`,
    newPipeline(undefined, { retryOptions: { maxTries: 1 } }));
  const target = writer.getContainerClient("copies").getBlockBlobClient("stolen");
  const refusedBySource = async (query, status, code) => {
    await refused(target.syncUploadFromURL(`${blob("secret").url}${query}`), status, "CannotVerifyCopySource");
    const answer = await wire("PUT", "/copies/stolen", { headers: { "x-ms-copy-source": `${blob("secret").url}${query}` } });
    isRefused(answer, status, "CannotVerifyCopySource");
    assert.deepEqual([answer.headers["x-ms-copy-source-status-code"], answer.headers["x-ms-copy-source-error-code"]], [`${status}`, code]);
    assert.match(answer.text, new RegExp(`</Message><CopySourceStatusCode>${status}</CopySourceStatusCode><CopySourceErrorCode>${code}</CopySourceErrorCode>`));
  };
  await refusedBySource("", 401, "NoAuthenticationInformation");
  await refusedBySource(`?${readSas("other")}`, 403, "AuthenticationFailed");
  await refusedBySource(`?${accountSas("l")}`, 403, "AuthorizationPermissionMismatch");
  await target.syncUploadFromURL(`${blob("secret").url}?${readSas("secret")}`);
  assert.equal(await textOf(blob("stolen")), "x");
});

/// Every way to copy 512 bytes.
const everyCopy = async (into) => {
  const target = into.getBlockBlobClient(randomUUID());
  const log = into.getAppendBlobClient(randomUUID());
  const disk = into.getPageBlobClient(randomUUID());
  await log.create();
  await disk.create(512);
  return [
    async (from) => (await target.beginCopyFromURL(from)).pollUntilDone(),
    (from) => target.syncCopyFromURL(from),
    (from) => target.syncUploadFromURL(from),
    (from) => target.stageBlockFromURL("MQ==", from),
    (from) => log.appendBlockFromURL(from, 0, 512),
    (from) => disk.uploadPagesFromURL(from, 0, 0, 512),
  ];
};

test("copy: a signature of the source that is for some addresses holds for who copies", { azurite: "blob-from-url" }, async () => {
  await put(container, "addressed", "x".repeat(512));
  const from = (start, end) => `${blob("addressed").url}?${readSas("addressed", { ipRange: { start, end } })}`;
  const signed = new BlobServiceClient(`${url}?${accountSas()}`, newPipeline(undefined, { retryOptions: { maxTries: 1 } }));
  for (const copy of await everyCopy(signed.getContainerClient("copies"))) {
    await copy(from("0.0.0.0", "255.255.255.255"));
    await copy(from("127.0.0.1"));
    await refused(copy(from("10.0.0.1", "10.0.0.9")), 403, "CannotVerifyCopySource");
  }
});

test("copy: the key of one account reads no private blob of another", { azurite: "blob-from-url" }, async () => {
  await put(container, "ours", "x".repeat(512));
  const theirs = new BlobServiceClient(url.replace(account, neighbour.name),
    newPipeline(new StorageSharedKeyCredential(neighbour.name, neighbour.key), { retryOptions: { maxTries: 1 } }));
  const into = theirs.getContainerClient("copies");
  await into.create();
  for (const copy of await everyCopy(into)) {
    await refused(copy(blob("ours").url), 401, "CannotVerifyCopySource");
    await copy(`${blob("ours").url}?${readSas("ours")}`);
  }
});

test("copy: a signature of the source counts, though the key of the request could read it", { azurite: "blob-from-url" }, async () => {
  await put(container, "well-signed", "x".repeat(512), { tags: { a: "1" } });
  const at = (sas) => `${blob("well-signed").url}?${sas}`;
  const forged = at(readSas("well-signed").toString().replace(/sig=[^&]*/, `sig=${encodeURIComponent(randomBytes(32).toString("base64"))}`));
  for (const copy of await everyCopy(container)) {
    await refused(copy(forged), 403, "CannotVerifyCopySource");
    await refused(copy(at(readSas("another"))), 403, "CannotVerifyCopySource");
    await refused(copy(at(readSas("well-signed", { permissions: BlobSASPermissions.parse("w") }))), 403, "CannotVerifyCopySource");
    await copy(at(readSas("well-signed")));
    await copy(blob("well-signed").url);
  }
  await refused(blob("well-signed-tags").syncUploadFromURL(at(readSas("well-signed")), { copySourceTags: "COPY" }), 403, "CannotVerifyCopySource");
  await container.setAccessPolicy("blob");
  await refused(blob("well-signed-open").syncUploadFromURL(forged), 403, "CannotVerifyCopySource");
  await container.setAccessPolicy();
});

test("copy: the MD5 that the new blob is given is that of the source", { azurite: "blob-from-url" }, async () => {
  await put(container, "given", "content");
  const page = container.getPageBlobClient("given-page");
  await page.create(512);
  for (const [source, content] of [[blob("given"), "content"], [page, Buffer.alloc(512)]]) {
    const made = (blobContentMD5, more) => blob("given-copy").syncUploadFromURL(source.url, { blobHTTPHeaders: { blobContentMD5 }, ...more });
    const right = createHash("md5").update(content).digest();
    await refused(made(new Uint8Array(16)), 400, "Md5Mismatch");
    await refused(made(new Uint8Array(16), { sourceContentMD5: right }), 400, "Md5Mismatch");
    await refused(made(new Uint8Array(4)), 400, "InvalidMd5");
    assert.equal(await blob("given-copy").exists(), false);
    await made(right, { sourceContentMD5: right });
    assert.deepEqual(Buffer.from((await blob("given-copy").getProperties()).contentMD5), right);
    await blob("given-copy").delete();
  }
});

test("copy: the MD5 that the request declares is that of the source", { azurite: "blob-from-url" }, async () => {
  const content = randomBytes(600_000);
  const block = Buffer.from("1").toString("base64");
  await blob("summed").stageBlock(block, content, content.length);
  await blob("summed").commitBlockList([block], { blobHTTPHeaders: { blobContentMD5: new Uint8Array(16) } });  // since nobody checks it
  const from = `${blob("summed").url}?${readSas("summed")}`;
  const target = blob("summed-copy");
  const right = createHash("md5").update(content).digest();
  const asStored = new Uint8Array(16);
  await refused(target.syncUploadFromURL(from, { sourceContentMD5: asStored }), 400, "Md5Mismatch");
  await refused(target.syncCopyFromURL(from, { sourceContentMD5: asStored }), 400, "Md5Mismatch");
  await refused(target.syncUploadFromURL(from, { sourceContentMD5: new Uint8Array(5) }), 400, "InvalidMd5");
  assert.equal(await target.exists(), false);
  await target.syncUploadFromURL(from, { sourceContentMD5: right });
  assert.deepEqual(await target.downloadToBuffer(), content);
  await target.delete();
  const copied = await target.syncCopyFromURL(from, { sourceContentMD5: right });
  assert.deepEqual(Buffer.from(copied.contentMD5), right);
  assert.deepEqual(await target.downloadToBuffer(), content);
  await refused(target.syncCopyFromURL(from, { sourceContentMD5: right, sourceConditions: { ifMatch: '"0x1"' } }), 412, "SourceConditionNotMet");
});

test("copy: tags come along if they may be read there and set here", { azurite: "blob-from-url" }, async () => {
  await put(container, "labelled", "x", { tags: { level: "secret" } });
  const sas = (letters) =>
    generateBlobSASQueryParameters({ containerName: "copies", permissions: BlobSASPermissions.parse(letters), expiresOn: inOneHour() }, credential);
  const copy = (here, there) =>
    new BlobServiceClient(`${url}?${sas(here)}`, newPipeline(undefined, { retryOptions: { maxTries: 1 } })).getContainerClient("copies")
      .getBlockBlobClient("labelled-copy").syncUploadFromURL(`${blob("labelled").url}${there && `?${sas(there)}`}`, { copySourceTags: "COPY" });
  await refused(copy("cw", "rt"), 403, "AuthorizationPermissionMismatch");
  await refused(copy("cwt", "r"), 403, "CannotVerifyCopySource");
  assert.equal(await blob("labelled-copy").exists(), false);
  await copy("cwt", "rt");
  assert.deepEqual((await blob("labelled-copy").getTags()).tags, { level: "secret" });
  await blob("labelled-key").syncUploadFromURL(blob("labelled").url, { copySourceTags: "COPY" });
  assert.deepEqual((await blob("labelled-key").getTags()).tags, { level: "secret" });
  isRefused(await wire("PUT", "/copies/labelled-twice", { headers: { "x-ms-blob-type": "BlockBlob", "x-ms-copy-source": `${blob("labelled").url}?${sas("rt")}`,
    "x-ms-copy-source-tag-option": "COPY", "x-ms-tags": "a=1" } }), 409, "BlobOperationNotSupported");
  await container.setAccessPolicy("blob");
  await refused(copy("cwt", ""), 401, "CannotVerifyCopySource");
  await container.setAccessPolicy();
});

test("append from a URL: a part of the source, all of it, and conditions", { azurite: "blob-from-url" }, async () => {
  const content = randomBytes(600_000);
  await blob("append-origin").uploadData(content);
  const from = `${blob("append-origin").url}?${readSas("append-origin")}`;
  const log = container.getAppendBlobClient("log");
  await log.create();
  const first = await log.appendBlockFromURL(from, 1000, 300_000);
  assert.deepEqual([first.blobAppendOffset, first.blobCommittedBlockCount], ["0", 1]);
  const second = await log.appendBlockFromURL(blob("append-origin").url, 0, 600_000, { conditions: { appendPosition: 300_000 } });
  assert.deepEqual([second.blobAppendOffset, second.blobCommittedBlockCount], ["300000", 2]);
  assert.deepEqual(await log.downloadToBuffer(), Buffer.concat([content.subarray(1000, 301_000), content]));
  const again = (options) => log.appendBlockFromURL(from, 0, 10, options);
  await refused(again({ conditions: { appendPosition: 5 } }), 412, "AppendPositionConditionNotMet");
  await refused(again({ conditions: { maxSize: 900_000 } }), 412, "MaxBlobSizeConditionNotMet");
  await refused(again({ sourceConditions: { ifMatch: '"0x1"' } }), 412, "SourceConditionNotMet");
  await refused(again({ sourceConditions: { ifModifiedSince: new Date(Date.now() + 86_400_000) } }), 412, "SourceConditionNotMet");
  await refused(again({ sourceContentMD5: new Uint8Array(16) }), 400, "Md5Mismatch");
  await again({ sourceContentMD5: createHash("md5").update(content.subarray(0, 10)).digest() });
  await refused(log.appendBlockFromURL(blob("nowhere").url, 0, 10), 404, "BlobNotFound");
  await refused(log.appendBlockFromURL(from, 600_000, 10), 416, "InvalidRange");
  assert.equal((await log.getProperties()).contentLength, 900_010);
});

test("pages from a URL", { azurite: "blob-from-url" }, async () => {
  const content = randomBytes(2048);
  await blob("page-origin").uploadData(content);
  const from = `${blob("page-origin").url}?${readSas("page-origin")}`;
  const disk = container.getPageBlobClient("disk");
  await disk.create(4096);
  await disk.uploadPagesFromURL(from, 512, 1024, 1024);
  const expected = Buffer.concat([Buffer.alloc(1024), content.subarray(512, 1536), Buffer.alloc(2048)]);
  assert.deepEqual(await disk.downloadToBuffer(), expected);
  assert.deepEqual((await disk.getPageRanges()).pageRange, [{ offset: 1024, count: 1023 }]);
  await refused(disk.uploadPagesFromURL(from, 0, 100, 512), 416, "InvalidPageRange");
  await refused(disk.uploadPagesFromURL(from, 0, 4096, 512), 416, "InvalidPageRange");
  await refused(disk.uploadPagesFromURL(from, 0, 0, 512, { conditions: { ifSequenceNumberEqualTo: 5 } }), 412, "SequenceNumberConditionNotMet");
  await refused(disk.uploadPagesFromURL(from, 0, 0, 512, { sourceConditions: { ifNoneMatch: "*" } }), 400, "UnsatisfiableCondition");
  assert.deepEqual(await disk.downloadToBuffer(), expected);
});

test("from a URL: a request with a source has no body, and pages name as many bytes of it", { azurite: "blob-from-url" }, async () => {
  await put(container, "small", "x".repeat(1024));
  const source = { "x-ms-copy-source": blob("small").url.replace("localhost", "127.0.0.1") + `?${readSas("small")}` };
  await container.getAppendBlobClient("bodiless").create();
  isRefused(await wire("PUT", "/copies/bodiless?comp=appendblock", { headers: source, body: "x" }), 400, "InvalidHeaderValue");
  await container.getPageBlobClient("sized").create(2048);
  const pages = (headers) => wire("PUT", "/copies/sized?comp=page", { headers: { ...source, "x-ms-page-write": "update", "x-ms-range": "bytes=0-511", ...headers } });
  isRefused(await pages({}), 400, "MissingRequiredHeader");
  isRefused(await pages({ "x-ms-source-range": "bytes=0-1023" }), 400, "InvalidHeaderValue");
  assert.equal((await pages({ "x-ms-source-range": "bytes=0-511" })).status, 201);
});

test("from a URL: a source of many small blocks", { azurite: "blob-from-url" }, async () => {
  const many = container.getAppendBlobClient("many-blocks");
  await many.create();
  let expected = "";
  for (let n = 0; n < 300; n++) {
    await many.appendBlock(`${n},`, `${n},`.length);
    expected += `${n},`;
  }
  const id = Buffer.from("b1").toString("base64");
  await blob("together").stageBlockFromURL(id, many.url);
  await blob("together").commitBlockList([id]);
  assert.equal(await textOf(blob("together")), expected);
});
