"""The part of a program that is measured: warmed up, with its own clock, at a moment that run_programs.py chooses.

A program makes its workloads, does some steps of each and waits. When its turn has come it does the steps that count,
writes what it measured, and waits for its next turn, at last until it may end. Without --gate it does not wait. The
files of a gate, I being the number of a turn from 0:

    ready     the program has warmed up                  goI      it is its turn [runner]
    resultI   one JSON object with the measurements      leave    it may end [runner]
    end       the moment at which it began to end, in ns of the monotonic clock
"""

import argparse
import json
import os
import pathlib
import time

WARM_STEPS = 8
POLL_S = 0.005


class Gate:
    def __init__(self, folder, patience_s=300):
        self.folder = pathlib.Path(folder) if folder else None
        self.patience_s = patience_s

    def tell(self, name, text=""):
        """The file appears with all of its text or not at all."""
        if self.folder is None:
            return
        part = self.folder / f"{name}.part"
        part.write_text(text)
        os.rename(part, self.folder / name)

    def wait(self, name):
        end = time.monotonic() + self.patience_s
        while self.folder is not None and not (self.folder / name).exists():
            if time.monotonic() > end:
                raise SystemExit(f"nobody said {name} in {self.patience_s} s")
            time.sleep(POLL_S)


class Workload:
    """`step` is called again and again, `wait` until nothing is left to do; `checksum` says what came out."""

    def __init__(self, step, wait=lambda: None, checksum=lambda: "", warm_steps=WARM_STEPS, steps=None):
        self.step, self.wait, self.checksum = step, wait, checksum
        self.warm_steps, self.steps = warm_steps, steps

    def do(self, count):
        """Nanoseconds for `count` steps."""
        started = time.perf_counter_ns()
        for _ in range(count):
            self.step()
        self.wait()
        return time.perf_counter_ns() - started


def parse_steps(text):
    """{"eager": 100} of eager=100,graph=200"""
    return {name: int(count) for name, count in (part.split("=") for part in text.split(",") if part)}


def parser():
    result = argparse.ArgumentParser()
    result.add_argument("--gate", default="", help="folder of the files above")
    result.add_argument("--only", default="", help="workloads, separated by commas")
    result.add_argument("--steps", type=parse_steps, default={}, help="NAME=STEPS,…")
    result.add_argument("--turns", type=int, default=1, help="times that it is measured")
    result.add_argument("--steady-ms", type=float, default=500, help="length of a measured part where --steps does not say")
    return result


def steps_of(name, workload, arguments):
    """As many as fill the time, where neither the runner nor the workload says."""
    if name in arguments.steps:
        return arguments.steps[name]
    if workload.steps:
        return workload.steps
    ns = max(1, workload.do(WARM_STEPS) // WARM_STEPS)
    return max(1, int(arguments.steady_ms * 1e6 / ns))


def measure(name, workload, arguments):
    count = steps_of(name, workload, arguments)
    # Waiting for its turn let clocks and caches go down.
    if workload.warm_steps:
        workload.do(max(workload.warm_steps, count // 10))
    ns = workload.do(count)
    return {"ns_per_step": ns / count, "steps": count, "checksum": str(workload.checksum())}


def run(factories, arguments, finish=lambda: None):
    """factories: {name: function that makes the Workload}. A package that is missing leaves its workload out."""
    gate = Gate(arguments.gate)
    wanted = [name for name in arguments.only.split(",") if name] or list(factories)
    workloads, results = {}, {}
    for name in wanted:
        try:
            workloads[name] = factories[name]()
            workloads[name].do(workloads[name].warm_steps)
        except ImportError as error:
            results[name] = {"skipped": str(error)}
    gate.tell("ready")
    for turn in range(arguments.turns):
        gate.wait(f"go{turn}")
        for name, workload in workloads.items():
            results[name] = measure(name, workload, arguments)
        text = json.dumps(results)
        gate.tell(f"result{turn}", text)
    gate.wait("leave")
    gate.tell("end", str(time.monotonic_ns()))
    finish()
    print(text, flush=True)
