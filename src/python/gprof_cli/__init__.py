"""Reads traces of gprof-cli, and captures of other tools, as NumPy arrays. docs/python.md describes it."""

import json
import os

from . import _core
from ._core import Error, FileError, InputError, NotFoundError
from .counting import measure
from .fleet import analyze
from .notebook import show_page
from .recording import capture, schedule
from .results import Results
from .serving import engine_step, request

__all__ = ["Error", "FileError", "InputError", "KINDS", "NONE", "NotFoundError", "Results", "Table", "Texts", "Trace",
           "__version__", "analyze", "capture", "counters", "engine_step", "read", "report", "request", "schedule", "show"]

_FINDING_COLUMNS = ("id", "severity", "message", "evidence", "advice", "try", "gain_ns", "gain_percent_of_run", "claims", "basis", "is_measured", "same_as", "is_minor", "table", "subject")
_METRIC_COLUMNS = ("id", "scope", "value", "unit", "better", "deterministic")
_EVENTS = 500_000

# In records: an index to nothing.
NONE = 0xFFFFFFFF


# What key_averages().table(sort_by=...) of torch.profiler takes.
_TORCH_COLUMNS = {"cuda_time_total": "gpu_ns", "self_cuda_time_total": "gpu_self_ns", "cuda_time": "gpu_mean_ns",
                  "cpu_time_total": "cpu_ns", "self_cpu_time_total": "cpu_self_ns", "cpu_time": "cpu_mean_ns",
                  "cuda_memory_usage": "gpu_memory_bytes", "self_cuda_memory_usage": "gpu_memory_self_bytes",
                  "cpu_memory_usage": "cpu_memory_bytes", "self_cpu_memory_usage": "cpu_memory_self_bytes",
                  "count": "calls"}


def __getattr__(name):
    # A program that only marks what is to be recorded needs neither the command nor NumPy.
    if name in ("Table", "Texts"):
        from . import tables
        return getattr(tables, name)
    if name not in ("KINDS", "__version__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    about = _core.about()
    globals().update(KINDS=tuple(kind for kind, *_ in about["kinds"]), __version__=about["version"])
    return globals()[name]


class Trace:
    """A trace. Each kind of record is a table: trace.kernel, trace.memcpy, trace.api, …; KINDS has them all."""

    def __init__(self, path):
        self._trace = _core.Trace(os.fspath(path))
        self._kinds = {name: (meaning, tuple(columns)) for name, meaning, columns in self._trace.kinds}
        self._tables = {}
        self._records = {}
        self._report = None

    def __getitem__(self, kind):
        if kind not in self._kinds:
            raise KeyError(f"there is no kind of record {kind!r}; there are {', '.join(self._kinds)}")
        if kind not in self._tables:
            from .tables import Table
            self._tables[kind] = Table(kind, *self._kinds[kind], lambda: self._trace.columns(kind))
        return self._tables[kind]

    def __getattr__(self, name):
        if not name.startswith("_") and name in self._kinds:
            return self[name]
        raise AttributeError(f"a Trace has no attribute {name!r}")

    def __dir__(self):
        return [*super().__dir__(), *self._kinds]

    path = property(lambda self: self._trace.path)
    recorder = property(lambda self: self._trace.recorder, doc="The tool that recorded it; empty for gprof-cli.")
    start_ns = property(lambda self: self._trace.start_ns)
    end_ns = property(lambda self: self._trace.end_ns)
    is_complete = property(lambda self: self._trace.is_complete, doc="Nothing is known to be missing.")
    lacks = property(lambda self: tuple(self._trace.lacks), doc="What was not recorded.")

    def records(self, name):
        """The records of the model: a structured array that cannot be written. Fields that refer to others are indices
        (NONE: to nothing), names are numbers for text()."""
        if name not in self._trace.records:
            raise KeyError(f"there are no records {name!r}; there are {', '.join(self._trace.records)}")
        if name not in self._records:
            from .tables import record_array
            self._records[name] = record_array(*self._trace.read_records(name))
        return self._records[name]

    def text(self, number):
        """The text of a name in records."""
        return self._trace.text(int(number))

    def report(self, rows=100, step="", min_gap_ns=0):
        """What `gprof-cli report --format json` prints, as a dict: "schema": "gprof.report/1"."""
        return json.loads(self._trace.report(rows, min_gap_ns, step))

    def metrics(self):
        """The figures of the report: {"gpu.busy_percent@gpu0": 97.1, …}."""
        return {metric["id"] + ("@" + metric["scope"] if metric["scope"] else ""): metric["value"]
                for metric in self._report_once(None)["metrics"]}

    def _report_once(self, rows):
        """The report with so many rows in a table; None: whatever is there, or 100."""
        if self._report is None or rows not in (None, self._report[0]):
            rows = 100 if rows is None else rows
            self._report = rows, self.report(rows)
        return self._report[1]

    def findings(self):
        """The findings of the report, the most rewarding first, as dicts; to_pandas() makes a DataFrame of them."""
        return Results("findings", "Findings", "", _FINDING_COLUMNS, self._report_once(None)["findings"])

    def tables(self):
        """The names of the tables of the report, for table()."""
        return tuple(table["id"] for table in self._report_once(None)["tables"])

    def table(self, name, rows=100):
        """A table of the report as dicts; to_pandas() makes a DataFrame of it. `rows` at most, 0 for all."""
        tables = {table["id"]: table for table in self._report_once(rows)["tables"]}
        if name not in tables:
            raise KeyError(f"the report has no table {name!r}; it has {', '.join(tables)}")
        table = tables[name]
        return Results(name, table["title"], table["note"], [column["key"] for column in table["columns"]], table["rows"])

    def key_averages(self, group_by_input_shape=False, sort_by="gpu_self_ns", rows=0):
        """The operators of PyTorch as torch.profiler sums them: by name, or by name and sizes of their inputs.

        `sort_by` is a column, or what torch calls it: "cuda_time_total", "self_cpu_time_total".
        """
        table = self.table("ops_by_shape" if group_by_input_shape else "ops", rows)
        column = _TORCH_COLUMNS.get(sort_by.replace("device", "cuda"), sort_by)
        if column not in table.columns:
            raise KeyError(f"the table has no column {sort_by!r}; it has {', '.join(table.columns)}")
        table.sort(key=lambda row: (row[column] is not None, row[column]), reverse=True)
        return table

    def html(self, events=_EVENTS):
        """The HTML page that `gprof-cli report --format html` writes, with at most so many events on its timeline."""
        return self._trace.page(events)

    def _repr_html_(self):
        return self._trace.card()

    def __repr__(self):
        return f"<Trace {self.path}: {self._trace.summary}>"


def read(path):
    """Reads a trace of gprof-cli, or a capture that another tool made. Raises Error: NotFoundError, which is a
    FileNotFoundError, InputError, which is a ValueError, or FileError, which is an OSError."""
    return Trace(path)


def report(trace, rows=100):
    """The report of a trace, or of a file, as a dict of DataFrames by name: "findings", "metrics" and its tables, with
    so many `rows` at most, 0 for all. It needs pandas."""
    trace = trace if isinstance(trace, Trace) else read(trace)
    tables = [trace.table(name, rows) for name in trace.tables()]
    metrics = Results("metrics", "Metrics", "", _METRIC_COLUMNS, trace._report_once(rows)["metrics"])
    return {one.name: one.to_pandas() for one in (trace.findings(), metrics, *tables)}


def counters(work, set=None, timeout_s=60):
    """Calls `work` and returns the kernels that it launched, each with its hardware counters: rows, and to_pandas().

    The program has to run under `gprof-cli counters --profile-from-start off`, whose `--set` says which counters; another
    `set` than that of the run is refused. It needs NumPy."""
    return measure(work, set, timeout_s, read)


def show(trace, height=700, events=_EVENTS):
    """Shows the HTML page of a trace, or of a file, below the cell of a notebook. Elsewhere it is written to a temporary
    file and opened in a browser, if there is one; returns the path of the file."""
    trace = trace if isinstance(trace, Trace) else read(trace)
    return show_page(trace.html(events), height)


def load_ipython_extension(ipython):
    """`%load_ext gprof_cli` defines the cell magic `%%gprof`."""
    from .magic import CellMagic
    ipython.register_magic_function(CellMagic(ipython, read), "cell", "gprof")
