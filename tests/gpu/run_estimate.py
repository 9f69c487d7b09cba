"""Whether the slow-down that reports estimate is the one that is measured: loops that are timed by their own clock, with
recording and without in turns (programs/loops.cpp), and the report of each.

    tests/gpu/run_estimate.py --out DIR [--build BUILD] [--rounds 9] [--window-ms 40] [--only NAME ...]

Uses the calibration of the machine (gprof-cli doctor --calibrate) where there is one, and says so. DIR/estimate.json has
what was measured. Exits with 1 when less than 19 of 20 are within the bounds."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

TIMEOUT_S = 120
FEWEST_WITHIN = 0.95


def measured(pairs):
    """The median slow-down in percent, and the range of all but the two extreme ones."""
    percents = sorted(100 * (on / off - 1) for off, on in pairs)
    return statistics.median(percents), percents[1 if len(percents) > 4 else 0], percents[-2 if len(percents) > 4 else -1]


def estimated(command, trace):
    done = subprocess.run([command, "report", "--format", "json", trace], capture_output=True, text=True, check=True,
                          timeout=TIMEOUT_S)
    overhead = json.loads(done.stdout)["trust"]["overhead"]
    return overhead["slow_down_least_percent"], overhead["slow_down_most_percent"], overhead["basis"]


def run(command, program, name, wanted):
    trace = wanted.out / f"{name}.trace"
    loop = [program, "--only", name, "--rounds", str(wanted.rounds), "--window-ms", str(wanted.window_ms)]
    done = subprocess.run([command, "profile", "-q", "-f", "--only-trace", "-t", "cuda,nvtx", "-c", "cudaProfilerApi", "--capture-range-end",
                           "repeat", "-o", trace, "--", *loop], capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    facts = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    median, low, high = measured(list(zip(facts["off_ns"], facts["on_ns"])))
    least, most, basis = estimated(command, trace)
    # The range of what was measured touches the bounds: both are uncertain.
    return {"loop": name, "percent": median, "low": low, "high": high, "least": least, "most": most, "basis": basis,
            "is_within": least <= median <= most, "touches": low <= most and high >= least, **facts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(os.environ.get("GPROF_TEST_BUILD", "build/release")))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--window-ms", type=int, default=40)
    parser.add_argument("--only", nargs="*")
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    command, program = wanted.build / "bin" / "gprof-cli", wanted.build / "tests" / "bin" / "gpu_loops"
    names = wanted.only or subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    rows = []
    print(f"{'loop':28} {'slow-down':>9} {'range':>17} {'estimated':>17}  within")
    for name in names:
        row = run(command, program, name, wanted)
        rows.append(row)
        print(f"{name:28} {row['percent']:9.1f} {row['low']:8.1f} - {row['high']:6.1f} {row['least']:8.1f} - {row['most']:6.1f}"
              f"  {'yes' if row['is_within'] else 'touches' if row['touches'] else 'NO'}", flush=True)
    (wanted.out / "estimate.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    within = sum(row["is_within"] for row in rows)
    print(f"{within} of {len(rows)} within the bounds; {rows[0]['basis'] if rows else ''}")
    return 0 if within >= FEWEST_WITHIN * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
