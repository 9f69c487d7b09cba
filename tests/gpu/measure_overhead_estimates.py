"""Whether the slow-down that reports estimate is the one that is measured, for programs that the estimate was not fitted to:
whole processes in turns, untraced and under `gprof-cli profile`, each timed by itself (programs/steady_loops.py,
programs/marked_work.c), and the report of each traced one.

    tests/gpu/measure_overhead_estimates.py [--out DIR] [--build BUILD] [--rounds 5] [--only NAME ...] [--limit-s S]

Without a GPU only the programs of NVTX run. DIR/estimates.json has what was measured, at any time; when less than
LAST_S of --limit-s are left, no more program is begun. Exits with 1 when the measured
slow-down of fewer than 19 in 20 programs is within the bounds of the report, or a report states an interval that is wider
than half its middle. The bounds hold a measurement that touches them, as both are uncertain.

The noise of a program is how much longer its slowest untraced round took than its fastest one. A slow-down that is no
larger, in either direction, could be noise: such a program cannot tell and counts on neither side, unless the bounds lie
beyond the noise, which is a miss."""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TIMEOUT_S = 120
LAST_S = 30
FEWEST_WITHIN = 0.95
SKIP = 77
GPU_PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs" / "steady_loops.py"
# Turns of work, about a nanosecond each, depth of the ranges, threads.
MARKED = {"ranges, 300 turns": (300, 1, 1), "ranges, 2,000 turns": (2000, 1, 1), "ranges, 20,000 turns": (20000, 1, 1),
          "4 nested, 2,000 turns": (2000, 4, 1), "2 threads, 1,000 turns": (1000, 1, 2)}


def programs(build):
    marked = build / "tests" / "bin" / "gpu_marked_work"
    found = {name: ([marked, *map(str, words)], []) for name, words in MARKED.items() if marked.exists()}
    if not pathlib.Path("/proc/driver/nvidia").exists() and not pathlib.Path("/dev/nvidiactl").exists():
        return found
    names = json.loads(subprocess.run([sys.executable, GPU_PROGRAMS], capture_output=True, text=True, check=True).stdout)
    found.update({name: ([sys.executable, "-B", GPU_PROGRAMS, name], ["-c", "cudaProfilerApi"]) for name in names})
    return found


def step_ns(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode == SKIP:
        return None
    if done.returncode != 0:
        raise RuntimeError(f"{command} exits with {done.returncode}: {done.stderr[-500:]}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    return statistics.median(json.loads(line)["step_ns"])


def overhead_of(command, trace):
    done = subprocess.run([command, "report", "--format", "json", trace], capture_output=True, text=True, check=True,
                          timeout=TIMEOUT_S)
    return json.loads(done.stdout)["trust"]["overhead"]


def measure(command, name, program, options, wanted):
    trace = wanted.out / f"{name.replace(' ', '_').replace(',', '')}.trace"
    traced = [command, "profile", "-q", "-f", "--only-trace", "-t", "cuda,nvtx", "-s", "none", *options, "-o", trace, "--", *program]
    pairs = []
    for turn in range(wanted.rounds):
        # Who comes first takes turns, too.
        runs = {key: step_ns(words) for key, words in ((("off", program), ("on", traced)) if turn % 2 else
                                                      (("on", traced), ("off", program)))}
        if None in runs.values():
            return None
        pairs.append((runs["off"], runs["on"]))
    percents = sorted(100 * (on / off - 1) for off, on in pairs)
    cost = overhead_of(command, trace)
    return judged(name, pairs, percents, cost)


def judged(name, pairs, percents, cost):
    least, most = cost["slow_down_least_percent"], cost["slow_down_most_percent"]
    untraced = [off for off, _ in pairs]
    noise = 100 * (max(untraced) / min(untraced) - 1)
    middle = (least + most) / 2
    is_interval = " to " in cost["text"]
    row = {"program": name, "step_ns": statistics.median(untraced), "percent": statistics.median(percents), "noise": noise,
           "low": percents[0], "high": percents[-1], "least": least, "most": most, "text": cost["text"], "basis": cost["basis"],
           "is_too_wide": is_interval and most - least > middle / 2 + 0.1}
    row["is_within"] = least <= row["percent"] <= most
    row["touches"] = row["low"] <= most and row["high"] >= least
    row["cannot_tell"] = abs(row["percent"]) <= noise and least <= noise
    return row


def verdict_of(row):
    if row["is_too_wide"]:
        return "TOO WIDE"
    if row["cannot_tell"]:
        return "noise"
    return "yes" if row["is_within"] else "touches" if row["touches"] else "NO"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "gprof-estimates")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(os.environ.get("GPROF_TEST_BUILD", "build/release")))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--limit-s", type=float, default=math.inf)
    wanted = parser.parse_args()
    until = time.monotonic() + wanted.limit_s - LAST_S
    wanted.out.mkdir(parents=True, exist_ok=True)
    command, rows = wanted.build / "bin" / "gprof-cli", []
    print(f"{'program':26} {'step':>10} {'noise':>6} {'slow-down':>9} {'range':>17} {'bounds':>17}  within   the report says")
    for name, (program, options) in programs(wanted.build).items():
        if time.monotonic() > until:
            print(f"{name:26} no time was left")
            continue
        row = measure(command, name, program, options, wanted) if not wanted.only or name in wanted.only else None
        if row is None:
            continue
        rows.append(row)
        (wanted.out / "estimates.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
        print(f"{name:26} {row['step_ns']:8.0f}ns {row['noise']:6.1f} {row['percent']:9.1f} {row['low']:8.1f} - {row['high']:6.1f} {row['least']:8.1f} - "
              f"{row['most']:6.1f}  {verdict_of(row):8} {row['text']}", flush=True)
    telling = [row for row in rows if not row["cannot_tell"]]
    held = sum(row["is_within"] or row["touches"] for row in telling)
    print(f"{held} of {len(telling)} within the bounds, {len(rows) - len(telling)} cannot tell; "
          f"{rows[0]['basis'] if rows else 'no program could run'}")
    is_good = telling and held >= math.floor(FEWEST_WITHIN * len(telling)) and not any(row["is_too_wide"] for row in rows)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
