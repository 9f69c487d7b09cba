// Copying as CSV: plain numbers and full names, as `report --format csv` writes them.

export function csvField(value: string | number | null): string {
  if (value === null) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csvOf(keys: readonly string[], rows: Iterable<readonly (string | number | null)[]>): string {
  const lines = [keys.map(csvField).join(",")];
  for (const row of rows) lines.push(row.map(csvField).join(","));
  return `${lines.join("\n")}\n`;
}

/** False: the browser does not let a file write to the clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// Pages from file:// are no secure context in every browser; what is selected can be copied in all of them.
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  const before = document.activeElement;
  area.select();
  let isCopied = false;
  try {
    isCopied = document.execCommand("copy");
  } catch {
    isCopied = false;
  }
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}
