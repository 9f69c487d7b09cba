// Reading the report's document: tables by id, metrics by id and scope.
import type { ReportDocument, ReportTable } from "./data";

/** A part of a document. Whatever a reader asks of it that is not there, or is something else, is nothing. */
export type Row = Record<string, unknown>;

export const num = (row: Row, key: string): number => (typeof row[key] === "number" ? (row[key] as number) : 0);
export const str = (row: Row, key: string): string => (typeof row[key] === "string" ? (row[key] as string) : "");
export const obj = (row: Row, key: string): Row => rowOf(row[key]);
export const objs = (row: Row, key: string): Row[] => (Array.isArray(row[key]) ? (row[key] as unknown[]).map(rowOf) : []);
/** Those that are not empty. */
export const strs = (row: Row, key: string): string[] =>
  Array.isArray(row[key]) ? (row[key] as unknown[]).filter((t): t is string => typeof t === "string" && t !== "") : [];

const rowOf = (value: unknown): Row => (typeof value === "object" && value !== null ? (value as Row) : {});

export function tableOf(report: ReportDocument, id: string): ReportTable | null {
  return report.tables.find((t) => t.id === id) ?? null;
}

export function rowsOf(report: ReportDocument, id: string): Row[] {
  return tableOf(report, id)?.rows ?? [];
}

/** Why there is nothing to show that needs this fact of the trace: it was not recorded, or `none`: there was none. */
export function whyNone(report: ReportDocument, fact: string, none: string): string {
  const unknown = report.not_recorded.find((entry) => entry.fact === fact);
  return unknown ? `${unknown.why.charAt(0).toUpperCase()}${unknown.why.slice(1)}.` : none;
}

/** null: the report does not know it. */
export function metric(report: ReportDocument, id: string, scope = ""): number | null {
  return report.metrics.find((m) => m.id === id && m.scope === scope)?.value ?? null;
}
