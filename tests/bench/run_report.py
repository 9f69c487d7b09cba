"""From the end of a program to its report: gprof-cli and Nsight Systems on the same program, side by side.

    GPROF_TEST_BUILD=BUILD tests/bench/run_report.py --out DIR [--events 3e6,10e6] [--rounds 3] [--limit-s 540]

The program is recording_bench's training step with about as many events (launches, copies, ranges, waits), recorded by
both tools; without a GPU it is the ranges of nvtx_bench. Then: gprof-cli report, on all cores and on 1, 2, 4, 8 and 16 of
them; nsys export --type sqlite and nsys stats on that. Each is measured on the clock, of
processors, and by its memory. What takes longest comes last, and what would not end within --limit-s is left out.

    tests/bench/run_report.py --out out --events 3e6 --without nsys    # what gprof-cli takes, in half a minute
    tests/bench/run_report.py --out out --traces big.trace             # of traces that are there already

Writes DIR/report.json and DIR/report.md as results come. nsys needs libdw and libelf: GPROF_TEST_NSYS_LIBS
(tests/gpu/nsys.py). --folder is where traces lie meanwhile, about 100 bytes an event.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "gpu")]

import measured  # noqa: E402
import nsys  # noqa: E402
import paired  # noqa: E402
import support  # noqa: E402
from run_programs import nsys_events  # noqa: E402
from run_recording import machine  # noqa: E402

OURS, NSYS = "gprof-cli", "nsys"
CORES = (1, 2, 4, 8, 16)
# A report that takes little time is run more often: single runs differ by a third.
MOST_RUNS, SHORT_S = 9, 1.5
# Seconds a million events that a step may take before it is given up: ten times what a slow machine needs.
GIVEN_UP_S = {"record": 60, "report": 20, "stats": 60}
LEAST_S = 30


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--events", default="3e6,10e6", help="sizes of the recordings")
    parser.add_argument("--traces", nargs="*", default=[], type=pathlib.Path, help="look at these; record nothing")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each report, more of a short one; the median counts")
    parser.add_argument("--limit-s", type=float, default=540)
    parser.add_argument("--without", action="append", default=[], choices=(NSYS, "cores"))
    parser.add_argument("--folder", help="for traces, on a disk; $TMPDIR or /var/tmp")
    return parser.parse_args()


def program(events):
    """Words of a program with about as many events, and what it is."""
    if support.gpu_count() > 0 and (support.PROGRAMS / "recording_bench").is_file():
        # A tenth more comes first, to warm up.
        words = ["recording_bench", "-n", round(events / 1.1), "-r", 1, "--only", "training_step_event"]
        return [support.PROGRAMS / words[0], *words[1:]], "training steps of recording_bench"
    words = ["nvtx_bench", "-n", round(events / 2.2), "-r", 1, "--only", "nvtx_push_pop"]
    return [support.PROGRAMS / words[0], *words[1:]], "ranges of nvtx_bench"


def end_of(text):
    """The moment at which the program said that it ends, in ns of the monotonic clock."""
    found = re.findall(r'"end_ns": (\d+)', text)
    return int(found[-1]) if found else None


def seconds_to_end(run, ended_ns):
    """From the moment at which a program said that it ends to the end of its process."""
    end_ns = end_of(run.output)
    return (ended_ns - end_ns) / 1e9 if end_ns else None


def end_alone():
    """The same without a tracer: CUDA itself takes its time to end. It does not depend on what was done."""
    found = []
    for _ in range(3):
        run = measured.run(*program(1e5)[0], env=support.environment(), limit_s=LEAST_S)
        found.append(seconds_to_end(run, time.monotonic_ns()) if run.why() is None else None)
    return None if None in found else statistics.median(found)


def nsys_environment():
    return support.environment(LD_LIBRARY_PATH=nsys.environment()["LD_LIBRARY_PATH"])


def record(tool, events, folder, limit):
    """Figures of one recording, and its file."""
    words, what = program(events)
    product = folder / (f"{events:.0f}.trace" if tool == OURS else f"{events:.0f}.nsys-rep")
    if tool == OURS:
        words = [support.COMMAND, "profile", "-q", "-f", "-o", product, "--", *words]
    else:
        words = [nsys.find(), "profile", "-t", "cuda,nvtx", "-s", "none", "--cpuctxsw", "none", "-f", "true", "-o",
                 product.with_suffix(""), *words]
    environment = support.environment() if tool == OURS else nsys_environment()
    run = measured.run(*words, env=environment, limit_s=limit)
    ended_ns = time.monotonic_ns()
    found = {"program": what, **run.figures()}
    if run.why() is None:
        found.update(bytes=product.stat().st_size, end_to_trace_s=seconds_to_end(run, ended_ns))
    return found, product


def median_of(runs):
    """The figures of the run in the middle of those that count, by the clock; those of the last where none does."""
    good = [run for run in runs if run.why() is None]
    if not good:
        return runs[-1].figures()
    middle = sorted(good, key=lambda run: run.seconds)[(len(good) - 1) // 2]
    figures = {**middle.figures(), "runs": len(good)}
    figures["peak_bytes"] = max(run.peak_bytes for run in good)
    figures["user_s"] = round(statistics.median(run.user_s for run in good), 4)
    figures["system_s"] = round(statistics.median(run.system_s for run in good), 4)
    return figures


def are_enough(runs, rounds):
    return len(runs) >= rounds and (len(runs) >= MOST_RUNS or sum(run.seconds for run in runs) >= SHORT_S)


def reports(trace, arguments, limit, seconds):
    """{variant: figures} of the report, as far as the time goes."""
    usable, found = len(os.sched_getaffinity(0)), {}
    variants = {"report": None}
    if "cores" not in arguments.without:
        variants.update({f"report, {count} core{'s' * (count > 1)}": count for count in CORES if count <= usable})
    environment = support.environment(TMPDIR=str(trace.parent))
    for name, cores in variants.items():
        runs = []
        while not are_enough(runs, arguments.rounds):
            allowed = min(seconds, limit.left_s())
            if allowed < (runs[-1].seconds * 1.2 if runs else 1):
                break
            runs.append(measured.run(support.COMMAND, "report", trace, limit_s=allowed, cores=cores,
                                     env=environment))
            if runs[-1].why() is not None:
                break
        if runs:
            found[name] = median_of(runs)
    return found


def health(trace, seconds):
    path = trace.with_suffix(".health.json")
    words = [support.COMMAND, "report", trace, "--only", "health", "--format", "json", "-o", path]
    done = measured.run(*words, env=support.environment(), limit_s=seconds)
    if done.why() is not None:
        return {"failed": done.why()}
    document = json.loads(path.read_text())
    return {"events": document["trace"]["records"], "lost": document["health"]["lost_records"],
            "complete": document["health"]["complete"]}


def read_nsys(report, limit, seconds):
    """Figures of the export and of the statistics, and how many events there are."""
    database, found = report.with_suffix(".sqlite"), {}
    words = ["export", "--type", "sqlite", "--force-overwrite", "true", "-o", database, report]
    run = measured.run(nsys.find(), *words, env=nsys_environment(), limit_s=min(seconds, limit.left_s()))
    found["export --type sqlite"] = run.figures()
    if run.why() is not None:
        return found, {}
    facts = {"events": sum(nsys_events(database).values()), "database_bytes": database.stat().st_size}
    run = measured.run(nsys.find(), "stats", database, env=nsys_environment(), limit_s=min(seconds, limit.left_s()))
    found["stats"] = run.figures()
    return found, facts


def seconds_of(figures):
    if figures is None or "seconds" not in figures:
        return ""
    return "failed" if "failed" in figures else f"{figures['seconds']:.2f} s"


def text_of(results):
    """Two tables: what was recorded, and what reading it took."""
    heads = ["tool", "wanted", "events", "lost", "file", "bytes an event", "program and recording", "its end to the file"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in results:
        events, size, end_s = row.get("events"), row.get("bytes"), row.get("end_to_trace_s")
        cells = [row["tool"], f"{row['wanted']:,.0f}", f"{events:,}" if events else "", str(row.get("lost", "")),
                 paired.bytes_text(size) if size else "", f"{size / events:.2f}" if size and events else "",
                 seconds_of(row), f"{end_s:.2f} s" if end_s is not None else ""]
        if end_s is not None and row.get("end_alone_s") is not None:
            cells[-1] += f" ({row['end_alone_s']:.2f} s without a tracer)"
        lines.append("| " + " | ".join(cells) + " |")
    heads = ["tool", "wanted", "command", "on the clock", "processor, user + system", "memory at most", "bytes an event",
             "million events a second of a processor"]
    lines += ["", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in results:
        for name, figures in row.get("commands", {}).items():
            lines.append("| " + " | ".join([row["tool"], f"{row['wanted']:,.0f}", name, *command_cells(row, figures)]) + " |")
    failed = [f"* {row['tool']}, {row['wanted']:,.0f}: {why}" for row in results for why in failures(row)]
    return "\n".join(lines) + "\n" + ("\nWhat did not work:\n\n" + "\n".join(failed) + "\n" if failed else "")


def command_cells(row, figures):
    if "failed" in figures:
        return ["failed", "", "", "", ""]
    events, processor = row.get("events"), figures["user_s"] + figures["system_s"]
    return [f"{figures['seconds']:.2f} s", f"{figures['user_s']:.2f} + {figures['system_s']:.2f} s",
            paired.bytes_text(figures["peak_bytes"]), f"{figures['peak_bytes'] / events:.0f}" if events else "",
            f"{events / 1e6 / processor:.2f}" if events and processor else ""]


def failures(row):
    own = [row["failed"]] if "failed" in row else []
    return own + [f"{name}: {figures['failed']}" for name, figures in row.get("commands", {}).items() if "failed" in figures]


def main():
    arguments = parse_arguments()
    limit, results = measured.Limit(arguments.limit_s), []
    document = measured.Document(arguments.out, "report", "gprof.report_bench/1", machine=machine(), results=results)

    def save(row=None):
        if row is not None:
            results.append(row)
        document.save(text_of(results))

    def allowed(step, events):
        return min(limit.left_s(), LEAST_S + GIVEN_UP_S[step] * events / 1e6)

    def ours(row, trace):
        save(row)
        row.update(health(trace, limit.left_s()))
        save()
        row["commands"] = reports(trace, arguments, limit, allowed("report", row.get("events", row["wanted"])))
        save()

    with tempfile.TemporaryDirectory(prefix="gprof-report-", dir=arguments.folder or os.environ.get("TMPDIR", "/var/tmp")) as name:
        folder = pathlib.Path(name)
        for trace in arguments.traces:
            ours({"tool": OURS, "wanted": 0, "bytes": trace.stat().st_size}, trace)
        sizes = [] if arguments.traces else [float(text) for text in arguments.events.split(",")]
        for events in sizes:
            found, trace = record(OURS, events, folder, allowed("record", events))
            row = {"tool": OURS, "wanted": events, **found, "end_alone_s": end_alone()}
            save(row) if "failed" in found else ours(row, trace)
        for events in sizes if nsys.find() and NSYS not in arguments.without else []:
            if not limit.has_room_for(LEAST_S):
                break
            found, report = record(NSYS, events, folder, allowed("record", events))
            row = {"tool": NSYS, "wanted": events, **found}
            save(row)
            if "failed" not in row:
                row["commands"], facts = read_nsys(report, limit, allowed("stats", events))
                row.update(facts)
                save()
    print(text_of(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
