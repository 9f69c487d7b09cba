// Rows of a timeline: which tracks are shown, how high they are and where. Groups fold, tracks are pinned to the top.
import type { Track, Timeline } from "../../shared/data";
import { tracksAround } from "../../shared/events";
import type { EventRef, Run, RunLane } from "../../shared/state";

export const LANE_HEIGHTS = [26, 22, 18] as const; // the highest that lets all rows fit, else the lowest
export const HEADER_HEIGHT = 22;
const COUNTER_LANES = 2; // a counter is as high as so many lanes
const PADDING = 4;

export interface Row {
  readonly track: number;
  readonly trackData: Track;
  readonly level: number; // of nesting in groups
  readonly y: number; // within the rows that scroll, or within the pinned ones
  readonly height: number;
  readonly laneHeight: number;
  readonly isGroup: boolean;
  readonly isFolded: boolean;
  readonly isPinned: boolean;
  readonly lanes: readonly RunLane[]; // shown beneath each other; in a folded group over each other
}

export interface Layout {
  readonly rows: readonly Row[]; // those that scroll
  readonly pinned: readonly Row[];
  readonly height: number;
  readonly pinnedHeight: number;
}

/** What is at a place of a pane. */
export interface Hit {
  row: Row;
  ref: EventRef | null;
  time_ns: number; // on the clock of the run
  perPixel_ns: number;
}

/** What a reader has folded and pinned. */
export interface Arrangement {
  readonly folded: Set<number>;
  readonly pinned: Set<number>;
}

function depthOf(track: Track): number {
  return track.lanes.reduce((deepest, lane) => Math.max(deepest, lane.depth + 1), 0);
}

function heightOf(track: Track, isGroup: boolean, isFolded: boolean, laneHeight: number): number {
  if (isGroup) return HEADER_HEIGHT;
  const lanes = track.kind === "counter" ? COUNTER_LANES : depthOf(track);
  return (isFolded ? 1 : Math.max(1, lanes)) * laneHeight + PADDING;
}

/** Lanes of each track, outermost first. */
export function lanesByTrack(run: Run | null, tracks: readonly Track[]): RunLane[][] {
  const lanes: RunLane[][] = tracks.map(() => []);
  for (const lane of run?.lanes ?? []) lanes[lane.track].push(lane);
  for (const list of lanes) list.sort((a, b) => a.depth - b.depth);
  return lanes;
}

/** What a folded group shows on its one line: the GPU's streams, or else the outermost lanes of whatever is within. */
function lanesOfGroup(group: number, tracks: readonly Track[], lanes: RunLane[][]): RunLane[] {
  const within: RunLane[] = [];
  for (let track = group + 1; track < tracks.length; ++track) {
    const { kind } = tracks[track];
    if (tracksAround(tracks, track).includes(group) && kind !== "gaps" && kind !== "projection") within.push(...lanes[track].filter((lane) => lane.depth === 0));
  }
  return within;
}

/** With rows as high as `room` allows. */
export function makeLayout(data: Timeline, lanes: RunLane[][], arrangement: Arrangement, room: number): Layout {
  const layouts = LANE_HEIGHTS.map((laneHeight) => layoutWith(data, lanes, arrangement, laneHeight));
  return layouts.find((layout) => layout.height + layout.pinnedHeight <= room) ?? layouts[layouts.length - 1];
}

function layoutWith(data: Timeline, lanes: RunLane[][], arrangement: Arrangement, laneHeight: number): Layout {
  const { tracks } = data;
  const isGroup = tracks.map(() => false);
  for (const track of tracks) if (track.parent >= 0) isGroup[track.parent] = true;
  const level: number[] = [];
  const isHidden: boolean[] = [];
  const rows: Row[] = [];
  const pinned: Row[] = [];
  let y = 0;
  let pinnedY = 0;
  for (const [track, trackData] of tracks.entries()) {
    const { parent } = trackData;
    level[track] = parent < 0 ? 0 : level[parent] + 1;
    isHidden[track] = parent >= 0 && (isHidden[parent] || arrangement.folded.has(parent));
    const isFolded = arrangement.folded.has(track);
    const isPinned = arrangement.pinned.has(track);
    if (isHidden[track] && !isPinned) continue;
    const height = heightOf(trackData, isGroup[track], isFolded, laneHeight);
    const shown = isGroup[track] ? (isFolded ? lanesOfGroup(track, tracks, lanes) : []) : lanes[track];
    const row = {
      track, trackData, level: level[track], height, laneHeight, isGroup: isGroup[track], isFolded, isPinned, lanes: shown,
    };
    if (isPinned) {
      pinned.push({ ...row, y: pinnedY });
      pinnedY += height;
    } else {
      rows.push({ ...row, y });
      y += height;
    }
  }
  return { rows, pinned, height: y, pinnedHeight: pinnedY };
}

/** Where a lane is within its row. */
export function laneTop(row: Row, lane: RunLane): number {
  if (row.isGroup) return 2;
  return PADDING / 2 + (row.isFolded ? 0 : lane.depth * row.laneHeight);
}

export const laneHeight = (row: Row): number => (row.isGroup ? HEADER_HEIGHT - 4 : row.laneHeight);

/** Whether the lane is drawn in the row: folded tracks show the outermost lane. */
export const isShown = (row: Row, lane: RunLane): boolean => row.isGroup || !row.isFolded || lane.depth === 0;

/** The row at `y`: rows are in order, so that halving finds it. */
export function rowAt(rows: readonly Row[], y: number): Row | null {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].y + rows[middle].height <= y) low = middle + 1;
    else high = middle;
  }
  const row = rows[low];
  return row && row.y <= y ? row : null;
}
