// Events with the name of the selected one, on tracks of its kind in all runs: they are underlined.
import { placeOf } from "../../shared/events";
import { BLOCK, type Marks } from "../../shared/levels";
import type { Matches } from "../../shared/filter";
import type { EventRef, Run, RunLane } from "../../shared/state";

function marksOf(lane: RunLane, name: number): Marks {
  const { count, name: names } = lane.events;
  const bits = new Uint8Array(count);
  const blocks = new Uint32Array(Math.ceil(count / BLOCK) + 1);
  let sum = 0;
  for (let i = 0; i < count; ++i) {
    if (i % BLOCK === 0) blocks[i / BLOCK] = sum;
    if (names[i] !== name) continue;
    bits[i] = 1;
    ++sum;
  }
  blocks[blocks.length - 1] = sum;
  return { bits, blocks };
}

/** By run; null where it has none. */
export function findSameName(runs: readonly Run[], ref: EventRef): (Matches | null)[] {
  const run = runs[ref.timeline];
  const { lane, index } = placeOf(run, ref.event);
  const text = run.data.names[lane.events.name[index]];
  const { kind } = lane.trackData;
  return runs.map((other) => {
    const name = other === run ? lane.events.name[index] : other.data.names.indexOf(text);
    if (name < 0) return null;
    const marks = new Map<RunLane, Marks>();
    let count = 0;
    for (const candidate of other.lanes) {
      if (candidate.trackData.kind !== kind) continue;
      const found = marksOf(candidate, name);
      const matches = found.blocks[found.blocks.length - 1];
      if (matches === 0) continue;
      marks.set(candidate, found);
      count += matches;
    }
    return { marks, count, time_ns: 0 };
  });
}
