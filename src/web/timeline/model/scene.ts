// What the parts of the timeline share while it is shown. timeline.ts makes it; parts read it and ask it to draw again.
import type { Matches } from "../../shared/filter";
import type { Palette } from "../../shared/palette";
import type { Marks } from "../../shared/levels";
import type { EventRef, Run, RunLane, State, View } from "../../shared/state";

export interface Scene {
  readonly state: State;
  palette: Palette;
  readonly offsets: number[]; // by timeline: ns that its clock is behind the common axis; a diff may align them
  readonly matches: (Matches | null)[]; // by timeline, of the filter; null: no filter
  readonly same: (ReadonlyMap<RunLane, Marks> | null)[]; // by timeline, events with the name of the selected one
  hover: EventRef | null;
  isMeasuring: boolean; // the range is being dragged: nothing may move under the pointer
  cursor_ns: number | null; // where the pointer is, on the common axis
  draw(): void; // all, with the next frame
  drawOverlay(): void; // only what lies over the events
  /** Brings the event into view and its row; `zoom` makes it wide enough to be seen. */
  reveal(ref: EventRef, zoom: boolean): void;
  /** Pans and scrolls to the event where it is not in view. */
  bringIntoView(ref: EventRef): void;
  /** Selects, and brings into view where it is not. */
  jump(ref: EventRef): void;
  setView(view: View): void; // within the limits
}

export const runOf = (scene: Scene, ref: EventRef): Run | undefined => scene.state.runs[ref.timeline];
