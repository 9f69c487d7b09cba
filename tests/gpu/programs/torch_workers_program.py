"""A loader with worker processes and ranges around its batches; exits with 3. usage: torch_workers_program.py fork|spawn"""

import sys

import torch


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((16,), float(index))


def main():
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2, pin_memory=True,
                                         multiprocessing_context=sys.argv[1])
    total = torch.zeros((), device="cuda")
    for batch in loader:
        torch.cuda.nvtx.range_push("batch")
        total += batch.to("cuda", non_blocking=True).sum()
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    print(f"total {total.item():.0f}")


if __name__ == "__main__":
    main()
    sys.exit(3)
