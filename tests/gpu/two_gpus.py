#!/usr/bin/env python3
"""What only several GPUs can show, in one run: tables to read, not a test. tests/gpu/two_gpus has the cases.

    python3 -B tests/gpu/two_gpus.py --out DIR [--nsys PATH] [--only REGEX] [--budget-s 540] [--ranks 2] [--list]

The most important cases come first; none is begun when the budget is spent, and a case that fails or takes too long does
not stop the others. DIR gets two_gpus.json with all that was measured (written after each case), two_gpus.log with what is
printed, and traces/ with the small ones, and of all a summary (.gpart) and the report as text. The build is that of GPROF_TEST_BUILD.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time
import traceback

import nsys
import support

from two_gpus import ddp, devices, jobs, live, overhead, parallel

LEAST_S = 15  # of the budget, to begin a case


def all_cases():
    """In order of importance."""
    a_rank, in_one = ddp.cases()
    cheap, shared = devices.cases()
    return [*a_rank, *parallel.cases(), *live.cases(), *cheap, *in_one[:2], *overhead.cases(), *in_one[2:], *shared]


def first_line(*words):
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
        return (done.stdout.strip() or done.stderr.strip())[:2000]
    return None


def machine(bench):
    versions = "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())"
    return {"gpus": first_line("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"),
            "links": first_line("nvidia-smi", "topo", "-m"), "torch": first_line(sys.executable, "-c", versions), "python": platform.python_version(),
            "kernel": platform.release(), "cpus": os.cpu_count(), "gprof_cli": first_line(support.COMMAND, "--version"), "nsys": str(bench.nsys),
            "perf_event_paranoid": first_line("cat", "/proc/sys/kernel/perf_event_paranoid"), "ptrace_scope": first_line("cat", "/proc/sys/kernel/yama/ptrace_scope"),
            "environment": {key: os.environ.get(key) for key in jobs.NO_MULTICAST}}


def write(out, result):
    """Complete at any time, however this run ends."""
    path = out / "two_gpus.json.new"
    path.write_text(json.dumps(result, indent=1, default=str) + "\n", encoding="utf-8")
    path.replace(out / "two_gpus.json")


def run_case(bench, name, case, record):
    began = time.monotonic()
    bench.say(f"\n== {name} ({bench.left_s():.0f} s left)")
    try:
        case(bench, record)
        record["status"] = "done"
    except jobs.CaseError as error:
        record["status"], record["error"] = "failed", str(error)
    except Exception:  # whatever it is, the other cases are still wanted
        record["status"], record["error"] = "failed", traceback.format_exc()[-3000:]
    finally:
        bench.end_jobs()
    record["case_s"] = time.monotonic() - began
    bench.say(f"  {record['status']} in {record['case_s']:.1f} s", record.get("error", ""))


def verdict_of(record):
    """What of a case is as expected: a word for each thing that was judged."""
    words = []
    for key, row in record.items():
        if key.startswith("judged"):
            holds = [row["holds"]] if "holds" in row else [row[what] for what in ("rank", "reason", "line")]
            words.append(f"{key[7:]} {'/'.join('yes' if one else 'NO' for one in holds)}")
        elif key.startswith(("is_", "names_")) or key.endswith(("_are_equal", "_is_equal")):
            words.append(f"{key} {'yes' if row else 'NO'}")
    return ", ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--nsys", type=pathlib.Path, help="default: what GPROF_TEST_NSYS names, or is found")
    parser.add_argument("--only", default="", help="the cases in whose names this is found")
    parser.add_argument("--budget-s", type=float, default=540)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = [(name, case) for name, case in all_cases() if re.search(options.only, name)]
    if options.list:
        print("\n".join(name for name, _ in chosen))
        return
    if options.out is None:
        parser.error("--out is missing")
    if reason := support.why_not(options.ranks):
        sys.exit(f"cannot run: {reason}")
    bench = jobs.Bench(options.out, options.budget_s, options.ranks, options.nsys or nsys.find())
    result = {"schema": "two_gpus/1", "machine": machine(bench), "ranks": options.ranks, "cases": {}}
    bench.say(json.dumps(result["machine"], indent=1))
    for name, case in chosen:
        record = result["cases"][name] = {}
        if bench.left_s() < LEAST_S:
            record["status"] = "not begun: the budget is spent"
        else:
            run_case(bench, name, case, record)
        write(bench.out, result)
    bench.say("\n== summary (rank/reason/line where one is expected)")
    for name, record in result["cases"].items():
        bench.say(f"  {name:22} {record['status']:8} {record.get('case_s', 0):6.1f} s  {verdict_of(record)}")
    shutil.rmtree(bench.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
