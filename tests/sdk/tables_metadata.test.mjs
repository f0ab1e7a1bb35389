// The parts that the SDK hides: metadata levels, content types and headers of answers.
import assert from "node:assert/strict";
import { before, describe, test } from "./support.mjs";
import { codeOf, endpoint, freshName, freshTable, raw } from "./tables_support.mjs";

let table;
let client;
const account = "devstoreaccount1";
const entityPath = () => `/${table}(PartitionKey='p',RowKey='r')`;
const read = (level, more = "") => raw("GET", `${entityPath()}${more}`, { level });
const keysOf = (answer) => Object.keys(answer.json());

before(async () => {
  client = await freshTable();
  table = client.tableName;
  await client.createEntity({ partitionKey: "p", rowKey: "r", big: 5n, text: "x" });
});

describe("an entity", () => {
  test("nometadata has values only", async () => {
    assert.deepEqual(keysOf(await read("nometadata")).sort(), ["PartitionKey", "RowKey", "Timestamp", "big", "text"]);
  });
  test("minimalmetadata adds the etag and the types that JSON cannot show", async () => {
    assert.deepEqual(keysOf(await read("minimalmetadata")).sort(),
      ["PartitionKey", "RowKey", "Timestamp", "big", "big@odata.type", "odata.etag", "odata.metadata", "text"]);
  });
  test("fullmetadata adds where it lives", async () => {
    const entity = (await read("fullmetadata")).json();
    assert.equal(entity["odata.type"], `${account}.${table}`);
    assert.equal(entity["odata.id"], `${endpoint}${entityPath()}`);
    assert.equal(entity["odata.editLink"], entityPath().slice(1));
    assert.equal(entity["Timestamp@odata.type"], "Edm.DateTime");
  });
  test("odata.metadata is an element of its table", async () => {
    assert.equal((await read("minimalmetadata")).json()["odata.metadata"], `${endpoint}/$metadata#${table}/@Element`);
  });
  test("an annotation precedes its value", async () => {
    const keys = keysOf(await read("minimalmetadata"));
    assert.equal(keys.indexOf("big@odata.type") + 1, keys.indexOf("big"));
  });
  test("keys and Timestamp precede its own properties", { azurite: "table-timestamp-last" }, async () => {
    assert.deepEqual(keysOf(await read("nometadata")).slice(0, 3), ["PartitionKey", "RowKey", "Timestamp"]);
  });
  test("the ETag header and odata.etag are the same string, made of the Timestamp", async () => {
    const answer = await read("minimalmetadata");
    const entity = answer.json();
    assert.equal(answer.headers.etag, entity["odata.etag"]);
    assert.equal(entity["odata.etag"], `W/"datetime'${encodeURIComponent(entity.Timestamp)}'"`);
  });
  test("$select keeps the etag and the annotations of what it names", async () => {
    assert.deepEqual(keysOf(await read("minimalmetadata", "?$select=big")).sort(), ["big", "big@odata.type", "odata.etag", "odata.metadata"]);
  });
});

describe("a list", () => {
  const list = (level, more = "") => raw("GET", `/${table}()${more}`, { level });
  test("nometadata is the values alone", async () => {
    const answer = (await list("nometadata")).json();
    assert.deepEqual(Object.keys(answer), ["value"]);
    assert.deepEqual(Object.keys(answer.value[0]).sort(), ["PartitionKey", "RowKey", "Timestamp", "big", "text"]);
  });
  test("minimalmetadata names the table and gives every etag", { azurite: "table-list-metadata" }, async () => {
    const answer = (await list("minimalmetadata")).json();
    assert.equal(answer["odata.metadata"], `${endpoint}/$metadata#${table}`);
    assert.ok(answer.value[0]["odata.etag"].startsWith("W/\"datetime'"));
  });
  test("fullmetadata gives every element its link", async () => {
    const [element] = (await list("fullmetadata")).json().value;
    assert.equal(element["odata.editLink"], entityPath().slice(1));
    assert.equal(element["odata.type"], `${account}.${table}`);
  });
  test("$select is named in odata.metadata", { azurite: "table-list-metadata" }, async () => {
    const answer = (await list("minimalmetadata", "?$select=text,big")).json();
    assert.equal(answer["odata.metadata"], `${endpoint}/$metadata#${table}&$select=text,big`);
  });
  test("a blank $select is everything", { azurite: "table-blank-select" }, async () => {
    assert.equal((await list("nometadata", "?$select=%20")).json().value[0].text, "x");
  });
  test("the name without parentheses is the same list", async () => {
    assert.equal((await raw("GET", `/${table}`)).json().value.length, 1);
  });
});

describe("tables", () => {
  test("an element in minimalmetadata", async () => {
    const TableName = freshName();
    const answer = await raw("POST", "/Tables", { body: { TableName } });
    assert.deepEqual(answer.json(), { "odata.metadata": `${endpoint}/$metadata#Tables/@Element`, TableName });
  });
  test("an element in nometadata", async () => {
    const TableName = freshName();
    assert.deepEqual((await raw("POST", "/Tables", { body: { TableName }, level: "nometadata" })).json(), { TableName });
  });
  test("an element in fullmetadata", async () => {
    const TableName = freshName();
    const answer = (await raw("POST", "/Tables", { body: { TableName }, level: "fullmetadata" })).json();
    assert.equal(answer["odata.type"], `${account}.Tables`);
    assert.equal(answer["odata.id"], `${endpoint}/Tables('${TableName}')`);
    assert.equal(answer["odata.editLink"], `Tables('${TableName}')`);
  });
  test("the list in minimalmetadata", async () => {
    const answer = (await raw("GET", `/Tables?$filter=TableName%20eq%20'${table}'`)).json();
    assert.deepEqual(answer, { "odata.metadata": `${endpoint}/$metadata#Tables`, value: [{ TableName: table }] });
  });
});

describe("choosing the level", () => {
  const levelOf = (answer) => (answer.text.includes("editLink") ? "full" : answer.text.includes("odata.") ? "minimal" : "no");
  for (const [accept, level] of [
    ["application/json", "minimal"], ["application/json;odata=nometadata", "no"], ["application/json; odata=fullmetadata", "full"],
    ["application/json;odata=nometadata;streaming=true", "no"],
  ]) {
    test(`Accept: ${accept}`, async () => {
      assert.equal(levelOf(await raw("GET", entityPath(), { headers: { Accept: accept } })), level);
    });
  }
  for (const [what, accept] of [["no Accept", undefined], ["Accept: */*", "*/*"]]) {
    test(`${what} is JSON`, { azurite: "table-accept-any" }, async () => {
      const answer = await raw("GET", entityPath(), { headers: { Accept: accept } });
      assert.deepEqual([answer.status, levelOf(answer)], [200, "minimal"]);
    });
  }
  test("Atom is not spoken any more", async () => {
    assert.equal((await raw("GET", entityPath(), { headers: { Accept: "application/atom+xml" } })).status, 415);
  });
  test("$format overrides Accept", async () => {
    const answer = await raw("GET", `${entityPath()}?$format=application%2Fjson%3Bodata%3Dnometadata`, { level: "fullmetadata" });
    assert.equal(levelOf(answer), "no");
  });
  for (const level of ["nometadata", "minimalmetadata", "fullmetadata"]) {
    test(`the content type names ${level}`, { azurite: "table-content-type" }, async () => {
      assert.equal((await read(level)).headers["content-type"], `application/json;odata=${level};streaming=true;charset=utf-8`);
    });
  }
});

describe("headers", () => {
  test("the version that was asked for comes back", { azurite: "table-version-header" }, async () => {
    const answer = await raw("GET", entityPath(), { headers: { "x-ms-version": "2020-12-06" } });
    assert.equal(answer.headers["x-ms-version"], "2020-12-06");
  });
  test("the client's request id comes back", async () => {
    const answer = await raw("GET", entityPath(), { headers: { "x-ms-client-request-id": "my id 1" } });
    assert.equal(answer.headers["x-ms-client-request-id"], "my id 1");
  });
  test("the client's request id comes back with errors", { azurite: "table-error-request-id" }, async () => {
    const answer = await raw("GET", `/${table}(PartitionKey='p',RowKey='missing')`, { headers: { "x-ms-client-request-id": "my id 2" } });
    assert.deepEqual([answer.status, answer.headers["x-ms-client-request-id"]], [404, "my id 2"]);
  });
  test("every answer has its own request id", async () => {
    const ids = [await read(), await read()].map((answer) => answer.headers["x-ms-request-id"]);
    assert.ok(ids[0] && ids[1] && ids[0] !== ids[1]);
  });
  test("answers are not to be cached or sniffed", { azurite: "table-cache-headers" }, async () => {
    const { headers } = await read();
    assert.deepEqual([headers["cache-control"], headers["x-content-type-options"]], ["no-cache", "nosniff"]);
  });
  test("an error repeats its request id in the message", async () => {
    const answer = await raw("GET", `/${table}(PartitionKey='p',RowKey='missing')`);
    const { code, message } = answer.json()["odata.error"];
    assert.equal(code, "ResourceNotFound");
    assert.equal(message.lang, "en-US");
    assert.ok(message.value.includes(`\nRequestId:${answer.headers["x-ms-request-id"]}\nTime:`));
  });
  test("a verb that a resource does not know", { azurite: "table-method-not-allowed" }, async () => {
    assert.equal((await raw("PUT", `/${table}()`, { body: "{}" })).status, 405);
  });
  test("a path too deep", { azurite: "table-deep-path" }, async () => {
    const answer = await raw("GET", `/${table}/more`);
    assert.deepEqual([answer.status, codeOf(answer)], [400, "InvalidInput"]);
  });
});
