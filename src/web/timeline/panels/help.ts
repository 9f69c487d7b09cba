// Keys and mouse, over the timeline.
import { button, el } from "../../shared/dom";
import { KEY_HELP, MOUSE_HELP } from "../input/keys";

export class Help {
  readonly element: HTMLElement;
  private before: Element | null = null;

  constructor() {
    const list = (rows: readonly (readonly [string, string])[]): HTMLElement =>
      el("dl", {}, ...rows.flatMap(([key, what]) => [el("dt", { text: key }), el("dd", { text: what })]));
    const close = button("✕", () => this.toggle(false), { class: "tl-close", attributes: { "aria-label": "Close the help" } });
    this.element = el("div", { class: "tl-help", attributes: { role: "dialog", "aria-modal": "false", "aria-label": "Keys and mouse", tabindex: -1, hidden: true } },
      el("header", {}, el("h2", { text: "Keys and mouse" }), close),
      el("div", { class: "tl-help-columns" },
        el("section", {}, el("h3", { text: "Keys" }), list(KEY_HELP)),
        el("section", {}, el("h3", { text: "Mouse and touch" }), list(MOUSE_HELP),
          el("h3", { text: "Filter" }),
          list([
            ["saxpy", "name contains it"], ["name:\"x\"", "name is exactly x"], ["kind:h2d", "kind: kernel, h2d, d2h, copy, pageable, memset, api, sync, nvtx, gap, os, mpi, preempted, blocked, sample"],
            ["stream:7 gpu:0 thread:519", "where it is"], ["nvtx:step/load", "within, or launched within"], ["cause:host", "idle time by cause"], ["object:train.bin", "OS calls by file, lock or address"],
            ["min:10us max:2ms", "duration"], ["a,b", "alternatives after a key"], ["-kind:memset", "exclude"],
          ]))));
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  toggle(isOpen = !this.isOpen): void {
    if (isOpen) this.before = document.activeElement;
    this.element.hidden = !isOpen;
    if (isOpen) this.element.focus();
    else if (this.before instanceof HTMLElement) this.before.focus();
  }
}
