// What charts share: scales, axes, and the frame with title, figures for screen readers and a box for hover values.
import { el, svg } from "../shared/dom";
import { formatMark } from "../shared/format";

export interface Scale {
  (value: number): number;
  marks: number[];
}

export const WIDTH = 640;
export const HEIGHT = 260;
export const MARGIN = { left: 70, right: 14, top: 12, bottom: 44 };
export const INNER = { left: MARGIN.left, right: WIDTH - MARGIN.right, top: MARGIN.top, bottom: HEIGHT - MARGIN.bottom };

/** 1, 2 or 5 times a power of ten, at most `most` marks. */
function niceMarks(low: number, high: number, most: number): number[] {
  const raw = Math.max(high - low, 1e-9) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? 10 * power;
  const marks: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) marks.push(at);
  return marks;
}

export function linear(low: number, high: number, from: number, to: number, most = 5): Scale {
  const span = high > low ? high - low : 1;
  const scale = ((value: number) => from + ((value - low) / span) * (to - from)) as Scale;
  scale.marks = niceMarks(low, high, most);
  return scale;
}

/** The nearest of 1, 2 and 5 times a power of ten: below or above. */
function niceEnd(value: number, isAbove: boolean): number {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const ends = [1, 2, 5, 10].map((m) => m * power);
  return isAbove ? ends.find((e) => e >= value * 0.999) ?? 10 * power : ends.reverse().find((e) => e <= value * 1.001) ?? power;
}

export function logarithmic(low: number, high: number, from: number, to: number): Scale {
  const first = niceEnd(Math.max(low, 1e-9) * 0.8, false);
  const last = niceEnd(Math.max(high, first) * 1.25, true);
  const span = Math.log10(last / first);
  const scale = ((value: number) => from + (Math.log10(Math.max(value, 1e-9) / first) / span) * (to - from)) as Scale;
  const decades = Math.ceil(span) + 1;
  const steps = span < 1.6 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.round(span / 7));
  scale.marks = [];
  for (let k = 0; k <= decades; k += every) {
    const power = 10 ** (Math.ceil(Math.log10(first) - 1e-9) - (steps.length > 1 ? 1 : 0) + k);
    for (const step of steps) if (step * power >= first * 0.999 && step * power <= last * 1.001) scale.marks.push(step * power);
  }
  return scale;
}

export function axisX(scale: Scale, unit: string, title: string): SVGGElement {
  const group = svg("g", { class: "axis" });
  for (const mark of scale.marks) {
    const x = scale(mark);
    group.append(svg("line", { attributes: { x1: x, x2: x, y1: INNER.top, y2: INNER.bottom } }),
      svg("text", { text: formatMark(mark, unit), attributes: { x, y: INNER.bottom + 15, "text-anchor": "middle" } }));
  }
  group.append(svg("text", { class: "axis-title", text: title, attributes: { x: (INNER.left + INNER.right) / 2, y: HEIGHT - 6, "text-anchor": "middle" } }));
  return group;
}

export function axisY(scale: Scale, unit: string): SVGGElement {
  const group = svg("g", { class: "axis" });
  for (const mark of scale.marks) {
    const y = scale(mark);
    group.append(svg("line", { attributes: { x1: INNER.left, x2: INNER.right, y1: y, y2: y } }),
      svg("text", { text: formatMark(mark, unit), attributes: { x: INNER.left - 6, y: y + 4, "text-anchor": "end" } }));
  }
  return group;
}

export function canvas(label: string, ...children: Node[]): SVGSVGElement {
  return svg("svg", { class: "plot", attributes: { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": label } }, ...children);
}

/** Something of a chart that has a value and leads to the timeline: by mouse and by keyboard. */
export function live<E extends SVGElement>(mark: E, value: string, go: (() => void) | null): E {
  mark.append(svg("title", { text: value }));
  mark.setAttribute("data-value", value);
  if (go) {
    mark.classList.add("goes");
    mark.setAttribute("tabindex", "-1");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-label", `${value}. Show on the timeline`);
    mark.addEventListener("click", go);
    mark.addEventListener("keydown", (event) => {
      const { key } = event as KeyboardEvent;
      if (key !== "Enter" && key !== " ") return;
      event.preventDefault();
      go();
    });
  }
  return mark;
}

/** One stop for Tab in each chart; arrows move between its marks. */
function rove(card: HTMLElement): void {
  const marks = [...card.querySelectorAll<SVGElement>(".goes[role]")];
  marks[0]?.setAttribute("tabindex", "0");
  card.addEventListener("keydown", (event) => {
    const at = marks.indexOf(event.target as SVGElement);
    const last = marks.length - 1;
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(last, to));
    marks[at].setAttribute("tabindex", "-1");
    marks[next].setAttribute("tabindex", "0");
    marks[next].focus();
  });
}

export interface LegendItem {
  label: string;
  color: string; // custom property
  isIdle?: boolean;
}

export function legend(items: readonly LegendItem[]): HTMLElement {
  const list = el("ul", { class: "legend" });
  for (const item of items) {
    const swatch = el("span", { class: item.isIdle ? "swatch idle" : "swatch", attributes: { "aria-hidden": "true" } });
    swatch.style.backgroundColor = `var(${item.color})`;
    list.append(el("li", {}, swatch, item.label));
  }
  return list;
}

export interface Figures {
  head: string[];
  rows: string[][];
}

/** A chart with its title, what it shows in words, and its values as a table. */
export function chartCard(id: string, title: string, note: string, body: Node[], figures: Figures | null): HTMLElement {
  const value = el("p", { class: "chart-value", attributes: { "aria-hidden": "true" } });
  const card = el("section", { class: "card chart", id: `chart-${id}`, attributes: { "aria-label": title } },
    el("h2", { text: title }), ...body, value, el("p", { class: "note", text: note }));
  const tell = (event: Event): void => {
    const mark = event.target instanceof Element ? event.target.closest("[data-value]") : null;
    value.textContent = mark?.getAttribute("data-value") ?? "";
  };
  card.addEventListener("pointerover", tell);
  card.addEventListener("focusin", tell);
  rove(card);
  if (figures) {
    card.append(el("details", { class: "values" }, el("summary", { text: "Values as a table" }),
      el("div", { class: "scroll" }, el("table", { class: "figures" },
        el("thead", {}, el("tr", {}, ...figures.head.map((h, i) => el("th", { class: i > 0 ? "number" : "", text: h, attributes: { scope: "col" } })))),
        el("tbody", {}, ...figures.rows.map((row) => el("tr", {}, ...row.map((c, i) => el("td", { class: i > 0 ? "number" : "", text: c })))))))));
  }
  return card;
}

/** Why a chart is not there: nothing is drawn that the trace does not know. */
export function absentCard(title: string, why: string): HTMLElement {
  return el("section", { class: "card chart absent", attributes: { "aria-label": title } }, el("h2", { text: title }), el("p", { class: "soft", text: why }));
}
