// Containers, queues, and shards.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { until } from "./stack.mjs";
import { badge, browser, button, dialog, heading, open, overOneStack, page, rows, see, sight, stack } from "./views.mjs";

const markup = `"><img src=x onerror="window.hurt=1"><script>window.hurt=1</script>`;

overOneStack();

describe("queues", () => {
  test("messages of a queue are looked at, also those that nobody can take", async () => {
    await stack.submit({ kind: "copy", source: "Orders", destination: "Later", filter: "", notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await open("/queues/tidemark-jobs");
    await page.getByRole("region", { name: "Messages" }).getByText("delayed").waitFor();
    await rows("Messages").first().getByRole("button").first().click();
    await page.locator(".json", { hasText: "Later" }).waitFor();
    await page.getByPlaceholder("Search in the messages").fill("nowhere");
    await page.keyboard.press("Enter");
    await page.getByText("No message.").waitFor();
    await page.getByPlaceholder("Search in the messages").fill("");
    await button("Pause").click();
    await button("Resume").click();
    await button("Pause").waitFor();
  });
});

describe("containers", () => {
  const picture = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  const put = (name, content, type) => stack.call("PUT", `/v1/containers/pictures/content?name=${encodeURIComponent(name)}&contentType=${encodeURIComponent(type)}`, content, { "Content-Type": "application/octet-stream", "If-None-Match": "*" });

  test("one is made, and a blob is uploaded, seen, replaced as it was seen, and deleted", async () => {
    await open("/containers");
    await button("New container…").click();
    await dialog().getByLabel("Name").fill("pictures");
    await button("Make it", dialog()).click();
    await heading("pictures");
    await page.getByText("This container is empty.").waitFor();
    await button("Upload…").click();
    await dialog().getByLabel("File").setInputFiles({ name: "told.json", mimeType: "application/json", buffer: Buffer.from('{"big":9007199254740993}') });
    await dialog().getByLabel("Name of the blob").fill("notes/2026/told.json");
    await dialog().getByLabel("Reason").fill("asked for");
    await button("Upload", dialog()).click();
    await heading("told.json");
    await page.locator(".json", { hasText: "9007199254740993" }).waitFor();
    await page.getByText("application/json").waitFor();
    const entry = (await stack.call("GET", "/v1/audit?limit=1&operation=containers.content.put")).entries[0];
    assert.deepEqual([entry.target, entry.count, entry.reason], ["pictures/notes/2026/told.json", 24, "asked for"]);
    await button("Replace…").click();
    await dialog().getByLabel("File").setInputFiles({ name: "x.txt", mimeType: "text/plain", buffer: Buffer.from("another text") });
    await dialog().getByLabel("Reason").fill("it is another now");
    await button("Upload", dialog()).click();
    await page.locator("pre", { hasText: "another text" }).waitFor();
    const before_ = await stack.call("GET", "/v1/containers/pictures/blob?name=notes%2F2026%2Ftold.json");
    await button("Delete…").click();
    await stack.call("PUT", "/v1/containers/pictures/content?name=notes%2F2026%2Ftold.json", "changed", { "Content-Type": "application/octet-stream", "If-Match": before_.etag });
    await dialog().getByLabel("Reason").fill("no longer needed");
    await button("Delete", dialog()).click();
    await dialog().getByText("ConditionNotMet").waitFor();
    await button("Back", dialog()).click();
    await open("/containers/pictures?blob=notes%2F2026%2Ftold.json");
    await button("Delete…").click();
    await dialog().getByLabel("Reason").fill("no longer needed");
    await button("Delete", dialog()).click();
    await until(async () => !(await stack.call("GET", "/v1/containers/pictures/blobs")).blobs.length, "it is gone");
  });

  test("what is said of a blob stays when its content is replaced", async () => {
    await stack.call("PUT", "/v1/containers/pictures");
    await stack.ofBlob("PUT", "pictures/said.txt", "first", { "x-ms-blob-type": "BlockBlob", "Content-Type": "text/x-said", "x-ms-blob-cache-control": "no-store", "x-ms-blob-content-encoding": "x-said", "x-ms-meta-whose": "ann", "x-ms-tags": "project=one" });
    await open("/containers/pictures?blob=said.txt");
    await button("Replace…").click();
    await dialog().getByLabel("File").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from("second") });
    await dialog().getByLabel("Reason").fill("it is another now");
    await button("Upload", dialog()).click();
    await page.locator("pre", { hasText: "second" }).waitFor();
    const { contentType, contentEncoding, cacheControl, metadata, tags } = await stack.call("GET", "/v1/containers/pictures/blob?name=said.txt");
    assert.deepEqual({ contentType, contentEncoding, cacheControl, metadata, tags }, { contentType: "text/x-said", contentEncoding: undefined, cacheControl: "no-store", metadata: { whose: "ann" }, tags: { project: "one" } });
    await stack.call("DELETE", "/v1/containers/pictures/blob?name=said.txt", undefined, { "If-Match": "*" });
  });

  test("folders are walked with the keys, and lead back", async () => {
    await put("a/one.txt", "first", "text/plain");
    await put("a/deep/er/two.txt", "second", "text/plain");
    await put("a/picture.png", picture, "text/html");
    await put("bytes.bin", Buffer.from([0, 1, 2, 255]), "application/x-thing");
    await open("/containers/pictures");
    await rows("Blobs").first().waitFor();
    assert.equal(await rows("Blobs").count(), 2);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await heading("a");
    assert.match(page.url(), /prefix=a%2F/);
    await rows("Blobs").getByText("deep/").click();
    await rows("Blobs").getByText("er/").click();
    await heading("er");
    await page.getByRole("navigation", { name: "Where this is" }).getByText("pictures").click();
    await heading("pictures");
    await button("All names").click();
    await until(async () => (await rows("Blobs").count()) === 4, "all of them");
    await page.getByPlaceholder("Names that begin with").fill("a/d");
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Blobs").count()) === 1, "one");
    await page.getByText(/^1 name shown, that is all$/).waitFor();
    await see("/containers/pictures?prefix=none");
    await page.getByText("No blob has a name like this.").waitFor();
  });

  test("a picture is seen by its bytes, other bytes as such, and a page of a blob is never run", async () => {
    await open("/containers/pictures?blob=a%2Fpicture.png");
    await page.getByRole("img", { name: "Picture of picture.png" }).waitFor();
    assert.equal(await page.locator("img.preview").evaluate((image) => image.decode().then(() => image.naturalWidth)), 1);
    await open("/containers/pictures?blob=bytes.bin");
    await page.locator("pre", { hasText: "00 01 02 ff" }).waitFor();
    await put("page.html", markup, "text/html");
    await open("/containers/pictures?blob=page.html");
    await page.locator("pre", { hasText: "onerror" }).waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).click()]);
    assert.equal(saved.suggestedFilename(), "page.html");
    assert.equal(readFileSync(await saved.path(), "utf8"), markup);
    assert.equal(await page.evaluate(() => window.hurt), undefined);
  });

  test("a long text is begun, and says so", async () => {
    await put("long.txt", "é".repeat(100_000), "text/plain");
    await open("/containers/pictures?blob=long.txt");
    await page.getByText("The beginning of 195 KiB").waitFor();
    assert.doesNotMatch(await page.locator("main pre").innerText(), /\ufffd/);
  });
});

describe("poison of queues of one's own", () => {
  const queue = "letters";
  before(async () => {
    for (const name of [queue, `${queue}-poison`]) await stack.putQueue(name);
    for (let i = 0; i < 4; i += 1) await stack.putMessage(`${queue}-poison`, `{"letter":${i}}`);
  });

  test("the queue is listed, and a message edited, sent back, and deleted", async () => {
    await open("/poison");
    await button("Your queues").click();
    await rows("Queues with poison").getByRole("link", { name: queue }).click();
    await until(async () => (await rows("Poison messages").count()) === 4, "four");
    assert.match(page.url(), /queue=letters/);
    await rows("Poison messages").first().getByRole("link").click();
    await heading(/Message of letters given up/);
    await button("Edit…").click();
    await dialog().getByLabel("The text of the message").fill('{"letter":"new"}');
    await button("Difference to the original", dialog()).click();
    await dialog().locator(".added", { hasText: "new" }).waitFor();
    await dialog().getByLabel("Reason").fill("it was old");
    await button("Save, keep it here", dialog()).click();
    await page.locator(".card", { hasText: "What was changed" }).locator(".added", { hasText: "new" }).waitFor();
    await button("Edit…").click();
    await button("Difference to the original", dialog()).click();
    await dialog().locator(".removed", { hasText: "0" }).waitFor();
    await dialog().getByLabel("Reason").fill("it is new");
    await button("Save and redrive", dialog()).click();
    await until(async () => (await stack.call("GET", `/v1/queues/${queue}/messages`)).messages[0]?.text === '{"letter":"new"}', "it is in its queue");
    await until(async () => (await rows("Poison messages").count()) === 3, "three are left");
  });

  test("a selection goes back with the keys alone, and the rest is deleted after it was counted", async () => {
    await open(`/poison?queue=${queue}`);
    await rows("Poison messages").first().waitFor();
    for (const key of ["j", "x", "r"]) await page.keyboard.press(key);
    await dialog().getByLabel("Reason").waitFor();
    await page.keyboard.type("once more");
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Poison messages").count()) === 2, "two are left");
    await button("Delete all of this queue…").click();
    await button("Count what matches", dialog()).click();
    await dialog().getByLabel("Reason").fill("not wanted");
    await dialog().getByLabel("Type").fill("2");
    await button("Delete 2", dialog()).click();
    await heading(/^purge/);
    await badge("succeeded");
    await open(`/poison?queue=${queue}`);
    await page.getByText("No message of this queue is poisoned.").waitFor();
    await stack.putMessage(`${queue}-poison`, "one for the views that follow");
  });
});

describe("shards", () => {
  test("each store has its shards, and a plan", async () => {
    await open("/shards");
    await rows("Shards of the table store").first().getByText("this process").waitFor();
    await rows("Shards of the queue store").first().getByText("this process").waitFor();
    assert.equal(await button("Move…").count(), 0, "the shards of this stack are not shared");
    await page.getByRole("link", { name: "Plan" }).first().click();
    await heading("Plan for the table store");
    await page.getByText("No shard is hot").waitFor();
    await page.getByRole("link", { name: "Shards", exact: true }).first().click();
    await heading("Shards");
  });

  test("a move asks first, says why, and goes to the process that was chosen", async () => {
    const shared = { stores: [{ store: "queue", shared: true, processes: [{ name: "one", shards: 1, writesPerSecond: 3 }, { name: "two", shards: 0, writesPerSecond: 0 }],
      shards: [{ store: "queue", shard: 0, shared: true, process: "one", epoch: 2, unknown: "It is being handed over." }] }, { store: "blob", trouble: "away" }] };
    await page.route("**/v1/shards", (route) => route.fulfill({ json: shared }));
    const asked = new Promise((resolve) => page.route("**/v1/shards/queue/0/move", (route) => { resolve(route.request()); return route.fulfill({ json: shared.stores[0].shards[0] }); }));
    await open("/shards");
    await page.getByText("The store does not answer: away").waitFor();
    await button("Move…").click();
    assert.equal(await dialog().getByLabel("Process").inputValue(), "two");
    await dialog().getByLabel("Reason").fill("one is busy");
    await button("Move", dialog()).click();
    const request = await asked;
    assert.deepEqual(request.postDataJSON(), { process: "two" });
    assert.equal(request.headers()["x-tidemark-reason"], "one%20is%20busy");
    await dialog().waitFor({ state: "detached" });
    await page.unrouteAll();
  });
});

describe("what others need", () => {
  const views = ["/containers", "/containers/pictures", "/containers/pictures?prefix=a%2F", "/containers/pictures?blob=a%2Fpicture.png", "/containers/pictures?blob=bytes.bin", "/poison?show=queues", "/poison?queue=letters", "/queues", "/queues/tidemark-jobs", "/shards", "/shards/table"];
  const dialogs = [["/containers/pictures", "Upload…"]];

  test("axe finds nothing wrong, neither in the light nor in the dark", async () => {
    assert.deepEqual(await wrongsOf(sight, views, dialogs), []);
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
