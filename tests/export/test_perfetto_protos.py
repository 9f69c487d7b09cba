"""Perfetto's published messages read what `export --format perfetto` writes: every field is known, every name is told.

Skips (77) where the Python package `perfetto` cannot be had.
"""

import json
import pathlib
import subprocess
import sys

import exporting
import packages

READER = pathlib.Path(__file__).with_name("read_perfetto.py")
PYTHON, WHY_NOT = packages.python_with("perfetto")


class PerfettoProtos(exporting.ExportTest):
    def read(self, *paths):
        done = subprocess.run([PYTHON, READER, *paths], capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return json.loads(done.stdout)

    def test_recorded_traces(self):
        self.assertGreater(len(exporting.TRACES), 10)
        exports = [self.export(trace, "perfetto") for trace in exporting.TRACES]
        for trace, found in zip(exporting.TRACES, self.read(*exports)):
            with self.subTest(trace=trace.name):
                contents = json.loads(exporting.ask("info", trace, "--format", "json"))["contents"]
                self.assertEqual(found["problems"], [])
                self.assertEqual(found["slices"].get("kernel", 0), contents["kernels"])
                self.assertEqual(found["slices"].get("cuda_runtime", 0) + found["slices"].get("cuda_driver", 0),
                                 contents["api_calls"])
                self.assertEqual(found["slices"].get("user_annotation", 0), contents["nvtx_ranges"])
                self.assertEqual(found["flows"], found["ended_flows"])

    def test_hostile_names(self):
        found = self.read(self.export(self.hostile(), "perfetto"))[0]
        self.assertEqual(found["problems"], [])
        for name in exporting.HOSTILE.values():
            self.assertIn(name, found["names"])

    def test_an_empty_trace(self):
        found = self.read(self.export(self.empty(), "perfetto"))[0]
        self.assertEqual(found["problems"], [])
        self.assertEqual(found["slices"], {})


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: the package perfetto cannot be installed:", WHY_NOT)
        sys.exit(exporting.SKIP)
    exporting.main()
