"""A training script with torch.profiler, and a report of its own that divides by the GPU time that it got; exits with 3."""

import sys

import torch


def step(model, optimizer, x):
    torch.cuda.nvtx.range_push("step")
    optimizer.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    optimizer.step()
    torch.cuda.nvtx.range_pop()


torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.ones(128, 256, device="cuda")
for _ in range(3):
    step(model, optimizer, x)
torch.cuda.synchronize()
activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
with torch.profiler.profile(activities=activities, schedule=torch.profiler.schedule(wait=1, warmup=1, active=3)) as profile:
    for _ in range(5):
        step(model, optimizer, x)
        torch.cuda.synchronize()
        profile.step()
torch.cuda.synchronize()
for _ in range(3):
    step(model, optimizer, x)
torch.cuda.synchronize()
on_gpu = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
kernels = [event for event in on_gpu if not event.name.startswith(("Mem", "step", "ProfilerStep"))]
total_us = sum(event.device_time for event in kernels)
products_us = sum(event.device_time for event in kernels if "gemm" in event.name or "gemv" in event.name or "dot" in event.name)
print(f"kernels {len(kernels)}, timed {sum(event.device_time > 0 for event in kernels)}")
print(f"matrix products are a part of GPU time: {0 <= products_us / total_us <= 1}")
sys.exit(3)
