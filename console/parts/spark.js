// A few numbers as small columns, one for each hour up to now.
import { html } from "./html.js";

const height = 16;

export function Spark({ values }) {
  const most = Math.max(1, ...values);
  const sum = values.reduce((a, b) => a + b, 0);
  const told = `${sum.toLocaleString("en")} in the last ${values.length} hours, ${values.at(-1).toLocaleString("en")} of them in the last one`;
  return html`<svg class="spark" viewBox=${`0 0 ${values.length * 3} ${height}`} preserveAspectRatio="none" role="img" aria-label=${told}><title>${told}</title>
    ${values.map((value, i) => { const tall = value ? Math.max(1, (height * value) / most) : 0.4; return html`<rect x=${i * 3} y=${height - tall} width="2.4" height=${tall} />`; })}</svg>`;
}
