"""What recording costs real programs: untraced, with gprof-cli, with Nsight Systems, and one loop with torch.profiler.

    GPROF_TEST_BUILD=BUILD tests/bench/run_programs.py --out DIR [--rounds 10] [--programs torch,compile] [--limit-s 500]

In a round a program is started once for every variant; all of them warm up side by side, then each in turn does its
measured part while the others sleep, --turns times, then all end. So start-up, which takes most of the time, is paid
once a round, and what is compared was measured within seconds. The figure of a run is the median of its turns. A first
untraced run, which does not count, fills caches and says how many steps make --steady-ms. --serial runs the variants
one after the other instead.

Writes DIR/programs.json and DIR/programs.md after every round, and prints the tables. nsys needs libdw and libelf:
GPROF_TEST_NSYS_LIBS (tests/gpu/nsys.py).
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "gpu")]

import nsys  # noqa: E402
import paired  # noqa: E402
import recorded  # noqa: E402
import support  # noqa: E402
from run_recording import machine  # noqa: E402

UNTRACED, OURS, NSYS = "untraced", "gprof-cli", "nsys"
PROFILER = {"torch.profiler": "all", "torch.profiler, CUDA only": "cuda"}
PATIENCE_S = 240
PROGRAMS = HERE / "programs"
# What nsys keeps of what gprof-cli records too, by table of its export.
NSYS_EVENTS = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
               "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_RUNTIME",
               "NVTX_EVENTS")


@dataclasses.dataclass
class Program:
    words: list
    workloads: dict  # name in the program: what the table calls it
    modules: tuple = ()
    profiled: str = ""  # the workload that torch.profiler records as well
    most_turns: int = 100

    def why_not(self):
        missing = [module for module in self.modules if importlib.util.find_spec(module) is None]
        if missing:
            return f"not installed: {', '.join(missing)}"
        missing = [word for word in self.words if os.sep in str(word) and not os.path.exists(word)]
        return f"not built: {', '.join(map(str, missing))}" if missing else None


def python(name, *arguments):
    return [sys.executable, "-B", str(PROGRAMS / name), *map(str, arguments)]


KNOWN = {
    "torch": Program([*python("torch_training.py"), "--only", "eager,graph,resnet"],
                     {"eager": "transformer step, eager", "graph": "transformer step, CUDA graph",
                      "resnet": "ResNet step, eager"}, ("torch",), "eager"),
    "compile": Program([*python("torch_training.py"), "--only", "compiled"],
                       {"compiled": "transformer step, torch.compile"}, ("torch",)),
    "loops": Program(python("loops.py"), {"numba": "numba loop", "cupy": "CuPy loop"}),
    "storm": Program([str(support.PROGRAMS / "kernel_storm")], {"storm": "5 µs kernels from 4 threads, a launch"}),
    "examples": Program(python("examples.py", "--folder", support.EXAMPLES),
                        {name: f"example normalise_{name}, whole run"
                         for name in ("v1_pageable", "v2_pinned_nvtx", "v3_streams")}, most_turns=2),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--programs", default=",".join(KNOWN), help="some of " + ", ".join(KNOWN))
    parser.add_argument("--turns", type=int, default=5, help="measured parts of a run")
    parser.add_argument("--steady-ms", type=float, default=150, help="length of the measured part of a workload")
    parser.add_argument("--limit-s", type=float, default=540, help="no round begins that would not end within it")
    parser.add_argument("--without", action="append", default=[], help="leave a variant out; repeat it for more")
    parser.add_argument("--serial", action="store_true", help="never have two variants at once")
    return parser.parse_args()


class Run:
    """One variant of one program: a command with a gate, and what it leaves behind."""

    def __init__(self, program, variant, folder, arguments, steps):
        self.program, self.variant, self.folder = program, variant, folder
        self.turns = min(arguments.turns, program.most_turns)
        self.gate = pathlib.Path(tempfile.mkdtemp(prefix="gate-", dir=folder))
        self.product = None
        self.error = self.gate / "stderr"
        words = [*program.words, "--gate", str(self.gate), "--steady-ms", str(arguments.steady_ms),
                 "--turns", str(self.turns)]
        if steps:
            words += ["--steps", ",".join(f"{name}={count}" for name, count in steps.items())]
        with open(self.error, "wb") as error:
            self.process = subprocess.Popen(self.words(words), stdin=subprocess.DEVNULL, stdout=error, stderr=error,
                                            env=self.environment(), cwd=self.gate, start_new_session=True)

    def words(self, program):
        stem = self.gate / "run"
        if self.variant == OURS:
            self.product = stem.with_suffix(".trace")
            return [str(support.COMMAND), "profile", "-q", "-f", "-o", str(self.product), "--", *program]
        if self.variant == NSYS:
            self.product = stem.with_suffix(".nsys-rep")
            return [nsys.find(), "profile", "-t", "cuda,nvtx", "-s", "none", "--cpuctxsw", "none", "-f", "true",
                    "-o", str(stem), *program]
        if self.variant in PROFILER:
            self.product = stem.with_suffix(".json")
            only = program.index("--only")
            program = [*program[:only + 1], self.program.profiled, *program[only + 2:]]
            return [*program, "--profiler", PROFILER[self.variant], "--profiler-out", str(self.product)]
        return program

    def environment(self):
        caches = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton", "NUMBA_CACHE_DIR": "numba",
                  "CUPY_CACHE_DIR": "cupy"}
        more = {name: str(self.folder / folder) for name, folder in caches.items()}
        if self.variant == NSYS:
            more["LD_LIBRARY_PATH"] = nsys.environment()["LD_LIBRARY_PATH"]
        return support.environment(PYTHONPATH=support.python_path(), **more)

    def wait(self, name):
        end = time.monotonic() + PATIENCE_S
        path = self.gate / name
        while not path.exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"ended with {self.process.returncode} before it was {name}: {self.said()}")
            if time.monotonic() > end:
                raise RuntimeError(f"was not {name} after {PATIENCE_S} s: {self.said()}")
            time.sleep(0.002)
        return path.read_text()

    def said(self):
        return self.error.read_text(errors="replace").strip()[-800:]

    def tell(self, name):
        (self.gate / name).touch()

    def ready(self):
        return self.wait("ready")

    def measure(self, turn):
        self.tell(f"go{turn}")
        return json.loads(self.wait(f"result{turn}"))

    def leave(self):
        """Seconds from the program's end to the end of the command, when its trace can be read."""
        self.tell("leave")
        end_ns = int(self.wait("end"))
        code = self.process.wait(timeout=PATIENCE_S)
        seconds = (time.monotonic_ns() - end_ns) / 1e9
        if code != 0 or (self.product is not None and not self.product.exists()):
            raise RuntimeError(f"ended with {code}, product {self.product}: {self.said()}")
        return seconds

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Results:
    """Everything that was measured, and the tables of it."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.rounds = {}    # program: rounds done
        self.steady = {}    # program: {workload: {variant: {round: {ns_per_step, steps, checksum}}}}
        self.ends = {}      # program: {variant: [s]}
        self.products = {}  # program: {variant: {bytes, events, kernels, report_s}}
        self.failed = {}    # program: {variant: why}
        self.started = time.monotonic()

    def add(self, key, variant, number, measured, end_s):
        for workload, result in measured.items():
            if "skipped" in result:
                self.failed.setdefault(key, {})[workload] = result["skipped"]
                continue
            self.steady.setdefault(key, {}).setdefault(workload, {}).setdefault(variant, {})[number] = result
        self.ends.setdefault(key, {}).setdefault(variant, []).append(end_s)

    def fail(self, key, variant, error):
        self.failed.setdefault(key, {})[variant] = str(error)
        print(f"{key}: {variant}: {error}", file=sys.stderr, flush=True)

    def save(self):
        self.arguments.out.mkdir(parents=True, exist_ok=True)
        document = {"schema": "gprof.programs/1", "machine": machine(), "seconds": time.monotonic() - self.started,
                    "rounds": self.rounds, "steady": self.steady, "end_seconds": self.ends, "products": self.products,
                    "failed": self.failed}
        (self.arguments.out / "programs.json").write_text(json.dumps(document, indent=1))
        (self.arguments.out / "programs.md").write_text(self.text())

    def text(self):
        return steady_table(self.steady) + "\n" + product_table(self.ends, self.products) + self.failures()

    def failures(self):
        lines = [f"* {key}: {variant}: {why}" for key, found in self.failed.items() for variant, why in found.items()]
        return "\nWhat did not run:\n\n" + "\n".join(lines) + "\n" if lines else ""


def steady_table(steady):
    heads = ["workload", "variant", "a step, median", "middle half", "slow-down", "its 95 % interval", "result", "runs"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for key, workloads in steady.items():
        for workload, variants in workloads.items():
            label = KNOWN[key].workloads.get(workload, workload)
            plain = {number: r["ns_per_step"] for number, r in variants.get(UNTRACED, {}).items()}
            sums = [r["checksum"] for r in variants.get(UNTRACED, {}).values()]
            for variant, runs in variants.items():
                values = plain if variant == UNTRACED else {number: r["ns_per_step"] for number, r in runs.items()}
                found = [r["checksum"] for r in runs.values()]
                lines.append("| " + " | ".join([label, variant, *paired.slowdown_cells(values, plain),
                                                result_cell(variant, found, sums), str(len(runs))]) + " |")
    return "\n".join(lines) + "\n"


def result_cell(variant, found, plain):
    if not any(found):
        return "-"
    if variant == UNTRACED:
        return "the same" if len(set(found)) == 1 else f"{len(set(found))} different"
    return "as untraced" if paired.agrees(found, plain) else "DIFFERENT"


def product_table(ends, products):
    heads = ["program", "variant", "records", "kernels", "trace", "bytes a record", "end to trace, median", "most",
             "trace to first report"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for key, variants in ends.items():
        for variant, seconds in variants.items():
            product = products.get(key, {}).get(variant, {})
            records, size = product.get("events"), product.get("bytes")
            report = product.get("report_s")
            cells = [key, variant, str(records or ""), str(product.get("kernels") or ""),
                     paired.bytes_text(size) if size else "", f"{size / records:.2f}" if size and records else "",
                     f"{statistics.median(seconds):.2f} s", f"{max(seconds):.2f} s",
                     f"{report:.2f} s" if report is not None else ""]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def variants_of(program, arguments):
    found = [UNTRACED, OURS]
    if nsys.find():
        found.append(NSYS)
    if program.profiled:
        found += list(PROFILER)
    return [variant for variant in found if variant not in arguments.without]


def calibrate(program, folder, arguments):
    """{workload: steps} for --steady-ms, from a run that does not count."""
    run = Run(program, UNTRACED, folder, arguments, None)
    try:
        run.wait("ready")
        measured = [run.measure(turn) for turn in range(run.turns)][-1]
        run.leave()
    finally:
        run.stop()
        shutil.rmtree(run.gate, ignore_errors=True)
    return {name: result["steps"] for name, result in measured.items() if "steps" in result}


def run_together(key, program, variants, number, steps, folder, results):
    """All variants at once: they warm up side by side, are measured in turn, and end side by side. The runs that went
    well, with their files."""
    runs, measured = {}, {}

    def guarded(variant, work):
        try:
            return work()
        except Exception as error:  # a variant that does not work here must not cost the others
            results.fail(key, variant, error)
            if variant in runs:
                runs.pop(variant).stop()
            return None

    def start(variant):
        runs[variant] = Run(program, variant, folder, results.arguments, steps)

    try:
        for variant in variants:
            guarded(variant, lambda variant=variant: start(variant))
        for variant in list(runs):
            guarded(variant, runs[variant].ready)
        for number_of_turn in range(min(results.arguments.turns, program.most_turns)):
            for variant in turn(list(runs), number_of_turn):
                found = guarded(variant, functools.partial(runs[variant].measure, number_of_turn))
                measured.setdefault(variant, []).append(found)
        with concurrent.futures.ThreadPoolExecutor(max(1, len(runs))) as pool:
            ends = {variant: pool.submit(run.leave) for variant, run in runs.items()}
        for variant, end in ends.items():
            seconds = guarded(variant, end.result)
            if seconds is not None:
                results.add(key, variant, number, of_turns(measured[variant]), seconds)
        return runs
    finally:
        for run in runs.values():
            run.stop()


def of_turns(turns):
    """What the turns of a run say together: the median time, the last checksum."""
    result = {}
    for workload, last in turns[-1].items():
        result[workload] = dict(last)
        if "skipped" not in last:
            times = [turn[workload]["ns_per_step"] for turn in turns]
            result[workload].update(ns_per_step=statistics.median(times), turns=times)
    return result


def turn(variants, number):
    """Nobody is always the first: what comes first finds the GPU colder."""
    first = number % len(variants)
    return variants[first:] + variants[:first]


def run_round(key, number, steps, folder, results):
    """One round of one program. The runs of the last round keep their files."""
    program, arguments = KNOWN[key], results.arguments
    wanted = [name for name in variants_of(program, arguments) if name not in results.failed.get(key, {})]
    wanted = turn(wanted, number)
    groups = [[variant] for variant in wanted] if arguments.serial else [wanted]
    runs = {}
    for group in groups:
        runs.update(run_together(key, program, group, number, steps, folder, results))
    results.rounds[key] = number + 1
    return runs


def timed(*words, env=None):
    started = time.monotonic()
    done = subprocess.run([str(word) for word in words], capture_output=True, stdin=subprocess.DEVNULL, env=env,
                          timeout=PATIENCE_S)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}")
    return time.monotonic() - started


def look_at_ours(run):
    seconds = timed(support.COMMAND, "report", run.product)
    document = json.loads(recorded.ask("report", run.product, "--rows", "0", "--format", "json"))
    metrics = {metric["id"]: metric["value"] for metric in document["metrics"] if metric["scope"] == ""}
    health = document["health"]
    return {"events": document["trace"]["records"], "report_s": seconds, "kernels": metrics.get("kernels.count", 0),
            "lost": health["lost_records"], "complete": health["complete"]}


def nsys_events(database):
    """{table: rows} of an export."""
    with contextlib.closing(sqlite3.connect(database)) as opened:
        known = {name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return {name: opened.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in NSYS_EVENTS if name in known}


def look_at_nsys(run):
    database = run.gate / "run.sqlite"
    seconds = timed(nsys.find(), "stats", "--force-export=true", "--sqlite", database, run.product,
                    env=nsys.environment())
    counts = nsys_events(database)
    return {"events": sum(counts.values()), "kernels": counts.get(NSYS_EVENTS[0], 0), "report_s": seconds, "tables": counts}


def look_at_profiler(run):
    with open(run.product, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return {"events": len(events), "kernels": sum(event.get("cat") == "kernel" for event in events)}


def look_at_products(key, runs, results):
    """What the last traces hold, and how long they take to read. nsys stats makes the SQLite export that it needs."""
    for variant, run in runs.items():
        if run.product is None or not run.product.exists():
            continue
        found = results.products.setdefault(key, {}).setdefault(variant, {"bytes": run.product.stat().st_size})
        look = {OURS: look_at_ours, NSYS: look_at_nsys}.get(variant, look_at_profiler)
        try:
            found.update(look(run))
        except Exception as error:
            results.fail(key, f"{variant}, reading", error)


class Schedule:
    """Rounds of all programs, as far as the time goes."""

    def __init__(self, arguments, results):
        self.arguments, self.results = arguments, results
        self.longest = {}

    def left_s(self):
        return self.arguments.limit_s - (time.monotonic() - self.results.started)

    def has_time_for(self, key):
        # Reading the last traces takes about as long as a round.
        reserve = sum(self.longest.values())
        return self.left_s() > self.longest.get(key, 0) * 1.1 + reserve

    def took(self, key, seconds):
        self.longest[key] = max(seconds, self.longest.get(key, 0))
        print(f"{key}: {seconds:.1f} s, {self.left_s():.0f} s left", file=sys.stderr, flush=True)


def run_all(keys, folder, arguments, results):
    schedule, steps, last = Schedule(arguments, results), {}, {}
    for key in list(keys):
        try:
            steps[key] = calibrate(KNOWN[key], folder, arguments)
        except Exception as error:
            results.fail(key, UNTRACED, error)
            keys.remove(key)
    for number in range(arguments.rounds):
        for key in keys:
            if not schedule.has_time_for(key):
                continue
            for run in last.pop(key, {}).values():
                shutil.rmtree(run.gate, ignore_errors=True)
            started = time.monotonic()
            last[key] = run_round(key, number, steps[key], folder, results)
            schedule.took(key, time.monotonic() - started)
            results.save()
    for key, runs in last.items():
        if schedule.left_s() > 0:
            look_at_products(key, runs, results)
            results.save()


def main():
    arguments = parse_arguments()
    reason = support.why_not()
    if reason:
        print("skipped:", reason)
        return support.SKIP
    results = Results(arguments)
    keys = [key for key in arguments.programs.split(",") if key]
    for key in list(keys):
        reason = KNOWN[key].why_not() if key in KNOWN else "no such program"
        if reason:
            results.fail(key, "all", reason)
            keys.remove(key)
    with tempfile.TemporaryDirectory(prefix="gprof-programs-") as name:
        run_all(keys, pathlib.Path(name), arguments, results)
    results.save()
    print(results.text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
