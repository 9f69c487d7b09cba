"""numba's kernels, which are launched by the driver API, in streams and ranges; exits with 5."""

import sys

import numpy
import nvtx
from numba import cuda

LAUNCHES = 20


@cuda.jit
def add_one(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += 1


values = cuda.to_device(numpy.zeros(4096, dtype=numpy.float32))
streams = [cuda.stream() for _ in range(2)]
for i in range(LAUNCHES):
    with nvtx.annotate("launch", domain="numba", category="kernels"):
        add_one[16, 256, streams[i % 2]](values)
    streams[i % 2].synchronize()
print(int(values.copy_to_host()[0]))
sys.exit(5)
