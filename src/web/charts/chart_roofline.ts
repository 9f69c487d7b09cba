// Roofline: how fast each kernel computes for the bytes that it moves, below what the units and the memory allow.
import { el, select, svg } from "../shared/dom";
import { formatNumber, formatPercent } from "../shared/format";
import { shortName } from "../shared/names";
import { rooflineOf, type CountedKernel, type Roofline, type RooflinePoint } from "./kernel_counters";
import { absentCard, axisX, axisY, canvas, chartCard, INNER, interactive, logarithmic, textAt, type Scale } from "./plot";
import type { ReportDocument } from "../shared/data";

const TITLE = "Roofline";
const LEVELS = ["DRAM", "L2", "L1"];

const formatFlops = (flops: number): string =>
  flops >= 1e12 ? `${formatNumber(flops / 1e12)} TFLOP/s` : `${formatNumber(flops / 1e9)} GFLOP/s`;
const formatBandwidth = (rate: number): string => (rate >= 1e12 ? `${formatNumber(rate / 1e12)} TB/s` : `${formatNumber(rate / 1e9)} GB/s`);

/** Types are told by shape: colour says which kernel is chosen. */
const SHAPES = ["circle", "square", "diamond", "triangle", "cross"] as const;
type Shape = (typeof SHAPES)[number];

function mark(shape: Shape, x: number, y: number, r: number): SVGElement {
  if (shape === "circle") return svg("circle", { attributes: { cx: x, cy: y, r } });
  const corners: Record<Exclude<Shape, "circle">, [number, number][]> = {
    square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    diamond: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
    triangle: [[0, -1.2], [1.15, 0.9], [-1.15, 0.9]],
    cross: [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
  };
  const points = corners[shape].map(([dx, dy]) => `${x + dx * r},${y + dy * r}`).join(" ");
  return svg("polygon", { attributes: { points } });
}

interface Axes {
  x: Scale; // FLOP a byte
  y: Scale; // GFLOP/s
}

// Kernels that hardly use a level of memory, or hardly compute, stand at the edge: they would press all others together.
const [BESIDE_RIDGES, BELOW_PEAK] = [200, 1e5];

const within = (value: number, low: number, high: number): number => Math.max(low, Math.min(high, value));

function axesOf({ peaks, bandwidths }: Roofline, points: readonly RooflinePoint[]): Axes {
  const top = Math.max(...peaks.values());
  const ridges = [...bandwidths.values()].flatMap((rate) => [...peaks.values()].map((peak) => peak / rate));
  const [low, high] = [Math.min(...ridges) / BESIDE_RIDGES, Math.max(...ridges) * BESIDE_RIDGES];
  const intensities = [...ridges, ...points.map((p) => within(p.intensity, low, high))];
  const x = logarithmic(Math.min(...intensities) / 2, Math.max(...intensities) * 3, INNER.left, INNER.right - 8);
  const slowest = Math.min(...points.map((p) => within(p.flops, top / BELOW_PEAK, top)), Math.min(...peaks.values()) / 100);
  const y = logarithmic(slowest / 1e9, top / 1e9, INNER.bottom, INNER.top + 8);
  return { x: clamped(x, INNER.left + 6, INNER.right - 6), y: clamped(y, INNER.top, INNER.bottom - 4) };
}

/** What is beyond the axis is at its end. */
function clamped(scale: Scale, low: number, high: number): Scale {
  const limited = ((value: number) => within(scale(value), low, high)) as Scale;
  limited.marks = scale.marks;
  return limited;
}

/** Lines of the memory levels, up to the highest ceiling. */
function memoryRoofs({ peaks, bandwidths }: Roofline, { x, y }: Axes): SVGElement {
  const group = svg("g", { class: "roofs" });
  const top = Math.max(...peaks.values());
  for (const [level, rate] of bandwidths) {
    let [low, high] = [1e-6, top / rate];
    while (x(low) <= INNER.left + 6 || y((low * rate) / 1e9) >= INNER.bottom - 4) low *= 1.02;
    if (low >= high) continue;
    const [x1, y1, x2, y2] = [x(low), y((low * rate) / 1e9), x(high), y(top / 1e9)];
    const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    const [tx, ty] = [x1 + (x2 - x1) * 0.12, y1 + (y2 - y1) * 0.12];
    group.append(
      svg("line", { attributes: { x1, y1, x2, y2 } }),
      svg("text", { text: `${level} ${formatBandwidth(rate)}`, attributes: { x: tx, y: ty - 4, transform: `rotate(${angle} ${tx} ${ty})` } }));
  }
  return group;
}

/** Ceilings of the types, from where the fastest memory can feed them. */
function ceilings({ peaks, bandwidths }: Roofline, { x, y }: Axes): SVGElement {
  const group = svg("g", { class: "roofs" });
  const fastest = Math.max(...bandwidths.values());
  let above = -Infinity; // the text of the ceiling above
  for (const [type, peak] of [...peaks].sort((a, b) => b[1] - a[1])) {
    const at = y(peak / 1e9);
    group.append(svg("line", { attributes: { x1: Math.max(INNER.left, x(peak / fastest)), x2: INNER.right, y1: at, y2: at } }));
    above = Math.max(at - 3, above + 11);
    group.append(textAt(`${type} ${formatFlops(peak)}`, INNER.right - 2, above, { anchor: "end" }));
  }
  return group;
}

function describePoint(p: RooflinePoint): string {
  return `${shortName(p.kernel.name, 60)}: ${p.type} ${formatFlops(p.flops)}, ${formatPercent(p.percent)} of peak, ` +
    `${formatNumber(p.intensity)} FLOP/B of ${p.level}, bound by ${p.bound}`;
}

function pointMarks(points: readonly RooflinePoint[], types: readonly string[], axes: Axes, chosen: CountedKernel, choose: (kernel: CountedKernel) => void): SVGElement {
  const group = svg("g");
  const isChosen = (p: RooflinePoint): boolean => p.kernel === chosen;
  for (const p of [...points].sort((a, b) => Number(isChosen(a)) - Number(isChosen(b)))) {
    const shape = SHAPES[Math.min(types.indexOf(p.type), SHAPES.length - 1)];
    const made = mark(shape, axes.x(p.intensity), axes.y(p.flops / 1e9), isChosen(p) ? 6.5 : 4.5);
    made.setAttribute("class", isChosen(p) ? "spot chosen" : "spot");
    interactive(made, describePoint(p), () => choose(p.kernel));
    made.setAttribute("aria-label", `${describePoint(p)}. Choose this kernel`);
    group.append(made);
  }
  return group;
}

function shapesLegend(types: readonly string[]): HTMLElement {
  return el("ul", { class: "legend" }, ...types.map((type, i) => {
    const swatch = svg("svg", { class: "shape-swatch", attributes: { viewBox: "-8 -8 16 16", "aria-hidden": "true" } }, mark(SHAPES[Math.min(i, SHAPES.length - 1)], 0, 0, 5));
    return el("li", {}, swatch, type);
  }));
}

export function rooflineChart(report: ReportDocument, kernels: readonly CountedKernel[], chosen: CountedKernel, choose: (kernel: CountedKernel) => void): HTMLElement {
  const roofline = rooflineOf(report, kernels);
  if (roofline.points.length === 0) return absentCard(TITLE, "The counters of the roofline were not collected (use --set roofline).");
  const types = [...roofline.peaks.keys()];
  const levels = LEVELS.filter((level) => roofline.bandwidths.has(level));
  const box = el("div");
  const draw = (level: string): void => {
    const points = roofline.points.filter((p) => p.level === level && p.intensity > 0 && p.flops > 0);
    if (points.length === 0) {
      box.replaceChildren(el("p", { class: "soft", text: `No kernel both computes and moves bytes through ${level}.` }));
      return;
    }
    const axes = axesOf(roofline, points);
    box.replaceChildren(canvas(TITLE, axisX(axes.x, "", "FLOP per byte"), axisY(axes.y, ""), memoryRoofs(roofline, axes), ceilings(roofline, axes),
      pointMarks(points, types, axes, chosen, choose)));
  };
  const choice = select("Memory level", levels.map((level) => [level, `bytes of ${level}`]), (index) => draw(levels[index]));
  draw(levels[0]);
  return chartCard("roofline", TITLE,
    "GFLOP/s over FLOP per byte. Below a slanted line, the bandwidth of that memory is the limit; below a horizontal line, the compute units. Types above 1% of their peak; points beyond an axis are drawn at its end.",
    [el("p", { class: "flame-tools" }, choice), box, shapesLegend(types)],
    {
      head: ["Kernel", "Type", "Level", "FLOP/s", "Of peak", "FLOP/B", "Bound"],
      rows: roofline.points.map((p) => [shortName(p.kernel.name, 48), p.type, p.level, formatFlops(p.flops), formatPercent(p.percent), formatNumber(p.intensity), p.bound]),
    });
}
