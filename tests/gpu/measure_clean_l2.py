"""What kernels of known traffic find in L2 when they are measured, by gprof-cli and by ncu, and whether programs compute what
they compute without.

    tests/gpu/measure_clean_l2.py [--out DIR] [--build BUILD] [--only results probe one several full] [--no-ncu]
                                  [--budget-s 145]

results  programs under each mode: what they print has to be right
probe    which calls of CUPTI's range profiler leave L2 dirty, without gprof-cli
one      vector additions of 1 to 512 MiB, metrics that need one pass
several  the same with metrics that need several passes
full     the same of one size with all metrics: which have a value in one mode and none in another

Each part prints what it found as it ends, with all that was said on stderr, and DIR/clean_l2.json has all of it. Nothing here
decides. Needs permission to use the performance monitors; ncu is looked for in PATH and in /usr/local/cuda. What does not fit
into the budget is left out, and that is said."""

import argparse
import csv
import io
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

SKIP = 77
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("results", "probe", "one", "several", "full")
SIZES_MIB = (1, 4, 12, 24, 48, 96, 192, 512)
LAUNCHES = 3
TIME, READ, WRITTEN, HITS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sector_hit_rate.pct")
METRICS = (TIME, READ, WRITTEN, HITS)
# The most telling ones first.
VARIANTS = ("replay", "auto_together", "user_together", "auto_singly", "user_singly", "auto_flush_before", "auto_flush_within",
            "user_flush_before", "user_flush_within", "user_spin", "auto_passes_before", "user_passes_within",
            "auto_together_flush", "user_together_flush", "auto_flush_warm", "user_flush_warm", "user_flush_elsewhere",
            "user_reset_in_range", "user_flush_in_range", "auto_dirty", "user_dirty", "user_passes_before", "auto_passes_within",
            "user_passes_transfer")
SEVERAL = ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")


def elements(mib):
    return (mib << 20) // 3 // 4


def blocks(mib):
    return (elements(mib) + 255) // 256


def find_ncu():
    for path in (shutil.which("ncu"), "/usr/local/cuda/bin/ncu", *map(str, pathlib.Path("/opt/nvidia/nsight-compute").glob("*/ncu"))):
        if path and os.access(path, os.X_OK):
            return path
    return None


class Machine:
    def __init__(self, wanted):
        self.out, self.end = wanted.out, time.monotonic() + wanted.budget_s
        self.command = wanted.build / "bin" / "gprof-cli"
        self.programs = wanted.build / "tests" / "bin"
        self.ncu = None if wanted.no_ncu else find_ncu()

    def run(self, *words, **more):
        """What ran: code, output, seconds. Null where the time is over."""
        left = self.end - time.monotonic()
        if left < 5:
            print(f"left out, as the time is over: {' '.join(map(str, words))[:160]}", flush=True)
            return None
        env = {key: value for key, value in os.environ.items() if not key.startswith(("GPROF_", "CUDA_INJECTION"))} | more
        start = time.monotonic()
        try:
            done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=min(left, 40), env=env,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as error:
            print(f"TIMED OUT after {error.timeout:.0f} s: {' '.join(map(str, words))[:160]}", flush=True)
            return None
        return {"code": done.returncode, "out": done.stdout, "err": done.stderr, "seconds": round(time.monotonic() - start, 2)}

    def counters(self, program, *options):
        return self.run(self.command, "counters", "-f", "-o", self.out / "run.trace", "--csv", "-c", "1000", *options, "--", *program)


def said(done):
    """Of stderr: what gprof-cli says, each line once."""
    lines = [line for line in done["err"].splitlines() if line.startswith(("gprof-cli", "hint", "==WARNING", "==ERROR"))]
    return list(dict.fromkeys(lines))


def rows(text):
    """Of a raw page as ncu has it; the first row has units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))[1:]


def number(text):
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None


def by_size(text):
    found = {}
    for row in rows(text):
        grid = int(row["Grid Size"].strip("() ").split(",")[0])
        mib = next((mib for mib in SIZES_MIB if blocks(mib) == grid), None)
        if mib is not None:
            found.setdefault(mib, []).append({metric: number(row.get(metric)) for metric in METRICS})
    return found


def show(mib, name, launches):
    def column(metric, scale, digits):
        values = [one[metric] / scale for one in launches if one[metric] is not None]
        if not values:
            return f"{'-':>24}"
        low, high = min(values), max(values)
        return f"{statistics.median(values):9.{digits}f} ({low:.{digits}f}..{high:.{digits}f})".ljust(24)
    print(f"{mib:5d} {name:22} {column(TIME, 1e3, 2)} {column(READ, 1e6, 2)} {column(WRITTEN, 1e6, 2)} {column(HITS, 1, 1)}", flush=True)


def print_table(found):
    print(f"{'MiB':>5} {'mode':22} {'time us':24} {'DRAM read MB':24} {'DRAM written MB':24} {'L2 hit %':24}")
    for mib in SIZES_MIB:
        print(f"{mib:5d} {'known':22} {'':24} {2 * elements(mib) * 4 / 1e6:9.2f}{'':15} {elements(mib) * 4 / 1e6:9.2f}")
        for name, of_mode in found.items():
            if mib in of_mode:
                show(mib, name, of_mode[mib])


def measure_traffic(machine, modes):
    program = [machine.programs / "gpu_known_traffic", "traffic", LAUNCHES, *SIZES_MIB]
    found, notes = {}, {}
    for name, is_ncu, options in modes:
        if is_ncu and machine.ncu is None:
            continue
        done = (machine.run(machine.ncu, "--clock-control", "none", "-k", "AddVectors", "--csv", "--page", "raw", "--print-units", "base",
                            *options, *program) if is_ncu else machine.counters(program, "-k", "AddVectors", *options))
        if done is None:
            continue
        for mib, launches in by_size(done["out"]).items():
            found.setdefault(name, {}).setdefault(mib, []).extend(launches)
        text = done["out"] + done["err"]
        wrong = [line for line in text.splitlines() if '"wrong":' in line and '"wrong":0' not in line]
        notes[name] = {"code": done["code"], "seconds": done["seconds"], "wrong": wrong, "said": said(done)[:12]}
        print(f"{name}: exit {done['code']}, {done['seconds']} s, wrong results: {wrong or 'none'}", *notes[name]["said"], sep="\n    ", flush=True)
        if not found.get(name):
            print("NO VALUES", done["out"][-600:], done["err"][-1200:], flush=True)
    print_table(found)
    return {"values": found, "notes": notes}


def measure_one(machine):
    metrics = ("--metrics", ",".join(METRICS))
    return measure_traffic(machine, [("ours, default", False, metrics), ("ncu, all", True, (*metrics, "--cache-control", "all")),
                                     ("ours, all", False, (*metrics, "--cache-control", "all")),
                                     ("ncu, none", True, (*metrics, "--cache-control", "none"))])


def measure_several(machine):
    options = ("--set", "basic", "--metrics", ",".join(METRICS))
    return measure_traffic(machine, [("ours, default", False, options), ("ncu, all", True, (*options, "--cache-control", "all")),
                                     ("ours, none", False, (*options, "--cache-control", "none")),
                                     ("ncu, none", True, (*options, "--cache-control", "none"))])


def measure_full(machine):
    """Which metrics have a value, and how far values of both modes are apart."""
    program = [machine.programs / "gpu_known_traffic", "traffic", 2, 24]
    found = {}
    for name, options in (("default", ()), ("none", ("--cache-control", "none"))):
        done = machine.counters(program, "-k", "AddVectors", "--set", "full", *options)
        if done is None:
            continue
        values = rows(done["out"])
        found[name] = {key: number(value) for key, value in (values[0] if values else {}).items() if number(value) is not None}
        print(f"{name}: exit {done['code']}, {done['seconds']} s, {len(values)} launches, {len(found[name])} values", *said(done), sep="\n    ", flush=True)
        if not values:
            print("NO VALUES", done["err"][-1500:], flush=True)
    if len(found) == 2:
        for one, other in (("default", "none"), ("none", "default")):
            print(f"only in {one}:", sorted(set(found[one]) - set(found[other])), flush=True)
        both = [key for key in found["default"] if key in found["none"] and "inst" in key and abs(found["none"][key]) > 1]
        apart = {key: (found["default"][key], found["none"][key]) for key in both
                 if abs(found["default"][key] / found["none"][key] - 1) > 0.02}
        print(f"of {len(both)} values about instructions, more than 2 % apart:", apart, flush=True)
    return found


def measure_results(machine):
    """What programs print under each mode."""
    found = {}
    basic = ("--set", "basic")
    for name, program in (("results", [machine.programs / "gpu_known_traffic", "results", "3"]),
                          ("memory of each kind", [machine.programs / "gpu_replayed_memory"])):
        for mode, options in (("plain", None), ("default, several passes", basic), ("none, several passes", (*basic, "--cache-control", "none")),
                              ("all, one pass", ("--set", "light", "--cache-control", "all"))):
            done = machine.run(*program) if options is None else machine.counters(program, *options)
            if done is None:
                continue
            lines = [line for line in (done["out"] + "\n" + done["err"]).splitlines() if '"wrong":' in line]
            wrong = [line for line in lines if '"wrong":0' not in line]
            found[f"{name}, {mode}"] = {"code": done["code"], "seconds": done["seconds"], "lines": len(lines), "wrong": wrong, "said": said(done)}
            print(f"{name}, {mode}: exit {done['code']}, {done['seconds']} s, {len(lines)} results, wrong: {wrong or 'none'}", *said(done),
                  sep="\n    ", flush=True)
            if done["code"] != 0 or not lines:
                print("  FAILED", done["out"][-400:], done["err"][-1500:], flush=True)
    return found


def measure_probe(machine):
    found = {}
    cuda = [f"/usr/local/cuda/{folder}" for folder in ("lib64", "lib", "extras/CUPTI/lib64")]
    paths = ":".join([*cuda, os.environ.get("LD_LIBRARY_PATH", "")])
    for variant in VARIANTS:
        more = SEVERAL if "passes" in variant else ()
        done = machine.run(machine.programs / "gpu_l2_probe", variant, 2 << 20, 3, *more, LD_LIBRARY_PATH=paths)
        if done is None:
            continue
        found[variant] = done
        print(f"-- exit {done['code']}, {done['seconds']} s\n{done['out']}{done['err'][-600:]}", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("clean_l2"))
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "release")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--no-ncu", action="store_true")
    parser.add_argument("--budget-s", type=float, default=145)
    wanted = parser.parse_args()
    if not pathlib.Path("/proc/driver/nvidia").exists() and not pathlib.Path("/dev/nvidiactl").exists():
        print("skipped: there is no GPU")
        return SKIP
    wanted.out = wanted.out.resolve()
    wanted.out.mkdir(parents=True, exist_ok=True)
    machine, results = Machine(wanted), {}
    for part in wanted.only:
        print(f"== {part}, {machine.end - time.monotonic():.0f} s left", flush=True)
        try:
            results[part] = globals()[f"measure_{part}"](machine)
        except Exception as error:  # the other parts are worth as much
            results[part] = {"error": repr(error)}
            print("FAILED:", repr(error), flush=True)
        (wanted.out / "clean_l2.json").write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
