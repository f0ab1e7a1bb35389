// Access rights: keys, SAS of queues and of the account, stored policies.
import assert from "node:assert/strict";
import {
  AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, QueueSASPermissions, SASProtocol,
  generateAccountSASQueryParameters, generateQueueSASQueryParameters,
} from "@azure/storage-queue";
import { credential, fails, freshName, peek, queue, receive, service, serviceWithKey, serviceWithSas, url, withSas } from "./queues_support.mjs";
import { all, anHourAgo, describe, inOneHour, request, test } from "./support.mjs";

const queueSas = (client, values) => generateQueueSASQueryParameters({ queueName: client.name, expiresOn: inOneHour(), ...values }, credential);
const guestOf = (client, permissions, values = {}) =>
  withSas(client.url, queueSas(client, { permissions: permissions && QueueSASPermissions.parse(permissions), ...values }));
const accountSas = (permissions, resourceTypes, services = "q") => generateAccountSASQueryParameters({
  permissions: AccountSASPermissions.parse(permissions), services: AccountSASServices.parse(services).toString(),
  resourceTypes: AccountSASResourceTypes.parse(resourceTypes).toString(), expiresOn: inOneHour() }, credential);

describe("keys", () => {
  test("a wrong key is refused", async () => fails(serviceWithKey("AAAA").createQueue("never"), 403, "AuthenticationFailed"));
  test("nobody is refused", async () => {
    const answer = await request(`${url}/?comp=list`, { headers: { "x-ms-version": "2021-02-12" } });
    assert.ok([401, 403, 404].includes(answer.status), `${answer.status}`);
    assert.ok(answer.headers["x-ms-error-code"]);
  });
});

describe("queue SAS", () => {
  // The operations that each permission allows; the others are refused.
  const operations = {
    r: (guest) => guest.peekMessages(),
    a: (guest) => guest.sendMessage("from a guest"),
    p: (guest) => guest.receiveMessages(),
    u: (guest, sent) => guest.updateMessage(sent.messageId, sent.popReceipt, "by a guest", 0),
  };
  for (const permission of "raup") {
    test(`with ${permission} does what it says and no more`, async () => {
      for (const [needed, operation] of Object.entries(operations)) {
        const client = await queue();
        const sent = await client.sendMessage("m");
        const outcome = operation(guestOf(client, permission), sent);
        if (needed === permission) await outcome;
        else await fails(outcome, 403, "AuthorizationPermissionMismatch");
      }
    });
  }
  test("with p deletes", async () => {
    const client = await queue();
    await client.sendMessage("m");
    const guest = guestOf(client, "p");
    const [got] = await receive(guest);
    await guest.deleteMessage(got.messageId, got.popReceipt);
    assert.equal((await client.getProperties()).approximateMessagesCount, 0);
  });
  test("works for its queue only", async () => {
    const [mine, other] = [await queue(), await queue()];
    const sas = queueSas(mine, { permissions: QueueSASPermissions.parse("raup") });
    await fails(withSas(other.url, sas).peekMessages(), 403, "AuthenticationFailed");
  });
  test("works neither before its time nor after it", async () => {
    const client = await queue();
    await fails(guestOf(client, "r", { expiresOn: anHourAgo() }).peekMessages(), 403, "AuthenticationFailed");
    await fails(guestOf(client, "r", { startsOn: inOneHour(), expiresOn: new Date(Date.now() + 7200e3) }).peekMessages(), 403, "AuthenticationFailed");
  });
  test("with a changed permission is refused", async () => {
    const client = await queue();
    const sas = queueSas(client, { permissions: QueueSASPermissions.parse("r") }).toString().replace("sp=r", "sp=raup");
    await fails(withSas(client.url, sas).peekMessages(), 403, "AuthenticationFailed");
  });
  test("for HTTPS only is refused over HTTP", async () => {
    const client = await queue();
    await fails(guestOf(client, "r", { protocol: SASProtocol.Https }).peekMessages(), 403);
  });
  test("by a stored policy dies with the policy", async () => {
    const client = await queue();
    await client.setAccessPolicy([{ id: "p", accessPolicy: { expiresOn: inOneHour(), permissions: "r" } }]);
    const guest = withSas(client.url, generateQueueSASQueryParameters({ queueName: client.name, identifier: "p" }, credential));
    await guest.peekMessages();
    await fails(guest.sendMessage("x"), 403, "AuthorizationPermissionMismatch");
    await client.setAccessPolicy([]);
    await fails(guest.peekMessages(), 403, "AuthenticationFailed");
  });
});

describe("account SAS", () => {
  test("lists queues with sl, and does not create", async () => {
    const client = await queue();
    const guest = serviceWithSas(accountSas("l", "s"));
    assert.ok((await all(guest.listQueues({ prefix: client.name }))).length === 1);
    await fails(guest.createQueue(freshName()), 403);
  });
  test("creates and deletes queues with cc and cd", async () => {
    const guest = serviceWithSas(accountSas("cd", "c"));
    const name = freshName();
    await guest.createQueue(name);
    assert.equal(await service.getQueueClient(name).exists(), true);
    await guest.deleteQueue(name);
    assert.equal(await service.getQueueClient(name).exists(), false);
  });
  test("puts, takes and peeks with object permissions", async () => {
    const client = await queue();
    const guest = serviceWithSas(accountSas("rap", "o")).getQueueClient(client.name);
    await guest.sendMessage("m");
    assert.equal((await peek(guest)).length, 1);
    assert.equal((await receive(guest)).length, 1);
  });
  test("updates and deletes messages with object permissions", { azurite: "queue-account-sas-objects" }, async () => {
    const client = await queue();
    const guest = serviceWithSas(accountSas("uapd", "o")).getQueueClient(client.name);
    const sent = await guest.sendMessage("m");
    const { popReceipt } = await guest.updateMessage(sent.messageId, sent.popReceipt, "n", 0);
    await guest.deleteMessage(sent.messageId, popReceipt);
  });
  test("of another service is refused", async () => {
    const guest = serviceWithSas(accountSas("rl", "sco", "b"));
    await fails(all(guest.listQueues()), 403);
  });
});
