// The timeline: puts its parts together and keeps them in step with the state.
import { Commands } from "./input/commands";
import { Details } from "./panels/details";
import { button, checkbox, el } from "../shared/dom";
import { gpuWork, isEvent, placeOf } from "../shared/events";
import { FilterBox } from "./panels/filter_box";
import { makeGrip } from "./input/grip";
import { Help } from "./panels/help";
import { measureOn, PointerInput } from "./pointer";
import { bindKeys } from "./input/keys";
import { makeLegend } from "./panels/legend";
import { Minimap } from "./minimap";
import { readPalette } from "../shared/palette";
import { Pane } from "./pane";
import { contextOf, fitCanvas } from "./paint/canvas";
import { drawRuler } from "./paint/ruler";
import { findSameName } from "./model/navigate";
import type { Scene } from "./model/scene";
import { snapshot } from "./snapshot";
import { SpanPanel } from "./panels/span_panel";
import type { EventRef, Run, State, View } from "../shared/state";
import { FONT_PX } from "./paint/text";
import { onThemeChange } from "../shared/theme";
import { Tooltip } from "./panels/tooltip";
import { around, limited } from "./model/viewport";

const WIDE_ENOUGH_PX = 3; // an event that is jumped to is at least this wide
const JUMP_SHARE = 0.12; // and else this much of the view

class TimelineView implements Scene {
  palette = readPalette();
  readonly offsets: number[];
  readonly matches;
  readonly same;
  hover: EventRef | null = null;
  cursor_ns: number | null = null;
  isMeasuring = false;
  private readonly commands: Commands = new Commands(this);
  private readonly panes: Pane[];
  private readonly minimap: Minimap;
  private readonly details: Details;
  private readonly spanPanel: SpanPanel;
  private readonly filterBox: FilterBox;
  private readonly help = new Help();
  private readonly ruler = el("canvas", { class: "tl-ruler-canvas", attributes: { "aria-hidden": "true" } });
  private readonly rulerBox = el("div", { class: "tl-ruler", title: "Drag to measure" }, this.ruler);
  private readonly legend = el("div", { class: "tl-legend-box" });
  private readonly status = el("p", { class: "tl-status", attributes: { role: "status" } });
  private frame = 0;
  private isOverlayOnly = true;
  private isQuiet = false; // the selection comes from the timeline itself and is in view

  constructor(private readonly root: HTMLElement, readonly state: State) {
    const { timelines } = state.page;
    this.offsets = timelines.map(() => 0);
    this.matches = timelines.map((): Scene["matches"][number] => null);
    this.same = timelines.map((): Scene["same"][number] => null);
    this.panes = timelines.map((_, index) => new Pane(this, index));
    this.minimap = new Minimap(this);
    this.details = new Details(this, this.commands);
    this.spanPanel = new SpanPanel(this, (span) => this.commands.zoomToSpan(span));
    this.filterBox = new FilterBox(this, this.commands);
    this.build();
    this.listen();
    if (state.runs.length > 0) this.load(state.runs);
    else this.status.textContent = "Loading events …";
  }

  // ---- what the parts ask for

  draw(): void {
    this.isOverlayOnly = false;
    this.drawOverlay();
  }
  drawOverlay(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.drawFrame());
  }
  setView(view: View): void {
    this.state.set("view", limited(view, this.state.wholeView()));
  }
  jump(ref: EventRef): void {
    this.isQuiet = true;
    this.state.set("selection", ref);
    this.isQuiet = false;
    this.reveal(ref, false);
  }

  bringIntoView(ref: EventRef): void {
    const run = this.state.runs[ref.timeline];
    if (!isEvent(run, ref.event)) return;
    const { lane, index } = placeOf(run, ref.event);
    const start = lane.events.start[index] + this.offsets[ref.timeline];
    const { view } = this.state;
    const width = view.end_ns - view.start_ns;
    if (start < view.start_ns || start >= view.end_ns) this.setView({ start_ns: start - width / 4, end_ns: start + (3 * width) / 4 });
    this.panes[ref.timeline].showRow(ref.event);
  }

  reveal(ref: EventRef, zoom: boolean): void {
    const run = this.state.runs[ref.timeline];
    if (!isEvent(run, ref.event)) return;
    const { lane, index } = placeOf(run, ref.event);
    const offset = this.offsets[ref.timeline];
    const [start, end] = [lane.events.start[index] + offset, lane.events.end[index] + offset];
    const { view } = this.state;
    const width = view.end_ns - view.start_ns;
    const pixels = ((end - start) / width) * Math.max(1, this.panes[ref.timeline].width);
    const isInView = start >= view.start_ns && end <= view.end_ns;
    if (zoom) this.setView(around(start, end, 0.6));
    // What has no duration gets no wider.
    else if ((end > start && pixels < WIDE_ENOUGH_PX) || end - start > width) this.setView(around(start, end, JUMP_SHARE));
    else if (!isInView) this.setView({ start_ns: (start + end - width) / 2, end_ns: (start + end + width) / 2 });
    this.panes[ref.timeline].showRow(ref.event);
  }

  // ---- building

  private build(): void {
    const tool = (text: string, title: string, run: () => void): HTMLElement =>
      button(text, run, { class: "tool", title, attributes: { "aria-label": title } });
    const toolbar = el("div", { class: "tl-toolbar", attributes: { role: "toolbar", "aria-label": "Timeline" } },
      this.filterBox.element,
      el("span", { class: "tl-tools" },
        tool("−", "Zoom out (key: s)", () => this.commands.zoom(-1)), tool("+", "Zoom in (key: w)", () => this.commands.zoom(1)),
        tool("Fit", "Show the whole run (key: f)", () => this.commands.fit()),
        tool("GPU work", "From the first to the last operation on a GPU (key: e)", () => this.commands.fitGpuWork()),
        tool("Longest gap", "Longest gap (key: G)", () => this.commands.longestGap()),
        tool("Fold", "Fold or unfold all groups", () => this.foldAll()),
        this.panes.length > 1 && checkbox("Align at the first GPU operation", false, (isAligned) => this.align(isAligned), { class: "tl-align" }),
        tool("?", "Keys and mouse (key: ?)", () => this.help.toggle())));
    const body = el("div", { class: "tl-panes", id: "tl-panes" });
    for (const pane of this.panes) {
      if (this.panes.length > 1) body.append(el("h3", { class: "tl-run", text: pane.data.label, title: pane.data.label }));
      body.append(pane.element);
    }
    // One thing that takes the focus for all canvases: what is selected is said by the live region of the page.
    const region = el("div", {
      class: "tl-main", attributes: { role: "application", tabindex: 0, "aria-roledescription": "timeline",
        "aria-label": "Timeline of events. Keys: question mark for help, n and p for events of the same name, g for gaps, slash to filter." },
    }, el("div", { class: "tl-head" }, el("div", { class: "tl-corner" }, this.status), this.rulerBox), body, this.help.element);
    region.append(makeGrip(this.root, region));
    this.root.classList.add("tl");
    this.root.append(toolbar, el("div", { class: "tl-mini-row" }, el("div", { class: "tl-corner", text: "Whole run" }), this.minimap.element),
      el("div", { class: "tl-body" }, region, el("div", { class: "tl-panels" }, this.details.element, this.spanPanel.element)), this.legend);
    measureOn(this.rulerBox, this);
    for (const pane of this.panes) {
      const tooltip = new Tooltip();
      pane.stage.append(tooltip.element);
      new PointerInput(this, pane, this.commands, tooltip);
    }
  }

  private isFolded = false;
  private foldAll(): void {
    this.isFolded = !this.isFolded;
    for (const pane of this.panes) pane.foldAll(this.isFolded);
  }

  private align(atFirst: boolean): void {
    const firsts = this.state.runs.map((run) => gpuWork(run)?.start_ns ?? 0);
    const latest = Math.max(0, ...firsts);
    for (const [i, first] of firsts.entries()) this.offsets[i] = atFirst ? latest - first : 0;
    this.minimap.refresh();
    this.draw();
  }

  // ---- following the state

  private listen(): void {
    const { state } = this;
    state.on("runs", (runs) => this.load(runs));
    state.on("view", () => this.draw());
    state.on("filter", (filter) => this.filterBox.show(filter));
    state.on("span", (span) => {
      this.spanPanel.show(span);
      this.draw();
    });
    state.on("selection", (ref) => this.select(ref));
    onThemeChange(() => {
      this.palette = readPalette();
      if (state.runs.length > 0) this.legend.replaceChildren(makeLegend(state.runs));
      this.minimap.refresh();
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(this.root);
    bindKeys({
      commands: this.commands,
      scroll: (pixels) => this.panes[state.selection?.timeline ?? 0]?.scrollBy(pixels),
      focusFilter: () => this.filterBox.focus(),
      escape: () => this.escape(),
      toggleHelp: () => this.help.toggle(),
    }, () => this.root.offsetParent !== null);
  }

  private load(runs: readonly Run[]): void {
    this.status.textContent = "";
    for (const pane of this.panes) if (runs[pane.index]) pane.setRun(runs[pane.index]);
    this.legend.replaceChildren(makeLegend(runs));
    this.minimap.refresh();
    this.filterBox.show(this.state.filter);
    this.spanPanel.show(this.state.span);
    this.commands.toInitialView();
    const { view, initial, selection } = this.state;
    this.isQuiet = view.start_ns !== initial.start_ns || view.end_ns !== initial.end_ns; // somebody chose the view
    if (selection) this.select(selection);
    this.isQuiet = false;
    this.draw();
  }

  private select(ref: EventRef | null): void {
    this.details.show(ref);
    this.same.fill(null);
    const run = ref ? this.state.runs[ref.timeline] : undefined;
    if (ref && isEvent(run, ref.event)) {
      this.same.splice(0, Infinity, ...findSameName(this.state.runs, ref));
      const isSelfMade = this.isQuiet || this.hover?.event === ref.event;
      if (!isSelfMade) this.reveal(ref, false);
    }
    this.draw();
  }

  private escape(): void {
    const { state } = this;
    if (this.help.isOpen) this.help.toggle(false);
    else if (state.span) state.set("span", null);
    else if (state.selection) state.set("selection", null);
    else if (state.filter) state.set("filter", "");
  }

  // ---- drawing

  picture(): HTMLCanvasElement | null {
    return snapshot(this.panes, this.state.view, this.palette);
  }

  private drawFrame(): void {
    const { isOverlayOnly } = this;
    this.frame = 0;
    this.isOverlayOnly = true;
    for (const pane of this.panes) isOverlayOnly ? pane.drawOverlay() : pane.draw();
    if (isOverlayOnly) return;
    this.drawRuler();
    this.minimap.draw();
  }

  private drawRuler(): void {
    const { clientWidth: width, clientHeight: height } = this.rulerBox;
    if (width === 0) return;
    fitCanvas(this.ruler, width, height);
    const context = contextOf(this.ruler);
    context.font = `${FONT_PX}px ${this.palette.font}`;
    drawRuler(context, this.state.view, { width: this.panes[0]?.width || width, height }, this.palette);
  }
}

const mounted = new WeakMap<State, TimelineView>();

export function mountTimeline(root: HTMLElement, state: State): void {
  mounted.set(state, new TimelineView(root, state));
}

/** What the timeline shows, as a picture for paper; null: it was not shown yet. */
export function timelinePicture(state: State): HTMLCanvasElement | null {
  return mounted.get(state)?.picture() ?? null;
}
