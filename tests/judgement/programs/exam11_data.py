"""Data for programs of the eleventh examination whose own comes from a network: made up, in the same form. Code of notebooks and of a README becomes programs."""

import gzip
import json
import pathlib
import pickle
import random
import re

import numpy

from exam9_data import LETTERS, make_images
from exam10_data import make_colours

HUNDRED = "cifar-100-python"


def numbers(seed=11):
    return numpy.random.default_rng(seed)


def make_hundred_kinds(folder, train=6400, test=640):
    """The files of CIFAR-100 as torchvision reads them, with fewer pictures; the program is told not to count them."""
    place = folder / HUNDRED
    place.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", train), ("test", test)):
        draw = numbers()
        content = {"data": draw.integers(0, 256, (count, 3072), dtype=numpy.uint8), "fine_labels": draw.integers(0, 100, count).tolist()}
        (place / name).write_bytes(pickle.dumps(content))
    (place / "meta").write_bytes(pickle.dumps({"fine_label_names": [f"kind {number}" for number in range(100)]}))


def make_all_images(sources):
    for place, train, test in (("fastadv/mnist-data", 6400, 640), ("data", 6400, 640), ("vaecvae/data", 6400, 640), ("attorch", 6400, 1100),
                               ("lightning/Datasets", 6400, 640), ("lightning/examples/pytorch/domain_templates/data", 20_000, 640)):
        make_images(sources / place, train, test)
    make_images(sources / "data" / "FashionMNIST", 6400, 640, "FashionMNIST")
    for place, train, test in (("data", 5120, 512), ("sam/example/data", 6400, 640), ("sam/example/cifar", 6400, 640), ("simclr/datasets", 7680, 100),
                               ("resnetcifar/data", 12_800, 1280)):
        make_colours(sources / place, train, test)
    make_hundred_kinds(sources / "cifar100" / "data")


def make_landscapes(sources, count=360):
    from PIL import Image

    folder = sources / "ddpmdome" / "pictures" / "one"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        Image.fromarray(numbers(number).integers(0, 256, (96, 96, 3), dtype=numpy.uint8)).save(folder / f"{number}.png")


def make_letters(sources):
    """Omniglot as the program keeps it once it has it: kinds, pictures of each, and their pixels."""
    folder = sources / "maml" / "omniglot"
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "omniglot.npy", numbers().random((1623, 20, 1, 28, 28), dtype=numpy.float32))


def make_bodies(sources, bodies=5, times=49):
    folder = sources / "egnn" / "n_body_system" / "dataset"
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 2000), ("valid", 500), ("test", 500)):
        draw, end = numbers(), f"{name}_charged5_initvel1small.npy"
        for kind, shape in (("loc", (count, times, 3, bodies)), ("vel", (count, times, 3, bodies)), ("edges", (count, bodies, bodies)), ("charges", (count, bodies, 1))):
            numpy.save(folder / f"{kind}_{end}", draw.normal(size=shape))


def make_ratings(sources, users=400, items=2000, each=20):
    folder = sources / "ncf" / "Data"
    folder.mkdir(parents=True, exist_ok=True)
    draw = numbers()
    rows = [(user, item) for user in range(users) for item in draw.choice(items, each, replace=False).tolist()]
    rows += [(users - 1, items - 1)]
    (folder / "ml-1m.train.rating").write_text("".join(f"{user}\t{item}\t5\t0\n" for user, item in rows), encoding="utf-8")
    tests = [f"({user},{draw.integers(items)})\t" + "\t".join(map(str, draw.integers(0, items, 99).tolist())) for user in range(users)]
    (folder / "ml-1m.test.negative").write_text("\n".join(tests) + "\n", encoding="utf-8")


def make_temperatures(sources, hours=17_420):
    folder = sources / "informer" / "data" / "ETT"
    folder.mkdir(parents=True, exist_ok=True)
    start = numpy.datetime64("2016-07-01T00:00:00")
    names = ["date", "HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"]
    lines = [f"{str(start + numpy.timedelta64(hour, 'h')).replace('T', ' ')}," + ",".join(f"{value:.3f}" for value in row)
             for hour, row in enumerate(numbers().normal(size=(hours, 7)))]
    (folder / "ETTh1.csv").write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")


def make_texts(sources):
    draw = random.Random(11)
    words = ["".join(draw.choices(LETTERS[:52], k=5)) for _ in range(3000)]
    folder = sources / "lightning" / "examples" / "pytorch" / "basics" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "wikitext-2.txt").write_text("".join(" ".join(draw.choices(words, k=30)) + "\n" for _ in range(9000)), encoding="utf-8")
    folder = sources / "xtransformers" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    block = "".join(draw.choices(LETTERS, k=1_000_000)).encode()
    with gzip.open(folder / "enwik8.gz", "wb", compresslevel=1) as file:
        for _ in range(96):
            file.write(block)


def write_programs(sources):
    """Without what only a notebook understands; the first program of the README on the GPU."""
    for notebook in (*(sources / "diffrax").glob("*.ipynb"), *(sources / "nflows" / "examples").glob("*.ipynb")):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        notebook.with_suffix(".py").write_text("".join(f"{line}\n" for line in code.splitlines() if not re.match(r"\s*(%%?[a-z]|!)", line)), encoding="utf-8")
    readme = (sources / "ddpm" / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", readme, re.DOTALL)[1]
    code = code.replace("training_images = torch.rand(8, 3, 128, 128)", "diffusion.cuda()\ntraining_images = torch.rand(8, 3, 128, 128).cuda()")
    (sources / "ddpm" / "readme.py").write_text(code, encoding="utf-8")


def make(sources):
    """What cannot be made, as a library is missing, keeps one program from running and no other."""
    for maker in (write_programs, make_all_images, make_landscapes, make_letters, make_bodies, make_ratings, make_temperatures, make_texts):
        try:
            maker(pathlib.Path(sources))
        except (OSError, ImportError, TypeError, ValueError) as error:
            print(f"{maker.__name__}: {error}", flush=True)
