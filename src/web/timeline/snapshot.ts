// The timeline as it is shown, in one canvas with its labels and axis: for paper, where elements over each other do not fit.
import type { Pane } from "./pane";
import type { Palette } from "../shared/palette";
import { el } from "../shared/dom";
import { contextOf, fitCanvas, pixelRatio } from "./paint/canvas";
import { drawRuler } from "./paint/ruler";
import { shortName } from "../shared/names";
import type { View } from "../shared/state";
import { FONT_PX } from "./paint/text";

const SIDE_PX = 190;
const RULER_PX = 24;
const TITLE_PX = 20;
const LABEL_LETTERS = 30;

/** null: nothing has been drawn yet. */
export function snapshot(panes: readonly Pane[], view: View, palette: Palette): HTMLCanvasElement | null {
  const width = panes[0]?.width ?? 0;
  if (width === 0) return null;
  const ratio = pixelRatio();
  const heights = panes.map((pane) => Math.min(pane.height, pane.layout.height + pane.layout.pinnedHeight));
  const canvas = el("canvas", { attributes: { role: "img", "aria-label": "The timeline as shown" } });
  fitCanvas(canvas, SIDE_PX + width, RULER_PX + heights.reduce((sum, height) => sum + height + TITLE_PX, 0));
  const context = contextOf(canvas);
  context.font = `${FONT_PX}px ${palette.font}`;
  context.save();
  context.translate(SIDE_PX, 0);
  drawRuler(context, view, { width, height: RULER_PX }, palette);
  context.restore();
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = palette.panel;
  context.fillRect(0, 0, SIDE_PX + width, canvas.height / ratio);
  context.globalCompositeOperation = "source-over";
  let top = RULER_PX;
  for (const [i, pane] of panes.entries()) {
    context.fillStyle = palette.ink;
    context.fillText(shortName(pane.data.label, 120), 4, top + TITLE_PX / 2);
    top += TITLE_PX;
    for (const { row, y } of pane.shownRows()) {
      if (y + FONT_PX < heights[i]) context.fillText(shortName(row.trackData.label, LABEL_LETTERS), 4 + row.level * 10, top + Math.max(0, y) + 11);
    }
    pane.copyTo(context, { x: SIDE_PX, y: top, width, height: heights[i] });
    top += heights[i];
  }
  return canvas;
}
