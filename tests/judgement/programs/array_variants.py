#!/usr/bin/env python3
"""The same for arrays: CuPy, and JAX. corpus.json calls cupy_good `cupy/good`."""

import ctypes
import importlib
import os

import variants
from variants import variant

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


# ---- CuPy ----


def cupy_array(*shape):
    import cupy

    return cupy.random.default_rng(1).standard_normal(shape, dtype=cupy.float32)


@variant
def cupy_good(loop):
    """Large arrays, one operator after the other."""
    x = cupy_array(1 << 26)
    loop(lambda i: (x * x + 1).sum(), steps=200)


@variant
def cupy_get_each_iteration(loop):
    x = cupy_array(1 << 20)
    norms = []

    def step(i):
        y = x * 0.5
        for _ in range(5):
            y = y * y + x
        norms.append(float(y.sum()))

    loop(step, steps=200)


@variant
def cupy_many_small(loop):
    x = cupy_array(1000)

    def step(i):
        y = x
        for _ in range(20):
            y = y * 1.01 + 0.5

    loop(step, steps=150)


@variant
def cupy_round_trip(loop):
    import cupy

    state = [cupy_array(1 << 24)]

    def step(i):
        host = cupy.asnumpy(state[0])
        state[0] = cupy.asarray(host)
        (state[0] * 2).sum()

    loop(step, steps=25)


@variant
def cupy_no_pool(loop):
    import cupy

    cupy.cuda.set_allocator(None)
    x = cupy_array(1 << 22)

    def step(i):
        y = x
        for _ in range(4):
            y = y * 1.01 + x

    loop(step, steps=60)


# ---- JAX ----


def jax_array(*shape):
    import jax

    return jax.random.normal(jax.random.PRNGKey(1), shape)


@variant
def jax_good(loop):
    import jax

    x = jax_array(4096, 4096)
    multiply = jax.jit(lambda y: y @ x / 64)
    state = [x]

    def step(i):
        state[0] = multiply(state[0])
        if i % 20 == 19:
            state[0].block_until_ready()

    loop(step, steps=200)


@variant
def jax_not_jitted(loop):
    import jax.numpy as jnp

    x = jax_array(1000)

    def step(i):
        y = x
        for _ in range(10):
            y = jnp.sin(y * 1.01 + 0.5)
        y.block_until_ready()

    loop(step, steps=80)


def synchronize_cupy():
    import cupy

    cupy.cuda.Device().synchronize()


def synchronize_jax():
    """What is launched last is done last."""
    import jax.numpy as jnp

    jnp.zeros(1).block_until_ready()


def main():
    options = variants.arguments(__doc__)
    library = options.variant.partition("_")[0]
    importlib.import_module(library)  # takes seconds and no GPU: before the lock
    held = variants.take(options.lock)
    synchronize = synchronize_cupy if library == "cupy" else synchronize_jax
    cuda = ctypes.CDLL("libcuda.so.1")
    loop = variants.Loop(options.steps, synchronize, cuda.cuProfilerStart, cuda.cuProfilerStop)
    variants.VARIANTS[options.variant](loop)
    del held


if __name__ == "__main__":
    main()
