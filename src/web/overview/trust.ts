// How far the report can be trusted, and what run it is about.
import type { ReportDocument } from "../shared/data";
import { el, fieldList } from "../shared/dom";
import { countOf, formatBytes, formatNs, formatNumber } from "../shared/format";
import { middle, visible } from "../shared/names";
import { num, obj, str, strs, type Row } from "../shared/report";

const unique = (values: readonly string[]): string[] => [...new Set(values.filter((v) => v !== ""))];

function clocksText(trust: Row): string {
  const clocks = obj(trust, "clocks");
  if (typeof clocks["agree_ns"] !== "number") return "unknown: no clock readings in the trace";
  const read = num(clocks, "host_readings") + num(clocks, "cupti_readings");
  const early = num(clocks, "early_ops");
  if (read < 2 && early === 0 && num(clocks, "read_within_ns") === 0) return "not checked: the trace has one clock reading";
  const whose = num(clocks, "cupti_readings") > 0 ? "CPU and GPU" : "clocks of the CPU";
  return `${whose} agree within ${formatNs(clocks["agree_ns"])}: ${countOf(read, "reading")}, each within ${formatNs(num(clocks, "read_within_ns"))}` +
    (early > 0 ? `; ${countOf(early, "operation")} before its launch, by up to ${formatNs(num(clocks, "early_ns"))}` : "");
}

function overheadText(trust: Row): string {
  if (!trust["overhead"]) return "unknown: no process was traced by gprof-cli";
  const cost = obj(trust, "overhead");
  return `${str(cost, "text") || "none recorded"}; ${str(cost, "basis")}; not subtracted`;
}

function recordedText(trust: Row): string {
  const modes = strs(trust, "capture_modes").join(", ");
  const captures = num(trust, "captures");
  if (captures === 0) return modes || "the whole run";
  const kernels = str(trust, "kernels");
  return `${countOf(captures, "capture")}, ${formatNs(num(trust, "captured_ns"))} in total${modes && `: ${modes}`}${kernels && `; kernels ${kernels}`}`;
}

function versionsText(trust: Row): string {
  const versions = obj(trust, "versions");
  const others = [["tracer", "tracer"], ["CUPTI", "cupti"], ["CUDA driver", "driver"], ["CUDA runtime", "runtime"]].map(([what, key]) => {
    const found = strs(versions, key).join(" and ");
    return found && `, ${what} ${found}`;
  });
  return `gprof-cli ${str(versions, "gprof_cli")}${others.join("")}`;
}

/** What is missing, said at the top of the page; null when nothing is known to be. */
export function lossBanner(report: ReportDocument): HTMLElement | null {
  if (report.health.complete) return null;
  return el("aside", { class: "banner", attributes: { role: "note" } },
    el("b", { text: "▲ This trace is incomplete. " }), "The figures below cover only the data that was recovered.",
    el("ul", {}, ...strs(report.trust, "remarks").map((r) => el("li", { text: visible(r) }))));
}

export function trustSection({ trust, health: { complete } }: ReportDocument): HTMLElement {
  return el("section", { class: "card", attributes: { "aria-labelledby": "trust-title" } },
    el("h2", { id: "trust-title", text: "Data quality" }),
    el("p", { class: complete ? "verdict good" : "verdict bad", text: complete ? "✔ Complete" : "▲ Incomplete" }),
    fieldList([
      [complete ? "Remarks" : "Missing", strs(trust, "remarks").join("; ")], ["Lost", countOf(num(trust, "lost_records"), "record")],
      ["Matched", str(trust, "matched")], ["Clocks", clocksText(trust)], ["Overhead", overheadText(trust)],
      ["Recorded", recordedText(trust)], ["CPU samples", str(trust, "cpu_samples")], ["Versions", versionsText(trust)],
    ]));
}

function programText({ processes }: ReportDocument): string {
  const [first = {}] = processes;
  const more = processes.length - 1;
  return middle(str(first, "command_line") || str(first, "name"), 300) + (more > 0 ? ` and ${countOf(more, "more process", "more processes")}` : "");
}

function gpuText(devices: readonly Row[]): string {
  const count = new Map<string, number>();
  for (const d of devices) count.set(str(d, "name"), (count.get(str(d, "name")) ?? 0) + 1);
  return [...count].map(([name, n]) => (n > 1 ? `${n} × ${name}` : name)).join(", ");
}

function eachGpuText(device: Row): string {
  const [memory, rate, generation] = ["memory_bytes", "memory_bytes_per_second", "pcie_generation"].map((key) => num(device, key));
  if (num(device, "sm_count") === 0) return "";
  return `${formatNumber(num(device, "sm_count"))} SMs${memory > 0 ? `, ${formatBytes(memory)}` : ""}${rate > 0 ? ` at ${formatBytes(rate)}/s` : ""}` +
    (generation > 0 ? `, PCIe ${generation} × ${num(device, "pcie_lanes")}` : "");
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
  const { trace, processes, devices } = report;
  const drivers = unique(processes.map((p) => {
    const version = num(p, "driver_version");
    return version === 0 ? "" : `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
  }));
  const ranks = processes.filter((p) => typeof p["rank"] === "number").map((p) => num(p, "rank")).sort((a, b) => a - b);
  return el("section", { class: "card", attributes: { "aria-labelledby": "run-title" } },
    el("h2", { id: "run-title", text: "This run" }),
    fieldList([
      ["Program", programText(report)], [ranks.length === 1 ? "Rank" : "Ranks", rangesText(ranks)],
      ["Host", unique(processes.map((p) => str(p, "host"))).join(", ")], ["GPU", gpuText(devices)], ["Each GPU", eachGpuText(devices[0] ?? {})],
      ["CUDA driver", drivers.join(" and ")], ["Duration", `${formatNs(trace.duration_ns)}, first to last record`],
      ["Trace", `${trace.path}, ${formatBytes(num(trace, "file_bytes"))}, ${formatNumber(trace.records)} records`], ["Selected", report.selected],
    ]));
}

export function noticesSection(report: ReportDocument): HTMLElement | null {
  // What an import has to say of itself is among the remarks.
  const remarks = strs(report.trust, "remarks");
  const notices = report.notices.filter((n) => !remarks.includes(str(n, "message")));
  if (notices.length === 0) return null;
  return el("section", { class: "card" }, el("h2", { text: "Tracer messages" }),
    el("ul", {}, ...notices.slice(0, 20).map((n) => el("li", { text: visible(`${str(n, "level")}: ${str(n, "message")}`) }))));
}
