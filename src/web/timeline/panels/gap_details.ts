// Why a GPU was idle: what the host did meanwhile, and what came before and after.
import { blameOf, callOf, describe, lanesUnder, nextOf, overlapping, placeOf, trackAround, valueOf } from "../../shared/events";
import { link, MOST_NEIGHBOURS, rangeFields, type Field, type Section } from "./event_details";
import type { ReportDocument } from "../../shared/data";
import { formatNs, formatPercent } from "../../shared/format";
import { causeMeaning } from "../../shared/labels";
import { lowerBound } from "../../shared/levels";
import { visible } from "../../shared/names";
import { num, rowsOf, str } from "../../shared/report";
import type { LaneEvents, Run, RunLane } from "../../shared/state";

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** A gap is split by cause: the parts follow each other without anything between. */
function partsOf({ start, end, count }: LaneEvents, index: number): { first: number; last: number } {
  let first = index;
  let last = index;
  while (first > 0 && end[first - 1] === start[first]) --first;
  while (last + 1 < count && start[last + 1] === end[last]) ++last;
  return { first, last };
}

const MOST_FUNCTIONS = 5;
const MOST_CALLS = 1000; // that are looked at

/** What the report knows of all idle time with this cause: functions by CPU samples, or calls of the operating system. */
export function functionSections(report: ReportDocument | null, cause: string): Section[] {
  const table = cause === "host" ? "idle_by_function" : cause === "os" || cause === "mpi" ? `idle_by_${cause}` : "";
  const rows = report && table ? rowsOf(report, table).slice(0, MOST_FUNCTIONS) : [];
  if (rows.length === 0) return [];
  const fields = rows.map((row) => ({ label: formatPercent(num(row, "percent")), value: [str(row, "function"), str(row, "module") || str(row, "object")].filter((t) => t).map(visible).join(", ") }));
  const title = cause === "host" ? "Functions in idle: host" : `Calls in idle: ${cause}`;
  return [{ title, note: cause === "host" ? "CPU samples of the launching thread, in the whole report." : "Percent of all idle time, in the whole report.", fields }];
}

function wholeGap(run: Run, lane: RunLane, parts: { first: number; last: number }): Section[] {
  const { first, last } = parts;
  if (first === last) return [];
  const length = lane.events.end[last] - lane.events.start[first];
  const shown = Math.min(last, first + MOST_NEIGHBOURS - 1);
  const fields: Field[] = [];
  for (let i = first; i <= shown; ++i) fields.push(...link(run, "", lane.events.first + i));
  return [{ title: `Part of ${formatNs(length)} without any operation`, fields }];
}

/** What the host did meanwhile: what is to blame, or for work that was launched before, the calls of that thread. */
function hostFields(run: Run, gap: number, blame: number | null): Field[] {
  if (blame === null) return [];
  const { start_ns, duration_ns } = describe(run, gap);
  const end_ns = start_ns + duration_ns;
  const blamed = describe(run, blame);
  const isThen = blamed.start_ns < end_ns && blamed.start_ns + blamed.duration_ns > start_ns;
  if (isThen) return link(run, "The host was in", blame);
  const { track } = placeOf(run, blame).lane;
  const calls = overlapping(run.lanes.filter((lane) => lane.track === track), start_ns, end_ns, 3);
  if (calls.length === 0) return [{ label: "The host", value: "was not in a CUDA call" }];
  return calls.flatMap((call) => link(run, "The host was in", call));
}

/** Of the operating system or of MPI; it is known only where its calls were recorded. */
function waitFields(run: Run, gap: number): Field[] {
  const name = valueOf(run, gap, "function") - 1;
  if (name < 0) return [];
  const { start_ns, duration_ns } = describe(run, gap);
  const lanes = run.lanes.filter(({ trackData }) => trackData.kind === "os" || trackData.kind === "mpi");
  const within = (call: number): number => {
    const fields = describe(run, call);
    return Math.min(fields.start_ns + fields.duration_ns, start_ns + duration_ns) - Math.max(fields.start_ns, start_ns);
  };
  const calls = overlapping(lanes, start_ns, start_ns + duration_ns, MOST_CALLS).filter((call) => describe(run, call).name === run.data.names[name]);
  const longest = calls.sort((a, b) => within(b) - within(a))[0];
  return longest === undefined ? [{ label: "Blocked in", value: visible(run.data.names[name] ?? "") }] : link(run, "Blocked in", longest);
}

export function gapSections(run: Run, event: number): Section[] {
  const { name } = describe(run, event);
  const { lane, index } = placeOf(run, event);
  const parts = partsOf(lane.events, index);
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
    ...wholeGap(run, lane, parts),
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
