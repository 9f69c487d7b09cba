// The filter box: what is typed becomes marks on the events, with a count and steps through the matches.
import type { Commands } from "../input/commands";
import { Slices } from "../../shared/packed";
import { button, el } from "../../shared/dom";
import { placeOf } from "../../shared/events";
import { findMatches } from "../../shared/filter";
import { countOf, formatNs } from "../../shared/format";
import type { Scene } from "../model/scene";

const DELAY_MS = 90;

export class FilterBox {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly count = el("output", { class: "tl-count", attributes: { "aria-live": "polite" } });
  private readonly steps: HTMLElement;
  private timer = 0;
  private wanted = 0;
  private isTyped = false; // nobody has chosen what is in view: the first match is

  constructor(private readonly scene: Scene, private readonly commands: Commands) {
    this.input = el("input", {
      class: "tl-filter",
      title: "Part of the name, or kind:h2d kind:pageable stream:7 gpu:0 thread:519 nvtx:step/load cause:host name:\"exact\" min:10us max:2ms; -word excludes",
      attributes: {
        type: "search", placeholder: "Filter: words, kind:pageable, nvtx:step/load, min:10us …", "aria-label": "Filter events",
        spellcheck: "false", autocomplete: "off",
      },
      on: { input: () => {
        this.isTyped = true;
        scene.state.set("filter", this.input.value);
      } },
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") void this.go(commands, event.shiftKey);
      else if (event.key === "Escape") this.leave();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.steps = el("span", { class: "tl-steps", attributes: { hidden: true } },
      button("‹", () => commands.match(-1), { title: "Previous match (key: [)", attributes: { "aria-label": "Previous match" } }),
      button("›", () => commands.match(1), { title: "Next match (key: ])", attributes: { "aria-label": "Next match" } }),
      button("longest", () => commands.longestMatch(), { title: "Longest match (key: m)" }));
    this.element = el("div", { class: "tl-filterbox", attributes: { role: "search" } }, this.input, this.count, this.steps);
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  private async go(commands: Commands, isBack: boolean): Promise<void> {
    if (this.timer !== 0) await this.find(this.scene.state.filter, this.wanted); // typed faster than it was looked for
    if (isBack) commands.match(-1);
    else this.first(commands);
  }

  // The first Enter goes to the longest match, as this is mostly what is looked for; more go on from there.
  private first(commands: Commands): void {
    const { selection, runs } = this.scene.state;
    const { lane, index } = selection ? placeOf(runs[selection.timeline], selection.event) : { lane: null, index: 0 };
    const isMatch = selection && lane && this.scene.matches[selection.timeline]?.marks.get(lane)?.bits[index] === 1;
    if (isMatch) commands.match(1);
    else commands.longestMatch();
  }

  private leave(): void {
    if (this.input.value === "") this.input.blur();
    else this.scene.state.set("filter", "");
  }

  /** The filter or the runs are others. */
  show(filter: string): void {
    if (this.input.value !== filter) this.input.value = filter;
    const number = ++this.wanted;
    window.clearTimeout(this.timer);
    this.timer = 0;
    if (filter.trim() === "") {
      this.scene.matches.fill(null);
      this.count.textContent = "";
      this.steps.hidden = true;
      this.scene.draw();
      return;
    }
    this.timer = window.setTimeout(() => void this.find(filter, number), DELAY_MS);
  }

  private async find(filter: string, number: number): Promise<void> {
    window.clearTimeout(this.timer);
    this.timer = 0;
    const { runs } = this.scene.state;
    const slices = new Slices();
    let count = 0;
    let time_ns = 0;
    for (const run of runs) {
      const found = await findMatches(run, filter, slices, () => number !== this.wanted);
      if (!found || number !== this.wanted) return;
      this.scene.matches[run.index] = found;
      count += found.count;
      time_ns += found.time_ns;
    }
    if (runs.length === 0) return;
    this.count.dataset["of"] = filter;
    this.count.textContent = count === 0 ? "no match" : `${countOf(count, "match", "matches")}, ${formatNs(time_ns)}`;
    this.steps.hidden = count === 0;
    if (this.isTyped && count > 0) this.commands.showFirstMatch();
    this.isTyped = false;
    this.scene.draw();
  }
}
