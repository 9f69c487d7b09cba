#!/usr/bin/env python3
"""Programs of the fourth examination: whole scripts of one to three seconds beside their imports.

    exam4_variants.py VARIANT [--lock FILE] [--torch-profiler FILE]

They and their labels were there before anybody profiled them.
"""

import fcntl
import importlib
import os
import sys
import time

from variants import VARIANTS, busy, variant

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# ---- PyTorch ----


@variant
def torch_style_of_a_picture():
    """A picture is changed until a network sees another style in it: large convolutions, nothing is read back."""
    import torch
    from torch import nn

    net = nn.Sequential(*[m for a, b in ((3, 64), (64, 64), (64, 128), (128, 128)) for m in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU())]).cuda()
    picture = torch.rand(4, 3, 512, 512, device="cuda", requires_grad=True)
    style = torch.rand(128, 128, device="cuda")
    optimizer = torch.optim.Adam([picture], lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        seen = net(picture).flatten(2)
        (torch.bmm(seen, seen.transpose(1, 2)).mean(0) / seen.shape[2] - style).square().sum().backward()
        optimizer.step()


@variant
def torch_messages_on_a_graph():
    """Two layers of messages along four million edges of a graph."""
    import torch

    nodes, edges = 500_000, 4_000_000
    x, w = torch.randn(nodes, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    source, target = torch.randint(nodes, (2, edges), device="cuda")
    for _ in range(60):
        for _layer in range(2):
            x = torch.relu(torch.zeros_like(x).index_add_(0, target, (x @ w)[source]) * 1e-3)


@variant
def torch_cells_in_a_loop():
    """A translator from before attention: a cell of GRU for each of 50 words, in Python."""
    import torch
    from torch import nn

    cell, out = nn.GRUCell(256, 256).cuda(), nn.Linear(256, 4000).cuda()
    optimizer = torch.optim.Adam([*cell.parameters(), *out.parameters()])
    words = torch.randn(50, 32, 256, device="cuda")
    targets = torch.randint(4000, (50, 32), device="cuda")
    for _ in range(40):
        state, loss = torch.zeros(32, 256, device="cuda"), 0
        for k in range(50):
            state = cell(words[k], state)
            loss = loss + nn.functional.cross_entropy(out(state), targets[k])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@variant
def torch_words_looked_up_in_python():
    """Texts are split into words and looked up in a dictionary between the steps."""
    import torch
    from torch import nn

    vocabulary = {f"word{i}": i for i in range(20_000)}
    texts = [" ".join(f"word{(i * k) % 25_000}" for k in range(1, 120)) for i in range(64)]
    net = nn.Sequential(nn.EmbeddingBag(20_001, 128), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(150):
        rows = [[vocabulary.get(word.lower().strip(), 20_000) for word in text.split()] for text in texts for _ in range(4)]
        loss = nn.functional.cross_entropy(net(torch.tensor(rows).cuda()), torch.full((256,), i % 4).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@variant
def torch_logits_kept_on_the_host():
    """Evaluation keeps what the network says of each of 50,000 words: 100 MB to the host in each batch."""
    import torch
    from torch import nn

    head = nn.Linear(1024, 50_000).cuda()
    hidden, kept = torch.randn(512, 1024, device="cuda"), []
    with torch.no_grad():
        for _ in range(25):
            kept = [*kept[-2:], head(hidden).cpu()]
    print(len(kept))


@variant
def torch_average_of_weights():
    """A moving average of the weights is kept, parameter by parameter, after each step of a small network."""
    import torch
    from torch import nn

    net = nn.Sequential(*[m for _ in range(60) for m in (nn.Linear(128, 128), nn.LayerNorm(128), nn.ReLU())]).cuda()
    average = [p.detach().clone() for p in net.parameters()]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(64, 128, device="cuda")
    for _ in range(50):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            for mean, p in zip(average, net.parameters()):
                mean.mul_(0.999).add_(p, alpha=0.001)


@variant
def torch_norms_logged():
    """The norm of each gradient is logged in each step: 52 numbers are read one by one."""
    import torch
    from torch import nn

    net = nn.Sequential(*[m for _ in range(26) for m in (nn.Linear(1024, 1024), nn.ReLU())]).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, log = torch.randn(512, 1024, device="cuda"), {}
    for _ in range(60):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        for name, p in net.named_parameters():
            log[name] = p.grad.norm().item()
        optimizer.step()


@variant
def torch_four_samples_at_a_time():
    """Gradients of 16 pieces of four samples each are added up before each step."""
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    net = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    x = torch.randn(64, 32, 256, device="cuda")
    for _ in range(8):
        optimizer.zero_grad()
        for part in x.split(4):
            (net(part).square().mean() / 16).backward()
        optimizer.step()


@variant
def torch_batches_sent_ahead():
    """Batches in pinned memory are sent ahead in a stream of their own, behind large convolutions."""
    import torch
    from torch import nn

    net = nn.Sequential(nn.Conv2d(3, 128, 5, padding=2), nn.ReLU(), nn.Conv2d(128, 128, 3, padding=1), nn.ReLU()).cuda()
    batches = [torch.rand(32, 3, 128, 128).pin_memory() for _ in range(4)]
    ahead, now = torch.cuda.Stream(), torch.cuda.current_stream()
    following = batches[0].cuda()
    with torch.no_grad():
        for i in range(200):
            batch = following
            with torch.cuda.stream(ahead):
                following = batches[(i + 1) % 4].cuda(non_blocking=True)
            net(batch)
            now.wait_stream(ahead)
            following.record_stream(now)


@variant
def torch_texts_of_many_lengths():
    """A batch is a list of 256 tensors of the host, and each of them is moved by itself."""
    import torch
    from torch import nn

    net = nn.Linear(64, 64).cuda()
    texts = [torch.randn(20 + i % 40, 64) for i in range(256)]
    with torch.no_grad():
        for _ in range(40):
            net(nn.utils.rnn.pad_sequence([text.cuda() for text in texts])).relu_()


@variant
def torch_beams():
    """Eight beams are kept in lists of Python: scores and words are read after each word."""
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    net, head = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda().train(False), nn.Linear(512, 8000).cuda()
    embedding = nn.Embedding(8000, 512).cuda()
    beams = [([1], 0.0)] * 8
    with torch.no_grad():
        for _ in range(150):
            tokens = torch.tensor([words[-32:] for words, _ in beams], device="cuda")
            scores, chosen = torch.log_softmax(head(net(embedding(tokens))[:, -1]), dim=-1).topk(8)
            further = [(words + [w], total + s) for (words, total), ss, ws in zip(beams, scores.tolist(), chosen.tolist())
                       for s, w in zip(ss, ws)]
            beams = sorted(further, key=lambda beam: -beam[1])[:8]
    print(len(beams))


@variant
def torch_spectra_filtered():
    """Fields of 2048 x 2048 are filtered in the domain of frequencies."""
    import torch

    field = torch.randn(8, 2048, 2048, device="cuda")
    mask = (torch.rand(2048, 1025, device="cuda") > 0.5).float()
    for _ in range(300):
        field = torch.fft.irfft2(torch.fft.rfft2(field) * mask, s=(2048, 2048))
    torch.cuda.synchronize()


@variant
def torch_games_between_updates():
    """A simulation on the host takes five milliseconds for each answer of a small network."""
    import torch
    from torch import nn

    policy = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 8)).cuda()
    seen = torch.zeros(32, 64)
    with torch.no_grad():
        for _ in range(250):
            actions = policy(seen.cuda()).argmax(dim=1).cpu()
            busy(0.005)
            seen = seen * 0.9 + actions[:, None] * 0.1


# ---- JAX, Triton ----


@variant
def jax_network_trained():
    """A step of training is compiled once and runs 200 times on large matrices."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(weights, x):
        def loss(weights):
            y = x
            for w in weights:
                y = jnp.tanh(y @ w)
            return (y**2).mean()

        return [w - 0.1 * g for w, g in zip(weights, jax.grad(loss)(weights))]

    weights, x = [jnp.full((4096, 4096), 1e-4) for _ in range(4)], jnp.ones((8192, 4096))
    for _ in range(200):
        weights = step(weights, x)
    weights[0].block_until_ready()


@variant
def jax_one_operation_at_a_time():
    """A loop of small operations that nobody compiled as one."""
    import jax.numpy as jnp

    x, v = jnp.linspace(0, 1, 4096), jnp.zeros(4096)
    for _ in range(1500):
        force = -x - 0.1 * v + 0.01 * jnp.sin(x)
        v = v + 0.01 * force
        x = x + 0.01 * v
    print(float(x.sum()))


@variant
def triton_product():
    """The product of matrices of the tutorial, in tiles of 128."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def product(a, b, c, n, T: tl.constexpr, K: tl.constexpr):
        rows, columns, inner = tl.program_id(0) * T + tl.arange(0, T), tl.program_id(1) * T + tl.arange(0, T), tl.arange(0, K)
        total = tl.zeros((T, T), dtype=tl.float32)
        for k in range(0, n, K):
            left = tl.load(a + rows[:, None] * n + (k + inner)[None, :])
            right = tl.load(b + (k + inner)[:, None] * n + columns[None, :])
            total += tl.dot(left, right)
        tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))

    n = 8192
    a, b = torch.randn(n, n, device="cuda", dtype=torch.float16), torch.randn(n, n, device="cuda", dtype=torch.float16)
    c = torch.empty_like(a)
    for _ in range(200):
        product[(n // 128, n // 128)](a, b, c, n, T=128, K=64, num_warps=8)
    torch.cuda.synchronize()


@variant
def triton_short_vectors():
    """Vectors of 4,096 numbers are added by the kernel of the first tutorial, 10,000 times."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, to, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(to + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    x, y = torch.ones(4096, device="cuda"), torch.ones(4096, device="cuda")
    for _ in range(10_000):
        add[(4,)](x, y, y, 4096, BLOCK=1024)
    torch.cuda.synchronize()


# ---- CuPy, numba ----


@variant
def cupy_chunks_sorted():
    """Chunks of 32 MB come from NumPy, are sorted, and go back to NumPy."""
    import cupy
    import numpy

    chunks = [numpy.random.default_rng(i).random(1 << 23, numpy.float32) for i in range(4)]
    for i in range(40):
        cupy.sort(cupy.asarray(chunks[i % 4])).get()


@variant
def cupy_formula_on_large_arrays():
    """A formula of a dozen operations on arrays of 256 MB."""
    import cupy

    x = cupy.linspace(0, 1, 1 << 26, dtype=cupy.float32)
    for _ in range(60):
        y = cupy.exp(-x * x) * cupy.sin(3 * x) + cupy.sqrt(x + 1) / (1 + x * x)
    print(float(y[0]))


@variant
def cupy_numbers_read_one_by_one():
    """A loop of Python over the elements of an array of the GPU."""
    import cupy

    prices, best = cupy.random.rand(6_000, dtype=cupy.float32), 0.0
    for i in range(len(prices)):
        best = max(best, float(prices[i]))
    print(best)


@variant
def numba_product_by_tiles():
    """The product of matrices by shared memory, as the documentation has it, 20 times."""
    import numpy
    from numba import cuda, float32

    @cuda.jit
    def product(a, b, c):
        left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for k in range(a.shape[1] // 16):
            left[ty, tx] = a[y, k * 16 + tx]
            right[ty, tx] = b[k * 16 + ty, x]
            cuda.syncthreads()
            for n in range(16):
                total += left[ty, n] * right[n, tx]
            cuda.syncthreads()
        c[y, x] = total

    a = cuda.to_device(numpy.ones((4096, 4096), numpy.float32))
    c = cuda.device_array_like(a)
    for _ in range(40):
        product[(256, 256), (16, 16)](a, a, c)
    cuda.synchronize()


@variant
def numba_measurements_uploaded():
    """Measurements arrive as arrays of NumPy, 64 MB each, for one cheap kernel."""
    import numpy
    from numba import cuda

    @cuda.jit
    def scale(values):
        i = cuda.grid(1)
        if i < values.size:
            values[i] = values[i] * 2 + 1

    arrays = [numpy.ones(1 << 24, numpy.float32) for _ in range(3)]
    for i in range(60):
        scale[1 << 16, 256](cuda.to_device(arrays[i % 3]))
    cuda.synchronize()


@variant
def numba_row_after_row():
    """Rows of a table of 3,000 are summed up by a launch of one block each."""
    import numpy
    from numba import cuda

    @cuda.jit
    def running_sum(table, row):
        i = cuda.threadIdx.x
        if i < table.shape[1]:
            table[row, i] += table[row - 1, i]

    table = cuda.to_device(numpy.ones((3000, 256), numpy.float32))
    for _ in range(4):
        for row in range(1, 3000):
            running_sum[1, 256](table, row)
    cuda.synchronize()


def recorded_by_torch(function, path):
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        function()
    profiler.export_chrome_trace(path)


def main():
    name, options = sys.argv[1], dict(zip(sys.argv[2::2], sys.argv[3::2]))
    library = {"numba": "numba.cuda", "triton": "torch"}.get(name.partition("_")[0], name.partition("_")[0])
    importlib.import_module(library)  # side by side with others, before anybody uses the GPU
    with open(options.get("--lock", os.devnull), "w", encoding="utf-8") as held:
        if "--lock" in options:
            fcntl.flock(held, fcntl.LOCK_EX)
        start = time.monotonic()
        if "--torch-profiler" in options:
            recorded_by_torch(VARIANTS[name], options["--torch-profiler"])
        else:
            VARIANTS[name]()
        print(f"{time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
