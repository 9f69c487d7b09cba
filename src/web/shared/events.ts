// Questions about events that every part of the page asks: where an event is, what launched it, what runs at a time.
import { EVENT_KINDS, type EventKind, type Track, type TrackKind } from "./data";
import { lowerBound } from "./levels";
import { remembered } from "./remembered";
import type { EventDetails, EventRef, LaneEvents, Run, RunLane, View } from "./state";

export interface Place {
  lane: RunLane;
  index: number;
}

export function placeOf(run: Run, event: number): Place {
  const lane = run.laneOf(event);
  return { lane, index: event - lane.events.first };
}

export const refOf = (run: Run, lane: RunLane, index: number): EventRef => ({ timeline: run.index, event: lane.events.first + index });

/** Whether the run has an event of this number: links and tables may say anything. */
export function isEvent(run: Run | undefined, event: number): boolean {
  if (!run || run.lanes.length === 0 || !Number.isInteger(event) || event < 0) return false;
  const { lane, index } = placeOf(run, event);
  return index >= 0 && index < lane.events.count;
}

export const kindAt = (events: LaneEvents, index: number): EventKind => EVENT_KINDS[events.kind[index]] ?? "api_other";
export const durationAt = (events: LaneEvents, index: number): number => events.end[index] - events.start[index];

export function describe(run: Run, event: number): EventDetails {
  const { lane, index } = placeOf(run, event);
  const events = lane.events;
  return {
    ref: refOf(run, lane, index),
    name: run.data.names[events.name[index]] ?? "",
    kind: kindAt(events, index),
    start_ns: events.start[index],
    end_ns: events.end[index],
    duration_ns: durationAt(events, index),
    track: lane.trackData,
    lane,
    index,
  };
}

/** A column's value; 0 where the lane has no such column. */
export function valueOf(run: Run, event: number, column: string): number {
  const { lane, index } = placeOf(run, event);
  return lane.events.more.get(column)?.[index] ?? 0;
}

/** The event that a column of numbers refers to; null: none. */
function referenceOf(run: Run, event: number, column: string): number | null {
  const value = valueOf(run, event, column);
  return value > 0 && isEvent(run, value - 1) ? value - 1 : null;
}

export const callOf = (run: Run, operation: number): number | null => referenceOf(run, operation, "call");
export const rangeOf = (run: Run, call: number): number | null => referenceOf(run, call, "range");
export const nextOf = (run: Run, gap: number): number | null => referenceOf(run, gap, "next");
export const blameOf = (run: Run, gap: number): number | null => referenceOf(run, gap, "blame");

const operationsByCall = remembered((_: Run) => new Map<number, number[]>());

/** What a call launched: one operation, or all those of a graph. Found by looking at all operations, once for a call. */
export function operationsOf(run: Run, call: number): number[] {
  const known = operationsByCall(run);
  let found = known.get(call);
  if (found) return found;
  found = [];
  for (const { events } of lanesOfKind(run, "stream")) {
    const calls = events.more.get("call");
    for (let at = calls?.indexOf(call + 1) ?? -1; at >= 0; at = calls!.indexOf(call + 1, at + 1)) found.push(events.first + at);
  }
  found.sort((a, b) => describe(run, a).start_ns - describe(run, b).start_ns);
  known.set(call, found);
  return found;
}

/** The track and those around it, the outermost last. */
export function tracksAround(tracks: readonly { parent: number }[], track: number): number[] {
  const found: number[] = [];
  for (let at = track; at >= 0; at = tracks[at].parent) found.push(at);
  return found;
}

/** The track itself, or the nearest around it, of a kind; -1: none. */
export function trackAround(tracks: readonly Track[], track: number, kind: TrackKind): number {
  return tracksAround(tracks, track).find((at) => tracks[at].kind === kind) ?? -1;
}

export function lanesOfKind(run: Run, ...kinds: TrackKind[]): RunLane[] {
  return run.lanes.filter((lane) => kinds.includes(lane.trackData.kind));
}

/** Lanes of a device's (or any group's) streams. */
export function lanesUnder(run: Run, group: number, kind: TrackKind): RunLane[] {
  return lanesOfKind(run, kind).filter((lane) => tracksAround(run.data.tracks, lane.track).includes(group));
}

/** The lane whose events are around those of this one; undefined: it is the outermost. */
export function outerLane(lanes: readonly RunLane[], { track, depth }: RunLane): RunLane | undefined {
  return lanes.find((other) => other.track === track && other.depth === depth - 1);
}

/** A gap is split by cause: the parts follow each other without anything between. */
export function partsOfGap({ start, end, count }: LaneEvents, index: number): { first: number; last: number } {
  let first = index;
  let last = index;
  while (first > 0 && end[first - 1] === start[first]) --first;
  while (last + 1 < count && start[last + 1] === end[last]) ++last;
  return { first, last };
}

/** Events of the lanes that overlap [from, to), at most `most` of them. */
export function overlapping(lanes: readonly RunLane[], from: number, to: number, most: number): number[] {
  const found: number[] = [];
  for (const { events } of lanes) {
    let index = lowerBound(events.end, from);
    while (index < events.count && events.end[index] <= from) ++index; // ended just then
    for (; index < events.count && events.start[index] < to && found.length < most; ++index) {
      found.push(events.first + index);
    }
  }
  return found;
}

/** From the first to the last operation on a GPU; null: there is none. */
export function gpuWork(run: Run): View | null {
  let [start_ns, end_ns] = [Infinity, -Infinity];
  for (const { events } of lanesOfKind(run, "stream")) {
    start_ns = Math.min(start_ns, events.start[0]);
    end_ns = Math.max(end_ns, events.end[events.count - 1]);
  }
  return end_ns >= start_ns ? { start_ns, end_ns } : null;
}
