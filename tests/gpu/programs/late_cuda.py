"""CUDA that is opened late, by the driver API alone, after the program has done other things; exits with 7."""

import ctypes
import sys

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry late_kernel() { ret; }
"""
LAUNCHES = 100

sum(i * i for i in range(100000))
cuda = ctypes.CDLL("libcuda.so.1")


def check(result):
    if result:
        sys.exit(f"the driver answers {result}")


device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDeviceGet(ctypes.byref(device), 0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"late_kernel"))
for _ in range(LAUNCHES):
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None))
check(cuda.cuCtxSynchronize())
print(LAUNCHES)
sys.exit(7)
