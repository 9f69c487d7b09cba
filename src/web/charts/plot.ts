// What charts share: scales, axes, and the frame with title, figures for screen readers and a box for hover values.
import { el, figure, svg, swatch, tableHead, type Child } from "../shared/dom";
import { formatMark, roundStep } from "../shared/format";

export interface Scale {
  (value: number): number;
  marks: number[];
}

const [WIDTH, HEIGHT] = [640, 260];
/** Where the marks are: within the axes. */
export const INNER = { left: 70, right: WIDTH - 14, top: 12, bottom: HEIGHT - 44 };

/** At round values, at most `most` of them. */
function roundMarks(low: number, high: number, most: number): number[] {
  const step = roundStep(Math.max(high - low, 1e-9) / most);
  const marks: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) marks.push(at);
  return marks;
}

export function linear(low: number, high: number, from: number, to: number, most = 5): Scale {
  const span = high > low ? high - low : 1;
  const scale = ((value: number) => from + ((value - low) / span) * (to - from)) as Scale;
  scale.marks = roundMarks(low, high, most);
  return scale;
}

/** 1, 2 or 5 times a power of ten, at most `most`. */
function roundBelow(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most) + 1e-9);
  return power * ([5, 2].find((factor) => factor * power <= most * 1.001) ?? 1);
}

export function logarithmic(low: number, high: number, from: number, to: number): Scale {
  const first = roundBelow(Math.max(low, 1e-9) * 0.8);
  const last = roundStep(Math.max(high, first) * 1.25);
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

/** Text of a chart, in the middle of x, or where it begins or ends there. */
export function textAt(text: string, x: number, y: number, props: { class?: string; anchor?: "start" | "end" } = {}): SVGElement {
  return svg("text", { class: props.class, text, attributes: { x, y, "text-anchor": props.anchor ?? "middle" } });
}

export function axisX(scale: Scale, unit: string, title: string): SVGGElement {
  return svg("g", { class: "axis" }, ...scale.marks.flatMap((mark) => [
    svg("line", { attributes: { x1: scale(mark), x2: scale(mark), y1: INNER.top, y2: INNER.bottom } }), textAt(formatMark(mark, unit), scale(mark), INNER.bottom + 15),
  ]), axisTitle(title));
}

export const axisTitle = (title: string): SVGElement => textAt(title, (INNER.left + INNER.right) / 2, HEIGHT - 6, { class: "axis-title" });

export function axisY(scale: Scale, unit: string): SVGGElement {
  return svg("g", { class: "axis" }, ...scale.marks.flatMap((mark) => [
    svg("line", { attributes: { x1: INNER.left, x2: INNER.right, y1: scale(mark), y2: scale(mark) } }),
    textAt(formatMark(mark, unit), INNER.left - 6, scale(mark) + 4, { anchor: "end" }),
  ]));
}

export function canvas(label: string, ...children: Child[]): SVGSVGElement {
  return svg("svg", { class: "plot", attributes: { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": label } }, ...children);
}

/** Something of a chart that has a value and leads to the timeline: by mouse and by keyboard. */
export function interactive<E extends SVGElement>(mark: E, value: string, go: (() => void) | null): E {
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
function roveFocus(card: HTMLElement): void {
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
  return el("ul", { class: "legend" }, ...items.map(({ label, color, isIdle }) => el("li", {}, swatch(color, isIdle), label)));
}

/** A row of a table with a bar, of which `percent` is the length. */
export function barRow(label: HTMLElement, percent: number, color: string, value: string, figures: readonly string[], props: { row?: string; fill?: string } = {}): HTMLElement {
  const style = { width: `${Math.max(0.3, Math.min(100, percent))}%`, "background-color": `var(${color})` };
  return el("tr", { class: props.row, attributes: { "data-value": value } }, label,
    el("td", { class: "level" }, el("span", { class: `level-fill ${props.fill ?? ""}`, style })), ...figures.map(figure));
}

export interface Figures {
  head: string[];
  rows: string[][];
}

/** A chart with its title, what it shows in words, and its values as a table. */
export function chartCard(id: string, title: string, note: string, body: Child[], figures: Figures | null): HTMLElement {
  const value = el("p", { class: "chart-value", attributes: { "aria-hidden": "true" } });
  const card = el("section", { class: "card chart", id: `chart-${id}`, attributes: { "aria-label": title } },
    el("h2", { text: title }), ...body, value, el("p", { class: "note", text: note }));
  const tell = (event: Event): void => {
    const mark = event.target instanceof Element ? event.target.closest("[data-value]") : null;
    value.textContent = mark?.getAttribute("data-value") ?? "";
  };
  card.addEventListener("pointerover", tell);
  card.addEventListener("focusin", tell);
  roveFocus(card);
  if (figures) {
    const cells = (row: readonly string[]): HTMLElement[] => row.map((text, i) => (i > 0 ? figure(text) : el("td", { text })));
    card.append(el("details", { class: "values" }, el("summary", { text: "Values as a table" }), el("div", { class: "scroll" },
      el("table", { class: "figures" }, tableHead(figures.head, (i) => i > 0), el("tbody", {}, ...figures.rows.map((row) => el("tr", {}, ...cells(row))))))));
  }
  return card;
}

/** Why a chart is not there: nothing is drawn that the trace does not know. */
export function absentCard(title: string, why: string): HTMLElement {
  return el("section", { class: "card chart absent", attributes: { "aria-label": title } }, el("h2", { text: title }), el("p", { class: "soft", text: why }));
}

/** Those that are there come first. */
export function arrangeCards(grid: HTMLElement, cards: readonly HTMLElement[]): void {
  const isAbsent = (card: HTMLElement): boolean => card.classList.contains("absent");
  grid.replaceChildren(...cards.filter((c) => !isAbsent(c)), ...cards.filter(isAbsent));
}
