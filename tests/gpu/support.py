"""What the tests with a GPU share: where things are, how a program is profiled, when to skip."""

import contextlib
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", SOURCE / "build" / "release")).resolve()
COMMAND = BUILD / "bin" / "gprof-cli"
EXAMPLES = BUILD / "share" / "gprof-cli" / "examples"
PROGRAMS = BUILD / "tests" / "bin"
SHIM = pathlib.Path(__file__).resolve().parent / "shim"
SKIP = 77
TIMEOUT_S = int(os.environ.get("GPROF_TEST_TIMEOUT_S", "240"))


def gpu_count():
    """GPUs that the driver shows, 0 without a driver."""
    if not os.path.exists("/proc/driver/nvidia") and not os.path.exists("/dev/nvidiactl"):
        return 0
    if shutil.which("nvidia-smi") is None:
        return len(glob.glob("/dev/nvidia[0-9]*"))
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=TIMEOUT_S)
    return sum(line.startswith("GPU ") for line in done.stdout.splitlines()) if done.returncode == 0 else 0


def why_not(gpus=1):
    """Why the tests cannot run here, None when they can."""
    found = gpu_count()
    if found < gpus:
        return f"needs {'a GPU' if gpus == 1 else f'{gpus} GPUs'}, and there {'is' if found == 1 else 'are'} {found}"
    if not COMMAND.is_file():
        return f"gprof-cli was not built in {BUILD}"
    if not (EXAMPLES / "known_facts").is_file():
        return "the CUDA examples were not built (no nvcc when CMake ran)"
    return None


def main(gpus=1):
    reason = why_not(gpus)
    if reason:
        print("skipped:", reason)
        sys.exit(SKIP)
    unittest.main(verbosity=2)


def environment(**more):
    """Of every program that a test starts: nothing inherited that changes what is recorded."""
    ours = ("GPROF_", "CUDA_INJECTION", "NVTX_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    kept.pop("LD_PRELOAD", None)
    return {**kept, **more}


def python_path():
    """The shim first; then what the tests were given, such as a folder with wheels."""
    return ":".join(filter(None, [str(SHIM), os.environ.get("PYTHONPATH", "")]))


def run(*words, env=None, cwd=None):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=TIMEOUT_S, env=env or environment(), cwd=cwd)


def profile(trace, *program, options=(), env=None, cwd=None):
    """Runs `program` under gprof-cli; what comes back is what the program printed and the exit code of both."""
    return run(COMMAND, "profile", "-f", "-o", trace, *options, "--", *program, env=env, cwd=cwd)


@contextlib.contextmanager
def temporary_folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-gpu-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class GpuTest(unittest.TestCase):
    """A test case with a folder of its own and checks for what every profile must fulfil."""

    maxDiff = None
    gpus = 1

    @classmethod
    def setUpClass(cls):
        reason = why_not(cls.gpus)
        if reason:
            raise unittest.SkipTest(reason)

    def setUp(self):
        self.folder = self.enterContext(temporary_folder())
        self.trace = self.folder / "run.trace"

    def profile(self, *program, code=0, **more):
        done = profile(self.trace, *program, **more)
        self.assertEqual(done.returncode, code, f"{done.stdout}\n{done.stderr}")
        self.assertTrue(self.trace.is_file(), done.stderr)
        return done

    def example(self, name, *arguments, **more):
        return self.profile(EXAMPLES / name, *arguments, **more)


def wait_for(condition, what):
    """Polls until `condition()` is true; its value."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {TIMEOUT_S} s for {what}")


def read_json(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
