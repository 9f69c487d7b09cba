// One stack from what runs on the GPU to the outermost frame: the operation, the CUDA call that launched it, and the frames
// that the call was made from; of a CPU sample, its frames and the CUDA call that it is in.
import { describe, placeOf } from "../../shared/events";
import { eventAt } from "../../shared/levels";
import { visible } from "../../shared/names";
import { framesOf, type Frame } from "../../shared/stacks";
import type { Field, Section } from "./event_details";
import type { Run, RunLane } from "../../shared/state";

interface Line {
  label: string;
  text: string;
  event?: number;
}

const LABELS: Record<Frame["kind"], string> = { "": "", native: "native", Python: "Python", kernel: "OS kernel", cut: "" };

const lineOf = ({ text, kind }: Frame): Line => ({ label: LABELS[kind], text: kind === "cut" ? `… ${text}` : text });

/** Lanes of the thread that the event belongs to. */
export function lanesBeside(run: Run, event: number, kind: RunLane["trackData"]["kind"]): RunLane[] {
  const { parent } = placeOf(run, event).lane.trackData;
  return run.lanes.filter((lane) => lane.trackData.kind === kind && lane.trackData.parent === parent);
}

/** The innermost CUDA call that the thread was in when the event began; null: none. */
export function callAround(run: Run, event: number): number | null {
  const { start_ns } = describe(run, event);
  let found: number | null = null;
  let depth = -1;
  for (const lane of lanesBeside(run, event, "api")) {
    const at = eventAt(lane.events, start_ns);
    if (at < 0 || lane.depth <= depth) continue;
    found = lane.events.first + at;
    depth = lane.depth;
  }
  return found;
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
  const isCall = placeOf(run, event).lane.trackData.kind === "os";
  const first = isCall ? [{ label: "OS call", text: describe(run, event).name }] : [];
  if (call === null) return frames.length > 0 ? section([...first, ...frames.map(lineOf)]) : [];
  // What is below the call is known from the call where the sample does not tell.
  const outer = frames.some(({ kind }) => kind === "Python") ? [] : framesOf(run, call).filter(({ kind }) => kind === "Python");
  const all = [...frames, ...outer];
  return all.length > 0 ? section([...first, ...withCall(run, all, call)]) : [];
}
