"""Steps of PyTorch for a number of seconds: torch_steady.py eager|graph SECONDS [SLOW_AT_S]. `eager` trains a small transformer,
`graph` replays a CUDA graph for each token, as decoders do. Each step is an NVTX range, and waits for its result at the end. With
SLOW_AT_S, one step so late in the run sleeps for twenty times the median. Prints the seconds of the loop and the steps in each of
them, as JSON. Exits with 77 without PyTorch or a GPU."""

import json
import statistics
import sys
import time

SKIP = 77
WARM_UP_STEPS = 30


def training(torch):
    layer = torch.nn.TransformerEncoderLayer(256, 8, 512, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    batch = torch.randn(16, 64, 256, device="cuda")

    def step():
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def decoding(torch):
    layer = torch.nn.TransformerEncoderLayer(512, 8, 1024, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 6).cuda().eval()
    token = torch.randn(8, 1, 512, device="cuda")
    with torch.no_grad():
        for _ in range(3):
            model(token)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = model(token)

    def step():
        for _ in range(8):
            graph.replay()
        return out[0, 0, 0].item()
    return step


def run(torch, step, seconds, slow_at_s):
    times = []
    for _ in range(WARM_UP_STEPS):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    pause_s = 20 * statistics.median(times)
    start, counts = time.perf_counter(), [0] * (int(seconds) + 1)
    while (now := time.perf_counter() - start) < seconds:
        torch.cuda.nvtx.range_push("step")
        step()
        if slow_at_s is not None and now >= slow_at_s:
            time.sleep(pause_s)
            slow_at_s = None
        torch.cuda.nvtx.range_pop()
        counts[int(now)] += 1
    return {"seconds": time.perf_counter() - start, "steps": counts[:int(seconds)]}


def main():
    try:
        import torch
    except ImportError:
        sys.exit(SKIP)
    if not torch.cuda.is_available():
        sys.exit(SKIP)
    make = {"eager": training, "graph": decoding}[sys.argv[1]]
    slow_at_s = float(sys.argv[3]) if len(sys.argv) > 3 else None
    print(json.dumps(run(torch, make(torch), float(sys.argv[2]), slow_at_s)))


main()
