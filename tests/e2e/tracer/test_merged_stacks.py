"""Stacks of CPU samples that lead through Python and C, of a program whose C functions each have one caller."""
import collections
import os
import pathlib
import sys

import harness
from test_python import all_interpreters
from test_samples import SamplesCase

PROGRAM = pathlib.Path(__file__).parent / "programs" / "python_and_c.py"
PYTHON_CODE = 2
# By a part of the path of a library: the function of Python that calls it.
CALLERS = {"_json.": "parse", "zlib": "squeeze", "libz.": "squeeze"}


class Stacks:
    """Of each sample the frames, the outermost first: (is of Python, name or path, whether it is guessed)."""

    def __init__(self, trace, writer=None):
        def of(kind):
            return [r for r in trace.of(kind) if writer in (None, r["chunk_pid"])]
        self.modules = {m["id"]: m for m in of("module")}
        self.frames = {f["id"]: f for f in of("frame")}
        self.nodes = {s["id"]: s for s in of("stack")}
        self.symbols = {s["frame"]: s["name"] for s in of("symbol")}

    def __call__(self, number):
        frames = []
        while number:
            node = self.nodes[number]
            module = self.modules.get(self.frames[node["frame"]]["module"], {})
            is_python = module.get("module_kind") == PYTHON_CODE
            name = module.get("name") if is_python else self.symbols.get(node["frame"], "")
            frames.append((is_python, name, os.path.basename(module.get("path", "")), bool(node["is_guessed"])))
            number = node["parent"]
        return frames[::-1]


class MergedStacks(SamplesCase):
    def record(self, python, *options, seconds="2"):
        env = {"PYENV_VERSION": None, "PYTHONDONTWRITEBYTECODE": "1"}
        run = self.profile(python, PROGRAM, seconds, options=("-s", "process-tree", "--sampling-frequency", "500", *options),
                           version=None, env=env)
        self.assertEqual(run.code, 0, run.err)
        stacks = Stacks(run.trace)
        samples = [stacks(s["stack"]) for s in run.trace.of("cpu_sample") if s["sample_kind"] == 1 and s["stack"]]
        self.assertGreater(len(samples), 100)
        return samples

    def count(self, samples, counts):
        # While the interpreter starts and imports, there is nothing of the program.
        of_main = [frames for frames in samples if any(f[:3] == (True, "main", PROGRAM.name) for f in frames)]
        counts["samples"] += len(samples)
        counts["all"] += len(of_main)
        for frames in of_main:
            in_python = [f[1] for f in frames if f[0]]
            if any(f[0] and f[3] for f in frames):
                counts["guessed"] += 1
                continue
            if any(f[1] == "_PyEval_EvalFrameDefault" for f in frames if not f[0]):
                counts["loop"] += 1
                continue
            behind = frames[max(i for i, f in enumerate(frames) if f[0]) + 1:]
            caller = next((CALLERS[part] for f in behind for part in CALLERS if part in f[2]), None)
            if caller is not None:
                counts["right" if caller in in_python else "wrong"] += 1

    @harness.again_on_a_busy_machine
    def test_c_code_is_below_the_python_code_that_called_it(self):
        for name, python in all_interpreters():
            with self.subTest(python=name):
                # On a busy machine the stack is read late: what cannot be told then is said to be guessed, or the loop is left,
                # or all of Python is. What a run learns from many such stacks misleads it until it ends; then another run is to tell.
                for _ in range(4):
                    counts = collections.Counter()
                    self.count(self.record(python), counts)
                    is_good = (counts["all"] > 0.7 * counts["samples"] and
                               counts["right"] > 10 and counts["wrong"] <= 0.1 * counts["right"] and
                               counts["guessed"] + counts["loop"] < 0.5 * counts["all"])
                    if is_good:
                        break
                self.assertTrue(is_good, counts)

    def test_stacks_are_native_without_python_sampling(self):
        samples = self.record(sys.executable, "--python-sampling", "false", seconds="1")
        self.assertFalse([frames for frames in samples if any(f[0] for f in frames)])


if __name__ == "__main__":
    sys.exit(harness.main())
