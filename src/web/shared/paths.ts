// Paths of NVTX ranges: "step/load" is the range "load" within "step". Equal paths share a number, so that a filter looks at
// each of them once.
import { blameOf, callOf, lanesOfKind, outerLane, placeOf, rangeOf } from "./events";
import { lowerBound } from "./levels";
import { remembered } from "./remembered";
import type { Run, RunLane } from "./state";

class RangePaths {
  private readonly ids = new Map<number, number>();
  private readonly texts: string[] = [""]; // 0: no range
  private readonly ofLane = new Map<RunLane, Uint32Array>();

  constructor(private readonly run: Run) {
    for (const lane of lanesOfKind(run, "nvtx").sort((a, b) => a.depth - b.depth)) this.add(lane);
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

  /** Those around it have been added. */
  private add(lane: RunLane): void {
    const outer = outerLane(this.run.lanes, lane);
    const around = outer && this.ofLane.get(outer);
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

export const pathsOf = remembered((run: Run) => new RangePaths(run));

export function nvtxPath(run: Run, event: number): string {
  const all = pathsOf(run);
  return all.text(all.idOf(event));
}
