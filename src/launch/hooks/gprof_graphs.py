"""Has the tracer know which part of a PyTorch model the nodes of CUDA graphs are of. sitecustomize.py runs it for
`--pytorch graphs` and `--serving`.

While a graph is captured, and only then, each module that runs is told by its name. What torch.compile generates has no
modules any more: for its files the tracer is told which line came from which line and module of the model. The comments
that torch writes into these files name nodes of the graph that it compiled, and these know their source. Nothing here
may be the reason for a program to fail.
"""
import ctypes
import functools
import os
import re
import sys
import threading

_WITHIN = " / "


class _Lines(ctypes.Structure):
    """gprof/trace/place_calls.h"""
    _fields_ = [("file", ctypes.c_char_p), ("first_line", ctypes.c_uint64), ("last_line", ctypes.c_uint64),
                ("source_file", ctypes.c_char_p), ("source_line", ctypes.c_uint64), ("function", ctypes.c_char_p),
                ("place", ctypes.c_char_p)]


@functools.lru_cache(None)
def _tracer():
    return ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"])


def tell_place(place):
    _tracer().GprofTellPlace(place.encode(errors="replace"))


def tell_lines(file, first_line, last_line, source):
    place, source_file, source_line, function = source
    texts = [text.encode(errors="replace") for text in (file, source_file, function, place)]
    _tracer().GprofTellGeneratedLines(ctypes.byref(
        _Lines(texts[0], first_line, last_line, texts[1], source_line, texts[2], texts[3])))


class Places:
    """The names that a thread is in, told with each change."""

    def __init__(self):
        self._thread = threading.local()

    def _names(self):
        names = getattr(self._thread, "names", None)
        if names is None:
            names = self._thread.names = []
        return names

    def push(self, name):
        self._names().append(name)
        tell_place(_WITHIN.join(self._names()))

    def pop(self):
        self._names().pop()
        tell_place(_WITHIN.join(self._names()))

    def clear(self):
        self._names().clear()
        tell_place("")


def _has_compiled_code():
    """Hooks of modules in general are among what compiled code checks before it runs: with them it would be compiled
    anew, and within a capture that fails."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and dynamo.counters["frames"]["total"] > 0


def watch_captures(torch, make_modules):
    """make_modules(push, pop): what has begin(), which calls them for each module, and end()."""
    kind, places, lock = torch.cuda.graphs.CUDAGraph, Places(), threading.Lock()
    modules, captures = make_modules(places.push, places.pop), 0
    begin, end = kind.capture_begin, kind.capture_end

    def change(by):
        nonlocal captures
        with lock:
            was, captures = captures, max(captures + by, 0)
            if was == 0 and captures and not _has_compiled_code():
                modules.begin()
            elif captures == 0:
                modules.end()
        if by < 0:
            places.clear()

    @functools.wraps(begin)
    def capture_begin(self, *args, **keywords):
        result = begin(self, *args, **keywords)
        _quietly(change, 1)
        return result

    @functools.wraps(end)
    def capture_end(self, *args, **keywords):
        _quietly(change, -1)
        return end(self, *args, **keywords)
    kind.capture_begin, kind.capture_end = capture_begin, capture_end


# What torch.compile generates.

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_NODES = re.compile(r"#.*?\bSource Nodes: \[([^\]]*)\]")


def _label(path):
    """"h.0.attn" of "L['self'].h[0].attn" and of "L['self']._modules['h']._modules['0'].attn"."""
    path = re.sub(r"^[A-Z]\[['\"][^\]]*['\"]\]", "", path)
    return re.sub(r"\.?_modules\[['\"]([^\]]*)['\"]\]|\[['\"]?([^\]'\"]*)['\"]?\]", r".\1\2", path).strip(".")


def _place_of(modules):
    """Of node.meta["nn_module_stack"]: {key: (path, class or its name)}, outermost first."""
    names = []
    for path, kind in modules.values():
        kind = (kind if isinstance(kind, str) else kind.__name__).rpartition(".")[2]
        label = _label(path)
        names.append("nn.Module: " + (f"{label} ({kind})" if label else kind))
    return _WITHIN.join(names)


def _source_of(node, torch_folder):
    """(place, file, line, function), the innermost line that is not torch's own."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if not frame[0].startswith(torch_folder)] or frames
    file, line, function = own[-1] if own else ("", 0, "")
    return _place_of(node.meta.get("nn_module_stack") or {}), file, int(line), function


class _GeneratedFiles:
    """Of graphs that were compiled, sources by the name of a node. A file is loaded within its compilation; the
    backward pass may be later, and has only names that no two graphs give to different code."""

    def __init__(self, torch_folder):
        self._torch_folder = torch_folder
        self._told, self._of_all, self._thread = set(), {}, threading.local()

    def note_graph(self, graph):
        sources = {node.name: _source_of(node, self._torch_folder) for node in graph.nodes if node.meta.get("stack_trace")}
        for name, source in sources.items():
            self._of_all[name] = source if self._of_all.get(name, source) == source else None
        return sources

    def within(self, sources):
        was, self._thread.sources = getattr(self._thread, "sources", None), sources
        return was

    def tell(self, file):
        if file in self._told:
            return
        self._told.add(file)
        sources = getattr(self._thread, "sources", None) or {}
        with open(file, encoding="utf-8", errors="replace") as text:
            lines = text.readlines()
        begins = [(number, found.group(1)) for number, line in enumerate(lines, 1) if (found := _NODES.search(line))]
        ends = [number - 1 for number, _ in begins[1:]] + [len(lines)]
        for (first, names), last in zip(begins, ends):
            known = [source for name in names.replace(",", " ").split()
                     if (source := sources.get(name) or self._of_all.get(name))]
            if known:  # a kernel of several counts for the one whose result it computes
                tell_lines(file, first + 1, last, known[-1])


_files = None


def compiler_is_there():
    """torch._inductor.compile_fx was loaded, and with it torch._inductor.codecache."""
    global _files
    compiler, cache = sys.modules["torch._inductor.compile_fx"], sys.modules["torch._inductor.codecache"].PyCodeCache
    if _files is not None or not hasattr(cache, "load_by_key_path"):
        return
    _files = _GeneratedFiles(os.path.dirname(sys.modules["torch"].__file__) + os.sep)
    compile_fx, load = compiler.compile_fx, cache.load_by_key_path

    @functools.wraps(compile_fx)
    def hooked_compile_fx(model_, *args, **keywords):
        sources = _quietly(_files.note_graph, model_.graph) if hasattr(model_, "graph") else None
        was = _files.within(sources)
        try:
            return compile_fx(model_, *args, **keywords)
        finally:
            _files.within(was)

    @functools.wraps(load)
    def hooked_load(key, path, *args, **keywords):
        module = load(key, path, *args, **keywords)
        _quietly(_files.tell, path)
        return module
    compiler.compile_fx, cache.load_by_key_path = hooked_compile_fx, staticmethod(hooked_load)


def _quietly(call, *args):
    try:
        return call(*args)
    except Exception:  # the program goes on as it would without us
        return None
