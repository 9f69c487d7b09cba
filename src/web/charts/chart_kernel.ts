// Of the chosen kernel: how much of the peak each unit reached, and what its warps waited for.
import type { ReportDocument } from "../shared/data";
import { el } from "../shared/dom";
import { formatNumber, formatPercent } from "../shared/format";
import { rowOfKernel, rowsOfKernel, type CountedKernel } from "./kernel_counters";
import { absentCard, barRow, chartCard } from "./plot";
import { num, str, type Row } from "../shared/report";

interface Bar {
  label: string;
  percent: number;
  value: string;
  color: string;
  isPart?: boolean;
}

const barTable = (bars: readonly Bar[], full: number): HTMLElement => el("table", { class: "levels unit-bars" }, el("tbody", {}, ...bars.map((bar) =>
  barRow(el("th", { text: bar.label, attributes: { scope: "row" } }), (100 * bar.percent) / full, bar.color, `${bar.label}: ${bar.value}`, [bar.value], { row: bar.isPart ? "part" : "" }))));

const UNITS = [
  ["Compute", "compute_percent", "compute"], ["Memory", "memory_percent", "memory"], ["DRAM", "dram_percent", ""], ["L2", "l2_percent", ""], ["L1", "l1_percent", ""],
] as const;

export function speedChart(report: ReportDocument, kernel: CountedKernel): HTMLElement {
  const title = "Speed of light";
  const row: Row = { ...kernel.overview, ...rowOfKernel(report, "counter_speed_of_light", kernel) };
  const parts = rowsOfKernel(report, "counter_breakdown", kernel, ["throughput", "part"]);
  const bars: Bar[] = [];
  for (const [label, key, throughput] of UNITS) {
    if (typeof row[key] !== "number") continue;
    bars.push({ label, percent: num(row, key), value: formatPercent(num(row, key)), color: "--kind-kernel" });
    for (const part of parts.filter((p) => throughput !== "" && str(p, "throughput") === throughput)) {
      bars.push({ label: str(part, "part"), percent: num(part, "part_percent"), value: formatPercent(num(part, "part_percent")), color: "--kind-api-other", isPart: true });
    }
  }
  if (bars.length === 0) return absentCard(title, "The throughput of the units was not measured (use --set basic).");
  return chartCard("speed", title, "Percent of the peak of each unit. Below compute and memory: their busiest components, which determine the throughput.", [barTable(bars, 100)], null);
}

// Nothing is in the way of a warp that is selected, or could be.
const NOT_STALLED = new Set(["selected", "not_selected"]);

export function stallChart(report: ReportDocument, kernel: CountedKernel): HTMLElement {
  const title = "Stall reasons";
  const rows = rowsOfKernel(report, "counter_stalls", kernel, ["reason"]);
  if (rows.length === 0) return absentCard(title, "Warp stalls were not measured (use --section warp_states).");
  const most = Math.max(...rows.map((row) => num(row, "share_percent")), 1);
  const bars = rows.map((row): Bar => ({
    label: str(row, "reason").replace(/_/g, " "), percent: num(row, "share_percent"),
    value: `${formatPercent(num(row, "share_percent"))}, ${formatNumber(num(row, "warps_per_issue"))}`,
    color: NOT_STALLED.has(str(row, "reason")) ? "--kind-gap" : "--kind-api-sync",
  }));
  return chartCard("stalls", title,
    "Share of the time of a warp between two of its instructions, and warps in that state per instruction issued. Grey: the warp was not stalled.",
    [barTable(bars, most)], null);
}
