// Statistics of a range of time: what ran in it, how long, how idle the GPUs were and why. Events at the borders count with
// the part that is within.
import { EVENT_KINDS, type EventKind, type TrackKind } from "../../shared/data";
import { trackAround } from "../../shared/events";
import { lowerBound } from "../../shared/levels";
import type { EventRef, Run, RunLane, View } from "../../shared/state";

export interface NameSum {
  name: number; // index into names
  kind: EventKind;
  count: number;
  time_ns: number;
  bytes: number;
  longest: EventRef;
  longest_ns: number;
}

export interface DeviceSum {
  label: string;
  busy_ns: number;
  idle: { cause: string; time_ns: number; count: number }[];
  idle_ns: number;
}

export interface SpanSums {
  length_ns: number;
  operations: NameSum[]; // by time
  calls: NameSum[];
  ranges: NameSum[];
  system: NameSum[]; // calls of the operating system and of MPI
  states: NameSum[]; // of threads
  devices: DeviceSum[];
}

const GROUPS: Partial<Record<TrackKind, "operations" | "calls" | "ranges" | "system" | "states">> = {
  stream: "operations", api: "calls", nvtx: "ranges", os: "system", mpi: "system", states: "states",
};
const CHUNK = 1 << 16;

type Sums = Map<number, NameSum>;

/** One event that reaches into the range. */
function add(sums: Sums, run: Run, lane: RunLane, i: number, span: View): void {
  const { events } = lane;
  const kind = events.kind[i];
  const key = events.name[i] * 64 + kind;
  const duration = events.end[i] - events.start[i];
  const within = Math.max(0, Math.min(events.end[i], span.end_ns) - Math.max(events.start[i], span.start_ns));
  if (within === 0 && duration > 0) return; // ended just when the range begins
  let sum = sums.get(key);
  if (!sum) {
    const longest = { timeline: run.index, event: events.first + i };
    sums.set(key, (sum = { name: events.name[i], kind: EVENT_KINDS[kind], count: 0, time_ns: 0, bytes: 0, longest, longest_ns: -1 }));
  }
  sum.count += events.more.get("count")?.[i] ?? 1;
  sum.time_ns += within;
  sum.bytes += events.more.get("bytes")?.[i] ?? 0;
  if (duration > sum.longest_ns) {
    sum.longest_ns = duration;
    sum.longest = { timeline: run.index, event: events.first + i };
  }
}

/** The times are on the clock of the run. null: `isStale` said that nobody wants it any more. */
export async function sumSpan(
  run: Run, span: View, slices: { rest(): Promise<void> }, isStale: () => boolean,
): Promise<SpanSums | null> {
  const groups = { operations: new Map() as Sums, calls: new Map() as Sums, ranges: new Map() as Sums, system: new Map() as Sums, states: new Map() as Sums };
  const gaps = new Map<number, Sums>();
  for (const lane of run.lanes) {
    const group = GROUPS[lane.trackData.kind];
    let sums: Sums | undefined = group && groups[group];
    if (lane.trackData.kind === "gaps") {
      const device = trackAround(run.data.tracks, lane.track, "device");
      sums = gaps.get(device) ?? new Map();
      gaps.set(device, sums);
    }
    if (!sums) continue;
    const { events } = lane;
    let i = lowerBound(events.end, span.start_ns);
    while (i < events.count && events.start[i] < span.end_ns) {
      for (const end = Math.min(events.count, i + CHUNK); i < end && events.start[i] < span.end_ns; ++i) add(sums, run, lane, i, span);
      await slices.rest();
      if (isStale()) return null;
    }
  }
  const sorted = (sums: Sums): NameSum[] => [...sums.values()].sort((a, b) => b.time_ns - a.time_ns);
  return {
    length_ns: span.end_ns - span.start_ns,
    operations: sorted(groups.operations),
    calls: sorted(groups.calls),
    ranges: sorted(groups.ranges),
    system: sorted(groups.system),
    states: sorted(groups.states),
    devices: [...gaps.entries()].map(([device, sums]) => deviceSum(run, device, sorted(sums), span)),
  };
}

/** Of a GPU, within the time from its first to its last operation: before and after it is not idle but not used. */
function deviceSum(run: Run, device: number, gaps: NameSum[], span: View): DeviceSum {
  let first = Infinity;
  let last = -Infinity;
  for (const lane of run.lanes) {
    const { events, trackData } = lane;
    if (trackData.kind !== "stream" || events.count === 0 || trackAround(run.data.tracks, lane.track, "device") !== device) continue;
    first = Math.min(first, events.start[0]);
    last = Math.max(last, events.end[events.count - 1]);
  }
  const idle_ns = gaps.reduce((sum, gap) => sum + gap.time_ns, 0);
  const window = Math.max(0, Math.min(last, span.end_ns) - Math.max(first, span.start_ns));
  return {
    label: run.data.tracks[device]?.label ?? "GPU",
    busy_ns: Math.max(0, window - idle_ns),
    idle_ns,
    idle: gaps.map((gap) => ({ cause: run.data.names[gap.name] ?? "", time_ns: gap.time_ns, count: gap.count })),
  };
}
