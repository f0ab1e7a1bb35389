// $filter, $select, paging: the grammar, how values compare, and that the pages together contain everything.
import assert from "node:assert/strict";
import { odata } from "@azure/data-tables";
import { all, before, describe, test } from "./support.mjs";
import { codeOf, failsWith, freshTable, query, raw, rows } from "./tables_support.mjs";

let client;
const guid = "0d391d16-97f1-4b9a-be68-4cc871f90001";
before(async () => {
  client = await freshTable();
  // One row for each type; the row key names the type.
  await client.submitTransaction([
    ["create", { partitionKey: "v", rowKey: "int", n: 5 }],
    ["create", { partitionKey: "v", rowKey: "long", n: 5n }],
    ["create", { partitionKey: "v", rowKey: "double", n: { value: "5", type: "Double" } }],
    ["create", { partitionKey: "v", rowKey: "more", n: 5.5 }],
    ["create", { partitionKey: "v", rowKey: "text", n: "5" }],
    ["create", { partitionKey: "v", rowKey: "none" }],
    ["create", { partitionKey: "v", rowKey: "nan", n: { value: "NaN", type: "Double" } }],
    ["create", { partitionKey: "v", rowKey: "inf", n: { value: "Infinity", type: "Double" } }],
    ["create", { partitionKey: "v", rowKey: "big", n: 9007199254740993n }],
  ]);
  await client.submitTransaction([
    ["create", { partitionKey: "t", rowKey: "1", s: "apple", b: true, d: new Date("2024-01-01T00:00:00Z"), g: { value: guid, type: "Guid" }, x: new Uint8Array([1, 2, 255]) }],
    ["create", { partitionKey: "t", rowKey: "2", s: "Apple", b: false, d: { value: "2024-01-01T00:00:00.0000001Z", type: "DateTime" }, g: { value: guid.replace("0001", "0002"), type: "Guid" }, x: new Uint8Array([1, 3]) }],
    ["create", { partitionKey: "t", rowKey: "3", s: "it's", b: true, d: new Date("2025-06-01T12:00:00.500Z"), x: new Uint8Array([1, 2]) }],
    ["create", { partitionKey: "t", rowKey: "4", s: "日本 é 😀", S: "other" }],
    ["create", { partitionKey: "t", rowKey: "5", s: "" }],
  ]);
  for (const partitionKey of ["a", "b"]) {
    await client.submitTransaction(Array.from({ length: 50 }, (_, i) => ["create", { partitionKey, rowKey: String(i).padStart(3, "0"), i, even: i % 2 === 0 }]));
  }
});
const values = (filter) => rows(client, `PartitionKey eq 'v' and (${filter})`);
const things = (filter) => rows(client, `PartitionKey eq 't' and (${filter})`);
const count = async (filter) => (await query(client, filter)).length;
const finds = (select, filter, expected) => test(filter, async () => assert.deepEqual(await select(filter), expected));
const findsHere = (select, filter, azurite, expected) => test(filter, { azurite }, async () => assert.deepEqual(await select(filter), expected));

describe("numbers compare by value over the numeric types", () => {
  findsHere(values, "n eq 5", "table-filter-numbers", ["double", "int", "long"]);
  findsHere(values, "n eq 5L", "table-filter-numbers", ["double", "int", "long"]);
  findsHere(values, "n eq 5.0", "table-filter-numbers", ["double", "int", "long"]);
  findsHere(values, "5 eq n", "table-filter-numbers", ["double", "int", "long"]);
  finds(values, "n gt 5", ["big", "inf", "more"]);
  finds(values, "5.25 lt n", ["big", "inf", "more"]);
  findsHere(values, "n le 5.5", "table-filter-numbers", ["double", "int", "long", "more"]);
  findsHere(values, "n eq 9007199254740993L", "table-filter-numbers", ["big"]);
  finds(values, "n eq 9007199254740992.0", []);
  findsHere(values, "n gt 9007199254740992L", "table-filter-numbers", ["big", "inf"]);
  finds(values, "n eq -5", []);
});

describe("types have to agree", () => {
  findsHere(values, "n eq '5'", "table-filter-long-text", ["text"]);
  findsHere(values, "n ne '5'", "table-filter-ne-types", []);
  findsHere(values, "n ne 5", "table-filter-ne-types", ["big", "inf", "more", "nan"]);
  findsHere(values, "not (n eq 5)", "table-filter-numbers", ["big", "inf", "more", "nan", "none", "text"]);
  findsHere(values, "n ge ''", "table-filter-ne-types", ["text"]);
  finds(things, "b eq 'true'", []);
  finds(things, "s eq 5", []);
});

describe("an absent property", () => {
  finds(values, "missing eq 1", []);
  finds(values, "missing ne 1", []);
  finds(values, "missing lt 1 or missing ge 1", []);
  test("negated comparisons find it", async () => assert.equal((await values("not (missing eq 1)")).length, 9));
  finds(things, "not (x ne X'00')", ["4", "5"]);
  finds(things, "N eq 5", []);
});

describe("options of queries", () => {
  const refuses = (option, status, code) => test(`${option} is refused`, { azurite: "table-query-options" }, async () => {
    const answer = await raw("GET", `/${client.tableName}()?${option}`);
    assert.deepEqual([answer.status, answer.json()["odata.error"].code], [status, code]);
  });
  refuses("$orderby=n", 501, "NotImplemented");
  refuses("$skip=1", 501, "NotImplemented");
  refuses("$what=1", 400, "InvalidInput");
  refuses("$Filter=x", 400, "InvalidInput");
});

test("a filter names 200 keys", { azurite: "table-many-keys" }, async () => {
  const key = (n) => `of-an-activation-in-a-directory-of-grains-${"x".repeat(30)}-${n}`;
  const grains = await freshTable();
  for (const n of [7, 120, 199]) await grains.createEntity({ partitionKey: key(n), rowKey: key(n) });
  const pairs = Array.from({ length: 200 }, (_, n) => `(PartitionKey eq '${key(n)}' and RowKey eq '${key(n)}')`);
  const answer = await raw("GET", `/${grains.tableName}()?$filter=${encodeURIComponent(pairs.join(" or "))}`);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json().value.map((found) => found.RowKey).sort(), [key(120), key(199), key(7)].sort());
});

describe("special doubles", () => {
  findsHere(values, "n eq NaN", "table-filter-specials", []);
  findsHere(values, "n eq INF", "table-filter-specials", ["inf"]);
  findsHere(values, "n gt -INF", "table-filter-specials", ["big", "double", "inf", "int", "long", "more"]);
  findsHere(values, "n eq Infinity", "table-filter-specials", ["inf"]);
  findsHere(values, "n gt -Infinity", "table-filter-specials", ["big", "double", "inf", "int", "long", "more"]);
});

describe("strings", () => {
  finds(things, "s eq 'apple'", ["1"]);
  finds(things, "s eq 'it''s'", ["3"]);
  finds(things, "s gt 'Apple'", ["1", "3", "4"]);
  finds(things, "s ge 'a' and s lt 'b'", ["1"]);
  finds(things, "s eq ''", ["5"]);
  finds(things, "s ne ''", ["1", "2", "3", "4"]);
  finds(things, "S eq 'other'", ["4"]);
  test("any character", async () => assert.deepEqual(await things(odata`s eq ${"日本 é 😀"}`), ["4"]));
  finds(things, "s eq 'a and b or (c)'", []);
});

describe("booleans", () => {
  finds(things, "b eq true", ["1", "3"]);
  finds(things, "b eq false", ["2"]);
  finds(things, "b ne true", ["2"]);
  finds(things, "b", ["1", "3"]);
  finds(things, "not b", ["2", "4", "5"]);
  finds(things, "b gt false", ["1", "3"]);
  finds(things, "true", ["1", "2", "3", "4", "5"]);
  finds(things, "false", []);
});

describe("dates", () => {
  findsHere(things, "d eq datetime'2024-01-01T00:00:00Z'", "table-filter-dates", ["1"]);
  findsHere(things, "d gt datetime'2024-01-01T00:00:00Z'", "table-filter-dates", ["2", "3"]);
  finds(things, "d eq datetime'2025-06-01T12:00:00.5000000Z'", ["3"]);
  finds(things, "d eq datetime'2025-06-01T14:00:00.5+02:00'", ["3"]);
  test("a Date in the odata tag", async () => assert.deepEqual(await things(odata`d ge ${new Date("2025-01-01T00:00:00Z")}`), ["3"]));
  test("Timestamp", async () => {
    const { timestamp } = await client.getEntity("t", "1");
    assert.deepEqual(await things(odata`Timestamp lt ${new Date(Date.parse(timestamp) - 60_000)}`), []);
    assert.equal((await things(odata`Timestamp gt ${new Date(Date.parse(timestamp) - 60_000)}`)).length, 5);
  });
});

describe("guids and bytes", () => {
  finds(things, `g eq guid'${guid}'`, ["1"]);
  finds(things, `g ne guid'${guid}'`, ["2"]);
  findsHere(things, `g eq guid'${guid.toUpperCase()}'`, "table-filter-guids", ["1"]);
  finds(things, "x eq X'0102ff'", ["1"]);
  finds(things, "x eq binary'0102FF'", ["1"]);
  finds(things, "x gt X'0102'", ["1", "2"]);
});

describe("grammar", () => {
  findsHere(values, "n eq 5 or n eq 5.5 and RowKey eq 'int'", "table-filter-numbers", ["double", "int", "long"]);
  finds(values, "(n eq 5 or n eq 5.5) and RowKey eq 'more'", ["more"]);
  finds(things, "not b eq true", ["2", "4", "5"]);
  finds(things, "not (not (b eq true))", ["1", "3"]);
  finds(things, "((((s eq 'apple'))))", ["1"]);
  finds(things, "(s eq 'apple')or(s eq 'Apple')", ["1", "2"]);
  finds(things, "  s   eq  'apple'  ", ["1"]);
  finds(things, "s EQ 'apple' OR (b eq FALSE AND NOT (s eq 'x'))", ["1", "2"]);
  test("empty is no filter", async () => {
    assert.equal((await raw("GET", `/${client.tableName}()?$filter=`)).json().value.length, 114);
  });
  test("plus is a space in a query", { azurite: "table-filter-long-text" }, async () => {
    assert.equal((await raw("GET", `/${client.tableName}()?$filter=PartitionKey+eq+'v'+and+n+eq+'5'`)).json().value.length, 1);
  });
  test("a chain of a hundred comparisons", async () => {
    const filter = Array.from({ length: 100 }, (_, i) => `i eq ${i + 25}`).join(" or ");
    assert.equal(await count(`PartitionKey eq 'a' and (${filter})`), 25);
  });
  const refused = (filter, azurite) => test(`${filter} is refused`, { azurite }, async () => {
    await assert.rejects(query(client, filter), failsWith(400, "InvalidInput"));
  });
  for (const wrong of ["n eq 5 and", "aaa bbb ccc", "n eq", "(n eq 5", "n eq 5)", "eq 5", "n = 5", "'5' eq '5' n"]) refused(wrong);
  for (const literal of ["'open", "datetime'soon'", "guid'1'", "X'0'", "99999999999", "1e400"]) refused(`n eq ${literal}`, "table-filter-literals");
  for (const other of ["startswith(s,'a')", "substringof('a',s)", "n add 1 eq 6"]) {
    test(`${other} is not implemented`, { azurite: "table-filter-functions" }, async () => {
      await assert.rejects(query(client, other), failsWith(501, "NotImplemented"));
    });
  }
  for (const mismatch of ["PartitionKey eq 5", "RowKey gt true", "Timestamp lt '2024'"]) {
    test(`${mismatch} is refused for its type`, { azurite: "table-filter-system-types" }, async () => {
      await assert.rejects(query(client, mismatch), failsWith(400, "InvalidInput"));
    });
  }
});

describe("ranges of keys", () => {
  test("a partition", async () => assert.equal(await count("PartitionKey eq 'a'"), 50));
  test("partitions", async () => assert.equal(await count("PartitionKey ge 'a' and PartitionKey lt 'b'"), 50));
  test("a range of rows", async () => {
    assert.deepEqual(await rows(client, "PartitionKey eq 'a' and RowKey gt '010' and RowKey le '013'"), ["011", "012", "013"]);
  });
  test("a range of rows over all partitions", async () => assert.equal(await count("RowKey ge '048' and RowKey lt '1'"), 4));
  test("two points", async () => {
    const found = await query(client, "(PartitionKey eq 'b' and RowKey eq '001') or (PartitionKey eq 'a' and RowKey eq '002')");
    assert.deepEqual(found.map((e) => e.partitionKey + e.rowKey), ["a002", "b001"]);
  });
  test("an empty range", async () => assert.equal(await count("PartitionKey gt 'b' and PartitionKey lt 'a'"), 0));
  test("a range by the literal on the left", async () => assert.equal(await count("'b' eq PartitionKey and '045' le RowKey"), 5));
  test("not equal to a partition", async () => assert.equal(await count("PartitionKey ne 'a'"), 64));
  test("a contradiction", async () => assert.equal(await count("PartitionKey eq 'a' and PartitionKey eq 'b'"), 0));
  test("everything comes in order", async () => {
    const keys = (await all(client.listEntities())).map((e) => [e.partitionKey, e.rowKey].join("\0"));
    assert.equal(keys.length, 114);
    assert.deepEqual(keys, [...keys].sort());
  });
});

describe("$select", () => {
  const select = (names, filter = "PartitionKey eq 'a' and RowKey eq '007'") => query(client, filter, { select: names });
  test("names", async () => {
    const [entity] = await select(["i"]);
    assert.deepEqual([entity.i, entity.even, entity.partitionKey, entity.rowKey], [7, undefined, undefined, undefined]);
    assert.ok(entity.etag);
  });
  test("keys by name", async () => {
    const [entity] = await select(["rowKey", "partitionKey"]);
    assert.deepEqual([entity.partitionKey, entity.rowKey, entity.i], ["a", "007", undefined]);
  });
  test("Timestamp by name", async () => assert.ok((await select(["timestamp"]))[0].timestamp));
  test("a star", { azurite: "table-select-star" }, async () => assert.equal((await select(["*"]))[0].i, 7));
  test("names that an entity lacks are left out", async () => {
    const [entity] = await select(["i", "missing"]);
    assert.ok(!("missing" in entity));
  });
  test("a filter sees what is not selected", async () => {
    assert.deepEqual((await select(["rowKey"], "PartitionKey eq 'a' and i eq 9")).map((e) => e.rowKey), ["009"]);
  });
  test("a point read", async () => {
    const read = await client.getEntity("a", "007", { queryOptions: { select: ["i"] } });
    assert.deepEqual([read.i, read.even], [7, undefined]);
  });
  test("252 names", async () => {
    const names = Array.from({ length: 252 }, (_, i) => (i === 0 ? "i" : `n${i}`));
    assert.equal((await select(names))[0].i, 7);
  });
});

describe("paging", () => {
  const filter = "PartitionKey ge 'a' and PartitionKey le 'b'";
  const pages = (maxPageSize, more = {}) => all(client.listEntities({ queryOptions: { filter } }).byPage({ maxPageSize, ...more }));
  for (const size of [1, 7, 50, 99, 100, 101]) {
    test(`pages of ${size} are the whole, in order`, async () => {
      const got = await pages(size);
      assert.ok(got.every((page) => page.length <= size));
      const keys = got.flat().map((e) => e.partitionKey + e.rowKey);
      assert.equal(keys.length, 100);
      assert.deepEqual(keys, [...keys].sort());
    });
  }
  test("a continuation goes on where the page ended", async () => {
    const [first] = await pages(10);
    const [second] = await pages(10, { continuationToken: first.continuationToken });
    assert.deepEqual([first.at(-1).rowKey, second[0].rowKey], ["009", "010"]);
  });
  test("a full last page has no continuation", async () => {
    const answer = await raw("GET", `/${client.tableName}()?$filter=PartitionKey%20eq%20'a'&$top=50`);
    assert.equal(answer.json().value.length, 50);
    assert.equal(answer.headers["x-ms-continuation-nextpartitionkey"], undefined);
  });
  test("a filter that finds nothing has no continuation", async () => {
    const answer = await raw("GET", `/${client.tableName}()?$filter=i%20eq%20-1`);
    assert.deepEqual([answer.json().value.length, answer.headers["x-ms-continuation-nextpartitionkey"]], [0, undefined]);
  });
  test("deleting the next entity does not stop a continuation, adding behind it is seen", async () => {
    const table = await freshTable();
    for (const rowKey of ["1", "2", "3"]) await table.createEntity({ partitionKey: "p", rowKey });
    const iterator = table.listEntities().byPage({ maxPageSize: 1 });
    assert.equal((await iterator.next()).value[0].rowKey, "1");
    await table.deleteEntity("p", "2");
    await table.createEntity({ partitionKey: "p", rowKey: "25" });
    await table.createEntity({ partitionKey: "p", rowKey: "0" });
    assert.equal((await iterator.next()).value[0].rowKey, "25");
    assert.equal((await iterator.next()).value[0].rowKey, "3");
  });
  test("a continuation over keys with odd characters", async () => {
    const table = await freshTable();
    const keys = ["", " ", "%", "&=", "'", "+", "é", "日本"];
    for (const rowKey of keys) await table.createEntity({ partitionKey: "p & q", rowKey });
    const got = await all(table.listEntities().byPage({ maxPageSize: 1 }));
    assert.deepEqual(got.flat().map((e) => e.rowKey), keys);
  });
  test("a continuation at the empty partition key", { azurite: "table-empty-partition-token" }, async () => {
    const table = await freshTable();
    for (const rowKey of ["", "1", "2"]) await table.createEntity({ partitionKey: "", rowKey });
    assert.deepEqual((await all(table.listEntities().byPage({ maxPageSize: 1 }))).flat().map((e) => e.rowKey), ["", "1", "2"]);
  });
  test("a forged continuation", { azurite: "table-forged-token" }, async () => {
    const answer = await raw("GET", `/${client.tableName}()?NextPartitionKey=%00%01&NextRowKey=x`);
    assert.deepEqual([answer.status, codeOf(answer)], [400, "InvalidInput"]);
  });
  test("pages that are cut by their size are the whole too", async () => {
    const table = await freshTable();
    const text = "x".repeat(32_000);
    const keys = Array.from({ length: 120 }, (_, i) => String(i).padStart(3, "0"));
    for (let at = 0; at < keys.length; at += 40) {
      await table.submitTransaction(keys.slice(at, at + 40).map((rowKey) => ["create", { partitionKey: "p", rowKey, text }]));
    }
    const found = await all(table.listEntities());
    assert.deepEqual(found.map((e) => e.rowKey), keys);
    assert.ok(found.every((e) => e.text === text));
  });
  test("a table that is deleted meanwhile ends the pages with 404", async () => {
    const table = await freshTable();
    for (const rowKey of ["1", "2"]) await table.createEntity({ partitionKey: "p", rowKey });
    const pages = table.listEntities().byPage({ maxPageSize: 1 });
    await pages.next();
    await table.deleteTable();
    await assert.rejects(pages.next(), failsWith(404, "TableNotFound"));
  });
  test("$select and a filter hold on every page", async () => {
    const options = { queryOptions: { filter: "PartitionKey eq 'a' and even eq true", select: ["i"] } };
    const pages = await all(client.listEntities(options).byPage({ maxPageSize: 4 }));
    assert.deepEqual(pages.flat().map((e) => e.i), Array.from({ length: 25 }, (_, i) => 2 * i));
    assert.ok(pages.flat().every((e) => e.even === undefined));
  });
  test("a partition with an empty row goes on at its beginning", async () => {
    const first = await raw("GET", `/${client.tableName}()?$top=50&$filter=PartitionKey%20ge%20'a'`);
    const token = encodeURIComponent(first.headers["x-ms-continuation-nextpartitionkey"]);
    const next = await raw("GET", `/${client.tableName}()?$top=1&NextPartitionKey=${token}&NextRowKey=`);
    assert.deepEqual([next.status, next.json().value[0].RowKey], [200, "000"]);
  });
  test("a partition without a row goes on at its beginning", async () => {
    const first = await raw("GET", `/${client.tableName}()?$top=50&$filter=PartitionKey%20ge%20'a'`);
    const token = encodeURIComponent(first.headers["x-ms-continuation-nextpartitionkey"]);
    const next = await raw("GET", `/${client.tableName}()?$top=1&NextPartitionKey=${token}`);
    assert.deepEqual([next.json().value[0].PartitionKey, next.json().value[0].RowKey], ["b", "000"]);
  });
});

