// A lane as one line of pixels, which the canvas stretches to the height of its row. Where events are wider than pixels
// they are drawn as they are; where many share a pixel it takes the colour of what took most of its time, as strong as
// the share of the pixel that was busy. The cost follows the pixels, not the events.
import { BIG_BLOCK, BLOCK, CLASSES, levelsOf, lowerBound, weightOf, type Blocks, type Levels, type Marks } from "../../shared/levels";
import type { LaneEvents } from "../../shared/state";

/** Colour of an event, which may stand for `count` of them in a pixel: 0xFFBBGGRR. */
export type ColorOf = (events: LaneEvents, index: number, cls: number, count: number) => number;

export interface PaintJob {
  events: LaneEvents;
  start_ns: number; // at the left edge, on the lane's clock
  perPixel_ns: number;
  marks: Marks | null; // of the filter: all others are dimmed
  colorOf: ColorOf;
  isUnder: boolean; // only where nothing is painted yet: lanes over each other
  onlyMarked: boolean; // leave out what is not marked, instead of dimming it
  cell_px: number; // what is shorter than this is drawn with its neighbours
}

/** Events that are wide enough for a name, for who draws the text. */
export interface WideEvents {
  count: number;
  readonly index: Int32Array;
  readonly from: Float32Array; // pixels
  readonly to: Float32Array;
  readonly color: Uint32Array;
}

export const MAX_WIDE = 4096;
export const makeWideEvents = (): WideEvents => ({
  count: 0, index: new Int32Array(MAX_WIDE), from: new Float32Array(MAX_WIDE), to: new Float32Array(MAX_WIDE),
  color: new Uint32Array(MAX_WIDE),
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
  const levels = levelsOf(events);
  const width = line.length;
  const end_ns = start_ns + width * perPixel_ns;
  const cell_ns = job.cell_px * perPixel_ns;
  const narrow_ns = Math.max(WIDE_PX * perPixel_ns, job.cell_px > 1 ? cell_ns : 0);
  let i = lowerBound(events.end, start_ns, 0, 1024);
  let last = 1;
  while (i < events.count && events.start[i] < end_ns) {
    if (events.end[i] - events.start[i] >= narrow_ns) {
      paintWide(job, levels, i, line, wide, wideFrom_px);
      ++i;
      continue;
    }
    const x = Math.max(0, Math.floor((events.start[i] - start_ns) / perPixel_ns));
    if (x >= width) break;
    // Cells are counted from the beginning of the run, so that they stay where they are when the view moves.
    const next_ns = job.cell_px > 1 ? (Math.floor(events.start[i] / cell_ns) + 1) * cell_ns : start_ns + (x + 1) * perPixel_ns;
    // The next pixel or cell begins there; one event that is wide ends its share early.
    let j = lowerBound(events.start, next_ns, i + 1, last);
    if (j - i > 1 && events.end[j - 1] - events.start[j - 1] >= narrow_ns) --j;
    if (job.cell_px > 1) paintCell(job, levels, i, j, line, narrow_ns);
    else paintPixel(job, levels, i, j, x, line);
    last = Math.max(1, (j - i) >> 1);
    i = j;
  }
}

function paintWide(
  job: PaintJob, levels: Levels, i: number, line: Uint32Array, wide: WideEvents | null, wideFrom_px: number,
): void {
  const { events, start_ns, perPixel_ns, marks } = job;
  const left = (events.start[i] - start_ns) / perPixel_ns;
  const right = (events.end[i] - start_ns) / perPixel_ns;
  const from = Math.max(0, Math.round(left));
  const to = Math.min(line.length, Math.max(Math.round(right), from + 1));
  const color = job.colorOf(events, i, levels.classes[i], 1);
  const isDim = marks !== null && marks.bits[i] === 0;
  if (isDim && job.onlyMarked) return;
  const busy = events.busyBefore[i + 1] - events.busyBefore[i];
  const share = busy / (events.end[i] - events.start[i]); // below 1: many short ones in one
  const alpha = isDim ? DIM : share > 0.999 ? FULL : Math.round(FAINTEST + (FULL - FAINTEST) * share);
  for (let x = from; x < to; ++x) put(line, x, color, alpha, job.isUnder);
  // The edge tells neighbours of one colour apart.
  if (to - from >= 3 && right <= line.length) put(line, to - 1, color, alpha >> 1, false);
  if (!wide || isDim || right - left < wideFrom_px || wide.count >= MAX_WIDE) return;
  const at = wide.count++;
  wide.index[at] = i;
  wide.from[at] = Math.max(0, left);
  wide.to[at] = Math.min(line.length, right);
  wide.color[at] = color;
}

const sums = new Float64Array(CLASSES);
const longestOf = new Uint32Array(CLASSES);
const lengthOf = new Float64Array(CLASSES);
const seen: number[] = [];

function add(cls: number, weight: number, index: number, length: number): void {
  if (sums[cls] === 0) {
    seen.push(cls);
    longestOf[cls] = index;
    lengthOf[cls] = length;
  } else if (length > lengthOf[cls]) {
    longestOf[cls] = index;
    lengthOf[cls] = length;
  }
  sums[cls] += weight;
}

function addBlocks(blocks: Blocks, from: number, to: number): void {
  for (let block = from; block < to; ++block) {
    add(blocks.cls[block], blocks.weight[block], blocks.longest[block], blocks.length[block]);
  }
}

/** Of what took most of the time of events [i, j): the longest. */
function dominant(events: LaneEvents, levels: Levels, i: number, j: number): number {
  if (j - i <= BLOCK) {
    for (let k = i; k < j; ++k) {
      const length = events.end[k] - events.start[k];
      const cls = levels.classes[k];
      add(cls, (length + 1) * weightOf(cls), k, length);
    }
  } else if (j - i <= 2 * BIG_BLOCK) {
    addBlocks(levels.blocks, Math.floor(i / BLOCK), Math.ceil(j / BLOCK));
  } else {
    addBlocks(levels.bigBlocks, Math.floor(i / BIG_BLOCK), Math.ceil(j / BIG_BLOCK));
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

function paintPixel(job: PaintJob, levels: Levels, i: number, j: number, x: number, line: Uint32Array): void {
  const { events, marks } = job;
  const share = Math.min(1, (events.busyBefore[j] - events.busyBefore[i]) / job.perPixel_ns);
  let alpha = Math.round(FAINTEST + (FULL - FAINTEST) * share);
  let index = j - i === 1 ? i : dominant(events, levels, i, j);
  if (weightOf(levels.classes[index]) > 1) alpha = Math.max(alpha, STRIKING);
  if (marks) {
    if (markedWithin(marks, i, j) === 0) {
      if (job.onlyMarked) return;
      alpha = Math.min(alpha, DIM);
    } else {
      alpha = FULL; // one match among thousands must be seen
      if (j - i <= 2 * BLOCK) index = firstMarked(marks, i, j);
    }
  }
  put(line, x, job.colorOf(events, index, levels.classes[index], j - i), alpha, job.isUnder);
}

/** The wide part of the pause that the slivers [i, j) are part of, too; -1: none. */
function widePartBeside(events: LaneEvents, i: number, j: number, narrow_ns: number): number {
  const isWide = (k: number): boolean => events.end[k] - events.start[k] >= narrow_ns;
  if (i > 0 && events.end[i - 1] === events.start[i] && isWide(i - 1)) return i - 1;
  if (j < events.count && events.end[j - 1] === events.start[j] && isWide(j)) return j;
  return -1;
}

/**
 * Slivers [i, j) as one bar, of the colour that took most of the time; those that touch a wide part of the same pause are
 * drawn as more of it.
 */
function paintCell(job: PaintJob, levels: Levels, i: number, j: number, line: Uint32Array, narrow_ns: number): void {
  const { events, marks, start_ns, perPixel_ns } = job;
  const marked = marks ? markedWithin(marks, i, j) : 0;
  if (marks && marked === 0 && job.onlyMarked) return;
  const beside = marks ? -1 : widePartBeside(events, i, j, narrow_ns);
  const index = beside >= 0 ? beside : marked > 0 && j - i <= 2 * BLOCK ? firstMarked(marks as Marks, i, j) : dominant(events, levels, i, j);
  const from = Math.max(0, Math.round((events.start[i] - start_ns) / perPixel_ns));
  const to = Math.min(line.length, Math.max(from + 1, Math.round((events.end[j - 1] - start_ns) / perPixel_ns)));
  const share = Math.min(1, (events.busyBefore[j] - events.busyBefore[i]) / Math.max(1, events.end[j - 1] - events.start[i], perPixel_ns));
  const bright = Math.round(FAINTEST + (FULL - FAINTEST) * share);
  const alpha = !marks ? bright : marked > 0 ? FULL : Math.min(bright, DIM);
  const color = job.colorOf(events, index, levels.classes[index], j - i);
  for (let x = from; x < to; ++x) put(line, x, color, alpha, job.isUnder);
}
