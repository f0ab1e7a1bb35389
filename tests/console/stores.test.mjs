// Containers, queues, and shards.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { wrongsOf } from "./axe.mjs";
import { until } from "./stack.mjs";
import { badge, browser, button, dialog, heading, onAnotherPage, open, overOneStack, page, rows, see, sight, stack } from "./views.mjs";

const markup = `"><img src=x onerror="window.hurt=1"><script>window.hurt=1</script>`;

overOneStack();

/// Types the name that a dialog asks for, and the reason; then presses its button.
async function destroy(name, verb) {
  await dialog().getByLabel(`Type ${name} to confirm`).fill(name);
  await dialog().getByLabel("Reason").fill("no longer needed");
  await button(verb, dialog()).click();
}

/// A time in two days, as a field for local times takes it.
const soon = () => { const time = new Date(Date.now() + 172_800_000); return new Date(time - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16); };
const messagesOf = async (queue) => (await stack.call("GET", `/v1/queues/${queue}/messages`)).messages;

describe("queues", () => {
  const taken = () => page.getByRole("list", { name: "Messages that you have taken" }).getByRole("listitem");

  test("messages that wait behind the first one of their group say so", async () => {
    await stack.putQueue("grouped");
    for (const group of ["one", "one", "two", "one"]) await stack.call("POST", "/v1/queues/grouped/messages", { text: group, group });
    await open("/queues/grouped");
    await until(async () => (await rows("Messages").locator(".badge").allTextContents()).join() === "ready,ready,behind its group,behind its group", "their states");
  });

  test("one is created, and a message is put, taken, changed, kept, given back and deleted", async () => {
    await open("/queues");
    await button("New queue…").click();
    await dialog().getByLabel(/^Name/).fill("mail");
    await dialog().getByLabel("Dequeue count").fill("7");
    await button("Create", dialog()).click();
    await heading("mail");
    assert.equal((await stack.call("GET", "/v1/queues/mail")).maxDequeueCount, 7);
    await button("Put a message…").click();
    await dialog().getByLabel("Text").fill("größer");
    await dialog().getByLabel("Encode it as base64").check();
    await dialog().getByLabel("Group").fill("one");
    await button("Put it", dialog()).click();
    await rows("Messages").getByText("ready").waitFor();
    const [put] = await messagesOf("mail");
    assert.deepEqual([Buffer.from(put.text, "base64").toString(), put.group], ["größer", "one"]);
    await button("Take messages…").click();
    await button("Take", dialog()).click();
    await taken().getByText(/left$/).waitFor();
    await rows("Messages").getByText("in flight").waitFor();
    await button("Change…", taken()).click();
    await dialog().getByLabel(/^Text/).fill("smaller");
    await dialog().getByLabel("Reason").fill("it was too big");
    await button("Save", dialog()).click();
    await taken().getByText("smaller").waitFor();
    await button("Keep 5 min", taken()).click();
    await until(async () => (await messagesOf("mail"))[0].text === "smaller", "it is changed");
    await button("Give back", taken()).click();
    await taken().waitFor({ state: "detached" });
    await rows("Messages").getByText("ready").waitFor();
    await button("Take messages…").click();
    await button("Take", dialog()).click();
    const id = (await messagesOf("mail"))[0].id.slice(0, 8);
    await button("Delete…", taken()).click();
    await destroy(id, "Delete");
    await until(async () => (await messagesOf("mail")).length === 0, "it is gone");
    await button("Take messages…").click();
    await button("Take", dialog()).click();
    await dialog().getByText("No message is ready now.").waitFor();
  });

  test("a lease that was lost changes nothing, and is told of", async () => {
    await stack.call("POST", "/v1/queues/mail/messages", { text: "mine" });
    await open("/queues/mail");
    await button("Take messages…").click();
    await dialog().getByLabel("Visibility timeout").fill("1");
    await button("Take", dialog()).click();
    await taken().waitFor();
    await until(async () => (await stack.call("POST", "/v1/queues/mail/take", { visibilitySeconds: 600 })).messages.length === 1, "somebody else has it");
    await button("Give back", taken()).click();
    await page.getByRole("alert").getByText(/is not held by this lease any more/).waitFor();
    assert.equal((await messagesOf("mail"))[0].visible, false);
  });

  test("one is cleared and dropped, each after its name was typed", async () => {
    await open("/queues/mail");
    await button("Clear…").click();
    await dialog().getByLabel("Reason").fill("no longer needed");
    await dialog().getByLabel("Type mail to confirm").fill("mai");
    await button("Clear the queue", dialog()).click();
    assert.equal((await messagesOf("mail")).length, 1);
    await destroy("mail", "Clear the queue");
    await page.getByText("No message.").waitFor();
    await button("Drop…").click();
    await destroy("mail", "Drop the queue");
    await heading("Queues");
    await assert.rejects(() => stack.call("GET", "/v1/queues/mail"), /QueueNotFound/);
  });

  test("are found by the beginning of their names, at the api", async () => {
    for (const name of ["find-a", "find-b", "other"]) await stack.putQueue(name);
    await open("/queues");
    await page.getByPlaceholder("Names that begin with").fill("find-");
    await page.locator("datalist option[value=find-b]").waitFor({ state: "attached" });
    await page.keyboard.press("Enter");
    await until(async () => (await rows("Queues").count()) === 2, "both");
    assert.deepEqual((await stack.call("GET", "/v1/queues?prefix=find-&limit=1")).queues.map((each) => each.name), ["find-a"]);
    const first = await stack.call("GET", "/v1/queues?prefix=find-&limit=1");
    const second = await stack.call("GET", `/v1/queues?prefix=find-&limit=1&continuation=${first.continuation}`);
    assert.deepEqual([second.queues.map((each) => each.name), second.continuation], [["find-b"], undefined]);
    for (const name of ["find-a", "find-b", "other"]) await stack.call("DELETE", `/v1/queues/${name}`);
  });

  test("a signature for one works until it ends, at the queue service", async () => {
    await stack.putQueue("shared");
    await open("/queues/shared");
    await button("Access…").click();
    await dialog().getByRole("checkbox", { name: /^Put/ }).check();
    await dialog().getByRole("checkbox", { name: /^Peek/ }).uncheck();
    await dialog().getByLabel("Ends").fill("2020-01-01T00:00");
    await dialog().getByLabel("Reason").fill("for a colleague");
    await button("Make a signature", dialog()).click();
    await dialog().getByRole("alert").waitFor();
    await dialog().getByLabel("Ends").fill(soon());
    await button("Make a signature", dialog()).click();
    const url = await dialog().getByRole("status").locator(".mono").first().getAttribute("title");
    const [base, query] = url.split("?");
    assert.equal((await fetch(`${base}/messages?${query}`, { method: "POST", body: "<QueueMessage><MessageText>hello</MessageText></QueueMessage>" })).status, 201);
    assert.equal((await fetch(`${base}/messages?peekonly=true&${query}`)).status, 403);
    await stack.call("DELETE", "/v1/queues/shared");
  });

  test("messages of a queue are looked at, also those that nobody can take", async () => {
    await stack.submit({ kind: "copy", source: "Orders", destination: "Later", filter: "", notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await open("/queues/tidemark-jobs");
    await page.getByRole("region", { name: "Messages" }).getByText("delayed").waitFor();
    await rows("Messages").first().getByRole("button").first().click();
    await page.locator(".json", { hasText: "Later" }).waitFor();
    await page.getByPlaceholder("Search in the messages").fill("nowhere");
    await page.keyboard.press("Enter");
    await page.getByText("No message that is shown has this text.").waitFor();
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
    await button("Create", dialog()).click();
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
    await destroy("told.json", "Delete");
    await dialog().getByText("ConditionNotMet").waitFor();
    await button("Back", dialog()).click();
    await open("/containers/pictures?blob=notes%2F2026%2Ftold.json");
    await button("Delete…").click();
    await destroy("told.json", "Delete");
    await until(async () => !(await stack.call("GET", "/v1/containers/pictures/blobs")).blobs.length, "it is gone");
  });

  test("the list has counts and sizes; several blobs are deleted at once, and the container is dropped", async () => {
    await stack.call("PUT", "/v1/containers/counted");
    for (const name of ["one", "two", "three"]) await stack.call("PUT", `/v1/containers/counted/content?name=${name}`, "x".repeat(1024), { "Content-Type": "application/octet-stream", "If-None-Match": "*" });
    await open("/containers?q=coun");
    await rows("Containers").getByText("3", { exact: true }).waitFor();
    await rows("Containers").getByText("3.0 KiB", { exact: true }).waitFor();
    await open("/containers/counted");
    for (const name of ["one", "two"]) await rows("Blobs").filter({ hasText: name }).getByRole("checkbox").check();
    await page.getByText("2 blobs selected, 2.0 KiB").waitFor();
    await stack.call("PUT", "/v1/containers/counted/content?name=two", "changed", { "Content-Type": "application/octet-stream", "If-Match": "*" });
    await button("Delete 2…").click();
    await destroy("2", "Delete 2");
    await dialog().getByText("1 blob of 2 stayed").waitFor();
    await dialog().getByText("ConditionNotMet").waitFor();
    await button("Back", dialog()).click();
    assert.deepEqual((await stack.call("GET", "/v1/containers/counted/blobs")).blobs.map((each) => each.name), ["three", "two"]);
    await button("Drop…").click();
    await destroy("counted", "Drop the container");
    await heading("Containers");
    await assert.rejects(() => stack.call("GET", "/v1/containers/counted/blobs"), /ContainerNotFound/);
  });

  test("stored policies of one are kept", async () => {
    await open("/containers/pictures");
    await button("Access…").click();
    await button("Stored policies", dialog()).click();
    await button("Change the policies", dialog()).click();
    await button("Add a policy", dialog()).click();
    await dialog().getByLabel("Id", { exact: true }).fill("readers");
    for (const right of [/^Read/, /^List/]) await dialog().getByRole("checkbox", { name: right }).check();
    await dialog().getByLabel("Reason").fill("asked for");
    await button("Save the policies", dialog()).click();
    await dialog().getByRole("region", { name: "Stored access policies" }).getByText("Read, List").waitFor();
    assert.deepEqual((await stack.call("GET", "/v1/containers/pictures/policies")).policies, [{ id: "readers", permissions: "rl" }]);
    await stack.call("PUT", "/v1/containers/pictures/policies", { policies: [] });
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
    assert.equal(await rows("Blobs").getByRole("checkbox").count(), 1, "a folder is not selected");
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

describe("what somebody may not do", () => {
  /// Opens a page of a user who has this role, as far as the page knows; the api's own refusals are in rights.test.mjs.
  const as = async (role) => {
    const end = await onAnotherPage();
    await page.route("**/v1/session", (route) => route.fulfill({ json: { name: "ann", role, via: "session", csrfToken: "x" } }));
    return end;
  };
  const targets = ["/tables", "/tables/Orders", "/queues", "/queues/letters", "/containers", "/containers/pictures"];

  test("an operator sees what needs the role admin, disabled and with the reason", async () => {
    const end = await as("operator");
    for (const target of ["/tables/Orders", "/queues/letters", "/containers/pictures"]) {
      await open(target);
      await button("Drop…").waitFor();
      assert.ok(await button("Drop…").isDisabled());
      assert.equal(await button("Drop…").getAttribute("title"), "This needs the role admin.");
      await page.getByText(/needs the role admin; you have the role operator/).waitFor();
    }
    await end();
  });

  test("a viewer is offered nothing, and told why", async () => {
    const end = await as("viewer");
    for (const target of targets) {
      await open(target);
      await page.getByText("You have the role viewer, which can only look.").waitFor();
      assert.deepEqual(await page.locator("main").getByRole("button", { name: /New|Put|Take|Edit|Delete|Drop|Clear|Upload|Paste|Pause/ }).allTextContents(), [], target);
    }
    await end();
  });

  test("nobody changes by hand the things that belong to Tidemark", async () => {
    for (const target of ["/tables/TidemarkJobs", "/queues/tidemark-jobs"]) {
      await see(target);
      await page.getByText("This belongs to Tidemark itself").waitFor();
      assert.equal(await page.locator("main").getByRole("button", { name: /Put|Take|Edit|Delete|Drop|Clear|Paste|New/ }).count(), 0, target);
    }
  });
});

describe("a narrow screen", () => {
  test("has cards instead of tables, with the actions in reach", async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    for (const [target, list] of [["/queues", "Queues"], ["/queues/letters-poison", "Messages"], ["/containers", "Containers"], ["/containers/pictures?flat=1", "Blobs"]]) {
      await open(target);
      await rows(list).first().waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, target);
      assert.equal(await rows(list).first().evaluate((row) => getComputedStyle(row).display), "block", target);
      const outside = await page.evaluate(() => [...document.querySelectorAll("main button, main a, main input, main select")].filter((each) => { const box = each.getBoundingClientRect(); return box.width && (box.left < 0 || box.right > innerWidth + 1); }).map((each) => each.textContent || each.name));
      assert.deepEqual(outside, [], target);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

describe("what others need", () => {
  const views = ["/containers", "/containers/pictures", "/containers/pictures?prefix=a%2F", "/containers/pictures?blob=a%2Fpicture.png", "/containers/pictures?blob=bytes.bin", "/poison?show=queues", "/poison?queue=letters", "/queues", "/queues/tidemark-jobs", "/shards", "/shards/table"];
  const dialogs = [["/containers/pictures", "Upload…"], ["/containers/pictures", "Access…"], ["/containers/pictures", "Drop…"], ["/containers", "New container…"], ["/queues", "New queue…"],
    ["/queues/letters", "Put a message…"], ["/queues/letters", "Take messages…"], ["/queues/letters", "Access…"]];

  test("axe finds nothing wrong, neither in the light nor in the dark", async () => {
    assert.deepEqual(await wrongsOf(sight, views, dialogs), []);
  });
});

test("nothing complained: no error, no refusal of the policy, no request elsewhere", () => browser.nothingComplained());
