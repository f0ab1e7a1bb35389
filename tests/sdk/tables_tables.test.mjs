// Tables: create, list, get, delete, their names.
import assert from "node:assert/strict";
import { odata } from "@azure/data-tables";
import { all, describe, test } from "./support.mjs";
import { clientOf, codeOf, endpoint, failsWith, freshName, freshTable, raw, service } from "./tables_support.mjs";

const listed = async (filter) => (await all(service.listTables({ queryOptions: { filter } }))).map((table) => table.name);
const create = (name, more) => raw("POST", "/Tables", { body: { TableName: name }, ...more });

describe("tables", () => {
  test("a table is created, listed and deleted", async () => {
    const name = freshName();
    await service.createTable(name);
    assert.deepEqual(await listed(odata`TableName eq ${name}`), [name]);
    await service.deleteTable(name);
    assert.deepEqual(await listed(odata`TableName eq ${name}`), []);
  });
  test("creating twice is not an error for the client", async () => {
    const client = await freshTable();
    await client.createTable();
    await service.createTable(client.tableName);
  });
  test("creating twice is a conflict on the wire", async () => {
    const { tableName } = await freshTable();
    const answer = await create(tableName);
    assert.deepEqual([answer.status, codeOf(answer)], [409, "TableAlreadyExists"]);
  });
  test("names that differ by case are one table", async () => {
    const { tableName } = await freshTable();
    const answer = await create(tableName.toUpperCase());
    assert.deepEqual([answer.status, codeOf(answer)], [409, "TableAlreadyExists"]);
  });
  test("a table is found whatever the case of its name", { azurite: "table-name-case" }, async () => {
    const client = await freshTable();
    await client.createEntity({ partitionKey: "p", rowKey: "r" });
    assert.equal((await clientOf(client.tableName.toLowerCase()).getEntity("p", "r")).rowKey, "r");
  });
  test("a name keeps the case it was created with", async () => {
    const name = freshName("MiXeD");
    await service.createTable(name);
    assert.deepEqual(await listed(odata`TableName eq ${name}`), [name]);
  });
  test("a deleted name is free at once and its table is empty", async () => {
    const client = await freshTable();
    await client.createEntity({ partitionKey: "p", rowKey: "r" });
    await client.deleteTable();
    await client.createTable();
    assert.deepEqual(await all(client.listEntities()), []);
  });
  test("deleting a missing table is swallowed by the client", async () => service.deleteTable(freshName()));
  test("deleting a missing table is 404 on the wire", async () => {
    const answer = await raw("DELETE", `/Tables('${freshName()}')`);
    assert.deepEqual([answer.status, codeOf(answer)], [404, "ResourceNotFound"]);
  });
  test("one table can be read", { azurite: "table-get-one" }, async () => {
    const { tableName } = await freshTable();
    const answer = await raw("GET", `/Tables('${tableName}')`);
    assert.deepEqual([answer.status, answer.json().TableName], [200, tableName]);
  });
  test("reading a missing table is 404", { azurite: "table-get-one" }, async () => {
    const answer = await raw("GET", `/Tables('${freshName()}')`);
    assert.deepEqual([answer.status, codeOf(answer)], [404, "ResourceNotFound"]);
  });
  test("equal keys in two tables are two entities", async () => {
    const [one, two] = [await freshTable(), await freshTable()];
    await one.createEntity({ partitionKey: "p", rowKey: "r", of: "one" });
    await two.createEntity({ partitionKey: "p", rowKey: "r", of: "two" });
    await one.deleteTable();
    assert.equal((await two.getEntity("p", "r")).of, "two");
  });
});

describe("creating on the wire", () => {
  test("answers the table by default", { azurite: "table-preference-applied" }, async () => {
    const name = freshName();
    const answer = await create(name);
    assert.deepEqual([answer.status, answer.json().TableName], [201, name]);
    assert.equal(answer.headers["preference-applied"], undefined);
  });
  test("gives the location", { azurite: "table-location" }, async () => {
    const name = freshName();
    assert.equal((await create(name)).headers.location, `${endpoint}/Tables('${name}')`);
  });
  test("return-no-content", async () => {
    const answer = await create(freshName(), { headers: { Prefer: "return-no-content" } });
    assert.deepEqual([answer.status, answer.text, answer.headers["preference-applied"]], [204, "", "return-no-content"]);
  });
  test("return-no-content names the new table in DataServiceId", { azurite: "table-location" }, async () => {
    const name = freshName();
    const answer = await create(name, { headers: { Prefer: "return-no-content" } });
    assert.equal(answer.headers.dataserviceid, `${endpoint}/Tables('${name}')`);
  });
  test("return-content is confirmed", async () => {
    const answer = await create(freshName(), { headers: { Prefer: "return-content" } });
    assert.deepEqual([answer.status, answer.headers["preference-applied"]], [201, "return-content"]);
  });
  test("without a name", { azurite: "table-bad-names" }, async () => {
    const answer = await raw("POST", "/Tables", { body: { Other: "x" } });
    assert.deepEqual([answer.status, codeOf(answer)], [400, "PropertiesNeedValue"]);
  });
});

describe("table names", () => {
  for (const length of [3, 63]) {
    test(`${length} characters are allowed`, async () => {
      const name = freshName("N").padEnd(63, "x").slice(-length).replace(/^\d/, "N");
      await service.createTable(name);
      await service.deleteTable(name);
    });
  }
  for (const [name, code] of [
    ["ab", "OutOfRangeInput"], ["x".repeat(64), "OutOfRangeInput"], ["bad-name", "InvalidResourceName"],
    ["bad_name", "InvalidResourceName"], ["1abc", "InvalidResourceName"], ["täble", "InvalidResourceName"],
    ["a b c", "InvalidResourceName"], ["tables", "InvalidResourceName"],
  ]) {
    test(`${name.slice(0, 12)} (${name.length}) is refused`, { azurite: "table-bad-names" }, async () => {
      const answer = await create(name);
      assert.deepEqual([answer.status, codeOf(answer)], [400, code]);
    });
  }
});

describe("listing tables", () => {
  const five = async () => {
    const prefix = freshName("Page");
    const names = [0, 1, 2, 3, 4].map((i) => `${prefix}x${i}`);
    for (const name of [...names].reverse()) await service.createTable(name);
    return { names, filter: odata`TableName ge ${prefix} and TableName lt ${`${prefix}z`}` };
  };
  test("a range of names, in order", async () => {
    const { names, filter } = await five();
    assert.deepEqual(await listed(filter), names);
  });
  test("pages", async () => {
    const { names, filter } = await five();
    const pages = await all(service.listTables({ queryOptions: { filter } }).byPage({ maxPageSize: 2 }));
    assert.ok(pages.every((page) => page.length <= 2));
    assert.deepEqual(pages.flat().map((table) => table.name), names);
  });
  test("a continuation goes on behind the last page, also when that table is gone", async () => {
    const { names, filter } = await five();
    const first = await raw("GET", `/Tables?$top=2&$filter=${encodeURIComponent(filter)}`);
    assert.equal(first.json().value.length, 2);
    const token = first.headers["x-ms-continuation-nexttablename"];
    await service.deleteTable(names[2]);
    const next = await raw("GET", `/Tables?$top=2&$filter=${encodeURIComponent(filter)}&NextTableName=${encodeURIComponent(token)}`);
    assert.deepEqual(next.json().value.map((table) => table.TableName), names.slice(3));
  });
  test("no continuation when everything was returned", async () => {
    const { filter } = await five();
    const answer = await raw("GET", `/Tables?$top=5&$filter=${encodeURIComponent(filter)}`);
    assert.deepEqual([answer.json().value.length, answer.headers["x-ms-continuation-nexttablename"]], [5, undefined]);
  });
  test("a wrong filter", async () => assert.rejects(listed("TableName eq"), failsWith(400, "InvalidInput")));
});

describe("a missing table", () => {
  const missing = clientOf(freshName());
  const entity = { partitionKey: "p", rowKey: "r" };
  for (const [operation, call] of Object.entries({
    "point read": () => missing.getEntity("p", "r"),
    query: () => all(missing.listEntities()),
    insert: () => missing.createEntity(entity),
    upsert: () => missing.upsertEntity(entity),
    update: () => missing.updateEntity(entity),
    delete: () => missing.deleteEntity("p", "r"),
    transaction: () => missing.submitTransaction([["create", entity]]),
  })) {
    test(`${operation} is TableNotFound`, async () => assert.rejects(call(), failsWith(404, "TableNotFound")));
  }
  test("its access policies are TableNotFound too", async () => {
    await assert.rejects(missing.getAccessPolicy(), (error) => error.statusCode === 404);
  });
});
