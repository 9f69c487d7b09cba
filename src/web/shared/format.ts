// Numbers as people read them, to the letter as the text report prints them (src/base/units.cpp): 33.42 ms, 1.07 GB,
// 55.30 GB/s, 1,234,567, 97.3%.

type Step = readonly [factor: number, name: string];

const NS: readonly Step[] = [[1, "ns"], [1e3, "us"], [1e6, "ms"], [1e9, "s"]];
const BYTES: readonly Step[] = [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"]];

/** The largest that is not above the time. */
export const timeUnit = (ns: number): Step => [...NS].reverse().find(([factor]) => ns >= factor) ?? NS[0];

/** Like toFixed, but what lies just between two is rounded to the even one, as C++ does. */
export function fixed(value: number, decimals: number): string {
  const halves = value * 2 ** (decimals + 1);
  const isTie = Number.isInteger(halves) && Math.abs(halves % 2) === 1 && Math.abs(value) < 1e15;
  if (!isTie) return value.toFixed(decimals);
  const scaled = value * 10 ** decimals;
  const below = Math.floor(scaled);
  return ((below % 2 === 0 ? below : below + 1) / 10 ** decimals).toFixed(decimals);
}

function grouped(digits: string): string {
  const [whole = "", part] = digits.split(".");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? text : `${text}.${part}`;
}

function scaled(value: number, steps: readonly Step[]): string {
  if (!Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  let i = 0;
  while (i + 1 < steps.length && size / steps[i][0] >= (i === 0 ? 999.5 : 999.995)) ++i;
  const [factor, name] = steps[i];
  return `${grouped(fixed(value / factor, i === 0 ? 0 : 2))} ${name}`;
}

export const formatNs = (ns: number): string => scaled(ns, NS);
export const formatBytes = (bytes: number): string => scaled(bytes, BYTES);

export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  return grouped(fixed(value, Number.isInteger(value) ? 0 : Math.abs(value) >= 100 ? 1 : 2));
}

export function formatPercent(percent: number): string {
  if (!Number.isFinite(percent)) return "-";
  if (percent > 0 && percent < 0.05) return "<0.1%";
  if (percent < 100 && percent >= 99.95) return ">99.9%";
  return `${grouped(fixed(percent, 1))}%`;
}

/** A figure by the unit of its column. */
export function formatFigure(value: number, unit: string): string {
  switch (unit) {
    case "ns": return formatNs(value);
    case "bytes": return formatBytes(value);
    case "percent": return formatPercent(value);
    case "bytes/s": return `${formatBytes(value)}/s`;
    case "1/s": return `${formatNumber(value)} /s`;
    default: return formatNumber(value);
  }
}

/** "+1.20 ms", "-4.10 us", "0 ns". */
export function formatChange(value: number, unit: string): string {
  if (unit === "percent") {
    if (!Number.isFinite(value)) return "-";
    if (value === 0) return "0%";
    return `${value > 0 ? "+" : ""}${grouped(fixed(value, Math.abs(value) < 0.05 ? 2 : 1))}%`;
  }
  return (value > 0 ? "+" : "") + formatFigure(value, unit);
}

export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

/** 1, 2 or 5 times a power of ten, at least `least`. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least * 0.999999) ?? 10);
}

/** Figures for the marks of an axis: as few digits as say it. */
export function formatMark(value: number, unit: string): string {
  if (unit === "percent") return `${formatNumber(value)}%`;
  const steps = unit === "ns" ? NS : unit === "bytes" || unit === "bytes/s" ? BYTES : null;
  if (!steps) return formatNumber(value);
  let i = 0;
  while (i + 1 < steps.length && Math.abs(value) >= steps[i + 1][0] * 0.9999995) ++i;
  const [factor, name] = steps[i];
  return `${Number((value / factor).toPrecision(4))} ${name}${unit === "bytes/s" ? "/s" : ""}`;
}
