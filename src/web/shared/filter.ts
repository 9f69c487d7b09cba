// The language of the filter box, which links of findings use, too. Words and key:value pairs, all of which have to match:
//   saxpy            name contains it, in upper or lower case      "a b"  with blanks
//   name:x           name contains x                               name:"x"  name is exactly x
//   kind:kernel      kind, or a part of it: h2d, copy, api, sync, pageable, gap
//   stream:7 thread:519 gpu:0 track:memory    where it is
//   nvtx:step/load   path of NVTX ranges around it, or around the call that launched it (also path:)
//   cause:host       idle time by its cause
//   object:train.bin calls of the operating system by the file, lock or address that they are about
//   min:10us max:2ms duration
// Within quotes \" is a quote and \\ a backslash; "a,b" without quotes are alternatives, "-" before a term turns it around.
import { EVENT_KINDS } from "./data";
import { durationAt, tracksAround } from "./events";
import { markCount, markEvents, type Marks } from "./levels";
import { pathsOf } from "./paths";
import type { Run, RunLane } from "./state";

interface Term {
  key: string;
  values: string[]; // alternatives, in lower case
  isExact: boolean;
  isNegated: boolean;
}

const KEYS = new Set(["name", "kind", "stream", "thread", "gpu", "device", "track", "nvtx", "path", "cause", "object", "min", "max"]);

export function parseFilter(text: string): Term[] {
  const terms: Term[] = [];
  for (const match of text.matchAll(/(-?)(?:([a-z]+):)?(?:"((?:[^"\\]|\\.)*)"?|(\S+))/gi)) {
    const [, minus, key, , plain] = match;
    const quoted = match[3]?.replace(/\\(.)/g, "$1");
    const known = key && KEYS.has(key.toLowerCase()) ? key.toLowerCase() : "";
    const value = (known || !key ? "" : `${key}:`) + (quoted ?? plain ?? "");
    if (value === "" || (minus && value === "-")) continue;
    const splits = quoted === undefined && known !== "" && known !== "name" && known !== "nvtx" && known !== "path" && known !== "object";
    const values = (splits ? value.split(",") : [value]).filter((v) => v !== "").map((v) => v.toLowerCase());
    if (values.length === 0) continue;
    terms.push({ key: known || "name", values, isExact: quoted !== undefined && known !== "", isNegated: minus === "-" });
  }
  return terms;
}

const UNITS: Record<string, number> = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, "": 1 };

/** "10us" in ns; NaN: not a time. */
export function parseTime(text: string): number {
  const match = /^(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|)$/.exec(text);
  return match ? Number(match[1]) * UNITS[match[2]] : NaN;
}

/**
 * Whether a kind is meant by a word: "pageable_h2d" by itself, "pageable", "h2d" and "copy". Calls are not meant by the word of
 * what they launch: "copy" is the copies, "api_copy" the calls.
 */
function isKind(kind: string, word: string): boolean {
  const parts = kind.split("_");
  if (parts[0] === "api" && EVENT_KINDS.some((other) => other.split("_")[0] === parts[1])) parts.pop();
  if (parts[0] === "pageable") parts.push("copy");
  if (kind === "gap") parts.push("idle");
  return kind === word.replace(/-/g, "_") || parts.includes(word);
}

type Test = (lane: RunLane, index: number) => boolean;
/** What a part of the filter says of a whole lane, or else of each event. */
type Part = (lane: RunLane) => boolean | Test;

const fits = ({ values, isExact }: Term, text: string): boolean => values.some((v) => (isExact ? text === v : text.includes(v)));

/** By index into names: whether the term is about it. */
const matchingNames = (term: Term, run: Run): boolean[] => run.data.names.map((name) => fits(term, name.toLowerCase()));

function namePart(term: Term, run: Run): Part {
  const isMatch = matchingNames(term, run);
  return () => (lane, index) => isMatch[lane.events.name[index]];
}

function objectPart(term: Term, run: Run): Part {
  const isMatch = matchingNames(term, run);
  return (lane) => {
    const objects = lane.events.more.get("object");
    return objects ? (_, index) => objects[index] > 0 && isMatch[objects[index] - 1] : false;
  };
}

function kindPart(term: Term): Part {
  const isMatch = EVENT_KINDS.map((kind) => term.values.some((v) => isKind(kind, v)));
  return () => (lane, index) => isMatch[lane.events.kind[index]];
}

function trackPart(term: Term, run: Run): Part {
  const { tracks } = run.data;
  const kind = { stream: "stream", thread: "thread", gpu: "device", device: "device" }[term.key];
  const word = { stream: "stream ", thread: "thread ", gpu: "gpu", device: "gpu" }[term.key] ?? "";
  const isMatch = tracks.map((track) => {
    if (kind && track.kind !== kind) return false;
    const label = track.label.toLowerCase();
    if (!kind || term.isExact) return fits(term, label);
    return term.values.some((v) => ` ${label} `.includes(` ${word}${v} `) || (!/^\d+$/.test(v) && label.includes(v)));
  });
  return (lane) => tracksAround(tracks, lane.track).some((at) => isMatch[at]);
}

function pathPart(term: Term, run: Run): Part {
  const paths = pathsOf(run);
  const isMatch = Array.from({ length: paths.count }, (_, id) => id > 0 && fits(term, paths.text(id).toLowerCase()));
  return (lane) => lane.trackData.kind !== "marks" && ((_, index) => isMatch[paths.idOf(lane.events.first + index)]);
}

function timePart(term: Term): Part {
  const limit = parseTime(term.values[0]);
  const isWithin = term.key === "min" ? (ns: number) => ns >= limit : (ns: number) => ns <= limit;
  return () => !Number.isNaN(limit) && ((lane, index) => isWithin(durationAt(lane.events, index)));
}

function causePart(term: Term, run: Run): Part {
  const part = namePart({ ...term, isExact: true }, run);
  return (lane) => lane.trackData.kind === "gaps" && part(lane);
}

function partOf(term: Term, run: Run): Part {
  switch (term.key) {
    case "kind": return kindPart(term);
    case "stream": case "thread": case "gpu": case "device": case "track": return trackPart(term, run);
    case "nvtx": case "path": return pathPart(term, run);
    case "cause": return causePart(term, run);
    case "object": return objectPart(term, run);
    case "min": case "max": return timePart(term);
    default: return namePart(term, run);
  }
}

/** A filter for the events of a run: for each lane false (nothing matches), true (all do) or a test. */
function compile(text: string, run: Run): Part {
  const parts = parseFilter(text).map((term) => ({ part: partOf(term, run), isNegated: term.isNegated }));
  return (lane) => {
    const tests: Test[] = [];
    for (const { part, isNegated } of parts) {
      const verdict = part(lane);
      if (typeof verdict !== "boolean") tests.push(isNegated ? (l, i) => !verdict(l, i) : verdict);
      else if (verdict === isNegated) return false;
    }
    if (tests.length < 2) return tests[0] ?? true;
    return (l, i) => tests.every((test) => test(l, i));
  };
}

/** Whether an event matches: for tables and other parts that look at single events. An empty filter matches all. */
export function compileFilter(text: string, run: Run): Test {
  const compiled = compile(text, run);
  const verdicts = new Map(run.lanes.map((lane) => [lane, compiled(lane)]));
  return (lane, index) => {
    const verdict = verdicts.get(lane) ?? false;
    return typeof verdict === "boolean" ? verdict : verdict(lane, index);
  };
}

/** Ranges on a GPU stand for what else is there: they are drawn as matches, but not counted and not visited. */
export const isProjected = (lane: RunLane): boolean => lane.trackData.kind === "projection";

/** What a filter found in a run. */
export interface Matches {
  readonly marks: ReadonlyMap<RunLane, Marks>; // lanes that are not in it have no match
  readonly count: number; // of events of the trace
  readonly time_ns: number;
}

function timeOf({ events }: RunLane, { bits }: Marks): number {
  let sum = 0;
  for (let i = 0; i < bits.length; ++i) if (bits[i] === 1) sum += durationAt(events, i);
  return sum;
}

/** All events of the run that match, in slices; null: `isStale` said that nobody wants it any more. */
export async function findMatches(
  run: Run, text: string, slices: { rest(): Promise<void> }, isStale: () => boolean,
): Promise<Matches | null> {
  const compiled = compile(text, run);
  const found = new Map<RunLane, Marks>();
  let count = 0;
  let time_ns = 0;
  for (const lane of run.lanes) {
    const verdict = compiled(lane);
    if (verdict === false) continue;
    const marks = markEvents(lane.events, verdict === true ? () => true : (i) => verdict(lane, i));
    const matches = markCount(marks);
    if (matches > 0) found.set(lane, marks);
    if (!isProjected(lane)) {
      count += matches;
      time_ns += timeOf(lane, marks);
    }
    await slices.rest();
    if (isStale()) return null;
  }
  return { marks: found, count, time_ns };
}
