"""What recording costs: the same micro-benchmark untraced, with CUPTI alone, with gprof-cli and with Nsight Systems.

    GPROF_TEST_BUILD=BUILD tests/bench/run_recording.py --out DIR [--rounds 3] [-n COUNT] [--program nvtx_bench] [--modes]

The variants take turns, round by round, because absolute times drift; the figure of a variant is the median over all
rounds and repetitions. Writes DIR/recording.json and DIR/recording.md, and prints the table. With --modes the ways to
record are compared with each other (docs/capture.md), and the files are called modes.json and modes.md.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))

import nsys  # noqa: E402
import support  # noqa: E402

UNTRACED, FLOOR, IDLE, OURS, NSYS = "untraced", "CUPTI floor", "gprof-cli -t none", "gprof-cli", "nsys"
# name: options of profile. The first waits for a range that never comes.
MODES = {
    "waiting": ["-c", "cudaProfilerApi"],
    "default": [],
    "-t cuda": ["--only-trace", "-t", "cuda"],
    "-t nvtx": ["--only-trace", "-t", "nvtx"],
    "all APIs": ["--cuda-trace-all-apis"],
    "graph nodes": ["--cuda-graph-trace", "node"],
    "graphs auto": ["--cuda-graph-trace", "auto"],
    "memory": ["--cuda-memory-usage"],
    "managed": ["--cuda-um-gpu-page-faults"],
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-n", type=int, default=100_000, help="launches in one repetition; the others follow from it")
    parser.add_argument("-r", type=int, default=3, help="repetitions within a run")
    parser.add_argument("--program", default="recording_bench", choices=("recording_bench", "nvtx_bench"))
    parser.add_argument("--modes", action="store_true", help="the ways to record instead of other tools")
    parser.add_argument("--without", action="append", default=[], help="leave a variant out; repeat it for more")
    return parser.parse_args()


def modes(folder):
    ours = [str(support.COMMAND), "profile", "-q", "-f", "-o", str(folder / "ours.trace")]
    return {UNTRACED: ([], {}), **{name: ([*ours, *options, "--"], {}) for name, options in MODES.items()}}


def variants(folder, has_gpu):
    """{name: (words in front of the program, environment)}"""
    floor = support.PROGRAMS / "libcupti_floor.so"
    found = {UNTRACED: ([], {})}
    if has_gpu and floor.is_file():
        found[FLOOR] = ([], {"CUDA_INJECTION64_PATH": str(floor)})
    ours = [str(support.COMMAND), "profile", "-f", "-o", str(folder / "ours.trace")]
    found[IDLE] = ([*ours, "--only-trace", "-t", "none", "--"], {})
    found[OURS] = ([*ours, "--"], {})
    if nsys.find():
        options = ["-t", "cuda,nvtx", "-s", "none", "--cpuctxsw", "none", "-f", "true", "-o", str(folder / "nsys")]
        found[NSYS] = ([nsys.find(), "profile", *options], {"LD_LIBRARY_PATH": nsys.environment()["LD_LIBRARY_PATH"]})
    return found


def measure(words, environment):
    """Times in ns by operation, and the seconds that the whole command took."""
    started = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
                          env=support.environment(**environment))
    seconds = time.monotonic() - started
    if done.returncode != 0:
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    # nsys prints around the program's own output.
    text = done.stdout[done.stdout.index('{"operations"'):]
    return json.JSONDecoder().raw_decode(text)[0]["operations"], seconds


def program(arguments, variant):
    """The command of the program. Nsight Systems gets fewer operations: it needs very long to write its report."""
    fewer = {"recording_bench": 4, "nvtx_bench": 10}[arguments.program] if variant == NSYS else 1
    return [str(support.PROGRAMS / arguments.program), "-n", str(arguments.n // fewer), "-r", str(arguments.r)]


def run_rounds(arguments, folder, has_gpu, save):
    """samples[operation][variant] = [ns, …], seconds[variant] = [s, …]; calls save() with them after every round"""
    samples, seconds, failed = {}, {}, {}
    for round_number in range(arguments.rounds):
        chosen = modes(folder) if arguments.modes else variants(folder, has_gpu)
        for name, (words, environment) in chosen.items():
            if name in arguments.without or name in failed:
                continue
            try:
                operations, took = measure([*words, *program(arguments, name)], environment)
            except Exception as error:  # a variant that does not work here must not cost the others
                failed[name] = f"{type(error).__name__}: {error}"
                print(f"{name}: {failed[name]}", file=sys.stderr)
                continue
            seconds.setdefault(name, []).append(took)
            for operation, times in operations.items():
                samples.setdefault(operation, {}).setdefault(name, []).extend(times["ns"])
            print(f"round {round_number + 1}: {name}: {took:.1f} s", file=sys.stderr)
        save(samples, seconds, failed, round_number + 1)


def trace_facts(folder):
    """Size of the last traces, for bytes per event."""
    facts = {}
    trace, report = folder / "ours.trace", folder / "nsys.nsys-rep"
    if trace.is_file():
        import recorded
        document = json.loads(recorded.ask("report", trace, "--only", "health", "--format", "json"))
        records = document["trace"]["records"]
        facts["gprof-cli"] = {"bytes": trace.stat().st_size, "records": records,
                              "bytes_per_record": round(trace.stat().st_size / max(records, 1), 3)}
    if report.is_file():
        facts["nsys"] = {"bytes": report.stat().st_size}
    return facts


def table(samples, names):
    """Medians in ns, and how ours compares with the others."""
    others = [name for name in (FLOOR, NSYS) if name in names]
    heads = names + [f"gprof-cli / {name}" for name in others]
    lines = ["| operation | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for operation, by_variant in samples.items():
        median = {name: statistics.median(times) for name, times in by_variant.items()}
        cells = [f"{median[name]:.1f}" if name in median else "" for name in names]
        for other in others:
            both = OURS in median and other in median and median[other] > 0
            cells.append(f"{median[OURS] / median[other]:.3f}" if both else "")
        lines.append(f"| {operation} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def machine():
    text = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "kernel": platform.release()}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            text["cpu"] = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        text["gpu"] = subprocess.run(query, capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, StopIteration, subprocess.SubprocessError):
        pass
    return text


def main():
    arguments = parse_arguments()
    has_gpu = support.gpu_count() > 0
    if arguments.program == "recording_bench" and not has_gpu:
        print("skipped: recording_bench needs a GPU; --program nvtx_bench does not")
        return support.SKIP
    arguments.out.mkdir(parents=True, exist_ok=True)
    stem = "modes" if arguments.modes else "recording" if arguments.program == "recording_bench" else arguments.program
    with tempfile.TemporaryDirectory(prefix="gprof-bench-") as name:
        folder = pathlib.Path(name)

        def save(samples, seconds, failed, rounds):  # after every round: whoever ends this early keeps what there is
            order = (UNTRACED, *MODES) if arguments.modes else (UNTRACED, FLOOR, IDLE, OURS, NSYS)
            names = [name for name in order if any(name in row for row in samples.values())]
            document = {"schema": "gprof.recording/1", "program": arguments.program, "machine": machine(),
                        "count": arguments.n, "rounds": rounds, "repetitions": arguments.r, "samples_ns": samples,
                        "command_seconds": seconds, "failed": failed, "traces": trace_facts(folder)}
            (arguments.out / f"{stem}.json").write_text(json.dumps(document, indent=1))
            (arguments.out / f"{stem}.md").write_text(table(samples, names))

        run_rounds(arguments, folder, has_gpu, save)
    print((arguments.out / f"{stem}.md").read_text())
    print("traces:", json.dumps(json.loads((arguments.out / f"{stem}.json").read_text())["traces"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
