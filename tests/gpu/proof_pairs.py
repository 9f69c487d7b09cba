"""Whether `what-if` says beforehand what a change saves: programs whose thing takes half as long are timed without us, and
the saving compared with the interval that `what-if` gave. Prints a table and, with --json, writes one.

    proof_pairs.py [--only NAME,...] [--seconds 2] [--rounds 3] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", "build/release")).resolve()
PROGRAM = BUILD / "tests" / "bin" / "gpu_proof_pairs"
# What two medians of a few runs differ by at any time, as a share of a step.
NOISE = 0.015


def step_ns(name, seconds, *more):
    done = subprocess.run([PROGRAM, name, "--seconds", str(seconds), *more], capture_output=True, text=True, timeout=60, check=True)
    return float(done.stdout)


def what_if(name, thing, seconds):
    done = subprocess.run([BUILD / "bin" / "gprof-cli", "what-if", "--of", thing, "--format", "json", "--", PROGRAM, name, "--seconds", str(seconds)],
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode not in (0, 4):
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout), done.stderr


def judge(name, thing, seconds, rounds):
    result, _ = what_if(name, thing, seconds)
    row = max(result["table"]["rows"], key=lambda r: r["time_ns"])
    before, after = [], []
    for _ in range(rounds):
        before.append(step_ns(name, seconds))
        after.append(step_ns(name, seconds, "--half"))
    base = statistics.median(before)
    saved = base - statistics.median(after)
    out = {"name": name, "thing": row["thing"], "verdict": row["verdict"], "step_ns": base, "saved_percent": 100 * saved / base,
           "slow_down_percent": result["slow_down_percent"], "runs": result["runs"], "worth": row["worth"], "low": row["worth_low"],
           "high": row["worth_high"], "said_low": row["saving_low_percent"], "said_high": row["saving_high_percent"]}
    if row["verdict"] == "cannot tell":
        return out | {"holds": None, "wrong_sign": False}
    allowed = 100 * NOISE
    out["holds"] = out["said_low"] - allowed <= out["saved_percent"] <= out["said_high"] + allowed
    # Said to save something where nothing is saved, or nothing where much is.
    out["wrong_sign"] = (out["said_low"] > allowed and out["saved_percent"] < -allowed) or (out["said_high"] < allowed and out["saved_percent"] > 3 * allowed)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    listed = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True, check=True).stdout.split("\n")
    pairs = [line.split(" ", 1) for line in listed if line]
    wanted = options.only.split(",") if options.only else [name for name, _ in pairs]
    rows = []
    for name, thing in pairs:
        if name not in wanted:
            continue
        try:
            rows.append(judge(name, thing, options.seconds, options.rounds))
        except (RuntimeError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
            rows.append({"name": name, "thing": thing, "verdict": f"failed: {error}"[:300], "holds": None})
        r = rows[-1]
        print(f"{r['name']:24} {r['thing'][:24]:24} {r['verdict'][:120]:16}" + (
            f" worth {r['worth']} ({r['low']}..{r['high']}) said {r['said_low']}..{r['said_high']}% saved {r['saved_percent']:.1f}% {'ok' if r['holds'] else 'MISSED' if r['holds'] is False else 'cannot tell'}"
            f" slow-down {r['slow_down_percent']:.1f}% in {r['runs']} runs" if "step_ns" in r else ""), flush=True)
    held = sum(r["holds"] is True for r in rows)
    print(f"{held} of {len(rows)} hold the saving, {sum(r['holds'] is None for r in rows)} cannot tell, "
          f"{sum(r.get('wrong_sign', False) for r in rows)} with the wrong sign")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
