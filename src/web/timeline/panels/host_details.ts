// What is known of what a thread did beside its CUDA calls: calls of MPI and of the operating system, whether it ran, and
// where CPU samples found it.
import { describe, overlapping, valueOf } from "../../shared/events";
import { formatNs } from "../../shared/format";
import { kindLabel } from "../../shared/labels";
import { gpuMeanwhile, link, linksBeside, linksWithin, rangeFields, textField, type Field, type Section } from "./fields";
import { callAround, lanesBeside, stackOfEvent } from "./stack_details";
import type { Run } from "../../shared/state";

function processor(run: Run, event: number, label: string): Field[] {
  const cpu = valueOf(run, event, "cpu");
  return cpu > 0 ? [{ label, value: `CPU ${cpu - 1}` }] : [];
}

/** How long the thread ran, was preempted and was blocked meanwhile. */
function stateFields(run: Run, event: number): Field[] {
  const { start_ns, end_ns } = describe(run, event);
  const sums = new Map<string, number>();
  for (const state of overlapping(lanesBeside(run, event, "states"), start_ns, end_ns, Infinity)) {
    const { kind, ...within } = describe(run, state);
    const ns = Math.min(within.end_ns, end_ns) - Math.max(within.start_ns, start_ns);
    const label = kindLabel(kind).replace("thread ", "");
    sums.set(label, (sums.get(label) ?? 0) + ns);
  }
  return [...sums].map(([kind, ns]) => ({ label: `Thread ${kind}`, value: formatNs(ns) }));
}

const around = (run: Run, event: number): Field[] =>
  [...link(run, "In CUDA call", callAround(run, event)), ...rangeFields(run, event), ...linksBeside(run, event)];

/** Of a call of the operating system or of MPI. */
export function waitSections(run: Run, event: number): Section[] {
  const isOs = describe(run, event).track.kind === "os";
  const error = valueOf(run, event, "result");
  return [
    {
      title: "Call",
      fields: [
        ...textField(run, event, "object", "Object"), ...textField(run, event, "other", "Waited for"),
        ...(error > 0 ? [{ label: "Returned", value: isOs ? `error ${error} (errno)` : `error ${error}` }] : []),
        ...textField(run, event, "payload", isOs ? "Not finished" : "Arguments"), ...stateFields(run, event),
      ],
    },
    ...stackOfEvent(run, event),
    { title: "On this thread", fields: around(run, event) },
    gpuMeanwhile(run, event),
  ];
}

export function stateSections(run: Run, event: number): Section[] {
  const place = describe(run, event).kind === "thread_running" ? "Ran on" : "Had run on";
  return [
    { title: "Thread", fields: [...processor(run, event, place), ...textField(run, event, "other", "Ran in its place"), ...around(run, event)] },
    { title: "Calls in this time", fields: linksWithin(run, event, lanesBeside(run, event, "os", "mpi", "api")) },
    gpuMeanwhile(run, event),
  ];
}

export function sampleSections(run: Run, event: number): Section[] {
  const weight_ns = valueOf(run, event, "busy");
  const stands = weight_ns > 0 ? [{ label: "Stands for", value: `${formatNs(weight_ns)} of CPU time` }] : [];
  return [
    { title: "Sample", fields: [...processor(run, event, "Ran on"), ...stands, ...textField(run, event, "payload", "State")] },
    ...stackOfEvent(run, event),
    { title: "On this thread", fields: around(run, event) },
  ];
}
