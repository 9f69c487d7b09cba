"""Hardware counters of what a function launches, within the program: for searches over configurations. docs/python.md describes it."""

import os
import time

from . import _core, recording
from ._core import Error, InputError
from .results import Results

_RUN = "gprof-cli counters --set {} --profile-from-start off -- python3 program.py"
_HEAD = ("device", "stream", "start_ns", "duration_ns", "status")


def _refuse(what, chosen):
    error = Error(what)
    error.hint = "run the program as: " + _RUN.format(chosen or "light")
    raise error


def _set_of_run(request):
    with open(request, encoding="utf-8") as lines:
        return next((line.split(" ", 1)[1].strip() for line in lines if line.startswith("set ")), "")


def _read(read):
    """The trace as it is now; None where nothing of it has been written yet."""
    try:
        return read(os.environ["GPROF_OUTPUT"])
    except InputError:
        return None


def _ended(trace):
    """When captures of this process began and ended, those that have ended."""
    if trace is None:
        return []
    return sorted((row["start_ns"], row["end_ns"]) for row in trace.capture.rows() if row["pid"] == os.getpid() and not row["is_open"])


def _rows(trace, start_ns, end_ns):
    values, kernels, metrics = {}, {}, {}
    for value in trace.counter_values.rows():
        values.setdefault(value["range"], {})[value["metric"]] = value["text"] if value["value"] is None else value["value"]
        kernels[value["range"]] = value["name"]
    rows = []
    for number, launch in enumerate(trace.counter_range.rows()):
        if launch["pid"] != os.getpid() or not start_ns <= launch["start_ns"] <= end_ns:
            continue
        measured = values.get(number, {})
        metrics.update(dict.fromkeys(measured))
        rows.append({"kernel": kernels.get(number, launch["name"]), **{name: launch[name] for name in _HEAD}, **measured})
    columns = ("kernel", *_HEAD, *metrics)
    return Results("counters", "Kernel counters", "", columns, [{name: row.get(name) for name in columns} for row in rows])


def measure(work, chosen, timeout_s, read):
    request = os.environ.get("GPROF_COUNTERS")
    if request is None or os.environ.get("GPROF_CAPTURE") != "cudaProfilerApi":
        _refuse("counters() needs a program that runs under 'gprof-cli counters --profile-from-start off'", chosen)
    if chosen is not None and _set_of_run(request) != chosen:
        _refuse(f"this run collects the set '{_set_of_run(request)}', not '{chosen}': a run has one set", chosen)
    before = len(_ended(_read(read)))
    profiler = recording._ProfilerApi()
    profiler.begin()
    try:
        work()
        profiler.wait()
    finally:
        profiler.end()
    return _wait(read, before, timeout_s)


def _wait(read, before, timeout_s):
    """The end of a capture, its values and their names are chunks of their own: what two looks have, with names, is all."""
    until, rows = time.monotonic() + timeout_s, None
    while time.monotonic() < until:
        trace = _read(read)
        captures = _ended(trace)
        if len(captures) > before:
            last, rows = rows, _rows(trace, *captures[-1])
            if rows == last and "" not in rows.columns and all(row["kernel"] for row in rows):
                return rows
        time.sleep(0.05)
    if rows is None:
        raise _core.failure("other", f"no counters arrived in {timeout_s} s", "see what 'gprof-cli counters' says of the run", 4)
    return rows
