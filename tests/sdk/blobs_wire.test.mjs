// Answers to the letter: texts, headers, and the treatment of names.
import assert from "node:assert/strict";
import { BlobSASPermissions, generateBlobSASQueryParameters } from "@azure/storage-blob";
import { accountSas, credential, isRefused, service, url, wire } from "./blobs_support.mjs";
import { all as collect, before, inOneHour, request, test } from "./support.mjs";

const container = service.getContainerClient("letters");

before(() => container.create());

test("a HEAD that finds nothing has neither a body nor a type", async () => {
  const answer = await wire("HEAD", "/letters/missing");
  isRefused(answer, 404, "BlobNotFound");
  assert.deepEqual([answer.headers["content-type"], answer.text], [undefined, ""]);
  isRefused(await wire("HEAD", "/no-such-container/x"), 404, "ContainerNotFound");
  assert.equal((await wire("GET", "/letters/missing")).headers["content-type"], "application/xml");
});

test("a HEAD tells the type of what it finds", async () => {
  await container.getBlockBlobClient("found").upload("x", 1, { blobHTTPHeaders: { blobContentType: "a/b" } });
  assert.equal((await wire("HEAD", "/letters/found")).headers["content-type"], "a/b");
});

test("a backslash in a name is a slash", async () => {
  const headers = { "x-ms-blob-type": "BlockBlob" };
  assert.equal((await wire("PUT", "/letters/dir%5Csub%5Cfile", { headers, body: "x" })).status, 201);
  assert.deepEqual((await collect(container.listBlobsFlat({ prefix: "dir" }))).map((item) => item.name), ["dir/sub/file"]);
  assert.equal((await wire("GET", "/letters/dir%5Csub/file")).text, "x");
  assert.equal((await container.getBlockBlobClient("dir\\sub\\file").downloadToBuffer()).toString(), "x");
  const get = (blobName) => request(`${url}/letters/dir%5Csub%5Cfile?${generateBlobSASQueryParameters({ containerName: "letters", blobName,
    permissions: BlobSASPermissions.parse("r"), expiresOn: inOneHour() }, credential)}`);
  assert.equal((await get("dir/sub/file")).text, "x");
  assert.equal((await get("dir\\sub\\file")).status, 403);
});

test("a name of the wrong length says so", async () => {
  for (const target of ["/ab?restype=container", `/${"a".repeat(64)}?restype=container`]) {
    const answer = await wire("PUT", target);
    isRefused(answer, 400, "OutOfRangeInput");
    assert.match(answer.text, /The specified resource name length is not within the permissible limits\./);
  }
});

test("a preflight without its header says so", async () => {
  for (const headers of [{ Origin: "http://a" }, { "Access-Control-Request-Method": "GET" }]) {
    const answer = await request(`${url}/letters`, { method: "OPTIONS", headers });
    isRefused(answer, 400, "InvalidHeaderValue");
    assert.match(answer.text, /A required CORS header is not present\./);
  }
});

test("a rule with a star in its host covers the hosts below", async () => {
  const rule = { allowedOrigins: "http://*.contoso.com", allowedMethods: "GET", allowedHeaders: "*", exposedHeaders: "*", maxAgeInSeconds: 5 };
  await service.setProperties({ cors: [rule] });
  const ask = (origin) => request(`${url}/letters`, { method: "OPTIONS", headers: { Origin: origin, "Access-Control-Request-Method": "GET" } });
  const allowed = await ask("http://www.contoso.com");
  assert.deepEqual([allowed.status, allowed.headers["access-control-allow-origin"]], [200, "http://www.contoso.com"]);
  isRefused(await ask("http://contoso.com"), 403, "CorsPreflightFailure");
  await service.setProperties({ cors: [] });
});

test("what would have to be kept for a request is not taken for done", { azurite: "blob-not-offered" }, async () => {
  const key = { "x-ms-encryption-key": "a2V5", "x-ms-encryption-key-sha256": "aGFzaA==", "x-ms-encryption-algorithm": "AES256" };
  for (const headers of [key, { "x-ms-encryption-scope": "mine" }, { "x-ms-legal-hold": "true" },
    { "x-ms-immutability-policy-until-date": "Fri, 01 Jan 2099 00:00:00 GMT", "x-ms-immutability-policy-mode": "Locked" }]) {
    isRefused(await wire("PUT", "/letters/kept", { headers: { "x-ms-blob-type": "BlockBlob", ...headers }, body: "x" }), 501, "NotImplemented");
  }
  isRefused(await wire("GET", "/letters/kept"), 404, "BlobNotFound");
  isRefused(await wire("DELETE", "/letters/kept?snapshot=2026-01-01T00:00:00.0000000Z&deletetype=permanent"), 501, "NotImplemented");
});

test("a signature for a snapshot is for no other, however the parameter is spelled", { azurite: "blob-auth-errors" }, async () => {
  const blob = container.getBlockBlobClient("signed");
  await blob.upload("old", 3);
  const { snapshot } = await blob.createSnapshot();
  await blob.upload("new", 3);
  const sas = generateBlobSASQueryParameters({ containerName: "letters", blobName: "signed", snapshotTime: snapshot,
    permissions: BlobSASPermissions.parse("rwd"), expiresOn: inOneHour() }, credential);
  const at = (text) => `${url}/letters/signed?${text}${sas}`;
  const own = `snapshot=${encodeURIComponent(snapshot)}&`;
  assert.equal((await request(at(own))).text, "old");
  assert.equal((await request(at(own.replace("snapshot", "Snapshot")))).text, "old");
  for (const other of ["", "Snapshot=&", "SNAPSHOT=2026-01-01T00%3A00%3A00.0000000Z&"]) {
    isRefused(await request(at(other + (other ? own : ""))), 403, "AuthenticationFailed");
    isRefused(await request(at(other + (other ? own : "")), { method: "DELETE" }), 403, "AuthenticationFailed");
  }
  assert.equal((await blob.downloadToBuffer()).toString(), "new");
});

test("a range of a source that is none is refused", { azurite: "blob-from-url" }, async () => {
  const source = container.getBlockBlobClient("source");
  await source.upload("0123456789", 10);
  for (const range of ["0-3", "bytes=-3", "bytes=5-2", "bytes=0-1,4-5"]) {
    const headers = { "x-ms-copy-source": source.url, "x-ms-source-range": range };
    const sas = generateBlobSASQueryParameters({ containerName: "letters", blobName: "source", permissions: BlobSASPermissions.parse("r"),
      expiresOn: inOneHour() }, credential);
    headers["x-ms-copy-source"] += `?${sas}`;
    isRefused(await wire("PUT", `/letters/part?comp=block&blockid=${btoa("a")}`, { headers }), 400, "InvalidHeaderValue");
  }
});

test("the kind of a list of blocks may be in any case", async () => {
  await container.getBlockBlobClient("blocks").stageBlock(btoa("a"), "x", 1);
  for (const kind of ["All", "UNCOMMITTED"]) {
    assert.match((await wire("GET", `/letters/blocks?comp=blocklist&blocklisttype=${kind}`)).text, /<UncommittedBlocks><Block><Name>YQ==<\/Name>/);
  }
});

test("only block blobs have a tier", { azurite: "blob-tier-codes" }, async () => {
  for (const type of ["AppendBlob", "PageBlob"]) {
    const headers = { "x-ms-blob-type": type, "x-ms-blob-content-length": "512", "x-ms-access-tier": "Archive" };
    isRefused(await wire("PUT", "/letters/cold", { headers }), 400, "InvalidHeaderValue");
  }
});

test("an MD5 that is not compared with content may have any length", async () => {
  const headers = { "x-ms-blob-content-md5": "AQIDBA==" };
  const send = async (target, more, body) => {
    assert.ok((await wire("PUT", target, { headers: { ...headers, ...more }, body })).status < 300, target);
    assert.equal((await wire("HEAD", target.split("?")[0])).headers["content-md5"], "AQIDBA==", target);
  };
  await send("/letters/found?comp=properties");
  await send("/letters/short?comp=blocklist", {}, "<BlockList/>");
  await send("/letters/grown", { "x-ms-blob-type": "AppendBlob" });
  isRefused(await wire("PUT", "/letters/compared", { headers: { ...headers, "x-ms-blob-type": "BlockBlob" }, body: "x" }), 400, "InvalidMd5");
});

test("an MD5 that is none is not stored", { azurite: "blob-error-codes" }, async () => {
  const headers = { "x-ms-blob-content-md5": "invalid-md5" };
  isRefused(await wire("PUT", "/letters/found?comp=properties", { headers }), 400, "InvalidMd5");
  isRefused(await wire("PUT", "/letters/listed?comp=blocklist", { headers, body: "<BlockList/>" }), 400, "InvalidMd5");
  isRefused(await wire("PUT", "/letters/grown", { headers: { ...headers, "x-ms-blob-type": "AppendBlob" } }), 400, "InvalidMd5");
});

test("tags are listed for whoever may read them", { azurite: "blob-error-codes" }, async () => {
  const list = (permissions) => request(`${url}/letters?restype=container&comp=list&include=tags&${accountSas(permissions)}`);
  isRefused(await list("rl"), 403, "AuthorizationPermissionMismatch");
  assert.equal((await list("rlt")).status, 200);
});

test("a block blob is made of a page blob, with zeros for its holes", { azurite: "blob-from-url" }, async () => {
  const pages = container.getPageBlobClient("pages");
  await pages.create(1536, { metadata: { k: "v" } });
  await pages.uploadPages("x".repeat(512), 512, 512);
  const sas = generateBlobSASQueryParameters({ containerName: "letters", blobName: "pages", permissions: BlobSASPermissions.parse("r"),
    expiresOn: inOneHour() }, credential);
  const made = container.getBlockBlobClient("made");
  await made.syncUploadFromURL(`${pages.url}?${sas}`);
  assert.equal((await made.downloadToBuffer()).toString(), "\0".repeat(512) + "x".repeat(512) + "\0".repeat(512));
  const told = await made.getProperties();
  assert.deepEqual([told.blobType, told.metadata], ["BlockBlob", { k: "v" }]);
});
