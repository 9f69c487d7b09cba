// Deep links: what is in view, selected and filtered is in the address, so that copying the address copies the view:
// #t=start,end&sel=run:event&q=filter&span=start,end&tab=timeline&table=kernels. Whatever else stands there is ignored.
import { isEvent } from "./events";
import type { EventRef, State, View } from "./state";

const ID = /^[a-z_][a-z_0-9.]{0,60}$/;
const LONGEST_FILTER = 2000;
const DELAY_MS = 110; // browsers refuse addresses that change with every frame

function parseView(text: string | null): View | null {
  const match = /^(-?\d{1,16}(?:\.\d{1,6})?),(-?\d{1,16}(?:\.\d{1,6})?)$/.exec(text ?? "");
  if (!match) return null;
  const [start_ns, end_ns] = [Number(match[1]), Number(match[2])];
  return end_ns > start_ns ? { start_ns, end_ns } : null;
}

function parseRef(text: string | null): EventRef | null {
  const match = /^(\d{1,3}):(\d{1,10})$/.exec(text ?? "");
  return match ? { timeline: Number(match[1]), event: Number(match[2]) } : null;
}

export function parseLink(hash: string) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const id = (name: string): string | null => {
    const text = fields.get(name);
    return text !== null && ID.test(text) ? text : null;
  };
  return {
    view: parseView(fields.get("t")),
    selection: parseRef(fields.get("sel")),
    span: parseView(fields.get("span")),
    filter: fields.get("q")?.slice(0, LONGEST_FILTER) ?? null,
    tab: id("tab"),
    table: id("table"),
  };
}

const digits = (ns: number): string => String(Number(ns.toFixed(3)));
const textOfView = (view: View): string => `${digits(view.start_ns)},${digits(view.end_ns)}`;

export function formatLink(state: State): string {
  const fields: string[] = [];
  const { view, initial } = state;
  if (view.start_ns !== initial.start_ns || view.end_ns !== initial.end_ns) fields.push(`t=${textOfView(state.view)}`);
  if (state.selection) fields.push(`sel=${state.selection.timeline}:${state.selection.event}`);
  if (state.span) fields.push(`span=${textOfView(state.span)}`);
  if (state.filter) fields.push(`q=${encodeURIComponent(state.filter)}`);
  if (state.tab !== "overview") fields.push(`tab=${encodeURIComponent(state.tab)}`);
  if (state.table && state.tab === "tables") fields.push(`table=${encodeURIComponent(state.table)}`);
  return fields.length > 0 ? `#${fields.join("&")}` : "";
}

/** Reads the address now and when the reader changes it, and keeps it true. */
export function startLinks(state: State): void {
  let written = "";
  let timer = 0;
  let waiting: EventRef | null = null; // selected when the events are there

  const selectKnown = (): void => {
    const ref = waiting;
    if (!ref || state.runs.length === 0) return;
    waiting = null;
    if (isEvent(state.runs[ref.timeline], ref.event)) state.set("selection", ref);
  };
  const read = (): void => {
    const link = parseLink(location.hash);
    if (link.filter !== null) state.set("filter", link.filter);
    if (link.view) state.set("view", link.view);
    if (link.span) state.set("span", link.span);
    if (link.table !== null && link.table !== state.table) state.set("table", link.table);
    if (link.tab !== null && link.tab !== state.tab) state.set("tab", link.tab);
    waiting = link.selection;
    selectKnown();
    if (waiting === null && link.view) state.set("view", link.view); // what selecting brought into view was in the link already
  };
  const write = (): void => {
    timer = 0;
    if (waiting) return;
    written = formatLink(state);
    if (written === location.hash) return;
    try {
      history.replaceState(history.state, "", written || location.pathname + location.search);
    } catch {
      // Some browsers refuse it for files; the page works without
    }
  };
  const later = (): void => {
    if (timer === 0) timer = window.setTimeout(write, DELAY_MS);
  };

  read();
  state.on("runs", () => {
    const { view } = state;
    const isLinked = waiting !== null && parseLink(location.hash).view !== null;
    selectKnown();
    if (isLinked) state.set("view", view);
  });
  for (const name of ["view", "selection", "span", "filter", "tab", "table"] as const) state.on(name, later);
  addEventListener("hashchange", () => {
    if (location.hash !== written) read();
  });
}
