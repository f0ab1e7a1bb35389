// The protocol below the SDK: XML as it is sent, request bodies of other clients, errors with their fields.
import assert from "node:assert/strict";
import { element, queue, wire } from "./queues_support.mjs";
import { describe, test } from "./support.mjs";

const message = (text) => `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;
async function refused(answer, status, code, fields = {}) {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers["x-ms-error-code"], code);
  assert.equal(element(answer.text, "Code"), code);
  for (const [name, value] of Object.entries(fields)) assert.equal(element(answer.text, name), value, name);
}

describe("put", () => {
  test("answers the elements in the service's order", async () => {
    const { name } = await queue();
    const answer = await wire("POST", `/${name}/messages`, { body: message("m") });
    assert.equal(answer.status, 201);
    const names = [...answer.text.matchAll(/<(\w+)>[^<]*<\/\1>/g)].map((m) => m[1]);
    assert.deepEqual(names, ["MessageId", "InsertionTime", "ExpirationTime", "PopReceipt", "TimeNextVisible"]);
    assert.match(element(answer.text, "InsertionTime"), /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  });
  for (const [what, body] of [["an XML declaration", `<?xml version="1.0" encoding="utf-8"?>${message("m")}`],
    ["single quotes in it", `<?xml version='1.0' encoding='utf-8'?>\n${message("m")}`], ["a byte order mark", `\uFEFF${message("m")}`],
    ["unknown elements", "<QueueMessage><Other>1</Other><MessageText>m</MessageText></QueueMessage>"], ["CDATA", message("<![CDATA[m]]>")]]) {
    test(`takes ${what}`, async () => {
      const { name } = await queue();
      assert.equal((await wire("POST", `/${name}/messages`, { body })).status, 201);
      assert.equal(element((await wire("GET", `/${name}/messages?peekonly=true`)).text, "MessageText"), "m");
    });
  }
  test("keeps line feeds and carriage returns", async () => {
    const client = await queue();
    await wire("POST", `/${client.name}/messages`, { body: message("a\nb&#13;c&#xD;&#xA;d\n") });
    // Carriage returns are sent back escaped, since an XML parser would turn bare ones into line feeds.
    const text = element((await wire("GET", `/${client.name}/messages?peekonly=true`)).text, "MessageText");
    assert.equal(text.replace(/&#(xD|13);/gi, "\r").replace(/&#(xA|10);/gi, "\n"), "a\nb\rc\r\nd\n");
  });
  test("of what is not XML is InvalidXmlDocument", { azurite: "queue-xml-checks" }, async () => {
    const { name } = await queue();
    for (const body of ["nonsense", "<QueueMessage><MessageText>", message("\u0001"), message("&#x1;")]) {
      await refused(await wire("POST", `/${name}/messages`, { body }), 400, "InvalidXmlDocument");
    }
  });
  test("of more or less than one element is InvalidXmlDocument", { azurite: "queue-xml-checks" }, async () => {
    const { name } = await queue();
    for (const body of [`${message("a")}<more/>`, `junk${message("a")}`, `${message("a")}junk`]) {
      await refused(await wire("POST", `/${name}/messages`, { body }), 400, "InvalidXmlDocument");
    }
    assert.equal((await wire("POST", `/${name}/messages`, { body: `\n ${message("a")}\n` })).status, 201);
  });
  test("of a body over 128 KiB is RequestBodyTooLarge", { azurite: "queue-body-limit" }, async () => {
    const { name } = await queue();
    await refused(await wire("POST", `/${name}/messages`, { body: message("&amp;".repeat(40000)) }), 413, "RequestBodyTooLarge", { MaxLimit: "131584" });
  });
  test("of a text over 64 KiB names its limit", async () => {
    const { name } = await queue();
    await refused(await wire("POST", `/${name}/messages`, { body: message("x".repeat(65537)) }), 413, "RequestBodyTooLarge", { MaxLimit: "65536" });
  });
});

describe("get", () => {
  test("of nothing is 200 with an empty list", async () => {
    const { name } = await queue();
    const answer = await wire("GET", `/${name}/messages`);
    assert.equal(answer.status, 200);
    assert.match(answer.text, /<QueueMessagesList\s*\/>/);
  });
  test("takes peekonly in any case", { azurite: "queue-peekonly-case" }, async () => {
    const { name } = await queue();
    await wire("POST", `/${name}/messages`, { body: message("m") });
    for (const word of ["true", "True", "TRUE"]) {
      const answer = await wire("GET", `/${name}/messages?peekonly=${word}`);
      assert.equal(element(answer.text, "DequeueCount"), "0");
      assert.equal(element(answer.text, "PopReceipt"), undefined);
    }
  });
  test("does not take an unknown peekonly for a get", { azurite: "queue-peekonly-case" }, async () => {
    const { name } = await queue();
    await refused(await wire("GET", `/${name}/messages?peekonly=yes`), 400, "InvalidQueryParameterValue", { QueryParameterName: "peekonly" });
    assert.equal((await wire("GET", `/${name}/messages?peekonly=False`)).status, 200);
  });
  test("names the parameter and its range", async () => {
    const { name } = await queue();
    await refused(await wire("GET", `/${name}/messages?numofmessages=33`), 400, "OutOfRangeQueryParameterValue",
      { QueryParameterName: "numofmessages", QueryParameterValue: "33", MinimumAllowed: "1", MaximumAllowed: "32" });
  });
  test("with what is no number is InvalidQueryParameterValue", { azurite: "queue-parameter-codes" }, async () => {
    const { name } = await queue();
    await refused(await wire("GET", `/${name}/messages?numofmessages=many`), 400, "InvalidQueryParameterValue", { QueryParameterName: "numofmessages" });
  });
});

test("a list of queues refuses an unknown include", { azurite: "queue-parameter-codes" }, async () => {
  await refused(await wire("GET", "/?comp=list&include=colours"), 400, "InvalidQueryParameterValue", { QueryParameterName: "include" });
  assert.equal((await wire("GET", "/?comp=list&include=Metadata")).status, 200);
});

describe("update and delete", () => {
  test("need a receipt, and update a visibility", { azurite: "queue-parameter-codes" }, async () => {
    const client = await queue();
    const sent = await client.sendMessage("m");
    const path = `/${client.name}/messages/${sent.messageId}`;
    const receipt = encodeURIComponent(sent.popReceipt);
    await refused(await wire("DELETE", path), 400, "MissingRequiredQueryParameter");
    await refused(await wire("PUT", `${path}?visibilitytimeout=0`), 400, "MissingRequiredQueryParameter");
    await refused(await wire("PUT", `${path}?popreceipt=${receipt}`), 400, "MissingRequiredQueryParameter");
    assert.equal((await wire("DELETE", `${path}?popreceipt=${receipt}`)).status, 204);
  });
  test("update tells the receipt and the time in headers", async () => {
    const client = await queue();
    const sent = await client.sendMessage("m");
    const answer = await wire("PUT", `/${client.name}/messages/${sent.messageId}?popreceipt=${encodeURIComponent(sent.popReceipt)}&visibilitytimeout=7`);
    assert.equal(answer.status, 204);
    assert.equal(answer.text, "");
    assert.match(answer.headers["x-ms-time-next-visible"], / GMT$/);
    assert.ok(answer.headers["x-ms-popreceipt"]);
  });
});

describe("queues", () => {
  test("HEAD and GET tell metadata and count in headers", async () => {
    const { name } = await queue({ metadata: { Owner: "me" } });
    for (const method of ["HEAD", "GET"]) {
      const answer = await wire(method, `/${name}?comp=metadata`);
      assert.equal(answer.status, 200);
      assert.equal(answer.text, "");
      assert.equal(answer.headers["x-ms-meta-owner"], "me");
      assert.equal(answer.headers["x-ms-approximate-messages-count"], "0");
    }
  });
  test("an error body has code, message, request id and time", async () => {
    const answer = await wire("GET", "/no-such-queue/messages");
    await refused(answer, 404, "QueueNotFound");
    assert.match(element(answer.text, "Message"), /RequestId:[0-9a-f-]{36}\s+Time:\d{4}-\d\d-\d\dT/);
    assert.equal(answer.headers["content-type"], "application/xml");
  });
  test("a verb that is not offered is refused", async () => {
    const { name } = await queue();
    const answer = await wire("POST", `/${name}`);
    assert.ok(answer.status === 400 || answer.status === 405, `${answer.status}`);
  });
  test("a put of a version before receipts answers no body", { azurite: "queue-old-put" }, async () => {
    const { name } = await queue();
    const answer = await wire("POST", `/${name}/messages`, { body: message("m"), version: "2015-12-11" });
    assert.equal(answer.status, 201);
    assert.equal(answer.text, "");
  });
});

describe("the secondary", () => {
  test("reads", async () => {
    const client = await queue({ metadata: { owner: "me" } });
    await client.sendMessage("m");
    assert.equal((await wire("GET", `/${client.name}?comp=metadata`, { secondary: true })).headers["x-ms-meta-owner"], "me");
    assert.equal(element((await wire("GET", `/${client.name}/messages?peekonly=true`, { secondary: true })).text, "MessageText"), "m");
    assert.match((await wire("GET", "/?restype=service&comp=stats", { secondary: true })).text, /<Status>live</);
  });
  test("does not write, nor take messages", { azurite: "queue-secondary-writes" }, async () => {
    const client = await queue();
    const sent = await client.sendMessage("m");
    const held = `/${client.name}/messages/${sent.messageId}?popreceipt=${encodeURIComponent(sent.popReceipt)}`;
    for (const [method, target, body] of [["PUT", `/${client.name}-2`], ["POST", `/${client.name}/messages`, message("m")],
      ["GET", `/${client.name}/messages`], ["PUT", `${held}&visibilitytimeout=9`], ["DELETE", held], ["DELETE", `/${client.name}/messages`],
      ["PUT", `/${client.name}?comp=metadata`], ["DELETE", `/${client.name}`]]) {
      await refused(await wire(method, target, { body, secondary: true }), 403, "InsufficientAccountPermissions");
    }
    assert.equal((await wire("DELETE", held)).status, 204);
  });
});
