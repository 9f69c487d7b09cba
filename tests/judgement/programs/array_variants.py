#!/usr/bin/env python3
"""The same for arrays: CuPy, numba and JAX. corpus.json calls cupy_good `cupy/good`."""

import ctypes
import importlib
import os

import variants
from variants import fixed, variant

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


# ---- CuPy ----


def cupy_array(count):
    """Without cupy.random, which needs a library that not every installation has."""
    import cupy

    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
    return cupy.sin(cupy.arange(count, dtype=cupy.float32))


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


@fixed
def cupy_get_at_the_end(loop):
    x = cupy_array(1 << 20)
    norms = []

    def step(i):
        y = x * 0.5
        for _ in range(5):
            y = y * y + x
        norms.append(y.sum())

    loop(step, steps=200)


@variant
def cupy_many_small(loop):
    x = cupy_array(1000)

    def step(i):
        y = x
        for _ in range(20):
            y = y * 1.01 + 0.5

    loop(step, steps=150)


@fixed
def cupy_many_small_fused(loop):
    """What the 40 operators do, as one kernel."""
    import cupy

    x = cupy_array(1000)
    chain = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x; for (int k = 0; k < 20; ++k) y = y * 1.01f + 0.5f;", "chain")
    loop(lambda i: chain(x), steps=150)


@variant
def cupy_round_trip(loop):
    import cupy

    state = [cupy_array(1 << 24)]

    def step(i):
        host = cupy.asnumpy(state[0])
        state[0] = cupy.asarray(host)
        (state[0] * 2).sum()

    loop(step, steps=25)


@fixed
def cupy_stays_on_the_gpu(loop):
    state = cupy_array(1 << 24)
    loop(lambda i: (state * 2).sum(), steps=25)


@variant
def cupy_no_pool(loop):
    import cupy

    x = cupy_array(1 << 22)
    cupy.cuda.set_allocator(None)

    def step(i):
        y = x
        for _ in range(4):
            y = y * 1.01 + x

    loop(step, steps=60)


@fixed
def cupy_pool(loop):
    x = cupy_array(1 << 22)

    def step(i):
        y = x
        for _ in range(4):
            y = y * 1.01 + x

    loop(step, steps=60)


# ---- numba ----


def numba_kernel():
    from numba import cuda

    @cuda.jit
    def add_scaled(target, source, factor):
        i = cuda.grid(1)
        if i < target.size:
            target[i] += factor * source[i]

    return add_scaled


@variant
def numba_arrays_of_the_host(loop):
    """Arrays of NumPy as arguments: each launch copies all of them to the GPU and back."""
    import numpy

    add_scaled, count = numba_kernel(), 1 << 23
    target, source = numpy.zeros(count, numpy.float32), numpy.ones(count, numpy.float32)
    loop(lambda i: add_scaled[count // 256, 256](target, source, numpy.float32(1)), steps=12)


@fixed
def numba_arrays_of_the_gpu(loop):
    import numpy
    from numba import cuda

    add_scaled, count = numba_kernel(), 1 << 23
    target, source = cuda.to_device(numpy.zeros(count, numpy.float32)), cuda.to_device(numpy.ones(count, numpy.float32))
    loop(lambda i: add_scaled[count // 256, 256](target, source, numpy.float32(1)), steps=12)


@variant
def numba_sync_each_kernel(loop):
    import numpy
    from numba import cuda

    add_scaled, count = numba_kernel(), 1 << 23
    target, source = cuda.to_device(numpy.zeros(count, numpy.float32)), cuda.to_device(numpy.ones(count, numpy.float32))

    def step(i):
        add_scaled[count // 256, 256](target, source, numpy.float32(1))
        cuda.synchronize()

    loop(step, steps=1000)


@fixed
def numba_sync_at_the_end(loop):
    import numpy
    from numba import cuda

    add_scaled, count = numba_kernel(), 1 << 23
    target, source = cuda.to_device(numpy.zeros(count, numpy.float32)), cuda.to_device(numpy.ones(count, numpy.float32))
    loop(lambda i: add_scaled[count // 256, 256](target, source, numpy.float32(1)), steps=1000)


@variant
def numba_first_launches(loop):
    """Twelve kernels, each compiled when it is launched for the first time, in a short run."""
    import numpy
    from numba import cuda

    values = cuda.to_device(numpy.ones(1 << 20, numpy.float32))
    loop.start()
    for number in range(12):

        @cuda.jit
        def one_of_many(values, factor=number):
            i = cuda.grid(1)
            if i < values.size:
                values[i] = values[i] * factor + 1

        for _ in range(5):
            one_of_many[4096, 256](values, number)
    cuda.synchronize()
    loop.stop()


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


def synchronize_numba():
    from numba import cuda

    cuda.synchronize()


def synchronize_jax():
    """What is launched last is done last."""
    import jax.numpy as jnp

    jnp.zeros(1).block_until_ready()


def main():
    options = variants.arguments(__doc__)
    library = options.variant.partition("_")[0]
    importlib.import_module("numba.cuda" if library == "numba" else library)  # takes seconds and no GPU: before the lock
    held = variants.take(options)
    synchronize = {"cupy": synchronize_cupy, "numba": synchronize_numba, "jax": synchronize_jax}[library]
    cuda = ctypes.CDLL("libcuda.so.1")
    variants.run(options, variants.Loop(options.steps, synchronize, cuda.cuProfilerStart, cuda.cuProfilerStop))
    del held


if __name__ == "__main__":
    main()
