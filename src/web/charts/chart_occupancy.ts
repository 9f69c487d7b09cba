// Occupancy against what a kernel is launched with: how many warps fit on an SM, what limits them, and where the next step is.
import type { OccupancyCurve, OccupancyLaunch } from "../shared/data";
import { el, select, svg } from "../shared/dom";
import { countOf, formatBytes, formatFigure, formatPercent } from "../shared/format";
import { shortName } from "../shared/names";
import type { State } from "../shared/state";
import { absentCard, axisX, axisY, canvas, chartCard, INNER, interactive, linear, textAt } from "./plot";

const TITLE = "Occupancy";
const RESOURCES: Record<OccupancyCurve["resource"], { unit: string; axis: string; text(value: number): string }> = {
  "block size": { unit: "count", axis: "threads per block", text: (value) => `${countOf(value, "thread")} per block` },
  registers: { unit: "count", axis: "registers per thread", text: (value) => `${countOf(value, "register")} per thread` },
  "shared memory": { unit: "bytes", axis: "shared memory per block", text: (value) => `${formatBytes(value)} of shared memory per block` },
};

const valueText = ({ resource }: OccupancyCurve, value: number): string => RESOURCES[resource].text(value);

const stepText = (curve: OccupancyCurve, [upTo, percent]: [number, number]): string => `up to ${valueText(curve, upTo)}: ${formatPercent(percent)}`;

function plot(launch: OccupancyLaunch, curve: OccupancyCurve): HTMLElement {
  const { resource, now, steps, next } = curve;
  const x = linear(0, steps[steps.length - 1][0], INNER.left, INNER.right, 6);
  const y = linear(0, 100, INNER.bottom, INNER.top + 8, 4);
  const starts = [0, ...steps.map(([upTo]) => upTo)];
  const line = svg("path", { class: "line", attributes: { d: steps.map(([upTo, percent], i) => `${i === 0 ? "M" : "L"}${x(starts[i])},${y(percent)}H${x(upTo)}`).join("") } });
  const areas = steps.map((step, i) => interactive(svg("rect", {
    class: "hit", attributes: { x: x(starts[i]), y: INNER.top, width: x(step[0]) - x(starts[i]), height: INNER.bottom - INNER.top },
  }), stepText(curve, step), null));
  const { achieved_percent: achieved } = launch;
  const measured = achieved !== null && svg("g", { class: "median" },
    svg("line", { attributes: { x1: INNER.left, x2: INNER.right, y1: y(achieved), y2: y(achieved) } }),
    textAt(`achieved ${formatPercent(achieved)}`, INNER.right - 4, y(achieved) - 4, { anchor: "end" }));
  const marks = [next && svg("circle", { class: "next", attributes: { cx: x(next[0]), cy: y(next[1]), r: 6 } }),
    interactive(svg("circle", { class: "spot chosen", attributes: { cx: x(now), cy: y(launch.percent), r: 6 } }), `${valueText(curve, now)}: ${formatPercent(launch.percent)}`, null)];
  const isLimit = launch.limiter.split(", ").includes(resource);
  return el("div", {}, canvas(resource, axisX(x, RESOURCES[resource].unit, RESOURCES[resource].axis), axisY(y, "percent"), line, measured, ...areas, ...marks),
    el("p", { class: "soft" }, isLimit && el("b", { text: "The limit. " }), `Now ${valueText(curve, now)}. `,
      next ? `Next step: ${valueText(curve, next[0])}, ${formatPercent(next[1])}.` : launch.limiter ? "No other value lets more warps fit." : "All warps fit."));
}

/** `choice` chooses another kernel, where there are several. */
export function occupancyChart(launch: OccupancyLaunch | null | undefined, choice: HTMLElement | null = null): HTMLElement {
  if (!launch) return absentCard(TITLE, "The launch or the GPU is not known well enough (compute capability, registers and shared memory of an SM).");
  const achieved = launch.achieved_percent === null ? "" : `, ${formatPercent(launch.achieved_percent)} achieved`;
  const steps = launch.curves.flatMap((curve) => curve.steps.map(([upTo, percent]) => [curve.resource, formatFigure(upTo, RESOURCES[curve.resource].unit), formatPercent(percent)]));
  const card = chartCard("occupancy", TITLE,
    "Warps that fit on an SM, percent of its maximum, against one resource with the others as they are; by NVIDIA's occupancy calculator. " +
    "Filled: the launch; open: the nearest value with more.",
    [choice, el("p", { text: `${formatPercent(launch.percent)} theoretical${achieved}${launch.limiter ? `, limited by ${launch.limiter}` : ""}` }),
      el("div", { class: "curves" }, ...launch.curves.map((curve) => plot(launch, curve)))],
    { head: ["Resource", "Up to", "Occupancy"], rows: steps });
  card.classList.add("full");
  return card;
}

/** Of the kernels of a trace, the most time first; null: it has none. */
export function launchedKernels(state: State): HTMLElement | null {
  const launches = state.page.occupancy?.launched ?? [];
  if (launches.length === 0) return null;
  const names = launches.map(({ kernel, gpu, curves: [block, registers, shared] }, i) => [String(i),
    `${shortName(kernel, 60)}: ${[block, registers, shared].map((curve) => valueText(curve, curve.now)).join(", ")}, ${gpu}`] as const);
  const box = el("div");
  const choice: HTMLElement = el("p", { class: "flame-tools" }, select("Kernel", names, (index) => box.replaceChildren(occupancyChart(launches[index], choice)), { class: "kernel-choice" }));
  box.append(occupancyChart(launches[0], choice));
  return box;
}
