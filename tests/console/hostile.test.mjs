// Text that others have stored is shown as text, stays on its line and breaks nothing, however hostile it is.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, inState } from "./browser.mjs";
import { Stack, until } from "./stack.mjs";

const markup = `"><img src=x onerror="window.hurt=1"><script>window.hurt=1</script>`;
const url = "javascript:window.hurt=1";
const bidi = "abc\u202egpj.exe\u2066\u0007\u200b";
const template = "${window.hurt=1} {{hurt}} <%= hurt %> \\u003cscript\\u003e";
const long = "x".repeat(32_000);  // two bytes each in a table: the most that a property may hold
const wide = "漢".repeat(300);
/// Looks like a number that had to be kept exact, but is none.
const marked = "\u0001integer:DELETE";
const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
const texts = { Markup: markup, Url: url, Bidi: bidi, Template: template, Wide: wide, Marked: marked, Proto: "__proto__", Empty: "", Spaces: "   ", Lines: "a\r\nb\n\n\nc\t", Deep: deep.slice(0, 30_000), Json: '{"a":', Surrogate: "half 𝒳 pair" };

let stack, browser, sight, page;
const part = encodeURIComponent;

before(async () => {
  stack = new Stack();
  await stack.up();
  browser = await new Browser(stack).launch();
  sight = await browser.page();
  page = sight.page;
  await sight.signIn();
  stack.importEntities("Orders", [{ PartitionKey: "p", RowKey: "1", Amount: 1 }]);
});

after(async () => {
  await browser?.close();
  await stack?.down();
});

/// Checks that the view is there, that nothing in it was executed, and that it is as wide as the screen.
async function isHarmless(target) {
  await sight.see(target);
  const found = await page.evaluate(() => ({ hurt: window.hurt, images: document.images.length, frames: document.querySelectorAll("iframe, object, embed").length,
    links: [...document.links].filter((link) => link.protocol === "javascript:").length, wide: document.documentElement.scrollWidth - document.documentElement.clientWidth }));
  assert.deepEqual(found, { hurt: undefined, images: 0, frames: 0, links: 0, wide: 0 }, target);
}

describe("tables", () => {
  const put = (row, entity) => stack.call("PUT", `/v1/tables/Orders/entity?partitionKey=hostile&rowKey=${part(row)}`, entity, { "If-None-Match": "*" });

  test("values, of every kind of harm, and very long ones", async () => {
    await put("texts", texts);
    await put("long", { Long: long, Longer: long });
    await put("big", '{"Big":9007199254740993,"Big@odata.type":"Edm.Int64","Marked":"\\u0001integer:DELETE"}');
    for (const row of ["texts", "long", "big"]) await isHarmless(`/tables/Orders?partitionKey=hostile&rowKey=${row}`);
    await isHarmless(`/tables/Orders?filter=${part("PartitionKey eq 'hostile'")}`);
    await sight.see("/tables/Orders?partitionKey=hostile&rowKey=texts");
    await page.getByText("⟨202E⟩").first().waitFor();
    await page.getByText(markup.slice(0, 40)).waitFor();
    await page.getByText("⟨0001⟩integer:DELETE").waitFor();
    await sight.see("/tables/Orders?partitionKey=hostile&rowKey=long");
    await sight.button(/all 32,000 characters/).first().click();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
  });

  test("an edit gives back exactly what was there, but for what was changed", async () => {
    await sight.see("/tables/Orders?partitionKey=hostile&rowKey=big");
    await sight.button("Edit…").click();
    await sight.button("JSON", sight.dialog()).click();
    const text = sight.dialog().getByLabel("Properties");
    await text.fill((await text.inputValue()).replace("{", '{"New": 1,'));
    await sight.dialog().getByLabel("Reason").fill(markup);
    await sight.button("Save", sight.dialog()).click();
    await page.getByRole("row", { name: /New/ }).waitFor();
    const now = await stack.call("GET", "/v1/tables/Orders/entity?partitionKey=hostile&rowKey=big");
    assert.deepEqual([now.Big, now.Marked, now.New], ["9007199254740993", marked, 1]);
    await isHarmless("/audit");
  });

  test("250 properties, names of 255 characters, and a property called id", async () => {
    await put("many", Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`Property${i}`, i])));
    await put("names", { ["N".repeat(255)]: 1, id: "mine", constructor: "x", toString: "y", __proto: "z", Ünïcode: "ö" });
    await isHarmless("/tables/Orders?partitionKey=hostile&rowKey=many");
    await isHarmless("/tables/Orders?partitionKey=hostile&rowKey=names");
    await isHarmless(`/tables/Orders?filter=${part("PartitionKey eq 'hostile' and RowKey eq 'names'")}`);
    await sight.rows("Entities").getByText("mine").waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), sight.button("Export JSON Lines").click()]);
    const lines = await (await saved.createReadStream()).toArray();
    assert.equal(JSON.parse(Buffer.concat(lines).toString()).id, "mine");
  });

  test("keys with markup, quotes, marks of direction and 512 characters", async () => {
    for (const key of [`<script>window.hurt=1<\\script>`.replace("\\", ""), "it's 100 % & more = less", bidi.replace("\u0007", ""), "k".repeat(512), "漢字", ""]) {
      const where = `partitionKey=${part(key)}&rowKey=${part(key)}`;
      await stack.call("PUT", `/v1/tables/Orders/entity?${where}`, { A: 1 }, { "If-None-Match": "*" });
      await isHarmless(`/tables/Orders?${where}`);
      await page.getByRole("row", { name: /^A / }).waitFor();
      await isHarmless(`/explain?table=Orders&${where}`);
    }
    await isHarmless("/tables/Orders");
  });
});

describe("messages", () => {
  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  test("bodies in queues of one's own, waiting and poisoned", async () => {
    const bodies = [markup, url, bidi.replace("\u0007", ""), template, deep, long, wide, '{"a":"\\u0001integer:1","b":9007199254740993}', Buffer.from(markup).toString("base64"), Buffer.from([0xff, 0xfe, 0x00, 0x80]).toString("base64")];
    for (const queue of ["hostile", "hostile-poison"]) {
      await stack.putQueue(queue);
      for (const body of bodies) await stack.putMessage(queue, escaped(body));
    }
    await isHarmless("/queues/hostile");
    for (const row of await sight.rows("Messages").all()) {
      await row.getByRole("button").first().click();
      await page.getByRole("region", { name: "Message", exact: true }).locator(".json").waitFor();
      await sight.button("Close").click();
    }
    await isHarmless("/poison?queue=hostile");
    const { poison } = await stack.call("GET", "/v1/poison?queue=hostile");
    assert.equal(poison.length, bodies.length);
    for (const each of poison) await isHarmless(`/poison/${each.id}?queue=hostile`);
  });

  test("messages that should be jobs, and are not", async () => {
    const bodies = [markup, deep, `{"kind":"archive","source":${JSON.stringify(markup)}}`, `{"kind":${JSON.stringify(markup)},"note":${JSON.stringify(long)}}`, "[1,2", "null", `{"kind":"delete","jobId":${JSON.stringify(markup)},"group":"x"}`];
    for (const body of bodies) await stack.putMessage("tidemark-jobs", escaped(body));
    await until(async () => (await stack.call("GET", "/v1/poison?limit=1000")).poison.length === bodies.length, "all are poisoned");
    for (const target of ["/", "/poison", "/poison?show=messages", "/poison?show=messages&q=onerror", "/jobs", "/jobs?kind=unknown"]) await isHarmless(target);
    for (const each of (await stack.call("GET", "/v1/poison?limit=1000")).poison) {
      await isHarmless(`/poison/${each.id}`);
      await sight.button("Edit…").click();
      await sight.button("Difference to the original", sight.dialog()).click();
      await sight.dialog().getByText("Nothing is changed").waitFor();
      await page.keyboard.press("Escape");
      await isHarmless(`/jobs/${each.jobId}`);
    }
  });
});

describe("names and specs", () => {
  test("of jobs, schedules, groups and what is told of them", async () => {
    const job = await stack.submit({ kind: "archive", source: "Orders", destination: "Old", filter: `Customer eq '${markup.replaceAll("'", "''")}' and PartitionKey eq '${"y".repeat(400)}'` });
    const poison = await stack.submit({ kind: "archive", source: "NotThere", destination: "Old", partitionKey: '"><img src=x onerror=hurt()>', rowKey: "<script>hurt()" });
    await stack.call("PUT", "/v1/schedules/hostile", { cron: "@daily", job: { kind: "delete", source: "Orders", filter: `A eq '${markup.replaceAll("'", "''")}'` } }, { "If-None-Match": "*" });
    await inState(stack, poison.id, "poisoned");
    // The record says that the job is poisoned a moment before the message is there.
    const { id: message } = await until(() => stack.call("GET", `/v1/poison/${poison.id}`).catch(() => null), "its message is poison");
    for (const target of ["/jobs", `/jobs/${job.id}`, `/poison/${message}`, "/schedules", "/schedules/hostile", "/limits", "/audit"]) await isHarmless(target);
  });

  test("of blobs: names, types, metadata and content", async () => {
    await stack.call("PUT", "/v1/containers/pictures");
    const put = (name, type, content) => stack.call("PUT", `/v1/containers/pictures/content?name=${part(name)}&contentType=${part(type)}`, content, { "Content-Type": "application/octet-stream", "If-None-Match": "*" });
    const names = { hostile: `${markup}/${bidi}/${"n".repeat(600)}`, folder: `${markup}/`, dots: ".../..hidden/x", spaces: " a / b " };
    for (const name of Object.values(names)) await put(name, markup, `${markup} ${bidi}`);
    await put("invalid.txt", "text/plain; charset=utf-8", Buffer.from([0x61, 0xff, 0xfe, 0x80, 0x62]));
    await put("deep.json", "application/json", deep);
    await put("page.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" onload="window.hurt=1"><script>window.hurt=1</script></svg>`);
    await isHarmless("/containers/pictures");
    await isHarmless("/containers/pictures?flat=1");
    for (const name of [...Object.values(names), "invalid.txt", "deep.json", "page.svg"]) await isHarmless(`/containers/pictures?blob=${part(name)}`);
  });

  test("in the address", async () => {
    for (const target of [`/jobs?q=${part(markup)}`, `/jobs?state=${part(markup)}`, `/poison?queue=${part(markup)}`, `/poison?kind=${part(markup)}`, `/poison?fingerprint=${part(bidi)}&show=messages`, `/explain?table=Orders&partitionKey=${part(markup)}&rowKey=1`, `/schedules/${part(markup)}`, `/queues/${part(markup)}`, `/groups/${part(bidi)}`,
      `/tables/${part(markup)}`, `/tables/Orders?filter=${part(markup)}`, `/indexes/${part(markup)}`, `/containers/${part(markup)}`, `/jobs/${part(`../../${markup}`)}`, `/audit?actor=${part(markup)}`, "/jobs/%E0%A4%A", `/poison/${part("..")}`]) await isHarmless(target);
  });
});

test("nothing complained", () => browser.nothingComplained());
