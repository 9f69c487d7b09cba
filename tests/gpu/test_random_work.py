"""Random sequences of CUDA calls (programs/random_work.cpp): the program computes the same with a recording as without,
and the trace has what it counted.

    tests/gpu/test_random_work.py --seeds 500 [--first 1] [--jobs 8]    more of them, with other options for each"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import sys

import recorded
import support

PROGRAM = support.PROGRAMS / "gpu_random_work"
# Each changes what is asked of CUPTI, or when.
OPTIONS = {
    "default": (),
    "nodes": ("--only-trace", "-t", "cuda,nvtx", "--cuda-graph-trace", "node"),
    "flushed_often": ("--only-trace", "-t", "cuda", "--flush-ms", "5"),
    "memory": ("--only-trace", "-t", "cuda,nvtx,osrt", "--cuda-memory-usage", "--cuda-um-gpu-page-faults"),
    "auto": ("--cuda-graph-trace", "auto", "--cudabacktrace=all:0"),
}


def expected_of(known, by_nodes):
    """How many records of each kind the trace must have."""
    expected = {"kernel": known["kernels"], "memcpy": known["copies"], "memset": known["memsets"], "graph_launch": known["graphs"]}
    if by_nodes:
        expected.update(kernel=known["kernels"] + known["graph_kernels"], memcpy=known["copies"] + known["graph_copies"],
                        memset=known["memsets"] + known["graph_memsets"], graph_launch=0)
    return expected


def wrong_with(seed, name, folder):
    """What is wrong with a recording of the program with this seed and these options; empty when nothing is."""
    alone = support.run(PROGRAM, "--seed", seed)
    trace = folder / f"{seed}.{name}.trace"
    traced = support.profile(trace, PROGRAM, "--seed", seed, options=OPTIONS[name])
    if (alone.returncode, alone.stdout) != (traced.returncode, traced.stdout):
        return f"alone: {alone.returncode} {alone.stdout}{alone.stderr}; traced: {traced.returncode} {traced.stdout}{traced.stderr}"
    if alone.returncode != 0:
        return f"alone: {alone.returncode} {alone.stderr}"
    if name == "auto":  # may change from graphs to nodes on the way
        return ""
    records = recorded.Records.of(trace)
    found = {kind: len(records[kind]) for kind in ("kernel", "memcpy", "memset", "graph_launch")}
    trace.unlink()
    expected = expected_of(json.loads(alone.stdout), name == "nodes")
    if records.problems or found != expected:
        return f"expected {expected}, recorded {found}, problems {records.problems}"
    return ""


class RandomWork(support.GpuTest):
    def test_recording_changes_nothing_and_misses_nothing(self):
        for seed, name in enumerate(OPTIONS, start=1):
            with self.subTest(seed=seed, options=name):
                self.assertEqual(wrong_with(seed, name, self.folder), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2))
    wanted = parser.parse_args()
    names, failed = list(OPTIONS), collections.Counter()
    with support.temporary_folder() as folder, concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        cases = [(seed, names[seed % len(names)]) for seed in range(wanted.first, wanted.first + wanted.seeds)]
        for (seed, name), wrong in zip(cases, pool.map(lambda case: wrong_with(*case, pathlib.Path(folder)), cases)):
            if wrong:
                failed[name] += 1
                print(f"seed {seed}, {name}: {wrong}", flush=True)
    print(f"{wanted.seeds} seeds, {sum(failed.values())} wrong {dict(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main()) if "--seeds" in sys.argv else support.main()
