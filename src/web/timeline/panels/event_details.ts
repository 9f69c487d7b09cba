// Everything that is known of an event and of its neighbours that explain it, as plain data: details.ts shows it.
import { MEMORY_KINDS } from "../../shared/data";
import {
  blameOf, callOf, describe, kindAt, lanesUnder, operationsOf, overlapping, placeOf, rangeOf, trackAround, trackPath, valueOf,
} from "../../shared/events";
import { formatBytes, formatNs, formatNumber } from "../../shared/format";
import { causeMeaning, kindLabel } from "../../shared/labels";
import { eventAt, lowerBound } from "../../shared/levels";
import { gapSections } from "./gap_details";
import { hostSections } from "./host_details";
import { neighbour } from "../input/navigate";
import { shortName, visible } from "../../shared/names";
import { pathsOf } from "../../shared/paths";
import { exactText } from "../paint/ruler";
import { stackOfCall } from "./stack_details";
import type { Run, RunLane } from "../../shared/state";

export interface Field {
  label: string;
  value: string;
  event?: number; // the value leads there
}

export interface Section {
  title: string;
  note?: string;
  fields: Field[];
}

export const MOST_NEIGHBOURS = 8;

export const titleOf = (run: Run, event: number): string => {
  const { name, kind } = describe(run, event);
  return kind === "gap" ? `idle: ${name}` : visible(name) || kindLabel(kind);
};

export function link(run: Run, label: string, event: number | null, suffix = ""): Field[] {
  if (event === null) return [];
  const { duration_ns, kind } = describe(run, event);
  const length = kind === "cpu_sample" ? "" : `, ${formatNs(duration_ns)}`;
  return [{ label, value: `${shortName(titleOf(run, event), 90)}${length}${suffix}`, event }];
}

function when(run: Run, event: number): Section {
  const { kind, start_ns, duration_ns, track } = describe(run, event);
  const { lane } = placeOf(run, event);
  const fields: Field[] = [
    { label: "Kind", value: kindLabel(kind) },
    ...(kind === "cpu_sample" ? [{ label: "Time", value: exactText(start_ns) }] : [
      { label: "Duration", value: withExact(duration_ns) },
      { label: "Start", value: exactText(start_ns) },
      { label: "End", value: exactText(start_ns + duration_ns) },
    ]),
    { label: "Track", value: visible(trackPath(run.data.tracks, lane.track)) },
  ];
  if (track.detail) fields.push({ label: "", value: visible(track.detail) });
  const count = valueOf(run, event, "count");
  if (count > 1) {
    fields.push({ label: "Stands for", value: `${formatNumber(count)} events shorter than ${formatNs(run.data.merged_below_ns)}, drawn as one` });
    fields.push({ label: "Busy", value: `${formatNs(valueOf(run, event, "busy"))} of it` });
  }
  return { title: "", fields };
}

function withExact(ns: number): string {
  return ns < 1000 ? formatNs(ns) : `${formatNs(ns)} (${formatNumber(ns)} ns)`;
}

function shapeFields(run: Run, event: number): Field[] {
  const shape = run.data.shapes[valueOf(run, event, "shape") - 1];
  if (!shape) return [];
  const threads = shape.block[0] * shape.block[1] * shape.block[2];
  const blocks = shape.grid[0] * shape.grid[1] * shape.grid[2];
  return [
    { label: "Grid", value: `${shape.grid.join(" × ")} = ${formatNumber(blocks)} blocks` },
    { label: "Block", value: `${shape.block.join(" × ")} = ${formatNumber(threads)} threads` },
    { label: "Registers", value: `${shape.registers} per thread` },
    { label: "Shared memory", value: `${formatBytes(shape.static_shared_bytes)} static, ${formatBytes(shape.dynamic_shared_bytes)} dynamic` },
  ];
}

function copyFields(run: Run, event: number): Field[] {
  const bytes = valueOf(run, event, "bytes");
  const { duration_ns, kind } = describe(run, event);
  if (bytes === 0) return [];
  const fields: Field[] = [{ label: "Size", value: `${formatBytes(bytes)} (${formatNumber(bytes)} B)` }];
  if (duration_ns > 0) fields.push({ label: "Bandwidth", value: `${formatBytes(bytes / (duration_ns / 1e9))}/s` });
  const memory = valueOf(run, event, "memory");
  if (memory > 0) {
    fields.push({ label: "Memory", value: `${MEMORY_KINDS[memory >> 4] ?? "?"} to ${MEMORY_KINDS[memory & 15] ?? "?"}` });
  }
  if (kind.startsWith("pageable")) {
    fields.push({
      label: "Pageable",
      value: "The host memory may be swapped out, so CUDA copies it through a pinned buffer of its own: slower, and the call blocks the host. "
        + "Allocate it with cudaMallocHost or pin it with cudaHostRegister (in PyTorch: pin_memory=True).",
    });
  }
  return fields;
}

/** Time from the end of the launching call to the start on the GPU. */
function launchFields(run: Run, operation: number): Field[] {
  const call = callOf(run, operation);
  if (call === null) return [{ label: "Launched by", value: "a call not in the trace" }];
  const start = describe(run, operation).start_ns;
  const launched = describe(run, call);
  const queued = start - (launched.start_ns + launched.duration_ns);
  const fields = link(run, "Launched by", call);
  fields.push({ label: "Call to start", value: `${formatNs(start - launched.start_ns)} from the entry of the call` });
  fields.push(queued >= 0
    ? { label: "Queued", value: `${formatNs(queued)} from the end of the call` }
    : { label: "Queued", value: "started before the call had returned" });
  const siblings = operationsOf(run, call).length;
  if (siblings > 1) fields.push({ label: "Same call", value: `${formatNumber(siblings)} operations were launched by this call` });
  return fields;
}

export function rangeFields(run: Run, event: number): Field[] {
  const path = pathsOf(run).text(pathsOf(run).idOf(event));
  if (path === "") return [];
  const { kind } = placeOf(run, event).lane.trackData;
  const call = kind === "stream" ? callOf(run, event) : kind === "gaps" ? blameOf(run, event) : event;
  const isRange = call !== null && placeOf(run, call).lane.trackData.kind === "nvtx";
  const range = call === null || isRange ? call : rangeOf(run, call);
  return [{ label: "NVTX", value: visible(path), ...(range === null ? {} : { event: range }) }];
}

function streamNeighbours(run: Run, event: number): Section {
  const { lane, index } = placeOf(run, event);
  const { events } = lane;
  const fields: Field[] = [];
  const before = neighbour(run, event, -1);
  const after = neighbour(run, event, 1);
  if (before !== null) {
    fields.push(...link(run, "Before", before));
    fields.push({ label: "Gap since", value: formatNs(events.start[index] - events.end[index - 1]) });
  }
  fields.push(...link(run, "After", after));
  return { title: "On this stream", fields: [...fields, ...gapBefore(run, lane, index)] };
}

/** The idle time of the GPU that this operation ended. */
function gapBefore(run: Run, lane: RunLane, index: number): Field[] {
  const device = trackAround(run.data.tracks, lane.track, "device");
  const start = lane.events.start[index];
  for (const gaps of lanesUnder(run, device, "gaps")) {
    const at = lowerBound(gaps.events.end, start);
    if (at < gaps.events.count && gaps.events.end[at] === start) {
      return link(run, "GPU idle before", gaps.events.first + at, `: ${causeMeaning(run.data.names[gaps.events.name[at]])}`);
    }
  }
  return [];
}

function atTheSameTime(run: Run, event: number): Section {
  const { lane, index } = placeOf(run, event);
  const device = trackAround(run.data.tracks, lane.track, "device");
  const others = lanesUnder(run, device, "stream").filter((other) => other !== lane);
  const found = overlapping(others, lane.events.start[index], lane.events.end[index], MOST_NEIGHBOURS + 1);
  const fields = found.slice(0, MOST_NEIGHBOURS).flatMap((other) => link(run, describe(run, other).track.label, other));
  if (found.length > MOST_NEIGHBOURS) fields.push({ label: "", value: "and more" });
  if (fields.length === 0) fields.push({ label: "", value: "nothing else ran on this GPU" });
  return { title: "At the same time", fields };
}

function operationSections(run: Run, event: number): Section[] {
  return [
    { title: "Launch", fields: [...launchFields(run, event), ...rangeFields(run, event)] },
    ...stackOfCall(run, callOf(run, event), event),
    streamNeighbours(run, event),
    atTheSameTime(run, event),
  ];
}

function callSections(run: Run, event: number): Section[] {
  const operations = operationsOf(run, event);
  const fields = operations.slice(0, MOST_NEIGHBOURS).flatMap((operation) => {
    const delay = describe(run, operation).start_ns - describe(run, event).start_ns;
    return link(run, describe(run, operation).track.label, operation, `, ${formatNs(delay)} after the entry`);
  });
  if (operations.length > MOST_NEIGHBOURS) fields.push({ label: "", value: `and ${formatNumber(operations.length - MOST_NEIGHBOURS)} more` });
  const result = valueOf(run, event, "result");
  const around = rangeFields(run, event);
  if (result !== 0) around.unshift({ label: "Returned", value: `error ${result}` });
  around.push(...link(run, "Before", neighbour(run, event, -1)), ...link(run, "After", neighbour(run, event, 1)));
  return [
    ...(fields.length > 0 ? [{ title: "Launched", fields }] : []),
    ...stackOfCall(run, event, null),
    { title: "On this thread", fields: around },
    ...gpuMeanwhile(run, event),
  ];
}

/** What the GPUs did while the host was in a call or range. */
export function gpuMeanwhile(run: Run, event: number): Section[] {
  const { start_ns, duration_ns } = describe(run, event);
  const streams = run.lanes.filter((lane) => lane.trackData.kind === "stream");
  const found = overlapping(streams, start_ns, start_ns + duration_ns, MOST_NEIGHBOURS + 1);
  const gaps = overlapping(run.lanes.filter((lane) => lane.trackData.kind === "gaps"), start_ns, start_ns + duration_ns, 3);
  const fields = [...gaps, ...found.slice(0, MOST_NEIGHBOURS)].flatMap((other) => link(run, describe(run, other).track.label, other));
  if (found.length > MOST_NEIGHBOURS) fields.push({ label: "", value: "and more" });
  return fields.length > 0 ? [{ title: "GPUs meanwhile", fields }] : [];
}

function rangeSections(run: Run, event: number): Section[] {
  const { lane, index } = placeOf(run, event);
  const { events } = lane;
  const fields: Field[] = [];
  const payload = valueOf(run, event, "payload");
  if (payload > 0) fields.push({ label: "Payload", value: visible(run.data.names[payload - 1] ?? "") });
  const path = pathsOf(run).text(pathsOf(run).idOf(event));
  if (path !== "") fields.push({ label: "Path", value: visible(path) });
  fields.push(...onGpus(run, event));
  const outer = run.lanes.find((other) => other.track === lane.track && other.depth === lane.depth - 1);
  const at = outer ? eventAt(outer.events, events.start[index]) : -1;
  if (outer && at >= 0 && kindAt(events, index) === "nvtx_range") fields.push(...link(run, "Within", outer.events.first + at));
  fields.push(...link(run, "Before", neighbour(run, event, -1)), ...link(run, "After", neighbour(run, event, 1)));
  const inner = run.lanes.filter((other) => other.track === lane.track && other.depth === lane.depth + 1);
  const within = overlapping(inner, events.start[index], events.end[index], MOST_NEIGHBOURS + 1);
  const inside = within.slice(0, MOST_NEIGHBOURS).flatMap((other) => link(run, "", other));
  if (within.length > MOST_NEIGHBOURS) inside.push({ label: "", value: "and more" });
  return [
    { title: placeOf(run, event).lane.trackData.kind === "nvtx" ? "Range" : "On this track", fields },
    ...(inside.length > 0 ? [{ title: "Nested ranges", fields: inside }] : []),
    ...gpuMeanwhile(run, event),
  ];
}

function projectionSections(run: Run, event: number): Section[] {
  const fields = link(run, "On the host", rangeOf(run, event));
  fields.push({ label: "Operations", value: formatNumber(valueOf(run, event, "operations")) });
  fields.push({ label: "Their time", value: withExact(valueOf(run, event, "operations_ns")) });
  fields.push(...rangeFields(run, event));
  fields.push(...link(run, "Before", neighbour(run, event, -1)), ...link(run, "After", neighbour(run, event, 1)));
  return [{ title: "Range", note: "From the start of the first to the end of the last operation launched in this range.", fields }];
}

/** Where the GPUs did what was launched in a range. */
function onGpus(run: Run, range: number): Field[] {
  return run.lanes.flatMap((lane) => {
    const at = lane.trackData.kind === "projection" ? lane.events.more.get("range")?.indexOf(range + 1) ?? -1 : -1;
    return at < 0 ? [] : link(run, run.data.tracks[lane.trackData.parent].label, lane.events.first + at);
  });
}

export function sectionsOf(run: Run, event: number): Section[] {
  const first = when(run, event);
  const correlation = valueOf(run, event, "correlation");
  const kind = placeOf(run, event).lane.trackData.kind;
  if (kind === "stream") first.fields.push(...shapeFields(run, event));
  first.fields.push(...copyFields(run, event));
  if (correlation > 0) first.fields.push({ label: "Correlation", value: String(correlation) });
  const more =
    kind === "stream" ? operationSections(run, event)
    : kind === "api" ? callSections(run, event)
    : kind === "gaps" ? gapSections(run, event)
    : kind === "projection" ? projectionSections(run, event)
    : hostSections(run, event) ?? rangeSections(run, event);
  return [first, ...more].filter((section) => section.fields.length > 0 || section.note);
}
