// A table that sorts, filters and scrolls over any number of rows: only those in view are elements of the page.
// Keyboard: arrows, Home, End, Page keys move; Enter shows the row on the timeline.
import { el, fieldList } from "../shared/dom";
import { formatFigure } from "../shared/format";
import { arrange, isText, columnsWithValues, type GridData, type Sort } from "./grid_model";
import { shortName, tooltip } from "../shared/names";

const ROW_PX = 30; // as .grid td in style.css has it
const MORE_ROWS = 12; // above and below what is seen
const ALL_UP_TO = 200; // rows that are all built
const SENTENCES = new Set(["split", "causes", "extra", "meaning", "advice", "formula", "what"]); // columns of words, not of names
const NARROW = "(max-width: 62rem)"; // as in style.css

// Characters of a name: in a narrow window, figures need the room.
function longestName(): number {
  return matchMedia(NARROW).matches ? 36 : 64;
}

export interface GridOptions {
  label: string;
  sort: Sort | null;
  canShow(row: number): boolean; // is it on the timeline?
  show(row: number): void;
  onActive(row: number): void; // the row the reader is at
}

export class Grid {
  readonly root: HTMLElement;
  order: Uint32Array = new Uint32Array();
  private readonly head = el("tr");
  private readonly body = el("tbody");
  private readonly table: HTMLTableElement;
  private columns: number[];
  private filter = "";
  private active = -1; // position in order
  private marked = new Set<number>();
  private drawn: [first: number, last: number] = [-1, -1];

  constructor(private readonly data: GridData, private readonly options: GridOptions, private sort: Sort | null = options.sort) {
    this.columns = columnsWithValues(data);
    this.table = el("table", { class: "grid", attributes: { role: "grid", "aria-label": options.label } },
      el("thead", {}, this.head), this.body);
    this.root = el("div", { class: "grid-box", attributes: { role: "region", "aria-label": options.label } }, this.table);
    this.root.addEventListener("scroll", () => this.draw(), { passive: true });
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    this.body.addEventListener("click", (event) => this.onClick(event));
    this.arrange();
  }

  get columnsLeftOut(): number {
    return this.data.columns.length - this.columns.length;
  }

  showAllColumns(all: boolean): void {
    this.columns = all ? this.data.columns.map((_, i) => i) : columnsWithValues(this.data);
    this.arrange();
  }

  setFilter(filter: string): void {
    this.filter = filter;
    this.arrange();
  }

  /** Marks rows that belong to what is selected, and scrolls to the first. */
  mark(rows: Set<number>, scroll: boolean): void {
    this.marked = rows;
    if (scroll && rows.size > 0) {
      const at = this.order.findIndex((row) => rows.has(row));
      if (at >= 0) this.root.scrollTop = Math.max(0, (at - 3) * ROW_PX);
    }
    this.draw(true);
  }

  private arrange(): void {
    this.order = arrange(this.data, this.filter, this.sort);
    this.active = -1;
    this.table.setAttribute("aria-rowcount", String(this.order.length + 1));
    this.drawHead();
    this.root.scrollTop = 0;
    this.draw(true);
  }

  private sortBy(column: number): void {
    this.sort = { column, isDescending: this.sort?.column === column ? !this.sort.isDescending : !isText(this.data.columns[column]) };
    this.arrange();
    this.head.querySelector<HTMLElement>(`button[data-column="${column}"]`)?.focus();
  }

  private drawHead(): void {
    const cells = this.columns.map((c) => {
      const column = this.data.columns[c];
      const isSorted = this.sort?.column === c;
      const order = isSorted ? (this.sort!.isDescending ? "descending" : "ascending") : "none";
      const arrow = isSorted ? (this.sort!.isDescending ? "▼" : "▲") : "";
      return el("th", { class: isText(column) ? "" : "number", attributes: { scope: "col", "aria-sort": order } },
        el("button", { class: "sort", attributes: { type: "button", "data-column": c }, on: { click: () => this.sortBy(c) } },
          column.title, el("span", { class: "arrow", text: arrow, attributes: { "aria-hidden": "true" } })));
    });
    this.head.replaceChildren(el("th", { class: "go", attributes: { scope: "col" } }, el("span", { class: "hidden", text: "Timeline" })), ...cells);
  }

  private cell(row: number, c: number): HTMLTableCellElement {
    const column = this.data.columns[c];
    const value = this.data.value(row, c);
    if (value === null) return el("td", { class: "none", text: "–" });
    if (typeof value === "string") {
      const short = shortName(value, SENTENCES.has(column.key) ? 160 : longestName());
      return el("td", { class: "name", text: short, title: short === value ? "" : tooltip(value) });
    }
    const isShare = column.key === "percent" && value > 0;
    return el("td", {
      class: isShare ? "number share" : "number", style: isShare ? { "background-size": `${Math.min(100, value)}% 100%` } : {},
      text: column.key === "pid" || column.key === "number" ? String(value) : formatFigure(value, column.unit),
    });
  }

  private row(at: number): HTMLTableRowElement {
    const row = this.order[at];
    const canShow = this.options.canShow(row);
    const made = el("tr", {
      class: `${this.marked.has(row) ? "marked" : ""}${at % 2 ? " odd" : ""}`,
      attributes: { "data-at": at, "aria-rowindex": at + 2, tabindex: at === Math.max(0, this.active) ? 0 : -1 },
    }, el("td", { class: "go" }, canShow ? el("button", {
      class: "show", text: "↗", title: "Show the longest on the timeline", attributes: { type: "button", tabindex: -1, "aria-label": "Show on the timeline" },
    }) : null));
    if (at === this.active) made.setAttribute("aria-selected", "true");
    made.append(...this.columns.map((c) => this.cell(row, c)));
    return made;
  }

  private spacer(rows: number): HTMLTableRowElement {
    return el("tr", { class: "spacer", attributes: { "aria-hidden": "true" } },
      el("td", { style: { height: `${rows * ROW_PX}px` }, attributes: { colspan: this.columns.length + 1 } }));
  }

  private inView(): [first: number, last: number] {
    const count = this.order.length;
    if (count <= ALL_UP_TO) return [0, count];
    const height = this.root.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.root.scrollTop / ROW_PX) - MORE_ROWS);
    return [Math.min(first, count), Math.min(count, Math.ceil((this.root.scrollTop + height) / ROW_PX) + MORE_ROWS)];
  }

  private draw(isForced = false): void {
    const [first, last] = this.inView();
    if (!isForced && first === this.drawn[0] && last === this.drawn[1]) return;
    this.drawn = [first, last];
    const focused = document.activeElement instanceof HTMLElement && this.body.contains(document.activeElement)
      ? document.activeElement.closest("tr")?.dataset["at"] : undefined;
    const rows: HTMLTableRowElement[] = [];
    if (first > 0) rows.push(this.spacer(first));
    for (let at = first; at < last; ++at) rows.push(this.row(at));
    if (last < this.order.length) rows.push(this.spacer(this.order.length - last));
    this.body.replaceChildren(...rows);
    if (focused !== undefined) this.rowElement(Number(focused))?.focus({ preventScroll: true });
  }

  private rowElement(at: number): HTMLElement | null {
    return this.body.querySelector<HTMLElement>(`tr[data-at="${at}"]`);
  }

  private activate(at: number): void {
    this.active = at;
    const top = at * ROW_PX;
    const height = this.root.clientHeight - 2 * ROW_PX;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top > this.root.scrollTop + height) this.root.scrollTop = top - height;
    this.draw(true);
    this.rowElement(at)?.focus({ preventScroll: true });
    this.options.onActive(this.order[at]);
  }

  private onClick(event: Event): void {
    const target = event.target instanceof Element ? event.target : null;
    const at = Number(target?.closest("tr")?.dataset["at"] ?? -1);
    if (at < 0) return;
    if (target?.closest("button.show")) this.options.show(this.order[at]);
    else if (String(getSelection() ?? "") === "") this.activate(at);
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.target instanceof Element ? event.target.closest("tr") : null;
    const at = Number(target?.dataset["at"] ?? -1);
    if (at < 0 || !target) return;
    const last = this.order.length - 1;
    const to: Record<string, number> = {
      ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 15, PageUp: at - 15, Home: 0, End: last,
    };
    if (event.key === "Enter" && this.options.canShow(this.order[at])) this.options.show(this.order[at]);
    else if (event.key === " ") this.activate(at);
    else if (to[event.key] !== undefined) this.activate(Math.min(last, Math.max(0, to[event.key])));
    else return;
    event.preventDefault();
  }
}

/** A row with everything in full. */
export function rowDetails(data: GridData, row: number): HTMLElement {
  return fieldList(data.columns.map((column, c) => {
    const value = data.value(row, c) ?? "";
    return [column.title, typeof value === "number" ? formatFigure(value, column.unit) : value];
  }));
}
