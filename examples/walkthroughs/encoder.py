"""One layer of an encoder, run again and again: eager, with fused attention, compiled, or as a CUDA graph."""

import argparse

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width=512, heads=8, is_fused=False):
        super().__init__()
        self.heads, self.is_fused = heads, is_fused
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def attention(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        if self.is_fused:
            y = nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            scores = (q @ k.transpose(-2, -1)) / (width // self.heads) ** 0.5
            y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


def as_graph(layer, x):
    """Captures one call: what comes back launches all of its kernels at once."""
    graph = torch.cuda.CUDAGraph()
    layer(x)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        layer(x)
    return lambda _: graph.replay()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("eager", "fused", "compiled", "graph"), default="eager")
    parser.add_argument("--layers", type=int, default=100)
    options = parser.parse_args()
    layer = Layer(is_fused=options.mode != "eager").cuda().half().eval()
    x = torch.rand(8, 128, 512, device="cuda", dtype=torch.half)
    with torch.inference_mode():
        run = torch.compile(layer) if options.mode == "compiled" else layer
        run = as_graph(layer, x) if options.mode == "graph" else run
        run(x)
        for _ in range(options.layers):
            with torch.cuda.nvtx.range("step"):
                run(x)
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
