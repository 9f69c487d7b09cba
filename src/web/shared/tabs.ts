// The tabs of the page, by the pattern of WAI-ARIA: arrows move between tabs, Tab goes into the panel. A panel is filled
// when it is first shown, so that the overview does not wait for tables that nobody has asked for.
import { button, el } from "./dom";
import type { State } from "./state";

export interface TabSpec {
  id: string;
  title: string;
  mount(panel: HTMLElement): void;
}

export function makeTabs(state: State, specs: TabSpec[]): { bar: HTMLElement; panels: HTMLElement } {
  const bar = el("div", { class: "tabs", attributes: { role: "tablist", "aria-label": "Parts of the report" } });
  const panels = el("main", { id: "main", attributes: { tabindex: -1 } });
  const mounted = new Set<string>();
  const parts = specs.map((spec) => {
    const tab = button(spec.title, () => state.set("tab", spec.id), { class: "tab", id: `tab-${spec.id}`, attributes: { role: "tab", "aria-controls": `panel-${spec.id}` } });
    const panel = el("div", {
      class: "panel-of-tab", id: `panel-${spec.id}`, attributes: { role: "tabpanel", "aria-labelledby": `tab-${spec.id}` },
    });
    bar.append(tab);
    panels.append(panel);
    return { spec, tab, panel };
  });

  const show = (id: string): void => {
    const known = parts.some((p) => p.spec.id === id) ? id : parts[0].spec.id;
    for (const { spec, tab, panel } of parts) {
      const isShown = spec.id === known;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      panel.hidden = !isShown;
      if (isShown && !mounted.has(spec.id)) {
        mounted.add(spec.id);
        spec.mount(panel);
      }
    }
    document.body.dataset["tab"] = known;
  };

  bar.addEventListener("keydown", (event) => {
    const at = parts.findIndex((p) => p.tab === document.activeElement);
    const last = parts.length - 1;
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    state.set("tab", parts[to].spec.id);
    parts[to].tab.focus();
  });
  state.on("tab", show);
  show(state.tab);
  return { bar, panels };
}
