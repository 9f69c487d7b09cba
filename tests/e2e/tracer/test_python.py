"""Python stacks of CUDA calls, against what the program says of its own frames; with every CPython that is here."""
import csv
import functools
import glob
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import harness

PROGRAM = pathlib.Path(__file__).parent / "programs" / "python_stacks.py"
MINORS = range(8, 15)


def answer(python, code, env=None):
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, timeout=harness.DEADLINE_S, check=False, text=True, env={**os.environ, **(env or {})})
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@functools.cache
def told_by(place):
    """Its version in two numbers, whether it is without a GIL, and its path."""
    return answer(place, "import ctypes, sys; print(*sys.version_info[:2], 't' in getattr(sys, 'abiflags', ''), sys.executable)").split(" ", 3)


def interpreters(without_gil=False):
    """One for each minor version: those on the path, those that pyenv has beside them, and those that GPROF_TEST_PYTHONS names."""
    found = {}
    places = [shutil.which(f"python3.{minor}") for minor in MINORS] + [sys.executable]
    places += glob.glob(os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions/*/bin/python3"))
    places += os.environ.get("GPROF_TEST_PYTHONS", "").split(":")
    for place in filter(None, places):
        told = told_by(place)
        if len(told) == 4 and told[0] == "3" and int(told[1]) in MINORS and (told[2] == "True") == without_gil:
            found.setdefault(int(told[1]), told[3])
    return found


def all_interpreters():
    """(what it is called, path) of all, with a GIL and without."""
    return [(f"3.{minor}{'t' if without_gil else ''}", python)
            for without_gil in (False, True) for minor, python in interpreters(without_gil).items()]


class Stacks:
    """What a trace says of stacks, as [file, function, first line, offset], the innermost first."""

    def __init__(self, trace):
        self.modules = {m["id"]: m for m in trace.of("module")}
        self.frames = {f["id"]: f for f in trace.of("frame")}
        self.nodes = {s["id"]: s for s in trace.of("stack")}

    def __call__(self, number):
        result = []
        while number:
            node = self.nodes[number]
            frame = self.frames[node["frame"]]
            module = self.modules[frame["module"]]
            result.append([module["path"], module["name"], module["first_line"], frame["offset"]])
            number = node["parent"]
        return result


class Python(harness.Case):
    def record(self, python, *arguments, options=("--only-trace", "-t", "cuda,nvtx", "--python-backtrace", "cuda"), program=PROGRAM, hold_s=0, **more):
        facts = self.folder / "expected.json"
        env = {"PYENV_VERSION": None, "PYTHONDONTWRITEBYTECODE": "1", "HOLD_S": str(hold_s)}
        run = self.profile(python, program, facts, *arguments, options=options, env=env, **more)
        self.assertEqual(run.code, 0, run.err)
        return run, json.loads(facts.read_text())

    def check(self, python):
        run, expected = self.record(python)
        trace = run.trace
        stacks = Stacks(trace)
        calls = sorted(trace.calls("cudaDeviceSynchronize"), key=lambda r: r["start_ns"])
        self.assertEqual(len(calls), len(expected))
        by_thread = {}
        for call in calls:
            by_thread.setdefault(call["tid"], []).append(stacks(call["stack"]))
        seen = {}
        for tid, frames in expected:
            at = seen[tid] = seen.get(tid, -1) + 1
            wanted = [frame[:4] for frame in frames]
            got = by_thread[tid][at]
            wanted[0][3] = got[0][3]  # it has gone on when it looks at itself
            self.assertEqual(got, wanted, f"call {at} of thread {tid}")
        self.check_lines(run, expected)

    def check_lines(self, run, expected):
        """Readers find the line of each frame, whatever the table of its Python looks like."""
        done = subprocess.run([harness.GPROF, "export", run.trace_path, "--format", "csv", "--kind", "api", "-o", "-"],
                              capture_output=True, timeout=harness.DEADLINE_S, check=True, text=True)
        rows = sorted(csv.DictReader(io.StringIO(done.stdout)), key=lambda row: int(row["start_ns"]))
        by_thread = {}
        for row in rows:
            if row["function"] == "cudaDeviceSynchronize":
                by_thread.setdefault(int(row["tid"]), []).append(row["stack"])
        wanted = {}
        for tid, frames in expected:
            text = ";".join(f"{name} ({os.path.basename(file)}:{line})" for file, name, _, _, line in reversed(frames))
            wanted.setdefault(tid, []).append(text)
        self.assertEqual(by_thread, wanted)

    def test_stacks_are_those_of_the_program(self):
        for name, python in all_interpreters():
            with self.subTest(python=name):
                self.check(python)

    def test_endings(self):
        """Nothing happens to programs in which Python is hardly there any more, or not at all."""
        known = interpreters()
        for minor, python in known.items():
            if minor not in (min(known), 11, max(known)):
                continue  # it takes its time
            for ending in ("daemon", "dying", "interpreter", "fork", "foreign"):
                with self.subTest(minor=minor, ending=ending):
                    run = self.profile(python, PROGRAM.with_name("python_endings.py"), ending,
                                       options=("--only-trace", "-t", "cuda,nvtx", "--python-backtrace", "cuda"), env={"PYTHONDONTWRITEBYTECODE": "1"})
                    plain = self.run_plain(python, PROGRAM.with_name("python_endings.py"), ending)
                    self.assertEqual((run.code, run.out), (plain.code, plain.out), run.err)
                    trace = run.trace
                    stacks = Stacks(trace)
                    made = [[frame[1] for frame in stacks(call["stack"])] for call in trace.calls("cudaDeviceSynchronize")]
                    self.assertIn(["<module>"], made)
                    self.assertEqual([] in made, ending == "foreign" or [] in made and ending in ("daemon", "dying"))

    def test_what_is_no_known_python_is_left_alone(self):
        """A version without a layout is refused; one whose layout is another is found out before anything is read."""
        for minor, python in interpreters().items():
            for claimed in {7, minor - 1, minor + 1, 15}:
                if {claimed, minor} < {8, 9, 10}:
                    continue  # nearly alike
                with self.subTest(minor=minor, claimed=claimed):
                    env = {"LD_PRELOAD": str(harness.PROGRAMS / "other_python.so"), "OTHER_PYTHON": f"3{claimed:02x}0000"}
                    if answer(python, "print(1)", env) != "1":
                        continue  # its version lies where nobody can write
                    run = self.profile(python, PROGRAM.with_name("python_endings.py"), "none", env=env,
                                       options=("--only-trace", "-t", "cuda,nvtx", "--python-backtrace", "cuda"))
                    self.assertEqual((run.code, run.out), (0, "done\n"), run.err)
                    trace = run.trace
                    self.assertEqual(trace.of("stack"), [])
                    said = sum("Python stacks are not recorded" in n["message"] for n in trace.of("notice"))
                    self.assertIn(said, (1,) if claimed not in MINORS else (0, 1))  # 0: it seems to have no frames

    def test_nothing_is_recorded_unless_it_is_wanted(self):
        for options in (("--only-trace", "-t", "cuda,nvtx"), ("--only-trace", "-t", "cuda,nvtx", "--python-backtrace", "none")):
            run, _ = self.record(sys.executable, 1, options=options)
            self.assertEqual(run.trace.of("stack"), [])
            self.assertEqual([c["stack"] for c in run.trace.calls("cudaDeviceSynchronize") if c["stack"]], [])

    def test_calls_that_wait_come_with_lines(self):
        for domains, has_cuda in (("cuda,nvtx,osrt", True), ("osrt", False)):
            run, _ = self.record(sys.executable, 1, options=("--only-trace", "-t", domains, "--python-backtrace", "cuda"), hold_s=0.01)
            self.assertIn(2, {m["module_kind"] for m in run.trace.of("module")})
            self.assertEqual(any(c["stack"] for c in run.trace.calls("cudaDeviceSynchronize")), has_cuda)


if __name__ == "__main__":
    sys.exit(harness.main())
