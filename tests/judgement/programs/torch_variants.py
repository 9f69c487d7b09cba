#!/usr/bin/env python3
"""PyTorch programs, good ones and ones with one thing done wrong: corpus.json says what the first finding should be.

Each takes about a second on the GPU beside its start. Nothing comes from a disk or a network, and the seeds are fixed. The loop
after the warm-up is between cudaProfilerStart and cudaProfilerStop, for captures of the steady state.
"""

import os
import queue
import sys
import threading
import time

import variants
from variants import busy, fixed, variant

if "launch_blocking" in sys.argv:
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"  # before CUDA starts

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

import torch_models as models  # noqa: E402
from torch_models import DEVICE, Training  # noqa: E402


def regression(width=2048, depth=4, rows=4096, **adam):
    """(training, inputs, targets) whose step is mostly matrix products."""
    training = Training(models.mlp(width, depth), functional.mse_loss, **adam)
    return training, torch.randn(rows, width, device=DEVICE), torch.randn(rows, width, device=DEVICE)


def short_steps():
    """Steps that the GPU needs about as long for as the host: whoever waits in between loses."""
    return regression(width=1024, depth=8, rows=1024)


# ---- training ----


@variant
def good_train(loop):
    """A convolutional network on large batches that are on the GPU already."""
    training = Training(models.convnet(), functional.cross_entropy)
    images, labels = torch.randn(256, 3, 96, 96, device=DEVICE), torch.randint(100, (256,), device=DEVICE)
    loop(lambda i: training.step(images, labels), steps=60)


@variant
def item_each_step(loop):
    training, inputs, targets = short_steps()
    losses = []
    loop(lambda i: losses.append(training.step(inputs, targets).item()), steps=200)


@fixed
def losses_stay_on_the_gpu(loop):
    training, inputs, targets = short_steps()
    losses = []
    loop(lambda i: losses.append(training.step(inputs, targets).detach()), steps=200)


@variant
def cpu_each_step(loop):
    training, inputs, targets = regression(depth=1)
    kept = []

    def step(i):
        training.step(inputs, targets)
        kept[:] = [training.model[0](inputs).detach().cpu()]

    loop(step, steps=40)


@fixed
def cpu_by_pinned_memory(loop):
    training, inputs, targets = regression(depth=1)
    kept = torch.empty(4096, 2048).pin_memory()

    def step(i):
        training.step(inputs, targets)
        kept.copy_(training.model[0](inputs).detach(), non_blocking=True)

    loop(step, steps=40)


@variant
def pageable_loader(loop):
    training, _, targets = regression(depth=1)
    batches = [torch.randn(4096, 2048) for _ in range(4)]
    weights = [torch.randn(4096, 2048) for _ in range(4)]

    def step(i):
        inputs = batches[i % 4].to(DEVICE, non_blocking=True) * weights[i % 4].to(DEVICE, non_blocking=True)
        training.step(inputs, targets)

    loop(step, steps=60)


@fixed
def batches_in_pinned_memory(loop):
    training, _, targets = regression(depth=1)
    batches = [torch.randn(4096, 2048).pin_memory() for _ in range(4)]
    weights = [torch.randn(4096, 2048).pin_memory() for _ in range(4)]

    def step(i):
        inputs = batches[i % 4].to(DEVICE, non_blocking=True) * weights[i % 4].to(DEVICE, non_blocking=True)
        training.step(inputs, targets)

    loop(step, steps=60)


@variant
def pinned_loader(loop):
    """The next batch comes from pinned memory in a stream of its own."""
    training, _, targets = regression()
    batches = [torch.randn(4096, 2048).pin_memory() for _ in range(4)]
    copies = torch.cuda.Stream()
    coming = []

    def fetch(i):
        with torch.cuda.stream(copies):
            coming.append(batches[i % 4].to(DEVICE, non_blocking=True))

    def step(i):
        if not coming:
            fetch(i)
        torch.cuda.current_stream().wait_stream(copies)
        inputs = coming.pop()
        inputs.record_stream(torch.cuda.current_stream())
        fetch(i + 1)
        training.step(inputs, targets)

    loop(step, steps=60)


@variant
def slow_loader(loop):
    """No workers: the main thread prepares each batch for 20 ms."""
    training, inputs, targets = regression(depth=3)

    def step(i):
        busy(0.020)
        training.step(inputs, targets)

    loop(step, steps=40)


def in_background(make, steps, workers=4):
    """What `make` makes, by threads that are ahead of who takes it."""
    made, orders = queue.Queue(workers), threading.Semaphore(steps + variants.WARM_UP)

    def work():
        while orders.acquire(blocking=False):
            made.put(make())

    for _ in range(workers):
        threading.Thread(target=work, daemon=True).start()
    return made.get


@fixed
def loader_in_background(loop):
    """The threads sleep where they would read a file: they do not hold Python's lock."""
    training, inputs, targets = regression(depth=3)
    steps = loop.steps or 40
    wait_for_batch = in_background(lambda: time.sleep(0.020), steps)

    def step(i):
        wait_for_batch()
        training.step(inputs, targets)

    loop(step, steps=steps)


@variant
def allocate_on_cpu_each_step(loop):
    """Embedding bags; the clicks are drawn on the host and then copied."""
    training = Training(models.Recommender(), functional.mse_loss)
    targets = torch.randn(8192, 1, device=DEVICE)

    def step(i):
        clicks = torch.randint(100_000, (8, 8192, 64))
        training.step(clicks.to(DEVICE), targets)

    loop(step, steps=30)


@fixed
def allocate_on_gpu_each_step(loop):
    training = Training(models.Recommender(), functional.mse_loss)
    targets = torch.randn(8192, 1, device=DEVICE)
    loop(lambda i: training.step(torch.randint(100_000, (8, 8192, 64), device=DEVICE), targets), steps=30)


@variant
def empty_cache_each_step(loop):
    training, inputs, targets = regression(width=1024, depth=8, rows=1024)

    def step(i):
        training.step(inputs, targets)
        torch.cuda.empty_cache()

    loop(step, steps=60)


@fixed
def cache_is_kept(loop):
    training, inputs, targets = regression(width=1024, depth=8, rows=1024)
    loop(lambda i: training.step(inputs, targets), steps=60)


@variant
def optimizer_foreach_false(loop):
    training, inputs, targets = regression(width=128, depth=60, rows=256, foreach=False, fused=False)
    loop(lambda i: training.step(inputs, targets), steps=16)


@fixed
def optimizer_fused(loop):
    training, inputs, targets = regression(width=128, depth=60, rows=256)
    loop(lambda i: training.step(inputs, targets), steps=16)


# ---- operators ----


def chain_of_tiny_ops(x):
    for _ in range(20):
        x = torch.sin(x * 1.01 + 0.5)
    return x


@variant
def many_tiny_ops(loop):
    x = torch.randn(1024, device=DEVICE)
    loop(lambda i: chain_of_tiny_ops(x), steps=120)


@fixed
def many_tiny_ops_in_graph(loop):
    x = torch.randn(1024, device=DEVICE)
    replay = graph_of(lambda: chain_of_tiny_ops(x))
    loop(lambda i: replay(), steps=120)


@variant
def tiny_ops_graph(loop):
    """The same operators, ten times as many, in one CUDA graph."""
    x = torch.randn(1024, device=DEVICE)
    replay = graph_of(lambda: [chain_of_tiny_ops(x) for _ in range(10)])
    loop(lambda i: replay(), steps=300)


@variant
def float64_matmul(loop):
    a = torch.randn(3072, 3072, device=DEVICE, dtype=torch.float64)
    loop(lambda i: a @ a, steps=200)


@fixed
def float32_matmul(loop):
    a = torch.randn(3072, 3072, device=DEVICE)
    loop(lambda i: a @ a, steps=200)


@variant
def big_gemm(loop):
    a = torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16)
    loop(lambda i: a @ a, steps=300)


@variant
def sync_each_op(loop):
    a = torch.randn(1024, 1024, device=DEVICE)

    def step(i):
        x = a
        for _ in range(20):
            x = torch.relu(x @ a)
            torch.cuda.synchronize()

    loop(step, steps=100)


@fixed
def sync_each_step(loop):
    a = torch.randn(1024, 1024, device=DEVICE)

    def step(i):
        x = a
        for _ in range(20):
            x = torch.relu(x @ a)
        torch.cuda.synchronize()

    loop(step, steps=100)


@variant
def launch_blocking(loop):
    training, inputs, targets = short_steps()
    loop(lambda i: training.step(inputs, targets), steps=100)


@fixed
def launches_do_not_block(loop):
    training, inputs, targets = short_steps()
    loop(lambda i: training.step(inputs, targets), steps=100)


@variant
def back_and_forth(loop):
    """A tensor of 128 MiB goes to the host and comes back unchanged in every iteration."""
    state, host = torch.randn(1 << 25, device=DEVICE), torch.empty(1 << 25)

    def step(i):
        host.copy_(state)
        state.copy_(host)
        (state * 1.5).sum()

    loop(step, steps=25)


@fixed
def stays_on_the_gpu(loop):
    state = torch.randn(1 << 25, device=DEVICE)
    loop(lambda i: (state * 1.5).sum(), steps=25)


# ---- streams ----


@variant
def two_streams_overlap(loop):
    """Prefix sums of 32 rows fill a part of the GPU, so that those of two streams run side by side."""
    rows = [torch.randn(32, 1 << 20, device=DEVICE) for _ in range(2)]
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    torch.cuda.synchronize()

    def step(i):
        for stream, x in zip(streams, rows):
            with torch.cuda.stream(stream):
                torch.cumsum(x, dim=1)

    loop(step, steps=300)


@variant
def pool_of_streams(loop):
    """The framework has 32 streams ready as soon as one is asked for; one of them does all the work."""
    training, inputs, targets = regression()
    stream = [torch.cuda.Stream() for _ in range(33)][0]
    torch.cuda.synchronize()

    def step(i):
        with torch.cuda.stream(stream):
            training.step(inputs, targets)

    loop(step, steps=60)


@variant
def two_streams_pageable(loop):
    parts, results = [torch.randn(1 << 23) for _ in range(2)], [torch.empty(1 << 23) for _ in range(2)]
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]

    def step(i):
        for stream, part, result in zip(streams, parts, results):
            with torch.cuda.stream(stream):
                x = part.to(DEVICE, non_blocking=True)
                for _ in range(20):
                    x = torch.tanh(x)
                result.copy_(x, non_blocking=True)

    loop(step, steps=30)


@fixed
def two_streams_pinned(loop):
    parts = [torch.randn(1 << 23).pin_memory() for _ in range(2)]
    results = [torch.empty(1 << 23).pin_memory() for _ in range(2)]
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]

    def step(i):
        for stream, part, result in zip(streams, parts, results):
            with torch.cuda.stream(stream):
                x = part.to(DEVICE, non_blocking=True)
                for _ in range(20):
                    x = torch.tanh(x)
                result.copy_(x, non_blocking=True)

    loop(step, steps=30)


# ---- decoding ----


def graph_of(work):
    """A function that launches what `work` launches as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


@variant
def decode_eager(loop):
    decoder = models.Decoder()
    loop(lambda i: decoder(), steps=100)


@variant
def decode_graph(loop):
    decoder = models.Decoder()
    replay = graph_of(decoder)
    loop(lambda i: replay(), steps=400)


@fixed
def decode_graph_of_100(loop):
    """As long as decode_eager."""
    replay = graph_of(models.Decoder())
    loop(lambda i: replay(), steps=100)


def record_with_torch_profiler(function, options):
    """As its users do: a schedule with one step of warm-up, and a name for each step."""
    from torch.profiler import ProfilerActivity, profile, schedule

    recorded = options.steps or 12
    waits = schedule(wait=variants.WARM_UP - 1, warmup=1, active=recorded, repeat=1)
    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=waits,
                       on_trace_ready=lambda done: done.export_chrome_trace(options.torch_profiler))

    def loop(step, steps):
        with profiler:
            for i in range(variants.WARM_UP + recorded):
                step(i)
                profiler.step()

    function(loop)


def main():
    options = variants.arguments(__doc__)
    held = variants.take(options)
    torch.manual_seed(1)
    if options.torch_profiler:
        record_with_torch_profiler(variants.VARIANTS[options.variant], options)
    else:
        variants.run(options, variants.Loop(options.steps, torch.cuda.synchronize, torch.cuda.profiler.start, torch.cuda.profiler.stop))
    del held


if __name__ == "__main__":
    main()
