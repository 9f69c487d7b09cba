"""Data for programs of the seventh examination whose own comes from a network: made up, in the same form."""

import random

from exam6_data import make_mnist


def make_papers(folder, papers=1600, words=300, links=4000):
    """A graph as pygcn reads it: a line for each paper with its words and its kind, and a line for each link."""
    draw = random.Random(7)
    folder.mkdir(parents=True, exist_ok=True)
    kinds = [f"kind{number}" for number in range(7)]
    with (folder / "cora.content").open("w", encoding="utf-8") as file:
        for paper in range(papers):
            bits = " ".join(str(int(draw.random() < 0.05)) for _ in range(words))
            file.write(f"{paper} {bits} {draw.choice(kinds)}\n")
    pairs = (f"{draw.randrange(papers)} {draw.randrange(papers)}\n" for _ in range(links))
    (folder / "cora.cites").write_text("".join(pairs), encoding="utf-8")


def make_text(folder, lines=1500, words=10_000):
    """Lines of 20 words, drawn from as many as the Penn Treebank has."""
    draw = random.Random(7)
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(" ".join(f"w{draw.randrange(words)}" for _ in range(20)) + "\n" for _ in range(lines))
    (folder / "train.txt").write_text(text, encoding="utf-8")


def make(sources):
    tutorials = sources / "yunjey" / "tutorials"
    make_mnist(tutorials / "data", 3000, 1000)
    make_text(tutorials / "02-intermediate" / "language_model" / "data")
    make_papers(sources / "pygcn" / "data" / "cora")
