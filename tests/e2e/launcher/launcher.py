"""What the tests of the launcher share: an installation with a stub tracer, and ways to run it."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

CLI = pathlib.Path(os.environ["GPROF_TEST_CLI"])
STUB = pathlib.Path(os.environ["GPROF_TEST_STUB"])
ASSEMBLE = pathlib.Path(os.environ["GPROF_TEST_ASSEMBLE"])
DEADLINE_S = 120
FIRST_CHUNK_BYTES = 96

# Where tests run in the background or under nohup, these are ignored, and would be by all programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


class LauncherTest(unittest.TestCase):
    """Every test has a folder of its own, which is the current folder of what it runs."""

    @classmethod
    def setUpClass(cls):
        cls._prefix = tempfile.TemporaryDirectory(prefix="gprof-launcher-")
        prefix = pathlib.Path(cls._prefix.name)
        cls.cli = install(prefix)
        cls.stub = prefix / "lib" / "gprof-cli" / "libgprof-tracer.so"

    @classmethod
    def tearDownClass(cls):
        cls._prefix.cleanup()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="gprof-launcher-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(os.path.realpath(temporary.name))
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith("GPROF_") and not name.endswith("_INJECTION64_PATH")}
        self.env["LC_ALL"] = "C.UTF-8"
        # Tests that run at the same time must not clear up after each other.
        base = tempfile.TemporaryDirectory(prefix="gprof-base-")
        self.addCleanup(base.cleanup)
        self.base = pathlib.Path(base.name)
        self.env["GPROF_RUN_BASE"] = str(self.base)

    def profile(self, *words, **options):
        return self.run_in_folder(self.cli, "profile", *words, **options)

    def run_in_folder(self, *words, **options):
        options = {"cwd": self.folder, "env": self.env, "stdin": subprocess.DEVNULL, "capture_output": True,
                   "timeout": DEADLINE_S, "check": False, **options}
        if "input" in options:
            del options["stdin"]
        return subprocess.run([str(word) for word in words], **options)

    def start(self, *words, **options):
        """A process that is gone when the test is over, whatever happens."""
        options = {"cwd": self.folder, "env": self.env, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([str(word) for word in words], **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait(DEADLINE_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    def recorded(self, name="run.trace"):
        """What was written into a trace since it was made: all but the first chunk."""
        content = (self.folder / name).read_bytes()
        assert content[:6] == b"\xa9gprof", content[:6]
        return content[FIRST_CHUNK_BYTES:]

    def trace_bytes(self):
        text = 'chunk pid=7\nprocess start_ns=100 pid=7 name="app"\n' \
               'kernel start_ns=300 duration_ns=100 context=1 stream=7 correlation=5 name="saxpy"\n' \
               'memcpy start_ns=500 duration_ns=100 context=1 stream=7 correlation=6\nend time_ns=1000 reason=1\n'
        done = subprocess.run([ASSEMBLE], input=text.encode(), capture_output=True, timeout=DEADLINE_S, check=True)
        return done.stdout


def install(prefix, with_tracer=True):
    """A tree with the layout of an installation; the command finds its tracer relative to its own file."""
    (prefix / "bin").mkdir()
    (prefix / "lib" / "gprof-cli").mkdir(parents=True)
    cli = prefix / "bin" / "gprof-cli"
    try:
        os.link(CLI, cli)
    except OSError:
        shutil.copy2(CLI, cli)
    if with_tracer:
        shutil.copy2(STUB, prefix / "lib" / "gprof-cli" / "libgprof-tracer.so")
    return pathlib.Path(os.path.realpath(cli))


def wait_until(is_so, what):
    end = time.monotonic() + DEADLINE_S
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"waited {DEADLINE_S} s in vain until {what}")
        time.sleep(0.01)


def state_of(pid):
    """One letter as in /proc: R, S, T (stopped), Z, ...; X when there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "X"
    return text.rsplit(")", 1)[1].split()[0]
