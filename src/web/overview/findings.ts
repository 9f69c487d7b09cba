// The ranked findings: what to do first, what it would win, and where to see it.
import type { Finding, ReportDocument, ReportTable } from "../shared/data";
import { button, el } from "../shared/dom";
import { countOf, formatNs, formatPercent } from "../shared/format";
import { hasTimeline, openTable, showPlace } from "../shared/jump";
import { visible } from "../shared/names";
import type { State } from "../shared/state";

/** The table that has the facts of a finding, where it has any. */
function tableOf(report: ReportDocument, { table }: Finding): ReportTable | undefined {
  return report.tables.find((t) => t.id === table && t.rows.length > 0);
}

interface Group {
  leader: number;
  others: number[]; // the same time or the same change
}

/** What is missing or odd in the trace: the block about trust says it. */
export function isAboutDataQuality(finding: Finding): boolean {
  return finding.id.startsWith("health.") && finding.gain_ns === 0 && finding.id !== "health.overhead";
}

/** The findings in their order; those that are about the same as a larger one stand below it. */
function groupFindings(findings: readonly Finding[]): Group[] {
  const groups: Group[] = [];
  const leaderOf = new Map<string, Group>();
  findings.forEach((finding, i) => {
    if (isAboutDataQuality(finding)) return;
    const leader = finding.same_as === null ? undefined : leaderOf.get(finding.same_as);
    const group = leader ?? { leader: i, others: [] };
    if (leader) leader.others.push(i);
    else groups.push(group);
    if (!leaderOf.has(finding.id)) leaderOf.set(finding.id, group);
  });
  return groups;
}

const SEVERITY: Record<Finding["severity"], string> = { warning: "▲ warning", note: "● note", info: "○ info" };

/** "14% of the run, 137 ms" */
export function savingText(finding: Finding): string {
  const share = finding.gain_percent_of_run;
  return (share === null ? "" : `${formatPercent(share)} of the run, `) + formatNs(finding.gain_ns);
}

/** The numbers and names behind a finding, a line each. */
export function evidenceList(finding: Pick<Finding, "evidence">): HTMLElement | null {
  if (finding.evidence.length === 0) return null;
  return el("ul", { class: "evidence" }, ...finding.evidence.map((line) => el("li", { text: visible(line) })));
}

function gainBar(finding: Finding, largest: number): HTMLElement | null {
  if (finding.gain_ns <= 0) return null;
  return el("div", { class: "gain" },
    el("span", { class: "gain-bar", attributes: { "aria-hidden": "true" } },
      el("span", { class: "gain-fill", style: { width: `${Math.max(1, (100 * finding.gain_ns) / largest)}%` } })),
    el("span", { class: "gain-text" }, "potential saving: up to ", el("b", { text: savingText(finding) })));
}

function actions(state: State, report: ReportDocument, index: number): HTMLElement | null {
  const finding = report.findings[index];
  const place = hasTimeline(state) && state.page.places.find((p) => p.finding === index);
  const table = tableOf(report, finding);
  if (!place && !table) return null;
  return el("p", { class: "actions" },
    place && button("Show on the timeline", () => showPlace(state, { query: place.query, label: finding.id, isSteady: !finding.id.startsWith("startup.") }), {
      class: finding.severity === "warning" ? "go" : "go plain", attributes: { "aria-label": `Show on the timeline: ${visible(finding.message).slice(0, 80)}` },
    }),
    table && button(`Table: ${table.title}`, () => openTable(state, table.id), { class: "quiet" }));
}

function article(state: State, report: ReportDocument, index: number, largest: number): HTMLElement {
  const finding = report.findings[index];
  return el("div", { class: `finding is-${finding.severity}` },
    el("p", { class: "tags" },
      el("span", { class: `severity is-${finding.severity}`, text: SEVERITY[finding.severity] ?? finding.severity }),
      el("code", { class: "finding-id", text: finding.id })),
    el("h3", { text: visible(finding.message) }),
    evidenceList(finding),
    gainBar(finding, largest),
    finding.advice && el("p", { class: "advice", text: visible(finding.advice) }),
    finding.basis && el("p", { class: "basis" }, el("span", { text: "Based on: " }), visible(finding.basis)),
    actions(state, report, index));
}

export function findingsSection(state: State, report: ReportDocument): HTMLElement {
  const groups = groupFindings(report.findings);
  const largest = Math.max(1, ...report.findings.map((f) => f.gain_ns));
  const items = groups.map(({ leader, others }) => el("li", {}, article(state, report, leader, largest), others.length > 0 && el("details", { class: "same" },
    el("summary", { text: `${countOf(others.length, "more finding")} with the same cause or fix (their savings do not add up)` }),
    ...others.map((i) => article(state, report, i, largest)))));
  return el("section", { class: "card findings", attributes: { "aria-labelledby": "findings-title" } },
    el("h2", { id: "findings-title", text: "Findings" }),
    ...(groups.length === 0 ? [el("p", { text: "No issues found." })] : [el("ol", { class: "finding-list" }, ...items),
      el("p", { class: "note", text: "Each saving is an upper bound. Findings with the same cause or fix cover the same time, so their savings do not add up." })]));
}
