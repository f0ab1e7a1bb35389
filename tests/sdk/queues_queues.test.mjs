// Queues themselves through the unmodified SDK: life, names, metadata, listings, policies, service properties.
import assert from "node:assert/strict";
import { element, fails, freshName, queue, service, wire } from "./queues_support.mjs";
import { all, describe, test } from "./support.mjs";

describe("life", () => {
  test("create is 201, then 204, then 409 with other metadata", async () => {
    const client = service.getQueueClient(freshName());
    assert.equal((await client.create())._response.status, 201);
    assert.equal((await client.create())._response.status, 204);
    await fails(client.create({ metadata: { a: "b" } }), 409, "QueueAlreadyExists");
    assert.equal((await client.createIfNotExists()).succeeded, false);
  });
  test("create again with the same metadata is 204, without any it is 409", async () => {
    const client = await queue({ metadata: { a: "b", c: "d" } });
    assert.equal((await client.create({ metadata: { c: "d", a: "b" } }))._response.status, 204);
    await fails(client.create(), 409, "QueueAlreadyExists");
    await fails(client.create({ metadata: { a: "b" } }), 409, "QueueAlreadyExists");
  });
  test("createIfNotExists says whether it did", async () => {
    const client = service.getQueueClient(freshName());
    assert.equal((await client.createIfNotExists()).succeeded, true);
    assert.equal((await client.createIfNotExists()).succeeded, false);
  });
  test("delete, deleteIfExists, exists", async () => {
    const client = await queue();
    assert.equal(await client.exists(), true);
    assert.equal((await client.delete())._response.status, 204);
    assert.equal(await client.exists(), false);
    await fails(client.delete(), 404, "QueueNotFound");
    assert.equal((await client.deleteIfExists()).succeeded, false);
  });
  test("a queue of the same name begins empty", async () => {
    const client = await queue({ metadata: { a: "b" } });
    const sent = await client.sendMessage("old");
    await client.delete();
    await client.create();
    const { approximateMessagesCount, metadata } = await client.getProperties();
    assert.equal(approximateMessagesCount, 0);
    assert.deepEqual({ ...metadata }, {});
    await fails(client.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
  });
  test("every operation on a missing queue is QueueNotFound", async () => {
    const client = service.getQueueClient("not-there");
    const receipt = "AAAAAAAAAAAAAAAAAAAAAA==";
    const id = "7c3e244a-292d-4ae4-af89-51a19a23c470";
    for (const operation of [
      () => client.sendMessage("m"), () => client.receiveMessages(), () => client.peekMessages(), () => client.clearMessages(),
      () => client.getProperties(), () => client.setMetadata({ a: "b" }), () => client.getAccessPolicy(),
      () => client.setAccessPolicy([]), () => client.delete(), () => client.deleteMessage(id, receipt),
      () => client.updateMessage(id, receipt, "x", 0),
    ]) await fails(operation(), 404, "QueueNotFound");
  });
});

describe("names", () => {
  for (const [name, code] of [["a--b", "InvalidResourceName"], ["-ab", "InvalidResourceName"], ["ab-", "InvalidResourceName"],
    ["Upper", "InvalidResourceName"], ["under_score", "InvalidResourceName"], ["do.t", "InvalidResourceName"],
    ["ab", "OutOfRangeInput"], ["a".repeat(64), "OutOfRangeInput"]]) {
    const shown = name.length > 20 ? `${name.length} letters` : name;
    test(`${shown} is refused`, async () => fails(service.getQueueClient(name).create(), 400, code));
  }
  for (const name of ["abc", "a".repeat(63), "0-1-2", "1a1"]) {
    test(`${name.length > 20 ? `${name.length} letters` : name} will do`, async () => {
      const client = service.getQueueClient(name);
      await client.create();
      await client.delete();
    });
  }
});

describe("metadata", () => {
  test("and the approximate count, which has the invisible messages too", async () => {
    const client = await queue();
    await client.setMetadata({ Owner: "me", k_1: "v & w" });
    await client.sendMessage("a");
    await client.sendMessage("b", { visibilityTimeout: 100 });
    const properties = await client.getProperties();
    assert.equal(properties.metadata.owner, "me");
    assert.equal(properties.metadata.k_1, "v & w");
    assert.equal(properties.approximateMessagesCount, 2);
  });
  test("is replaced as a whole, and removed", async () => {
    const client = await queue({ metadata: { a: "1", b: "2" } });
    await client.setMetadata({ b: "3" });
    assert.deepEqual({ ...(await client.getProperties()).metadata }, { b: "3" });
    await client.setMetadata();
    assert.deepEqual({ ...(await client.getProperties()).metadata }, {});
  });
  test("keeps the case of names in listings", async () => {
    const client = await queue({ metadata: { OwnerName: "me" } });
    const [item] = await all(service.listQueues({ prefix: client.name, includeMetadata: true }));
    assert.deepEqual({ ...item.metadata }, { OwnerName: "me" });
  });
  test("with a bad name is InvalidMetadata", { azurite: "queue-metadata-checks" }, async () => {
    const client = await queue();
    await fails(client.setMetadata({ "1a": "x" }), 400, "InvalidMetadata");
    await fails(client.setMetadata({ "a-b": "x" }), 400, "InvalidMetadata");
  });
  test("over 8 KiB is MetadataTooLarge", { azurite: "queue-metadata-checks" }, async () => {
    const client = await queue();
    await client.setMetadata({ a: "x".repeat(8000) });
    const large = Object.fromEntries([...Array(3)].map((_, i) => [`k${i}`, "x".repeat(3000)]));
    await fails(client.setMetadata(large), 400, "MetadataTooLarge");
    assert.equal((await client.getProperties()).metadata.a.length, 8000);
  });
});

describe("listing", () => {
  test("with prefix, pages and metadata", async () => {
    const prefix = `${freshName("list")}-`;
    for (let i = 0; i < 7; i++) await service.createQueue(`${prefix}${i}`, { metadata: { n: `${i}` } });
    const names = [];
    let pages = 0;
    for await (const page of service.listQueues({ prefix, includeMetadata: true }).byPage({ maxPageSize: 3 })) {
      pages += 1;
      assert.ok(page.queueItems.length <= 3);
      for (const item of page.queueItems) {
        names.push(item.name);
        assert.equal(item.metadata.n, item.name.slice(prefix.length));
      }
    }
    assert.deepEqual(names, [...Array(7).keys()].map((i) => `${prefix}${i}`));
    assert.equal(pages, 3);
  });
  test("goes on from a continuation token", async () => {
    const prefix = `${freshName("page")}-`;
    for (const n of ["a", "b", "c"]) await service.createQueue(`${prefix}${n}`);
    const first = (await service.listQueues({ prefix }).byPage({ maxPageSize: 1 }).next()).value;
    assert.deepEqual(first.queueItems.map((q) => q.name), [`${prefix}a`]);
    const rest = await all(service.listQueues({ prefix }).byPage({ continuationToken: first.continuationToken }));
    assert.deepEqual(rest.flatMap((p) => p.queueItems.map((q) => q.name)), [`${prefix}b`, `${prefix}c`]);
  });
  test("without metadata unless it was asked for", async () => {
    const client = await queue({ metadata: { a: "b" } });
    const [item] = await all(service.listQueues({ prefix: client.name }));
    assert.equal(item.metadata, undefined);
  });
  test("of nothing", async () => {
    assert.deepEqual(await all(service.listQueues({ prefix: "no-such-prefix" })), []);
  });
  test("says Prefix, Marker and MaxResults only if they were asked for", { azurite: "queue-list-elements" }, async () => {
    const plain = (await wire("GET", "/?comp=list")).text;
    for (const name of ["Prefix", "Marker", "MaxResults"]) assert.ok(!plain.includes(`<${name}`), name);
    const asked = (await wire("GET", "/?comp=list&prefix=nothing&maxresults=3")).text;
    assert.equal(element(asked, "Prefix"), "nothing");
    assert.equal(element(asked, "MaxResults"), "3");
    assert.match(asked, /<NextMarker\s*\/>|<NextMarker><\/NextMarker>/);
  });
  test("with bad maxresults", { azurite: "queue-parameter-codes" }, async () => {
    for (const n of ["0", "-1"]) {
      const answer = await wire("GET", `/?comp=list&maxresults=${n}`);
      assert.equal(answer.status, 400);
      assert.equal(answer.headers["x-ms-error-code"], "OutOfRangeQueryParameterValue");
    }
    assert.equal((await wire("GET", "/?comp=list&maxresults=5001")).status, 200);
  });
});

describe("access policies", () => {
  const rules = { startsOn: new Date("2024-01-01T00:00:00Z"), expiresOn: new Date("2034-01-01T00:00:00Z"), permissions: "raup" };
  test("round trip", async () => {
    const client = await queue();
    assert.deepEqual((await client.getAccessPolicy()).signedIdentifiers, []);
    await client.setAccessPolicy([{ id: "p1", accessPolicy: rules }]);
    const { signedIdentifiers: [got] } = await client.getAccessPolicy();
    assert.equal(got.id, "p1");
    assert.deepEqual({ ...got.accessPolicy }, rules);
    await client.setAccessPolicy([]);
    assert.deepEqual((await client.getAccessPolicy()).signedIdentifiers, []);
  });
  test("five of them, and not six", async () => {
    const client = await queue();
    const policies = (n) => [...Array(n).keys()].map((i) => ({ id: `p${i}`, accessPolicy: rules }));
    await client.setAccessPolicy(policies(5));
    assert.equal((await client.getAccessPolicy()).signedIdentifiers.length, 5);
    await fails(client.setAccessPolicy(policies(6)), 400, "InvalidXmlDocument");
    assert.equal((await client.getAccessPolicy()).signedIdentifiers.length, 5);
  });
  test("survive a change of metadata", async () => {
    const client = await queue();
    await client.setAccessPolicy([{ id: "p1", accessPolicy: rules }]);
    await client.setMetadata({ a: "b" });
    assert.equal((await client.getAccessPolicy()).signedIdentifiers.length, 1);
  });
});

describe("service", () => {
  test("properties round trip", { azurite: "queue-default-properties" }, async () => {
    const before = await service.getProperties();
    assert.equal(before.queueAnalyticsLogging.read, false);
    const rule = { allowedOrigins: "https://a.example", allowedMethods: "GET", allowedHeaders: "*", exposedHeaders: "*", maxAgeInSeconds: 60 };
    await service.setProperties({ ...before, cors: [rule] });
    assert.equal((await service.getProperties()).cors[0].allowedOrigins, "https://a.example");
    await service.setProperties({ ...before, cors: [] });
    assert.deepEqual((await service.getProperties()).cors ?? [], []);
  });
  test("headers that every answer has", { azurite: "queue-version-header" }, async () => {
    const answer = await wire("GET", "/?comp=list", { headers: { "x-ms-client-request-id": "mine" } });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["x-ms-version"], "2021-02-12");
    assert.equal(answer.headers["x-ms-client-request-id"], "mine");
    assert.match(answer.headers["x-ms-request-id"], /^[0-9a-f-]{36}$/);
    assert.match(answer.headers.date, / GMT$/);
    assert.equal(answer.headers["content-type"], "application/xml");
  });
});
