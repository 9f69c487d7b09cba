// How long each step took and what its time went to, with the median and the steps of the warm-up marked.
import type { ReportDocument } from "./shared/data";
import { svg } from "./shared/dom";
import { formatNs, formatNumber } from "./shared/format";
import { showPlace } from "./jump";
import { causeColor } from "./shared/labels";
import { absentCard, axisX, axisY, canvas, chartCard, INNER, legend, linear, live } from "./plot";
import { num, rowsOf, str, tableOf, type Row } from "./report";
import { placeOf } from "./row_links";
import type { State } from "./shared/state";

const TITLE = "Time of each step";
const MOST_BARS = 600;

interface Part {
  key: string;
  label: string;
  color: string;
}

function partsOf(report: ReportDocument): Part[] {
  const columns = tableOf(report, "step_iterations")?.columns ?? [];
  return columns.flatMap((c): Part[] => {
    if (c.key === "kernel_ns") return [{ key: c.key, label: "kernels", color: "--kind-kernel" }];
    if (c.key === "copy_only_ns") return [{ key: c.key, label: "copies, fills only", color: "--kind-copy-h2d" }];
    const cause = /^idle_(\w+)_ns$/.exec(c.key)?.[1];
    if (cause) return [{ key: c.key, label: `idle: ${cause}`, color: causeColor(cause) }];
    return c.key === "outside_ns" ? [{ key: c.key, label: c.title, color: "--kind-gap" }] : [];
  });
}

/** Of so many steps that they would not fit, the longest of each group is drawn. */
function drawnSteps(rows: readonly Row[]): Row[] {
  const group = Math.ceil(rows.length / MOST_BARS);
  if (group <= 1) return [...rows];
  const drawn: Row[] = [];
  for (let i = 0; i < rows.length; i += group) {
    drawn.push(rows.slice(i, i + group).reduce((a, b) => (num(b, "duration_ns") > num(a, "duration_ns") ? b : a)));
  }
  return drawn;
}

function stepBar(state: State, report: ReportDocument, row: Row, parts: readonly Part[], x: number, width: number, y: (ns: number) => number): SVGElement {
  const group = svg("g", { class: str(row, "kind") === "warm-up" ? "warm-up" : "" });
  let from = 0;
  const duration = num(row, "duration_ns");
  const tells: string[] = [];
  const add = (ns: number, color: string): void => {
    const rect = svg("rect", { attributes: { x, width, y: y(from + ns), height: Math.max(0, y(from) - y(from + ns)) } });
    rect.style.fill = `var(${color})`;
    group.append(rect);
    from += ns;
  };
  for (const part of parts) {
    const ns = num(row, part.key);
    if (ns <= 0) continue;
    if (ns > 0.03 * duration) tells.push(`${part.label} ${formatNs(ns)}`);
    add(ns, part.color);
  }
  if (from < duration) add(duration - from, "--kind-gap");
  const table = tableOf(report, "step_iterations");
  const place = table ? placeOf(table, row) : null;
  const words = `step ${formatNumber(num(row, "number"))}${str(row, "kind") ? ` (${str(row, "kind")})` : ""}: ${formatNs(duration)}`;
  return live(group, tells.length > 0 ? `${words}: ${tells.join(", ")}` : words, place ? () => showPlace(state, place) : null);
}

export function stepChart(state: State, report: ReportDocument): HTMLElement {
  const rows = rowsOf(report, "step_iterations");
  const steps = rowsOf(report, "steps")[0];
  if (rows.length === 0 || !steps) {
    return absentCard(TITLE, "No NVTX range of this trace looks like a step of the program; “gprof-cli report --step NAME” names one.");
  }
  const parts = partsOf(report).filter((part) => rows.some((row) => num(row, part.key) > 0));
  const drawn = drawnSteps(rows);
  const median = num(steps, "median_ns");
  const y = linear(0, Math.max(...drawn.map((row) => num(row, "duration_ns"))), INNER.bottom, INNER.top + 6, 4);
  const width = (INNER.right - INNER.left) / drawn.length;
  const x = linear(num(drawn[0], "number") - 0.5, num(drawn[drawn.length - 1], "number") + 0.5, INNER.left, INNER.right, 8);
  x.marks = x.marks.filter(Number.isInteger);
  const bars = svg("g", {}, ...drawn.map((row, i) => stepBar(state, report, row, parts, INNER.left + i * width + Math.min(2, width * 0.1), Math.max(0.8, width * 0.9 - Math.min(2, width * 0.1)), y)));
  const line = svg("g", { class: "median" },
    svg("line", { attributes: { x1: INNER.left, x2: INNER.right, y1: y(median), y2: y(median) } }),
    svg("text", { text: `median ${formatNs(median)}`, attributes: { x: INNER.right - 4, y: y(median) - 4, "text-anchor": "end" } }));
  const total = num(steps, "count") + num(steps, "warmups");
  const shown = rows.length < total ? ` The first ${formatNumber(rows.length)} of ${formatNumber(total)} steps.` : "";
  const grouped = drawn.length < rows.length ? " Of neighbouring steps the longest is drawn." : "";
  return chartCard("steps", `${TITLE}: ${str(steps, "path")}`,
    `Steps of warm-up are paler; they are not in the median.${shown}${grouped} A bar leads to its step.`,
    [canvas(TITLE, axisX(x, "count", "step"), axisY(y, "ns"), bars, line), legend(parts.map((p) => ({ label: p.label, color: p.color, isIdle: p.label.startsWith("idle") })))],
    { head: ["Step", "Length", "Start", "Kind"], rows: drawn.slice(0, 200).map((row) => [formatNumber(num(row, "number")), formatNs(num(row, "duration_ns")), formatNs(num(row, "start_ns")), str(row, "kind")]) });
}
