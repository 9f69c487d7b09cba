// Everything that is known of an event and of its neighbours that explain it, as plain data: details.ts shows it.
import { MEMORY_KINDS } from "../../shared/data";
import {
  callOf, describe, lanesOfKind, lanesUnder, operationsOf, outerLane, rangeOf, trackAround, tracksAround, valueOf,
} from "../../shared/events";
import { formatBytes, formatNs, formatNumber } from "../../shared/format";
import { causeMeaning, kindLabel } from "../../shared/labels";
import { eventAt, lowerBound } from "../../shared/levels";
import { gpuMeanwhile, link, linksBeside, linksWithin, MAX_NEIGHBOURS, rangeFields, textField, type Field, type Section } from "./fields";
import { gapSections } from "./gap_details";
import { sampleSections, stateSections, waitSections } from "./host_details";
import { neighbour } from "../model/navigate";
import { visible } from "../../shared/names";
import { nvtxPath } from "../../shared/paths";
import { exactText } from "../paint/ruler";
import { stackOfCall } from "./stack_details";
import type { Run, RunLane } from "../../shared/state";

function when(run: Run, event: number): Field[] {
  const { kind, start_ns, end_ns, duration_ns, track, lane } = describe(run, event);
  const { tracks, merged_below_ns } = run.data;
  const fields: Field[] = [
    { label: "Kind", value: kindLabel(kind) },
    ...(kind === "cpu_sample" ? [{ label: "Time", value: exactText(start_ns) }] : [
      { label: "Duration", value: withExact(duration_ns) }, { label: "Start", value: exactText(start_ns) }, { label: "End", value: exactText(end_ns) },
    ]),
    { label: "Track", value: visible(tracksAround(tracks, lane.track).reverse().map((at) => tracks[at].label).join(" › ")) },
  ];
  if (track.detail) fields.push({ label: "", value: visible(track.detail) });
  const count = valueOf(run, event, "count");
  if (count <= 1) return fields;
  return [...fields, { label: "Stands for", value: `${formatNumber(count)} events shorter than ${formatNs(merged_below_ns)}, drawn as one` },
    { label: "Busy", value: `${formatNs(valueOf(run, event, "busy"))} of it` }];
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

function streamNeighbours(run: Run, event: number): Section {
  const { lane, index, start_ns } = describe(run, event);
  const since = index > 0 ? [{ label: "Gap since", value: formatNs(start_ns - lane.events.end[index - 1]) }] : [];
  const [before, after] = [link(run, "Before", neighbour(run, event, -1)), link(run, "After", neighbour(run, event, 1))];
  return { title: "On this stream", fields: [...before, ...since, ...after, ...gapBefore(run, lane, start_ns)] };
}

/** The idle time of the GPU that this operation ended. */
function gapBefore(run: Run, lane: RunLane, start: number): Field[] {
  const device = trackAround(run.data.tracks, lane.track, "device");
  for (const gaps of lanesUnder(run, device, "gaps")) {
    const at = lowerBound(gaps.events.end, start);
    if (at < gaps.events.count && gaps.events.end[at] === start) {
      return link(run, "GPU idle before", gaps.events.first + at, `: ${causeMeaning(run.data.names[gaps.events.name[at]])}`);
    }
  }
  return [];
}

function atTheSameTime(run: Run, event: number): Section {
  const { lane } = describe(run, event);
  const device = trackAround(run.data.tracks, lane.track, "device");
  const fields = linksWithin(run, event, lanesUnder(run, device, "stream").filter((other) => other !== lane));
  return { title: "At the same time", fields: fields.length > 0 ? fields : [{ label: "", value: "nothing else ran on this GPU" }] };
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
  const fields = operations.slice(0, MAX_NEIGHBOURS).flatMap((operation) => {
    const delay = describe(run, operation).start_ns - describe(run, event).start_ns;
    return link(run, describe(run, operation).track.label, operation, `, ${formatNs(delay)} after the entry`);
  });
  if (operations.length > MAX_NEIGHBOURS) fields.push({ label: "", value: `and ${formatNumber(operations.length - MAX_NEIGHBOURS)} more` });
  const result = valueOf(run, event, "result");
  const returned = result === 0 ? [] : [{ label: "Returned", value: `error ${result}` }];
  return [
    { title: "Launched", fields },
    ...stackOfCall(run, event, null),
    { title: "On this thread", fields: [...returned, ...rangeFields(run, event), ...linksBeside(run, event)] },
    gpuMeanwhile(run, event),
  ];
}

function rangeSections(run: Run, event: number): Section[] {
  const { lane, start_ns, track, kind } = describe(run, event);
  const path = nvtxPath(run, event);
  const outer = kind === "nvtx_range" ? outerLane(run.lanes, lane) : undefined;
  const around = outer ? eventAt(outer.events, start_ns) : -1;
  const inner = run.lanes.filter((other) => other.track === lane.track && other.depth === lane.depth + 1);
  return [
    {
      title: track.kind === "nvtx" ? "Range" : "On this track",
      fields: [
        ...textField(run, event, "payload", "Payload"), ...(path ? [{ label: "Path", value: visible(path) }] : []), ...onGpus(run, event),
        ...link(run, "Within", outer && around >= 0 ? outer.events.first + around : null), ...linksBeside(run, event),
      ],
    },
    { title: "Nested ranges", fields: linksWithin(run, event, inner, () => "") },
    gpuMeanwhile(run, event),
  ];
}

function projectionSections(run: Run, event: number): Section[] {
  return [{
    title: "Range", note: "From the start of the first to the end of the last operation launched in this range.",
    fields: [
      ...link(run, "On the host", rangeOf(run, event)), { label: "Operations", value: formatNumber(valueOf(run, event, "operations")) },
      { label: "Their time", value: withExact(valueOf(run, event, "operations_ns")) }, ...rangeFields(run, event), ...linksBeside(run, event),
    ],
  }];
}

/** Where the GPUs did what was launched in a range. */
function onGpus(run: Run, range: number): Field[] {
  return lanesOfKind(run, "projection").flatMap(({ events, trackData }) => {
    const at = events.more.get("range")?.indexOf(range + 1) ?? -1;
    return at < 0 ? [] : link(run, run.data.tracks[trackData.parent].label, events.first + at);
  });
}

function moreSections(run: Run, event: number): Section[] {
  switch (describe(run, event).track.kind) {
    case "stream": return operationSections(run, event);
    case "api": return callSections(run, event);
    case "gaps": return gapSections(run, event);
    case "projection": return projectionSections(run, event);
    case "os": case "mpi": return waitSections(run, event);
    case "states": return stateSections(run, event);
    case "samples": return sampleSections(run, event);
    case "requests": return [{ title: "", fields: textField(run, event, "payload", "What") }, gpuMeanwhile(run, event)];
    default: return rangeSections(run, event);
  }
}

export function sectionsOf(run: Run, event: number): Section[] {
  const correlation = valueOf(run, event, "correlation");
  const fields = [...when(run, event), ...shapeFields(run, event), ...copyFields(run, event),
    ...(correlation > 0 ? [{ label: "Correlation", value: String(correlation) }] : [])];
  return [{ title: "", fields }, ...moreSections(run, event)].filter((section) => section.fields.length > 0 || section.note);
}
