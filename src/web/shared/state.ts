// What the parts of the page share: the events once they are read, what is selected, what is in view. Parts never call one
// another; they set state here and listen to it. Deep links are this state in the address (link.ts).
import type { EventKind, PageData, Timeline, Track } from "./data";

/** Events of a lane, decoded. Arrays are absent where the blob has no such column (all zeros). */
export interface LaneEvents {
  readonly count: number;
  readonly first: number; // number of the first event
  readonly start: Float64Array; // ns since Timeline.start_ns
  readonly end: Float64Array;
  readonly name: Uint32Array;
  readonly kind: Uint8Array;
  readonly busyBefore: Float64Array; // sum of the durations of all events before index i; count + 1 long
  readonly more: Columns; // the other columns by name
}

export type Column = Float64Array | Uint32Array | Uint8Array;

/** Columns that are decoded when they are first asked for. */
export interface Columns {
  get(name: string): Column | undefined; // undefined: not in the blob, all zeros
}

/** A value holds from its time until the next. */
export interface CounterValues {
  readonly time: Float64Array; // ns since Timeline.start_ns
  readonly value: Float64Array; // NaN: not measured
  readonly low: Float64Array; // the same array where a value stands for itself
  readonly high: Float64Array;
}

/** A node is a frame and the node that called it. */
export interface StackColumns {
  readonly parent: Column; // 1 + node, 0: none
  readonly name: Column; // index into names
  readonly kind: Column; // index into FRAME_KINDS
}

/** An event of a timeline, by its number: the key of selection, links and tables. */
export interface EventRef {
  timeline: number;
  event: number;
}

/** A timeline with its events. */
export interface Run {
  readonly index: number; // of the timeline
  readonly data: Timeline;
  readonly lanes: readonly RunLane[]; // all lanes of all tracks, by `first`
  readonly counters: readonly (CounterValues | null)[]; // by track
  readonly stacks: StackColumns | null;
  laneOf(event: number): RunLane; // binary search
}

export interface RunLane {
  readonly track: number;
  readonly trackData: Track;
  readonly depth: number;
  readonly events: LaneEvents;
}

/** Everything about one event, for details panel, tooltip and tables. */
export interface EventDetails {
  ref: EventRef;
  name: string;
  kind: EventKind;
  start_ns: number;
  end_ns: number;
  duration_ns: number;
  track: Track;
  lane: RunLane;
  index: number; // in the lane
}

export interface View {
  start_ns: number;
  end_ns: number;
}

/** What the parts of the page set and listen to. */
export interface Shared {
  runs: readonly Run[]; // none before the events are there
  view: View;
  selection: EventRef | null; // an event; who wants it in view calls `reveal` of the timeline's scene
  span: View | null; // the measured time range
  filter: string; // text of the filter box
  tab: string; // "overview" | "timeline" | "tables" | "charts"
  table: string; // id of the table that is shown
}

export class State implements Shared {
  runs: readonly Run[] = [];
  view: View;
  initial: View; // what is shown when nothing else was asked for
  selection: EventRef | null = null;
  span: View | null = null;
  filter = "";
  tab = "overview";
  table = "";
  private readonly listeners = new Map<keyof Shared, ((value: never) => void)[]>();

  constructor(readonly page: PageData) {
    this.view = this.initial = this.wholeView();
  }

  /** From the beginning of the first timeline to the end of the longest. */
  wholeView(): View {
    return { start_ns: 0, end_ns: Math.max(1, ...this.page.timelines.map((t) => t.duration_ns)) };
  }

  on<K extends keyof Shared>(name: K, listener: (value: Shared[K]) => void): void {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }

  set<K extends keyof Shared>(name: K, value: Shared[K]): void {
    (this as Shared)[name] = value;
    for (const listener of this.listeners.get(name) ?? []) listener(value as never);
  }
}
