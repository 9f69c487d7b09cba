"""What recording costs a process that lives for a millisecond, as in a build or a test suite: one that uses NVTX, and one that uses nothing.

    GPROF_TEST_BUILD=BUILD tests/bench/run_short_processes.py [--processes 500] [--rounds 5]

In a round each set of processes is run untraced and recorded, one after the other and eight at a time. Prints medians: milliseconds on the clock for
each process, and of processors. Needs the target e2e_programs, and no GPU.
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", "build/release")).resolve()
GPROF = BUILD / "bin/gprof-cli"
PROGRAMS = {"uses NVTX": [str(BUILD / "tests/e2e/tracer/short_lived"), "range"], "uses nothing": ["/bin/true"]}


def run(words, processes, at_once, trace):
    """Milliseconds for each process: on the clock, and of processors."""
    command = ["sh", "-c", f"seq {processes} | xargs -P {at_once} -I NUMBER {' '.join(words)}"]
    if trace is not None:
        command = [str(GPROF), "profile", "-q", "-f", "-o", trace, "--", *command]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return wall * 1000 / processes, used * 1000 / processes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory(prefix="gprof-bench-") as folder:
        for _ in range(arguments.rounds):
            for name, words in PROGRAMS.items():
                for at_once in (1, 8):
                    for trace in (None, f"{folder}/run.trace"):
                        figures.setdefault((name, at_once, trace is not None), []).append(
                            run(words, arguments.processes, at_once, trace))
    print("| process | at a time | untraced | recorded | more | more processor time |\n|---|---|---|---|---|---|")
    for name in PROGRAMS:
        for at_once in (1, 8):
            (plain, plain_used), (traced, traced_used) = (
                [statistics.median(column) for column in zip(*figures[name, at_once, is_traced])] for is_traced in (False, True))
            print(f"| {name} | {at_once} | {plain:.2f} ms | {traced:.2f} ms | {traced - plain:.2f} ms | {traced_used - plain_used:.2f} ms |")


if __name__ == "__main__":
    main()
