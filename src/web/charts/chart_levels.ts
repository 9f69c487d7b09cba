// How many streams were at work at the same time, as shares of the window of each GPU.
import type { ReportDocument } from "../shared/data";
import { el } from "../shared/dom";
import { formatNs, formatPercent } from "../shared/format";
import { showTime } from "../shared/jump";
import { absentCard, chartCard } from "./plot";
import { num, rowsOf, str, type Row } from "../shared/report";
import type { State } from "../shared/state";

const TITLE = "Stream concurrency";
const COUNTER = "operations running"; // those of one stream run one after the other

/** The longest time at a level, from the counter of streams where the page has one. */
function longestAt(state: State, device: string, level: number): { start: number; length: number } | null {
  for (const run of state.runs) {
    for (const [i, track] of run.data.tracks.entries()) {
      const values = run.counters[i];
      if (!values || track.label !== COUNTER || !isOf(run.data.tracks, i, device)) continue;
      let found: { start: number; length: number } | null = null;
      for (let k = 0; k + 1 < values.time.length; ++k) { // the last holds to the end of the trace: not of the window
        const length = values.time[k + 1] - values.time[k];
        if (values.value[k] === level && length > (found?.length ?? 0)) found = { start: values.time[k], length };
      }
      if (found) return found;
    }
  }
  return null;
}

function isOf(tracks: readonly { label: string; parent: number }[], track: number, device: string): boolean {
  for (let at = track; at >= 0; at = tracks[at].parent) if (tracks[at].label.split(" ")[0] === device) return true;
  return false;
}

function bar(state: State, row: Row): HTMLElement {
  const level = num(row, "streams");
  const percent = num(row, "percent");
  const fill = el("span", { class: level === 0 ? "level-fill idle" : "level-fill" });
  fill.style.width = `${Math.max(0.3, percent)}%`;
  fill.style.backgroundColor = level === 0 ? "var(--kind-gap)" : level === 1 ? "var(--kind-kernel)" : "var(--kind-overlap)";
  const value = `${level === 0 ? "idle" : level === 1 ? "1 stream" : `${level} streams`}: ${formatPercent(percent)}, ${formatNs(num(row, "time_ns"))}`;
  const place = longestAt(state, str(row, "device"), level);
  const label = level === 0 ? "0 (idle)" : String(level);
  const cell = el("th", { attributes: { scope: "row" } }, place
    ? el("button", { class: "link", text: label, attributes: { type: "button", "aria-label": `${value}. Show the longest on the timeline` }, on: { click: () => showTime(state, place.start, place.length) } })
    : label);
  return el("tr", { attributes: { "data-value": value } }, cell,
    el("td", { class: "level" }, fill),
    el("td", { class: "number", text: formatPercent(percent) }), el("td", { class: "number", text: formatNs(num(row, "time_ns")) }));
}

export function levelChart(state: State, report: ReportDocument): HTMLElement {
  const rows = rowsOf(report, "concurrency");
  if (rows.length === 0) return absentCard(TITLE, "No GPU operations in this trace.");
  const devices = [...new Set(rows.map((row) => str(row, "device")))];
  const tables = devices.map((device) => el("table", { class: "levels" },
    el("caption", { text: devices.length > 1 ? device : "Streams" }),
    el("tbody", {}, ...rows.filter((row) => str(row, "device") === device).map((row) => bar(state, row)))));
  return chartCard("levels", TITLE, "Percent of the time from the first to the last operation of the GPU.", tables, null);
}
