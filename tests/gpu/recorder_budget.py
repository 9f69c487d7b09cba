"""What `record --budget` costs and keeps on a GPU: a PyTorch training and a loop of CUDA graphs (programs/torch_steady.py), each
recorded and not recorded in turns.

    tests/gpu/recorder_budget.py GPROF_CLI OUT [--seconds 60] [--rounds 3] [--budget 1%] [--keep 10s] [--only eager|graph]
                                 [--without "samples: -s none" ...]

Writes OUT/recorder_budget.json: for each program the slow-down against runs without a recorder, with its 95 % interval by a
bootstrap over the seconds of all rounds; what the recorder itself measured; how much of the time had kernels and how much the
base level; memory of /dev/shm, second by second; the snapshots and what they hold. Exits with 1 where a run fails, memory is not
flat (1 MB) once --keep is over, a recorded run has no base level, or the slow step leaves no snapshot, and with 77 without
PyTorch or a GPU. Slow-downs are figures and no verdict.
With --without there are more recorded runs in turns, with options that leave something out: what that part costs."""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

PROGRAM = pathlib.Path(__file__).parent / "programs" / "torch_steady.py"
SKIP = 77
FLAT_BYTES = 1_000_000
RESAMPLES = 2000
EXTRA_S = 300  # longest that a program may take beside its loop: imports, warm-up


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", default="1%")
    parser.add_argument("--keep", default="10s")
    parser.add_argument("--only", choices=("eager", "graph"))
    parser.add_argument("--without", action="append", default=[], help="a name, a colon, and options of record")
    return parser.parse_args()


def shm_bytes():
    of = os.statvfs("/dev/shm")
    return (of.f_blocks - of.f_bfree) * of.f_frsize


class Watcher(threading.Thread):
    """Memory and the recorder's own words, once a second while it runs."""

    def __init__(self, wanted, before_bytes):
        super().__init__(daemon=True)
        self.wanted, self.before, self.rows, self.over = wanted, before_bytes, [], threading.Event()

    def run(self):
        start = time.monotonic()
        while not self.over.wait(1):
            row = {"at_s": round(time.monotonic() - start, 1), "shm_bytes": shm_bytes() - self.before}
            done = subprocess.run([self.wanted.command, "status", "--format", "json"], capture_output=True, text=True, check=False, timeout=60)
            recorders = json.loads(done.stdout).get("recorders", []) if done.returncode == 0 else []
            if recorders:
                keys = ("memory_bytes", "slow_down", "windows", "snapshots", "complete_ns")
                row.update({key: recorders[0].get(key) for key in keys})
            self.rows.append(row)


def run_plain(wanted, name):
    done = subprocess.run([sys.executable, "-B", PROGRAM, name, str(wanted.seconds)], capture_output=True, text=True, check=False,
                          timeout=wanted.seconds + EXTRA_S)
    if done.returncode == SKIP:
        sys.exit(SKIP)
    if done.returncode != 0:
        raise RuntimeError(f"{name} without a recorder ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def run_recorded(wanted, name, number, options=()):
    """Its steps, what the recorder said, and what it wrote."""
    folder = wanted.out / f"{name}{number}"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.trace"):
        old.unlink()
    watcher = Watcher(wanted, shm_bytes())
    slow_at_s = wanted.seconds * 0.6
    command = [wanted.command, "record", "--budget", wanted.budget, "--keep", wanted.keep, "--on-slow-step", "step:4", "--cooldown", "0",
               "--most", "20", *options, "-o", folder / "slow.trace", "--", sys.executable, "-B", PROGRAM, name, str(wanted.seconds), str(slow_at_s)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watcher.start()
    asker = threading.Timer(wanted.seconds * 0.9, lambda: subprocess.run(
        [wanted.command, "snapshot", "-f", "-o", folder / "asked.trace"], capture_output=True, check=False, timeout=60))
    asker.start()
    out, err = process.communicate(timeout=wanted.seconds + EXTRA_S)
    watcher.over.set()
    asker.cancel()
    watcher.join(60)
    if process.returncode != 0:
        raise RuntimeError(f"{name} recorded ended with {process.returncode}: {err[-2000:]}")
    result = json.loads(out.splitlines()[-1])
    result.update(said=[line for line in err.splitlines() if line.startswith("gprof-cli")], watched=watcher.rows,
                  left_over_shm_bytes=shm_bytes() - watcher.before, snapshots=[snapshot(wanted, path) for path in sorted(folder.glob("*.trace"))])
    return result


def snapshot(wanted, path):
    report = subprocess.run([wanted.command, "report", "--format", "json", path], capture_output=True, text=True, check=False, timeout=EXTRA_S)
    dump = subprocess.Popen([wanted.command, "dump", path], stdout=subprocess.PIPE, text=True)
    counts = collections.Counter(line.split(" ", 1)[0] for line in dump.stdout)
    dump.wait()
    row = {"file": path.name, "bytes": path.stat().st_size, "report_code": report.returncode}
    row["records"] = {kind: counts[kind] for kind in
                      ("kernel", "memcpy", "graph_launch", "api", "nvtx", "base_call", "base_graph", "base_time", "cpu_sample", "capture")}
    if report.returncode == 0:
        found = json.loads(report.stdout)
        row["reason"] = found["trace"].get("snapshot_reason")
        row["trust"] = {key: found["trust"].get(key) for key in ("complete", "remarks", "kernels", "base_ns", "captured_ns")}
        row["measured"] = (found["trust"]["overhead"] or {}).get("measured")
        row["steps"] = {m["id"]: m["value"] for m in found["metrics"] if m["id"].startswith("step.") and not m["scope"]}
    return row


def slow_down(plain, recorded):
    """Percent by which a step takes longer, with its 95 % interval. The first and last second and that of the slow step are left
    out, as well as the two beside it."""
    def rates(runs, skip):
        return [steps for run in runs for second, steps in enumerate(run["steps"]) if 0 < second < len(run["steps"]) - 1 and second not in skip]

    slow_at = int(len(plain[0]["steps"]) * 0.6)
    skip = {slow_at - 1, slow_at, slow_at + 1, slow_at + 2}
    bare, with_it = rates(plain, skip), rates(recorded, skip)
    if not bare or not with_it:
        return None
    dice = random.Random(1)

    def percent(a, b):
        return 100 * ((sum(a) / len(a)) / (sum(b) / len(b)) - 1)
    draws = sorted(percent(dice.choices(bare, k=len(bare)), dice.choices(with_it, k=len(with_it))) for _ in range(RESAMPLES))
    return {"percent": percent(bare, with_it), "low_percent": draws[int(0.025 * RESAMPLES)], "high_percent": draws[int(0.975 * RESAMPLES)],
            "seconds_plain": len(bare), "seconds_recorded": len(with_it), "steps_per_second_plain": sum(bare) / len(bare),
            "steps_per_second_recorded": sum(with_it) / len(with_it)}


def keep_s(text):
    return float(text[:-2]) / 1000 if text.endswith("ms") else float(text.rstrip("s"))


def problems_of(wanted, run):
    found = []
    # What is kept has filled by then, and the program has not ended.
    settled = [row["shm_bytes"] for row in run["watched"] if row.get("windows") and row["windows"]["all_ns"] > 2e9 * keep_s(wanted.keep)][:-2]
    run["settled_shm_bytes"] = {"least": min(settled), "most": max(settled)} if settled else None
    if settled and max(settled) - min(settled) > FLAT_BYTES:
        found.append(f"memory is not flat: {min(settled)} to {max(settled)} bytes")
    last = next((row["windows"] for row in reversed(run["watched"]) if row.get("windows")), None)
    run["shares"] = last and {"kernels": last["window_ns"] / last["all_ns"], "base_level": last["base_ns"] / last["all_ns"], "windows": last["count"]}
    if not last or last["base_ns"] == 0:
        found.append("no base level")
    if not any("step 'step' took" in (row.get("reason") or "") for row in run["snapshots"]):
        found.append("the slow step left no snapshot")
    found += [f"{row['file']} cannot be read" for row in run["snapshots"] if row["report_code"] != 0]
    return found


def main():
    wanted = parse_arguments()
    wanted.command = wanted.command.resolve()
    wanted.out.mkdir(parents=True, exist_ok=True)
    results, failed = {"budget": wanted.budget, "keep": wanted.keep, "seconds": wanted.seconds, "programs": {}}, False
    for name in ("eager", "graph"):
        if wanted.only not in (None, name):
            continue
        plain, recorded, without = [], [], {}
        for number in range(wanted.rounds):
            turns = [lambda: plain.append(run_plain(wanted, name)), lambda: recorded.append(run_recorded(wanted, name, number))]
            for text in wanted.without:
                what, _, options = text.partition(":")
                turns.append(lambda what=what, options=options: without.setdefault(what, []).append(run_recorded(wanted, name, f"{what}{number}", options.split())))
            for turn in turns if number % 2 == 0 else reversed(turns):
                turn()
        problems = [problem for run in recorded for problem in problems_of(wanted, run)]
        failed = failed or bool(problems)
        results["programs"][name] = {"slow_down": slow_down(plain, recorded), "problems": problems, "recorded": recorded, "plain": plain,
                                     "without": {what: slow_down(plain, runs) for what, runs in without.items()}}
        (wanted.out / "recorder_budget.json").write_text(json.dumps(results, indent=1))
        print(json.dumps({"program": name, "slow_down": results["programs"][name]["slow_down"], "without": results["programs"][name]["without"], "problems": problems,
                          "said": recorded[-1]["said"], "shares": recorded[-1]["shares"], "shm": recorded[-1]["settled_shm_bytes"]}, indent=1))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
