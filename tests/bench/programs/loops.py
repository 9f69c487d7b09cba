"""Loops as they are written with numba and with CuPy: small kernels back to back, now and then a figure for the host."""

import steady

COUNT = 1 << 16
LOOK_EVERY = 16


def numba_loop():
    import numpy
    from numba import cuda

    @cuda.jit
    def add_scaled(target, source, factor):
        i = cuda.grid(1)
        if i < target.size:
            target[i] += factor * source[i]

    @cuda.jit
    def halve(values):
        i = cuda.grid(1)
        if i < values.size:
            values[i] *= numpy.float32(0.5)

    stream = cuda.stream()
    source = cuda.to_device(numpy.arange(COUNT, dtype=numpy.float32))
    target = cuda.to_device(numpy.zeros(COUNT, dtype=numpy.float32))
    first = numpy.zeros(COUNT, dtype=numpy.float32)
    done = [0]

    def step():
        add_scaled[COUNT // 256, 256, stream](target, source, numpy.float32(1))
        halve[COUNT // 256, 256, stream](target)
        done[0] += 1
        if done[0] % LOOK_EVERY == 0:
            target.copy_to_host(first, stream=stream)
            stream.synchronize()

    return steady.Workload(step, stream.synchronize, lambda: repr(float(target.copy_to_host().sum())))


def cupy_loop():
    import cupy

    source = cupy.arange(COUNT, dtype=cupy.float32)
    target = [cupy.zeros(COUNT, dtype=cupy.float32)]
    done, seen = [0], [0.0]

    def step():
        target[0] = (target[0] + source) * cupy.float32(0.5)
        largest = target[0].max()
        done[0] += 1
        if done[0] % LOOK_EVERY == 0:
            seen[0] = float(largest)

    return steady.Workload(step, cupy.cuda.runtime.deviceSynchronize, lambda: repr((seen[0], float(target[0][-1]))))


if __name__ == "__main__":
    steady.run({"numba": numba_loop, "cupy": cupy_loop}, steady.parser().parse_args())
