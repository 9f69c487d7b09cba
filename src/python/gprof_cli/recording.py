"""Says from within a program what of it is to be recorded. docs/python.md describes it.

A program that does not run under `gprof-cli` is not recorded: then nothing here does anything, and one warning says so.
"""

import contextlib
import ctypes
import os
import sys
import warnings

_MODE, _END, _RANGE = "GPROF_CAPTURE", "GPROF_CAPTURE_END", "GPROF_NVTX_CAPTURE"
_warned = set()


def _warn_once(message):
    if message not in _warned:
        _warned.add(message)
        # At the line of the program, which capture() is further away from than schedule().
        frame, level = sys._getframe(), 1
        while frame.f_back is not None and frame.f_code.co_filename in (__file__, contextlib.__file__):
            frame, level = frame.f_back, level + 1
        warnings.warn(message, RuntimeWarning, stacklevel=level)


class _ProfilerApi:
    """`-c cudaProfilerApi`: the driver's own calls, which need no package of CUDA."""

    def __init__(self):
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._driver.cuInit(0)  # the tracer is loaded by it, where CUDA was not used before

    def begin(self):
        self._driver.cuProfilerStart()

    def end(self):
        self._driver.cuProfilerStop()

    def wait(self):
        self._driver.cuCtxSynchronize()


class _Range:
    """`-p NAME`: a range of that name, by what the program has for NVTX."""

    def __init__(self, name, nvtx):
        self._name, self._nvtx = name, nvtx

    def begin(self):
        self._nvtx.range_push(self._name)

    def end(self):
        self._nvtx.range_pop()


class _NvtxPackage:
    """The package nvtx of PyPI, with the names that PyTorch has for the same."""

    def __init__(self, nvtx):
        self.range_push, self.range_pop = nvtx.push_range, nvtx.pop_range


def _nvtx():
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.cuda.nvtx
    try:
        import nvtx
    except ImportError:
        return None
    return _NvtxPackage(nvtx)


def _range_switch():
    name, _, domain = os.environ.get(_RANGE, "").partition("@")
    if not name or domain not in ("", "*"):
        _warn_once(f"gprof_cli cannot push the range {name!r} of the domain {domain!r}")
        return None
    nvtx = _nvtx()
    if nvtx is None:
        _warn_once("gprof_cli needs PyTorch, or the package nvtx, to push the range that 'gprof-cli profile -p' waits for")
        return None
    return _Range(name, nvtx)


def _profiler_switch():
    try:
        return _ProfilerApi()
    except (OSError, AttributeError):
        _warn_once("gprof_cli cannot load the CUDA driver: nothing is recorded")
        return None


def _switch(wants_steps=False):
    """What begins and ends recording; None where the program has no say in it."""
    mode = os.environ.get(_MODE, "")
    if "GPROF_OUTPUT" not in os.environ and mode != "command":
        _warn_once("this program does not run under gprof-cli: nothing is recorded")
    elif mode == "cudaProfilerApi":
        return _profiler_switch()
    elif mode == "nvtx" or (mode == "steps" and wants_steps):
        return _range_switch()
    else:
        _warn_once("what is recorded was decided when gprof-cli started this program: use "
                   "'gprof-cli profile -c cudaProfilerApi' to let gprof_cli decide")
    return None


@contextlib.contextmanager
def capture():
    """Records what is within, where the program runs under `gprof-cli profile -c cudaProfilerApi`, or with `-p NAME`."""
    switch = _switch()
    if switch is not None:
        switch.begin()
    try:
        yield
    finally:
        if switch is not None:
            switch.end()


class schedule:
    """Records `active` steps, after `wait` and `warmup` steps that are not recorded, `repeat` times (0: to the end), the
    first `skip_first` steps left out: the schedule of torch.profiler. Call step() after each step, or use it with `with`.
    """

    def __init__(self, *, wait, warmup, active, repeat=0, skip_first=0):
        if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
            raise ValueError("a schedule has at least one active step, and no negative numbers")
        self._waits, self._cycle = wait + warmup, wait + warmup + active
        self._repeat, self._skip, self._done, self._is_on = repeat, skip_first, 0, False
        # With --sample-steps the tracer counts, so that its warm-up is one: a range around each step is all it takes.
        self._counts_itself = os.environ.get(_MODE) != "steps"
        self._switch = _switch(wants_steps=True)
        if self._switch is not None and self._counts_itself and repeat != 1:
            self._check_end()
        self._enter()

    @staticmethod
    def _check_end():
        if os.environ.get(_END, "stop") in ("stop", "stop-shutdown"):
            _warn_once("only the first cycle of the schedule is recorded: add --capture-range-end repeat")

    def _wants(self, step):
        if not self._counts_itself:
            return True
        cycle, at = divmod(step - self._skip, self._cycle)
        return step >= self._skip and at >= self._waits and (self._repeat == 0 or cycle < self._repeat)

    def _enter(self):
        if self._switch is not None and not self._is_on and self._wants(self._done):
            self._switch.begin()
            self._is_on = True

    def _leave(self):
        if self._is_on:
            self._switch.end()
            self._is_on = False

    def _is_last_of_cycle(self, step):
        return not self._counts_itself or (step - self._skip + 1) % self._cycle == 0

    def step(self):
        """A step has ended, and the next one begins."""
        if self._is_on and self._is_last_of_cycle(self._done):
            self._leave()
        self._done += 1
        self._enter()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._leave()
