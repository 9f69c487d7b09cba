"""Trains a small model for a time, a range around each step; prints what it did as JSON. usage: torch_training_program.py SECONDS"""

import json
import sys
import time

import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.01)
data = torch.randn(64, 256, device="cuda")


def step():
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()


for _ in range(20):
    step()
steps, start = 0, time.monotonic()
while time.monotonic() < start + float(sys.argv[1]):
    torch.cuda.nvtx.range_push("step")
    step()
    torch.cuda.nvtx.range_pop()
    steps += 1
print(json.dumps({"steps": steps, "seconds": time.monotonic() - start}))
sys.exit(3)
