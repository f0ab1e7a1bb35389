// Entities: insert, read, replace, merge, upsert, delete; ETags and conditions; keys.
import assert from "node:assert/strict";
import { odata } from "@azure/data-tables";
import { before, describe, test } from "./support.mjs";
import { codeOf, endpoint, entityUrl, failsWith, freshTable, query, raw, rows, versionOf } from "./tables_support.mjs";

let client;
let counter = 0;
before(async () => { client = await freshTable(); });
const fresh = (properties = {}) => ({ partitionKey: "p", rowKey: `row${counter++}`, ...properties });
const path = (rowKey) => entityUrl(client.tableName, "p", rowKey);
const own = async ({ partitionKey, rowKey }) => {
  const { partitionKey: _p, rowKey: _r, etag, timestamp, ...rest } = await client.getEntity(partitionKey, rowKey);
  delete rest["odata.metadata"];
  return rest;
};
const outcome = (answer) => [answer.status, answer.status < 400 ? answer.text : codeOf(answer)];

describe("writing", () => {
  test("an insert is read back", async () => {
    const entity = fresh({ a: 1, b: "two" });
    await client.createEntity(entity);
    assert.deepEqual(await own(entity), { a: 1, b: "two" });
  });
  test("an entity needs no own properties", async () => {
    const entity = fresh();
    await client.createEntity(entity);
    assert.deepEqual(await own(entity), {});
  });
  test("an insert twice", async () => {
    const entity = fresh({ a: 1 });
    await client.createEntity(entity);
    await assert.rejects(client.createEntity({ ...entity, a: 2 }), failsWith(409, "EntityAlreadyExists"));
    assert.deepEqual(await own(entity), { a: 1 });
  });
  test("an insert after a delete", async () => {
    const entity = fresh({ a: 1 });
    await client.createEntity(entity);
    await client.deleteEntity("p", entity.rowKey);
    await client.createEntity({ ...entity, a: 2 });
    assert.deepEqual(await own(entity), { a: 2 });
  });
  for (const [mode, expected] of [["Replace", { b: 2 }], ["Merge", { a: 1, b: 2 }]]) {
    test(`an upsert (${mode}) creates`, async () => {
      const entity = fresh({ a: 1 });
      await client.upsertEntity(entity, mode);
      assert.deepEqual(await own(entity), { a: 1 });
    });
    test(`an upsert (${mode}) of an existing entity`, async () => {
      const { rowKey } = fresh();
      await client.createEntity({ partitionKey: "p", rowKey, a: 1 });
      await client.upsertEntity({ partitionKey: "p", rowKey, b: 2 }, mode);
      assert.deepEqual(await own({ partitionKey: "p", rowKey }), expected);
    });
    test(`an update (${mode})`, async () => {
      const { rowKey } = fresh();
      await client.createEntity({ partitionKey: "p", rowKey, a: 1 });
      await client.updateEntity({ partitionKey: "p", rowKey, b: 2 }, mode);
      assert.deepEqual(await own({ partitionKey: "p", rowKey }), expected);
    });
    test(`an update (${mode}) of a missing entity`, async () => {
      await assert.rejects(client.updateEntity(fresh(), mode), failsWith(404, "ResourceNotFound"));
    });
  }
  test("a merge overwrites what both have", async () => {
    const entity = fresh({ a: 1, b: 1 });
    await client.createEntity(entity);
    await client.updateEntity({ ...entity, b: "two" }, "Merge");
    assert.deepEqual(await own(entity), { a: 1, b: "two" });
  });
  test("an empty merge changes the version and nothing else", async () => {
    const entity = fresh({ a: 1 });
    const { etag } = await client.createEntity(entity);
    const merged = await client.updateEntity({ partitionKey: "p", rowKey: entity.rowKey }, "Merge");
    assert.notEqual(merged.etag, etag);
    assert.deepEqual(await own(entity), { a: 1 });
  });
  test("a delete", async () => {
    const entity = fresh();
    await client.createEntity(entity);
    await client.deleteEntity("p", entity.rowKey);
    await assert.rejects(client.getEntity("p", entity.rowKey), failsWith(404, "ResourceNotFound"));
  });
  test("a delete of a missing entity", async () => {
    await assert.rejects(client.deleteEntity("p", "missing"), failsWith(404, "ResourceNotFound"));
  });
  test("the same row in two partitions is two entities", async () => {
    const { rowKey } = fresh();
    for (const partitionKey of ["one", "two"]) await client.createEntity({ partitionKey, rowKey, of: partitionKey });
    await client.deleteEntity("one", rowKey);
    assert.equal((await client.getEntity("two", rowKey)).of, "two");
  });
  test("MERGE is PATCH", async () => {
    const entity = fresh({ a: 1 });
    await client.createEntity(entity);
    assert.equal((await raw("MERGE", path(entity.rowKey), { body: { b: 2 }, headers: { "If-Match": "*" } })).status, 204);
    assert.deepEqual(await own(entity), { a: 1, b: 2 });
  });
  for (const [verb, expected] of [["MERGE", { a: 1, b: 2 }], ["PUT", { b: 2 }]]) {
    test(`${verb} through X-HTTP-Method`, { azurite: verb === "PUT" ? "table-x-http-method" : undefined }, async () => {
      const entity = fresh({ a: 1 });
      await client.createEntity(entity);
      const answer = await raw("POST", path(entity.rowKey), { body: { b: 2 }, headers: { "X-HTTP-Method": verb, "If-Match": "*" } });
      assert.equal(answer.status, 204);
      assert.deepEqual(await own(entity), expected);
    });
  }
  test("DELETE through X-HTTP-Method", async () => {
    const entity = fresh();
    await client.createEntity(entity);
    assert.equal((await raw("POST", path(entity.rowKey), { headers: { "X-HTTP-Method": "DELETE", "If-Match": "*" } })).status, 204);
    await assert.rejects(client.getEntity("p", entity.rowKey), failsWith(404));
  });
  test("X-HTTP-Method needs POST", { azurite: "table-x-http-method" }, async () => {
    const answer = await raw("PUT", path("x"), { body: {}, headers: { "X-HTTP-Method": "MERGE" } });
    assert.deepEqual(outcome(answer), [400, "XMethodNotUsingPost"]);
  });
  test("X-HTTP-Method knows no other verb", { azurite: "table-x-http-method" }, async () => {
    const answer = await raw("POST", path("x"), { body: {}, headers: { "X-HTTP-Method": "COPY" } });
    assert.deepEqual(outcome(answer), [400, "XMethodIncorrectValue"]);
  });
});

describe("answers", () => {
  const insert = (more) => raw("POST", `/${client.tableName}`, { body: { PartitionKey: "p", RowKey: fresh().rowKey, v: 1 }, ...more });
  test("an insert answers the entity by default", async () => {
    const answer = await insert();
    assert.equal(answer.status, 201);
    assert.equal(answer.json().v, 1);
    assert.equal(answer.json()["odata.etag"], answer.headers.etag);
  });
  test("return-no-content", async () => {
    const answer = await insert({ headers: { Prefer: "return-no-content" } });
    assert.deepEqual([answer.status, answer.text, answer.headers["preference-applied"]], [204, "", "return-no-content"]);
    assert.ok(answer.headers.etag);
  });
  test("an insert gives the location", { azurite: "table-location" }, async () => {
    const rowKey = "it's & 1";
    const answer = await raw("POST", `/${client.tableName}`, { body: { PartitionKey: "pk one", RowKey: rowKey } });
    assert.equal(answer.headers.location, `${endpoint}/${client.tableName}(PartitionKey='pk%20one',RowKey='it''s%20%26%201')`);
  });
  test("updates and deletes have no body; a delete no ETag", async () => {
    const entity = fresh();
    await client.createEntity(entity);
    const updated = await raw("PUT", path(entity.rowKey), { body: { v: 2 } });
    assert.deepEqual([updated.status, updated.text], [204, ""]);
    const deleted = await raw("DELETE", path(entity.rowKey), { headers: { "If-Match": updated.headers.etag } });
    assert.deepEqual([deleted.status, deleted.text, deleted.headers.etag], [204, "", undefined]);
  });
});

describe("ETags", () => {
  const versions = async () => {
    const entity = fresh({ n: 1 });
    const first = await client.createEntity(entity);
    const second = await client.upsertEntity({ ...entity, n: 2 }, "Replace");
    return { entity, stale: first.etag, current: second.etag };
  };
  test("writes, reads and lists agree", async () => {
    const { entity, current } = await versions();
    assert.equal((await client.getEntity("p", entity.rowKey)).etag, current);
    assert.equal((await query(client, odata`RowKey eq ${entity.rowKey}`))[0].etag, current);
  });
  test("every write makes a new one and a later Timestamp", async () => {
    const entity = fresh();
    let last = "";
    for (let i = 0; i < 20; i++) {
      const { etag } = await client.upsertEntity({ ...entity, i });
      assert.ok(versionOf(etag) > last, `${versionOf(etag)} after ${last}`);
      last = versionOf(etag);
    }
  });
  for (const mode of ["Replace", "Merge"]) {
    test(`a current one lets an update (${mode}) through`, async () => {
      const { entity, current } = await versions();
      const { etag } = await client.updateEntity({ ...entity, n: 3 }, mode, { etag: current });
      assert.notEqual(etag, current);
    });
    test(`a stale one stops an update (${mode})`, async () => {
      const { entity, stale } = await versions();
      await assert.rejects(client.updateEntity({ ...entity, n: 3 }, mode, { etag: stale }), failsWith(412, "UpdateConditionNotSatisfied"));
      assert.deepEqual(await own(entity), { n: 2 });
    });
  }
  test("a current one lets a delete through", async () => {
    const { entity, current } = await versions();
    await client.deleteEntity("p", entity.rowKey, { etag: current });
  });
  test("a stale one stops a delete", async () => {
    const { entity, stale } = await versions();
    await assert.rejects(client.deleteEntity("p", entity.rowKey, { etag: stale }), failsWith(412, "UpdateConditionNotSatisfied"));
    assert.deepEqual(await own(entity), { n: 2 });
  });
  test("one of the past life of the entity is stale", async () => {
    const { entity, current } = await versions();
    await client.deleteEntity("p", entity.rowKey);
    await client.createEntity(entity);
    await assert.rejects(client.deleteEntity("p", entity.rowKey, { etag: current }), failsWith(412));
  });
  test("one for a missing entity", async () => {
    const { entity, current } = await versions();
    await client.deleteEntity("p", entity.rowKey);
    await assert.rejects(client.updateEntity(entity, "Merge", { etag: current }), failsWith(404, "ResourceNotFound"));
  });
  for (const tag of ["nonsense", "\"0x8D\""]) {
    test(`malformed: ${tag}`, async () => {
      const { entity } = await versions();
      await assert.rejects(client.deleteEntity("p", entity.rowKey, { etag: tag }), failsWith(400, "InvalidInput"));
    });
  }
  for (const tag of ["W/\"2024\"", "W/\"wrong\"", "w/\"wrong\"", "W/\"datetime'yesterday'\""]) {
    test(`weak, and nobody's version: ${tag}`, async () => {
      const { entity } = await versions();
      const unmet = failsWith(412, "UpdateConditionNotSatisfied");
      await assert.rejects(client.deleteEntity("p", entity.rowKey, { etag: tag }), unmet);
      await assert.rejects(client.updateEntity(entity, "Merge", { etag: tag }), unmet);
      await assert.rejects(client.updateEntity(entity, "Replace", { etag: tag }), unmet);
    });
  }
  test("a delete needs If-Match", { azurite: "table-empty-errors" }, async () => {
    assert.deepEqual(outcome(await raw("DELETE", path("x"))), [400, "MissingRequiredHeader"]);
  });
  for (const method of ["PUT", "DELETE"]) {
    test(`If-None-Match is refused on ${method}`, { azurite: "table-if-none-match" }, async () => {
      const { entity } = await versions();
      const answer = await raw(method, path(entity.rowKey), { body: method === "PUT" ? {} : "", headers: { "If-None-Match": "*", ...(method === "DELETE" ? { "If-Match": "*" } : {}) } });
      assert.deepEqual(outcome(answer), [400, "InvalidInput"]);
    });
  }
});

describe("keys", () => {
  for (const odd of [
    "it's", "''", "a b", " ", "100%", "%27", "%2F", "a&b=c", "a+b", "日本 é", "", "(x),RowKey='y'", "\"q\"", "@:;,$!*", "a,b",
    "😀", "~", "<>", "[]{}|^`", "null", "\u00a0", "e\u0301", "\u00e9",
  ]) {
    test(`${JSON.stringify(odd)} in both keys`, async () => {
      const entity = { partitionKey: `odd${odd}`, rowKey: odd };
      await client.createEntity({ ...entity, n: 1 });
      assert.equal((await client.getEntity(entity.partitionKey, odd)).rowKey, odd);
      await client.updateEntity({ ...entity, m: 2 }, "Merge");
      const found = await query(client, odata`PartitionKey eq ${entity.partitionKey} and RowKey eq ${odd}`);
      assert.deepEqual(found.map((e) => [e.partitionKey, e.rowKey, e.n, e.m]), [[entity.partitionKey, odd, 1, 2]]);
      await client.deleteEntity(entity.partitionKey, odd);
      assert.deepEqual(await query(client, odata`PartitionKey eq ${entity.partitionKey}`), []);
    });
  }
  for (const bad of ["a/b", "a\\b", "a#b", "a?b", "a\tb", "\n", "\0", "\u001f", "\u007f", "\u0080", "\u009f"]) {
    for (const name of ["partitionKey", "rowKey"]) {
      test(`${JSON.stringify(bad)} is refused as ${name}`, { azurite: "table-key-characters" }, async () => {
        const keys = { partitionKey: "p", rowKey: "r", [name]: bad };
        await assert.rejects(client.createEntity(keys), failsWith(400, "OutOfRangeInput"));
      });
    }
  }
  test("compare by code unit, upper case first", async () => {
    for (const rowKey of ["b", "a", "B", "A", "_", "1", "10", "2", "é", "~", ""]) await client.createEntity({ partitionKey: "order", rowKey });
    assert.deepEqual(await rows(client, "PartitionKey eq 'order'"), ["", "1", "10", "2", "A", "B", "_", "a", "b", "~", "é"]);
  });
  test("order by UTF-16 code units, not by code points", async () => {
    for (const rowKey of ["\uffe5", "😀", "\ud7ff"]) await client.createEntity({ partitionKey: "utf16", rowKey });
    assert.deepEqual(await rows(client, "PartitionKey eq 'utf16'"), ["\ud7ff", "😀", "\uffe5"]);
  });
  test("normal forms of one text are two keys", async () => {
    await client.createEntity({ partitionKey: "nf", rowKey: "e\u0301", v: 1 });
    await client.createEntity({ partitionKey: "nf", rowKey: "\u00e9", v: 2 });
    assert.equal((await client.getEntity("nf", "\u00e9")).v, 2);
  });
  for (const missing of ["PartitionKey", "RowKey"]) {
    test(`an insert without ${missing}`, async () => {
      const body = { PartitionKey: "p", RowKey: "r" };
      delete body[missing];
      assert.deepEqual(outcome(await raw("POST", `/${client.tableName}`, { body })), [400, "PropertiesNeedValue"]);
    });
  }
  test("in a URL in the other order and with spaces", { azurite: "table-key-predicate" }, async () => {
    const entity = fresh({ v: 1 });
    await client.createEntity(entity);
    const answer = await raw("GET", `/${client.tableName}(RowKey='${entity.rowKey}',%20PartitionKey='p')`);
    assert.deepEqual([answer.status, answer.json().v], [200, 1]);
  });
  test("in a body need not be there", async () => {
    const entity = fresh();
    assert.equal((await raw("PUT", path(entity.rowKey), { body: { v: 1 } })).status, 204);
    assert.deepEqual(await own(entity), { v: 1 });
  });
  test("in a body that contradict the URL", { azurite: "table-keys-in-body" }, async () => {
    const answer = await raw("PUT", path(fresh().rowKey), { body: { PartitionKey: "p", RowKey: "other" } });
    assert.deepEqual(outcome(answer), [400, "InvalidInput"]);
  });
});
