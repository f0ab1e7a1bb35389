// Every refusal that a client can cause, as the service words it: status, code in the header and in the body, and a
// check that it changed nothing. A table of requests below the SDK, with a case for each.
import assert from "node:assert/strict";
import { describe, test } from "./support.mjs";
import { accountSas, anonymous, isRefused, makeContainer, service, wire } from "./blobs_support.mjs";

const container = await makeContainer("errors");
const block = container.getBlockBlobClient("block");
await block.upload("text", 4);
const append = container.getAppendBlobClient("append");
await append.create();
await append.appendBlock("x", 1);
const page = container.getPageBlobClient("page");
await page.create(1024);
await container.getBlockBlobClient("taken-block").upload("x", 1);
await container.getAppendBlobClient("taken-append").create();
await container.getPageBlobClient("taken-page").create(512);
const sealed = container.getAppendBlobClient("sealed");
await sealed.create();
await sealed.seal();
const shot = container.getBlockBlobClient("shot");
await shot.upload("x", 1);
const { snapshot } = await shot.createSnapshot();
const archived = container.getBlockBlobClient("archived");
await archived.upload("x", 1, { tier: "Archive" });
const leased = container.getBlockBlobClient("leased");
await leased.upload("x", 1);
await leased.getBlobLeaseClient("11111111-1111-4111-8111-111111111111").acquireLease(-1);
const guarded = service.getContainerClient("errors-guarded");
await guarded.createIfNotExists();
await guarded.getBlobLeaseClient("11111111-1111-4111-8111-111111111111").acquireLease(-1);

const other = "22222222-2222-4222-8222-222222222222";
const id = (text) => encodeURIComponent(Buffer.from(text).toString("base64"));
await block.stageBlock(Buffer.from("one").toString("base64"), "x", 1);
const blockBlob = { "x-ms-blob-type": "BlockBlob" };
const list = (...ids) => `<BlockList>${ids.map((each) => `<Latest>${each}</Latest>`).join("")}</BlockList>`;
const pages = { "x-ms-page-write": "update", "x-ms-range": "bytes=0-511" };
const tagSet = (...tags) =>
  `<Tags><TagSet>${tags.map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`).join("")}</TagSet></Tags>`;
const lease = (action, more = {}) => ({ "x-ms-lease-action": action, ...more });

// [what, method, target below the container, headers, body, status, code, the id of Azurite's difference]
const cases = {
  "requests that are none": [
    ["an unknown comp", "PUT", "/block?comp=nonsense", {}, "", 400, "InvalidQueryParameterValue", "blob-error-codes"],
    ["a verb that blobs do not have", "PATCH", "/block", {}, "", 405, "UnsupportedHttpVerb", "blob-error-codes"],
    ["a blob without a type", "PUT", "/typeless", {}, "x", 400, "MissingRequiredHeader", "blob-error-codes"],
    ["a type that does not exist", "PUT", "/typed", { "x-ms-blob-type": "Blob" }, "x", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["a block without an id", "PUT", "/block?comp=block", {}, "x", 400, "MissingRequiredQueryParameter", "blob-error-codes"],
    ["a block id that is not base64", "PUT", "/block?comp=block&blockid=%21%21", {}, "x", 400, "InvalidQueryParameterValue"],
    ["a block id of 65 bytes", "PUT", `/block?comp=block&blockid=${id("x".repeat(65))}`, {}, "x", 400, "InvalidQueryParameterValue", "blob-error-codes"],
    ["block ids of two lengths", "PUT", `/block?comp=block&blockid=${id("longer")}`, {}, "x", 400, "InvalidBlobOrBlock"],
    ["a name of more than 1024 characters", "PUT", `/${"n".repeat(1025)}`, blockBlob, "x", 400, "OutOfRangeInput", "blob-error-codes"],
    ["a version of a blob", "GET", "/block?versionid=2020-01-01T00:00:00.0000000Z", {}, "", 400, "InvalidQueryParameterValue", "blob-error-codes"],
    ["a snapshot that is no time", "GET", "/block?snapshot=yesterday", {}, "", 400, "InvalidQueryParameterValue", "blob-error-codes"],
    ["a write to a snapshot", "PUT", `/shot?comp=metadata&snapshot=${snapshot}`, {}, "", 400, "InvalidQueryParameterValue", "blob-error-codes"],
  ],
  "what is not there": [
    ["a blob", "GET", "/missing", {}, "", 404, "BlobNotFound"],
    ["a snapshot", "GET", "/shot?snapshot=2020-01-01T00:00:00.0000000Z", {}, "", 404, "BlobNotFound"],
    ["the properties of a blob", "HEAD", "/missing", {}, "", 404, "BlobNotFound"],
    ["metadata to set", "PUT", "/missing?comp=metadata", {}, "", 404, "BlobNotFound"],
    ["properties to set", "PUT", "/missing?comp=properties", {}, "", 404, "BlobNotFound"],
    ["tags to set", "PUT", "/missing?comp=tags", {}, tagSet(), 404, "BlobNotFound"],
    ["tags to get", "GET", "/missing?comp=tags", {}, "", 404, "BlobNotFound"],
    ["a tier to set", "PUT", "/missing?comp=tier", { "x-ms-access-tier": "Cool" }, "", 404, "BlobNotFound"],
    ["a snapshot to take", "PUT", "/missing?comp=snapshot", {}, "", 404, "BlobNotFound"],
    ["a lease to acquire", "PUT", "/missing?comp=lease", lease("acquire", { "x-ms-lease-duration": "-1" }), "", 404, "BlobNotFound"],
    ["a list of blocks", "GET", "/missing?comp=blocklist", {}, "", 404, "BlobNotFound"],
    ["an append", "PUT", "/missing?comp=appendblock", {}, "x", 404, "BlobNotFound"],
    ["a write of pages", "PUT", "/missing?comp=page", pages, "x".repeat(512), 404, "BlobNotFound"],
    ["ranges of pages", "GET", "/missing?comp=pagelist", {}, "", 404, "BlobNotFound"],
    ["a delete", "DELETE", "/missing", {}, "", 404, "BlobNotFound"],
    ["an undelete", "PUT", "/missing?comp=undelete", {}, "", 404, "BlobNotFound", "blob-error-codes"],
    ["a seal", "PUT", "/missing?comp=seal", {}, "", 404, "BlobNotFound", "blob-error-codes"],
    ["an abort", "PUT", "/missing?comp=copy&copyid=1", { "x-ms-copy-action": "abort" }, "", 404, "BlobNotFound"],
  ],
  "values out of their range": [
    ["a page of no blobs", "GET", "?restype=container&comp=list&maxresults=0", {}, "", 400, "OutOfRangeQueryParameterValue", "blob-error-codes"],
    ["a page of less", "GET", "?restype=container&comp=list&maxresults=-1", {}, "", 400, "OutOfRangeQueryParameterValue", "blob-error-codes"],
    ["a page of many words", "GET", "?restype=container&comp=list&maxresults=many", {}, "", 400, "InvalidQueryParameterValue", "blob-error-codes"],
    ["something unknown to include", "GET", "?restype=container&comp=list&include=metadata,colour", {}, "", 400, "InvalidQueryParameterValue", "blob-error-codes"],
    ["an end without Arrow", "GET", "?restype=container&comp=list&endBefore=b", {}, "", 501, "NotImplemented", "blob-error-codes"],
    ["snapshots below a delimiter", "GET", "?restype=container&comp=list&include=snapshots&delimiter=/", {}, "", 400, "InvalidQueryParameterValue", "blob-error-codes"],
    ["a list of no kind of blocks", "GET", "/block?comp=blocklist&blocklisttype=some", {}, "", 400, "InvalidQueryParameterValue", "blob-error-codes"],
    ["a range behind the end", "GET", "/block", { "x-ms-range": "bytes=4-" }, "", 416, "InvalidRange", "blob-error-codes"],
    ["a hash without a range", "GET", "/block", { "x-ms-range-get-content-md5": "true" }, "", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["a lease of 14 seconds", "PUT", "/block?comp=lease", lease("acquire", { "x-ms-lease-duration": "14" }), "", 400, "InvalidHeaderValue"],
    ["a lease of 61 seconds", "PUT", "/block?comp=lease", lease("acquire", { "x-ms-lease-duration": "61" }), "", 400, "InvalidHeaderValue"],
    ["a lease id that is no GUID", "PUT", "/block?comp=lease", lease("acquire", { "x-ms-lease-duration": "-1", "x-ms-proposed-lease-id": "mine" }), "", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["a break of 61 seconds", "PUT", "/leased?comp=lease", lease("break", { "x-ms-lease-break-period": "61" }), "", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["an action that leases do not have", "PUT", "/leased?comp=lease", lease("borrow"), "", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["a page blob of 1000 bytes", "PUT", "/odd", { "x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": "1000" }, "", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["a page blob without a size", "PUT", "/sizeless", { "x-ms-blob-type": "PageBlob" }, "", 400, "MissingRequiredHeader", "blob-error-codes"],
    ["pages off the grid", "PUT", "/page?comp=page", { ...pages, "x-ms-range": "bytes=1-512" }, "x".repeat(512), 416, "InvalidPageRange", "blob-error-codes"],
    ["pages behind the end", "PUT", "/page?comp=page", { ...pages, "x-ms-range": "bytes=1024-1535" }, "x".repeat(512), 416, "InvalidPageRange", "blob-error-codes"],
    ["pages of more than the body", "PUT", "/page?comp=page", { ...pages, "x-ms-range": "bytes=0-1023" }, "x".repeat(512), 400, "InvalidHeaderValue", "blob-error-codes"],
    ["pages without a range", "PUT", "/page?comp=page", { "x-ms-page-write": "update" }, "x".repeat(512), 400, "MissingRequiredHeader", "blob-error-codes"],
    ["a sequence number that is none", "PUT", "/page?comp=page", { ...pages, "x-ms-if-sequence-number-eq": "first" }, "x".repeat(512), 400, "InvalidHeaderValue", "blob-error-codes"],
    ["an append of nothing", "PUT", "/append?comp=appendblock", {}, "", 400, "InvalidHeaderValue"],
    ["a tier that does not exist", "PUT", "/block?comp=tier", { "x-ms-access-tier": "Lukewarm" }, "", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["no tier", "PUT", "/block?comp=tier", {}, "", 400, "MissingRequiredHeader", "blob-error-codes"],
    ["snapshots to delete, some", "DELETE", "/shot", { "x-ms-delete-snapshots": "some" }, "", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["snapshots of a snapshot to delete", "DELETE", `/shot?snapshot=${snapshot}`, { "x-ms-delete-snapshots": "include" }, "", 400, "InvalidHeaderValue", "blob-error-codes"],
  ],
  "metadata and tags": [
    ["a name that is no identifier", "PUT", "/block?comp=metadata", { "x-ms-meta-a-b": "1" }, "", 400, "InvalidMetadata"],
    ["a name that begins with a digit", "PUT", "/block?comp=metadata", { "x-ms-meta-1a": "1" }, "", 400, "InvalidMetadata"],
    ["no name", "PUT", "/block?comp=metadata", { "x-ms-meta-": "1" }, "", 400, "EmptyMetadataKey", "blob-error-codes"],
    ["more than 8 KiB", "PUT", "/block?comp=metadata", { "x-ms-meta-a": "x".repeat(8192) }, "", 400, "MetadataTooLarge", "blob-error-codes"],
    ["eleven tags", "PUT", "/block?comp=tags", {}, tagSet(...Array.from({ length: 11 }, (_, n) => [`k${n}`, "v"])), 400, "TagsTooLarge"],
    ["a key of 129 characters", "PUT", "/block?comp=tags", {}, tagSet(["k".repeat(129), "v"]), 400, "TagsTooLarge"],
    ["a tag without a key", "PUT", "/block?comp=tags", {}, tagSet(["", "v"]), 400, "EmptyTagName", "blob-error-codes"],
    ["a character that tags do not have", "PUT", "/block?comp=tags", {}, tagSet(["k#", "v"]), 400, "InvalidTag", "blob-error-codes"],
    ["a key twice", "PUT", "/block?comp=tags", {}, tagSet(["k", "1"], ["k", "2"]), 400, "DuplicateTagNames", "blob-error-codes"],
    ["tags that are no XML", "PUT", "/block?comp=tags", {}, "tags", 400, "InvalidXmlDocument", "blob-error-codes"],
    ["a condition that is none", "GET", "/block", { "x-ms-if-tags": "a is b" }, "", 400, "InvalidHeaderValue"],
    ["a search for nothing", "GET", "?restype=container&comp=blobs", {}, "", 400, "MissingRequiredQueryParameter", "blob-error-codes"],
    ["a search that is none", "GET", "?restype=container&comp=blobs&where=a%20is%20b", {}, "", 400, "InvalidQueryParameterValue"],
  ],
  "bodies": [
    ["an MD5 that is none", "PUT", "/sum", { ...blockBlob, "Content-MD5": "AAAA" }, "x", 400, "InvalidMd5"],
    ["an MD5 of other bytes", "PUT", "/sum", { ...blockBlob, "Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA==" }, "x", 400, "Md5Mismatch"],
    ["a CRC-64 that is none", "PUT", "/sum", { ...blockBlob, "x-ms-content-crc64": "AAAA" }, "x", 400, "InvalidHeaderValue"],
    ["a CRC-64 of other bytes", "PUT", "/sum", { ...blockBlob, "x-ms-content-crc64": "AAAAAAAAAAA=" }, "x", 400, "Crc64Mismatch"],
    ["a block without bytes", "PUT", `/block?comp=block&blockid=${id("none")}`, {}, "", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["a list of blocks that is no XML", "PUT", "/block?comp=blocklist", {}, "blocks", 400, "InvalidXmlDocument", "blob-error-codes"],
    ["a list with a block that is not there", "PUT", "/block?comp=blocklist", {}, list("AAAA"), 400, "InvalidBlockList", "blob-error-codes"],
    ["a list of 50,001 blocks", "PUT", "/block?comp=blocklist", {}, list(...Array(50_001).fill("AAAA")), 400, "BlockListTooLong", "blob-error-codes"],
    ["properties that are no XML", "PUT", "^?restype=service&comp=properties", {}, "properties", 400, "InvalidXmlDocument", "blob-error-codes"],
    ["a page blob with a body", "PUT", "/bodied", { "x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": "512" }, "x", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["an append blob with a body", "PUT", "/bodied", { "x-ms-blob-type": "AppendBlob" }, "x", 400, "InvalidHeaderValue", "blob-error-codes"],
  ],
  "conflicts": [
    ["a container twice", "PUT", "?restype=container", {}, "", 409, "ContainerAlreadyExists"],
    ["a blob that must not be there", "PUT", "/block", { ...blockBlob, "If-None-Match": "*" }, "x", 409, "BlobAlreadyExists"],
    ["a blob with snapshots", "DELETE", "/shot", {}, "", 409, "SnapshotsPresent"],
    ["an append to a block blob", "PUT", "/block?comp=appendblock", {}, "x", 409, "InvalidBlobType"],
    ["blocks of an append blob", "PUT", `/append?comp=block&blockid=${id("one")}`, {}, "x", 409, "InvalidBlobType"],
    ["a list of blocks of a page blob", "PUT", "/page?comp=blocklist", {}, list(), 409, "InvalidBlobType"],
    ["pages of a block blob", "PUT", "/block?comp=page", pages, "x".repeat(512), 409, "InvalidBlobType"],
    ["ranges of pages of an append blob", "GET", "/append?comp=pagelist", {}, "", 409, "InvalidBlobType"],
    ["an append blob over a block blob", "PUT", "/taken-block", { "x-ms-blob-type": "AppendBlob" }, "", 409, "InvalidBlobType", "blob-overwritten-type"],
    ["a block blob over a page blob", "PUT", "/taken-page", blockBlob, "x", 409, "InvalidBlobType", "blob-overwritten-type"],
    ["a page blob over an append blob", "PUT", "/taken-append", { "x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": "512" }, "", 409, "InvalidBlobType", "blob-overwritten-type"],
    ["a block blob from a URL over an append blob", "PUT", "/taken-append", { ...blockBlob, "x-ms-copy-source": `${block.url}?${accountSas()}` }, "", 409, "InvalidBlobType", "blob-from-url"],
    ["a copy of a block blob over a page blob", "PUT", "/taken-page", { "x-ms-copy-source": `${block.url}?${accountSas()}` }, "", 409, "InvalidBlobType", "blob-overwritten-type"],
    ["a write over what is archived", "PUT", "/archived", blockBlob, "x", 409, "BlobArchived"],
    ["a seal of a block blob", "PUT", "/block?comp=seal", {}, "", 409, "InvalidBlobType", "blob-error-codes"],
    ["a tier of page blobs for a block blob", "PUT", "/block?comp=tier", { "x-ms-access-tier": "P10" }, "", 400, "InvalidHeaderValue", "blob-error-codes"],
    ["a tier of a page blob", "PUT", "/page?comp=tier", { "x-ms-access-tier": "Cool" }, "", 409, "InvalidBlobType", "blob-error-codes"],
    ["an append to what is sealed", "PUT", "/sealed?comp=appendblock", {}, "x", 409, "BlobIsSealed"],
    ["a read of what is archived", "GET", "/archived", {}, "", 409, "BlobArchived"],
    ["metadata of what is archived", "PUT", "/archived?comp=metadata", {}, "", 409, "BlobArchived", "blob-error-codes"],
    ["a copy of what is archived", "PUT", "/copied", { "x-ms-copy-source": `${archived.url}?${accountSas()}` }, "", 409, "BlobArchived", "blob-error-codes"],
    ["a copy from a URL that leads elsewhere", "PUT", "/copied", { "x-ms-copy-source": "http://example.com/a/b" }, "", 404, "CannotVerifyCopySource"],
    ["a copy of what the caller may not read", "PUT", "/copied", { "x-ms-copy-source": block.url }, "", 401, "CannotVerifyCopySource", "blob-error-codes"],
    ["an abort of a copy that has ended", "PUT", "/block?comp=copy&copyid=1", { "x-ms-copy-action": "abort" }, "", 409, "NoPendingCopyOperation", "blob-error-codes"],
    ["a lease that somebody has", "PUT", "/leased?comp=lease", lease("acquire", { "x-ms-lease-duration": "-1" }), "", 409, "LeaseAlreadyPresent"],
    ["a lease that somebody else has", "PUT", "/leased?comp=lease", lease("renew", { "x-ms-lease-id": other }), "", 409, "LeaseIdMismatchWithLeaseOperation"],
    ["a break of no lease", "PUT", "/block?comp=lease", lease("break"), "", 409, "LeaseNotPresentWithLeaseOperation", "blob-error-codes"],
  ],
  "conditions that do not hold": [
    ["a write without the lease", "PUT", "/leased", blockBlob, "x", 412, "LeaseIdMissing"],
    ["a write with another lease", "PUT", "/leased", { ...blockBlob, "x-ms-lease-id": other }, "x", 412, "LeaseIdMismatchWithBlobOperation"],
    ["a write with a lease that never was", "PUT", "/block", { ...blockBlob, "x-ms-lease-id": other }, "x", 412, "LeaseNotPresentWithBlobOperation"],
    ["a read with another lease", "GET", "/leased", { "x-ms-lease-id": other }, "", 412, "LeaseIdMismatchWithBlobOperation"],
    ["a delete without the lease", "DELETE", "/leased", {}, "", 412, "LeaseIdMissing"],
    ["a container without its lease", "DELETE", "^/errors-guarded?restype=container", {}, "", 412, "LeaseIdMissing"],
    ["a container with another lease", "DELETE", "^/errors-guarded?restype=container", { "x-ms-lease-id": other }, "", 412, "LeaseIdMismatchWithContainerOperation"],
    ["a container with a lease that never was", "DELETE", "?restype=container", { "x-ms-lease-id": other }, "", 412, "LeaseNotPresentWithContainerOperation"],
    ["another version", "PUT", "/block?comp=metadata", { "If-Match": '"0x1"' }, "", 412, "ConditionNotMet"],
    ["any version of what is to be read", "GET", "/block", { "If-None-Match": "*" }, "", 400, "UnsatisfiableCondition"],
    ["another place to append at", "PUT", "/append?comp=appendblock", { "x-ms-blob-condition-appendpos": "7" }, "x", 412, "AppendPositionConditionNotMet"],
    ["a size that would be exceeded", "PUT", "/append?comp=appendblock", { "x-ms-blob-condition-maxsize": "1" }, "x", 412, "MaxBlobSizeConditionNotMet"],
    ["another sequence number", "PUT", "/page?comp=page", { ...pages, "x-ms-if-sequence-number-eq": "7" }, "x".repeat(512), 412, "SequenceNumberConditionNotMet"],
    ["another version of the source", "PUT", "/copied", { "x-ms-copy-source": `${block.url}?${accountSas()}`, "x-ms-source-if-match": '"0x1"' }, "", 412, "SourceConditionNotMet", "blob-error-codes"],
  ],
};

for (const [group, rows] of Object.entries(cases)) {
  describe(group, () => {
    for (const [what, method, target, headers, body, status, code, azurite] of rows) {
      test(what, { azurite }, async () => {
        const before = (await wire("GET", "/errors?restype=container&comp=list&include=metadata,tags,snapshots,uncommittedblobs")).text;
        const answer = await wire(method, target.startsWith("^") ? target.slice(1) : `/errors${target}`, { headers, body });
        isRefused(answer, status, code);
        if (method !== "HEAD") assert.match(answer.text, new RegExp(`<Error>\\s*<Code>${code}</Code>\\s*<Message>[^<]+\\nRequestId:[^<]+\\nTime:[^<]+</Message>`));
        assert.equal((await wire("GET", "/errors?restype=container&comp=list&include=metadata,tags,snapshots,uncommittedblobs")).text, before);
      });
    }
  });
}

describe("containers that are not there", () => {
  for (const [what, method, target, headers = {}, body = ""] of [
    ["a blob in it", "GET", "/x"], ["a blob to write", "PUT", "/x", blockBlob, "x"], ["a block to write", "PUT", `/x?comp=block&blockid=${id("one")}`, {}, "x"],
    ["a list", "GET", "?restype=container&comp=list"], ["its properties", "GET", "?restype=container"],
    ["its metadata to set", "PUT", "?restype=container&comp=metadata"], ["a delete", "DELETE", "?restype=container"],
    ["a lease", "PUT", "?restype=container&comp=lease", lease("acquire", { "x-ms-lease-duration": "-1" })],
  ]) {
    test(what, async () => isRefused(await wire(method, `/no-such-container${target}`, { headers, body }), 404, "ContainerNotFound"));
  }
});

describe("names of containers", () => {
  for (const name of ["Upper", "under_score", "two--hyphens", "-begins", "ends-"]) {
    test(name, async () => isRefused(await wire("PUT", `/${name}?restype=container`), 400, "InvalidResourceName"));
  }
});

describe("nobody in particular", () => {
  test("reads nothing", { azurite: "blob-anonymous-codes" }, async () => isRefused(await anonymous("GET", "/errors/block"), 401, "NoAuthenticationInformation"));
  test("writes nothing", { azurite: "blob-anonymous-codes" }, async () =>
    isRefused(await anonymous("PUT", "/errors/block", { headers: blockBlob, body: "x" }), 401, "NoAuthenticationInformation"));
});
