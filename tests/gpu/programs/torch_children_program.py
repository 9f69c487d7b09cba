"""Two processes of torch.multiprocessing, each with CUDA of its own; exits with 3."""

import sys

import torch
import torch.multiprocessing

LAUNCHES = 50


def work(rank):
    x = torch.zeros(1024, device="cuda")
    torch.cuda.nvtx.range_push(f"rank {rank}")
    for _ in range(LAUNCHES):
        x += 1
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    if x.sum().item() != 1024 * LAUNCHES:
        sys.exit(9)


if __name__ == "__main__":
    torch.multiprocessing.spawn(work, nprocs=2)
    print("done")
    sys.exit(3)
