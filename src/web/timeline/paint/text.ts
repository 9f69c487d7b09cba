// Text on bars: names cut to what fits. Measuring is slow, so that widths are kept.
import { shortName } from "../../shared/names";

export const FONT_PX = 11;

export class BarText {
  private readonly widths = new Map<string, number>();
  private readonly labels = new Map<string, string>();
  private average = 6;

  constructor(private readonly context: CanvasRenderingContext2D) {}

  /** Fonts change with the theme or the zoom of the browser. */
  reset(): void {
    this.widths.clear();
    this.average = this.context.measureText("abcdefghijklmnopqrstuvwxyz_<>:0123456789").width / 40;
  }

  /** A name as bars show it: no return type, no arguments, the last part first to be seen. */
  label(name: string): string {
    let label = this.labels.get(name);
    if (label === undefined) this.labels.set(name, (label = barName(name)));
    return label;
  }

  /** As much of the text as fits, "" where that says nothing. */
  fit(text: string, width: number): string {
    if (width < 2.2 * this.average) return "";
    if (this.widthOf(text) <= width) return text;
    return cutToFit(text, Math.floor(width / this.average) - 1);
  }

  private widthOf(text: string): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 5000) this.widths.clear();
      this.widths.set(text, (width = this.context.measureText(text).width));
    }
    return width;
  }
}

/** At most `most` characters and the mark of what was left out: "step…14", as numbers at the end tell names apart. */
export function cutToFit(text: string, most: number): string {
  if (most < 2) return "";
  const number = /\D(\d{1,6})$/.exec(text)?.[1] ?? "";
  if (number === "" || number.length > most) return `${text.slice(0, most)}…`;
  return `${text.slice(0, most - number.length)}…${number}`;
}

/** What of a label may be cut, and its end, which is not: its last word, or a part of a long one. */
export function splitName(name: string): [string, string] {
  const word = name.lastIndexOf(" ");
  const at = word > 0 && name.length - word <= 9 ? word : name.length - Math.min(6, Math.floor(name.length / 2));
  return [name.slice(0, at), name.slice(at)];
}

/** "void at::native::f<4>(int)" → "f<4>" */
export function barName(name: string): string {
  let text = shortName(name, 200);
  text = text.replace(/^(?:void|auto|int|float|double|bool) (?=[\w:]+[<(])/, "");
  const paren = text.search(/\S\((?!anonymous)/);
  if (paren >= 0 && text.endsWith(")")) text = text.slice(0, paren + 1);
  const angle = text.indexOf("<");
  const head = angle > 0 ? text.slice(0, angle) : text;
  const colons = head.lastIndexOf("::");
  return colons > 0 && colons + 2 < head.length ? text.slice(colons + 2) : text;
}
