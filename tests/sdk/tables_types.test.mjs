// Every EDM type: a value sent through the SDK or the wire comes back exactly, or is refused.
import assert from "node:assert/strict";
import { before, describe, test } from "./support.mjs";
import { codeOf, freshTable, raw } from "./tables_support.mjs";

let client;
let rowNumber = 0;
before(async () => { client = await freshTable(); });

/// Stores through the SDK, and reads back without conversion: the value as text with its type.
async function stored(value) {
  const rowKey = `${rowNumber++}`;
  await client.createEntity({ partitionKey: "p", rowKey, v: value });
  return (await client.getEntity("p", rowKey, { disableTypeConversion: true })).v;
}
/// On the wire: the JSON of the entity's own properties, as text between the braces.
async function wire(properties, level = "minimalmetadata") {
  const RowKey = `${rowNumber++}`;
  const body = `{"PartitionKey":"p","RowKey":"${RowKey}",${properties}}`;
  const inserted = await raw("POST", `/${client.tableName}`, { body, headers: { Prefer: "return-no-content" } });
  if (inserted.status !== 204) return { status: inserted.status, code: codeOf(inserted) };
  const { text } = await raw("GET", `/${client.tableName}(PartitionKey='p',RowKey='${RowKey}')`, { level });
  return text.replace(/^\{/, "").replace(/\}$/, "").split(",")
    .filter((member) => !/^"(odata\.|PartitionKey"|RowKey"|Timestamp)/.test(member)).join(",");
}
const same = (value, type) => async () => assert.deepEqual(await stored({ value, type }), { value, type });
const goesIn = (sent, expected = sent) => async () => assert.equal(await wire(sent), expected);
const refused = (sent, code = "InvalidInput") => async () => assert.deepEqual(await wire(sent), { status: 400, code });

describe("String", () => {
  for (const [what, text] of Object.entries({
    "of every plane": "héllo 日本 😀 \u{10FFFF}", empty: "", "with quotes, backslash and slash": "\"'\\/", "of spaces": "  ",
    "with control characters": "\0\u0001\b\t\n\v\f\r\u001f\u007f\u0085", "that looks like another type": "1970-01-01T00:00:00Z",
    "with the line separators of JavaScript": "\u2028\u2029", "that looks like markup": "<a>&amp;</a>",
  })) {
    test(what, async () => {
      assert.deepEqual(await stored(text), { value: text, type: "String" });
      assert.equal((await client.getEntity("p", `${rowNumber - 1}`)).v, text);
    });
  }
  test("annotated Edm.String", goesIn('"v@odata.type":"Edm.String","v":"x"', '"v":"x"'));
  test("escapes in the JSON mean the characters", goesIn('"v":"\\u0041\\u00e9\\ud83d\\ude00\\/"', '"v":"Aé😀/"'));
  test("a lone surrogate is refused", { azurite: "table-lenient-values" }, async () => {
    assert.equal((await wire('"v":"\\ud83d"')).status, 400);
  });
});

describe("Int32", () => {
  for (const value of [0, -1, 2147483647, -2147483648]) {
    test(`${value}`, async () => assert.deepEqual(await stored(value), { value: `${value}`, type: "Int32" }));
  }
  test("is a plain number on the wire", goesIn('"v@odata.type":"Edm.Int32","v":7', '"v":7'));
  test("above its range with its annotation", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Int32","v":2147483648'));
  test("below its range with its annotation", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Int32","v":-2147483649'));
  test("a fraction with its annotation", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Int32","v":1.5'));
});

describe("Int64", () => {
  for (const value of [0n, 5n, 9223372036854775807n, -9223372036854775808n, 9007199254740993n]) {
    test(`${value}`, async () => {
      assert.deepEqual(await stored(value), { value: `${value}`, type: "Int64" });
      assert.equal((await client.getEntity("p", `${rowNumber - 1}`)).v, value);
    });
  }
  test("a number with the annotation is taken", { azurite: "table-int64-number" }, goesIn('"v@odata.type":"Edm.Int64","v":5', '"v@odata.type":"Edm.Int64","v":"5"'));
  test("above its range", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Int64","v":"9223372036854775808"'));
  test("not a number", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Int64","v":"5x"'));
  test("empty", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Int64","v":""'));
});

describe("Double", () => {
  for (const value of [1.5, -2.25, 1e300, 5e-324, 1.7976931348623157e308, 0.1]) {
    test(`${value}`, async () => {
      await stored({ value: `${value}`, type: "Double" });
      assert.equal((await client.getEntity("p", `${rowNumber - 1}`)).v, value);
    });
  }
  for (const value of ["NaN", "Infinity", "-Infinity"]) test(value, same(value, "Double"));
  test("a whole Double keeps its decimal point", goesIn('"v@odata.type":"Edm.Double","v":5', '"v":5.0'));
  test("an exponent makes a Double", { azurite: "table-untyped-numbers" }, goesIn('"v":1e2', '"v":100.0'));
  test("a decimal point makes a Double", { azurite: "table-untyped-numbers" }, goesIn('"v":3.0'));
  test("an integer beyond Int32 without annotation is a Double", { azurite: "table-untyped-numbers" }, goesIn('"v":2147483648', '"v":2147483648.0'));
  test("a value beyond its range", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Double","v":1e400'));
  test("text that is no number", refused('"v@odata.type":"Edm.Double","v":"five"'));
});

describe("Boolean", () => {
  for (const value of [true, false]) {
    test(`${value}`, async () => {
      assert.deepEqual(await stored(value), { value: `${value}`, type: "Boolean" });
      assert.equal((await client.getEntity("p", `${rowNumber - 1}`)).v, value);
    });
  }
  test("annotated", goesIn('"v@odata.type":"Edm.Boolean","v":true', '"v":true'));
  test("a number with its annotation", refused('"v@odata.type":"Edm.Boolean","v":1'));
});

describe("DateTime", () => {
  const date = (sent, expected = sent) => goesIn(`"v@odata.type":"Edm.DateTime","v":"${sent}"`, `"v@odata.type":"Edm.DateTime","v":"${expected}"`);
  const bad = (sent) => refused(`"v@odata.type":"Edm.DateTime","v":"${sent}"`);
  test("a Date object keeps its milliseconds", async () => {
    assert.deepEqual(await stored(new Date("2024-02-03T04:05:06.789Z")), { value: "2024-02-03T04:05:06.789Z", type: "DateTime" });
  });
  test("100 nanoseconds are kept", date("2024-02-03T04:05:06.1234567Z"));
  test("trailing zeros of the fraction go", { azurite: "table-dates-echoed" }, date("2020-01-01T01:02:03.4500000Z", "2020-01-01T01:02:03.45Z"));
  test("an empty fraction goes", { azurite: "table-dates-echoed" }, date("2020-01-01T01:02:00.0000000Z", "2020-01-01T01:02:00Z"));
  test("an offset is converted to UTC", { azurite: "table-dates-echoed" }, date("2024-01-01T01:30:00+02:00", "2023-12-31T23:30:00Z"));
  test("without a zone it is UTC", date("2024-01-01T01:30:00", "2024-01-01T01:30:00Z"));
  test("the first of its range", date("1601-01-01T00:00:00Z"));
  test("the last of its range", date("9999-12-31T23:59:59.9999999Z"));
  test("a leap day", date("2024-02-29T12:00:00Z"));
  test("before its range", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.DateTime","v":"1600-12-31T23:59:59Z"', "OutOfRangeInput"));
  test("a day that does not exist", { azurite: "table-lenient-values" }, bad("2023-02-29T00:00:00Z"));
  test("not a date", { azurite: "table-lenient-values" }, bad("yesterday"));
});

describe("Guid", () => {
  const guid = "0d391d16-97f1-4b9a-be68-4cc871f90001";
  test("round trip", same(guid, "Guid"));
  test("comes back in lower case", { azurite: "table-lenient-values" }, async () => {
    assert.deepEqual(await stored({ value: guid.toUpperCase(), type: "Guid" }), { value: guid, type: "Guid" });
  });
  test("too short", { azurite: "table-lenient-values" }, refused(`"v@odata.type":"Edm.Guid","v":"${guid.slice(1)}"`));
  test("other letters", { azurite: "table-lenient-values" }, refused(`"v@odata.type":"Edm.Guid","v":"${guid.replace("d", "x")}"`));
});

describe("Binary", () => {
  for (const [what, bytes] of Object.entries({ "no bytes": [], "every byte": [...Array(256).keys()], "one byte": [0], "two bytes": [255, 0] })) {
    test(what, async () => {
      await stored(new Uint8Array(bytes));
      assert.deepEqual([...(await client.getEntity("p", `${rowNumber - 1}`)).v], bytes);
    });
  }
  test("is standard base64 on the wire", goesIn('"v@odata.type":"Edm.Binary","v":"+/+/AA=="', '"v@odata.type":"Edm.Binary","v":"+/+/AA=="'));
  test("not base64", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Binary","v":"***"'));
});

describe("null", () => {
  test("is not stored", async () => {
    const entity = { partitionKey: "null", rowKey: "1", nothing: null, something: 1 };
    await client.createEntity(entity);
    assert.deepEqual(Object.keys(await client.getEntity("null", "1")).includes("nothing"), false);
  });
  test("leaves the old value alone in a merge", async () => {
    await client.upsertEntity({ partitionKey: "null", rowKey: "2", v: 1 });
    await client.updateEntity({ partitionKey: "null", rowKey: "2", v: null, w: 2 }, "Merge");
    const read = await client.getEntity("null", "2");
    assert.deepEqual([read.v, read.w], [1, 2]);
  });
  test("removes the property in a replace", async () => {
    await client.upsertEntity({ partitionKey: "null", rowKey: "3", v: 1 });
    await client.updateEntity({ partitionKey: "null", rowKey: "3", v: null }, "Replace");
    assert.equal((await client.getEntity("null", "3")).v, undefined);
  });
});

describe("what an entity may contain", () => {
  test("names that differ by case", async () => assert.equal(await wire('"Name":"a","name":"b"'), '"Name":"a","name":"b"'));
  test("a property changes its type with the next write", async () => {
    await client.upsertEntity({ partitionKey: "types", rowKey: "1", v: 1 });
    await client.upsertEntity({ partitionKey: "types", rowKey: "1", v: "one" }, "Merge");
    assert.equal((await client.getEntity("types", "1")).v, "one");
  });
  test("odata members are ignored", goesIn('"odata.etag":"W/\\"x\\"","odata.type":"t","v":1', '"v":1'));
  test("Timestamp is ignored", async () => {
    await wire('"Timestamp@odata.type":"Edm.DateTime","Timestamp":"2001-01-01T00:00:00Z"');
    const read = await client.getEntity("p", `${rowNumber - 1}`);
    assert.ok(new Date(read.timestamp).getFullYear() > 2001);
  });
  test("a null Timestamp is ignored", goesIn('"Timestamp":null,"v":1', '"v":1'));
  test("a property twice", { azurite: "table-lenient-values" }, refused('"v":1,"v":2', "DuplicatePropertiesSpecified"));
  test("an annotation without its property", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Int64"'));
  test("an unknown type", { azurite: "table-lenient-values" }, refused('"v@odata.type":"Edm.Decimal","v":"1"'));
  test("an array", refused('"v":[1]'));
  test("an object", refused('"v":{"a":1}'));
  test("a byte order mark before the JSON", { azurite: "table-json-bom" }, async () => {
    const answer = await raw("POST", `/${client.tableName}`, { body: '\ufeff{"PartitionKey":"p","RowKey":"bom"}' });
    assert.equal(answer.status, 201);
  });
  test("keys that are numbers", { azurite: "table-key-types" }, async () => {
    const answer = await raw("POST", `/${client.tableName}`, { body: { PartitionKey: 1, RowKey: "r" } });
    assert.equal(answer.status, 400);
  });
  test("annotated keys", async () => {
    const body = { "PartitionKey": "keys", "PartitionKey@odata.type": "Edm.String", "RowKey": "1", "RowKey@odata.type": "Edm.String" };
    assert.equal((await raw("POST", `/${client.tableName}`, { body })).status, 201);
    assert.equal((await client.getEntity("keys", "1")).rowKey, "1");
  });
  test("broken JSON", { azurite: "table-empty-errors" }, refused('"v":'));
  test("text behind the JSON", { azurite: "table-empty-errors" }, async () => {
    const answer = await raw("POST", `/${client.tableName}`, { body: '{"PartitionKey":"p","RowKey":"x"} more' });
    assert.deepEqual([answer.status, codeOf(answer)], [400, "InvalidInput"]);
  });
});

test("nometadata drops the types but not the values", async () => {
  const text = await wire('"d@odata.type":"Edm.DateTime","d":"2024-01-01T00:00:00Z","n@odata.type":"Edm.Int64","n":"5"', "nometadata");
  assert.equal(text, '"d":"2024-01-01T00:00:00Z","n":"5"');
});
