// Size and speed of every copy. Copies that fall on the same spot are one circle, larger the more there are.
import type { EventKind } from "../shared/data";
import { svg } from "../shared/dom";
import { formatBytes, formatFigure, formatNs, formatNumber } from "../shared/format";
import { durationAt, kindAt, lanesOfKind, refOf } from "../shared/events";
import { showEvent } from "../shared/jump";
import { kindColor, kindLabel } from "../shared/labels";
import { absentCard, axisX, axisY, canvas, chartCard, INNER, legend, interactive, logarithmic } from "./plot";
import type { EventRef, State } from "../shared/state";

const TITLE = "Copies: size and bandwidth";
const CELL = 0.06; // of a decade, both ways

interface Spot {
  kind: EventKind;
  count: number;
  bytes: number;
  rate: number;
  longest_ns: number;
  longest: EventRef;
}

/** Copies of a kind, put together where their size and bandwidth are nearly the same. */
function copySpots(state: State): { spots: Spot[]; left: number } {
  const spots = new Map<string, Spot>();
  let left = 0;
  for (const run of state.runs) {
    for (const lane of lanesOfKind(run, "stream")) {
      const sizes = lane.events.more.get("bytes");
      if (!sizes) continue;
      const counts = lane.events.more.get("count");
      for (let i = 0; i < lane.events.count; ++i) {
        const kind = kindAt(lane.events, i);
        if (!/^(copy|pageable)_/.test(kind)) continue;
        const ns = durationAt(lane.events, i);
        const bytes = sizes[i];
        if (bytes === 0 || ns === 0 || (counts?.[i] ?? 1) > 1) {
          ++left;
          continue;
        }
        const rate = (bytes * 1e9) / ns;
        const key = `${kind} ${Math.round(Math.log10(bytes) / CELL)} ${Math.round(Math.log10(rate) / CELL)}`;
        const spot = spots.get(key);
        const ref = refOf(run, lane, i);
        if (!spot) spots.set(key, { kind, count: 1, bytes, rate, longest_ns: ns, longest: ref });
        else {
          ++spot.count;
          if (ns > spot.longest_ns) Object.assign(spot, { longest_ns: ns, longest: ref, bytes, rate });
        }
      }
    }
  }
  return { spots: [...spots.values()].sort((a, b) => b.count - a.count), left };
}

/** Pageable copies are squares, others circles: not told by colour alone. */
function shape(spot: Spot, x: number, y: number): SVGElement {
  const r = Math.min(16, 3.5 + 2 * Math.log2(spot.count));
  const props = { class: "spot", style: { fill: `var(${kindColor(spot.kind)})` } };
  return spot.kind.startsWith("pageable")
    ? svg("rect", { ...props, attributes: { x: x - r, y: y - r, width: 2 * r, height: 2 * r } })
    : svg("circle", { ...props, attributes: { cx: x, cy: y, r } });
}

export function copyChart(state: State): HTMLElement {
  if (state.runs.length === 0) return absentCard(TITLE, "Loading events …");
  const { spots, left } = copySpots(state);
  if (spots.length === 0) return absentCard(TITLE, left > 0 ? "The copies of this trace are merged or have no duration." : "No copies with a size in this trace.");
  const sizes = spots.map((s) => s.bytes);
  const rates = spots.map((s) => s.rate);
  const x = logarithmic(Math.min(...sizes), Math.max(...sizes), INNER.left + 10, INNER.right - 10);
  const y = logarithmic(Math.min(...rates), Math.max(...rates), INNER.bottom - 8, INNER.top + 8);
  const marks = svg("g", {}, ...spots.map((spot) => {
    const value = `${spot.count > 1 ? `${formatNumber(spot.count)} times ` : ""}${kindLabel(spot.kind)}: ${formatBytes(spot.bytes)} at ` +
      `${formatFigure(spot.rate, "bytes/s")}, ${spot.count > 1 ? "the longest " : ""}${formatNs(spot.longest_ns)}`;
    return interactive(shape(spot, x(spot.bytes), y(spot.rate)), value, () => showEvent(state, spot.longest));
  }));
  const kinds = [...new Set(spots.map((s) => s.kind))];
  return chartCard("copies", TITLE,
    "Each circle is one copy, or several of nearly the same size and bandwidth (larger circle: more copies); squares are copies with pageable memory." +
    (left > 0 ? ` Not shown: ${formatNumber(left)} that are merged or have no size or duration.` : ""),
    [canvas(TITLE, axisX(x, "bytes", "copy size"), axisY(y, "bytes/s"), marks), legend(kinds.map((k) => ({ label: kindLabel(k), color: kindColor(k) })))],
    {
      head: ["Copies", "Count", "Size", "Bandwidth", "Longest"],
      rows: spots.slice(0, 100).map((s) => [kindLabel(s.kind), formatNumber(s.count), formatBytes(s.bytes), formatFigure(s.rate, "bytes/s"), formatNs(s.longest_ns)]),
    });
}
