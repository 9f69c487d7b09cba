// What the tests of the page's arithmetic share: a harness, and lanes written as src/html writes them.
import type { ColumnRef, Lane, Track } from "../../src/web/shared/data";

export const slices = { rest: async (): Promise<void> => undefined };
const tests: [string, () => void | Promise<void>][] = [];
export const test = (name: string, body: () => void | Promise<void>): void => void tests.push([name, body]);

export function same(actual: unknown, expected: unknown, what = ""): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what} is ${a}, expected ${b}`);
}

// ---- a small run, written as src/html writes it

export type Row = Record<string, number>;

export class Blob {
  readonly bytes: number[] = [];
  column(name: string, coding: ColumnRef["coding"], values: number[]): ColumnRef {
    const offset = this.bytes.length;
    let last = 0;
    for (const value of values) {
      if (coding === "byte") this.bytes.push(value);
      else if (coding === "varint") this.varint(value);
      else {
        const difference = coding === "delta" ? value - last : value;
        this.varint(difference < 0 ? -difference * 2 - 1 : difference * 2);
        last = value;
      }
    }
    return { name, coding, offset, bytes: this.bytes.length - offset };
  }
  private varint(value: number): void {
    while (value > 127) {
      this.bytes.push((value % 128) | 128);
      value = Math.floor(value / 128);
    }
    this.bytes.push(value);
  }
}

const CODINGS: Record<string, ColumnRef["coding"]> = { kind: "byte", memory: "byte", call: "delta", range: "delta", next: "delta", blame: "delta", stack: "delta" };
let numbered = 0;
/** Events are numbered from 0 again. */
export function beginRun(): void {
  numbered = 0;
}
export const eventCount = (): number => numbered;

/** Rows have start, end and any of the columns; those that are all zeros are left out. */
export function lane(blob: Blob, depth: number, rows: Row[]): Lane {
  const columns: ColumnRef[] = [
    blob.column("gap", "varint", rows.map((row, i) => row.start - (i > 0 ? rows[i - 1].end : 0))),
    blob.column("duration", "varint", rows.map((row) => row.end - row.start)),
  ];
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  for (const name of names) {
    if (name === "start" || name === "end" || rows.every((row) => !row[name])) continue;
    columns.push(blob.column(name, CODINGS[name] ?? "varint", rows.map((row) => row[name] ?? 0)));
  }
  const first = numbered;
  numbered += rows.length;
  return { count: rows.length, first, depth, columns };
}

export const track = (kind: Track["kind"], label: string, parent: number, lanes: Lane[] = []): Track =>
  ({ kind, label, detail: "", parent, lanes, counter: null });

export async function runAll(): Promise<void> {
  for (const [name, body] of tests) {
    try {
      await body();
    } catch (error) {
      throw new Error(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  console.log(`${tests.length} tests passed`);
}
