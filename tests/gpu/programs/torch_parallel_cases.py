"""Ranks that share a model in other ways than DDP, and what this program itself knows of it.

    torchrun --nproc-per-node 2 torch_parallel_cases.py CASE STEPS

    fsdp       blocks sharded by fully_shard: all-gathers and reduce-scatters
    tensor     blocks cut by ColwiseParallel and RowwiseParallel: all-reduces
    pipeline   two stages, which exchange microbatches by send and recv: all forward, then all backward
    bandwidth  collectives of 1 to 256 MiB, timed by CUDA events as nccl-tests does

fsdp and tensor also reduce a figure on a second group once a step. Each rank prints a line of JSON.
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
MIB = 1 << 20
WARM_UP = 3
BLOCKS, WIDTH, BATCH = 6, 2048, 4096
MICROBATCHES, STAGE_LAYERS, STAGE_WIDTH, STAGE_BATCH = 4, 3, 4096, 2048
SIZES = tuple(size * MIB for size in (1, 4, 16, 64, 256))
REPEATS = 20


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, WIDTH)
        self.down = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Step:
    """An NVTX range "step" that ends when the GPU is done; how long each took."""

    def __init__(self):
        self.taken_ms = []

    def __enter__(self):
        torch.cuda.nvtx.range_push("step")
        self.begin = time.perf_counter()

    def __exit__(self, *_):
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        self.taken_ms.append(1000 * (time.perf_counter() - self.begin))

    def median_ms(self):
        return statistics.median(self.taken_ms[WARM_UP:] or self.taken_ms)


def train(model, steps):
    """All ranks have the same batch, which a model that is cut by tensors needs."""
    figure, figures = torch.zeros(1, device="cuda"), dist.new_group(list(range(RANKS)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batch = torch.randn(BATCH, WIDTH, device="cuda")
    step = Step()
    for _ in range(steps):
        with step:
            model(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            dist.all_reduce(figure, group=figures)
    return {"steps": steps, "step_ms": step.median_ms(), "figures": steps}


def fsdp(steps):
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cuda", (RANKS,))
    model = torch.nn.Sequential(*(Block() for _ in range(BLOCKS))).cuda()
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    parameters = 4 * 2 * (WIDTH * WIDTH + WIDTH)
    # Each block is gathered before its forward; before its backward too, if it was given up in between.
    return {**train(model, steps), "block_bytes": parameters,
            "expected": {"AllGather": [BLOCKS * steps, 2 * BLOCKS * steps], "ReduceScatter": [BLOCKS * steps] * 2}}


def tensor(steps):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cuda", (RANKS,))
    model = torch.nn.Sequential(*(Block() for _ in range(BLOCKS))).cuda()
    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    # One in forward for each block; one in backward, except where the input needs no gradient. And the figure.
    reductions = steps * (2 * BLOCKS - 1) + steps
    return {**train(model, steps), "activation_bytes": 4 * BATCH * WIDTH, "expected": {"AllReduce": [reductions, reductions + 2]}}


class Busy:
    """Time between events around the work of a stage, without what it waits for."""

    def __init__(self):
        self.pairs = []

    def __enter__(self):
        begin = torch.cuda.Event(enable_timing=True)
        begin.record()
        self.pairs.append((begin, torch.cuda.Event(enable_timing=True)))

    def __exit__(self, *_):
        self.pairs[-1][1].record()

    def take_ms(self):
        taken = sum(begin.elapsed_time(end) for begin, end in self.pairs)
        self.pairs = []
        return taken


def first_stage(model, batch, busy):
    outputs = []
    for _ in range(MICROBATCHES):
        with busy:
            outputs.append(model(batch))
        dist.send(outputs[-1].detach(), 1)
    for output in outputs:
        gradient = torch.empty_like(output)
        dist.recv(gradient, 1)
        with busy:
            output.backward(gradient)


def last_stage(model, batch, busy):
    kept = []
    for _ in range(MICROBATCHES):
        received = torch.empty_like(batch)
        dist.recv(received, 0)
        received.requires_grad_()
        with busy:
            kept.append((received, model(received).square().mean()))
    for received, loss in kept:
        with busy:
            loss.backward()
        dist.send(received.grad, 0)


def pipeline(steps):
    if RANKS != 2:
        return {"skipped": "two stages need two ranks"}
    model = torch.nn.Sequential(*(torch.nn.Linear(STAGE_WIDTH, STAGE_WIDTH) for _ in range(STAGE_LAYERS))).cuda()
    batch = torch.randn(STAGE_BATCH, STAGE_WIDTH, device="cuda")
    for first in (0, 1):  # channels of both directions
        (dist.send if RANK == first else dist.recv)(batch, 1 - RANK)
    torch.cuda.synchronize()
    step, busy, busy_ms = Step(), Busy(), []
    for _ in range(steps):
        with step:
            (first_stage if RANK == 0 else last_stage)(model, batch, busy)
            for parameter in model.parameters():
                parameter.grad = None
        busy_ms.append(busy.take_ms())
    busy_ms = statistics.median(busy_ms[WARM_UP:] or busy_ms)
    messages = MICROBATCHES * steps + 1
    return {"steps": steps, "step_ms": step.median_ms(), "busy_ms": busy_ms, "bubble_percent": 100 * (1 - busy_ms / step.median_ms()),
            "bubble_of_theory_percent": 100 / (MICROBATCHES + 1), "message_bytes": 4 * STAGE_BATCH * STAGE_WIDTH,
            "expected": {"Send": [messages, messages], "Recv": [messages, messages]}}


def timed_s(collective):
    """Of one call, as the stream of this rank sees it."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    begin.record()
    for _ in range(REPEATS):
        collective()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1000 / REPEATS


def bandwidth(_):
    part, most = (RANKS - 1) / RANKS, max(SIZES) // 4
    whole, other = torch.ones(most, device="cuda"), torch.ones(most, device="cuda")
    functions = {
        "AllReduce": (2 * part, lambda n: dist.all_reduce(whole[:n])),
        "AllGather": (part, lambda n: dist.all_gather_into_tensor(whole[:n], other[:n // RANKS])),
        "ReduceScatter": (part, lambda n: dist.reduce_scatter_tensor(other[:n // RANKS], whole[:n])),
    }
    rows = []
    for name, (factor, call) in functions.items():
        call(MIB // 8)  # makes the channels
        for size in SIZES:
            seconds = timed_s(lambda: call(size // 4))
            rows.append({"function": name, "bytes": size, "us": 1e6 * seconds, "bus_bytes_per_second": factor * size / seconds})
    return {"rows": rows, "repeats": REPEATS, "expected": {name: [REPEATS * len(SIZES) + 1] * 2 for name in ("AllGather", "ReduceScatter")}}


def main():
    case, steps = sys.argv[1], int(sys.argv[2])
    gpu = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl", device_id=gpu)
    torch.manual_seed(0)
    known = {"fsdp": fsdp, "tensor": tensor, "pipeline": pipeline, "bandwidth": bandwidth}[case](steps)
    torch.cuda.synchronize()
    print(json.dumps({"case": case, "rank": RANK, **known}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
