// The ranked findings: what to do first, what it would win, and where to see it.
import type { Finding, PageData, ReportDocument } from "../shared/data";
import { button, el } from "../shared/dom";
import { countOf, formatNs } from "../shared/format";
import type { ShowPlace } from "../shared/jump";
import { visible } from "../shared/names";

export interface FindingLinks {
  show: ShowPlace;
  openTable(id: string): void;
}

/** The table that has the facts of a finding, where it has any. */
export function tableOfFinding(report: ReportDocument, finding: Finding): string | null {
  return report.tables.some((t) => t.id === finding.table && t.rows.length > 0) ? finding.table : null;
}

interface Group {
  leader: number;
  others: number[]; // the same time or the same change
}

/** What is missing or odd in the trace: the block about trust says it. */
export function isOfTrust(finding: Finding): boolean {
  return finding.id.startsWith("health.") && finding.gain_ns === 0 && finding.id !== "health.overhead";
}

/** The findings in their order; those that are about the same as a larger one stand below it. */
export function groupFindings(findings: readonly Finding[]): Group[] {
  const groups: Group[] = [];
  const leaderOf = new Map<string, Group>();
  findings.forEach((finding, i) => {
    if (isOfTrust(finding)) return;
    const leader = finding.same_as === null ? undefined : leaderOf.get(finding.same_as);
    const group = leader ?? { leader: i, others: [] };
    if (leader) leader.others.push(i);
    else groups.push(group);
    if (!leaderOf.has(finding.id)) leaderOf.set(finding.id, group);
  });
  return groups;
}

const SEVERITY: Record<Finding["severity"], string> = { warning: "▲ warning", note: "● note", info: "○ info" };

function gainBar(finding: Finding, largest: number): HTMLElement | null {
  if (finding.gain_ns <= 0) return null;
  const fill = el("span", { class: "gain-fill" });
  fill.style.width = `${Math.max(1, (100 * finding.gain_ns) / largest)}%`;
  return el("div", { class: "gain" },
    el("span", { class: "gain-bar", attributes: { "aria-hidden": "true" } }, fill),
    el("span", { class: "gain-text" }, "potential saving: up to ", el("b", { text: formatNs(finding.gain_ns) })));
}

function actions(page: PageData, report: ReportDocument, index: number, links: FindingLinks): HTMLElement | null {
  const finding = report.findings[index];
  const place = page.places.find((p) => p.finding === index);
  const table = tableOfFinding(report, finding);
  const { show } = links;
  if (!place && !table) return null;
  const title = report.tables.find((t) => t.id === table)?.title ?? "";
  return el("p", { class: "actions" },
    place && show ? button("Show on the timeline", () => show({ query: place.query, label: finding.id, isSteady: !finding.id.startsWith("startup.") }), {
      class: finding.severity === "warning" ? "go" : "go plain", attributes: { "aria-label": `Show on the timeline: ${visible(finding.message).slice(0, 80)}` },
    }) : null,
    table ? button(`Table: ${title}`, () => links.openTable(table), { class: "quiet" }) : null);
}

function article(page: PageData, report: ReportDocument, index: number, largest: number, links: FindingLinks): HTMLElement {
  const finding = report.findings[index];
  return el("div", { class: `finding is-${finding.severity}` },
    el("p", { class: "tags" },
      el("span", { class: `severity is-${finding.severity}`, text: SEVERITY[finding.severity] ?? finding.severity }),
      el("code", { class: "finding-id", text: finding.id })),
    el("h3", { text: visible(finding.message) }),
    gainBar(finding, largest),
    finding.advice ? el("p", { class: "advice", text: visible(finding.advice) }) : null,
    finding.basis ? el("p", { class: "basis" }, el("span", { text: "Based on: " }), visible(finding.basis)) : null,
    actions(page, report, index, links));
}

export function findingsSection(page: PageData, report: ReportDocument, links: FindingLinks): HTMLElement {
  const section = el("section", { class: "card findings", attributes: { "aria-labelledby": "findings-title" } },
    el("h2", { id: "findings-title", text: "Findings" }));
  const groups = groupFindings(report.findings);
  if (groups.length === 0) {
    section.append(el("p", { text: "No issues found." }));
    return section;
  }
  const largest = Math.max(1, ...report.findings.map((f) => f.gain_ns));
  const list = el("ol", { class: "finding-list" });
  for (const group of groups) {
    const item = el("li", {}, article(page, report, group.leader, largest, links));
    if (group.others.length > 0) {
      item.append(el("details", { class: "same" },
        el("summary", { text: `${countOf(group.others.length, "more finding")} with the same cause or fix (their savings do not add up)` }),
        ...group.others.map((i) => article(page, report, i, largest, links))));
    }
    list.append(item);
  }
  section.append(list, el("p", { class: "note", text:
    "Each saving is an upper bound. Findings with the same cause or fix cover the same time, so their savings do not add up." }));
  return section;
}
