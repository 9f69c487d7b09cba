"""Says from within a serving engine what happens to its requests and what its steps are. docs/requests.md describes it.

An engine that does not run under `gprof-cli profile`, or in which nothing is being recorded, is not slowed down: every
function here returns at once then. Nothing here raises where an engine says something odd; it raises for wrong use, as
any function of Python does.

This file needs nothing but Python. The hooks of `gprof-cli profile --serving` use a copy of it.
"""
import ctypes
import itertools
import os
import threading
from array import array

NAMED, ARRIVED, TOKENS_OUT, PREEMPTED, FINISHED, ABORTED = range(6)  # RequestEventKind in gprof/trace/record.h
_EVENTS = {"arrived": ARRIVED, "tokens": TOKENS_OUT, "preempted": PREEMPTED, "finished": FINISHED, "aborted": ABORTED}


class _StepCall(ctypes.Structure):  # EngineStepCall in gprof/trace/serving_calls.h
    _fields_ = [("begin", ctypes.c_uint64), ("waiting", ctypes.c_uint64), ("cache_used", ctypes.c_uint64),
                ("cache_blocks", ctypes.c_uint64), ("requests", ctypes.c_uint64), ("request", ctypes.c_void_p),
                ("tokens", ctypes.c_void_p), ("cached", ctypes.c_void_p), ("tokens_out", ctypes.c_void_p),
                ("is_prefill", ctypes.c_void_p)]


class _EventCall(ctypes.Structure):  # RequestEventCall there
    _fields_ = [("request", ctypes.c_uint64), ("event", ctypes.c_uint64), ("tokens", ctypes.c_uint64),
                ("ago_ns", ctypes.c_uint64), ("name", ctypes.c_char_p), ("name_bytes", ctypes.c_uint64)]


class _Tracer:
    """The functions of the tracer in this process; `begin` is None where there is none."""

    def __init__(self):
        self.begin = self.end = self.tell = self.tokens = None
        path = os.environ.get("NVTX_INJECTION64_PATH") or os.environ.get("CUDA_INJECTION64_PATH", "")
        if "gprof-tracer" not in os.path.basename(path):
            return
        try:
            library = ctypes.CDLL(path)
            begin, end = library.GprofBeginEngineStep, library.GprofEndEngineStep
            tell, tokens = library.GprofTellRequestEvent, library.GprofTellTokensOut
        except (OSError, AttributeError):
            return
        begin.restype, begin.argtypes = ctypes.c_uint64, ()
        end.restype, end.argtypes = None, (ctypes.c_void_p,)
        tell.restype, tell.argtypes = ctypes.c_int, (ctypes.c_void_p,)
        tokens.restype, tokens.argtypes = None, (ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p)
        self.begin, self.end, self.tell, self.tokens = begin, end, tell, tokens


_tracer = None
_lock = threading.Lock()
_numbers = {}  # of requests that have not ended, by name
_untold = {}   # those whose names were told while nothing was recorded
_next_number = itertools.count(1)


def _get_tracer():
    global _tracer
    if _tracer is None:
        _tracer = _Tracer()
    return _tracer


def _number(name):
    number = _numbers.get(name)
    if number is None:
        with _lock:
            number = _numbers.get(name)
            if number is None:
                number = next(_next_number)
                if not _tell(number, NAMED, 0, 0, name):
                    _untold[name] = number
                _numbers[name] = number
    return number


def _tell_names():
    with _lock:
        for name, number in _untold.items():
            _tell(number, NAMED, 0, 0, name)
        _untold.clear()


def forget(name):
    """For hooks: this process will hear no more of the request, whose end another one tells of."""
    with _lock:
        _numbers.pop(name, None)
        _untold.pop(name, None)


def _forget_all():
    """The child of a fork has numbers of its own: the names were told for the parent."""
    global _lock
    _lock = threading.Lock()
    _numbers.clear()
    _untold.clear()


def _numbers_of(names):
    try:
        return array("Q", map(_numbers.__getitem__, names))
    except KeyError:  # some are new
        return array("Q", map(_number, names))


def _tell(number, event, tokens, ago_ns, name=None):
    """True: it was recorded."""
    data = None if name is None else str(name).encode("utf-8", "replace")
    call = _EventCall(number, event, tokens, ago_ns, data, 0 if data is None else len(data))
    return _get_tracer().tell(ctypes.byref(call)) != 0


def request(name, event, tokens=0, ago_s=0.0):
    """Says that something happened to the request `name` (a text or a number, unique in this process).

    event: "arrived" (tokens: of its prompt), "tokens" (tokens: as many were handed to the client), "preempted",
    "finished" or "aborted". ago_s: how long ago that was.
    """
    kind = _EVENTS.get(event)
    if kind is None:
        raise ValueError(f"unknown event {event!r}; there are {', '.join(_EVENTS)}")
    request_by_ns(name, kind, int(tokens), max(int(ago_s * 1e9), 0))


def request_by_ns(name, kind, tokens, ago_ns):
    """The same for hooks: `kind` is one of the constants, and `ago_ns` a whole number."""
    if _get_tracer().tell is None:
        return
    _tell(_number(name), kind, tokens, ago_ns)
    if kind in (FINISHED, ABORTED):
        forget(name)


def handed_out(names, counts):
    """For hooks: so many tokens were just handed to the clients of these requests. Cheaper than an event at a time."""
    tokens = _get_tracer().tokens
    if tokens is None:
        return
    if _untold:
        _tell_names()
    numbers, counts = _numbers_of(names), array("Q", counts)
    if len(numbers) != len(counts):
        raise ValueError("the lists of handed_out() have different lengths")
    tokens(len(numbers), numbers.buffer_info()[0], counts.buffer_info()[0])


def begin_step():
    """What end_step() takes; 0 where nothing is recorded now."""
    begin = _get_tracer().begin
    return 0 if begin is None else begin()


def end_step(begin, names, tokens, cached, tokens_out, is_prefill, waiting=0, cache_used=0, cache_blocks=0):
    """A step ends that begin_step() began. All but the last three are lists of one length, an element for a request."""
    if not begin:
        return
    if _untold:
        _tell_names()
    columns = [_numbers_of(names)]
    columns += [array("Q", column) for column in (tokens, cached, tokens_out, is_prefill)]
    if len({len(column) for column in columns}) != 1:
        raise ValueError("the lists of end_step() have different lengths")
    call = _StepCall(begin, waiting, cache_used, cache_blocks, len(columns[0]),
                     *(column.buffer_info()[0] for column in columns))
    _get_tracer().end(ctypes.byref(call))


class engine_step:
    """A step of the engine: `with engine_step(waiting=3) as step: …; step.add(request, tokens, …)`."""

    def __init__(self, waiting=0, cache_used=0, cache_blocks=0):
        self._about = waiting, cache_used, cache_blocks
        self._rows = []

    def add(self, name, tokens, cached=0, tokens_out=0, prefill=False):
        """`name` is in the batch with `tokens` tokens, behind `cached` that are in the KV cache."""
        self._rows.append((name, tokens, cached, tokens_out, prefill))

    def __enter__(self):
        self._begin = begin_step()
        return self

    def __exit__(self, *_):
        if self._begin:
            columns = zip(*self._rows) if self._rows else ((),) * 5
            end_step(self._begin, *columns, *self._about)
        return False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
