// Kernel counters out of the tables of the report: what each kernel has in them.
import type { ReportDocument } from "../shared/data";
import { num, rowsOf, str, type Row } from "../shared/report";

export interface CountedKernel {
  name: string;
  number: number; // among those of this name: grids of a kernel are rows of their own
  overview: Row;
}

/** In the order of the report, the most time first. */
export function countedKernels(report: ReportDocument): CountedKernel[] {
  const seen = new Map<string, number>();
  return rowsOf(report, "counters").map((overview) => {
    const name = str(overview, "kernel");
    const number = seen.get(name) ?? 0;
    seen.set(name, number + 1);
    return { name, number, overview };
  });
}

/**
 * The rows that a kernel has in a table with several for each. What the keys of a row say is there once for each kernel: where
 * it comes again, rows of the next kernel of that name begin.
 */
export function rowsOfKernel(report: ReportDocument, table: string, kernel: CountedKernel, keys: readonly string[]): Row[] {
  const groups: Row[][] = [];
  let seen = new Set<string>();
  for (const row of rowsOf(report, table)) {
    if (str(row, "kernel") !== kernel.name) continue;
    const key = keys.map((k) => str(row, k)).join("\n");
    if (groups.length === 0 || seen.has(key)) {
      groups.push([]);
      seen = new Set();
    }
    seen.add(key);
    groups[groups.length - 1].push(row);
  }
  return groups[kernel.number] ?? [];
}

/** The row of a kernel in a table with one for each. */
export function rowOfKernel(report: ReportDocument, table: string, kernel: CountedKernel): Row | null {
  return rowsOf(report, table).filter((row) => str(row, "kernel") === kernel.name)[kernel.number] ?? null;
}

export interface RooflinePoint {
  kernel: CountedKernel;
  type: string; // "FP32"
  level: string; // "DRAM"
  flops: number; // a second
  percent: number; // of the peak
  intensity: number; // FLOP a byte
  bound: string;
}

export interface Roofline {
  points: RooflinePoint[];
  peaks: Map<string, number>; // FLOP/s by type; the highest, as clocks differ
  bandwidths: Map<string, number>; // bytes/s by level
}

const raise = (all: Map<string, number>, key: string, value: number): void => {
  if (value > (all.get(key) ?? 0)) all.set(key, value);
};

export function rooflineOf(report: ReportDocument, kernels: readonly CountedKernel[]): Roofline {
  const roofline: Roofline = { points: [], peaks: new Map(), bandwidths: new Map() };
  for (const kernel of kernels) {
    for (const row of rowsOfKernel(report, "counter_roofline", kernel, ["type", "level"])) {
      const [type, level] = [str(row, "type"), str(row, "level")];
      raise(roofline.peaks, type, num(row, "peak_gflops") * 1e9);
      raise(roofline.bandwidths, level, num(row, "peak_bytes_per_second"));
      roofline.points.push({
        kernel, type, level, flops: num(row, "gflops") * 1e9, percent: num(row, "peak_percent"), intensity: num(row, "intensity"), bound: str(row, "bound"),
      });
    }
  }
  return roofline;
}
