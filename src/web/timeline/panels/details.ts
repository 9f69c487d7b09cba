// The panel of the selected event: what is known of it, and its neighbours, all of which lead to where they are.
import type { Commands } from "../input/commands";
import { announce, button, el } from "../../shared/dom";
import { describe, isEvent } from "../../shared/events";
import { sectionsOf } from "./event_details";
import { titleOf, type Field, type Section } from "./fields";
import { functionSections } from "./gap_details";
import { formatNs } from "../../shared/format";
import { kindLabel } from "../../shared/labels";
import { middle, shortName, visible } from "../../shared/names";
import { runOf, type Scene } from "../model/scene";
import type { EventRef, Run } from "../../shared/state";

const LONGEST_NAME = 4000;

export class Details {
  readonly element = el("aside", { class: "tl-details", attributes: { "aria-label": "Selected event", tabindex: -1, hidden: true } });

  constructor(private readonly scene: Scene, private readonly commands: Commands) {}

  show(ref: EventRef | null): void {
    const run = ref ? runOf(this.scene, ref) : undefined;
    const isKnown = ref !== null && run !== undefined && isEvent(run, ref.event);
    this.element.hidden = !isKnown;
    if (!isKnown) return this.element.replaceChildren();
    const title = titleOf(run, ref.event);
    this.element.replaceChildren(
      el("header", {},
        el("h2", { text: shortName(title, 120) }),
        button("✕", () => this.scene.state.set("selection", null), { class: "tl-close", attributes: { "aria-label": "Close the details" } })),
      ...(title.length > 60 ? [el("details", {}, el("summary", { text: "Full name" }), el("p", { class: "tl-full", text: middle(title, LONGEST_NAME) }))] : []),
      this.buttons(ref),
      ...this.sections(run, ref.event).map((section) => this.section(ref.timeline, section)));
    const details = describe(run, ref.event);
    announce(`${shortName(visible(details.name))}, ${kindLabel(details.kind)}, ${formatNs(details.duration_ns)}, on ${visible(details.track.label)}`);
  }

  private sections(run: Run, event: number): Section[] {
    const { name, kind } = describe(run, event);
    return [...sectionsOf(run, event), ...(kind === "gap" ? functionSections(this.scene.state.page.report, name) : [])];
  }

  private buttons(ref: EventRef): HTMLElement {
    const { commands } = this;
    return el("p", { class: "tl-buttons" },
      button("Zoom to it", () => this.scene.reveal(ref, true), { title: "Key: Enter" }),
      button("‹ same name", () => commands.sameName(-1), { title: "Key: p" }),
      button("same name ›", () => commands.sameName(1), { title: "Key: n" }),
      button("longest", () => commands.longestSameName(), { title: "Key: l" }));
  }

  private section(timeline: number, { title, note, fields }: Section): HTMLElement {
    return el("section", {}, title && el("h3", { text: title }), note && el("p", { class: "tl-note", text: note }),
      el("dl", {}, ...fields.flatMap((field) => [el("dt", { text: field.label }), el("dd", {}, this.value(timeline, field))])));
  }

  private value(timeline: number, field: Field): HTMLElement {
    const { event } = field;
    if (event === undefined) return el("span", { text: field.value });
    return button(field.value, () => this.scene.jump({ timeline, event }), { class: "tl-link", title: field.value });
  }
}
