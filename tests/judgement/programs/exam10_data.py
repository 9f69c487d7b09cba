"""Data for programs of the tenth examination whose own comes from a network: made up, in the same form. The code of a notebook becomes a program."""

import json
import pathlib
import pickle
import random
import re
import subprocess
import sys

import numpy

from exam9_data import LETTERS, make_images, make_text

CIFAR = "cifar-10-batches-py"


def numbers(seed=10):
    return numpy.random.default_rng(seed)


def make_colours(folder, train, test):
    """The files of CIFAR-10 as torchvision reads them, with fewer pictures; the programs are told not to count them."""
    place = folder / CIFAR
    place.mkdir(parents=True, exist_ok=True)
    for name, count in [*((f"data_batch_{number}", train // 5) for number in range(1, 6)), ("test_batch", test)]:
        draw = numbers()
        pictures = draw.integers(0, 256, (count, 3072), dtype=numpy.uint8)
        (place / name).write_bytes(pickle.dumps({"data": pictures, "labels": draw.integers(0, 10, count).tolist()}))
    (place / "batches.meta").write_bytes(pickle.dumps({"label_names": [f"kind {number}" for number in range(10)]}))


def make_scenes(file, count=106, side=100):
    """As the program about radiance fields reads them: pictures, where each was taken from, and the focal length."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draw = numbers()
    poses = numpy.tile(numpy.eye(4, dtype=numpy.float32), (count, 1, 1))
    poses[:, 2, 3] = 4.0
    pictures = draw.random((count, side, side, 3), dtype=numpy.float32)
    numpy.savez(file, images=pictures, poses=poses, focal=numpy.array(138.9, dtype=numpy.float32))


def make_sentences(top, lines=1000):
    """Two sentences in a line, and the vocabulary that the program's own code makes of them."""
    folder = top / "data"
    folder.mkdir(exist_ok=True)
    draw = random.Random(10)
    words = ["".join(draw.choices(LETTERS[:52], k=5)) for _ in range(3000)]
    text = "".join(" ".join(draw.choices(words, k=8)) + "\t" + " ".join(draw.choices(words, k=8)) + "\n" for _ in range(lines))
    (folder / "corpus.small").write_text(text, encoding="utf-8")
    code = "from bert_pytorch.dataset.vocab import build; build()"
    subprocess.run([sys.executable, "-c", code, "-c", "data/corpus.small", "-o", "data/vocab.small"], cwd=top, check=False)
    (top / "output").mkdir(exist_ok=True)


def make_all_images(sources):
    for place, train, test in (("minrf/data", 2560, 128), ("zerotoall/mnist_data", 6400, 1000), ("raschka/data", 5120, 1000)):
        make_images(sources / place, train, test)
    for place, train, test in (("cifar/data", 1920, 500), ("cifar-mobilenet/data", 1920, 500), ("convmixer/data", 5120, 512), ("airbench/cifar10", 10_000, 2000),
                               ("raschka/data", 5120, 1000), ("cifarfast/cifar10", 10_000, 2000)):
        make_colours(sources / place, train, test)
    (sources / "minrf" / "contents").mkdir(exist_ok=True)


def make_all_texts(sources):
    make_text(sources / "llms" / "ch05" / "01_main-chapter-code" / "the-verdict.txt", 8_000)
    make_sentences(sources / "bert")


def write_programs(sources):
    """Without what only a notebook understands, and on the first GPU."""
    for notebook in [*(sources / "raschka").glob("*.ipynb"), *(sources / "hub").glob("*.ipynb")]:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        lines = (line for line in code.splitlines() if not re.match(r"\s*(%%?[a-z]|!)", line))
        code = re.sub(r"cuda:[1-9]", "cuda:0", "".join(f"{line}\n" for line in lines))
        notebook.with_suffix(".py").write_text(code, encoding="utf-8")


def make_scene(sources):
    make_scenes(sources / "nerf" / "cache" / "tiny_nerf_data.npz")


def make(sources):
    """What cannot be made, as a library is missing, keeps one program from running and no other."""
    for maker in (make_all_images, make_all_texts, make_scene, write_programs):
        try:
            maker(pathlib.Path(sources))
        except (OSError, ImportError, TypeError, ValueError) as error:
            print(f"{maker.__name__}: {error}", flush=True)
