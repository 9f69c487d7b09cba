// Charts of kernel counters. One kernel is chosen, in the box above or by its point on the roofline.
import type { ReportDocument } from "../shared/data";
import { el, select } from "../shared/dom";
import { formatNs, formatPercent } from "../shared/format";
import { shortName } from "../shared/names";
import { num, str } from "../shared/report";
import type { State } from "../shared/state";
import { speedChart, stallChart } from "./chart_kernel";
import { occupancyChart } from "./chart_occupancy";
import { memoryUnitsChart } from "./chart_memory_units";
import { rooflineChart } from "./chart_roofline";
import { arrangeCards } from "./plot";
import { countedKernels, type CountedKernel } from "./kernel_counters";

function summaryOf({ overview }: CountedKernel): string {
  const percent = (key: string, words: string): string => (typeof overview[key] === "number" ? `${words} ${formatPercent(num(overview, key))}` : "");
  return [
    num(overview, "duration_ns") > 0 ? formatNs(num(overview, "duration_ns")) : "",
    percent("compute_percent", "compute"), percent("memory_percent", "memory"), percent("occupancy_percent", "occupancy"), str(overview, "verdict"),
  ].filter((text) => text !== "").join(", ");
}

/** null: the trace has no counters of kernels. */
export function counterCharts({ page }: State, report: ReportDocument): HTMLElement | null {
  const kernels = countedKernels(report);
  if (kernels.length === 0) return null;
  const grid = el("div", { class: "charts" });
  const summary = el("p", { class: "soft", attributes: { role: "status" } });
  const names = kernels.map(({ name, number }, i) => [String(i), shortName(name, 90) + (number > 0 ? ` (${number + 1})` : "")] as const);
  const choice = select("Kernel", names, (index) => draw(kernels[index]), { class: "kernel-choice" });
  const draw = (kernel: CountedKernel): void => {
    choice.selectedIndex = kernels.indexOf(kernel);
    summary.textContent = summaryOf(kernel);
    arrangeCards(grid, [rooflineChart(report, kernels, kernel, draw), memoryUnitsChart(report, kernel), speedChart(report, kernel), stallChart(report, kernel),
      occupancyChart(page.occupancy?.counted[kernels.indexOf(kernel)])]);
  };
  draw(kernels[0]);
  return el("section", { id: "counter-charts", attributes: { "aria-label": "Kernel counters" } },
    el("h2", { text: "Kernel counters" }), el("p", { class: "flame-tools" }, choice), summary, grid);
}
