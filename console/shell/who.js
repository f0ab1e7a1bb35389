// Who is signed in, and what they may do.
import { createContext } from "../vendor/preact/preact.js";
import { useContext } from "../vendor/preact/hooks.js";

export const Who = createContext({ role: "viewer" });
const ranks = { viewer: 0, operator: 1, admin: 2 };

/// Whether the one who is signed in may do what needs this role. The api decides; this only hides what it would refuse.
export function useMay(role) {
  return (ranks[useContext(Who).role] ?? 0) >= ranks[role];
}
