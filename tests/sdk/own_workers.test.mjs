// stores: table queue
// The JavaScript programs of docs/own-workers.md, taken out of the page and driven: a late worker, a message that can
// never be done, and a receiver that gets false requests.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const page = readFileSync(path.join(here, "../../docs/own-workers.md"), "utf8");
const programs = [...page.matchAll(/^```js\n(\/\/ (\w+\.mjs)\n[\s\S]*?)^```$/gm)].map(([, code, name]) => ({ name, code }));

let directory, worker, receiver;
before(async () => {
  assert.deepEqual(programs.map(({ name }) => name), ["worker.mjs", "receiver.mjs"]);
  directory = mkdtempSync(path.join(tmpdir(), "tidemark-own-"));
  symlinkSync(path.join(here, "node_modules"), path.join(directory, "node_modules"));
  for (const { name, code } of programs) writeFileSync(path.join(directory, name), code);
  worker = await import(pathToFileURL(path.join(directory, "worker.mjs")));
  receiver = await import(pathToFileURL(path.join(directory, "receiver.mjs")));
  await worker.prepare();
});
after(() => rmSync(directory, { recursive: true, force: true }));

const order = (rowKey, ...lines) =>
  worker.orders.upsertEntity({ partitionKey: "p", rowKey, lines: JSON.stringify(lines.map(([price, count]) => ({ price, count }))) }, "Replace");
const ask = (rowKey) => worker.queue.sendMessage(JSON.stringify({ partitionKey: "p", rowKey }));
const total = async (rowKey) => (await worker.totals.getEntity("p", rowKey)).total;

describe("the worker of own-workers.md", () => {
  test("does what the messages ask for", async () => {
    const stop = new AbortController();
    const running = worker.run(stop.signal);
    for (const n of [1, 2, 3]) {
      await order(`o${n}`, [n, 2], [10, 1]);
      await ask(`o${n}`);
    }
    while ((await worker.queue.getProperties()).approximateMessagesCount > 0) await new Promise(setImmediate);
    stop.abort();
    await running;
    for (const n of [1, 2, 3]) assert.equal(await total(`o${n}`), 10 + 2 * n);
  });

  test("that wakes after another has taken over writes nothing", async () => {
    await order("late", [1, 1]);
    await ask("late");
    const first = await worker.take();
    await worker.queue.updateMessage(first.messageId, first.popReceipt, first.messageText, 0); // its lease is over
    const second = await worker.take();
    assert.deepEqual([second.messageId, second.dequeueCount], [first.messageId, 2]);
    await worker.work(second);
    await order("late", [5, 1]);
    await assert.rejects(worker.handle(first), { statusCode: 412 });
    assert.equal(await total("late"), 1);
  });

  test("loses to what was made from a newer order", async () => {
    await order("twice", [1, 1]);
    await ask("twice");
    const early = await worker.take();
    const read = await worker.orders.getEntity("p", "twice");
    await order("twice", [2, 1]);
    await ask("twice");
    await worker.work(await worker.take());
    assert.equal(await total("twice"), 2);
    // The early worker had read before the change.
    let outcome;
    await worker.totals.upsertEntity({ partitionKey: "p", rowKey: "twice", total: 1 }, "Replace", {
      requestOptions: { customHeaders: { "x-ms-tidemark-operation-id": early.messageId, "x-ms-tidemark-epoch": "1",
        "x-ms-tidemark-source-version": read.etag } },
      onResponse: (response) => (outcome = response.headers.get("x-ms-tidemark-outcome")),
    });
    assert.equal(outcome, "superseded");
    assert.equal(await total("twice"), 2);
    await worker.work(early);
  });

  test("leaves what can never be done to the poison queue", async () => {
    await ask("no-such-order");
    for (let attempt = 1; attempt <= 5; attempt++) {
      const message = await worker.take();
      assert.equal(message.dequeueCount, attempt);
      await assert.rejects(worker.work(message), { statusCode: 404 });
      await worker.queue.updateMessage(message.messageId, message.popReceipt, message.messageText, 0);
    }
    assert.equal(await worker.take(), undefined);
  });
});

describe("the receiver of own-workers.md", () => {
  // The worked example of Standard Webhooks.
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const signed = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const body = Buffer.from('{"test": 2432232314}');
  const then = 1614265330_000;

  test("believes what is signed, and nothing else", () => {
    const { genuine } = receiver;
    const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    assert.ok(genuine([secret], signed, body, then));
    assert.ok(genuine([other, secret], { ...signed, "webhook-signature": `v1,AAAA v1a,x ${signed["webhook-signature"]}` }, body, then + 299_000));
    assert.ok(!genuine([other], signed, body, then));
    assert.ok(!genuine([], signed, body, then));
    assert.ok(!genuine([secret], signed, Buffer.from('{"test": 2432232315}'), then));
    assert.ok(!genuine([secret], signed, body, then + 301_000));
    assert.ok(!genuine([secret], signed, body, then - 301_000));
    for (const name of Object.keys(signed)) {
      assert.ok(!genuine([secret], { ...signed, [name]: undefined }, body, then), name);
      assert.ok(!genuine([secret], { ...signed, [name]: `1${signed[name]}` }, body, then), name);
    }
  });

  test("acts once on a callback that comes twice", async () => {
    const { createHmac } = await import("node:crypto");
    const ids = new Set();
    const acted = [];
    const server = createServer(receiver.receiver([secret], (id) => ids.has(id) || !ids.add(id), (event) => acted.push(event)));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const send = async (headers) => (await fetch(`http://127.0.0.1:${server.address().port}/`, { method: "POST", headers, body })).status;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const key = Buffer.from(secret.slice(6), "base64");
    const signature = createHmac("sha256", key).update(`job-1.${timestamp}.`).update(body).digest("base64");
    const fresh = { "webhook-id": "job-1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
    try {
      assert.equal(await send(signed), 401); // genuine once, now too old
      assert.equal(await send(fresh), 204);
      assert.equal(await send(fresh), 204);
      assert.deepEqual(acted, [{ test: 2432232314 }]);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
