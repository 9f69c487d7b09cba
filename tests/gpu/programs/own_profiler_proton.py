"""Triton's profiler, Proton, around a part of the work; says how often it saw the kernel, and exits with 6."""

import json
import os
import sys
import tempfile

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, count, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    mask = offsets < count
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


def add(times):
    for _ in range(times):
        add_kernel[(triton.cdiv(count, 1024),)](x, x, out, count, block=1024)
    torch.cuda.synchronize()


def metrics_of(node, name):
    """Those of all frames of that name in a tree of Hatchet."""
    if isinstance(node, list):
        return [found for child in node for found in metrics_of(child, name)]
    if not isinstance(node, dict):
        return []
    own = [node["metrics"]] if node.get("frame", {}).get("name") == name else []
    return own + metrics_of(node.get("children", []), name)


count = 5000
x = torch.arange(count, device="cuda", dtype=torch.int32)
out = torch.empty_like(x)
add(3)
import triton.profiler as proton  # noqa: E402  late, as where a script is asked for a profile: its libcupti comes now

path = os.path.join(tempfile.mkdtemp(), "profile")
proton.start(path)
with proton.scope("within"):
    add(5)
proton.finalize()
add(4)
with open(path + ".hatchet", encoding="utf-8") as file:
    metrics = metrics_of(json.load(file), "add_kernel")
times = sum(value for m in metrics for key, value in m.items() if key.lower() == "count")
is_timed = all(value > 0 for m in metrics for key, value in m.items() if key.lower().startswith("time"))
print(f"launches {times}, timed {is_timed}, result {int(out.sum())}")
sys.exit(6)
