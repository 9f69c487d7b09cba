// The arithmetic of the timeline, without a browser: test_maths.py bundles and runs it with Node. Whatever fails throws.
import { bytesOfSeptets } from "../../src/web/shared/packed";
import { decodeColumn, decodeTimeline } from "../../src/web/shared/decode";
import type { Counter, Flame, Timeline } from "../../src/web/shared/data";
import { callOf, gpuWork, isEvent, operationsOf, overlapping } from "../../src/web/shared/events";
import { compileFilter, findMatches, isProjected, parseFilter, parseTime } from "../../src/web/shared/filter";
import { makeLayout, lanesByTrack, rowAt } from "../../src/web/timeline/model/layout";
import { busyWithin, eventAt, levelsOf, lowerBound } from "../../src/web/shared/levels";
import { clearest, longest } from "../../src/web/shared/jump";
import { formatLink, parseLink } from "../../src/web/shared/link";
import { sumSpan } from "../../src/web/timeline/model/measure";
import { longestGap, nextGap, nextMatch, nextSameName } from "../../src/web/timeline/model/navigate";
import { makeWideEvents, markedWithin, paintLane } from "../../src/web/timeline/paint/paint";
import { nvtxPath } from "../../src/web/shared/paths";
import { functionSections } from "../../src/web/timeline/panels/gap_details";
import { sectionsOf } from "../../src/web/timeline/panels/event_details";
import { cutToFit, splitName } from "../../src/web/timeline/paint/text";
import { roundStep } from "../../src/web/shared/format";
import { exactText, marksOf } from "../../src/web/timeline/paint/ruler";
import { counterAt, heatWithin, summaryWithin } from "../../src/web/timeline/paint/counter";
import { boxesOf, childrenOf, shareOf } from "../../src/web/charts/chart_flame";
import { State, type CounterValues, type Run } from "../../src/web/shared/state";
import { limited, zoomed } from "../../src/web/timeline/model/viewport";
import { beginRun, Blob, eventCount, lane, runAll, same, slices, test, track, type Row } from "./small_run";

// names: 0 step 1 load 2 launch 3 saxpy 4 host 5 copy 6 sync
const NAMES = ["step", "load", "cudaLaunchKernel", "void saxpy<float>(int)", "host", "copy host to device", "queue"];
const [KERNEL, H2D, LAUNCH, NVTX, GAP, PAGEABLE] = [0, 1, 8, 19, 22, 23];

async function smallRun(): Promise<Run> {
  beginRun();
  const blob = new Blob();
  const tracks = [
    track("process", "process 5 train", -1),
    track("thread", "thread 6 python", 0),
    track("nvtx", "NVTX", 1, [
      lane(blob, 0, [{ start: 0, end: 500, name: 0, kind: NVTX }, { start: 500, end: 1000, name: 0, kind: NVTX }]), // 0 1
      lane(blob, 1, [{ start: 100, end: 200, name: 1, kind: NVTX }, { start: 500, end: 600, name: 1, kind: NVTX }]), // 2 3
    ]),
    track("api", "CUDA API", 1, [
      lane(blob, 0, [
        { start: 120, end: 150, name: 2, kind: LAUNCH, range: 1 + 2 }, { start: 300, end: 320, name: 2, kind: LAUNCH, range: 1 + 0 },
        { start: 510, end: 530, name: 2, kind: LAUNCH, range: 1 + 3 },
      ]), // 4 5 6
    ]),
    track("device", "gpu0 NVIDIA H200", -1),
    track("gaps", "idle", 4, [lane(blob, 0, [
      { start: 250, end: 330, name: 4, kind: GAP, next: 1 + 11, blame: 1 + 2 }, { start: 430, end: 540, name: 6, kind: GAP, next: 1 + 12, blame: 1 + 6 },
    ])]), // 7 8
    track("stream", "stream 7", 4, [lane(blob, 0, [
      { start: 160, end: 250, name: 3, kind: KERNEL, call: 1 + 4 }, { start: 540, end: 600, name: 3, kind: KERNEL, call: 1 + 6 },
    ])]), // 9 10
    track("stream", "stream 17", 4, [lane(blob, 0, [
      { start: 330, end: 430, name: 5, kind: PAGEABLE, call: 1 + 5, bytes: 4096, memory: 0x13 },
      { start: 560, end: 590, name: 5, kind: H2D, call: 1 + 6, bytes: 8192, memory: 0x23 },
    ])]), // 11 12
  ];
  const data: Timeline = {
    label: "small", start_ns: "0", duration_ns: 1000, merged_below_ns: 0, event_count: eventCount(), trace_event_count: eventCount(),
    names: NAMES, shapes: [], tracks, blob_bytes: blob.bytes.length,
  };
  return decodeTimeline(0, data, Uint8Array.from(blob.bytes), slices as never);
}

/** Which events match, by number. */
function matching(run: Run, text: string): number[] {
  const matches = compileFilter(text, run);
  return run.lanes.filter((l) => !isProjected(l)).flatMap((l) => [...Array(l.events.count).keys()].filter((i) => matches(l, i)).map((i) => l.events.first + i));
}

// ---- reading

test("columns of every coding", () => {
  const blob = new Blob();
  const values = [0, 1, 127, 128, 300, 2 ** 28, 2 ** 31, 2 ** 40, 2 ** 53 - 1];
  const varint = blob.column("a", "varint", values);
  const mixed = [0, -1, 1, -64, 63, 2 ** 30, -(2 ** 40)];
  const delta = blob.column("b", "delta", mixed);
  const zigzag = blob.column("c", "zigzag", mixed);
  const bytes = blob.column("d", "byte", [0, 255, 7]);
  const all = Uint8Array.from(blob.bytes);
  same([...decodeColumn(all, varint, values.length)], values, "varint");
  same([...decodeColumn(all, delta, mixed.length)], mixed, "delta");
  same([...decodeColumn(all, zigzag, mixed.length)], mixed, "zigzag");
  same([...decodeColumn(all, bytes, 3)], [0, 255, 7], "byte");
});

test("bytes out of text", async () => {
  // As tests/unit/html/page_test.cpp and page_reader.py have them.
  const texts: [string, number[]][] = [
    ["", []], ["\u0001@", [3]], ["\u0100", [0]], ["0XL\u0280", [97, 98, 96]], ["\u0100\u0100\u0100\u0100", [0, 0, 0, 0, 0, 0, 0]],
    ["\u017f\u001f\u007fx", [1, 252, 255, 255]], ["\u007f".repeat(7) + "\u02bc", [255, 255, 255, 255, 255, 255, 188]],
  ];
  for (const [text, bytes] of texts) same([...(await bytesOfSeptets(text, slices as never))], bytes, JSON.stringify(text));
});

test("a run is read back", async () => {
  const run = await smallRun();
  same(run.lanes.map((l) => [...l.events.start]), [[0, 500], [100, 500], [120, 300, 510], [250, 430], [160, 540], [330, 560], [160, 540], [160, 540]], "starts");
  same([...run.lanes[4].events.end], [250, 600], "ends");
  same([...run.lanes[5].events.busyBefore], [0, 100, 130], "busy before");
  same([run.laneOf(0).track, run.laneOf(9).track, run.laneOf(12).track], [2, 7, 8], "lanes of events");
  same([isEvent(run, 16), isEvent(run, 17), isEvent(run, -1), isEvent(run, 0.5), isEvent(undefined, 0)], [true, false, false, false, false], "events");
  same([callOf(run, 12), operationsOf(run, 6), operationsOf(run, 4)], [6, [10, 12], [9]], "calls and operations");
  same(gpuWork(run), { start_ns: 160, end_ns: 600 }, "work of the GPU");
  same(overlapping([run.lanes[4], run.lanes[5]], 250, 560, 9), [10, 11], "what overlaps, borders excluded");
  same([9, 10, 11, 0, 7].map((event) => nvtxPath(run, event)), ["step/load", "step/load", "step", "step", "step/load"], "paths");
});

test("ranges are projected onto the GPU", async () => {
  const run = await smallRun();
  same(run.data.tracks.map((t) => [t.kind, t.parent]), [["process", -1], ["thread", 0], ["nvtx", 1], ["api", 1], ["device", -1], ["gaps", 4],
    ["projection", 4], ["stream", 4], ["stream", 4]], "tracks");
  const rows = run.lanes.filter((l) => l.trackData.kind === "projection");
  same(rows.map((l) => [...l.events.start].map((start, i) => [run.data.names[l.events.name[i]], start, l.events.end[i], l.depth])),
    [[["step", 160, 430, 0], ["step", 540, 600, 0]], [["load", 160, 250, 1], ["load", 540, 600, 1]]], "from the first to the last operation");
  same(rows.map((l) => [...(l.events.more.get("operations") ?? [])]), [[2, 2], [1, 2]], "operations");
  same(rows.map((l) => [...(l.events.more.get("operations_ns") ?? [])]), [[190, 90], [90, 90]], "their time");
  same(sectionsOf(run, 13)[1].fields.slice(0, 2).map((f) => [f.label, f.value, f.event]), [["On the host", "step, 500 ns", 0], ["Operations", "2", undefined]], "details");
  same(sectionsOf(run, 0)[1].fields.filter((f) => f.event === 13).length, 1, "links from the host's range");
  const found = await findMatches(run, "name:step", slices, () => false);
  same([found?.count, found && [...found.marks.keys()].filter(isProjected).length], [2, 1], "drawn as matches, but not counted");
});

// ---- where findings lead

function gapRun(times: [start: number, end: number, name: number][], steady: Timeline["steady"]): Promise<Run> {
  beginRun();
  const blob = new Blob();
  const tracks = [track("device", "gpu0", -1), track("gaps", "idle", 0, [lane(blob, 0, times.map(([start, end, name]) => ({ start, end, name, kind: GAP })))])];
  const data: Timeline = {
    label: "gaps", start_ns: "0", duration_ns: 10000, merged_below_ns: 0, event_count: eventCount(), trace_event_count: eventCount(), steady,
    names: NAMES, shapes: [], tracks, blob_bytes: blob.bytes.length,
  };
  return decodeTimeline(0, data, Uint8Array.from(blob.bytes), slices as never);
}

test("findings lead to the longest and clearest after warm-up", async () => {
  const times: [number, number, number][] = [[0, 900, 4], [1000, 1400, 4], [1400, 2000, 6], [3000, 3350, 4], [4000, 4100, 4]];
  const find = async (steady: Timeline["steady"], by = clearest): Promise<number | undefined> =>
    by([await gapRun(times, steady)], (run) => compileFilter("cause:host", run))?.event;
  same(await find(null), 0, "without steady time");
  // 400 ns of a pause of 1000 ns shows the cause less clearly than 350 ns of 350.
  same(await find({ start_ns: 950, end_ns: 5000 }), 3, "after warm-up");
  same(await find({ start_ns: 950, end_ns: 5000 }, longest), 0, "links of tables lead to the longest");
  same(await find({ start_ns: 6000, end_ns: 7000 }), 0, "where the steady time has none");
});

test("idle time in the operating system names its function", async () => {
  beginRun();
  const blob = new Blob();
  const names = ["os", "pthread_cond_wait"];
  const tracks = [track("device", "gpu0", -1), track("gaps", "idle", 0, [lane(blob, 0, [{ start: 5, end: 9, kind: GAP, function: 2 }])])];
  const run = await decodeTimeline(0, { label: "", start_ns: "0", duration_ns: 9, merged_below_ns: 0, event_count: 1, trace_event_count: 1, names,
    shapes: [], tracks, blob_bytes: blob.bytes.length }, Uint8Array.from(blob.bytes), slices as never);
  same(sectionsOf(run, 0).flatMap((s) => s.fields).filter((f) => f.label === "Blocked in").map((f) => f.value), ["pthread_cond_wait"], "function");
  const report = { tables: [{ id: "idle_by_function", rows: [{ percent: 75, function: "decode", module: "libjpeg.so" }] }] } as never;
  same(functionSections(report, "host").flatMap((s) => s.fields), [{ label: "75.0%", value: "decode, libjpeg.so" }], "samples");
  same([functionSections(report, "os"), functionSections(null, "host"), functionSections(report, "queue")], [[], [], []], "not in the report");
});

// ---- flame graph

test("boxes of the flame graph are as wide as their share", () => {
  // main calls a (6 samples) and b (4); a calls b for 2.
  const flame: Flame = { measure: "CPU samples", by: "stack", unit: "samples", names: ["main", "a", "b"], nodes: [[-1, 0, 10], [0, 1, 6], [0, 2, 4], [1, 2, 2]] };
  const children = childrenOf(flame);
  const shape = (boxes: { node: number; from: number; width: number; depth: number }[]): number[][] => boxes.map((b) => [b.node, b.from, b.width, b.depth]);
  same(shape(boxesOf(flame, children, -1)), [[0, 0, 1, 0], [1, 0, 0.6, 1], [3, 0, 0.2, 2], [2, 0.6, 0.4, 1]], "whole run");
  same(shape(boxesOf(flame, children, 1)), [[0, 0, 1, 0], [1, 0, 1, 1], [3, 0, 1 / 3, 2]], "one function");
  same([shareOf(flame, children, "b"), shareOf(flame, children, "main"), shareOf(flame, children, "x")], [0.6, 1, 0], "found once each");
});

// ---- labels

test("labels keep their end", () => {
  same([splitName("stream 14"), splitName("gpu0 NVIDIA H200"), splitName("NVTX"), splitName("a_very_long_name_without_blanks")],
    [["stream", " 14"], ["gpu0 NVIDIA", " H200"], ["NV", "TX"], ["a_very_long_name_without_", "blanks"]], "ends");
  same([cutToFit("iteration 14", 6), cutToFit("iteration 14", 2), cutToFit("iteration 14", 1), cutToFit("saxpy_kernel", 5), cutToFit("step 123456", 4)],
    ["iter…14", "…14", "", "saxpy…", "step…"], "cut");
});

// ---- searching

test("lower bounds are those of a plain search", () => {
  const values = Float64Array.from({ length: 1000 }, (_, i) => Math.floor(i / 3) * 7);
  for (const from of [0, 1, 5, 400, 999, 1000]) {
    for (const step of [1, 3, 1000, 5000]) {
      for (let time = -3; time < 2400; time += 5) {
        let expected = from;
        while (expected < 1000 && values[expected] < time) ++expected;
        same(lowerBound(values, time, from, step), expected, `from ${from} by ${step} to ${time}`);
      }
    }
  }
});

test("busy time within", async () => {
  const { events } = (await smallRun()).lanes[5];
  for (const [from, to, busy] of [[0, 1000, 130], [330, 430, 100], [340, 350, 10], [400, 575, 45], [430, 560, 0], [600, 700, 0]]) {
    same(busyWithin(events, from, to), busy, `${from} to ${to}`);
  }
  same([eventAt(events, 330), eventAt(events, 429), eventAt(events, 431), eventAt(events, 999)], [0, 0, -1, -1], "at a time");
});

// ---- painting

async function manyEvents(count: number): Promise<Run> {
  beginRun();
  const blob = new Blob();
  const rows: Row[] = [];
  for (let i = 0; i < count; ++i) rows.push({ start: i * 10, end: i * 10 + (i % 2 === 0 ? 5 : 1), name: i % 7, kind: i % 2 === 0 ? KERNEL : H2D });
  const tracks = [track("stream", "stream 7", -1, [lane(blob, 0, rows)])];
  return decodeTimeline(0, {
    label: "", start_ns: "0", duration_ns: count * 10, merged_below_ns: 0, event_count: count, trace_event_count: count, names: NAMES, shapes: [],
    tracks, blob_bytes: blob.bytes.length,
  }, Uint8Array.from(blob.bytes), slices as never);
}

function paint(run: Run, start_ns: number, end_ns: number, width: number, filter = ""): Promise<Uint32Array> {
  return findMatches(run, filter, slices, () => false).then((found) => {
    const line = new Uint32Array(width);
    const { count } = run.lanes[0].events;
    const none = { bits: new Uint8Array(count), blocks: new Uint32Array(Math.ceil(count / 32) + 1) };
    const marks = filter ? found?.marks.get(run.lanes[0]) ?? none : null;
    paintLane({ events: run.lanes[0].events, start_ns, perPixel_ns: (end_ns - start_ns) / width, marks, colorOf: (_e, _i, cls) => cls + 1,
      isUnder: false, onlyMarked: false, cell_px: 1 }, line, makeWideEvents(), 20);
    return line;
  });
}

test("few events are painted where they are", async () => {
  const line = await paint(await manyEvents(4), 0, 40, 400);
  const runs = [...line].map((word) => word & 255);
  same(runs.slice(0, 50).every((cls) => cls === KERNEL + 1), true, "the first kernel");
  same(runs.slice(50, 100).every((cls) => cls === 0), true, "nothing after it");
  same(runs.slice(100, 110).every((cls) => cls === H2D + 1), true, "the copy");
  same(runs[111], 0, "nothing after the copy");
});

test("many events in a pixel have the colour of what took most, whatever the zoom", async () => {
  const run = await manyEvents(200000);
  for (const events of [4, 20, 64, 500, 5000]) {
    const line = await paint(run, 0, 2000000, Math.floor(200000 / events));
    same([...new Set([...line].map((word) => word & 255))], [KERNEL + 1], `${events} in a pixel`);
    const alphas = [...line].map((word) => word >>> 24);
    if (Math.max(...alphas) - Math.min(...alphas) > 12) throw new Error(`${events} in a pixel: strength ${Math.min(...alphas)} to ${Math.max(...alphas)}`);
  }
});

test("summaries of blocks", async () => {
  const { blocks, bigBlocks } = levelsOf((await manyEvents(3000)).lanes[0].events);
  same([blocks.cls.length, bigBlocks.cls.length], [94, 3], "blocks");
  same([new Set(blocks.cls).size, blocks.cls[0], bigBlocks.cls[2]], [1, KERNEL, KERNEL], "kernels");
  same([blocks.longest[1], blocks.length[1], blocks.weight[0]], [32, 5, 16 * 6], "the first longest");
});

test("one match among thousands is seen", async () => {
  const run = await manyEvents(100000);
  const line = await paint(run, 0, 1000000, 100, "min:5ns kind:h2d"); // there is none
  same(Math.max(...[...line].map((word) => word >>> 24)) < 60, true, "all dim");
  const found = await findMatches(run, "name:step kind:copy", slices, () => false);
  const marks = found?.marks.get(run.lanes[0]);
  if (!found || !marks) throw new Error("no matches");
  same(found.count, marks.bits.reduce((sum, bit) => sum + bit, 0), "count");
  same(marks.blocks[marks.blocks.length - 1], found.count, "sum of blocks");
  for (const [i, j] of [[0, 10], [0, 64], [0, 32000], [3, 60]]) {
    let count = 0;
    for (let k = i; k < j; ++k) count += marks.bits[k];
    same(markedWithin(marks, i, j), count, `${i} to ${j}`);
  }
  const lit = await paint(run, 0, 1000000, 100, "name:step kind:copy");
  same(Math.min(...[...lit].map((word) => word >>> 24)) > 200, true, "every pixel has one");
});

// ---- the filter

test("the language of the filter", async () => {
  const run = await smallRun();
  const cases: [string, number[]][] = [
    ["saxpy", [9, 10]], ["SAXPY float", [9, 10]], ["saxpy copy", []], ["\"host to\"", [11, 12]], ["name:\"host\"", [7]], ["name:host", [7, 11, 12]],
    ["kind:copy", [11, 12]], ["kind:pageable", [11]], ["kind:h2d", [11, 12]], ["kind:copy_h2d", [12]], ["kind:kernel,pageable", [9, 10, 11]],
    ["kind:api", [4, 5, 6]], ["kind:gap", [7, 8]], ["stream:7", [9, 10]], ["stream:17", [11, 12]], ["stream:1", []], ["gpu:0 kind:kernel", [9, 10]],
    ["gpu:1", []], ["thread:6 kind:api", [4, 5, 6]], ["thread:python kind:api", [4, 5, 6]], ["track:\"stream 7\"", [9, 10]],
    ["nvtx:step/load kind:kernel", [9, 10]], ["nvtx:\"step\" kind:copy", [11]], ["path:load kind:api", [4, 6]], ["cause:host", [7]], ["cause:queue", [8]],
    ["min:100ns kind:copy", [11]], ["max:30ns kind:copy", [12]], ["-kind:nvtx -kind:api -kind:gap -stream:7", [11, 12]], ["min:nonsense", []],
    ["\"", []], ["unknown:x", []], ["kind:", []], ["name:\"void saxpy<float>(int)\"", [9, 10]],
  ];
  for (const [text, expected] of cases) {
    const isAll = parseFilter(text).length === 0;
    same(matching(run, text), isAll ? [...Array(13).keys()] : expected, text);
  }
  same(parseFilter("name:\"a \\\"b\\\" \\\\c\"")[0].values, ["a \"b\" \\c"], "escapes");
  same([parseTime("10us"), parseTime("1.5ms"), parseTime("2s"), parseTime("7"), Number.isNaN(parseTime("x"))], [1e4, 1.5e6, 2e9, 7, true], "times");
  same(longest([run], (r) => compileFilter("kind:copy", r)), { timeline: 0, event: 11 }, "longest");
  same(longest([run], (r) => compileFilter("nothing like it", r)), null, "no longest");
});

// ---- walking

test("from event to event", async () => {
  const run = await smallRun();
  const at = (event: number) => ({ timeline: 0, event });
  same([nextSameName(run, at(9), 1), nextSameName(run, at(10), 1), nextSameName(run, at(10), -1)], [at(10), null, at(9)], "of a name");
  same([nextGap(run, null, 0, 1), nextGap(run, at(7), 0, 1), nextGap(run, at(8), 0, 1), longestGap(run)], [at(7), at(8), null, at(8)], "gaps");
  const found = await findMatches(run, "kind:api", slices, () => false);
  if (!found) throw new Error("no matches");
  const order: number[] = [];
  for (let ref = nextMatch(run, found, null, -1, 1); ref; ref = nextMatch(run, found, ref, 0, 1)) order.push(ref.event);
  same(order, [4, 5, 6], "matches in time");
});

test("sums of a range", async () => {
  const sums = await sumSpan(await smallRun(), { start_ns: 200, end_ns: 400 }, slices, () => false);
  if (!sums) throw new Error("no sums");
  same(sums.groups.get("GPU operations")?.map((s) => [s.name, s.time_ns, s.count, s.bytes]), [[5, 70, 1, 4096], [3, 50, 1, 0]], "operations");
  same(sums.devices.map((d) => [d.busy_ns, d.idle_ns, d.idle]), [[120, 80, [{ cause: "host", time_ns: 80, count: 1 }]]], "the GPU");
  same(sums.groups.get("NVTX ranges")?.map((r) => [r.name, r.time_ns]), [[0, 200]], "ranges");
});

// ---- counters

const counterValues = (low: number[], value: number[], high: number[]): CounterValues => ({
  time: Float64Array.from([0, 10, 20, 30]), value: Float64Array.from(value), low: Float64Array.from(low), high: Float64Array.from(high),
});

test("what was sampled has a least, a mean and a largest value", () => {
  const values = counterValues([1, 3, NaN, 5], [2, 4, NaN, 5], [9, 4, NaN, 5]);
  same(summaryWithin(values, 0, 20), { low: 1, mean: 3, high: 9 }, "of two");
  same(summaryWithin(values, 15, 31), { low: 3, mean: (4 * 5 + 5) / 6, high: 5 }, "around a hole");
  same(summaryWithin(values, 22, 28), null, "in a hole");
  same(summaryWithin(values, -5, 0), null, "before the first");
  same([counterAt(values, 10), counterAt(values, 25), counterAt(values, 99)], [4, null, 5], "at a time");
});

test("a heat strip is as dark as the mean is of the most", () => {
  const values = counterValues([20, 60, NaN, 0], [20, 60, NaN, 0], [20, 60, NaN, 0]);
  const percent: Counter = { unit: "percent", maximum: 60, count: 4, resolution_ns: 0, scale: 0, columns: [] };
  const watts: Counter = { ...percent, unit: "W" };
  same(heatWithin(percent, values, 0, 20), 0.4, "of 100 %");
  same(heatWithin(watts, values, 0, 20), 40 / 60, "of the largest");
  same([heatWithin(percent, values, 20, 30), heatWithin(percent, values, 30, 40)], [0, 0], "nothing measured, and nothing done");
});

// ---- rows, axis, links

test("rows fold and are pinned", async () => {
  const run = await smallRun();
  const lanes = lanesByTrack(run, run.data.tracks);
  const rows = (folded: number[], pinned: number[]) => makeLayout(run.data, lanes, { folded: new Set(folded), pinned: new Set(pinned) }, 0);
  same(rows([], []).rows.map((row) => row.track), [0, 1, 2, 3, 4, 5, 6, 7, 8], "all");
  same(rows([0], []).rows.map((row) => row.track), [0, 4, 5, 6, 7, 8], "folded");
  same(rows([0], [3]).pinned.map((row) => row.track), [3], "pinned out of a folded group");
  same(rows([4], []).rows[4].lanes.length, 2, "streams over each other");
  const { rows: all } = rows([], []);
  for (const row of all) same([rowAt(all, row.y)?.track, rowAt(all, row.y + row.height - 1)?.track], [row.track, row.track], "row at");
  same([rowAt(all, -1), rowAt(all, 1e6)], [null, null], "beyond the rows");
});

test("idle slivers merge into gaps", async () => {
  // Kernels of 10 ns and between them 90 ns of idle time with changing causes; then a pause of which all but the ends is one part.
  const times = Array.from({ length: 400 }, (_, i): [number, number, number] => [i * 100, i * 100 + 90, i % 5 === 0 ? 6 : 4]);
  const pause: [number, number, number][] = [[40000, 40100, 6], [40100, 79900, 4], [79900, 80000, 6]];
  const run = await gapRun([...times, ...pause], null);
  const line = (start_ns: number, width: number, perPixel_ns: number, cell_px: number): number[] => {
    const pixels = new Uint32Array(width);
    paintLane({ events: run.lanes[0].events, start_ns, perPixel_ns, marks: null, colorOf: (_e, _i, cls) => cls, isUnder: false, onlyMarked: false, cell_px },
      pixels, null, 0);
    return [...pixels].map((word) => word & 255);
  };
  const changes = (pixels: number[]): number => pixels.filter((value, i) => i > 0 && value !== pixels[i - 1]).length;
  same(changes(line(0, 400, 100, 1)) > 100, true, "stripes pixel by pixel");
  same(changes(line(0, 400, 100, 4)), 0, "one gap in cells of four pixels");
  same(changes(line(0, 200, 20, 4)) > 10, true, "near by each part is drawn");
  same(changes(line(39900, 410, 100, 4).slice(2, 400)), 0, "the ends of a pause are drawn as the rest of it");
  same(line(0, 400, 100, 4).slice(17), line(1700, 383, 100, 4), "what is drawn stays when the view moves");
});

test("the axis has round marks", () => {
  same([1, 1.5, 2.1, 7, 90].map(roundStep), [1, 2, 5, 10, 100], "steps");
  same(marksOf({ start_ns: 0, end_ns: 1e7 }, 1000).marks.map((m) => m.text).slice(0, 3), ["0", "1 ms", "2 ms"], "from the start");
  const far = marksOf({ start_ns: 12345678900, end_ns: 12345679900 }, 1000);
  same(far.base.endsWith("+"), true, "a base far from the start");
  same(new Set(far.marks.map((m) => m.text)).size, far.marks.length, "marks differ");
  same([exactText(1234567), exactText(5), exactText(0)], ["1.234567 ms", "5 ns", "0 ns"], "exact times");
});

test("the view stays on the run", () => {
  const whole = { start_ns: 0, end_ns: 1e9 };
  for (const view of [{ start_ns: -1e12, end_ns: 1e12 }, { start_ns: 5e12, end_ns: 6e12 }, { start_ns: NaN, end_ns: 1 }, { start_ns: 100, end_ns: 100 }]) {
    const { start_ns, end_ns } = limited(view, whole);
    if (!(end_ns - start_ns >= 20 && start_ns < 1e9 && end_ns > 0 && end_ns - start_ns <= 1.05e9)) throw new Error(`${start_ns} to ${end_ns}`);
  }
  const near = zoomed(whole, 0.5, 2.5e8);
  same((2.5e8 - near.start_ns) / (near.end_ns - near.start_ns), 0.25, "the pointer stays where it is");
});

test("links, and what is no link", () => {
  const state = new State({ timelines: [{ duration_ns: 1000 }] } as never);
  same(formatLink(state), "", "nothing to say");
  state.set("view", { start_ns: 1.25, end_ns: 500 });
  state.set("selection", { timeline: 0, event: 7 });
  state.set("filter", "kind:h2d \"a&b=#\"");
  state.set("span", { start_ns: 1, end_ns: 2 });
  state.set("tab", "timeline");
  const link = parseLink(formatLink(state));
  same([link.view, link.selection, link.filter, link.span, link.tab], [state.view, state.selection, state.filter, state.span, "timeline"], "there and back");
  for (const hash of ["", "#", "#t=", "#t=5", "#t=9,3", "#t=a,b", "#t=1e99,2", "#sel=1", "#sel=-1:2", "#sel=0:99999999999", "#tab=<script>", "#%", "#t=NaN,NaN&sel=:&q", "#table=../x"]) {
    const { view, selection, tab, table } = parseLink(hash);
    same([view, selection, tab, table], [null, null, null, null], hash);
  }
  same((parseLink(`#q=${"x".repeat(9999)}`).filter ?? "").length, 2000, "a long filter is cut");
});

void runAll();
