// Copying to the clipboard.
import { announce, button, type Props } from "./dom";

/** Copies what `make` gives, and says for two seconds whether the browser let it; `said` is what those hear that do not see it. */
export function copyButton(label: string, make: () => string, said: () => string, props: Props = {}): HTMLButtonElement {
  const made = button(label, () => void copyText(make()).then((isCopied) => {
    made.textContent = isCopied ? "Copied" : "Refused by the browser";
    announce(isCopied ? said() : "The browser refused to copy");
    setTimeout(() => { made.textContent = label; }, 2000);
  }), { class: "quiet", ...props });
  return made;
}

/** False: the browser does not let a file write to the clipboard. */
async function copyText(text: string): Promise<boolean> {
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
