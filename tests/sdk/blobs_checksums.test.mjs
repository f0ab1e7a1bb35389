// MD5 and CRC-64 of transferred content: checked, and returned.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { accountSas, isRefused, refused, service, wire } from "./blobs_support.mjs";
import { before, describe, test } from "./support.mjs";

const container = service.getContainerClient("checksums");
const blob = (name) => container.getBlockBlobClient(name);
const md5 = (text) => createHash("md5").update(text).digest("base64");
const crc = { "hello world": "vo7q9sPVKY0=", AAA: "Cc/2Kr4DuKg=", BBB: "+3yuPEA7IqE=" };
const old = { "x-ms-version": "2018-11-09" };
const put = (name, headers, body) => wire("PUT", `/checksums/${name}`, { headers: { "x-ms-blob-type": "BlockBlob", ...headers }, body });
const block = (headers, body = "AAA") => wire("PUT", "/checksums/blocks?comp=block&blockid=MQ==", { headers, body });
const hashes = ({ status, headers }) => [status, headers["content-md5"], headers["x-ms-content-crc64"]];

before(() => container.create());

describe("put blob", () => {
  test("answers both", { azurite: "blob-crc64" }, async () => {
    assert.deepEqual(hashes(await put("both", {}, "hello world")), [201, md5("hello world"), crc["hello world"]]);
    assert.deepEqual(hashes(await put("both", old, "hello world")), [201, md5("hello world"), undefined]);
  });
  test("checks what is declared", async () => {
    assert.equal((await put("checked", { "x-ms-content-crc64": crc.AAA }, "AAA")).status, 201);
    const wrong = await put("wrong", { "x-ms-content-crc64": crc.BBB }, "AAA");
    isRefused(wrong, 400, "Crc64Mismatch");
    assert.match(wrong.text, new RegExp(`<UserSpecifiedCrc64>${crc.BBB.replace("+", "\\+")}</UserSpecifiedCrc64>\\s*<ServerCalculatedCrc64>${crc.AAA}<`));
    isRefused(await put("wrong", { "x-ms-content-crc64": "AAAA" }, "AAA"), 400, "InvalidHeaderValue");
    isRefused(await put("wrong", { "x-ms-content-crc64": crc.AAA, "Content-MD5": md5("AAA") }, "AAA"), 400, "BothCrc64AndMd5HeaderPresent");
    assert.equal(await blob("wrong").exists(), false);
  });
  test("checks the MD5 of the blob in place of that of the request", async () => {
    const declared = (blob, request) => put("two", { "x-ms-blob-content-md5": md5(blob), "Content-MD5": md5(request) }, "AAA");
    isRefused(await declared("BBB", "AAA"), 400, "Md5Mismatch");
    assert.equal((await declared("AAA", "BBB")).status, 201);
    assert.equal((await blob("two").getProperties()).contentMD5.toString("base64"), md5("AAA"));
  });
});

describe("blocks", () => {
  test("answer what was declared, else what the version has", { azurite: "blob-crc64" }, async () => {
    assert.deepEqual(hashes(await block({})), [201, undefined, crc.AAA]);
    assert.deepEqual(hashes(await block({ "Content-MD5": md5("AAA") })), [201, md5("AAA"), undefined]);
    assert.deepEqual(hashes(await block({ "x-ms-content-crc64": crc.AAA })), [201, undefined, crc.AAA]);
    assert.deepEqual(hashes(await block(old)), [201, md5("AAA"), undefined]);
  });
  test("are checked", async () => {
    isRefused(await block({ "x-ms-content-crc64": crc.BBB }), 400, "Crc64Mismatch");
    isRefused(await block({ "Content-MD5": md5("BBB") }), 400, "Md5Mismatch");
    isRefused(await block({ "x-ms-content-crc64": crc.AAA, "Content-MD5": md5("AAA") }), 400, "BothCrc64AndMd5HeaderPresent");
  });
  test("of the SDK", async () => {
    const sent = Buffer.from(crc.BBB, "base64");
    const answer = await blob("sdk").stageBlock("MQ==", "BBB", 3, { transactionalContentCrc64: sent });
    assert.deepEqual(Buffer.from(answer.xMsContentCrc64), sent);
    await refused(blob("sdk").stageBlock("MQ==", "AAA", 3, { transactionalContentCrc64: sent }), 400, "Crc64Mismatch");
  });
  test("from a URL", { azurite: "blob-crc64" }, async () => {
    await put("source", {}, "AAABBB");
    const copied = (headers) => wire("PUT", "/checksums/from-url?comp=block&blockid=MQ==",
      { headers: { "x-ms-copy-source": `${blob("source").url}?${accountSas()}`, "x-ms-source-range": "bytes=0-2", ...headers } });
    assert.deepEqual(hashes(await copied({})), [201, undefined, crc.AAA]);
    assert.deepEqual(hashes(await copied({ "x-ms-source-content-md5": md5("AAA") })), [201, md5("AAA"), undefined]);
    isRefused(await copied({ "x-ms-source-content-md5": md5("BBB") }), 400, "Md5Mismatch");
    isRefused(await copied({ "x-ms-source-content-crc64": crc.BBB }), 400, "Crc64Mismatch");
  });
  test("appended", async () => {
    await container.getAppendBlobClient("appended").create();
    const append = (headers) => wire("PUT", "/checksums/appended?comp=appendblock", { headers, body: "AAA" });
    isRefused(await append({ "x-ms-content-crc64": crc.BBB }), 400, "Crc64Mismatch");
    assert.equal((await append({ "x-ms-content-crc64": crc.AAA })).status, 201);
    assert.equal((await append({ "Content-MD5": md5("AAA") })).headers["content-md5"], md5("AAA"));
  });
  test("a list answers the hash of its XML", { azurite: "blob-crc64" }, async () => {
    const body = "<BlockList></BlockList>";
    const commit = (headers) => wire("PUT", "/checksums/list?comp=blocklist", { headers, body });
    assert.deepEqual(hashes(await commit({ "Content-MD5": md5(body) })), [201, md5(body), undefined]);
    assert.deepEqual(hashes(await commit(old)), [201, md5(body), undefined]);
    const [status, none, sum] = hashes(await commit({}));
    assert.deepEqual([status, none], [201, undefined]);
    assert.deepEqual(hashes(await commit({ "x-ms-content-crc64": sum })), [201, undefined, sum]);
    isRefused(await commit({ "x-ms-content-crc64": crc.AAA }), 400, "Crc64Mismatch");
    isRefused(await commit({ "Content-MD5": md5("other") }), 400, "Md5Mismatch");
  });
});

describe("ranges", () => {
  const range = (headers, bytes = "bytes=0-2") => wire("GET", "/checksums/ranged", { headers: { "x-ms-range": bytes, ...headers } });
  before(() => put("ranged", {}, "AAABBB"));
  test("of CRC-64 and of MD5", { azurite: "blob-crc64" }, async () => {
    assert.deepEqual(hashes(await range({ "x-ms-range-get-content-crc64": "true" })), [206, undefined, crc.AAA]);
    assert.deepEqual(hashes(await range({ "x-ms-range-get-content-md5": "True" }, "bytes=3-5")), [206, md5("BBB"), undefined]);
    assert.deepEqual(hashes(await range({})), [206, undefined, undefined]);
  });
  test("are refused without a range, too large, and both at once", { azurite: "blob-crc64" }, async () => {
    isRefused(await wire("GET", "/checksums/ranged", { headers: { "x-ms-range-get-content-crc64": "true" } }), 400, "InvalidHeaderValue");
    isRefused(await range({ "x-ms-range-get-content-crc64": "true", "x-ms-range-get-content-md5": "true" }), 400, "InvalidHeaderValue");
    await blob("large").upload(Buffer.alloc((4 << 20) + 1), (4 << 20) + 1);
    isRefused(await wire("GET", "/checksums/large", { headers: { Range: "bytes=0-", "x-ms-range-get-content-crc64": "true" } }), 400, "OutOfRangeInput");
  });
});

describe("structured bodies", () => {
  const form = "XSM/1.0; properties=crc64";
  const number = (value, bytes) => {
    const out = Buffer.alloc(8);
    out.writeBigUInt64LE(BigInt(value));
    return out.subarray(0, bytes);
  };
  /// Makes a message with one segment.
  const message = (text, sum = crc[text]) => {
    const sums = Buffer.from(sum, "base64");
    const rest = Buffer.concat([number(1, 2), number(text.length, 8), Buffer.from(text), sums, sums]);
    return Buffer.concat([number(1, 1), number(13 + rest.length, 8), number(1, 2), number(1, 2), rest]);
  };
  const headers = (text) => ({ "x-ms-structured-body": form, "x-ms-structured-content-length": String(text.length) });
  const get = (name, more = {}) => wire("GET", `/checksums/${name}`, { headers: { "x-ms-structured-body": form, ...more } });

  test("are received", { azurite: "blob-structured" }, async () => {
    const answer = await put("structured", headers("hello world"), message("hello world"));
    assert.deepEqual([answer.status, answer.headers["x-ms-structured-body"]], [201, form]);
    assert.equal((await blob("structured").downloadToBuffer()).toString(), "hello world");
    assert.equal((await blob("structured").getProperties()).contentLength, 11);
    const staged = await wire("PUT", "/checksums/structured?comp=block&blockid=MQ==", { headers: headers("AAA"), body: message("AAA") });
    assert.deepEqual([staged.status, staged.headers["x-ms-structured-body"]], [201, form]);
    await blob("structured").commitBlockList(["MQ=="]);
    assert.equal((await blob("structured").downloadToBuffer()).toString(), "AAA");
  });
  test("are sent, also for a range", { azurite: "blob-structured" }, async () => {
    await put("sent", {}, "AAAhello world");
    const answer = await get("sent", { "x-ms-range": "bytes=3-13" });
    assert.equal(answer.status, 206);
    assert.deepEqual(["x-ms-structured-body", "x-ms-structured-content-length", "content-length", "content-range"].map((name) => answer.headers[name]),
      [form, "11", String(message("hello world").length), "bytes 3-13/14"]);
    assert.deepEqual(answer.bytes, message("hello world"));
  });
  test("are checked", { azurite: "blob-structured" }, async () => {
    isRefused(await put("bad", headers("AAA"), message("AAA", crc.BBB)), 400, "Crc64Mismatch");
    isRefused(await put("bad", headers("AAAA"), message("AAA")), 400, "InvalidInput");
    isRefused(await put("bad", headers("AAA"), message("AAA").subarray(0, -1)), 400, "InvalidInput");
    isRefused(await put("bad", { "x-ms-structured-body": form }, message("AAA")), 400, "MissingRequiredHeader");
    isRefused(await put("bad", { ...headers("AAA"), "x-ms-structured-body": "XSM/2.0" }, message("AAA")), 400, "InvalidHeaderValue");
    assert.equal(await blob("bad").exists(), false);
  });
});
