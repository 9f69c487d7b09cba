// The kernels that take most of the time; of several GPUs with the share of each.
import type { ReportDocument } from "../shared/data";
import { el, figure, tableHead } from "../shared/dom";
import { formatNs, formatNumber, formatPercent } from "../shared/format";
import { hasTimeline, placeLink, quoted, whenLoaded } from "../shared/jump";
import { shortName, tooltip } from "../shared/names";
import { num, rowsOf, str, type Row } from "../shared/report";
import { durationAt, kindAt, lanesOfKind, trackAround } from "../shared/events";
import type { Run, State } from "../shared/state";

const MAX_KERNELS = 5;

/** The time of kernels by the GPU's label ("gpu0"), then by number of their name. */
function timesByGpu(run: Run): Map<string, Map<number, number>> {
  const times = new Map<string, Map<number, number>>();
  for (const { events, track } of lanesOfKind(run, "stream")) {
    const gpu = run.data.tracks[trackAround(run.data.tracks, track, "device")]?.label.split(" ")[0] ?? "";
    const byName = times.get(gpu) ?? new Map<number, number>();
    times.set(gpu, byName);
    for (let i = 0; i < events.count; ++i) {
      if (kindAt(events, i) === "kernel") byName.set(events.name[i], (byName.get(events.name[i]) ?? 0) + durationAt(events, i));
    }
  }
  return times;
}

function kernelRow(state: State, row: Row, devices: readonly string[]): HTMLElement {
  const name = str(row, "name");
  const link = placeLink(state, shortName(name, 56), { query: `kind:kernel name:${quoted(name)}`, label: name }, {
    class: "link", title: tooltip(name), attributes: { "aria-label": `${shortName(name, 80)}: show the longest on the timeline` },
  });
  const shares = devices.map((device) => el("td", { class: "number", text: "…", attributes: { "data-gpu": device, "data-kernel": name } }));
  return el("tr", {}, el("th", { attributes: { scope: "row" } }, link), ...(devices.length > 1 ? shares : [figure(formatPercent(num(row, "percent")))]),
    figure(formatNs(num(row, "total_ns"))), figure(formatNumber(num(row, "count"))), figure(formatNs(num(row, "mean_ns"))));
}

/** null: no kernel ran, or the report does not say. */
export function topKernels(state: State, report: ReportDocument): HTMLElement | null {
  const rows = rowsOf(report, "kernels").slice(0, MAX_KERNELS);
  if (rows.length === 0) return null;
  const devices = hasTimeline(state) ? rowsOf(report, "devices").map((row) => str(row, "device")) : []; // events tell the share of each
  const areMany = devices.length > 1;
  const table = el("table", { class: "figures top-kernels" },
    tableHead(["Kernel", ...(areMany ? devices : ["Kernel time"]), "Total", "Calls", "Average"], (column) => column > 0),
    el("tbody", {}, ...rows.map((row) => kernelRow(state, row, devices))));
  if (areMany) whenLoaded(state, ([run]) => fillShares(table, run));
  return el("section", { class: "card", attributes: { "aria-labelledby": "kernels-title" } },
    el("h2", { id: "kernels-title", text: "Top kernels" }), el("div", { class: "scroll" }, table),
    areMany && el("p", { class: "note", text: "Percentages: share of the kernel time of each GPU." }));
}

function fillShares(table: HTMLElement, run: Run): void {
  const times = timesByGpu(run);
  for (const cell of table.querySelectorAll<HTMLElement>("td[data-gpu]")) {
    const byName = times.get(cell.dataset["gpu"] ?? "") ?? new Map<number, number>();
    const all = [...byName.values()].reduce((sum, time) => sum + time, 0);
    cell.textContent = formatPercent((100 * (byName.get(run.data.names.indexOf(cell.dataset["kernel"] ?? "")) ?? 0)) / Math.max(1, all));
  }
}
