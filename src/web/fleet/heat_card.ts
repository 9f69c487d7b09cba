// The heat map of ranks and steps: one pixel of a canvas for each cell, which the browser stretches.
import { checkbox, el, placeIn, select } from "../shared/dom";
import { formatNs, formatNumber, formatPercent } from "../shared/format";
import { visible } from "../shared/names";
import { cssColor, onThemeChange } from "../shared/theme";
import { parseColor } from "../shared/palette";
import { mediansOf, orderOf, shadesOf, valueAt, type HeatMap, type Measure, type Order, type Shades } from "./heat";

const ROOM_PX = 560; // that rows share
const [LOWEST_ROW, HIGHEST_ROW, LABEL_PX] = [1, 20, 15];
const SHADES = 64;
const ORDERS: readonly (readonly [Order, string])[] = [["worst", "worst ranks first"], ["rank", "by rank"], ["host", "by host"]];

type Rgb = readonly [number, number, number];

function rgb(name: string): Rgb {
  const color = parseColor(cssColor(name), 0xff888888);
  return [color & 255, (color >> 8) & 255, (color >> 16) & 255];
}

/** From what is below the median by what is like it to what is above; without a comparison from nothing to the most. */
function rampOf(isCompared: boolean): Rgb[] {
  const stops = isCompared ? ["--heat-less", "--heat-none", "--heat-more", "--heat-most"] : ["--heat-none", "--heat-more", "--heat-most"];
  const places = isCompared ? [0, 0.5, 0.75, 1] : [0, 0.5, 1];
  const colors = stops.map(rgb);
  return Array.from({ length: SHADES + 1 }, (_, i): Rgb => {
    const at = i / SHADES;
    const k = Math.max(1, places.findIndex((place) => place >= at));
    const share = (at - places[k - 1]) / (places[k] - places[k - 1]);
    return [0, 1, 2].map((c) => Math.round(colors[k - 1][c] + (colors[k][c] - colors[k - 1][c]) * share)) as unknown as Rgb;
  });
}

export class HeatCard {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas", { attributes: { role: "img", "aria-label": "Heat map of ranks" } });
  private readonly cursor = el("div", { class: "heat-cursor" });
  private readonly labels = el("div", { class: "heat-labels", attributes: { "aria-hidden": "true" } });
  private readonly box = el("div", { class: "heat-box", attributes: { tabindex: 0, role: "application", "aria-label": "Ranks by step. Arrows move, Enter chooses the rank." } });
  private readonly status = el("p", { class: "chart-value", attributes: { role: "status" } });
  private readonly key = el("p", { class: "heat-key" });
  private measure: Measure;
  private medians: Float64Array;
  private isCompared = true;
  private order: number[];
  private at = { row: 0, column: 0 };

  constructor(private readonly map: HeatMap, private readonly choose: (rank: number) => void) {
    this.measure = map.measures[0];
    this.medians = mediansOf(map, this.measure);
    this.order = orderOf(map.heat.ranks, "worst");
    this.box.append(this.canvas, this.cursor);
    this.element = el("section", { class: "card", id: "heat", attributes: { "aria-label": "Heat map" } },
      el("h2", { text: map.heat.is_time ? "Ranks over time" : `Ranks by step: ${visible(map.heat.path)}` }),
      this.controls(), this.key, this.status, el("div", { class: "heat" }, this.labels, this.box), this.axis());
    this.listen();
    onThemeChange(() => this.draw());
    this.draw();
  }

  private controls(): HTMLElement {
    const measures = select("Figure", this.map.measures.map((m) => [m.id, m.title]), (index) => {
      this.measure = this.map.measures[index];
      this.medians = mediansOf(this.map, this.measure);
      this.draw();
    });
    const order = select("Order of ranks", ORDERS, (index) => {
      this.order = orderOf(this.map.heat.ranks, ORDERS[index][0]);
      this.draw();
    });
    const compared = checkbox("compared with the median rank", true, (isChecked) => {
      this.isCompared = isChecked;
      this.draw();
    }, { class: "soft" });
    return el("p", { class: "flame-tools" }, measures, order, compared);
  }

  private axis(): HTMLElement {
    const { columns } = this.map.heat;
    const ends = [0, Math.floor(columns / 2), columns - 1].filter((c, i, all) => all.indexOf(c) === i);
    return el("p", { class: "heat-axis", attributes: { "aria-hidden": "true" } }, ...ends.map((c) => el("span", { text: this.columnName(c) })));
  }

  private columnName(column: number): string {
    const { is_time, steps_in_one, columns } = this.map.heat;
    if (is_time) return `${formatPercent((100 * column) / columns)} of the run`;
    const first = column * steps_in_one + 1; // as reports number them
    return steps_in_one === 1 ? `step ${formatNumber(first)}` : `steps ${formatNumber(first)}–${formatNumber(first + steps_in_one - 1)}`;
  }

  private get rowPx(): number {
    return Math.max(LOWEST_ROW, Math.min(HIGHEST_ROW, Math.floor(ROOM_PX / this.order.length)));
  }

  private draw(): void {
    const { ranks, columns } = this.map.heat;
    this.canvas.width = columns;
    this.canvas.height = ranks.length;
    this.canvas.style.height = `${ranks.length * this.rowPx}px`;
    const shades = shadesOf(this.map, this.measure, this.isCompared);
    const ramp = rampOf(this.isCompared);
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const pixels = context.createImageData(columns, ranks.length);
    for (const [row, rank] of this.order.entries()) {
      for (let c = 0; c < columns; ++c) {
        const share = shades.shares[rank * columns + c];
        const [r, g, b] = ramp[Math.round((this.isCompared ? (share + 1) / 2 : share) * SHADES)];
        pixels.data.set([r, g, b, 255], 4 * (row * columns + c));
      }
    }
    context.putImageData(pixels, 0, 0);
    this.drawLabels();
    this.drawKey(shades, ramp);
    this.tell();
  }

  private drawLabels(): void {
    const every = Math.ceil(LABEL_PX / this.rowPx);
    this.labels.replaceChildren();
    for (let row = 0; row < this.order.length; row += every) {
      const { name } = this.map.heat.ranks[this.order[row]];
      this.labels.append(el("span", { text: visible(name), title: visible(name), style: { top: `${(row + 0.5) * this.rowPx}px` } }));
    }
  }

  private drawKey({ full }: Shades, ramp: readonly Rgb[]): void {
    const colors = ramp.filter((_, i) => i % 8 === 0).map(([r, g, b]) => `rgb(${r} ${g} ${b})`);
    const bar = el("span", { class: "heat-ramp", style: { background: `linear-gradient(90deg, ${colors.join(", ")})` } });
    const [low, high] = this.isCompared ? [`−${formatPercent(full)} and less`, `+${formatPercent(full)} and more, than the median of the column`] : ["0", formatNs(full)];
    this.key.replaceChildren(low, bar, high);
  }

  private tell(): void {
    const { row, column } = this.at;
    const rank = this.order[row];
    const { name, host } = this.map.heat.ranks[rank];
    const ns = valueAt(this.map, this.measure, rank, column);
    const median = this.medians[column];
    const more = median > 0 ? `, ${formatPercent((100 * Math.abs(ns - median)) / median)} ${ns < median ? "below" : "above"} the median ${formatNs(median)}` : "";
    this.status.textContent = `${visible(name)}${host ? ` on ${visible(host)}` : ""}, ${this.columnName(column)}: ${this.measure.title} ${formatNs(ns)}${more}`;
    this.cursor.style.top = `${row * this.rowPx}px`;
    this.cursor.style.height = `${this.rowPx}px`;
    this.cursor.style.left = `${(100 * column) / this.map.heat.columns}%`;
    this.cursor.style.width = `${100 / this.map.heat.columns}%`;
  }

  private listen(): void {
    const place = (event: MouseEvent): void => {
      const { x, y, width, height } = placeIn(this.canvas, event);
      const limit = (value: number, count: number): number => Math.max(0, Math.min(count - 1, Math.floor(value * count)));
      this.at = {
        row: limit(y / height, this.order.length), column: limit(x / width, this.map.heat.columns),
      };
      this.tell();
    };
    this.box.addEventListener("pointermove", place);
    this.box.addEventListener("click", (event) => {
      place(event);
      this.choose(this.order[this.at.row]);
    });
    this.box.addEventListener("keydown", (event) => this.onKey(event));
  }

  private onKey(event: KeyboardEvent): void {
    const { row, column } = this.at;
    const next = {
      ArrowUp: { row: row - 1, column }, ArrowDown: { row: row + 1, column }, ArrowLeft: { row, column: column - 1 }, ArrowRight: { row, column: column + 1 },
      Home: { row: 0, column }, End: { row: this.order.length - 1, column },
    }[event.key];
    if (event.key === "Enter") this.choose(this.order[row]);
    else if (!next) return;
    event.preventDefault();
    if (!next || next.row < 0 || next.row >= this.order.length || next.column < 0 || next.column >= this.map.heat.columns) return;
    this.at = next;
    this.tell();
  }
}
