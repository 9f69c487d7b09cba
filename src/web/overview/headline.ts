// What the reader is told first, in one sentence. The figures are those of the report's first line.
import type { ReportDocument } from "../shared/data";
import { formatNs, formatPercent } from "../shared/format";
import { causeMeaning } from "../shared/labels";
import { num, rowsOf, str, tableOf, type Row } from "../shared/report";

const MAX_NAMED = 4; // GPUs

/** "93.5%"; of several GPUs each its own: "77.3% (gpu0), 77.1% (gpu1)"; of many from the least to the most. */
function shareOfEach(devices: readonly Row[], key: string): string {
  const shares = devices.map((row) => (100 * num(row, key)) / Math.max(1, num(row, "window_ns")));
  if (devices.length === 1) return formatPercent(shares[0]);
  if (devices.length <= MAX_NAMED) return shares.map((share, i) => `${formatPercent(share)}\u00a0(${str(devices[i], "device")})`).join(", ");
  return `${formatPercent(Math.min(...shares))} to ${formatPercent(Math.max(...shares))}`;
}

export function headline(report: ReportDocument): string {
  const devices = rowsOf(report, "devices");
  if (!tableOf(report, "devices")) return "Partial report: GPU activity is not included"; // `--only` chose other analyses
  const counted = rowsOf(report, "counters").length;
  if (devices.length === 0 && counted > 0) return `Counters of ${counted} ${counted === 1 ? "kernel" : "kernels"}`;
  if (devices.length === 0) return report.selected ? "No GPU work in what was selected" : "No GPU work in this trace";
  const sum = (key: string): number => devices.reduce((all, row) => all + num(row, key), 0);
  const window = sum("window_ns");
  const who = devices.length === 1 ? "The GPU" : `The ${devices.length} GPUs`;
  const were = devices.length === 1 ? "was" : "were";
  const idle = (100 * sum("idle_ns")) / window;
  const copies = (100 * sum("copy_only_ns")) / window;
  const kernels = (100 * sum("kernel_ns")) / window;
  const share = (key: string): string => shareOfEach(devices, key);
  const time = devices.length === 1 ? ` of ${formatNs(window)}` : "";
  const cause = rowsOf(report, "idle").reduce((most, row) => (num(row, "idle_ns") > num(most, "idle_ns") ? row : most), {});
  if (idle >= Math.max(copies, 25)) {
    const why = str(cause, "cause") ? `, most of it while ${causeMeaning(str(cause, "cause"))}` : "";
    return `${who} ${were} idle ${share("idle_ns")}${time}${why}`;
  }
  if (copies >= Math.max(kernels, 25)) {
    return `${who} only copied ${share("copy_only_ns")}${time}; kernels ran ${share("kernel_ns")}`;
  }
  return `${who} ran kernels ${share("kernel_ns")}${time}, and ${were} idle ${share("idle_ns")}`;
}
