// How many streams were at work at the same time, as shares of the window of each GPU.
import type { ReportDocument } from "../shared/data";
import { button, el } from "../shared/dom";
import { tracksAround } from "../shared/events";
import { countOf, formatNs, formatPercent } from "../shared/format";
import { showTime } from "../shared/jump";
import { absentCard, barRow, chartCard } from "./plot";
import { num, rowsOf, str, whyNone, type Row } from "../shared/report";
import type { State } from "../shared/state";

const TITLE = "Stream concurrency";
const COUNTER = "operations running"; // those of one stream run one after the other

/** The longest time at a level, from the counter of streams where the page has one. */
function longestAt(state: State, device: string, level: number): { start: number; length: number } | null {
  for (const run of state.runs) {
    for (const [i, track] of run.data.tracks.entries()) {
      const values = run.counters[i];
      if (!values || track.label !== COUNTER || !tracksAround(run.data.tracks, i).some((at) => run.data.tracks[at].label.split(" ")[0] === device)) continue;
      // The last value holds to the end of the trace: not of the window.
      const lengths = Array.from({ length: values.time.length - 1 }, (_, k) => (values.value[k] === level ? values.time[k + 1] - values.time[k] : 0));
      const length = lengths.reduce((most, ns) => Math.max(most, ns), 0);
      if (length > 0) return { start: values.time[lengths.indexOf(length)], length };
    }
  }
  return null;
}

function bar(state: State, row: Row): HTMLElement {
  const level = num(row, "streams");
  const percent = num(row, "percent");
  const value = `${level === 0 ? "idle" : countOf(level, "stream")}: ${formatPercent(percent)}, ${formatNs(num(row, "time_ns"))}`;
  const place = longestAt(state, str(row, "device"), level);
  const label = level === 0 ? "0 (idle)" : String(level);
  const cell = el("th", { attributes: { scope: "row" } }, place
    ? button(label, () => showTime(state, place.start, place.length), { class: "link", attributes: { "aria-label": `${value}. Show the longest on the timeline` } })
    : label);
  const color = level === 0 ? "--kind-gap" : level === 1 ? "--kind-kernel" : "--kind-overlap";
  return barRow(cell, percent, color, value, [formatPercent(percent), formatNs(num(row, "time_ns"))], { fill: level === 0 ? "idle" : "" });
}

export function levelChart(state: State, report: ReportDocument): HTMLElement {
  const rows = rowsOf(report, "concurrency");
  if (rows.length === 0) return absentCard(TITLE, whyNone(report, "operations", "No GPU work in what was selected."));
  const devices = [...new Set(rows.map((row) => str(row, "device")))];
  const tables = devices.map((device) => el("table", { class: "levels" },
    el("caption", { text: devices.length > 1 ? device : "Streams" }),
    el("tbody", {}, ...rows.filter((row) => str(row, "device") === device).map((row) => bar(state, row)))));
  return chartCard("levels", TITLE, "Percent of the time from the first to the last operation of the GPU.", tables, null);
}
