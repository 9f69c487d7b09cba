"""Hundreds of millions of events: a capture of them, and how reading grows with their number.

    GPROF_TEST_BUILD=BUILD tests/bench/run_scale.py --out DIR --capture 500e6 [--rate 6e6] [--kernels 20000]
    GPROF_TEST_BUILD=BUILD tests/bench/run_scale.py --out DIR --curve 10e6,30e6,100e6,300e6

--capture records event_storm: NVTX ranges from four threads at a steady rate, and kernels where there is a GPU. Once a
second the program says what its memory is; it is run alone as well, and the difference is the tracer's. The command
itself and the run folder are looked at meanwhile. Then: is all there (health), and info and report of that
trace. --curve does the same reading with traces of synthetic_trace, which are made side by side before.

Every step has a limit of time, none begins that is not likely to end within --limit-s, and results are written to
DIR/scale.json and DIR/scale.md as they come. Both options may be given. --folder is on a disk with room: 5 bytes an event
for the trace. Reports that would need more memory than there is are left out.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "gpu")]

import measured  # noqa: E402
import paired  # noqa: E402
import support  # noqa: E402
from run_long_capture import RunFolder  # noqa: E402
from run_recording import machine  # noqa: E402

STORM, MAKER = support.PROGRAMS / "event_storm", support.PROGRAMS / "synthetic_trace"
GUESSED_BYTES = 110  # an event in memory: docs/performance.md
ALONE_S = 3
# Before anything was measured: seconds an event. Then what the last smaller trace took is the measure.
GUESSED_S = {"info": 0.1e-6, "report": 0.6e-6}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--capture", type=float, default=0, metavar="EVENTS")
    parser.add_argument("--rate", type=float, default=6e6, help="events a second of the capture; 0: as fast as it goes")
    parser.add_argument("--kernels", type=float, default=20_000, help="launches a second of it, with a GPU")
    parser.add_argument("--threads", type=int, default=4, help="threads with ranges")
    parser.add_argument("--curve", default="", metavar="EVENTS,…", help="sizes of the traces of synthetic_trace")
    parser.add_argument("--without", action="append", default=[], choices=tuple(GUESSED_S), help="leave a step out")
    parser.add_argument("--limit-s", type=float, default=540)
    parser.add_argument("--folder", help="for traces; $TMPDIR or /var/tmp")
    parser.add_argument("--keep", action="store_true", help="keep the traces, in DIR")
    return parser.parse_args()


def facts(text):
    """What event_storm said: the points of its memory, and its end."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith('{"fact"')]
    points = [fact for fact in found if fact["fact"] == "memory"]
    return points, next((fact for fact in found if fact["fact"] == "end"), None)


def storm(arguments, events):
    words = [STORM, "-n", round(events), "--threads", arguments.threads, "--rate", round(arguments.rate)]
    return [*words, "--kernels", round(arguments.kernels)] if arguments.kernels else words


def with_difference(points, alone):
    """The points, with the memory that the program does not have alone."""
    base = {key: max(point[key] for point in alone) for key in ("anonymous_kib", "shared_kib")}
    return [{**point, **{key.replace("_kib", "_more_kib"): point[key] - base[key] for key in base}} for point in points]


def growth(points):
    """MiB: the least and the most that the tracer had after the first tenth of the events, and the last less the first."""
    late = [point for point in points if point["events"] * 10 >= points[-1]["events"]]
    memory = [(point["anonymous_more_kib"] + point["shared_more_kib"]) / 1024 for point in late]
    return {"least_mib": round(min(memory), 1), "most_mib": round(max(memory), 1), "end_less_begin_mib": round(memory[-1] - memory[0], 1)}


def capture(arguments, folder, limit):
    """One recording of many events, and what memory was meanwhile."""
    trace = folder / "capture.trace"
    alone = measured.run(*storm(arguments, max(arguments.rate, 1e6) * ALONE_S), env=support.environment(), limit_s=limit.left_s())
    if alone.why() is not None:
        return {"failed": alone.why()}, trace
    base = tempfile.mkdtemp(prefix="gprof-scale-run-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    watcher = RunFolder(base)
    watcher.start()
    try:
        words = [support.COMMAND, "profile", "-q", "-f", "-o", trace, "--", *storm(arguments, arguments.capture)]
        run = measured.run(*words, env=support.environment(GPROF_RUN_BASE=base), limit_s=limit.left_s(), sample_s=0.5,
                           output=folder / "capture.log")
    finally:
        watcher.is_over.set()
        watcher.join()
        shutil.rmtree(base, ignore_errors=True)
    points, end = facts((folder / "capture.log").read_text(errors="replace"))
    points = with_difference(points, facts(alone.output)[0])
    found = {**run.figures(), "points": points, "end": end, "run_folder_most_bytes": watcher.most}
    if trace.exists():
        found["bytes"] = trace.stat().st_size
    if points:
        found["memory"] = growth(points)
    return found, trace


def health(path):
    """What a report in JSON says of the trace as a whole."""
    document = json.loads(path.read_text())
    return {"events": document["trace"]["records"], "lost": document["health"]["lost_records"],
            "complete": document["health"]["complete"]}


def available_bytes():
    """Memory that a new program could have."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def no_room(size):
    """Why what keeps so many bytes cannot be done on this machine, None when it can."""
    return f"not enough memory: {paired.bytes_text(available_bytes())}" if size > available_bytes() else None


class Reader:
    """Reads traces; knows from each how long the next is likely to take, and how much room."""

    def __init__(self, arguments, folder, limit):
        self.arguments, self.folder, self.limit = arguments, folder, limit
        self.each_s, self.each_bytes = dict(GUESSED_S), GUESSED_BYTES

    def steps(self):
        return [step for step in GUESSED_S if step not in self.arguments.without]

    def words(self, step, trace):
        options = ["--format", "json", "-o", self.folder / "report.json"] if step == "report" else []
        return [support.COMMAND, step, trace, *options]

    def read(self, step, trace, events):
        """Figures of a step, and what it said of the trace."""
        why = no_room(events * self.each_bytes)
        expected = self.each_s[step] * events
        if why is None and not self.limit.has_room_for(expected):
            why = f"no time: about {expected:.0f} s"
        if why is not None:
            return {"skipped": why}, {}
        run = measured.run(*self.words(step, trace), env=support.environment(), limit_s=self.limit.left_s(), sample_s=0.05)
        if run.why() is not None:
            return run.figures(), {}
        self.each_s[step] = run.seconds * 1.2 / events
        if step == "report":
            self.each_bytes = run.peak_bytes / events
        return run.figures(), health(self.folder / "report.json") if step == "report" else {}


def make(events, folder, limit):
    path = folder / f"{events / 1e6:g}m.trace"
    run = measured.run(MAKER, "-n", round(events), "--out", path, limit_s=limit.left_s())
    return {"name": f"synthetic, {events / 1e6:g} million", "wanted": events, "making": run.figures(),
            "bytes": path.stat().st_size if path.exists() else 0}, path


def table(rows):
    heads = ["trace", "events", "file", "command", "on the clock", "µs an event", "processor", "memory at most", "bytes an event",
             "of it no page of a file"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        events = row.get("events") or row["wanted"]
        for step, figures in row.get("steps", {}).items():
            why = figures.get("skipped") or figures.get("failed")
            cells = [why or "", *[""] * 5] if why else figure_cells(figures, events)
            lines.append("| " + " | ".join([row["name"], f"{events:,.0f}", paired.bytes_text(row.get("bytes", 0)), step, *cells]) + " |")
    return "\n".join(lines) + "\n"


def figure_cells(figures, events):
    processor = figures["user_s"] + figures["system_s"]
    return [f"{figures['seconds']:.2f} s", f"{figures['seconds'] * 1e6 / events:.3f}",
            f"{figures['user_s']:.1f} + {figures['system_s']:.1f} s ({processor * 1e6 / events:.2f} µs)",
            paired.bytes_text(figures["peak_bytes"]), f"{figures['peak_bytes'] / events:.0f}",
            paired.bytes_text(figures.get("peak_anonymous_bytes", 0))]


def capture_text(row):
    if "points" not in row:
        return ""
    end = row["end"] or {"ranges": 0, "launches": 0}
    lines = [f"Capture: {row['seconds']:.1f} s, {paired.bytes_text(row.get('bytes', 0))}, events {row.get('events', '?')} for "
             f"{end['ranges']} ranges and {end['launches']} launches, lost {row.get('lost', '?')}, complete "
             f"{row.get('complete', '?')}; the command itself had {paired.bytes_text(row.get('peak_anonymous_bytes', 0))} of ordinary memory at most, the run folder "
             f"{paired.bytes_text(row['run_folder_most_bytes'])}. {json.dumps(row.get('memory'))}", "",
             "| s | events | anonymous, more than alone | shared memory, more |", "|---|---|---|---|"]
    every = max(1, len(row["points"]) // 20)
    for point in row["points"][::every]:
        lines.append(f"| {point['s']:.0f} | {point['events'] / 1e6:.1f} million | {point['anonymous_more_kib'] / 1024:.1f} MiB | "
                     f"{point['shared_more_kib'] / 1024:.1f} MiB |")
    return "\n".join(lines) + "\n"


def text_of(rows):
    made = [f"* {row['name']}: {why}" for row in rows for why in (row.get("failed"), row.get("making", {}).get("failed")) if why]
    texts = [*(capture_text(row) for row in rows), table(rows), "\n".join(["What did not work:", "", *made, ""]) if made else ""]
    return "\n".join(text for text in texts if text)


def read_all(row, trace, reader, save):
    row["steps"] = {}
    events = row.get("events") or row["wanted"]
    for step in reader.steps():
        row["steps"][step], found = reader.read(step, trace, events)
        row.update(found)
        save()


def captured(arguments, folder, limit, reader, rows, save):
    row = {"name": "capture", "wanted": arguments.capture}
    rows.append(row)
    found, trace = capture(arguments, folder, limit)
    row.update(found)
    save()
    if "failed" not in row:
        read_all(row, trace, reader, save)


def curve(sizes, folder, limit, reader, rows, save):
    """The traces are made side by side, the longest first; each is read when those before it are."""
    with concurrent.futures.ThreadPoolExecutor(len(sizes)) as pool:
        makers = {size: pool.submit(make, size, folder, limit) for size in sorted(sizes, reverse=True)}
        concurrent.futures.wait(makers.values())
        for size in sorted(sizes):
            row, trace = makers[size].result()
            rows.append(row)
            save()
            if "failed" not in row["making"]:
                read_all(row, trace, reader, save)


def why_not(arguments):
    if not arguments.capture and not arguments.curve:
        return "neither --capture nor --curve"
    wanted = [support.COMMAND, *([STORM] if arguments.capture else []), *([MAKER] if arguments.curve else [])]
    missing = [str(path) for path in wanted if not path.is_file()]
    return f"not built: {', '.join(missing)}" if missing else None


def main():
    arguments = parse_arguments()
    reason = why_not(arguments)
    if reason:
        print("skipped:", reason)
        return support.SKIP
    if support.gpu_count() == 0:
        arguments.kernels = 0
    limit, rows = measured.Limit(arguments.limit_s), []
    document = measured.Document(arguments.out, "scale", "gprof.scale/1", machine=machine(), rate=arguments.rate, rows=rows)

    def save():
        document.save(text_of(rows))

    with tempfile.TemporaryDirectory(prefix="gprof-scale-", dir=arguments.folder or os.environ.get("TMPDIR", "/var/tmp")) as name:
        folder = pathlib.Path(name)
        reader = Reader(arguments, folder, limit)
        if arguments.capture:
            captured(arguments, folder, limit, reader, rows, save)
        if arguments.curve:
            curve([float(text) for text in arguments.curve.split(",")], folder, limit, reader, rows, save)
        if arguments.keep:
            for trace in folder.glob("*.trace"):
                shutil.move(trace, arguments.out / trace.name)
    print(text_of(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
