"""Runs programs under the real `gprof-cli profile` and reads the trace back with `gprof-cli dump`."""
import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

BUILD = pathlib.Path(os.environ.get("GPROF_TEST_BUILD", "."))
GPROF = BUILD / "bin" / "gprof-cli"
TRACER = BUILD / "lib" / "gprof-cli" / "libgprof-tracer.so"
PROGRAMS = BUILD / "tests" / "e2e" / "tracer"
MOCK = BUILD / "tests" / "mock"
DEADLINE_S = 120
CAPTURE_ENDED = 3  # reason of an end record: a capture is whole, and the process lives
CUPTI = {"11.8": "libcupti.so.11.8", "12.0": "libcupti.so.12", "12.8": "libcupti.so.12", "13.0": "libcupti.so.13"}
CUDART = {"11.8": "libcudart.so.11.0", "12.0": "libcudart.so.12", "12.8": "libcudart.so.12", "13.0": "libcudart.so.13"}
VERSIONS = tuple(CUPTI)
SEEN_IMAGE = 0xffff  # of chunks about a process that the tracer was not in
FIRST_CHUNK_BYTES = 96  # of the chunk with which the launcher makes a file a trace

_TOKEN = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\{[^}]*\}|\S+)')
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)")
_SHORT = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def _unescape(match):
    code = match.group(1)
    return bytes([int(code[1:], 16)]) if code[:1] == b"x" and len(code) == 3 else _SHORT.get(code, code)


def _value(text):
    # Nearly all of a dump are numbers and plain names: what is rare comes last.
    first = text[0]
    if first.isdigit():
        return int(text) if text.isdigit() else text
    if first == '"':
        if "\\" not in text:
            return text[1:-1]
        raw = _ESCAPE.sub(_unescape, text[1:-1].encode("utf-8", "surrogateescape"))
        return raw.decode("utf-8", "surrogateescape")
    if first == "{":
        return {key: _value(value) for key, value in _TOKEN.findall(text[1:-1])}
    return int(text) if first == "-" and text[1:].isdigit() else text


def api_name(record):
    """Programs built with CUDA 13 launch through __cudaLaunchKernel, which is cudaLaunchKernel to their authors."""
    return record["function"].lstrip("_")


class Record(dict):
    """A record of the trace; a field that has its default value reads as 0 or an empty string."""

    _TEXT = {"message", "name", "function", "file", "command_line", "uuid", "host", "cupti_path", "tracer_version", "text"}

    def __missing__(self, key):
        return "" if key in self._TEXT else 0


class Trace:
    """What `gprof-cli dump` says of a trace file."""

    def __init__(self, path):
        done = subprocess.run([GPROF, "dump", path], capture_output=True, timeout=DEADLINE_S, check=False)
        if done.returncode != 0:
            raise AssertionError(f"dump exits with {done.returncode}: {done.stderr.decode()}")
        # Of processes that the tracer was not in there are a process, a thread and an end record in `seen`.
        self.records, self.seen, self.problems, chunk = [], [], [], {}
        for line in done.stdout.decode("utf-8", "surrogateescape").splitlines():
            if line.startswith("#"):
                self.problems.append(line)
                continue
            kind, _, rest = line.partition(" ")
            fields = {key: _value(value) for key, value in _TOKEN.findall(rest)}
            if kind == "chunk":
                chunk = fields
                continue
            records = self.seen if chunk.get("image") == SEEN_IMAGE else self.records
            records.append(Record(fields, kind=kind, chunk_pid=chunk.get("pid"), image=chunk.get("image", 0)))

    def of(self, kind, **fields):
        return [r for r in self.records if r["kind"] == kind and all(r[k] == v for k, v in fields.items())]

    def calls(self, function, domain=None):
        return [r for r in self.of("api") if api_name(r) == function and (domain is None or r["domain"] == domain)]

    def streams(self):
        """The program's streams by id: CUPTI's record and our own in one, without those that contexts have anyway."""
        result = {}
        for r in self.of("stream"):
            result[r["stream"]] = Record({**result.get(r["stream"], {}), **r})
        return {stream: r for stream, r in result.items() if r["handle"] != 0}

    def domain_names(self, pid):
        return {0: "", **{r["domain"]: r["name"] for r in self.of("nvtx_domain", chunk_pid=pid)}}


class Run:
    """One program, traced or not: its streams, its exit code, and the trace."""

    def __init__(self, command, code, out, err, trace_path, violations):
        self.command, self.code, self.out, self.err = command, code, out, err
        self.trace_path, self.violations = trace_path, violations
        self._read, self._trace = None, None

    @property
    def trace(self):
        """Read once, and again when the file has changed: processes may outlive the one that was waited for."""
        found = self.trace_path.stat() if self.trace_path.exists() else None
        state = found and (found.st_ino, found.st_size, found.st_mtime_ns)
        if self._trace is None or state != self._read:
            self._read, self._trace = state, Trace(self.trace_path)
        return self._trace

    def facts(self, name):
        """The JSON lines that the program printed."""
        lines = [json.loads(line) for line in self.out.splitlines() if line.startswith('{"fact"')]
        return [line for line in lines if line["fact"] == name]


def again_on_a_busy_machine(test):
    """For what is told by samples: where others had the processors, too few of them are there, and it is done again."""
    @functools.wraps(test)
    def tried(self):
        for _ in range(3):
            try:
                # A subtest would keep the failure of an attempt to itself.
                with unittest.mock.patch.object(self, "subTest", lambda *_, **__: contextlib.nullcontext()):
                    return test(self)
            except AssertionError as error:
                print(f"{test.__name__}: once more, as {str(error)[:200]}", file=sys.stderr)
        return test(self)
    return tried


class Case(unittest.TestCase):
    """Has a folder of its own and runs programs in it."""

    maxDiff = 4000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gprof-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # Of this test alone: every gprof-cli recovers what dead programs left in the folder it is given.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.run_base = tempfile.mkdtemp(prefix="gprof-e2e-run-", dir=memory)
        self.addCleanup(shutil.rmtree, self.run_base, ignore_errors=True)
        self.runs = 0

    def environment(self, version, env):
        result = {k: v for k, v in os.environ.items() if not k.startswith(("GPROF_", "MOCK_", "CUDA_", "NVTX_"))}
        result["MOCK_VIOLATIONS"] = str(self.folder / "violations")
        result["GPROF_RUN_BASE"] = self.run_base
        if version is not None:
            result["LD_LIBRARY_PATH"] = str(MOCK / version)
            result["TEST_CUDART"] = str(MOCK / version / CUDART[version])
        else:
            result.pop("LD_LIBRARY_PATH", None)
        result.update(env or {})
        return {k: v for k, v in result.items() if v is not None}

    def command(self, program, arguments):
        path = PROGRAMS / program
        return [str(path if path.exists() else program), *map(str, arguments)]

    def run_plain(self, program, *arguments, version="13.0", env=None, **more):
        """The program without us."""
        done = subprocess.run(self.command(program, arguments), capture_output=True, timeout=DEADLINE_S, check=False,
                              env=self.environment(version, env), cwd=self.folder, stdin=subprocess.DEVNULL, **more)
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return Run(program, code, done.stdout.decode(), done.stderr.decode(), None, "")

    def profile_command(self, program, arguments, options):
        self.runs += 1
        trace = self.folder / f"run{self.runs}.trace"
        return trace, [str(GPROF), "profile", "-o", str(trace), *options, "--", *self.command(program, arguments)]

    def profile(self, program, *arguments, version="13.0", env=None, options=(), **more):
        """The program under `gprof-cli profile`; every rule of CUDA and CUPTI that is broken fails the test."""
        trace, command = self.profile_command(program, arguments, options)
        done = subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=False, cwd=self.folder,
                              env=self.environment(version, env), stdin=subprocess.DEVNULL, **more)
        violations = self.folder / "violations"
        broken = violations.read_text() if violations.exists() else ""
        self.assertEqual(broken, "", done.stderr.decode())
        return Run(program, done.returncode, done.stdout.decode(), done.stderr.decode(), trace, broken)

    def assert_clean(self, trace, processes=1):
        """Nothing is damaged or lost, and the processes ended in order."""
        self.assertEqual(trace.problems, [])
        self.assertEqual(trace.of("loss"), [])
        self.assertEqual(len([r for r in trace.of("end") if r["reason"] != CAPTURE_ENDED]), processes)

    def report(self, path):
        done = subprocess.run([GPROF, "report", "--format", "json", "--tables", path], capture_output=True, timeout=DEADLINE_S,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)


def has_records(path):
    """Whether somebody has written to the trace since it was made."""
    return path.exists() and path.stat().st_size > FIRST_CHUNK_BYTES


def packed_chunks(path):
    """How many chunks of a trace are compressed."""
    done = subprocess.run([GPROF, "dump", path], capture_output=True, timeout=DEADLINE_S, check=True)
    return done.stdout.count(b" zstd=1")


def total(report):
    """The metrics of the whole trace by id, without those of single devices and ranges."""
    return {m["id"]: m["value"] for m in report["metrics"] if not m["scope"]}


def wait_for(condition, what, deadline_s=DEADLINE_S):
    """Polls until `condition()` is true; its value."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {deadline_s} s for {what}")


def main():
    for needed in (GPROF, TRACER, PROGRAMS / "ways_out"):
        if not needed.exists():
            print(f"skipped: {needed} is not built")
            sys.exit(77)
    # Where tests run in the background or under nohup, these are ignored, and would be by all programs that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    unittest.main(verbosity=1)
