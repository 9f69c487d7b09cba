"""Steps with two lines of host work that take 2 ms each: one while the GPU has nothing to do, and one while it works."""
import sys
import time

import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
a = torch.randn(4096, 4096, device="cuda")
b = torch.randn(4096, 4096, device="cuda")


def busy(ms):
    end = time.perf_counter() + ms / 1000
    while time.perf_counter() < end:
        pass


def work():
    for _ in range(8):
        torch.matmul(a, b)


def calls_for_ms():
    work()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return max(1, round(8 / max(0.1, (time.perf_counter() - begin) * 1000)))


def step(repeats):
    busy(2)  # ON THE PATH
    for _ in range(repeats):
        work()
    busy(2)  # HIDDEN
    torch.cuda.synchronize()


repeats = calls_for_ms()
for _ in range(STEPS):
    torch.cuda.nvtx.range_push("step")
    step(repeats)
    torch.cuda.nvtx.range_pop()
print("done")
