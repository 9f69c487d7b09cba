"""Ranks of Python: rank 1 joins its samples one by one. Started by record.sh with mpi4py and nvtx."""

import nvtx
from mpi4py import MPI

rank = MPI.COMM_WORLD.Get_rank()


def collate(samples, rounds):
    batch = []
    for _ in range(rounds):
        batch = [sum(sample) for sample in samples]
    return batch


def model(batch):
    return sum(value * value for value in batch for _ in range(40))


def main():
    samples = [list(range(100)) for _ in range(1000)]
    for _ in range(10):
        with nvtx.annotate("train_step"):
            with nvtx.annotate("collate"):
                batch = collate(samples, 12 if rank == 1 else 2)
            with nvtx.annotate("model"):
                loss = model(batch)
            MPI.COMM_WORLD.allreduce(loss)


main()
