"""Data for programs of the ninth examination whose own comes from a network: made up, in the same form. The code of a notebook becomes a program."""

import gzip
import json
import pathlib
import pickle
import random
import subprocess
import sys

import numpy

from exam5_data import mnist_files
from exam7_data import make_papers

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz ,.!\n"
ROOM_OF_STORIES = "checkpoints/stories15M"


def numbers(seed=9):
    return numpy.random.default_rng(seed)


def make_images(folder, train, test, kind="MNIST"):
    """Where torchvision looks for them, so that it downloads nothing."""
    raw = folder / kind / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for name, content in mnist_files(train, test):
        (raw / name).write_bytes(content)


def make_text(file, letters=200_000):
    draw = random.Random(9)
    file.write_text(LETTERS + "".join(draw.choices(LETTERS, k=letters)), encoding="utf-8")


def make_stories(folder, tokens=600_000, words=32_000):
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(2):
        (folder / f"data0{shard}.bin").write_bytes(numbers(shard).integers(0, words, tokens, dtype=numpy.uint16).tobytes())


def make_tokenizer(file, words=32_000):
    """As many words as the model has, none of which anybody needs."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    special = {"<unk>": model.SentencePiece.UNKNOWN, "<s>": model.SentencePiece.CONTROL, "</s>": model.SentencePiece.CONTROL}
    names = [*special, *LETTERS.replace(" ", "").replace("\n", ""), "\u2581"]
    names += [f"\u2581w{number}" for number in range(words - len(names))]
    for number, name in enumerate(names):
        model.pieces.add(piece=name, score=-float(number), type=special.get(name, model.SentencePiece.NORMAL))
    model.trainer_spec.vocab_size = words
    file.write_bytes(model.SerializeToString())


def make_weights(folder):
    """Random ones, by the program's own model, in a process of its own: its modules have names as `model`."""
    (folder / ROOM_OF_STORIES).mkdir(parents=True, exist_ok=True)
    code = ("import torch, model; "
            f"torch.save(model.Transformer.from_name('stories15M').state_dict(), '{ROOM_OF_STORIES}/model.pth')")
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=False)
    make_tokenizer(folder / ROOM_OF_STORIES / "tokenizer.model")


def make_planetoid(raw, papers=2708, words=1433, kinds=7, links=5278, tests=1000, labelled=140):
    """The files of Cora as Planetoid has them: words and kinds of those with a label, of all but the tests, and of the tests."""
    raw.mkdir(parents=True, exist_ok=True)
    draw = numbers()
    rest = papers - tests
    x = (draw.random((papers, words), dtype=numpy.float32) < 0.0125).astype(numpy.float32)
    y = numpy.eye(kinds, dtype=numpy.int32)[draw.integers(0, kinds, papers)]
    graph = {paper: [] for paper in range(papers)}
    for one, other in draw.integers(0, papers, (links, 2)).tolist():
        graph[one].append(other)
        graph[other].append(one)
    parts = {"x": x[:labelled], "allx": x[:rest], "tx": x[rest:], "y": y[:labelled], "ally": y[:rest], "ty": y[rest:], "graph": graph}
    for name, part in parts.items():
        (raw / f"ind.cora.{name}").write_bytes(pickle.dumps(part))
    (raw / "ind.cora.test.index").write_text("".join(f"{paper}\n" for paper in range(rest, papers)), encoding="utf-8")


def make_lines(file, count, low, high):
    """A number in each line, as the programs about hot spots read them; a thousand different ones are enough."""
    some = [f"{low + (high - low) * number / 1000:.3f}\n" for number in range(1000)]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(some * (count // 1000 + 1))[:len(some[0]) * count], encoding="utf-8")


def make_atoms(file, count=40_000, side=80.0):
    draw = random.Random(9)
    lines = (f"ATOM  {number % 99999:5d} OH2 TIP {number % 9999} "
             + " ".join(f"{draw.uniform(0, side):.3f}" for _ in range(3)) + f" {draw.choice((-0.834, 0.417)):.3f} 1.0\n" for number in range(count))
    file.write_text("".join(lines), encoding="utf-8")


def make_elevators(file, count=16_599, columns=19):
    from scipy.io import savemat

    savemat(file, {"data": numbers().random((count, columns))})


def write_program(notebook):
    """Its code, without what only a notebook understands."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    lines = (line.removeprefix("%time ") for line in code.splitlines())
    notebook.with_suffix(".py").write_text("".join(f"{line}\n" for line in lines if not line.startswith("%")), encoding="utf-8")


def make_for_cuda(sources):
    spots = sources / "hecbench" / "src" / "data" / "hotspot"
    layers = sources / "rodinia" / "cuda" / "hotspot3D"
    for file, count in ((spots / "{}_512", 512 * 512), (layers / "{}_512x8", 512 * 512 * 8)):
        make_lines(pathlib.Path(str(file).format("temp")), count, 320.0, 340.0)
        make_lines(pathlib.Path(str(file).format("power")), count, 100.0, 900.0)
    image = sources / "rodinia" / "data" / "dwt2d" / "rgb.bmp"
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_bytes(numbers().bytes(3 * 1024 * 1024))
    make_atoms(sources / "parboil" / "benchmarks" / "cutcp" / "src" / "cuda_base" / "watbox.pqr")
    # What CMake would make.
    (sources / "mixbench" / "include" / "version_info.h").write_text('#define VERSION_INFO "exam"\n', encoding="utf-8")


def make_all_images(sources):
    for place, train, test in (("mindiffusion/data", 2560, 128), ("tcn/TCN/mnist_pixel/data/mnist", 2560, 640), ("torchdiffeq/examples/.data/mnist", 640, 1000),
                               ("pytorch-gan/data/mnist", 3840, 1000), ("beginner/08-AutoEncoder/data", 3000, 128), ("equinox/data", 1600, 128)):
        make_images(sources / place, train, test)
    make_images(sources / "beginner" / "datasets", 3000, 1000, "FashionMNIST")
    (sources / "mindiffusion" / "contents").mkdir(exist_ok=True)


def make_all_texts(sources):
    for file in (sources / "lecture" / "input.txt", sources / "mingpt" / "projects" / "chargpt" / "input.txt"):
        make_text(file)
    make_stories(sources / "llama2.c" / "data" / "TinyStories_all_data")
    enwik8 = sources / "memory-efficient" / "data" / "enwik8.gz"
    enwik8.parent.mkdir(exist_ok=True)
    enwik8.write_bytes(gzip.compress(numbers().bytes(1_200_000), 1))


def make_all_graphs(sources):
    make_papers(sources / "pygat" / "data" / "cora", 2708, 300, 5429)
    for place in ("Planetoid", "Cora"):
        make_planetoid(sources / "pyg" / "data" / place / "Cora" / "raw")


def make_for_generation(sources):
    make_weights(sources / "gpt-fast")


def write_programs(sources):
    for repository in ("gpytorch", "equinox"):
        for notebook in (sources / repository).rglob("*.ipynb"):
            write_program(notebook)
    make_elevators(sources / "gpytorch" / "elevators.mat")


def make(sources):
    """What cannot be made, as a library is missing, keeps one program from running and no other."""
    for maker in (make_all_images, make_all_texts, make_all_graphs, make_for_generation, write_programs, make_for_cuda):
        try:
            maker(sources)
        except (OSError, ImportError, TypeError, ValueError) as error:
            print(f"{maker.__name__}: {error}", flush=True)
