// How far the report can be trusted, and what run it is about.
import type { ReportDocument } from "../shared/data";
import { el } from "../shared/dom";
import { countOf, formatBytes, formatNs, formatNumber, formatPercent } from "../shared/format";
import { middle, visible } from "../shared/names";

type Json = Record<string, unknown>;

const object = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const number = (value: unknown): number => (typeof value === "number" ? value : 0);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

function unique(values: string[]): string[] {
  return [...new Set(values.filter((v) => v !== ""))];
}

function matchedText(trust: Json): string {
  const calls = number(trust["unmatched_launches"]);
  const ops = number(trust["unmatched_ops"]);
  const ends = number(trust["unmatched_nvtx_ends"]);
  if (calls + ops + ends === 0) return "all launches with their GPU operations, all NVTX ranges with their ends";
  return `${formatNumber(calls)} launches without a GPU operation, ${formatNumber(ops)} GPU operations ` +
    `without a launch, ${formatNumber(ends)} NVTX ends without a start`;
}

function clocksText(trust: Json): string {
  const clocks = object(trust["clocks"]);
  if (typeof clocks["agree_ns"] !== "number") return "unknown: no clock readings in the trace";
  const read = number(clocks["host_readings"]) + number(clocks["cupti_readings"]);
  const early = number(clocks["early_ops"]);
  if (read < 2 && early === 0 && number(clocks["read_within_ns"]) === 0) return "not checked: the trace has one clock reading";
  const whose = number(clocks["cupti_readings"]) > 0 ? "CPU and GPU" : "clocks of the CPU";
  return `${whose} agree within ${formatNs(number(clocks["agree_ns"]))}: ${countOf(read, "reading")}, each within ` +
    formatNs(number(clocks["read_within_ns"])) +
    (early > 0 ? `; ${countOf(early, "operation")} before its launch, by up to ${formatNs(number(clocks["early_ns"]))}` : "");
}

function overheadText(trust: Json): string {
  const cost = trust["overhead"];
  if (cost === null || cost === undefined) return "unknown: no process was traced by gprof-cli";
  const o = object(cost);
  const least = formatPercent(number(o["slow_down_least_percent"])), most = formatPercent(number(o["slow_down_most_percent"]));
  return `slow-down of ${least === most ? most : `${least} to ${most}`}; ${text(o["basis"])}; not subtracted`;
}

function recordedText(trust: Json): string {
  const modes = list(trust["capture_modes"]).map(text).filter((m) => m !== "");
  const captures = number(trust["captures"]);
  if (captures === 0) return modes.length === 0 ? "the whole run" : modes.join(", ");
  return `${countOf(captures, "capture")}, ${formatNs(number(trust["captured_ns"]))} in total` +
    (modes.length > 0 ? `: ${modes.join(", ")}` : "");
}

function versionsText(trust: Json): string {
  const versions = object(trust["versions"]);
  const part = (what: string, key: string): string => {
    const found = list(versions[key]).map(text).filter((v) => v !== "");
    return found.length === 0 ? "" : `, ${what} ${found.join(" and ")}`;
  };
  return `gprof-cli ${text(versions["gprof_cli"])}${part("tracer", "tracer")}${part("CUPTI", "cupti")}` +
    `${part("CUDA driver", "driver")}${part("CUDA runtime", "runtime")}`;
}

function fields(rows: [string, string][]): HTMLElement {
  const made = el("dl", { class: "fields" });
  for (const [what, is] of rows) if (is) made.append(el("dt", { text: what }), el("dd", { text: visible(is) }));
  return made;
}

export function isComplete(report: ReportDocument): boolean {
  return report.health.complete !== false;
}

/** What is missing, said at the top of the page; null when nothing is known to be. */
export function lossBanner(report: ReportDocument): HTMLElement | null {
  if (isComplete(report)) return null;
  const remarks = list(report.trust?.["remarks"]).map(text).filter((r) => r !== "");
  return el("aside", { class: "banner", attributes: { role: "note" } },
    el("b", { text: "▲ This trace is incomplete. " }), "The figures below cover only the data that was recovered.",
    el("ul", {}, ...remarks.map((r) => el("li", { text: visible(r) }))));
}

export function trustSection(report: ReportDocument): HTMLElement {
  const trust = object(report.trust);
  const remarks = list(trust["remarks"]).map(text);
  const complete = isComplete(report);
  return el("section", { class: "card", attributes: { "aria-labelledby": "trust-title" } },
    el("h2", { id: "trust-title", text: "Data quality" }),
    el("p", { class: complete ? "verdict good" : "verdict bad", text: complete ? "✔ Complete" : "▲ Incomplete" }),
    fields([
      ["Missing", complete ? "" : remarks.join("; ")],
      ["Remarks", complete ? remarks.join("; ") : ""],
      ["Lost", countOf(number(trust["lost_records"]), "record")],
      ["Matched", matchedText(trust)], ["Clocks", clocksText(trust)], ["Overhead", overheadText(trust)],
      ["Recorded", recordedText(trust)], ["CPU samples", text(trust["cpu_samples"])], ["Versions", versionsText(trust)],
    ]));
}

function programText(report: ReportDocument): string {
  const first = object(report.processes[0]);
  const more = report.processes.length - 1;
  return middle(text(first["command_line"]) || text(first["name"]), 300) + (more > 0 ? ` and ${countOf(more, "more process", "more processes")}` : "");
}

function gpuText(devices: Json[]): string {
  const count = new Map<string, number>();
  for (const d of devices) count.set(text(d["name"]), (count.get(text(d["name"])) ?? 0) + 1);
  return [...count].map(([name, n]) => (n > 1 ? `${n} × ${name}` : name)).join(", ");
}

/** "0-3, 7" of sorted numbers. */
function rangesText(numbers: readonly number[]): string {
  const parts: [first: number, last: number][] = [];
  for (const n of numbers) {
    const part = parts[parts.length - 1] as [number, number] | undefined;
    if (part && n <= part[1] + 1) part[1] = n;
    else parts.push([n, n]);
  }
  return parts.map(([first, last]) => (last > first ? `${first}-${last}` : String(first))).join(", ");
}

export function runSection(report: ReportDocument): HTMLElement {
  const { trace } = report;
  const processes = report.processes.map(object);
  const devices = report.devices.map(object);
  const driver = unique(processes.map((p) => {
    const version = number(p["driver_version"]);
    return version === 0 ? "" : `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
  }));
  const ranks = processes.filter((p) => typeof p["rank"] === "number").map((p) => number(p["rank"])).sort((a, b) => a - b);
  const d = devices[0] ?? {};
  return el("section", { class: "card", attributes: { "aria-labelledby": "run-title" } },
    el("h2", { id: "run-title", text: "This run" }),
    fields([
      ["Program", programText(report)],
      [ranks.length === 1 ? "Rank" : "Ranks", rangesText(ranks)],
      ["Host", unique(processes.map((p) => text(p["host"]))).join(", ")],
      ["GPU", gpuText(devices)],
      ["Each GPU", number(d["sm_count"]) > 0
        ? `${formatNumber(number(d["sm_count"]))} SMs` +
          (number(d["memory_bytes"]) > 0 ? `, ${formatBytes(number(d["memory_bytes"]))}` : "") +
          (number(d["memory_bytes_per_second"]) > 0 ? ` at ${formatBytes(number(d["memory_bytes_per_second"]))}/s` : "") +
          (number(d["pcie_generation"]) > 0 ? `, PCIe ${number(d["pcie_generation"])} × ${number(d["pcie_lanes"])}` : "") : ""],
      ["CUDA driver", driver.join(" and ")],
      ["Duration", `${formatNs(trace.duration_ns)}, first to last record`],
      ["Trace", `${trace.path}, ${formatBytes(number(trace["file_bytes"]))}, ${formatNumber(trace.records)} records`],
      ["Selected", report.selected],
    ]));
}

export function noticesSection(report: ReportDocument): HTMLElement | null {
  // What an import has to say of itself is among the remarks.
  const remarks = list(object(report.trust)["remarks"]).map(text);
  const notices = list((report as unknown as Json)["notices"]).map(object).filter((n) => !remarks.includes(text(n["message"])));
  if (notices.length === 0) return null;
  return el("section", { class: "card" }, el("h2", { text: "Tracer messages" }),
    el("ul", {}, ...notices.slice(0, 20).map((n) => el("li", { text: visible(`${text(n["level"])}: ${text(n["message"])}`) }))));
}
