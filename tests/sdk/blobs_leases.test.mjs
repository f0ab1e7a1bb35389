// Leases of blobs and containers through the unmodified SDK.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { request, test } from "./support.mjs";
import { accountSas, isRefused, makeContainer, put, refused, service, url } from "./blobs_support.mjs";

const container = await makeContainer("leases");
const fresh = async (name) => {
  await put(container, name, "content");
  const client = container.getBlockBlobClient(name);
  return { client, lease: client.getBlobLeaseClient(randomUUID()) };
};

test("lease: a leased blob takes no writes without its id", async () => {
  const { client, lease } = await fresh("writes");
  const held = await lease.acquireLease(-1);
  assert.equal(held.leaseId, lease.leaseId);
  const conditions = { conditions: { leaseId: lease.leaseId } };
  const wrong = { conditions: { leaseId: randomUUID() } };
  for (const write of [
    (options) => client.upload("x", 1, options),
    (options) => client.setMetadata({ a: "b" }, options),
    (options) => client.setHTTPHeaders({ blobContentType: "text/plain" }, options),
    (options) => client.stageBlock("MDAwMQ==", "x", 1, options),
    (options) => client.commitBlockList(["MDAwMQ=="], options),
    (options) => client.delete(options),
  ]) {
    await refused(write({}), 412, "LeaseIdMissing");
    await refused(write(wrong), 412, "LeaseIdMismatchWithBlobOperation");
    await write(conditions);
  }
});

test("lease: who may only delete breaks it and no more", async () => {
  const { lease } = await fresh("broken");
  await lease.acquireLease(-1);
  const by = (letters, target, action, headers = {}) =>
    request(`${url}/leases${target}&comp=lease&${accountSas(letters)}`, { method: "PUT", headers: { "x-ms-lease-action": action, ...headers } });
  for (const target of ["/broken?", "?restype=container"]) {
    for (const action of ["acquire", "renew", "change", "release"]) {
      isRefused(await by("d", target, action, { "x-ms-lease-duration": "-1", "x-ms-lease-id": lease.leaseId, "x-ms-proposed-lease-id": lease.leaseId }),
        403, "AuthorizationPermissionMismatch");
    }
  }
  assert.equal((await by("d", "/broken?", "break")).status, 202);
  assert.equal((await by("w", "/broken?", "release", { "x-ms-lease-id": lease.leaseId })).status, 200);
});

test("lease: what a blob tells of it", async () => {
  const { client, lease } = await fresh("told");
  const before = await client.getProperties();
  assert.deepEqual([before.leaseStatus, before.leaseState, before.leaseDuration], ["unlocked", "available", undefined]);
  await lease.acquireLease(60);
  const leased = await client.getProperties();
  assert.deepEqual([leased.leaseStatus, leased.leaseState, leased.leaseDuration], ["locked", "leased", "fixed"]);
  assert.equal(leased.etag, before.etag);
  assert.equal((await lease.breakLease(55)).leaseTime > 15, true);
  const breaking = await client.getProperties();
  assert.deepEqual([breaking.leaseStatus, breaking.leaseState], ["locked", "breaking"]);
  assert.equal((await lease.breakLease(0)).leaseTime, 0);
  assert.equal((await client.getProperties()).leaseState, "broken");
});

test("lease: reads need no id, but not a wrong one", async () => {
  const { client, lease } = await fresh("reads");
  await refused(client.getProperties({ conditions: { leaseId: lease.leaseId } }), 412, "LeaseNotPresentWithBlobOperation");
  await lease.acquireLease(60);
  await client.download();
  await client.download(0, undefined, { conditions: { leaseId: lease.leaseId } });
  await refused(client.download(0, undefined, { conditions: { leaseId: randomUUID() } }), 412, "LeaseIdMismatchWithBlobOperation");
});

test("lease: actions in each state", async () => {
  const { client, lease } = await fresh("states");
  const other = client.getBlobLeaseClient(randomUUID());
  await refused(lease.renewLease(), 409, "LeaseIdMismatchWithLeaseOperation");
  await refused(lease.breakLease(0), 409, "LeaseNotPresentWithLeaseOperation");
  await refused(lease.changeLease(randomUUID()), 409, "LeaseNotPresentWithLeaseOperation");
  await lease.acquireLease(15);
  await lease.acquireLease(60);
  await refused(other.acquireLease(15), 409, "LeaseAlreadyPresent");
  await refused(other.renewLease(), 409, "LeaseIdMismatchWithLeaseOperation");
  await lease.renewLease();
  const next = randomUUID();
  assert.equal((await lease.changeLease(next)).leaseId, next);
  await lease.breakLease(55);
  await refused(lease.acquireLease(15), 409, "LeaseIsBreakingAndCannotBeAcquired");
  await refused(other.acquireLease(15), 409, "LeaseAlreadyPresent");
  await refused(lease.changeLease(randomUUID()), 409, "LeaseIsBreakingAndCannotBeChanged");
  await lease.breakLease(0);
  await refused(lease.renewLease(), 409, "LeaseIsBrokenAndCannotBeRenewed");
  await refused(client.setMetadata({}, { conditions: { leaseId: next } }), 412, "LeaseLost");
  await other.acquireLease(15);
  await other.releaseLease();
  assert.equal((await client.getProperties()).leaseState, "available");
});

test("lease: one that ran out is ended by a write", async () => {
  const { client, lease } = await fresh("over");
  await lease.acquireLease(15);
  await lease.breakLease(0);
  await client.setMetadata({ a: "b" });
  await refused(lease.renewLease(), 409, "LeaseIdMismatchWithLeaseOperation");
});

test("lease: an id has every form of a GUID, in any case", { azurite: "blob-lease-ids" }, async () => {
  const id = randomUUID();
  const forms = [id.toUpperCase(), id.replaceAll("-", ""), `{${id}}`, `(${id})`];
  for (const [n, form] of forms.entries()) {
    const { client } = await fresh(`forms-${n}`);
    assert.equal((await client.getBlobLeaseClient(form).acquireLease(-1)).leaseId, id);
    for (const leaseId of [id, ...forms]) {
      await client.setMetadata({ a: "b" }, { conditions: { leaseId } });
      await client.getBlobLeaseClient(leaseId).renewLease();
    }
    await refused(client.setMetadata({}, { conditions: { leaseId: randomUUID() } }), 412, "LeaseIdMismatchWithBlobOperation");
  }
  for (const none of [`{${id})`, `{${id.replaceAll("-", "")}}`, id.slice(1), `${id.slice(1)}g`]) {
    await refused(container.getBlobClient("forms-0").getBlobLeaseClient(none).acquireLease(-1), 400, "InvalidHeaderValue");
  }
});

test("lease: bad requests", async () => {
  const { client, lease } = await fresh("bad");
  await refused(lease.acquireLease(14), 400, "InvalidHeaderValue");
  await refused(lease.acquireLease(61), 400, "InvalidHeaderValue");
  await refused(client.getBlobLeaseClient("no-guid").acquireLease(15), 400, "InvalidHeaderValue");
  await refused(container.getBlobClient("nobody").getBlobLeaseClient().acquireLease(15), 404, "BlobNotFound");
});

test("lease: of a container guards its deletion alone", async () => {
  const own = service.getContainerClient("leased-container");
  await own.create();
  const lease = own.getBlobLeaseClient();
  await lease.acquireLease(-1);
  const told = await own.getProperties();
  assert.deepEqual([told.leaseStatus, told.leaseState, told.leaseDuration], ["locked", "leased", "infinite"]);
  await put(own, "free", "x");
  await own.setMetadata({ a: "b" });
  await refused(own.delete(), 412, "LeaseIdMissing");
  await refused(own.delete({ conditions: { leaseId: randomUUID() } }), 412, "LeaseIdMismatchWithContainerOperation");
  await own.delete({ conditions: { leaseId: lease.leaseId } });
});

test("lease: a list tells it", async () => {
  const { lease } = await fresh("listed");
  await lease.acquireLease(-1);
  for await (const item of container.listBlobsFlat({ prefix: "listed" })) {
    assert.deepEqual([item.properties.leaseStatus, item.properties.leaseState, item.properties.leaseDuration],
      ["locked", "leased", "infinite"]);
  }
});
