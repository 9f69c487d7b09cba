"""A training step of each of six models, with what torch.profiler says of its operators; exits with 3.

Prints a line of JSON for each model: what it computed, and how often each operator ran with inputs of which sizes.
Operators of a model are those within its range. Runs on the CPU where there is no GPU.
"""

import collections
import hashlib
import json
import sys

import torch
from torch import nn
from torch.autograd import DeviceType, Function
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Scaled(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = (part.view(2, 8, 4, 8).transpose(1, 2) for part in self.inner(x).chunk(3, dim=-1))
        return self.outer(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 8, 32))


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.last = nn.Embedding(50, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.last(self.table((x.abs() * 9).long()).sum(dim=1))


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(5, 5))

    def forward(self, x):
        joined = torch.cat([x, Scaled.apply(x)]).unsqueeze(0)
        return torch.einsum("bij,jk->bik", joined, self.weight)[:, 1:].relu()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 6)

    def forward(self, x):
        state = torch.zeros_like(x[0])
        for step in x:
            state = self.cell(step, state)
        return state


torch.manual_seed(3)
MODELS = {
    "perceptron": (nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4)), (3, 8)),
    "convolution": (nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
                                  nn.LazyLinear(5)), (2, 3, 8, 8)),
    "attention": (Attention(), (2, 8, 32)),
    "embedding": (Embedded(), (3, 7)),
    "custom": (Custom(), (2, 5)),
    "recurrent": (Recurrent(), (4, 2, 6)),
}


def step(model, optimizer, x):
    optimizer.zero_grad()
    loss = model(x).float().square().mean()
    loss.backward()
    optimizer.step()
    return loss


def digest_of(model, loss):
    digest = hashlib.sha256(loss.detach().cpu().numpy().tobytes())
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()


def main():
    # What waits for CUDA goes on without it.
    for queued in [] if DEVICE == "cuda" else torch.cuda._queued_calls:
        if queued[0].__module__ == "sitecustomize":
            queued[0]()
    for name, (model, sizes) in MODELS.items():
        torch.manual_seed(7)
        model.to(DEVICE)
        x = torch.randn(sizes, device=DEVICE)
        model(x)
        optimizer = torch.optim.Adam(model.parameters())
        step(model, optimizer, x)
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
            with record_function("model " + name):
                loss = step(model, optimizer, x)
        # Not events(), which leaves out operators around one of the same name.
        # CUDA calls are there untraced only, as CUPTI is ours otherwise.
        events = [event for event in profiled.profiler.kineto_results.events()
                  if event.device_type() == DeviceType.CPU and not event.name().startswith("cuda")]
        counts = collections.Counter((event.name(), json.dumps(event.shapes())) for event in events)
        found = sorted([*key, count] for key, count in counts.items())
        print(json.dumps({"model": name, "digest": digest_of(model, loss), "operators": found}))
    sys.exit(3)


main()
