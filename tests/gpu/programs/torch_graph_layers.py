"""A small GPT whose decode step is a CUDA graph: captured by hand, by torch.compile, or by JAX. Prints what it knows.

  torch_graph_layers.py graph|compile|jax [REPLAYS]
"""

import json
import sys
import time

LAYERS, WIDTH, HEADS, TOKENS = 4, 256, 4, 8


def torch_model():
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            q, k, v = self.qkv(x).view(TOKENS, 3, HEADS, WIDTH // HEADS).unbind(1)
            scores = torch.einsum("thd,shd->hts", q, k).softmax(-1)
            return self.out(torch.einsum("hts,shd->thd", scores, v).reshape(TOKENS, WIDTH))

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            return self.down(torch.relu(self.up(x)))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn, self.mlp = Attention(), Mlp()
            self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.h = nn.ModuleList(Block() for _ in range(LAYERS))
            self.ln_f = nn.LayerNorm(WIDTH)

        def forward(self, x):
            for block in self.h:
                x = block(x)
            return self.ln_f(x)
    return torch, Gpt().cuda().eval()


def replay_times(torch, replay, replays):
    """Seconds for all, by the host's clock."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(replays):
        replay()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def by_hand(replays):
    torch, model = torch_model()
    x = torch.randn(TOKENS, WIDTH, device="cuda")
    with torch.no_grad():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                model(x)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        expected = model(x)
    seconds = replay_times(torch, graph.replay, replays)
    return {"seconds": seconds, "is_right": bool(torch.allclose(y, expected, atol=1e-4))}


def compiled(replays):
    torch, model = torch_model()
    x = torch.randn(TOKENS, WIDTH, device="cuda")
    with torch.no_grad():
        expected = model(x)
        fast = torch.compile(model, mode="reduce-overhead")
        for _ in range(5):
            y = fast(x).clone()

        def replay():
            torch.compiler.cudagraph_mark_step_begin()
            fast(x)
        seconds = replay_times(torch, replay, replays)
    return {"seconds": seconds, "is_right": bool(torch.allclose(y, expected, atol=1e-2))}


def in_jax(replays):
    import jax
    import jax.numpy as jnp
    keys = jax.random.split(jax.random.PRNGKey(0), 2 * LAYERS)
    weights = [(jax.random.normal(keys[2 * i], (WIDTH, WIDTH)) / 16, jax.random.normal(keys[2 * i + 1], (WIDTH, WIDTH)) / 16)
               for i in range(LAYERS)]

    @jax.jit
    def step(x):
        for i, (attention, mlp) in enumerate(weights):
            with jax.named_scope(f"h_{i}"):
                with jax.named_scope("attn"):
                    x = x + jnp.tanh(x @ attention)
                with jax.named_scope("mlp"):
                    x = x + jax.nn.relu(x @ mlp)
        return x
    x = jnp.ones((512, WIDTH))
    for _ in range(3):
        step(x).block_until_ready()
    begin = time.perf_counter()
    for _ in range(replays):
        y = step(x)
    y.block_until_ready()
    return {"seconds": time.perf_counter() - begin, "is_right": True}


def main():
    mode, replays = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    facts = {"graph": by_hand, "compile": compiled, "jax": in_jax}[mode](replays)
    print(json.dumps({"mode": mode, "replays": replays, "layers": LAYERS, **facts}))


if __name__ == "__main__":
    main()
