// On paper: the overview, then the tables that people read, as far as they go on a page. Built when somebody prints.
import { el, figure, tableHead } from "./shared/dom";
import { formatFigure, formatNumber } from "./shared/format";
import { columnsWithValues } from "./tables/grid_model";
import { shortName } from "./shared/names";
import type { State } from "./shared/state";
import { timelinePicture } from "./timeline/timeline";
import { entriesOf } from "./tables/tables";
import type { Entry } from "./tables/table_list";

const PRINTED = ["time", "idle", "gaps", "kernels", "memcpy", "transfers", "pageable", "streams", "concurrency", "sync", "api", "steps", "nvtx", "paths"];
const MAX_ROWS = 12;
const MAX_COLUMNS = 8;

function printedTable(entry: Entry): HTMLElement {
  const { data, note } = entry.open();
  const columns = columnsWithValues(data).slice(0, MAX_COLUMNS);
  const rows = Array.from({ length: Math.min(MAX_ROWS, data.count) }, (_, row) => el("tr", {}, ...columns.map((c) => {
    const value = data.value(row, c);
    return typeof value === "number"
      ? figure(formatFigure(value, data.columns[c].unit))
      : el("td", { text: value === null ? "–" : shortName(value, 48) });
  })));
  const more = data.count > rows.length ? `${formatNumber(data.count - rows.length)} more rows not printed. ` : "";
  return el("section", { class: "card" }, el("h2", { text: entry.title }),
    el("table", { class: "figures" },
      tableHead(columns.map((c) => data.columns[c].title), (i) => data.columns[columns[i]].unit !== ""),
      el("tbody", {}, ...rows)),
    el("p", { class: "note", text: more + note }));
}

export function startPrinting(state: State): void {
  let printed: HTMLElement | null = null;
  let tab = "";
  addEventListener("beforeprint", () => {
    if (printed) return;
    tab = state.tab;
    const picture = tab === "timeline" ? timelinePicture(state) : null; // what the reader looked at
    state.set("tab", "overview");
    const entries = entriesOf(state);
    const tables = PRINTED.flatMap((id) => entries.filter((e) => e.id === id && e.count !== null && e.count > 0));
    const timeline = picture ? el("section", { class: "card" }, el("h2", { text: "Timeline" }), picture) : null;
    printed = el("div", { class: "printed" }, timeline, ...tables.map(printedTable));
    document.getElementById("main")?.append(printed);
  });
  addEventListener("afterprint", () => {
    printed?.remove();
    printed = null;
    if (tab && tab !== state.tab) state.set("tab", tab);
  });
}
