"""Commands to compare on a trace: what there is to select follows from a report of it."""

import dataclasses
import json
import random

from builds import Command

ANALYSES = [
    "devices", "idle", "launches", "kernels", "small_kernels", "occupancy", "memcpy", "memory", "streams", "sync",
    "api", "api_errors", "graphs", "startup", "balance", "nccl", "critical_path", "steps", "nvtx", "health"
]
SMALL_RECORDS = 4000  # of a trace whose tables are compared to the last row
MANY_CORES = [3, 4, 8, 24, 24]
MOST_OF_A_SORT = 20


@dataclasses.dataclass
class Facts:
    records: int = 0
    duration_ns: int = 0
    pids: list = dataclasses.field(default_factory=list)
    streams: list = dataclasses.field(default_factory=list)
    paths: list = dataclasses.field(default_factory=list)
    threads: list = dataclasses.field(default_factory=list)


def column(report, name):
    rows = (row for table in report["tables"] for row in table["rows"])
    return sorted({row[name] for row in rows if isinstance(row.get(name), str) and row[name]})[:MOST_OF_A_SORT]


def facts_of(stdout):
    """What a report in JSON says; nothing where there is none, as of traces that cannot be read."""
    try:
        report = json.loads(stdout)
    except ValueError:
        return Facts()
    return Facts(report["trace"]["records"], report["trace"]["duration_ns"] or 0,
                 [process["pid"] for process in report["processes"]], column(report, "stream"), column(report, "path"),
                 column(report, "thread"))


def time_range(rng, facts):
    low_ns, high_ns = sorted(int(rng.uniform(-0.05, 1.05) * max(1, facts.duration_ns)) for _ in range(2))
    low_ns = max(0, low_ns)
    if rng.random() < 0.3:
        low_ns, high_ns = low_ns // 1000 * 1000, high_ns // 1000 * 1000
    return rng.choice([f"{low_ns}ns:{high_ns}ns", f"{low_ns}ns:{high_ns}ns", f"{low_ns}ns:", f":{high_ns}ns"])


SELECTIONS = {
    "--time-range": time_range,
    "--nvtx":
    lambda rng, facts: rng.choice(["step", "step*", "*", "*/*", "forward", "*/attention", "?????", *facts.paths]),
    "--stream": lambda rng, facts: rng.choice(["7", "13", "7,13", "0", *(name.split()[-1] for name in facts.streams)]),
    "--device": lambda rng, facts: rng.choice(["0", "1", "0,1"]),
    "--process": lambda rng, facts: rng.choice(["app", *map(str, facts.pids)]),
    "--thread": lambda rng, facts: rng.choice(["main", "worker", *facts.threads]),
    "--kernel": lambda rng, facts: rng.choice(["gemm", "nccl", "void", "tiny|copy", ".*", "k<[12]>"]),
    "--capture": lambda rng, facts: rng.choice(["1", "2"]),
}
SELECTION_WEIGHTS = [3, 2, 1, 1, 1, 1, 1, 1]


def selection(rng, facts):
    """Options that choose a part of the trace, most of the time one."""
    chosen = set(rng.choices(list(SELECTIONS), SELECTION_WEIGHTS, k=rng.choice([1, 1, 1, 1, 2])))
    return [word for option in sorted(chosen) for word in (option, SELECTIONS[option](rng, facts))]


@dataclasses.dataclass
class Asked:
    """What a command is made from."""

    rng: random.Random
    facts: Facts
    trace: str
    other: str  # a trace to compare with
    rows: list  # options that have all rows shown, where that is not too many

    def select(self):
        return selection(self.rng, self.facts)


def report_of_two(asked):
    """Rows are cut: nothing is known of the other trace."""
    return ["report", asked.other, asked.trace, "--format", "json", "--tables", *asked.rng.choice([[], asked.select()])]


def export(asked):
    return ["export", asked.trace, "--format", asked.rng.choice(["chrome", "jsonl", "folded", "perfetto"]), "-o", "-"]


def only_some(asked):
    return [
        "report", asked.trace, "--format", "md", "--only",
        ",".join(asked.rng.sample(ANALYSES, asked.rng.choice([1, 2, 5])))
    ]


def without_some(asked):
    return [
        "report", asked.trace, "--full-names", "--skip",
        ",".join(asked.rng.sample(ANALYSES, asked.rng.choice([1, 5, 12])))
    ]


def one_table(asked):
    table = asked.rng.choice(["idle.gaps", "metrics", "kernels.kernels", "nvtx.ranges"])
    return ["report", asked.trace, "--format", "csv", "--table", table]


def steps(asked):
    name = asked.rng.choice(["step", "layer", "forward", "epoch/step"])
    return ["report", asked.trace, "--step", name, "--format", "json", "--tables", *asked.rows]


OTHERS = [  # (weight, what gives the words of the command)
    (8, lambda asked: ["diff", asked.other, asked.trace, "--format", "json"]),
    (4, lambda asked: ["diff", asked.trace, asked.other, *asked.select()]),
    (10, report_of_two),
    (8, lambda asked: ["info", asked.trace, *asked.rng.choice([[], ["--format", "json"]])]),
    (10, export),
    (4, lambda asked: ["report", asked.trace, "--format", "html"]),
    (6, only_some),
    (6, without_some),
    (4, lambda asked: ["report", asked.trace, "--rows", "50", "--min-gap", asked.rng.choice(["1us", "10us", "1ms"])]),
    (4, steps),
    (3, one_table),
    (3, lambda asked: ["dump", asked.trace]),
]


def commands(asked):
    """A report in text, three or four in JSON with all that is in them, and one that is asked for less often."""
    rng, json_report = asked.rng, ["report", asked.trace, "--format", "json", "--tables", *asked.rows]
    yield Command(("report", asked.trace), rng.choice([1, 2]), rng.choice([80, 120, 250]))
    for cores in (1, 2, rng.choice(MANY_CORES)):
        yield Command(tuple(json_report), cores)
    if rng.random() < 0.7:
        yield Command((*json_report, *asked.select()), rng.choice([1, 2, *MANY_CORES]))
    weights, makers = zip(*OTHERS)
    yield Command(tuple(rng.choices(makers, weights)[0](asked)), rng.choice([1, 2]), rng.choice([100, 250]))
