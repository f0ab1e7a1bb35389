// Says on every page which process is down, since when, how to bring it back, and the facts that the page lacks meanwhile.
import { html } from "../parts/html.js";
import { useHealth } from "../net/health.js";
import { Command } from "../parts/basic.js";
import { duration, useSeconds, When } from "../parts/time.js";

const apiItself = { store: "api", process: "api" };
const nameOf = (each) => (each.store === "api" ? "The api" : `The ${each.store} store`);

/// `lacks`: by store, the facts of this view that come from it.
export function Away({ lacks = {} }) {
  const { stores, apiSince } = useHealth();
  const away = apiSince ? [{ ...apiItself, since: new Date(apiSince).toISOString() }] : stores.filter((each) => !each.answers);
  useSeconds(away.length > 0);
  if (!away.length) return null;
  const age = (each) => duration(Math.max(0, Math.round((Date.now() - new Date(each.since)) / 1000)));
  const missing = away.map((each) => lacks[each.store]).filter(Boolean);
  return html`<section class="notice warn away" aria-label="Processes that are down"><div><span class="sr" role="status">${away.map((each) => `${nameOf(each)} is away. `)}</span>
    ${away.map((each) => html`<p><strong>${nameOf(each)} (<code>${each.process}</code>) is away</strong> for ${age(each)} now; its last answer came <${When} at=${each.since} both />.</p>`)}
    <p>${apiSince ? "The page keeps trying, and goes on by itself. Until then it shows the last state that it has seen."
      : missing.length ? `Until it is back, this page cannot tell ${missing.join(", ")}. It shows the last state that it has seen, and goes on by itself.`
      : "This page does not need it."}</p>
    <p class="actions"><${Command} text="tidemark status" /><${Command} text="tidemark up" /><a href=${`/runbooks/${apiSince ? "api-away" : "store-away"}`}>What to do</a></p></div></section>`;
}
