// What is under the pointer, in two or three lines.
import { el } from "../../shared/dom";
import { counterAt, counterFigure, counterOf, summaryWithin } from "../paint/counter";
import { describe, valueOf } from "../../shared/events";
import { formatBytes, formatNs, formatNumber } from "../../shared/format";
import { causeMeaning, kindLabel } from "../../shared/labels";
import { middle, tooltip, visible, withoutParameters } from "../../shared/names";
import { nvtxPath } from "../../shared/paths";
import type { Hit } from "../model/layout";
import type { Run } from "../../shared/state";

/** Lines of text; the first is the name. */
function linesOf(run: Run, event: number): string[] {
  const { name, kind, duration_ns, track } = describe(run, event);
  const lines = [kind === "gap" ? `idle: ${name}` : middle(tooltip(withoutParameters(name)), 160)];
  const bytes = valueOf(run, event, "bytes");
  const speed = bytes > 0 && duration_ns > 0 ? `, ${formatBytes(bytes)} at ${formatBytes(bytes / (duration_ns / 1e9))}/s` : "";
  lines.push(`${formatNs(duration_ns)}, ${kindLabel(kind)}${speed}`);
  const count = valueOf(run, event, "count");
  if (count > 1) lines.push(`${formatNumber(count)} short events drawn as one, ${formatNs(valueOf(run, event, "busy"))} busy`);
  if (kind === "gap") lines.push(causeMeaning(name));
  const path = track.kind === "nvtx" ? "" : nvtxPath(run, event);
  if (path) lines.push(`in ${middle(visible(path), 120)}`);
  return lines;
}

export class Tooltip {
  readonly element = el("div", { class: "tl-tooltip", attributes: { role: "tooltip", hidden: true } });

  show(run: Run | null, hit: Hit | null, at: { x: number; y: number; width: number; height: number }): void {
    const lines = run && hit ? this.lines(run, hit) : [];
    this.element.hidden = lines.length === 0;
    if (lines.length === 0) return;
    this.element.replaceChildren(...lines.map((text, i) => el(i === 0 ? "b" : "span", { text })));
    const { offsetWidth, offsetHeight } = this.element;
    this.element.style.left = `${Math.max(2, at.x + 14 + offsetWidth > at.width ? at.x - offsetWidth - 10 : at.x + 14)}px`;
    this.element.style.top = `${Math.max(2, at.y + 18 + offsetHeight > at.height ? at.y - offsetHeight - 8 : at.y + 18)}px`;
  }

  hide(): void {
    this.element.hidden = true;
  }

  private lines(run: Run, hit: Hit): string[] {
    if (hit.ref) return linesOf(run, hit.ref.event);
    const shown = counterOf(run, hit.row);
    if (!shown) return [];
    const { counter, values } = shown;
    const label = visible(shown.label);
    if (counter.scale === undefined) {
      const value = counterAt(values, hit.time_ns);
      return value === null ? [] : [counterFigure(counter, value), label];
    }
    const summary = summaryWithin(values, hit.time_ns, hit.time_ns + hit.perPixel_ns);
    if (!summary) return ["not measured", label];
    const { low, mean, high } = summary;
    if (low === high) return [counterFigure(counter, mean), label];
    return [`mean ${counterFigure(counter, mean)}`, `min ${counterFigure(counter, low)}, max ${counterFigure(counter, high)}`, label];
  }
}
