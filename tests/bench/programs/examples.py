"""The normalise examples: a step is a run of one of them, from its start to its end, as a child process."""

import pathlib
import subprocess
import zlib

import steady

ROUNDS = 40


def example(folder, name):
    seen = [""]

    def step():
        done = subprocess.run([str(folder / name), "-r", str(ROUNDS)], capture_output=True, stdin=subprocess.DEVNULL)
        seen[0] = f"{done.returncode} {zlib.crc32(done.stdout):08x}"

    return steady.Workload(step, checksum=lambda: seen[0], warm_steps=0, steps=1)


def main():
    parser = steady.parser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    names = ("v1_pageable", "v2_pinned_nvtx", "v3_streams")
    steady.run({name: lambda name=name: example(arguments.folder, f"normalise_{name}") for name in names}, arguments)


if __name__ == "__main__":
    main()
