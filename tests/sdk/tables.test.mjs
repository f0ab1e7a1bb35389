// The life of tables and entities through the unmodified @azure/data-tables client.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import {
  AzureNamedKeyCredential, AzureSASCredential, TableClient, TableServiceClient, TableTransaction,
  generateAccountSas, generateTableSas, odata,
} from "@azure/data-tables";

const endpoint = process.env.TIDEMARK_TABLE_URL;
const account = "devstoreaccount1";
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const credential = new AzureNamedKeyCredential(account, key);
const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
const service = new TableServiceClient(endpoint, credential, options);
let counter = 0;
const freshName = (prefix = "T") => `${prefix}${randomUUID().replaceAll("-", "").slice(0, 12)}${counter++}`;
const clientOf = (table, url = endpoint, cred = credential) => new TableClient(url, table, cred, options);
const sasClient = (table, sas) => new TableClient(endpoint, table, new AzureSASCredential(sas), options);
const inOneHour = () => new Date(Date.now() + 3_600_000);

async function freshTable() {
  const client = clientOf(freshName());
  await client.createTable();
  return client;
}
async function all(iterator) {
  const out = [];
  for await (const item of iterator) out.push(item);
  return out;
}
const failsWith = (status, code) => (error) => {
  assert.equal(error.statusCode, status, error.message);
  if (code) assert.equal(error.details?.odataError?.code ?? error.code, code);
  return true;
};

describe("tables", () => {
  test("create, list, delete", async () => {
    const name = freshName();
    await service.createTable(name);
    const listed = await all(service.listTables({ queryOptions: { filter: odata`TableName eq ${name}` } }));
    assert.deepEqual(listed.map((t) => t.name), [name]);
    await service.deleteTable(name);
    assert.equal((await all(service.listTables({ queryOptions: { filter: odata`TableName eq ${name}` } }))).length, 0);
  });
  test("creating twice is not an error for the client", async () => {
    const client = await freshTable();
    await client.createTable();
    await service.createTable(client.tableName);
  });
  test("a deleted name is free at once and its table is empty", async () => {
    const client = await freshTable();
    await client.createEntity({ partitionKey: "p", rowKey: "r" });
    await client.deleteTable();
    await client.createTable();
    assert.equal((await all(client.listEntities())).length, 0);
  });
  test("deleting a missing table is swallowed", async () => service.deleteTable(freshName()));
  test("names match whatever their case", async () => {
    const client = await freshTable();
    await client.createEntity({ partitionKey: "p", rowKey: "r" });
    assert.equal((await clientOf(client.tableName.toLowerCase()).getEntity("p", "r")).rowKey, "r");
  });
  test("bad names are refused", async () => {
    await assert.rejects(service.createTable("bad-name"), failsWith(400, "InvalidResourceName"));
    await assert.rejects(service.createTable("ab"), failsWith(400, "OutOfRangeInput"));
  });
  test("listing pages through every table", async () => {
    const prefix = freshName("Page");
    for (let i = 0; i < 5; i++) await service.createTable(`${prefix}x${i}`);
    const names = [];
    const filter = odata`TableName ge ${prefix} and TableName lt ${prefix + "z"}`;
    for await (const page of service.listTables({ queryOptions: { filter } }).byPage({ maxPageSize: 2 })) {
      assert.ok(page.length <= 2);
      names.push(...page.map((t) => t.name));
    }
    assert.deepEqual(names, [0, 1, 2, 3, 4].map((i) => `${prefix}x${i}`));
  });
  test("operations on a missing table", async () => {
    const client = clientOf(freshName());
    await assert.rejects(client.getEntity("p", "r"), failsWith(404, "TableNotFound"));
    await assert.rejects(client.createEntity({ partitionKey: "p", rowKey: "r" }), failsWith(404, "TableNotFound"));
    await assert.rejects(all(client.listEntities()), failsWith(404, "TableNotFound"));
  });
});

describe("entities", () => {
  let client;
  before(async () => { client = await freshTable(); });
  after(async () => client.deleteTable());

  test("all types round trip", async () => {
    const entity = {
      partitionKey: "types", rowKey: "1", s: "héllo 日本 😀", empty: "", b: true, f: false, i: 42, neg: -7,
      big: 1234567890123456789n, d: 1.5, whole: { value: "2", type: "Double" },
      nan: { value: "NaN", type: "Double" }, dt: new Date("2024-02-03T04:05:06.789Z"),
      dt7: { value: "2024-02-03T04:05:06.1234567Z", type: "DateTime" },
      g: { value: "0d391d16-97f1-4b9a-be68-4cc871f90001", type: "Guid" }, bin: new Uint8Array([1, 2, 3, 255]),
    };
    await client.createEntity(entity);
    const read = await client.getEntity("types", "1");
    assert.equal(read.s, entity.s);
    assert.equal(read.empty, "");
    assert.equal(read.b, true);
    assert.equal(read.f, false);
    assert.equal(read.i, 42);
    assert.equal(read.neg, -7);
    assert.equal(read.big, 1234567890123456789n);
    assert.equal(read.d, 1.5);
    assert.equal(read.whole, 2);
    assert.ok(Number.isNaN(read.nan) || read.nan === "NaN" || read.nan?.value === "NaN");
    assert.equal(new Date(read.dt).getTime(), entity.dt.getTime());
    const exact = await client.getEntity("types", "1", { disableTypeConversion: true });
    assert.deepEqual(exact.dt7, { value: "2024-02-03T04:05:06.1234567Z", type: "DateTime" });
    assert.deepEqual(read.g, { value: "0d391d16-97f1-4b9a-be68-4cc871f90001", type: "Guid" });
    assert.deepEqual([...read.bin], [1, 2, 3, 255]);
    assert.ok(read.etag && read.timestamp);
  });
  test("types are told by disableTypeConversion", async () => {
    await client.createEntity({ partitionKey: "types", rowKey: "2", n: 5, d: { value: "5", type: "Double" } });
    const read = await client.getEntity("types", "2", { disableTypeConversion: true });
    assert.deepEqual(read.n, { value: "5", type: "Int32" });
  });
  test("null is not stored", async () => {
    await client.createEntity({ partitionKey: "types", rowKey: "3", nothing: null, something: 1 });
    assert.ok(!("nothing" in (await client.getEntity("types", "3"))));
  });
  test("properties differ by case", async () => {
    await client.createEntity({ partitionKey: "types", rowKey: "4", Name: "a", name: "b" });
    const read = await client.getEntity("types", "4");
    assert.deepEqual([read.Name, read.name], ["a", "b"]);
  });
  test("insert twice", async () => {
    await client.createEntity({ partitionKey: "p", rowKey: "twice" });
    await assert.rejects(client.createEntity({ partitionKey: "p", rowKey: "twice" }), failsWith(409, "EntityAlreadyExists"));
  });
  test("a missing entity", async () => {
    await assert.rejects(client.getEntity("p", "missing"), failsWith(404, "ResourceNotFound"));
    await assert.rejects(client.updateEntity({ partitionKey: "p", rowKey: "missing" }, "Merge"), failsWith(404, "ResourceNotFound"));
    await assert.rejects(client.deleteEntity("p", "missing"), failsWith(404, "ResourceNotFound"));
  });
  test("upsert replace creates and replaces", async () => {
    await client.upsertEntity({ partitionKey: "p", rowKey: "ur", a: 1 }, "Replace");
    await client.upsertEntity({ partitionKey: "p", rowKey: "ur", b: 2 }, "Replace");
    const read = await client.getEntity("p", "ur");
    assert.deepEqual([read.a, read.b], [undefined, 2]);
  });
  test("upsert merge creates and merges", async () => {
    await client.upsertEntity({ partitionKey: "p", rowKey: "um", a: 1 }, "Merge");
    await client.upsertEntity({ partitionKey: "p", rowKey: "um", b: 2 }, "Merge");
    const read = await client.getEntity("p", "um");
    assert.deepEqual([read.a, read.b], [1, 2]);
  });
  test("update merge keeps, update replace drops", async () => {
    await client.createEntity({ partitionKey: "p", rowKey: "mr", a: 1, b: 1 });
    await client.updateEntity({ partitionKey: "p", rowKey: "mr", b: 2 }, "Merge");
    let read = await client.getEntity("p", "mr");
    assert.deepEqual([read.a, read.b], [1, 2]);
    await client.updateEntity({ partitionKey: "p", rowKey: "mr", c: 3 }, "Replace");
    read = await client.getEntity("p", "mr");
    assert.deepEqual([read.a, read.b, read.c], [undefined, undefined, 3]);
  });
  test("write and read agree on the etag", async () => {
    const created = await client.createEntity({ partitionKey: "p", rowKey: "tag" });
    assert.equal(created.etag, (await client.getEntity("p", "tag")).etag);
    const listed = await all(client.listEntities({ queryOptions: { filter: "RowKey eq 'tag'" } }));
    assert.equal(listed[0].etag, created.etag);
  });
  test("a current etag wins, a stale one conflicts", async () => {
    const { etag } = await client.createEntity({ partitionKey: "p", rowKey: "etag", n: 1 });
    const updated = await client.updateEntity({ partitionKey: "p", rowKey: "etag", n: 2 }, "Replace", { etag });
    assert.notEqual(updated.etag, etag);
    await assert.rejects(client.updateEntity({ partitionKey: "p", rowKey: "etag", n: 3 }, "Replace", { etag }), failsWith(412, "UpdateConditionNotSatisfied"));
    await assert.rejects(client.updateEntity({ partitionKey: "p", rowKey: "etag", n: 3 }, "Merge", { etag }), failsWith(412, "UpdateConditionNotSatisfied"));
    await assert.rejects(client.deleteEntity("p", "etag", { etag }), failsWith(412, "UpdateConditionNotSatisfied"));
    await client.deleteEntity("p", "etag", { etag: updated.etag });
  });
  test("a malformed etag", async () => {
    await client.createEntity({ partitionKey: "p", rowKey: "badtag" });
    await assert.rejects(client.deleteEntity("p", "badtag", { etag: "nonsense" }), failsWith(400));
  });
  for (const odd of ["it's", "a b", "100%", "a&b=c", "a+b", "日本 é", "", "(x),RowKey='y'", "\"q\"", "@:;,$!*", "%27"]) {
    test(`key ${JSON.stringify(odd)} round trips`, async () => {
      const rowKey = `${odd}|`.slice(0, -1);
      await client.upsertEntity({ partitionKey: `odd${odd}`, rowKey, n: 1 }, "Replace");
      assert.equal((await client.getEntity(`odd${odd}`, rowKey)).rowKey, rowKey);
      await client.updateEntity({ partitionKey: `odd${odd}`, rowKey, n: 2 }, "Merge");
      const found = await all(client.listEntities({ queryOptions: { filter: odata`PartitionKey eq ${"odd" + odd}` } }));
      assert.equal(found[0].n, 2);
      await client.deleteEntity(`odd${odd}`, rowKey);
    });
  }
  for (const bad of ["a/b", "a\\b", "a#b", "a?b", "a\tb"]) {
    test(`key ${JSON.stringify(bad)} is refused`, async () => {
      await assert.rejects(client.createEntity({ partitionKey: "p", rowKey: bad }), failsWith(400, "OutOfRangeInput"));
    });
  }
  test("sizes are limited", async () => {
    await client.createEntity({ partitionKey: "p", rowKey: "64k", s: "x".repeat(32768) });
    await assert.rejects(client.createEntity({ partitionKey: "p", rowKey: "big", s: "x".repeat(32769) }), failsWith(400, "PropertyValueTooLarge"));
    const many = Object.fromEntries(Array.from({ length: 253 }, (_, i) => [`p${i}`, i]));
    await assert.rejects(client.createEntity({ partitionKey: "p", rowKey: "many", ...many }), failsWith(400, "TooManyProperties"));
  });
  test("timestamps grow", async () => {
    let last = "";
    for (let i = 0; i < 5; i++) {
      await client.upsertEntity({ partitionKey: "p", rowKey: "time", i });
      const { timestamp } = await client.getEntity("p", "time", { disableTypeConversion: true });
      const text = String(timestamp?.value ?? timestamp);
      assert.notEqual(text, last);
      last = text;
    }
  });
});

describe("queries", () => {
  let client;
  before(async () => {
    client = await freshTable();
    for (const pk of ["a", "b"]) {
      await client.submitTransaction(Array.from({ length: 50 }, (_, i) => [
        "create", { partitionKey: pk, rowKey: String(i).padStart(3, "0"), n: i, even: i % 2 === 0, big: BigInt(i), at: new Date(i * 1000) },
      ]));
    }
  });
  after(async () => client.deleteTable());
  const count = async (filter) => (await all(client.listEntities({ queryOptions: { filter } }))).length;

  test("everything, in order", async () => {
    const found = await all(client.listEntities());
    assert.equal(found.length, 100);
    const keys = found.map((e) => e.partitionKey + e.rowKey);
    assert.deepEqual(keys, [...keys].sort());
  });
  test("partition", async () => assert.equal(await count(odata`PartitionKey eq ${"a"}`), 50));
  test("row range", async () => assert.equal(await count("PartitionKey eq 'a' and RowKey ge '010' and RowKey lt '020'"), 10));
  test("numbers", async () => assert.equal(await count("n ge 45"), 10));
  test("int64", async () => assert.equal(await count("big eq 5L"), 2));
  test("booleans", async () => assert.equal(await count("PartitionKey eq 'b' and even eq true"), 25));
  test("dates", async () => assert.equal(await count(odata`at lt ${new Date(5000)}`), 10));
  test("or and not", async () => assert.equal(await count("(n eq 1 or n eq 2) and not (PartitionKey eq 'a')"), 2));
  test("absent properties", async () => {
    assert.equal(await count("missing ne 1"), 0);
    assert.equal(await count("not (missing eq 1)"), 100);
  });
  test("a wrong filter", async () => assert.rejects(count("n eq 5 and"), failsWith(400, "InvalidInput")));
  test("select", async () => {
    const found = await all(client.listEntities({ queryOptions: { filter: "RowKey eq '001'", select: ["n", "rowKey"] } }));
    assert.equal(found.length, 2);
    assert.equal(found[0].n, 1);
    assert.equal(found[0].even, undefined);
  });
  test("select on a point read", async () => {
    const read = await client.getEntity("a", "007", { queryOptions: { select: ["n"] } });
    assert.deepEqual([read.n, read.even], [7, undefined]);
  });
  test("pages", async () => {
    let found = 0, pages = 0;
    for await (const page of client.listEntities().byPage({ maxPageSize: 30 })) {
      assert.ok(page.length <= 30);
      found += page.length;
      pages += 1;
    }
    assert.equal(found, 100);
    assert.ok(pages >= 4);
  });
  test("a continuation token goes on where it was", async () => {
    const first = (await client.listEntities().byPage({ maxPageSize: 10 }).next()).value;
    const second = (await client.listEntities().byPage({ maxPageSize: 10, continuationToken: first.continuationToken }).next()).value;
    assert.equal(first[9].rowKey, "009");
    assert.equal(second[0].rowKey, "010");
  });
});

describe("transactions", () => {
  let client;
  before(async () => { client = await freshTable(); });
  after(async () => client.deleteTable());

  test("create, update, upsert and delete together", async () => {
    await client.submitTransaction([["create", { partitionKey: "t", rowKey: "1", a: 1 }], ["create", { partitionKey: "t", rowKey: "2", a: 1 }]]);
    const transaction = new TableTransaction();
    transaction.createEntity({ partitionKey: "t", rowKey: "3" });
    transaction.updateEntity({ partitionKey: "t", rowKey: "1", b: 2 }, "Merge");
    transaction.deleteEntity("t", "2");
    transaction.upsertEntity({ partitionKey: "t", rowKey: "4" }, "Replace");
    const result = await client.submitTransaction(transaction.actions);
    assert.equal(result.status, 202);
    assert.deepEqual(result.subResponses.map((r) => r.status), [204, 204, 204, 204]);
    assert.equal(result.getResponseForEntity("3").etag, (await client.getEntity("t", "3")).etag);
    const rows = await all(client.listEntities({ queryOptions: { filter: "PartitionKey eq 't'" } }));
    assert.deepEqual(rows.map((r) => r.rowKey), ["1", "3", "4"]);
    assert.deepEqual([rows[0].a, rows[0].b], [1, 2]);
  });
  test("a hundred operations fit", async () => {
    const result = await client.submitTransaction(Array.from({ length: 100 }, (_, i) => ["upsert", { partitionKey: "h", rowKey: `${i}` }]));
    assert.equal(result.subResponses.length, 100);
  });
  test("a hundred and one do not", async () => {
    const actions = Array.from({ length: 101 }, (_, i) => ["upsert", { partitionKey: "h1", rowKey: `${i}` }]);
    await assert.rejects(client.submitTransaction(actions), failsWith(400, "InvalidInput"));
  });
  test("a failure names its index and changes nothing", async () => {
    await client.createEntity({ partitionKey: "f", rowKey: "2" });
    const actions = ["0", "1", "2"].map((rowKey) => ["create", { partitionKey: "f", rowKey }]);
    await assert.rejects(client.submitTransaction(actions), (error) => {
      assert.equal(error.statusCode, 409);
      assert.match(error.message, /2:The specified entity already exists/);
      return true;
    });
    await assert.rejects(client.getEntity("f", "0"), failsWith(404));
  });
  test("a stale etag fails the transaction", async () => {
    const { etag } = await client.createEntity({ partitionKey: "e", rowKey: "1" });
    await client.upsertEntity({ partitionKey: "e", rowKey: "1", n: 1 });
    await assert.rejects(client.submitTransaction([["create", { partitionKey: "e", rowKey: "0" }], ["update", { partitionKey: "e", rowKey: "1" }, "Replace", { etag }]]), failsWith(412));
  });
  test("an entity twice", async () => {
    const twice = ["create", { partitionKey: "d", rowKey: "1" }];
    await assert.rejects(client.submitTransaction([twice, twice]), failsWith(400, "InvalidDuplicateRow"));
  });
  test("special keys", async () => {
    await client.submitTransaction([["create", { partitionKey: "it's & 1", rowKey: "ü 100%" }]]);
    assert.equal((await client.getEntity("it's & 1", "ü 100%")).rowKey, "ü 100%");
  });
});

describe("shared access signatures", () => {
  let client;
  before(async () => {
    client = await freshTable();
    for (const rowKey of ["1", "2", "3"]) await client.createEntity({ partitionKey: "p", rowKey });
  });
  after(async () => client.deleteTable());

  test("a read-only table signature reads and does not write", async () => {
    const sas = generateTableSas(client.tableName, credential, { permissions: { query: true }, expiresOn: inOneHour() });
    const reader = sasClient(client.tableName, sas);
    assert.equal((await reader.getEntity("p", "1")).rowKey, "1");
    assert.equal((await all(reader.listEntities())).length, 3);
    await assert.rejects(reader.createEntity({ partitionKey: "p", rowKey: "no" }), failsWith(403, "AuthorizationPermissionMismatch"));
    await assert.rejects(reader.deleteEntity("p", "1"), failsWith(403, "AuthorizationPermissionMismatch"));
  });
  test("an upsert needs add and update", async () => {
    const make = (permissions) => sasClient(client.tableName, generateTableSas(client.tableName, credential, { permissions, expiresOn: inOneHour() }));
    await assert.rejects(make({ update: true }).upsertEntity({ partitionKey: "u", rowKey: "1" }), failsWith(403));
    await make({ add: true, update: true }).upsertEntity({ partitionKey: "u", rowKey: "1" });
  });
  test("key ranges bound reads, writes and queries", async () => {
    const sas = generateTableSas(client.tableName, credential, {
      permissions: { query: true, add: true, update: true, delete: true }, expiresOn: inOneHour(),
      startPartitionKey: "p", startRowKey: "2", endPartitionKey: "p", endRowKey: "2",
    });
    const bounded = sasClient(client.tableName, sas);
    assert.deepEqual((await all(bounded.listEntities({ queryOptions: { filter: "PartitionKey eq 'p'" } }))).map((e) => e.rowKey), ["2"]);
    await assert.rejects(bounded.getEntity("p", "1"), failsWith(403, "AuthorizationFailure"));
    await assert.rejects(bounded.upsertEntity({ partitionKey: "p", rowKey: "3" }), failsWith(403, "AuthorizationFailure"));
    await bounded.upsertEntity({ partitionKey: "p", rowKey: "2", n: 1 });
  });
  test("a transaction with a table signature", async () => {
    const sas = generateTableSas(client.tableName, credential, { permissions: { add: true }, expiresOn: inOneHour() });
    await sasClient(client.tableName, sas).submitTransaction([["create", { partitionKey: "b", rowKey: "1" }]]);
    await assert.rejects(sasClient(client.tableName, sas).submitTransaction([["delete", { partitionKey: "b", rowKey: "1" }]]), failsWith(403));
  });
  test("a signature for another table", async () => {
    const sas = generateTableSas("SomeOther", credential, { permissions: { query: true }, expiresOn: inOneHour() });
    await assert.rejects(sasClient(client.tableName, sas).getEntity("p", "1"), failsWith(403));
  });
  test("an expired or forged signature", async () => {
    const old = generateTableSas(client.tableName, credential, { permissions: { query: true }, startsOn: new Date(0), expiresOn: new Date(1000) });
    await assert.rejects(sasClient(client.tableName, old).getEntity("p", "1"), failsWith(403, "AuthenticationFailed"));
    const forged = generateTableSas(client.tableName, credential, { permissions: { query: true }, expiresOn: inOneHour() }).replace("sp=r", "sp=rd");
    await assert.rejects(sasClient(client.tableName, forged).getEntity("p", "1"), failsWith(403, "AuthenticationFailed"));
  });
  test("an account signature manages tables", async () => {
    const permissions = { query: true, write: true, delete: true, list: true, add: true, create: true, update: true };
    const sas = generateAccountSas(credential, { expiresOn: inOneHour(), permissions });
    const manager = new TableServiceClient(endpoint, new AzureSASCredential(sas), options);
    const name = freshName();
    await manager.createTable(name);
    await sasClient(name, sas).createEntity({ partitionKey: "p", rowKey: "r" });
    await manager.deleteTable(name);
  });
  test("a stored policy grants until it is removed", async () => {
    await client.setAccessPolicy([{ id: "ro", accessPolicy: { start: new Date(Date.now() - 60_000), expiry: inOneHour(), permission: "r" } }]);
    const policies = await client.getAccessPolicy();
    assert.deepEqual(policies.map((p) => [p.id, p.accessPolicy.permission]), [["ro", "r"]]);
    const reader = sasClient(client.tableName, generateTableSas(client.tableName, credential, { identifier: "ro" }));
    assert.equal((await reader.getEntity("p", "1")).rowKey, "1");
    await client.setAccessPolicy([]);
    await assert.rejects(reader.getEntity("p", "1"), failsWith(403, "AuthenticationFailed"));
  });
  test("a wrong key", async () => {
    const stranger = clientOf(client.tableName, endpoint, new AzureNamedKeyCredential(account, Buffer.from("wrong").toString("base64")));
    await assert.rejects(stranger.getEntity("p", "1"), failsWith(403, "AuthenticationFailed"));
  });
});

describe("the account", () => {
  test("properties keep what a change leaves out", async () => {
    await service.setProperties({ cors: [{ allowedOrigins: "https://app.example", allowedMethods: "GET,PUT", allowedHeaders: "x-ms-*", exposedHeaders: "x-ms-*", maxAgeInSeconds: 60 }] });
    await service.setProperties({ hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 7 } } });
    const read = await service.getProperties();
    assert.equal(read.cors.length, 1);
    assert.equal(read.hourMetrics.retentionPolicy.days, 7);
    assert.equal(read.logging.read, false);
    const preflight = await fetch(`${endpoint}/Tables`, { method: "OPTIONS", headers: { Origin: "https://app.example", "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-ms-version" } });
    assert.equal(preflight.status, 200);
    assert.equal(preflight.headers.get("access-control-allow-origin"), "https://app.example");
  });
  test("statistics come from the secondary", async () => {
    const secondary = new TableServiceClient(`${endpoint}-secondary`, credential, options);
    assert.equal((await secondary.getStatistics()).geoReplication.status, "live");
  });
});
