// Shared by the blob suites: clients, requests below the SDK, and refusals.
import assert from "node:assert/strict";
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  BlobServiceClient,
  StorageSharedKeyCredential,
  generateAccountSASQueryParameters,
  newPipeline,
} from "@azure/storage-blob";
import { account, inOneHour, key, request } from "./support.mjs";

export const credential = new StorageSharedKeyCredential(account, key);
export const url = process.env.TIDEMARK_BLOB_URL;
const retryOptions = { maxTries: 1 };
export const service = new BlobServiceClient(url, newPipeline(credential, { retryOptions }));

export const accountSas = (permissions = "rwdlacuptf") =>
  `${generateAccountSASQueryParameters({ permissions: AccountSASPermissions.parse(permissions), expiresOn: inOneHour(),
    services: AccountSASServices.parse("b").toString(), resourceTypes: AccountSASResourceTypes.parse("sco").toString() }, credential)}`;

/// A request below the SDK, signed by an account SAS; `target` begins behind the account.
export const wire = (method, target, { headers = {}, body = "" } = {}) =>
  request(`${url}${target}${target.includes("?") ? "&" : "?"}${accountSas()}`, { method, headers, body });
/// The same without credentials.
export const anonymous = (method, target, { headers = {}, body = "" } = {}) => request(`${url}${target}`, { method, headers, body });

export const isRefused = (answer, status, code) => assert.deepEqual([answer.status, answer.headers["x-ms-error-code"]], [status, code]);
export const refused = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.statusCode, statusCode);
    if (code) assert.equal(error.code ?? error.details?.errorCode, code);
    return true;
  });
/// Makes a container for one file of tests.
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
