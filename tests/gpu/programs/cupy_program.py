"""A few array operations and a kernel of its own; exits with 4."""

import sys

import cupy

square = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * x", "square_elements")
x = cupy.arange(1000, dtype=cupy.float32)
print(int(square(x).sum(dtype=cupy.float64)))
sys.exit(4)
