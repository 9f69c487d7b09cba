// Light and dark. What the system prefers, until the reader chooses; the choice is kept where the browser lets a file keep it.

export type Theme = "light" | "dark";

const KEY = "gprof-cli.theme";
const listeners = new Set<() => void>();
const colors = new Map<string, string>();

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null; // a page from file:// may not ask
  }
}

function preferred(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function theme(): Theme {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

function show(next: Theme): void {
  if (document.documentElement.dataset["theme"] === next) return;
  document.documentElement.dataset["theme"] = next;
  colors.clear();
  for (const listener of listeners) listener();
}

/** Called when colours are others than before: canvases draw again. */
export function onThemeChange(listener: () => void): void {
  listeners.add(listener);
}

export function chooseTheme(next: Theme): void {
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // kept for this visit only
  }
  show(next);
}

/** Value of a custom property of style.css, for canvases. */
export function cssColor(name: string): string {
  let value = colors.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colors.set(name, value);
  }
  return value;
}

export function startTheme(): void {
  show(stored() ?? preferred());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (!stored()) show(preferred());
  });
}
