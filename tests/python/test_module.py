"""The module gprof_cli says what `gprof-cli export` and `gprof-cli report` say, without copies where it can."""

import environment

environment.run_here_or_there()

import ast
import csv
import gc
import importlib.util
import io
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import numpy as np

import gprof_cli

SOURCE, DATA = environment.SOURCE, environment.DATA
COMMAND = environment.BUILD / "bin/gprof-cli"
TRACES = sorted(DATA.glob("*.trace"))
has_pandas = importlib.util.find_spec("pandas") is not None
has_arrow = importlib.util.find_spec("pyarrow") is not None


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=280)


def same(field, value, is_missing):
    """A field of CSV is this value."""
    if is_missing or value is None:
        return field == ""
    if isinstance(value, bool):
        return field == str(int(value))
    if isinstance(value, float):
        return field != "" and math.isclose(float(field), value)
    return field == str(value)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-python-"))
        self.addCleanup(shutil.rmtree, self.folder, True)


class Tables(Folder):
    def check_table(self, table, path):
        with open(path, newline="", encoding="utf-8") as file:
            head, *rows = list(csv.reader(file))
        self.assertEqual([name for name in table.columns if name not in head], ["end_ns"] if "duration_ns" in head else [])
        self.assertEqual(len(table), len(rows))
        for at, name in enumerate(head):
            values, missing = table[name].tolist(), table.missing(name).tolist()
            self.assertEqual(len(values), len(rows))
            different = [(name, row[at], value) for row, value, none in zip(rows, values, missing)
                         if not same(row[at], value, none)]
            self.assertEqual(different[:3], [])

    def test_every_column_of_every_kind_is_that_of_the_export(self):
        seen = set()
        for path in TRACES:
            with self.subTest(trace=path.name):
                out = self.folder / path.stem
                done = run(COMMAND, "export", path, "--format", "csv", "-o", out)
                self.assertEqual(done.returncode, 0, done.stderr)
                trace = gprof_cli.read(path)
                for kind in gprof_cli.KINDS:
                    with self.subTest(kind=kind):
                        self.check_table(trace[kind], out / f"{kind}.csv")
                    seen |= {kind} if len(trace[kind]) else set()
        self.assertGreater(len(seen), 18, seen)

    def test_a_column_has_the_same_type_in_every_trace(self):
        types = {}
        for path in TRACES:
            trace = gprof_cli.read(path)
            for kind in gprof_cli.KINDS:
                for name in trace[kind].columns:
                    column = trace[kind][name]
                    form = "text" if isinstance(column, gprof_cli.Texts) else column.dtype.str
                    types.setdefault((kind, name), set()).add(form)
        # A payload is whatever the program gave it.
        several = {key: forms for key, forms in types.items() if len(forms) > 1 and key[1] != "payload"}
        self.assertEqual(several, {})

    def test_texts_are_no_numbers(self):
        texts = {}
        for path in TRACES:
            trace = gprof_cli.read(path)
            for kind in gprof_cli.KINDS:
                for name in trace[kind].columns:
                    if isinstance(trace[kind][name], gprof_cli.Texts):
                        texts.setdefault((kind, name), set()).update(trace[kind][name].categories)
        numbers = [key for key, found in texts.items() if found and all(text.isdigit() for text in found)]
        self.assertEqual(numbers, [])

    def test_a_foreign_capture_reads_alike(self):
        out = self.folder / "run.sqlite"
        done = run(COMMAND, "export", DATA / "known_facts.trace", "--format", "sqlite", "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        ours, foreign = gprof_cli.read(DATA / "known_facts.trace"), gprof_cli.read(out)
        self.assertEqual(ours.recorder, "")
        self.assertNotEqual(foreign.recorder, "")
        self.assertGreater(len(foreign.kernel), 0)
        np.testing.assert_array_equal(np.sort(ours.kernel.duration_ns), np.sort(foreign.kernel.duration_ns))
        self.assertEqual(sorted(ours.kernel.name), sorted(foreign.kernel.name))

    def test_tables_are_cut_by_masks_slices_and_lists(self):
        kernels = gprof_cli.read(DATA / "known_facts.trace").kernel
        name = kernels.name[0]
        mask = kernels.name == name
        some = kernels[mask]
        self.assertEqual(len(some), int(mask.sum()))
        self.assertEqual(set(some.name), {name})
        self.assertGreater(len(kernels), len(some))
        np.testing.assert_array_equal(some.start_ns, kernels.start_ns[mask])
        np.testing.assert_array_equal(kernels[2:5].end_ns, kernels.end_ns[2:5])
        self.assertEqual(kernels[[0, 3]].name.tolist(), [kernels.name[0], kernels.name[3]])
        np.testing.assert_array_equal(kernels.name != name, ~mask)
        np.testing.assert_array_equal(kernels.name.contains(name), mask)
        self.assertEqual(next(kernels[3:4].rows())["start_ns"], kernels.start_ns[3])
        with self.assertRaisesRegex(KeyError, "has no column"):
            kernels["no such column"]
        with self.assertRaisesRegex(AttributeError, "start_ns"):
            kernels.no_such_column


class Records(Folder):
    def test_records_are_those_of_the_model_and_are_not_copied(self):
        trace = gprof_cli.read(DATA / "known_facts.trace")
        ops = trace.records("ops")
        self.assertFalse(ops.flags.owndata)
        self.assertFalse(ops.flags.writeable)
        with self.assertRaises(ValueError):
            ops["start_ns"][0] = 0
        self.assertEqual(ops["start_ns"].strides[0], ops.dtype.itemsize)
        self.assertEqual(ops["start_ns"].__array_interface__["data"], trace.records("ops")["start_ns"].__array_interface__["data"])
        kernels = ops[ops["kind"] == 0]
        np.testing.assert_array_equal(kernels["start_ns"], trace.kernel.start_ns)
        self.assertEqual([trace.text(number) for number in kernels["name"]], trace.kernel.mangled_name.tolist())
        np.testing.assert_array_equal(trace.records("api_calls")["end_ns"], trace.api.end_ns)
        call = trace.records("api_calls")["start_ns"][kernels["api"]]
        self.assertLessEqual((call - kernels["start_ns"]).max(), 0)
        np.testing.assert_array_equal(kernels["correlation"], trace.kernel.correlation)

    def test_records_live_longer_than_their_trace(self):
        starts = gprof_cli.read(DATA / "known_facts.trace").records("ops")["start_ns"]
        column = gprof_cli.read(DATA / "known_facts.trace").kernel.start_ns
        gc.collect()
        self.assertEqual(starts.tolist(), gprof_cli.read(DATA / "known_facts.trace").records("ops")["start_ns"].tolist())
        self.assertEqual(column.tolist(), gprof_cli.read(DATA / "known_facts.trace").kernel.start_ns.tolist())

    def test_every_field_of_the_model_is_there(self):
        header = "".join((SOURCE / "include/gprof" / name).read_text()
                         for name in ("trace.h", "events.h", "host_activity.h", "metric_tracks.h"))
        trace = gprof_cli.read(DATA / "known_facts.trace")
        records = trace._trace.records()
        vectors = dict(re.findall(r"^  std::vector<(\w+)> (\w+);", header, re.M)) | {"GpuOp": "ops", "ApiCall": "api_calls"}
        for name in ("ops", "api_calls"):
            self.assertIsNone(records[name])
            records[name] = trace._trace.unpacked(name)
        # What holds others, and the clock, whose fields are those of its record.
        left_out = {"Slice", "Clock", "DeviceWindow"}
        for struct, vector in vectors.items():
            if struct in left_out:
                continue
            body = re.search(rf"^struct {struct} \{{\n(.*?)^\}};", header, re.M | re.S).group(1)
            body = re.sub(r"//[^\n]*", "", body)
            fields = [field for line in re.findall(r"^  (?:trace::)?\w+ ([^;(]+?)(?:\{\})?;", body, re.M)
                      for field in re.findall(r"(?:^|, )(\w+)", line)]
            fields = [field for field in fields if field != "facts"]
            self.assertTrue(fields, struct)
            self.assertEqual(records[vector][2], fields, struct)


class Reports(Folder):
    def test_the_report_is_that_of_the_command(self):
        for path in (DATA / "known_facts.trace", DATA / "nvtx_cpu.trace"):
            trace = gprof_cli.read(path)
            done = run(COMMAND, "report", path, "--format", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            expected = json.loads(done.stdout)
            self.assertEqual(trace.report(), expected)
            metrics = trace.metrics()
            self.assertEqual(len(metrics), len(expected["metrics"]))
            for metric in expected["metrics"]:
                name = metric["id"] + ("@" + metric["scope"] if metric["scope"] else "")
                self.assertEqual(metrics[name], metric["value"])

    def test_what_is_no_trace_is_an_error_with_a_hint_and_a_code(self):
        text = self.folder / "text.txt"
        text.write_text("no trace\n")
        for path in (text, self.folder / "not there"):
            with self.assertRaises(gprof_cli.Error) as caught:
                gprof_cli.read(path)
            done = run(COMMAND, "report", path)
            self.assertEqual(caught.exception.code, done.returncode)
            self.assertIn(str(caught.exception), done.stderr)
            self.assertIn(caught.exception.hint, done.stderr)

    def test_facts(self):
        trace = gprof_cli.read(DATA / "known_facts.trace")
        self.assertEqual(trace.path, str(DATA / "known_facts.trace"))
        self.assertTrue(trace.is_complete)
        self.assertIn("managed_memory", trace.lacks)
        self.assertNotIn("api_calls", trace.lacks)
        self.assertLessEqual(trace.start_ns, trace.kernel.start_ns.min())
        self.assertGreaterEqual(trace.end_ns, trace.kernel.end_ns.max())
        version = re.search(r"project\(gprof-cli VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(gprof_cli.__version__, version)


class Others(Folder):
    @unittest.skipUnless(has_pandas, "pandas is not installed")
    def test_pandas(self):
        import pandas
        trace = gprof_cli.read(DATA / "known_facts.trace")
        for kind in gprof_cli.KINDS:
            frame = trace[kind].to_pandas()
            self.assertEqual(list(frame.columns), list(trace[kind].columns))
            self.assertEqual(len(frame), len(trace[kind]))
            for name in frame.columns:
                self.assertEqual(frame[name].isna().tolist(), trace[kind].missing(name).tolist(), (kind, name))
        frame = trace.kernel.to_pandas(["name", "duration_ns", "graph"])
        sums = frame.groupby("name", observed=True)["duration_ns"].sum()
        for name, total in sums.items():
            self.assertEqual(total, trace.kernel.duration_ns[trace.kernel.name == name].sum())
        self.assertIsInstance(frame["name"].dtype, pandas.CategoricalDtype)

    @unittest.skipUnless(has_arrow, "pyarrow is not installed")
    def test_arrow(self):
        trace = gprof_cli.read(DATA / "known_facts.trace")
        for kind in gprof_cli.KINDS:
            table = trace[kind].to_arrow()
            self.assertEqual(table.num_rows, len(trace[kind]))
            self.assertEqual(table.to_pylist(), [{name: row[name] for name in trace[kind].columns} for row in trace[kind].rows()])

    @unittest.skipUnless(has_arrow, "pyarrow is not installed")
    def test_parquet(self):
        import pyarrow.parquet
        for name in ("known_facts", "nccl_after", "captures"):
            trace = gprof_cli.read(DATA / f"{name}.trace")
            for kind in gprof_cli.KINDS:
                with self.subTest(trace=name, kind=kind):
                    written, path = trace[kind].to_arrow(), self.folder / f"{name}-{kind}.parquet"
                    pyarrow.parquet.write_table(written, path)
                    read = pyarrow.parquet.read_table(path)
                    self.assertEqual(read.column_names, written.column_names)
                    self.assertEqual(read.to_pylist(), written.to_pylist())

    def test_the_hints_of_types_name_what_is_there(self):
        for module in ("__init__", "tables"):
            hints = ast.parse((SOURCE / f"src/python/gprof_cli/{module}.pyi").read_text())
            there = gprof_cli if module == "__init__" else gprof_cli.tables
            for node in hints.body:
                if isinstance(node, ast.FunctionDef):
                    self.assertTrue(hasattr(there, node.name), node.name)
                if isinstance(node, ast.ClassDef) and node.name not in ("Error",):
                    for member in node.body:
                        if isinstance(member, ast.FunctionDef):
                            self.assertTrue(hasattr(getattr(there, node.name), member.name) or
                                            member.name in gprof_cli.KINDS, f"{node.name}.{member.name}")
                    members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
                    members |= {m.target.id for m in node.body if isinstance(m, ast.AnnAssign)}
                    public = {name for name in vars(getattr(there, node.name)) if not name.startswith("_")}
                    self.assertLessEqual(public, members, node.name)
                    if node.name == "Trace":
                        self.assertLessEqual(set(gprof_cli.KINDS), members)

    def test_the_examples_of_the_page_run(self):
        blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / "docs/python.md").read_text(encoding="utf-8"), re.M | re.S)
        self.assertTrue(blocks)
        shutil.copy(DATA / "known_facts.trace", self.folder / "run.trace")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        names = {"print": lambda *words: print(*words, file=io.StringIO())}
        for block in blocks:
            if ("to_pandas" in block and not has_pandas) or ("to_arrow" in block and not has_arrow):
                continue
            with self.subTest(block=block):
                exec(compile(block, "docs/python.md", "exec"), names)


if __name__ == "__main__":
    unittest.main(verbosity=2)
