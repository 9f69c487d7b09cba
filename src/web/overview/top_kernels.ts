// The kernels that take most of the time; of several GPUs with the share of each.
import type { ReportDocument } from "../shared/data";
import { button, el } from "../shared/dom";
import { isProjected } from "../shared/filter";
import { formatNs, formatNumber, formatPercent } from "../shared/format";
import { durationOf, quoted, type ShowPlace } from "../shared/jump";
import { shortName, tooltip } from "../shared/names";
import { num, rowsOf, str, type Row } from "../shared/report";
import { trackAround } from "../shared/events";
import type { Run } from "../shared/state";

const MOST = 5;

export interface KernelLinks {
  show: ShowPlace;
  whenLoaded(then: (runs: readonly Run[]) => void): void;
}

/** Of each kernel the share of the time that kernels of a GPU took, by the GPU's label ("gpu0"). */
export function sharesByGpu(run: Run, names: ReadonlySet<string>): Map<string, Map<string, number>> {
  const sums = new Map<string, { all: number; byName: Map<string, number> }>();
  for (const lane of run.lanes) {
    if (lane.trackData.kind !== "stream" || isProjected(lane)) continue;
    const { events } = lane;
    const gpu = run.data.tracks[trackAround(run.data.tracks, lane.track, "device")]?.label.split(" ")[0] ?? "";
    const sum = sums.get(gpu) ?? { all: 0, byName: new Map<string, number>() };
    sums.set(gpu, sum);
    for (let i = 0; i < events.count; ++i) {
      if (events.kind[i] !== 0) continue; // a kernel
      const name = run.data.names[events.name[i]] ?? "";
      const time = durationOf(lane, i);
      sum.all += time;
      if (names.has(name)) sum.byName.set(name, (sum.byName.get(name) ?? 0) + time);
    }
  }
  return new Map([...sums].map(([gpu, { all, byName }]) => [gpu, new Map([...byName].map(([name, time]) => [name, (100 * time) / Math.max(1, all)]))]));
}

function kernelRow(row: Row, devices: readonly string[], links: KernelLinks): HTMLElement {
  const name = str(row, "name");
  const { show } = links;
  const link = show ? button(shortName(name, 56), () => show({ query: `kind:kernel name:${quoted(name)}`, label: name }), {
    class: "link", title: tooltip(name), attributes: { "aria-label": `${shortName(name, 80)}: show the longest on the timeline` },
  }) : el("span", { text: shortName(name, 56), title: tooltip(name) });
  const shares = devices.map((device) => el("td", { class: "number", text: "…", attributes: { "data-gpu": device, "data-kernel": name } }));
  return el("tr", {}, el("th", { attributes: { scope: "row" } }, link),
    ...(devices.length > 1 ? shares : [el("td", { class: "number", text: formatPercent(num(row, "percent")) })]),
    el("td", { class: "number", text: formatNs(num(row, "total_ns")) }),
    el("td", { class: "number", text: formatNumber(num(row, "count")) }),
    el("td", { class: "number", text: formatNs(num(row, "mean_ns")) }));
}

/** null: no kernel ran, or the report does not say. */
export function topKernels(report: ReportDocument, links: KernelLinks): HTMLElement | null {
  const rows = rowsOf(report, "kernels").slice(0, MOST);
  if (rows.length === 0) return null;
  const devices = links.show ? rowsOf(report, "devices").map((row) => str(row, "device")) : []; // events tell the share of each
  const head = (text: string): HTMLElement => el("th", { class: "number", text, attributes: { scope: "col" } });
  const table = el("table", { class: "figures top-kernels" },
    el("thead", {}, el("tr", {}, el("th", { text: "Kernel", attributes: { scope: "col" } }),
      ...(devices.length > 1 ? devices.map(head) : [head("Kernel time")]), head("Total"), head("Calls"), head("Average"))),
    el("tbody", {}, ...rows.map((row) => kernelRow(row, devices, links))));
  if (devices.length > 1) links.whenLoaded((runs) => fillShares(table, runs, new Set(rows.map((row) => str(row, "name")))));
  return el("section", { class: "card", attributes: { "aria-labelledby": "kernels-title" } },
    el("h2", { id: "kernels-title", text: "Top kernels" }), el("div", { class: "scroll" }, table),
    devices.length > 1 ? el("p", { class: "note", text: "Percentages: share of the kernel time of each GPU." }) : null);
}

function fillShares(table: HTMLElement, runs: readonly Run[], names: ReadonlySet<string>): void {
  const shares = runs[0] ? sharesByGpu(runs[0], names) : new Map<string, Map<string, number>>();
  for (const cell of table.querySelectorAll<HTMLElement>("td[data-gpu]")) {
    cell.textContent = formatPercent(shares.get(cell.dataset["gpu"] ?? "")?.get(cell.dataset["kernel"] ?? "") ?? 0);
  }
}
