"""Reads traces of gprof-cli, and captures of other tools, as NumPy arrays. docs/python.md describes it."""

import json

import numpy as np

from . import _core
from ._core import Error, __version__
from .tables import Table, Texts, view

__all__ = ["Error", "KINDS", "NONE", "Table", "Texts", "Trace", "__version__", "read"]

_KINDS = {name: (meaning, tuple(columns)) for name, meaning, columns in _core.kinds()}
KINDS = tuple(_KINDS)

# In records: an index to nothing.
NONE = 0xFFFFFFFF


class Trace:
    """A trace. Each kind of record is a table: trace.kernel, trace.memcpy, trace.api, …; KINDS has them all."""

    def __init__(self, path):
        self._trace = _core.Trace(str(path))
        self._tables = {}
        self._records = None

    def __getitem__(self, kind):
        if kind not in _KINDS:
            raise KeyError(f"there is no kind of record {kind!r}; there are {', '.join(KINDS)}")
        if kind not in self._tables:
            self._tables[kind] = Table(kind, *_KINDS[kind], lambda: self._trace.columns(kind))
        return self._tables[kind]

    def __getattr__(self, name):
        if name in _KINDS:
            return self[name]
        raise AttributeError(f"a Trace has no attribute {name!r}")

    def __dir__(self):
        return [*super().__dir__(), *KINDS]

    path = property(lambda self: self._trace.path)
    recorder = property(lambda self: self._trace.recorder, doc="The tool that recorded it; empty for gprof-cli.")
    start_ns = property(lambda self: self._trace.start_ns)
    end_ns = property(lambda self: self._trace.end_ns)
    is_complete = property(lambda self: self._trace.is_complete, doc="Nothing is known to be missing.")
    lacks = property(lambda self: tuple(self._trace.lacks), doc="What was not recorded.")

    def records(self, name):
        """The records of the model: a structured array that cannot be written. They are as they lie in memory, without a
        copy; operations, calls and ranges are packed there, and are unpacked when they are first asked for. Fields that refer to others are indices (NONE: to nothing), names are numbers for text()."""
        if self._records is None:
            self._records = self._trace.records()
        if name not in self._records:
            raise KeyError(f"there are no records {name!r}; there are {', '.join(self._records)}")
        if self._records[name] is None:
            self._records[name] = self._trace.unpacked(name)
        _, size, names, formats, offsets, data = self._records[name]
        layout = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
        return view(data, layout, self._records[name][0], False)

    def text(self, number):
        """The text of a name in records."""
        return self._trace.text(int(number))

    def report(self, rows=100, step="", min_gap_ns=0):
        """What `gprof-cli report --format json` prints, as a dict: "schema": "gprof.report/1"."""
        return json.loads(self._trace.report(rows, min_gap_ns, step))

    def metrics(self):
        """The figures of the report: {"gpu.busy_percent@gpu0": 97.1, …}."""
        return {metric["id"] + ("@" + metric["scope"] if metric["scope"] else ""): metric["value"]
                for metric in self.report(rows=1)["metrics"]}

    def __repr__(self):
        return f"<Trace {self.path}>"


def read(path):
    """Reads a trace of gprof-cli, or a capture that another tool made. Raises Error."""
    return Trace(path)
