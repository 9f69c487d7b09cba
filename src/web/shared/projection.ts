// NVTX ranges projected onto the GPUs: a row beneath each device with, for each range, the time from the first to the last
// operation that was launched in it. It follows from the calls that operations refer to, so that the file has no bytes for it.
import { EVENT_KINDS, type Timeline, type Track } from "./data";
import { outerLane, tracksAround } from "./events";
import { lowerBound } from "./levels";
import type { Column, CounterValues, LaneEvents, RunLane } from "./state";

interface Span {
  range: number; // the NVTX range on the host
  start: number;
  end: number;
  busy: number; // sum of the operations' durations
  operations: number;
}

type Spans = Map<number, Span>; // by range

/** The lane that has the event: lanes come by their first event. */
export function laneWith(lanes: readonly RunLane[], event: number): RunLane {
  let low = 0;
  let high = lanes.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (lanes[middle].events.first <= event) low = middle;
    else high = middle;
  }
  return lanes[low];
}

function include(spans: Spans, span: Span): void {
  const known = spans.get(span.range);
  if (!known) {
    spans.set(span.range, { ...span });
    return;
  }
  known.start = Math.min(known.start, span.start);
  known.end = Math.max(known.end, span.end);
  known.busy += span.busy;
  known.operations += span.operations;
}

/** The innermost range around the call that launched each operation. */
function addOperations(lane: RunLane, lanes: readonly RunLane[], spans: Spans): void {
  const { events } = lane;
  const calls = events.more.get("call");
  if (!calls) return;
  const counts = events.more.get("count");
  const busyBefore = events.busyBefore;
  let from: RunLane | null = null; // most calls are of the lane of the one before
  for (let i = 0; i < events.count; ++i) {
    const call = calls[i] - 1;
    if (call < 0) continue;
    if (!from || call < from.events.first || call >= from.events.first + from.events.count) from = laneWith(lanes, call);
    const range = (from.events.more.get("range")?.[call - from.events.first] ?? 0) - 1;
    if (range < 0) continue;
    include(spans, {
      range, start: events.start[i], end: events.end[i], busy: busyBefore[i + 1] - busyBefore[i], operations: Math.max(1, counts?.[i] ?? 1),
    });
  }
}

/** The range around another on its thread; -1: none. */
function rangeAround(range: number, lanes: readonly RunLane[], outer: ReadonlyMap<RunLane, RunLane | undefined>): number {
  const lane = laneWith(lanes, range);
  const around = outer.get(lane);
  if (!around) return -1;
  const index = range - lane.events.first;
  const { start, end } = lane.events;
  const at = lowerBound(around.events.end, Math.max(start[index], end[index]), 0, 1024);
  return at < around.events.count && around.events.start[at] <= start[index] ? around.events.first + at : -1;
}

/** Outer ranges have what was launched in those within them. */
function addOuter(spans: Spans, lanes: readonly RunLane[], outer: ReadonlyMap<RunLane, RunLane | undefined>): void {
  const byDepth: number[][] = [];
  const put = (range: number): void => void (byDepth[laneWith(lanes, range).depth] ??= []).push(range);
  for (const range of spans.keys()) put(range);
  for (let depth = byDepth.length - 1; depth > 0; --depth) {
    for (const range of byDepth[depth] ?? []) {
      const around = rangeAround(range, lanes, outer);
      const span = spans.get(range);
      if (around < 0 || !span) continue;
      if (!spans.has(around)) put(around);
      include(spans, { ...span, range: around });
    }
  }
}

/** Each as deep as its range or deeper, so that none overlaps another. */
function lanesOf(spans: Spans, lanes: readonly RunLane[]): Span[][] {
  const depthOf = (span: Span): number => laneWith(lanes, span.range).depth;
  const sorted = [...spans.values()].sort((a, b) => a.start - b.start || depthOf(a) - depthOf(b) || a.range - b.range);
  const rows: Span[][] = [];
  for (const span of sorted) {
    let depth = depthOf(span);
    while (rows[depth]?.length && rows[depth][rows[depth].length - 1].end > span.start) ++depth;
    while (rows.length <= depth) rows.push([]);
    rows[depth].push(span);
  }
  return rows;
}

function eventsOf(spans: readonly Span[], first: number, lanes: readonly RunLane[]): LaneEvents {
  const count = spans.length;
  const name = new Uint32Array(count);
  const color = new Uint32Array(count);
  const busyBefore = new Float64Array(count + 1);
  for (const [i, { range, start, end }] of spans.entries()) {
    const { events } = laneWith(lanes, range);
    name[i] = events.name[range - events.first];
    color[i] = events.more.get("color")?.[range - events.first] ?? 0;
    busyBefore[i + 1] = busyBefore[i] + end - start;
  }
  return {
    count, first, name, busyBefore,
    start: Float64Array.from(spans, (s) => s.start), end: Float64Array.from(spans, (s) => s.end),
    kind: new Uint8Array(count).fill(EVENT_KINDS.indexOf("projection")),
    more: new Map<string, Column>([
      ["color", color], ["range", Uint32Array.from(spans, (s) => s.range + 1)], ["operations", Uint32Array.from(spans, (s) => s.operations)],
      ["operations_ns", Float64Array.from(spans, (s) => s.busy)],
    ]),
  };
}

/** The rows' lanes, numbered behind the events of the file; `track` is the device that they are to be beneath. */
export async function projectRanges(data: Timeline, lanes: readonly RunLane[], slices: { rest(): Promise<void> }): Promise<RunLane[]> {
  const outer = new Map(lanes.filter(({ trackData }) => trackData.kind === "nvtx").map((lane) => [lane, outerLane(lanes, lane)]));
  const made: RunLane[] = [];
  let first = lanes.reduce((end, { events }) => Math.max(end, events.first + events.count), 0);
  for (const [device, { kind }] of data.tracks.entries()) {
    if (kind !== "device") continue;
    const spans: Spans = new Map();
    for (const lane of lanes) {
      if (lane.trackData.kind === "stream" && tracksAround(data.tracks, lane.track).includes(device)) addOperations(lane, lanes, spans);
      await slices.rest();
    }
    addOuter(spans, lanes, outer);
    const trackData: Track = {
      kind: "projection", label: "NVTX (GPU)", detail: "from the first to the last operation of each range",
      parent: device, lanes: [], counter: null,
    };
    for (const [depth, row] of lanesOf(spans, lanes).entries()) {
      await slices.rest();
      if (row.length === 0) continue;
      const events = eventsOf(row, first, lanes);
      trackData.lanes.push({ count: events.count, first, depth, columns: [] });
      made.push({ track: device, trackData, depth, events });
      first += events.count;
    }
  }
  return made;
}

/** Puts the rows' tracks above the streams of their devices: tracks behind them are numbered anew. */
export function withRows(
  data: Timeline, rows: readonly RunLane[], lanes: readonly RunLane[], counters: readonly (CounterValues | null)[],
): [RunLane[], (CounterValues | null)[]] {
  const old = data.tracks;
  const newOf = new Map<Track, number>();
  const tracks: Track[] = [];
  const allCounters: (CounterValues | null)[] = [];
  const put = (track: Track, values: CounterValues | null): void => {
    newOf.set(track, tracks.length);
    tracks.push(track);
    allCounters.push(values);
  };
  const waiting = new Map(rows.map((row) => [row.track, row.trackData])); // by device
  for (const [i, track] of old.entries()) {
    const row = track.kind === "stream" ? waiting.get(track.parent) : undefined;
    if (row) {
      put(row, null);
      waiting.delete(track.parent);
    }
    put(track, counters[i]);
  }
  const parents = tracks.map(({ parent }) => (parent < 0 ? -1 : newOf.get(old[parent]) ?? -1));
  for (const [i, track] of tracks.entries()) track.parent = parents[i];
  data.tracks = tracks;
  return [[...lanes, ...rows].map((lane) => ({ ...lane, track: newOf.get(lane.trackData) ?? lane.track })), allCounters];
}
