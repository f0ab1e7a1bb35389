// Lists of tables or containers whose counts take a moment: names come at once, and counts follow.
import { useRef } from "../vendor/preact/hooks.js";
import { api, at } from "../net/api.js";
import { usePages } from "../net/live.js";
import { html } from "./html.js";
import { count } from "./text.js";

/// `of`: "tables" or "containers".
export function useCounted(of, prefix, limit) {
  const told = useRef(null);
  const load = async (continuation, signal, tell) => {
    const ask = async (counts) => {
      const page = await api.get(at(`/v1/${of}`, { prefix, limit, counts, continuation }), { signal });
      return { items: page[of].map((each) => ({ ...each, id: each.name })), continuation: page.continuation };
    };
    if (tell && told.current !== prefix) { tell(await ask()); told.current = prefix; }
    return ask("true");
  };
  return usePages(load, [of, prefix || ""], 15_000);
}

/// A count that may have ended at a bound.
export const Counted = ({ number, complete, what }) => (number === undefined ? "" : complete ? count(number) : html`<span title=${`${what} are counted up to 1,000.`}>${count(number)} or more</span>`);
