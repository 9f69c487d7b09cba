// Elements of the page. Text goes in as text only: there is no way here to make elements of a string, so that no name of
// a trace can become one.
import { visible } from "./names";

export interface Props {
  class?: string;
  text?: string;
  id?: string;
  title?: string;
  attributes?: Record<string, string | number | boolean>; // true: without a value, false: left out
  style?: Record<string, string>; // properties of CSS, or custom ones
  on?: Record<string, (event: Event) => void>;
}

export type Child = Node | string | null | undefined | false;

function apply(element: HTMLElement | SVGElement, props: Props, children: Child[]): void {
  if (props.class) element.setAttribute("class", props.class);
  if (props.id) element.id = props.id;
  if (props.title) element.setAttribute("title", props.title);
  if (props.text !== undefined) element.textContent = props.text;
  for (const [name, value] of Object.entries(props.attributes ?? {})) {
    if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [name, value] of Object.entries(props.style ?? {})) element.style.setProperty(name, value);
  for (const [name, listener] of Object.entries(props.on ?? {})) element.addEventListener(name, listener);
  for (const child of children) if (child) element.append(child);
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, props: Props = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, props, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K, props: Props = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(element, props, children);
  return element;
}

export function button(text: string, onClick: () => void, props: Props = {}): HTMLButtonElement {
  return el("button", { ...props, text, attributes: { type: "button", ...props.attributes }, on: { click: onClick } });
}

/** One of several, each with its value and its text. */
export function select(label: string, options: readonly (readonly [value: string, text: string])[], choose: (index: number) => void, props: Props = {}): HTMLSelectElement {
  const made: HTMLSelectElement = el("select", { ...props, attributes: { "aria-label": label }, on: { change: () => choose(made.selectedIndex) } },
    ...options.map(([value, text]) => el("option", { text, attributes: { value } })));
  return made;
}

export function checkbox(label: string, isChecked: boolean, check: (isChecked: boolean) => void, props: Props = {}): HTMLElement {
  const box: HTMLInputElement = el("input", { id: props.id, attributes: { type: "checkbox", checked: isChecked }, on: { change: () => check(box.checked) } });
  return el("label", { class: props.class }, box, ` ${label}`);
}

/** A cell with a figure. */
export const figure = (text: string): HTMLElement => el("td", { class: "number", text });

/** The head of a table of which `isFigure` says which columns are figures. */
export function tableHead(titles: readonly string[], isFigure: (column: number) => boolean): HTMLElement {
  return el("thead", {}, el("tr", {}, ...titles.map((text, i) => el("th", { class: isFigure(i) ? "number" : "", text, attributes: { scope: "col" } }))));
}

/** What is known, in two columns; what is empty is left out. */
export function fieldList(fields: readonly (readonly [what: string, value: string])[]): HTMLElement {
  return el("dl", { class: "fields" },
    ...fields.filter(([, value]) => value).flatMap(([what, value]) => [el("dt", { text: what }), el("dd", { text: visible(value) })]));
}

/** `color` is a custom property. */
export function swatch(color: string, isIdle = false): HTMLElement {
  return el("span", { class: isIdle ? "swatch idle" : "swatch", style: { "background-color": `var(${color})` }, attributes: { "aria-hidden": "true" } });
}

/** Where the pointer is within an element, and how large that is. */
export function placeIn(element: Element, event: MouseEvent): { x: number; y: number; width: number; height: number } {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top, width: Math.max(1, width), height: Math.max(1, height) };
}

/** Says something to screen readers that the eye sees anyhow. */
export function announce(text: string): void {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}
