// Elements of the page. Text goes in as text only: there is no way here to make elements of a string, so that no name of
// a trace can become one.

export interface Props {
  class?: string;
  text?: string;
  id?: string;
  title?: string;
  attributes?: Record<string, string | number | boolean>; // true: without a value, false: left out
  on?: Record<string, (event: Event) => void>;
}

type Child = Node | string | null | undefined | false;

function apply(element: Element, props: Props, children: Child[]): void {
  if (props.class) element.setAttribute("class", props.class);
  if (props.id) element.id = props.id;
  if (props.title) element.setAttribute("title", props.title);
  if (props.text !== undefined) element.textContent = props.text;
  for (const [name, value] of Object.entries(props.attributes ?? {})) {
    if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
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
  const made = el("button", { ...props, text, attributes: { type: "button", ...props.attributes } });
  made.addEventListener("click", onClick);
  return made;
}

/** Says something to screen readers that the eye sees anyhow. */
export function announce(text: string): void {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}
