// The column of labels at the left of a pane. Labels are elements, so that Tab and screen readers find them; only those in
// view exist.
import { button, el } from "../../shared/dom";
import type { Row } from "../model/layout";
import { splitName } from "../paint/text";
import { shortName, tooltip, visible } from "../../shared/names";

export interface SidebarActions {
  fold(track: number): void;
  pin(track: number): void;
}

interface Label {
  element: HTMLElement;
  fold: HTMLButtonElement;
  pin: HTMLButtonElement;
  detail: HTMLElement | null; // second line
}

const DETAIL_FROM_PX = 38; // rows that are lower have one line
const LABEL_PX = 22;

/** Short of room, the middle of a name is left out: its end tells streams and threads apart. */
function nameLine(name: string): HTMLElement {
  const [start, end] = /^thread \d/.test(name) ? [name, ""] : splitName(name); // the number tells threads apart
  return el("span", { class: "tl-name-line" }, el("span", { class: "tl-name-start", text: start }), el("span", { class: "tl-name-end", text: end }));
}

export class Sidebar {
  readonly element = el("div", { class: "tl-labels", attributes: { role: "group", "aria-label": "Tracks" } });
  private readonly labels = new Map<number, Label>();

  constructor(private readonly actions: SidebarActions) {}

  /** The tracks have other numbers. */
  clear(): void {
    for (const { element } of this.labels.values()) element.remove();
    this.labels.clear();
  }

  /** Shows the labels of these rows; `topOf` is where each is, in pixels from the top of the pane. */
  show(rows: readonly Row[], topOf: (row: Row) => number, pinnedHeight: number): void {
    const wanted = new Set(rows.map((row) => row.track));
    for (const [track, label] of this.labels) {
      if (wanted.has(track) || label.element.contains(document.activeElement)) continue;
      label.element.remove();
      this.labels.delete(track);
    }
    for (const row of rows) this.place(row, topOf(row), pinnedHeight);
    this.keepOrder(rows);
  }

  private place(row: Row, top: number, pinnedHeight: number): void {
    let label = this.labels.get(row.track);
    if (!label) this.labels.set(row.track, (label = this.make(row)));
    const { element, fold, pin, detail } = label;
    // The label of a row that has begun above stays in view.
    const shown = Math.max(top, Math.min(row.isPinned ? top : pinnedHeight, top + row.height - Math.min(row.height, LABEL_PX)));
    const height = row.height - (shown - top);
    element.style.top = `${shown}px`;
    element.style.height = `${height}px`;
    element.style.paddingLeft = `${4 + row.level * 12}px`;
    element.classList.toggle("tl-pinned", row.isPinned);
    // What scrolls under the pinned rows is not seen there.
    element.style.visibility = !row.isPinned && top + row.height <= pinnedHeight ? "hidden" : "visible";
    if (detail) detail.hidden = height < DETAIL_FROM_PX;
    fold.setAttribute("aria-expanded", String(!row.isFolded));
    fold.textContent = row.isFolded ? "▸" : "▾";
    pin.setAttribute("aria-pressed", String(row.isPinned));
  }

  private make(row: Row): Label {
    const { label, detail } = row.trackData;
    const name = shortName(label, 80);
    const canFold = row.isGroup || row.trackData.counter !== null || row.trackData.lanes.some((l) => l.depth > 0);
    // Where there is nothing to fold it keeps its place: names are aligned.
    const fold = button("", () => this.actions.fold(row.track), { class: "tl-fold", attributes: { "aria-label": `Fold ${name}`, disabled: !canFold } });
    const pin = button("↥", () => this.actions.pin(row.track), { class: "tl-pin", title: "Keep at the top", attributes: { "aria-label": `Keep ${name} at the top` } });
    const text = el("span", { class: "tl-name", title: tooltip(detail ? `${label}\n${detail}` : label) }, nameLine(name));
    const second = detail && !row.isGroup ? el("small", { text: shortName(visible(detail), 60) }) : null;
    if (second) text.append(second);
    const element = el("div", { class: row.isGroup ? "tl-label tl-group" : "tl-label" }, fold, text, pin);
    if (canFold) text.addEventListener("click", () => this.actions.fold(row.track));
    this.element.append(element);
    return { element, fold, pin, detail: second };
  }

  // Tab goes through labels as they are seen.
  private keepOrder(rows: readonly Row[]): void {
    let last: Element | null = null;
    for (const row of rows) {
      const element = this.labels.get(row.track)?.element;
      if (!element) continue;
      const isInPlace: boolean = last === null ? this.element.firstElementChild === element : last.nextElementSibling === element;
      if (!isInPlace && !element.contains(document.activeElement)) {
        if (last) last.after(element);
        else this.element.prepend(element);
      }
      last = element;
    }
  }
}
