"""Five small training steps; prints a figure that does not depend on the order of additions, exits with 3."""

import sys

import torch

device = torch.device("cuda")
x = torch.arange(1024, dtype=torch.float32, device=device).reshape(32, 32) / 1024
weight = torch.zeros(32, 32, device=device, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.125)
for _ in range(5):
    torch.cuda.nvtx.range_push("torch step")
    optimizer.zero_grad()
    loss = ((x * weight - 1) ** 2).mean()
    loss.backward()
    optimizer.step()
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
print(f"loss {loss.item():.4f}")
sys.exit(3)
