// Batches: deletes and tiers, each authorised on its own.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { BlobServiceClient } from "@azure/storage-blob";
import { accountSas, isRefused, service, url, wire } from "./blobs_support.mjs";
import { account, before, describe, key, request, test } from "./support.mjs";

const container = service.getContainerClient("batched");
const blob = (name) => container.getBlockBlobClient(name);
const put = (name) => blob(name).upload("x", 1);

before(() => container.create());

describe("sdk", () => {
  test("deletes blobs", async () => {
    for (const name of ["d/1", "d/2 +%", "d/3"]) await put(name);
    const answer = await service.getBlobBatchClient().deleteBlobs(["d/1", "d/2 +%", "d/3"].map(blob));
    assert.equal(answer.subResponsesSucceededCount, 3);
    assert.deepEqual(answer.subResponses.map((part) => part.status), [202, 202, 202]);
    assert.equal(await blob("d/2 +%").exists(), false);
  });
  test("tells of each failure, in order", async () => {
    await put("e/2");
    const answer = await container.getBlobBatchClient().deleteBlobs([blob("e/1"), blob("e/2")]);
    assert.deepEqual(answer.subResponses.map((part) => [part.status, part.errorCode]), [[404, "BlobNotFound"], [202, undefined]]);
    assert.deepEqual([answer.subResponsesSucceededCount, answer.subResponsesFailedCount], [1, 1]);
  });
  test("sets tiers", async () => {
    for (const name of ["t/1", "t/2"]) await put(name);
    const answer = await service.getBlobBatchClient().setBlobsAccessTier([blob("t/1"), blob("t/2")], "Cool");
    assert.equal(answer.subResponsesSucceededCount, 2);
    assert.equal((await blob("t/2").getProperties()).accessTier, "Cool");
  });
  test("by SAS", async () => {
    await put("sas/1");
    const byToken = new BlobServiceClient(`${url}?${accountSas("d")}`);
    const target = byToken.getContainerClient("batched").getBlockBlobClient("sas/1");
    const answer = await byToken.getBlobBatchClient().deleteBlobs([target]);
    assert.equal(answer.subResponsesSucceededCount, 1);
  });
  test("a part that may not is refused alone", async () => {
    for (const name of ["own/1", "own/2"]) await put(name);
    const reader = new BlobServiceClient(`${url}?${accountSas("r")}`).getContainerClient("batched").getBlockBlobClient("own/1");
    const batch = service.getBlobBatchClient().createBatch();
    await batch.deleteBlob(reader);
    const answer = await service.getBlobBatchClient().submitBatch(batch);
    assert.equal(answer.subResponses[0].errorCode, "AuthorizationPermissionMismatch");
    const mine = await service.getBlobBatchClient().deleteBlobs([blob("own/2")]);
    assert.equal(mine.subResponsesSucceededCount, 1);
    assert.equal(await blob("own/1").exists(), true);
  });
});

describe("wire", () => {
  const boundary = "batch_1";
  const type = { "Content-Type": `multipart/mixed; boundary=${boundary}` };
  const part = (id, lines) => `--${boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: ${id}\r\n\r\n${lines.join("\r\n")}\r\n\r\n`;
  const end = `--${boundary}--\r\n`;
  const date = () => new Date().toUTCString();
  const sent = (target, body) => wire("POST", target, { headers: type, body });
  /// A part as Debian's Python client writes it: without the account, with a stray question mark.
  const pythonPart = (id, path, when = date()) => {
    const text = `DELETE\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${when}\n/${account}${path}`;
    const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
    return part(id, [`DELETE ${path}? HTTP/1.1`, "Content-Length: 0", `x-ms-date: ${when}`, `Authorization: SharedKey ${account}:${signature}`, ""]);
  };

  test("a path without the account", { azurite: "blob-batch-path" }, async () => {
    await put("py");
    const answer = await sent("?comp=batch", pythonPart(0, "/batched/py") + pythonPart(1, "/batched/py") + end);
    assert.equal(answer.status, 202);
    assert.match(answer.headers["content-type"], /^multipart\/mixed; boundary=batchresponse_/);
    assert.match(answer.text, /Content-ID: 0\r\n\r\nHTTP\/1.1 202 Accepted\r\n[^]*Content-ID: 1\r\n\r\nHTTP\/1.1 404 Not Found\r\n/);
    assert.equal(await blob("py").exists(), false);
  });
  test("a part without credentials is refused", { azurite: "blob-anonymous-codes" }, async () => {
    await put("naked");
    const answer = await sent("?comp=batch", part(0, [`DELETE /${account}/batched/naked HTTP/1.1`]) + end);
    assert.match(answer.text, /HTTP\/1.1 401 [^]*x-ms-error-code: NoAuthenticationInformation/);
    assert.equal(await blob("naked").exists(), true);
  });
  test("what is no batch is refused as a whole", { azurite: "blob-batch-checks" }, async () => {
    const sas = accountSas();
    await put("safe");
    const erase = part(0, [`DELETE /${account}/batched/safe?${sas} HTTP/1.1`]);
    for (const bad of ["", "nonsense", erase + part(1, [`PUT /${account}/batched/new?${sas} HTTP/1.1`, "x-ms-blob-type: BlockBlob"]) + end,
      erase + part(1, [`POST /${account}?comp=batch&${sas} HTTP/1.1`]) + end, erase + part(1, [`DELETE /${account}/batched?restype=container&${sas} HTTP/1.1`]) + end,
      erase + part(1, ["DELETE nowhere HTTP/1.1"]) + end, erase + part(1, ["DELETE / HTTP/1.1"]) + end, erase + part(1, [`DELETE /${account} HTTP/1.1`]) + end,
      Array.from({ length: 257 }, (_, i) => part(i, [`DELETE /${account}/batched/no?${sas} HTTP/1.1`])).join("") + end]) {
      isRefused(await sent("?comp=batch", bad), 400, "InvalidInput");
    }
    isRefused(await wire("POST", "?comp=batch", { headers: { "Content-Type": "text/plain" }, body: erase + end }), 400, "InvalidHeaderValue");
    assert.equal(await blob("safe").exists(), true);
  });
  test("a container's batch stays in the container", { azurite: "blob-batch-checks" }, async () => {
    const sas = accountSas();
    const body = part(0, [`DELETE /${account}/other/x?${sas} HTTP/1.1`]) + end;
    isRefused(await sent("/batched?restype=container&comp=batch", body), 400, "InvalidInput");
  });
  test("a batch without credentials is refused", { azurite: "blob-anonymous-codes" }, async () => {
    isRefused(await request(`${url}?comp=batch`, { method: "POST", headers: type, body: end }), 401, "NoAuthenticationInformation");
  });
  test("a body is bounded", { azurite: "blob-batch-checks" }, async () => {
    isRefused(await sent("?comp=batch", "x".repeat((4 << 20) + 1)), 413, "RequestBodyTooLarge");
  });
});
