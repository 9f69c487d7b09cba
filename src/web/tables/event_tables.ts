// Tables of single events, the longest first: what the tables of the report summarise.
import { EVENT_KINDS, type Cell, type EventKind } from "../shared/data";
import type { GridColumn, GridData } from "./grid_model";
import { kindLabel } from "../shared/labels";
import { durationAt, kindAt, refOf } from "../shared/events";
import type { EventRef, Run, RunLane } from "../shared/state";

const MAX_ROWS = 20000; // rows; the note says so where there are more

interface EventTable {
  id: string;
  title: string;
  fits(kind: EventKind): boolean;
  columns: (GridColumn & { of(event: Found): Cell })[];
}

interface Found {
  run: Run;
  lane: RunLane;
  index: number;
}

const more = (name: string) => (e: Found): number => Number(e.lane.events.more.get(name)?.[e.index] ?? 0);

const NAME = { key: "name", title: "Name", unit: "", of: (e: Found): Cell => e.run.data.names[e.lane.events.name[e.index]] ?? "" };
const TIMES = [
  { key: "duration_ns", title: "Length", unit: "ns", of: (e: Found): Cell => durationAt(e.lane.events, e.index) },
  { key: "start_ns", title: "Start", unit: "ns", of: (e: Found): Cell => e.lane.events.start[e.index] },
];
const TRACK = { key: "track", title: "Track", unit: "", of: (e: Found): Cell => e.lane.trackData.label };
const COUNT = { key: "count", title: "Events", unit: "count", of: (e: Found): Cell => Math.max(1, more("count")(e)) };

const BYTES = { key: "bytes", title: "Bytes", unit: "bytes", of: more("bytes") };

function shapeOf(e: Found): string {
  const shape = e.run.data.shapes[more("shape")(e) - 1];
  return shape ? `${shape.grid.join("×")} of ${shape.block.join("×")}` : "";
}

const objectOf = (e: Found): string => e.run.data.names[more("object")(e) - 1] ?? "";
const groupOf = (e: Found): string => e.run.data.tracks[e.lane.trackData.parent]?.label ?? "";

const IS_COPY = /^(copy_|pageable_|memset)/;

export const EVENT_TABLES: readonly EventTable[] = [
  { id: "events.kernels", title: "Longest kernels", fits: (k) => k === "kernel" || k === "graph",
    columns: [NAME, ...TIMES, { key: "shape", title: "Grid of blocks", unit: "", of: shapeOf }, TRACK, COUNT] },
  { id: "events.copies", title: "Longest copies and memsets", fits: (k) => IS_COPY.test(k),
    columns: [{ key: "kind", title: "Kind", unit: "", of: (e) => kindLabel(kindAt(e.lane.events, e.index)) }, ...TIMES,
      BYTES, { key: "bytes_per_second", title: "Bandwidth", unit: "bytes/s", of: (e) => {
        const ns = durationAt(e.lane.events, e.index);
        return ns > 0 ? (more("bytes")(e) * 1e9) / ns : null;
      } }, TRACK, COUNT] },
  { id: "events.gaps", title: "Longest gaps by cause", fits: (k) => k === "gap", columns: [{ ...NAME, title: "Cause" }, ...TIMES, TRACK, COUNT] },
  { id: "events.calls", title: "Longest CUDA calls", fits: (k) => k.startsWith("api_"),
    columns: [NAME, ...TIMES, { key: "result", title: "Result", unit: "count", of: more("result") }, TRACK, COUNT] },
  { id: "events.os", title: "Longest OS calls", fits: (k) => k === "os_call",
    columns: [NAME, ...TIMES, { key: "object", title: "Object", unit: "", of: objectOf }, BYTES,
      { key: "result", title: "Error", unit: "count", of: more("result") }, { key: "thread", title: "Thread", unit: "", of: groupOf }, COUNT] },
  { id: "events.ranges", title: "Longest NVTX ranges", fits: (k) => k === "nvtx_range" || k === "nvtx_start_end",
    columns: [NAME, ...TIMES, { key: "depth", title: "Depth", unit: "count", of: (e) => e.lane.depth }, TRACK, COUNT] },
];

/** The shortest length that the `MAX_ROWS` longest events have; 0 when there are no more than that. */
function shortestOfLongest(runs: readonly Run[], fits: readonly boolean[]): { least: number; total: number } {
  const histogram = new Uint32Array(64 * 16); // by power of two, 16 steps in each
  const bin = (ns: number): number => (ns < 1 ? 0 : Math.min(1023, Math.floor(Math.log2(ns) * 16) + 1));
  let total = 0;
  eachEvent(runs, fits, (lane, i) => {
    ++histogram[bin(durationAt(lane.events, i))];
    ++total;
  });
  let sum = 0;
  for (let b = 1023; b > 0; --b) {
    if (sum + histogram[b] > MAX_ROWS) return { least: 2 ** (b / 16), total };
    sum += histogram[b];
  }
  return { least: 0, total };
}

function eachEvent(runs: readonly Run[], fits: readonly boolean[], visit: (lane: RunLane, i: number, run: Run) => void): void {
  for (const run of runs) {
    for (const lane of run.lanes) {
      const { kind, count } = lane.events;
      for (let i = 0; i < count; ++i) if (fits[kind[i]]) visit(lane, i, run);
    }
  }
}

export function eventRows(table: EventTable, runs: readonly Run[]): { data: GridData; total: number; refs: EventRef[] } {
  const fits = EVENT_KINDS.map((kind) => table.fits(kind));
  const { least, total } = shortestOfLongest(runs, fits);
  const found: Found[] = [];
  eachEvent(runs, fits, (lane, index, run) => {
    if (durationAt(lane.events, index) >= least && found.length < 2 * MAX_ROWS) found.push({ run, lane, index });
  });
  found.sort((a, b) => durationAt(b.lane.events, b.index) - durationAt(a.lane.events, a.index));
  found.length = Math.min(found.length, MAX_ROWS);
  return {
    data: { columns: table.columns, count: found.length, value: (row, column) => table.columns[column].of(found[row]) },
    total,
    refs: found.map((e) => refOf(e.run, e.lane, e.index)),
  };
}
