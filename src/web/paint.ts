// A lane as one line of pixels, which the canvas stretches to the height of its row. Where events are wider than pixels
// they are drawn as they are; where many share a pixel it takes the colour of what took most of its time, as strong as
// the share of the pixel that was busy. The cost follows the pixels, not the events.
import { BIG_BLOCK, BLOCK, CLASSES, levelsOf, lowerBound, weightOf } from "./levels";
import type { LaneEvents } from "./state";

/** Which events of a lane stand out: those of the filter, or of the selected name. */
export interface Marks {
  readonly bits: Uint8Array; // 1: matches
  readonly blocks: Uint32Array; // how many matches there are before each block of BLOCK events; one longer
}

/** Colour of an event: 0xFFBBGGRR. */
export type ColorOf = (events: LaneEvents, index: number, cls: number) => number;

export interface PaintJob {
  events: LaneEvents;
  start_ns: number; // at the left edge, on the lane's clock
  perPixel_ns: number;
  marks: Marks | null; // of the filter: all others are dimmed
  colorOf: ColorOf;
  isUnder: boolean; // only where nothing is painted yet: lanes over each other
  onlyMarked: boolean; // leave out what is not marked, instead of dimming it
}

/** Events that are wide enough for a name, for who draws the text. */
export interface WideEvents {
  count: number;
  readonly index: Int32Array;
  readonly from: Float32Array; // pixels
  readonly to: Float32Array;
  readonly color: Uint32Array;
}

export const MOST_WIDE = 4096;
export const makeWideEvents = (): WideEvents => ({
  count: 0, index: new Int32Array(MOST_WIDE), from: new Float32Array(MOST_WIDE), to: new Float32Array(MOST_WIDE),
  color: new Uint32Array(MOST_WIDE),
});

const FULL = 235; // alpha of a busy pixel
const DIM = 46; // of one that the filter leaves out
const FAINTEST = 70; // a lone short event can still be seen
const STRIKING = 170; // of pixels with what people look for
const WIDE_PX = 1.5;

function put(line: Uint32Array, x: number, color: number, alpha: number, isUnder: boolean): void {
  if (isUnder && line[x] !== 0) return;
  line[x] = ((alpha << 24) | (color & 0xffffff)) >>> 0;
}

/** Paints a lane into `line`; wide events are appended to `wide`. */
export function paintLane(job: PaintJob, line: Uint32Array, wide: WideEvents | null, wideFrom_px: number): void {
  const { events, start_ns, perPixel_ns } = job;
  const width = line.length;
  const end_ns = start_ns + width * perPixel_ns;
  const narrow_ns = WIDE_PX * perPixel_ns;
  let i = lowerBound(events.end, start_ns);
  while (i < events.count && events.start[i] < end_ns) {
    if (events.end[i] - events.start[i] >= narrow_ns) {
      paintWide(job, i, line, wide, wideFrom_px);
      ++i;
      continue;
    }
    const x = Math.max(0, Math.floor((events.start[i] - start_ns) / perPixel_ns));
    if (x >= width) break;
    // The next pixel begins here; one event that is wide ends the pixel's share early.
    let j = lowerBound(events.start, start_ns + (x + 1) * perPixel_ns, i + 1);
    if (j - i > 1 && events.end[j - 1] - events.start[j - 1] >= narrow_ns) --j;
    paintPixel(job, i, j, x, line);
    i = j;
  }
}

function paintWide(job: PaintJob, i: number, line: Uint32Array, wide: WideEvents | null, wideFrom_px: number): void {
  const { events, start_ns, perPixel_ns, marks } = job;
  const left = (events.start[i] - start_ns) / perPixel_ns;
  const right = (events.end[i] - start_ns) / perPixel_ns;
  const from = Math.max(0, Math.round(left));
  const to = Math.min(line.length, Math.max(Math.round(right), from + 1));
  const color = job.colorOf(events, i, levelsOf(events).classes[i]);
  const isDim = marks !== null && marks.bits[i] === 0;
  if (isDim && job.onlyMarked) return;
  const busy = events.busyBefore[i + 1] - events.busyBefore[i];
  const share = busy / (events.end[i] - events.start[i]); // below 1: many short ones in one
  const alpha = isDim ? DIM : share > 0.999 ? FULL : Math.round(FAINTEST + (FULL - FAINTEST) * share);
  for (let x = from; x < to; ++x) put(line, x, color, alpha, job.isUnder);
  // The edge tells neighbours of one colour apart.
  if (to - from >= 3 && right <= line.length) put(line, to - 1, color, alpha >> 1, false);
  if (!wide || isDim || right - left < wideFrom_px || wide.count >= MOST_WIDE) return;
  const at = wide.count++;
  wide.index[at] = i;
  wide.from[at] = Math.max(0, left);
  wide.to[at] = Math.min(line.length, right);
  wide.color[at] = color;
}

const sums = new Float64Array(CLASSES);
const longestOf = new Uint32Array(CLASSES);
const seen: number[] = [];

function add(cls: number, weight: number, index: number, events: LaneEvents): void {
  if (sums[cls] === 0) {
    seen.push(cls);
    longestOf[cls] = index;
  } else if (events.end[index] - events.start[index] > events.end[longestOf[cls]] - events.start[longestOf[cls]]) {
    longestOf[cls] = index;
  }
  sums[cls] += weight;
}

function addBlocks(events: LaneEvents, i: number, j: number, size: number, classes: Uint8Array, longest: Uint32Array): void {
  const last = Math.floor((j - 1) / size);
  for (let block = Math.floor(i / size); block <= last; ++block) {
    const end = Math.min(events.count, (block + 1) * size);
    const cls = classes[block];
    add(cls, (events.busyBefore[end] - events.busyBefore[block * size] + 1) * weightOf(cls), longest[block], events);
  }
}

/** What took most of the time of events [i, j): its class is left in `best`, the longest event of it is returned. */
function dominant(events: LaneEvents, i: number, j: number): number {
  const levels = levelsOf(events);
  if (j - i <= BLOCK) {
    for (let k = i; k < j; ++k) {
      const cls = levels.classes[k];
      add(cls, (events.end[k] - events.start[k] + 1) * weightOf(cls), k, events);
    }
  } else if (j - i <= 2 * BIG_BLOCK) {
    addBlocks(events, i, j, BLOCK, levels.blockClass, levels.blockLongest);
  } else {
    addBlocks(events, i, j, BIG_BLOCK, levels.bigClass, levels.bigLongest);
  }
  let best = seen[0];
  for (const cls of seen) if (sums[cls] > sums[best]) best = cls;
  for (const cls of seen) sums[cls] = 0;
  seen.length = 0;
  return longestOf[best];
}

/** How many of events [i, j) are marked: exact in few, by blocks in many. */
export function markedWithin(marks: Marks, i: number, j: number): number {
  if (j - i > 2 * BLOCK) return marks.blocks[Math.ceil(j / BLOCK)] - marks.blocks[Math.floor(i / BLOCK)];
  let count = 0;
  for (let k = i; k < j; ++k) count += marks.bits[k];
  return count;
}

function firstMarked(marks: Marks, i: number, j: number): number {
  for (let k = i; k < j; ++k) if (marks.bits[k] === 1) return k;
  return i;
}

function paintPixel(job: PaintJob, i: number, j: number, x: number, line: Uint32Array): void {
  const { events, marks } = job;
  const share = Math.min(1, (events.busyBefore[j] - events.busyBefore[i]) / job.perPixel_ns);
  let alpha = Math.round(FAINTEST + (FULL - FAINTEST) * share);
  let index = j - i === 1 ? i : dominant(events, i, j);
  const cls = levelsOf(events).classes[index];
  if (weightOf(cls) > 1) alpha = Math.max(alpha, STRIKING);
  if (marks) {
    if (markedWithin(marks, i, j) === 0) {
      if (job.onlyMarked) return;
      alpha = Math.min(alpha, DIM);
    } else {
      alpha = FULL; // one match among thousands must be seen
      if (j - i <= 2 * BLOCK) index = firstMarked(marks, i, j);
    }
  }
  put(line, x, job.colorOf(events, index, levelsOf(events).classes[index]), alpha, job.isUnder);
}
