// Counters as areas with steps. Where many values share a pixel the highest is drawn: peaks are what counters are for. Of what
// was sampled the mean is drawn as well, darker.
import type { Counter } from "../../shared/data";
import { formatFigure } from "../../shared/format";
import { lowerBound } from "../../shared/levels";
import type { Row } from "../model/layout";
import { remembered } from "../../shared/remembered";
import type { CounterValues, Run, View } from "../../shared/state";

const BLOCK = 64;

interface Sums {
  readonly highest: Float64Array; // of each BLOCK values
  readonly area: Float64Array; // value times ns before each point
  readonly measured: Float64Array; // ns before each point
}

const sumsOf = remembered(({ time, value, high }: CounterValues): Sums => {
  const highest = new Float64Array(Math.ceil(value.length / BLOCK)).fill(-Infinity);
  const area = new Float64Array(value.length);
  const measured = new Float64Array(value.length);
  for (let i = 0; i < value.length; ++i) {
    const block = Math.floor(i / BLOCK);
    if (high[i] > highest[block]) highest[block] = high[i];
    if (i === 0) continue;
    const isMeasured = !Number.isNaN(value[i - 1]);
    area[i] = area[i - 1] + (isMeasured ? value[i - 1] * (time[i] - time[i - 1]) : 0);
    measured[i] = measured[i - 1] + (isMeasured ? time[i] - time[i - 1] : 0);
  }
  return { highest, area, measured };
});

/** The highest of values [from, to); -Infinity where none was measured. */
function highestWithin(values: CounterValues, from: number, to: number): number {
  const { highest } = sumsOf(values);
  let best = -Infinity;
  let i = from;
  while (i < to) {
    if (i % BLOCK === 0 && i + BLOCK <= to) {
      best = Math.max(best, highest[i / BLOCK]);
      i += BLOCK;
    } else {
      if (values.high[i] > best) best = values.high[i];
      ++i;
    }
  }
  return best;
}

/** The point that holds at `time`, -1 before the first. */
function indexAt(values: CounterValues, time: number): number {
  const index = lowerBound(values.time, time);
  return index < values.time.length && values.time[index] === time ? index : index - 1;
}

/** What the counter shows at `time`; null: nothing. */
export function counterAt(values: CounterValues, time: number): number | null {
  const index = indexAt(values, time);
  return index < 0 || Number.isNaN(values.value[index]) ? null : values.value[index];
}

/** Area and measured time from the first point to `time`. */
function until(values: CounterValues, time: number): [area: number, measured: number] {
  const index = indexAt(values, time);
  if (index < 0) return [0, 0];
  const { area, measured } = sumsOf(values);
  const value = values.value[index];
  if (Number.isNaN(value)) return [area[index], measured[index]];
  const held = time - values.time[index];
  return [area[index] + value * held, measured[index] + held];
}

/** The mean over a time by its measured parts; null where there is none. */
function meanWithin(values: CounterValues, from: number, to: number): number | null {
  const [areaFrom, measuredFrom] = until(values, from);
  const [areaTo, measuredTo] = until(values, to);
  return measuredTo > measuredFrom ? (areaTo - areaFrom) / (measuredTo - measuredFrom) : null;
}

/** Of what the counter shows from `from` to before `to`; null: nothing. */
export function summaryWithin(values: CounterValues, from: number, to: number): { low: number; mean: number; high: number } | null {
  const mean = meanWithin(values, from, to);
  if (mean === null) return null;
  let low = Infinity;
  let high = -Infinity;
  for (let i = Math.max(0, indexAt(values, from)); i < values.time.length && values.time[i] < to; ++i) {
    if (values.low[i] < low) low = values.low[i];
    if (values.high[i] > high) high = values.high[i];
  }
  return { low, mean, high };
}

const KNOWN_UNITS = ["count", "percent", "bytes", "ns"];

/** A value with its unit, "12.5 W". */
export function counterFigure(counter: Counter, value: number): string {
  const { unit } = counter;
  return KNOWN_UNITS.includes(unit) ? formatFigure(value, unit) : `${formatFigure(value, "count")} ${unit}`;
}

export interface ShownCounter {
  readonly counter: Counter;
  readonly values: CounterValues;
  readonly label: string;
  readonly isStrip: boolean; // it stands for its group
}

/** What a row shows: its counter, or that of the first track in a folded group. */
export function counterOf(run: Run, row: Row): ShownCounter | null {
  const isStrip = row.isGroup && row.isFolded && row.trackData.kind === "metrics";
  const track = isStrip ? row.track + 1 : row.track;
  const trackData = run.data.tracks[track];
  const values = run.counters[track];
  return trackData?.counter && values ? { counter: trackData.counter, values, label: trackData.label, isStrip } : null;
}

interface Area {
  width: number;
  top: number;
  height: number;
  color: string;
  ink: string; // empty: no text
  paper: string; // around the text, which stands on the area as well
}

/** Tells `draw` of each stretch of columns of pixels that have the same value. */
function eachStretch(width: number, of: (x: number) => number, draw: (from: number, to: number, value: number) => void): void {
  let [from, value] = [0, of(0)];
  for (let x = 1; from < width; ++x) {
    const next = x < width ? of(x) : NaN;
    if (next === value) continue;
    draw(from, Math.min(x, width), value);
    [from, value] = [x, next];
  }
}

/** Fills the columns of pixels to the height of their values. */
function fillSteps(context: CanvasRenderingContext2D, { width, top, height }: Area, most: number, of: (x: number) => number): void {
  eachStretch(width, of, (from, to, value) => {
    if (value <= 0) return;
    const filled = Math.max(1, Math.min(1, value / most) * (height - 5));
    context.fillRect(from, top + height - 1 - filled, to - from, filled);
  });
}

/** A share of something is seen as that. */
function topOf(counter: Counter): number {
  return Math.max(counter.unit === "percent" && counter.maximum <= 100 ? 100 : counter.maximum, 1e-9);
}

/** How dark a column of a heat strip is, 0 to 1: the mean as a share of the most. 0 where nothing was measured. */
export function heatWithin(counter: Counter, values: CounterValues, from: number, to: number): number {
  return Math.min(1, Math.max(0, meanWithin(values, from, to) ?? 0) / topOf(counter));
}

/** One line for a whole group: columns as high as the row, the darker the more. */
export function drawHeat(
  context: CanvasRenderingContext2D, counter: Counter, values: CounterValues, view: View, area: Area,
): void {
  const SHADES = 32; // columns of one shade are one rectangle
  const perPixel = (view.end_ns - view.start_ns) / area.width;
  const shadeAt = (x: number): number => Math.ceil(heatWithin(counter, values, view.start_ns + x * perPixel, view.start_ns + (x + 1) * perPixel) * SHADES);
  context.fillStyle = area.color;
  eachStretch(area.width, shadeAt, (from, to, shade) => {
    context.globalAlpha = shade / SHADES;
    if (shade > 0) context.fillRect(from, area.top + 2, to - from, area.height - 4);
  });
  context.globalAlpha = 1;
}

export function drawCounter(
  context: CanvasRenderingContext2D, counter: Counter, values: CounterValues, view: View, area: Area,
): void {
  if (values.time.length === 0) return;
  const perPixel = (view.end_ns - view.start_ns) / area.width;
  const isSampled = counter.scale !== undefined;
  const most = topOf(counter);
  let from = Math.max(0, lowerBound(values.time, view.start_ns) - 1);
  const highestAt = (x: number): number => {
    const end = view.start_ns + (x + 1) * perPixel;
    const to = lowerBound(values.time, end, from);
    const value = values.time[0] >= end ? 0 : highestWithin(values, from, Math.max(to, from + 1));
    from = Math.max(from, to - 1);
    return value;
  };
  context.fillStyle = area.color;
  context.globalAlpha = isSampled ? 0.35 : 0.75;
  fillSteps(context, area, most, highestAt);
  context.globalAlpha = 0.75;
  const meanAt = (x: number): number => meanWithin(values, view.start_ns + x * perPixel, view.start_ns + (x + 1) * perPixel) ?? 0;
  if (isSampled) fillSteps(context, area, most, meanAt);
  context.globalAlpha = 1;
  if (area.ink === "") return;
  context.fillStyle = area.ink;
  const text = `max ${counterFigure(counter, counter.maximum)}`;
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = area.paper;
  context.strokeText(text, 4, area.top + 9);
  context.fillText(text, 4, area.top + 9);
}
