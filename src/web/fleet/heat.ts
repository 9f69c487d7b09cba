// The figures of the heat map: a row for each rank, a column for each step or slice of time.
import type { FleetHeat, FleetRank } from "../shared/data";
import { decodeColumn } from "../shared/decode";

export interface Measure {
  id: string;
  title: string;
  values: ArrayLike<number>; // by row, then column; times `unit` in ns
  unit_ns: number;
}

export interface HeatMap {
  heat: FleetHeat;
  measures: Measure[];
}

export function readHeat(heat: FleetHeat, bytes: Uint8Array): HeatMap {
  const count = heat.ranks.length * heat.columns;
  const measures = heat.measures.map(({ id, title, unit_ns, offset, bytes: size }) => ({
    id, title, unit_ns, values: decodeColumn(bytes, { name: id, coding: "varint", offset, bytes: size }, count),
  }));
  return { heat, measures };
}

export const valueAt = (map: HeatMap, measure: Measure, rank: number, column: number): number =>
  measure.values[rank * map.heat.columns + column] * measure.unit_ns;

/** The median of all ranks, by column. */
export function mediansOf(map: HeatMap, measure: Measure): Float64Array {
  const { ranks, columns } = map.heat;
  const medians = new Float64Array(columns);
  const column = new Float64Array(ranks.length);
  for (let c = 0; c < columns; ++c) {
    for (let r = 0; r < ranks.length; ++r) column[r] = measure.values[r * columns + c];
    column.sort();
    const middle = ranks.length >> 1;
    medians[c] = (ranks.length % 2 === 1 ? column[middle] : (column[middle - 1] + column[middle]) / 2) * measure.unit_ns;
  }
  return medians;
}

export type Order = "worst" | "rank" | "host";

/** Rows from the top to the bottom, as indices of ranks. */
export function orderOf(ranks: readonly FleetRank[], order: Order): number[] {
  const all = ranks.map((_, i) => i);
  const byRank = (a: number, b: number): number => ranks[a].rank - ranks[b].rank || a - b;
  if (order === "worst") return all.sort((a, b) => ranks[b].above_median_ns - ranks[a].above_median_ns || byRank(a, b));
  if (order === "host") return all.sort((a, b) => (ranks[a].host < ranks[b].host ? -1 : ranks[a].host > ranks[b].host ? 1 : byRank(a, b)));
  return all.sort(byRank);
}

/** What each cell is worth, from -1 to 1 or 0 to 1, and what 1 stands for. */
export interface Shades {
  shares: Float32Array; // by rank, then column
  full: number; // ns, or percent of the median where compared
}

const LEAST_FULL_PERCENT = 10; // noise of less than that is not shown as if it were all

export function shadesOf(map: HeatMap, measure: Measure, isCompared: boolean): Shades {
  const { columns } = map.heat;
  const shares = new Float32Array(measure.values.length);
  if (!isCompared) {
    let most = 0;
    for (let i = 0; i < shares.length; ++i) most = Math.max(most, measure.values[i]);
    for (let i = 0; i < shares.length; ++i) shares[i] = most > 0 ? measure.values[i] / most : 0;
    return { shares, full: most * measure.unit_ns };
  }
  const medians = mediansOf(map, measure);
  const floor = Math.max(...medians) / 100; // a share of next to nothing says nothing
  let most = LEAST_FULL_PERCENT;
  for (let i = 0; i < shares.length; ++i) {
    const median = medians[i % columns];
    shares[i] = (100 * (measure.values[i] * measure.unit_ns - median)) / Math.max(median, floor, 1);
    most = Math.max(most, Math.min(100, Math.abs(shares[i])));
  }
  for (let i = 0; i < shares.length; ++i) shares[i] = Math.max(-1, Math.min(1, shares[i] / most));
  return { shares, full: most };
}
