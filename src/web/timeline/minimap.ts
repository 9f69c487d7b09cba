// The whole run in a few lines: what each GPU was busy with, gaps in the colour of their cause, and a window that is the view.
import type { TrackKind } from "../shared/data";
import { el, placeIn } from "../shared/dom";
import { lanesUnder } from "../shared/events";
import { handleWheel } from "./pointer";
import { contextOf, fitCanvas } from "./paint/canvas";
import { paintLane, type ColorOf } from "./paint/paint";
import type { Scene } from "./model/scene";
import type { Run, RunLane } from "../shared/state";

const SYSTEM = new Set<TrackKind>(["os", "states", "samples"]); // what the program does not do itself
const MAX_LINES = 8; // GPUs of a run
const LINE_PX = 9;

interface Line {
  run: Run;
  lanes: RunLane[]; // a pixel shows the one that took most of it
}

export class Minimap {
  readonly element = el("div", { class: "tl-minimap" });
  private readonly canvas = el("canvas", { attributes: { "aria-hidden": "true" } });
  private readonly strip = document.createElement("canvas");
  private readonly context = contextOf(this.canvas);
  private lines: Line[] = [];
  private isStale = true;

  constructor(private readonly scene: Scene) {
    this.element.append(this.canvas);
    new ResizeObserver(() => this.refresh()).observe(this.element);
    this.listen();
  }

  /** The events, the theme or the offsets are others. */
  refresh(): void {
    this.lines = this.scene.state.runs.flatMap((run) => linesOf(run));
    this.element.style.height = `${Math.max(2, this.lines.length) * LINE_PX + 8}px`;
    this.isStale = true;
    this.draw();
  }

  draw(): void {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth === 0) return;
    if (fitCanvas(this.canvas, clientWidth, clientHeight) || this.isStale) this.paint(this.canvas.width);
    const { context } = this;
    context.clearRect(0, 0, clientWidth, clientHeight);
    context.imageSmoothingEnabled = false;
    for (let i = 0; i < this.lines.length; ++i) {
      context.drawImage(this.strip, 0, i, this.canvas.width, 1, 0, 4 + i * LINE_PX, clientWidth, LINE_PX - 1);
    }
    this.drawWindow(clientWidth, clientHeight);
  }

  private drawWindow(width: number, height: number): void {
    const { context, scene } = this;
    const { view, span } = scene.state;
    const whole = scene.state.wholeView();
    const x = (ns: number): number => ((ns - whole.start_ns) / (whole.end_ns - whole.start_ns)) * width;
    if (span) {
      context.fillStyle = scene.palette.accent;
      context.globalAlpha = 0.3;
      context.fillRect(x(span.start_ns), 0, Math.max(1, x(span.end_ns) - x(span.start_ns)), height);
    }
    const from = Math.max(0, x(view.start_ns));
    const to = Math.min(width, Math.max(x(view.end_ns), from + 2));
    context.globalAlpha = 0.55;
    context.fillStyle = scene.palette.paper;
    context.fillRect(0, 0, from, height);
    context.fillRect(to, 0, width - to, height);
    context.globalAlpha = 1;
    context.strokeStyle = scene.palette.accent;
    context.lineWidth = 2;
    context.strokeRect(from + 1, 1, Math.max(1, to - from - 2), height - 2);
  }

  private paint(width: number): void {
    this.isStale = false;
    const lines = Math.max(1, this.lines.length);
    this.strip.width = width;
    this.strip.height = lines;
    const context = contextOf(this.strip);
    const pixels = context.createImageData(width, lines);
    const words = new Uint32Array(pixels.data.buffer);
    const { classes } = this.scene.palette;
    const whole = this.scene.state.wholeView();
    const perPixel_ns = (whole.end_ns - whole.start_ns) / width;
    const colorOf: ColorOf = (_events, _index, cls) => classes[cls];
    const one = new Uint32Array(width);
    for (const [i, { run, lanes }] of this.lines.entries()) {
      const line = words.subarray(i * width, (i + 1) * width);
      const start_ns = whole.start_ns - this.scene.offsets[run.index];
      for (const lane of lanes) {
        one.fill(0);
        paintLane({ events: lane.events, start_ns, perPixel_ns, marks: null, colorOf, isUnder: false, onlyMarked: false, cell_px: 1 }, one, null, 0);
        // The alpha of a pixel is the share of it that was busy.
        for (let x = 0; x < width; ++x) if (one[x] >>> 24 > line[x] >>> 24) line[x] = one[x];
      }
    }
    context.putImageData(pixels, 0, 0);
  }

  private listen(): void {
    const { element, scene } = this;
    let grip: number | null = null; // where in the view it is held
    const time = (event: MouseEvent): number => {
      const { x, width } = placeIn(element, event);
      const { start_ns, end_ns } = scene.state.wholeView();
      return start_ns + (x / width) * (end_ns - start_ns);
    };
    const move = (event: PointerEvent): void => {
      if (grip === null) return;
      const { view } = scene.state;
      const start = time(event) - grip;
      scene.setView({ start_ns: start, end_ns: start + view.end_ns - view.start_ns });
    };
    element.addEventListener("pointerdown", (event) => {
      const { view } = scene.state;
      const at = time(event);
      const isWithin = at >= view.start_ns && at <= view.end_ns;
      grip = isWithin ? at - view.start_ns : (view.end_ns - view.start_ns) / 2;
      element.setPointerCapture(event.pointerId);
      move(event);
    });
    element.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, () => { grip = null; });
    element.addEventListener("wheel", (event) => {
      const { view } = scene.state;
      const at = ((time(event) - view.start_ns) / (view.end_ns - view.start_ns)) * element.clientWidth;
      handleWheel(scene, event, { x: Math.max(0, Math.min(element.clientWidth, at)), width: element.clientWidth });
    }, { passive: false });
  }
}

/** A line for each GPU; without one for each of the host's threads. */
function linesOf(run: Run): Line[] {
  const lines: Line[] = [];
  for (const [track, { kind }] of run.data.tracks.entries()) {
    if (kind !== "device" || lines.length >= MAX_LINES) continue;
    const gaps = lanesUnder(run, track, "gaps");
    const streams = lanesUnder(run, track, "stream").sort((a, b) => busyOf(b) - busyOf(a));
    if (streams.length > 0) lines.push({ run, lanes: [...streams, ...gaps] });
  }
  if (lines.length > 0) return lines;
  const host = run.lanes.filter((lane) => lane.depth === 0 && !SYSTEM.has(lane.trackData.kind)).slice(0, MAX_LINES);
  return host.map((lane) => ({ run, lanes: [lane] }));
}

const busyOf = (lane: RunLane): number => lane.events.busyBefore[lane.events.count];
