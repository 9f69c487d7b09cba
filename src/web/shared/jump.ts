// From a finding, a row or a bar of a chart to its event: the longest that fits is selected and brought into view.
import { announce, button, el, type Props } from "./dom";
import { describe, durationAt, lanesOfKind, partsOfGap, refOf } from "./events";
import { compileFilter, isProjected } from "./filter";
import { formatNs } from "./format";
import { busyWithin } from "./levels";
import { shortName } from "./names";
import type { EventRef, Run, RunLane, State } from "./state";

export type Matcher = (lane: RunLane, index: number) => boolean;

/** Where something is on the timeline. `query` goes into the filter box; of what fits it and `matches`, the longest is meant. */
export interface Place {
  query: string;
  label: string; // of the link, for those who hear it
  matches?: Matcher;
  isSteady?: boolean; // after warm-up, where that is known and has any: what findings are about
  at_ns?: number; // where there is no such event, this time is shown
}

/** Text in the language of the filter box, meant to the letter. */
export function quoted(text: string): string {
  return `"${text.replace(/(["\\])/g, "\\$1")}"`;
}

/** Neither a comparison of measurements without their traces nor the report of a partial has one. */
export function hasTimeline(state: State): boolean {
  return state.page.timelines.length > 0;
}

export function whenLoaded(state: State, then: (runs: readonly Run[]) => void): void {
  if (state.runs.length > 0) then(state.runs);
  else state.on("runs", then);
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
        if (durationAt(lane.events, i) <= most || !matches(lane, i)) continue;
        const value = score(run, lane, i);
        if (value <= most) continue;
        most = value;
        found = refOf(run, lane, i);
      }
    }
  }
  return found;
}

/** null: nothing fits. */
export const longest = (runs: readonly Run[], matcherOf: (run: Run) => Matcher): EventRef | null => best(runs, matcherOf, (_, lane, index) => durationAt(lane.events, index));

const OF_THREADS = new Set(["os", "mpi", "states"]);

/**
 * Long, and most of its pause: a part of idle time shows its cause best where there is little of other causes around it.
 * What a thread waited for matters while a GPU was idle.
 */
function clarity(run: Run, lane: RunLane, index: number): number {
  const length = durationAt(lane.events, index);
  if (OF_THREADS.has(lane.trackData.kind)) {
    const { start, end } = lane.events;
    return Math.max(0, ...lanesOfKind(run, "gaps").map(({ events }) => busyWithin(events, start[index], end[index])));
  }
  if (lane.trackData.kind !== "gaps" || length === 0) return length;
  const { first, last } = partsOfGap(lane.events, index);
  return (length * length) / (lane.events.end[last] - lane.events.start[first]);
}

/** The longest and clearest of those after warm-up; of all, where there is none. */
export function clearest(runs: readonly Run[], matcherOf: (run: Run) => Matcher): EventRef | null {
  const steady = best(runs, (run) => {
    const { steady: time } = run.data;
    const matches = matcherOf(run);
    return time ? (lane, i) => lane.events.start[i] >= time.start_ns && lane.events.end[i] <= time.end_ns && matches(lane, i) : () => false;
  }, clarity);
  return steady ?? best(runs, matcherOf, clarity);
}

/** Zooms to the event with some of what is around it. */
function showAround(state: State, start: number, duration: number): void {
  const whole = Math.max(1, ...state.page.timelines.map((t) => t.duration_ns));
  const width = Math.min(whole, Math.max(duration * 4, whole / 2000, 1000));
  const begin = Math.max(0, Math.min(whole - width, start + duration / 2 - width / 2));
  state.set("view", { start_ns: begin, end_ns: begin + width });
}

export function showEvent(state: State, ref: EventRef): void {
  const { start_ns, duration_ns, name } = describe(state.runs[ref.timeline], ref.event);
  state.set("tab", "timeline");
  state.set("selection", ref);
  showAround(state, start_ns, duration_ns);
  announce(`Selected on the timeline: ${shortName(name)}, ${formatNs(duration_ns)}`);
}

export function showTime(state: State, start_ns: number, duration_ns: number): void {
  if (!hasTimeline(state)) return;
  state.set("tab", "timeline");
  showAround(state, start_ns, duration_ns);
}

export function showPlace(state: State, place: Place): void {
  state.set("filter", place.query);
  state.set("tab", "timeline");
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

/** A link to a place on the timeline; only its text where the page has none. */
export function placeLink(state: State, text: string, place: Place, props: Props = {}): HTMLElement {
  if (!hasTimeline(state)) return el("span", { text, title: props.title });
  return button(text, () => showPlace(state, place), { class: "link", attributes: { "aria-label": `${text}: show the longest on the timeline` }, ...props });
}

export function openTable(state: State, id: string): void {
  state.set("table", id);
  state.set("tab", "tables");
}
