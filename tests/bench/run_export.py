"""How fast a trace becomes a file of another tool: seconds, operations, calls and ranges a second, and bytes.

    GPROF_TEST_BUILD=BUILD tests/bench/run_export.py [--rounds 3] [--formats perfetto,chrome] TRACE

The time is that of the whole command, reading the trace included.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))

import recorded  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formats", default="perfetto,chrome,chrome.gz", help="those of `export --list`, with .gz compressed")
    return parser.parse_args()


def run_once(*words):
    """Wall seconds, CPU seconds and peak bytes of a command."""
    started = time.monotonic()
    pid = os.posix_spawn(words[0], [str(word) for word in words], os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"{words} ended with status {status}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    options = parse_arguments()
    contents = json.loads(recorded.ask("info", options.trace, "--format", "json"))["contents"]
    events = sum(contents[kind] for kind in ("kernels", "graph_launches", "copies", "memsets", "api_calls", "nvtx_ranges",
                                             "nvtx_marks"))
    print(f"{events:,} operations, calls, ranges and marks; medians of {options.rounds} rounds")
    print(f"{'format':<12} {'wall s':>8} {'CPU s':>8} {'M events/s':>11} {'MB':>9} {'peak MB':>8}")
    with tempfile.TemporaryDirectory(prefix="gprof-bench-") as folder:
        for name in options.formats.split(","):
            form, compress = name.removesuffix(".gz"), ["--compress"] if name.endswith(".gz") else []
            path = pathlib.Path(folder) / "out"
            words = [recorded.COMMAND, "export", options.trace, "-f", "--format", form, "-o", path, *compress]
            runs = [run_once(*words) for _ in range(options.rounds)]
            wall, cpu = statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)
            print(f"{name:<12} {wall:8.2f} {cpu:8.2f} {events / 1e6 / wall:11.2f} {path.stat().st_size / 1e6:9.1f} "
                  f"{max(run[2] for run in runs) / 1e6:8.0f}")
            path.unlink()


if __name__ == "__main__":
    main()
