"""A kernel written in Triton; exits with 6."""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, count, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    mask = offsets < count
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


count = 5000
x = torch.arange(count, device="cuda", dtype=torch.int32)
out = torch.empty_like(x)
add_kernel[(triton.cdiv(count, 1024),)](x, x, out, count, block=1024)
print(int(out.sum()))
sys.exit(6)
