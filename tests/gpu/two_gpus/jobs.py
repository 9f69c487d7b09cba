"""Commands of the cases: bounded in time, with their output in files, and ended with all that they have started."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import marked_processes
import recorded
import support

PROGRAMS = support.SOURCE / "tests" / "gpu" / "programs"
MARK = "TWO_GPUS_JOB"  # in the environment of what a job has started, in whatever session or group that is
NUMBERS = itertools.count(1)
MOST_S = 60  # of a command
LATER_S = 8  # what has been measured may be read when the budget is spent
GRACE_S = 3
TRACE_BYTES, ALL_TRACE_BYTES = 2_000_000, 14_000_000
# NVLink multicast may put the GPUs of a host out of service.
NO_MULTICAST = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}


class CaseError(Exception):
    """Why a case has no more figures."""


class Done:
    def __init__(self, code, seconds, stdout, stderr):
        self.code, self.seconds, self.stdout, self.stderr = code, seconds, stdout, stderr

    def documents(self):
        """The lines of JSON that it has printed."""
        found = []
        for line in self.stdout.splitlines():
            if line.startswith("{"):
                with contextlib.suppress(json.JSONDecodeError):
                    found.append(json.loads(line))
        return found

    def must_be_well(self, what):
        if self.code != 0:
            why = "took too long" if self.code is None else f"ended with {self.code}"
            raise CaseError(f"{what} {why} after {self.seconds:.1f} s: {self.stderr[-1500:]} {self.stdout[-500:]}")
        return self


class Job:
    """One command. None waits for a pipe that a child of it holds."""

    def __init__(self, folder, words, **more):
        self.token = f"{os.getpid()}.{next(NUMBERS)}"
        self.paths = [folder / f"job{self.token}.{stream}" for stream in ("out", "err")]
        self.begun = time.monotonic()
        env = support.environment(**{"PYTHONPATH": support.python_path(), "OMP_NUM_THREADS": "1", "NO_COLOR": "1", **NO_MULTICAST, **more, MARK: self.token})
        with self.paths[0].open("wb") as out, self.paths[1].open("wb") as err:
            self.process = subprocess.Popen([str(word) for word in words], env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            cwd=folder, start_new_session=True)

    def is_running(self):
        return self.process.poll() is None

    def wait(self, timeout_s):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(timeout_s, 0.1))
        code = self.process.poll()
        taken = time.monotonic() - self.begun
        self.end()
        stdout, stderr = (path.read_text(encoding="utf-8", errors="replace") for path in self.paths)
        return Done(code, taken, stdout, stderr)

    def end(self):
        """Asks all of its processes to end, and then no longer asks."""
        if self.is_running():
            marked_processes.send(marked_processes.find(MARK, self.token), signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_S)
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        marked_processes.send(marked_processes.find(MARK, self.token), signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)


class Bench:
    """What the cases share: how much time is left, where files go, what is said."""

    def __init__(self, out, budget_s, ranks, nsys):
        self.out, self.ranks, self.nsys = out.resolve(), ranks, nsys
        self.until = time.monotonic() + budget_s
        self.traces = self.out / "traces"
        self.traces.mkdir(parents=True, exist_ok=True)
        self.kept_bytes = 0
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="two-gpus-"))
        self.jobs = []

    def left_s(self):
        return self.until - time.monotonic()

    def say(self, *words):
        print(*words, flush=True)
        with (self.out / "two_gpus.log").open("a", encoding="utf-8") as log:
            print(*words, file=log)

    def start(self, *words, **more):
        if self.left_s() < -LATER_S:
            raise CaseError("no time is left")
        self.jobs.append(Job(self.folder, words, **more))
        return self.jobs[-1]

    def run(self, *words, timeout_s=MOST_S, **more):
        return self.start(*words, **more).wait(self.bounded_s(timeout_s))

    def bounded_s(self, seconds=MOST_S):
        """No command goes on for long when the budget is spent."""
        return min(seconds, max(self.left_s(), 0) + LATER_S)

    def end_jobs(self):
        for job in self.jobs:
            job.end()
        self.jobs = []

    def cli(self, *words, timeout_s=MOST_S):
        return self.run(support.COMMAND, *words, timeout_s=timeout_s, COLUMNS="100")

    def json_of(self, *words):
        return json.loads(self.cli(*words, "--format", "json").must_be_well(f"gprof-cli {words[0]}").stdout)

    def records(self, trace, kinds=""):
        """Of these kinds only, as the samples of a trace are many; all of them without `kinds`."""
        only = ["--kind", kinds] if kinds else []
        return recorded.Records(self.cli("dump", trace, *only).must_be_well("gprof-cli dump").stdout)

    def new_folder(self, name):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def keep(self, path, name):
        """A copy of a small trace, and of any what can be read instead; the size of the trace, with what became of it."""
        if not path.is_file():
            return "not written"
        size = path.stat().st_size
        self.cli("partial", path, "-q", "-o", self.traces / f"{name}.gpart")
        (self.traces / f"{name}.txt").write_text(self.cli("report", "--no-pager", path).stdout, encoding="utf-8")
        if size > TRACE_BYTES or self.kept_bytes + size > ALL_TRACE_BYTES:
            return f"{size} bytes, not kept"
        shutil.copyfile(path, self.traces / name)
        self.kept_bytes += size
        return f"{size} bytes"


def torchrun(ranks, *program, own=()):
    """`own`: a command that each rank is started by."""
    launcher = [sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]
    if own:
        return [*launcher, "--no-python", *own, sys.executable, "-B", *program]
    return [*launcher, *program]


def profile(trace, *options):
    return [support.COMMAND, "profile", "-f", "-o", trace, *options, "--"]
