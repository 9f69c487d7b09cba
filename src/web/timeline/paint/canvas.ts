// Canvases have as many pixels as the screen, and are drawn on in those of CSS.

export const contextOf = (canvas: HTMLCanvasElement, settings?: CanvasRenderingContext2DSettings): CanvasRenderingContext2D =>
  canvas.getContext("2d", settings) as CanvasRenderingContext2D;

export const pixelRatio = (): number => window.devicePixelRatio || 1;

/** Gives a canvas this size; false where it had it. */
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): boolean {
  const ratio = pixelRatio();
  const size = { width: Math.max(1, Math.round(width * ratio)), height: Math.max(1, Math.round(height * ratio)) };
  const isOther = canvas.width !== size.width || canvas.height !== size.height;
  if (isOther) Object.assign(canvas, size);
  contextOf(canvas).setTransform(ratio, 0, 0, ratio, 0, 0);
  return isOther;
}
