// The first tab: painted from the report alone, before any event is read.
import type { PageData, ReportDocument } from "../shared/data";
import { el } from "../shared/dom";
import { findingsSection, isOfTrust, type FindingLinks } from "./findings";
import { formatNs, formatPercent } from "../shared/format";
import { headline } from "./headline";
import { visible } from "../shared/names";
import { num, rowsOf, str, tableOf } from "../shared/report";
import { timeSplit } from "./time_split";
import { topKernels, type KernelLinks } from "./top_kernels";
import { runSection, lossBanner, noticesSection, trustSection } from "./trust";

function stepsLine(report: ReportDocument): string {
  const row = rowsOf(report, "steps")[0];
  if (!row) return "";
  const warm = num(row, "warmups");
  return `${num(row, "count")} "${visible(str(row, "path"))}" iterations${warm > 0 ? ` (${warm} warm-up excluded)` : ""}, ` +
    `median ${formatNs(num(row, "median_ns"))}, slowest ${formatNs(num(row, "max_ns"))}`;
}

function noGpuSection(report: ReportDocument): HTMLElement | null {
  if (!tableOf(report, "devices") || rowsOf(report, "counters").length > 0) return null;
  const calls = rowsOf(report, "api").reduce((sum, row) => sum + num(row, "count"), 0);
  return el("section", { class: "card" }, el("h2", { text: "No GPU work" }),
    el("p", { text: calls > 0
      ? `The program made ${calls} CUDA calls; none of them launched GPU work.`
      : "No CUDA calls were recorded." }));
}

/** The first finding, for those who read one line. */
function firstStep(report: ReportDocument): HTMLElement | null {
  const finding = report.findings.find((f) => !isOfTrust(f));
  if (!finding) return null;
  const window = rowsOf(report, "devices").reduce((sum, row) => sum + num(row, "window_ns"), 0);
  const isInWindow = !finding.id.startsWith("startup."); // what comes before the first operation is no part of it
  const share = isInWindow && window > 0 && finding.gain_ns > 0 && finding.gain_ns < window
    ? ` (potential saving: up to ${formatNs(finding.gain_ns)}, ${formatPercent((100 * finding.gain_ns) / window)})` : "";
  // Of idle time the headline has said the rest.
  const says = finding.id.startsWith("idle.") && finding.advice ? finding.advice : finding.message;
  return el("p", { class: "first-step" }, el("b", { text: "Start here: " }), visible(share ? says.replace(/\.$/, "") : says) + share);
}

export function mountOverview(root: HTMLElement, page: PageData, report: ReportDocument, links: FindingLinks & KernelLinks): void {
  const hasGpu = rowsOf(report, "devices").length > 0;
  const steps = stepsLine(report);
  root.append(
    el("section", { class: "hero", attributes: { "aria-label": "Verdict" } },
      lossBanner(report),
      report.selected ? el("p", { class: "selected-part" }, el("b", { text: "Selected part of the trace: " }), visible(report.selected)) : null,
      el("p", { class: "headline", text: headline(report) }),
      firstStep(report),
      el("p", { class: "soft", text: [visible(page.verdict), steps].filter((t) => t).join(" · ") })),
    el("div", { class: "columns" },
      el("div", { class: "wide" }, hasGpu ? timeSplit(report, links.show) : noGpuSection(report), findingsSection(page, report, links), topKernels(report, links)),
      el("div", { class: "narrow" }, trustSection(report), runSection(report), noticesSection(report))));
}
