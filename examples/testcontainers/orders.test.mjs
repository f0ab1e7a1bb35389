import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { TableClient } from "@azure/data-tables";
import { startTidemark } from "./tidemark.mjs";

let stack;
before(async () => { stack = await startTidemark(); });
after(() => stack?.stop());

test("an order is found by its keys", async () => {
  const orders = TableClient.fromConnectionString(stack.connectionString, "Orders", { allowInsecureConnection: true });
  await orders.createTable();
  await orders.createEntity({ partitionKey: "2026", rowKey: "1", lines: 3 });
  assert.equal((await orders.getEntity("2026", "1")).lines, 3);
});
