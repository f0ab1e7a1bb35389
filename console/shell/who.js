// The signed-in person, and that person's rights.
import { createContext } from "../vendor/preact/preact.js";
import { useContext } from "../vendor/preact/hooks.js";

export const Who = createContext({ role: "viewer" });
const ranks = { viewer: 0, operator: 1, admin: 2 };

/// Tells whether the signed-in person has this role. The api decides; this only hides actions that it would refuse.
export function useMay(role) {
  return (ranks[useContext(Who).role] ?? 0) >= ranks[role];
}
