export const kinds = ["archive", "unarchive", "copy", "delete", "index", "undo", "redrive", "callback", "offload", "inline", "adopt", "rekey", "merge", "discard", "orphans", "purge"];
export const states = ["queued", "running", "succeeded", "poisoned", "cancelled"];
