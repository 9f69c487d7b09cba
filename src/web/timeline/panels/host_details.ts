// What is known of what a thread did beside its CUDA calls: calls of MPI and of the operating system, whether it ran, and
// where CPU samples found it.
import { describe, kindAt, overlapping, placeOf, valueOf } from "../../shared/events";
import { formatNs } from "../../shared/format";
import { kindLabel } from "../../shared/labels";
import { visible } from "../../shared/names";
import { gpuMeanwhile, link, MOST_NEIGHBOURS, rangeFields, type Field, type Section } from "./event_details";
import { neighbour } from "../input/navigate";
import { callAround, lanesBeside, stackOfEvent } from "./stack_details";
import type { Run } from "../../shared/state";

function named(run: Run, event: number, column: string, label: string): Field[] {
  const value = valueOf(run, event, column);
  return value > 0 ? [{ label, value: visible(run.data.names[value - 1] ?? "") }] : [];
}

function processor(run: Run, event: number, label: string): Field[] {
  const cpu = valueOf(run, event, "cpu");
  return cpu > 0 ? [{ label, value: `CPU ${cpu - 1}` }] : [];
}

/** How long the thread ran, was preempted and was blocked meanwhile. */
function stateFields(run: Run, event: number): Field[] {
  const { start_ns, duration_ns } = describe(run, event);
  const end_ns = start_ns + duration_ns;
  const sums = new Map<string, number>();
  const lanes = lanesBeside(run, event, "states");
  for (const state of overlapping(lanes, start_ns, end_ns, Infinity)) {
    const { lane: { events }, index } = placeOf(run, state);
    const ns = Math.min(events.end[index], end_ns) - Math.max(events.start[index], start_ns);
    const kind = kindLabel(kindAt(events, index)).replace("thread ", "");
    sums.set(kind, (sums.get(kind) ?? 0) + ns);
  }
  return [...sums].map(([kind, ns]) => ({ label: `Thread ${kind}`, value: formatNs(ns) }));
}

function around(run: Run, event: number): Field[] {
  return [
    ...link(run, "In CUDA call", callAround(run, event)),
    ...rangeFields(run, event),
    ...link(run, "Before", neighbour(run, event, -1)), ...link(run, "After", neighbour(run, event, 1)),
  ];
}

function callSections(run: Run, event: number): Section[] {
  const isOs = placeOf(run, event).lane.trackData.kind === "os";
  const error = valueOf(run, event, "result");
  return [
    {
      title: "Call",
      fields: [
        ...named(run, event, "object", "Object"), ...named(run, event, "other", "Waited for"),
        ...(error > 0 ? [{ label: "Returned", value: isOs ? `error ${error} (errno)` : `error ${error}` }] : []),
        ...named(run, event, "payload", isOs ? "Not finished" : "Arguments"), ...stateFields(run, event),
      ],
    },
    ...stackOfEvent(run, event),
    { title: "On this thread", fields: around(run, event) },
    ...gpuMeanwhile(run, event),
  ];
}

function stateSections(run: Run, event: number): Section[] {
  const { start_ns, duration_ns, kind } = describe(run, event);
  const lanes = (["os", "mpi", "api"] as const).flatMap((track) => lanesBeside(run, event, track));
  const calls = overlapping(lanes, start_ns, start_ns + duration_ns, MOST_NEIGHBOURS + 1);
  const within = calls.slice(0, MOST_NEIGHBOURS).flatMap((call) => link(run, describe(run, call).track.label, call));
  if (calls.length > MOST_NEIGHBOURS) within.push({ label: "", value: "and more" });
  const place = kind === "thread_running" ? "Ran on" : "Had run on";
  return [
    { title: "Thread", fields: [...processor(run, event, place), ...named(run, event, "other", "Ran in its place"), ...around(run, event)] },
    ...(within.length > 0 ? [{ title: "Calls in this time", fields: within }] : []),
    ...gpuMeanwhile(run, event),
  ];
}

function sampleSections(run: Run, event: number): Section[] {
  const weight_ns = valueOf(run, event, "busy");
  const stands = weight_ns > 0 ? [{ label: "Stands for", value: `${formatNs(weight_ns)} of CPU time` }] : [];
  return [
    { title: "Sample", fields: [...processor(run, event, "Ran on"), ...stands, ...named(run, event, "payload", "State")] },
    ...stackOfEvent(run, event),
    { title: "On this thread", fields: around(run, event) },
  ];
}

/** null: the event is nothing of the kind. */
export function hostSections(run: Run, event: number): Section[] | null {
  switch (placeOf(run, event).lane.trackData.kind) {
    case "os": case "mpi": return callSections(run, event);
    case "states": return stateSections(run, event);
    case "samples": return sampleSections(run, event);
    default: return null;
  }
}
