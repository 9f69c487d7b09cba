// Unpacks the style and the script of the page and puts them in: deflated they are a third. The policy of the page names them by their hashes.
import { packedOf, Slices, textOf } from "./shared/packed";

async function boot(): Promise<void> {
  if (!("DecompressionStream" in window)) throw new Error("this browser is too old: Chrome 80, Firefox 113, Safari 16.4 or newer is needed");
  for (const [id, name] of [["style", "style"], ["program", "script"]]) {
    const packed = await packedOf(id, new Slices());
    if (!packed) throw new Error(`the ${name} of this page is missing: the file is not complete`);
    const element = document.createElement(name);
    element.textContent = await textOf(packed);
    document.head.append(element);
  }
}

boot().catch((error: unknown) => {
  const said = document.createElement("p");
  said.setAttribute("role", "alert");
  said.textContent = `The report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  document.body.prepend(said);
});
