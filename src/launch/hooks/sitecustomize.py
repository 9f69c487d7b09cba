"""Has PyTorch say its operators and modules as NVTX ranges, and serving engines their requests and steps: what
`gprof-cli profile` puts on the path of Python for --pytorch and --serving.

Python imports the first module of this name that it finds. This one waits for the program to import torch or an engine,
which it never does by itself. With torch it waits for CUDA to be initialised, too: torch runs what is queued by
_lazy_call() at that moment, in the child of a fork as well. What engines are asked is in gprof_engines.py. Nothing here
may be the reason for a program to fail.
"""
import functools
import importlib.machinery
import importlib.util
import os
import sys
import threading
import warnings
import weakref

_HERE = os.path.dirname(os.path.abspath(__file__))
_WANTED = os.environ.get("GPROF_PYTORCH", "").split(",")
_SHAPES = "autograd-shapes-nvtx" in _WANTED
_WANTS_OPERATORS = _SHAPES or "autograd-nvtx" in _WANTED
_WANTS_CALLBACKS = "ops" in _WANTED
_WANTS_MODULES = "modules" in _WANTED
_WANTS_SERVING = os.environ.get("GPROF_SERVING") == "1"
_WANTS_GRAPHS = "graphs" in _WANTED or _WANTS_SERVING


def _without_us(path):
    return [folder for folder in path if os.path.abspath(folder or os.curdir) != _HERE]


def _run_the_next_one():
    """The sitecustomize that would have been imported without us; what it raises is shown as it would have been."""
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", _without_us(sys.path))
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class _Operators:
    """emit_nvtx(), until the program wants a profiler of its own: torch has room for one."""

    emitting = None

    def __init__(self, has_shapes):
        self._has_shapes = has_shapes

    def begin(self):
        if self.emitting is not None:
            return
        from torch.autograd import profiler
        emitting = profiler.emit_nvtx(record_shapes=self._has_shapes)
        emitting.__enter__()
        self.emitting = emitting

    def end(self):
        emitting, self.emitting = self.emitting, None
        if emitting is not None:
            emitting.__exit__(None, None, None)

    def give_way_to(self, kind):
        """Ends when an object of this class is made."""
        begin = kind.__init__

        def __init__(instance, *args, **keywords):
            _quietly(self.end)
            return begin(instance, *args, **keywords)
        __init__.__wrapped__ = begin
        kind.__init__ = __init__


def _record_by_callbacks(torch):
    """Has the tracer called by libtorch. It finds out where things are by operators whose inputs are known to it.

    False where this build of torch is not one that it can read; where nothing is recorded at all, that is no reason to
    try something else.
    """
    import ctypes
    try_it, finish = 1, 2
    record = ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"]).GprofRecordOperators
    record.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    with torch.inference_mode(False), torch.enable_grad():
        small = torch.zeros((3, 5), dtype=torch.float32, device="cpu")
        deep = torch.zeros((2, 1, 3, 1, 1, 7), dtype=torch.int64, device="cpu")
        answer = record(try_it, small._cdata, deep._cdata)
        if answer > 0:
            try:
                torch.sum(small, dim=[1, 0], keepdim=True)
                torch.cat([small, small])
            finally:
                answer = record(finish, None, None)
    return answer != 0


def _begin_operators(torch):
    if _quietly(_record_by_callbacks, torch):
        return
    operators = _Operators(has_shapes=True)
    operators.give_way_to(torch.autograd.profiler.profile)
    operators.begin()


class _Modules:
    """push(name) for each forward() of a module, by its name in the outermost one, and for each step of an optimizer;
    pop() after it.

    No hooks of backward(): they would put functions of their own into the graph of autograd. Code that is being compiled
    is left alone, as a range within it would break the graph.
    """

    def __init__(self, torch, push, pop):
        self._push, self._pop, self._handles = push, pop, []
        self._is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
        self._names = {}  # by id, with a weak reference: classes of users may compare and hash as they like

    def begin(self):
        modules, optimizers = sys.modules["torch.nn.modules.module"], sys.modules["torch.optim.optimizer"]
        # torch.compile() warns of hooks like these; they stay out of what it compiles.
        warnings.filterwarnings("ignore", message=r"Using `torch\.compile\(module\)` when there are global hooks")
        # Called when forward() raises, too, from 2.0 on; without that a range would stay open.
        self._thread = threading.local()
        self._handles = [modules.register_module_forward_hook(self._after, always_call=True),
                         modules.register_module_forward_pre_hook(self._before),
                         optimizers.register_optimizer_step_pre_hook(self._before_step),
                         optimizers.register_optimizer_step_post_hook(self._after_step)]

    def end(self):
        while self._handles:
            self._handles.pop().remove()

    def _before(self, module, _):
        if not self._is_compiling():
            _quietly(self._open, module)

    def _after(self, module, *_):
        if not self._is_compiling():
            _quietly(self._close)

    def _before_step(self, optimizer, *_):
        if not self._is_compiling():
            _quietly(self._push, "Optimizer.step: " + type(optimizer).__name__)

    def _after_step(self, *_):
        if not self._is_compiling():
            _quietly(self._pop)

    def _open(self, module):
        depth = getattr(self._thread, "depth", 0)
        if depth == 0 and self._name_of(module) is None:
            compiled = getattr(module, "_orig_mod", None)
            self._give_name(module, type(module).__name__ if compiled is None else type(compiled).__name__ + " [compiled]")
            for path, inner in (module if compiled is None else compiled).named_modules():
                if path:
                    self._give_name(inner, f"{path} ({type(inner).__name__})")
        self._push("nn.Module: " + (self._name_of(module) or type(module).__name__))
        self._thread.depth = depth + 1

    def _close(self):
        depth = getattr(self._thread, "depth", 0)
        if depth > 0:  # not of a call from before the first range
            self._thread.depth = depth - 1
            self._pop()

    def _give_name(self, module, name):
        key = id(module)
        self._names[key] = (weakref.ref(module, lambda _: self._names.pop(key, None)), name)

    def _name_of(self, module):
        known = self._names.get(id(module))
        return known[1] if known is not None and known[0]() is module else None


def _quietly(call, *args):
    try:
        return call(*args)
    except Exception:  # the program goes on as it would without us
        return None


def _torch_is_there():
    torch = sys.modules["torch"]
    if _WANTS_CALLBACKS:
        torch.cuda._lazy_call(lambda: _quietly(_begin_operators, torch))
    elif _WANTS_OPERATORS:
        operators = _Operators(_SHAPES)
        operators.give_way_to(torch.autograd.profiler.profile)
        torch.cuda._lazy_call(lambda: _quietly(operators.begin))
    if _WANTS_MODULES:
        nvtx = torch.cuda.nvtx
        modules = _Modules(torch, nvtx.range_push, nvtx.range_pop)
        torch.cuda._lazy_call(lambda: _quietly(modules.begin))
    elif _WANTS_GRAPHS:
        import gprof_graphs
        gprof_graphs.watch_captures(torch, functools.partial(_Modules, torch))


class _Loader:
    """Loads what another loader loads, and calls `then` when that is done."""

    def __init__(self, loader, then):
        self._loader, self._then = loader, then

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _quietly(self._then)


_awaited = {}  # by the module's name: what to call once it was loaded


class _Finder:
    """Finds each module that is waited for once, through all finders but itself."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        then = _awaited.pop(name, None)
        if then is None:
            return None
        if not _awaited:
            sys.meta_path.remove(_Finder)
        spec = importlib.util.find_spec(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, then)
        return spec


def _await_engines():
    import gprof_engines
    _awaited.update((name, functools.partial(gprof_engines.loaded, name)) for name in gprof_engines.AWAITED)


def _watch_lines(words):
    import gprof_lines
    gprof_lines.watch(words.split(","), os.environ["NVTX_INJECTION64_PATH"])


def _await_compiler():
    import gprof_graphs
    _awaited["torch._inductor.compile_fx"] = gprof_graphs.compiler_is_there


if _WANTS_CALLBACKS or _WANTS_OPERATORS or _WANTS_MODULES or _WANTS_GRAPHS:
    _awaited["torch"] = _torch_is_there
if _WANTS_MODULES or _WANTS_GRAPHS:
    _quietly(_await_compiler)
if _WANTS_SERVING:
    _quietly(_await_engines)
if _awaited:
    sys.meta_path.insert(0, _Finder)
if os.environ.get("GPROF_LINES"):
    _quietly(_watch_lines, os.environ["GPROF_LINES"])
_run_the_next_one()
