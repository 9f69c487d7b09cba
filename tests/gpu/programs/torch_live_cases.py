"""Ranks that work until they are told to end, for tools that come while they run.

    torchrun --nproc-per-node 2 torch_live_cases.py CASE FOLDER

    steady  each step multiplies matrices, reduces a vector and checks both; rank 1 sleeps a little longer than the others
    hangs   so, but after some steps rank 1 never reaches the reduction, and the others wait for it

FOLDER gets rank0.pid and so on when the steps begin. FOLDER/stop ends the steps of `steady`, and so do LONGEST_S. At the
end each rank prints a line of JSON and writes rank0.json with the time (CLOCK_MONOTONIC) at which each step began.
"""

import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
PRODUCTS, WIDTH, ELEMENTS = 6, 1024, 1 << 20
PAUSE_S, LATE_S = 0.008, 0.006
STEPS_BEFORE_HANG = 100
LONGEST_S = 50


def never_reaches_the_reduction():
    time.sleep(600)  # late: hangs


def pause():
    time.sleep(PAUSE_S)
    if RANK == 1:
        time.sleep(LATE_S)  # late: steady


def one_step(matrix, vector, is_last):
    """Whether what came out is right, and whether rank 0 has said that this step is the last."""
    product = matrix
    for _ in range(PRODUCTS):
        product = torch.mm(product, matrix)
    vector.fill_(1.0)
    if RANK == 0 and is_last:
        vector[0] = 1001.0
    dist.all_reduce(vector)  # late: waits
    first, second, value = vector[0].item(), vector[1].item(), product[0, 0].item()
    return second == RANKS and abs(value * WIDTH - 1.0) < 1e-2, first > 1000


def main():
    case, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    gpu = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl", device_id=gpu)
    matrix = torch.full((WIDTH, WIDTH), 1.0 / WIDTH, device=gpu)  # times itself it is itself
    vector = torch.ones(ELEMENTS, device=gpu)
    one_step(matrix, vector, False)
    begun, wrong, is_last = [], 0, False
    until = time.monotonic() + LONGEST_S
    (folder / f"rank{RANK}.pid").write_text(str(os.getpid()), encoding="ascii")
    while not is_last:
        begun.append(time.monotonic_ns())
        torch.cuda.nvtx.range_push("step")
        pause()
        if case == "hangs" and RANK == 1 and len(begun) > STEPS_BEFORE_HANG:
            never_reaches_the_reduction()
        wants_end = (folder / "stop").exists() or time.monotonic() > until
        is_right, is_last = one_step(matrix, vector, wants_end)
        torch.cuda.nvtx.range_pop()
        wrong += not is_right
    told = {"case": case, "rank": RANK, "steps": len(begun), "wrong": wrong, "products": PRODUCTS}
    (folder / f"rank{RANK}.json").write_text(json.dumps({**told, "begun_ns": begun}), encoding="ascii")
    print(json.dumps(told), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
