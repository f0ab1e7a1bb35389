// A chart of the last hour. The library sets sizes through the style objects of elements, which the policy allows.
import { html } from "./html.js";
import { useEffect, useRef } from "../vendor/preact/hooks.js";
import uPlot from "../vendor/uplot/uplot.js";
import { useSettings } from "../shell/settings.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/// `times`: seconds since 1970; `lines`: [{name, values, colour: "--c1"}].
export function Chart({ title, times, lines, unit = "" }) {
  const place = useRef();
  const chart = useRef();
  const { theme, utc } = useSettings();
  const data = [times, ...lines.map((line) => line.values)];
  useEffect(() => {
    const box = place.current;
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui", size: 44 };
    const make = () => {
      chart.current = new uPlot({
        width: Math.max(200, box.clientWidth), height: 130, cursor: { y: false }, legend: { live: true },
        tzDate: utc ? (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "UTC") : undefined,
        scales: { y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } },
        axes: [{ ...axis, size: 26, space: 70, values: (u, splits) => splits.map((s) => clock(s, utc, u.scales.x.max - u.scales.x.min < shortSpan)) }, axis],
        series: [{ label: "at", value: (u, s) => clock(s ?? u.data[0].at(-1), utc, true) }, ...lines.map((line) => ({ label: line.name, stroke: colour(line.colour), width: 1.5, fill: `${colour(line.colour)}22`,
          value: (u, v, series) => { const shown = v ?? u.data[series].at(-1); return shown == null ? "–" : `${Math.round(shown * 10) / 10}${unit}`; } }))],
      }, data, box);
    };
    make();
    const watch = new ResizeObserver(() => chart.current.setSize({ width: Math.max(200, box.clientWidth), height: 130 }));
    watch.observe(box);
    return () => { watch.disconnect(); chart.current.destroy(); };
  }, [theme, utc, document.documentElement.dataset.theme]);
  useEffect(() => { chart.current?.setData(data); }, [times, lines]);
  const last = lines.map((line) => `${line.name} ${Math.round((line.values.at(-1) || 0) * 10) / 10}${unit}`).join(", ");
  return html`<figure class="chart"><figcaption>${title}</figcaption><div ref=${place} role="img" aria-label=${`${title}: now ${last}`}></div></figure>`;
}

const shortSpan = 600;  // seconds; in shorter spans, times without seconds would repeat

function clock(seconds, utc, exact) {
  const time = new Date(seconds * 1000);
  const local = new Date(time.getTime() - (utc ? 0 : time.getTimezoneOffset() * 60_000));
  return local.toISOString().slice(11, exact ? 19 : 16);
}
