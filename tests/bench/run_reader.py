"""How fast a trace becomes a report: seconds, records a second and memory of `gprof-cli report`.

    GPROF_TEST_BUILD=BUILD tests/bench/run_reader.py [--out DIR] [--rounds 5] TRACE...

Without a trace it records one: the launches of recording_bench with a GPU, the ranges of nvtx_bench without.
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))

import recorded  # noqa: E402
import support  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-n", type=int, default=1_000_000, help="operations of the trace that is recorded")
    return parser.parse_args()


def record(folder, count):
    trace = folder / "large.trace"
    if support.gpu_count() > 0 and (support.PROGRAMS / "recording_bench").is_file():
        program = ["recording_bench", "-n", count, "-r", 1, "--only", "launch,copy_pinned_4k_async,nvtx_push_pop"]
    else:
        program = ["nvtx_bench", "-n", count, "-r", 1]
    done = support.profile(trace, support.PROGRAMS / program[0], *program[1:])
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return trace


def ordinary_bytes(pid):
    """Memory of a process that is no page of a file."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(r"RssAnon:\s*(\d+) kB", status)
    return int(found.group(1)) * 1024 if found else 0


def run_once(*words):
    """Wall seconds, CPU seconds, and peaks of a command: of all its bytes, and of those that are no page of a file."""
    started = time.monotonic()
    pid = os.posix_spawn(words[0], [str(word) for word in words], os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    ordinary = 0
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        ordinary = max(ordinary, ordinary_bytes(pid))
        time.sleep(0.01)
    if status != 0:
        raise RuntimeError(f"{words} ended with status {status}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, ordinary


def measure(trace, rounds):
    document = json.loads(recorded.ask("report", trace, "--only", "health", "--format", "json"))
    records = document["trace"]["records"]
    runs = [run_once(support.COMMAND, "report", trace) for _ in range(rounds)]
    wall, cpu = statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)
    peak = max(run[2] for run in runs)
    return {"trace": trace.name, "bytes": trace.stat().st_size, "records": records, "seconds": round(wall, 4),
            "cpu_seconds": round(cpu, 4), "records_per_second": round(records / wall), "peak_bytes": peak, "peak_ordinary_bytes": max(run[3] for run in runs),
            "file_bytes_per_record": round(trace.stat().st_size / max(records, 1), 3),
            "memory_bytes_per_record": round(peak / max(records, 1), 2)}


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="gprof-bench-") as folder:
        traces = arguments.traces or [record(pathlib.Path(folder), arguments.n)]
        rows = [measure(trace, arguments.rounds) for trace in traces]
    print("| trace | records | file bytes a record | report, s | processor, s | records a second | memory, MB | "
          "of it no file, MB | memory bytes a record |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['trace']} | {row['records']:,} | {row['file_bytes_per_record']} | {row['seconds']:.3f} | "
              f"{row['cpu_seconds']:.2f} | {row['records_per_second']:,} | {row['peak_bytes'] / 1e6:.0f} | "
              f"{row['peak_ordinary_bytes'] / 1e6:.0f} | {row['memory_bytes_per_record']} |")
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "reader.json").write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
