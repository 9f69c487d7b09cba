"""Small loops on a GPU, each timed by its own clock: steady_loops.py NAME. Prints the nanoseconds of a step in each of its
rounds. What is recorded is the loop alone (cudaProfilerStart and Stop of the driver). Without a name: the names.

Those of the driver need nothing but libcuda; others need PyTorch, CuPy or numba, and exit with 77 where it is missing."""

import ctypes
import json
import sys
import threading
import time

ROUNDS = 9
ROUND_S = 0.05
WARM_UP_S = 0.1
SKIP = 77

PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 cycles) {
  .reg .u64 %rd<4>;
  .reg .pred %p;
  ld.param.u64 %rd1, [cycles];
  mov.u64 %rd2, %clock64;
again:
  mov.u64 %rd3, %clock64;
  sub.u64 %rd3, %rd3, %rd2;
  setp.lt.u64 %p, %rd3, %rd1;
  @%p bra again;
  ret;
}
"""


class Driver:
    """The driver by its C interface: a context, a kernel that spins for some cycles, buffers."""

    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError:
            sys.exit(SKIP)
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.context = context
        module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"spin")
        self.buffer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.buffer), ctypes.c_size_t(1 << 24))
        self.pinned = ctypes.c_void_p()
        self.call("cuMemAllocHost_v2", ctypes.byref(self.pinned), ctypes.c_size_t(1 << 24))
        self.pageable = ctypes.create_string_buffer(1 << 24)

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} answers {code}")

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream

    def event(self):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 2)
        return event

    def launcher(self, us, stream):
        """A launch of a kernel of `us` microseconds, with as little Python in it as can be."""
        cycles = ctypes.c_uint64(int(us * 1700))
        parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(cycles), ctypes.c_void_p))
        launch, kernel, one, none = self.cuda.cuLaunchKernel, self.kernel, ctypes.c_uint(1), ctypes.c_uint(0)
        keep = (cycles, parameters)
        return lambda _=keep: launch(kernel, one, one, one, one, one, one, none, stream, parameters, None)

    def syncer(self, stream):
        return lambda: self.cuda.cuStreamSynchronize(stream)


def every(count, step, then):
    """`step`, and `then` after each `count` of them, so that no queue grows without bound."""
    def run():
        for _ in range(count):
            step()
        then()
    return run


def launches(us, count):
    def make(driver):
        stream = driver.stream()
        return every(count, driver.launcher(us, stream), driver.syncer(stream))
    return make


def copies(size_bytes, is_pinned, count):
    def make(driver):
        stream = driver.stream()
        size = ctypes.c_size_t(size_bytes)
        source = driver.pinned if is_pinned else driver.pageable
        copy = driver.cuda.cuMemcpyHtoDAsync_v2
        return every(count, lambda: copy(driver.buffer, source, size, stream), driver.syncer(stream))
    return make


def fills(driver):
    stream = driver.stream()
    fill, value, count = driver.cuda.cuMemsetD8Async, ctypes.c_ubyte(1), ctypes.c_size_t(4096)
    return every(64, lambda: fill(driver.buffer, value, count, stream), driver.syncer(stream))


def streams_with_events(driver):
    streams, event = [driver.stream() for _ in range(4)], driver.event()
    kernels = [driver.launcher(3, stream) for stream in streams]

    def step():
        for kernel, stream in zip(kernels, streams):
            kernel()
            driver.cuda.cuEventRecord(event, stream)
            driver.cuda.cuStreamWaitEvent(streams[0], event, 0)
    return every(16, step, driver.syncer(streams[0]))


def allocations(driver):
    stream, at = driver.stream(), ctypes.c_uint64()
    kernel, size = driver.launcher(2, stream), ctypes.c_size_t(1 << 16)

    def step():
        driver.cuda.cuMemAllocAsync(ctypes.byref(at), size, stream)
        kernel()
        driver.cuda.cuMemFreeAsync(at, stream)
    return every(32, step, driver.syncer(stream))


def host_work(driver):
    stream = driver.stream()
    kernel = driver.launcher(20, stream)

    def step():
        sum(range(4000))
        kernel()
    return every(8, step, driver.syncer(stream))


def polled(driver):
    stream = driver.stream()
    kernel = driver.launcher(30, stream)

    def step():
        kernel()
        while driver.cuda.cuStreamQuery(stream) != 0:
            pass
    return step


def graph(driver):
    stream, made, ready = driver.stream(), ctypes.c_void_p(), ctypes.c_void_p()
    kernel = driver.launcher(3, stream)
    driver.call("cuStreamBeginCapture_v2", stream, 2)
    for _ in range(20):
        kernel()
    driver.call("cuStreamEndCapture", stream, ctypes.byref(made))
    driver.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), made, ctypes.c_ulonglong(0))
    return every(8, lambda: driver.cuda.cuGraphLaunch(ready, stream), driver.syncer(stream))


def in_threads(count):
    """Each thread has a stream; a step is one of each."""
    def make(driver):
        go, done = threading.Barrier(count + 1), threading.Barrier(count + 1)

        def work():
            driver.cuda.cuCtxSetCurrent(driver.context)
            own = launches(4, 64)(driver)
            while True:
                go.wait()
                own()
                done.wait()
        for _ in range(count):
            threading.Thread(target=work, daemon=True).start()

        def step():
            go.wait()
            done.wait()
        return step
    return make


def torch_step(kind):
    def make(_):
        try:
            import torch
        except ImportError:
            sys.exit(SKIP)
        model = torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())]).cuda()
        optimizer, x = torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(64, 256, device="cuda")

        def train():
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            torch.cuda.synchronize()

        def infer():
            with torch.no_grad():
                model(x)
            torch.cuda.synchronize()
        return {"train": train, "infer": infer, "item": lambda: x.sum().item()}[kind]
    return make


def cupy_step(_):
    try:
        import cupy
    except ImportError:
        sys.exit(SKIP)
    x = cupy.arange(10000, dtype=cupy.float32)

    def step():
        (x * 2 + 1).sum()
        cupy.cuda.runtime.deviceSynchronize()
    return step


def numba_step(_):
    try:
        import numpy
        from numba import cuda
    except (ImportError, AttributeError):  # numba also fails on a NumPy that is newer than it
        sys.exit(SKIP)

    @cuda.jit
    def add(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1
    x = cuda.to_device(numpy.zeros(4096, dtype=numpy.float32))

    def step():
        add[16, 256](x)
        cuda.synchronize()
    return step


LOOPS = {"empty kernels": launches(0, 256), "kernels of 5 us": launches(5, 64), "kernels of 50 us": launches(50, 16),
         "kernel and wait": launches(2, 1), "copies of 4 KiB, pageable": copies(4096, False, 1),
         "copies of 64 KiB, pinned": copies(65536, True, 8), "fills of 4 KiB": fills, "four streams, events": streams_with_events,
         "allocate, launch, free": allocations, "host work and a kernel": host_work, "kernel, polled": polled,
         "graph of 20 kernels": graph, "2 threads": in_threads(2), "8 threads": in_threads(8),
         "torch training": torch_step("train"), "torch inference": torch_step("infer"), "torch item": torch_step("item"),
         "CuPy": cupy_step, "numba": numba_step}
NEEDS_DRIVER = [name for name in LOOPS if not name.startswith(("torch", "CuPy", "numba"))]


def timed(step, seconds):
    start, steps = time.perf_counter_ns(), 0
    while time.perf_counter_ns() - start < seconds * 1e9:
        step()
        steps += 1
    return (time.perf_counter_ns() - start) / steps


def main():
    if len(sys.argv) < 2:
        print(json.dumps(list(LOOPS)))
        return
    name = sys.argv[1]
    step = LOOPS[name](Driver() if name in NEEDS_DRIVER else None)
    step()
    timed(step, WARM_UP_S)
    profiler = ctypes.CDLL("libcuda.so.1")
    profiler.cuProfilerStart()
    rounds = [timed(step, ROUND_S) for _ in range(ROUNDS)]
    profiler.cuProfilerStop()
    print(json.dumps({"step_ns": rounds}), flush=True)


if __name__ == "__main__":
    main()
