"""Has PyTorch say its operators as NVTX ranges: what `gprof-cli profile --pytorch` puts on the path of Python.

Python imports the first module of this name that it finds. This one waits for the program to import torch, which it
never does by itself, then for CUDA to be initialised: torch runs what is queued by _lazy_call() at that moment, in the
child of a fork as well. Nothing here may be the reason for a program to fail.
"""
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_WANTED = os.environ.get("GPROF_PYTORCH", "").split(",")
_SHAPES = "autograd-shapes-nvtx" in _WANTED
_WANTS_OPERATORS = _SHAPES or "autograd-nvtx" in _WANTED


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

    def begin(self):
        if self.emitting is not None:
            return
        from torch.autograd import profiler
        emitting = profiler.emit_nvtx(record_shapes=_SHAPES)
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


def _quietly(call, *args):
    try:
        return call(*args)
    except Exception:  # the program goes on as it would without us
        return None


def _torch_is_there():
    torch = sys.modules["torch"]
    operators = _Operators()
    operators.give_way_to(torch.autograd.profiler.profile)
    torch.cuda._lazy_call(lambda: _quietly(operators.begin))


class _Loader:
    """Loads what another loader loads, and tells when that is done."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _quietly(_torch_is_there)


class _Finder:
    """Finds torch once, through all finders but itself."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(_Finder)
        spec = importlib.util.find_spec(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


if _WANTS_OPERATORS:
    sys.meta_path.insert(0, _Finder)
_run_the_next_one()
