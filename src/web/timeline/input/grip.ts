// The edge between labels and canvas, which can be moved.
import { el } from "../../shared/dom";

const NARROWEST_PX = 60;
const STEP_PX = 24;

/** `root` has the width of the labels in --tl-side; `within` begins where they do. */
export function makeGrip(root: HTMLElement, within: HTMLElement): HTMLElement {
  const grip = el("div", {
    class: "tl-grip", title: "Drag to widen the labels",
    attributes: { role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": "Width of the labels" },
  });
  const set = (width: number): void => {
    const most = within.clientWidth * 0.7;
    root.style.setProperty("--tl-side", `${Math.round(Math.max(NARROWEST_PX, Math.min(most, width)))}px`);
  };
  grip.addEventListener("pointerdown", (event) => grip.setPointerCapture(event.pointerId));
  grip.addEventListener("pointermove", (event) => {
    if (grip.hasPointerCapture(event.pointerId)) set(event.clientX - within.getBoundingClientRect().left);
  });
  grip.addEventListener("dblclick", () => root.style.removeProperty("--tl-side"));
  grip.addEventListener("keydown", (event) => {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!direction) return;
    event.preventDefault();
    event.stopPropagation();
    set(grip.offsetLeft + 3 + direction * STEP_PX);
  });
  return grip;
}
