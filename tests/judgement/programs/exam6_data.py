"""Data for programs of the sixth examination whose own comes from a network: made up, in the same form."""

import pathlib
import pickle

import numpy

from exam5_data import mnist_files


def make_mnist(folder, train, test):
    """Where torchvision looks for it, so that it downloads nothing."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for name, content in mnist_files(train, test):
        (raw / name).write_bytes(content)


def make_text(folder, characters=65, train=1_000_000, val=100_000):
    """Random characters in the files that nanoGPT makes of Shakespeare."""
    folder.mkdir(parents=True, exist_ok=True)
    random_numbers = numpy.random.default_rng(6)
    for name, count in (("train", train), ("val", val)):
        (folder / f"{name}.bin").write_bytes(random_numbers.integers(0, characters, count, dtype=numpy.uint16).tobytes())
    letters = {index: chr(ord(" ") + index) for index in range(characters)}
    with (folder / "meta.pkl").open("wb") as file:
        pickle.dump({"vocab_size": characters, "itos": letters, "stoi": {letter: index for index, letter in letters.items()}}, file)


def make(sources):
    examples = pathlib.Path(sources) / "pytorch-examples"
    make_mnist(examples / "data", 9600, 2000)
    make_mnist(examples / "mnist_forward_forward" / "data", 4000, 1000)
    make_text(pathlib.Path(sources) / "nanogpt" / "data" / "shakespeare_char")
