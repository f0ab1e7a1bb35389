// Messages through the unmodified SDK: texts, order, visibility, receipts, expiry, limits.
import assert from "node:assert/strict";
import { fails, parts, peek, queue, receive, service } from "./queues_support.mjs";
import { describe, test } from "./support.mjs";

describe("texts", () => {
  // This SDK removes line feeds from a text before it sends it; queues_wire tests them.
  for (const [what, text] of [["empty", ""], ["a blank", " "], ["blanks around", "  lead and trail  "], ["markup", "<b>&\"' ]]></b>"],
    ["many scripts", "é 漢 😀 \u{10FFFF}"], ["a tab", "tab\there"], ["base64", Buffer.from("bytes").toString("base64")], ["64 KiB", "x".repeat(65536)],
    ["many bytes in UTF-8", "é漢😀".repeat(1000)]]) {
    test(`${what} comes back exactly`, async () => {
      const client = await queue();
      const sent = await client.sendMessage(text);
      assert.equal((await peek(client))[0].messageText, text);
      const [got] = await receive(client);
      assert.equal(got.messageId, sent.messageId);
      assert.equal(got.messageText, text);
    });
  }
  test("over 64 KiB is refused", async () => fails((await queue()).sendMessage("x".repeat(65537)), 413, "RequestBodyTooLarge"));
  test("over 64 KiB is refused by an update too, and the message stays", async () => {
    const client = await queue();
    const sent = await client.sendMessage("small");
    await fails(client.updateMessage(sent.messageId, sent.popReceipt, "x".repeat(65537), 0), 413, "RequestBodyTooLarge");
    const [got] = await receive(client);
    assert.equal(got.messageText, "small");
    await client.deleteMessage(got.messageId, got.popReceipt);
  });
  test("escaped text may be longer than 64 KiB", async () => {
    const client = await queue();
    await client.sendMessage("&".repeat(20000));
    assert.equal((await peek(client))[0].messageText, "&".repeat(20000));
  });
  test("over 64 KiB in UTF-8 is refused", async () =>
    fails((await queue()).sendMessage("é".repeat(32769)), 413, "RequestBodyTooLarge"));
});

describe("order", () => {
  test("of puts is kept", async () => {
    const client = await queue();
    for (let i = 0; i < 20; i++) await client.sendMessage(`${i}`);
    assert.deepEqual((await receive(client, { numberOfMessages: 32 })).map((m) => m.messageText), [...Array(20).keys()].map(String));
  });
  test("of a peek is the order of a get", async () => {
    const client = await queue();
    for (let i = 0; i < 5; i++) await client.sendMessage(`${i}`);
    const seen = (await peek(client, { numberOfMessages: 5 })).map((m) => m.messageId);
    assert.deepEqual((await receive(client, { numberOfMessages: 5 })).map((m) => m.messageId), seen);
  });
  test("puts a message that was given back behind the others", { skip: parts && "they may be in other parts" }, async () => {
    const client = await queue();
    await client.sendMessage("first");
    const [first] = await receive(client);
    await client.sendMessage("second");
    await client.updateMessage(first.messageId, first.popReceipt, undefined, 0);
    assert.deepEqual((await receive(client, { numberOfMessages: 2 })).map((m) => m.messageText), ["second", "first"]);
  });
});

describe("get", () => {
  test("hides what it gives, and counts", async () => {
    const client = await queue();
    await client.sendMessage("m");
    const [first] = await receive(client, { visibilityTimeout: 100 });
    assert.equal(first.dequeueCount, 1);
    assert.deepEqual(await receive(client), []);
    assert.deepEqual(await peek(client), []);
    await client.updateMessage(first.messageId, first.popReceipt, undefined, 0);
    assert.equal((await receive(client))[0].dequeueCount, 2);
  });
  test("gives one message unless more are asked for, and no more than there are", async () => {
    const client = await queue();
    for (let i = 0; i < 3; i++) await client.sendMessage(`${i}`);
    assert.equal((await receive(client)).length, 1);
    assert.equal((await receive(client, { numberOfMessages: 32 })).length, 2);
  });
  test("hides for 30 s unless told otherwise", async () => {
    const client = await queue();
    await client.sendMessage("m");
    const before = Date.now();
    const [got] = await receive(client);
    const seconds = (got.nextVisibleOn - before) / 1000;
    assert.ok(seconds > 25 && seconds < 60, `${seconds}`);
  });
  test("of an empty queue", async () => {
    const client = await queue();
    assert.deepEqual(await receive(client), []);
    assert.deepEqual(await peek(client), []);
  });
  test("shows a message again once its time is over", { azurite: "queue-stale-receipt" }, async () => {
    const client = await queue();
    await client.sendMessage("m");
    const [first] = await receive(client, { visibilityTimeout: 1 });
    let again = [];
    for (const end = Date.now() + 60_000; again.length === 0 && Date.now() < end;) again = await receive(client);
    assert.equal(again[0].messageId, first.messageId);
    assert.equal(again[0].dequeueCount, 2);
    assert.notEqual(again[0].popReceipt, first.popReceipt);
    await fails(client.deleteMessage(first.messageId, first.popReceipt), 404, "MessageNotFound");
  });
  test("never gives one message to two receivers", async () => {
    const client = await queue();
    for (let i = 0; i < 40; i++) await client.sendMessage(`${i}`);
    const got = await Promise.all([...Array(20)].map(() => receive(client, { numberOfMessages: 3 })));
    const ids = got.flat().map((m) => m.messageId);
    assert.equal(ids.length, 40);
    assert.equal(new Set(ids).size, 40);
  });
  test("has every element", async () => {
    const client = await queue();
    const sent = await client.sendMessage("m");
    const [got] = await receive(client);
    assert.match(sent.messageId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    for (const name of ["insertedOn", "expiresOn"]) assert.equal(got[name].getTime(), sent[name].getTime(), name);
    assert.ok(got.nextVisibleOn instanceof Date && got.popReceipt.length > 0);
  });
});

describe("peek", () => {
  test("changes nothing", async () => {
    const client = await queue();
    await client.sendMessage("m");
    for (let i = 0; i < 2; i++) {
      const [seen] = await peek(client, { numberOfMessages: 5 });
      assert.equal(seen.dequeueCount, 0);
      assert.equal(seen.messageText, "m");
      assert.equal(seen.popReceipt, undefined);
    }
    assert.equal((await receive(client))[0].dequeueCount, 1);
  });
  test("shows one unless more are asked for", async () => {
    const client = await queue();
    for (let i = 0; i < 3; i++) await client.sendMessage(`${i}`);
    assert.equal((await peek(client)).length, 1);
    assert.equal((await peek(client, { numberOfMessages: 32 })).length, 3);
  });
  test("does not show delayed messages", async () => {
    const client = await queue();
    await client.sendMessage("later", { visibilityTimeout: 100 });
    await client.sendMessage("now");
    assert.deepEqual((await peek(client, { numberOfMessages: 32 })).map((m) => m.messageText), ["now"]);
  });
});

describe("update", () => {
  test("replaces the text and the receipt", async () => {
    const client = await queue();
    const sent = await client.sendMessage("old");
    const updated = await client.updateMessage(sent.messageId, sent.popReceipt, "new", 0);
    assert.ok(updated.popReceipt && updated.nextVisibleOn instanceof Date);
    const [got] = await receive(client);
    assert.equal(got.messageText, "new");
    await client.deleteMessage(got.messageId, got.popReceipt);
  });
  test("makes the receipt before it MessageNotFound", { azurite: "queue-stale-receipt" }, async () => {
    const client = await queue();
    const sent = await client.sendMessage("old");
    await client.updateMessage(sent.messageId, sent.popReceipt, "new", 0);
    await fails(client.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
    await fails(client.updateMessage(sent.messageId, sent.popReceipt, "x", 0), 404, "MessageNotFound");
  });
  test("without a text keeps it", async () => {
    const client = await queue();
    const sent = await client.sendMessage("kept");
    await client.updateMessage(sent.messageId, sent.popReceipt, undefined, 0);
    assert.equal((await receive(client))[0].messageText, "kept");
  });
  test("with an empty text empties it", async () => {
    const client = await queue();
    const sent = await client.sendMessage("full");
    await client.updateMessage(sent.messageId, sent.popReceipt, "", 0);
    assert.equal((await receive(client))[0].messageText, "");
  });
  test("hides, also a message that nobody took", async () => {
    const client = await queue();
    const sent = await client.sendMessage("m");
    const updated = await client.updateMessage(sent.messageId, sent.popReceipt, "n", 100);
    assert.deepEqual(await receive(client), []);
    await client.updateMessage(sent.messageId, updated.popReceipt, "n", 0);
    assert.equal((await receive(client))[0].dequeueCount, 1);
  });
  test("keeps id, insertion and expiry", async () => {
    const client = await queue();
    const sent = await client.sendMessage("m", { messageTimeToLive: 500 });
    await client.updateMessage(sent.messageId, sent.popReceipt, "n", 0);
    const [got] = await receive(client);
    assert.equal(got.messageId, sent.messageId);
    assert.equal(got.insertedOn.getTime(), sent.insertedOn.getTime());
    assert.equal(got.expiresOn.getTime(), sent.expiresOn.getTime());
  });
  test("renews again and again", async () => {
    const client = await queue();
    await client.sendMessage("m");
    let [{ messageId, popReceipt }] = await receive(client, { visibilityTimeout: 5 });
    for (let i = 0; i < 5; i++) ({ popReceipt } = await client.updateMessage(messageId, popReceipt, `step ${i}`, 100));
    await client.deleteMessage(messageId, popReceipt);
    assert.equal((await client.getProperties()).approximateMessagesCount, 0);
  });
});

describe("receipts", () => {
  test("of a put delete", async () => {
    const client = await queue();
    const sent = await client.sendMessage("m");
    await client.deleteMessage(sent.messageId, sent.popReceipt);
    await fails(client.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
  });
  test("of a put are dead once somebody took the message", { azurite: "queue-stale-receipt" }, async () => {
    const client = await queue();
    const sent = await client.sendMessage("m");
    const [got] = await receive(client);
    await fails(client.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
    await client.deleteMessage(got.messageId, got.popReceipt);
  });
  test("of another message, or garbage", async () => {
    const client = await queue();
    const a = await client.sendMessage("a");
    const b = await client.sendMessage("b");
    await fails(client.deleteMessage(a.messageId, b.popReceipt), 400, "PopReceiptMismatch");
    await fails(client.deleteMessage(a.messageId, "garbage"), 400, "PopReceiptMismatch");
    await fails(client.updateMessage(a.messageId, b.popReceipt, "x", 0), 400, "PopReceiptMismatch");
  });
  test("of a message that never was", async () => {
    const client = await queue();
    const sent = await client.sendMessage("m");
    const nobody = "7c3e244a-292d-4ae4-af89-51a19a23c470";
    await fails(client.deleteMessage(nobody, sent.popReceipt), 400, "PopReceiptMismatch");
    await client.deleteMessage(sent.messageId, sent.popReceipt);
    await fails(client.deleteMessage(nobody, sent.popReceipt), 404, "MessageNotFound");
  });
  test("die with a clear", async () => {
    const client = await queue();
    const sent = await client.sendMessage("m");
    await client.sendMessage("n", { visibilityTimeout: 50 });
    await client.clearMessages();
    assert.equal((await client.getProperties()).approximateMessagesCount, 0);
    await fails(client.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
    await client.sendMessage("after");
    assert.deepEqual((await receive(client, { numberOfMessages: 32 })).map((m) => m.messageText), ["after"]);
  });
  test("of one queue do nothing in another", async () => {
    const [a, b] = [await queue(), await queue()];
    const sent = await a.sendMessage("m");
    await fails(b.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
    await a.deleteMessage(sent.messageId, sent.popReceipt);
  });
});

describe("expiry", () => {
  test("is after seven days, or never", async () => {
    const client = await queue();
    const never = await client.sendMessage("m", { messageTimeToLive: -1 });
    assert.equal(never.expiresOn.getUTCFullYear(), 9999);
    const usual = await client.sendMessage("m");
    assert.equal((usual.expiresOn - usual.insertedOn) / 1000, 604800);
    for (const messageTimeToLive of [9e11, Number.MAX_SAFE_INTEGER]) {
      assert.deepEqual((await client.sendMessage("m", { messageTimeToLive })).expiresOn, never.expiresOn);
    }
    const long = await client.sendMessage("m", { messageTimeToLive: 30 * 86400 });
    assert.equal((long.expiresOn - long.insertedOn) / 1000, 30 * 86400);
  });
  test("ends a message", async () => {
    const client = await queue();
    const sent = await client.sendMessage("short", { messageTimeToLive: 1 });
    await client.sendMessage("long");
    let seen = await peek(client, { numberOfMessages: 32 });
    for (const end = Date.now() + 60_000; seen.length === 2 && Date.now() < end;) seen = await peek(client, { numberOfMessages: 32 });
    assert.deepEqual(seen.map((m) => m.messageText), ["long"]);
    await fails(client.deleteMessage(sent.messageId, sent.popReceipt), 404, "MessageNotFound");
  });
  test("of nothing at all, or not after the delay, is refused", async () => {
    const client = await queue();
    await fails(client.sendMessage("m", { messageTimeToLive: 0 }), 400, "InvalidQueryParameterValue");
    await fails(client.sendMessage("m", { messageTimeToLive: 5, visibilityTimeout: 5 }), 400, "InvalidQueryParameterValue");
  });
});

describe("parameters out of range", () => {
  for (const [what, call, azurite] of [
    ["numofmessages=33", (c) => c.receiveMessages({ numberOfMessages: 33 })],
    ["numofmessages=0", (c) => c.receiveMessages({ numberOfMessages: 0 }), "queue-parameter-codes"],
    ["peek numofmessages=33", (c) => c.peekMessages({ numberOfMessages: 33 })],
    ["peek numofmessages=0", (c) => c.peekMessages({ numberOfMessages: 0 }), "queue-parameter-codes"],
    ["get visibilitytimeout=604801", (c) => c.receiveMessages({ visibilityTimeout: 604801 })],
    ["get visibilitytimeout=0", (c) => c.receiveMessages({ visibilityTimeout: 0 })],
    ["put visibilitytimeout=-1", (c) => c.sendMessage("m", { visibilityTimeout: -1 })],
    ["put visibilitytimeout=604801", (c) => c.sendMessage("m", { visibilityTimeout: 604801, messageTimeToLive: -1 })],
  ]) {
    test(what, { azurite }, async () => fails(call(await queue()), 400, "OutOfRangeQueryParameterValue"));
  }
  test("the limits themselves will do", async () => {
    const client = await queue();
    await client.sendMessage("m", { visibilityTimeout: 604800, messageTimeToLive: -1 });
    await client.sendMessage("m");
    assert.equal((await receive(client, { numberOfMessages: 32, visibilityTimeout: 604800 })).length, 1);
  });
});

test("the poison convention of Azure Functions", async () => {
  const client = await queue();
  const poison = client.name + "-poison";
  await client.sendMessage("bad", { messageTimeToLive: -1 });

  for (let attempt = 1; attempt <= 5; attempt++) {
    const [got] = await receive(client, { numberOfMessages: 16, visibilityTimeout: 600 });
    assert.equal(got.dequeueCount, attempt);
    if (attempt < 5) {
      await client.updateMessage(got.messageId, got.popReceipt, undefined, 0);
      continue;
    }
    // The poison queue of a spread queue was made with it.
    if (!parts) await fails(service.getQueueClient(poison).sendMessage(got.messageText), 404, "QueueNotFound");
    await service.getQueueClient(poison).createIfNotExists();
    await service.getQueueClient(poison).sendMessage(got.messageText);
    await client.deleteMessage(got.messageId, got.popReceipt);
  }
  assert.equal((await client.getProperties()).approximateMessagesCount, 0);
  assert.equal((await peek(service.getQueueClient(poison)))[0].messageText, "bad");
});
