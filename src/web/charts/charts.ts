// The tab of charts. They are drawn of the report at once, and again when the events are there.
import { copyChart } from "./chart_copies";
import { flameChart } from "./chart_flame";
import { gapChart } from "./chart_gaps";
import { levelChart } from "./chart_levels";
import { memoryChart } from "./chart_memory";
import { stepChart } from "./chart_steps";
import { counterCharts } from "./counter_charts";
import type { ReportDocument } from "../shared/data";
import { el } from "../shared/dom";
import type { State } from "../shared/state";

export function mountCharts(root: HTMLElement, state: State, report: ReportDocument): void {
  const grid = el("div", { class: "charts" });
  const draw = (): void => {
    const cards = [stepChart(state, report), gapChart(state, report), copyChart(state), levelChart(state, report), memoryChart(state, report)];
    const isAbsent = (card: HTMLElement): boolean => card.classList.contains("absent");
    grid.replaceChildren(...cards.filter((c) => !isAbsent(c)), ...cards.filter(isAbsent));
  };
  root.append(el("h2", { class: "hidden", text: "Charts" }), flameChart(state) ?? "", counterCharts(report) ?? "", grid);
  draw();
  state.on("loaded", draw);
}
