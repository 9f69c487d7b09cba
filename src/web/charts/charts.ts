// The tab of charts. They are drawn of the report at once, and again when the events are there.
import { copyChart } from "./chart_copies";
import { flameChart } from "./chart_flame";
import { gapChart } from "./chart_gaps";
import { levelChart } from "./chart_levels";
import { memoryChart } from "./chart_memory";
import { launchedKernels } from "./chart_occupancy";
import { stepChart } from "./chart_steps";
import { counterCharts } from "./counter_charts";
import { arrangeCards } from "./plot";
import type { ReportDocument } from "../shared/data";
import { el } from "../shared/dom";
import type { State } from "../shared/state";

export function mountCharts(root: HTMLElement, state: State, report: ReportDocument): void {
  const grid = el("div", { class: "charts" });
  const draw = (): void => {
    arrangeCards(grid, [stepChart(state, report), gapChart(state, report), copyChart(state), levelChart(state, report), memoryChart(state, report)]);
  };
  root.append(el("h2", { class: "hidden", text: "Charts" }), flameChart(state) ?? "", counterCharts(state, report) ?? "", grid, launchedKernels(state) ?? "");
  draw();
  state.on("runs", draw);
}
