// The flame graph of CPU samples: callers above what they call, as wide as the share of the samples.
import type { Flame } from "../shared/data";
import { button, el, select } from "../shared/dom";
import { formatNumber } from "../shared/format";
import { visible } from "../shared/names";
import type { State } from "../shared/state";

const TITLE = "CPU samples";
const ROW = 18; // pixels
const NARROWEST = 0.0008; // of the width

/** How many samples a node has: in the whole run, or in idle time with the cause host. */
type Count = (node: number) => number;

interface Box {
  node: number;
  from: number; // parts of the width
  width: number;
  depth: number;
}

export function childrenOf(flame: Flame): number[][] {
  const children: number[][] = flame.nodes.map(() => []);
  flame.nodes.forEach(([parent], node) => {
    if (parent >= 0) children[parent].push(node);
  });
  return children;
}

const topsOf = ({ nodes }: Flame): number[] => nodes.flatMap(([parent], node) => (parent < 0 ? [node] : []));

/** What is seen when `root` (-1: everything) has the whole width. Its callers stay above it. */
export function boxesOf(flame: Flame, children: number[][], count: Count, root: number): Box[] {
  const boxes: Box[] = [];
  const callers: number[] = [];
  for (let node = root; node >= 0; node = flame.nodes[node][0]) callers.unshift(node);
  callers.forEach((node, depth) => boxes.push({ node, from: 0, width: 1, depth }));
  const tops = root >= 0 ? children[root] : topsOf(flame);
  const all = root >= 0 ? count(root) : tops.reduce((sum, node) => sum + count(node), 0);
  if (all === 0) return boxes;
  const place = (nodes: number[], from: number, depth: number): void => {
    const sorted = [...nodes].sort((a, b) => (flame.names[flame.nodes[a][1]] < flame.names[flame.nodes[b][1]] ? -1 : 1));
    for (const node of sorted) {
      const width = count(node) / all;
      if (width >= NARROWEST) {
        boxes.push({ node, from, width, depth });
        place(children[node], from, depth + 1);
      }
      from += width;
    }
  };
  place(tops, 0, callers.length);
  return boxes;
}

/** The share of the samples that have a function with the text on their stack, each counted once. */
export function shareOf(flame: Flame, children: number[][], count: Count, text: string): number {
  const has = (node: number): boolean => flame.names[flame.nodes[node][1]].toLowerCase().includes(text);
  const sum = (nodes: number[]): number => nodes.reduce((all, node) => all + (has(node) ? count(node) : sum(children[node])), 0);
  const tops = topsOf(flame);
  const all = tops.reduce((total, node) => total + count(node), 0);
  return all === 0 ? 0 : sum(tops) / all;
}

function hueOf(name: string): number {
  let hash = 0;
  for (const c of name) hash = (hash * 31 + (c.codePointAt(0) ?? 0)) >>> 0;
  return 18 + (hash % 40);
}

export function flameChart(state: State): HTMLElement | null {
  const { flame } = state.page;
  if (!flame || flame.nodes.length === 0) return null;
  const children = childrenOf(flame);
  const counts: [string, Count][] = [["Whole run", (node) => flame.nodes[node][2]], ["While the GPU was idle", (node) => flame.nodes[node][3]]];
  const hasIdle = flame.nodes.some((node) => node[3] > 0);
  let which = 0;
  let root = -1;
  const graph = el("div", { class: "flame", attributes: { role: "group", "aria-label": TITLE } });
  const status = el("p", { class: "chart-value", attributes: { role: "status" } });
  const search = el("input", { attributes: { type: "search", placeholder: "Find a function", "aria-label": "Find a function in the flame graph" } });

  const draw = (): void => {
    const count = counts[which][1];
    const text = search.value.trim().toLowerCase();
    const boxes = boxesOf(flame, children, count, root);
    const total = boxesOf(flame, children, count, -1).filter((b) => b.depth === 0).reduce((sum, b) => sum + count(b.node), 0);
    const depth = boxes.reduce((most, b) => Math.max(most, b.depth + 1), 1);
    graph.style.height = `${depth * ROW}px`;
    graph.replaceChildren(...boxes.map((box) => {
      const name = visible(flame.names[flame.nodes[box.node][1]]);
      const words = `${name}: ${formatNumber(count(box.node))} samples, ${((100 * count(box.node)) / Math.max(total, 1)).toFixed(1)}%`;
      return el("button", {
        class: text && name.toLowerCase().includes(text) ? "flame-box found" : "flame-box", text: box.width > 0.02 ? name : "", title: words,
        style: { left: `${100 * box.from}%`, width: `${100 * box.width}%`, top: `${box.depth * ROW}px`, "--hue": String(hueOf(name)) },
        attributes: { type: "button", tabindex: -1, "aria-label": words },
        on: { click: () => { root = box.node; draw(); }, mouseenter: () => { status.textContent = words; } },
      });
    }));
    status.textContent = text ? `${(100 * shareOf(flame, children, count, text)).toFixed(1)}% of the samples have “${text}” on their stack` : `${formatNumber(total)} samples`;
  };

  search.addEventListener("input", draw);
  const choice = select("Samples", counts.map(([title]) => [title, title]), (index) => { which = index; root = -1; draw(); });
  const tools = el("p", { class: "flame-tools" }, hasIdle ? choice : null, search, button("Reset zoom", () => { root = -1; draw(); }, { class: "tool" }));
  draw();
  return el("section", { class: "card chart wide", id: "chart-flame", attributes: { "aria-label": TITLE } },
    el("h2", { text: TITLE }), tools, graph, status,
    el("p", { class: "note", text: "Callers are above the functions they call; the width is the share of the samples. Click a function to zoom in." }));
}
