"""What sampling costs and what it says of kernels, measured on a GPU: rates that are kept up with, bursts, whether clocks and
times of kernels change, a kernel of known phases, a decode loop of graphs, and values of kernels against Nsight Compute and
against our own counters in one pass.

    tests/gpu/measure_kernel_rates.py [--out DIR] [--build BUILD] [--only costs rates slowdown phases graph ncu] [--quick]

Each part prints what it found as it ends, and DIR/kernel_rates.json has all of it. Nothing here decides: tables are for
docs/overhead.md and docs/analyses.md. Needs permission to use the performance monitors; ncu is looked for in PATH and in
/usr/local/cuda. Takes about six minutes, --quick two."""

import argparse
import csv
import io
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

TIMEOUT_S = 300
SKIP = 77
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("costs", "rates", "slowdown", "phases", "graph", "ncu")
# Of counters over time and of counters of kernels: what ours is called, and what ncu calls it.
COMPARED = {"SMs Active": "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
            "DRAM Read Bandwidth": "dram__read_throughput.avg.pct_of_peak_sustained_elapsed",
            "DRAM Write Bandwidth": "dram__write_throughput.avg.pct_of_peak_sustained_elapsed",
            "Tensor Active": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
            "SM Issue": "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
            "Compute Warps in Flight": "sm__warps_active.avg.pct_of_peak_sustained_elapsed"}


def run(*words, check=True):
    env = {key: value for key, value in os.environ.items() if not key.startswith(("GPROF_", "CUDA_INJECTION"))}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=TIMEOUT_S, env=env,
                          stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stdout[-800:]} {done.stderr[-800:]}")
    return done


class Machine:
    def __init__(self, wanted):
        self.out, self.is_quick = wanted.out, wanted.quick
        self.command = wanted.build / "bin" / "gprof-cli"
        self.programs = wanted.build / "tests" / "bin"
        self.examples = wanted.build / "share" / "gprof-cli" / "examples"

    def sampled(self, name, program, *options):
        """A recording with GPU metrics: the process, its report, what was lost."""
        trace = self.out / f"{name}.trace"
        done = run(self.command, "profile", "-f", "-o", trace, "--gpu-metrics-devices", "all", *options, "--", *program)
        start = time.monotonic()
        report = json.loads(run(self.command, "report", trace, "--format", "json", "--tables", "--rows", "0").stdout)
        report["seconds_to_report"] = round(time.monotonic() - start, 2)
        return done, report, trace


def table(report, name):
    return next((one["rows"] for one in report["tables"] if one["id"] == name), [])


def metric(report, name):
    return next((one["value"] for one in report["metrics"] if one["id"] == name and not one.get("scope")), None)


def sample_facts(machine, trace):
    """Of the first counter of the monitors: samples a second of the time they span, gaps and bursts."""
    text = run(machine.command, "dump", trace).stdout
    source = re.search(r'^metric_source.*? id=(\d+) name="SMs Active".*origin="pm".*period_ns=(\d+)', text, re.M)
    if not source:
        return {"samples": 0, "said": re.findall(r'^notice.*text="([^"]*)"', text, re.M)}
    found = re.findall(rf"^metric_block start_ns=(\d+)(?: duration_ns=(\d+))? source={source[1]} ", text, re.M)
    times = sorted((int(start), int(length or 0)) for start, length in found)
    gaps = [b[0] - a[0] - a[1] for a, b in zip(times, times[1:])]
    gaps = [gap for gap in gaps if gap > int(source[2]) / 2]
    span = times[-1][0] + times[-1][1] - times[0][0]
    return {"samples": len(times), "period_ns": int(source[2]), "a_second": round(len(times) / span * 1e9),
            "width_ns": statistics.median(length for _, length in times), "gaps": len(gaps),
            "gaps_of_10_ms": sum(gap >= 10_000_000 for gap in gaps), "largest_gap_ms": max(gaps, default=0) / 1e6,
            "bursts": len([gap for gap in gaps if gap > 1_000_000]) + 1,
            "said": re.findall(r'^notice.*?"((?:bursts of )?GPU metrics[^"]*)"', text, re.M)}


def measure_costs(machine):
    """Decode, evaluate and clear, by counters, rate, interval between calls, size of the image and buffer; under load and idle."""
    load = [machine.programs / "gpu_known_rates", "graph", "--launches", "1000000"]
    cases = []
    for hz in (1000, 10_000):
        for name in ("kernels", "default"):
            cases += [(name, hz, poll, 0, 0, False) for poll in (20, 50, 100)]
    cases += [("kernels", 10_000, 50, 600, 0, False), ("kernels", 10_000, 50, 4000, 0, False), ("kernels", 10_000, 50, 0, 256, False)]
    cases += [("kernels", hz, 50, 0, 0, False) for hz in (20_000, 50_000)]
    cases += [("kernels", hz, 0, 0, megabytes, True) for hz in (20_000, 50_000, 100_000) for megabytes in (0, 512)]
    results = []
    for name, hz, poll_ms, image, buffer_mb, is_burst in cases[:: 4 if machine.is_quick else 1]:
        for is_loaded in (True, False):
            busy = subprocess.Popen([str(word) for word in load], stdout=subprocess.DEVNULL) if is_loaded else None
            time.sleep(1.5 if is_loaded else 0)
            lengths = (100, 500) if is_burst else (2000,)
            for ms in lengths:
                words = ["--set", name, "--hz", hz, "--ms", ms, "--image-samples", image, "--buffer-mb", buffer_mb]
                words += ["--burst"] if is_burst else ["--poll-ms", poll_ms]
                done = run(machine.programs / "gpu_pm_costs", *words, check=False)
                found = json.loads(done.stdout or f'{{"error": "ended with {done.returncode}"}}')
                results.append({"set": name, "hz": hz, "ms": ms, "poll_ms": poll_ms, "image": image, "buffer_mb": buffer_mb,
                                "burst": is_burst, "loaded": is_loaded, **found})
                print(json.dumps(results[-1]), flush=True)
            if busy:
                busy.kill()
                busy.wait()
    return results


def measure_rates(machine):
    """What profile keeps up with: 10 kHz with 6 counters, and bursts."""
    program = [machine.programs / "gpu_known_rates", "graph", "--launches", "20000"]
    results = {}
    for name, options in (("10 kHz, kernels", ("--gpu-metrics-frequency", "10000", "--gpu-metrics-set", "kernels")),
                          ("10 kHz, default", ("--gpu-metrics-frequency", "10000")),
                          ("1 kHz, default", ()),
                          ("20 kHz in bursts of 0.1 s", ("--gpu-metrics-frequency", "20000", "--gpu-metrics-set", "kernels")),
                          ("50 kHz in bursts of 0.1 s", ("--gpu-metrics-frequency", "50000", "--gpu-metrics-set", "kernels")),
                          ("50 kHz in bursts of 0.5 s", ("--gpu-metrics-frequency", "50000", "--gpu-metrics-set", "kernels", "--gpu-metrics-burst", "0.5"))):
        _, report, trace = machine.sampled("rates", program, *options)
        results[name] = {**sample_facts(machine, trace), "seconds_to_report": report["seconds_to_report"],
                         "rated_kernel_percent": metric(report, "gpu.rated_kernel_percent")}
        print(name, json.dumps(results[name]), flush=True)
    return results


def measure_slowdown(machine):
    """Spins of a known number of cycles, and the decode loop, with sampling and without, in turns."""
    variants = {"traced": (), "10 kHz": ("--gpu-metrics-devices", "all", "--gpu-metrics-frequency", "10000", "--gpu-metrics-set", "kernels"),
                "50 kHz bursts": ("--gpu-metrics-devices", "all", "--gpu-metrics-frequency", "50000", "--gpu-metrics-set", "kernels")}
    rounds = {name: [] for name in variants}
    kernels = {name: [] for name in variants}
    for _ in range(2 if machine.is_quick else 5):
        for name, options in variants.items():
            trace = machine.out / "slowdown.trace"
            done = run(machine.command, "profile", "-q", "-f", "-o", trace, *options, "--", machine.programs / "gpu_known_rates", "spin")
            line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
            rounds[name].append(statistics.median(json.loads(line)["round_s"]))
            run(machine.command, "profile", "-q", "-f", "-o", trace, *options, "--", machine.programs / "gpu_known_rates", "graph", "--launches", "4000")
            rows = table(json.loads(run(machine.command, "report", trace, "--format", "json", "--tables", "--rows", "0").stdout), "kernels")
            kernels[name].append(sum(row["total_ns"] for row in rows))
    base, base_kernels = statistics.median(rounds["traced"]), statistics.median(kernels["traced"])
    results = {name: {"spin_ratio": round(statistics.median(rounds[name]) / base, 5), "spin_s": rounds[name],
                      "kernel_ratio": round(statistics.median(kernels[name]) / base_kernels, 5)} for name in variants}
    print(json.dumps(results), flush=True)
    return results


def expected_phases(known, parts):
    """Of each part of the launch, in percent: SMs active; whether memory and tensor cores are at work."""
    ends, total = [], sum(known["phase_ns"])
    for length in known["phase_ns"]:
        ends.append((ends[-1] if ends else 0) + length)
    def overlap(part, start, end):
        low, high = total * part / parts, total * (part + 1) / parts
        return max(0, min(high, end) - max(low, start)) / (high - low)
    active = [100 * overlap(i, 0, ends[2]) + 100 * known["tail_blocks"] / known["sm_count"] * overlap(i, ends[2], ends[3]) for i in range(parts)]
    return active, [overlap(i, 0, ends[0]) for i in range(parts)], [overlap(i, ends[1], ends[2]) for i in range(parts)]


def measure_phases(machine):
    """The curve along a kernel of known phases. DRAM and tensor: rms against phases at the height of their plateaus."""
    results = {}
    for name, options in (("10 kHz", ("--gpu-metrics-frequency", "10000")), ("50 kHz bursts", ("--gpu-metrics-frequency", "50000"))):
        done, report, _ = machine.sampled("phases", [machine.programs / "gpu_known_rates", "phases", "--launches", "15000"],
                                          "--gpu-metrics-set", "kernels", *options)
        known = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
        found = {}
        for row in table(report, "kernel_profiles"):
            if "PhasesKernel" not in row["kernel"]:
                continue
            values = [float(value) for value in row["parts"].split()]
            active, copies, tensors = expected_phases(known, len(values))
            share = {"SMs Active": None, "Tensor Active": tensors}.get(row["metric"], copies)
            if share is None:
                expected = active
            else:
                plateau = [value for value, part in zip(values, share) if part > 0.99]
                expected = [part * (sum(plateau) / max(len(plateau), 1)) for part in share]
            rms = (sum((a - b) ** 2 for a, b in zip(values, expected)) / len(values)) ** 0.5
            found[row["metric"]] = {"rms_percent": round(rms, 2), "said_error": row["error"], "profile": row["profile"], "parts": values,
                                    "launches": row["launches"]}
        results[name] = {"known": known, "found": found, "tail": [one["message"] for one in report["findings"] if one["id"] == "gpu.kernel_tail"]}
        print(name, json.dumps(results[name], ensure_ascii=False), flush=True)
    return results


def measure_graph(machine):
    """A decode loop: the share of the time of kernels that has a value."""
    results = {}
    for name, options in (("1 kHz", ()), ("10 kHz", ("--gpu-metrics-frequency", "10000")), ("50 kHz bursts", ("--gpu-metrics-frequency", "50000"))):
        _, report, _ = machine.sampled("graph", [machine.programs / "gpu_known_rates", "graph", "--launches", "20000"],
                                       "--gpu-metrics-set", "kernels", *options)
        results[name] = {"rated_kernel_percent": metric(report, "gpu.rated_kernel_percent"), "seconds_to_report": report["seconds_to_report"],
                         "rows": table(report, "gpu_metrics_kernels")}
        print(name, results[name]["rated_kernel_percent"], flush=True)
    return results


def find_ncu():
    for name in (shutil.which("ncu"), *sorted(pathlib.Path("/").glob("usr/local/cuda*/bin/ncu")), *sorted(pathlib.Path("/").glob("opt/nvidia/nsight-compute/*/ncu"))):
        if name and pathlib.Path(name).exists():
            return str(name)
    return None


def plain(kernel):
    found = re.search(r"(\w+)\((?!anonymous)", kernel)
    return found[1] if found else kernel


def raw_values(text):
    """Of a raw page as ncu has it, by kernel and metric: all values."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    values = {}
    for row in list(csv.DictReader(io.StringIO("\n".join(lines))))[1:]:  # the first one has units
        for name, metric_name in COMPARED.items():
            if row.get(metric_name):
                values.setdefault((plain(row["Kernel Name"] + "("), name), []).append(float(row[metric_name].replace(",", "")))
    return values


def with_ncu(program, ncu):
    return raw_values(run(ncu, "--clock-control", "none", "--cache-control", "none", "--metrics", ",".join(COMPARED.values()),
                          "--csv", "--page", "raw", "--print-units", "base", *program).stdout)


def with_counters(machine, program):
    """The same by our own counters."""
    done = run(machine.command, "counters", "-f", "-o", machine.out / "counters.trace", "--metrics", ",".join(COMPARED.values()),
               "-c", "3", "--filter-mode", "per-launch-config", "--csv", "--page", "raw", "--", *program, check=False)
    return raw_values(done.stdout)


def compare(sampled, reference):
    """Values of samples against those of a profiler; its own spread counts."""
    rows, differences = [], []
    for key, row in sorted(sampled.items()):
        values = reference.get(key)
        if not values:
            continue
        low, high, middle = min(values), max(values), statistics.median(values)
        rows.append({"kernel": key[0], "metric": key[1], "sampled": row["mean"], "from": row["low"], "to": row["high"], "reference": middle,
                     "reference_from": low, "reference_to": high, "held": row["low"] <= high and low <= row["high"]})
        if middle >= 2:
            differences.append(abs(row["mean"] / middle - 1))
    for one in rows:
        print("{kernel:24} {metric:24} sampled {sampled:7.2f} ({from:6.2f} to {to:6.2f})  reference {reference:7.2f} "
              "({reference_from:6.2f} to {reference_to:6.2f}) {0}".format("" if one["held"] else "*", **one))
    return {"values": len(rows), "held_percent": round(100 * sum(one["held"] for one in rows) / max(len(rows), 1), 1),
            "median_difference_percent": round(100 * statistics.median(differences), 2) if differences else None, "rows": rows}


def measure_ncu(machine):
    """Kernels with all kinds of limits: samples against ncu and against our own counters, clocks and caches left alone."""
    ncu, program = find_ncu(), machine.examples / "kernel_limits"
    _, report, _ = machine.sampled("limits", [program, "-s", "400"], "--gpu-metrics-frequency", "10000", "--gpu-metrics-set", "kernels")
    sampled = {(plain(row["kernel"]), row["metric"]): row for row in table(report, "gpu_metrics_kernels") if not row["kernel"].startswith("(")}
    results = {"rated_kernel_percent": metric(report, "gpu.rated_kernel_percent"), "kernels": len({key[0] for key in sampled})}
    results["counters"] = compare(sampled, with_counters(machine, [program, "-s", "3"]))
    results["ncu"] = compare(sampled, with_ncu([program, "-s", "3"], ncu)) if ncu else "there is no ncu"
    for name in ("counters", "ncu"):
        print(name, {key: value for key, value in results[name].items() if key != "rows"} if isinstance(results[name], dict) else results[name], flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("kernel_rates"))
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "release")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true")
    wanted = parser.parse_args()
    if not pathlib.Path("/proc/driver/nvidia").exists() and not pathlib.Path("/dev/nvidiactl").exists():
        print("skipped: there is no GPU")
        return SKIP
    wanted.out.mkdir(parents=True, exist_ok=True)
    machine, results = Machine(wanted), {}
    for part in wanted.only:
        print(f"== {part}", flush=True)
        try:
            results[part] = globals()[f"measure_{part}"](machine)
        except Exception as error:  # the other parts are worth as much
            results[part] = {"error": str(error)}
            print("FAILED:", error, flush=True)
        (wanted.out / "kernel_rates.json").write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
