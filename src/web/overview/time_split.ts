// One bar for each GPU: where its time went, from the first to the last operation, to the nanosecond.
import type { ReportDocument } from "../shared/data";
import { el, figure, swatch } from "../shared/dom";
import { formatNs, formatPercent } from "../shared/format";
import { placeLink } from "../shared/jump";
import { CAUSES, causeColor, causeMeaning } from "../shared/labels";
import { visible } from "../shared/names";
import type { State } from "../shared/state";
import { metric, num, rowsOf, str, type Row } from "../shared/report";

interface Part {
  label: string;
  meaning: string;
  color: string; // custom property
  ns: number;
  isIdle: boolean;
  query: string;
}

/** Share of the copies' time that pageable memory was in; 0 with several GPUs, as the report does not say it of each. */
function pageableShare(report: ReportDocument): number {
  if (rowsOf(report, "devices").length !== 1) return 0;
  const copies = rowsOf(report, "memcpy").filter((row) => / to /.test(str(row, "direction")));
  const time = (rows: Row[]): number => rows.reduce((sum, row) => sum + num(row, "total_ns"), 0);
  return time(copies.filter((row) => /\bpageable\b/.test(str(row, "memory")))) / Math.max(1, time(copies));
}

/** What only copied: in the colour of pageable copies where most of them are. */
function copyPart(report: ReportDocument, row: Row, gpu: string): Part {
  const pageable = pageableShare(report);
  return {
    label: "copies (no kernel)",
    meaning: pageable > 0 ? `copies and memsets; ${formatPercent(100 * pageable)} of the copy time with pageable memory` : "copies and memsets while no kernel ran",
    color: pageable > 0.5 ? "--kind-pageable-h2d" : "--kind-copy-h2d",
    ns: num(row, "copy_only_ns"), isIdle: false, query: `kind:${pageable > 0.5 ? "pageable" : "copy"}${gpu}`,
  };
}

/** The parts sum to the window. */
function partsOf(report: ReportDocument, row: Row): Part[] {
  const device = str(row, "device");
  const both = metric(report, "streams.copy_compute_ns", device) ?? 0;
  const gpu = device ? ` gpu:${device.replace("gpu", "")}` : "";
  // Graphs that were recorded as a whole count as kernels.
  const kernels = (metric(report, "graphs.launches") ?? 0) > 0 ? "kernels and graphs" : "kernels";
  const parts: Part[] = [
    { label: kernels, meaning: `${kernels}, no copy at the same time`, color: "--kind-kernel", ns: num(row, "kernel_ns") - both, isIdle: false, query: `kind:kernel${gpu}` },
    { label: `${kernels} and copies`, meaning: `${kernels} and copies overlapped`, color: "--kind-overlap", ns: both, isIdle: false, query: `kind:kernel${gpu}` },
    copyPart(report, row, gpu),
  ];
  const causes = CAUSES.map((cause): Part => ({
    label: `idle: ${cause}`, meaning: causeMeaning(cause), color: causeColor(cause),
    ns: metric(report, `idle.${cause}_ns`, device) ?? 0, isIdle: true, query: `cause:${cause}${gpu}`,
  }));
  const rest = num(row, "idle_ns") - causes.reduce((sum, p) => sum + p.ns, 0);
  if (rest > 0) causes.push({ label: "idle", meaning: "no kernel, copy or memset ran", color: "--cause-unknown", ns: rest, isIdle: true, query: `kind:gap${gpu}` });
  return [...parts, ...causes.sort((a, b) => b.ns - a.ns)].filter((p) => p.ns > 0);
}

function segment(part: Part, window: number): HTMLElement {
  const share = (100 * part.ns) / window;
  return el("div", {
    class: part.isIdle ? "segment idle" : "segment", style: { "flex-grow": String(part.ns), "background-color": `var(${part.color})` },
    title: `${part.label}: ${formatPercent(share)}, ${formatNs(part.ns)} (${part.meaning})`,
  }, share >= 9 && el("span", { text: share >= 23 ? `${part.label} ${formatPercent(share)}` : formatPercent(share) }));
}

function legendRow(state: State, part: Part, window: number): HTMLElement {
  return el("tr", {},
    el("th", { attributes: { scope: "row" } }, swatch(part.color, part.isIdle), placeLink(state, part.label, { query: part.query, label: part.label })),
    figure(formatPercent((100 * part.ns) / window)), figure(formatNs(part.ns)), el("td", { class: "meaning", text: part.meaning }));
}

const MAX_GPUS = 8; // of a machine, as a rule

/** A bar, and its figures below, which fold where there are several. */
function deviceSection(state: State, report: ReportDocument, row: Row, isAlone: boolean, isOpen: boolean): HTMLElement {
  const window = num(row, "window_ns");
  const parts = partsOf(report, row);
  const figures = el("table", { class: "figures" },
    el("caption", { class: "hidden", text: `Time of ${str(row, "device")}` }), el("tbody", {}, ...parts.map((p) => legendRow(state, p, window))));
  return el("div", { class: "device" },
    el("h3", {}, el("b", { text: str(row, "device") }), ` ${visible(str(row, "name"))} `,
      el("span", { class: "soft", text: `${formatNs(window)}, first to last operation` })),
    el("div", { class: "bar", attributes: { "aria-hidden": "true" } }, ...parts.map((p) => segment(p, window))),
    isAlone ? figures : el("details", { attributes: { open: isOpen } }, el("summary", { text: "Figures" }), figures));
}

export function timeSplit(state: State, report: ReportDocument): HTMLElement {
  const devices = rowsOf(report, "devices").map((row, i, all) => deviceSection(state, report, row, all.length === 1, i === 0));
  const outside = rowsOf(report, "outside");
  return el("section", { class: "card split", attributes: { "aria-labelledby": "split-title" } },
    el("h2", { id: "split-title", text: "GPU time" }), ...devices.slice(0, MAX_GPUS),
    // Findings stand below: of many GPUs most are folded.
    devices.length > MAX_GPUS && el("details", {}, el("summary", { text: `${devices.length - MAX_GPUS} more GPUs` }), ...devices.slice(MAX_GPUS)),
    outside.length === 1 && el("p", { class: "note", text:
      `Start-up ${formatNs(num(outside[0], "startup_ns"))}, tear-down ${formatNs(num(outside[0], "teardown_ns"))} (outside the GPU window).` }));
}
