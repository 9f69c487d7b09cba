#!/usr/bin/env python3
"""A longer trace of the same kind: what a recorded program did, several times over, as if it had gone on.

    GPROF_TEST_BUILD=BUILD tests/bench/lengthen_trace.py TRACE TIMES OUT

Events are repeated at later times and with later correlation ids; names, stacks, threads and GPUs are there once, as in
a program that calls the same lines again and again.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", "build/release"))
COMMAND, ASSEMBLER = BUILD / "bin/gprof-cli", BUILD / "tests/bin/assemble_trace"
REPEATED = {"api", "kernel", "nvtx", "memcpy", "memset", "sync", "os_call", "cpu_sample", "switch", "gemm", "overhead",
            "metric_block", "memory", "memory_pool", "event_record", "tensor_block", "mpi_call", "collective"}
TIME = re.compile(r"\b(start_ns|time_ns)=(\d+)")
CORRELATION = re.compile(r"\bcorrelation=(\d+)")
SEQUENCE = re.compile(r" sequence=\d+")


def read_chunks(text):
    """[[line of the chunk, records], ...]"""
    chunks = []
    for line in text.splitlines():
        if line.startswith("chunk "):
            chunks.append([SEQUENCE.sub("", line), []])
        elif line:
            chunks[-1][1].append(line)
    return chunks


def kind_of(chunk):
    return re.search(r"kind=(\w+)", chunk[0]).group(1)


class Lengthened:
    def __init__(self, chunks, out):
        self.out, self.sequences = out, collections.Counter()
        repeated = [chunk for chunk in chunks if kind_of(chunk) in REPEATED]
        times = [int(time) for chunk in repeated for line in chunk[1] for _, time in TIME.findall(line)]
        self.length_ns = max(times) - min(times) + 1_000_000
        self.correlations = max((int(c) for chunk in repeated for line in chunk[1] for c in CORRELATION.findall(line)),
                                default=0)
        self.repeated = repeated

    def write(self, chunk, number):
        pid = re.search(r"pid=(\d+)", chunk[0]).group(1)
        self.out.write(f"{chunk[0]} sequence={self.sequences[pid]}\n")
        self.sequences[pid] += 1
        for line in chunk[1]:
            if number > 0:
                line = TIME.sub(lambda m: f"{m[1]}={int(m[2]) + number * self.length_ns}", line)
                line = CORRELATION.sub(lambda m: f"correlation={int(m[1]) + number * self.correlations}", line)
            self.out.write(line + "\n")


def main():
    trace, times, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    dumped = subprocess.run([COMMAND, "dump", trace], check=True, capture_output=True, text=True).stdout
    chunks = read_chunks(dumped)
    with open(out, "wb") as file, subprocess.Popen([ASSEMBLER], stdin=subprocess.PIPE, stdout=file, text=True) as assembler:
        longer = Lengthened(chunks, assembler.stdin)
        for chunk in chunks:
            if kind_of(chunk) != "end":
                longer.write(chunk, 0)
        for number in range(1, times):
            for chunk in longer.repeated:
                longer.write(chunk, number)
        for chunk in chunks:
            if kind_of(chunk) == "end":
                longer.write(chunk, times - 1)
        assembler.stdin.close()
    return assembler.returncode


if __name__ == "__main__":
    sys.exit(main())
