#!/usr/bin/env python3
"""What reports say of two ranks on two GPUs, one of which is held up on purpose: a table to read, not a test.

    tests/gpu/two_gpus.py --out DIR [--steps 40] [--nsys PATH]

For each case of programs/torch_ddp_cases.py: the time of a step untraced, under `profile` and under nsys, in turn; the
findings of `report` and of `ranks`; and whether waiting and transfer sum to the time of NCCL. DIR gets the traces.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import support

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs" / "torch_ddp_cases.py"
CASES = ("balanced", "sleeps", "computes", "multiplies", "items", "loads")


def torchrun(case, steps):
    return [sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", PROGRAM, case, steps]


def run(command):
    done = subprocess.run([str(word) for word in command], env=support.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=support.TIMEOUT_S)
    for line in done.stdout.splitlines():
        if line.startswith('{"case"'):
            return json.loads(line)["step_ms"], done
    return None, done


def ask(*words):
    done = subprocess.run([str(support.COMMAND), *(str(word) for word in words)], capture_output=True, text=True, timeout=support.TIMEOUT_S)
    return done.stdout if done.returncode == 0 else f"exit {done.returncode}: {done.stderr}"


def findings(document):
    shown = [f for f in document["findings"] if not f["id"].startswith("health.") and not f.get("same_as") and not f.get("is_minor")]
    return [f"{f['id']}: {f['message']}" for f in shown[:4]]


def nccl_line(document):
    values = {m["id"]: m["value"] for m in document["metrics"] if not m["scope"] and m["id"].startswith("nccl.")}
    return ", ".join(f"{key} {value:.0f}" for key, value in sorted(values.items()) if key.endswith("_ns"))


def one_case(case, options):
    trace = options.out / f"{case}.trace"
    plain, _ = run(torchrun(case, options.steps))
    ours, done = run([support.COMMAND, "profile", "-f", "-o", trace, "--", *torchrun(case, options.steps)])
    theirs = None
    if options.nsys:
        theirs, _ = run([options.nsys, "profile", "-f", "true", "-o", f"/tmp/{case}", *torchrun(case, options.steps)])
    print(f"\n== {case}: step {plain} ms untraced, {ours} ms profile, {theirs} ms nsys", flush=True)
    if done.returncode != 0:
        print(done.stderr[-1500:])
        return
    report = json.loads(ask("report", trace, "--format", "json"))
    print(" ", nccl_line(report))
    for line in findings(report):
        print("  report ", line)
    verdict = ask("ranks", trace, "--format", "json")
    if not verdict.startswith("{"):
        print("  analyze", verdict[:400])
        return
    for finding in json.loads(verdict)["findings"][:4]:
        print("  analyze", f"{finding['id']}: {finding['message']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--nsys", default=shutil.which("nsys"))
    options = parser.parse_args()
    if reason := support.why_not(2):
        sys.exit(f"cannot run: {reason}")
    options.out.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        one_case(case, options)


if __name__ == "__main__":
    main()
