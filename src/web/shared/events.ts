// Questions about events that every part of the page asks: where an event is, what launched it, what runs at a time.
import { EVENT_KINDS, type EventKind, type Track, type TrackKind } from "./data";
import { lowerBound } from "./levels";
import type { EventDetails, LaneEvents, Run, RunLane, View } from "./state";

export interface Place {
  lane: RunLane;
  index: number;
}

export function placeOf(run: Run, event: number): Place {
  const lane = run.laneOf(event);
  return { lane, index: event - lane.events.first };
}

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
    ref: { timeline: run.index, event },
    name: run.data.names[events.name[index]] ?? "",
    kind: kindAt(events, index),
    start_ns: events.start[index],
    duration_ns: durationAt(events, index),
    track: lane.trackData,
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

const operationsOfCall = new WeakMap<Run, Map<number, number[]>>();

/** What a call launched: one operation, or all those of a graph. Found by looking at all operations, once for a call. */
export function operationsOf(run: Run, call: number): number[] {
  let known = operationsOfCall.get(run);
  if (!known) operationsOfCall.set(run, (known = new Map()));
  let found = known.get(call);
  if (found) return found;
  found = [];
  for (const { events, trackData } of run.lanes) {
    const calls = trackData.kind === "stream" ? events.more.get("call") : undefined;
    if (!calls) continue;
    for (let at = calls.indexOf(call + 1); at >= 0; at = calls.indexOf(call + 1, at + 1)) found.push(events.first + at);
  }
  found.sort((a, b) => describe(run, a).start_ns - describe(run, b).start_ns);
  known.set(call, found);
  return found;
}

/** The track itself, or the nearest around it, of a kind; -1: none. */
export function trackAround(tracks: readonly Track[], track: number, kind: TrackKind): number {
  for (let at = track; at >= 0; at = tracks[at].parent) if (tracks[at].kind === kind) return at;
  return -1;
}

/** "process 12 train › thread 14 › CUDA API" */
export function trackPath(tracks: readonly Track[], track: number): string {
  const parts: string[] = [];
  for (let at = track; at >= 0; at = tracks[at].parent) parts.unshift(tracks[at].label);
  return parts.join(" › ");
}

/** Lanes of a device's (or any group's) streams. */
export function lanesUnder(run: Run, group: number, kind: TrackKind): RunLane[] {
  return run.lanes.filter((lane) => {
    if (lane.trackData.kind !== kind) return false;
    for (let at = lane.track; at >= 0; at = run.data.tracks[at].parent) if (at === group) return true;
    return false;
  });
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
  for (const { events, trackData } of run.lanes) {
    if (trackData.kind !== "stream" || events.count === 0) continue;
    start_ns = Math.min(start_ns, events.start[0]);
    end_ns = Math.max(end_ns, events.end[events.count - 1]);
  }
  return end_ns >= start_ns ? { start_ns, end_ns } : null;
}
