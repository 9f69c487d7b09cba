"""All-reduces of known sizes between two GPUs; exits with 3."""

import os
import sys

import torch
import torch.distributed
import torch.multiprocessing

SIZES = (1 << 10, 1 << 16, 1 << 20)


def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl")
    for size in SIZES:
        x = torch.ones(size, device="cuda")
        torch.distributed.all_reduce(x)
        torch.cuda.synchronize()
        if x[0].item() != 2:
            sys.exit(9)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    store = torch.distributed.TCPStore("127.0.0.1", 0, 1, True)
    port = store.port
    del store
    torch.multiprocessing.spawn(work, args=(port,), nprocs=2)
    print("done")
    sys.exit(3)
