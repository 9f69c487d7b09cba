"""What the four programs share: an array is cut into chunks, and every chunk is divided by its own sum."""

import argparse
import contextlib
import sys

import numpy as np
from numba import cuda, float32

try:
    from nvtx import annotate
except ImportError:  # the programs run all the same; a profile then has no ranges in it
    print("the Python package nvtx is not installed: no NVTX ranges", file=sys.stderr)

    def annotate(message):
        return contextlib.nullcontext(message)


THREADS = 256
PARTIAL_SUMS = 1024


@cuda.jit
def partial_reduce(values, partial_sums):
    sums = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        total += values[i]
    sums[thread] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if thread < half:
            sums[thread] += sums[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        partial_sums[cuda.blockIdx.x] = sums[0]


@cuda.jit
def single_thread_sum(values, total):
    result = float32(0)
    for i in range(values.size):
        result += values[i]
    total[0] = result


@cuda.jit
def divide_by(values, divisor):
    i = cuda.grid(1)
    if i < values.size:
        values[i] /= divisor[0]


class Chunk:
    """A part of the array and the device memory that it is normalised in."""

    def __init__(self, first, count):
        self.part = slice(first, first + count)
        self.blocks = (count + THREADS - 1) // THREADS
        self.values = cuda.device_array(count, np.float32)
        self.partial_sums = cuda.device_array(PARTIAL_SUMS, np.float32)
        self.total = cuda.device_array(1, np.float32)

    def copy_in(self, source, stream):
        self.values.copy_to_device(source[self.part], stream=stream)

    def normalise(self, stream):
        partial_reduce[PARTIAL_SUMS, THREADS, stream](self.values, self.partial_sums)
        single_thread_sum[1, 1, stream](self.partial_sums, self.total)
        divide_by[self.blocks, THREADS, stream](self.values, self.total)

    def copy_out(self, target, stream):
        self.values.copy_to_host(target[self.part], stream=stream)


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=1 << 24, help="elements of the array")
    parser.add_argument("-s", type=int, default=8, help="chunks, and streams in the programs that use some")
    parser.add_argument("-r", type=int, default=10, help="times that the whole array is done")
    return parser.parse_args()


def cut_into_chunks(options):
    size = (options.n + options.s - 1) // options.s
    return [Chunk(first, min(size, options.n - first)) for first in range(0, options.n, size)]


def make_input(array):
    array[:] = 1 + np.arange(array.size) % 7
    return array


def warm_up():
    """Compiles the kernels, which takes a second, by a few elements in the default stream."""
    chunk = Chunk(0, THREADS)
    chunk.copy_in(np.ones(THREADS, np.float32), 0)
    chunk.normalise(0)
    cuda.synchronize()


def run_in_streams(options, streams):
    """Runs all rounds, with the work of chunk i in streams[i]."""
    warm_up()
    source = make_input(cuda.pinned_array(options.n, np.float32))
    target = cuda.pinned_array(options.n, np.float32)
    chunks = cut_into_chunks(options)
    for _ in range(options.r):
        with annotate("round"):
            for chunk, stream in zip(chunks, streams):
                chunk.copy_in(source, stream)
                chunk.normalise(stream)
                chunk.copy_out(target, stream)
            for stream in streams:
                stream.synchronize()
    return verify(options, source, target)


def verify(options, source, target):
    """Compares with the CPU, says so on stdout, and returns the exit code of the program."""
    size = (options.n + options.s - 1) // options.s
    wrong = 0
    for first in range(0, options.n, size):
        part = slice(first, first + size)
        expected = source[part] / source[part].sum(dtype=np.float64)
        wrong += int(np.count_nonzero(~(np.abs(target[part] - expected) <= 1e-4 * expected)))
    chunks = (options.n + size - 1) // size
    verdict = "correct" if wrong == 0 else f"{wrong} elements are wrong"
    print(f"{options.n} elements, {chunks} chunks, {options.r} rounds: {verdict}")
    return 0 if wrong == 0 else 1
