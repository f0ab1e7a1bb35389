// Answers to the letter: texts, headers, and what becomes of names.
import assert from "node:assert/strict";
import { BlobSASPermissions, generateBlobSASQueryParameters } from "@azure/storage-blob";
import { credential, isRefused, service, url, wire } from "./blobs_support.mjs";
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

test("a backslash in a name is a slash", { azurite: "blob-backslash-sas" }, async () => {
  const headers = { "x-ms-blob-type": "BlockBlob" };
  assert.equal((await wire("PUT", "/letters/dir%5Csub%5Cfile", { headers, body: "x" })).status, 201);
  assert.deepEqual((await collect(container.listBlobsFlat({ prefix: "dir" }))).map((item) => item.name), ["dir/sub/file"]);
  assert.equal((await wire("GET", "/letters/dir%5Csub/file")).text, "x");
  assert.equal((await container.getBlockBlobClient("dir\\sub\\file").downloadToBuffer()).toString(), "x");
  const sas = generateBlobSASQueryParameters({ containerName: "letters", blobName: "dir\\sub\\file", permissions: BlobSASPermissions.parse("r"),
    expiresOn: inOneHour() }, credential);
  assert.equal((await request(`${url}/letters/dir%5Csub%5Cfile?${sas}`)).text, "x");
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
