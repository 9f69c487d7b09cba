"""All that docs/performance.md and docs/overhead.md promise, measured in one run on one machine, against the targets.

    GPROF_TEST_BUILD=BUILD tests/bench/run_targets.py --out DIR [--rounds 3] [--limit-s 560] [--without nsys]

Runs the benchmarks of this folder one after the other (run_recording.py with recording_bench and nvtx_bench,
run_report.py, synthetic traces on one core) and measures what is left: how long the command takes to start, and how
large its files are. Then it prints the tables of all of them, and in front of these one of the targets of the design:
what was measured, what Nsight Systems took in the same run, and whether the target was met. Without a GPU there are
only those rows that need none. Ten minutes with nsys, which takes half of that; what would not end within --limit-s is
left out, and its rows stay empty.

Writes DIR/targets.json and DIR/targets.md after every step, beside what the benchmarks write.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "gpu"), str(HERE.parents[1] / "examples")]

import measured  # noqa: E402
import nsys  # noqa: E402
import read_trace  # noqa: E402
import support  # noqa: E402
from run_recording import FLOOR, IDLE, NSYS, OURS, UNTRACED, machine  # noqa: E402
from run_report import nsys_environment  # noqa: E402

SYNTHETIC = (1_000_000, 3_000_000, 10_000_000)
# Seconds that a step takes at most on a machine such as docs/overhead.md has; without nsys less.
RECORDING_S, NVTX_S, REPORT_S, READER_S = 80, 20, 200, 40
RECORDED_BY_CALLBACKS = ("launch", "launch_4_threads", "launch_and_stream_sync", "copy_pinned_4k_async")
CHEAP = ("cudaGetDevice", "cudaStreamQuery")
NOISE = 1.02  # what medians of one build differ by from run to run; docs/overhead.md has the spread


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-s", type=float, default=560)
    parser.add_argument("--without", action="append", default=[], choices=("nsys",))
    return parser.parse_args()


# ---- the rows ----


@dataclasses.dataclass
class Target:
    what: str
    target: str
    figure: str = ""
    peer: str = ""
    is_met: bool | None = None  # None: not measured

    def cells(self):
        verdict = {None: "not measured", True: "met" if self.target else "", False: "MISSED"}[self.is_met]
        return [self.what, self.figure, self.target, self.peer, verdict]


def medians(recording):
    """{operation: {variant: [ns of each round]}} of a document of run_recording.py"""
    count = (recording or {}).get("repetitions", 1)

    def of_rounds(times):
        return [statistics.median(times[i:i + count]) for i in range(0, len(times), count)]

    return {operation: {variant: of_rounds(times) for variant, times in variants.items()}
            for operation, variants in (recording or {}).get("samples_ns", {}).items()}


def ratio(found, ours, other):
    """The median of the ratios within each round, as processes differ by a third from round to round; None without any."""
    ratios = [a / b for a, b in zip(found.get(ours, []), found.get(other, [])) if b > 0]
    return statistics.median(ratios) if ratios else None


def ratio_row(what, target, found, ours, other, limit):
    """A row of `ours` by `other`, both names of variants in `found`."""
    row = Target(what, target)
    mine, peer = ratio(found, ours, other), ratio(found, NSYS, other)
    if mine is not None:
        row.figure, row.is_met = f"{mine:.2f}", mine <= limit
    if peer is not None:
        row.peer = f"{peer:.2f}"
    return row


def recording_rows(recording, nvtx):
    calls, ranges = medians(recording), medians(nvtx)
    rows = [ratio_row(f"{name}, by the floor of CUPTI", "1.00", calls.get(name, {}), OURS, FLOOR, NOISE)
            for name in RECORDED_BY_CALLBACKS]
    rows += [ratio_row(f"{name}, by untraced", "1.05", calls.get(name, {}), OURS, UNTRACED, 1.05 * NOISE) for name in CHEAP]
    rows.append(ratio_row("launch with an idle tracer, by untraced", "1.00", {**calls.get("launch", {}), NSYS: []}, IDLE,
                          UNTRACED, NOISE))
    pushes = {variant: statistics.median(times) for variant, times in ranges.get("nvtx_push_pop", {}).items() if times}
    row = Target("NVTX push + pop", "50 ns")
    if pushes.get(OURS):
        row.figure, row.is_met = f"{pushes[OURS]:.0f} ns", pushes[OURS] <= 50
    if pushes.get(NSYS):
        row.peer = f"{pushes[NSYS]:.0f} ns"
    return [*rows, row]


def report_rows(report):
    """Of a document of run_report.py: the first recording of each tool."""
    found = {row["tool"]: row for row in reversed((report or {}).get("results", []))}
    ours, peer = found.get(OURS, {}), found.get(NSYS, {})
    events, commands = ours.get("events"), ours.get("commands", {})
    rows = [Target("from the end of the program to its trace", "0.10 s"), Target("bytes an event on disk", "6"),
            Target("report, all cores", "0.15 s"), Target("report, million events a second on one core", "20"),
            Target("memory of report, bytes an event", "48")]
    if not events:
        return rows
    if ours.get("end_to_trace_s") is not None:
        alone_s = ours.get("end_alone_s")
        rows[0].figure = f"{ours['end_to_trace_s']:.2f} s" + (f", {alone_s:.2f} s without a tracer" if alone_s else "")
        rows[0].is_met = ours["end_to_trace_s"] - (alone_s or 0) <= 0.1
    rows[1].figure, rows[1].is_met = f"{ours['bytes'] / events:.1f}", ours["bytes"] <= 6 * events
    rows[2].what += f" (a real trace of {events / 1e6:.2f} million events)"
    every, one = commands.get("report", {}), commands.get("report, 1 core", {})
    if "seconds" in every:
        limit_s = 0.15 * events / 3e6  # the target is for 3 million
        rows[2].figure, rows[2].is_met = f"{every['seconds']:.2f} s", every["seconds"] <= limit_s
        rows[4].figure, rows[4].is_met = f"{every['peak_bytes'] / events:.0f}", every["peak_bytes"] <= 48 * events
    if "seconds" in one:
        rows[3].figure, rows[3].is_met = f"{events / 1e6 / one['seconds']:.1f}", events >= 20e6 * one["seconds"]
    if peer.get("end_to_trace_s") is not None:
        rows[0].peer = f"{peer['end_to_trace_s']:.1f} s"
    if peer.get("events") and peer.get("bytes"):
        rows[1].peer = f"{peer['bytes'] / peer['events']:.1f}"
    took = [figures.get("seconds") for figures in peer.get("commands", {}).values()]
    if len(took) == 2 and all(took):
        rows[2].peer = f"{sum(took):.1f} s: export, stats"
    return rows


def reader_rows(reader):
    rows = []
    for figures in reader or []:
        rate = figures["records"] / figures["seconds"] / 1e6
        rows.append(Target(f"report, synthetic trace of {figures['records'] / 1e6:.0f} million, million events a second on one core",
                           "20", f"{rate:.1f} ({figures['seconds']:.3f} s)", "", rate >= 20))
    return rows


def command_rows(command):
    rows = [Target("start of the command (`gprof-cli version`)", ""), Target("size of the installed files", "10 MB")]
    if command:
        rows[0].figure, rows[0].is_met = f"{command['start_s'] * 1e3:.1f} ms", True
        rows[1].figure, rows[1].is_met = f"{command['installed_bytes'] / 1e6:.1f} MB", command["installed_bytes"] <= 10e6
    return rows


def markdown(heads, rows):
    return "\n".join(["| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *rows)]) + "\n"


def text_of(found):
    """The whole page of a document; its steps may be missing."""
    rows = [*recording_rows(found.get("recording"), found.get("nvtx")), *report_rows(found.get("report")),
            *reader_rows(found.get("reader")), *command_rows(found.get("command"))]
    about = found["machine"]
    gpus = "; ".join((about.get("gpu") or "no GPU").splitlines())
    lines = [f"{found['date']}, {gpus}, {about['cores']} cores, {about['cpu']}, {found['version']}", "",
             markdown(["what", "gprof-cli", "target", "Nsight Systems", ""], [row.cells() for row in rows])]
    by_kind = found.get("bytes_by_kind") or {}
    if by_kind:
        total = sum(figures["records"] for figures in by_kind.values())
        lines.append(markdown(["kind of record", "records", "bytes a record"],
                              [[kind, f"{figures['records']:,}", f"{figures['bytes'] / figures['records']:.2f}"]
                               for kind, figures in by_kind.items() if figures["records"] * 1000 >= total]))
    lines += [f"`{name}`\n\n{found['tables'][name]}" for name in found.get("tables", {})]
    return "\n".join(lines)


# ---- what no other script measures ----


def kinds():
    """{number: name} of the kinds of records"""
    text = (support.SOURCE / "include" / "gprof" / "trace" / "record.h").read_text()
    body = text.split("enum class RecordKind")[1].split("};")[0]
    return {int(number): name for name, number in re.findall(r"^  k(\w+) = (\d+),", body, re.M)}


def bytes_by_kind(data):
    """{kind: {"records", "bytes"}} of a trace; headers of chunks count for the kind that they are about."""
    names, found = kinds(), {}
    for _, chunk_kind, body in read_trace.chunks(data):
        at, header = 0, read_trace.HEADER.size
        while at < len(body):
            begin = at
            kind, at = read_trace.varint(body, at)
            count, at = read_trace.varint(body, at)
            _, at = read_trace.varint(body, at)
            size, at = read_trace.varint(body, at)
            at += size
            of_kind = found.setdefault(names.get(kind, str(kind)), {"records": 0, "bytes": 0})
            of_kind["records"] += count
            of_kind["bytes"] += at - begin + (header if kind == chunk_kind else 0)
            header = 0 if kind == chunk_kind else header
    return dict(sorted(found.items(), key=lambda entry: -entry[1]["bytes"]))


def installed_bytes(folder):
    """What the package of the command has: stripped, the tracer included."""
    if shutil.which("cmake") and (support.BUILD / "cmake_install.cmake").is_file():
        words = ["cmake", "--install", support.BUILD, "--component", "gprof", "--strip", "--prefix", folder]
        if subprocess.run([str(word) for word in words], capture_output=True).returncode == 0:
            return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file() and not path.is_symlink())
    # A tree that was carried here: the two files that matter.
    size = 0
    for path in (support.COMMAND, *(support.BUILD / "lib" / "gprof-cli").glob("*.so")):
        stripped = pathlib.Path(folder) / path.name
        if subprocess.run(["strip", "-o", stripped, path], capture_output=True).returncode != 0:
            stripped = path
        size += stripped.stat().st_size
    return size


def measure_command():
    runs = [measured.run(support.COMMAND, "version", env=support.environment()) for _ in range(21)]
    with tempfile.TemporaryDirectory() as folder:
        return {"start_s": statistics.median(run.seconds for run in runs), "installed_bytes": installed_bytes(folder)}


def measure_reader(rounds, limit):
    """Reports of synthetic traces on one core."""
    found = []
    with tempfile.TemporaryDirectory(prefix="gprof-targets-") as folder:
        for count in SYNTHETIC:
            trace = pathlib.Path(folder) / f"{count}.trace"
            if not limit.has_room_for(READER_S / 2):
                break
            made = measured.run(support.PROGRAMS / "synthetic_trace", "-n", count, "--out", trace, limit_s=limit.left_s())
            if made.why() is not None:
                break
            runs = [measured.run(support.COMMAND, "report", trace, env=support.environment(), cores=1, limit_s=limit.left_s())
                    for _ in range(2 * rounds + 1)]
            good = [run for run in runs if run.why() is None]
            if good:
                found.append({"records": count, "seconds": statistics.median(run.seconds for run in good),
                              "user_s": statistics.median(run.user_s for run in good), "peak_bytes": max(run.peak_bytes for run in good)})
    return found


def bytes_of_training_step(limit):
    """By kind, of a short recording of the program that run_report.py records as well."""
    with tempfile.TemporaryDirectory(prefix="gprof-targets-") as folder:
        trace = pathlib.Path(folder) / "step.trace"
        words = [support.COMMAND, "profile", "-q", "-o", trace, "--", support.PROGRAMS / "recording_bench", "-n", 100_000, "-r", 1,
                 "--only", "training_step_event"]
        done = measured.run(*words, env=support.environment(), limit_s=limit.left_s())
        return bytes_by_kind(trace.read_bytes()) if done.why() is None else {}


def run_script(name, stem, out, limit, *options):
    """Runs another benchmark, and returns its document and its page as far as it came."""
    environment = {**nsys_environment(), "GPROF_TEST_BUILD": str(support.BUILD)}
    for key in ("GPROF_TEST_NSYS", "GPROF_TEST_NSYS_LIBS", "LD_LIBRARY_PATH"):
        environment.setdefault(key, os.environ.get(key, ""))
    words = [sys.executable, "-B", HERE / name, "--out", out, *options]
    done = measured.run(*words, env=environment, limit_s=limit.left_s())
    if done.why() is not None:
        print(f"{name}: {done.why()}", file=sys.stderr)
    document, page = out / f"{stem}.json", out / f"{stem}.md"
    if not document.is_file():
        return None, ""
    return json.loads(document.read_text()), page.read_text()


def steps(arguments, limit, found):
    """(name, seconds it may take, function that measures it): the cheapest first."""
    has_gpu, with_nsys = support.gpu_count() > 0, bool(nsys.find()) and "nsys" not in arguments.without
    rounds = ["--rounds", str(arguments.rounds)]

    def script(key, name, stem, *options):
        found[key], page = run_script(name, stem, arguments.out, limit, *options)
        if page:
            found["tables"][" ".join([name, *options])] = page

    left_out = [] if with_nsys else ["--without", "nsys"]
    yield "command", 10, lambda: found.update(command=measure_command())
    yield "reader", READER_S, lambda: found.update(reader=measure_reader(arguments.rounds, limit))
    nvtx_options = ["--program", "nvtx_bench", "-n", "200000", "-r", "5", *rounds, *left_out]
    yield "nvtx", NVTX_S, lambda: script("nvtx", "run_recording.py", "nvtx_bench", *nvtx_options)
    if not has_gpu:
        return
    yield "bytes by kind", 20, lambda: found.update(bytes_by_kind=bytes_of_training_step(limit))
    yield "recording", RECORDING_S, lambda: script("recording", "run_recording.py", "recording", "-n", "40000", *rounds, *left_out)
    yield "report", REPORT_S / 4, lambda: script("report", "run_report.py", "report", "--events", "3e6", *rounds, *left_out,
                                                 "--limit-s", str(max(30, round(limit.left_s() - 10))))


def main():
    arguments = parse_arguments()
    limit = measured.Limit(arguments.limit_s)
    version = measured.run(support.COMMAND, "version").output.splitlines()[0]
    now = datetime.datetime.now(datetime.timezone.utc)
    found = {"date": now.strftime("%Y-%m-%d %H:%M UTC"), "version": version, "machine": machine(), "tables": {}}
    document = measured.Document(arguments.out.resolve(), "targets", "gprof.targets/1")
    document.facts.update(found)
    found = document.facts  # grows with each step
    arguments.out = arguments.out.resolve()
    for name, seconds, measure in steps(arguments, limit, found):
        if not limit.has_room_for(seconds):
            print(f"no time for {name}", file=sys.stderr)
            continue
        print(f"{name} …", file=sys.stderr)
        measure()
        document.save(text_of(found))
    print(text_of(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
