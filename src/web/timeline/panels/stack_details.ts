// One stack from what runs on the GPU to the outermost frame: the operation, the CUDA call that launched it, and the frames
// that the call was made from; of a CPU sample, its frames and the CUDA call that it is in.
import { FRAME_KINDS, type TrackKind } from "../../shared/data";
import { describe, lanesOfKind, valueOf } from "../../shared/events";
import { eventAt } from "../../shared/levels";
import { visible } from "../../shared/names";
import type { Field, Section } from "./fields";
import type { Run, RunLane } from "../../shared/state";

interface Frame {
  text: string;
  kind: (typeof FRAME_KINDS)[number];
}

/** The frames that an event was found in or called from, the innermost first. */
export function framesOf(run: Run, event: number): Frame[] {
  const frames: Frame[] = [];
  const { stacks } = run;
  if (!stacks) return frames;
  let node = valueOf(run, event, "stack") - 1;
  while (node >= 0 && node < stacks.parent.length) {
    const kind = FRAME_KINDS[stacks.kind[node]] ?? "";
    const name = run.data.names[stacks.name[node]] ?? "";
    // Functions that were inlined are one frame, the innermost last.
    const functions = kind === "native" ? name.split(";").reverse() : [name];
    for (const text of functions) frames.push({ text, kind });
    const parent = stacks.parent[node] - 1;
    if (parent >= node) break; // damaged
    node = parent;
  }
  return frames;
}

interface Line {
  label: string;
  text: string;
  event?: number;
}

const LABELS: Record<Frame["kind"], string> = { "": "", native: "native", Python: "Python", kernel: "OS kernel", cut: "" };

const lineOf = ({ text, kind }: Frame): Line => ({ label: LABELS[kind], text: kind === "cut" ? `… ${text}` : text });

/** Lanes of the thread that the event belongs to. */
export function lanesBeside(run: Run, event: number, ...kinds: TrackKind[]): RunLane[] {
  const { parent } = describe(run, event).track;
  return lanesOfKind(run, ...kinds).filter(({ trackData }) => trackData.parent === parent);
}

/** The innermost CUDA call that the thread was in when the event began; null: none. */
export function callAround(run: Run, event: number): number | null {
  const { start_ns } = describe(run, event);
  const calls = lanesBeside(run, event, "api").sort((a, b) => b.depth - a.depth);
  for (const { events } of calls) {
    const at = eventAt(events, start_ns);
    if (at >= 0) return events.first + at;
  }
  return null;
}

/** The call within the frames: in the place of the frame that is its function, else around what is not Python. */
function withCall(run: Run, frames: readonly Frame[], call: number): Line[] {
  const name = describe(run, call).name;
  const line = { label: "CUDA call", text: name, event: call };
  const own = frames.findIndex(({ text, kind }) => kind === "native" && text === name);
  const lines = frames.map(lineOf);
  if (own >= 0) return [...lines.slice(0, own), line, ...lines.slice(own + 1)];
  const python = frames.findIndex(({ kind }) => kind === "Python");
  const at = python < 0 ? frames.length : python;
  return [...lines.slice(0, at), line, ...lines.slice(at)];
}

function section(lines: readonly Line[]): Section[] {
  const fields = lines.map(({ label, text, event }, i): Field => ({
    label: i > 0 && lines[i - 1].label === label ? "" : label, value: visible(text), ...(event === undefined ? {} : { event }),
  }));
  return [{ title: "Stack, the innermost frame first", fields }];
}

/** Of a CUDA call, and of an operation that it launched; nothing where no frames are known. */
export function stackOfCall(run: Run, call: number | null, operation: number | null): Section[] {
  const frames = call === null ? [] : framesOf(run, call);
  if (call === null || frames.length === 0) return [];
  const gpu = operation === null ? [] : [{ label: "GPU", text: describe(run, operation).name, event: operation }];
  return section([...gpu, { label: "CUDA call", text: describe(run, call).name, event: call }, ...frames.map(lineOf)]);
}

/** Of a CPU sample or a call of the operating system. */
export function stackOfEvent(run: Run, event: number): Section[] {
  const frames = framesOf(run, event);
  const call = callAround(run, event);
  const { track, name } = describe(run, event);
  const first = track.kind === "os" ? [{ label: "OS call", text: name }] : [];
  if (call === null) return frames.length > 0 ? section([...first, ...frames.map(lineOf)]) : [];
  // What is below the call is known from the call where the sample does not tell.
  const outer = frames.some(({ kind }) => kind === "Python") ? [] : framesOf(run, call).filter(({ kind }) => kind === "Python");
  const all = [...frames, ...outer];
  return all.length > 0 ? section([...first, ...withCall(run, all, call)]) : [];
}
