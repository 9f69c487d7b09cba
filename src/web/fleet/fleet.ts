// The first tab of a fleet: the verdict on all ranks, the heat map, and where the timeline of a rank is.
import type { FleetData, FleetRank } from "../shared/data";
import { button, el, fieldList } from "../shared/dom";
import { formatNs } from "../shared/format";
import { inflated, packedOf, Slices } from "../shared/packed";
import { shellWord, visible } from "../shared/names";
import { copyButton } from "../shared/clipboard";
import { evidenceList } from "../overview/findings";
import { HeatCard } from "./heat_card";
import { readHeat, type HeatMap } from "./heat";
import type { State } from "../shared/state";

function rankCard(rank: FleetRank): HTMLElement[] {
  const fields: [string, string][] = [
    ["Host", rank.host], ["GPU", rank.gpu], ["Own time", formatNs(rank.own_ns)],
    ["Above the median rank", rank.above_median_ns > 0 ? formatNs(rank.above_median_ns) : "no"], ["Wall time", formatNs(rank.wall_ns)],
    ["Finding", rank.finding], ["Problems", rank.problems],
  ];
  const command = `gprof-cli view ${shellWord(rank.path)}`;
  return [
    el("h2", { text: visible(rank.name) }), fieldList(fields),
    rank.path
      ? el("p", { class: "command" }, el("span", { class: "soft", text: "Its report and timeline:" }), el("code", { text: command }), copyButton("Copy", () => command, () => "Copied"))
      : el("p", { class: "soft", text: `Its timeline is in ${visible(rank.source)}, which was not available.` }),
  ];
}

function findingsCard(fleet: FleetData): HTMLElement {
  const list = el("ol", { class: "finding-list" }, ...fleet.findings.map((f) => el("li", {}, el("div", { class: `finding is-${f.severity}` },
    el("p", { class: "tags" }, el("code", { class: "finding-id", text: f.id })),
    el("h3", { text: visible(f.message) }),
    evidenceList(f),
    f.advice ? el("p", { class: "advice", text: visible(f.advice) }) : null))));
  return el("section", { class: "card findings", attributes: { "aria-labelledby": "findings-title" } },
    el("h2", { id: "findings-title", text: "Findings" }), fleet.findings.length > 0 ? list : el("p", { text: "No rank stands out." }));
}

async function heatOf(fleet: FleetData): Promise<HeatMap | null> {
  const packed = fleet.heat ? await packedOf("events-0", new Slices()) : null;
  if (!fleet.heat || !packed) return null;
  return readHeat(fleet.heat, new Uint8Array(await new Response(inflated(packed)).arrayBuffer()));
}

const MAX_WORST = 12;
const WORTH_NAMING = 0.02; // of its own time, above the median rank: as on the map

export function mountFleet(root: HTMLElement, state: State, fleet: FleetData): void {
  const card = el("section", { class: "card", id: "rank", attributes: { "aria-label": "Chosen rank", "aria-live": "polite" } });
  const place = el("div", {}, el("p", { class: "soft", text: fleet.heat ? "Loading the heat map …" : "These ranks have no steps and no operations in common, so there is no heat map." }));
  const ranks = fleet.heat?.ranks ?? [];
  const show = (rank: number): void => card.replaceChildren(...rankCard(ranks[rank]));
  const worst = ranks.map((rank, i) => ({ rank, i })).filter(({ rank }) => rank.above_median_ns > WORTH_NAMING * rank.own_ns).sort((a, b) => b.rank.above_median_ns - a.rank.above_median_ns);
  const worstList = el("ol", { class: "worst" }, ...worst.slice(0, MAX_WORST).map(({ rank, i }) =>
    el("li", {}, button(visible(rank.name), () => show(i), { class: "link" }), el("span", { class: "soft", text: ` +${formatNs(rank.above_median_ns)}` }))));
  root.append(
    el("section", { class: "hero" }, el("p", { class: "headline", text: visible(state.page.verdict) }), ...fleet.lines.map((line) => el("p", { class: "first-step", text: visible(line) }))),
    el("div", { class: "columns" },
      el("div", { class: "wide" }, findingsCard(fleet), place),
      el("div", { class: "narrow" }, worst.length > 0 ? el("section", { class: "card" }, el("h2", { text: "Worst ranks" }), worstList) : null, ranks.length > 0 ? card : null)));
  if (ranks.length > 0) show(worst[0]?.i ?? 0);
  void heatOf(fleet).then((map) => {
    if (map) place.replaceChildren(new HeatCard(map, show).element);
    document.body.dataset["events"] = "loaded";
  });
}
