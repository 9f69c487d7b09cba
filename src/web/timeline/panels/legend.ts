// What the colours mean: only those that this run has, on the GPU and on the host.
import { EVENT_KINDS, type EventKind } from "../../shared/data";
import { el } from "../../shared/dom";
import { CAUSES, causeColor, causeMeaning, kindColor, kindLabel } from "../../shared/labels";
import { levelsOf, FIRST_CAUSE } from "../../shared/levels";
import type { Run } from "../../shared/state";
import { cssColor } from "../../shared/theme";

const NVTX = new Set<EventKind>(["nvtx_range", "nvtx_start_end", "projection"]);

function entry(property: string, text: string, title: string, isByName = false): HTMLElement {
  const swatch = el("i", { class: isByName ? "tl-swatch tl-by-name" : "tl-swatch" });
  if (!isByName) swatch.style.background = cssColor(property);
  return el("li", { title }, swatch, text);
}

function classesOf(runs: readonly Run[]): Set<number> {
  const found = new Set<number>();
  for (const { lanes } of runs) for (const { events } of lanes) for (const cls of levelsOf(events).classes) found.add(cls);
  return found;
}

function textOf(kind: EventKind): string {
  if (kind === "kernel") return "kernel (shade by name)";
  if (kind === "cpu_sample") return "CPU sample (stronger: more CPU time)";
  return NVTX.has(kind) ? "NVTX range (own colour or by name)" : kindLabel(kind);
}

export function makeLegend(runs: readonly Run[]): HTMLElement {
  const classes = classesOf(runs);
  const list = el("ul", { class: "tl-legend", attributes: { "aria-label": "Colours" } });
  const said = new Set<string>();
  for (const [i, kind] of EVENT_KINDS.entries()) {
    const text = textOf(kind);
    if (!classes.has(i) || kind === "gap" || said.has(text)) continue;
    said.add(text);
    list.append(entry(kindColor(kind), text, text, NVTX.has(kind)));
  }
  for (const [i, cause] of CAUSES.entries()) {
    if (classes.has(FIRST_CAUSE + i)) list.append(entry(causeColor(cause), `idle: ${cause}`, causeMeaning(cause)));
  }
  return list;
}
