// The page: reads its data, shows the overview at once, and the events when they are read.
import { mountCharts } from "./charts/charts";
import type { PageData } from "./shared/data";
import { decodePage, readPage } from "./shared/decode";
import { mountDiff } from "./diff/diff";
import { mountFleet } from "./fleet/fleet";
import { announce, el } from "./shared/dom";
import { formatNs } from "./shared/format";
import { hasTimeline, openTable, showPlace, whenLoaded, type ShowPlace } from "./shared/jump";
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
  const made = el("button", { class: "tool", id: "theme", attributes: { type: "button" } });
  const show = (): void => {
    made.textContent = theme() === "dark" ? "☀ Light" : "☾ Dark";
    made.setAttribute("aria-label", theme() === "dark" ? "Use light colours" : "Use dark colours");
  };
  made.addEventListener("click", () => chooseTheme(theme() === "dark" ? "light" : "dark"));
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
  const timeline: TabSpec = { id: "timeline", title: page.kind === "diff" ? "Timelines" : "Timeline", mount: (root) => mountTimeline(root, state) };
  if (page.kind === "diff" && page.diff) {
    const { diff } = page;
    return [
      { id: "overview", title: "Difference", mount: (root) => mountDiff(root, state, diff) },
      ...(hasTimeline(state) ? [timeline] : []),
      { id: "tables", title: "Tables", mount: (root) => mountTables(root, state) },
    ];
  }
  if (page.fleet) {
    const { fleet } = page;
    return [
      { id: "overview", title: "Ranks", mount: (root) => mountFleet(root, state, fleet) },
      { id: "tables", title: "Tables", mount: (root) => mountTables(root, state) },
    ];
  }
  const { report } = page;
  if (!report) return [timeline];
  const show: ShowPlace = hasTimeline(state) ? (place) => showPlace(state, place) : null;
  const links = { show, openTable: (id: string) => openTable(state, id),
    whenLoaded: (then: Parameters<typeof whenLoaded>[1]) => whenLoaded(state, then) };
  return [
    { id: "overview", title: "Overview", mount: (root) => mountOverview(root, page, report, links) },
    ...(hasTimeline(state) ? [timeline] : []),
    { id: "tables", title: "Tables", mount: (root) => mountTables(root, state) },
    { id: "charts", title: "Charts", mount: (root) => mountCharts(root, state, report) },
  ];
}

function showFrame(state: State): void {
  const app = document.getElementById("app");
  if (!app) return;
  const tabs = makeTabs(state, tabsOf(state));
  const skip = el("a", { class: "skip", text: "Skip to the content", attributes: { href: "#main" } });
  skip.addEventListener("click", (event) => {
    event.preventDefault(); // the address belongs to deep links
    tabs.panels.focus();
  });
  const print = el("button", { class: "tool", text: "Print", attributes: { type: "button" }, on: { click: () => window.print() } });
  app.replaceChildren(
    skip,
    el("header", { class: "top" },
      el("div", { class: "run" },
        el("h1", { text: visible(state.page.title), title: visible(state.page.title) }),
        el("p", { text: subtitle(state.page), title: subtitle(state.page) })),
      el("div", { class: "tools" }, print, themeButton()),
      tabs.bar),
    tabs.panels,
    el("p", { id: "live", class: "hidden", attributes: { role: "status", "aria-live": "polite" } }));
}

async function loadEvents(state: State): Promise<void> {
  if (state.page.fleet) return; // its heat map is read when it is shown
  state.setRuns(await decodePage(state.page));
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
