// The keyboard: every command of the timeline, and the table that the help shows of them.
import type { Commands } from "./commands";

export interface KeyTarget {
  commands: Commands;
  scroll(pixels: number): void;
  focusFilter(): void;
  escape(): void;
  toggleHelp(): void;
}

/** For the help: keys, and what they do. */
export const KEY_HELP: readonly (readonly [string, string])[] = [
  ["A D, ← →", "pan"], ["W S, + −", "zoom in and out at the pointer"], ["↑ ↓", "scroll the tracks"], ["Home End", "to the start, to the end; again: the whole run"],
  ["f, 0", "show the whole run"], ["e", "from the first to the last operation on a GPU"], ["Enter", "zoom to the selected event, or to the measured range"],
  ["n p", "next, previous event of the same name"], ["l", "longest event of the same name"],
  [", .", "event before, after on the same track"], ["g, Shift+B", "next gap, gap before"], ["G", "longest gap"],
  ["/", "filter"], ["] [", "next, previous match"], ["m", "longest match"],
  ["Esc", "close, clear: first the help, then the range, the selection, the filter"], ["?", "this help"],
];

export const MOUSE_HELP: readonly (readonly [string, string])[] = [
  ["drag", "pan"], ["wheel, pinch", "zoom at the pointer"], ["Shift + wheel", "pan"], ["Alt + wheel, wheel over the labels", "scroll the tracks"],
  ["Shift + drag, drag on the ruler", "measure a range"], ["click", "select"], ["double click", "zoom to the event"], ["drag on the overview strip", "move the view"],
];

const SCROLL_PX = 60;

function bindings(target: KeyTarget): Record<string, () => void> {
  const { commands } = target;
  return {
    a: () => commands.pan(-1), d: () => commands.pan(1), ArrowLeft: () => commands.pan(-1), ArrowRight: () => commands.pan(1),
    w: () => commands.zoom(1), s: () => commands.zoom(-1), "+": () => commands.zoom(1), "=": () => commands.zoom(1),
    "-": () => commands.zoom(-1), ArrowUp: () => target.scroll(-SCROLL_PX), ArrowDown: () => target.scroll(SCROLL_PX),
    PageUp: () => target.scroll(-400), PageDown: () => target.scroll(400),
    Home: () => commands.toEnd(-1), End: () => commands.toEnd(1), f: () => commands.fit(), "0": () => commands.fit(), e: () => commands.fitGpuWork(),
    Enter: () => commands.zoomToSelection(), n: () => commands.sameName(1), p: () => commands.sameName(-1),
    l: () => commands.longestSameName(), ",": () => commands.neighbour(-1), ".": () => commands.neighbour(1),
    g: () => commands.gap(1), B: () => commands.gap(-1), G: () => commands.longestGap(), "]": () => commands.match(1),
    "[": () => commands.match(-1), m: () => commands.longestMatch(), "/": () => target.focusFilter(), Escape: () => target.escape(),
    "?": () => target.toggleHelp(),
  };
}

const isTyping = (at: Element | null): boolean => at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement;

/** Keys that a focused button, tab or link needs for itself. */
function isForFocused(key: string, at: Element | null): boolean {
  if (!at || at === document.body) return false;
  if (key === "Enter" || key === " ") return at.matches("button, a, summary");
  return /^(Arrow|Home|End|Page)/.test(key) && at.closest("[role=tablist], .tl-details, .tl-help") !== null;
}

/** Listens on the document, so that keys work wherever the focus is; `isShown` says whether the timeline is. */
export function bindKeys(target: KeyTarget, isShown: () => boolean): void {
  const keys = bindings(target);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !isShown()) return;
    const at = document.activeElement;
    if (isTyping(at) || isForFocused(event.key, at)) return;
    const action = Object.prototype.hasOwnProperty.call(keys, event.key) ? keys[event.key] : undefined;
    if (!action) return;
    event.preventDefault();
    action();
  });
}
