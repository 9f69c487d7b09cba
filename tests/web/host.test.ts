// The arithmetic of the rows of threads, of kernel counters and of ranks: test_maths.py bundles and runs it with Node.
import { rooflineOf, rowsOfKernel, countedKernels } from "../../src/web/charts/kernel_counters";
import { decodeTimeline } from "../../src/web/shared/decode";
import { compileFilter } from "../../src/web/shared/filter";
import { clearest } from "../../src/web/shared/jump";
import { framesOf } from "../../src/web/timeline/panels/stack_details";
import { mediansOf, orderOf, readHeat, shadesOf, valueAt } from "../../src/web/fleet/heat";
import { shellWord } from "../../src/web/shared/names";
import { sumSpan } from "../../src/web/timeline/model/measure";
import { sectionsOf } from "../../src/web/timeline/panels/event_details";
import type { Section } from "../../src/web/timeline/panels/fields";
import type { FleetRank, ReportDocument, Timeline } from "../../src/web/shared/data";
import type { Run } from "../../src/web/shared/state";
import { beginRun, Blob, eventCount, lane, runAll, same, slices, test, track } from "./small_run";

const NAMES = [
  "launch", "kernel", "os", "read", "lock", "/data/a.bin", "mutex 3", "loader (72)", "blocked", "running",
  "main (train.py:1)", "step (train.py:9)", "at::add;inner()", "decode", "preempted",
];
const [LAUNCH, KERNEL, GAP, OS, RUNNING, PREEMPTED, BLOCKED, SAMPLE] = [8, 0, 22, 27, 29, 30, 31, 32];

// One thread: a long read while the GPU is busy, a shorter wait for a lock while it is idle.
async function hostRun(): Promise<Run> {
  beginRun();
  const blob = new Blob();
  const tracks = [
    track("device", "gpu0", -1),
    track("gaps", "idle", 0, [lane(blob, 0, [{ start: 600, end: 900, name: 2, kind: GAP, function: 1 + 4 }])]), // 0
    track("stream", "stream 7", 0, [lane(blob, 0, [{ start: 100, end: 600, name: 1, kind: KERNEL, call: 1 + 3 }, { start: 900, end: 950, name: 1, kind: KERNEL }])]), // 1 2
    track("process", "train (70)", -1),
    track("thread", "thread 70 main", 3),
    track("api", "CUDA API", 4, [lane(blob, 0, [{ start: 50, end: 90, name: 0, kind: LAUNCH, stack: 2 }])]), // 3
    track("os", "OS calls", 4, [lane(blob, 0, [
      { start: 100, end: 590, name: 3, kind: OS, object: 1 + 5, bytes: 128, stack: 3 }, { start: 620, end: 800, name: 4, kind: OS, object: 1 + 6, other: 1 + 7 },
    ])]), // 4 5
    track("states", "thread state", 4, [lane(blob, 0, [
      { start: 50, end: 100, name: 9, kind: RUNNING, cpu: 4 }, { start: 100, end: 500, name: 8, kind: BLOCKED }, { start: 500, end: 620, name: 14, kind: PREEMPTED, other: 1 + 7 },
    ])]), // 6 7 8
    track("samples", "CPU samples", 4, [lane(blob, 0, [{ start: 60, end: 60, name: 13, kind: SAMPLE, stack: 4, busy: 40 }, { start: 640, end: 640, name: 12, kind: SAMPLE, stack: 3, busy: 40 }])]), // 9 10
  ];
  // main > step > at::add (with inner() inlined), and decode without callers
  const columns = [blob.column("parent", "delta", [0, 1, 2, 0]), blob.column("name", "varint", [10, 11, 12, 13]), blob.column("kind", "byte", [2, 2, 1, 1])];
  const data: Timeline = {
    label: "host", start_ns: "0", duration_ns: 1000, merged_below_ns: 0, event_count: eventCount(), trace_event_count: eventCount(),
    names: NAMES, shapes: [], stacks: { count: 4, columns }, tracks, blob_bytes: blob.bytes.length,
  };
  return decodeTimeline(0, data, Uint8Array.from(blob.bytes), slices as never);
}

const fields = (sections: Section[], label: string): string[] => sections.flatMap((s) => s.fields).filter((f) => f.label === label).map((f) => f.value);
const stackOf = (run: Run, event: number): string[][] =>
  sectionsOf(run, event).filter((s) => s.title.startsWith("Stack")).flatMap((s) => s.fields.map((f) => [f.label, f.value]));

test("frames come with the innermost first, inlined functions apart", async () => {
  const run = await hostRun();
  same(framesOf(run, 4).map((f) => [f.text, f.kind]),
    [["inner()", "native"], ["at::add", "native"], ["step (train.py:9)", "Python"], ["main (train.py:1)", "Python"]], "of a call");
  same(framesOf(run, 5), [], "of a call without");
});

test("one stack from the kernel to the outermost frame", async () => {
  const run = await hostRun();
  same(stackOf(run, 1), [["GPU", "kernel"], ["CUDA call", "launch"], ["Python", "step (train.py:9)"], ["", "main (train.py:1)"]], "of an operation");
  same(stackOf(run, 4), [["OS call", "read"], ["native", "inner()"], ["", "at::add"], ["Python", "step (train.py:9)"], ["", "main (train.py:1)"]], "of an OS call");
  // The sample has native frames alone; the call that it is in knows the Python ones.
  same(stackOf(run, 9), [["native", "decode"], ["CUDA call", "launch"], ["Python", "step (train.py:9)"], ["", "main (train.py:1)"]], "of a sample");
  same(stackOf(run, 2), [], "of an operation without a call");
});

test("what is said of threads", async () => {
  const run = await hostRun();
  const read = sectionsOf(run, 4);
  same([fields(read, "Object"), fields(read, "Size"), fields(read, "Thread blocked"), fields(read, "Thread preempted")],
    [["/data/a.bin"], ["128 B (128 B)"], ["400 ns"], ["90 ns"]], "a call");
  same([fields(sectionsOf(run, 5), "Waited for"), fields(sectionsOf(run, 8), "Ran in its place"), fields(sectionsOf(run, 6), "Ran on")],
    [["loader (72)"], ["loader (72)"], ["CPU 3"]], "who");
  same(fields(sectionsOf(run, 0), "Blocked in"), ["lock, 180 ns"], "idle time leads to the call");
  const sums = await sumSpan(run, { start_ns: 0, end_ns: 1000 }, slices, () => false);
  same(sums?.groups.get("OS and MPI calls")?.map((s) => [NAMES[s.name], s.time_ns]), [["read", 490], ["lock", 180]], "calls of a range of time");
  same(sums?.groups.get("Threads")?.map((s) => [NAMES[s.name], s.time_ns]), [["blocked", 400], ["preempted", 120], ["running", 50]], "states of it");
});

test("findings lead to the call that a GPU was idle in", async () => {
  const run = await hostRun();
  same(clearest([run], (r) => compileFilter("kind:os_call thread:70", r))?.event, 5, "not the longest call");
  const matching = (text: string): number[] => {
    const matches = compileFilter(text, run);
    return run.lanes.flatMap((l) => [...Array(l.events.count).keys()].filter((i) => matches(l, i)).map((i) => l.events.first + i));
  };
  same([matching('object:"mutex 3"'), matching("object:a.bin"), matching("object:a,b"), matching("kind:preempted"), matching("kind:sample")],
    [[5], [4], [], [8], [9, 10]], "words of the filter");
});

// ---- kernel counters

test("rows of kernels with one name are told apart", () => {
  const row = (kernel: string, reason: string, share: number): Record<string, string | number> => ({ kernel, reason, share_percent: share });
  const report = {
    tables: [
      { id: "counters", rows: [{ kernel: "a" }, { kernel: "a" }, { kernel: "b" }] },
      { id: "counter_stalls", rows: [row("a", "wait", 9), row("a", "barrier", 1), row("a", "wait", 5), row("b", "wait", 3)] },
      { id: "counter_roofline", rows: [
        { kernel: "a", type: "FP32", level: "DRAM", gflops: 10, peak_gflops: 100, peak_bytes_per_second: 5e9, intensity: 2, bound: "memory" },
        { kernel: "b", type: "FP64", level: "DRAM", gflops: 20, peak_gflops: 50, peak_bytes_per_second: 4e9, intensity: 4, bound: "compute" }] },
    ],
  } as unknown as ReportDocument;
  const kernels = countedKernels(report);
  same(kernels.map((k) => rowsOfKernel(report, "counter_stalls", k, ["reason"]).map((r) => r["share_percent"])), [[9, 1], [5], [3]], "stalls");
  const { points, peaks, bandwidths } = rooflineOf(report, kernels);
  same(points.map((p) => [p.kernel.name, p.type, p.flops, p.intensity]), [["a", "FP32", 1e10, 2], ["b", "FP64", 2e10, 4]], "points");
  same([[...peaks], [...bandwidths]], [[["FP32", 1e11], ["FP64", 5e10]], [["DRAM", 5e9]]], "the highest peaks");
});

// ---- ranks

const rank = (number: number, above_median_ns: number, host = ""): FleetRank =>
  ({ rank: number, name: `rank ${number}`, host, gpu: "", source: "", path: "", own_ns: 0, above_median_ns, wall_ns: 0, finding: "", problems: "" });

test("the heat map of ranks", () => {
  const blob = new Blob();
  const column = blob.column("own", "varint", [10, 10, 20, 12, 10, 300]);
  const map = readHeat({
    path: "step", is_time: false, steps_in_one: 1, columns: 2, ranks: [rank(0, 0, "b"), rank(1, 5, "a"), rank(2, 90, "b")],
    measures: [{ id: "own", title: "own time", unit_ns: 10, offset: column.offset, bytes: column.bytes }],
  }, Uint8Array.from(blob.bytes));
  const [own] = map.measures;
  same([valueAt(map, own, 1, 0), [...mediansOf(map, own)]], [200, [100, 120]], "values");
  same([orderOf(map.heat.ranks, "worst"), orderOf(map.heat.ranks, "rank"), orderOf(map.heat.ranks, "host")], [[2, 1, 0], [0, 1, 2], [1, 0, 2]], "orders");
  const compared = shadesOf(map, own, true);
  same([compared.full, [...compared.shares].map((s) => Math.round(100 * s))], [100, [0, -17, 100, 0, 0, 100]], "in percent of the median");
  const plain = shadesOf(map, own, false);
  same([plain.full, Math.round(100 * plain.shares[2]), plain.shares[5]], [3000, 7, 1], "of the most");
  same([shellWord("runs/rank1.trace"), shellWord("my run's.trace")], ["runs/rank1.trace", "'my run'\\''s.trace'"], "words of a shell");
});

void runAll();
