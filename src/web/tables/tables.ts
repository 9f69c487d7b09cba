// The tab of tables: a list at the left, the chosen table at the right.
import { button, checkbox, el, select } from "../shared/dom";
import { diffEntries } from "./diff_tables";
import { csvOf } from "./grid_model";
import { copyButton } from "../shared/clipboard";
import { countOf, formatNumber } from "../shared/format";
import { Grid, rowDetails } from "./grid";
import { describe } from "../shared/events";
import { whenLoaded } from "../shared/jump";
import type { State } from "../shared/state";
import { eventEntries, tableEntries, type Entry, type Shown } from "./table_list";

export function entriesOf(state: State): Entry[] {
  const { page } = state;
  if (page.fleet) return tableEntries(state, page.fleet.tables);
  if (page.report) return [...tableEntries(state, page.report.tables), ...eventEntries(state)];
  return [...(page.diff ? diffEntries(state, page.diff) : []), ...eventEntries(state)];
}

class TablesTab {
  private readonly view = el("div", { class: "table-view" });
  private readonly links = new Map<string, HTMLButtonElement>();
  private readonly select: HTMLSelectElement = select("Table", [], () => this.state.set("table", this.select.value), { class: "table-select" });
  private grid: Grid | null = null;
  private shown: Shown | null = null;

  constructor(root: HTMLElement, private readonly state: State, private readonly entries: Entry[]) {
    root.append(el("div", { class: "tables" }, this.list(), this.view));
    state.on("table", (id) => this.open(id));
    state.on("selection", () => this.markSelection(true));
    const first = entries.find((e) => e.id === state.table) ?? entries.find((e) => e.id === "kernels" && e.count !== 0) ??
      entries.find((e) => e.count !== 0);
    if (first) this.open(first.id);
  }

  private list(): HTMLElement {
    const nav = el("nav", { class: "table-list", attributes: { "aria-label": "Tables" } });
    const full = this.entries.filter((e) => e.count !== 0);
    for (const group of new Set(full.map((e) => e.group))) {
      const list = el("ul");
      const options = el("optgroup", { attributes: { label: group } });
      for (const entry of full.filter((e) => e.group === group)) {
        const link = button("", () => this.state.set("table", entry.id), { class: "table-link" });
        link.append(el("span", { text: entry.title }), el("span", { class: "count", text: entry.count === null ? "" : formatNumber(entry.count) }));
        this.links.set(entry.id, link);
        list.append(el("li", {}, link));
        options.append(el("option", { text: entry.title, attributes: { value: entry.id } }));
      }
      nav.append(el("h3", { text: group }), list);
      this.select.append(options);
    }
    const empty = this.entries.filter((e) => e.count === 0);
    if (empty.length > 0) {
      nav.append(el("details", { class: "empty" }, el("summary", { text: `${formatNumber(empty.length)} with nothing to show` }),
        el("p", { class: "note", text: empty.map((e) => e.title).join(", ") })));
    }
    nav.prepend(this.select);
    return nav;
  }

  private open(id: string): void {
    const entry = this.entries.find((e) => e.id === id);
    if (!entry) return;
    for (const [key, link] of this.links) {
      if (key === id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    this.select.value = id;
    if (entry.needsEvents && this.state.runs.length === 0) {
      this.view.replaceChildren(el("h2", { text: entry.title }), el("p", { class: "soft", text: "Loading events …" }));
      whenLoaded(this.state, () => this.select.value === id && this.show(entry));
    } else {
      this.show(entry);
    }
  }

  private show(entry: Entry): void {
    const shown = entry.open();
    const details = el("div", { class: "row-details", attributes: { "aria-live": "polite" } });
    const count = el("span", { class: "soft", attributes: { role: "status" } });
    const grid = new Grid(shown.data, {
      label: entry.title, sort: shown.sort, canShow: shown.canShow, show: shown.show,
      onActive: (row) => this.describe(details, shown, row),
    });
    const say = (): void => {
      const { length } = grid.order;
      count.textContent = length === shown.data.count ? countOf(length, "row") : `${formatNumber(length)} of ${countOf(shown.data.count, "row")}`;
    };
    const filter: HTMLInputElement = el("input", {
      class: "table-filter", attributes: { type: "search", placeholder: "Filter rows", "aria-label": `Filter rows of ${entry.title}` },
      on: { input: () => { grid.setFilter(filter.value); say(); } },
    });
    const copy = copyButton("Copy as CSV", () => csvOf(shown.data, grid.order), () => `${countOf(grid.order.length, "row")} copied`, { id: "copy-csv" });
    const left = grid.columnsLeftOut;
    this.view.replaceChildren(
      el("div", { class: "table-head" }, el("h2", { text: entry.title }), count, filter, copy,
        left > 0 && checkbox(`Show ${countOf(left, "empty column")}`, false, (all) => grid.showAllColumns(all), { id: "all-columns", class: "soft" })),
      shown.data.count === 0 ? el("p", { class: "soft", text: "Nothing to show." }) : grid.root,
      details, el("p", { class: "note", text: shown.note }));
    say();
    this.grid = grid;
    this.shown = shown;
    this.markSelection(true);
  }

  private describe(details: HTMLElement, shown: Shown, row: number): void {
    details.replaceChildren(rowDetails(shown.data, row));
    if (shown.canShow(row)) details.prepend(button("Show on the timeline", () => shown.show(row), { class: "go" }));
  }

  /** Rows about the event that is selected on the timeline. */
  private markSelection(scroll: boolean): void {
    const { grid, shown } = this;
    if (!grid || !shown) return;
    const { selection, runs } = this.state;
    const details = selection && runs.length > 0 ? describe(runs[selection.timeline], selection.event) : null;
    const rows = new Set<number>();
    if (details) for (let row = 0; row < shown.data.count; ++row) if (shown.has(row, details)) rows.add(row);
    grid.mark(rows, scroll);
  }
}

export function mountTables(root: HTMLElement, state: State): void {
  new TablesTab(root, state, entriesOf(state));
}
