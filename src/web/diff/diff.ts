// The first tab of a diff: what changed, and where the difference comes from, part by part, down to the nanosecond.
import { diffRows } from "../tables/diff_tables";
import { button, el, fieldList, figure, tableHead } from "../shared/dom";
import { formatChange, formatNs } from "../shared/format";
import { openTable, placeLink } from "../shared/jump";
import { causeColor } from "../shared/labels";
import { visible } from "../shared/names";
import { num, obj, str, strs, type Row } from "../shared/report";
import type { State } from "../shared/state";

interface Bar {
  label: string;
  from: number;
  to: number;
  change: number | null; // null: a whole
  color: string;
  query: string;
}

const PART_COLORS: Record<string, string> = { kernels: "--kind-kernel", copies: "--kind-copy-h2d", fills: "--kind-memset", overlap: "--kind-overlap" };
const PART_QUERIES: Record<string, string> = { kernels: "kind:kernel", copies: "kind:copy", fills: "kind:memset" };

function partBar(row: Row, from: number): Bar {
  const part = str(row, "part");
  const cause = part.startsWith("idle.") ? part.slice(5) : "";
  const change = num(row, "change_ns");
  return {
    label: str(row, "label") || part, from, to: from + change, change,
    color: cause ? causeColor(cause) : PART_COLORS[part] ?? "--kind-api-other",
    query: cause ? `cause:${cause}` : PART_QUERIES[part] ?? "",
  };
}

/** From the whole of the base run over every part to the whole of the new one. */
export function waterfall(rows: readonly Row[], base: number, total: string): Bar[] {
  const bars: Bar[] = [{ label: `${total} of base`, from: 0, to: base, change: null, color: "--ink-faint", query: "" }];
  let at = base;
  for (const row of rows) {
    bars.push(partBar(row, at));
    at += num(row, "change_ns");
  }
  return [...bars, { label: `${total} of new`, from: 0, to: at, change: null, color: "--ink-faint", query: "" }];
}

function barRow(bar: Bar, low: number, high: number, state: State): HTMLElement {
  const share = (ns: number): number => (100 * (ns - low)) / Math.max(1, high - low);
  const [from, to] = [share(Math.max(low, Math.min(bar.from, bar.to))), share(Math.max(bar.from, bar.to))];
  const style = { left: `${from}%`, width: `${Math.max(0.4, to - from)}%`, "background-color": `var(${bar.color})` };
  const sign = bar.change === null ? "" : bar.change > 0 ? "worse" : bar.change < 0 ? "better" : "";
  const label = bar.query ? placeLink(state, bar.label, { query: bar.query, label: bar.label }) : el("span", { text: bar.label });
  return el("tr", { class: bar.change === null ? "whole" : "" },
    el("th", { attributes: { scope: "row" } }, label),
    el("td", { class: `number ${sign}`, text: bar.change === null ? formatNs(bar.to) : formatChange(bar.change, "ns") }),
    el("td", { class: "falls", attributes: { "aria-hidden": "true" } }, el("span", { class: "fall", style })));
}

function waterfallSection(title: string, note: string, bars: Bar[], state: State): HTMLElement {
  const ends = bars.flatMap((b) => [b.from, b.to]).filter((ns) => ns > 0);
  const high = Math.max(1, ...ends);
  // Where all that changed is a small part of the whole, the axis begins near it: the note says so.
  const least = Math.min(...bars.flatMap((b) => (b.change === null ? [b.to] : [b.from, b.to])));
  const low = least > 0.6 * high ? least - 0.15 * (high - least) - 0.02 * high : Math.min(0, least);
  return el("section", { class: "card" },
    el("h2", { text: title }),
    el("table", { class: "waterfall", attributes: { "aria-label": title } }, el("colgroup", {}, el("col", { class: "of-label" }), el("col", { class: "of-change" }), el("col")),
      el("tbody", {}, ...bars.map((b) => barRow(b, low, high, state)))),
    el("p", { class: "note", text: low > 0 ? `${note} The axis begins at ${formatNs(low)}, not at 0.` : note }));
}

function sideFields(name: string, side: Row): HTMLElement {
  const print = obj(side, "fingerprint");
  const runs = strs(side, "runs");
  const fields: [string, string][] = [
    ["Program", str(print, "program")], ["Trace", str(side, "shown")], ["Runs", runs.length > 1 ? String(runs.length) : ""],
    ["GPU", strs(print, "gpus").join(", ")], ["Driver", str(print, "driver_version")], ["Host", str(print, "host")],
    ["Complete", side["complete"] === false ? `NO: ${strs(side, "missing").join("; ")}` : "yes"],
    ["Notes", strs(side, "notes").join("; ")],
  ];
  return el("section", { class: "card" }, el("h2", { text: name }), fieldList(fields));
}

function heading(state: State, diff: Row): HTMLElement {
  const verdict = str(diff, "verdict");
  const tone = /regress|slower|worse/.test(verdict) ? "bad" : /improve|faster|better/.test(verdict) ? "good" : "";
  const explained = strs(diff, "explanation");
  const differences = strs(diff, "differences");
  return el("section", { class: "hero", attributes: { "aria-label": "Verdict" } },
    ...(["base", "new"].filter((s) => obj(diff, s)["complete"] === false).map((s) =>
      el("aside", { class: "banner", text: `▲ The trace of ${s} is incomplete: figures cover only the data that was recovered.` }))),
    differences.length > 0 ? el("aside", { class: "banner" }, el("b", { text: "▲ Measured under different conditions: " }), visible(differences.join("; "))) : null,
    el("p", { class: "headline", text: visible(explained[0] ?? state.page.verdict).replace(/: .*/s, "") }),
    el("p", { class: `verdict ${tone}`, text: `${verdict.charAt(0).toUpperCase()}${verdict.slice(1)}: ${str(diff, "evidence")}` }),
    el("ul", { class: "explanation" }, ...explained.map((line) => el("li", { text: visible(line) }))));
}

const TOP: readonly [id: string, title: string, name: string][] = [
  ["kernels", "Kernels", "name"], ["transfers", "Copies and memsets", "direction"], ["paths", "GPU time by NVTX range", "path"],
];

/** The largest changes of a table, with a link to all of it. */
function topChanges(state: State, diff: Row, [id, title, key]: (typeof TOP)[number]): HTMLElement | null {
  const rows = diffRows(diff, id).filter((row) => num(row, "change_ns") !== 0).slice(0, 6);
  if (rows.length === 0) return null;
  const cells = (row: Row): HTMLElement => {
    const change = num(row, "change_ns");
    const name = visible(str(row, key)) + (id === "transfers" ? `, ${str(row, "memory")}` : "");
    return el("tr", {}, el("td", { class: `number ${change > 0 ? "worse" : "better"}`, text: formatChange(change, "ns") }),
      figure(formatNs(num(row, "base_ns"))), figure(formatNs(num(row, "new_ns"))),
      el("td", { class: "cut", text: name, title: name }));
  };
  return el("section", { class: "card" }, el("h2", { text: title }),
    el("div", { class: "scroll" }, el("table", { class: "figures" }, tableHead(["Change", "Base", "New", title], (i) => i < 3), el("tbody", {}, ...rows.map(cells)))),
    el("p", { class: "actions" }, button(`Table: ${title}`, () => openTable(state, id), { class: "quiet" })));
}

export function mountDiff(root: HTMLElement, state: State, diff: Row): void {
  const time = diffRows(diff, "time");
  const inWindow = time.filter((row) => row["in_window"] === true);
  const outside = time.filter((row) => row["in_window"] !== true && num(row, "change_ns") !== 0);
  const window = obj(diff, "window");
  const wall = obj(diff, "gpu_wall");
  const steps = obj(diff, "steps");
  const wide = el("div", { class: "wide" });
  if (inWindow.length > 0) {
    wide.append(waterfallSection("GPU window, base to new",
      "From the first to the last operation. The parts sum to the difference.",
      waterfall(inWindow, num(window, "base_ns"), "GPU window"), state));
  }
  if (Array.isArray(steps["parts"])) {
    const parts = (steps["parts"] as Row[]).map((p) => ({ ...p, part: str(p, "part").replace(/^idle_(.*)_ns$/, "idle.$1").replace("kernel_ns", "kernels").replace("copy_only_ns", "copies") }));
    const base = parts.reduce((sum, p) => sum + num((p as Row), "base_ns"), 0);
    wide.append(waterfallSection(`One “${visible(str(steps, "new_path"))}” step`, "Mean per step, warm-up excluded.", waterfall(parts, base, "Step"), state));
  }
  if (outside.length > 0 && num(wall, "base_ns") > 0) {
    const rows: Row[] = [{ label: "GPU window", part: "", change_ns: num(window, "change_ns") }, ...outside];
    wide.append(waterfallSection("Wall time, base to new", "From the first to the last record.", waterfall(rows, num(wall, "base_ns"), "Wall time"), state));
  }
  for (const top of TOP) {
    const section = topChanges(state, diff, top);
    if (section) wide.append(section);
  }
  root.append(heading(state, diff), el("div", { class: "columns" }, wide,
    el("div", { class: "narrow" }, sideFields("Base", obj(diff, "base")), sideFields("New", obj(diff, "new")))));
}
