// What the list of tables offers: those of the report, grouped by analysis, and those of single events.
import type { ReportTable } from "../shared/data";
import { EVENT_TABLES, eventRows } from "./event_tables";
import { formatNumber } from "../shared/format";
import { type GridData, type Sort } from "./grid_model";
import { hasTimeline, showEvent, showPlace } from "../shared/jump";
import { analysisTitle } from "../shared/labels";
import { placeOf, rowHas } from "./row_links";
import type { EventDetails, EventRef, State } from "../shared/state";

/** A table as the grid shows it. */
export interface Shown {
  data: GridData;
  note: string;
  sort: Sort | null;
  canShow(row: number): boolean;
  show(row: number): void;
  has(row: number, details: EventDetails): boolean;
}

export interface Entry {
  id: string;
  title: string;
  group: string;
  count: number | null; // null: not known before it is opened
  needsEvents: boolean;
  open(): Shown;
}

const NAME_KEYS = new Set(["name", "kernel", "path", "function", "what", "part", "cause", "kind", "chain", "operation", "operator", "line", "lock", "range", "pool", "thread", "problem"]);

/** The columns with what names a row first: it stays in view when the figures are scrolled. */
function leadColumn(table: ReportTable): number {
  if (["gaps", "os_slowest", "step_iterations", "memory_over_time", "launches_over_time", "queue_depth", "concurrency", "devices"].includes(table.id)) return 0;
  if (table.id === "idle") return table.columns.findIndex((c) => c.key === "cause");
  for (let i = table.columns.length - 1; i >= 0; --i) if (NAME_KEYS.has(table.columns[i].key)) return i;
  return 0;
}

function dataOf(table: ReportTable): GridData {
  const lead = leadColumn(table);
  const columns = [table.columns[lead], ...table.columns.filter((_, i) => i !== lead)];
  return { columns, count: table.rows.length, value: (row, column) => table.rows[row][columns[column].key] ?? null };
}

function reportEntry(state: State, table: ReportTable): Entry {
  return {
    id: table.id, title: table.title, group: analysisTitle(table.analysis), count: table.rows.length, needsEvents: false,
    open: () => ({
      data: dataOf(table), note: table.note, sort: null,
      canShow: (row) => hasTimeline(state) && placeOf(table, table.rows[row]) !== null,
      show: (row) => {
        const place = placeOf(table, table.rows[row]);
        if (place) showPlace(state, place);
      },
      has: (row, details) => rowHas(table, table.rows[row], details),
    }),
  };
}

const sameEvent = (a: EventRef, b: EventRef): boolean => a.timeline === b.timeline && a.event === b.event;

function eventNote(shown: number, total: number, state: State): string {
  const merged = Math.max(0, ...state.page.timelines.map((t) => t.merged_below_ns));
  const least = shown < total ? `The ${formatNumber(shown)} longest of ${formatNumber(total)}. ` : "";
  return `${least}Start counts from the beginning of the trace.` +
    (merged > 0 ? ` Neighbours shorter than ${formatNumber(merged)} ns are drawn as one; Events says how many a row stands for.` : "");
}

export function eventEntries(state: State): Entry[] {
  if (!hasTimeline(state)) return [];
  return EVENT_TABLES.map((table) => ({
    id: table.id, title: table.title, group: "Single events", count: null, needsEvents: true,
    open: (): Shown => {
      const { data, refs, total } = eventRows(table, state.runs);
      return {
        data, note: eventNote(data.count, total, state), sort: null,
        canShow: () => true,
        show: (row) => showEvent(state, refs[row]),
        has: (row, details) => sameEvent(refs[row], details.ref),
      };
    },
  }));
}

export function tableEntries(state: State, tables: readonly ReportTable[]): Entry[] {
  return tables.map((table) => reportEntry(state, table));
}
