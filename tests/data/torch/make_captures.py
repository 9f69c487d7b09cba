"""Makes the captures of this folder and what PyTorch says of them. Needs PyTorch (CPU).

usage: make_captures.py FOLDER
"""

import gzip
import json
import pathlib
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

KEPT = {"External id", "Sequence number", "Fwd thread id", "Input Dims", "Input type", "Concrete Inputs", "Bytes",
        "Device Type", "Device Id", "Addr", "Total Allocated", "Total Reserved"}


class Attn(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.proj, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln, self.attn = nn.LayerNorm(width), Attn(width, heads)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attn(self.ln(x))
        return x + self.fc2(functional.gelu(self.fc1(x)))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.head = nn.Embedding(64, 32), nn.Linear(32, 64)
        self.h = nn.ModuleList([Block(32, 4) for _ in range(2)])

    def forward(self, tokens):
        x = self.emb(tokens)
        for block in self.h:
            x = block(x)
        return self.head(x)


class ResBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.c2, self.b2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.down = nn.Conv2d(before, after, 1, stride, bias=False) if before != after else nn.Identity()

    def forward(self, x):
        inner = functional.relu(self.b1(self.c1(x)))
        return functional.relu(self.b2(self.c2(inner)) + self.down(x))


def transformer():
    model = Gpt()
    optimizer, tokens = torch.optim.SGD(model.parameters(), 0.1), torch.randint(0, 64, (2, 16))

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(tokens).view(-1, 64), tokens.view(-1)).backward()
        optimizer.step()
    return step


def resnet():
    model = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                          ResBlock(16, 16, 1), ResBlock(16, 32, 2), ResBlock(32, 64, 2), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(64, 10))
    optimizer, images = torch.optim.SGD(model.parameters(), 0.1), torch.randn(2, 3, 64, 64)

    def step():
        optimizer.zero_grad()
        model(images).sum().backward()
        optimizer.step()
    return step


def attention():
    def needed(*sizes):
        return torch.randn(*sizes, requires_grad=True)
    q, k, v = needed(2, 4, 32, 16), needed(2, 4, 48, 16), needed(2, 4, 48, 16)
    a, b, c = torch.randn(3, 5, 7), torch.randn(3, 7, 4), torch.randn(3, 5, 4)
    x1, w1, x2, w2 = needed(2, 6, 20), needed(8, 3, 5), needed(2, 6, 10, 10), needed(6, 4, 3, 3)
    left, right = (torch.randn(16, 32).to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.tensor(1.0)

    def step():
        functional.scaled_dot_product_attention(q, k, v).sum().backward()
        with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
            functional.scaled_dot_product_attention(q, k, v).sum().backward()
        torch.baddbmm(c, a, b)
        torch.bmm(a, b)
        torch.einsum("bij,bjk->bik", a, b)
        functional.conv1d(x1, w1, stride=2, padding=1, groups=2).sum().backward()
        functional.conv_transpose2d(x2, w2, stride=2, padding=1).sum().backward()
        functional.conv2d(x2, torch.ones(4, 6, 3, 3), dilation=2).sum().backward()
        torch._scaled_mm(left, right.t(), one, one, out_dtype=torch.bfloat16)
    return step


def kept(event):
    """Modules are all that is kept of Python, and numbers of calls where their sizes do not tell what they do."""
    category, name = event.get("cat"), event.get("name", "")
    if category in ("fwdbwd", "Trace") or (category == "python_function" and not name.startswith("nn.Module")):
        return None
    if "args" in event and event["ph"] != "M":
        has_inputs = "convolution" in name or "_scaled" in name
        event["args"] = {key: value for key, value in event["args"].items()
                         if key in KEPT and (key != "Concrete Inputs" or has_inputs)}
    return event


def capture(make, folder):
    torch.manual_seed(0)
    step = make()
    step()
    with FlopCounterMode(display=False) as counter:
        step()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True, profile_memory=True,
                 with_modules=True) as profiler, torch.profiler.record_function("step"):
        step()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        document = json.loads(pathlib.Path(file.name).read_text(encoding="utf-8"))
    document = {key: document[key] for key in ("schemaVersion", "baseTimeNanoseconds", "traceEvents")}
    document["traceEvents"] = [event for event in map(kept, document["traceEvents"]) if event]
    text = json.dumps(document, separators=(",", ":")).encode()
    (folder / f"{make.__name__}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))
    averages = {average.key: {"calls": average.count, "self_cpu_ns": round(average.self_cpu_time_total * 1000),
                              "cpu_ns": round(average.cpu_time_total * 1000),
                              "self_cpu_memory_bytes": average.self_cpu_memory_usage,
                              "cpu_memory_bytes": average.cpu_memory_usage} for average in profiler.key_averages()}
    flops = {str(name): count for name, count in counter.get_flop_counts()["Global"].items()}
    return {"torch": torch.__version__.partition("+")[0], "flops": flops, "averages": averages}


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    expected = {make.__name__: capture(make, folder) for make in (transformer, resnet, attention)}
    (folder / "expected.json").write_text(json.dumps(expected, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
