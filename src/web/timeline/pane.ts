// One timeline: labels, canvas, what lies over it, and its own scrolling. A diff has two of them, one above the other.
import { el } from "../shared/dom";
import { RowDrawer } from "./paint/draw";
import { placeOf } from "../shared/events";
import { isShown, laneHeight, lanesByTrack, laneTop, makeLayout, rowAt, type Hit, type Layout, type Row } from "./model/layout";
import { lowerBound } from "../shared/levels";
import { contextOf, fitCanvas, pixelRatio } from "./paint/canvas";
import { drawOverlay, type Rect, type Surface } from "./paint/overlay";
import { marksOf } from "./paint/ruler";
import type { Scene } from "./model/scene";
import { Sidebar } from "./panels/sidebar";
import type { Run, RunLane, View } from "../shared/state";

const NEAR_PX = 3; // an event this near to the pointer is meant

export class Pane implements Surface {
  readonly element = el("div", { class: "tl-pane" });
  readonly stage = el("div", { class: "tl-stage" });
  width = 0; // of the canvas, CSS pixels
  height = 0;
  layout: Layout;
  run: Run | null = null;
  private readonly canvas = el("canvas", { class: "tl-canvas", attributes: { "aria-hidden": "true" } });
  private readonly over = el("canvas", { class: "tl-over", attributes: { "aria-hidden": "true" } });
  private readonly context = contextOf(this.canvas, { alpha: false });
  private readonly overContext = contextOf(this.over);
  private readonly drawer = new RowDrawer(this.context);
  private readonly sidebar = new Sidebar({
    fold: (track) => this.toggle(this.arrangement.folded, track), pin: (track) => this.toggle(this.arrangement.pinned, track),
  });
  private readonly scroller = el("div", { class: "tl-scroll", attributes: { tabindex: -1, "aria-hidden": "true" } });
  private readonly spacer = el("div");
  private readonly arrangement = { folded: new Set<number>(), pinned: new Set<number>() };
  private lanes: RunLane[][];
  private ratio = 1;
  scroll = 0; // of the rows; asking the element would have it laid out in each frame
  private labelled: { layout: Layout; scroll: number; height: number } | null = null; // what the labels are of

  constructor(private readonly scene: Scene, readonly index: number) {
    const data = this.data;
    this.foldAsGiven();
    this.lanes = lanesByTrack(null, data.tracks);
    this.layout = makeLayout(data, this.lanes, this.arrangement, 0);
    this.stage.append(this.canvas, this.over);
    this.scroller.append(this.spacer);
    this.element.append(this.sidebar.element, this.stage, this.scroller);
    this.scroller.addEventListener("scroll", () => {
      this.scroll = this.scroller.scrollTop;
      scene.draw();
    });
    this.sidebar.element.addEventListener("wheel", (event) => this.scrollBy(event.deltaY), { passive: true });
    new ResizeObserver(() => this.resize()).observe(this.stage);
    this.relayout();
  }

  get data() {
    return this.scene.state.page.timelines[this.index];
  }
  /** The view on the clock of this run. */
  get view(): View {
    const { view } = this.scene.state;
    const offset = this.scene.offsets[this.index];
    return { start_ns: view.start_ns - offset, end_ns: view.end_ns - offset };
  }

  private foldAsGiven(): void {
    for (const [track, { is_folded }] of this.data.tracks.entries()) if (is_folded) this.arrangement.folded.add(track);
  }

  /** The events are read, and may have brought tracks of their own. */
  setRun(run: Run): void {
    this.run = run;
    this.arrangement.folded.clear();
    this.arrangement.pinned.clear();
    this.foldAsGiven();
    this.sidebar.clear();
    this.labelled = null;
    this.lanes = lanesByTrack(run, this.data.tracks);
    this.relayout();
  }

  foldAll(isFolded: boolean): void {
    this.arrangement.folded.clear();
    for (const [track, { kind }] of this.data.tracks.entries()) if (isFolded && (kind === "process" || kind === "device")) this.arrangement.folded.add(track);
    this.relayout();
  }
  private toggle(set: Set<number>, track: number): void {
    if (!set.delete(track)) set.add(track);
    this.relayout();
  }
  private relayout(): void {
    this.layout = makeLayout(this.data, this.lanes, this.arrangement, this.height);
    this.spacer.style.height = `${this.layout.height + this.layout.pinnedHeight}px`;
    this.scroll = this.scroller.scrollTop; // it may have been below what is there now
    this.scene.draw();
  }

  scrollBy(pixels: number): void {
    if (Math.abs(pixels) >= 1) this.scrollTo(this.scroll + pixels);
  }
  private scrollTo(top: number): void {
    this.scroller.scrollTop = Math.max(0, top);
    this.scroll = this.scroller.scrollTop;
    this.scene.draw();
  }

  resize(): void {
    const { clientWidth, clientHeight } = this.stage;
    this.ratio = pixelRatio();
    this.width = clientWidth;
    this.height = clientHeight;
    for (const canvas of [this.canvas, this.over]) {
      fitCanvas(canvas, clientWidth, clientHeight);
      canvas.style.width = `${clientWidth}px`;
      canvas.style.height = `${clientHeight}px`;
    }
    this.relayout();
    if (this.width > 0 && this.height > 0) this.draw(); // at once: a canvas that was resized is empty
  }

  xOf(time_ns: number): number {
    const { start_ns, end_ns } = this.view;
    return ((time_ns - start_ns) / (end_ns - start_ns)) * this.width;
  }

  /** Rows that are in view, those that scroll and those that do not. */
  private rowsInView(): Row[] {
    const top = this.scroll;
    const bottom = top + this.height - this.layout.pinnedHeight;
    return this.layout.rows.filter((row) => row.y + row.height > top && row.y < bottom);
  }

  private topOf(row: Row): number {
    return row.isPinned ? row.y : row.y - this.scroll + this.layout.pinnedHeight;
  }

  draw(): void {
    if (this.width === 0 || this.height === 0) return;
    const { context, layout } = this;
    const { palette } = this.scene;
    const rows = this.rowsInView();
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = palette.panel;
    context.fillRect(0, 0, this.width, this.height);
    context.save();
    context.beginPath();
    context.rect(0, layout.pinnedHeight, this.width, this.height);
    context.clip();
    this.drawRows(rows, layout.pinnedHeight, this.scroll);
    context.restore();
    if (layout.pinned.length > 0) {
      context.fillStyle = palette.panel;
      context.fillRect(0, 0, this.width, layout.pinnedHeight);
      this.drawRows(layout.pinned, 0, 0);
      context.fillStyle = palette.ink;
      context.fillRect(0, layout.pinnedHeight - 1, this.width, 1);
    }
    this.drawLabels(rows);
    this.drawOverlay();
  }

  private drawLabels(rows: readonly Row[]): void {
    const { layout, scroll, height, labelled } = this;
    if (labelled && labelled.layout === layout && labelled.scroll === scroll && labelled.height === height) return;
    this.labelled = { layout, scroll, height };
    this.sidebar.show([...layout.pinned, ...rows], (row) => this.topOf(row), layout.pinnedHeight);
  }

  /** Rows in view, and where they are on the canvas. */
  shownRows(): { row: Row; y: number }[] {
    return [...this.layout.pinned, ...this.rowsInView()].map((row) => ({ row, y: this.topOf(row) }));
  }

  /** What is drawn, with what lies over it. */
  copyTo(context: CanvasRenderingContext2D, to: { x: number; y: number; width: number; height: number }): void {
    for (const canvas of [this.canvas, this.over]) {
      context.drawImage(canvas, 0, 0, canvas.width, to.height * this.ratio, to.x, to.y, to.width, to.height);
    }
  }

  private drawRows(rows: readonly Row[], top: number, scroll: number): void {
    const { context } = this;
    const { palette } = this.scene;
    for (const row of rows) {
      const y = top + row.y - scroll;
      context.fillStyle = row.isGroup ? palette.paper : row.track % 2 === 1 ? palette.odd : palette.panel;
      context.fillRect(0, y, this.width, row.height);
    }
    this.drawGrid(rows, top, scroll);
    const { run } = this;
    if (!run) return;
    const matches = this.scene.matches[this.index]?.marks ?? null;
    const same = this.scene.same[this.index] ?? null;
    this.drawer.draw({ run, view: this.view, rows, top, scroll, palette, matches, same }, this.canvas.width, this.ratio);
  }

  private drawGrid(rows: readonly Row[], top: number, scroll: number): void {
    if (rows.length === 0) return;
    const { context } = this;
    const first = top + rows[0].y - scroll;
    const last = rows[rows.length - 1];
    const bottom = top + last.y + last.height - scroll;
    context.fillStyle = this.scene.palette.line;
    context.globalAlpha = 0.55;
    for (const { x } of marksOf(this.scene.state.view, this.width).marks) context.fillRect(Math.round(x), first, 1, bottom - first);
    for (const row of rows) context.fillRect(0, top + row.y + row.height - scroll - 1, this.width, 1);
    context.globalAlpha = 1;
  }

  drawOverlay(): void {
    if (this.width === 0) return;
    this.overContext.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    drawOverlay(this.overContext, this.scene, this);
  }

  /** What is at a place of the stage. */
  hit(x: number, y: number): Hit | null {
    const isPinned = y < this.layout.pinnedHeight;
    const inRows = isPinned ? y : y - this.layout.pinnedHeight + this.scroll;
    const row = rowAt(isPinned ? this.layout.pinned : this.layout.rows, inRows);
    if (!row) return null;
    const { start_ns, end_ns } = this.view;
    const perPixel = (end_ns - start_ns) / Math.max(1, this.width);
    const time_ns = start_ns + x * perPixel;
    for (const lane of row.lanes) {
      if (!isShown(row, lane)) continue;
      const top = row.y + laneTop(row, lane);
      if (inRows < top || inRows >= top + laneHeight(row)) continue;
      const index = nearest(lane, time_ns, perPixel);
      if (index >= 0) return { row, time_ns, perPixel_ns: perPixel, ref: { timeline: this.index, event: lane.events.first + index } };
    }
    return { row, time_ns, perPixel_ns: perPixel, ref: null };
  }

  /** Where an event is drawn; null: its row is folded away. */
  rectOf(event: number): Rect | null {
    if (!this.run) return null;
    const { lane, index } = placeOf(this.run, event);
    const row = this.rowOf(lane);
    if (!row) return null;
    const x = this.xOf(lane.events.start[index]);
    const y = this.topOf(row) + laneTop(row, lane);
    const isRowInView = row.isPinned || (y + laneHeight(row) > this.layout.pinnedHeight && y < this.height);
    return { x, y: y + 1, width: this.xOf(lane.events.end[index]) - x, height: laneHeight(row) - 2, isRowInView };
  }

  private rowOf(lane: RunLane): Row | null {
    const { rows, pinned } = this.layout;
    const own = (row: Row): boolean => row.track === lane.track && isShown(row, lane);
    return rows.find(own) ?? pinned.find(own) ?? rows.find((row) => row.lanes.includes(lane) && isShown(row, lane)) ?? null;
  }

  /** Unfolds and scrolls so that the row of the event is in view. */
  showRow(event: number): void {
    if (!this.run) return;
    const { lane } = placeOf(this.run, event);
    for (let at = lane.track; at >= 0; at = this.data.tracks[at].parent) {
      if (at !== lane.track || lane.depth > 0) this.arrangement.folded.delete(at);
    }
    this.relayout();
    const row = this.rowOf(lane);
    if (!row || row.isPinned) return;
    const room = this.height - this.layout.pinnedHeight;
    const top = row.y + laneTop(row, lane);
    if (top < this.scroll || top + laneHeight(row) > this.scroll + room) this.scrollTo(top - room / 2);
  }
}

/** The event of a lane that is meant by a time: the longest within the pixel, or one that is near. -1: none. */
function nearest(lane: RunLane, time_ns: number, perPixel: number): number {
  const { events } = lane;
  const end = time_ns + perPixel / 2;
  let best = -1;
  let length = -1;
  const from = lowerBound(events.end, time_ns - perPixel / 2);
  for (let i = from; i < Math.min(events.count, from + 256) && events.start[i] <= end; ++i) {
    if (events.end[i] - events.start[i] <= length) continue;
    length = events.end[i] - events.start[i];
    best = i;
  }
  if (best >= 0) return best;
  const after = from < events.count ? events.start[from] - time_ns : Infinity;
  const before = from > 0 ? time_ns - events.end[from - 1] : Infinity;
  if (Math.min(after, before) > NEAR_PX * perPixel) return -1;
  return after < before ? from : from - 1;
}
