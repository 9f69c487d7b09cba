// The units of the memory system, and what the chosen kernel moved between them.
import type { ReportDocument } from "../shared/data";
import { svg } from "../shared/dom";
import { formatBytes, formatFigure, formatPercent } from "../shared/format";
import { rowOfKernel, rowsOfKernel, type CountedKernel } from "./kernel_counters";
import { absentCard, chartCard, interactive, textAt } from "./plot";
import { num, str, type Row } from "../shared/report";

const TITLE = "Memory traffic";
const SIZE = { width: 800, height: 300 };
const BOX_WIDTH = 98;

interface Unit {
  x: number;
  y: number;
  height: number;
}

/** From the multiprocessors at the left to the memories at the right. */
const UNITS: Record<string, Unit> = {
  SM: { x: 2, y: 10, height: 280 },
  L1: { x: 236, y: 10, height: 160 },
  "shared memory": { x: 236, y: 205, height: 85 },
  L2: { x: 468, y: 10, height: 280 },
  DRAM: { x: 700, y: 10, height: 84 },
  "system memory": { x: 700, y: 108, height: 84 },
  peers: { x: 700, y: 206, height: 84 },
};

interface Edge {
  from: string;
  to: string;
  what: string;
  bytes: number;
  rate: number;
}

const edgeOf = (row: Row): Edge => ({
  from: str(row, "from"), to: str(row, "to"), what: str(row, "what"), bytes: num(row, "bytes"), rate: num(row, "bytes_per_second"),
});

/** What is said within the box of a unit. */
function insideOf(unit: string, memory: Row | null, speed: Row | null): string {
  const percent = (row: Row | null, key: string, words: string): string =>
    row && typeof row[key] === "number" ? `${formatPercent(num(row, key))} ${words}` : "";
  if (unit === "L1") return percent(memory, "l1_hit_percent", "hits");
  if (unit === "L2") return percent(memory, "l2_hit_percent", "hits");
  if (unit === "DRAM") return percent(speed, "dram_percent", "of peak");
  return "";
}

function box(name: string, inside: string, isUsed: boolean): SVGElement {
  const { x, y, height } = UNITS[name];
  const middle = { x: x + BOX_WIDTH / 2, y: y + height / 2 };
  return svg("g", { class: isUsed ? "unit" : "unit unused" },
    svg("rect", { attributes: { x, y, width: BOX_WIDTH, height, rx: 5 } }),
    textAt(name, middle.x, middle.y + (inside ? -2 : 4), { class: "unit-name" }), inside && textAt(inside, middle.x, middle.y + 14));
}

/** The edges between two units share the room of the smaller box, one below the other. */
function placeOf(edge: Edge, beside: readonly Edge[]): { x1: number; x2: number; y: number } {
  const [from, to] = [UNITS[edge.from], UNITS[edge.to]];
  const small = from.height < to.height ? from : to;
  const y = small.y + (small.height * (beside.indexOf(edge) + 0.62)) / beside.length;
  const isRight = from.x < to.x;
  return { x1: isRight ? from.x + BOX_WIDTH : from.x, x2: isRight ? to.x : to.x + BOX_WIDTH, y };
}

const isSamePair = (a: Edge, b: Edge): boolean => (a.from === b.from && a.to === b.to) || (a.from === b.to && a.to === b.from);

function arrow(edge: Edge, edges: readonly Edge[], most: number): SVGElement {
  const { x1, x2, y } = placeOf(edge, edges.filter((other) => isSamePair(other, edge)));
  const width = 1 + 6 * Math.sqrt(edge.bytes / most);
  const head = 5 + width / 2;
  const direction = x2 > x1 ? 1 : -1;
  const tip = x2 - direction * 2;
  const group = svg("g", { class: edge.bytes === most ? "traffic most" : "traffic" },
    svg("rect", { class: "hit", attributes: { x: Math.min(x1, x2), y: y - 18, width: Math.abs(x2 - x1), height: 24 } }),
    svg("line", { attributes: { x1: x1 + direction * 3, x2: tip - direction * head, y1: y, y2: y, "stroke-width": width } }),
    svg("polygon", { attributes: { points: `${tip},${y} ${tip - direction * head * 1.4},${y - head} ${tip - direction * head * 1.4},${y + head}` } }),
    textAt(`${edge.what} ${formatBytes(edge.bytes)}`, (x1 + x2) / 2, y - width / 2 - 4));
  const rate = edge.rate > 0 ? `, ${formatFigure(edge.rate, "bytes/s")}` : "";
  return interactive(group, `${edge.what} from ${edge.from} to ${edge.to}: ${formatBytes(edge.bytes)}${rate}`, null);
}

export function memoryUnitsChart(report: ReportDocument, kernel: CountedKernel): HTMLElement {
  const edges = rowsOfKernel(report, "counter_traffic", kernel, ["from", "to", "what"]).map(edgeOf).filter(({ from, to }) => from in UNITS && to in UNITS);
  if (edges.length === 0) return absentCard(TITLE, "Traffic between units was not measured (use --set detailed).");
  const most = Math.max(...edges.map((edge) => edge.bytes));
  const memory = rowOfKernel(report, "counter_memory", kernel);
  const speed = rowOfKernel(report, "counter_speed_of_light", kernel);
  const isUsed = (name: string): boolean => edges.some(({ from, to }) => from === name || to === name);
  const chart = svg("svg", { class: "plot units", attributes: { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "group", "aria-label": TITLE } },
    ...Object.keys(UNITS).map((name) => box(name, insideOf(name, memory, speed), isUsed(name))), ...edges.map((edge) => arrow(edge, edges, most)));
  return chartCard("units", TITLE, "Bytes moved by one launch; the wider the arrow, the more. Units without an arrow were not used or not measured.", [chart], {
    head: ["From", "To", "What", "Bytes", "Rate"],
    rows: edges.map((e) => [e.from, e.to, e.what, formatBytes(e.bytes), e.rate > 0 ? formatFigure(e.rate, "bytes/s") : "-"]),
  });
}
