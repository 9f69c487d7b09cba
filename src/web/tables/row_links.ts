// Which events of the timeline a row of a table is about, and back: whether the selected event belongs to a row.
import type { EventKind, ReportTable } from "../shared/data";
import { quoted, type Matcher, type Place } from "../shared/jump";
import { num, str, type Row } from "../shared/report";
import type { EventDetails } from "../shared/state";

type RowPlace = (row: Row) => Place | null;

const byName = (kind: string, key: string): RowPlace => (row) => {
  const name = str(row, key);
  return name ? { query: `kind:${kind} name:${quoted(name)}`, label: name } : null;
};

function gpuOf(row: Row): string {
  const device = str(row, "device");
  return device ? ` gpu:${device.replace("gpu", "")}` : "";
}

const byCause: RowPlace = (row) => (str(row, "cause") ? { query: `cause:${str(row, "cause")}`, label: str(row, "cause") } : null);

const byPath = (key: string): RowPlace => (row) => {
  const path = str(row, key);
  return path && !path.startsWith("(") ? { query: `nvtx:${quoted(path)}`, label: path } : null;
};

const COPY_ENDS: Record<string, string> = { "host to device": "h2d", "device to host": "d2h", "device to device": "d2d", "peer to peer": "peer" };

/** "host to device" and "pageable to device" as words of the filter. */
function copyQuery(row: Row): string {
  const end = COPY_ENDS[str(row, "direction")];
  if (end === undefined) return /fill|memset/.test(str(row, "direction")) ? "kind:memset" : "kind:copy";
  const memory = str(row, "memory");
  if (memory === "") return `kind:${end}`;
  return /\bpageable\b/.test(memory) ? `kind:pageable_${end}` : `kind:copy_${end}`;
}

/** An operation or a gap that began `start_ns` after the beginning of the trace. */
const byStart = (query: (row: Row) => string, key = "start_ns"): RowPlace => (row) => {
  const start = num(row, key);
  return { query: query(row), label: "this time", at_ns: start, matches: (lane, i) => Math.abs(lane.events.start[i] - start) < 1 };
};

const gapPlace: RowPlace = (row) => {
  const start = num(row, "start_ns");
  const end = start + num(row, "duration_ns");
  // A gap is drawn in pieces, one for each cause: the longest of them is meant.
  const matches: Matcher = (lane, i) =>
    lane.trackData.kind === "gaps" && lane.events.start[i] >= start - 0.5 && lane.events.end[i] <= end + 0.5;
  return { query: `kind:gap${gpuOf(row)}`, label: "this gap", at_ns: start, matches };
};

const byObject = (key: string): RowPlace => (row) => {
  const object = str(row, key);
  return object ? { query: `kind:os object:${quoted(object)}`, label: object } : null;
};

const PLACES: Record<string, RowPlace> = {
  devices: (row) => ({ query: gpuOf(row).trim(), label: str(row, "device") }),
  idle: byCause, idle_by_call: (row) => byName("api", "function")(row), idle_by_nvtx: byPath("path"),
  idle_by_launch: byName("api", "function"), gaps: gapPlace, kernels: byName("kernel", "name"), kernel_launches: byName("kernel", "kernel"),
  first_launches: byName("kernel", "kernel"), occupancy: byName("kernel", "kernel"), api: byName("api", "name"),
  graph_calls: byName("api", "name"), api_errors: byName("api", "function"), sync: byName("api", "function"),
  sync_sites: byName("api", "function"), polling: byName("api", "function"), nvtx: byPath("path"), nccl: byName("kernel", "name"),
  memcpy: (row) => ({ query: copyQuery(row), label: str(row, "direction") }),
  pageable: (row) => ({ query: `kind:pageable_${COPY_ENDS[str(row, "direction")] ?? "h2d"}`, label: `pageable ${str(row, "direction")}` }),
  copy_sizes: (row) => ({
    query: copyQuery(row), label: str(row, "direction"),
    matches: (lane, i) => {
      const bytes = lane.events.more.get("bytes")?.[i] ?? 0;
      return bytes > num(row, "above_bytes") && bytes <= num(row, "up_to_bytes");
    },
  }),
  streams: (row) => (num(row, "operations") > 0 ? { query: `stream:${quoted(str(row, "name"))}${gpuOf(row)}`, label: str(row, "name") } : null),
  step_iterations: byStart(() => "kind:nvtx"), step_outliers: byStart(() => "kind:nvtx"),
  gpu_metrics: (row) => ({ query: gpuOf(row).trim(), label: str(row, "device") }),
  gpu_metrics_states: (row) => {
    const cause = /^idle: (.*)/.exec(str(row, "state"))?.[1];
    return { query: (cause ? `cause:${cause}` : "") + gpuOf(row), label: str(row, "state") };
  },
  gpu_metrics_kernels: byName("kernel", "kernel"), kernel_profiles: byName("kernel", "kernel"), gpu_metrics_steps: byPath("range"), gpu_metrics_ranges: byPath("range"),
  gpu_energy: byName("kernel", "kernel"), gpu_energy_ranges: byPath("range"),
  os_sum: byName("os", "function"), os_locks: byObject("lock"), os_files: byObject("path"), os_slowest: byStart(() => "kind:os"),
  threads: (row) => {
    const number = /(\d+)\)?$/.exec(str(row, "thread"))?.[1];
    return number ? { query: `kind:running,preempted,blocked thread:${number}`, label: str(row, "thread") } : null;
  },
  steps: byPath("path"), idle_by_os: () => ({ query: "cause:os", label: "os" }), idle_by_mpi: () => ({ query: "cause:mpi", label: "mpi" }), launches_over_time: byStart((row) => gpuOf(row).trim()),
};

/** null: the row is about nothing on the timeline. */
export function placeOf(table: ReportTable, row: Row): Place | null {
  return PLACES[table.id]?.(row) ?? null;
}

const KINDS_OF: Record<string, (kind: EventKind) => boolean> = {
  kernels: (k) => k === "kernel", api: (k) => k.startsWith("api_"), nvtx: (k) => k.startsWith("nvtx_"), os: (k) => k === "os_call",
};
const NAME_KEYS: Record<string, [key: string, kinds: string]> = {
  kernels: ["name", "kernels"], kernel_launches: ["kernel", "kernels"], first_launches: ["kernel", "kernels"],
  occupancy: ["kernel", "kernels"], gpu_metrics_kernels: ["kernel", "kernels"], kernel_profiles: ["kernel", "kernels"], gpu_energy: ["kernel", "kernels"], counters: ["kernel", "kernels"], source_kernels: ["kernel", "kernels"], nccl: ["name", "kernels"], api: ["name", "api"], graph_calls: ["name", "api"],
  os_sum: ["function", "os"], os_slowest: ["function", "os"],
  api_errors: ["function", "api"], sync: ["function", "api"], sync_sites: ["function", "api"], polling: ["function", "api"],
  idle_by_launch: ["function", "api"], idle_by_call: ["function", "api"], nvtx: ["path", "nvtx"], steps: ["path", "nvtx"],
};

/** Whether the selected event is one of those that the row is about. */
export function rowHas(table: ReportTable, row: Row, details: EventDetails): boolean {
  if (table.id === "idle") return details.kind === "gap" && str(row, "cause") === details.name;
  if (table.id === "gaps") {
    return details.kind === "gap" && details.start_ns >= num(row, "start_ns") - 0.5 && details.end_ns <= num(row, "start_ns") + num(row, "duration_ns") + 0.5;
  }
  if (table.id === "step_iterations" || table.id === "step_outliers") {
    return details.start_ns >= num(row, "start_ns") && details.start_ns < num(row, "start_ns") + num(row, "duration_ns");
  }
  if (table.id === "memcpy" || table.id === "pageable") {
    const isPageable = table.id === "pageable" || /\bpageable\b/.test(str(row, "memory"));
    return details.kind === `${isPageable ? "pageable" : "copy"}_${COPY_ENDS[str(row, "direction")] ?? "other"}`;
  }
  if (table.id === "streams") return details.track.kind === "stream" && details.track.label === str(row, "name");
  const rule = NAME_KEYS[table.id];
  if (!rule || !KINDS_OF[rule[1]]?.(details.kind)) return false;
  const value = str(row, rule[0]);
  return value === details.name || (rule[1] === "nvtx" && value.endsWith(`/${details.name}`));
}
