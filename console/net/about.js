// Facts about the stack that do not change while the page is open: where its logs and traces are. Asked for once.
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { api } from "./api.js";

let asked;

/// Returns {version, logs, traceUrl}, as far as it is known.
export function useAbout() {
  const [about, set] = useState({});
  useEffect(() => {
    asked ??= api.get("/v1/about").catch(() => { asked = undefined; return {}; });
    asked.then(set);
  }, []);
  return about;
}
