#!/usr/bin/env python3
"""Which captures this tree keeps: of each mechanism and each source, the ones with the clearest labels, smallest first.

    choose_captures.py             lists them as kept.md has them
    choose_captures.py --update    copies them from ../shared/samples into data, removes the others, writes kept.md

The captures in tests/data are in the tree in any case and cover what they are labelled with. Those that others published stay
where they are.
"""

import collections
import shutil
import sys

import score

MOST_CAPTURES = 60
MOST_BYTES = 6_000_000
MOST_BYTES_OF_ONE = 700_000
SOURCES = {".json.gz": "torch.profiler", ".sqlite.gz": "Nsight Systems", ".trace": "gprof-cli"}
# What other tests read: tests/data/versions.json, tests/web/test_page_data.py.
READ_ELSEWHERE = ("torch/pinned_loader", "torch/two_streams_overlap", "torch/decode_graph", "jax/good", "torch/decode_eager",
                  "torch/good_train.whole")


def source_of(capture):
    return next(source for ending, source in SOURCES.items() if capture["file"].endswith(ending))


def by_what_they_cover(captures):
    """Captures for each mechanism and source, best first: few right answers, of no hidden set, small."""
    found = collections.defaultdict(list)
    for capture in captures:
        found[capture["first"][0], source_of(capture)].append(capture)
    for ones in found.values():
        ones.sort(key=lambda c: (score.set_of(c) != score.TUNING, len(c["first"]), size_of(c), c["name"]))
    return dict(sorted(found.items()))


def size_of(capture):
    return score.path_of(capture).stat().st_size


def choose(corpus):
    """One capture of each mechanism and source in turn, until the tree has as many as it may have."""
    in_tree = [c for c in corpus["captures"] if c["file"].startswith("data/")]
    recorded = [c for c in corpus["captures"] if c["file"].startswith("judgement/") and size_of(c) <= MOST_BYTES_OF_ONE]
    chosen = [c for c in recorded if c["name"] in READ_ELSEWHERE]
    covered = collections.Counter((c["first"][0], source_of(c)) for c in in_tree + chosen)
    queues = by_what_they_cover([c for c in recorded if c not in chosen])
    for turn in range(1, MOST_CAPTURES):
        for what, queue in queues.items():
            fits = queue and len(chosen) < MOST_CAPTURES and sum(map(size_of, chosen)) + size_of(queue[0]) <= MOST_BYTES
            if covered[what] < turn and fits:
                chosen.append(queue.pop(0))
                covered[what] += 1
    return sorted(chosen, key=lambda c: c["name"])


def page(corpus, chosen):
    in_tree = chosen + [c for c in corpus["captures"] if c["file"].startswith("data/")]
    cells = collections.defaultdict(list)
    for capture in sorted(in_tree, key=lambda c: c["name"]):
        cells[capture["first"][0], source_of(capture)].append(capture["name"])
    sources = sorted(SOURCES.values())
    lines = ["# What the captures of this tree cover", "",
             f"Written by `choose_captures.py --update`: {len(chosen)} captures in `data`, {sum(map(size_of, chosen)):,} bytes, and those of `tests/data`.",
             "", "| what an expert would name first | " + " | ".join(sources) + " |", "|---" * (len(sources) + 1) + "|"]
    for mechanism in sorted({mechanism for mechanism, _ in cells}):
        lines.append(f"| {mechanism} | " + " | ".join(", ".join(cells[mechanism, one]) for one in sources) + " |")
    return "\n".join(lines) + "\n"


def update(chosen, text):
    folder = score.HERE / "data"
    kept = {score.kept_path(capture): capture for capture in chosen}
    for path, capture in kept.items():
        if not path.is_file():
            shutil.copyfile(score.SAMPLES / capture["file"], path)
    for path in set(folder.iterdir()) - set(kept):
        path.unlink()
    (score.HERE / "kept.md").write_text(text, encoding="utf-8")


def main():
    corpus = score.load()
    chosen = choose(corpus)
    text = page(corpus, chosen)
    if sys.argv[1:] == ["--update"]:
        update(chosen, text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
