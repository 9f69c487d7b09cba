// Words and colours for kinds of events and causes of idle time, one place for all parts of the page.
import type { EventKind } from "./data";

const KIND_LABELS: Record<EventKind, string> = {
  kernel: "kernel", copy_h2d: "copy host to device", copy_d2h: "copy device to host", copy_d2d: "copy device to device",
  copy_peer: "copy between GPUs", copy_other: "copy", memset: "memset", graph: "CUDA graph",
  api_launch: "launch call", api_copy: "copy call", api_memset: "memset call", api_sync: "synchronising call",
  api_memory: "memory call", api_load: "load call", api_query: "query call", api_stream: "stream call",
  api_event: "event call", api_graph: "graph call", api_other: "other CUDA call",
  nvtx_range: "NVTX range", nvtx_start_end: "NVTX range", nvtx_mark: "NVTX mark", gap: "idle",
  pageable_h2d: "pageable copy host to device", pageable_d2h: "pageable copy device to host", overhead: "CUPTI overhead",
  projection: "NVTX range on the GPU", os_call: "operating system call", mpi_call: "MPI call",
  thread_running: "thread running", thread_preempted: "thread preempted", thread_blocked: "thread blocked", cpu_sample: "CPU sample",
  request: "request", request_queue: "request in the queue", request_prefill: "prefill of a request", request_decode: "decode of a request",
  engine_step: "step of the engine",
};

/** Causes of idle time, as docs/analyses.md has them, in the order of display. */
export const CAUSES = [
  "host", "sync", "copy", "memory", "load", "api", "os", "mpi", "launch", "queue", "dependency", "profiler", "unknown",
] as const;

const CAUSE_MEANINGS: Record<string, string> = {
  queue: "work was queued, but the GPU had not started it", dependency: "queued work waited for an event of another stream",
  launch: "launch latency: from the launch call to the start on the GPU", sync: "the host was in a synchronising call",
  copy: "the host was in a blocking copy or memset", memory: "the host allocated, freed or registered memory",
  load: "contexts were created, or code was loaded or compiled", api: "the host was in another CUDA call",
  os: "the host was blocked in the operating system", mpi: "the host was in an MPI call", host: "the host ran its own code",
  profiler: "CUPTI was busy recording", unknown: "the launch call is not in the trace",
};

export const kindLabel = (kind: EventKind): string => KIND_LABELS[kind];
export const kindColor = (kind: EventKind): string => `--kind-${kind.replace(/_/g, "-")}`;

export const causeMeaning = (cause: string): string => CAUSE_MEANINGS[cause] ?? cause;
export const causeColor = (cause: string): string =>
  (CAUSES as readonly string[]).includes(cause) ? `--cause-${cause}` : "--cause-unknown";

/** Titles of the analyses, for groups of tables. */
const ANALYSIS_TITLES: Record<string, string> = {
  devices: "GPUs", idle: "Idle time", launches: "Launches", kernels: "Kernels", kernel_kinds: "Kernel types", small_kernels: "Small kernels",
  occupancy: "Occupancy", gemms: "Matrix multiplications", memcpy: "Copies", memory: "Memory", streams: "Streams", sync: "Synchronisation", api: "CUDA calls",
  api_errors: "Errors", hang: "Hang", mpi: "MPI", directives: "OpenMP and OpenACC", os_calls: "Operating system", threads: "Threads", cpu_functions: "CPU samples", python_lines: "Python", modules: "Modules", ops: "Operators", graphs: "CUDA graphs", startup: "Start-up", critical_path: "Critical path", steps: "Steps", requests: "Requests",
  nvtx: "NVTX", host_load: "Host", gpu_metrics: "GPU metrics", counters: "Kernel counters", source: "Kernel source", health: "Data quality", balance: "Multiple GPUs", sharing: "Shared GPUs", nccl: "NCCL", traces: "Multiple traces",
  fleet: "All ranks",
};
export const analysisTitle = (id: string): string => ANALYSIS_TITLES[id] ?? id;
