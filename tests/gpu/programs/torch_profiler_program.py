"""Uses PyTorch's own profiler on part of its work, which needs CUPTI as we do; exits with 3. usage: torch_profiler_program.py [quiet]

Prints how many kernels that profiler saw, unless it is to be quiet.
"""

import sys

import torch

x = torch.ones(256, 256, device="cuda")
for _ in range(3):
    torch.cuda.nvtx.range_push("before")
    x = x @ x / 256
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
with torch.profiler.profile(activities=activities) as profile:
    for _ in range(3):
        torch.cuda.nvtx.range_push("within")
        x = x @ x / 256
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
for _ in range(3):
    torch.cuda.nvtx.range_push("after")
    x = x @ x / 256
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
has_operators = any(event.key == "aten::matmul" or event.key == "aten::mm" for event in profile.key_averages())
print(f"sum {x.sum().item():.1f}, operators {has_operators}")
if "quiet" not in sys.argv[1:]:
    on_gpu = [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    print(f"kernels {sum(not name.startswith(('Mem', 'within')) for name in on_gpu)}")
sys.exit(3)
