// One table of keys. A view defines the action of a key as long as it is shown; keys do nothing while the user types.
import { useEffect, useRef } from "../vendor/preact/hooks.js";

const stack = [];

export const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable]") !== null;

export function useKeys(handlers) {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    stack.push(latest);
    return () => stack.splice(stack.indexOf(latest), 1);
  }, []);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  for (const handlers of [...stack].reverse()) {
    const handler = handlers.current[event.key];
    if (!handler) continue;
    event.preventDefault();
    handler(event);
    return;
  }
});
