"""Ten mistakes that PyTorch programs make: torch_culprits_program.py NAME. The line that each is about ends with "# HERE: NAME"."""

import sys
import time

import torch
from torch import nn

STEPS = 120
GPU = torch.device("cuda")


def perceptron(width, depth):
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers).to(GPU)


def steps(model, batch, target, after_step):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch), target)
        loss.backward()
        optimizer.step()
        after_step(loss)


def item():
    """Twenty scalars are read one by one, each of a short kernel that was just launched."""
    values = torch.rand(256, 4096, device=GPU)
    total = 0.0
    for _ in range(STEPS):
        for row in range(20):
            total += (values[row] * 2).sum().item()  # HERE: item
    return total


def cpu_each_step():
    model = perceptron(2048, 2)
    batch = torch.rand(16384, 2048, device=GPU)
    kept = None
    with torch.no_grad():
        for _ in range(STEPS // 4):
            output = model(batch)
            kept = output.cpu()  # HERE: cpu_each_step
    return kept


def pageable_batches():
    model = perceptron(1024, 1)
    batches = [torch.rand(16384, 1024) for _ in range(4)]
    with torch.no_grad():
        for step in range(STEPS // 2):
            batch = batches[step % 4].to(GPU)  # HERE: pageable_batches
            model(batch)


def decode(seed):
    values = [(seed * 31 + i) % 255 for i in range(60000)]  # HERE: no_workers
    return torch.tensor(values[:1024], dtype=torch.float32)


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS * 2

    def __getitem__(self, index):
        return decode(index)


def no_workers():
    model = perceptron(1024, 2)
    for batch in torch.utils.data.DataLoader(Pictures(), batch_size=4, num_workers=0):
        model(batch.to(GPU)).sum().backward()


def noise_of_the_cpu():
    model = perceptron(512, 2)
    with torch.no_grad():
        for _ in range(STEPS):
            noise = torch.randn(4096, 512).to(GPU)  # HERE: noise_of_the_cpu
            model(noise)


def empty_cache():
    """What a step made is given back to the driver and allocated anew in the next one."""
    batches = [torch.rand(2048, 4096, device=GPU) for _ in range(4)]
    for _ in range(STEPS):
        scaled = [batch * 0.5 for batch in batches]
        shifted = [batch + 0.25 for batch in scaled]
        del scaled, shifted
        torch.cuda.empty_cache()  # HERE: empty_cache


def float64():
    left, right = (torch.rand(4096, 4096, device=GPU, dtype=torch.float64) for _ in range(2))
    for _ in range(STEPS // 3):
        torch.matmul(left, right)  # HERE: float64
        right.add_(1.0)


def many_tiny_ops():
    values = torch.rand(256, device=GPU)
    for _ in range(STEPS * 100):
        values = values * 0.5 + 0.25  # HERE: many_tiny_ops
    return values


def channels_first():
    convolution = nn.Conv2d(128, 128, 3, padding=1).to(GPU).half()
    pictures = torch.rand(64, 128, 112, 112, device=GPU, dtype=torch.float16)
    with torch.no_grad():
        for _ in range(STEPS):
            convolution(pictures)  # HERE: channels_first


def print_the_loss():
    model = perceptron(256, 2)
    batch, target = torch.rand(64, 256, device=GPU), torch.rand(64, 256, device=GPU)
    steps(model, batch, target, lambda loss: print(loss))  # HERE: print_the_loss


def main():
    torch.manual_seed(7)
    wanted = globals()[sys.argv[1]]
    perceptron(64, 1)(torch.rand(8, 64, device=GPU)).sum().backward()
    torch.cuda.synchronize()
    time.sleep(0.05)
    wanted()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
