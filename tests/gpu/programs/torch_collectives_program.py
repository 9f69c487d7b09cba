"""Two ranks reduce gradients after the backward pass, or beside it: how much of NCCL is exposed is known beforehand.

    torch_collectives_program.py after|beside [STEPS]

One kernel that only waits stands for the backward pass: it uses one SM and leaves the rest to NCCL. Prints one line of
JSON: how many all-reduces of how many bytes each rank made.
"""

import json
import os
import sys

import torch
import torch.distributed
import torch.multiprocessing

ELEMENTS = 16 << 20  # 64 MiB of floats
BACKWARD_CYCLES = 20_000_000  # about 10 ms, many times what NCCL needs


def step(how, gradients, backward, reduce):
    torch.cuda.nvtx.range_push("step")
    if how == "after":
        with torch.cuda.stream(backward):
            torch.cuda._sleep(BACKWARD_CYCLES)
        reduce.wait_stream(backward)
        with torch.cuda.stream(reduce):
            torch.distributed.all_reduce(gradients)
    else:
        with torch.cuda.stream(backward):
            torch.cuda._sleep(BACKWARD_CYCLES)
        with torch.cuda.stream(reduce):
            torch.distributed.all_reduce(gradients)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


def work(rank, port, how, steps):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))
    gradients = torch.ones(ELEMENTS, device="cuda")
    backward, reduce = torch.cuda.Stream(), torch.cuda.Stream()
    torch.distributed.all_reduce(gradients)  # the first one makes the channels
    torch.cuda.synchronize()
    torch.distributed.barrier()
    for _ in range(steps):
        step(how, gradients, backward, reduce)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    how, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6
    store = torch.distributed.TCPStore("127.0.0.1", 0, 1, True)
    port = store.port
    del store
    torch.multiprocessing.spawn(work, args=(port, how, steps), nprocs=2)
    print(json.dumps({"steps": steps, "bytes": 4 * ELEMENTS, "ranks": 2}))
