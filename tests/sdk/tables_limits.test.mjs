// Limits: the largest allowed value is stored whole, and one more is refused with its own code.
import assert from "node:assert/strict";
import { before, describe, test } from "./support.mjs";
import { codeOf, failsWith, freshTable, raw } from "./tables_support.mjs";

let client;
let counter = 0;
before(async () => { client = await freshTable(); });
const entity = (properties) => ({ partitionKey: "p", rowKey: `${counter++}`, ...properties });
const fits = (properties) => async () => {
  const sent = entity(properties);
  await client.createEntity(sent);
  const read = await client.getEntity("p", sent.rowKey);
  for (const [name, value] of Object.entries(properties)) assert.deepEqual(read[name], value);
};
const refused = (properties, code, status = 400) => async () => {
  await assert.rejects(client.createEntity(entity(properties)), failsWith(status, code));
};
const numbered = (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, i]));
/// Makes entities of an exact size by the service's rule: 4 + 2 * keys, and 8 + 2 * name + 2 * characters + 4 a string.
const sized = (bytes, { partitionKey, rowKey }) => {
  const properties = {};
  let left = bytes - 4 - 2 * (partitionKey.length + rowKey.length);
  for (let i = 0; left > 0; i++) {
    const name = `s${String(i).padStart(2, "0")}`;
    const characters = Math.min(32768, (left - 12 - 2 * name.length) / 2);
    assert.ok(Number.isInteger(characters) && characters >= 0);
    properties[name] = "x".repeat(characters);
    left -= 12 + 2 * name.length + 2 * characters;
  }
  return properties;
};

describe("properties", () => {
  test("252 fit", fits(numbered(252)));
  test("253 do not", { azurite: "table-too-many-properties" }, refused(numbered(253), "TooManyProperties"));
  test("a merge does not grow an entity beyond 252", { azurite: "table-merge-limits" }, async () => {
    const full = entity(numbered(252));
    await client.createEntity(full);
    await assert.rejects(client.updateEntity({ partitionKey: "p", rowKey: full.rowKey, oneMore: 1 }, "Merge"), failsWith(400, "TooManyProperties"));
    assert.equal((await client.getEntity("p", full.rowKey)).oneMore, undefined);
  });
  test("a merge of known names into a full entity", async () => {
    const full = entity(numbered(252));
    await client.createEntity(full);
    await client.updateEntity({ partitionKey: "p", rowKey: full.rowKey, p7: "seven" }, "Merge");
    assert.equal((await client.getEntity("p", full.rowKey)).p7, "seven");
  });
  test("a name of 255 characters fits", fits({ ["n".repeat(255)]: 1 }));
  test("a name of 256 does not", { azurite: "table-property-names" }, refused({ ["n".repeat(256)]: 1 }, "PropertyNameTooLong"));
  for (const name of ["with-dash", "with space", "1digit", "a.b", "a/b"]) {
    test(`${name} is no name`, { azurite: "table-property-names" }, refused({ [name]: 1 }, "PropertyNameInvalid"));
  }
  test("names of letters beyond ASCII and underscores", fits({ größe: 1, 数: 2, _x_1: 3 }));
});

describe("values", () => {
  test("a String of 32 Ki characters fits", fits({ v: "x".repeat(32768) }));
  test("one more does not", refused({ v: "x".repeat(32769) }, "PropertyValueTooLarge"));
  test("characters count, not their bytes in UTF-8", fits({ v: "日".repeat(32768) }));
  test("characters beyond the basic plane count twice", { azurite: "table-astral-length" }, fits({ v: "😀".repeat(16384) }));
  test("16 Ki of them and one more character do not fit", refused({ v: `${"😀".repeat(16384)}x` }, "PropertyValueTooLarge"));
  test("a Binary of 64 KiB fits", async () => {
    const sent = entity({ v: new Uint8Array(65536).fill(7) });
    await client.createEntity(sent);
    assert.ok(Buffer.from((await client.getEntity("p", sent.rowKey)).v).equals(Buffer.from(sent.v)));
  });
  test("one byte more does not", refused({ v: new Uint8Array(65537) }, "PropertyValueTooLarge"));
});

describe("entities", () => {
  const keys = { partitionKey: "size", rowKey: "1" };
  test("1 MiB fits", async () => {
    const properties = sized(1024 * 1024, keys);
    await client.upsertEntity({ ...keys, ...properties });
    assert.equal((await client.getEntity("size", "1")).s15, properties.s15);
  });
  test("two bytes more do not", { azurite: "table-entity-size" }, async () => {
    await assert.rejects(client.upsertEntity({ ...keys, ...sized(1024 * 1024 + 2, keys) }), failsWith(400, "EntityTooLarge"));
  });
  test("a merge does not grow an entity beyond 1 MiB", { azurite: "table-merge-limits" }, async () => {
    const other = { partitionKey: "size", rowKey: "2" };
    await client.createEntity({ ...other, ...sized(1024 * 1024, other) });
    await assert.rejects(client.updateEntity({ ...other, more: 1 }, "Merge"), failsWith(400, "EntityTooLarge"));
  });
  test("a body above 4 MiB", async () => {
    const body = JSON.stringify({ PartitionKey: "p", RowKey: "body", v: "x".repeat(4 * 1024 * 1024) });
    const answer = await raw("POST", `/${client.tableName}`, { body });
    assert.deepEqual([answer.status, codeOf(answer)], [413, "RequestBodyTooLarge"]);
  });
});

describe("keys", () => {
  for (const [what, key] of [["512 characters", "k".repeat(512)], ["512 characters of three bytes", "日".repeat(512)], ["256 of the astral planes", "😀".repeat(256)]]) {
    test(`${what} fit`, async () => {
      await client.createEntity({ partitionKey: key, rowKey: key, v: 1 });
      assert.equal((await client.getEntity(key, key)).v, 1);
    });
  }
  for (const name of ["partitionKey", "rowKey"]) {
    test(`a ${name} of 513 is refused`, { azurite: "table-key-length" }, async () => {
      await assert.rejects(client.createEntity({ partitionKey: "p", rowKey: "r", [name]: "k".repeat(513) }), failsWith(400, "OutOfRangeInput"));
    });
  }
});

describe("$top", () => {
  for (const top of [1, 1000]) {
    test(`${top} is allowed`, async () => assert.equal((await raw("GET", `/${client.tableName}()?$top=${top}`)).status, 200));
  }
  test("0 is an empty page", async () => {
    for (const path of [`/${client.tableName}()?$top=0`, "/Tables?$top=0"]) {
      const answer = await raw("GET", path);
      assert.deepEqual([answer.status, answer.json().value], [200, []]);
    }
  });
  for (const top of ["1001", "-1", "ten", "1.5"]) {
    test(`${top} is refused`, { azurite: "table-top" }, async () => {
      const answer = await raw("GET", `/${client.tableName}()?$top=${top}`);
      assert.deepEqual([answer.status, codeOf(answer)], [400, "InvalidInput"]);
    });
  }
});

describe("pages", () => {
  test("hold at most 1000 entities", async () => {
    const many = await freshTable();
    for (let batch = 0; batch < 11; batch++) {
      await many.submitTransaction(Array.from({ length: 100 }, (_, i) => ["create", { partitionKey: "m", rowKey: String(batch * 100 + i).padStart(5, "0") }]));
    }
    const first = await raw("GET", `/${many.tableName}()`);
    assert.equal(first.json().value.length, 1000);
    const { "x-ms-continuation-nextpartitionkey": partition, "x-ms-continuation-nextrowkey": row } = first.headers;
    const second = await raw("GET", `/${many.tableName}()?NextPartitionKey=${encodeURIComponent(partition)}&NextRowKey=${encodeURIComponent(row)}`);
    assert.deepEqual(second.json().value.map((e) => e.RowKey)[0], "01000");
    assert.equal(second.json().value.length, 100);
    assert.equal(second.headers["x-ms-continuation-nextpartitionkey"], undefined);
  });
});
