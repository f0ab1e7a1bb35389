// Which processes answer, and since when. The api knows it without asking a store, so it is asked about once a second while the
// page is seen. As soon as a process answers again, the shown values are loaded anew.
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { current } from "../shell/settings.js";
import { api } from "./api.js";

const everyMs = 700;
const patienceMs = 5_000;
let known = { stores: [], apiSince: null, at: null };
const listeners = new Set();
const backs = new Set();

/// Calls `callback` when a process answers again; returns a function that ends this.
export function whenBack(callback) {
  backs.add(callback);
  return () => backs.delete(callback);
}

const awayNow = ({ stores, apiSince }) => [...stores.filter((each) => !each.answers).map((each) => each.store), ...(apiSince ? ["api"] : [])];

function learn(next) {
  const before = awayNow(known);
  const after = awayNow(next);
  known = next;
  for (const listener of listeners) listener(known);
  if (before.some((each) => !after.includes(each))) for (const back of [...backs]) back();
}

async function ask() {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), patienceMs);
  try {
    const { stores, now } = await api.get("/v1/health", { signal: abort.signal });
    // The api's clock may differ from that of the browser, so ages count from here.
    const late = Date.now() - new Date(now).getTime();
    learn({ stores: stores.map((each) => ({ ...each, since: new Date(new Date(each.since).getTime() + late).toISOString() })), apiSince: null, at: Date.now() });
  } catch (error) {
    if (error.status === 0 || error.name === "AbortError") learn({ ...known, apiSince: known.apiSince || known.at || Date.now() });
  }
  clearTimeout(timer);
}

/// Keeps asking as long as a component that uses it is shown; the frame of the page does.
export function useHealthWatch(paused) {
  useEffect(() => {
    let timer = 0;
    let over = false;
    let asking = false;
    const round = async () => {
      clearTimeout(timer);
      if (over || asking || document.hidden || current().paused) return;
      asking = true;
      await ask();
      asking = false;
      if (!over) timer = setTimeout(round, everyMs);
    };
    document.addEventListener("visibilitychange", round);
    round();
    return () => { over = true; clearTimeout(timer); document.removeEventListener("visibilitychange", round); };
  }, [paused]);
}

/// {stores: [{store, process, answers, since, problem}], apiSince, at}; `apiSince` is there while the api is away.
export function useHealth() {
  const [value, set] = useState(known);
  useEffect(() => { listeners.add(set); set(known); return () => listeners.delete(set); }, []);
  return value;
}
