// Arithmetic of the view: within the run and never narrower than can be told apart.
import type { View } from "../../shared/state";

const NARROWEST_NS = 20;
const MARGIN = 0.02; // of the view beyond either end

export function limited(view: View, whole: View): View {
  const margin = (whole.end_ns - whole.start_ns) * MARGIN;
  const widest = whole.end_ns - whole.start_ns + 2 * margin;
  if (!Number.isFinite(view.start_ns) || !Number.isFinite(view.end_ns)) return whole;
  const width = Math.min(widest, Math.max(NARROWEST_NS, view.end_ns - view.start_ns));
  // What is too narrow grows around its middle.
  const middle = (view.start_ns + view.end_ns) / 2;
  const wanted = width === view.end_ns - view.start_ns ? view.start_ns : middle - width / 2;
  // At least half of the view shows the run.
  const room = Math.max(margin, width / 2 - 1);
  const start = Math.max(whole.start_ns - Math.min(room, width), Math.min(whole.end_ns + Math.min(room, width) - width, wanted));
  return { start_ns: start, end_ns: start + width };
}

/** Zooms by `factor` (below 1: closer) so that `at` stays where it is. */
export function zoomed(view: View, factor: number, at: number): View {
  return { start_ns: at - (at - view.start_ns) * factor, end_ns: at + (view.end_ns - at) * factor };
}

export function panned(view: View, by_ns: number): View {
  return { start_ns: view.start_ns + by_ns, end_ns: view.end_ns + by_ns };
}

/** An event in the middle, as wide as `share` of the view. */
export function around(start_ns: number, end_ns: number, share: number): View {
  const width = Math.max(NARROWEST_NS, (end_ns - start_ns) / share);
  const middle = (start_ns + end_ns) / 2;
  return { start_ns: middle - width / 2, end_ns: middle + width / 2 };
}
