// stores: table queue blob
// Service properties, statistics and CORS of the three stores through the unmodified SDKs. One model serves all three
// (common/protocol), so the same cases run against each.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AzureNamedKeyCredential, TableServiceClient } from "@azure/data-tables";
import { BlobServiceClient, StorageSharedKeyCredential as BlobCredential } from "@azure/storage-blob";
import { QueueServiceClient, StorageSharedKeyCredential as QueueCredential } from "@azure/storage-queue";

const account = "devstoreaccount1";
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0, maxTries: 1 } };
const stores = [
  { name: "tables", url: process.env.TIDEMARK_TABLE_URL, logging: "logging", client: (url) => new TableServiceClient(url, new AzureNamedKeyCredential(account, key), options) },
  { name: "queues", url: process.env.TIDEMARK_QUEUE_URL, logging: "queueAnalyticsLogging", client: (url) => new QueueServiceClient(url, new QueueCredential(account, key), options) },
  { name: "blobs", url: process.env.TIDEMARK_BLOB_URL, logging: "blobAnalyticsLogging", client: (url) => new BlobServiceClient(url, new BlobCredential(account, key), options) },
];
const origin = "https://app.example";
const rule = {
  allowedOrigins: origin, allowedMethods: "GET,PUT", allowedHeaders: "x-ms-*,content-type", exposedHeaders: "x-ms-*",
  maxAgeInSeconds: 60,
};
const off = { version: "1.0", enabled: false, retentionPolicy: { enabled: false } };
const preflight = (url, headers) => fetch(`${url}/anything`, { method: "OPTIONS", headers: { Origin: origin, ...headers } });
// The SDKs set absent elements to undefined.
const plain = (value) => JSON.parse(JSON.stringify(value));
const listing = { tables: "Tables", queues: "?comp=list", blobs: "?comp=list" };

for (const { name, url, logging, client } of stores) {
  describe(name, () => {
    const service = client(url);

    test("a fresh account has every section", async () => {
      const properties = await service.getProperties();
      const { delete: removed, deleteProperty = removed, ...rest } = plain(properties[logging]);
      assert.equal(deleteProperty, false);
      assert.deepEqual(rest, { version: "1.0", read: false, write: false, retentionPolicy: { enabled: false } });
      assert.deepEqual(plain(properties.hourMetrics), off);
      assert.deepEqual(plain(properties.minuteMetrics), off);
      assert.deepEqual(properties.cors ?? [], []);
    });

    test("what is set comes back, and what is left out stays", async () => {
      const metrics = { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 7 } };
      await service.setProperties({ hourMetrics: metrics });
      await service.setProperties({ cors: [rule] });
      const properties = plain(await service.getProperties());
      assert.deepEqual(properties.hourMetrics, metrics);
      assert.deepEqual(properties.minuteMetrics, off);
      assert.deepEqual(properties.cors, [rule]);
    });

    test("six rules are one too many", async () => {
      await assert.rejects(service.setProperties({ cors: Array(6).fill(rule) }), { statusCode: 400 });
      assert.equal((await service.getProperties()).cors.length, 1);
    });

    test("preflight needs no credentials", async () => {
      const allowed = await preflight(url, {
        "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-ms-version,Content-Type",
      });
      assert.equal(allowed.status, 200);
      assert.equal(allowed.headers.get("access-control-allow-origin"), origin);
      assert.equal(allowed.headers.get("access-control-allow-methods"), "PUT");
      assert.equal(allowed.headers.get("access-control-allow-headers"), "x-ms-version,Content-Type");
      assert.equal(allowed.headers.get("access-control-max-age"), "60");
      assert.equal(allowed.headers.get("access-control-allow-credentials"), "true");
      for (const refused of [{ "Access-Control-Request-Method": "DELETE" }, { Origin: "https://other", "Access-Control-Request-Method": "PUT" }]) {
        const answer = await preflight(url, refused);
        assert.equal(answer.status, 403);
        assert.equal(answer.headers.get("x-ms-error-code"), "CorsPreflightFailure");
      }
      assert.equal((await preflight(url, {})).status, 400);
    });

    test("refusals tell a browser that it may look at them", async () => {
      const answer = await fetch(`${url}/${listing[name]}`, { headers: { Origin: origin } });
      assert.ok(answer.status >= 400);
      assert.equal(answer.headers.get("access-control-allow-origin"), origin);
      assert.match(answer.headers.get("access-control-expose-headers"), /x-ms-request-id/);
      assert.equal(answer.headers.get("vary"), "Origin");
    });

    test("statistics come from the secondary endpoint alone", async () => {
      await assert.rejects(service.getStatistics(), { statusCode: 400 });
      const statistics = await client(`${url}-secondary`).getStatistics();
      assert.equal(statistics.geoReplication.status, "live");
    });

    test("an empty list clears the rules", async () => {
      await service.setProperties({ cors: [] });
      const answer = await preflight(url, { "Access-Control-Request-Method": "PUT" });
      assert.equal(answer.status, 403);
    });
  });
}
