// Mouse, touch and touchpad on a pane.
import type { Commands } from "./commands";
import type { Pane } from "../pane";
import type { Scene } from "../scene";
import type { Tooltip } from "../panels/tooltip";
import type { View } from "../../shared/state";
import { panned, zoomed } from "../viewport";

const CLICK_PX = 4; // a pointer that moved less was not dragged
const WHEEL_ZOOM = 0.0016; // per pixel of the wheel
const PINCH_ZOOM = 0.01; // touchpads send small steps

interface Drag {
  x: number;
  y: number;
  view: View;
  scroll: number;
  mode: "undecided" | "pan" | "measure";
  from_ns: number;
}

const lineHeight = (event: WheelEvent): number => (event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1);

/** Time on the common axis at a horizontal place of an element. */
function timeAt(scene: Scene, x: number, width: number): number {
  const { start_ns, end_ns } = scene.state.view;
  return start_ns + (x / Math.max(1, width)) * (end_ns - start_ns);
}

export function handleWheel(scene: Scene, event: WheelEvent, at: { x: number; width: number }, scroll: (pixels: number) => void): void {
  event.preventDefault();
  const { view } = scene.state;
  const unit = lineHeight(event);
  const perPixel = (view.end_ns - view.start_ns) / Math.max(1, at.width);
  if (event.altKey) {
    scroll(event.deltaY * unit);
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    scene.setView(panned(view, (event.deltaX || event.deltaY) * unit * perPixel));
  } else {
    // A pinch on a touchpad comes as a wheel with Ctrl.
    const rate = event.ctrlKey && Math.abs(event.deltaY) < 50 ? PINCH_ZOOM : WHEEL_ZOOM;
    scene.setView(zoomed(view, Math.exp(event.deltaY * unit * rate), timeAt(scene, at.x, at.width)));
  }
}

export class PointerInput {
  private drag: Drag | null = null;
  private readonly touches = new Map<number, number>(); // x by pointer
  private pinch: { view: View; from: number; to: number } | null = null;

  constructor(private readonly scene: Scene, private readonly pane: Pane, private readonly commands: Commands, private readonly tooltip: Tooltip) {
    const { stage } = pane;
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    stage.addEventListener("pointerup", (event) => this.up(event));
    stage.addEventListener("pointercancel", (event) => this.cancel(event));
    stage.addEventListener("pointerleave", () => this.leave());
    stage.addEventListener("dblclick", () => this.zoomToEvent());
    stage.addEventListener("wheel", (event) => {
      this.tooltip.hide();
      handleWheel(scene, event, { x: this.at(event).x, width: pane.width }, (pixels) => pane.scrollBy(pixels));
    }, { passive: false });
  }

  private at(event: MouseEvent): { x: number; y: number } {
    const box = this.pane.stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const { x, y } = this.at(event);
    this.touches.set(event.pointerId, x);
    this.pane.stage.setPointerCapture(event.pointerId);
    this.tooltip.hide();
    if (this.touches.size === 2) {
      const [from, to] = [...this.touches.values()].map((touch) => timeAt(this.scene, touch, this.pane.width));
      this.pinch = { view: this.scene.state.view, from, to };
      this.drag = null;
      return;
    }
    this.scene.isMeasuring = event.shiftKey;
    this.drag = {
      x, y, view: this.scene.state.view, scroll: this.pane.scroll, mode: event.shiftKey ? "measure" : "undecided",
      from_ns: timeAt(this.scene, x, this.pane.width),
    };
  }

  private move(event: PointerEvent): void {
    const { x, y } = this.at(event);
    if (this.touches.has(event.pointerId)) this.touches.set(event.pointerId, x);
    if (this.pinch && this.touches.size === 2) return this.pinchTo();
    const { drag } = this;
    if (!drag) return this.hover(x, y);
    if (drag.mode === "undecided" && Math.hypot(x - drag.x, y - drag.y) >= CLICK_PX) {
      drag.mode = "pan";
      this.pane.stage.classList.add("tl-dragging");
    }
    if (drag.mode === "pan") {
      const perPixel = (drag.view.end_ns - drag.view.start_ns) / Math.max(1, this.pane.width);
      this.scene.setView(panned(drag.view, (drag.x - x) * perPixel));
      this.pane.scrollBy(drag.scroll + drag.y - y - this.pane.scroll);
    } else if (drag.mode === "measure") {
      this.measure(drag, x);
    }
  }

  private measure(drag: Drag, x: number): void {
    const to = timeAt(this.scene, x, this.pane.width);
    if (Math.abs(x - drag.x) < CLICK_PX) return;
    this.scene.state.setSpan({ start_ns: Math.min(drag.from_ns, to), end_ns: Math.max(drag.from_ns, to) });
  }

  /** Both fingers stay on the times they were put on. */
  private pinchTo(): void {
    const { pinch } = this;
    if (!pinch) return;
    const [x0, x1] = [...this.touches.values()];
    if (Math.abs(x1 - x0) < 8) return;
    const perPixel = Math.abs((pinch.to - pinch.from) / (x1 - x0));
    const start = pinch.from - x0 * perPixel;
    this.scene.setView({ start_ns: start, end_ns: start + perPixel * this.pane.width });
  }

  private up(event: PointerEvent): void {
    const { drag } = this;
    this.cancel(event);
    if (!drag || drag.mode === "pan") return;
    const { x, y } = this.at(event);
    if (drag.mode === "measure" && Math.abs(x - drag.x) >= CLICK_PX) return;
    this.scene.state.select(this.pane.hit(x, y)?.ref ?? null);
  }

  private cancel(event: PointerEvent): void {
    this.touches.delete(event.pointerId);
    this.pinch = null;
    this.drag = null;
    endMeasuring(this.scene);
    this.pane.stage.classList.remove("tl-dragging");
  }

  private hover(x: number, y: number): void {
    const { scene, pane } = this;
    const hit = pane.hit(x, y);
    scene.hover = hit?.ref ?? null;
    scene.cursor_ns = timeAt(scene, x, pane.width);
    pane.stage.classList.toggle("tl-over-event", hit?.ref !== null && hit !== null);
    this.tooltip.show(pane.run, hit, { x, y, width: pane.width, height: pane.height });
    scene.drawOverlay();
  }

  private leave(): void {
    this.scene.hover = null;
    this.scene.cursor_ns = null;
    this.tooltip.hide();
    this.scene.drawOverlay();
  }

  // The first click has selected it; the details that this opened may have moved all else.
  private zoomToEvent(): void {
    const { selection } = this.scene.state;
    if (selection?.timeline === this.pane.index) this.commands.zoomTo(selection);
  }
}

/** The range is what it is to be: who waited for that goes on. */
function endMeasuring(scene: Scene): void {
  if (!scene.isMeasuring) return;
  scene.isMeasuring = false;
  scene.state.setSpan(scene.state.span);
}

/** Dragging on the ruler measures. */
export function measureOn(element: HTMLElement, scene: Scene): void {
  let from: number | null = null;
  const time = (event: MouseEvent): number => {
    const box = element.getBoundingClientRect();
    return timeAt(scene, event.clientX - box.left, box.width);
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = time(event);
    scene.isMeasuring = true;
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (from === null) return;
    const to = time(event);
    if (to !== from) scene.state.setSpan({ start_ns: Math.min(from, to), end_ns: Math.max(from, to) });
  });
  const end = (): void => {
    from = null;
    endMeasuring(scene);
  };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
  element.addEventListener("wheel", (event) => {
    const box = element.getBoundingClientRect();
    handleWheel(scene, event, { x: event.clientX - box.left, width: box.width }, () => undefined);
  }, { passive: false });
}
