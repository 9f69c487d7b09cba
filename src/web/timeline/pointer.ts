// Mouse, touch and touchpad on a pane.
import { placeIn } from "../shared/dom";
import type { Commands } from "./input/commands";
import type { Pane } from "./pane";
import type { Scene } from "./model/scene";
import type { Tooltip } from "./panels/tooltip";
import type { View } from "../shared/state";
import { panned, zoomed } from "./model/viewport";

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
function timeAt(scene: Scene, { x, width }: { x: number; width: number }): number {
  const { start_ns, end_ns } = scene.state.view;
  return start_ns + (x / width) * (end_ns - start_ns);
}

/** What was dragged over, in either direction. */
function setSpan(scene: Scene, from: number, to: number): void {
  scene.state.set("span", { start_ns: Math.min(from, to), end_ns: Math.max(from, to) });
}

/** `scroll` does so by pixels, where there is anything to scroll. */
export function handleWheel(scene: Scene, event: WheelEvent, at: { x: number; width: number }, scroll?: (pixels: number) => void): void {
  event.preventDefault();
  const { view } = scene.state;
  const unit = lineHeight(event);
  if (event.altKey) {
    scroll?.(event.deltaY * unit);
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    scene.setView(panned(view, ((event.deltaX || event.deltaY) * unit * (view.end_ns - view.start_ns)) / at.width));
  } else {
    // A pinch on a touchpad comes as a wheel with Ctrl.
    const rate = event.ctrlKey && Math.abs(event.deltaY) < 50 ? PINCH_ZOOM : WHEEL_ZOOM;
    scene.setView(zoomed(view, Math.exp(event.deltaY * unit * rate), timeAt(scene, at)));
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
      handleWheel(scene, event, placeIn(stage, event), (pixels) => pane.scrollBy(pixels));
    }, { passive: false });
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const { x, y, width } = placeIn(this.pane.stage, event);
    this.touches.set(event.pointerId, x);
    this.pane.stage.setPointerCapture(event.pointerId);
    this.tooltip.hide();
    if (this.touches.size === 2) {
      const [from, to] = [...this.touches.values()].map((touch) => timeAt(this.scene, { x: touch, width }));
      this.pinch = { view: this.scene.state.view, from, to };
      this.drag = null;
      return;
    }
    this.scene.isMeasuring = event.shiftKey;
    this.drag = {
      x, y, view: this.scene.state.view, scroll: this.pane.scroll, mode: event.shiftKey ? "measure" : "undecided",
      from_ns: timeAt(this.scene, { x, width }),
    };
  }

  private move(event: PointerEvent): void {
    const { x, y, width } = placeIn(this.pane.stage, event);
    if (this.touches.has(event.pointerId)) this.touches.set(event.pointerId, x);
    if (this.pinch && this.touches.size === 2) return this.pinchTo();
    const { drag } = this;
    if (!drag) return this.hover(x, y, width);
    if (drag.mode === "undecided" && Math.hypot(x - drag.x, y - drag.y) >= CLICK_PX) {
      drag.mode = "pan";
      this.pane.stage.classList.add("tl-dragging");
    }
    if (drag.mode === "pan") {
      this.scene.setView(panned(drag.view, ((drag.x - x) * (drag.view.end_ns - drag.view.start_ns)) / width));
      this.pane.scrollBy(drag.scroll + drag.y - y - this.pane.scroll);
    } else if (drag.mode === "measure" && Math.abs(x - drag.x) >= CLICK_PX) {
      setSpan(this.scene, drag.from_ns, timeAt(this.scene, { x, width }));
    }
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
    const { x, y } = placeIn(this.pane.stage, event);
    if (drag.mode === "measure" && Math.abs(x - drag.x) >= CLICK_PX) return;
    this.scene.state.set("selection", this.pane.hit(x, y)?.ref ?? null);
  }

  private cancel(event: PointerEvent): void {
    this.touches.delete(event.pointerId);
    this.pinch = null;
    this.drag = null;
    endMeasuring(this.scene);
    this.pane.stage.classList.remove("tl-dragging");
  }

  private hover(x: number, y: number, width: number): void {
    const { scene, pane } = this;
    const hit = pane.hit(x, y);
    scene.hover = hit?.ref ?? null;
    scene.cursor_ns = timeAt(scene, { x, width });
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
  scene.state.set("span", scene.state.span);
}

/** Dragging on the ruler measures. */
export function measureOn(element: HTMLElement, scene: Scene): void {
  let from: number | null = null;
  const time = (event: MouseEvent): number => timeAt(scene, placeIn(element, event));
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = time(event);
    scene.isMeasuring = true;
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (from === null) return;
    const to = time(event);
    if (to !== from) setSpan(scene, from, to);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    element.addEventListener(name, () => {
      from = null;
      endMeasuring(scene);
    });
  }
  element.addEventListener("wheel", (event) => handleWheel(scene, event, placeIn(element, event)), { passive: false });
}
