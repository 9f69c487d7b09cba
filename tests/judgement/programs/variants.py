"""What the programs with variants share: the list of them, a lock so that one at a time uses the GPU, a loop that is recorded.

    variants.py PROGRAM     lists the variants of a program, also where what it imports is not installed
"""

import argparse
import ast
import fcntl
import json
import pathlib
import sys
import time

VARIANTS = {}
FIXED = {}  # the same with what is wrong mended: interventions.py compares them
WARM_UP = 3  # steps


def variant(function):
    VARIANTS[function.__name__] = function
    return function


def fixed(function):
    """For a program that is timed only, beside the one that it mends."""
    FIXED[function.__name__] = function
    return function


def names_in(program):
    """Of the functions that are marked with @variant."""
    tree = ast.parse(pathlib.Path(program).read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)
            and any(getattr(mark, "id", "") == "variant" for mark in node.decorator_list)]


def busy(seconds):
    """The host's own work: reading and preparing, in a program that did something useful."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("variant", help=f"one of {', '.join(VARIANTS)}")
    parser.add_argument("--steps", type=int, default=0, help="steps of the recorded loop; each variant has its own number")
    parser.add_argument("--lock", help="file to lock before the GPU is touched, so that programs import side by side and run alone")
    parser.add_argument("--beside", metavar="FIXED", help="time both in turn, and print the seconds as JSON; record nothing")
    parser.add_argument("--ready", metavar="FILE", help="make this file before waiting for the lock")
    parser.add_argument("--repeats", type=int, default=3, help="how often each is timed")
    parser.add_argument("--torch-profiler", metavar="FILE", help="record with torch.profiler into this file (.json.gz)")
    options = parser.parse_args()
    for name in [options.variant, *([options.beside] if options.beside else [])]:
        if name not in VARIANTS | FIXED:
            parser.error(f"no variant '{name}'; there are {', '.join(VARIANTS | FIXED)}")
    return options


def take(options):
    """The lock is held until the process ends."""
    if options.ready:
        pathlib.Path(options.ready).touch()
    if options.lock:
        held = open(options.lock, "w")  # noqa: SIM115
        fcntl.flock(held, fcntl.LOCK_EX)
        return held
    return None


class Loop:
    """Runs the steps of a variant: a few to warm up, then those that a capture range holds."""

    def __init__(self, steps, synchronize, start, stop):
        self.steps, self.synchronize, self.start, self.stop = steps, synchronize, start, stop

    def __call__(self, step, steps):
        for i in range(WARM_UP):
            step(i)
        self.synchronize()
        self.start()
        start = time.perf_counter()
        for i in range(self.steps or steps):
            step(i)
        self.synchronize()
        self.seconds = time.perf_counter() - start
        self.stop()


def compare(options, loop):
    """Times a variant and what mends it in turn; the first time of each is not counted."""
    seconds = {"spoiled": [], "fixed": []}
    for i in range(options.repeats + 1):
        for which, name in (("spoiled", options.variant), ("fixed", options.beside)):
            (VARIANTS | FIXED)[name](loop)
            if i > 0:
                seconds[which].append(loop.seconds)
    print(json.dumps(seconds))


def run(options, loop):
    if options.beside:
        compare(options, loop)
    else:
        (VARIANTS | FIXED)[options.variant](loop)


if __name__ == "__main__":
    print("\n".join(names_in(sys.argv[1])))
