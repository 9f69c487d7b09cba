// Memory in use over time: what was allocated while it was recorded, GPU by GPU.
import type { ReportDocument } from "../shared/data";
import { placeIn, svg } from "../shared/dom";
import { formatBytes, formatNs } from "../shared/format";
import { hasTimeline, showTime } from "../shared/jump";
import { absentCard, axisX, axisY, canvas, chartCard, INNER, legend, linear } from "./plot";
import { num, rowsOf, str, whyNone } from "../shared/report";
import type { State } from "../shared/state";

const TITLE = "Device memory over time";
const LINES = [{ color: "--kind-kernel", dash: "" }, { color: "--kind-pageable-h2d", dash: "7 3" }, { color: "--kind-copy-h2d", dash: "2 3" }, { color: "--kind-copy-d2d", dash: "9 3 2 3" }];

interface Line {
  label: string;
  points: { at: number; bytes: number }[];
}

function linesOf(report: ReportDocument): Line[] {
  const lines = new Map<string, Line>();
  for (const row of rowsOf(report, "memory_over_time")) {
    const device = str(row, "device");
    const line = lines.get(device) ?? { label: device, points: [] };
    lines.set(device, line);
    line.points.push({ at: num(row, "time_ns"), bytes: num(row, "highest_bytes") });
  }
  return [...lines.values()];
}

export function memoryChart(state: State, report: ReportDocument): HTMLElement {
  const lines = linesOf(report);
  if (lines.every((line) => line.points.every((p) => p.bytes === 0))) {
    return absentCard(TITLE, whyNone(report, "memory", "The program allocated no memory of a GPU."));
  }
  const all = lines.flatMap((line) => line.points);
  const x = linear(Math.min(...all.map((p) => p.at)), Math.max(...all.map((p) => p.at)), INNER.left, INNER.right);
  const y = linear(0, Math.max(...all.map((p) => p.bytes)), INNER.bottom, INNER.top, 4);
  const drawn = lines.map((line, i) => {
    const path = line.points.map((p, k) => (k === 0 ? `M${x(p.at)},${y(p.bytes)}` : `H${x(p.at)}V${y(p.bytes)}`)).join("");
    const { color, dash } = LINES[i % LINES.length];
    return svg("path", { class: "line", style: { stroke: `var(${color})` }, attributes: { d: path, "stroke-dasharray": dash } });
  });
  const hit = svg("rect", { class: "hit goes", attributes: { x: INNER.left, y: INNER.top, width: INNER.right - INNER.left, height: INNER.bottom - INNER.top } });
  const pointAt = (event: MouseEvent): { at: number; bytes: number } => {
    const { x: place, width } = placeIn(hit, event);
    const from = Math.min(...all.map((p) => p.at));
    const at = from + (place / width) * (Math.max(...all.map((p) => p.at)) - from);
    return all.reduce((a, b) => (Math.abs(b.at - at) < Math.abs(a.at - at) ? b : a));
  };
  const plot = canvas(TITLE, axisX(x, "ns", "time since the start of the trace"), axisY(y, "bytes"), ...drawn, hit);
  const card = chartCard("memory", TITLE,
    "Peak use within each time slice, without what was allocated before recording started." + (hasTimeline(state) ? " Click to show that time on the timeline." : ""),
    [plot, lines.length > 1 && legend(lines.map((line, i) => ({ label: line.label, color: LINES[i % LINES.length].color })))],
    { head: ["Until", "Highest"], rows: all.slice(0, 200).map((p) => [formatNs(p.at), formatBytes(p.bytes)]) });
  const value = card.querySelector(".chart-value");
  hit.addEventListener("pointermove", (event) => {
    const point = pointAt(event);
    if (value) value.textContent = `${formatNs(point.at)}: ${formatBytes(point.bytes)}`;
  });
  hit.addEventListener("click", (event) => showTime(state, pointAt(event).at, 0));
  return card;
}
