"""Has each execution of some lines of Python be a range, which `gprof-cli what-if --of line:FILE:N` delays.

From Python 3.12 on, sys.monitoring watches the functions that have such a line, and nothing else. Before that there is
sys.settrace, which is asked at every call of a function. A line ends where the next one of its function begins, or where
the function returns, yields or, at the next time of the line, was left.
"""
import ctypes
import dis
import os
import sys
import threading


class Lines:
    def __init__(self, words, library):
        """`words`: "FILE:N" each, where FILE is a path or its end."""
        self._wanted = []
        for word in words:
            file, _, number = word.rpartition(":")
            self._wanted.append((os.path.normpath(file), int(number), b"line:" + os.fsencode(word)))
        self._of_code = {}  # by code object: {line: name}
        self._open = threading.local()
        tracer = ctypes.CDLL(library)
        self._begin, self._end = tracer.GprofBeginLine, tracer.GprofEndLine
        self._begin.argtypes, self._begin.restype = (ctypes.c_char_p,), ctypes.c_uint64
        self._end.argtypes, self._end.restype = (ctypes.c_uint64,), None

    def lines_of(self, code):
        """Of these lines, those that the code object has."""
        known = self._of_code.get(code)
        if known is None:
            path = os.path.normpath(code.co_filename)
            of_file = [(n, name) for file, n, name in self._wanted if path == file or path.endswith(os.sep + file)]
            own = {line for _, line in dis.findlinestarts(code)} if of_file else ()
            known = {n: name for n, name in of_file if n in own}
            self._of_code[code] = known
        return known

    def at_line(self, code, line):
        self.leave(code)
        name = self.lines_of(code).get(line)
        if name is not None:
            self._open.__dict__[code] = self._begin(name)

    def leave(self, code, *_):
        """The line that the function is in: one for each function and thread."""
        open_range = self._open.__dict__.pop(code, 0)
        if open_range:
            self._end(open_range)


def _monitor(lines):
    monitoring = sys.monitoring
    events = monitoring.events
    tool = next((n for n in (4, 3, monitoring.PROFILER_ID) if monitoring.get_tool(n) is None), None)
    if tool is None:
        return
    monitoring.use_tool_id(tool, "gprof-cli")

    def start(code, _):
        if lines.lines_of(code):
            monitoring.set_local_events(tool, code, events.LINE | events.PY_RETURN | events.PY_YIELD)
        return monitoring.DISABLE

    monitoring.register_callback(tool, events.PY_START, start)
    monitoring.register_callback(tool, events.LINE, lines.at_line)
    monitoring.register_callback(tool, events.PY_RETURN, lines.leave)
    monitoring.register_callback(tool, events.PY_YIELD, lines.leave)
    monitoring.set_events(tool, events.PY_START)


def _trace(lines):
    def within(frame, event, _):
        if event == "line":
            lines.at_line(frame.f_code, frame.f_lineno)
        else:
            lines.leave(frame.f_code)
        return within

    def enter(frame, event, _):
        return within if event == "call" and lines.lines_of(frame.f_code) else None

    threading.settrace(enter)
    sys.settrace(enter)


def watch(words, library):
    lines = Lines(words, library)
    if hasattr(sys, "monitoring"):
        _monitor(lines)
    else:
        _trace(lines)
