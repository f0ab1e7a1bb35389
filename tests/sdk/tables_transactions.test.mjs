// Entity group transactions: every operation, all or nothing, the failing index, the limits, the bytes on the wire.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { TableTransaction } from "@azure/data-tables";
import { before, describe, test } from "./support.mjs";
import { clientOf, codeOf, endpoint, failsWith, freshName, freshTable, query, raw, rows } from "./tables_support.mjs";

let client;
let counter = 0;
before(async () => { client = await freshTable(); });
const partition = () => `p${counter++}`;
const rowsOf = (partitionKey) => rows(client, `PartitionKey eq '${partitionKey}'`);
const creates = (partitionKey, keys, more = {}) => keys.map((rowKey) => ["create", { partitionKey, rowKey, ...more }]);
const numbers = (count) => Array.from({ length: count }, (_, i) => String(i).padStart(3, "0"));
/// Checks that nothing of the transaction was applied, and that the error names the failing operation.
async function rollsBack(partitionKey, actions, status, code, index) {
  const earlier = await query(client, `PartitionKey eq '${partitionKey}'`);
  await assert.rejects(client.submitTransaction(actions), failsWith(status, code, new RegExp(`^${index}:`)));
  assert.deepEqual(await query(client, `PartitionKey eq '${partitionKey}'`), earlier);
}

describe("operations", () => {
  test("create, update, upsert and delete together", async () => {
    const pk = partition();
    await client.submitTransaction(creates(pk, ["1", "2", "5"], { a: 1 }));
    const transaction = new TableTransaction();
    transaction.createEntity({ partitionKey: pk, rowKey: "3" });
    transaction.updateEntity({ partitionKey: pk, rowKey: "1", b: 2 }, "Merge");
    transaction.deleteEntity(pk, "2");
    transaction.upsertEntity({ partitionKey: pk, rowKey: "4" }, "Replace");
    transaction.updateEntity({ partitionKey: pk, rowKey: "5", c: 3 }, "Replace");
    const result = await client.submitTransaction(transaction.actions);
    assert.equal(result.status, 202);
    assert.deepEqual(result.subResponses.map((r) => r.status), [204, 204, 204, 204, 204]);
    const found = await query(client, `PartitionKey eq '${pk}'`);
    assert.deepEqual(found.map((e) => [e.rowKey, e.a, e.b, e.c]), [
      ["1", 1, 2, undefined], ["3", undefined, undefined, undefined], ["4", undefined, undefined, undefined], ["5", undefined, undefined, 3],
    ]);
  });
  test("one create", async () => {
    const pk = partition();
    await client.submitTransaction(creates(pk, ["1"]));
    assert.deepEqual(await rowsOf(pk), ["1"]);
  });
  for (const mode of ["Merge", "Replace"]) {
    test(`an upsert (${mode}) creates and changes`, async () => {
      const pk = partition();
      await client.submitTransaction([["upsert", { partitionKey: pk, rowKey: "1", a: 1 }, mode]]);
      await client.submitTransaction([["upsert", { partitionKey: pk, rowKey: "1", b: 2 }, mode]]);
      const { a, b } = await client.getEntity(pk, "1");
      assert.deepEqual([a, b], [mode === "Merge" ? 1 : undefined, 2]);
    });
  }
  test("every type goes through", async () => {
    const pk = partition();
    await client.submitTransaction([["create", { partitionKey: pk, rowKey: "1", s: "é}{\r\n--", l: 5n, d: new Date(0), x: new Uint8Array([13, 10, 45, 45]), b: true, g: { value: randomUUID(), type: "Guid" } }]]);
    const read = await client.getEntity(pk, "1");
    assert.deepEqual([read.s, read.l, read.b, [...read.x]], ["é}{\r\n--", 5n, true, [13, 10, 45, 45]]);
  });
  for (const odd of ["it's & 1", "ü 100%", "a+b=c", "日本", "(x),RowKey='y'", "", "%27"]) {
    test(`the key ${JSON.stringify(odd)}`, { azurite: odd.startsWith("(") ? "table-batch-keys" : undefined }, async () => {
      const pk = `${partition()}${odd}`;
      await client.submitTransaction([["create", { partitionKey: pk, rowKey: odd, n: 1 }]]);
      await client.submitTransaction([["update", { partitionKey: pk, rowKey: odd, m: 2 }, "Merge"]]);
      const read = await client.getEntity(pk, odd);
      assert.deepEqual([read.n, read.m], [1, 2]);
      await client.submitTransaction([["delete", { partitionKey: pk, rowKey: odd }]]);
      await assert.rejects(client.getEntity(pk, odd), failsWith(404));
    });
  }
  test("the entities of one transaction are read together", async () => {
    const pk = partition();
    await client.submitTransaction(creates(pk, ["1", "2"], { balance: 50 }));
    const moves = (async () => {
      for (let i = 1; i <= 20; i++) {
        await client.submitTransaction([["update", { partitionKey: pk, rowKey: "1", balance: 50 - i }], ["update", { partitionKey: pk, rowKey: "2", balance: 50 + i }]]);
      }
    })();
    let last = 0;
    do {
      const found = await query(client, `PartitionKey eq '${pk}'`);
      last = found[1].balance;
      assert.equal(found[0].balance + last, 100);
    } while (last < 70);
    await moves;
  });
});

describe("answers", () => {
  test("the ETag of a create is the entity's", async () => {
    const pk = partition();
    const result = await client.submitTransaction(creates(pk, ["1", "2"]));
    assert.equal(result.getResponseForEntity("2").etag, (await client.getEntity(pk, "2")).etag);
  });
  test("the ETags of updates are the entities'", async () => {
    const pk = partition();
    await client.submitTransaction(creates(pk, ["1"]));
    const result = await client.submitTransaction([["upsert", { partitionKey: pk, rowKey: "1", n: 1 }]]);
    assert.equal(result.subResponses[0].etag, (await client.getEntity(pk, "1")).etag);
  });
});

describe("limits", () => {
  test("a hundred operations fit", async () => {
    const pk = partition();
    const result = await client.submitTransaction(creates(pk, numbers(100)));
    assert.equal(result.subResponses.length, 100);
    assert.equal((await rowsOf(pk)).length, 100);
  });
  test("a hundred and one do not", async () => {
    const pk = partition();
    await assert.rejects(client.submitTransaction(creates(pk, numbers(101))), failsWith(400, "InvalidInput"));
    assert.deepEqual(await rowsOf(pk), []);
  });
  test("the refusal of a hundred and one names the last that would fit", { azurite: "table-batch-count" }, async () => {
    await assert.rejects(client.submitTransaction(creates(partition(), numbers(101))), failsWith(400, "InvalidInput", /^99:/));
  });
  test("above 4 MiB", async () => {
    const pk = partition();
    const big = Object.fromEntries(numbers(14).map((n) => [`s${n}`, "x".repeat(32768)]));
    await assert.rejects(client.submitTransaction(creates(pk, numbers(10), big)), failsWith(413, "RequestBodyTooLarge"));
    assert.deepEqual(await rowsOf(pk), []);
  });
  test("almost 4 MiB", async () => {
    const pk = partition();
    const big = Object.fromEntries(numbers(14).map((n) => [`s${n}`, "x".repeat(32700)]));
    await client.submitTransaction(creates(pk, numbers(9), big));
    assert.equal((await rowsOf(pk)).length, 9);
  });
});

describe("a failure changes nothing and names its index", () => {
  const withOne = async () => {
    const pk = partition();
    const { etag } = await client.createEntity({ partitionKey: pk, rowKey: "exists", n: 1 });
    return { pk, etag };
  };
  for (const index of [0, 1, 99]) {
    test(`a duplicate at ${index}`, async () => {
      const { pk } = await withOne();
      const actions = creates(pk, numbers(100));
      actions[index] = ["create", { partitionKey: pk, rowKey: "exists" }];
      await rollsBack(pk, actions, 409, "EntityAlreadyExists", index);
    });
  }
  test("an update of a missing entity", async () => {
    const { pk } = await withOne();
    await rollsBack(pk, [...creates(pk, ["1"]), ["update", { partitionKey: pk, rowKey: "missing" }]], 404, "ResourceNotFound", 1);
  });
  test("a delete of a missing entity", async () => {
    const { pk } = await withOne();
    await rollsBack(pk, [["update", { partitionKey: pk, rowKey: "exists", n: 2 }], ["delete", { partitionKey: pk, rowKey: "missing" }]], 404, "ResourceNotFound", 1);
  });
  test("a stale ETag", async () => {
    const { pk, etag } = await withOne();
    await client.upsertEntity({ partitionKey: pk, rowKey: "exists", n: 2 });
    await rollsBack(pk, [...creates(pk, ["1", "2"]), ["update", { partitionKey: pk, rowKey: "exists", n: 3 }, "Replace", { etag }]], 412, "UpdateConditionNotSatisfied", 2);
  });
  test("a current ETag lets it through", async () => {
    const { pk, etag } = await withOne();
    await client.submitTransaction([["update", { partitionKey: pk, rowKey: "exists", n: 3 }, "Replace", { etag }], ...creates(pk, ["1"])]);
    assert.equal((await client.getEntity(pk, "exists")).n, 3);
  });
  test("an entity twice", async () => {
    const { pk } = await withOne();
    await rollsBack(pk, creates(pk, ["1", "2", "1"]), 400, "InvalidDuplicateRow", 2);
  });
  test("an entity twice by different operations", async () => {
    const { pk } = await withOne();
    await rollsBack(pk, [["update", { partitionKey: pk, rowKey: "exists", n: 2 }], ["delete", { partitionKey: pk, rowKey: "exists" }]], 400, "InvalidDuplicateRow", 1);
  });
  test("a value too large", async () => {
    const { pk } = await withOne();
    await rollsBack(pk, [...creates(pk, ["1"]), ...creates(pk, ["2"], { s: "x".repeat(32769) })], 400, "PropertyValueTooLarge", 1);
  });
  test("too many properties", { azurite: "table-too-many-properties" }, async () => {
    const { pk } = await withOne();
    const many = Object.fromEntries(numbers(253).map((n) => [`p${n}`, 1]));
    await rollsBack(pk, [...creates(pk, ["1", "2"]), ...creates(pk, ["3"], many)], 400, "TooManyProperties", 2);
  });
  test("a character that keys may not have", { azurite: "table-key-characters" }, async () => {
    const { pk } = await withOne();
    await rollsBack(pk, [...creates(pk, ["1"]), ...creates(pk, ["a?b"])], 400, "OutOfRangeInput", 1);
  });
  test("a missing table", async () => {
    await assert.rejects(clientOf(freshName()).submitTransaction(creates("p", ["1"])), failsWith(404, "TableNotFound", /^0:/));
  });
});

describe("on the wire", () => {
  const part = (request, body = "") => `Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n${request}\r\n\r\n${body}`;
  const insert = (pk, rk, more = "") => part(
    `POST ${endpoint}/${client.tableName} HTTP/1.1\r\nContent-Type: application/json${more}`, `{"PartitionKey":"${pk}","RowKey":"${rk}"}`,
  );
  const changeset = (...parts) => `Content-Type: multipart/mixed; boundary=changeset_x\r\n\r\n${parts.map((p) => `--changeset_x\r\n${p}\r\n`).join("")}--changeset_x--\r\n`;
  const post = (...parts) => raw("POST", "/$batch", {
    body: `${parts.map((p) => `--batch_x\r\n${p}\r\n`).join("")}--batch_x--\r\n`,
    headers: { "Content-Type": "multipart/mixed; boundary=batch_x", Accept: "application/json" },
  });
  test("the answer is a changeset response in a batch response", { azurite: "table-batch-boundaries" }, async () => {
    const answer = await post(changeset(insert(partition(), "1", "\r\nPrefer: return-no-content")));
    assert.equal(answer.status, 202);
    assert.match(answer.headers["content-type"], /^multipart\/mixed; boundary=batchresponse_[0-9a-f-]{36}$/);
    assert.match(answer.text, /^--batchresponse_[0-9a-f-]+\r\nContent-Type: multipart\/mixed; boundary=changesetresponse_[0-9a-f-]+\r\n\r\n--changesetresponse_/);
    assert.match(answer.text, /HTTP\/1\.1 204 No Content\r\n/);
  });
  test("an insert answers the entity unless told otherwise", { azurite: "table-batch-content" }, async () => {
    const answer = await post(changeset(insert(partition(), "1")));
    assert.match(answer.text, /HTTP\/1\.1 201 Created\r\n/);
    assert.match(answer.text, /"RowKey":"1"/);
  });
  test("Content-ID and inner lengths, as the Python client sends them", async () => {
    const pk = partition();
    const body = `{"PartitionKey":"${pk}","RowKey":"1"}`;
    const answer = await post(changeset(`Content-ID: 0\r\n${part(`POST ${endpoint}/${client.tableName} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nPrefer: return-no-content`, body)}`));
    assert.match(answer.text, /HTTP\/1\.1 204/);
    assert.deepEqual(await rowsOf(pk), ["1"]);
  });
  test("a list in a batch", { azurite: "table-batch-list" }, async () => {
    const pk = partition();
    await client.submitTransaction(creates(pk, ["1", "2"]));
    const answer = await post(part(`GET ${endpoint}/${client.tableName}()?$filter=PartitionKey%20eq%20'${pk}'&$select=RowKey HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\n`));
    assert.match(answer.text, /HTTP\/1\.1 200 OK/);
    assert.deepEqual(JSON.parse(/\{.*\}/.exec(answer.text)[0]).value, [{ RowKey: "1" }, { RowKey: "2" }]);
  });
  test("a list in a batch refuses an option that is not offered", { azurite: "table-query-options" }, async () => {
    const answer = await post(part(`GET ${endpoint}/${client.tableName}()?$orderby=RowKey HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\n`));
    assert.deepEqual([answer.status, answer.json()["odata.error"].code], [501, "NotImplemented"]);
  });
  test("a relative URI is taken", { azurite: "table-batch-relative" }, async () => {
    const pk = partition();
    const answer = await post(changeset(part(`PUT /devstoreaccount1/${client.tableName}(PartitionKey='${pk}',RowKey='1') HTTP/1.1\r\nContent-Type: application/json`, '{"n":1}')));
    assert.match(answer.text, /HTTP\/1\.1 204/);
    assert.deepEqual(await rowsOf(pk), ["1"]);
  });
  test("MERGE is taken", async () => {
    const pk = partition();
    await client.createEntity({ partitionKey: pk, rowKey: "1", a: 1 });
    await post(changeset(part(`MERGE ${endpoint}/${client.tableName}(PartitionKey='${pk}',RowKey='1') HTTP/1.1\r\nIf-Match: *\r\nContent-Type: application/json`, '{"b":2}')));
    const { a, b } = await client.getEntity(pk, "1");
    assert.deepEqual([a, b], [1, 2]);
  });
  test("a quoted boundary, and line ends without carriage returns", async () => {
    const pk = partition();
    const body = `--batch_x\r\n${changeset(insert(pk, "1"))}\r\n--batch_x--\r\n`.replaceAll("\r\n", "\n");
    const answer = await raw("POST", "/$batch", { body, headers: { "Content-Type": "multipart/mixed; boundary=\"batch_x\"" } });
    assert.equal(answer.status, 202);
    assert.deepEqual(await rowsOf(pk), ["1"]);
  });
  test("no line break between a body and the next boundary, as the C++ client writes them", async () => {
    const pk = partition();
    const one = (rk) => `--changeset_x\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\nPOST ${endpoint}/${client.tableName} HTTP/1.1\nContent-Type: application/json\nAccept: application/json;odata=minimalmetadata\nPrefer: return-no-content\nDataServiceVersion: 3.0;\n\n{"PartitionKey":"${pk}","RowKey":"${rk}"}`;
    const body = `--batch_x\nContent-Type: multipart/mixed; boundary=changeset_x\n\n${one("1")}${one("2")}\n\n--changeset_x--\n--batch_x\n`;
    const answer = await raw("POST", "/$batch", { body, headers: { "Content-Type": "multipart/mixed; boundary=batch_x", Accept: "application/json;odata=fullmetadata" } });
    assert.equal(answer.status, 202);
    assert.deepEqual(await rowsOf(pk), ["1", "2"]);
  });
  test("the Content-ID of an operation is the first header of its answer", { azurite: "table-batch-content-id" }, async () => {
    const pk = partition();
    const twice = () => post(changeset(insert(pk, "1", "\r\nPrefer: return-no-content\r\nContent-ID: 7")));
    assert.match((await twice()).text, /HTTP\/1\.1 204 No Content\r\nContent-ID: 7\r\n/);
    assert.match((await twice()).text, /HTTP\/1\.1 409 Conflict\r\nContent-ID: 7\r\n/);
  });
  test("a batch may say that it accepts multipart/mixed", async () => {
    const pk = partition();
    const body = `--batch_x\r\n${changeset(insert(pk, "1"))}\r\n--batch_x--\r\n`;
    const answer = await raw("POST", "/$batch", { body, headers: { "Content-Type": "multipart/mixed; boundary=batch_x", Accept: "multipart/mixed" } });
    assert.equal(answer.status, 202);
    assert.deepEqual(await rowsOf(pk), ["1"]);
  });
  test("a single query outside a change set", async () => {
    const pk = partition();
    await client.createEntity({ partitionKey: pk, rowKey: "1", n: 7 });
    const answer = await post(part(`GET ${endpoint}/${client.tableName}(PartitionKey='${pk}',RowKey='1') HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\n`));
    assert.equal(answer.status, 202);
    assert.match(answer.text, /HTTP\/1\.1 200 OK/);
    assert.match(answer.text, /"n":7/);
  });
  const refused = (name, make, code, azurite) => test(name, { azurite }, async () => {
    const pk = partition();
    const answer = await post(...make(pk));
    const inner = /HTTP\/1\.1 (\d+)[\s\S]*?(\{.*\})/.exec(answer.text);
    const [status, text] = inner ? [Number(inner[1]), inner[2]] : [answer.status, answer.text];
    assert.deepEqual([status, JSON.parse(text)["odata.error"].code], [400, code]);
    assert.deepEqual(await rowsOf(pk), []);
  });
  refused("two partitions", (pk) => [changeset(insert(pk, "1"), insert(`${pk}other`, "1"))], "CommandsInBatchActOnDifferentPartitions", "table-batch-partitions");
  refused("two tables", (pk) => [changeset(insert(pk, "1"), insert(pk, "2").replace(client.tableName, freshName()))], "InvalidInput", "table-batch-tables");
  refused("a query among the changes", (pk) => [changeset(insert(pk, "1"), part(`GET ${endpoint}/${client.tableName}(PartitionKey='${pk}',RowKey='1') HTTP/1.1\r\n`))], "InvalidInput", "table-batch-query");
  refused("a slash in a key of the URL", (pk) => [changeset(part(`PUT ${endpoint}/${client.tableName}(PartitionKey='${pk}',RowKey='a/b') HTTP/1.1\r\nContent-Type: application/json`, "{}"))], "InvalidInput", "table-batch-slash");
  test("two change sets", { azurite: "table-batch-change-sets" }, async () => {
    const pk = partition();
    const answer = await post(changeset(insert(pk, "1")), changeset(insert(pk, "2")).replaceAll("changeset_x", "changeset_y"));
    assert.equal(answer.status, 202);
    assert.deepEqual([...answer.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((found) => found[1]), ["201", "400"]);
    assert.deepEqual(await rowsOf(pk), ["1"]);
  });
  test("no multipart at all", { azurite: "table-empty-errors" }, async () => {
    const answer = await raw("POST", "/$batch", { body: "hello", headers: { "Content-Type": "text/plain" } });
    assert.deepEqual([answer.status, codeOf(answer)], [400, "InvalidInput"]);
  });
  test("no change at all", { azurite: "table-empty-errors" }, async () => {
    assert.equal((await post(changeset())).status, 400);
  });
});
