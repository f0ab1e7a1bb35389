// Anonymous reads that containers allow, and clients that may only create.
import assert from "node:assert/strict";
import { BlobServiceClient, ContainerSASPermissions, generateBlobSASQueryParameters } from "@azure/storage-blob";
import { accountSas, anonymous, credential, isRefused, refused, service, url, wire } from "./blobs_support.mjs";
import { all as collect, before, describe, inOneHour, request, test } from "./support.mjs";

const nobody = new BlobServiceClient(url);
const old = { "x-ms-version": "2019-07-07" };
const blockBlob = { "x-ms-blob-type": "BlockBlob" };

before(async () => {
  for (const [name, access] of [["open-private"], ["open-blob", "blob"], ["open-container", "container"]]) {
    await service.createContainer(name, { access });
    await service.getContainerClient(name).getBlockBlobClient("a/b").upload("public", 6, { metadata: { m: "1" } });
  }
});

describe("private", () => {
  test("nothing is read without credentials", { azurite: "blob-anonymous-codes" }, async () => {
    for (const target of ["/open-private/a/b", "/open-private/missing", "/open-private?restype=container", "/open-private?restype=container&comp=list",
      "/no-such-container/a", "/?comp=list"]) {
      isRefused(await anonymous("GET", target), 401, "NoAuthenticationInformation");
      isRefused(await anonymous("GET", target, { headers: old }), 404, "ResourceNotFound");
    }
  });
});

describe("blob", () => {
  const container = nobody.getContainerClient("open-blob");
  test("a blob is read by its name", async () => {
    const got = await container.getBlobClient("a/b").download(1, 3);
    assert.equal(Buffer.concat(await collect(got.readableStreamBody)).toString(), "ubl");
    assert.deepEqual((await container.getBlobClient("a/b").getProperties()).metadata, { m: "1" });
    assert.equal((await anonymous("GET", "/open-blob/a/b?comp=metadata")).headers["x-ms-meta-m"], "1");
    await refused(container.getBlobClient("missing").download(), 404, "BlobNotFound");
  });
  test("of its blocks, those that are committed, and its pages", { azurite: "blob-anonymous-codes" }, async () => {
    await service.getContainerClient("open-blob").getBlockBlobClient("a/b").stageBlock(btoa("one"), "x", 1);
    await service.getContainerClient("open-blob").getPageBlobClient("pages").create(512);
    assert.equal((await anonymous("GET", "/open-blob/a/b?comp=blocklist")).status, 200);
    for (const type of ["uncommitted", "all"]) {
      isRefused(await anonymous("GET", `/open-blob/a/b?comp=blocklist&blocklisttype=${type}`), 401, "NoAuthenticationInformation");
    }
    assert.equal((await anonymous("GET", "/open-blob/pages?comp=pagelist")).status, 200);
  });
  test("the container is not", { azurite: "blob-anonymous-codes" }, async () => {
    await refused(container.getProperties(), 401);
    await refused(collect(container.listBlobsFlat()), 401, "NoAuthenticationInformation");
    await refused(collect(container.findBlobsByTags("a='1'")), 401);
    isRefused(await anonymous("GET", "/open-blob/a/b?comp=tags"), 401, "NoAuthenticationInformation");
  });
});

describe("container", () => {
  const container = nobody.getContainerClient("open-container");
  test("is read and listed", async () => {
    assert.equal((await container.getProperties()).blobPublicAccess, "container");
    assert.deepEqual((await collect(container.listBlobsFlat())).map((item) => item.name), ["a/b"]);
    assert.equal((await container.getBlobClient("a/b").downloadToBuffer()).toString(), "public");
  });
  test("what is deleted or not committed is not listed", { azurite: "blob-anonymous-codes" }, async () => {
    for (const include of ["deleted", "uncommittedblobs", "metadata,deleted"]) {
      isRefused(await anonymous("GET", `/open-container?restype=container&comp=list&include=${include}`), 401, "NoAuthenticationInformation");
    }
    assert.equal((await anonymous("GET", "/open-container?restype=container&comp=list&include=metadata")).status, 200);
  });
  test("its policies are not", { azurite: "blob-anonymous-policies" }, async () => {
    await refused(container.getAccessPolicy(), 401);
  });
});

describe("nobody writes", () => {
  test("whatever the access is", { azurite: "blob-anonymous-codes" }, async () => {
    for (const name of ["open-private", "open-blob", "open-container"]) {
      for (const [method, target, headers] of [["PUT", `/${name}/new`, blockBlob], ["DELETE", `/${name}/a/b`, {}], ["PUT", `/${name}/a/b?comp=metadata`, {}],
        ["PUT", `/${name}?restype=container&comp=metadata`, {}], ["DELETE", `/${name}?restype=container`, {}], ["POST", `/${name}?restype=container&comp=batch`, {}],
        ["PUT", `/${name}/a/b?comp=tags`, {}], ["PUT", `/${name}/a/b?comp=tier`, {}]]) {
        isRefused(await anonymous(method, target, { headers }), 401, "NoAuthenticationInformation");
      }
    }
    assert.equal((await service.getContainerClient("open-container").getBlobClient("a/b").downloadToBuffer()).toString(), "public");
  });
});

test("only an account key makes a container public", { azurite: "blob-public-by-key" }, async () => {
  for (const access of ["blob", "container"]) {
    isRefused(await wire("PUT", "/open-by-sas?restype=container", { headers: { "x-ms-blob-public-access": access } }), 403, "AuthorizationFailure");
  }
  assert.equal((await wire("PUT", "/open-by-sas?restype=container")).status, 201);
  assert.equal((await service.getContainerClient("open-by-sas").getProperties()).blobPublicAccess, undefined);
});

test("access ends when the level is taken back", { azurite: "blob-anonymous-codes" }, async () => {
  const container = service.getContainerClient("open-blob");
  await container.setAccessPolicy();
  isRefused(await anonymous("GET", "/open-blob/a/b"), 401, "NoAuthenticationInformation");
  await container.setAccessPolicy("blob");
  assert.equal((await anonymous("GET", "/open-blob/a/b")).text, "public");
});

describe("who may only create", () => {
  const block = encodeURIComponent(btoa("one"));
  const list = `<BlockList><Latest>${btoa("one")}</Latest></BlockList>`;
  const creator = (version) => {
    const sas = generateBlobSASQueryParameters({ containerName: "open-private", permissions: ContainerSASPermissions.parse("c"), version, expiresOn: inOneHour() }, credential);
    return (target, headers, body) => request(`${url}/open-private/${target}${target.includes("?") ? "&" : "?"}${sas}`, { method: "PUT", headers, body });
  };
  test("overwrites nothing", { azurite: "blob-only-creates" }, async () => {
    const put = creator();
    assert.equal((await put("created", blockBlob, "1")).status, 201);
    isRefused(await put("created", blockBlob, "2"), 403, "UnauthorizedBlobOverwrite");
    isRefused(await put("created", { "x-ms-blob-type": "AppendBlob" }), 403, "UnauthorizedBlobOverwrite");
    isRefused(await put("created", { "x-ms-copy-source": `${url}/open-private/a/b?${accountSas()}` }), 403, "UnauthorizedBlobOverwrite");
    isRefused(await put("created", { ...blockBlob, "If-None-Match": "*" }, "2"), 409, "BlobAlreadyExists");
    assert.equal((await wire("GET", "/open-private/created")).text, "1");
  });
  test("stages and commits blocks by a new signature, of what is not there", { azurite: "blob-only-creates" }, async () => {
    const old = creator("2025-11-05");
    isRefused(await old(`blocks?comp=block&blockid=${block}`, {}, "x"), 403, "AuthorizationPermissionMismatch");
    isRefused(await old("blocks?comp=blocklist", {}, "<BlockList></BlockList>"), 403, "AuthorizationPermissionMismatch");
    const put = creator("2026-04-06");
    assert.equal((await put(`blocks?comp=block&blockid=${block}`, {}, "x")).status, 201);
    assert.equal((await put("blocks?comp=blocklist", {}, list)).status, 201);
    isRefused(await put(`blocks?comp=block&blockid=${block}`, {}, "y"), 403, "UnauthorizedBlobOverwrite");
    isRefused(await put("blocks?comp=blocklist", {}, "<BlockList></BlockList>"), 403, "UnauthorizedBlobOverwrite");
    assert.equal((await wire("GET", "/open-private/blocks")).text, "x");
  });
});

test("a wrong signature is not anonymous", { azurite: "blob-auth-errors" }, async () => {
  isRefused(await anonymous("GET", "/open-blob/a/b?sv=2020-02-10&ss=b&srt=o&sp=r&se=2099-01-01&sig=AAAA"), 403, "AuthenticationFailed");
  isRefused(await anonymous("GET", "/open-blob/a/b", { headers: { Authorization: "SharedKey devstoreaccount1:AAAA" } }), 403, "AuthenticationFailed");
});
