"""DDP of a small model in two ranks, one of which is held up in a way that this program knows.

    torchrun --nproc-per-node 2 torch_ddp_cases.py CASE STEPS [CALLS]

CASE: balanced, sleeps, computes, multiplies (12 more matrix products), items (reads the loss in each step), loads (a slow
input). Only rank 1 is held up. Rank 0 prints {"case": ..., "step_ms": ...}; with CALLS also what the host takes for an
all_reduce of 8 bytes, which is called so often after the steps. `# late: CASE` marks the lines that hold rank 1 up.
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LATE_S = 0.022
WARM_UP = 5


def compute_on_host():
    until = time.perf_counter() + LATE_S
    value = 1.0
    while time.perf_counter() < until:  # late: computes
        value = value * 1.0000001 + 1e-9  # late: computes
    return value


def load_slowly(batch):
    time.sleep(LATE_S)  # late: loads
    return batch.clone()


def call_us(calls):
    """Median time of a call that does next to nothing, on the host."""
    little, taken = torch.zeros(2, device="cuda"), []
    for call in range(calls):
        if call % 20 == 0:
            torch.cuda.synchronize()
        begin = time.perf_counter()
        dist.all_reduce(little)
        taken.append(1e6 * (time.perf_counter() - begin))
    torch.cuda.synchronize()
    return statistics.median(taken)


def main():
    case, steps = sys.argv[1], int(sys.argv[2])
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(8))).cuda()
    model = DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(1024, 2048, device="cuda")
    square = torch.randn(4096, 4096, device="cuda")
    is_late = rank == 1
    started = 0.0
    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            torch.cuda.synchronize()
            started = time.perf_counter()
        torch.cuda.nvtx.range_push("step")
        data = load_slowly(batch) if case == "loads" and is_late else batch  # late: loads
        if case == "sleeps" and is_late:
            time.sleep(LATE_S)  # late: sleeps
        if case == "computes" and is_late:
            compute_on_host()  # late: computes
        if case == "multiplies" and is_late:
            for _ in range(12):
                square @ square  # late: multiplies
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if case == "items" and is_late:
            loss.item()  # late: items
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    told = {"case": case, "step_ms": 1000 * (time.perf_counter() - started) / steps}
    if len(sys.argv) > 3:
        told["call_us"] = call_us(int(sys.argv[3]))
    if rank == 0:
        print(json.dumps(told), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
