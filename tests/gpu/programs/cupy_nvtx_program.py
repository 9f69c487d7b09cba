"""Ranges by CuPy and by the nvtx package around CuPy's work; exits with 4."""

import sys

import cupy
import cupy.cuda.nvtx
import nvtx

x = cupy.arange(1000, dtype=cupy.float32)
for i in range(5):
    cupy.cuda.nvtx.RangePush("cupy range")
    with nvtx.annotate("python range", domain="python domain", payload=i):
        x += 1
    cupy.cuda.nvtx.RangePop()
print(int(x.sum(dtype=cupy.float64)))
sys.exit(4)
