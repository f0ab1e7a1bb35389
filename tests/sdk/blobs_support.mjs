// Shared by the tests of the blob SDK: a service with the development account, one try for each request.
import assert from "node:assert/strict";
import { BlobServiceClient, StorageSharedKeyCredential, newPipeline } from "@azure/storage-blob";
import { account, key } from "./support.mjs";

export const credential = new StorageSharedKeyCredential(account, key);
export const url = process.env.TIDEMARK_BLOB_URL;
export const service = new BlobServiceClient(url, newPipeline(credential, { retryOptions: { maxTries: 1 } }));

export const refused = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => {
    assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [statusCode, code]);
    return true;
  });
/// A container of its own for each file of tests.
export const makeContainer = async (name) => {
  const container = service.getContainerClient(name);
  await container.createIfNotExists();
  return container;
};
export const put = (container, name, text, options) =>
  container.getBlockBlobClient(name).upload(text, Buffer.byteLength(text), options);
export const textOf = async (client) => {
  const pieces = [];
  for await (const piece of (await client.download()).readableStreamBody) pieces.push(piece);
  return Buffer.concat(pieces).toString();
};
export const listed = async (container, options) => {
  const items = [];
  for await (const item of container.listBlobsFlat(options)) items.push(item);
  return items;
};
