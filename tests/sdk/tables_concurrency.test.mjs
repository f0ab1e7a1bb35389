// Many writers at once: conditions admit exactly one of them, loops lose nothing, readers see whole entities.
import assert from "node:assert/strict";
import { before, describe, test } from "./support.mjs";
import { failsWith, freshTable, query, rows, versionOf } from "./tables_support.mjs";

let client;
let counter = 0;
before(async () => { client = await freshTable(); });
const many = (count, each) => Promise.all(Array.from({ length: count }, (_, i) => each(i)));
const statuses = (results) => results.map((r) => (r.status === "fulfilled" ? 200 : r.reason.statusCode)).sort();
const settle = (count, each) => Promise.allSettled(Array.from({ length: count }, (_, i) => each(i)));
const fresh = () => ({ partitionKey: "c", rowKey: `${counter++}` });

describe("of many that do the same", () => {
  test("one insert wins", async () => {
    const entity = fresh();
    const results = await settle(16, (i) => client.createEntity({ ...entity, i }));
    assert.deepEqual(statuses(results), [200, ...Array(15).fill(409)]);
    assert.equal((await client.getEntity("c", entity.rowKey)).i, results.findIndex((r) => r.status === "fulfilled"));
  });
  test("one update with the same ETag wins", async () => {
    const entity = fresh();
    const { etag } = await client.createEntity(entity);
    const results = await settle(16, (i) => client.updateEntity({ ...entity, i }, "Replace", { etag }));
    assert.deepEqual(statuses(results), [200, ...Array(15).fill(412)]);
    const winner = results.findIndex((r) => r.status === "fulfilled");
    const read = await client.getEntity("c", entity.rowKey);
    assert.deepEqual([read.i, read.etag], [winner, results[winner].value.etag]);
  });
  test("one delete wins", async () => {
    const entity = fresh();
    await client.createEntity(entity);
    assert.deepEqual(statuses(await settle(8, () => client.deleteEntity("c", entity.rowKey))), [200, ...Array(7).fill(404)]);
  });
  test("one transaction wins, whole", async () => {
    const pk = `t${counter++}`;
    const results = await settle(8, (i) => client.submitTransaction(
      [["create", { partitionKey: pk, rowKey: `own${i}` }], ["create", { partitionKey: pk, rowKey: "shared", i }]],
    ));
    assert.deepEqual(statuses(results), [200, ...Array(7).fill(409)]);
    const winner = results.findIndex((r) => r.status === "fulfilled");
    assert.deepEqual(await rows(client, `PartitionKey eq '${pk}'`), [`own${winner}`, "shared"]);
  });
  test("every upsert succeeds and the last one stays", async () => {
    const entity = fresh();
    const results = await many(16, (i) => client.upsertEntity({ ...entity, i }, "Replace"));
    const versions = results.map((r) => versionOf(r.etag));
    assert.equal(new Set(versions).size, 16);
    const last = versions.indexOf([...versions].sort().at(-1));
    const read = await client.getEntity("c", entity.rowKey);
    assert.deepEqual([read.i, read.etag], [last, results[last].etag]);
  });
  test("merges of different properties all stay", async () => {
    const entity = fresh();
    await client.createEntity(entity);
    await many(16, (i) => client.updateEntity({ ...entity, [`p${i}`]: i }, "Merge"));
    const read = await client.getEntity("c", entity.rowKey);
    for (let i = 0; i < 16; i++) assert.equal(read[`p${i}`], i);
  });
});

describe("a table that is deleted while it is written", () => {
  test("every insert is done or refused, and the new table of that name has none of the old", async () => {
    const table = await freshTable();
    const inserts = settle(24, (i) => table.createEntity({ partitionKey: "p", rowKey: `${i}` }));
    await table.deleteTable();
    const results = statuses(await inserts);
    assert.ok(results.every((status) => status === 200 || status === 404), `${results}`);
    await assert.rejects(table.getEntity("p", "0"), failsWith(404, "TableNotFound"));
    await table.createTable();
    assert.deepEqual(await rows(table, ""), []);
  });
});

describe("optimistic loops", () => {
  async function change(rowKey, alter) {
    for (;;) {
      const entity = await client.getEntity("c", rowKey);
      try {
        return await client.updateEntity(alter(entity), "Replace", { etag: entity.etag });
      } catch (error) {
        assert.equal(error.statusCode, 412);
      }
    }
  }
  test("a counter loses no step", async () => {
    const { rowKey } = fresh();
    await client.createEntity({ partitionKey: "c", rowKey, n: 0 });
    await many(8, async () => {
      for (let i = 0; i < 10; i++) await change(rowKey, (e) => ({ partitionKey: "c", rowKey, n: e.n + 1 }));
    });
    assert.equal((await client.getEntity("c", rowKey)).n, 80);
  });
  test("a list loses no item", async () => {
    const { rowKey } = fresh();
    await client.createEntity({ partitionKey: "c", rowKey, items: "" });
    await many(8, (i) => change(rowKey, (e) => ({ partitionKey: "c", rowKey, items: `${e.items}${i}` })));
    assert.deepEqual([...(await client.getEntity("c", rowKey)).items].sort(), [..."01234567"]);
  });
  test("transfers between two entities keep the sum", async () => {
    const pk = `sum${counter++}`;
    await client.submitTransaction(["a", "b"].map((rowKey) => ["create", { partitionKey: pk, rowKey, n: 100 }]));
    await many(6, async (i) => {
      for (;;) {
        const [a, b] = await query(client, `PartitionKey eq '${pk}'`);
        assert.equal(a.n + b.n, 200);
        try {
          await client.submitTransaction([
            ["update", { partitionKey: pk, rowKey: "a", n: a.n - i }, "Replace", { etag: a.etag }],
            ["update", { partitionKey: pk, rowKey: "b", n: b.n + i }, "Replace", { etag: b.etag }],
          ]);
          return;
        } catch (error) {
          assert.equal(error.statusCode, 412);
        }
      }
    });
    const [a, b] = await query(client, `PartitionKey eq '${pk}'`);
    assert.deepEqual([a.n, b.n], [85, 115]);
  });
  test("one of two that take a lock by an insert waits for the other's delete", async () => {
    const lock = fresh();
    let inside = 0;
    await many(4, async () => {
      for (;;) {
        try {
          await client.createEntity(lock);
          break;
        } catch (error) {
          failsWith(409, "EntityAlreadyExists")(error);
        }
      }
      assert.equal(++inside, 1);
      await client.getEntity("c", lock.rowKey);
      inside -= 1;
      await client.deleteEntity("c", lock.rowKey);
    });
  });
});

test("a reader sees whole entities while they are replaced", async () => {
  const entity = fresh();
  const fill = (i) => ({ ...entity, ...Object.fromEntries(Array.from({ length: 20 }, (_, p) => [`p${p}`, i])) });
  await client.createEntity(fill(0));
  const writer = (async () => {
    for (let i = 1; i <= 30; i++) await client.upsertEntity(fill(i), "Replace");
  })();
  let seen = 0;
  while (seen < 30) {
    const read = await client.getEntity("c", entity.rowKey);
    seen = read.p0;
    for (let p = 1; p < 20; p++) assert.equal(read[`p${p}`], seen);
  }
  await writer;
});
