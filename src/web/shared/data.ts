// What a page carries, as src/html writes it: the contract between the C++ side and the page.
//
// The page has two parts of data, each deflated (zlib) and as text (packed.ts). `PageData` is JSON in <script
// type="application/octet-stream" id="page">: read before the first paint; Overview, tables and charts come from it. The
// events are columns of numbers in one binary blob for each timeline, in <script type="application/octet-stream"
// id="events-0"> (and -1 for the second run of a diff); read after the first paint. docs/html.md has the rest.
//
// Times are nanoseconds since Timeline.start_ns, as numbers: exact, as no trace is longer than 2^53 ns (104 days).

/** A cell of a report table: as `report --format json` has it. */
export type Cell = string | number | null;

export interface ReportColumn {
  key: string;
  title: string;
  unit: "" | "count" | "ns" | "bytes" | "percent" | "bytes_per_second" | "per_second" | string;
}

export interface ReportTable {
  id: string;
  analysis: string;
  title: string;
  note: string;
  columns: ReportColumn[];
  rows: Record<string, Cell>[];
}

export interface Finding {
  id: string;
  severity: "info" | "note" | "warning";
  message: string;
  evidence: string[];
  advice: string;
  gain_ns: number;
  gain_percent_of_run: number | null;
  basis: string;
  same_as: string | null;
  table: string; // id of the table with the facts
}

/** The document of `report --format json` (docs/schema): only what the page reads is typed here. */
export interface ReportDocument {
  schema: string;
  gprof_cli: string;
  selected: string; // in words; empty for the whole trace
  trace: Record<string, unknown> & { path: string; duration_ns: number; records: number };
  processes: Record<string, unknown>[];
  devices: Record<string, unknown>[];
  health: Record<string, unknown> & { complete: boolean };
  trust: Record<string, unknown>;
  notices: Record<string, unknown>[];
  not_recorded: { fact: string; why: string }[];
  no_gpu_work: string[]; // why there is none, a sentence each
  findings: Finding[];
  metrics: { id: string; scope: string; value: number; unit: string }[];
  tables: ReportTable[];
}

/** Where on the timeline a finding is seen: events that match `query` (the language of the filter box), the longest first. */
export interface FindingPlace {
  finding: number; // index into findings
  query: string;
}

export interface PageData {
  version: 3;
  kind: "report" | "diff" | "fleet";
  title: string; // the program, or "A against B"
  verdict: string; // the first line of the report, or of the diff
  report: ReportDocument | null; // kind "report"
  diff: Record<string, unknown> | null; // kind "diff": the document of `diff --format json`
  places: FindingPlace[];
  timelines: Timeline[]; // one; two of a diff: before and after
  flames?: Flame[]; // kind "report": what flame graphs show, by measure
  // Kernels that took most of the time, and those with counters in the order of the report (null: it is not known).
  occupancy?: { launched: OccupancyLaunch[]; counted: (OccupancyLaunch | null)[] };
  fleet?: FleetData; // kind "fleet"
}

/** What a launch allows, and what it would with others. */
export interface OccupancyLaunch {
  kernel: string;
  gpu: string;
  percent: number; // of the warps that an SM can hold
  limiter: string; // resources, or "blocks per SM"; empty where all fit
  achieved_percent: number | null; // null: not measured
  curves: OccupancyCurve[];
}

export interface OccupancyCurve {
  resource: "block size" | "registers" | "shared memory";
  now: number; // threads, registers of a thread, bytes of a block
  steps: [up_to: number, percent: number][]; // each from the one before; 0 %: does not fit
  next: [value: number, percent: number] | null; // the nearest value with more
}

/** Many ranks of a run, as `analyze --format html` has them. */
export interface FleetData {
  lines: string[]; // how many ranks, how good their clocks are
  findings: { id: string; severity: Finding["severity"]; message: string; evidence: string[]; advice: string }[];
  tables: ReportTable[];
  heat: FleetHeat | null; // null: the ranks have nothing in common
}

export interface FleetRank {
  rank: number; // -1: not known
  name: string;
  host: string;
  gpu: string;
  source: string; // name of its file
  path: string; // of its trace, empty where only its summary was at hand
  own_ns: number;
  above_median_ns: number;
  wall_ns: number;
  finding: string; // that names it, empty for none
  problems: string;
}

/**
 * Ranks by steps or slices of time. Each measure is a column of varints in <script id="events-0">, by rank and then by step; a
 * value times unit_ns is a time.
 */
export interface FleetHeat {
  path: string; // of the step
  is_time: boolean; // slices of the time of each rank
  steps_in_one: number; // steps of a column
  columns: number;
  ranks: FleetRank[];
  measures: { id: string; title: string; unit_ns: number; offset: number; bytes: number }[];
}

/** Time or samples as a tree: of stacks, modules, ranges. What is around others comes before them. */
export interface Flame {
  measure: string; // "GPU time", "CPU samples"
  by: string; // "Python stack", "NVTX range"
  unit: "ns" | "samples";
  names: string[];
  nodes: [parent: number, name: number, value: number][]; // parent -1: the outermost
}

export interface Timeline {
  label: string; // path of the trace, or "before"/"after" with it
  start_ns: string; // on the clock of the trace, decimal: may be beyond 2^53
  duration_ns: number;
  // Where times were cut: events shorter than this are drawn together with their neighbours (`count` of a lane); 0: nothing was.
  merged_below_ns: number;
  steady?: { start_ns: number; end_ns: number } | null; // the time that findings judge, after warm-up; null: none is known
  event_count: number; // in the blob
  trace_event_count: number; // in the trace
  names: string[]; // kernels (demangled), functions, ranges, causes: whatever `name` of an event refers to
  shapes: Shape[];
  stacks?: Stacks; // that events refer to
  tracks: Track[]; // in the order of display; parents before their children
  blob_bytes: number; // of the blob, inflated
}

/** Launch configuration of kernels. */
export interface Shape {
  grid: [number, number, number];
  block: [number, number, number];
  registers: number;
  static_shared_bytes: number;
  dynamic_shared_bytes: number;
}

export type TrackKind =
  | "process" // group
  | "thread" // group: nvtx and api beneath it
  | "nvtx"
  | "api"
  | "device" // group
  | "gaps" // idle time of a device by its cause
  | "stream"
  | "projection" // NVTX ranges as a device saw them; not in the file, see projection.ts
  | "counter"
  | "marks" // NVTX marks: events without duration
  | "metrics" // group: what was sampled
  | "mpi" // calls of MPI
  | "os" // calls of the operating system
  | "states" // whether a thread ran
  | "requests" // requests of a serving engine, or its steps
  | "samples" // CPU samples: events without duration
  | "overhead"; // what CUPTI took for itself, beneath its process

export interface Track {
  kind: TrackKind;
  label: string; // "gpu0 NVIDIA H200", "stream 7 (default)", "thread 519 python", "CUDA API", "NVTX"
  detail: string; // second line and tooltip: what is known besides
  parent: number; // index into tracks, -1: none
  lanes: Lane[]; // events; those of one lane never overlap (nesting depth, or side by side)
  counter: Counter | null; // of kind "counter"
  is_folded?: boolean; // at first
}

/** Columns of one encoding in the blob. Every column of a lane has `count` values. */
export interface ColumnRef {
  name: string;
  // How values become bytes. varint: LEB128. zigzag: LEB128 of zigzag. delta: zigzag of the difference from the value before (first: from 0).
  coding: "varint" | "zigzag" | "delta" | "byte";
  offset: number; // in the inflated blob
  bytes: number;
}

/**
 * Events of a lane, by start; none overlaps the next. Columns:
 *   gap      varint  from the end of the event before (of the first: from 0) to its start, ns
 *   duration varint  ns
 *   name     varint  index into names
 *   kind     byte    EventKind
 *   call     delta   operations: 1 + number of the event that launched it, 0: not recorded. Events are numbered over all lanes, see `first`
 *   bytes    varint  copies, memsets: their size; calls: 0
 *   shape    varint  kernels: 1 + index into shapes, 0: none
 *   memory   byte    copies: source memory kind * 16 + destination memory kind (MEMORY_KINDS)
 *   correlation delta   calls and operations
 *   result   varint  calls: what was returned, 0 is success
 *   color    varint  NVTX: 0 or 1 + 0xRRGGBB (32 bits at most)
 *   payload  varint  NVTX, calls of MPI and others: 0, or 1 + index into names of a text with what else is known
 *   range    delta   calls: 1 + number of the innermost NVTX range around it, 0: none
 *   next     delta   gaps: 1 + number of the operation that ended it
 *   blame    delta   gaps: 1 + number of the call (or range) that the host was in, 0: none
 *   function varint  gaps: 1 + index into names of the function of the operating system that the host was blocked in, 0: none
 *   object   varint  calls of the operating system: 1 + index into names of the file, lock or address, 0: none
 *   other    varint  1 + index into names of the thread that a call waited for, or that ran in the place of a preempted one
 *   stack    delta   calls, CPU samples: 1 + number of the innermost node of its stack, 0: none
 *   cpu      varint  states, samples: 1 + number of the processor, 0: not known
 *   count    varint  only with merged_below_ns > 0: how many events of the trace this one stands for, 1 for a whole one
 *   busy     varint  with count: ns of them that was busy; of CPU samples always: ns of the processor that it stands for
 * A column that would be all zeros is left out.
 */
export interface Lane {
  count: number;
  first: number; // number of its first event
  depth: number; // 0 outermost
  columns: ColumnRef[];
}

/** Stacks of calls as a tree, callers before what they call. parent: delta, 1 + node that called it, 0: none; name: varint; kind: byte. */
export interface Stacks {
  count: number;
  columns: ColumnRef[];
}

export const FRAME_KINDS = ["", "native", "Python", "kernel", "cut"] as const;

export interface Counter {
  unit: "count" | "bytes" | "percent" | string;
  maximum: number; // exact
  count: number;
  resolution_ns: number; // 0: every change is there; else each slice of time of this length has its largest value, or its mean
  scale?: number; // of what was sampled: values times ten to the power of this are in the unit
  // time: varint differences; value: zigzag differences ("delta"). A value holds until the next. Of what was sampled: below and
  // above: varint, how far the least and the largest value are from the mean; missing: byte, 1 where nothing was measured.
  columns: ColumnRef[];
}

/** Value of column `kind`; the order is that of EVENT_KINDS. */
export const EVENT_KINDS = [
  "kernel", "copy_h2d", "copy_d2h", "copy_d2d", "copy_peer", "copy_other", "memset", "graph",
  "api_launch", "api_copy", "api_memset", "api_sync", "api_memory", "api_load", "api_query", "api_stream", "api_event", "api_graph", "api_other",
  "nvtx_range", "nvtx_start_end", "nvtx_mark",
  "gap", // its cause is its name
  "pageable_h2d", "pageable_d2h", // copies with pageable memory
  "overhead", // of CUPTI itself
  "projection", // an NVTX range on a device: the page makes these, no file has them
  "os_call", "mpi_call", "thread_running", "thread_preempted", "thread_blocked", "cpu_sample",
  "request", "request_queue", "request_prefill", "request_decode", "engine_step",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export const MEMORY_KINDS = [
  "unknown", "pageable", "pinned", "device", "array", "managed", "device_static", "managed_static",
] as const;
