// How long each step took and what its time went to, with the median and the steps of the warm-up marked.
import type { ReportDocument } from "../shared/data";
import { svg } from "../shared/dom";
import { formatNs, formatNumber } from "../shared/format";
import { hasTimeline, showPlace } from "../shared/jump";
import { causeColor } from "../shared/labels";
import { absentCard, axisX, axisY, canvas, chartCard, INNER, legend, linear, interactive, textAt } from "./plot";
import { num, rowsOf, str, tableOf, whyNone, type Row } from "../shared/report";
import { placeOf } from "../tables/row_links";
import type { State } from "../shared/state";

const TITLE = "Step time";
const MAX_BARS = 200; // more steps than that are dots

interface Part {
  key: string;
  label: string;
  color: string;
}

function partsOf(report: ReportDocument): Part[] {
  const columns = tableOf(report, "step_iterations")?.columns ?? [];
  return columns.flatMap((c): Part[] => {
    if (c.key === "kernel_ns") return [{ key: c.key, label: "kernels", color: "--kind-kernel" }];
    if (c.key === "copy_only_ns") return [{ key: c.key, label: "copies (no kernel)", color: "--kind-copy-h2d" }];
    const cause = /^idle_(\w+)_ns$/.exec(c.key)?.[1];
    if (cause) return [{ key: c.key, label: `idle: ${cause}`, color: causeColor(cause) }];
    return c.key === "outside_ns" ? [{ key: c.key, label: c.title, color: "--kind-gap" }] : [];
  });
}

interface Mark {
  row: Row;
  x: number;
  width: number;
  y(ns: number): number;
}

/** What a step took, and what most of it went to. */
function wordsOf(row: Row, parts: readonly Part[]): string {
  const duration = num(row, "duration_ns");
  const kind = str(row, "kind") ? ` (${str(row, "kind")})` : "";
  const tells = parts.filter((p) => num(row, p.key) > 0.03 * duration).map((p) => `${p.label} ${formatNs(num(row, p.key))}`);
  const words = `step ${formatNumber(num(row, "number"))}${kind}: ${formatNs(duration)}`;
  return tells.length > 0 ? `${words}: ${tells.join(", ")}` : words;
}

function stepDot({ row, x, width, y }: Mark): SVGElement {
  return svg("circle", {
    class: str(row, "kind") === "warm-up" ? "warm-up" : "", style: { fill: `var(${str(row, "kind") ? "--kind-pageable-h2d" : "--kind-kernel"})` },
    attributes: { cx: x + width / 2, cy: y(num(row, "duration_ns")), r: 2.2 },
  });
}

/** The parts of a step on top of each other. */
function stepBar({ row, x, width, y }: Mark, parts: readonly Part[]): SVGElement {
  const group = svg("g", { class: str(row, "kind") === "warm-up" ? "warm-up" : "" });
  let from = 0;
  const duration = num(row, "duration_ns");
  const add = (ns: number, color: string): void => {
    group.append(svg("rect", { style: { fill: `var(${color})` }, attributes: { x, width, y: y(from + ns), height: Math.max(0, y(from) - y(from + ns)) } }));
    from += ns;
  };
  for (const part of parts) {
    const ns = num(row, part.key);
    if (ns > 0) add(ns, part.color);
  }
  if (from < duration) add(duration - from, "--kind-gap");
  return group;
}

export function stepChart(state: State, report: ReportDocument): HTMLElement {
  const rows = rowsOf(report, "step_iterations");
  const steps = rowsOf(report, "steps")[0];
  if (rows.length === 0 || !steps) {
    return absentCard(TITLE, whyNone(report, "nvtx", "No NVTX range in this trace looks like a step; name one with “gprof-cli report --step NAME”."));
  }
  const parts = partsOf(report).filter((part) => rows.some((row) => num(row, part.key) > 0));
  const areDots = rows.length > MAX_BARS;
  const median = num(steps, "median_ns");
  const y = linear(0, Math.max(...rows.map((row) => num(row, "duration_ns"))), INNER.bottom, INNER.top + 6, 4);
  const width = (INNER.right - INNER.left) / rows.length;
  const x = linear(num(rows[0], "number") - 0.5, num(rows[rows.length - 1], "number") + 0.5, INNER.left, INNER.right, 8);
  x.marks = x.marks.filter(Number.isInteger);
  const table = tableOf(report, "step_iterations");
  const bars = svg("g", {}, ...rows.map((row, i) => {
    const mark = { row, x: INNER.left + i * width + Math.min(2, width * 0.1), width: Math.max(0.8, width * 0.9 - Math.min(2, width * 0.1)), y };
    const place = table && hasTimeline(state) ? placeOf(table, row) : null;
    return interactive(areDots ? stepDot(mark) : stepBar(mark, parts), wordsOf(row, parts), place ? () => showPlace(state, place) : null);
  }));
  const line = svg("g", { class: "median" },
    svg("line", { attributes: { x1: INNER.left, x2: INNER.right, y1: y(median), y2: y(median) } }),
    textAt(`median ${formatNs(median)}`, INNER.right - 4, y(median) - 4, { anchor: "end" }));
  const total = num(steps, "count") + num(steps, "warmups");
  const shown = rows.length < total ? ` The first ${formatNumber(rows.length)} of ${formatNumber(total)} steps.` : "";
  const paler = areDots ? "Each dot is a step; slow steps and warm-up steps are orange." : "Warm-up steps are paler and excluded from the median.";
  return chartCard("steps", `${TITLE}: ${str(steps, "path")}`,
    `${paler}${shown}${hasTimeline(state) ? ` Click a ${areDots ? "dot" : "bar"} for its step.` : ""}`,
    [canvas(TITLE, axisX(x, "count", "step"), axisY(y, "ns"), bars, line), legend(areDots ? [] : parts.map((p) => ({ label: p.label, color: p.color, isIdle: p.label.startsWith("idle") })))],
    { head: ["Step", "Length", "Start", "Kind"], rows: rows.slice(0, 200).map((row) => [formatNumber(num(row, "number")), formatNs(num(row, "duration_ns")), formatNs(num(row, "start_ns")), str(row, "kind")]) });
}
