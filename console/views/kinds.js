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

/// Returns {kind, version} for each version that a worker of the user's own claims, which its queues tell.
export function claimsOf(worker) {
  const found = (worker.queues || []).map((queue) => /^tidemark-work-(.+)-v(\d+)(?:-high|-low)?$/.exec(queue)).filter(Boolean);
  return [...new Map(found.map(([, kind, version]) => [`${kind}@${version}`, { kind, version: Number(version) }])).values()];
}
