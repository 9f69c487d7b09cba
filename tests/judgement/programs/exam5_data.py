"""Data for programs of the fifth examination whose own comes from a network: made up, in the same form."""

import gzip
import pathlib
import random
import struct

import numpy

IMAGES_OF_JAX = pathlib.Path("/tmp/jax_example_data")  # where its examples look for what they have downloaded


def mnist_files(train, test):
    """Names and contents of the four files of MNIST, with random pixels."""
    random_numbers = numpy.random.default_rng(5)
    for name, count in (("train", train), ("t10k", test)):
        pixels = random_numbers.integers(0, 256, count * 28 * 28, dtype=numpy.uint8)
        digits = random_numbers.integers(0, 10, count, dtype=numpy.uint8)
        yield f"{name}-images-idx3-ubyte", struct.pack(">IIII", 2051, count, 28, 28) + pixels.tobytes()
        yield f"{name}-labels-idx1-ubyte", struct.pack(">II", 2049, count) + digits.tobytes()


def make_mnist(examples):
    for folder, train, test in ((examples / "data", 9600, 2000), (examples / "small" / "data", 1280, 500)):
        raw = folder / "MNIST" / "raw"
        raw.mkdir(parents=True, exist_ok=True)
        for name, content in mnist_files(train, test):
            (raw / name).write_bytes(content)
    IMAGES_OF_JAX.mkdir(exist_ok=True)
    for name, content in mnist_files(9600, 2000):
        (IMAGES_OF_JAX / f"{name}.gz").write_bytes(gzip.compress(content, 1))


def shorten_text(folder):
    """Three parts of the text that is there, as all of it makes a capture that is too large."""
    lines = (folder / "data" / "wikitext-2" / "valid.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    short = folder / "data" / "short"
    short.mkdir(exist_ok=True)
    for name, first, last in (("train", 0, 1300), ("valid", 1300, 1450), ("test", 1450, 1600)):
        (short / f"{name}.txt").write_text("".join(lines[first:last]), encoding="utf-8")


def make_gpt2(folder, layers=4, heads=6, channels=384, longest=512, words=50257, padded_words=50304):
    """A checkpoint with random weights and the head that train_gpt2_fp32.cu reads, and files of random tokens."""
    of_a_layer = 12 * channels * channels + 13 * channels
    count = padded_words * channels + longest * channels + layers * of_a_layer + 2 * channels
    weights = numpy.random.default_rng(5).standard_normal(count, dtype=numpy.float32) * numpy.float32(0.02)
    head = [20240326, 3, longest, words, layers, heads, channels, padded_words]
    (folder / "gpt2_124M.bin").write_bytes(struct.pack("<256i", *head, *[0] * 248) + weights.tobytes())
    draw = random.Random(5)
    for name, tokens in (("train", 20 * 8 * 512 + 1), ("val", 5 * 8 * 512 + 1)):
        head = [20240520, 1, tokens] + [0] * 253
        content = numpy.array([draw.randrange(words) for _ in range(tokens)], dtype="<u2")
        (folder / f"{name}.bin").write_bytes(struct.pack("<256i", *head) + content.tobytes())


def make(sources):
    make_mnist(sources / "pytorch-examples")
    shorten_text(sources / "pytorch-examples" / "word_language_model")
    make_gpt2(sources / "llm.c")
