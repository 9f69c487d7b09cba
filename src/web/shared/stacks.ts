// Stacks of calls: the frames of a node of the tree that the page carries.
import { FRAME_KINDS } from "./data";
import { valueOf } from "./events";
import type { Run } from "./state";

export interface Frame {
  text: string;
  kind: (typeof FRAME_KINDS)[number];
}

/** The frames that an event was found in or called from, the innermost first. */
export function framesOf(run: Run, event: number): Frame[] {
  const frames: Frame[] = [];
  const { stacks } = run;
  if (!stacks) return frames;
  let node = valueOf(run, event, "stack") - 1;
  while (node >= 0 && node < stacks.parent.length) {
    const kind = FRAME_KINDS[stacks.kind[node]] ?? "";
    const name = run.data.names[stacks.name[node]] ?? "";
    // Functions that were inlined are one frame, the innermost last.
    const functions = kind === "native" ? name.split(";").reverse() : [name];
    for (const text of functions) frames.push({ text, kind });
    const parent = stacks.parent[node] - 1;
    if (parent >= node) break; // damaged
    node = parent;
  }
  return frames;
}
