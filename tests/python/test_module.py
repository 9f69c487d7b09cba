"""The module gprof_cli says what `gprof-cli export` and `gprof-cli report` say.
`--update` writes the kinds of records into its hints anew.
"""

import environment

environment.run_here_or_there()

import ast
import concurrent.futures
import csv
import gc
import html
import html.parser
import importlib
import importlib.util
import inspect
import io
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import numpy as np

import gprof_cli

SOURCE, DATA = environment.SOURCE, environment.DATA
COMMAND = environment.BUILD / "bin/gprof-cli"
TRACES = sorted(DATA.glob("*.trace"))
HINTS = SOURCE / "src/python/gprof_cli/__init__.pyi"
HINTED_KINDS = re.compile(r"(    # Kinds of records[^\n]*\n)((?:    @property\n    def \w+\(self\) -> Table: \.\.\.\n)+)")
has_pandas = importlib.util.find_spec("pandas") is not None
has_arrow = importlib.util.find_spec("pyarrow") is not None


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=280)


def with_kinds(hints):
    """The hints with a property for each kind of record that the module has."""
    properties = "".join(f"    @property\n    def {kind}(self) -> Table: ...\n" for kind in gprof_cli.KINDS)
    return HINTED_KINDS.sub(lambda found: found.group(1) + properties, hints)


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

    def test_a_partial_has_the_report_of_its_trace_and_no_records(self):
        path, part = DATA / "known_facts.trace", self.folder / "known_facts.gpart"
        self.assertEqual(run(COMMAND, "partial", path, "-o", part).returncode, 0)
        ours, kept = gprof_cli.read(path), gprof_cli.read(part)
        self.assertEqual(kept.metrics(), ours.metrics())
        self.assertEqual(list(kept.table("kernels")), list(ours.table("kernels")))
        self.assertEqual([finding["message"] for finding in kept.findings()], [finding["message"] for finding in ours.findings()])
        self.assertEqual(repr(kept).rpartition(": ")[2], repr(ours).rpartition(": ")[2])
        self.assertNotIn('id="events-0"', kept.html())  # it has no timeline
        for ask in (lambda: len(kept.kernel), lambda: kept.records("ops"), lambda: kept.report(step="step")):
            with self.assertRaisesRegex(gprof_cli.Error, "needs the records of a trace"):
                ask()

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
    def test_records_are_those_of_the_model_and_are_not_copied_again(self):
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
                         for name in ("trace.h", "base_level.h", "calibration.h", "events.h", "host_activity.h", "in_progress.h", "kernel_counters.h", "metric_tracks.h", "serving.h"))
        trace = gprof_cli.read(DATA / "known_facts.trace")
        vectors = dict(re.findall(r"^  std::vector<(\w+)> (\w+);", header, re.M)) | {"GpuOp": "ops", "ApiCall": "api_calls"}
        # What holds others, and the clock, whose fields are those of its record.
        left_out = {"Slice", "Clock", "DeviceWindow"}
        for struct, vector in vectors.items():
            if struct in left_out:
                continue
            body = re.search(rf"^struct {struct} \{{\n(.*?)^\}};", header, re.M | re.S).group(1)
            body = re.sub(r"//[^\n]*", "", body)
            fields = [field for line in re.findall(r"^  (?:trace::)?\w+ ([^;(]+?)(?:\{\})?;", body, re.M)
                      for field in re.findall(r"(?:^|, )(\w+)", line)]
            fields = [field for field in fields if field != "properties"]
            self.assertTrue(fields, struct)
            self.assertEqual(list(trace.records(vector).dtype.names), fields, struct)


class Reports(Folder):
    def test_the_report_is_that_of_the_command(self):
        for path in (DATA / "known_facts.trace", DATA / "nvtx_cpu.trace"):
            trace = gprof_cli.read(path)
            done = run(COMMAND, "report", path, "--format", "json", "--tables")
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
        for path, kind, built_in in ((text, gprof_cli.InputError, ValueError),
                                     (self.folder / "not there", gprof_cli.NotFoundError, FileNotFoundError),
                                     (self.folder / "not there.sqlite", gprof_cli.NotFoundError, FileNotFoundError),
                                     (self.folder, gprof_cli.FileError, OSError)):
            with self.subTest(path=path.name), self.assertRaises(gprof_cli.Error) as caught:
                gprof_cli.read(path)
            self.assertIs(type(caught.exception), kind)
            self.assertIsInstance(caught.exception, built_in)
            # `report` takes folders, so that `info` says what a file is.
            done = run(COMMAND, "info", path)
            self.assertEqual(caught.exception.code, done.returncode)
            self.assertIn(str(caught.exception), done.stderr)
            self.assertIn(caught.exception.hint, done.stderr)

    def test_a_file_that_is_not_there_has_its_errno(self):
        with self.assertRaises(FileNotFoundError) as caught:
            gprof_cli.show(self.folder / "not there")
        self.assertEqual(caught.exception.errno, 2)

    def test_findings_and_tables_are_those_of_the_report(self):
        for path in TRACES:
            trace = gprof_cli.read(path)
            report = trace.report()
            self.assertEqual(trace.findings(), report["findings"])
            self.assertEqual(list(trace.tables()), [table["id"] for table in report["tables"]])
            self.assertEqual(len(set(trace.tables())), len(report["tables"]))
            for finding in report["findings"]:
                self.assertEqual(list(trace.findings().columns), list(finding))
            for table in report["tables"]:
                rows = trace.table(table["id"])
                self.assertEqual(rows, table["rows"])
                self.assertEqual(list(rows.columns), [column["key"] for column in table["columns"]])
        trace = gprof_cli.read(DATA / "known_facts.trace")
        self.assertLess(len(trace.table("kernels", rows=1)), len(trace.table("kernels", rows=0)))
        with self.assertRaisesRegex(KeyError, "kernels"):
            trace.table("no such table")

    def test_what_is_handed_out_is_not_kept(self):
        trace = gprof_cli.read(DATA / "known_facts.trace")
        expected = len(trace.findings())
        trace.findings().clear()
        trace.findings()[0].clear()
        self.assertEqual(len(trace.findings()), expected)
        self.assertTrue(trace.findings()[0])

    def test_without_pandas_only_to_pandas_fails(self):
        trace = gprof_cli.read(DATA / "known_facts.trace")
        with unittest.mock.patch.dict(sys.modules, pandas=None):
            for rows in (trace.findings(), trace.table("kernels"), trace.kernel):
                self.assertGreater(len(rows), 0)
                with self.assertRaisesRegex(ImportError, "pip install pandas"):
                    rows.to_pandas()

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


class Processes(Folder):
    """The module asks a gprof-cli, which may end, be interrupted, or be that of another process."""

    def setUp(self):
        super().setUp()
        self.path = self.folder / "run.trace"
        shutil.copy(DATA / "known_facts.trace", self.path)
        self.trace = gprof_cli.read(self.path)
        self.kernels = len(gprof_cli.read(DATA / "known_facts.trace").kernel)

    def test_a_trace_outlives_its_process(self):
        os.kill(self.trace._trace._process._program.pid, signal.SIGKILL)
        with self.assertRaisesRegex(gprof_cli.Error, "gprof-cli ended with -9 and without an answer"):
            len(self.trace.kernel)
        self.assertEqual(len(self.trace.kernel), self.kernels)

    def test_a_file_that_changed_is_not_read_again(self):
        self.trace._trace._process.close()
        shutil.copy(DATA / "nvtx_cpu.trace", self.path)
        with self.assertRaisesRegex(gprof_cli.InputError, "has changed since it was read"):
            len(self.trace.kernel)

    def test_what_was_read_stays_when_the_file_changes(self):
        shutil.copy(DATA / "nvtx_cpu.trace", self.path)
        self.assertEqual(len(self.trace.kernel), self.kernels)

    def test_the_child_of_a_fork_has_a_process_of_its_own(self):
        before = self.trace._trace._process._program.pid
        child = os.fork()
        if child == 0:
            is_right = len(self.trace.kernel) == self.kernels and self.trace._trace._process._program.pid != before
            del self.trace  # ends its own process, and not that of the parent
            gc.collect()
            os._exit(0 if is_right else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(len(self.trace.memcpy), len(gprof_cli.read(self.path).memcpy))
        self.assertEqual(self.trace._trace._process._program.pid, before)

    def test_an_interrupted_answer_is_not_taken_for_the_next(self):
        with unittest.mock.patch.object(gprof_cli._core._Answer, "_read", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                self.trace.report()
        self.assertEqual(len(self.trace.kernel), self.kernels)

    def test_its_process_ends_with_it(self):
        program = self.trace._trace._process._program
        del self.trace
        gc.collect()
        self.assertIsNotNone(program.returncode)

    def test_threads_ask_one_after_the_other(self):
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            counts = list(threads.map(lambda number: self.trace.text(number % 2), range(400)))
        self.assertEqual(counts, [self.trace.text(0), self.trace.text(1)] * 200)

    def test_marking_a_program_needs_neither_numpy_nor_the_command(self):
        code = ("import sys; sys.modules['numpy'] = None; import subprocess; subprocess.Popen = None; import gprof_cli, warnings; "
                "warnings.simplefilter('ignore')\nwith gprof_cli.capture(): pass\ngprof_cli.request('a', 'arrived')")
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(environment.MODULE)}, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_without_the_command_an_error_says_how_to_get_it(self):
        with unittest.mock.patch.object(gprof_cli._core, "find_command", lambda: None):
            with self.assertRaisesRegex(gprof_cli.Error, "neither on PATH") as caught:
                gprof_cli.read(self.path)
        self.assertEqual(caught.exception.hint, "pip install gprof-cli")


class Elements(html.parser.HTMLParser):
    """Which elements a piece of HTML has, that all are closed, and its text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.attributes, self.text = [], [], set(), ""
        self.feed(text)
        self.close()

    def handle_starttag(self, name, attributes):
        self.open.append(name)
        self.names.append(name)
        self.attributes |= {key for key, _ in attributes}

    def handle_endtag(self, name):
        assert self.open.pop() == name, name

    def handle_data(self, text):
        self.text += text


class Notebooks(Folder):
    def test_a_cell_shows_the_first_page(self):
        for path in TRACES:
            with self.subTest(trace=path.name):
                trace = gprof_cli.read(path)
                card = trace._repr_html_()
                self.assertLess(len(card.encode()), 30_000)
                elements = Elements(card)
                self.assertEqual(elements.open, [])
                self.assertLessEqual(set(elements.names), {"div", "span", "table", "tr", "th", "td"})
                self.assertLessEqual(elements.attributes, {"class", "style", "role", "aria-label", "title"})
                line = run(COMMAND, "report", path, "--format", "line").stdout.strip()
                verdict, *named = line.removeprefix(f"{path}: ").split("; ")
                if verdict == "no GPU work":
                    self.assertNotIn("role=", card)
                else:
                    self.assertIn(verdict, elements.text)
                for finding in named:
                    if finding != "INCOMPLETE":
                        self.assertIn(f"[{finding.split()[0]}]", elements.text)
                kernels = trace.table("kernels")
                self.assertEqual(elements.names.count("tr"), min(5, len(kernels)) + 1 if kernels else 0)

    def test_names_of_a_program_are_text(self):
        text = self.folder / "events.json"
        events = [{"ph": "X", "cat": "kernel", "name": "<script>alert(1)</script>", "ts": 1, "dur": 5, "pid": 0, "tid": 7,
                   "args": {"device": 0, "stream": 7, "correlation": 1}}]
        text.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
        card = gprof_cli.read(text)._repr_html_()
        self.assertIn("&lt;script&gt;", card)
        self.assertNotIn("<script>", card)

    def test_repr_is_a_line(self):
        trace = gprof_cli.read(DATA / "known_facts.trace")
        self.assertEqual(repr(trace), f"<Trace {trace.path}: 328.22 ms, 888 GPU operations on NVIDIA H200>")
        self.assertRegex(repr(trace.findings()), r"^<Results findings: \d+ rows of id, severity, ")

    def test_show_outside_of_a_notebook_writes_the_page_and_opens_it(self):
        opened = self.folder / "opened"
        browser = self.folder / "browser"
        browser.write_text(f"#!/bin/sh\necho \"$1\" > '{opened}.new' && mv '{opened}.new' '{opened}'\n")
        browser.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, BROWSER=str(browser)), \
                unittest.mock.patch.object(tempfile, "tempdir", str(self.folder)):
            path = gprof_cli.show(DATA / "known_facts.trace")
        self.assertEqual(pathlib.Path(path).parent, self.folder)
        self.assertEqual(os.stat(path).st_mode & 0o077, 0)
        page = self.folder / "page.html"
        done = run(COMMAND, "report", DATA / "known_facts.trace", "--format", "html", "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(pathlib.Path(path).read_bytes(), page.read_bytes())
        self.assertEqual(opened.read_text().strip(), pathlib.Path(path).as_uri())

    def test_show_in_a_notebook_is_a_frame_with_the_page(self):
        shown = []
        display = types.SimpleNamespace(HTML=lambda text: text, display=shown.append)
        ipython = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=object()), display=display)
        trace = gprof_cli.read(DATA / "known_facts.trace")
        with unittest.mock.patch.dict(sys.modules, {"IPython": ipython, "IPython.display": display}):
            self.assertIsNone(gprof_cli.show(trace, height=300))
        frame, = shown
        self.assertIn("height:300px", frame)
        self.assertEqual(html.unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1)), trace.html())
        self.assertNotIn("allow-same-origin", frame)


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

    @unittest.skipUnless(has_pandas, "pandas is not installed")
    def test_the_report_as_pandas(self):
        trace = gprof_cli.read(DATA / "known_facts.trace")
        frames = gprof_cli.report(DATA / "known_facts.trace", rows=3)
        self.assertEqual(set(frames), {"findings", "metrics", *trace.tables()})
        self.assertEqual(len(frames["findings"]), len(trace.findings()))
        self.assertEqual(len(frames["kernels"]), 3)
        self.assertGreater(len(trace.table("kernels")), 3)
        values = {(row.id, row.scope): row.value for row in frames["metrics"].itertuples()}
        self.assertEqual(values["kernels.count", ""], trace.metrics()["kernels.count"])

    @unittest.skipUnless(has_pandas, "pandas is not installed")
    def test_results_as_pandas(self):
        for path in TRACES:
            trace = gprof_cli.read(path)
            for rows in (trace.findings(), *(trace.table(name) for name in trace.tables())):
                frame = rows.to_pandas()
                self.assertEqual(list(frame.columns), list(rows.columns))
                self.assertEqual(len(frame), len(rows))
                for name in frame.columns:
                    self.assertEqual(frame[name].isna().tolist(), [row[name] is None for row in rows], (rows.name, name))

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

    @staticmethod
    def named_in(module):
        """What the module says is its own: __all__, or what it defines."""
        own = {name for name, value in vars(module).items()
               if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__}
        return set(getattr(module, "__all__", own))

    @staticmethod
    def names_of(node):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return [alias.asname for alias in node.names if alias.asname]
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        return [node.name] if hasattr(node, "name") else [target.id for target in targets]

    def check_signatures(self, nodes, there):
        """Functions have the parameters that the hints give them, and those that may be left out."""
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                self.check_signatures(node.body, getattr(there, node.name))
            # A property, or one of several overloads, has no signature to compare.
            if not isinstance(node, ast.FunctionDef) or node.decorator_list or not hasattr(there, node.name):
                continue
            actual = inspect.signature(getattr(there, node.name)).parameters.values()
            places = [argument.arg for argument in node.args.args]
            keywords = [argument.arg for argument in node.args.kwonlyargs]
            hinted = places + [one.arg for one in [node.args.vararg] if one] + keywords
            optional = places[len(places) - len(node.args.defaults):]
            optional += [name for name, default in zip(keywords, node.args.kw_defaults) if default is not None]
            self.assertEqual(hinted, [parameter.name for parameter in actual], node.name)
            self.assertEqual(optional, [p.name for p in actual if p.default is not p.empty], node.name)

    def test_the_hints_of_types_name_what_is_there(self):
        for module in ("__init__", "counting", "magic", "notebook", "recording", "results", "tables"):
            hints = ast.parse((SOURCE / f"src/python/gprof_cli/{module}.pyi").read_text())
            there = gprof_cli if module == "__init__" else importlib.import_module(f"gprof_cli.{module}")
            self.assertLessEqual(self.named_in(there), {name for node in hints.body for name in self.names_of(node)})
            self.check_signatures(hints.body, there)
            for node in hints.body:
                if isinstance(node, ast.FunctionDef):
                    self.assertTrue(hasattr(there, node.name), node.name)
                if isinstance(node, ast.ClassDef) and issubclass(getattr(there, node.name), gprof_cli.Error):
                    bases = [base.id for base in node.bases]
                    self.assertEqual(bases, [base.__name__ for base in getattr(there, node.name).__bases__])
                elif isinstance(node, ast.ClassDef):
                    for member in node.body:
                        if isinstance(member, ast.FunctionDef):
                            self.assertTrue(hasattr(getattr(there, node.name), member.name) or
                                            member.name in gprof_cli.KINDS, f"{node.name}.{member.name}")
                    members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
                    members |= {m.target.id for m in node.body if isinstance(m, ast.AnnAssign)}
                    public = {name for name in vars(getattr(there, node.name)) if not name.startswith("_")}
                    self.assertLessEqual(public, members, node.name)

    def test_the_hints_have_the_kinds_of_records(self):
        hints = HINTS.read_text(encoding="utf-8")
        self.assertEqual(hints, with_kinds(hints), "tests/python/test_module.py --update writes them")

    def test_the_examples_of_the_page_run(self):
        blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / "docs/python.md").read_text(encoding="utf-8"), re.M | re.S)
        self.assertTrue(blocks)
        shutil.copy(DATA / "known_facts.trace", self.folder / "run.trace")
        (self.folder / "traces").mkdir()
        for rank in range(2):
            shutil.copy(DATA / "known_facts.trace", self.folder / f"traces/rank{rank}.trace")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        # show() opens a page: no browser of this machine, and in this folder.
        for what in (unittest.mock.patch.dict(os.environ, BROWSER="true"),
                     unittest.mock.patch.object(tempfile, "tempdir", str(self.folder))):
            what.start()
            self.addCleanup(what.stop)
        names = {"print": lambda *words: print(*words, file=io.StringIO())}
        for block in blocks:
            if (("to_pandas" in block or "gprof_cli.report" in block) and not has_pandas) or ("to_arrow" in block and not has_arrow):
                continue
            with self.subTest(block=block):
                exec(compile(block, "docs/python.md", "exec"), names)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        HINTS.write_text(with_kinds(HINTS.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        unittest.main(verbosity=2)
