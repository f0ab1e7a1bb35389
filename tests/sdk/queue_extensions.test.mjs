// stores: queue
// Runs the snippets of docs/queue-extensions.md in their order, as the page promises, and tests the rest of the page.
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { QueueSASPermissions, generateQueueSASQueryParameters } from "@azure/storage-queue";
import { credential, queue, receive, url, wire } from "./queues_support.mjs";
import { inOneHour, request } from "./support.mjs";

const page = readFileSync(new URL("../../docs/queue-extensions.md", import.meta.url), "utf8");
const snippets = [...page.matchAll(/^## (.*?)$|^```js\n(.*?)^```$/gms)];

test("the snippets of docs/queue-extensions.md run", async () => {
  let section = "";
  let count = 0;
  const parts = snippets.map(([, heading, code]) => {
    if (heading) section = heading.replaceAll("`", "");
    else count++;
    return heading ? "" : `// ${section}\n${code}`;
  });
  if (count < 10) throw new Error(`only ${count} snippets were found`);
  if (process.env.TIDEMARK_TEST_SHARDS) process.env.TIDEMARK_SHARDS = process.env.TIDEMARK_TEST_SHARDS;
  // In the folder of this file, so that imports find node_modules.
  const file = new URL(`.queue-extensions-${process.pid}.mjs`, import.meta.url);
  writeFileSync(file, parts.join("\n"));
  try {
    await import(pathToFileURL(file.pathname));
  } finally {
    rmSync(file);
  }
});

test("a client that goes away while it waits uses up no attempt", async () => {
  const client = await queue();
  const waiters = async (wanted) => {
    const metrics = new URL("/metrics", url).href;
    while (!(await request(metrics)).text.includes(`\ntidemark_queue_waiters ${wanted}\n`));
  };
  const leaving = new AbortController();
  const left = wire("GET", `/${client.name}/messages`, { headers: { "x-ms-tidemark-wait": "30" }, signal: leaving.signal });
  await waiters(1);
  leaving.abort();
  await assert.rejects(left);
  await client.sendMessage("for somebody who is there");
  await waiters(0);
  const [message] = await receive(client);
  assert.equal(message.dequeueCount, 1);
});

const message = (text, more = "") => `<QueueMessage><MessageText>${text}</MessageText>${more}</QueueMessage>`;
const refused = (answer, code) => assert.deepEqual([answer.status, answer.headers["x-ms-error-code"]], [400, code], answer.text);

test("a header with a bad value is InvalidHeaderValue, whatever the operation", async () => {
  const client = await queue();
  const sent = await client.sendMessage("m");
  const held = `/${client.name}/messages/${sent.messageId}?popreceipt=${encodeURIComponent(sent.popReceipt)}&visibilitytimeout=0`;
  for (const [name, value, method, target] of [["wait", "31", "GET", `/${client.name}/messages`],
    ["max-dequeue-count", "10001", "PUT", `/${client.name}-2`], ["parts", "65", "PUT", `/${client.name}-2`], ["paused", "perhaps", "PUT", `/${client.name}-2`],
    ["max-dequeue-count", "-1", "PUT", `/${client.name}?comp=metadata`], ["paused", "1", "PUT", `/${client.name}?comp=metadata`],
    ["finish", "perhaps", "PUT", held], ["lease", "0", "DELETE", held]]) {
    refused(await wire(method, target, { headers: { [`x-ms-tidemark-${name}`]: value } }), "InvalidHeaderValue");
  }
  assert.equal((await wire("DELETE", held)).status, 204);
});

test("what cannot be done as a whole is refused before anything is done", async () => {
  const client = await queue();
  const sent = await client.sendMessage("m");
  const held = `/${client.name}/messages/${sent.messageId}?popreceipt=${encodeURIComponent(sent.popReceipt)}&visibilitytimeout=0`;
  const finish = { "x-ms-tidemark-finish": "true" };
  refused(await wire("PUT", held, { headers: { ...finish, "x-ms-tidemark-move-to": `${client.name}-poison` } }), "InvalidHeaderValue");
  const late = message("a", "<VisibilityTimeout>10</VisibilityTimeout><MessageTimeToLive>10</MessageTimeToLive>");
  refused(await wire("PUT", held, { headers: finish, body: `<QueueMessagesList>${message("b")}${late}</QueueMessagesList>` }), "InvalidXmlNodeValue");
  assert.equal((await client.getProperties()).approximateMessagesCount, 1);
  assert.equal((await wire("DELETE", held)).status, 204);
});

test("who may process the messages of one queue sets them aside, and puts them nowhere else", async () => {
  const [mine, other] = [await queue(), await queue()];
  const sas = generateQueueSASQueryParameters({ queueName: mine.name, expiresOn: inOneHour(), permissions: QueueSASPermissions.parse("raup") }, credential);
  await mine.sendMessage("m");
  const [got] = await receive(mine);
  const move = (to) => request(`${mine.url}/messages/${got.messageId}?popreceipt=${encodeURIComponent(got.popReceipt)}&${sas}`,
    { method: "PUT", headers: { "x-ms-version": "2021-02-12", "x-ms-tidemark-move-to": to } });
  assert.equal((await move(other.name)).status, 403);
  assert.equal((await move(`${mine.name}-poison`)).status, 204);
});
