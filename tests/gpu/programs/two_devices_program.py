"""One process with two GPUs, or one of two that share a GPU: two_devices_program.py HOW

    peer     cudaMemcpyPeer to and fro, without direct access and then with it
    managed  64 MiB of managed memory, set by each GPU in turn and read by the host
    both     matrix products on both GPUs, and tensors that are copied between them
    share    small matrix products on the first GPU for SHARE_S

What it did is one line of JSON. peer and managed call the CUDA runtime by ctypes, so that nothing else is done.
"""

import ctypes
import glob
import json
import sys
import time

ROUNDS, PEER_BYTES, MANAGED_BYTES = 20, 8 << 20, 64 << 20
PRODUCTS, COPIES, COPY_BYTES = 60, 16, 4 << 20
SHARE_S, SHARE_PRODUCTS = 1.5, 8
GLOBAL = 1  # cudaMemAttachGlobal


def runtime():
    """The CUDA runtime that is installed, with the toolkit or as a package of Python."""
    folders = ["/usr/local/cuda/lib64", *glob.glob("/usr/local/cuda-*/lib64"), *(f"{path}/nvidia/*/lib" for path in sys.path if path)]
    for folder in folders:
        for path in sorted(glob.glob(f"{folder}/libcudart.so.1[0-9]*")):
            return ctypes.CDLL(path)
    sys.exit("no libcudart.so was found")


class Cuda:
    def __init__(self):
        self.library = runtime()

    def __getattr__(self, name):
        def call(*arguments):
            code = getattr(self.library, name)(*arguments)
            if code != 0:
                sys.exit(f"{name}: CUDA error {code}")

        return call


def size(number):
    return ctypes.c_size_t(number)


def peer():
    cuda, memory = Cuda(), []
    for device in range(2):
        pointer = ctypes.c_void_p()
        cuda.cudaSetDevice(device)
        cuda.cudaMalloc(ctypes.byref(pointer), size(PEER_BYTES))
        memory.append(pointer)

    def to_and_fro():
        for _ in range(ROUNDS):
            for source in range(2):
                cuda.cudaMemcpyPeer(memory[1 - source], 1 - source, memory[source], source, size(PEER_BYTES))
        for device in range(2):
            cuda.cudaSetDevice(device)
            cuda.cudaDeviceSynchronize()

    to_and_fro()
    for device in range(2):
        cuda.cudaSetDevice(device)
        cuda.cudaDeviceEnablePeerAccess(1 - device, 0)
    to_and_fro()
    return {"calls": 4 * ROUNDS, "with_access": 2 * ROUNDS, "bytes_each": PEER_BYTES}


def managed():
    cuda, pointer = Cuda(), ctypes.c_void_p()
    cuda.cudaSetDevice(0)
    cuda.cudaMallocManaged(ctypes.byref(pointer), size(MANAGED_BYTES), GLOBAL)
    fills = 0
    for value, device in enumerate((0, 1, 0, 1), 1):
        cuda.cudaSetDevice(device)
        cuda.cudaMemset(pointer, value, size(MANAGED_BYTES))
        cuda.cudaDeviceSynchronize()
        fills += 1
    seen = set(ctypes.string_at(pointer, MANAGED_BYTES))
    cuda.cudaFree(pointer)
    return {"fills": fills, "bytes": MANAGED_BYTES, "right": seen == {4}}


def both():
    import torch

    matrices = [torch.full((1024, 1024), 1 / 1024, device=f"cuda:{device}") for device in range(2)]
    source = torch.ones(COPY_BYTES // 4, device="cuda:0")
    target = torch.zeros(COPY_BYTES // 4, device="cuda:1")
    results = list(matrices)
    for product in range(PRODUCTS):
        for device in range(2):
            results[device] = torch.mm(results[device], matrices[device])
        if product < COPIES:
            target.copy_(source)
            source.copy_(target)
    for device in range(2):
        torch.cuda.synchronize(device)
    right = all(abs(result[0, 0].item() * 1024 - 1) < 1e-2 for result in results)
    return {"products_each": PRODUCTS, "copies": 2 * COPIES, "copy_bytes": COPY_BYTES, "right": right}


def share():
    import torch

    matrix = torch.full((512, 512), 1 / 512, device="cuda:0")
    torch.mm(matrix, matrix)
    torch.cuda.synchronize()
    products, until = 1, time.monotonic() + SHARE_S
    while time.monotonic() < until:
        for _ in range(SHARE_PRODUCTS):
            torch.mm(matrix, matrix)
        products += SHARE_PRODUCTS
        torch.cuda.synchronize()
        time.sleep(0.0005)
    return {"products": products}


if __name__ == "__main__":
    how = sys.argv[1]
    print(json.dumps({"how": how, **{"peer": peer, "managed": managed, "both": both, "share": share}[how]()}), flush=True)
