// Statistics of a range of time: what ran in it, how long, how idle the GPUs were and why. Events at the borders count with
// the part that is within.
import { EVENT_KINDS, type EventKind, type TrackKind } from "../../shared/data";
import { lanesUnder, refOf, trackAround } from "../../shared/events";
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
  groups: Map<string, NameSum[]>; // by title, those of each by time
  devices: DeviceSum[];
}

const GROUPS: readonly (readonly [title: string, ...kinds: TrackKind[]])[] = [
  ["GPU operations", "stream"], ["CUDA calls", "api"], ["NVTX ranges", "nvtx"], ["OS and MPI calls", "os", "mpi"], ["Threads", "states"],
];
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
    sum = { name: events.name[i], kind: EVENT_KINDS[kind], count: 0, time_ns: 0, bytes: 0, longest: refOf(run, lane, i), longest_ns: duration };
    sums.set(key, sum);
  }
  sum.count += events.more.get("count")?.[i] ?? 1;
  sum.time_ns += within;
  sum.bytes += events.more.get("bytes")?.[i] ?? 0;
  if (duration > sum.longest_ns) Object.assign(sum, { longest: refOf(run, lane, i), longest_ns: duration });
}

/** The times are on the clock of the run. null: `isStale` said that nobody wants it any more. */
export async function sumSpan(
  run: Run, span: View, slices: { rest(): Promise<void> }, isStale: () => boolean,
): Promise<SpanSums | null> {
  const groups = GROUPS.map(([title, ...kinds]) => ({ title, kinds, sums: new Map() as Sums }));
  const gaps = new Map<number, Sums>();
  for (const lane of run.lanes) {
    const { kind } = lane.trackData;
    let sums = groups.find(({ kinds }) => kinds.includes(kind))?.sums;
    if (kind === "gaps") {
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
    groups: new Map(groups.filter(({ sums }) => sums.size > 0).map(({ title, sums }) => [title, sorted(sums)])),
    devices: [...gaps.entries()].map(([device, sums]) => deviceSum(run, device, sorted(sums), span)),
  };
}

/** Of a GPU, within the time from its first to its last operation: before and after it is not idle but not used. */
function deviceSum(run: Run, device: number, gaps: NameSum[], span: View): DeviceSum {
  let first = Infinity;
  let last = -Infinity;
  for (const { events } of lanesUnder(run, device, "stream")) {
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
