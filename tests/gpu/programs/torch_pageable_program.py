"""A loop whose batches come from one pageable tensor, and go back into another; prints what it computed."""
import sys

import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
batch, back = torch.zeros(4 << 20), torch.zeros(4 << 20)
weights = torch.arange(4 << 20, dtype=torch.float32, device="cuda") % 7 + 1
total = 0.0
for step in range(STEPS):
    torch.cuda.nvtx.range_push("step")
    batch.fill_(float(step))
    on_gpu = batch.to("cuda", non_blocking=True)
    batch[0] = -1.0  # pageable memory is free again when the copy returns
    back.copy_(on_gpu * weights)
    total += back[::4096].sum().item() + back[0].item()
    torch.cuda.nvtx.range_pop()
print(batch.is_pinned(), total)
