// Paths of NVTX ranges: "step/load" is the range "load" within "step". Equal paths share a number, so that a filter looks at
// each of them once.
import { placeOf, rangeOf, callOf, blameOf } from "./events";
import { lowerBound } from "./levels";
import type { Run, RunLane } from "./state";

export class RangePaths {
  private readonly ids = new Map<number, number>();
  private readonly texts: string[] = [""]; // 0: no range
  private readonly ofLane = new Map<RunLane, Uint32Array>();

  constructor(private readonly run: Run) {
    const tracks = new Map<number, RunLane[]>();
    for (const lane of run.lanes) {
      if (lane.trackData.kind !== "nvtx") continue;
      const lanes = tracks.get(lane.track);
      if (lanes) lanes.push(lane);
      else tracks.set(lane.track, [lane]);
    }
    for (const lanes of tracks.values()) this.addTrack(lanes.sort((a, b) => a.depth - b.depth));
  }

  get count(): number {
    return this.texts.length;
  }
  text(id: number): string {
    return this.texts[id] ?? "";
  }

  /** Of a range, the call within it, the operation that a call within it launched, or a gap that it is to blame for. */
  idOf(event: number): number {
    const { lane, index } = placeOf(this.run, event);
    const own = this.ofLane.get(lane);
    if (own) return own[index];
    const kind = lane.trackData.kind;
    const around =
      kind === "stream" ? callOf(this.run, event) : kind === "gaps" ? blameOf(this.run, event) : rangeOf(this.run, event);
    return around === null || around === event ? 0 : this.idOf(around);
  }

  private intern(parent: number, name: number): number {
    const key = parent * (this.run.data.names.length + 1) + name;
    let id = this.ids.get(key);
    if (id === undefined) {
      const own = this.run.data.names[name] ?? "";
      id = this.texts.push(parent === 0 ? own : `${this.texts[parent]}/${own}`) - 1;
      this.ids.set(key, id);
    }
    return id;
  }

  private addTrack(lanes: readonly RunLane[]): void {
    for (const lane of lanes) {
      const outer = lanes.find((other) => other.depth === lane.depth - 1);
      const around = outer ? this.ofLane.get(outer) : undefined;
      const ids = new Uint32Array(lane.events.count);
      let at = 0;
      for (let i = 0; i < ids.length; ++i) {
        const start = lane.events.start[i];
        if (outer) at = lowerBound(outer.events.end, Math.max(start, lane.events.end[i]), at);
        const isWithin = outer && at < outer.events.count && outer.events.start[at] <= start;
        ids[i] = this.intern(isWithin && around ? around[at] : 0, lane.events.name[i]);
      }
      this.ofLane.set(lane, ids);
    }
  }
}

const paths = new WeakMap<Run, RangePaths>();

export function pathsOf(run: Run): RangePaths {
  let made = paths.get(run);
  if (!made) paths.set(run, (made = new RangePaths(run)));
  return made;
}

export function nvtxPath(run: Run, event: number): string {
  const all = pathsOf(run);
  return all.text(all.idOf(event));
}
