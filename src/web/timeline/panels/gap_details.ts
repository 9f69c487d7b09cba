// Why a GPU was idle: what the host did meanwhile, and what came before and after.
import { blameOf, callOf, describe, lanesOfKind, lanesUnder, nextOf, overlapping, partsOfGap, trackAround, valueOf } from "../../shared/events";
import { link, MAX_NEIGHBOURS, rangeFields, textField, type Field, type Section } from "./fields";
import type { ReportDocument } from "../../shared/data";
import { formatNs, formatPercent } from "../../shared/format";
import { causeMeaning } from "../../shared/labels";
import { lowerBound } from "../../shared/levels";
import { visible } from "../../shared/names";
import { num, rowsOf, str } from "../../shared/report";
import type { Run, RunLane } from "../../shared/state";

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const MAX_FUNCTIONS = 5;
const MAX_CALLS = 1000; // that are looked at

/** What the report knows of all idle time with this cause: functions by CPU samples, or calls of the operating system. */
export function functionSections(report: ReportDocument | null, cause: string): Section[] {
  const table = cause === "host" ? "idle_by_function" : cause === "os" || cause === "mpi" ? `idle_by_${cause}` : "";
  const rows = report && table ? rowsOf(report, table).slice(0, MAX_FUNCTIONS) : [];
  if (rows.length === 0) return [];
  const fields = rows.map((row) => ({ label: formatPercent(num(row, "percent")), value: [str(row, "function"), str(row, "module") || str(row, "object")].filter((t) => t).map(visible).join(", ") }));
  const title = cause === "host" ? "Functions in idle: host" : `Calls in idle: ${cause}`;
  return [{ title, note: cause === "host" ? "CPU samples of the launching thread, in the whole report." : "Percent of all idle time, in the whole report.", fields }];
}

function partsSection(run: Run, { events }: RunLane, { first, last }: { first: number; last: number }): Section {
  const shown = first === last ? [] : Array.from({ length: Math.min(last - first + 1, MAX_NEIGHBOURS) }, (_, i) => events.first + first + i);
  return { title: `Part of ${formatNs(events.end[last] - events.start[first])} without any operation`, fields: shown.flatMap((gap) => link(run, "", gap)) };
}

/** What the host did meanwhile: what is to blame, or for work that was launched before, the calls of that thread. */
function hostFields(run: Run, gap: number, blame: number | null): Field[] {
  if (blame === null) return [];
  const { start_ns, end_ns } = describe(run, gap);
  const blamed = describe(run, blame);
  if (blamed.start_ns < end_ns && blamed.end_ns > start_ns) return link(run, "The host was in", blame);
  const calls = overlapping(run.lanes.filter(({ track }) => track === blamed.lane.track), start_ns, end_ns, 3);
  if (calls.length === 0) return [{ label: "The host", value: "was not in a CUDA call" }];
  return calls.flatMap((call) => link(run, "The host was in", call));
}

/** Of the operating system or of MPI; it is known only where its calls were recorded. */
function waitFields(run: Run, gap: number): Field[] {
  const name = valueOf(run, gap, "function") - 1;
  if (name < 0) return [];
  const { start_ns, end_ns } = describe(run, gap);
  const within = (call: number): number => Math.min(describe(run, call).end_ns, end_ns) - Math.max(describe(run, call).start_ns, start_ns);
  const calls = overlapping(lanesOfKind(run, "os", "mpi"), start_ns, end_ns, MAX_CALLS).filter((call) => describe(run, call).name === run.data.names[name]);
  const [longest] = calls.sort((a, b) => within(b) - within(a)) as (number | undefined)[];
  return longest === undefined ? textField(run, gap, "function", "Blocked in") : link(run, "Blocked in", longest);
}

export function gapSections(run: Run, event: number): Section[] {
  const { name, lane, index } = describe(run, event);
  const parts = partsOfGap(lane.events, index);
  const start_ns = lane.events.start[parts.first];
  const blame = blameOf(run, event);
  const next = nextOf(run, event);
  const device = trackAround(run.data.tracks, lane.track, "device");
  const before = lanesUnder(run, device, "stream").flatMap(({ events }) => {
    const at = lowerBound(events.end, start_ns);
    return at < events.count && events.end[at] === start_ns ? [events.first + at] : [];
  });
  return [
    { title: "Why", note: sentence(causeMeaning(name)), fields: [...waitFields(run, event), ...hostFields(run, event, blame), ...rangeFields(run, event)] },
    partsSection(run, lane, parts),
    {
      title: "Before and after",
      fields: [
        ...before.slice(0, 1).flatMap((operation) => link(run, "Ran before", operation)),
        ...link(run, "Ended by", next),
        ...(next === null ? [] : link(run, "Launched by", callOf(run, next))),
        ...link(run, "Gap before", parts.first > 0 ? lane.events.first + parts.first - 1 : null),
        ...link(run, "Gap after", parts.last + 1 < lane.events.count ? lane.events.first + parts.last + 1 : null),
      ],
    },
  ];
}
