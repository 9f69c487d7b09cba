"""Operators of PyTorch: as many of each as torch.profiler says, with inputs of the same sizes; results are the same bits."""

import collections
import json
import sys

import recorded
import support
from test_frameworks import PROGRAMS, FrameworkTest, needs

PROGRAM = "torch_operators_program.py"


def plain_sizes(sizes):
    """Those of single tensors: torch.profiler leaves out those within lists, and we those of inputs without a tensor."""
    plain = [[] if any(isinstance(size, list) for size in one) else one for one in sizes]
    return json.dumps(plain if any(plain) else [])


def sizes_in(name):
    return plain_sizes(json.loads(name.partition(", sizes = ")[2].partition(", types = ")[0] or "[]"))


def operators_within(records, label):
    """(name, sizes) → how often, of what began within the range of this name.

    In its thread and in those of the backward pass: torch.profiler does not see those that share the work of an operator.
    """
    events = sorted((e for e in records["nvtx"] if records.domain(e) == "PyTorch"), key=lambda e: e["time_ns"])
    begin = next(e for e in events if e["message"] == label)
    threads = {begin["tid"], *(e["tid"] for e in events if e["message"].startswith("autograd::engine"))}
    depth, counts = 0, collections.Counter()
    for event in (e for e in events[events.index(begin):] if e["tid"] in threads):
        is_push = event["event"] == recorded.NVTX_PUSH
        if is_push:
            name = event["message"].partition(", sizes = ")[0]
            counts[name, sizes_in(event["message"])] += 1
        if event["tid"] == begin["tid"]:
            depth += 1 if is_push else -1
        if depth == 0:
            return counts
    raise AssertionError(f"{label} does not end")


class Operators(FrameworkTest):
    @needs("torch", "numpy")
    def test_operators_of_six_models(self):
        records = self.run_both(PROGRAM, code=3, options=["--pytorch", "ops"])
        self.assertEqual([n["message"] for n in records["notice"] if "emit_nvtx" in n["message"]], [])
        models = [json.loads(line) for line in self.printed.splitlines()]
        self.assertEqual(len(models), 6)
        for model in models:
            told = collections.Counter()
            for name, sizes, count in model["operators"]:
                told[name, plain_sizes(json.loads(sizes))] += count
            self.assertEqual(operators_within(records, "model " + model["model"]), told, model["model"])

    @needs("torch")
    def test_the_peak_of_memory_is_that_of_torch(self):
        self.run_both("torch_memory_program.py", code=3, options=["--pytorch", "ops", "--pytorch-memory"])
        told = json.loads(self.printed.splitlines()[-1])
        report = recorded.Report.of(self.trace)
        row, = report.table("tensor_memory")
        self.assertEqual((row["peak_bytes"], row["peak_reserved_bytes"]), (told["peak"], told["peak_reserved"]))
        # A block may be up to 1 MiB larger than what was asked for.
        self.assertGreaterEqual(row["growth_bytes"], told["kept"])
        self.assertLess(row["growth_bytes"], told["kept"] + (1 << 20))
        operators = {row["operator"]: row for row in report.table("ops")}
        self.assertGreaterEqual(operators["aten::empty"]["gpu_memory_self_bytes"], told["kept_in_all"])
        self.assertGreater(operators["aten::addmm"]["gpu_memory_bytes"], 0)

    @needs("torch")
    def test_the_line_that_keeps_tensors_is_named(self):
        program = PROGRAMS / "torch_memory_program.py"
        line, = (i for i, text in enumerate(program.read_text(encoding="utf-8").splitlines(), 1) if "# KEEPS" in text)
        place = f"{program.name}:{line}"
        self.run_both(program.name, code=3, options=["--pytorch", "ops,modules", "--pytorch-memory"])
        told = json.loads(self.printed.splitlines()[-1])
        report = recorded.Report.of(self.trace)
        held = {row["line"]: row["bytes"] for row in report.table("tensors_by_line")}
        held_there = sum(held[name] for name in held if place in name)
        # The peak may come before the last step has kept its tensor.
        self.assertGreaterEqual(held_there, told["kept_in_all"] - told["kept"])
        self.assertEqual(sum(held.values()), told["peak"])
        finding, = (f for f in report.document["findings"] if f["id"] == "memory.tensor_growth")
        self.assertIn(place, recorded.words_of(finding))

    @needs("torch")
    def test_memory_by_category_is_what_the_program_says(self):
        self.run_both("torch_categories_program.py", code=3, options=["--pytorch", "ops", "--pytorch-memory"])
        told = json.loads(self.printed.splitlines()[-1])
        rows = {row["category"]: row for row in recorded.Report.of(self.trace).table("tensors_by_category")}
        self.assertEqual(sum(row["bytes"] for row in rows.values()), told["peak"])
        kept = ("parameters", "gradients", "optimizer state")
        self.assertEqual({name: rows[name]["after_step_bytes"] for name in kept}, {name: told[name] for name in kept})
        for name in ("parameters", "optimizer state"):
            self.assertEqual(rows[name]["bytes"], told[name])
        # At the peak, some of them are freed already, or still held from the step before.
        self.assertLess(abs(rows["activations"]["bytes"] - told["activations"]), 0.25 * told["activations"])


if __name__ == "__main__":
    support.main()
