"""Small models of four kinds, with weights and data made on the spot."""

import torch
from torch import nn
from torch.nn import functional

DEVICE = "cuda"


def mlp(width, depth):
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers).to(DEVICE)


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        same = stride == 1 and before == after
        self.skip = nn.Identity() if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(y)) + self.skip(x))


def convnet():
    widths = [64, 64, 128, 256, 512]
    blocks = [Residual(before, after, 1 if before == after else 2) for before, after in zip(widths, widths[1:])]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 100)).to(DEVICE)


class Recommender(nn.Module):
    """Embedding bags for what a user clicked, and a network on top."""

    def __init__(self, tables=8, rows=100_000, width=64):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.top = nn.Sequential(nn.Linear(tables * width, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1))
        self.to(DEVICE)

    def forward(self, clicks):
        """`clicks`: (tables, users, clicks of each)"""
        return self.top(torch.cat([bag(rows) for bag, rows in zip(self.bags, clicks)], dim=1))


class Block(nn.Module):
    def __init__(self, width, heads, tokens):
        super().__init__()
        self.heads, self.width = heads, width
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("keys", torch.zeros(1, heads, tokens, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, tokens, width // heads))

    def attend(self, x, position, mask):
        query, key, value = self.qkv(x).view(1, 1, 3, self.heads, self.width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        self.keys.index_copy_(2, position, key)
        self.values.index_copy_(2, position, value)
        attended = functional.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask)
        return self.out(attended.transpose(1, 2).reshape(x.shape))

    def forward(self, x, position, mask):
        x = x + self.attend(self.norm1(x), position, mask)
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    """One token at a time, with the keys and values of those before. All shapes stay, so that a CUDA graph can hold a token."""

    def __init__(self, width=512, heads=8, layers=8, tokens=256, words=1000):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads, tokens) for _ in range(layers))
        self.head = nn.Linear(width, words)
        self.register_buffer("places", torch.arange(tokens))
        self.register_buffer("token", torch.zeros(1, 1, dtype=torch.long))
        self.register_buffer("position", torch.zeros(1, dtype=torch.long))
        self.to(DEVICE)

    @torch.no_grad()
    def forward(self):
        mask = (self.places <= self.position).view(1, 1, 1, -1)
        x = self.embedding(self.token)
        for block in self.blocks:
            x = block(x, self.position, mask)
        self.token.copy_(self.head(x).argmax(dim=-1))
        self.position.add_(1).remainder_(len(self.places))


class Training:
    def __init__(self, model, loss, **adam):
        self.model, self.criterion = model, loss
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, **({"fused": True} if not adam else adam))

    def step(self, inputs, targets):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(inputs), targets)
        loss.backward()
        self.optimizer.step()
        return loss
