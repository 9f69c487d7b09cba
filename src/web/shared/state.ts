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
  has(name: string): boolean;
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
  duration_ns: number;
  track: Track;
}

export interface View {
  start_ns: number;
  end_ns: number;
}

export interface StateEvents {
  loaded: Run[]; // events are there
  view: View;
  selection: EventRef | null;
  span: View | null; // the measured time range
  filter: string; // text of the filter box
  tab: string; // "overview" | "timeline" | "tables" | "charts"
  table: string; // id of the table that is shown
}

type Listener<K extends keyof StateEvents> = (value: StateEvents[K]) => void;

export class State {
  readonly page: PageData;
  runs: Run[] = [];
  view: View;
  initial: View; // what is shown when nothing else was asked for
  selection: EventRef | null = null;
  span: View | null = null;
  filter = "";
  tab = "overview";
  table = "";
  private readonly listeners = new Map<keyof StateEvents, Set<(value: never) => void>>();

  constructor(page: PageData) {
    this.page = page;
    this.view = this.initial = this.wholeView();
  }

  /** From the beginning of the first timeline to the end of the longest. */
  wholeView(): View {
    return { start_ns: 0, end_ns: Math.max(1, ...this.page.timelines.map((t) => t.duration_ns)) };
  }

  on<K extends keyof StateEvents>(name: K, listener: Listener<K>): void {
    let set = this.listeners.get(name);
    if (!set) this.listeners.set(name, (set = new Set()));
    set.add(listener as (value: never) => void);
  }

  setRuns(runs: Run[]): void {
    this.runs = runs;
    this.emit("loaded", runs);
  }
  setView(view: View): void {
    this.view = view;
    this.emit("view", view);
  }
  /** Selects an event; who wants it in view calls `reveal` of timeline.ts through the event "selection". */
  select(ref: EventRef | null): void {
    this.selection = ref;
    this.emit("selection", ref);
  }
  setSpan(span: View | null): void {
    this.span = span;
    this.emit("span", span);
  }
  setFilter(filter: string): void {
    this.filter = filter;
    this.emit("filter", filter);
  }
  setTab(tab: string): void {
    this.tab = tab;
    this.emit("tab", tab);
  }

  setTable(table: string): void {
    this.table = table;
    this.emit("table", table);
  }

  private emit<K extends keyof StateEvents>(name: K, value: StateEvents[K]): void {
    for (const listener of this.listeners.get(name) ?? []) (listener as Listener<K>)(value);
  }
}
