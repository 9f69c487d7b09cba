"""A small network that is trained on images with a slow transform: --workers says how many processes load them."""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SlowTransform:
    """Work on the processor for each image, as decoding and augmenting are."""

    def __init__(self, milliseconds):
        self.milliseconds = milliseconds

    def __call__(self, image):
        end = time.perf_counter() + self.milliseconds / 1000
        while time.perf_counter() < end:
            image = image.roll(1, -1)
        return image


class Images(Dataset):
    def __init__(self, count, transform):
        self.count, self.transform = count, transform

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return self.transform(torch.rand(3, 64, 64, generator=generator)), index % 10


def network():
    layers = []
    for channels_in, channels_out in ((3, 64), (64, 128), (128, 256)):
        layers += [nn.Conv2d(channels_in, channels_out, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256 * 8 * 8, 10))


def train(loader, model, optimiser):
    for images, labels in loader:
        with torch.cuda.nvtx.range("step"):
            images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
            loss = nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
    torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--images", type=int, default=2048)
    parser.add_argument("--transform-ms", type=float, default=2)
    options = parser.parse_args()
    loader = DataLoader(Images(options.images, SlowTransform(options.transform_ms)), batch_size=64, shuffle=True,
                        num_workers=options.workers, pin_memory=True)
    model = network().cuda()
    train(loader, model, torch.optim.SGD(model.parameters(), lr=0.01))


if __name__ == "__main__":
    main()
