// The account of the table service: properties, cross-origin rules, statistics.
import assert from "node:assert/strict";
import { after, beforeEach, describe, request, test } from "./support.mjs";
import { endpoint, freshTable, raw, service } from "./tables_support.mjs";

const off = { enabled: false };
const fresh = {
  cors: [], logging: { version: "1.0", read: false, write: false, delete: false, retentionPolicy: off },
  hourMetrics: { version: "1.0", enabled: false, retentionPolicy: off }, minuteMetrics: { version: "1.0", enabled: false, retentionPolicy: off },
};
const properties = "/?restype=service&comp=properties";
const put = (body) => raw("PUT", properties, { body, headers: { "Content-Type": "application/xml", Accept: "application/xml" } });
const reset = () => service.setProperties(fresh);
beforeEach(reset);
after(reset);
const rule = (more = {}) => ({ allowedOrigins: "https://app.example", allowedMethods: "GET,PUT", allowedHeaders: "x-ms-*,content-type", exposedHeaders: "x-ms-*", maxAgeInSeconds: 60, ...more });

describe("service properties", () => {
  test("everything is off until it is set", async () => {
    const read = await service.getProperties();
    assert.deepEqual([read.cors ?? [], read.logging.read, read.hourMetrics.enabled, read.minuteMetrics.enabled], [[], false, false, false]);
  });
  test("come back as they were set", async () => {
    await service.setProperties({
      logging: { version: "1.0", read: true, write: false, delete: true, retentionPolicy: { enabled: true, days: 5 } },
      hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 7 } },
      minuteMetrics: { version: "1.0", enabled: true, includeAPIs: false, retentionPolicy: off }, cors: [rule()],
    });
    const read = await service.getProperties();
    assert.deepEqual([read.logging.read, read.logging.write, read.logging.delete, read.logging.retentionPolicy.days], [true, false, true, 5]);
    assert.deepEqual([read.hourMetrics.includeAPIs, read.hourMetrics.retentionPolicy.days, read.minuteMetrics.includeAPIs], [true, 7, false]);
    assert.deepEqual(read.cors, [rule()]);
  });
  test("what a change leaves out stays", async () => {
    await service.setProperties({ cors: [rule()] });
    await service.setProperties({ hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: off } });
    const read = await service.getProperties();
    assert.deepEqual([read.cors, read.hourMetrics.enabled, read.logging.read], [[rule()], true, false]);
  });
  test("five rules fit", async () => {
    await service.setProperties({ cors: [1, 2, 3, 4, 5].map((i) => rule({ maxAgeInSeconds: i })) });
    assert.deepEqual((await service.getProperties()).cors.map((r) => r.maxAgeInSeconds), [1, 2, 3, 4, 5]);
  });
  const rules = (count) => `<StorageServiceProperties><Cors>${"<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders>*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule>".repeat(count)}</Cors></StorageServiceProperties>`;
  test("six rules do not", { azurite: "table-properties-unchecked" }, async () => {
    assert.equal((await put(rules(6))).status, 400);
    assert.deepEqual((await service.getProperties()).cors ?? [], []);
  });
  test("a change is answered with 202 and no body", async () => {
    const answer = await put(rules(1));
    assert.deepEqual([answer.status, answer.text], [202, ""]);
  });
  test("a byte order mark is taken", async () => assert.equal((await put(`\ufeff${rules(1)}`)).status, 202));
  for (const [name, xml] of Object.entries({
    "broken XML": "<StorageServiceProperties><Cors>", "another root": "<Other/>",
    "a method that does not exist": rules(1).replace("GET", "FETCH"), "a negative age": rules(1).replace(">1<", ">-1<"),
    "retention without days": "<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>true</Enabled></RetentionPolicy></HourMetrics></StorageServiceProperties>",
    "366 days": "<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy></HourMetrics></StorageServiceProperties>",
  })) {
    test(`${name} is refused`, { azurite: /broken|negative/.test(name) ? undefined : "table-properties-unchecked" }, async () => assert.equal((await put(xml)).status, 400));
  }
});

describe("preflight", () => {
  const ask = (headers, path = "/Tables") => request(`${endpoint}${path}`, { method: "OPTIONS", headers });
  const from = (more = {}) => ({ Origin: "https://app.example", "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-ms-version,content-type", ...more });
  test("a rule lets it through", async () => {
    await service.setProperties({ cors: [rule()] });
    const { status, headers } = await ask(from());
    assert.equal(status, 200);
    assert.deepEqual([headers["access-control-allow-origin"], headers["access-control-allow-methods"], headers["access-control-allow-headers"], headers["access-control-max-age"], headers["access-control-allow-credentials"]],
      ["https://app.example", "PUT", "x-ms-version,content-type", "60", "true"]);
  });
  test("any resource may be asked", async () => {
    await service.setProperties({ cors: [rule()] });
    assert.equal((await ask(from(), "/Missing(PartitionKey='p',RowKey='r')")).status, 200);
  });
  for (const [name, more] of Object.entries({
    "another origin": { Origin: "https://other.example" }, "an origin in another case": { Origin: "https://APP.example" },
    "another method": { "Access-Control-Request-Method": "DELETE" }, "another header": { "Access-Control-Request-Headers": "x-ms-version,authorization" },
  })) {
    test(`${name} is refused`, { azurite: name.startsWith("an origin") ? "table-cors-origin-case" : undefined }, async () => {
      await service.setProperties({ cors: [rule()] });
      assert.equal((await ask(from(more))).status, 403);
    });
  }
  test("without rules it is refused", async () => assert.equal((await ask(from())).status, 403));
  test("without an origin it is malformed", async () => assert.equal((await ask({ "Access-Control-Request-Method": "PUT" })).status, 400));
  test("without a method it is malformed", async () => {
    await service.setProperties({ cors: [rule()] });
    assert.equal((await ask({ Origin: "https://app.example" })).status, 400);
  });
  test("the first rule that matches answers", async () => {
    await service.setProperties({ cors: [rule({ allowedMethods: "GET", maxAgeInSeconds: 1 }), rule({ maxAgeInSeconds: 2 }), rule({ allowedOrigins: "*", maxAgeInSeconds: 3 })] });
    assert.equal((await ask(from())).headers["access-control-max-age"], "2");
    assert.equal((await ask(from({ Origin: "https://other.example" }))).headers["access-control-max-age"], "3");
  });
  test("a rule for any origin grants no credentials", { azurite: "table-cors-any-origin" }, async () => {
    await service.setProperties({ cors: [rule({ allowedOrigins: "*" })] });
    const { headers } = await ask(from());
    assert.deepEqual([headers["access-control-allow-origin"], headers["access-control-allow-credentials"]], ["*", undefined]);
  });
});

describe("a request with an origin", () => {
  const list = (Origin) => raw("GET", "/Tables?$top=1", { headers: { Origin } });
  test("that a rule knows gets its headers", async () => {
    await service.setProperties({ cors: [rule()] });
    const { headers } = await list("https://app.example");
    assert.equal(headers["access-control-allow-origin"], "https://app.example");
    assert.equal(headers["access-control-allow-credentials"], "true");
  });
  test("is told which headers a page may see", async () => {
    await service.setProperties({ cors: [rule({ exposedHeaders: "x-ms-request-id,ETag" })] });
    assert.equal((await list("https://app.example")).headers["access-control-expose-headers"], "x-ms-request-id,ETag");
  });
  test("that no rule knows is served without", async () => {
    await service.setProperties({ cors: [rule()] });
    const { status, headers } = await list("https://other.example");
    assert.deepEqual([status, headers["access-control-allow-origin"]], [200, undefined]);
  });
  test("varies by it as soon as there are rules", async () => {
    await service.setProperties({ cors: [rule()] });
    assert.match((await list("https://other.example")).headers.vary ?? "", /Origin/);
  });
});

describe("the secondary", () => {
  test("has the statistics", async () => {
    const answer = await raw("GET", "/?restype=service&comp=stats", { secondary: true, headers: { Accept: "application/xml" } });
    assert.equal(answer.status, 200);
    assert.match(answer.text, /<Status>live<\/Status><LastSyncTime>\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT<\/LastSyncTime>/);
  });
  test("the primary has none", async () => {
    assert.equal((await raw("GET", "/?restype=service&comp=stats", { headers: { Accept: "application/xml" } })).status, 400);
  });
  test("reads what the primary wrote", async () => {
    const client = await freshTable();
    await client.createEntity({ partitionKey: "p", rowKey: "r", v: 1 });
    const answer = await raw("GET", `/${client.tableName}(PartitionKey='p',RowKey='r')`, { secondary: true });
    assert.deepEqual([answer.status, answer.json().v], [200, 1]);
  });
  test("does not write", { azurite: "table-secondary-writes" }, async () => {
    const client = await freshTable();
    const answer = await raw("POST", `/${client.tableName}`, { secondary: true, body: { PartitionKey: "p", RowKey: "r" } });
    assert.deepEqual([answer.status, answer.json()["odata.error"].code], [403, "InsufficientAccountPermissions"]);
  });
});
