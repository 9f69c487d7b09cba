"""One of two ranks, which torchrun or a test starts with RANK and MASTER_PORT: torch_ranks_program.py HOW STEPS

    equal       each step multiplies matrices and reduces gradients
    more_work   so, but rank 1 has twice the products
    late_host   so, but rank 1 sleeps 4 ms in each step before it begins
    late_call   the GPU does nothing but reduce, and rank 1 sleeps 3 ms before each
    turns       rank 0 works and sends what it has to rank 1, which works and sends back
    operations  reductions, gathers, broadcasts, sends and receives of known sizes, on two communicators
    train       a small model by DistributedDataParallel

Rank 0 prints what it knows as one line of JSON.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist

HOW, STEPS = sys.argv[1], int(sys.argv[2])
RANK = int(os.environ["RANK"])
PRODUCTS, ELEMENTS = 12, 1 << 20
SIZES = (1 << 10, 1 << 16, 1 << 20)


def begin():
    """Only when both ranks are there does the GPU begin, so that neither seems to wait for the start of the other."""
    gpu = torch.device("cuda", int(os.environ.get("LOCAL_RANK", RANK)))
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl", device_id=gpu)
    return gpu


def load_batch():
    time.sleep(0.004)


def multiply(matrix, times):
    for _ in range(times):
        torch.mm(matrix, matrix)


class Step:
    def __enter__(self):
        torch.cuda.nvtx.range_push("step")

    def __exit__(self, *_):
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()


def work(gpu):
    matrix, gradients = torch.ones(2048, 2048, device=gpu), torch.ones(ELEMENTS, device=gpu)
    multiply(matrix, 2)
    dist.all_reduce(gradients)  # the first one makes the channels
    torch.cuda.synchronize()
    products = PRODUCTS * (2 if HOW == "more_work" and RANK == 1 else 1)
    for _ in range(STEPS):
        with Step():
            if HOW == "late_host" and RANK == 1:
                load_batch()
            multiply(matrix, products)
            dist.all_reduce(gradients)
    return {"steps": STEPS, "products": products}


def late_call(gpu):
    gradients = torch.ones(ELEMENTS, device=gpu)
    dist.all_reduce(gradients)
    torch.cuda.synchronize()
    for _ in range(STEPS):
        with Step():
            if RANK == 1:
                time.sleep(0.003)
            dist.all_reduce(gradients)
    return {"steps": STEPS}


def turns(gpu):
    matrix, activations = torch.ones(2048, 2048, device=gpu), torch.ones(ELEMENTS, device=gpu)
    multiply(matrix, 2)
    for first in (0, 1):  # channels of both directions
        (dist.send if RANK == first else dist.recv)(activations, 1 - RANK)
    torch.cuda.synchronize()
    for _ in range(STEPS):
        with Step():
            if RANK == 1:
                dist.recv(activations, 0)
            multiply(matrix, PRODUCTS)
            dist.send(activations, 1 - RANK)
            if RANK == 0:
                dist.recv(activations, 1)
    return {"steps": STEPS, "products": PRODUCTS}


def operations(gpu):
    other = dist.new_group([0, 1])
    for size in SIZES:
        for _ in range(STEPS):
            dist.all_reduce(torch.ones(size, device=gpu))
        halves = [torch.empty(size, device=gpu) for _ in range(2)]
        dist.all_gather_into_tensor(torch.cat(halves), torch.ones(size, device=gpu))
        dist.reduce_scatter_tensor(halves[0], torch.ones(2 * size, device=gpu))
        dist.broadcast(torch.ones(size, device=gpu), 1)
        dist.all_reduce(torch.ones(size, device=gpu), group=other)
        (dist.send if RANK == 0 else dist.recv)(torch.ones(size, device=gpu), 1 - RANK)
    torch.cuda.synchronize()
    return {"sizes": [4 * size for size in SIZES], "reductions": STEPS}


def train(gpu):
    torch.manual_seed(1)
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).to(gpu), device_ids=[gpu.index])
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    batch = torch.rand(256, 1024, generator=torch.Generator().manual_seed(RANK)).to(gpu)
    for _ in range(STEPS):
        with Step():
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
    return {"steps": STEPS, "loss": f"{loss.item():.4f}"}


if __name__ == "__main__":
    known = {"late_call": late_call, "turns": turns, "operations": operations, "train": train}.get(HOW, work)(begin())
    torch.cuda.synchronize()
    dist.barrier()
    if RANK == 0:
        print(json.dumps(known))
    dist.destroy_process_group()
