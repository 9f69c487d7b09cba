#!/usr/bin/env python3
"""Programs of the examination: others than those that findings were tuned with, written before any report of them was made."""

import ctypes
import importlib
import os
import sys

import variants
from variants import busy, variant

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


# ---- PyTorch ----


@variant
def torch_lstm_cell(loop):
    import torch

    cell = torch.nn.LSTMCell(128, 128).cuda()
    words = torch.randn(40, 32, 128, device="cuda")

    @torch.no_grad()
    def step(i):
        state = None
        for word in words:
            state = cell(word, state)

    loop(step, steps=25)


@variant
def torch_mask_each_step(loop):
    import torch

    x = torch.randn(1 << 20, device="cuda")

    def step(i):
        for _ in range(5):
            chosen = x[x > 0]
            chosen = chosen * 2
        return chosen

    loop(step, steps=100)


@variant
def torch_weights_to_cpu(loop):
    import torch

    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(6)]).cuda()
    x = torch.randn(512, 2048, device="cuda")
    kept = []

    def step(i):
        model(x).sum().backward()
        kept[:] = [{name: weights.cpu() for name, weights in model.state_dict().items()}]

    loop(step, steps=15)


@variant
def torch_attention(loop):
    import torch

    q, k, v = (torch.randn(8, 16, 4096, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    loop(lambda i: torch.nn.functional.scaled_dot_product_attention(q, k, v), steps=80)


@variant
def torch_augment_on_cpu(loop):
    import torch

    model = torch.nn.Conv2d(3, 64, 3).cuda()
    images = torch.randn(64, 3, 128, 128)

    def step(i):
        busy(0.012)
        model(images.pin_memory().cuda(non_blocking=True)).sum().backward()

    loop(step, steps=25)


@variant
def torch_scalars_from_python(loop):
    import torch

    x = torch.randn(4096, device="cuda")

    def step(i):
        y = x
        for k in range(20):
            y = y * torch.tensor(float(k), device="cuda")

    loop(step, steps=40)


@variant
def torch_print_the_loss(loop):
    """A large network, whose loss is read in each step: it costs next to nothing."""
    import torch

    model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(6)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    x = torch.randn(8192, 4096, device="cuda")

    def step(i):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return f"{loss.item():.3f}"

    loop(step, steps=12)


@variant
def torch_small_batches(loop):
    import torch

    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(12)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(8, 64, device="cuda")

    def step(i):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    loop(step, steps=40)


# ---- CuPy, numba ----


@variant
def cupy_fft(loop):
    import cupy

    x = cupy.sin(cupy.arange(1 << 25, dtype=cupy.float32))
    loop(lambda i: cupy.fft.ifft(cupy.fft.fft(x)), steps=40)


@variant
def cupy_rows_one_by_one(loop):
    import cupy

    matrix = cupy.ones((400, 256), dtype=cupy.float32)

    def step(i):
        for row in range(400):
            matrix[row] *= 1.001

    loop(step, steps=8)


@variant
def cupy_upload_each_step(loop):
    import cupy
    import numpy

    batches = [numpy.ones(1 << 24, numpy.float32) for _ in range(3)]

    def step(i):
        x = cupy.asarray(batches[i % 3])
        (x * x + x).sum()

    loop(step, steps=25)


@variant
def numba_monte_carlo(loop):
    import numpy
    from numba import cuda

    @cuda.jit
    def walk(found, rounds):
        i = cuda.grid(1)
        state, inside = numpy.uint32(i * 747796405 + 1), 0
        for _ in range(rounds):
            state = numpy.uint32(state * numpy.uint32(1664525) + numpy.uint32(1013904223))
            x = (state >> 8) / 16777216.0
            state = numpy.uint32(state * numpy.uint32(1664525) + numpy.uint32(1013904223))
            y = (state >> 8) / 16777216.0
            if x * x + y * y < 1.0:
                inside += 1
        found[i] += inside

    found = cuda.to_device(numpy.zeros(1 << 18, numpy.int64))
    loop(lambda i: walk[1024, 256](found, 2000), steps=30)


@variant
def numba_result_each_step(loop):
    import numpy
    from numba import cuda

    @cuda.jit
    def square(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i] * x[i]

    x = cuda.to_device(numpy.ones(1 << 23, numpy.float32))
    y = cuda.device_array_like(x)
    kept = []

    def step(i):
        square[(1 << 23) // 256, 256](x, y)
        kept[:] = [y.copy_to_host()]

    loop(step, steps=25)


def synchronizer(library):
    if library == "torch":
        import torch

        return torch.cuda.synchronize
    if library == "cupy":
        import cupy

        return cupy.cuda.runtime.deviceSynchronize
    from numba import cuda

    return cuda.synchronize


def main():
    options = variants.arguments(__doc__)
    library = options.variant.partition("_")[0]
    importlib.import_module("numba.cuda" if library == "numba" else library)
    held = variants.take(options)
    cuda = ctypes.CDLL("libcuda.so.1")
    variants.run(options, variants.Loop(options.steps, synchronizer(library), cuda.cuProfilerStart, cuda.cuProfilerStop))
    del held


if __name__ == "__main__":
    sys.exit(main())
