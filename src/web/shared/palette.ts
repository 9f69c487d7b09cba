// Colours of the canvas, read from style.css once for each theme.
import { EVENT_KINDS } from "./data";
import { CAUSES, causeColor, kindColor } from "./labels";
import { CLASSES, FIRST_CAUSE } from "./levels";
import { cssColor } from "./theme";

export interface Palette {
  readonly classes: Uint32Array; // by class of events (levels.ts), 0xAABBGGRR as ImageData has it
  readonly paper: string;
  readonly panel: string;
  readonly odd: string;
  readonly line: string;
  readonly ink: string;
  readonly soft: string;
  readonly faint: string;
  readonly accent: string;
  readonly select: string;
  readonly font: string;
  readonly counter: string;
  onBar(color: number): string; // text on a bar of this colour
}

/** NVTX ranges that the program gave no colour, by name; dark text can be read on all of them. */
export const RANGE_COLORS = [0x8fb8de, 0xa3cf9b, 0xe6c17f, 0xdba6b6, 0xb7a8dc, 0x86cbc5, 0xd4b48c, 0xaebfcb, 0xc9d18a, 0xe0a58a].map(fromRgb);

const probe = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;

/** Any colour of CSS as 0xFFBBGGRR. */
export function parseColor(text: string, otherwise: number): number {
  probe.fillStyle = "#010203";
  probe.fillStyle = text;
  const read = String(probe.fillStyle);
  if (read === "#010203" || !read.startsWith("#")) return otherwise;
  return fromRgb(parseInt(read.slice(1), 16));
}

export function fromRgb(rgb: number): number {
  return (0xff000000 | ((rgb & 255) << 16) | (rgb & 0xff00) | ((rgb >> 16) & 255)) >>> 0;
}

/** Brightness as the eye has it, 0 to 255. */
function brightness(color: number): number {
  return 0.299 * (color & 255) + 0.587 * ((color >> 8) & 255) + 0.114 * ((color >> 16) & 255);
}

/** `color` moved towards black (share < 0) or white (share > 0). */
export function tinted(color: number, share: number): number {
  const target = share < 0 ? 0 : 255;
  const part = Math.abs(share);
  const mix = (value: number): number => Math.round(value + (target - value) * part);
  return (0xff000000 | (mix((color >> 16) & 255) << 16) | (mix((color >> 8) & 255) << 8) | mix(color & 255)) >>> 0;
}

const FALLBACK = fromRgb(0x7788aa);

export function readPalette(): Palette {
  const classes = new Uint32Array(CLASSES).fill(FALLBACK);
  for (const [i, kind] of EVENT_KINDS.entries()) classes[i] = parseColor(cssColor(kindColor(kind)), FALLBACK);
  for (const [i, cause] of CAUSES.entries()) classes[FIRST_CAUSE + i] = parseColor(cssColor(causeColor(cause)), FALLBACK);
  const color = (name: string, otherwise: string): string => cssColor(name) || otherwise;
  return {
    classes,
    paper: color("--paper", "#ffffff"),
    panel: color("--panel", "#ffffff"),
    odd: color("--track-odd", "#f6f7f9"),
    line: color("--line", "#dddddd"),
    ink: color("--ink", "#111111"),
    soft: color("--ink-soft", "#555555"),
    faint: color("--ink-faint", "#999999"),
    accent: color("--accent", "#2266dd"),
    select: color("--select", "#ee7700"),
    font: color("--font", "sans-serif"),
    counter: color("--kind-kernel", "#4477aa"),
    onBar: (bar) => (brightness(bar) > 115 ? "#111418" : "#ffffff"),
  };
}
