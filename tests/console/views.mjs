// Shared by the tests of the views: a stack with a table of orders, and a page whose user has signed in.
import { after, before } from "node:test";
import { Browser } from "./browser.mjs";
import { Stack } from "./stack.mjs";

export let stack, browser, sight, page;

/// Gives the tests of a file their stack, with what `fill` puts into it, and their page.
export function overOneStack(fill = () => {}) {
  before(async () => {
    stack = new Stack();
    await stack.up();
    browser = await new Browser(stack).launch();
    stack.importEntities("Orders", Array.from({ length: 40 }, (_, i) => ({ PartitionKey: `p${i % 4}`, RowKey: String(i).padStart(3, "0"), Amount: i, Customer: `customer ${i}` })));
    await fill();
    turnTo(await browser.page());
    await sight.signIn();
  });
  after(async () => {
    await browser?.close();
    await stack?.down();
  });
}

function turnTo(other) {
  sight = other;
  page = other.page;
}

/// Turns to the page of another user, who has not signed in; returns a function that goes back to the previous page.
export async function asAnotherUser() {
  const before_ = sight;
  turnTo(await browser.page());
  return async () => { await page.context().close(); turnTo(before_); };
}

/// Turns to another page of the same user; returns a function that goes back to the previous page.
export async function onAnotherPage() {
  const before_ = sight;
  turnTo(await browser.pageOf(page.context()));
  return async () => { await page.close(); turnTo(before_); };
}

/// The name of the view that an address belongs to; nothing for a page that is not the console.
const viewOf = (address) => address.startsWith(stack.url) ? new URL(address).pathname.split("/")[1] : undefined;

/// Goes to another view as a link does, which costs a third of loading the page. Within the same view the page is loaded
/// anew, so that marks and typed text are gone.
export async function open(target) {
  const [from, to] = [viewOf(page.url()), viewOf(stack.url + target)];
  await (from === undefined || from === to ? sight.open(target) : sight.go(target));
}

export const see = (target) => sight.see(target);
export const heading = (name) => sight.heading(name);
export const button = (name, within) => sight.button(name, within);
export const dialog = () => sight.dialog();
export const rows = (label) => sight.rows(label);
export const badge = (text) => sight.badge(text);
