// Reading the report's document: tables by id, metrics by id and scope.
import type { Cell, ReportDocument, ReportTable } from "./data";

export type Row = Record<string, Cell>;

export function tableOf(report: ReportDocument, id: string): ReportTable | null {
  return report.tables.find((t) => t.id === id) ?? null;
}

export function rowsOf(report: ReportDocument, id: string): Row[] {
  return tableOf(report, id)?.rows ?? [];
}

export function num(row: Row, key: string): number {
  const value = row[key];
  return typeof value === "number" ? value : 0;
}

export function str(row: Row, key: string): string {
  const value = row[key];
  return typeof value === "string" ? value : "";
}

/** null: the report does not know it. */
export function metric(report: ReportDocument, id: string, scope = ""): number | null {
  return report.metrics.find((m) => m.id === id && m.scope === scope)?.value ?? null;
}
