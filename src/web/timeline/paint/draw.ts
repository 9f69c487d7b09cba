// Draws the rows of a pane. Lanes are painted pixel by pixel into a strip, one line each (paint.ts), which goes to the
// canvas in one piece and is stretched to the height of the rows: a frame costs a few calls of the canvas a row.
import { counterOf, drawCounter, drawHeat, type ShownCounter } from "./counter";
import { contextOf } from "./canvas";
import { formatBytes } from "../../shared/format";
import { markEvents, type Marks } from "../../shared/levels";
import { isShown, laneHeight, laneTop, type Row } from "../model/layout";
import { MAX_WIDE, makeWideEvents, paintLane, type ColorOf, type WideEvents } from "./paint";
import { fromRgb, parseColor, RANGE_COLORS, tinted, type Palette } from "../../shared/palette";
import { remembered } from "../../shared/remembered";
import type { LaneEvents, Run, RunLane, View } from "../../shared/state";
import { BarText, FONT_PX } from "./text";

const TEXT_FROM_PX = 24; // narrower bars have no name
const MAX_TEXTS = 1500; // a frame
const BETWEEN_PX = 2; // lanes
const GAP_CELL_PX = 4;

export interface DrawJob {
  run: Run;
  view: View; // on the clock of the run
  rows: readonly Row[]; // in view
  top: number; // of the area, CSS pixels
  scroll: number; // what of the rows is above it
  palette: Palette;
  matches: ReadonlyMap<RunLane, Marks> | null; // of the filter; null: none
  same: ReadonlyMap<RunLane, Marks> | null; // events with the name of the selected one: underlined
}

interface BarLine {
  lane: RunLane;
  y: number;
  height: number;
  wide: WideEvents;
  line: number;
}

export class RowDrawer {
  private readonly strip = document.createElement("canvas");
  private readonly stripContext = contextOf(this.strip);
  private readonly text: BarText;
  private readonly wideOfLine: WideEvents[] = [];
  private pixels: ImageData | null = null;
  private words: Uint32Array = new Uint32Array(0);
  private font = "";

  constructor(private readonly context: CanvasRenderingContext2D) {
    this.text = new BarText(context);
  }

  /** `width` and the strip are in device pixels, all else in CSS pixels. */
  draw(job: DrawJob, width: number, ratio: number): void {
    this.useFont(job.palette.font);
    const bars = this.paint(job, width, ratio);
    this.context.imageSmoothingEnabled = false;
    for (const bar of bars) {
      this.context.drawImage(this.strip, 0, bar.line, width, 1, 0, bar.y + BETWEEN_PX / 2, width / ratio, bar.height);
    }
    if (job.same) this.underline(job, job.same, bars, width, ratio);
    for (const row of job.rows) {
      const shown = counterOf(job.run, row);
      if (shown) this.drawCounter(job, row, shown, width / ratio);
    }
    this.drawTexts(job, bars, ratio);
  }

  private useFont(family: string): void {
    const font = `${FONT_PX}px ${family}`;
    this.context.font = font;
    this.context.textBaseline = "middle";
    if (font !== this.font) {
      this.font = font;
      this.text.reset();
    }
  }

  private paint(job: DrawJob, width: number, ratio: number): BarLine[] {
    const bars: BarLine[] = [];
    let line = -1;
    let lastY = NaN;
    const shown = job.rows.flatMap((row) => row.lanes.filter((lane) => isShown(row, lane)).map((lane) => ({ row, lane })));
    this.resize(width, Math.max(1, shown.length));
    for (const { row, lane } of shown) {
      const y = job.top + row.y - job.scroll + laneTop(row, lane);
      const isUnder = y === lastY && row.isGroup;
      if (!isUnder) ++line;
      lastY = y;
      const wide = isUnder ? bars[bars.length - 1].wide : (this.wideOfLine[line] ??= makeWideEvents());
      if (!isUnder) wide.count = 0;
      const marks = job.matches ? job.matches.get(lane) ?? noMarks(lane) : null;
      paintLane(
        { events: lane.events, start_ns: job.view.start_ns, perPixel_ns: (job.view.end_ns - job.view.start_ns) / width,
          marks, colorOf: colorsOf(job), isUnder, onlyMarked: false, cell_px: cellOf(lane, ratio) },
        this.words.subarray(line * width, (line + 1) * width), row.isGroup ? null : wide, TEXT_FROM_PX);
      if (!isUnder) bars.push({ lane, y, height: laneHeight(row) - BETWEEN_PX, wide, line });
    }
    if (this.pixels && line >= 0) this.stripContext.putImageData(this.pixels, 0, 0, 0, 0, width, line + 1);
    return bars;
  }

  private resize(width: number, lines: number): void {
    if (!this.pixels || this.pixels.width !== width || this.pixels.height < lines) {
      this.strip.width = width;
      this.strip.height = lines + 8;
      this.pixels = this.stripContext.createImageData(width, lines + 8);
      this.words = new Uint32Array(this.pixels.data.buffer);
    } else {
      this.words.fill(0, 0, lines * width);
    }
  }

  private underline(
    job: DrawJob, same: ReadonlyMap<RunLane, Marks>, bars: readonly BarLine[], width: number, ratio: number,
  ): void {
    const lines = bars.filter((bar) => same.has(bar.lane));
    if (lines.length === 0 || !this.pixels) return;
    this.resize(width, lines.length);
    const color = parseColor(job.palette.select, 0xff0000ff);
    const perPixel_ns = (job.view.end_ns - job.view.start_ns) / width;
    for (const [line, { lane }] of lines.entries()) {
      paintLane(
        { events: lane.events, start_ns: job.view.start_ns, perPixel_ns, marks: same.get(lane) ?? null,
          colorOf: () => color, isUnder: false, onlyMarked: true, cell_px: 1 },
        this.words.subarray(line * width, (line + 1) * width), null, 0);
    }
    this.stripContext.putImageData(this.pixels, 0, 0, 0, 0, width, lines.length);
    for (const [line, { y, height }] of lines.entries()) {
      this.context.drawImage(this.strip, 0, line, width, 1, 0, y + height - 1.5, width / ratio, 2.5);
    }
  }

  private drawCounter(job: DrawJob, row: Row, of: ShownCounter, width: number): void {
    const draw = of.isStrip ? drawHeat : drawCounter;
    draw(this.context, of.counter, of.values, job.view, {
      width, top: job.top + row.y - job.scroll, height: row.height, color: job.palette.counter,
      ink: row.isGroup ? "" : job.palette.soft, paper: job.palette.panel,
    });
  }

  private drawTexts(job: DrawJob, bars: readonly BarLine[], ratio: number): void {
    let left = MAX_TEXTS;
    let style = "";
    for (const bar of bars) {
      const { wide } = bar;
      const y = bar.y + BETWEEN_PX / 2 + bar.height / 2 + 0.5;
      for (let i = 0; i < Math.min(wide.count, MAX_WIDE) && left > 0; ++i) {
        const from = wide.from[i] / ratio;
        const room = wide.to[i] / ratio - from - 7;
        const text = this.text.fit(this.textOf(job.run, bar.lane.events, wide.index[i], room), room);
        if (text === "") continue;
        --left;
        const ink = job.palette.onBar(wide.color[i]);
        if (ink !== style) this.context.fillStyle = style = ink;
        this.context.fillText(text, from + 4, y);
      }
    }
  }

  private textOf(run: Run, events: LaneEvents, index: number, room: number): string {
    const merged = events.more.get("count")?.[index] ?? 1;
    const label = this.text.label(run.data.names[events.name[index]] ?? "");
    if (merged > 1) return `${merged} × short`;
    if (room < 110) return label;
    const object = run.data.names[(events.more.get("object")?.[index] ?? 0) - 1];
    if (object) return `${label} ${this.text.label(object)}`;
    const bytes = events.more.get("bytes")?.[index] ?? 0;
    return bytes > 0 ? `${label}, ${formatBytes(bytes)}` : label;
  }
}

/** Idle time shorter than this is drawn together. */
const cellOf = (lane: RunLane, ratio: number): number => (lane.trackData.kind === "gaps" ? Math.round(GAP_CELL_PX * ratio) : 1);

/** Marks of a lane where nothing matches. */
const noMarks = remembered((lane: RunLane) => markEvents(lane.events, () => false));

const KERNEL = 0;
const RANGES = new Set([19, 20, 26]); // NVTX ranges, also those on a GPU
const FEW = 3; // kernels in a pixel have the tint of the longest; of more it would be noise
const TINTS = [0, 0.08, -0.08, -0.16, -0.24]; // near enough to be told from all other colours

/** Kernels by name in tints of one colour, so that patterns are seen; NVTX ranges in the colour the program gave them, else likewise. */
function colorsOf(job: DrawJob): ColorOf {
  const { classes } = job.palette;
  const tints = kernelTints(job.palette);
  const hashes = hashesOf(job.run);
  return (events, index, cls, count) => {
    if (cls === KERNEL && count <= FEW) return tints[hashes[events.name[index]] % tints.length];
    if (RANGES.has(cls)) {
      const color = events.more.get("color")?.[index] ?? 0;
      if (color > 0) return fromRgb((color - 1) & 0xffffff);
      return RANGE_COLORS[hashes[events.name[index]] % RANGE_COLORS.length];
    }
    return classes[cls];
  };
}

const kernelTints = remembered((palette: Palette) => TINTS.map((share) => tinted(palette.classes[KERNEL], share)));

/** By name: the same name has the same colour in both runs of a diff, and in the next report. */
const hashesOf = remembered((run: Run) => Uint8Array.from(run.data.names, hashOf));

function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < Math.min(text.length, 500); ++i) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return ((hash >>> 16) ^ hash) & 255;
}
