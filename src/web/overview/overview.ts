// The first tab: painted from the report alone, before any event is read.
import type { ReportDocument } from "../shared/data";
import { el } from "../shared/dom";
import { findingsSection, isAboutDataQuality, savingText } from "./findings";
import { formatNs } from "../shared/format";
import { headline } from "./headline";
import { visible } from "../shared/names";
import { num, rowsOf, str, tableOf } from "../shared/report";
import type { State } from "../shared/state";
import { timeSplit } from "./time_split";
import { topKernels } from "./top_kernels";
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
  return el("section", { class: "card" }, el("h2", { text: "No GPU work" }),
    ...report.no_gpu_work.map((reason) => el("p", { text: visible(reason) })));
}

/** The first finding, for those who read one line: what is the case, what that costs, and what to do. */
function firstStep(report: ReportDocument): HTMLElement | null {
  const finding = report.findings.find((f) => !isAboutDataQuality(f));
  if (!finding) return null;
  const saving = finding.gain_ns > 0 ? ` (potential saving: up to ${savingText(finding)})` : "";
  return el("p", { class: "first-step" }, el("b", { text: "Start here: " }),
    visible(finding.message.replace(/\.$/, "")) + saving + ". " + visible(finding.advice));
}

export function mountOverview(root: HTMLElement, state: State, report: ReportDocument): void {
  const hasGpu = rowsOf(report, "devices").length > 0;
  const steps = stepsLine(report);
  root.append(
    el("section", { class: "hero", attributes: { "aria-label": "Verdict" } },
      lossBanner(report),
      report.selected ? el("p", { class: "selected-part" }, el("b", { text: "Selected part of the trace: " }), visible(report.selected)) : null,
      el("p", { class: "headline", text: headline(report) }),
      firstStep(report),
      el("p", { class: "soft", text: [visible(state.page.verdict), steps].filter((t) => t).join(" · ") })),
    el("div", { class: "columns" },
      el("div", { class: "wide" }, hasGpu ? timeSplit(state, report) : noGpuSection(report), findingsSection(state, report), topKernels(state, report)),
      el("div", { class: "narrow" }, trustSection(report), runSection(report), noticesSection(report))));
}
