// Rows of a grid: order and filter, without any element of the page.
import type { Cell } from "../shared/data";

export interface GridColumn {
  key: string;
  title: string;
  unit: string; // of data.ts; "" is text
}

export interface GridData {
  columns: GridColumn[];
  count: number;
  value(row: number, column: number): Cell;
}

export interface Sort {
  column: number;
  isDescending: boolean;
}

export const isText = (column: GridColumn): boolean => column.unit === "";

function compare(a: Cell, b: Cell): number {
  if (a === b) return 0;
  if (a === null) return 1; // what is not known comes last in either order
  if (b === null) return -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a) < String(b) ? -1 : 1;
}

/** Numbers of the rows that have all words of the filter, in order. Rows that are equal stay as they were. */
export function arrange(data: GridData, filter: string, sort: Sort | null): Uint32Array {
  const words = filter.toLowerCase().split(/\s+/).filter((w) => w !== "");
  const texts = data.columns.flatMap((column, i) => (isText(column) ? [i] : []));
  const has = (row: number): boolean => {
    const text = texts.map((c) => String(data.value(row, c) ?? "")).join("\n").toLowerCase();
    return words.every((w) => text.includes(w));
  };
  const rows: number[] = [];
  for (let row = 0; row < data.count; ++row) if (words.length === 0 || has(row)) rows.push(row);
  if (sort) {
    const keys = new Map(rows.map((row) => [row, data.value(row, sort.column)]));
    const sign = sort.isDescending ? -1 : 1;
    rows.sort((a, b) => {
      const x = keys.get(a) ?? null;
      const y = keys.get(b) ?? null;
      return (x === null || y === null ? compare(x, y) : sign * compare(x, y)) || a - b;
    });
  }
  return Uint32Array.from(rows);
}

/** Columns that say something: not those that are nothing or 0 in every row. */
export function columnsWithValues(data: GridData): number[] {
  const tells = (column: number): boolean => {
    for (let row = 0; row < data.count; ++row) {
      const value = data.value(row, column);
      if (value !== null && value !== 0 && value !== "") return true;
    }
    return false;
  };
  return data.columns.flatMap((_, i) => (i === 0 || tells(i) ? [i] : []));
}

function csvField(value: Cell): string {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** All columns of these rows: plain numbers and full names, as `report --format csv` writes them. */
export function csvOf({ columns, value }: GridData, rows: Iterable<number>): string {
  const lines = Array.from(rows, (row) => columns.map((_, c) => csvField(value(row, c))).join(","));
  return `${[columns.map(({ key }) => csvField(key)).join(","), ...lines].join("\n")}\n`;
}
