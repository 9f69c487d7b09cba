"""What the programs of examples/walkthroughs do with CUDA, for the doubles: the same copies, launches and streams.

It is run by the name of the program that it stands for, with its arguments.
"""
import ctypes
import os
import pathlib
import sys

cuda = ctypes.CDLL(os.environ["TEST_CUDART"])
TO_DEVICE, TO_HOST = 1, 2
PART_BYTES, ROUNDS = 8 << 20, 3
BLOCKS = 500_000  # 5 ms: a machine that is busy launches in other streams meanwhile, all the same


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Kernel:
    def __init__(self, name):
        self.handle, self.name = ctypes.create_string_buffer(8), name.encode()
        cuda["__cudaRegisterFunction"](None, self.handle, None, self.name, -1, None, None, None, None, None)

    def launch(self, blocks, stream=None):
        cuda.cudaLaunchKernel(self.handle, Dim3(blocks, 1, 1), Dim3(256, 1, 1), None, ctypes.c_size_t(0), stream)


def new_stream():
    stream = ctypes.c_void_p()
    cuda.cudaStreamCreateWithFlags(ctypes.byref(stream), 1)
    return stream


def device_memory():
    memory = ctypes.c_void_p()
    cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(PART_BYTES))
    return memory


def host_memory(is_pinned):
    if not is_pinned:
        return ctypes.create_string_buffer(PART_BYTES)
    memory = ctypes.c_void_p()
    cuda.cudaMallocHost(ctypes.byref(memory), ctypes.c_size_t(PART_BYTES))
    return memory


KERNELS = [Kernel(name) for name in ("partial_reduce", "single_thread_sum", "divide_by")]


def normalise(streams, is_pinned):
    """A part for each stream; None is the default stream."""
    parts = [(stream, device_memory(), host_memory(is_pinned)) for stream in streams]
    size = ctypes.c_size_t(PART_BYTES)
    for _ in range(ROUNDS):
        for stream, device, host in parts:
            if is_pinned:
                cuda.cudaMemcpyAsync(device, host, size, TO_DEVICE, stream)
            else:
                cuda.cudaMemcpy(device, host, size, TO_DEVICE)
            for kernel in KERNELS:
                kernel.launch(BLOCKS, stream)
            if is_pinned:
                cuda.cudaMemcpyAsync(host, device, size, TO_HOST, stream)
            else:
                cuda.cudaMemcpy(host, device, size, TO_HOST)
        cuda.cudaDeviceSynchronize()


def train(options):
    device, host, size = device_memory(), host_memory(True), ctypes.c_size_t(PART_BYTES)
    for _ in range(10):
        cuda.cudaMemcpyAsync(device, host, size, TO_DEVICE, None)
        for kernel in KERNELS:
            kernel.launch(100)
        cuda.cudaDeviceSynchronize()


def encode(options):
    of_mode = {"eager": ["gemm", "softmax", "divide", "gelu", "norm"] * 4, "fused": ["gemm", "attention", "gelu", "norm"] * 2,
               "compiled": ["gemm", "attention", "triton_poi_fused_gelu_norm"], "graph": ["gemm", "attention"]}
    kernels = {name: Kernel(name) for names in of_mode.values() for name in names}
    for _ in range(20):
        for name in of_mode[options[options.index("--mode") + 1]]:
            kernels[name].launch(10)
    cuda.cudaDeviceSynchronize()


def main():
    program, options = pathlib.Path(sys.argv[0]).stem, sys.argv[1:]
    count = int(options[options.index("-s") + 1]) if "-s" in options else 4
    if program == "v1_pageable":
        normalise([None] * count, False)
    elif program == "v2_pinned_nvtx":
        normalise([new_stream()] * count, True)
    elif program == "v3_bug":
        KERNELS[0].launch(1)  # the warm-up, in the default stream
        normalise([new_stream()] * count, True)
    elif program == "v3_streams":
        normalise([new_stream() for _ in range(count)], True)
    elif program == "loader_train":
        train(options)
    else:
        encode(options)


main()
