// Tables of a diff, from the document of `diff --format json`: the change, before and after, part by part.
import type { Cell } from "../shared/data";
import { formatFigure } from "../shared/format";
import type { GridColumn, GridData } from "./grid_model";
import { hasTimeline, quoted, showPlace, type Place } from "../shared/jump";
import { obj, objs, str, type Row } from "../shared/report";
import type { State } from "../shared/state";
import type { Entry } from "./table_list";

interface DiffTable {
  id: string; // key of the document
  title: string;
  columns: GridColumn[];
  place?(row: Row): Place | null;
}

const text = (key: string, title: string): GridColumn => ({ key, title, unit: "" });
const ns = (key: string, title: string): GridColumn => ({ key, title, unit: "ns" });
const count = (key: string, title: string): GridColumn => ({ key, title, unit: "count" });
const TIMES = [ns("change_ns", "Change"), { key: "change_percent", title: "Change (%)", unit: "percent" }, ns("base_ns", "Base"), ns("new_ns", "New")];

const TABLES: readonly DiffTable[] = [
  { id: "time", title: "Time breakdown", columns: [text("label", "Part"), ...TIMES] },
  { id: "steps", title: "Steps", columns: [text("label", "Part"), ...TIMES] },
  { id: "gpus", title: "GPUs", columns: [text("device", "GPU"), ...TIMES, ns("busy_change_ns", "Busy"), ns("idle_change_ns", "Idle"), text("presence", "Status")],
    place: (r) => ({ query: `gpu:${str(r, "device").replace("gpu", "")}`, label: str(r, "device") }) },
  { id: "kernels", title: "Kernels",
    columns: [text("name", "Kernel"), ...TIMES, count("base_count", "Base count"), count("new_count", "New count"),
      text("base_shape", "Base shape"), text("new_shape", "New shape"), text("presence", "Status"), text("was", "Was"), text("why", "Why")],
    place: (r) => ({ query: `kind:kernel name:${quoted(str(r, "name"))}`, label: str(r, "name") }) },
  { id: "transfers", title: "Copies and memsets",
    columns: [text("direction", "Direction"), text("memory", "Memory"), ...TIMES, { key: "base_bytes", title: "Base bytes", unit: "bytes" },
      { key: "new_bytes", title: "New bytes", unit: "bytes" }, count("base_count", "Base count"), count("new_count", "New count"), text("presence", "Status")] },
  { id: "paths", title: "GPU time by NVTX range",
    columns: [text("path", "NVTX range"), ...TIMES, ns("busy_change_ns", "Busy"), ns("idle_change_ns", "Idle"), ns("host_change_ns", "Host"),
      count("base_count", "Base count"), count("new_count", "New count"), text("presence", "Status")],
    place: (r) => (str(r, "path").startsWith("(") ? null : { query: `nvtx:${quoted(str(r, "path"))}`, label: str(r, "path") }) },
];

const cell = (value: unknown): Cell => (typeof value === "number" || typeof value === "string" ? value : null);

/** Steps have theirs one level below. */
export const diffRows = (diff: Row, key: string): Row[] => (Array.isArray(diff[key]) ? objs(diff, key) : objs(obj(diff, key), "parts"));

function entry(state: State, table: DiffTable, rows: Row[]): Entry {
  const data: GridData = { columns: table.columns, count: rows.length, value: (row, c) => cell(rows[row][table.columns[c].key]) };
  const placeOf = (row: number): Place | null => (hasTimeline(state) ? table.place?.(rows[row]) ?? null : null);
  return {
    id: table.id, title: table.title, group: "Difference", count: rows.length, needsEvents: false,
    open: () => ({
      data, note: "Change: new minus base.", sort: null, canShow: (row) => placeOf(row) !== null,
      show: (row) => {
        const place = placeOf(row);
        if (place) showPlace(state, place);
      },
      has: (row, details) => table.id === "kernels" && details.kind === "kernel" && rows[row]["name"] === details.name,
    }),
  };
}

/** Every figure of both runs; each has a unit of its own, so that cells are written out. */
function metricEntry(rows: Row[]): Entry {
  const columns = [text("id", "Metric"), text("scope", "Scope"), text("base", "Base"), text("new", "New"),
    { key: "change_percent", title: "Change (%)", unit: "percent" }, text("verdict", "Status"), text("exact", "Exact")];
  const figure = (row: Row, key: string): string => (typeof row[key] === "number" ? formatFigure(row[key] as number, str(row, "unit")) : "–");
  const value = (i: number, c: number): Cell => {
    const row = rows[i];
    switch (columns[c].key) {
      case "base": return figure(row, "base");
      case "new": return figure(row, "new");
      case "verdict": return str(obj(row, "judged"), "verdict");
      case "exact": return row["deterministic"] === true ? "exact" : "";
      default: return cell(row[columns[c].key]);
    }
  };
  return {
    id: "metrics", title: "All metrics", group: "Difference", count: rows.length, needsEvents: false,
    open: () => ({
      data: { columns, count: rows.length, value }, sort: null, canShow: () => false, show: () => undefined, has: () => false,
      note: "Deterministic: independent of timing, so any difference comes from the program.",
    }),
  };
}

export function diffEntries(state: State, diff: Row): Entry[] {
  return [...TABLES.map((table) => entry(state, table, diffRows(diff, table.id))), metricEntry(diffRows(diff, "metrics"))];
}
