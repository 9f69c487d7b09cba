"""The C++ of gprof_cli, called by ctypes: libgprof_python.so knows nothing of Python, so that one serves every version.

While a function runs, other threads of Python do.
"""

import ctypes
import json
import os
import pathlib

_LIBRARY = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libgprof_python.so")))


class Error(Exception):
    """What failed and why; `hint` says what to do about it, `code` what a command would exit with."""


class FileError(Error, OSError):
    """The system did not give the file; `errno` says why."""


class NotFoundError(FileError, FileNotFoundError):
    """There is no such file."""


class InputError(Error, ValueError):
    """The file is no trace, or too damaged to be read."""


for _type in (Error, FileError, NotFoundError, InputError):
    _type.__module__ = "gprof_cli"
_ERRORS = (None, Error, FileError, NotFoundError, InputError)


class _Buffer(ctypes.Structure):
    _fields_ = [("first", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class _Answer(ctypes.Structure):
    _fields_ = [("text", ctypes.c_void_p), ("text_bytes", ctypes.c_size_t),
                ("hint", ctypes.c_void_p), ("hint_bytes", ctypes.c_size_t),
                ("buffers", ctypes.POINTER(_Buffer)), ("buffer_count", ctypes.c_size_t),
                ("error", ctypes.c_int32), ("code", ctypes.c_int32), ("number", ctypes.c_int32)]


_LIBRARY.gprof_version.restype = ctypes.c_char_p
_LIBRARY.gprof_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.POINTER(_Answer))]
_LIBRARY.gprof_open.restype = ctypes.c_void_p
_LIBRARY.gprof_close.argtypes = [ctypes.c_void_p]
_LIBRARY.gprof_close.restype = None
_LIBRARY.gprof_ask.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int64]
_LIBRARY.gprof_ask.restype = ctypes.POINTER(_Answer)
_LIBRARY.gprof_merge.argtypes = [ctypes.POINTER(_Buffer), ctypes.c_size_t]
_LIBRARY.gprof_merge.restype = ctypes.POINTER(_Answer)
_LIBRARY.gprof_judge.argtypes = [ctypes.POINTER(_Buffer), ctypes.c_uint32]
_LIBRARY.gprof_judge.restype = ctypes.POINTER(_Answer)
_LIBRARY.gprof_free.argtypes = [ctypes.POINTER(_Answer)]
_LIBRARY.gprof_free.restype = None

__version__ = _LIBRARY.gprof_version().decode()


def _decoded(data):
    # Names come from programs, and may be no UTF-8.
    return data.decode("utf-8", "backslashreplace")


class _Answered:
    """An answer, which frees what C++ made for it. `trace` lives as long: records are a part of it."""

    def __init__(self, pointer, trace=None):
        self._pointer = pointer
        self._trace = trace
        answer = pointer.contents
        self.data = ctypes.string_at(answer.text, answer.text_bytes)
        if answer.error:
            error = _ERRORS[answer.error](_decoded(self.data))
            error.hint = _decoded(ctypes.string_at(answer.hint, answer.hint_bytes))
            error.code = answer.code
            if isinstance(error, FileError):
                error.errno = answer.number
            raise error

    def __del__(self):
        _LIBRARY.gprof_free(self._pointer)

    def buffer(self, number):
        """Bytes that cannot be written; what looks at them keeps the answer."""
        buffer = self._pointer.contents.buffers[number]
        data = (ctypes.c_ubyte * buffer.bytes).from_address(buffer.first or 1)
        data.answer = self
        return memoryview(data).toreadonly()

    def texts(self, number):
        lengths, data = self.buffer(number).cast("B").cast("Q"), bytes(self.buffer(number + 1))
        texts, at = [], 0
        for length in lengths:
            texts.append(_decoded(data[at:at + length]))
            at += length
        return texts


def _ask(trace, function, word="", count=0, ns=0):
    handle = None if trace is None else trace.handle
    return _Answered(_LIBRARY.gprof_ask(handle, function.encode(), os.fsencode(word), count, ns), trace)


def kinds():
    """[[name, meaning, [column, …]], …]"""
    return json.loads(_ask(None, "kinds").data)


def open_file(path):
    """Shows it in a browser, if there is one."""
    _ask(None, "open_file", path)


def partial(path, threads):
    return _ask(None, "partial", path, threads).data


def abandoned(path):
    return _ask(None, "abandoned", path).data


def _buffers(parts):
    # Bytes stay where they are while the caller holds them.
    return (_Buffer * len(parts))(*(_Buffer(ctypes.cast(part, ctypes.c_void_p), len(part)) for part in parts))


def merge(parts):
    return _Answered(_LIBRARY.gprof_merge(_buffers(parts), len(parts))).data


def judge(part, rows):
    return json.loads(_Answered(_LIBRARY.gprof_judge(_buffers([part]), rows)).data)


class Trace:
    def __init__(self, path):
        self.handle = None
        answer = ctypes.POINTER(_Answer)()
        self.handle = _LIBRARY.gprof_open(os.fsencode(path), ctypes.byref(answer))
        _Answered(answer)
        about = _ask(self, "about")
        self.path, self.recorder, self.summary = about.texts(0)
        self.__dict__.update(json.loads(about.data))

    def __del__(self):
        if self.handle is not None:
            _LIBRARY.gprof_close(self.handle)

    def report(self, rows, min_gap_ns, step):
        return _decoded(_ask(self, "report", step, rows, min_gap_ns).data)

    def card(self):
        return _decoded(_ask(self, "card").data)

    def page(self, events):
        return _decoded(_ask(self, "page", "", events).data)

    def text(self, number):
        if not 0 <= number < self.texts:
            raise IndexError("the trace has no text of this number")
        return _decoded(_ask(self, "text", "", number).data)

    def columns(self, kind):
        """(rows, {column: (format, items, missing or None, texts or None, is_constant)})"""
        answer = _ask(self, "columns", kind)
        made = json.loads(answer.data)
        columns = {}
        for column in made["columns"]:
            missing = None if column["missing"] is None else answer.buffer(column["missing"])
            texts = None if column["texts"] is None else answer.texts(column["texts"])
            columns[column["name"]] = (column["format"], answer.buffer(column["items"]), missing, texts, column["is_constant"])
        return made["rows"], columns

    def records(self):
        """{name: (records, bytes of a record, names, formats, offsets, items)}, and None for those of unpacked()."""
        answer = _ask(self, "records")
        return {name: view and _described(answer, view) for name, view in json.loads(answer.data).items()}

    def unpacked(self, name):
        answer = _ask(self, "unpacked", name)
        return _described(answer, json.loads(answer.data))


def _described(answer, view):
    return (view["count"], view["bytes"], view["names"], view["formats"], view["offsets"], answer.buffer(view["items"]))
