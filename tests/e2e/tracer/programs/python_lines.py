"""Steps of two lines that are known, and one that is raised out of; prints what it computed."""
import ctypes
import os
import sys
import time

cuda = ctypes.CDLL(os.environ["TEST_CUDART"])
nvtx = ctypes.CDLL(sys.argv[2])  # a library with NVTX in it
nvtx.push_range.argtypes = (ctypes.c_char_p,)


def busy(us):
    end = time.perf_counter_ns() + us * 1000
    while time.perf_counter_ns() < end:
        pass


def step(number):
    busy(200)
    busy(300)  # THE LINE
    try:
        fails(number)
    except ValueError:
        pass
    return number


def fails(number):
    raise ValueError(number)  # THE RAISE


total = 0
memory = ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(memory), 4096)
for i in range(int(sys.argv[1])):
    nvtx.push_range(b"step")
    total += step(i)
    cuda.cudaMemset(memory, i & 255, 4096)
    nvtx.pop_range()
print(total)
