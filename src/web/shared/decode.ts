// The events of a page: columns of numbers → lanes. It runs in slices of a few milliseconds, so that the page is painted
// and answers while millions of events are read.
import type { ColumnRef, Counter, Lane, PageData, Timeline } from "./data";
import { prepareLevels } from "./levels";
import { inflated, packedOf, pause, Slices, textOf } from "./packed";
import { laneWith, projectRanges, withRows } from "./projection";
import type { Column, Columns, CounterValues, LaneEvents, Run, RunLane, StackColumns } from "./state";

const CHUNK = 1 << 15; // values between two looks at the clock

const VERSION = 3;

/** What is shown before any event is read. Rejects with an Error that says what is wrong with the file. */
export async function readPage(): Promise<PageData> {
  const packed = await packedOf("page", new Slices());
  if (!packed) throw new Error("the data of this page is missing: the file is not complete");
  const page = JSON.parse(await textOf(packed)) as PageData;
  if (page.version !== VERSION) throw new Error(`the data of this page has version ${String(page.version)}, its script expects ${VERSION}`);
  return page;
}

async function inflate(packed: Uint8Array, size: number): Promise<Uint8Array> {
  const reader = inflated(packed).getReader();
  const out = new Uint8Array(size);
  let filled = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (filled + value.length > size) throw new Error("the events are longer than the page says");
    out.set(value, filled);
    filled += value.length;
  }
  if (filled !== size) throw new Error(`the events are cut off: ${filled} of ${size} bytes`);
  return out;
}

// ---- columns

// Each reads `to - from` values at `at` and returns where the next one is. Most values are small, so that one
// byte is tried first; beyond 28 bits shifts would lose bits.
function readVarints(bytes: Uint8Array, at: number, out: Column, from: number, to: number): number {
  for (let i = from; i < to; ++i) {
    let byte = bytes[at++];
    let value = byte & 127;
    for (let factor = 128; byte & 128; factor *= 128) {
      byte = bytes[at++];
      value += (byte & 127) * factor;
    }
    out[i] = value;
  }
  return at;
}

const signed = (value: number): number => (value % 2 === 1 ? -(value + 1) / 2 : value / 2);

function unzigzag(out: Column, from: number, to: number): void {
  for (let i = from; i < to; ++i) out[i] = signed(out[i]);
}

function sumUp(out: Column, from: number, to: number): void {
  let last = from > 0 ? out[from - 1] : 0;
  for (let i = from; i < to; ++i) out[i] = last += signed(out[i]);
}

/** A whole column, at once. */
export function decodeColumn(bytes: Uint8Array, column: ColumnRef, count: number): Column {
  if (column.coding === "byte") return bytes.subarray(column.offset, column.offset + count);
  const wide = new Float64Array(count);
  readVarints(bytes, column.offset, wide, 0, count);
  if (column.coding === "delta") sumUp(wide, 0, count);
  if (column.coding === "zigzag") unzigzag(wide, 0, count);
  for (let i = 0; i < count; ++i) if (wide[i] > 0xffffffff || wide[i] < 0) return wide;
  return Uint32Array.from(wide);
}

/** undefined: the blob has no such column, as all of it is zero. */
function columnOf(bytes: Uint8Array, columns: readonly ColumnRef[], name: string, count: number): Column | undefined {
  const ref = columns.find((c) => c.name === name);
  return ref && decodeColumn(bytes, ref, count);
}

function lazyColumns(bytes: Uint8Array, { columns, count }: Lane): Columns {
  const decoded = new Map<string, Column | undefined>();
  return {
    get: (name) => {
      if (!decoded.has(name)) decoded.set(name, columnOf(bytes, columns, name, count));
      return decoded.get(name);
    },
  };
}

async function readSliced(bytes: Uint8Array, lane: Lane, name: string, out: Column, slices: Slices): Promise<void> {
  const ref = lane.columns.find((c) => c.name === name);
  if (!ref) return;
  let at = ref.offset;
  for (let from = 0; from < lane.count; from += CHUNK) {
    at = readVarints(bytes, at, out, from, Math.min(lane.count, from + CHUNK));
    await slices.rest();
  }
}

async function decodeLane(bytes: Uint8Array, lane: Lane, slices: Slices): Promise<LaneEvents> {
  const count = lane.count;
  const more = lazyColumns(bytes, lane);
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  const name = new Uint32Array(count);
  const busyBefore = new Float64Array(count + 1);
  await readSliced(bytes, lane, "gap", start, slices);
  await readSliced(bytes, lane, "duration", end, slices);
  await readSliced(bytes, lane, "name", name, slices);
  const busy = more.get("busy");
  let time = 0;
  let sum = 0;
  for (let i = 0; i < count; ++i) {
    const duration = end[i];
    start[i] = time += start[i];
    end[i] = time += duration;
    busyBefore[i] = sum;
    sum += busy ? busy[i] : duration;
    if (i % CHUNK === 0) await slices.rest();
  }
  busyBefore[count] = sum;
  const kind = (more.get("kind") as Uint8Array | undefined) ?? new Uint8Array(count);
  return { count, first: lane.first, start, end, name, kind, busyBefore, more };
}

function decodeCounter(bytes: Uint8Array, counter: Counter): CounterValues {
  const { columns, count, scale = 0 } = counter;
  const read = (name: string): Float64Array => Float64Array.from(columnOf(bytes, columns, name, count) ?? new Uint8Array(count));
  const time = read("time");
  const isSummed = columns.some((c) => c.name === "time" && c.coding === "delta");
  for (let i = 1; i < time.length && !isSummed; ++i) time[i] += time[i - 1];
  const unit = 10 ** Math.abs(scale); // divided by, so that 0.1 is 0.1
  const [raw, missing, below, above] = ["value", "missing", "below", "above"].map(read);
  const scaled = (difference: (i: number) => number): Float64Array => raw.map((value, i) => {
    if (missing[i]) return NaN;
    return scale < 0 ? (value + difference(i)) / unit : (value + difference(i)) * unit;
  });
  const value = scaled(() => 0);
  if (!columns.some((c) => c.name === "below" || c.name === "above")) return { time, value, low: value, high: value };
  return { time, value, low: scaled((i) => -below[i]), high: scaled((i) => above[i]) };
}

function stacksOf(bytes: Uint8Array, { stacks }: Timeline): StackColumns | null {
  if (!stacks || stacks.count === 0) return null;
  const read = (name: string): Column => columnOf(bytes, stacks.columns, name, stacks.count) ?? new Uint8Array(stacks.count);
  return { parent: read("parent"), name: read("name"), kind: read("kind") };
}

/** The events of one timeline out of its inflated blob. */
export async function decodeTimeline(index: number, data: Timeline, bytes: Uint8Array, slices: Slices): Promise<Run> {
  const lanes: RunLane[] = [];
  const counters: (CounterValues | null)[] = [];
  for (const [track, trackData] of data.tracks.entries()) {
    for (const lane of trackData.lanes) {
      if (lane.count === 0) continue;
      const events = await decodeLane(bytes, lane, slices);
      await prepareLevels(events, data.names, slices);
      lanes.push({ track, trackData, depth: lane.depth, events });
    }
    counters.push(trackData.counter ? decodeCounter(bytes, trackData.counter) : null);
  }
  lanes.sort((a, b) => a.events.first - b.events.first);
  const rows = await projectRanges(data, lanes, slices);
  for (const row of rows) await prepareLevels(row.events, data.names, slices);
  const [allLanes, allCounters] = withRows(data, rows, lanes, counters);
  return { index, data, lanes: allLanes, counters: allCounters, stacks: stacksOf(bytes, data), laneOf: (event) => laneWith(allLanes, event) };
}

function whenParsed(): Promise<void> {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("DOMContentLoaded", () => resolve(), { once: true }));
}

/** All timelines of the page. Rejects with an Error that says what is wrong with the file. */
export async function decodePage(page: PageData): Promise<Run[]> {
  await whenParsed();
  const slices = new Slices();
  const runs: Run[] = [];
  for (const [index, data] of page.timelines.entries()) {
    await pause();
    const packed = await packedOf(`events-${index}`, slices);
    if (!packed) throw new Error("the events are not in this file");
    const bytes = await inflate(packed, data.blob_bytes);
    runs.push(await decodeTimeline(index, data, bytes, slices));
  }
  return runs;
}
