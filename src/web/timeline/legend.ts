// What the colours mean: only those that this run has.
import { EVENT_KINDS } from "../shared/data";
import { el } from "../shared/dom";
import { CAUSES, causeColor, causeMeaning, kindColor, kindLabel } from "../shared/labels";
import { levelsOf, FIRST_CAUSE } from "../shared/levels";
import type { Run } from "../shared/state";
import { cssColor } from "../shared/theme";

function entry(property: string, text: string, title: string): HTMLElement {
  const swatch = el("i", { class: "tl-swatch" });
  swatch.style.background = cssColor(property);
  return el("li", { title }, swatch, text);
}

function classesOf(runs: readonly Run[]): Set<number> {
  const found = new Set<number>();
  for (const { lanes } of runs) {
    for (const { events, trackData } of lanes) {
      if (trackData.kind !== "stream" && trackData.kind !== "gaps") continue;
      for (const cls of levelsOf(events).classes) found.add(cls);
    }
  }
  return found;
}

export function makeLegend(runs: readonly Run[]): HTMLElement {
  const classes = classesOf(runs);
  const list = el("ul", { class: "tl-legend", attributes: { "aria-label": "Colours" } });
  for (const [i, kind] of EVENT_KINDS.entries()) {
    if (classes.has(i) && kind !== "gap") list.append(entry(kindColor(kind), kindLabel(kind), kindLabel(kind)));
  }
  for (const [i, cause] of CAUSES.entries()) {
    if (classes.has(FIRST_CAUSE + i)) list.append(entry(causeColor(cause), `idle: ${cause}`, causeMeaning(cause)));
  }
  return list;
}
