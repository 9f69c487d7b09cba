// What lies over the events and changes more often than they: the selected event, flow from call to operation, the
// measured range, the pointer.
import { blameOf, callOf, isEvent, nextOf, operationsOf, placeOf } from "../../shared/events";
import { formatNs } from "../../shared/format";
import type { Run } from "../../shared/state";
import type { Scene } from "../model/scene";
import { FONT_PX } from "./text";

/** Where an event is drawn. */
export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
  isRowInView: boolean;
}

/** The pane that is drawn over. */
export interface Surface {
  readonly index: number; // of its timeline
  readonly run: Run | null;
  readonly width: number;
  readonly height: number;
  xOf(time_ns: number): number;
  rectOf(event: number): Rect | null;
}

const MAX_ARROWS = 100; // of a graph with thousands of operations

export function drawOverlay(context: CanvasRenderingContext2D, scene: Scene, pane: Surface): void {
  context.clearRect(0, 0, pane.width, pane.height);
  drawSpan(context, scene, pane);
  drawCursor(context, scene, pane);
  const { selection } = scene.state;
  const { hover } = scene;
  if (hover && hover.timeline === pane.index && pane.run && isEvent(pane.run, hover.event)) {
    outline(context, pane.rectOf(hover.event), scene.palette.ink, 1);
  }
  if (!selection || selection.timeline !== pane.index || !pane.run || !isEvent(pane.run, selection.event)) return;
  for (const [from, to] of flows(pane, selection.event)) drawFlow(context, scene, pane, from, to);
  outline(context, pane.rectOf(selection.event), scene.palette.select, 2.5);
}

/** Pairs of events that belong together: the call, and what it launched. */
function flows(pane: Surface, event: number): [number, number][] {
  const { run } = pane;
  if (!run) return [];
  const { kind } = placeOf(run, event).lane.trackData;
  if (kind === "api") return operationsOf(run, event).slice(0, MAX_ARROWS).map((operation) => [event, operation]);
  const pairs: [number | null, number | null][] =
    kind === "stream" ? [[callOf(run, event), event]] : kind === "gaps" ? [[event, nextOf(run, event)], [blameOf(run, event), event]] : [];
  return pairs.filter((pair): pair is [number, number] => !pair.includes(null));
}

function outline(context: CanvasRenderingContext2D, rect: Rect | null, color: string, width: number): void {
  if (!rect || !rect.isRowInView) return;
  context.strokeStyle = color;
  context.lineWidth = width;
  const wide = Math.max(3, rect.width);
  // Far beyond the canvas lines lose their precision.
  const x = Math.max(-10, rect.x);
  const right = Math.min(context.canvas.width + 10, rect.x + wide);
  if (right > x) context.strokeRect(x - 0.5, rect.y - 0.5, right - x + 1, rect.height + 1);
}

function drawFlow(context: CanvasRenderingContext2D, scene: Scene, pane: Surface, from: number, to: number): void {
  const source = pane.rectOf(from);
  const target = pane.rectOf(to);
  if (!source || !target) return;
  const limit = (x: number): number => Math.max(-5000, Math.min(pane.width + 5000, x));
  const isDown = target.y > source.y;
  const x0 = limit(source.x + Math.min(source.width, Math.max(1, source.width / 2)));
  const x1 = limit(target.x);
  const y0 = source.y + (isDown ? source.height : 0);
  const y1 = target.y + target.height / 2;
  const bend = Math.max(20, Math.abs(y1 - y0) / 3) * (isDown ? 1 : -1);
  context.strokeStyle = scene.palette.select;
  context.fillStyle = scene.palette.select;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0, y0 + bend, x1 - Math.max(12, Math.min(30, (x1 - x0) / 2)), y1, x1 - 5, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 7, y1 - 4);
  context.lineTo(x1 - 7, y1 + 4);
  context.fill();
}

function drawSpan(context: CanvasRenderingContext2D, scene: Scene, pane: Surface): void {
  const { span } = scene.state;
  if (!span) return;
  const offset = scene.offsets[pane.index];
  const from = Math.max(-2, pane.xOf(span.start_ns - offset));
  const to = Math.min(pane.width + 2, pane.xOf(span.end_ns - offset));
  if (to <= from) return;
  context.fillStyle = scene.palette.accent;
  context.globalAlpha = 0.16;
  context.fillRect(from, 0, to - from, pane.height);
  context.globalAlpha = 1;
  context.fillRect(from - 0.5, 0, 1, pane.height);
  context.fillRect(to - 0.5, 0, 1, pane.height);
  const text = formatNs(span.end_ns - span.start_ns);
  context.font = `600 ${FONT_PX + 1}px ${scene.palette.font}`;
  context.textBaseline = "middle";
  const width = context.measureText(text).width + 10;
  const x = Math.max(2, Math.min(pane.width - width - 2, (from + to) / 2 - width / 2));
  context.fillStyle = scene.palette.accent;
  context.fillRect(x, pane.height - 24, width, 18);
  context.fillStyle = scene.palette.panel;
  context.fillText(text, x + 5, pane.height - 14.5);
}

function drawCursor(context: CanvasRenderingContext2D, scene: Scene, pane: Surface): void {
  if (scene.cursor_ns === null) return;
  const x = pane.xOf(scene.cursor_ns - scene.offsets[pane.index]);
  context.fillStyle = scene.palette.faint;
  context.globalAlpha = 0.6;
  context.fillRect(Math.round(x), 0, 1, pane.height);
  context.globalAlpha = 1;
}
