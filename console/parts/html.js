import { h } from "../vendor/preact/preact.js";
import htm from "../vendor/htm/htm.js";

export const html = htm.bind(h);
