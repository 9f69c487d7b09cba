"""Steps of PyTorch until a file appears: steady_service.py eager|graph GATE

    eager  training steps of a small model, launched kernel by kernel
    graph  decode-like steps: one CUDA graph, and the result read back

Prints how many steps there were, their median, and whether the results were right.
"""

import json
import os
import statistics
import sys
import time

import torch

KEPT = 100_000  # steps whose time is kept


def eager():
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]).cuda()
    optimizer, x = torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(256, 512, device="cuda")

    def step():
        torch.cuda.nvtx.range_push("step")
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        is_right = loss.item() >= 0
        torch.cuda.nvtx.range_pop()
        return is_right
    return step


def graph():
    x = torch.ones(512, 512, device="cuda")
    stream, made = torch.cuda.Stream(), torch.cuda.CUDAGraph()

    def layers():
        return sum((x @ x).relu().sum() for _ in range(10))
    with torch.cuda.stream(stream):
        layers()
    stream.synchronize()
    with torch.cuda.graph(made):
        y = layers()

    def step():
        torch.cuda.nvtx.range_push("step")
        made.replay()
        is_right = y.item() == 10 * 512 ** 3
        torch.cuda.nvtx.range_pop()
        return is_right
    return step


def main():
    step, gate = {"eager": eager, "graph": graph}[sys.argv[1]](), sys.argv[2]
    times, steps, wrong = [], 0, 0
    while not os.path.exists(gate):
        began_ns = time.monotonic_ns()
        wrong += not step()
        times.append(time.monotonic_ns() - began_ns)
        steps += 1
        if len(times) > KEPT:
            del times[:KEPT // 2]
    print(json.dumps({"steps": steps, "wrong": wrong, "median_ns": statistics.median(times)}), flush=True)
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
