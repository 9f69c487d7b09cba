// Charts of kernel counters. One kernel is chosen, in the box above or by its point on the roofline.
import type { ReportDocument } from "../shared/data";
import { el } from "../shared/dom";
import { formatNs, formatPercent } from "../shared/format";
import { shortName } from "../shared/names";
import { num, str } from "../shared/report";
import { speedChart, stallChart } from "./chart_kernel";
import { memoryUnitsChart } from "./chart_memory_units";
import { rooflineChart } from "./chart_roofline";
import { countedKernels, type CountedKernel } from "./kernel_counters";

function summaryOf({ overview }: CountedKernel): string {
  const percent = (key: string, words: string): string => (typeof overview[key] === "number" ? `${words} ${formatPercent(num(overview, key))}` : "");
  return [
    num(overview, "duration_ns") > 0 ? formatNs(num(overview, "duration_ns")) : "",
    percent("compute_percent", "compute"), percent("memory_percent", "memory"), percent("occupancy_percent", "occupancy"), str(overview, "verdict"),
  ].filter((text) => text !== "").join(", ");
}

/** null: the trace has no counters of kernels. */
export function counterCharts(report: ReportDocument): HTMLElement | null {
  const kernels = countedKernels(report);
  if (kernels.length === 0) return null;
  const grid = el("div", { class: "charts" });
  const summary = el("p", { class: "soft", attributes: { role: "status" } });
  const choice = el("select", { class: "kernel-choice", attributes: { "aria-label": "Kernel" } },
    ...kernels.map((kernel, i) => el("option", { text: shortName(kernel.name, 90) + (kernel.number > 0 ? ` (${kernel.number + 1})` : ""), attributes: { value: i } })));
  const draw = (kernel: CountedKernel): void => {
    choice.selectedIndex = kernels.indexOf(kernel);
    summary.textContent = summaryOf(kernel);
    const cards = [
      rooflineChart(report, kernels, kernel, draw), memoryUnitsChart(report, kernel), speedChart(report, kernel), stallChart(report, kernel),
    ];
    const isAbsent = (card: HTMLElement): boolean => card.classList.contains("absent");
    grid.replaceChildren(...cards.filter((c) => !isAbsent(c)), ...cards.filter(isAbsent));
  };
  choice.addEventListener("change", () => draw(kernels[choice.selectedIndex]));
  draw(kernels[0]);
  return el("section", { id: "counter-charts", attributes: { "aria-label": "Kernel counters" } },
    el("h2", { text: "Kernel counters" }), el("p", { class: "flame-tools" }, choice), summary, grid);
}
