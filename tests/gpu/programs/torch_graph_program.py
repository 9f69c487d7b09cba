"""A CUDA graph of PyTorch, captured within one range and replayed within another; exits with 3."""

import sys

import torch

REPLAYS = 10
x = torch.zeros(1024, device="cuda")
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):  # warm up, as PyTorch asks for
    x += 1
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
torch.cuda.nvtx.range_push("capture")
with torch.cuda.graph(graph):
    for _ in range(4):
        x += 1
torch.cuda.nvtx.range_pop()
torch.cuda.nvtx.range_push("replay")
for _ in range(REPLAYS):
    graph.replay()
torch.cuda.synchronize()
torch.cuda.nvtx.range_pop()
print(f"sum {x.sum().item():.0f}")
sys.exit(3)
