// Flame graphs: of GPU time, idle time, savings and CPU samples, as wide as their share. Callers are above what they call.
import type { Flame } from "../shared/data";
import { button, el, select } from "../shared/dom";
import { formatNs, formatNumber, formatPercent } from "../shared/format";
import { visible } from "../shared/names";
import type { State } from "../shared/state";

const TITLE = "Flame graph";
const ROW = 18; // pixels
const NARROWEST = 0.0008; // of the width

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
const valueOf = (flame: Flame, node: number): number => flame.nodes[node][2];
const sumOf = (flame: Flame, nodes: number[]): number => nodes.reduce((sum, node) => sum + valueOf(flame, node), 0);
const nameOf = (flame: Flame, node: number): string => flame.names[flame.nodes[node][1]];

/** What is seen when `root` (-1: everything) has the whole width. What is around it stays above it. */
export function boxesOf(flame: Flame, children: number[][], root: number): Box[] {
  const boxes: Box[] = [];
  const callers: number[] = [];
  for (let node = root; node >= 0; node = flame.nodes[node][0]) callers.unshift(node);
  callers.forEach((node, depth) => boxes.push({ node, from: 0, width: 1, depth }));
  const tops = root >= 0 ? children[root] : topsOf(flame);
  const all = root >= 0 ? valueOf(flame, root) : sumOf(flame, tops);
  if (all === 0) return boxes;
  const place = (nodes: number[], from: number, depth: number): void => {
    const sorted = [...nodes].sort((a, b) => (nameOf(flame, a) < nameOf(flame, b) ? -1 : 1));
    for (const node of sorted) {
      const width = valueOf(flame, node) / all;
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

/** The share that has a name with the text on its way, each counted once. */
export function shareOf(flame: Flame, children: number[][], text: string): number {
  const has = (node: number): boolean => nameOf(flame, node).toLowerCase().includes(text);
  const sum = (nodes: number[]): number => nodes.reduce((all, node) => all + (has(node) ? valueOf(flame, node) : sum(children[node])), 0);
  const tops = topsOf(flame);
  const all = sumOf(flame, tops);
  return all === 0 ? 0 : sum(tops) / all;
}

function hueOf(name: string): number {
  let hash = 0;
  for (const c of name) hash = (hash * 31 + (c.codePointAt(0) ?? 0)) >>> 0;
  return 18 + (hash % 40);
}

const amount = (flame: Flame, value: number): string => (flame.unit === "ns" ? formatNs(value) : `${formatNumber(value)} samples`);

const uniqueOf = (words: string[]): string[] => words.filter((word, i) => words.indexOf(word) === i);

/** The choice of a graph: first what is measured, then by what. Another measure keeps the latter where it can. */
function choiceOf(flames: Flame[], show: (flame: Flame) => void): HTMLElement {
  const measures = uniqueOf(flames.map(({ measure }) => measure));
  const ways = el("span");
  let by = flames[0].by;
  const offer = (measure: string): void => {
    const offered = flames.filter((flame) => flame.measure === measure);
    const at = Math.max(0, offered.findIndex((flame) => flame.by === by));
    const pick = select("By", offered.map((flame) => [flame.by, `by ${flame.by}`]), (index) => { by = offered[index].by; show(offered[index]); });
    pick.value = offered[at].by;
    ways.replaceChildren(offered.length > 1 ? pick : "");
    show(offered[at]);
  };
  offer(measures[0]);
  return el("span", { class: "flame-choice" }, select("Measure", measures.map((measure) => [measure, measure]), (index) => offer(measures[index])), ways);
}

export function flameChart(state: State): HTMLElement | null {
  const flames = state.page.flames ?? [];
  if (flames.length === 0) return null;
  let flame = flames[0];
  let children = childrenOf(flame);
  let root = -1;
  const graph = el("div", { class: "flame", attributes: { role: "group", "aria-label": TITLE } });
  const status = el("p", { class: "chart-value", attributes: { role: "status" } });
  const search = el("input", { attributes: { type: "search", placeholder: "Find a name", "aria-label": "Find a name in the flame graph" } });

  const draw = (): void => {
    const text = search.value.trim().toLowerCase();
    const boxes = boxesOf(flame, children, root);
    const total = sumOf(flame, topsOf(flame));
    const depth = boxes.reduce((most, b) => Math.max(most, b.depth + 1), 1);
    graph.style.height = `${depth * ROW}px`;
    graph.replaceChildren(...boxes.map((box) => {
      const name = visible(nameOf(flame, box.node));
      const words = `${name}: ${amount(flame, valueOf(flame, box.node))}, ${formatPercent((100 * valueOf(flame, box.node)) / total)}`;
      return el("button", {
        class: text && name.toLowerCase().includes(text) ? "flame-box found" : "flame-box", text: box.width > 0.02 ? name : "", title: words,
        style: { left: `${100 * box.from}%`, width: `${100 * box.width}%`, top: `${box.depth * ROW}px`, "--hue": String(hueOf(name)) },
        attributes: { type: "button", tabindex: -1, "aria-label": words },
        on: { click: () => { root = box.node; draw(); }, mouseenter: () => { status.textContent = words; } },
      });
    }));
    const all = `${flame.measure} by ${flame.by}: ${amount(flame, total)}`;
    status.textContent = text ? `${all}, ${formatPercent(100 * shareOf(flame, children, text))} of it under names that contain “${text}”` : all;
  };

  search.addEventListener("input", draw);
  const choice = choiceOf(flames, (chosen) => {
    [flame, children, root] = [chosen, childrenOf(chosen), -1];
    draw();
  });
  const tools = el("p", { class: "flame-tools" }, choice, search, button("Reset zoom", () => { root = -1; draw(); }, { class: "tool" }));
  return el("section", { class: "card chart wide", id: "chart-flame", attributes: { "aria-label": TITLE } },
    el("h2", { text: TITLE }), tools, graph, status,
    el("p", { class: "note", text: "Callers and enclosing ranges are above what they contain; the width is the share. Click a name to zoom in." }));
}
