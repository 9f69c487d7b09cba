"""What tests/gpu/session.py runs: on two GPUs and 32 processors, or on one GPU and 16, each in less than ten minutes.

first   GPU 0: a server that knows the truth, the walkthroughs. GPU 1, where nothing is timed: recorders for eight minutes, 200
        kills, 300 attaches of each kind. Fuzzers beside them.
second  both GPUs: what only two can show and was never run. Then GPU 0: estimates of the slow-down; GPU 1: the stall of an
        attach. Then both again: ranks that are attached to. Fuzzers beside them.
third   one GPU: what `try` and `what-if` find.
fourth  one GPU: what a recorder with a budget costs; then attaches of each kind and graphs by layer, side by side.
fifth   one GPU: which part of a recorder costs what.

In words of a job, {out} is its folder, {build} the build and {limit_s} how many seconds it may take.
"""

import dataclasses
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GPU = SOURCE / "tests" / "gpu"
PYTHON = [sys.executable, "-B"]
FUZZERS = {"first": 14, "second": 21}  # processes
MERGE_MINUTES = 1.4  # what a run of the fuzzers takes longer than it fuzzes


@dataclasses.dataclass
class Job:
    name: str
    words: list
    limit_s: int
    env: dict = dataclasses.field(default_factory=dict)
    needs_wheels: bool = False  # an older NumPy, for numba


@dataclasses.dataclass
class Lane:
    name: str
    cpus: range  # places in the list of processors, which has those of one core side by side
    gpus: str
    jobs: list
    after: tuple = ()  # lanes that have to be over
    nice: int = 0


def script(name, *words):
    return [*PYTHON, GPU / f"{name}.py", *words]


def test(name, limit_s, *words, **more):
    return Job(name, script(name, "-v", *words), limit_s, **more)


def fuzzers(plan, seed, minutes):
    words = [*PYTHON, SOURCE / "tests" / "fuzz" / "run_fuzzers.py", "run", "--build", "{build}/fuzz", "--out", "{out}", "--minutes", f"{minutes:.1f}",
             "--processes", FUZZERS[plan], "--seed", seed, "--corpora", "/dev/shm/fuzz"]
    return Job(f"fuzzers_{plan}", words, 560)


def attaches(kind, limit_s, count=300, **more):
    return Job(f"attach_{kind}", script("attach_stall", "{out}", "--attaches", count, "--kinds", kind, "--limit-s", "{limit_s}"), limit_s, **more)


def record(kind):
    return Job(f"record_{kind}", script("record_memory", "{out}", "--minutes", 8, "--kind", kind, "--budget", "1%"), 540)


def first():
    kills = {"GPROF_TEST_KILLS": "200", "GPROF_TEST_KEEP_S": "10", "GPROF_TEST_KILLS_AT_A_TIME": "10"}
    serving = [Job(f"serving_{what}", script("measure_serving", "{out}", what, *more), limit_s)
               for what, more, limit_s in (("plants", [], 200), ("truth", ["--look-s", "50"], 170), ("cost", ["--rounds", "3"], 140))]
    walks = test("test_walkthroughs", 150, "-k", "loader", "-k", "encoder")
    kinds = ("torch_eager", "torch_graph", "numba", "jax", "launches")
    attaching = [Lane(kind, range(18 + 2 * i, 20 + 2 * i), "1", [attaches(kind, 540, needs_wheels=kind == "numba")]) for i, kind in enumerate(kinds)]
    return [Lane("gpu0", range(0, 6), "0", [serving[0], walks, serving[1], serving[2], test("test_serving", 120)]),
            Lane("kills", range(6, 14), "1", [Job("kills", script("test_killed"), 540, env=kills)]),
            Lane("eager", range(14, 16), "1", [record("eager")]),
            Lane("graph", range(16, 18), "1", [record("graph")]),
            *attaching,
            Lane("fuzzers", range(18, 32), "", [fuzzers("first", 0, 9.1 - MERGE_MINUTES)], nice=19)]


def second():
    new = Job("two_gpus_new", script("two_gpus", "--out", "{out}", "--budget-s", 150, "--only", r"^one\.(multiplies|items|loads|computes)|mps"), 170)
    live = Job("two_gpus_live", script("two_gpus", "--out", "{out}", "--budget-s", 80, "--only", "^live"), 95)
    estimates = Job("estimates", script("measure_overhead_estimates", "--out", "{out}", "--rounds", 3, "--limit-s", "{limit_s}"), 340, needs_wheels=True)
    stall = Job("stall_steps", script("attach_stall", "{out}", "--steps"), 110)
    launches = dataclasses.replace(attaches("launches", 230, 200), name="stall_launches")
    return [Lane("both", range(0, 11), "0,1", [new]),
            Lane("gpu0", range(0, 5), "0", [estimates], after=("both",)),
            Lane("gpu1", range(5, 9), "1", [stall, launches], after=("both",)),
            Lane("last", range(0, 11), "0,1", [live], after=("gpu0", "gpu1")),
            Lane("fuzzers", range(11, 32), "", [fuzzers("second", 100, 9.1 - MERGE_MINUTES)], nice=19)]


def third():
    return [Lane("gpu", range(0, 16), "0", [test("test_cures", 330), test("test_delays", 120)])]


def fifth():
    """What of a recorder slows down a program that launches as fast as it can."""
    without = ("samples: -s none", "system calls: -t cuda,nvtx", "collectors: --only-trace", "CUDA: -t nvtx --only-trace")
    words = [word for one in without for word in ("--without", one)]
    parts = Job("budget_parts", script("recorder_budget", "{build}/bin/gprof-cli", "{out}", "--seconds", 20, "--rounds", 3, "--only", "eager", *words), 540)
    return [Lane("budget", range(0, 16), "0", [parts])]


def fourth():
    budgets = [Job(f"budget_{kind}", script("recorder_budget", "{build}/bin/gprof-cli", "{out}", "--seconds", 35, "--rounds", 2, "--only", kind), 200)
               for kind in ("eager", "graph")]
    kinds = ("torch_eager", "torch_graph", "jax", "launches")
    attaching = [Lane(kind, range(2 * i, 2 * i + 2), "0", [attaches(kind, 130)], after=("budgets",)) for i, kind in enumerate(kinds)]
    layers = Lane("layers", range(8, 14), "0", [test("test_graph_layers", 140)], after=("budgets",))
    return [Lane("budgets", range(0, 16), "0", budgets), *attaching, layers]


PLANS = {"first": first, "second": second, "third": third, "fourth": fourth, "fifth": fifth}
