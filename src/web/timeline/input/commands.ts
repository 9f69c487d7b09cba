// What a reader can do with the timeline, by key, button or link: one method each.
import { announce } from "../../shared/dom";
import { describe, gpuWork } from "../../shared/events";
import * as navigate from "../model/navigate";
import type { Direction } from "../model/navigate";
import { runOf, type Scene } from "../model/scene";
import type { EventRef, Run, View } from "../../shared/state";
import { around, panned, zoomed } from "../model/viewport";

const PAN_SHARE = 0.2; // of the view
const ZOOM = 1.5;
const MARGIN = 0.02; // around the GPUs' work

export class Commands {
  constructor(private readonly scene: Scene) {}

  private get state() {
    return this.scene.state;
  }
  private get middle_ns(): number {
    const { start_ns, end_ns } = this.state.view;
    return (start_ns + end_ns) / 2;
  }
  /** The run that is walked through: that of the selection, else the first. */
  private get run(): Run | undefined {
    const { selection, runs } = this.state;
    return selection ? runOf(this.scene, selection) : runs[0];
  }

  private go(ref: EventRef | null, otherwise: string): void {
    if (ref) this.scene.jump(ref);
    else announce(otherwise);
  }

  pan(direction: Direction): void {
    const { view } = this.state;
    this.scene.setView(panned(view, direction * PAN_SHARE * (view.end_ns - view.start_ns)));
  }
  zoom(direction: Direction, at_ns = this.scene.cursor_ns ?? this.middle_ns): void {
    this.scene.setView(zoomed(this.state.view, direction > 0 ? 1 / ZOOM : ZOOM, at_ns));
  }
  fit(): void {
    this.scene.setView(this.state.wholeView());
  }
  /** From the first to the last operation on any GPU, without start-up and tear-down; null: no GPU worked. */
  gpuWork(): View | null {
    const works = this.state.runs.flatMap((run) => {
      const work = gpuWork(run);
      const offset = this.scene.offsets[run.index];
      return work ? [{ start_ns: work.start_ns + offset, end_ns: work.end_ns + offset }] : [];
    });
    if (works.length === 0) return null;
    return around(Math.min(...works.map((w) => w.start_ns)), Math.max(...works.map((w) => w.end_ns)), 1 / (1 + 2 * MARGIN));
  }
  fitGpuWork(): void {
    const work = this.gpuWork();
    if (work) this.scene.setView(work);
    else announce("No GPU work.");
  }
  /** The GPUs' work where start-up and tear-down are most of the run: what people come for. */
  toInitialView(): void {
    const work = this.gpuWork();
    const { state } = this;
    const whole = state.wholeView();
    const isShort = work !== null && work.end_ns - work.start_ns < (whole.end_ns - whole.start_ns) / 2;
    const wasInitial = state.view.start_ns === state.initial.start_ns && state.view.end_ns === state.initial.end_ns;
    state.initial = isShort ? work : whole;
    if (wasInitial) state.set("view", state.initial);
  }
  toEnd(direction: Direction): void {
    const whole = this.state.wholeView();
    const width = this.state.view.end_ns - this.state.view.start_ns;
    const start = direction > 0 ? whole.end_ns - width : whole.start_ns;
    if (start === this.state.view.start_ns) return this.fit(); // there already
    this.scene.setView({ start_ns: start, end_ns: start + width });
  }
  /** Enter: to the measured range, else to the selected event. */
  zoomToSelection(): void {
    const { span, selection } = this.state;
    if (selection) this.scene.reveal(selection, true);
    else if (span) this.zoomToSpan(span);
  }
  zoomToSpan(span: View): void {
    this.scene.setView(around(span.start_ns, span.end_ns, 0.9));
  }
  zoomTo(ref: EventRef): void {
    this.state.set("selection", ref);
    this.scene.reveal(ref, true);
  }

  sameName(direction: Direction): void {
    const { selection } = this.state;
    if (!this.run || !selection) return announce("Select an event first.");
    this.go(navigate.nextSameName(this.run, selection, direction), "No other event with this name.");
  }
  longestSameName(): void {
    const { selection } = this.state;
    if (!this.run || !selection) return announce("Select an event first.");
    this.go(navigate.longestSameName(this.run, selection), "No other event with this name.");
  }
  gap(direction: Direction): void {
    if (!this.run) return;
    const at = this.state.view.start_ns - this.scene.offsets[this.run.index];
    this.go(navigate.nextGap(this.run, this.state.selection, at, direction), "No more gaps.");
  }
  longestGap(): void {
    if (this.run) this.go(navigate.longestGap(this.run), "No gaps.");
  }
  neighbour(direction: Direction): void {
    const { selection } = this.state;
    if (!this.run || !selection) return;
    const event = navigate.neighbour(this.run, selection.event, direction);
    this.go(event === null ? null : { timeline: selection.timeline, event }, "No more events on this track.");
  }
  /** The next match of the filter in this run, else in the next one. */
  match(direction: Direction): void {
    const { run, scene } = this;
    const matches = run ? scene.matches[run.index] : null;
    const at = this.state.view.start_ns - (run ? scene.offsets[run.index] : 0);
    const next = run && matches ? navigate.nextMatch(run, matches, this.state.selection, at, direction) : null;
    this.go(next ?? this.matchElsewhere(direction), "No more matches.");
  }
  /** Scrolls to the first match in view, or else to the first there is; nothing is selected. */
  showFirstMatch(): void {
    const { run, scene } = this;
    const matches = run ? scene.matches[run.index] : null;
    if (!run || !matches) return;
    const { start_ns, end_ns } = this.state.view;
    const offset = scene.offsets[run.index];
    const inView = navigate.nextMatch(run, matches, null, start_ns - offset, 1);
    const isInView = inView !== null && describe(run, inView.event).start_ns + offset < end_ns;
    const first = isInView ? inView : navigate.nextMatch(run, matches, null, -Infinity, 1) ?? this.matchElsewhere(1);
    if (first) scene.bringIntoView(first);
  }
  private matchElsewhere(direction: Direction): EventRef | null {
    const { runs } = this.state;
    for (let i = 1; i <= runs.length; ++i) {
      const run = runs[((this.run?.index ?? 0) + i * direction + runs.length * 2) % runs.length];
      const matches = this.scene.matches[run.index];
      const found = matches && navigate.nextMatch(run, matches, null, direction > 0 ? -Infinity : Infinity, direction);
      if (found) return found;
    }
    return null;
  }
  longestMatch(): void {
    const found = this.state.runs.flatMap((run) => {
      const matches = this.scene.matches[run.index];
      return (matches && navigate.longestMatch(run, matches)) ?? [];
    });
    const length = (ref: EventRef): number => describe(this.state.runs[ref.timeline], ref.event).duration_ns;
    this.go(found.sort((a, b) => length(b) - length(a))[0] ?? null, "No match.");
  }
}
