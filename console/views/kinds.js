import { useEffect, useState } from "../vendor/preact/hooks.js";
import { ownKinds } from "../net/description.js";

const builtIn = ["archive", "unarchive", "copy", "delete", "index", "undo", "redrive", "callback", "offload", "inline", "adopt", "rekey", "merge", "discard", "orphans", "purge", "transaction"];
export const states = ["queued", "running", "succeeded", "poisoned", "cancelled"];

/// Returns the names of all kinds of job, those that users have declared last.
export function useKinds() {
  const [own, set] = useState([]);
  useEffect(() => { let over = false; ownKinds().then((names) => { if (!over) set(names); }); return () => { over = true; }; }, []);
  return [...builtIn, ...own];
}

/// Returns {kind, version} of the kind of a user's own whose jobs wait in a queue; nothing for other queues.
export function workOf(queue) {
  const found = /^tidemark-work-(.+)-v(\d+)(?:-high|-low)?$/.exec(queue);
  return found ? { kind: found[1], version: Number(found[2]) } : undefined;
}

/// Returns {kind, version} for each version that a worker of the user's own claims, which its queues tell.
export const claimsOf = (worker) => [...new Map((worker.queues || []).map(workOf).filter(Boolean).map((each) => [`${each.kind}@${each.version}`, each])).values()];
