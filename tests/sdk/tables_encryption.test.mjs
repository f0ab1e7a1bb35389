// Entities that a client encrypted before it sent them (the scheme of the Azure clients, version 1 of the protocol):
// encrypted properties are Binary, and two metadata properties tell how to decrypt them. All of it has to come back
// byte for byte, or the client cannot decrypt it. The Python suite does the same with a client that implements the
// scheme.
import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { before, describe, test } from "./support.mjs";
import { failsWith, freshTable, query } from "./tables_support.mjs";

let client;
const masterKey = randomBytes(32);
before(async () => { client = await freshTable(); });

const cipherOf = (make, key, iv) => (bytes) => {
  const cipher = make("aes-256-cbc", key, iv);
  return Buffer.concat([cipher.update(bytes), cipher.final()]);
};
/// Every property has its own initialization vector, derived from the entity's, the keys and the name.
const ivOf = (iv, { partitionKey, rowKey }, name) => createHash("sha256").update(iv).update(partitionKey + rowKey + name, "utf8").digest().subarray(0, 16);

function encrypt(entity, names) {
  const [contentKey, iv] = [randomBytes(32), randomBytes(16)];
  const out = { ...entity };
  for (const name of names) out[name] = new Uint8Array(cipherOf(createCipheriv, contentKey, ivOf(iv, entity, name))(Buffer.from(entity[name], "utf8")));
  const metadata = {
    WrappedContentKey: { KeyId: "key:test", EncryptedKey: cipherOf(createCipheriv, masterKey, iv)(contentKey).toString("base64"), Algorithm: "A256CBC" },
    EncryptionAgent: { Protocol: "1.0", EncryptionAlgorithm: "AES_CBC_256" }, ContentEncryptionIV: iv.toString("base64"),
    KeyWrappingMetadata: { EncryptionLibrary: "test \"quoted\" \\ é" },
  };
  out._ClientEncryptionMetadata1 = JSON.stringify(metadata);
  const nameIv = ivOf(iv, entity, "_ClientEncryptionMetadata2");
  out._ClientEncryptionMetadata2 = new Uint8Array(cipherOf(createCipheriv, contentKey, nameIv)(Buffer.from(JSON.stringify(names), "utf8")));
  return out;
}

function decrypt(entity) {
  const metadata = JSON.parse(entity._ClientEncryptionMetadata1);
  const iv = Buffer.from(metadata.ContentEncryptionIV, "base64");
  const contentKey = cipherOf(createDecipheriv, masterKey, iv)(Buffer.from(metadata.WrappedContentKey.EncryptedKey, "base64"));
  const open = (name) => cipherOf(createDecipheriv, contentKey, ivOf(iv, entity, name))(Buffer.from(entity[name])).toString("utf8");
  const names = JSON.parse(open("_ClientEncryptionMetadata2"));
  return { ...entity, ...Object.fromEntries(names.map((name) => [name, open(name)])) };
}

const secrets = { partitionKey: "é & 'p'", rowKey: "r 1", name: "héllo 日本 😀", note: "", plain: "open", long: "x".repeat(20_000) };
const names = ["name", "note", "long"];
const sameBytes = (read, sent) => {
  for (const [name, value] of Object.entries(sent)) {
    if (value instanceof Uint8Array) assert.ok(Buffer.from(read[name]).equals(Buffer.from(value)), name);
    else assert.deepEqual(read[name], value, name);
  }
};

describe("an encrypted entity", () => {
  test("comes back byte for byte and opens", async () => {
    const sent = encrypt(secrets, names);
    await client.createEntity(sent);
    const read = await client.getEntity(secrets.partitionKey, secrets.rowKey);
    sameBytes(read, sent);
    const opened = decrypt(read);
    for (const name of Object.keys(secrets)) assert.equal(opened[name], secrets[name]);
  });
  test("through a transaction and a list", async () => {
    const entities = ["1", "2", "3"].map((rowKey) => ({ ...secrets, partitionKey: "list", rowKey }));
    const sent = entities.map((entity) => encrypt(entity, names));
    await client.submitTransaction(sent.map((entity) => ["create", entity]));
    const found = await query(client, "PartitionKey eq 'list'");
    found.forEach((entity, i) => {
      sameBytes(entity, sent[i]);
      assert.equal(decrypt(entity).name, secrets.name);
    });
  });
  test("through a replace", async () => {
    const entity = { ...secrets, partitionKey: "replace" };
    await client.createEntity(encrypt(entity, names));
    const sent = encrypt({ ...entity, name: "changed" }, names);
    await client.updateEntity(sent, "Replace");
    assert.equal(decrypt(await client.getEntity("replace", entity.rowKey)).name, "changed");
  });
  test("a merge of an open property leaves the closed ones whole", async () => {
    const entity = { ...secrets, partitionKey: "merge" };
    const sent = encrypt(entity, names);
    await client.createEntity(sent);
    await client.updateEntity({ partitionKey: "merge", rowKey: entity.rowKey, plain: "changed" }, "Merge");
    const read = await client.getEntity("merge", entity.rowKey);
    sameBytes(read, { ...sent, plain: "changed" });
    assert.equal(decrypt(read).long, secrets.long);
  });
  test("$select of a closed property and the metadata is enough to open it", async () => {
    const entity = { ...secrets, partitionKey: "select" };
    await client.createEntity(encrypt(entity, ["name"]));
    const select = ["partitionKey", "rowKey", "name", "_ClientEncryptionMetadata1", "_ClientEncryptionMetadata2"];
    const [read] = await query(client, "PartitionKey eq 'select'", { select });
    assert.equal(decrypt(read).name, secrets.name);
    assert.equal(read.plain, undefined);
  });
  test("open properties can be queried, closed ones only as bytes", async () => {
    const entity = { ...secrets, partitionKey: "query" };
    const sent = encrypt(entity, ["name"]);
    await client.createEntity(sent);
    assert.equal((await query(client, "PartitionKey eq 'query' and plain eq 'open'")).length, 1);
    assert.equal((await query(client, `PartitionKey eq 'query' and name eq '${secrets.name}'`)).length, 0);
    const hex = Buffer.from(sent.name).toString("hex");
    assert.equal((await query(client, `PartitionKey eq 'query' and name eq X'${hex}'`)).length, 1);
  });
  test("a closed property may be as large as a Binary", async () => {
    const entity = { partitionKey: "large", rowKey: "1", name: "x".repeat(65535 - 16) };
    const sent = encrypt(entity, ["name"]);
    assert.equal(sent.name.length, 65520);
    await client.createEntity(sent);
    assert.equal(decrypt(await client.getEntity("large", "1")).name, entity.name);
    const larger = encrypt({ ...entity, rowKey: "2", name: "x".repeat(65536) }, ["name"]);
    await assert.rejects(client.createEntity(larger), failsWith(400, "PropertyValueTooLarge"));
  });
});
