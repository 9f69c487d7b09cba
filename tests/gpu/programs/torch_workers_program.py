"""A loader with worker processes and ranges around its batches; exits with 3. usage: torch_workers_program.py fork|spawn [cuda]

With `cuda`, workers make each sample on the GPU: two kernels and a copy back. Two epochs then, each with workers of its own.
"""

import sys

import torch

SAMPLES = 64


class Numbers(torch.utils.data.Dataset):
    def __init__(self, uses_cuda):
        self.uses_cuda = uses_cuda

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        if not self.uses_cuda:
            return torch.full((16,), float(index))
        return (torch.full((16,), index / 2, device="cuda") * 2).cpu()


def main():
    uses_cuda = "cuda" in sys.argv[2:]
    loader = torch.utils.data.DataLoader(Numbers(uses_cuda), batch_size=8, num_workers=2, pin_memory=True,
                                         multiprocessing_context=sys.argv[1])
    total = torch.zeros((), device="cuda")
    for _ in range(2 if uses_cuda else 1):
        for batch in loader:
            torch.cuda.nvtx.range_push("batch")
            total += batch.to("cuda", non_blocking=True).sum()
            torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    print(f"total {total.item():.0f}")


if __name__ == "__main__":
    main()
    sys.exit(3)
