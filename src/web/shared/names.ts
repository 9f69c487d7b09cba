// Names of a trace as the page shows them. They come from the program and may hold anything: 10 kB of template arguments,
// controls that turn the text around, quotes. What cannot be seen is shown by its number.

const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** The text with everything in it visible: "\u202e" as "⟨U+202E⟩". */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** At most `longest` characters: what was cut is in the middle, as beginning and end tell names apart. */
export function middle(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const end = Math.floor((longest - 1) / 2);
  const cut = (from: number, to?: number) => text.slice(from, to).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
  return `${cut(0, longest - 1 - end)}…${cut(text.length - end)}`;
}

/** Where the bracket that is closed by the last character opens; -1: it does not. */
function opening(text: string, open: string, close: string): number {
  let depth = 0;
  for (let i = text.length - 1; i >= 0; --i) {
    if (text[i] === close) ++depth;
    else if (text[i] === open && --depth === 0) return i;
  }
  return -1;
}

/** A function without its parameters: "void f<A>(A)" is "void f<A>". */
export function withoutParameters(name: string): string {
  const text = name.endsWith(" const") ? name.slice(0, -6) : name;
  if (!text.endsWith(")")) return name;
  const at = opening(text, "(", ")");
  return at > 0 ? text.slice(0, at) : name;
}

/** For a cell: visible, without parameters where it is long, cut in the middle. */
export function shortName(name: string, longest = 64): string {
  const text = name.length > longest ? withoutParameters(name) : name;
  return middle(visible(middle(text, 4 * longest)), longest);
}

/** For a tooltip: visible, and not a screen of it. */
export function tooltip(name: string): string {
  return middle(visible(middle(name, 2000)), 1200);
}

/** As a shell takes it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}
