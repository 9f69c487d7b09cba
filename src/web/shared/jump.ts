// From a finding, a row or a bar of a chart to its event: the longest that fits is selected and brought into view.
import type { EventKind } from "./data";
import { announce } from "./dom";
import { compileFilter, isProjected } from "./filter";
import { formatNs } from "./format";
import { busyWithin } from "./levels";
import { kindName } from "./labels";
import { shortName } from "./names";
import type { EventDetails, EventRef, Run, RunLane, State } from "./state";

export type Matcher = (lane: RunLane, index: number) => boolean;

/** Where something is on the timeline. `query` goes into the filter box; of what fits it and `matches`, the longest is meant. */
export interface Place {
  query: string;
  label: string; // of the link, for those who hear it
  matches?: Matcher;
  isSteady?: boolean; // after warm-up, where that is known and has any: what findings are about
  at_ns?: number; // where there is no such event, this time is shown
}

/** null: the page has no timeline. */
export type ShowPlace = ((place: Place) => void) | null;

/** Text in the language of the filter box, meant to the letter. */
export function quoted(text: string): string {
  return `"${text.replace(/(["\\])/g, "\\$1")}"`;
}

/** Neither a comparison of measurements without their traces nor the report of a partial has one. */
export function hasTimeline(state: State): boolean {
  return state.page.timelines.length > 0;
}

export function whenLoaded(state: State, then: (runs: readonly Run[]) => void): void {
  if (state.runs.length > 0) {
    then(state.runs);
    return;
  }
  let isDone = false;
  state.on("loaded", (runs) => {
    if (!isDone) then(runs);
    isDone = true;
  });
}

export function durationOf(lane: RunLane, index: number): number {
  return lane.events.end[index] - lane.events.start[index];
}

type Score = (run: Run, lane: RunLane, index: number) => number;

/** The event with the highest score of those that fit; null: nothing fits. */
function best(runs: readonly Run[], matcherOf: (run: Run) => Matcher, score: Score): EventRef | null {
  let found: EventRef | null = null;
  let most = -1;
  for (const run of runs) {
    const matches = matcherOf(run);
    for (const lane of run.lanes) {
      if (isProjected(lane)) continue;
      for (let i = 0; i < lane.events.count; ++i) {
        // No score is above the duration.
        if (durationOf(lane, i) <= most || !matches(lane, i)) continue;
        const value = score(run, lane, i);
        if (value <= most) continue;
        most = value;
        found = { timeline: run.index, event: lane.events.first + i };
      }
    }
  }
  return found;
}

/** null: nothing fits. */
export const longest = (runs: readonly Run[], matcherOf: (run: Run) => Matcher): EventRef | null => best(runs, matcherOf, (_, lane, index) => durationOf(lane, index));

const OF_THREADS = new Set(["os", "mpi", "states"]);

/**
 * Long, and most of its pause: a part of idle time shows its cause best where there is little of other causes around it.
 * What a thread waited for matters while a GPU was idle.
 */
function clearness(run: Run, lane: RunLane, index: number): number {
  const length = durationOf(lane, index);
  if (OF_THREADS.has(lane.trackData.kind)) {
    const gaps = run.lanes.filter(({ trackData }) => trackData.kind === "gaps");
    const { start, end } = lane.events;
    return Math.max(0, ...gaps.map(({ events }) => busyWithin(events, start[index], end[index])));
  }
  if (lane.trackData.kind !== "gaps" || length === 0) return length;
  const { start, end, count } = lane.events;
  let first = index;
  let last = index;
  while (first > 0 && end[first - 1] === start[first]) --first;
  while (last + 1 < count && start[last + 1] === end[last]) ++last;
  return (length * length) / (end[last] - start[first]);
}

/** The longest and clearest of those after warm-up; of all, where there is none. */
export function clearest(runs: readonly Run[], matcherOf: (run: Run) => Matcher): EventRef | null {
  const steady = best(runs, (run) => {
    const { steady: time } = run.data;
    const matches = matcherOf(run);
    return time ? (lane, i) => lane.events.start[i] >= time.start_ns && lane.events.end[i] <= time.end_ns && matches(lane, i) : () => false;
  }, clearness);
  return steady ?? best(runs, matcherOf, clearness);
}

export function detailsOf(state: State, ref: EventRef): EventDetails | null {
  const run = state.runs[ref.timeline];
  if (!run) return null;
  const lane = run.laneOf(ref.event);
  const index = ref.event - lane.events.first;
  const name = run.data.names[lane.events.name[index] ?? 0] ?? "";
  const kind: EventKind = kindName(lane.events.kind[index] ?? 0);
  return { ref, name, kind, start_ns: lane.events.start[index], duration_ns: durationOf(lane, index), track: lane.trackData };
}

/** Zooms to the event with some of what is around it. */
function showAround(state: State, start: number, duration: number): void {
  const whole = Math.max(1, ...state.page.timelines.map((t) => t.duration_ns));
  const width = Math.min(whole, Math.max(duration * 4, whole / 2000, 1000));
  const begin = Math.max(0, Math.min(whole - width, start + duration / 2 - width / 2));
  state.setView({ start_ns: begin, end_ns: begin + width });
}

export function showEvent(state: State, ref: EventRef): void {
  const details = detailsOf(state, ref);
  if (!details) return;
  state.setTab("timeline");
  state.select(ref);
  showAround(state, details.start_ns, details.duration_ns);
  announce(`Selected on the timeline: ${shortName(details.name)}, ${formatNs(details.duration_ns)}`);
}

export function showTime(state: State, start_ns: number, duration_ns: number): void {
  if (!hasTimeline(state)) return;
  state.setTab("timeline");
  showAround(state, start_ns, duration_ns);
}

export function showPlace(state: State, place: Place): void {
  state.setFilter(place.query);
  state.setTab("timeline");
  whenLoaded(state, (runs) => {
    const find = place.isSteady ? clearest : longest;
    const ref = find(runs, (run) => {
      const fits = compileFilter(place.query, run);
      const more = place.matches;
      return more ? (lane, i) => more(lane, i) && fits(lane, i) : fits;
    });
    if (ref) showEvent(state, ref);
    else if (place.at_ns !== undefined) showTime(state, place.at_ns, 0);
    else announce("Nothing on the timeline matches.");
  });
}

export function openTable(state: State, id: string): void {
  state.setTable(id);
  state.setTab("tables");
}
