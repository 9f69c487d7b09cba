// Idle time by the length of its gaps, each bar split by cause.
import type { ReportDocument } from "../shared/data";
import { svg } from "../shared/dom";
import { lanesOfKind, partsOfGap, refOf } from "../shared/events";
import { formatNs, formatNumber } from "../shared/format";
import { hasTimeline, showEvent } from "../shared/jump";
import { causeColor } from "../shared/labels";
import { absentCard, axisTitle, axisY, canvas, chartCard, INNER, legend, linear, interactive, textAt } from "./plot";
import { num, rowsOf, str, tableOf, whyNone } from "../shared/report";
import type { EventRef, State } from "../shared/state";

const TITLE = "Idle time by gap length";
const BUCKETS = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, Infinity]; // as the table gap_lengths

interface GapBucket {
  gaps: number;
  ns: number;
  byCause: Map<string, number>;
  longest: EventRef | null;
  longest_ns: number;
}

/** Gaps are drawn in pieces, one for each cause: pieces that touch are one gap. null: some were merged with their neighbours. */
function gapBuckets(state: State): GapBucket[] | null {
  const buckets = BUCKETS.map((): GapBucket => ({ gaps: 0, ns: 0, byCause: new Map(), longest: null, longest_ns: 0 }));
  for (const run of state.runs) {
    for (const lane of lanesOfKind(run, "gaps")) {
      const { start, end, name, count } = lane.events;
      if (lane.events.more.get("count")) return null;
      for (let i = 0; i < count; ++i) {
        const from = i;
        i = partsOfGap(lane.events, from).last;
        const length = end[i] - start[from];
        const bucket = buckets[BUCKETS.findIndex((limit) => length < limit)];
        ++bucket.gaps;
        bucket.ns += length;
        for (let k = from; k <= i; ++k) {
          const cause = run.data.names[name[k]] ?? "unknown";
          const ns = end[k] - start[k];
          bucket.byCause.set(cause, (bucket.byCause.get(cause) ?? 0) + ns);
          if (ns > bucket.longest_ns) Object.assign(bucket, { longest_ns: ns, longest: refOf(run, lane, k) });
        }
      }
    }
  }
  return buckets;
}

/** "10 us to 100 us" is "10–100 us" below a bar. */
function shortLength(length: string): string {
  return length.replace("below ", "< ").replace(" and longer", "+").replace(/(\d+) (\w+) to (\d+ \2)$/, "$1–$3").replace(" to ", "–");
}

function causesText(bucket: GapBucket | undefined): string {
  return [...(bucket?.byCause ?? [])].sort((a, b) => b[1] - a[1]).map(([cause, ns]) => `${cause} ${formatNs(ns)}`).join(", ");
}

export function gapChart(state: State, report: ReportDocument): HTMLElement {
  const rows = rowsOf(report, "gap_lengths");
  if (rows.every((row) => num(row, "gaps") === 0)) {
    return absentCard(TITLE, rows.length === 0 && !tableOf(report, "devices") ? "The report was made without the idle time analysis." : whyNone(report, "operations", "No gaps: the GPU was never idle."));
  }
  const buckets = state.runs.length > 0 ? gapBuckets(state) : null;
  const totals = rows.map((row) => num(row, "idle_ns"));
  const y = linear(0, Math.max(1, ...totals), INNER.bottom, INNER.top, 4);
  const step = (INNER.right - INNER.left) / rows.length;
  const bars = svg("g");
  const causes = new Set<string>();
  rows.forEach((row, i) => {
    const x = INNER.left + i * step;
    const words = `${str(row, "length")}: ${formatNs(totals[i])} in ${formatNumber(num(row, "gaps"))} gaps`;
    bars.append(textAt(shortLength(str(row, "length")), x + step / 2, INNER.bottom + 15, { class: "bar-label" }));
    if (totals[i] === 0) return;
    const bucket = buckets?.[i];
    const go = bucket?.longest ? () => showEvent(state, bucket.longest!) : null;
    const parts = bucket && bucket.ns > 0 ? [...bucket.byCause].sort((a, b) => b[1] - a[1]) : [["", totals[i]] as const];
    let from = 0;
    const group = svg("g");
    for (const [cause, ns] of parts) {
      causes.add(cause);
      group.append(svg("rect", {
        style: { fill: `var(${cause ? causeColor(cause) : "--kind-gap"})` },
        attributes: { x: x + step * 0.12, width: step * 0.76, y: y(from + ns), height: Math.max(0.5, y(from) - y(from + ns)) },
      }));
      from += ns;
    }
    bars.append(interactive(group, bucket && bucket.ns > 0 ? `${words} (${causesText(bucket)})` : words, go),
      textAt(`${formatNumber(num(row, "gaps"))} ×`, x + step / 2, y(totals[i]) - 3, { class: "bar-figure" }));
  });
  const note = "Bar height: idle time in gaps of that length; above each bar: number of gaps." +
    (buckets ? " Click a bar for its longest gap." : !hasTimeline(state) ? "" : state.runs.length === 0 ? " Causes appear once the events are loaded." : " Short gaps are merged in this file, so the bars are not split by cause here.");
  return chartCard("gaps", TITLE, note, [
    canvas(TITLE, axisY(y, "ns"), bars, axisTitle("gap length")),
    legend([...causes].filter((c) => c).map((c) => ({ label: c, color: causeColor(c), isIdle: true }))),
  ], {
    head: ["Length", "Idle time", "Gaps", "Causes"],
    rows: rows.map((row, i) => [str(row, "length"), formatNs(num(row, "idle_ns")), formatNumber(num(row, "gaps")), causesText(buckets?.[i])]),
  });
}
