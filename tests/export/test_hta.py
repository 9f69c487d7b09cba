"""HolisticTraceAnalysis and TensorBoard's plug-in, made for torch.profiler, load what `export --format chrome` writes, and find the same.

Runs with GPROF_TEST_HTA=1, as the packages that it needs are large. Skips (77) without, and where they cannot be had.
"""

import json
import os
import pathlib
import subprocess
import sys

import exporting
import packages

HTA, TENSORBOARD = (pathlib.Path(__file__).with_name(f"read_{name}.py") for name in ("hta", "tensorboard"))
IS_ASKED_FOR = os.environ.get("GPROF_TEST_HTA") == "1"
PYTHON, WHY_NOT = packages.python_with("hta") if IS_ASKED_FOR else (None, "GPROF_TEST_HTA is not 1")
CHOSEN = ("normalise_v2", "many_small_copies", "known_facts_graph_nodes")


class Hta(exporting.ExportTest):
    def read(self, path, reader=HTA):
        done = subprocess.run([PYTHON, reader, path], capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return json.loads(done.stdout.splitlines()[-1])

    def test_it_finds_what_the_report_says(self):
        for name in CHOSEN:
            with self.subTest(trace=name):
                trace = exporting.DATA / f"{name}.trace"
                found = self.read(self.export(trace, "chrome", name=f"{name}/trace.json.gz").parent)
                self.check(trace, found)

    def test_operators_are_there(self):
        trace = exporting.case_trace("report/operators_by_callbacks.test", self.folder / "run.trace")
        path = self.export(trace, "chrome", name="operators/trace.json")
        self.assertEqual(self.read(path.parent)["operators"], ["MmBackward0", "aten::mm"])
        # Calls and ns on the host. The plug-in does not know the category of CUDA calls, so it has no time of the GPU.
        self.assertEqual(self.read(path, TENSORBOARD)["operators"],
                         {"aten::mm [[64, 256], [256, 512]]": [1, 9000], "MmBackward0 []": [1, 7000]})

    def test_allocations_are_there(self):
        trace = exporting.DATA / "torch" / "attention.json.gz"
        found = self.read(self.export(trace, "chrome", name="blocks/trace.json"), TENSORBOARD)
        blocks = exporting.csv_rows(exporting.ExportTest.export(self, trace, "csv", "--kind", "tensor_block", name="blocks.csv"))
        self.assertEqual(found["allocations"], len(blocks))

    def export(self, trace, form, *options, name=None):
        (self.folder / name).parent.mkdir()
        return super().export(trace, form, *options, name=name)

    def check(self, trace, found):
        contents = json.loads(exporting.ask("info", trace, "--format", "json"))["contents"]
        self.assertEqual(found["ranks"], [0])
        self.assertEqual(found["kernels"], contents["kernels"])
        self.assertEqual(found["copies"], contents["copies"])
        self.assertEqual(found["calls"], contents["api_calls"])
        # Its own analyses run, and its times are those of the trace to the nanosecond.
        rows = exporting.csv_rows(exporting.ExportTest.export(self, trace, "csv", "--kind", "kernel",
                                                              name=f"{trace.stem}.csv"))
        self.assertEqual(found["kernel_ns"], sum(int(row["duration_ns"]) for row in rows))
        self.assertEqual(found["linked_kernels"], len(rows))
        self.assertEqual(found["analyses"], ["temporal breakdown", "kernel breakdown", "launch statistics", "queue length",
                                             "idle time", "memory bandwidth"])


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped, HolisticTraceAnalysis is not there:", WHY_NOT)
        sys.exit(exporting.SKIP)
    exporting.main()
