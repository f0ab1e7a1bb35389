// The unmodified blob SDK through a life: containers, block blobs, ranges, lists, conditions, policies.
import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  BlobSASPermissions,
  BlobServiceClient,
  ContainerSASPermissions,
  StorageSharedKeyCredential,
  generateAccountSASQueryParameters,
  generateBlobSASQueryParameters,
  newPipeline,
} from "@azure/storage-blob";
import { account, all as collect, inOneHour, key, request, test } from "./support.mjs";

const credential = new StorageSharedKeyCredential(account, key);
const url = process.env.TIDEMARK_BLOB_URL;
const service = new BlobServiceClient(url, newPipeline(credential, { retryOptions: { maxTries: 1 } }));
const container = service.getContainerClient("life-cycle");
const blob = (name) => container.getBlockBlobClient(name);
const blockId = (n) => Buffer.from(String(n).padStart(8, "0")).toString("base64");
const put = (name, text, options) => blob(name).upload(text, Buffer.byteLength(text), options);
const text = async (name) => (await blob(name).downloadToBuffer()).toString();
/// Sends a request below the SDK, signed by an account SAS.
const wire = (method, target, { headers = {}, body = "", secondary = false } = {}) => {
  const sas = generateAccountSASQueryParameters({ permissions: AccountSASPermissions.parse("rwdlac"), expiresOn: inOneHour(),
    services: AccountSASServices.parse("b").toString(), resourceTypes: AccountSASResourceTypes.parse("sco").toString() }, credential);
  const separator = target.includes("?") ? "&" : "?";
  return request(`${url}${secondary ? "-secondary" : ""}/${container.containerName}${target}${separator}${sas}`, { method, headers, body });
};
const isRefused = (answer, status, code) => assert.deepEqual([answer.status, answer.headers["x-ms-error-code"]], [status, code]);
const refused = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.statusCode, statusCode);
    if (code) assert.equal(error.code ?? error.details?.errorCode, code);
    return true;
  });

test("container: created once", async () => {
  const created = await container.create({ metadata: { Purpose: "tests" } });
  assert.match(created.etag, /^"0x[0-9A-F]{15}"$/);
  await refused(container.create(), 409, "ContainerAlreadyExists");
  assert.equal((await container.createIfNotExists()).succeeded, false);
});

test("container: bad names are refused", async () => {
  await refused(service.getContainerClient("Upper").create(), 400, "InvalidResourceName");
});

test("container: properties and metadata", async () => {
  assert.equal((await container.getProperties()).metadata.purpose, "tests");
  await container.setMetadata({ other: "x" });
  assert.deepEqual((await container.getProperties()).metadata, { other: "x" });
});

test("container: listed by prefix and page", async () => {
  for (const name of ["page-a", "page-b", "page-c"]) await service.createContainer(name);
  const names = [];
  for await (const page of service.listContainers({ prefix: "page-" }).byPage({ maxPageSize: 2 })) {
    names.push(page.containerItems.map((item) => item.name));
  }
  assert.deepEqual(names, [["page-a", "page-b"], ["page-c"]]);
});

test("container: name is free at once after delete, and empty", async () => {
  const gone = service.getContainerClient("page-a");
  await gone.getBlockBlobClient("b").upload("x", 1);
  await gone.delete();
  await refused(gone.getBlockBlobClient("b").getProperties(), 404);
  await gone.create();
  assert.equal(await gone.getBlockBlobClient("b").exists(), false);
});

test("blob: put and get with properties", async () => {
  await put("dir/hello world+%.txt", "hello world", {
    metadata: { Mtime: "12.5" },
    blobHTTPHeaders: { blobContentType: "text/plain", blobContentLanguage: "de", blobCacheControl: "no-store" },
  });
  const got = await blob("dir/hello world+%.txt").getProperties();
  assert.equal(got.contentLength, 11);
  assert.equal(got.contentType, "text/plain");
  assert.equal(got.contentLanguage, "de");
  assert.equal(got.cacheControl, "no-store");
  assert.equal(got.metadata.mtime, "12.5");
  assert.equal(Buffer.from(got.contentMD5).toString("base64"), createHash("md5").update("hello world").digest("base64"));
  assert.equal(await text("dir/hello world+%.txt"), "hello world");
});

test("blob: empty content", async () => {
  await put("empty", "");
  assert.equal((await blob("empty").getProperties()).contentLength, 0);
  await refused(blob("empty").download(0, 5), 416, "InvalidRange");
});

test("blob: missing", async () => {
  await refused(blob("missing").getProperties(), 404);
  await refused(blob("missing").download(), 404, "BlobNotFound");
  await refused(service.getContainerClient("no-such").getBlockBlobClient("x").upload("x", 1), 404, "ContainerNotFound");
  assert.equal((await blob("missing").deleteIfExists()).succeeded, false);
});

test("blob: ranges", { azurite: "blob-range-past-end" }, async () => {
  await put("range", "0123456789");
  const part = async (offset, count) => {
    const answer = await blob("range").download(offset, count);
    const chunks = await collect(answer.readableStreamBody);
    return [Buffer.concat(chunks).toString(), answer.contentRange];
  };
  assert.deepEqual(await part(2, 3), ["234", "bytes 2-4/10"]);
  assert.deepEqual(await part(8, 100), ["89", "bytes 8-9/10"]);
  await refused(blob("range").download(10, 1), 416, "InvalidRange");
});

test("blob: MD5 of a range", async () => {
  const answer = await blob("range").download(0, 4, { rangeGetContentMD5: true });
  assert.equal(Buffer.from(answer.contentMD5).toString("hex"), createHash("md5").update("0123").digest("hex"));
  await collect(answer.readableStreamBody);
});

test("blob: a wrong MD5 commits nothing", async () => {
  const wrong = createHash("md5").update("other").digest();
  await refused(put("md5", "data", { blobHTTPHeaders: { blobContentMD5: wrong } }), 400, "Md5Mismatch");
  assert.equal(await blob("md5").exists(), false);
});

test("blob: conditions on writes", async () => {
  await refused(put("range", "x", { conditions: { ifNoneMatch: "*" } }), 409, "BlobAlreadyExists");
  await refused(put("range", "x", { conditions: { ifMatch: '"0x111"' } }), 412, "ConditionNotMet");
  const { etag } = await blob("range").getProperties();
  const written = await put("range", "abc", { conditions: { ifMatch: etag } });
  assert.ok(written.etag > etag);
});

test("blob: conditions on reads", async () => {
  const { etag, lastModified } = await blob("range").getProperties();
  await refused(blob("range").download(0, undefined, { conditions: { ifMatch: '"0x1"' } }), 412, "ConditionNotMet");
  await refused(blob("range").getProperties({ conditions: { ifNoneMatch: etag } }), 304);
  await refused(blob("range").getProperties({ conditions: { ifModifiedSince: lastModified } }), 304);
});

test("blob: set headers clears the others", async () => {
  await put("headers", "x", { blobHTTPHeaders: { blobContentType: "a/b", blobContentEncoding: "gzip" } });
  await blob("headers").setHTTPHeaders({ blobContentType: "c/d" });
  const got = await blob("headers").getProperties();
  assert.equal(got.contentType, "c/d");
  assert.equal(got.contentEncoding, undefined);
});

test("blob: set metadata", async () => {
  await blob("headers").setMetadata({ one: "1" });
  assert.deepEqual((await blob("headers").getProperties()).metadata, { one: "1" });
  await refused(blob("headers").setMetadata({ "not-a-name": "1" }), 400, "InvalidMetadata");
});

test("blocks: staged blocks are invisible until committed", async () => {
  await blob("blocks").stageBlock(blockId(1), "one", 3);
  await blob("blocks").stageBlock(blockId(2), "two", 3);
  assert.equal(await blob("blocks").exists(), false);
  const before = await blob("blocks").getBlockList("all");
  assert.deepEqual(before.uncommittedBlocks, [{ name: blockId(1), size: 3 }, { name: blockId(2), size: 3 }]);
  await blob("blocks").commitBlockList([blockId(2), blockId(1), blockId(2)]);
  assert.equal(await text("blocks"), "twoonetwo");
  const after = await blob("blocks").getBlockList("all");
  assert.equal(after.committedBlocks.length, 3);
  assert.equal(after.uncommittedBlocks?.length ?? 0, 0);
});

test("blocks: those of a blob that was never committed are deleted", async () => {
  await blob("never").stageBlock(blockId(1), "one", 3);
  await refused(blob("never").delete({ conditions: { ifMatch: "*" } }), 412, "ConditionNotMet");
  await refused(blob("never").delete({ conditions: { leaseId: randomUUID() } }), 412, "LeaseNotPresentWithBlobOperation");
  const answer = await blob("never").delete();
  assert.equal(answer._response.headers.get("x-ms-delete-type-permanent"), "true");
  await refused(blob("never").getBlockList("all"), 404, "BlobNotFound");
  await refused(blob("never").delete(), 404, "BlobNotFound");
});

test("blocks: a commit mixes old and new, an unknown id changes nothing", async () => {
  await blob("blocks").stageBlock(blockId(3), "three", 5);
  await refused(blob("blocks").commitBlockList([blockId(9)]), 400, "InvalidBlockList");
  assert.equal(await text("blocks"), "twoonetwo");
  await blob("blocks").commitBlockList([blockId(1), blockId(3)]);
  assert.equal(await text("blocks"), "onethree");
  await blob("blocks").commitBlockList([]);
  assert.equal((await blob("blocks").getProperties()).contentLength, 0);
});

test("blocks: ids of one length", async () => {
  await blob("ids").stageBlock(blockId(1), "x", 1);
  await refused(blob("ids").stageBlock(Buffer.from("short").toString("base64"), "x", 1), 400, "InvalidBlobOrBlock");
});

const big = randomBytes(20 << 20);

test("big: 20 MB by blocks, whole and ranged download", async () => {
  await blob("big").uploadData(big, { blockSize: 4 << 20, maxSingleShotSize: 1 << 20, concurrency: 4 });
  assert.ok((await blob("big").downloadToBuffer(0, undefined, { blockSize: 3 << 20, concurrency: 4 })).equals(big));
  for (const [offset, count] of [[0, 1], [262143, 2], [4194300, 10], [1000000, 9000000], [20971519, 1]]) {
    const got = await blob("big").downloadToBuffer(offset, count);
    assert.ok(got.equals(big.subarray(offset, offset + count)), `${offset}+${count}`);
  }
});

test("big: 20 MB in one request", async () => {
  await blob("single").upload(big, big.length);
  assert.ok((await blob("single").downloadToBuffer()).equals(big));
});

test("big: a download goes on while the blob is replaced", async () => {
  const answer = await blob("single").download();
  await put("single", "new");
  assert.ok(Buffer.concat(await collect(answer.readableStreamBody)).equals(big));
  assert.equal(await text("single"), "new");
});

test("list: flat with metadata, in pages", async () => {
  for (const name of ["l/a", "l/b/1", "l/b/2", "l/c&<>", "l/d/x/y"]) await put(name, name, { metadata: { n: "1" } });
  const names = [];
  for await (const page of container.listBlobsFlat({ prefix: "l/", includeMetadata: true }).byPage({ maxPageSize: 2 })) {
    assert.ok(page.segment.blobItems.length <= 2);
    for (const item of page.segment.blobItems) {
      assert.equal(item.metadata.n, "1");
      assert.equal(item.properties.contentLength, item.name.length);
      names.push(item.name);
    }
  }
  assert.deepEqual(names, ["l/a", "l/b/1", "l/b/2", "l/c&<>", "l/d/x/y"]);
});

test("list: from a name on", async () => {
  for (const name of ["s/a", "s/b/1", "s/b/2", "s/c"]) await put(name, name);
  const names = async (query) => {
    const answer = await wire("GET", `?restype=container&comp=list&prefix=s/&${query}`);
    assert.equal(answer.status, 200);
    return [...answer.text.matchAll(/<Name>([^<]+)<\/Name>/g)].map((found) => found[1]);
  };
  assert.deepEqual(await names("startFrom=s/b/2"), ["s/b/2", "s/c"]);
  assert.deepEqual(await names("startFrom=s/b"), ["s/b/1", "s/b/2", "s/c"]);
  assert.deepEqual(await names("startFrom=s/b/2&delimiter=/"), ["s/b/", "s/c"]);
  assert.deepEqual(await names("startFrom=a"), ["s/a", "s/b/1", "s/b/2", "s/c"]);
  assert.deepEqual(await names("startFrom=t"), []);
  const first = await wire("GET", "?restype=container&comp=list&prefix=s/&startFrom=s/b&maxresults=1");
  const [, marker] = first.text.match(/<NextMarker>([^<]+)</);
  assert.deepEqual(await names(`startFrom=s/b&marker=${encodeURIComponent(marker)}`), ["s/b/2", "s/c"]);
});

test("list: a blob whose headers are no UTF-8 does not spoil it", { azurite: "blob-header-bytes" }, async () => {
  const dirty = { "x-ms-blob-type": "BlockBlob", "x-ms-blob-content-disposition": "inline; filename=\u00e9.txt" };
  // If the body is bytes, Node sends the headers as Latin-1.
  assert.equal((await wire("PUT", "/dirty/one", { headers: dirty, body: Buffer.from("x") })).status, 201);
  const [item] = await collect(container.listBlobsFlat({ prefix: "dirty/" }));
  assert.equal(item.properties.contentDisposition, "inline; filename=\u00e9.txt");
  assert.equal((await wire("HEAD", "/dirty/one")).headers["content-disposition"], "inline; filename=\u00e9.txt");
});

test("blocks: a list is one element", { azurite: "blob-block-list-xml" }, async () => {
  await blob("listed").stageBlock(blockId(1), "one", 3);
  const list = `<BlockList><Latest>${blockId(1)}</Latest></BlockList>`;
  for (const body of [`${list}junk`, `junk${list}`, `${list}${list}`, ""]) {
    isRefused(await wire("PUT", "/listed?comp=blocklist", { body }), 400, "InvalidXmlDocument");
  }
  assert.equal(await blob("listed").exists(), false);
  assert.equal((await wire("PUT", "/listed?comp=blocklist", { body: `<?xml version="1.0"?>\n${list}\n` })).status, 201);
});

test("secondary: reads and does not write", { azurite: "blob-secondary-writes" }, async () => {
  assert.equal((await wire("GET", "/listed", { secondary: true })).text, "one");
  const headers = { "x-ms-blob-type": "BlockBlob" };
  isRefused(await wire("PUT", "/listed", { headers, body: "x", secondary: true }), 403, "InsufficientAccountPermissions");
  isRefused(await wire("DELETE", "/listed", { secondary: true }), 403, "InsufficientAccountPermissions");
  assert.equal(await text("listed"), "one");
});

test("list: by hierarchy, in pages of one", async () => {
  const found = [];
  for await (const page of container.listBlobsByHierarchy("/", { prefix: "l/" }).byPage({ maxPageSize: 1 })) {
    for (const item of page.segment.blobPrefixes ?? []) found.push(item.name);
    for (const item of page.segment.blobItems) found.push(item.name);
  }
  assert.deepEqual(found, ["l/a", "l/b/", "l/c&<>", "l/d/"]);
});

test("delete", async () => {
  await blob("l/a").delete();
  await refused(blob("l/a").delete(), 404, "BlobNotFound");
});

test("policies and SAS", async () => {
  const expiresOn = new Date(Date.now() + 3_600_000);
  const identifiers = [{ id: "ro", accessPolicy: { permissions: "r", expiresOn, startsOn: new Date(0) } }];
  await container.setAccessPolicy(undefined, identifiers);
  const { signedIdentifiers } = await container.getAccessPolicy();
  assert.equal(signedIdentifiers[0].id, "ro");
  assert.equal(signedIdentifiers[0].accessPolicy.permissions, "r");
  const at = (name, options) => {
    const sas = generateBlobSASQueryParameters({ containerName: container.containerName, ...options }, credential);
    return new BlobServiceClient(`${url}?${sas}`).getContainerClient(container.containerName).getBlockBlobClient(name);
  };
  const byPolicy = at("range", { identifier: "ro" });
  assert.equal((await byPolicy.downloadToBuffer()).toString(), "abc");
  await refused(byPolicy.upload("x", 1), 403, "AuthorizationPermissionMismatch");
  const creator = at("created", { permissions: ContainerSASPermissions.parse("c"), expiresOn });
  await creator.upload("1", 1);
  await assert.rejects(creator.upload("2", 1));
  const single = { blobName: "range", permissions: BlobSASPermissions.parse("r"), expiresOn, contentType: "x/y" };
  assert.equal((await at("range", single).getProperties()).contentType, "x/y");
  await refused(at("blocks", single).getProperties(), 403);
});

test("service properties and account information", { azurite: "blob-default-properties" }, async () => {
  assert.equal((await service.getProperties()).deleteRetentionPolicy.enabled, false);
  const rule = { allowedOrigins: "*", allowedMethods: "GET", allowedHeaders: "", exposedHeaders: "", maxAgeInSeconds: 5 };
  await service.setProperties({ cors: [rule] });
  assert.equal((await service.getProperties()).cors.length, 1);
  assert.equal((await service.getAccountInfo()).accountKind, "StorageV2");
});

test("what is not offered says so", { azurite: "blob-not-offered" }, async () => {
  await refused(blob("range").query("select * from BlobStorage"), 501, "NotImplemented");
});

test("a wrong key is refused", { azurite: "blob-auth-errors" }, async () => {
  const stranger = new StorageSharedKeyCredential(account, Buffer.alloc(64).toString("base64"));
  await refused(new BlobServiceClient(url, stranger).getProperties(), 403, "AuthenticationFailed");
});
