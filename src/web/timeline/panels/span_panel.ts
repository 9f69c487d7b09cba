// The panel of the measured range: tables of what measure.ts found, each row of which filters and leads to its longest event.
import { Slices } from "../../shared/packed";
import { button, el, figure, tableHead } from "../../shared/dom";
import { countOf, formatBytes, formatNs, formatNumber, formatPercent } from "../../shared/format";
import { causeMeaning, kindLabel } from "../../shared/labels";
import { sumSpan, type DeviceSum, type NameSum, type SpanSums } from "../model/measure";
import { shortName } from "../../shared/names";
import { exactText } from "../paint/ruler";
import type { Scene } from "../model/scene";
import type { Run, View } from "../../shared/state";

const MAX_ROWS = 12;
const DELAY_MS = 30; // ranges that are replaced at once are not looked at

export class SpanPanel {
  readonly element = el("aside", { class: "tl-details tl-span", attributes: { "aria-label": "Measured range", hidden: true } });
  private timer = 0;
  private wanted = 0;

  constructor(private readonly scene: Scene, private readonly zoom: (span: View) => void) {}

  show(span: View | null): void {
    const number = ++this.wanted;
    window.clearTimeout(this.timer);
    if (!span) this.element.hidden = true;
    if (!span || this.scene.isMeasuring) return;
    this.timer = window.setTimeout(() => void this.fill(span, number), DELAY_MS);
  }

  private async fill(span: View, number: number): Promise<void> {
    const parts: HTMLElement[] = [];
    const { runs } = this.scene.state;
    for (const run of runs) {
      const offset = this.scene.offsets[run.index];
      const own = { start_ns: span.start_ns - offset, end_ns: span.end_ns - offset };
      const sums = await sumSpan(run, own, new Slices(), () => number !== this.wanted);
      if (!sums) return;
      if (runs.length > 1) parts.push(el("h2", { text: shortName(run.data.label, 60) }));
      parts.push(...this.tables(run, sums));
    }
    this.element.hidden = false;
    this.element.replaceChildren(
      el("header", {},
        el("h2", { text: `Range of ${formatNs(span.end_ns - span.start_ns)}` }),
        button("✕", () => this.scene.state.set("span", null), { class: "tl-close", attributes: { "aria-label": "Close the range" } })),
      el("p", { class: "tl-note", text: `${exactText(Math.round(span.start_ns))} to ${exactText(Math.round(span.end_ns))}` }),
      el("p", { class: "tl-buttons" }, button("Zoom to it", () => this.zoom(span), { title: "Key: Enter" })),
      ...parts);
  }

  private tables(run: Run, sums: SpanSums): HTMLElement[] {
    const parts = sums.devices.map((device) => deviceSection(device, sums.length_ns));
    for (const [title, rows] of sums.groups) parts.push(this.table(run, title, rows, sums.length_ns));
    if (parts.length === 0) parts.push(el("p", { text: "Nothing was recorded in this range." }));
    return parts;
  }

  private table(run: Run, title: string, rows: readonly NameSum[], length_ns: number): HTMLElement {
    const total = rows.reduce((sum, row) => sum + row.time_ns, 0);
    const rest = rows.length - MAX_ROWS;
    return el("section", {}, el("h3", { text: `${title}, ${formatNs(total)}` }),
      el("table", {}, tableHead(["Name", "Count", "Time", "Of range"], (column) => column > 0),
        el("tbody", {}, ...rows.slice(0, MAX_ROWS).map((row) => this.row(run, row, length_ns)))),
      rest > 0 && el("p", { class: "tl-note", text: `and ${formatNumber(rest)} more` }));
  }

  private row(run: Run, row: NameSum, length_ns: number): HTMLElement {
    const name = run.data.names[row.name] || kindLabel(row.kind);
    const more = row.bytes > 0 ? `, ${formatBytes(row.bytes)}${row.time_ns > 0 ? `, ${formatBytes(row.bytes / (row.time_ns / 1e9))}/s` : ""}` : "";
    const pageable = row.kind.startsWith("pageable") ? ", pageable" : "";
    return el("tr", {},
      el("td", {}, button(shortName(name, 48) + more + pageable, () => this.scene.jump(row.longest), { class: "tl-link", title: "Go to the longest" })),
      figure(formatNumber(row.count)), figure(formatNs(row.time_ns)), figure(formatPercent((100 * row.time_ns) / length_ns)));
  }
}

function deviceSection(device: DeviceSum, length_ns: number): HTMLElement {
  const timeText = (ns: number): string => `${formatNs(ns)}, ${formatPercent((100 * ns) / length_ns)}`;
  return el("section", {}, el("h3", { text: shortName(device.label, 60) }), el("dl", {},
    el("dt", { text: "Busy" }), el("dd", { text: timeText(device.busy_ns) }), el("dt", { text: "Idle" }), el("dd", { text: timeText(device.idle_ns) }),
    ...device.idle.flatMap(({ cause, time_ns, count }) => [
      el("dt", { text: cause, title: causeMeaning(cause) }), el("dd", { text: `${timeText(time_ns)}, ${countOf(count, "gap")}` }),
    ])));
}
