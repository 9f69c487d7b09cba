// The time axis: marks at round times, in the unit that fits what is in view. Far into a run marks that are close together
// share most of their digits; these are said once at the left.
import { formatMark, roundStep, timeUnit } from "../../shared/format";
import type { View } from "../../shared/state";

const MARK_PX = 90;

export interface Mark {
  x: number; // pixels from the left edge
  text: string;
}

export interface Marks {
  base: string; // "12.3 s +", or "" where marks are whole times
  marks: Mark[];
}

export function marksOf(view: View, width: number): Marks {
  const span = view.end_ns - view.start_ns;
  const step = Math.max(1, roundStep((span * MARK_PX) / Math.max(1, width)));
  const isFar = Math.abs(view.start_ns) / step > 5000;
  const big = step * 1000;
  const base = isFar ? Math.floor(view.start_ns / big) * big : 0;
  const marks: Mark[] = [];
  for (let i = Math.ceil((view.start_ns - base) / step); base + i * step <= view.end_ns; ++i) {
    const time = i * step;
    marks.push({ x: ((base + time - view.start_ns) / span) * width, text: (isFar ? "+" : "") + markText(time, step) });
  }
  return { base: isFar ? `${exactText(base)} +` : "", marks };
}

/** Marks of one axis have one unit: "1,500 us" between 1 ms and 2 ms would not be read as a scale. */
function markText(time: number, step: number): string {
  if (time === 0) return "0";
  const [factor, unit] = timeUnit(Math.max(Math.abs(time), step));
  const decimals = Math.max(0, Math.ceil(Math.log10(factor / step) - 1e-9));
  return decimals > 4 ? formatMark(time, "ns") : `${(time / factor).toFixed(decimals)} ${unit}`;
}

/** All digits of a time that is a round number of something: "1.234567 s". */
export function exactText(ns: number): string {
  const [factor, unit] = timeUnit(Math.abs(ns));
  return `${Number((ns / factor).toFixed(9))} ${unit}`;
}

export function drawRuler(context: CanvasRenderingContext2D, view: View, area: { width: number; height: number }, colors: { ink: string; soft: string; line: string }): void {
  const { base, marks } = marksOf(view, area.width);
  context.clearRect(0, 0, area.width, area.height);
  context.textBaseline = "middle";
  const baseWidth = base ? context.measureText(base).width + 14 : 0;
  context.fillStyle = colors.line;
  for (const { x } of marks) context.fillRect(Math.round(x), area.height - 7, 1, 7);
  context.fillStyle = colors.soft;
  for (const { x, text } of marks) {
    const fits = x >= baseWidth - 4 && x + 4 + context.measureText(text).width <= area.width;
    if (fits) context.fillText(text, x + 4, area.height / 2);
  }
  if (!base) return;
  context.fillStyle = colors.ink;
  context.fillText(base, 4, area.height / 2);
}
