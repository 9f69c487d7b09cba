// What the details of every kind of event are made of: fields, some of which lead to other events.
import { blameOf, callOf, describe, lanesOfKind, overlapping, rangeOf, valueOf } from "../../shared/events";
import { formatNs } from "../../shared/format";
import { kindLabel } from "../../shared/labels";
import { shortName, visible } from "../../shared/names";
import { nvtxPath } from "../../shared/paths";
import { neighbour } from "../model/navigate";
import type { Run, RunLane } from "../../shared/state";

export interface Field {
  label: string;
  value: string;
  event?: number; // the value leads there
}

/** Those without a field and a note are not shown. */
export interface Section {
  title: string;
  note?: string;
  fields: Field[];
}

export const MAX_NEIGHBOURS = 8;

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

/** What overlaps the event on the lanes, each under the name of its track; of many the first. */
export function linksWithin(run: Run, event: number, lanes: readonly RunLane[], labelOf = (other: number): string => describe(run, other).track.label): Field[] {
  const { start_ns, end_ns } = describe(run, event);
  const found = overlapping(lanes, start_ns, end_ns, MAX_NEIGHBOURS + 1);
  const fields = found.slice(0, MAX_NEIGHBOURS).flatMap((other) => link(run, labelOf(other), other));
  return found.length > MAX_NEIGHBOURS ? [...fields, { label: "", value: "and more" }] : fields;
}

export const linksBeside = (run: Run, event: number): Field[] =>
  [...link(run, "Before", neighbour(run, event, -1)), ...link(run, "After", neighbour(run, event, 1))];

/** Of a column that refers to names; nothing where it refers to none. */
export function textField(run: Run, event: number, column: string, label: string): Field[] {
  const value = valueOf(run, event, column);
  return value > 0 ? [{ label, value: visible(run.data.names[value - 1] ?? "") }] : [];
}

export function rangeFields(run: Run, event: number): Field[] {
  const path = nvtxPath(run, event);
  if (path === "") return [];
  const { kind } = describe(run, event).track;
  const call = kind === "stream" ? callOf(run, event) : kind === "gaps" ? blameOf(run, event) : event;
  const range = call === null || describe(run, call).track.kind === "nvtx" ? call : rangeOf(run, call);
  return [{ label: "NVTX", value: visible(path), ...(range === null ? {} : { event: range }) }];
}

/** What the GPUs did while the host was in a call or range. */
export function gpuMeanwhile(run: Run, event: number): Section {
  const { start_ns, end_ns } = describe(run, event);
  const gaps = overlapping(lanesOfKind(run, "gaps"), start_ns, end_ns, 3).flatMap((gap) => link(run, describe(run, gap).track.label, gap));
  return { title: "GPUs meanwhile", fields: [...gaps, ...linksWithin(run, event, lanesOfKind(run, "stream"))] };
}
