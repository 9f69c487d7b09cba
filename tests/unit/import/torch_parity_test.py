"""Captures of torch.profiler against what PyTorch itself said of the same run: key_averages() and, of a step like it, flop_counter.

usage: torch_parity_test.py GPROF_CLI FOLDER   FOLDER: tests/data/torch
"""

import csv
import io
import json
import pathlib
import subprocess
import sys
import unittest

GPROF_CLI, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
# flop_counter of PyTorch 2.11 has no formula for attention on the CPU; those of later versions do.
ONLY_OURS = {"aten::_scaled_dot_product_flash_attention_for_cpu", "aten::_scaled_dot_product_flash_attention_for_cpu_backward"}


def table(capture, analysis, name):
    printed = subprocess.run([GPROF_CLI, "report", FOLDER / f"{capture}.json.gz", "--only", analysis, "--format", "csv",
                              "--table", f"{analysis}.{name}"], capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(printed)))


def sums(rows, *columns):
    """By operator: those of one name and several types have a row each."""
    by_name = {}
    for row in rows:
        sum_of = by_name.setdefault(row["operator"], dict.fromkeys(columns, 0))
        for column in columns:
            sum_of[column] += int(row[column] or 0)
    return by_name


class Parity(unittest.TestCase):
    def test_floating_point_operations_are_those_of_flop_counter(self):
        for capture, expected in EXPECTED.items():
            operators = sums(table(capture, "ops", "ops"), "flops")
            found = {name: row["flops"] for name, row in operators.items() if row["flops"] > 0 and name not in ONLY_OURS}
            self.assertEqual(found, {name.replace("aten.", "aten::"): flops for name, flops in expected["flops"].items()},
                             capture)

    def test_calls_times_and_memory_are_those_of_key_averages(self):
        columns = ("calls", "cpu_ns", "cpu_self_ns", "cpu_memory_bytes", "cpu_memory_self_bytes")
        for capture, expected in EXPECTED.items():
            operators = sums(table(capture, "ops", "ops"), *columns)
            self.assertGreater(len(operators), 20)
            for name, row in operators.items():
                average = expected["averages"][name]
                self.assertEqual(row["calls"], average["calls"], name)
                self.assertEqual(row["cpu_memory_bytes"], average["cpu_memory_bytes"], f"{capture}: {name}")
                self.assertEqual(row["cpu_memory_self_bytes"], average["self_cpu_memory_bytes"], f"{capture}: {name}")
                # Files have times to the nanosecond, rounded at both ends.
                self.assertAlmostEqual(row["cpu_ns"], average["cpu_ns"], delta=2 * row["calls"])
                self.assertAlmostEqual(row["cpu_self_ns"], average["self_cpu_ns"], delta=20 * row["calls"])

    def test_modules_nest_as_the_model_does(self):
        rows = {row["path"]: row for row in table("transformer", "modules", "modules_each")}
        attention = rows["Gpt_0/Block_1/Attn_1"]
        self.assertEqual((attention["type"], attention["calls"]), ("Attn", "1"))
        # Forward and backward: all of a block is in its modules and in itself.
        flops = {path: int(row["flops"] or 0) for path, row in rows.items()}
        self.assertEqual(flops["Gpt_0/Block_0"], flops["Gpt_0/Block_1"])
        self.assertEqual(sum(flops[f"Gpt_0/{part}"] for part in ("Block_0", "Block_1", "Linear_8")), flops["Gpt_0"])
        # A linear layer does twice as much in the backward pass.
        self.assertEqual(flops["Gpt_0/Linear_8"], 3 * 2 * (2 * 16) * 32 * 64)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
