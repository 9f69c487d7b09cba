// The page: reads its data, shows the overview at once, and the events when they are read.
import { mountCharts } from "./charts/charts";
import type { PageData } from "./shared/data";
import { decodePage, readPage } from "./shared/decode";
import { mountDiff } from "./diff/diff";
import { mountFleet } from "./fleet/fleet";
import { announce, button, el } from "./shared/dom";
import { formatNs } from "./shared/format";
import { hasTimeline } from "./shared/jump";
import { startLinks } from "./shared/link";
import { visible } from "./shared/names";
import { mountOverview } from "./overview/overview";
import { startPrinting } from "./print";
import { State } from "./shared/state";
import { mountTables } from "./tables/tables";
import { makeTabs, type TabSpec } from "./shared/tabs";
import { chooseTheme, onThemeChange, startTheme, theme } from "./shared/theme";
import { mountTimeline } from "./timeline/timeline";

function themeButton(): HTMLElement {
  const made = button("", () => chooseTheme(theme() === "dark" ? "light" : "dark"), { class: "tool", id: "theme" });
  const show = (): void => {
    made.textContent = theme() === "dark" ? "☀ Light" : "☾ Dark";
    made.setAttribute("aria-label", theme() === "dark" ? "Use light colours" : "Use dark colours");
  };
  onThemeChange(show);
  show();
  return made;
}

function subtitle(page: PageData): string {
  const lines = page.timelines.map((t) => `${visible(t.label)}, ${formatNs(t.duration_ns)}`);
  if (lines.length === 0 && page.report) return `${visible(page.report.trace.path)}, ${formatNs(page.report.trace.duration_ns)}: a partial, so without a timeline`;
  return lines.join("  ·  ");
}

/** What is wrong is said on the page: nobody looks at the console. */
function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const root = document.getElementById("main") ?? document.getElementById("app") ?? document.body;
  root.prepend(el("p", { class: "banner", attributes: { role: "alert" } }, el("b", { text: "▲ " }), message));
}

function tabsOf(state: State): TabSpec[] {
  const { page } = state;
  const { diff, fleet, report } = page;
  const tabs: (TabSpec | false | null | undefined)[] = [
    diff && { id: "overview", title: "Difference", mount: (root) => mountDiff(root, state, diff) },
    fleet && { id: "overview", title: "Ranks", mount: (root) => mountFleet(root, state, fleet) },
    report && { id: "overview", title: "Overview", mount: (root) => mountOverview(root, state, report) },
    hasTimeline(state) && { id: "timeline", title: diff ? "Timelines" : "Timeline", mount: (root) => mountTimeline(root, state) },
    (diff || fleet || report) && { id: "tables", title: "Tables", mount: (root) => mountTables(root, state) },
    report && { id: "charts", title: "Charts", mount: (root) => mountCharts(root, state, report) },
  ];
  return tabs.filter((tab): tab is TabSpec => Boolean(tab));
}

function showFrame(state: State): void {
  const app = document.getElementById("app");
  if (!app) return;
  const tabs = makeTabs(state, tabsOf(state));
  const skip = el("a", { class: "skip", text: "Skip to the content", attributes: { href: "#main" }, on: { click: (event) => {
    event.preventDefault(); // the address belongs to deep links
    tabs.panels.focus();
  } } });
  app.replaceChildren(
    skip,
    el("header", { class: "top" },
      el("div", { class: "run" },
        el("h1", { text: visible(state.page.title), title: visible(state.page.title) }),
        el("p", { text: subtitle(state.page), title: subtitle(state.page) })),
      el("div", { class: "tools" }, button("Print", () => window.print(), { class: "tool" }), themeButton()),
      tabs.bar),
    tabs.panels,
    el("p", { id: "live", class: "hidden", attributes: { role: "status", "aria-live": "polite" } }));
}

async function loadEvents(state: State): Promise<void> {
  if (state.page.fleet) return; // its heat map is read when it is shown
  state.set("runs", await decodePage(state.page));
  document.body.dataset["events"] = "loaded";
  if (hasTimeline(state)) announce("The timeline is ready.");
}

/** Runs after what has been built so far was painted, and the rest of the file was read. */
function afterPaint(then: () => void): void {
  const next = (): void => {
    let isDone = false;
    const once = (): void => {
      if (!isDone) then();
      isDone = true;
    };
    requestAnimationFrame(() => setTimeout(once, 0));
    setTimeout(once, 300); // a tab in the background paints nothing
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", next, { once: true });
  else next();
}

async function start(): Promise<void> {
  startTheme();
  const state = new State(await readPage());
  startLinks(state);
  showFrame(state);
  startPrinting(state);
  document.body.dataset["page"] = "shown";
  afterPaint(() => void loadEvents(state).catch(fail));
}

start().catch(fail);
