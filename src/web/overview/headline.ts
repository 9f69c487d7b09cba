// What the reader is told first, in one sentence. The figures are those of the report's first line.
import type { ReportDocument } from "../shared/data";
import { formatNs, formatPercent } from "../shared/format";
import { causeMeaning } from "../shared/labels";
import { num, rowsOf, str, tableOf } from "../shared/report";

export function headline(report: ReportDocument): string {
  const devices = rowsOf(report, "devices");
  if (!tableOf(report, "devices")) return "A part of the report: what the GPU did is not in it"; // `--only` chose other analyses
  if (devices.length === 0) return report.selected ? "No GPU work in what was selected" : "No GPU work in this trace";
  const sum = (key: string): number => devices.reduce((all, row) => all + num(row, key), 0);
  const window = sum("window_ns");
  const who = devices.length === 1 ? "The GPU" : `The ${devices.length} GPUs`;
  const were = devices.length === 1 ? "was" : "were";
  const idle = (100 * sum("idle_ns")) / window;
  const copies = (100 * sum("copy_only_ns")) / window;
  const kernels = (100 * sum("kernel_ns")) / window;
  const cause = rowsOf(report, "idle").reduce((most, row) => (num(row, "idle_ns") > num(most, "idle_ns") ? row : most), {});
  if (idle >= Math.max(copies, 25)) {
    const why = str(cause, "cause") ? `, most of it while ${causeMeaning(str(cause, "cause"))}` : "";
    return `${who} ${were} idle ${formatPercent(idle)} of ${formatNs(window)}${why}`;
  }
  if (copies >= Math.max(kernels, 25)) {
    return `${who} only copied for ${formatPercent(copies)} of ${formatNs(window)}; kernels ran ${formatPercent(kernels)}`;
  }
  return `${who} ran kernels ${formatPercent(kernels)} of ${formatNs(window)}, and ${were} idle ${formatPercent(idle)}`;
}
