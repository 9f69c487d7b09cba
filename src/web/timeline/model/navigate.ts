// Walking from event to event: the next of a name, the longest, the next gap, the next match of the filter.
import { durationAt, lanesOfKind, placeOf, refOf } from "../../shared/events";
import { isProjected, type Matches } from "../../shared/filter";
import { lowerBound, markCount, markEvents, type Marks } from "../../shared/levels";
import type { EventRef, Run, RunLane } from "../../shared/state";

type Accept = (lane: RunLane, index: number) => boolean;
export type Direction = 1 | -1;

interface Found {
  ref: EventRef;
  start_ns: number;
}

/** In time, then in the order of lanes: so that events that start together are all visited. */
function isBeyond(found: { start_ns: number; event: number }, from: { start_ns: number; event: number }, direction: Direction): boolean {
  if (found.start_ns !== from.start_ns) return (found.start_ns - from.start_ns) * direction > 0;
  return (found.event - from.event) * direction > 0;
}

/** The nearest accepted event before or after (time, event) in any of the lanes. */
function step(run: Run, lanes: readonly RunLane[], from: { start_ns: number; event: number }, direction: Direction, accept: Accept): EventRef | null {
  let best: Found | null = null;
  for (const lane of lanes) {
    const { events } = lane;
    let i = lowerBound(events.start, from.start_ns);
    if (direction < 0) while (i < events.count && events.start[i] === from.start_ns) ++i;
    for (i = direction > 0 ? i : i - 1; i >= 0 && i < events.count; i += direction) {
      const start_ns = events.start[i];
      if (best && (start_ns - best.start_ns) * direction > 0) break;
      const event = events.first + i;
      if (!accept(lane, i) || !isBeyond({ start_ns, event }, from, direction)) continue;
      if (!best || isBeyond({ start_ns: best.start_ns, event: best.ref.event }, { start_ns, event }, direction)) {
        best = { ref: refOf(run, lane, i), start_ns };
      }
      break;
    }
  }
  return best?.ref ?? null;
}

function longestOf(run: Run, lanes: readonly RunLane[], accept: Accept): EventRef | null {
  let best: EventRef | null = null;
  let length = -1;
  for (const lane of lanes) {
    for (let i = 0; i < lane.events.count; ++i) {
      const duration = durationAt(lane.events, i);
      if (duration <= length || !accept(lane, i)) continue;
      length = duration;
      best = refOf(run, lane, i);
    }
  }
  return best;
}

/** Where to walk from: the selected event, else a time. */
function origin(run: Run, selection: EventRef | null, time_ns: number): { start_ns: number; event: number } {
  if (selection?.timeline !== run.index) return { start_ns: time_ns, event: -1 };
  const { lane, index } = placeOf(run, selection.event);
  return { start_ns: lane.events.start[index], event: selection.event };
}

function sameName(run: Run, selection: EventRef): { lanes: RunLane[]; accept: Accept } {
  const { lane, index } = placeOf(run, selection.event);
  const name = lane.events.name[index];
  return { lanes: lanesOfKind(run, lane.trackData.kind), accept: (l, i) => l.events.name[i] === name };
}

export function nextSameName(run: Run, selection: EventRef, direction: Direction): EventRef | null {
  const { lanes, accept } = sameName(run, selection);
  return step(run, lanes, origin(run, selection, 0), direction, accept);
}

export function longestSameName(run: Run, selection: EventRef): EventRef | null {
  const { lanes, accept } = sameName(run, selection);
  return longestOf(run, lanes, accept);
}

/** Events with the name of another one, on tracks of its kind, by run: they are underlined. */
export function findSameName(runs: readonly Run[], ref: EventRef): ReadonlyMap<RunLane, Marks>[] {
  const { lane: own, index } = placeOf(runs[ref.timeline], ref.event);
  const text = runs[ref.timeline].data.names[own.events.name[index]];
  return runs.map((run) => {
    const name = run.index === ref.timeline ? own.events.name[index] : run.data.names.indexOf(text);
    const lanes = lanesOfKind(run, own.trackData.kind).map((lane): [RunLane, Marks] => [lane, markEvents(lane.events, (i) => lane.events.name[i] === name)]);
    return new Map(lanes.filter(([, marks]) => markCount(marks) > 0));
  });
}

const gapLanes = (run: Run): RunLane[] => lanesOfKind(run, "gaps");

export function nextGap(run: Run, selection: EventRef | null, time_ns: number, direction: Direction): EventRef | null {
  return step(run, gapLanes(run), origin(run, selection, time_ns), direction, () => true);
}

export const longestGap = (run: Run): EventRef | null => longestOf(run, gapLanes(run), () => true);

const lanesOf = (matches: Matches): RunLane[] => [...matches.marks.keys()].filter((lane) => !isProjected(lane));

export function nextMatch(run: Run, matches: Matches, selection: EventRef | null, time_ns: number, direction: Direction): EventRef | null {
  const accept: Accept = (lane, i) => matches.marks.get(lane)?.bits[i] === 1;
  return step(run, lanesOf(matches), origin(run, selection, time_ns), direction, accept);
}

export const longestMatch = (run: Run, matches: Matches): EventRef | null =>
  longestOf(run, lanesOf(matches), (lane, i) => matches.marks.get(lane)?.bits[i] === 1);

/** The event beside another on its own lane. */
export function neighbour(run: Run, event: number, direction: Direction): number | null {
  const { lane, index } = placeOf(run, event);
  const at = index + direction;
  return at >= 0 && at < lane.events.count ? lane.events.first + at : null;
}
