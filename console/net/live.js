// Keeps the shown values up to date: requests them again from time to time, not while the page is hidden or paused, and
// less often while the api is away. One request of a kind is under way at a time.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { useSettings } from "../shell/settings.js";
import { textOf } from "./exact.js";
import { whenBack } from "./health.js";

const longest = 30_000;
const mostPatient = 120_000;
const restShare = 20;  // the pause after an answer, as a multiple of the time that it took

const same = (a, b) => a !== null && a.length === b.length && a.every((each, i) => each === b[i]);

/// {value, at, error, busy, refresh}. `load(signal, tell)` is called anew whenever one of `inputs` changes; a value that
/// it passes to `tell` is shown until there is a better one. `at`: when the value was loaded, in milliseconds.
export function useLive(load, inputs, every = 5_000) {
  const { paused } = useSettings();
  const [shown, set] = useState({ value: undefined, error: null, busy: true });
  const latest = useRef();
  latest.current = load;
  const again = useRef(() => {});
  const replan = useRef(() => {});
  const pace = useRef();
  pace.current = every;
  const loaded = useRef(null);

  useLayoutEffect(() => { set({ value: undefined, error: null, busy: true }); }, inputs);

  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    let failures = 0;
    let running = false;
    let asked = false;
    const run = async () => {
      if (running) { asked = true; return; }
      running = true;
      const begun = performance.now();
      clearTimeout(timer);
      try {
        const tell = (value) => { if (!abort.signal.aborted && !same(loaded.current, inputs)) set({ value, at: Date.now(), error: null, busy: true }); };
        const value = await latest.current(abort.signal, tell);
        failures = 0;
        if (!abort.signal.aborted) { loaded.current = inputs; set({ value, at: Date.now(), error: null, busy: false }); }
      } catch (error) {
        failures += 1;
        if (!abort.signal.aborted) set((was) => ({ ...was, error, busy: false }));
      }
      running = false;
      if (abort.signal.aborted) return;
      if (asked) { asked = false; run(); } else plan(performance.now() - begun);
    };
    const plan = (took) => {
      clearTimeout(timer);
      if (paused || !pace.current || document.hidden) return;
      const rest = failures ? Math.min(longest, pace.current * 2 ** Math.min(failures, 4)) : Math.min(mostPatient, restShare * took);
      timer = setTimeout(run, Math.max(pace.current, rest));
    };
    const seen = () => { if (!document.hidden && !paused && pace.current) run(); else clearTimeout(timer); };
    document.addEventListener("visibilitychange", seen);
    again.current = run;
    replan.current = () => { if (!running) plan(0); };
    // While paused, values that are there already are not requested again.
    if (!paused || !same(loaded.current, inputs)) run();
    const notBack = whenBack(() => { if (!document.hidden && !paused && (pace.current || failures)) run(); });
    return () => { abort.abort(); clearTimeout(timer); notBack(); document.removeEventListener("visibilitychange", seen); };
  }, [...inputs, paused]);

  useEffect(() => replan.current(), [every]);

  const refresh = useCallback(() => again.current(), []);
  return { ...shown, refresh };
}

const enough = 100;  // rows
export const searchedAtMost = 100_000;

/// Reads pages of `load(continuation)` until there are enough items that are `wanted`, or so many were searched that
/// the user should decide whether to go on.
export async function search(load, continuation, { tell, wanted = () => true, most = searchedAtMost } = {}) {
  const items = [];
  let searched = 0;
  let from = continuation;
  for (;;) {
    const page = await load(from);
    searched += page.searched ?? page.items.length;
    items.push(...page.items.filter(wanted));
    from = page.continuation || "";
    const found = { items: [...items], searched, continuation: from };
    if (!from || items.length >= enough || searched >= most) return found;
    tell?.(found);
  }
}

/// The options of a search for a text: the search runs here, so it covers fewer items at a time.
export function textSearch(text) {
  const wanted = text.toLowerCase();
  return wanted ? { wanted: (each) => textOf(each).toLowerCase().includes(wanted), most: 5_000 } : {};
}

/// Identifies a row in lists whose rows have members that others chose.
export const rowId = Symbol("row");
const nameOf = (item) => item[rowId] ?? item.id ?? item;

/// Pages of a list: the first is kept up to date until the user asks for older ones, which then follow it in its state
/// of that time. `load(continuation, signal, tell)`.
export function usePages(load, inputs, every = 5_000) {
  const nothing = { first: null, items: [], searched: 0, continuation: null, busy: false, error: null };
  const [older, setOlder] = useState(nothing);
  const newest = useLive((signal, tell) => load("", signal, tell), inputs, older.first ? 0 : every);
  const first = older.first || newest.value;
  const round = useRef(0);  // a page that was requested before the inputs changed is useless
  const begin = () => { round.current += 1; setOlder(nothing); };
  useLayoutEffect(begin, inputs);
  const next = older.continuation === null ? first?.continuation : older.continuation;
  const more = async () => {
    const own = round.current;
    setOlder((was) => ({ ...was, first, busy: true }));
    try {
      const page = await load(next);
      if (own !== round.current) return;
      setOlder((was) => ({ first, items: [...was.items, ...page.items], searched: was.searched + (page.searched || 0), continuation: page.continuation || "", busy: false, error: null }));
    } catch (error) {
      if (own === round.current) setOlder((was) => ({ ...was, busy: false, error }));
    }
  };
  const refresh = () => {
    begin();
    newest.refresh();
  };
  const known = new Set((first?.items || []).map(nameOf));
  const items = first && [...first.items, ...older.items.filter((item) => !known.has(nameOf(item)))];
  const searched = first?.searched === undefined ? undefined : Number(first.searched) + older.searched;
  const { error, busy } = older.first ? older : newest;
  return { items, searched, error, busy, next: next || "", more, refresh, still: Boolean(older.first) };
}
