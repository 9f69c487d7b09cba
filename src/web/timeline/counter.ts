// Counters as areas with steps. Where many values share a pixel the highest is drawn: peaks are what counters are for.
import type { Counter } from "../shared/data";
import { formatFigure } from "../shared/format";
import { lowerBound } from "../shared/levels";
import type { CounterValues, View } from "../shared/state";

const BLOCK = 64;
const highest = new WeakMap<CounterValues, Float64Array>();

/** Highest value of each BLOCK values. */
function highestOf(values: CounterValues): Float64Array {
  let made = highest.get(values);
  if (made) return made;
  made = new Float64Array(Math.ceil(values.value.length / BLOCK)).fill(-Infinity);
  for (let i = 0; i < values.value.length; ++i) {
    const block = Math.floor(i / BLOCK);
    made[block] = Math.max(made[block], values.value[i]);
  }
  highest.set(values, made);
  return made;
}

/** The highest of values [from, to). */
function highestWithin(values: CounterValues, from: number, to: number): number {
  const blocks = highestOf(values);
  let best = -Infinity;
  let i = from;
  while (i < to) {
    if (i % BLOCK === 0 && i + BLOCK <= to) {
      best = Math.max(best, blocks[i / BLOCK]);
      i += BLOCK;
    } else {
      best = Math.max(best, values.value[i++]);
    }
  }
  return best;
}

/** What the counter shows at `time`; null: nothing yet. */
export function counterAt(values: CounterValues, time: number): number | null {
  let index = lowerBound(values.time, time);
  if (index >= values.time.length || values.time[index] > time) --index;
  return index >= 0 ? values.value[index] : null;
}

interface Area {
  width: number;
  top: number;
  height: number;
  color: string;
  ink: string;
}

export function drawCounter(
  context: CanvasRenderingContext2D, counter: Counter, values: CounterValues, view: View, area: Area,
): void {
  if (values.time.length === 0) return;
  const perPixel = (view.end_ns - view.start_ns) / area.width;
  const room = area.height - 5;
  const most = Math.max(counter.maximum, 1e-9);
  context.fillStyle = area.color;
  context.globalAlpha = 0.75;
  let from = Math.max(0, lowerBound(values.time, view.start_ns) - 1);
  let runStart = 0;
  let runValue = -1;
  const flush = (x: number): void => {
    const height = Math.max(runValue > 0 ? 1 : 0, (Math.max(0, runValue) / most) * room);
    if (height > 0 && x > runStart) context.fillRect(runStart, area.top + area.height - 1 - height, x - runStart, height);
    runStart = x;
  };
  for (let x = 0; x < area.width; ++x) {
    const end = view.start_ns + (x + 1) * perPixel;
    const to = lowerBound(values.time, end, from);
    const isBefore = values.time[0] >= end;
    const value = isBefore ? 0 : highestWithin(values, from, Math.max(to, from + 1));
    if (value !== runValue) {
      flush(x);
      runValue = value;
    }
    from = Math.max(from, to - 1);
  }
  flush(area.width);
  context.globalAlpha = 1;
  context.fillStyle = area.ink;
  context.fillText(`max ${formatFigure(counter.maximum, counter.unit)}`, 4, area.top + 9);
}
