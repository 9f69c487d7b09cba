"""Data for programs of the twelfth examination whose own comes from a network: made up, in the same form. Code of notebooks becomes programs."""

import json
import pathlib
import re
import shutil
import wave

import numpy

from exam9_data import make_images
from exam10_data import make_colours

# What a notebook measures with a magic word is run as often as this: IPython itself takes some seconds for each.
TIMES = 100


def numbers(seed=12):
    return numpy.random.default_rng(seed)


def make_all_images(sources):
    for place, train, test in (("pttutorial/data", 6400, 640), ("mnistcuda/python/data", 6400, 640), ("imageclass/.data", 3200, 640), ("disvae/data/mnist", 6400, 640), ("ram/data", 6400, 640)):
        make_images(sources / place, train, test)
    make_images(sources / "vq" / "examples" / "data", 6400, 640, "FashionMNIST")
    make_colours(sources / "realnvp" / "data", 960, 320)
    make_colours(sources / "olcf" / "challenges" / "Python_Pytorch_Basics" / "data", 4000, 400)


def make_pictures(sources):
    from PIL import Image

    places = [sources / "glcm" / "data" / "image.jpg", *(sources / "glow" / "pictures" / "one" / f"{number}.png" for number in range(320))]
    for number, place in enumerate(places):
        place.parent.mkdir(parents=True, exist_ok=True)
        side = 96 if number else 640
        Image.fromarray(numbers(number).integers(0, 256, (side, side, 3), dtype=numpy.uint8)).save(place)


def make_molecules(sources, count=188, kinds=7):
    """MUTAG as the program reads it: of each graph its nodes and label, of each node its kind and neighbours."""
    folder = sources / "gin" / "dataset" / "MUTAG"
    folder.mkdir(parents=True, exist_ok=True)
    draw, lines = numbers(), [str(count)]
    for number in range(count):
        nodes = int(draw.integers(10, 28))
        lines.append(f"{nodes} {number % 2}")
        lines += [f"{draw.integers(kinds)} 2 {(node - 1) % nodes} {(node + 1) % nodes}" for node in range(nodes)]
    (folder / "MUTAG.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def make_digits(sources):
    folder = sources / "mnistcuda" / "mnist_data"
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 10_000), ("test", 1000)):
        draw = numbers()
        draw.random((count, 784), dtype=numpy.float32).tofile(folder / f"X_{name}.bin")
        draw.integers(0, 10, count, dtype=numpy.int32).tofile(folder / f"y_{name}.bin")


def make_tables(sources):
    """Digits as rows of text: what each is, and its points."""
    for name, count in (("train", 6000), ("test", 1000)):
        draw = numbers()
        rows = numpy.hstack([draw.integers(0, 10, (count, 1)), draw.integers(0, 256, (count, 784))])
        numpy.savetxt(sources / "szymon" / f"mnist_{name}.csv", rows, "%d", ",")


def make_rows(sources):
    """The inputs of a network in CUDA C++, one number in each line."""
    row = "".join(f"{value:.4f}\n" for value in numbers().normal(size=50))
    (sources / "bobnn" / "data" / "x.csv").write_text(row * 100_000, encoding="utf-8")


def make_ratings(sources, users=2000, items=2000, count=120_000):
    folder = sources / "torchfm" / "examples" / "ml-1m"
    folder.mkdir(parents=True, exist_ok=True)
    draw = numbers()
    columns = (draw.integers(1, users + 1, count), draw.integers(1, items + 1, count), draw.integers(1, 6, count))
    (folder / "ratings.dat").write_text("".join(f"{user}::{item}::{stars}::978300760\n" for user, item, stars in zip(*columns)), encoding="utf-8")


def make_sound(sources, rate=44_100, seconds=7):
    with wave.open(str(sources / "siren" / "gt_bach.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(numbers().integers(-20_000, 20_000, rate * seconds, dtype=numpy.int16).tobytes())


def make_series(sources, hours=17_420, days=7588):
    folder = sources / "autoformer" / "dataset" / "ETT-small"
    folder.mkdir(parents=True, exist_ok=True)
    start = numpy.datetime64("2016-07-01T00:00:00")
    lines = [f"{str(start + numpy.timedelta64(hour, 'h')).replace('T', ' ')}," + ",".join(f"{value:.3f}" for value in row) for hour, row in enumerate(numbers().normal(size=(hours, 7)))]
    (folder / "ETTh1.csv").write_text("\n".join(["date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT", *lines]) + "\n", encoding="utf-8")
    folder = sources / "lstnet" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    numpy.savetxt(folder / "exchange_rate.txt", numbers().random((days, 8)), "%.6f", ",")


def make_episodes(sources, count=60, steps=100):
    import h5py

    folder = sources / "cswm" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / "shapes_train.h5", "w") as file:
        for number in range(count):
            draw, group = numbers(number), file.create_group(str(number))
            for name in ("obs", "next_obs"):
                group.create_dataset(name, data=draw.random((steps, 3, 50, 50), dtype=numpy.float32))
            group.create_dataset("action", data=draw.integers(0, 20, steps))


def plain(line):
    """A line of a notebook as Python has it: what is measured is run, and other magic words are left out."""
    magic = re.match(r"(\s*)%(time|timeit) (.*)", line)
    if magic and magic[2] == "time":
        return f"{magic[1]}{magic[3]}"
    if magic:
        return f"{magic[1]}import timeit; print(timeit.timeit({magic[3]!r}, globals=globals(), number={TIMES}))"
    indent = re.match(r"\s*", line)[0]
    return indent + "pass" if re.match(r"\s*(%%?[a-z]|!)", line) else line


def write_programs(sources):
    notebooks = (("glcm/sphinx/src/examples/image_cross_transformation", ""), ("glcm/sphinx/src/examples/image_padding", ""), ("gtcnumba/4 - Writing CUDA Kernels", "kernels"),
                 ("gtcnumba/2 - CuPy and Numba on the GPU", "cupy_and_numba"), ("imageclass/1_mlp", ""), ("siren/explore_siren", ""),
                 ("fbpinns/examples/1. Defining your own problem - 1D harmonic oscillator", "own_problem"),
                 ("fbpinns/examples/2. Using hard constraints - 1D harmonic oscillator", "hard_constraints"), ("pinns/Burgers Equation/Burgers Inference (PyTorch)", "inference"))
    for name, program in notebooks:
        notebook = sources / f"{name}.ipynb"
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        file = notebook.with_name(f"{program}.py") if program else notebook.with_suffix(".py")
        file.write_text("".join(f"{plain(line)}\n" for line in code.splitlines()), encoding="utf-8")
    for script in (sources / "packtpython" / "Chapter08").rglob("*numba_cuda_kernel*.py"):
        shutil.copy(script, sources / "packtpython")


def make(sources):
    """What cannot be made, as a library is missing, keeps one program from running and no other."""
    for maker in (write_programs, make_all_images, make_pictures, make_molecules, make_digits, make_tables, make_rows, make_ratings, make_sound, make_series, make_episodes):
        try:
            maker(pathlib.Path(sources))
        except (OSError, ImportError, TypeError, ValueError) as error:
            print(f"{maker.__name__}: {error}", flush=True)
