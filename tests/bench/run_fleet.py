"""A thousand ranks: what `ranks` takes for them, and HolisticTraceAnalysis for captures that both read.

    GPROF_TEST_BUILD=BUILD tests/bench/run_fleet.py --folder DIR [--ranks 1024] [--records 3e6] [--different 32]
    GPROF_TEST_BUILD=BUILD tests/bench/run_fleet.py --hta FOLDER --python PYTHON

The first makes so many different traces with synthetic_trace, reads as many of them as --read says with one and with two
workers, and says what all ranks would take: ranks are read one by one, so that the time of each is the measure. It makes a
partial of each of them as well, joins these, and reads the result. The second compares wall time and memory on the same JSON
files, one process each, PYTHON having HolisticTraceAnalysis, which only reads them: its breakdown fails on captures that have
no kernels.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ["GPROF_TEST_BUILD"])
CLI, MAKER = BUILD / "bin" / "gprof-cli", BUILD / "tests" / "bin" / "synthetic_trace"

HTA = """
import json, sys
from hta.trace_analysis import TraceAnalysis
files = {rank: path for rank, path in enumerate(sys.argv[1:])}
print(len(TraceAnalysis(trace_files=files, trace_dir="").t.traces))
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--records", type=float, default=3e6)
    parser.add_argument("--different", type=int, default=32)
    parser.add_argument("--read", type=int, default=32, help="traces that are read")
    parser.add_argument("--hta", type=pathlib.Path, help="folder of .json.gz captures")
    parser.add_argument("--python", help="with HolisticTraceAnalysis")
    return parser.parse_args()


def timed(*words):
    """Seconds on the clock, seconds of processors, and the largest memory of a process, of it and its children."""
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{words[0]} ended with {process.returncode}: {errors[-500:]}")
    return {"wall_s": round(time.monotonic() - start, 2), "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
            "peak_mib": round(usage.ru_maxrss / 1024, 1)}


def make(arguments):
    arguments.folder.mkdir(parents=True, exist_ok=True)
    paths = [arguments.folder / f"rank{i}.trace" for i in range(min(arguments.different, arguments.ranks))]
    for i, path in enumerate(paths):
        if not path.exists():
            subprocess.run([MAKER, "-n", str(int(arguments.records)), "--out", path, "--rank", str(i + 1), "--ranks",
                            str(arguments.ranks)], check=True)
    return paths


def measure_ranks(arguments):
    read = make(arguments)[: arguments.read]
    found = {"ranks_read": len(read), "records_each": int(arguments.records)}
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            part = pathlib.Path(folder) / f"{workers}.gpart"
            taken = timed(CLI, "ranks", *read, "--workers", workers, "-o", part)
            each_s = taken["wall_s"] / len(read)
            found[f"workers_{workers}"] = {**taken, "s_a_rank": round(each_s, 4), "s_for_all": round(each_s * arguments.ranks, 1)}
        found.update(measure_partials(read, pathlib.Path(folder)))
    return found


def measure_partials(traces, folder):
    """A file for each rank, which are joined; then what reads the result."""
    parts = [folder / f"{i}.gpart" for i in range(len(traces))]
    for trace, part in zip(traces, parts):
        subprocess.run([CLI, "partial", trace, "-o", part], check=True)
    sizes, merged = sorted(part.stat().st_size for part in parts), folder / "merged.gpart"
    found = {"bytes_of_a_partial": {"median": sizes[len(sizes) // 2], "largest": sizes[-1]}}
    found["merge"] = timed(CLI, "merge", *parts, "-o", merged)
    for command in ("ranks", "report"):
        found[f"{command}_of_the_result"] = timed(CLI, command, merged)
    return found


def compare_with_hta(arguments):
    paths = sorted(arguments.hta.glob("*.json.gz"))[:8]
    found = {"files": len(paths), "gprof-cli": timed(CLI, "ranks", *paths)}
    found["HolisticTraceAnalysis"] = timed(arguments.python, "-c", HTA, *paths)
    return found


def main():
    arguments = parse_arguments()
    found = {"cores": len(os.sched_getaffinity(0))}
    found.update(compare_with_hta(arguments) if arguments.hta else measure_ranks(arguments))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
