"""Training steps in PyTorch: a transformer eagerly, compiled and as a CUDA graph, and a small ResNet.

With --profiler the first of them runs under torch.profiler, and its trace is written at the end.
"""

import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before cuBLAS starts: the same bits in every run

import contextlib  # noqa: E402

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import steady  # noqa: E402

BATCH, TOKENS, WIDTH, HEADS, LAYERS = 8, 256, 512, 8, 4
IMAGES, SIDE = 64, 128


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        shape = (x.shape[0], x.shape[1], 3, HEADS, WIDTH // HEADS)
        query, key, value = self.qkv(self.norm1(x)).view(shape).permute(2, 0, 3, 1, 4).unbind(0)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


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
    widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [Residual(before, after, 1 if before == after else 2) for before, after in zip(widths, widths[1:])]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 100))


@contextlib.contextmanager
def nvtx_range(name):
    torch.cuda.nvtx.range_push(name)
    yield
    torch.cuda.nvtx.range_pop()


class Training:
    """A model with everything that a step needs; `loss` is that of the last step."""

    def __init__(self, model, inputs, targets, loss, capturable=False):
        self.model, self.inputs, self.targets, self.criterion = model, inputs, targets, loss
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, capturable=capturable)
        self.loss = None

    def step(self):
        with nvtx_range("forward"):
            self.loss = self.criterion(self.model(self.inputs), self.targets)
        with nvtx_range("backward"):
            self.optimizer.zero_grad(set_to_none=True)
            self.loss.backward()
        with nvtx_range("optimizer"):
            self.optimizer.step()

    def checksum(self):
        return repr(self.loss.item())

    def workload(self):
        return steady.Workload(self.step, torch.cuda.synchronize, self.checksum)


def transformer_training(capturable=False, wrap=lambda model: model):
    torch.manual_seed(1)
    model = nn.Sequential(*[Block() for _ in range(LAYERS)]).to("cuda", torch.bfloat16)
    inputs = torch.randn(BATCH, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
    targets = torch.randn(BATCH, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
    return Training(wrap(model), inputs, targets, functional.mse_loss, capturable)


def eager():
    return transformer_training().workload()


def compiled():
    return transformer_training(wrap=torch.compile).workload()


def graph():
    training = transformer_training(capturable=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            training.step()
    torch.cuda.current_stream().wait_stream(side)
    training.optimizer.zero_grad(set_to_none=True)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        training.step()

    def step():
        with nvtx_range("replay"):
            captured.replay()

    return steady.Workload(step, torch.cuda.synchronize, training.checksum)


def resnet():
    torch.manual_seed(2)
    model = convnet().to("cuda", torch.bfloat16, memory_format=torch.channels_last)
    images = torch.randn(IMAGES, 3, SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
    labels = torch.arange(IMAGES, device="cuda") % 100
    images = images.contiguous(memory_format=torch.channels_last)
    return Training(model, images, labels, functional.cross_entropy).workload()


def profiled(arguments, workload):
    """The workload under torch.profiler, warm-up included, as it is under the other tools."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    if arguments.profiler == "all":
        activities.append(torch.profiler.ProfilerActivity.CPU)
    profiler = torch.profiler.profile(activities=activities)
    profiler.start()

    def finish():
        profiler.stop()
        profiler.export_chrome_trace(arguments.profiler_out)

    return workload, finish


def main():
    parser = steady.parser()
    parser.add_argument("--profiler", choices=("all", "cuda"))
    parser.add_argument("--profiler-out")
    arguments = parser.parse_args()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False
    finish = [lambda: None]

    def under_profiler():
        workload, finish[0] = profiled(arguments, eager())
        return workload

    factories = {"eager": under_profiler if arguments.profiler else eager, "compiled": compiled, "graph": graph,
                 "resnet": resnet}
    steady.run(factories, arguments, lambda: finish[0]())


if __name__ == "__main__":
    main()
