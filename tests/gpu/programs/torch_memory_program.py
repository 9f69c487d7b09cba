"""Training steps that keep a tensor each; what PyTorch says of its GPU memory is the last line; exits with 3."""

import json
import sys

import torch

KEPT = 3 << 20
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(256, 512, device="cuda")
kept = []
for _ in range(24):
    torch.cuda.nvtx.range_push("step")
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    kept.append(torch.empty(KEPT, dtype=torch.uint8, device="cuda"))  # KEEPS
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
print(json.dumps({"peak": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved(), "kept": KEPT, "kept_in_all": len(kept) * KEPT}))
sys.exit(3)
