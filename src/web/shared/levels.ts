// Level of detail: what stretches of 32 and of 1024 events look like from afar, so that the cost of a frame follows its
// pixels. Which part of a stretch is busy comes from LaneEvents.busyBefore; here is what it was busy with.
import { CAUSES } from "./labels";
import type { LaneEvents } from "./state";

export const BLOCK = 32; // events
const SHIFT = 5;
export const BIG_BLOCK = BLOCK * BLOCK;

/** Events are painted by class: their kind, or for idle time FIRST_CAUSE + its cause. */
export const FIRST_CAUSE = 40;
export const CLASSES = 64;
const GAP = 22;
const PAGEABLE_H2D = 23;
const PAGEABLE_D2H = 24;

/** Stretches of one size, summed up. All that a pixel asks is here, next to each other: the events themselves are far apart. */
export interface Blocks {
  readonly cls: Uint8Array; // the class with most of the time, pageable copies counted four times
  readonly weight: Float32Array; // its time
  readonly longest: Uint32Array; // the longest event of that class
  readonly length: Float32Array; // its duration
}

export interface Levels {
  readonly classes: Uint8Array; // of events
  readonly blocks: Blocks;
  readonly bigBlocks: Blocks;
}

function makeBlocks(count: number): Blocks {
  return {
    cls: new Uint8Array(count), weight: new Float32Array(count), longest: new Uint32Array(count), length: new Float32Array(count),
  };
}

const levels = new WeakMap<LaneEvents, Levels>();

/** What a class weighs where several share a pixel: pageable copies are what people look for. */
export const weightOf = (cls: number): number => (cls === PAGEABLE_H2D || cls === PAGEABLE_D2H ? 4 : 1);

function classesOf(events: LaneEvents, names: readonly string[]): Uint8Array {
  if (events.count === 0 || events.kind[0] !== GAP) return events.kind;
  const classes = new Uint8Array(events.count);
  const unknown = CAUSES.length - 1;
  const known = new Map<number, number>();
  for (let i = 0; i < events.count; ++i) {
    const name = events.name[i];
    let cause = known.get(name);
    if (cause === undefined) {
      cause = (CAUSES as readonly string[]).indexOf(names[name]);
      known.set(name, (cause = cause < 0 ? unknown : cause));
    }
    classes[i] = FIRST_CAUSE + cause;
  }
  return classes;
}

const sums = new Float64Array(CLASSES);

function summarise(events: LaneEvents, classes: Uint8Array, block: number, into: Blocks): void {
  const from = block << SHIFT;
  const to = Math.min(events.count, from + BLOCK);
  let best = classes[from];
  for (let i = from; i < to; ++i) {
    const cls = classes[i];
    sums[cls] += (events.end[i] - events.start[i] + 1) * weightOf(cls);
    if (sums[cls] > sums[best]) best = cls;
  }
  into.cls[block] = best;
  into.weight[block] = sums[best];
  let length = -1;
  for (let i = from; i < to; ++i) {
    sums[classes[i]] = 0;
    const duration = events.end[i] - events.start[i];
    if (classes[i] !== best || duration <= length) continue;
    length = duration;
    into.longest[block] = i;
  }
  into.length[block] = length;
}

function summariseBig(blocks: Blocks, big: number, into: Blocks): void {
  const from = big << SHIFT;
  const to = Math.min(blocks.cls.length, from + BLOCK);
  let best = blocks.cls[from];
  for (let block = from; block < to; ++block) {
    const cls = blocks.cls[block];
    sums[cls] += blocks.weight[block];
    if (sums[cls] > sums[best]) best = cls;
  }
  into.cls[big] = best;
  into.weight[big] = sums[best];
  let length = -1;
  for (let block = from; block < to; ++block) {
    sums[blocks.cls[block]] = 0;
    if (blocks.cls[block] !== best || blocks.length[block] <= length) continue;
    length = blocks.length[block];
    into.longest[big] = blocks.longest[block];
  }
  into.length[big] = length;
}

/** Made while events are read: `rest` gives the browser its turn. */
export async function prepareLevels(
  events: LaneEvents, names: readonly string[], slices: { rest(): Promise<void> },
): Promise<Levels> {
  const classes = classesOf(events, names);
  const blocks = makeBlocks(Math.ceil(events.count / BLOCK));
  const bigBlocks = makeBlocks(Math.ceil(events.count / BIG_BLOCK));
  for (let block = 0; block < blocks.cls.length; ++block) {
    summarise(events, classes, block, blocks);
    if (block % 512 === 0) await slices.rest();
  }
  for (let big = 0; big < bigBlocks.cls.length; ++big) summariseBig(blocks, big, bigBlocks);
  const made = { classes, blocks, bigBlocks };
  levels.set(events, made);
  return made;
}

export function levelsOf(events: LaneEvents): Levels {
  const made = levels.get(events);
  if (!made) throw new Error("a lane without its levels of detail");
  return made;
}

/** Which events of a lane stand out: those of the filter, or of the selected name. */
export interface Marks {
  readonly bits: Uint8Array; // 1: matches
  readonly blocks: Uint32Array; // how many matches there are before each block of BLOCK events; one longer
}

export function markEvents({ count }: LaneEvents, isMarked: (index: number) => boolean): Marks {
  const bits = new Uint8Array(count);
  const blocks = new Uint32Array(Math.ceil(count / BLOCK) + 1);
  let sum = 0;
  for (let i = 0; i < count; ++i) {
    if (i % BLOCK === 0) blocks[i / BLOCK] = sum;
    if (!isMarked(i)) continue;
    bits[i] = 1;
    ++sum;
  }
  blocks[blocks.length - 1] = sum;
  return { bits, blocks };
}

export const markCount = ({ blocks }: Marks): number => blocks[blocks.length - 1];

// ---- searching in a lane: its events are sorted and disjoint, so that starts and ends both ascend

/**
 * The first index with values[index] >= time, from `from` on: steps double, then halve, as what is looked for is near.
 * `step` is the first of them: about as far as it was the last time.
 */
export function lowerBound(values: Float64Array, time: number, from = 0, step = 1): number {
  const count = values.length;
  if (from >= count || values[from] >= time) return from;
  let low = from; // values[low] < time
  while (low + step < count && values[low + step] < time) {
    low += step;
    step *= 2;
  }
  let high = Math.min(count, low + step);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] < time) low = middle;
    else high = middle;
  }
  return high;
}

/** The event that runs at `time`, or -1. An event without duration runs at its start. */
export function eventAt(events: LaneEvents, time: number): number {
  const index = lowerBound(events.end, time);
  if (index < events.count && events.start[index] <= time) return index;
  return -1;
}

/** Busy ns of the lane within [from, to). */
export function busyWithin(events: LaneEvents, from: number, to: number): number {
  return busyUntil(events, to) - busyUntil(events, from);
}

function busyUntil(events: LaneEvents, time: number): number {
  const index = lowerBound(events.end, time); // the first that ends at or after `time`
  if (index >= events.count) return events.busyBefore[events.count];
  const start = events.start[index];
  if (start >= time) return events.busyBefore[index];
  const duration = events.end[index] - start;
  const busy = events.busyBefore[index + 1] - events.busyBefore[index];
  return events.busyBefore[index] + (busy * (time - start)) / duration;
}
