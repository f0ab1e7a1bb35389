// Index tags, conditions on them, searches by them, and access tiers.
import assert from "node:assert/strict";
import { accountSas, isRefused, refused, service, wire } from "./blobs_support.mjs";
import { all as collect, before, describe, test } from "./support.mjs";

const container = service.getContainerClient("tagged");
const blob = (name) => container.getBlockBlobClient(name);
const put = (name, options) => blob(name).upload("x", 1, options);
const names = async (iterator) => (await collect(iterator)).map((found) => `${found.containerName}/${found.name}`);

before(() => container.create());

describe("tags", () => {
  test("come with an upload, in the order of their keys", async () => {
    await put("uploaded", { tags: { "t 2": "x/y", t1: "a b" } });
    assert.deepEqual((await blob("uploaded").getTags()).tags, { t1: "a b", "t 2": "x/y" });
    const properties = await blob("uploaded").getProperties();
    assert.equal((await blob("uploaded").download()).tagCount, 2);
    assert.ok(properties.etag);
  });
  test("come with a block list", async () => {
    const id = Buffer.from("1").toString("base64");
    await blob("blocks").stageBlock(id, "x", 1);
    await blob("blocks").commitBlockList([id], { tags: { a: "1" } });
    assert.deepEqual((await blob("blocks").getTags()).tags, { a: "1" });
  });
  test("are replaced as a whole, and the version stays", async () => {
    await put("replaced", { tags: { a: "1", b: "2" } });
    const first = await blob("replaced").getProperties();
    await blob("replaced").setTags({ c: "3" });
    assert.deepEqual((await blob("replaced").getTags()).tags, { c: "3" });
    assert.equal((await blob("replaced").getProperties()).etag, first.etag);
    await blob("replaced").setTags({});
    assert.deepEqual((await blob("replaced").getTags()).tags, {});
    assert.equal((await blob("replaced").download()).tagCount, undefined);
  });
  test("go with an upload that has none", async () => {
    await put("cleared", { tags: { a: "1" } });
    await put("cleared");
    assert.deepEqual((await blob("cleared").getTags()).tags, {});
  });
  test("stay when metadata and headers change", async () => {
    await put("kept", { tags: { a: "1" } });
    await blob("kept").setMetadata({ m: "1" });
    await blob("kept").setHTTPHeaders({ blobContentType: "a/b" });
    assert.deepEqual((await blob("kept").getTags()).tags, { a: "1" });
  });
  test("are refused if they are no tags", { azurite: "blob-tag-codes" }, async () => {
    const many = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`k${i}`, "v"]));
    await put("checked");
    await refused(blob("checked").setTags(many), 400, "TagsTooLarge");
    await refused(blob("checked").setTags({ ["k".repeat(129)]: "v" }), 400, "TagsTooLarge");
    await refused(blob("checked").setTags({ k: "v".repeat(257) }), 400, "TagsTooLarge");
    await refused(blob("checked").setTags({ "a#b": "v" }), 400, "InvalidTag");
    const tag = (k) => `<Tag><Key>${k}</Key><Value>v</Value></Tag>`;
    const send = (tags) => wire("PUT", "/tagged/checked?comp=tags", { body: `<Tags><TagSet>${tags}</TagSet></Tags>` });
    isRefused(await send(tag("")), 400, "EmptyTagName");
    isRefused(await send(tag("a") + tag("a")), 400, "DuplicateTagNames");
    isRefused(await send("<Tag><Key>a</Key></Tag>"), 400, "InvalidXmlDocument");
    assert.equal((await send(tag("a"))).status, 204);
    assert.equal((await wire("GET", "/tagged/checked?comp=tags")).text,
      '<?xml version="1.0" encoding="utf-8"?><Tags><TagSet><Tag><Key>a</Key><Value>v</Value></Tag></TagSet></Tags>');
  });
  test("of a snapshot are its own, as versions since 2020-08-04 know", async () => {
    await put("taken", { tags: { a: "1" } });
    const { snapshot } = await blob("taken").createSnapshot();
    const taken = blob("taken").withSnapshot(snapshot);
    assert.equal((await taken.setTags({ a: "2", b: "3" }))._response.status, 204);
    assert.deepEqual((await taken.getTags()).tags, { a: "2", b: "3" });
    assert.deepEqual((await blob("taken").getTags()).tags, { a: "1" });
    const listed = await collect(container.listBlobsFlat({ prefix: "taken", includeTags: true, includeSnapshots: true }));
    assert.deepEqual(listed.map((item) => item.tags), [{ a: "2", b: "3" }, { a: "1" }]);
    await refused(blob("taken").withSnapshot("2020-01-01T00:00:00.0000000Z").setTags({}), 404, "BlobNotFound");
  });
  test("of a snapshot do not change for older versions", { azurite: "blob-error-codes" }, async () => {
    await put("taken-before", { tags: { a: "1" } });
    const { snapshot } = await blob("taken-before").createSnapshot();
    isRefused(await wire("PUT", `/tagged/taken-before?comp=tags&snapshot=${encodeURIComponent(snapshot)}`,
      { headers: { "x-ms-version": "2020-06-12" }, body: "<Tags><TagSet/></Tags>" }), 400, "InvalidQueryParameterValue");
  });
  test("of a blob that is missing", async () => {
    await refused(blob("missing").getTags(), 404, "BlobNotFound");
    await refused(blob("missing").setTags({ a: "1" }), 404, "BlobNotFound");
  });
  test("are listed", async () => {
    await put("listed/a", { tags: { a: "1" } });
    await put("listed/b");
    const [a, b] = await collect(container.listBlobsFlat({ prefix: "listed/", includeTags: true }));
    assert.deepEqual([a.tags, a.properties.tagCount], [{ a: "1" }, 1]);
    assert.deepEqual([b.tags, b.properties.tagCount], [undefined, undefined]);
    const [without] = await collect(container.listBlobsFlat({ prefix: "listed/a" }));
    assert.deepEqual([without.tags, without.properties.tagCount], [undefined, 1]);
  });
});

describe("conditions on tags", () => {
  const when = (tagConditions) => ({ conditions: { tagConditions } });
  test("of reads", async () => {
    await put("read", { tags: { a: "1", b: "x" } });
    await blob("read").getProperties(when(`"a" = '1' AND "b" > 'w'`));
    await blob("read").download(0, undefined, when("a = '2' OR (b >= 'x' AND a <> '3')"));
    await refused(blob("read").download(0, undefined, when("a = '2'")), 412, "ConditionNotMet");
    await refused(blob("read").getProperties(when("c = ''")), 412);
  });
  test("of writes", { azurite: "blob-tag-conditions" }, async () => {
    await put("written", { tags: { a: "1" } });
    await refused(put("written", when("a = '2'")), 412, "ConditionNotMet");
    await refused(blob("written").setMetadata({}, when("a <> '1'")), 412, "ConditionNotMet");
    await refused(blob("written").setTags({}, when("a <> '1'")), 412, "ConditionNotMet");
    await refused(blob("written").getTags(when("a <> '1'")), 412, "ConditionNotMet");
    await refused(blob("written").delete(when("a < '1'")), 412, "ConditionNotMet");
    await blob("written").setTags({ a: "2" }, when("a = '1'"));
    await put("written", { ...when("a = '2'"), tags: { a: "3" } });
    await blob("written").delete(when("a = '3'"));
  });
  test("of snapshots, leases and copies", { azurite: "blob-source-tags" }, async () => {
    await put("around", { tags: { a: "1" } });
    await refused(blob("around").createSnapshot(when("a = '2'")), 412, "ConditionNotMet");
    const { snapshot } = await blob("around").createSnapshot(when("a = '1'"));
    await refused(blob("around").withSnapshot(snapshot).delete(when("a = '2'")), 412, "ConditionNotMet");
    await refused(blob("around").getBlobLeaseClient().acquireLease(15, when("a = '2'")), 412, "ConditionNotMet");
    const source = { "x-ms-copy-source": `${blob("around").url}?${accountSas()}` };
    const copy = (condition) => wire("PUT", "/tagged/copied", { headers: { ...source, "x-ms-source-if-tags": condition } });
    isRefused(await copy("a = '2'"), 412, "SourceConditionNotMet");
    isRefused(await copy("a"), 400, "InvalidHeaderValue");
  });
  test("that cannot be read", async () => {
    await put("odd");
    for (const text of ["a", "a = 1", "(a = '1'", "a = '1' b = '2'", "a == '1'", "a+1 = '1'", "a = '$'", "@container = 'tagged'"]) {
      await refused(blob("odd").download(0, undefined, when(text)), 400, "InvalidHeaderValue");
    }
  });
  test("are as long as a header may be", async () => {
    await put("long", { tags: { a: "1" } });
    const terms = Array.from({ length: 700 }, (_, n) => `a <> 'v${n}'`);
    assert.deepEqual((await blob("long").getTags(when(terms.join(" and ")))).tags, { a: "1" });
    await refused(blob("long").getTags(when([...terms, "a <> '1'"].join(" and "))), 412, "ConditionNotMet");
  });
});

describe("find by tags", () => {
  const other = service.getContainerClient("tagged-other");
  before(async () => {
    await other.create();
    for (const name of ["f/1", "f/2", "f/3"]) await put(name, { tags: { find: "me", rank: name.slice(2) } });
    await other.getBlockBlobClient("f/4").upload("x", 1, { tags: { find: "me", rank: "4" } });
    await other.getBlockBlobClient("f/5").upload("x", 1, { tags: { find: "not me", rank: "5" } });
  });
  test("in the account, in the order of containers and blobs", async () => {
    assert.deepEqual(await names(service.findBlobsByTags("find='me'")), ["tagged/f/1", "tagged/f/2", "tagged/f/3", "tagged-other/f/4"]);
  });
  test("with the tags that the search names", async () => {
    const [found] = await collect(service.findBlobsByTags("find='me' AND rank >= '4'"));
    assert.deepEqual(found.tags, { find: "me", rank: "4" });
    const [by_one] = await collect(service.findBlobsByTags("find='not me'"));
    assert.deepEqual(by_one.tags, { find: "not me" });
  });
  test("by ranges, and in one container", async () => {
    assert.deepEqual(await names(service.findBlobsByTags("rank > '2' and rank < '5'")), ["tagged/f/3", "tagged-other/f/4"]);
    assert.deepEqual(await names(service.findBlobsByTags("@container = 'tagged-other' AND rank > '0'")),
      ["tagged-other/f/4", "tagged-other/f/5"]);
    assert.deepEqual(await names(container.findBlobsByTags(`"find" = 'me'`)), ["tagged/f/1", "tagged/f/2", "tagged/f/3"]);
    assert.deepEqual(await names(service.findBlobsByTags("@container = 'no-such' AND rank > '0'")), []);
  });
  test("in pages", { azurite: "blob-find-pages" }, async () => {
    const pages = [];
    for await (const page of service.findBlobsByTags("find='me'").byPage({ maxPageSize: 3 })) pages.push(page.blobs.map((found) => found.name));
    assert.deepEqual(pages, [["f/1", "f/2", "f/3"], ["f/4"]]);
  });
  test("sees every change at once", async () => {
    await put("moving", { tags: { moving: "1" } });
    await blob("moving").setTags({ moving: "2" });
    assert.deepEqual(await names(service.findBlobsByTags("moving='1'")), []);
    assert.deepEqual(await names(service.findBlobsByTags("moving='2'")), ["tagged/moving"]);
    await blob("moving").delete();
    assert.deepEqual(await names(service.findBlobsByTags("moving='2'")), []);
    const gone = service.getContainerClient("tagged-gone");
    await gone.create();
    await gone.getBlockBlobClient("b").upload("x", 1, { tags: { gone: "1" } });
    await gone.delete();
    assert.deepEqual(await names(service.findBlobsByTags("gone='1'")), []);
  });
  test("repeats the search", { azurite: "blob-find-pages" }, async () => {
    const { text } = await wire("GET", `?comp=blobs&maxresults=1&where=${encodeURIComponent("find='me'")}`);
    assert.match(text, /<Where>find=(&apos;|')me(&apos;|')<\/Where><MaxResults>1<\/MaxResults><Blobs><Blob><Name>f\/1<\/Name><ContainerName>tagged<\/ContainerName><Tags>/);
    assert.match(text, /<NextMarker>.+<\/NextMarker>/);
  });
  test("refuses what is no search", { azurite: "blob-find-checks" }, async () => {
    const eleven = Array.from({ length: 11 }, (_, n) => `k${n}='v'`).join(" and ");
    for (const where of ["find", "find='me' OR rank='1'", "find <> 'me'", "(find='me')", "@container='tagged'", `"fi#nd"='me'`, "find='m@'",
      "find='me' and @account='a'", "find='me' and find='you'", eleven]) {
      for (const searched of [service, container]) {
        await refused(collect(searched.findBlobsByTags(where)), 400, "InvalidQueryParameterValue");
      }
    }
    await refused(collect(container.findBlobsByTags("find='me' and @container='tagged'")), 400, "InvalidQueryParameterValue");
    const { text } = await wire("GET", `?comp=blobs&where=${encodeURIComponent("find='m@'")}`);
    assert.match(text, /<Message>Error parsing query at or near character position 8: [^]*<QueryParameterName>where<\/QueryParameterName>/);
    isRefused(await wire("GET", "?comp=blobs"), 400, "MissingRequiredQueryParameter");
    await refused(collect(service.getContainerClient("no-such").findBlobsByTags("a='1'")), 404, "ContainerNotFound");
  });
});

describe("tiers", () => {
  test("are inferred until one is set", { azurite: "blob-tier-inferred" }, async () => {
    await put("tier");
    const inferred = await blob("tier").getProperties();
    assert.deepEqual([inferred.accessTier, inferred.accessTierInferred, inferred.accessTierChangedOn], ["Hot", true, undefined]);
    await blob("tier").setAccessTier("Cool");
    const set = await blob("tier").getProperties();
    assert.deepEqual([set.accessTier, set.accessTierInferred], ["Cool", undefined]);
    assert.ok(set.accessTierChangedOn);
    assert.equal(set.etag, inferred.etag);
    const [listed] = await collect(container.listBlobsFlat({ prefix: "tier" }));
    assert.equal(listed.properties.accessTier, "Cool");
    assert.equal(listed.properties.accessTierInferred, undefined);
    assert.ok(listed.properties.accessTierChangedOn);
  });
  test("come with an upload and with a block list", async () => {
    await put("tier-put", { tier: "Cold" });
    assert.equal((await blob("tier-put").getProperties()).accessTier, "Cold");
    await blob("tier-list").commitBlockList([], { tier: "Cool" });
    assert.equal((await blob("tier-list").getProperties()).accessTier, "Cool");
  });
  test("archive is not read and not changed, and comes back at once", { azurite: "blob-archive" }, async () => {
    await put("archived", { tags: { a: "1" } });
    await blob("archived").setAccessTier("Archive");
    await refused(blob("archived").download(), 409, "BlobArchived");
    await refused(blob("archived").setMetadata({ a: "1" }), 409, "BlobArchived");
    await refused(blob("archived").stageBlock("MQ==", "x", 1), 409, "BlobArchived");
    await refused(blob("archived").createSnapshot(), 409, "BlobArchived");
    await refused(put("archived"), 409, "BlobArchived");
    await put("another");
    await refused(blob("archived").syncUploadFromURL(blob("another").url), 409, "BlobArchived");
    await refused((async () => (await blob("archived").beginCopyFromURL(blob("another").url)).pollUntilDone())(), 409, "BlobArchived");
    assert.equal((await blob("archived").getProperties()).accessTier, "Archive");
    await (await blob("brought-back").beginCopyFromURL(blob("archived").url, { tier: "Cool" })).pollUntilDone();
    assert.equal((await blob("brought-back").downloadToBuffer()).toString(), "x");
    await refused(blob("brought-back").syncCopyFromURL(blob("archived").url, { tier: "Cool" }), 409, "BlobArchived");
    await blob("archived").setTags({ a: "2" });
    const back = await blob("archived").setAccessTier("Hot", { rehydratePriority: "High" });
    assert.equal(back._response.status, 202);
    assert.equal((await blob("archived").downloadToBuffer()).toString(), "x");
    await blob("archived").setAccessTier("Archive");
    await blob("archived").delete();
  });
  test("stay when a blob is overwritten, unless one is given", { azurite: "blob-tier-inherited" }, async () => {
    await put("tier-kept", { tier: "Cool" });
    await put("tier-kept");
    assert.equal((await blob("tier-kept").getProperties()).accessTier, "Cool");
    await blob("tier-kept").commitBlockList([]);
    assert.equal((await blob("tier-kept").getProperties()).accessTier, "Cool");
    await put("tier-kept", { tier: "Hot" });
    assert.equal((await blob("tier-kept").getProperties()).accessTier, "Hot");
  });
  test("of a snapshot are its own", { azurite: "blob-tier-snapshots" }, async () => {
    await put("tier-snapshot");
    const { snapshot } = await blob("tier-snapshot").createSnapshot();
    const taken = blob("tier-snapshot").withSnapshot(snapshot);
    assert.equal((await taken.getProperties()).accessTier, undefined);
    await taken.setAccessTier("Cool");
    assert.equal((await taken.getProperties()).accessTier, "Cool");
    assert.equal((await blob("tier-snapshot").getProperties()).accessTier, "Hot");
    const [listed] = await collect(container.listBlobsFlat({ prefix: "tier-snapshot", includeSnapshots: true }));
    assert.deepEqual([Boolean(listed.snapshot), listed.properties.accessTier], [true, "Cool"]);
    await taken.setAccessTier("Archive");
    await refused(taken.download(), 409, "BlobArchived");
    await blob("tier-snapshot").download();
  });

  test("are refused if there is no such tier", { azurite: "blob-tier-codes" }, async () => {
    await put("tier-odd");
    await refused(blob("tier-odd").setAccessTier("P10"), 400, "InvalidHeaderValue");
    isRefused(await wire("PUT", "/tagged/tier-odd", { headers: { "x-ms-blob-type": "BlockBlob", "x-ms-access-tier": "Lukewarm" } }),
      400, "InvalidHeaderValue");
    isRefused(await wire("PUT", "/tagged/tier-odd?comp=tier"), 400, "MissingRequiredHeader");
    isRefused(await wire("PUT", "/tagged/tier-odd?comp=tier", { headers: { "x-ms-access-tier": "Hot", "x-ms-rehydrate-priority": "Now" } }),
      400, "InvalidHeaderValue");
    await refused(blob("missing").setAccessTier("Hot"), 404, "BlobNotFound");
  });
  test("and the priority of their change may be in any case", { azurite: "blob-tier-codes" }, async () => {
    await put("tier-case", { tier: "COOL" });
    assert.equal((await blob("tier-case").getProperties()).accessTier, "Cool");
    await blob("tier-case").setAccessTier("archive");
    await refused(blob("tier-case").download(), 409, "BlobArchived");
    await blob("tier-case").setAccessTier("hot", { rehydratePriority: "standard" });
    assert.equal((await blob("tier-case").getProperties()).accessTier, "Hot");
  });
  test("obey conditions on tags", { azurite: "blob-tag-conditions" }, async () => {
    await put("tier-if", { tags: { a: "1" } });
    await refused(blob("tier-if").setAccessTier("Cool", { conditions: { tagConditions: "a = '2'" } }), 412, "ConditionNotMet");
    await blob("tier-if").setAccessTier("Cool", { conditions: { tagConditions: "a = '1'" } });
  });
});
