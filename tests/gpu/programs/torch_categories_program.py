"""Trains a small transformer with Adam; the bytes of its parameters, gradients, state and activations are the last line; exits with 3.

No tensor of the model is larger than 1 MiB, so that the allocator gives each of them whole units of 512 bytes and no more.
"""

import json
import sys

import torch

UNIT = 512
torch.manual_seed(1)
layer = torch.nn.TransformerEncoderLayer(128, 4, dim_feedforward=512, dropout=0.1, batch_first=True)
model = torch.nn.Sequential(torch.nn.Embedding(1000, 128), torch.nn.TransformerEncoder(layer, 3), torch.nn.Linear(128, 1000)).cuda()
optimizer = torch.optim.Adam(model.parameters())


def rounded(tensors):
    return sum((t.numel() * t.element_size() + UNIT - 1) // UNIT * UNIT for t in tensors if t.is_cuda)


activations = 0
for _ in range(8):
    tokens = torch.randint(1000, (16, 64)).cuda()
    targets = torch.randint(1000, (16 * 64,)).cuda()
    optimizer.zero_grad()
    before = torch.cuda.memory_allocated()
    loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets)
    activations = torch.cuda.memory_allocated() - before
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
state = [t for values in optimizer.state.values() for t in values.values()]
print(json.dumps({"parameters": rounded(model.parameters()), "gradients": rounded(p.grad for p in model.parameters()),
                  "optimizer state": rounded(state), "activations": activations, "peak": torch.cuda.max_memory_allocated()}))
sys.exit(3)
