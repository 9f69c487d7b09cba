// Unpacks the script of the page and runs it: deflated it is a third. The policy of the page names both by their hashes.
import { packedOf, Slices, textOf } from "./shared/packed";

async function boot(): Promise<void> {
  if (!("DecompressionStream" in window)) throw new Error("this browser is too old: Chrome 80, Firefox 113, Safari 16.4 or newer is needed");
  const packed = await packedOf("program", new Slices());
  if (!packed) throw new Error("the script of this page is missing: the file is not complete");
  const program = document.createElement("script");
  program.textContent = await textOf(packed);
  document.head.append(program);
}

boot().catch((error: unknown) => {
  const said = document.createElement("p");
  said.setAttribute("role", "alert");
  said.textContent = `The report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  document.body.prepend(said);
});
