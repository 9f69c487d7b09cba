"""What CuPy calls its profiler: the profiler API of CUDA, and times between events; exits with 4."""

import sys

import cupy
import cupyx.profiler

square = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * x", "square_elements")
x = cupy.arange(1000, dtype=cupy.float32)
square(x)
with cupyx.profiler.profile():
    for _ in range(5):
        y = square(x)
result = cupyx.profiler.benchmark(square, (x,), n_repeat=10, n_warmup=2)
print(f"timed {(result.gpu_times > 0).all()} of {result.gpu_times.size}, sum {int(y.sum(dtype=cupy.float64))}")
sys.exit(4)
